/* The null backend: no storage at all. It measures the harness itself, and with a rate, a latency
 * and faults it is the target that the engine's tests need (arguments.c lists what a URL may say).
 * Without rate and latency an operation completes inside submit; otherwise completions come in the
 * order of their time, so that depth matters as it does on a network.
 *
 * One thread, one session per worker; what sessions share is in device.c.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "null.h"

#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* --- completion by time --- */

static bool earlier(const struct null_pending *a, const struct null_pending *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->order < b->order;
}

static void push(struct null_session *s, struct nm_op *op, uint64_t due_ns)
{
    struct null_pending item = {due_ns, s->order++, op};
    unsigned at = s->n_pending++;

    for (; at && earlier(&item, &s->heap[(at - 1) / 2]); at = (at - 1) / 2)
        s->heap[at] = s->heap[(at - 1) / 2];
    s->heap[at] = item;
}

static struct nm_op *pop(struct null_session *s)
{
    struct nm_op *op = s->heap[0].op;
    struct null_pending item = s->heap[--s->n_pending];
    unsigned at = 0, child;

    while ((child = 2 * at + 1) < s->n_pending) {
        if (child + 1 < s->n_pending && earlier(&s->heap[child + 1], &s->heap[child]))
            child++;
        if (!earlier(&s->heap[child], &item))
            break;
        s->heap[at] = s->heap[child];
        at = child;
    }
    s->heap[at] = item;
    return op;
}

static void complete_all(struct null_session *s, int code, const char *text)
{
    while (s->n_pending) {
        struct nm_op *op = pop(s);

        null_fail(op, code, text);
        nm_session_complete(&s->base, op);
    }
}

static void complete_at(struct null_session *s, struct nm_op *op, uint64_t due_ns)
{
    uint64_t deadline_ns = op->submit_ns + s->timeout_ns;

    if (due_ns > deadline_ns) {
        null_fail(op, -ETIMEDOUT, "no answer in time");
        due_ns = deadline_ns;
    }
    if (due_ns <= op->submit_ns)
        nm_session_complete(&s->base, op);
    else
        push(s, op, due_ns);
}

/* --- faults --- */

/* Faults that replace the operation; true = the operation is dealt with. */
static bool fault_before(struct null_session *s, struct nm_op *op, const struct null_fault *fault)
{
    switch (fault->kind) {
    case NULL_FAULT_TIMEOUT: complete_at(s, op, NM_NEVER_NS); return true;
    case NULL_FAULT_HANG: push(s, op, NM_NEVER_NS); return true;
    case NULL_FAULT_BLOCK:
        for (;;)
            pause();
    case NULL_FAULT_CRASH: raise(SIGKILL); return true;
    case NULL_FAULT_LOST:
        s->lost = true;
        push(s, op, 0);
        complete_all(s, -ECONNRESET, "connection lost (fault)");
        return true;
    case NULL_FAULT_ENOSPC:
        null_fail(op, -ENOSPC, "no space left (fault)");
        complete_at(s, op, op->submit_ns + s->arguments.latency_ns);
        return true;
    case NULL_FAULT_EIO:
        null_fail(op, -EIO, "input/output error (fault)");
        complete_at(s, op, op->submit_ns + s->arguments.latency_ns);
        return true;
    default: return false;
    }
}

static void fault_after(struct nm_op *op, const struct null_fault *fault)
{
    if (op->result <= 0)
        return;
    if (fault->kind == NULL_FAULT_CORRUPT)
        ((unsigned char *)op->buf)[op->result / 2] ^= 1;
    if (fault->kind == NULL_FAULT_SHORT)
        op->result /= 2;
}

/* --- contract --- */

static uint64_t rate_of(struct null_session *s, const struct nm_op *op)
{
    const struct null_arguments *a = &s->arguments;

    if (op->kind == NM_OP_READ)
        return a->rate_bytes_per_s;
    if (op->kind != NM_OP_WRITE)
        return 0;
    s->written_bytes += op->length_bytes;
    return a->after_bytes_per_s && s->written_bytes > a->burst_bytes ? a->after_bytes_per_s
                                                                     : a->rate_bytes_per_s;
}

static void null_submit(struct nm_session *session, struct nm_op *op)
{
    struct null_session *s = (struct null_session *)session;
    const struct null_fault *fault =
        s->faults.count ? null_faults_next(&s->faults, op->kind) : NULL;
    uint64_t due_ns = op->submit_ns, rate;

    if (s->lost || s->n_pending == s->depth) {
        null_fail(op, s->lost ? -ECONNRESET : -EBUSY,
                  s->lost ? "connection lost (fault)" : "more operations than the depth");
        nm_session_complete(session, op);
        return;
    }
    if (fault && fault_before(s, op, fault))
        return;
    null_files_execute(s, op);
    if (fault)
        fault_after(op, fault);
    rate = op->result > 0 ? rate_of(s, op) : 0;
    if (rate)
        due_ns = null_device_transfer(&s->device, due_ns, (uint64_t)op->result, rate);
    due_ns += s->arguments.latency_ns;
    if (fault && fault->kind == NULL_FAULT_SLOW)
        due_ns += fault->slow_ns;
    complete_at(s, op, due_ns);
}

static int null_reap(struct nm_session *session, uint64_t deadline_ns, struct nm_error *err)
{
    struct null_session *s = (struct null_session *)session;
    uint64_t due_ns = s->n_pending ? s->heap[0].due_ns : NM_NEVER_NS, now_ns;

    if (s->lost)
        return nm_error_errno(err, -ECONNRESET, "null: connection lost (fault)");
    nm_clock_sleep_until_ns(due_ns < deadline_ns ? due_ns : deadline_ns);
    now_ns = nm_clock_now_ns();
    while (s->n_pending && s->heap[0].due_ns <= now_ns)
        nm_session_complete(session, pop(s));
    return 0;
}

