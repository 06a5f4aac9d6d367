/* A worker process (worker.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "worker.h"

#include "clock.h"
#include "directory.h"
#include "queue.h"
#include "survey.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* How often a worker that is ready looks for the start time. */
#define START_POLL_NS (500 * NM_NS_PER_US)

struct worker {
    const struct nm_plan *plan;
    struct nm_arena *arena;
    const struct nm_job *job;
    struct nm_slot *slot;
    unsigned index;
    unsigned first_stream, n_streams; /* ours */
    struct nm_queue *queue;
    struct nm_connect connect;
    struct nm_session *session;
    void *states[NM_WORKERS_MAX];
};

static void beat(struct worker *w)
{
    atomic_store(&w->slot->heartbeat_ns, nm_clock_now_ns());
}

/* Libraries may print; the terminal belongs to the parent. */
static void silence(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null < 0)
        return;
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    if (!getenv("NASMARK_WORKER_STDERR"))
        dup2(null, STDERR_FILENO);
    close(null);
}

/* Context of a set-up phase: the measured phase's, but with depth and block of its own. */
static struct nm_workload_context setup_context(const struct nm_job *job, size_t phase)
{
    struct nm_workload_context context = job->context;

    context.depth = job->plan_depth;
    context.block_bytes = job->plan_block_bytes;
    if (job->workload->ops->shape)
        job->workload->ops->shape(job->workload, phase, &context);
    context.streams = job->context.streams;
    return context;
}

/* Depth and block that every phase of the job fits into. */
static void largest_shape(const struct nm_job *job, unsigned *ret_depth, uint32_t *ret_block_bytes)
{
    *ret_depth = job->context.depth;
    *ret_block_bytes = job->context.block_bytes;
    if (job->kind != NM_JOB_PHASE)
        return;
    for (size_t phase = job->setup_from; phase < job->phase; phase++) {
        struct nm_workload_context context = setup_context(job, phase);

        if (context.depth > *ret_depth)
            *ret_depth = context.depth;
        if (context.block_bytes > *ret_block_bytes)
            *ret_block_bytes = context.block_bytes;
    }
}

static int connect_target(struct worker *w, struct nm_error *err)
{
    const struct nm_job *job = w->job;
    const struct nm_volume *volume = &w->plan->volumes[job->volume];
    uint32_t block_bytes;
    unsigned depth;
    int r;

    largest_shape(job, &depth, &block_bytes);
    w->n_streams = 1;
    if (job->kind == NM_JOB_PHASE) {
        bool together = job->backend->traits & NM_TRAIT_SINGLE_PROCESS;

        w->first_stream = together ? 0 : w->index;
        w->n_streams = together ? job->context.streams : 1;
    }
    r = nm_queue_new(w->n_streams, depth, block_bytes, &w->queue, err);
    if (r < 0)
        return r;
    w->connect = (struct nm_connect){
        .url = volume->urls[job->protocol],
        .credentials = &volume->credentials[job->protocol],
        .options = nm_plan_backend_options(w->plan, job->backend->name),
        .volume = volume->name,
        .timeout_ns = job->timeout_ns,
        .depth = depth * w->n_streams,
        .block_bytes = block_bytes,
        .stream = w->index,
        .streams = job->workers,
        .read_only = job->kind == NM_JOB_PROBE || job->kind == NM_JOB_SURVEY ||
                     (job->kind == NM_JOB_SWEEP && !job->remove),
        .claimed = job->claimed,
        .buffered = job->buffered,
    };
    w->connect.buffers = nm_queue_buffers(w->queue, &w->connect.buffers_bytes);
    r = nm_backend_connect(job->backend, &w->connect, &w->session, err);
    beat(w);
    return r;
}

static int describe(struct worker *w, struct nm_error *err)
{
    int r = 0;

    if (w->index == 0)
        r = w->job->backend->describe(w->session, &w->slot->info, &w->slot->conditions, err);
    beat(w);
    return r;
}

/* Waits for the common start; the parent sets it once every worker is ready. */
static int wait_for_start(struct worker *w, uint64_t *ret_start_ns, struct nm_error *err)
{
    uint64_t start_ns;

    atomic_store(&w->slot->state, NM_WORKER_READY);
    while (!(start_ns = atomic_load(&w->arena->start_at_ns))) {
        if (atomic_load(&w->arena->abort))
            return nm_error_set(err, -ECANCELED, NM_REASON_ABORTED, "stopped before the start");
        nm_clock_sleep_until_ns(nm_clock_now_ns() + START_POLL_NS);
    }
    nm_clock_sleep_until_ns(start_ns);
    *ret_start_ns = start_ns;
    return 0;
}

