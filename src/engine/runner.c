/* One job from the parent's side (runner.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "runner.h"

#include "clock.h"
#include "worker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_NS (100 * NM_NS_PER_MS)
/* Between "all are ready" and the common start: longer than a ready worker's poll interval. */
#define START_DELAY_NS (3 * NM_NS_PER_MS)
/* A worker that failed has this long to disconnect; one that succeeded has the operation timeout,
 * as disconnect() may still write (lunfs: its cache). */
#define DISCONNECT_NS (2 * NM_NS_PER_S)
/* From the kill to the end; who is still there then is left to the kernel. */
#define KILL_NS (2 * NM_NS_PER_S)
/* On abort: from the flag to the kill. */
#define ABORT_NS (4 * NM_NS_PER_S)

struct watch {
    struct nm_runner *runner;
    struct nm_arena *arena;
    unsigned workers;
    bool ended[NM_WORKERS_MAX];
    uint64_t final_ns[NM_WORKERS_MAX];  /* when the slot was first seen final */
    uint64_t killed_ns[NM_WORKERS_MAX]; /* 0 = not */
    uint64_t begin_ns, start_ns, abort_ns;
    double last_fraction;
    uint64_t seen_ns, slept_ns; /* at the end of the last wait: now; how long the machine slept */
    uint64_t stopped_ns;        /* this program or machine was */
};

static bool final_state(uint32_t state)
{
    return state == NM_WORKER_DONE || state == NM_WORKER_FAILED;
}

/* A worker that is gone without a result gets one. */
static void note_end(struct watch *watch, unsigned index, int status)
{
    struct nm_slot *slot = &watch->arena->slots[index];

    watch->ended[index] = true;
    if (final_state(atomic_load(&slot->state)))
        return;
    if (!slot->err.code) {
        if (status < 0)
            nm_error_set(
                &slot->err, status, NM_REASON_CLIENT_LIMIT,
                "cannot start a worker process: %s; raise the process limit or lower streams",
                strerror(-status));
        else if (WIFSIGNALED(status))
            nm_error_set(&slot->err, -EIO, NM_REASON_INTERNAL,
                         "the worker process died of signal %d (%s); please report this",
                         WTERMSIG(status), strsignal(WTERMSIG(status)));
        else
            nm_error_set(&slot->err, -EIO, NM_REASON_INTERNAL,
                         "the worker process ended early with status %d; please report this",
                         WEXITSTATUS(status));
    }
    atomic_store(&slot->state, NM_WORKER_FAILED);
}

static int kill_worker(struct watch *watch, unsigned index, struct nm_error *err)
{
    if (watch->ended[index] || watch->killed_ns[index])
        return 0;
    watch->killed_ns[index] = nm_clock_now_ns();
    return nm_spawner_kill(watch->runner->spawner, index, err);
}

/* A killed worker that does not go is in a system call that never returns: a mounted file system
 * whose server is dead. It will go when that comes back, and do nothing more. */
static int give_up(struct watch *watch, unsigned index, struct nm_error *err)
{
    struct nm_slot *slot = &watch->arena->slots[index];

    watch->ended[index] = true;
    if (!final_state(atomic_load(&slot->state)))
        atomic_store(&slot->state, NM_WORKER_FAILED);
    return nm_spawner_forget(watch->runner->spawner, index, err);
}

/* The limit for one worker; kills it when it is over. */
static int check_deadline(struct watch *watch, unsigned index, uint64_t now_ns,
                          struct nm_error *err)
{
    struct nm_slot *slot = &watch->arena->slots[index];
    uint64_t limit_ns = watch->arena->job.timeout_ns + NM_RUNNER_GRACE_NS;
    uint64_t last_ns = atomic_load(&slot->heartbeat_ns);
    uint32_t state = atomic_load(&slot->state);