static void null_cancel(struct nm_session *session)
{
    complete_all((struct null_session *)session, -ECANCELED, "cancelled");
}

static void null_disconnect(struct nm_session *session)
{
    struct null_session *s = (struct null_session *)session;

    if (!s)
        return;
    while (s->files)
        null_file_close(s, s->files);
    nm_names_done(&s->names);
    null_device_close(&s->device);
    null_arguments_done(&s->arguments);
    free(s->heap);
    free(s);
}

static int null_connect(const struct nm_connect *how, struct nm_session **ret_session,
                        struct nm_error *err)
{
    struct null_session *s = calloc(1, sizeof(*s));
    int r;

    if (!s)
        return nm_error_errno(err, -ENOMEM, "null: out of memory");
    s->device = NULL_DEVICE_CLOSED;
    s->names.parent_fd = -1;
    s->timeout_ns = how->timeout_ns;
    s->depth = how->depth;
    s->heap = calloc(how->depth + 1, sizeof(*s->heap));
    r = s->heap ? null_arguments_parse(how->url, &s->arguments, err)
                : nm_error_errno(err, -ENOMEM, "null: out of memory");
    if (r == 0)
        r = null_faults_parse(s->arguments.fault, &s->faults, err);
    if (r == 0)
        r = null_device_open(&s->device, how->url, err);
    if (r == 0)
        r = nm_names_init(&s->names, s->device.files_fd, err);
    if (r < 0) {
        null_disconnect(&s->base);
        return r;
    }
    /* Timers of this worker fire on time; the default lets them be 50 us late. */
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    *ret_session = &s->base;
    return 0;
}

static int null_describe(struct nm_session *session, struct nm_target_info *info,
                         struct nm_conditions *conditions, struct nm_error *err)
{
    struct null_session *s = (struct null_session *)session;
    uint64_t used = atomic_load(&s->device.shared->used_bytes), size = s->arguments.capacity_bytes;

    (void)err;
    if (s->arguments.rate_bytes_per_s)
        nm_conditions_set(conditions, "null.rate", "%llu",
                          (unsigned long long)s->arguments.rate_bytes_per_s);
    if (s->arguments.latency_ns)
        nm_conditions_set(conditions, "null.latency_ns", "%llu",
                          (unsigned long long)s->arguments.latency_ns);
    if (s->arguments.fault)
        nm_conditions_set(conditions, "null.fault", "%s", s->arguments.fault);
    *info = (struct nm_target_info){
        .total_bytes = s->arguments.blocks ? size - size % s->arguments.unit_bytes : size,
        .free_bytes = s->arguments.blocks ? UINT64_MAX
                      : used < size       ? size - used
                                          : 0,
        .block_bytes = s->arguments.blocks ? s->arguments.unit_bytes : 1,
        .writable = true,
    };
    snprintf(info->identity, sizeof(info->identity), "%s", s->device.name);
    return 0;
}

static int null_claim(struct nm_session *session, volatile double *done_fraction,
                      struct nm_error *err)
{
    (void)session;
    (void)err;
    if (done_fraction)
        *done_fraction = 1;
    return 0;
}

static int null_release(struct nm_session *session, uint64_t end_bytes, struct nm_error *err)
{
    struct null_session *s = (struct null_session *)session;
    uint64_t length = end_bytes < 1 << 20 ? end_bytes : 1 << 20;
    int fd;

    atomic_store(&s->device.shared->keep, 0);
    if (!s->arguments.store)
        return 0;
    fd = openat(s->device.root_fd, "device", O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return 0; /* nothing was written */
    const off_t places[] = {0, (off_t)(end_bytes - length)};
    int r = 0;

    for (int i = 0; i < 2 && r == 0; i++)
        if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, places[i], (off_t)length) < 0)
            r = nm_error_errno(err, -errno, "null: cannot zero the ends of the device");
    close(fd);
    return r;
}

static bool is_device(const struct nm_url *url)
{
    struct null_arguments arguments;
    bool blocks;

    if (null_arguments_parse(url, &arguments, NULL) < 0)
        return false; /* the file backend's connect says why */
    blocks = arguments.blocks;
    null_arguments_done(&arguments);
    return blocks;
}

static bool is_tree(const struct nm_url *url)
{
    return !is_device(url);
}

const struct nm_backend_ops nm_backend_null = {
    .name = "null",
    .help = "no storage: measures the program itself",
    .protocol = NM_PROTOCOL_NULL,
    .supports = NM_OP_MASK_ALL,
    .traits = NM_TRAIT_FILES | NM_TRAIT_ASYNC,
    .suits = is_tree,
    .connect = null_connect,
    .disconnect = null_disconnect,
    .describe = null_describe,
    .submit = null_submit,
    .reap = null_reap,
    .cancel = null_cancel,
};

const struct nm_backend_ops nm_backend_null_blocks = {
    .name = "null-blocks",
    .help = "no storage, as a block device",
    .protocol = NM_PROTOCOL_NULL,
    .supports = NM_OP_MASK_BLOCK,
    .traits = NM_TRAIT_BLOCKS | NM_TRAIT_ASYNC,
    .suits = is_device,
    .connect = null_connect,
    .disconnect = null_disconnect,
    .describe = null_describe,
    .submit = null_submit,
    .reap = null_reap,
    .cancel = null_cancel,
    .claim = null_claim,
    .release = null_release,
};
