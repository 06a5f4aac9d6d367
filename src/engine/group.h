/* One group in one pass: the phases of a workload on a target, in order, on the same files; each
 * measured phase becomes one stored trial, whatever happens.
 *
 * Parent side.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_GROUP_H
#define NM_GROUP_H

#include "store.h"
#include "target.h"

struct nm_group {
    struct nm_target *target;
    const struct nm_plan_workload *workload;
};

/* What all groups of a run share. */
struct nm_run {
    const struct nm_plan *plan;
    struct nm_runner *runner;
    struct nm_store *store;
    int64_t campaign_id, session_id;
    int64_t earlier_trials; /* last trial stored before this session */
    const char *run_id;     /* of the session */
    uint64_t seed;          /* of the order of the groups */
    uint32_t round;
    uint64_t origin;             /* of the test data, random */
    uint64_t next_group;         /* counts executed groups: their data never repeat */
    struct nm_workload *evict;   /* hidden workload, NULL = no eviction */
    struct nm_conditions client; /* of this machine and of [client] */
    /* counters over all trials stored by this run */
    unsigned n_status[NM_STATUSES];
    unsigned n_spooled; /* of these not in the database but set aside (spool.h) */
    /* called after each stored trial and for warnings; never NULL */
    void (*on_trial)(void *context, const struct nm_trial_record *trial,
                     const struct nm_volume *volume);
    void (*on_warning)(void *context, const char *text);
    void *context;
};

/* Where a group stands in the run. */
struct nm_group_place {
    uint32_t pass;
    uint32_t order; /* position within the shuffled pass */
};

/* Runs every phase and stores its trial. Negative only when the run cannot go on (store, runner); a
 * failed trial is 0 and counted in run->n_status. */
int nm_group_run(struct nm_run *run, const struct nm_group *group, struct nm_group_place place,
                 struct nm_error *err) NM_MUST_CHECK;

/* Stores one trial per measured phase with this status instead of running the group. */
int nm_group_store_unrun(struct nm_run *run, const struct nm_group *group,
                         struct nm_group_place place, enum nm_status status,
                         const struct nm_error *why, struct nm_error *err) NM_MUST_CHECK;

/* The backend that carries this group, NULL and err (unsupported) when none can. */
const struct nm_backend_ops *nm_group_backend(const struct nm_plan *plan,
                                              const struct nm_group *group, struct nm_error *err);

/* Context of one phase of the group's workload as far as it is known without connecting. */
void nm_group_context(const struct nm_plan *plan, const struct nm_group *group,
                      const struct nm_backend_ops *backend, size_t phase,
                      struct nm_workload_context *context);

#endif