    if (watch->ended[index])
        return 0;
    if (watch->killed_ns[index])
        return now_ns - watch->killed_ns[index] > KILL_NS ? give_up(watch, index, err) : 0;
    if (final_state(state)) {
        if (!watch->final_ns[index])
            watch->final_ns[index] = now_ns;
        if (state == NM_WORKER_FAILED)
            limit_ns = DISCONNECT_NS;
        return now_ns - watch->final_ns[index] > limit_ns ? kill_worker(watch, index, err) : 0;
    }
    if (watch->abort_ns && now_ns - watch->abort_ns > ABORT_NS) {
        if (!slot->err.code)
            nm_error_set(&slot->err, -ECANCELED, NM_REASON_ABORTED,
                         "stopped; the worker had to be killed");
        return kill_worker(watch, index, err);
    }
    if (state == NM_WORKER_READY)
        return 0; /* waits for us */
    if (last_ns < watch->begin_ns)
        last_ns = watch->begin_ns;
    if (now_ns > last_ns && now_ns - last_ns > limit_ns) {
        nm_error_set(&slot->err, -ETIMEDOUT, NM_REASON_TIMEOUT,
                     "no sign of life for %.0f s; the worker was killed. Is the server alive?",
                     (double)(now_ns - last_ns) / 1e9);
        return kill_worker(watch, index, err);
    }
    return 0;
}

/* A program that was stopped, or a machine that slept, sees it by its own clocks. Nobody is to
 * blame then: the limits start anew, and what was measured does not count. */
static void notice_stop(struct watch *watch, uint64_t now_ns)
{
    uint64_t slept_ns = nm_clock_suspended_ns(), gap_ns = now_ns - watch->seen_ns;

    if (gap_ns < NM_RUNNER_STOPPED_NS)
        gap_ns = 0;
    if (slept_ns > watch->slept_ns + NM_NS_PER_S)
        gap_ns += slept_ns - watch->slept_ns;
    watch->seen_ns = now_ns;
    watch->slept_ns = slept_ns;
    if (!gap_ns)
        return;
    watch->stopped_ns += gap_ns;
    for (unsigned i = 0; i < watch->workers; i++) {
        atomic_store(&watch->arena->slots[i].heartbeat_ns, now_ns);
        if (watch->final_ns[i])
            watch->final_ns[i] = now_ns;
    }
    if (watch->abort_ns)
        watch->abort_ns = now_ns;
}

/* Claiming reads a whole device: its fraction is the sign of life. */
static void keep_alive_by_fraction(struct watch *watch)
{
    struct nm_slot *slot = &watch->arena->slots[0];

    if (slot->claim_fraction != watch->last_fraction) { /* only ever read: any change counts */
        watch->last_fraction = slot->claim_fraction;
        atomic_store(&slot->heartbeat_ns, nm_clock_now_ns());
    }
}

static void start_when_ready(struct watch *watch)
{
    if (watch->start_ns || !watch->arena->job.measured)
        return;
    for (unsigned i = 0; i < watch->workers; i++)
        if (atomic_load(&watch->arena->slots[i].state) != NM_WORKER_READY)
            return;
    watch->start_ns = nm_clock_now_ns() + START_DELAY_NS;
    for (unsigned i = 0; i < watch->workers; i++)
        atomic_store(&watch->arena->slots[i].heartbeat_ns, watch->start_ns);
    atomic_store(&watch->arena->start_at_ns, watch->start_ns);
}

static void report_progress(const struct watch *watch, uint64_t now_ns)
{
    struct nm_runner *runner = watch->runner;
    struct nm_job_progress progress = {.job = &watch->arena->job, .running = watch->start_ns != 0};
    uint64_t since_ns = watch->start_ns ? watch->start_ns : watch->begin_ns;

    if (!runner->on_progress)
        return;
    for (unsigned i = 0; i < watch->workers; i++) {
        progress.bytes += atomic_load(&watch->arena->slots[i].bytes);
        progress.operations += atomic_load(&watch->arena->slots[i].operations);
    }
    progress.elapsed_ns = now_ns > since_ns ? now_ns - since_ns : 0;
    progress.claim_fraction = watch->arena->slots[0].claim_fraction;
    runner->on_progress(runner->progress_context, &progress);
}

static bool all_ended(const struct watch *watch)
{
    for (unsigned i = 0; i < watch->workers; i++)
        if (!watch->ended[i])
            return false;
    return true;
}

