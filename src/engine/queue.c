/* The operation loop (queue.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "queue.h"

#include "clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* How long the loop sleeps at most before it looks at the abort flag again. */
#define LOOK_UP_NS (50 * NM_NS_PER_MS)
/* How long operations in flight get to come back once the phase is given up. */
#define DRAIN_NS (1 * NM_NS_PER_S)
/* Operations from this size on have the CPU time of their data taken by the clock for it. */
#define CPU_CLOCK_BYTES (64u << 10)

struct entry {
    struct nm_op op;
    unsigned stream;
    uint64_t position_bytes; /* of its data, or NM_NO_PATTERN */
};

struct stream {
    unsigned *idle; /* stack of indices into entries */
    unsigned n_idle;
    bool finished;
    uint64_t wait_until_ns;
};

struct nm_queue {
    unsigned n_streams, depth;
    uint32_t block_bytes;
    char *buffers;
    size_t buffers_bytes;
    struct entry *entries; /* stream s owns [s * depth, (s + 1) * depth) */
    struct stream *streams;
    unsigned *idle;
};

int nm_queue_new(unsigned streams, unsigned depth, uint32_t block_bytes,
                 struct nm_queue **ret_queue, struct nm_error *err)
{
    size_t n = (size_t)streams * depth, stride = ((size_t)block_bytes + 4095) & ~(size_t)4095;
    struct nm_queue *queue = calloc(1, sizeof(*queue));

