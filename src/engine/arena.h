/* The memory that parent, spawner and workers share: one anonymous mapping made before the first
 * fork.
 *
 * The parent writes the job and the start time; each worker writes its own slot and nothing else. A
 * slot is padded to cache lines, so that workers do not slow each other down. Large parts
 * (histograms, bins) are only touched when used. Excluded from core dumps.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_ARENA_H
#define NM_ARENA_H

#include "backend.h"
#include "error.h"
#include "histogram.h"
#include "partition.h"
#include "sweep.h"
#include "workload.h"

#include <stdatomic.h>

#define NM_WORKERS_MAX 64
#define NM_BIN_NS      (100 * NM_NS_PER_MS)
#define NM_BINS_MAX    (6u * 3600u * 10u) /* six hours; what comes later counts in the last bin */
#define NM_CACHE_LINE  64

enum nm_job_kind {
    NM_JOB_PROBE,   /* connect, describe */
    NM_JOB_CLAIM,   /* make a block target ours */
    NM_JOB_ENTER,   /* make the run's and the group's directory; proves that writing works */
    NM_JOB_PHASE,   /* one phase of a workload, measured or not */
    NM_JOB_LEAVE,   /* remove the group's directory and what we put there */
    NM_JOB_RETIRE,  /* the same for the run's directory */
    NM_JOB_SWEEP,   /* remove what earlier runs left behind */
    NM_JOB_SURVEY,  /* read the partition table of a raw target */
    NM_JOB_RELEASE, /* end of raw writes to a block target */
};

/* What a worker has to do; everything else it inherits with the plan. Written before the workers
 * start. */
struct nm_job {
    enum nm_job_kind kind;
    size_t volume;
    size_t phase,
        setup_from; /* PHASE: set-up phases [setup_from, phase) run first, in the same session */
    const struct nm_workload *workload; /* in inherited memory */
    enum nm_protocol protocol;
    const struct nm_backend_ops *backend;
    struct nm_workload_context
        context;         /* pointers into inherited memory only; directory NULL: the job's */
    unsigned plan_depth; /* for set-up phases, before ops->shape */
    uint32_t plan_block_bytes;
    char run_directory[64], directory[96];
    uint64_t origin, group; /* of the test data (pattern.h) */
    uint64_t end_bytes;     /* RELEASE */
    uint64_t timeout_ns;    /* of one operation */
    bool claimed, measured;
    bool buffered; /* local targets: through the page cache */
    bool remove;   /* SWEEP: not only look */
    bool fresh;    /* ENTER: the run's directory must not exist yet */
    unsigned workers;
};

enum nm_worker_state {
    NM_WORKER_IDLE,
    NM_WORKER_STARTING,  /* connecting, preparing */
    NM_WORKER_READY,     /* waits for the common start */
    NM_WORKER_RUNNING,   /* inside the clock */
    NM_WORKER_FINISHING, /* after the clock */
    NM_WORKER_DONE,      /* everything in the slot is final */
    NM_WORKER_FAILED,    /* likewise, err says why */
};

struct nm_slot {
    _Alignas(NM_CACHE_LINE) _Atomic uint32_t state;
    _Atomic uint64_t heartbeat_ns; /* last sign of progress */
    /* live counters, for progress */
    _Alignas(NM_CACHE_LINE) _Atomic uint64_t bytes;
    _Atomic uint64_t operations;
    /* final, valid once the state is DONE or FAILED */
    _Alignas(NM_CACHE_LINE) uint64_t end_ns;
    uint64_t counted_bytes, counted_files;
    uint64_t cpu_ns, generator_ns, verify_ns;
    bool helpers;                /* of the backend used CPU time */
    uint64_t user_ns, system_ns; /* of the worker alone; cpu_ns includes its helpers */
    uint64_t repeats;            /* of the measured phase; backend.h */
    struct nm_error err;
    struct nm_target_info info;
    struct nm_conditions conditions;
    struct nm_metrics metrics;
    volatile double claim_fraction;
    struct nm_sweep sweep;
    uint64_t leftover_files; /* LEAVE: entries that are not ours and stay */
    uint32_t n_bins;
    struct nm_histogram operations_latency[NM_OP_KINDS];
    struct nm_histogram file_latency;
    struct nm_points points;
    struct nm_partition_table partitions; /* SURVEY */
    uint64_t bins_bytes[NM_BINS_MAX];
};

struct nm_arena {
    _Atomic uint64_t start_at_ns; /* 0 = not yet */
    _Atomic uint32_t abort;       /* workers stop issuing operations */
    struct nm_job job;
    struct nm_slot slots[NM_WORKERS_MAX];
};

int nm_arena_new(struct nm_arena **ret_arena, struct nm_error *err) NM_MUST_CHECK;
void nm_arena_free(struct nm_arena *arena);

/* Makes the first n slots and the start time fresh for the next job. */
void nm_arena_reset(struct nm_arena *arena, unsigned n);

#endif