static void stop_others_on_failure(struct watch *watch, bool ignore_interrupt, uint64_t now_ns)
{
    bool stop = !ignore_interrupt && watch->runner->interrupted && *watch->runner->interrupted;

    for (unsigned i = 0; i < watch->workers; i++)
        stop |= atomic_load(&watch->arena->slots[i].state) == NM_WORKER_FAILED;
    if (stop && !watch->abort_ns) {
        watch->abort_ns = now_ns;
        atomic_store(&watch->arena->abort, 1);
    }
}

static int supervise(struct watch *watch, bool ignore_interrupt, struct nm_error *err)
{
    uint64_t tick_ns = watch->begin_ns + TICK_NS;

    while (!all_ended(watch)) {
        bool waiting = !watch->start_ns && watch->arena->job.measured;
        unsigned index;
        int status, r = nm_spawner_wait(watch->runner->spawner,
                                        waiting ? nm_clock_now_ns() + NM_NS_PER_MS : tick_ns,
                                        &index, &status, err);
        uint64_t now_ns = nm_clock_now_ns();

        if (r < 0)
            return r;
        notice_stop(watch, now_ns);
        if (r > 0 && index < watch->workers)
            note_end(watch, index, status);
        start_when_ready(watch);
        stop_others_on_failure(watch, ignore_interrupt, now_ns);
        if (watch->arena->job.kind == NM_JOB_CLAIM)
            keep_alive_by_fraction(watch);
        for (unsigned i = 0; i < watch->workers; i++) {
            r = check_deadline(watch, i, now_ns, err);
            if (r < 0)
                return r;
        }
        if (now_ns >= tick_ns) {
            report_progress(watch, now_ns);
            tick_ns = now_ns + TICK_NS;
        }
    }
    return 0;
}

/* ---- gathering ---- */

static void add_bins(struct nm_outcome *outcome, const struct nm_slot *slot)
{
    for (size_t i = 0; i < outcome->n_bins; i++)
        outcome->bins_bytes[i] += slot->bins_bytes[i];
}

static void add_points(struct nm_outcome *outcome, const struct nm_points *points)
{
    struct nm_curve_point *more =
        points->count
            ? reallocarray(outcome->points, outcome->n_points + points->count, sizeof(*more))
            : NULL;

    if (!more)
        return;
    memcpy(more + outcome->n_points, points->items, points->count * sizeof(*more));
    outcome->points = more;
    outcome->n_points += points->count;
}

static void gather(const struct watch *watch, struct nm_outcome *outcome)
{
    struct nm_arena *arena = watch->arena;
    const struct nm_job *job = &arena->job;
    uint64_t start_ns = watch->start_ns ? watch->start_ns : watch->begin_ns, last_ns = start_ns;
    uint64_t first_ns = UINT64_MAX;
    struct nm_metrics *each = calloc(watch->workers, sizeof(*each));

    for (unsigned i = 0; i < watch->workers; i++) {
        const struct nm_slot *slot = &arena->slots[i];

        if (slot->end_ns > last_ns)
            last_ns = slot->end_ns;
        if (slot->end_ns > start_ns && slot->end_ns < first_ns)
            first_ns = slot->end_ns;
    }
    outcome->duration_ns = last_ns - start_ns;
    outcome->first_done_ns = first_ns == UINT64_MAX ? 0 : first_ns - start_ns;
    outcome->n_bins = job->measured ? (outcome->duration_ns + NM_BIN_NS - 1) / NM_BIN_NS : 0;
    if (outcome->n_bins > NM_BINS_MAX)
        outcome->n_bins = NM_BINS_MAX;
    outcome->bins_bytes = calloc(outcome->n_bins ? outcome->n_bins : 1, sizeof(uint64_t));
    for (unsigned i = 0; i < watch->workers; i++) {
        struct nm_slot *slot = &arena->slots[i];

        slot->n_bins = (uint32_t)outcome->n_bins; /* for the next reset */
        if (outcome->bins_bytes)
            add_bins(outcome, slot);
        outcome->bytes += slot->counted_bytes;
        outcome->files += slot->counted_files;
        outcome->operations += atomic_load(&slot->operations);
        outcome->cpu_ns +=
            slot->cpu_ns > slot->generator_ns ? slot->cpu_ns - slot->generator_ns : 0;
        outcome->generator_ns += slot->generator_ns;
        outcome->user_ns += slot->user_ns;
        outcome->system_ns += slot->system_ns;
        outcome->helpers |= slot->helpers;
        outcome->verify_ns += slot->verify_ns;
        if (slot->cpu_ns > outcome->busiest_cpu_ns)
            outcome->busiest_cpu_ns = slot->cpu_ns;
        outcome->leftover_files += slot->leftover_files;
        add_points(outcome, &slot->points);
        outcome->repeats += slot->repeats;
        for (int kind = 0; kind < NM_OP_KINDS; kind++)
            nm_histogram_merge(&outcome->latency[kind], &slot->operations_latency[kind]);
        nm_histogram_merge(&outcome->file_latency, &slot->file_latency);
        if (each)
            each[i] = slot->metrics;
    }
    outcome->counts_repeats = job->backend->repeats;
    outcome->info = arena->slots[0].info;
    outcome->conditions = arena->slots[0].conditions;
    if (each && job->workload)
        nm_metrics_combine(job->workload->ops, each, watch->workers, &outcome->metrics);
    free(each);
}

