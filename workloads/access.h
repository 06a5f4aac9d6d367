/* Workloads access, random and mixed in two files: access.c is the parsed workload and its rows,
 * access_stream.c one stream (its results: access_runs.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_ACCESS_H
#define NM_ACCESS_H

#include "steps.h"
#include "workload.h"

struct nm_access_options {
    char *steps;
    uint64_t size_bytes, length_bytes, time_ns, warmup_ns, pause_ns;
    uint32_t runs;
};

struct nm_access {
    struct nm_workload base;
    struct nm_access_options options; /* steps is borrowed */
    struct nm_step steps[NM_STEPS_MAX];
    size_t n_steps;
    /* layout, then pause, warm-up and step for each step */
    struct nm_phase phases[1 + 3 * NM_STEPS_MAX];
    size_t n_phases;
    bool writes;
};

/* The step that a pause, warm-up or step phase is about; NULL for the layout. */
const struct nm_step *nm_access_step(const struct nm_access *access, size_t phase);

/* Hooks of the rows (workload.h). */
int nm_access_start(const struct nm_workload *workload, const struct nm_workload_context *context,
                    size_t phase, unsigned index, void **ret_state, struct nm_error *err);
enum nm_next nm_access_next_op(void *state, uint64_t now_ns, struct nm_op *op,
                               uint64_t *pattern_bytes, uint64_t *wait_until_ns);
int nm_access_done_op(void *state, struct nm_op *op, struct nm_error *err);
void nm_access_finish(void *state, uint64_t elapsed_ns, struct nm_metrics *metrics,
                      uint64_t *ret_bytes, uint64_t *ret_files);

#endif
