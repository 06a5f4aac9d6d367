/* Inside of a campaign, shared by the campaign*.c files only.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_CAMPAIGN_INTERNAL_H
#define NM_CAMPAIGN_INTERNAL_H

#include "campaign.h"

struct nm_campaign {
    const struct nm_plan *plan;
    struct nm_campaign_options options;
    struct nm_target *targets;
    size_t n_targets;
    struct nm_group *groups;
    size_t n_groups;
    uint32_t trials; /* of the group that has most */
    struct nm_workload *evict;
};

#endif
