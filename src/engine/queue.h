/* The operation loop of a worker: keeps the queue of one session filled from the generators of one
 * or more streams, fills and checks data, and counts. The only loop in the product that is inside
 * the clock.
 *
 * Between submit and completion of an operation nothing is allocated, logged or locked here. Runs
 * inside a worker process.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_QUEUE_H
#define NM_QUEUE_H

#include "arena.h"
#include "pattern.h"

struct nm_queue;

/* Memory for the buffers of `streams` x `depth` operations of block_bytes: one shared mapping, made
 * before connect so that helper processes of a backend see it. */
int nm_queue_new(unsigned streams, unsigned depth, uint32_t block_bytes,
                 struct nm_queue **ret_queue, struct nm_error *err) NM_MUST_CHECK;
void nm_queue_free(struct nm_queue *queue);
void *nm_queue_buffers(const struct nm_queue *queue, size_t *ret_bytes);

struct nm_queue_phase {
    struct nm_session *session;
    const struct nm_workload_ops *ops;
    void *const *states; /* one per stream */
    struct nm_slot *slot;
    _Atomic uint32_t *abort;
    const struct nm_pattern *pattern;
    bool verify;         /* compare what was read */
    unsigned depth;      /* of each stream, at most the queue's */
    bool measured;       /* keep bins and latencies */
    uint64_t start_ns;   /* of the clock */
    uint64_t timeout_ns; /* without any completion the phase has failed */
};

/* Runs the phase to its end. slot->bytes, operations, bins, latencies, generator_ns, verify_ns are
 * kept up; slot->end_ns is set. 0, or the first error. */
int nm_queue_run(struct nm_queue *queue, const struct nm_queue_phase *phase,
                 struct nm_error *err) NM_MUST_CHECK;

#endif
