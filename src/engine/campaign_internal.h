/* Inside of a campaign, shared by the campaign*.c files only.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_CAMPAIGN_INTERNAL_H
#define NM_CAMPAIGN_INTERNAL_H

#include "campaign.h"

struct nm_campaign {
    const struct nm_plan *plan;
    char *canonical_run; /* of the plan: what makes it the same campaign */
    struct nm_campaign_options options;
    struct nm_target *targets;
    size_t n_targets;
    struct nm_group *groups;
    size_t n_groups;
    uint32_t trials; /* of the group that has most */
    struct nm_workload *evict;
};

/* Clears done[pass] of each pass in which a measured phase of the group is not stored. scratch: as
 * long as done, one per trial of the group. */
int nm_campaign_done(const struct nm_plan *plan, const struct nm_group *group,
                     struct nm_store *store, int64_t campaign_id, uint32_t round, int64_t volume_id,
                     bool *done, bool *scratch, struct nm_error *err) NM_MUST_CHECK;

#endif
