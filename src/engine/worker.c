/* A worker process (worker.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "worker.h"

#include "clock.h"
#include "directory.h"
#include "queue.h"

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

static int connect_target(struct worker *w, struct nm_error *err)
{
    const struct nm_job *job = w->job;
    const struct nm_volume *volume = &w->plan->volumes[job->volume];
    int r;

    w->n_streams = 1;
    if (job->kind == NM_JOB_PHASE || job->kind == NM_JOB_EVICT) {
        bool together = job->backend->traits & NM_TRAIT_SINGLE_PROCESS;

        w->first_stream = together ? 0 : w->index;
        w->n_streams = together ? job->context.streams : 1;
    }
    r = nm_queue_new(w->n_streams, job->context.depth, job->context.block_bytes, &w->queue, err);
    if (r < 0)
        return r;
    w->connect = (struct nm_connect){
        .url = volume->urls[job->protocol],
        .credentials = &volume->credentials[job->protocol],
        .options = nm_plan_backend_options(w->plan, job->backend->name),
        .volume = volume->name,
        .timeout_ns = w->plan->run.timeout_ns,
        .depth = job->context.depth * w->n_streams,
        .block_bytes = job->context.block_bytes,
        .stream = w->index,
        .streams = job->workers,
        .read_only = job->kind == NM_JOB_PROBE,
        .claimed = job->claimed,
        .buffered = job->buffered,
    };
    w->connect.buffers = nm_queue_buffers(w->queue, &w->connect.buffers_bytes);
    r = job->backend->connect(&w->connect, &w->session, err);
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

static uint64_t cpu_ns(const struct worker *w)
{
    uint64_t helpers =
        w->job->backend->helpers_cpu_ns ? w->job->backend->helpers_cpu_ns(w->session) : 0;

    return nm_clock_process_cpu_ns() + helpers;
}

static void combine(struct worker *w, const struct nm_metrics *each, unsigned n)
{
    nm_metrics_combine(w->job->workload->ops, each, n, &w->slot->metrics);
}

static int run_phase(struct worker *w, struct nm_error *err)
{
    const struct nm_job *job = w->job;
    const struct nm_workload_ops *ops = job->workload->ops;
    struct nm_workload_context context = job->context;
    struct nm_metrics *metrics = calloc(w->n_streams, sizeof(*metrics));
    struct nm_pattern pattern;
    unsigned started = 0;
    uint64_t start_ns = nm_clock_now_ns();
    int r = 0;

    if (!metrics)
        return nm_error_errno(err, -ENOMEM, "out of memory");
    nm_pattern_init(&pattern, job->origin, job->group, w->plan->run.data);
    context.pattern = &pattern;
    context.file_latency = &w->slot->file_latency;
    for (; started < w->n_streams && !r; started++)
        r = ops->start(job->workload, &context, job->phase, w->first_stream + started,
                       &w->states[started], err);
    if (r < 0)
        started--;
    beat(w);
    if (!r && job->measured)
        r = wait_for_start(w, &start_ns, err);
    if (!r) {
        struct nm_queue_phase phase = {
            .session = w->session,
            .ops = ops,
            .states = w->states,
            .slot = w->slot,
            .abort = &w->arena->abort,
            .pattern = &pattern,
            .verify = context.verify_full,
            .measured = job->measured,
            .start_ns = start_ns,
            .timeout_ns = w->connect.timeout_ns,
        };
        uint64_t before_ns = cpu_ns(w);

        atomic_store(&w->slot->state, NM_WORKER_RUNNING);
        r = nm_queue_run(w->queue, &phase, err);
        atomic_store(&w->slot->state, NM_WORKER_FINISHING);
        w->slot->cpu_ns = cpu_ns(w) - before_ns;
    }
    for (unsigned i = 0; i < started; i++) {
        uint64_t bytes = 0, files = 0;

        ops->finish(w->states[i], w->slot->end_ns > start_ns ? w->slot->end_ns - start_ns : 0,
                    r ? NULL : &metrics[i], &bytes, &files);
        w->slot->counted_bytes += bytes;
        w->slot->counted_files += files;
    }
    if (!r)
        combine(w, metrics, w->n_streams);
    free(metrics);
    return r;
}

static int leave(struct worker *w, const char *path, struct nm_error *err)
{
    return nm_directory_remove(w->session, path, w->connect.timeout_ns, &w->slot->heartbeat_ns,
                               &w->slot->leftover_files, err);
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
        return nm_directory_enter(w->session, job->run_directory, job->directory, job->fresh,
                                  w->connect.timeout_ns, buffer, buffer_bytes, err);
    case NM_JOB_PHASE:
    case NM_JOB_EVICT: return run_phase(w, err);
    case NM_JOB_LEAVE: return leave(w, job->directory, err);
    case NM_JOB_RETIRE: return leave(w, job->run_directory, err);
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
