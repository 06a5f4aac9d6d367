/* A run: which groups, in which order, how often; preflight; the end.
 *
 * Passes over shuffled groups (seed stored), so that trials of a cell cover what changes over time;
 * with order = grouped all trials of a group follow each other. A group runs in pass p when fewer
 * than p of its trials are stored: so a killed run goes on at the first trial that is not there.
 *
 * Parent side. Everything up to nm_campaign_new() happens before the spawner is forked, the rest
 * after.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_CAMPAIGN_H
#define NM_CAMPAIGN_H

#include "group.h"

#include <signal.h>

struct nm_campaign_options {
    const char *only;           /* glob over volume/protocol/workload, NULL = all */
    const char *const *volumes; /* only these, NULL = all */
    size_t n_volumes;
    bool resume, again;
    bool single; /* bench: a target that does not answer has failed, it is not just missing */
};

/* What the caller wants to see. */
struct nm_campaign_view {
    void (*on_begin)(void *context, const char *run_id, size_t groups, size_t trials);
    void (*on_group)(void *context, const struct nm_group *group, const struct nm_volume *volume,
                     uint32_t pass, size_t done, size_t total);
    void (*on_trial)(void *context, const struct nm_trial_record *trial,
                     const struct nm_volume *volume);
    void (*on_warning)(void *context, const char *text);
    void (*on_progress)(void *context, const struct nm_job_progress *progress);
    void *context;
};

struct nm_campaign;

/* Chooses the groups. -EINVAL when nothing is left to run by --only or --volume. */
int nm_campaign_new(const struct nm_plan *plan, const struct nm_campaign_options *options,
                    struct nm_campaign **ret_campaign, struct nm_error *err) NM_MUST_CHECK;
void nm_campaign_free(struct nm_campaign *campaign);

/* The groups, in plan order, for --dry-run. Targets without URL are included (not applicable). */
const struct nm_group *nm_campaign_groups(const struct nm_campaign *campaign, size_t *ret_n);

/* Trials of the cells of one group: the workload's own number, else that of the plan. */
uint32_t nm_campaign_trials(const struct nm_plan *plan, const struct nm_group *group);

/* Trials of a group that a run would still execute; the store is only read. */
int nm_campaign_left(const struct nm_campaign *campaign, const struct nm_group *group,
                     struct nm_store *store, uint32_t *ret_left,
                     struct nm_error *err) NM_MUST_CHECK;

struct nm_campaign_result {
    char run_id[16];
    int64_t campaign_id;
    unsigned n_status[NM_STATUSES];
    size_t n_planned, n_run; /* groups that had something left to do, and those executed */
    bool interrupted;
};

/* Runs. runner->interrupted: set by a signal handler to the number of signals so far (1: clean up
 * and end, 2: end). */
int nm_campaign_run(struct nm_campaign *campaign, struct nm_store *store,
                    const struct nm_runner *runner, const struct nm_campaign_view *view,
                    struct nm_campaign_result *ret, struct nm_error *err) NM_MUST_CHECK;

#endif
