/* Workload mix in two files: mix.c is the parsed workload and its row, mix_stream.c one stream.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_MIX_H
#define NM_MIX_H

#include "workload.h"

struct nm_mix_options {
    char *bitrate;
    uint64_t size_bytes, buffer_ns, time_ns, file_bytes, upload_bytes;
    uint32_t readers, writers;
};

struct nm_mix {
    struct nm_workload base;
    struct nm_mix_options options; /* bitrate is borrowed */
    uint64_t bits_per_s;
    uint32_t ring; /* files that a writer keeps */
};

enum { NM_MIX_LAYOUT, NM_MIX_LOAD, NM_MIX_PHASES };

/* What all streams keep on the target. */
uint64_t nm_mix_space(const struct nm_mix *mix);

/* Hooks of the row (workload.h). */
int nm_mix_start(const struct nm_workload *workload, const struct nm_workload_context *context,
                 size_t phase, unsigned index, void **ret_state, struct nm_error *err);
enum nm_next nm_mix_next_op(void *state, uint64_t now_ns, struct nm_op *op, uint64_t *pattern_bytes,
                            uint64_t *wait_until_ns);
int nm_mix_done_op(void *state, struct nm_op *op, struct nm_error *err);
void nm_mix_finish(void *state, uint64_t elapsed_ns, struct nm_metrics *metrics,
                   uint64_t *ret_bytes, uint64_t *ret_files);

#endif