struct cpu_times {
    uint64_t own_ns, helpers_ns, user_ns, system_ns;
};

static uint64_t timeval_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * NM_NS_PER_S + (uint64_t)time.tv_usec * NM_NS_PER_US;
}

static struct cpu_times cpu_times(const struct worker *w)
{
    const struct nm_backend_ops *backend = w->job->backend;
    struct rusage usage = {0};

    getrusage(RUSAGE_SELF, &usage);
    return (struct cpu_times){
        .own_ns = nm_clock_process_cpu_ns(),
        .helpers_ns = backend->helpers_cpu_ns ? backend->helpers_cpu_ns(w->session) : 0,
        .user_ns = timeval_ns(usage.ru_utime),
        .system_ns = timeval_ns(usage.ru_stime),
    };
}

static uint64_t repeats(const struct worker *w)
{
    return w->job->backend->repeats ? w->job->backend->repeats(w->session) : 0;
}

struct phase_run {
    size_t phase;
    bool measured;
    struct nm_pattern pattern;
    struct nm_workload_context context;
    struct nm_metrics *metrics; /* one per stream */
};

static int start_streams(struct worker *w, struct phase_run *run, unsigned *ret_started,
                         struct nm_error *err)
{
    const struct nm_workload *workload = w->job->workload;

    for (*ret_started = 0; *ret_started < w->n_streams; ++*ret_started) {
        int r = workload->ops->start(workload, &run->context, run->phase,
                                     w->first_stream + *ret_started, &w->states[*ret_started], err);

        if (r < 0)
            return r;
    }
    beat(w);
    return 0;
}

static int run_queue(struct worker *w, const struct phase_run *run, uint64_t start_ns,
                     struct nm_error *err)
{
    struct nm_queue_phase phase = {
        .session = w->session,
        .ops = w->job->workload->ops,
        .states = w->states,
        .slot = w->slot,
        .abort = &w->arena->abort,
        .pattern = &run->pattern,
        .verify = run->context.verify_full,
        .depth = run->context.depth,
        .measured = run->measured,
        .start_ns = start_ns,
        .timeout_ns = w->connect.timeout_ns,
    };
    struct cpu_times before = cpu_times(w), after;
    uint64_t repeated = repeats(w);
    int r;

    if (run->measured)
        atomic_store(&w->slot->state, NM_WORKER_RUNNING);
    r = nm_queue_run(w->queue, &phase, err);
    if (run->measured)
        atomic_store(&w->slot->state, NM_WORKER_FINISHING);
    after = cpu_times(w);
    w->slot->cpu_ns = after.own_ns - before.own_ns + after.helpers_ns - before.helpers_ns;
    w->slot->helpers = after.helpers_ns > before.helpers_ns;
    w->slot->user_ns = after.user_ns - before.user_ns;
    w->slot->system_ns = after.system_ns - before.system_ns;
    w->slot->repeats = repeats(w) - repeated;
    return r;
}

/* One phase of our streams. What a set-up counted does not count. */
static int run_phase(struct worker *w, struct phase_run *run, struct nm_error *err)
{
    const struct nm_workload_ops *ops = w->job->workload->ops;
    uint64_t start_ns = nm_clock_now_ns();
    unsigned started;
    int r = start_streams(w, run, &started, err);

    if (!r && run->measured)
        r = wait_for_start(w, &start_ns, err);
    if (!r)
        r = run_queue(w, run, start_ns, err);
    for (unsigned i = 0; i < started; i++) {
        uint64_t bytes = 0, files = 0;

        ops->finish(w->states[i], w->slot->end_ns > start_ns ? w->slot->end_ns - start_ns : 0,
                    r || !run->measured ? NULL : &run->metrics[i], &bytes, &files);
        if (run->measured) {
            w->slot->counted_bytes += bytes;
            w->slot->counted_files += files;
        }
    }
    if (!r && run->measured)
        nm_metrics_combine(ops, run->metrics, w->n_streams, &w->slot->metrics);
    return r;
}

static void forget_setup(struct nm_slot *slot)
{
    atomic_store(&slot->bytes, 0);
    atomic_store(&slot->operations, 0);
    slot->generator_ns = slot->verify_ns = 0;
}

