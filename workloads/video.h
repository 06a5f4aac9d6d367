/* Workload video in two files: video.c is the parsed workload and its row, video_stream.c plays.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_VIDEO_H
#define NM_VIDEO_H

#include "workload.h"

#define NM_VIDEO_PLAYERS_MAX 1024

struct nm_video_options {
    char *bitrate;
    uint64_t size_bytes, buffer_ns, time_ns, block_bytes;
    uint32_t players, most;
};

struct nm_video {
    struct nm_workload base;
    struct nm_video_options options; /* bitrate is borrowed */
    uint64_t bits_per_s;
    uint32_t block_bytes;
};

/* Hooks of the row (workload.h); phase 0 lays out, phase 1 plays. */
int nm_video_start(const struct nm_workload *workload, const struct nm_workload_context *context,
                   size_t phase, unsigned index, void **ret_state, struct nm_error *err);
enum nm_next nm_video_next_op(void *state, uint64_t now_ns, struct nm_op *op,
                              uint64_t *pattern_bytes, uint64_t *wait_until_ns);
int nm_video_done_op(void *state, struct nm_op *op, struct nm_error *err);
void nm_video_finish(void *state, uint64_t elapsed_ns, struct nm_metrics *metrics,
                     uint64_t *ret_bytes, uint64_t *ret_files);

#endif
