/* The parent's side of one job: starts the workers, gives the common start, watches, gathers.
 *
 * Every wait here has a limit: a worker that shows no progress for the operation timeout plus a
 * grace period is killed, a worker that died is noticed at once; either fails the job, never the
 * run.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_RUNNER_H
#define NM_RUNNER_H

#include "arena.h"
#include "plan.h"
#include "spawner.h"

#include <signal.h>

/* A gap in our own watching: the program was stopped (Ctrl-Z, SIGSTOP), not merely slow. */
#define NM_RUNNER_STOPPED_NS (3 * NM_NS_PER_S)
/* Beyond the backends' own deadlines; then the worker is killed. */
#define NM_RUNNER_GRACE_NS (6 * NM_NS_PER_S)

/* What the workers of a running job have done so far. */
struct nm_job_progress {
    const struct nm_job *job;
    bool running; /* inside the clock */
    uint64_t bytes, operations;
    uint64_t elapsed_ns;   /* since the start of the clock, or of the job */
    double claim_fraction; /* CLAIM */
};

struct nm_runner {
    const struct nm_plan *plan;
    struct nm_arena *arena;
    struct nm_spawner *spawner;
    const volatile sig_atomic_t *interrupted; /* not 0: stop soon */
    void (*on_progress)(void *context, const struct nm_job_progress *progress); /* every 100 ms */
    void *progress_context;
};

/* Everything between a plan and its first job: resolves the credentials (prompting when stdin is a
 * terminal), makes the arena, forks the spawner. Call it before a database is opened or a signal
 * handler set: workers inherit neither. The plan must outlive the runner; the callbacks are the
 * caller's to set. On failure there is nothing to close. */
int nm_runner_open(struct nm_plan *plan, struct nm_vault *vault, struct nm_runner *ret_runner,
                   struct nm_error *err) NM_MUST_CHECK;
void nm_runner_close(struct nm_runner *runner); /* also of a zeroed one */

/* Everything a job gave. Histograms and bins are in memory that belongs to the outcome. */
struct nm_outcome {
    uint64_t start_utc_ns, duration_ns; /* common start to the last worker's end */
    uint64_t first_done_ns;             /* duration of the first worker that was done */
    uint64_t bytes, files, operations;
    uint64_t cpu_ns, generator_ns, verify_ns;
    uint64_t busiest_cpu_ns;     /* of the worker that used most */
    uint64_t user_ns, system_ns; /* of the workers without their helpers, generator_ns included */
    bool helpers;                /* of a backend took part; cpu_ns includes them */
    uint64_t leftover_files;
    uint64_t repeats;
    bool counts_repeats; /* the backend can tell */
    struct nm_target_info info;
    struct nm_conditions conditions;
    struct nm_metrics metrics;
    struct nm_histogram latency[NM_OP_KINDS], file_latency;
    uint64_t *bins_bytes; /* heap */
    size_t n_bins;
    struct nm_curve_point *points; /* heap; of one worker after the other */
    size_t n_points;
};

void nm_outcome_done(struct nm_outcome *outcome);

/* Runs runner->arena->job (already filled in) with job.workers processes. 0 or the error of the
 * first worker that failed; outcome is filled in as far as things went (conditions, bytes) also on
 * failure, and must be zeroed before and released by nm_outcome_done() after. `ignore_interrupt`:
 * for cleaning up. */
int nm_runner_run(struct nm_runner *runner, bool ignore_interrupt, struct nm_outcome *outcome,
                  struct nm_error *err) NM_MUST_CHECK;

#endif
