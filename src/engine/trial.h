/* From the outcome of a phase to the stored trial: status, conditions, metrics.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_TRIAL_H
#define NM_TRIAL_H

#include "group.h"

/* A measured phase shorter than this is no measurement: starting alone takes about as long. */
#define NM_TRIAL_SHORTEST_NS (1 * NM_NS_PER_MS)

struct nm_trial_result {
    const struct nm_outcome *outcome; /* NULL: nothing was run */
    double opposite_per_s;            /* rate of the phase before, flags.h */
    int code;                         /* 0 or what failed it */
    struct nm_error err;
    bool forced; /* status is given, not derived */
    enum nm_status status;
};

/* Stores the trial and tells run->on_trial. context NULL: nothing was run. */
int nm_trial_store(struct nm_run *run, const struct nm_group *group, struct nm_group_place place,
                   const struct nm_workload_context *context, size_t phase,
                   const struct nm_trial_result *result, struct nm_error *err) NM_MUST_CHECK;

/* Rate of a phase as the phase after it wants it for opposite_per_s; 0 = it says nothing about the
 * direction. */
double nm_trial_direction_per_s(const struct nm_outcome *outcome, bool writes);

#endif