/* The first failure that is not just the echo of another one. */
static int first_error(const struct watch *watch, struct nm_error *err)
{
    const struct nm_error *found = NULL;

    for (unsigned i = 0; i < watch->workers; i++) {
        const struct nm_slot *slot = &watch->arena->slots[i];

        if (atomic_load(&slot->state) != NM_WORKER_FAILED)
            continue;
        if (!found || found->reason == NM_REASON_ABORTED)
            found = &slot->err;
    }
    if (!found)
        return 0;
    *err = *found;
    return found->code < 0 ? found->code : -EIO;
}

/* Data that are wrong stay wrong; whatever else is said after a stop follows from it. */
static int judge(const struct watch *watch, struct nm_error *err)
{
    int r = first_error(watch, err);

    if (!watch->stopped_ns || !watch->arena->job.measured ||
        (r && err->reason != NM_REASON_TIMEOUT && err->reason != NM_REASON_CONNECTION_LOST))
        return r;
    return nm_error_set(err, -EINTR, NM_REASON_CLIENT_LIMIT,
                        "this program or machine was stopped for %.0f s during the measurement; "
                        "keep it running (systemd-inhibit, no Ctrl-Z) and run again",
                        (double)watch->stopped_ns / 1e9);
}

int nm_runner_run(struct nm_runner *runner, bool ignore_interrupt, struct nm_outcome *outcome,
                  struct nm_error *err)
{
    struct watch watch = {
        .runner = runner, .arena = runner->arena, .workers = runner->arena->job.workers};
    int r = 0;

    nm_arena_reset(runner->arena, NM_WORKERS_MAX);
    outcome->start_utc_ns = nm_clock_utc_ns();
    watch.begin_ns = watch.seen_ns = nm_clock_now_ns();
    watch.slept_ns = nm_clock_suspended_ns();
    for (unsigned i = 0; i < watch.workers && !r; i++)
        r = nm_spawner_spawn(runner->spawner, i, err);
    if (!r)
        r = supervise(&watch, ignore_interrupt, err);
    if (r < 0)
        return r;
    gather(&watch, outcome);
    return judge(&watch, err);
}

void nm_outcome_done(struct nm_outcome *outcome)
{
    if (!outcome)
        return;
    free(outcome->bins_bytes);
    free(outcome->points);
    outcome->points = NULL;
    outcome->n_points = 0;
    outcome->bins_bytes = NULL;
    outcome->n_bins = 0;
}

int nm_runner_open(struct nm_plan *plan, struct nm_vault *vault, struct nm_runner *ret_runner,
                   struct nm_error *err)
{
    struct nm_runner runner = {.plan = plan};
    struct nm_worker_setup setup = {.plan = plan};
    int r = nm_plan_resolve_credentials(plan, vault, isatty(STDIN_FILENO), err);

    if (!r)
        r = nm_arena_new(&runner.arena, err);
    setup.arena = runner.arena;
    if (!r)
        r = nm_spawner_start(nm_worker_main, &setup, &runner.spawner, err);
    if (r < 0)
        nm_runner_close(&runner);
    else
        *ret_runner = runner;
    return r;
}

void nm_runner_close(struct nm_runner *runner)
{
    nm_spawner_stop(runner->spawner);
    nm_arena_free(runner->arena);
}