    if (!queue)
        goto out_of_memory;
    queue->n_streams = streams;
    queue->depth = depth;
    queue->block_bytes = block_bytes;
    queue->buffers_bytes = n * stride;
    queue->entries = calloc(n, sizeof(*queue->entries));
    queue->streams = calloc(streams, sizeof(*queue->streams));
    queue->idle = calloc(n, sizeof(*queue->idle));
    queue->buffers =
        mmap(NULL, queue->buffers_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (queue->buffers == MAP_FAILED)
        queue->buffers = NULL;
    if (!queue->entries || !queue->streams || !queue->idle || !queue->buffers)
        goto out_of_memory;
    for (size_t i = 0; i < n; i++) {
        queue->entries[i].stream = (unsigned)(i / depth);
        queue->entries[i].op.slot = (unsigned)(i % depth);
        queue->entries[i].op.buf = queue->buffers + i * stride;
    }
    *ret_queue = queue;
    return 0;

out_of_memory:
    nm_queue_free(queue);
    return nm_error_set(err, -ENOMEM, NM_REASON_CLIENT_LIMIT,
                        "no memory for %u x %u buffers of %u bytes; lower streams, depth or block",
                        streams, depth, block_bytes);
}

void nm_queue_free(struct nm_queue *queue)
{
    if (!queue)
        return;
    if (queue->buffers)
        munmap(queue->buffers, queue->buffers_bytes);
    free(queue->entries);
    free(queue->streams);
    free(queue->idle);
    free(queue);
}

void *nm_queue_buffers(const struct nm_queue *queue, size_t *ret_bytes)
{
    *ret_bytes = queue->buffers_bytes;
    return queue->buffers;
}

static void start_streams(struct nm_queue *queue, unsigned depth)
{
    for (unsigned s = 0; s < queue->n_streams; s++) {
        struct stream *stream = &queue->streams[s];

        *stream = (struct stream){.idle = queue->idle + (size_t)s * queue->depth, .n_idle = depth};
        for (unsigned i = 0; i < depth; i++) /* slot 0 on top */
            stream->idle[i] = s * queue->depth + depth - 1 - i;
    }
}

static void make_ready(struct nm_op *op)
{
    op->file = NULL;
    op->path = op->new_path = NULL;
    op->offset_bytes = op->expected_bytes = 0;
    op->length_bytes = 0;
    op->open_flags = 0;
    op->discard = false;
    op->stat = NULL;
    op->list_entry = NULL;
}

/* Time spent on data, apart from the rest of our CPU time. The CPU clock is a system call, too dear
 * for small operations; the other one also counts what the scheduler gives to somebody else. */
static uint64_t data_clock_ns(uint32_t length_bytes)
{
    return length_bytes >= CPU_CLOCK_BYTES ? nm_clock_thread_cpu_ns() : nm_clock_now_ns();
}

/* Asks the generator of one stream for one operation. 1 = submitted, 0 = none now, negative =
 * failed. */
static int issue(struct nm_queue *queue, const struct nm_queue_phase *phase, unsigned s,
                 uint64_t now_ns, struct nm_error *err)
{
    struct stream *stream = &queue->streams[s];

    if (stream->finished || !stream->n_idle || stream->wait_until_ns > now_ns)
        return 0;

    struct entry *entry = &queue->entries[stream->idle[stream->n_idle - 1]];
    uint64_t wait_until_ns = 0;

    make_ready(&entry->op);
    entry->position_bytes = NM_NO_PATTERN;
    switch (phase->ops->next_op(phase->states[s], now_ns, &entry->op, &entry->position_bytes,
                                &wait_until_ns)) {
    case NM_NEXT_DONE: stream->finished = true; return 0;
    case NM_NEXT_WAIT: stream->wait_until_ns = wait_until_ns; return 0;
    case NM_NEXT_FAIL: *err = entry->op.err; return err->code;
    case NM_NEXT_OP: break;
    }
    stream->n_idle--;
    entry->op.discard = entry->op.discard && !phase->verify;
    if (entry->op.kind == NM_OP_WRITE && entry->position_bytes != NM_NO_PATTERN) {
        uint64_t before_ns = data_clock_ns(entry->op.length_bytes);

        nm_pattern_fill(phase->pattern, entry->position_bytes, entry->op.buf,
                        entry->op.length_bytes);
        phase->slot->generator_ns += data_clock_ns(entry->op.length_bytes) - before_ns;
    }
    nm_session_submit(phase->session, &entry->op);
    return 1;
}

static void check_data(const struct nm_queue_phase *phase, struct entry *entry)
{
    struct nm_op *op = &entry->op;
    uint64_t before_ns = data_clock_ns(op->length_bytes);
    size_t wrong;

    if (nm_pattern_check(phase->pattern, entry->position_bytes, op->buf, (size_t)op->result, &wrong,
                         &op->err) < 0) {
        nm_error_prefix(&op->err, "byte %llu", (unsigned long long)(op->offset_bytes + wrong));
        op->result = -EILSEQ;
    }
    phase->slot->verify_ns += data_clock_ns(op->length_bytes) - before_ns;
}

static void count(const struct nm_queue_phase *phase, const struct nm_op *op)
{
    struct nm_slot *slot = phase->slot;
    bool data = (op->kind == NM_OP_READ || op->kind == NM_OP_WRITE) && op->result > 0;

    atomic_store_explicit(&slot->heartbeat_ns, op->done_ns, memory_order_relaxed);
    atomic_store_explicit(&slot->operations,
                          atomic_load_explicit(&slot->operations, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    if (data)
        atomic_store_explicit(&slot->bytes,
                              atomic_load_explicit(&slot->bytes, memory_order_relaxed) +
                                  (uint64_t)op->result,
                              memory_order_relaxed);
    if (!phase->measured)
        return;
    nm_histogram_add(&slot->operations_latency[op->kind], op->done_ns - op->submit_ns);
    if (data) {
        uint64_t bin =
            op->done_ns > phase->start_ns ? (op->done_ns - phase->start_ns) / NM_BIN_NS : 0;

        slot->bins_bytes[bin < NM_BINS_MAX ? bin : NM_BINS_MAX - 1] += (uint64_t)op->result;
    }
}

static int complete(struct nm_queue *queue, const struct nm_queue_phase *phase, struct nm_op *op,
                    struct nm_error *err)
{
    struct entry *entry = (struct entry *)((char *)op - offsetof(struct entry, op));
    struct stream *stream = &queue->streams[entry->stream];

    count(phase, op);
    if (phase->verify && op->kind == NM_OP_READ && op->result > 0 &&
        entry->position_bytes != NM_NO_PATTERN)
        check_data(phase, entry);
    stream->idle[stream->n_idle++] = (unsigned)(entry - queue->entries);
    stream->wait_until_ns = 0;
    return phase->ops->done_op(phase->states[entry->stream], op, err);
}

/* Gives operations in flight a moment to come back, so that disconnect finds a quiet session. */
static void drain(const struct nm_queue_phase *phase)
{
    uint64_t deadline_ns = nm_clock_now_ns() + DRAIN_NS;
    struct nm_error ignored = {0};

    if (phase->session->in_flight && phase->session->ops->cancel)
        phase->session->ops->cancel(phase->session);
    while (phase->session->in_flight && nm_clock_now_ns() < deadline_ns)
        if (!nm_session_reap(phase->session, deadline_ns, &ignored) && ignored.code)
            break;
}

/* Waits for completions and handles all that are there. */
static int collect(struct nm_queue *queue, const struct nm_queue_phase *phase, uint64_t now_ns,
                   struct nm_error *err)
{
    uint64_t until_ns = now_ns + LOOK_UP_NS;
    struct nm_error dead = {0};
    bool waits = false;
    struct nm_op *op;

    for (unsigned s = 0; s < queue->n_streams; s++) {
        const struct stream *stream = &queue->streams[s];

        if (stream->finished || !stream->wait_until_ns)
            continue;
        waits = true;
        if (stream->wait_until_ns < until_ns)
            until_ns = stream->wait_until_ns;
    }
    if (!phase->session->in_flight) {
        if (!waits) /* it would wait for ever */
            return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                                "workload %s waits for nothing; please report this",
                                phase->ops->name);
        nm_clock_sleep_until_ns(until_ns);
        atomic_store_explicit(&phase->slot->heartbeat_ns, until_ns, memory_order_relaxed);
        return 0;
    }
    op = nm_session_reap(phase->session, until_ns, &dead);
    if (!op && dead.code) {
        *err = dead;
        return dead.code;
    }
    while (op) {
        int r = complete(queue, phase, op, err);

        if (r < 0)
            return r;
        op = phase->session->done_first ? nm_session_reap(phase->session, 0, &dead) : NULL;
    }
    return 0;
}

static int stalled(const struct nm_queue_phase *phase, uint64_t now_ns, struct nm_error *err)
{
    uint64_t last_ns = atomic_load_explicit(&phase->slot->heartbeat_ns, memory_order_relaxed);

    if (now_ns < last_ns || now_ns - last_ns <= phase->timeout_ns + LOOK_UP_NS)
        return 0;
    return nm_error_set(
        err, -ETIMEDOUT, NM_REASON_TIMEOUT,
        "no answer for %.1f s with %u operations in flight; is the server alive? (timeout in "
        "[run] sets the limit)",
        (double)(now_ns - last_ns) / 1e9, phase->session->in_flight);
}

int nm_queue_run(struct nm_queue *queue, const struct nm_queue_phase *phase, struct nm_error *err)
{
    int r = 0;

    start_streams(queue, phase->depth < queue->depth ? phase->depth : queue->depth);
    atomic_store_explicit(&phase->slot->heartbeat_ns, nm_clock_now_ns(), memory_order_relaxed);
    while (!r) {
        uint64_t now_ns = nm_clock_now_ns();
        bool more = true, open = false;

        if (atomic_load_explicit(phase->abort, memory_order_relaxed)) {
            r = nm_error_set(err, -ECANCELED, NM_REASON_ABORTED, "stopped before the end");
            break;
        }
        while (more && !r) { /* one operation per stream and round: nobody starves */
            more = false;
            for (unsigned s = 0; s < queue->n_streams && r >= 0; s++) {
                r = issue(queue, phase, s, now_ns, err);
                more |= r > 0;
            }
            r = r < 0 ? r : 0;
            /* Completions wait: a synchronous backend completes inside submit. */
            if (phase->session->done_first)
                break;
        }
        if (r < 0)
            break;
        for (unsigned s = 0; s < queue->n_streams; s++)
            open |= !queue->streams[s].finished;
        if (!open && !phase->session->in_flight)
            break;
        r = collect(queue, phase, now_ns, err);
        if (!r)
            r = stalled(phase, nm_clock_now_ns(), err);
    }
    phase->slot->end_ns = nm_clock_now_ns();
    if (r)
        drain(phase);
    return r;
}