static int run_phases(struct worker *w, struct nm_error *err)
{
    const struct nm_job *job = w->job;
    const struct nm_phase *phases;
    struct phase_run run = {0};
    int r = 0;

    job->workload->ops->phases(job->workload, &phases);
    nm_pattern_init(&run.pattern, job->origin, job->group, job->context.data);
    run.metrics = calloc(w->n_streams, sizeof(*run.metrics));
    if (!run.metrics)
        return nm_error_no_memory(err);
    for (run.phase = job->setup_from; run.phase <= job->phase && !r; run.phase++) {
        bool last = run.phase == job->phase;

        run.measured = last && job->measured;
        run.context = last ? job->context : setup_context(job, run.phase);
        run.context.directory = job->directory;
        run.context.pattern = &run.pattern;
        run.context.file_latency = run.measured ? &w->slot->file_latency : NULL;
        run.context.points = run.measured ? &w->slot->points : NULL;
        if (last && run.phase > job->setup_from && phases[run.phase].drop_caches &&
            job->backend->drop_caches)
            r = job->backend->drop_caches(w->session, err);
        if (!r)
            r = run_phase(w, &run, err);
        if (!last)
            forget_setup(w->slot);
    }
    free(run.metrics);
    return r;
}

static int leave(struct worker *w, const char *path, void *buffer, size_t buffer_bytes,
                 struct nm_error *err)
{
    return nm_directory_remove(w->session, path, w->connect.timeout_ns, buffer, buffer_bytes,
                               &w->slot->heartbeat_ns, &w->slot->leftover_files, err);
}

/* Who else runs here? Not knowing is no reason to fail. */
static void look_around(struct worker *w, void *buffer, size_t buffer_bytes)
{
    (void)!nm_sweep_run(w->session, false, w->connect.timeout_ns, buffer, buffer_bytes,
                        &w->slot->heartbeat_ns, &w->slot->sweep, &(struct nm_error){0});
}

static int do_job(struct worker *w, struct nm_error *err)
{
    const struct nm_job *job = w->job;
    size_t buffer_bytes;
    void *buffer = nm_queue_buffers(w->queue, &buffer_bytes);

    switch (job->kind) {
    case NM_JOB_PROBE: return 0;
    case NM_JOB_CLAIM:
        return job->backend->claim ? job->backend->claim(w->session, &w->slot->claim_fraction, err)
                                   : 0;
    case NM_JOB_ENTER:
        if (job->fresh)
            look_around(w, buffer, buffer_bytes);
        return nm_directory_enter(w->session, job->run_directory, job->directory, job->fresh,
                                  w->connect.timeout_ns, buffer, buffer_bytes, err);
    case NM_JOB_PHASE: return run_phases(w, err);
    case NM_JOB_LEAVE:
        look_around(w, buffer, buffer_bytes);
        return leave(w, job->directory, buffer, buffer_bytes, err);
    case NM_JOB_RETIRE: return leave(w, job->run_directory, buffer, buffer_bytes, err);
    case NM_JOB_SWEEP:
        return nm_sweep_run(w->session, job->remove, w->connect.timeout_ns, buffer, buffer_bytes,
                            &w->slot->heartbeat_ns, &w->slot->sweep, err);
    case NM_JOB_SURVEY:
        return nm_survey_run(w->session, &w->slot->info, w->connect.timeout_ns, buffer,
                             w->connect.block_bytes, &w->slot->heartbeat_ns, &w->slot->partitions,
                             err);
    case NM_JOB_RELEASE:
        return job->backend->release ? job->backend->release(w->session, job->end_bytes, err) : 0;
    }
    return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL, "unknown job");
}

int nm_worker_main(unsigned slot, void *context)
{
    const struct nm_worker_setup *setup = context;
    struct worker *w = calloc(1, sizeof(*w));
    struct nm_error err = {0};
    int r;

    if (!w)
        return 1;
    w->plan = setup->plan;
    w->arena = setup->arena;
    w->job = &setup->arena->job;
    w->slot = &setup->arena->slots[slot];
    w->index = slot;
    silence();
    beat(w);
    r = connect_target(w, &err);
    if (!r)
        r = describe(w, &err);
    if (!r)
        r = do_job(w, &err);
    /* The result is final before disconnect, which may block: the parent does not wait for it. */
    w->slot->err = err;
    atomic_store(&w->slot->state, r < 0 ? NM_WORKER_FAILED : NM_WORKER_DONE);
    if (w->session)
        w->job->backend->disconnect(w->session);
    nm_queue_free(w->queue);
    free(w);
    return 0;
}
