/* Which groups a run has (campaign.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "campaign_internal.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool volume_wanted(const struct nm_campaign_options *options, const char *name)
{
    for (size_t i = 0; i < options->n_volumes; i++)
        if (!strcmp(options->volumes[i], name))
            return true;
    return !options->n_volumes;
}

static bool group_wanted(const struct nm_campaign *campaign, const struct nm_group *group)
{
    const struct nm_volume *volume = &campaign->plan->volumes[group->target->volume];
    char *name = NULL;
    bool wanted;

    if (!campaign->options.only)
        return true;
    if (asprintf(&name, "%s/%s/%s", volume->name, nm_protocol_name(group->target->protocol),
                 group->workload->key) < 0)
        return false;
    wanted = !fnmatch(campaign->options.only, name, 0);
    free(name);
    return wanted;
}

static int check_volumes(const struct nm_plan *plan, const struct nm_campaign_options *options,
                         struct nm_error *err)
{
    for (size_t i = 0; i < options->n_volumes; i++)
        if (!nm_plan_volume(plan, options->volumes[i])) {
            const char *names[64];
            size_t n = 0;

            for (; n < plan->n_volumes && n < 64; n++)
                names[n] = plan->volumes[n].name;
            const char *near = nm_options_nearest(options->volumes[i], names, n);

            return nm_error_set(err, -EINVAL, NM_REASON_NOT_FOUND,
                                "the plan has no volume '%s'%s%s%s; see its [volume ...] sections",
                                options->volumes[i], near ? "; did you mean '" : "",
                                near ? near : "", near ? "'" : "");
        }
    return 0;
}

static int make_evict(struct nm_campaign *campaign, struct nm_error *err)
{
    char size[32];

    if (!campaign->plan->run.evict_bytes)
        return 0;
    snprintf(size, sizeof(size), "%" PRIu64 "B,read", campaign->plan->run.evict_bytes);
    return nm_workload_find("sequential")->parse(size, NULL, &campaign->evict, err);
}

uint32_t nm_campaign_trials(const struct nm_plan *plan, const struct nm_group *group)
{
    const struct nm_workload *workload = group->workload->workload;

    return workload->ops->trials ? workload->ops->trials(workload) : plan->run.trials;
}

int nm_campaign_done(const struct nm_plan *plan, const struct nm_group *group,
                     struct nm_store *store, int64_t campaign_id, uint32_t round, int64_t volume_id,
                     bool *done, bool *scratch, struct nm_error *err)
{
    const struct nm_workload *workload = group->workload->workload;
    uint32_t trials = nm_campaign_trials(plan, group);
    const struct nm_phase *phases;
    size_t n = workload->ops->phases(workload, &phases);

    for (size_t i = 0; i < n; i++) {
        if (phases[i].role != NM_PHASE_MEASURED)
            continue;
        int r = nm_store_passes(store, campaign_id, round, volume_id,
                                nm_protocol_name(group->target->protocol), group->target->url,
                                group->workload->key, phases[i].name, scratch, trials, err);

        if (r < 0)
            return r;
        for (uint32_t pass = 0; pass < trials; pass++)
            done[pass] &= scratch[pass];
    }
    return 0;
}

int nm_campaign_left(const struct nm_campaign *campaign, const struct nm_group *group,
                     struct nm_store *store, uint32_t *ret_left, struct nm_error *err)
{
    const struct nm_plan *plan = campaign->plan;
    const struct nm_nas_record nas = {.name = plan->nas.name, .firmware = plan->nas.firmware};
    uint32_t trials = nm_campaign_trials(plan, group), round = 0, left = trials;
    bool *done = calloc(2 * (size_t)trials + 1, sizeof(*done));
    int64_t campaign_id = 0, volume_id = 0;
    int r = done ? 0 : nm_error_no_memory(err);

    if (!r)
        r = nm_store_find_volume(store, &nas, campaign->canonical_run,
                                 plan->volumes[group->target->volume].name, &campaign_id,
                                 &volume_id, err);
    if (!r && volume_id && !campaign->options.again) {
        memset(done, true, trials * sizeof(*done));
        r = nm_store_round(store, campaign_id, &round, err);
        if (!r)
            r = nm_campaign_done(plan, group, store, campaign_id, round, volume_id, done,
                                 done + trials, err);
        for (uint32_t pass = 0; pass < trials; pass++)
            left -= done[pass];
    }
    free(done);
    if (!r)
        *ret_left = left;
    return r;
}

int nm_campaign_new(const struct nm_plan *plan, const struct nm_campaign_options *options,
                    struct nm_campaign **ret_campaign, struct nm_error *err)
{
    size_t most = plan->n_volumes * plan->n_protocols;
    struct nm_campaign *campaign = calloc(1, sizeof(*campaign));
    int r = check_volumes(plan, options, err);

    if (r < 0)
        goto failed;
    if (campaign) {
        campaign->plan = plan;
        campaign->canonical_run = nm_plan_canonical_run(plan);
        campaign->options = *options;
        campaign->targets = calloc(most ? most : 1, sizeof(*campaign->targets));
        campaign->groups = calloc(most * plan->n_workloads + 1, sizeof(*campaign->groups));
    }
    if (!campaign || !campaign->canonical_run || !campaign->targets || !campaign->groups) {
        r = nm_error_no_memory(err);
        goto failed;
    }
    for (size_t v = 0; v < plan->n_volumes; v++) {
        if (!volume_wanted(options, plan->volumes[v].name))
            continue;
        for (size_t p = 0; p < plan->n_protocols; p++) {
            struct nm_target *target = &campaign->targets[campaign->n_targets++];

            r = nm_target_init(target, plan, v, plan->protocols[p], "", err);
            if (r < 0)
                goto failed;
            for (size_t w = 0; w < plan->n_workloads; w++) {
                struct nm_group group = {.target = target, .workload = &plan->workloads[w]};

                if (group_wanted(campaign, &group))
                    campaign->groups[campaign->n_groups++] = group;
            }
        }
    }
    if (!campaign->n_groups) {
        r = nm_error_set(err, -EINVAL, NM_REASON_NOT_FOUND,
                         "nothing to run: no volume/protocol/workload of the plan matches '%s'",
                         options->only ? options->only : "");
        goto failed;
    }
    for (size_t i = 0; i < campaign->n_groups; i++) {
        uint32_t trials = nm_campaign_trials(plan, &campaign->groups[i]);

        if (trials > campaign->trials)
            campaign->trials = trials;
    }
    r = make_evict(campaign, err);
    if (r < 0)
        goto failed;
    *ret_campaign = campaign;
    return 0;

failed:
    nm_campaign_free(campaign);
    return r;
}

void nm_campaign_free(struct nm_campaign *campaign)
{
    if (!campaign)
        return;
    for (size_t i = 0; i < campaign->n_targets; i++)
        nm_target_done(&campaign->targets[i]);
    if (campaign->evict)
        campaign->evict->ops->free(campaign->evict);
    free(campaign->canonical_run);
    free(campaign->targets);
    free(campaign->groups);
    free(campaign);
}

const struct nm_group *nm_campaign_groups(const struct nm_campaign *campaign, size_t *ret_n)
{
    *ret_n = campaign->n_groups;
    return campaign->groups;
}
