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
#include "local/names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

struct null_file {
    struct nm_file base;
    int fd;               /* in the shared tree; -1 for a device that stores nothing */
    uint64_t known_bytes; /* size that the file in the tree has */
    struct null_file *previous, *next;
};

struct pending {
    uint64_t due_ns, order; /* order: first in, first out among equals */
    struct nm_op *op;
};

struct null_session {
    struct nm_session base;
    struct null_arguments arguments;
    struct null_device device;
    struct null_faults faults;
    struct nm_names names;
    uint64_t timeout_ns, written_bytes, order;
    bool lost;
    unsigned n_pending, depth;
    struct pending *heap; /* smallest due_ns first */
    struct null_file *files;
};

/* --- completion by time --- */

static bool earlier(const struct pending *a, const struct pending *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->order < b->order;
}

static void push(struct null_session *s, struct nm_op *op, uint64_t due_ns)
{
    struct pending item = {due_ns, s->order++, op};
    unsigned at = s->n_pending++;

    for (; at && earlier(&item, &s->heap[(at - 1) / 2]); at = (at - 1) / 2)
        s->heap[at] = s->heap[(at - 1) / 2];
    s->heap[at] = item;
}

static struct nm_op *pop(struct null_session *s)
{
    struct nm_op *op = s->heap[0].op;
    struct pending item = s->heap[--s->n_pending];
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

static void fail(struct nm_op *op, int code, const char *text)
{
    op->result = nm_error_errno(&op->err, code, "null: %s: %s", nm_op_kind_name(op->kind), text);
}

static void complete_all(struct null_session *s, int code, const char *text)
{
    while (s->n_pending) {
        struct nm_op *op = pop(s);

        fail(op, code, text);
        nm_session_complete(&s->base, op);
    }
}

static void complete_at(struct null_session *s, struct nm_op *op, uint64_t due_ns)
{
    uint64_t deadline_ns = op->submit_ns + s->timeout_ns;

    if (due_ns > deadline_ns) {
        fail(op, -ETIMEDOUT, "no answer in time");
        due_ns = deadline_ns;
    }
    if (due_ns <= op->submit_ns)
        nm_session_complete(&s->base, op);
    else
        push(s, op, due_ns);
}

/* --- files --- */

/* The size that others see follows at FLUSH and CLOSE. */
static int publish_size(struct null_file *file)
{
    struct stat st;

    if (file->fd < 0 || file->base.size_bytes <= file->known_bytes)
        return 0;
    if (fstat(file->fd, &st) < 0 || ((uint64_t)st.st_size < file->base.size_bytes &&
                                     ftruncate(file->fd, (off_t)file->base.size_bytes) < 0))
        return -errno;
    file->known_bytes = file->base.size_bytes;
    return 0;
}

static void open_device(struct null_session *s, struct nm_op *op, struct null_file *file)
{
    file->base.size_bytes =
        s->arguments.capacity_bytes - s->arguments.capacity_bytes % s->arguments.unit_bytes;
    if (*op->path) {
        fail(op, -ENOENT, "a device has no names");
        return;
    }
    if (!s->arguments.store)
        return;
    file->fd = openat(s->device.root_fd, "device", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file->fd < 0 || ftruncate(file->fd, (off_t)file->base.size_bytes) < 0)
        fail(op, -errno, "cannot keep the device's contents in /dev/shm");
    file->known_bytes = file->base.size_bytes;
}

static void open_file(struct null_session *s, struct nm_op *op)
{
    struct null_file *file = calloc(1, sizeof(*file));

    if (!file) {
        fail(op, -ENOMEM, "out of memory");
        return;
    }
    file->base.session = &s->base;
    file->fd = -1;
    if (s->arguments.blocks) {
        open_device(s, op, file);
    } else {
        file->fd =
            nm_names_open(&s->names, op->path, op->kind == NM_OP_CREATE ? O_RDWR | O_CREAT : O_RDWR,
                          &file->base.size_bytes, &op->err);
        op->result = file->fd < 0 ? file->fd : 0;
        file->known_bytes = file->base.size_bytes;
    }
    if (op->result < 0) {
        if (file->fd >= 0)
            close(file->fd);
        free(file);
        return;
    }
    file->next = s->files;
    if (s->files)
        s->files->previous = file;
    s->files = file;
    op->file = &file->base;
}

static int close_file(struct null_session *s, struct null_file *file)
{
    int r = publish_size(file);

    if (file->next)
        file->next->previous = file->previous;
    if (file->previous)
        file->previous->next = file->next;
    else
        s->files = file->next;
    if (file->fd >= 0)
        close(file->fd);
    free(file);
    return r;
}

static void read_data(const struct null_session *s, struct nm_op *op)
{
    const struct null_file *file = (struct null_file *)op->file;
    uint64_t size = file->base.size_bytes, at = op->offset_bytes;
    uint64_t n = at >= size ? 0 : size - at < op->length_bytes ? size - at : op->length_bytes;
    ssize_t got;

    op->result = (int64_t)n;
    if (!s->arguments.store || !n)
        return;
    got = pread(file->fd, op->buf, n, (off_t)at);
    if (got < 0)
        fail(op, -errno, "cannot read from /dev/shm");
    else /* beyond what was written */
        memset((char *)op->buf + got, 0, n - (size_t)got);
}

static void write_data(struct null_session *s, struct nm_op *op)
{
    struct nm_file *file = op->file;
    uint64_t end = op->offset_bytes + op->length_bytes;
    uint64_t growth = op->length_bytes && end > file->size_bytes ? end - file->size_bytes : 0;

    op->result = op->length_bytes;
    if (growth) {
        if (atomic_fetch_add(&s->device.shared->used_bytes, growth) + growth >
            s->arguments.capacity_bytes) {
            atomic_fetch_sub(&s->device.shared->used_bytes, growth);
            fail(op, -ENOSPC, "the capacity of the URL is used up");
            return;
        }
        file->size_bytes = end;
    }
    if (s->arguments.store && op->length_bytes) {
        if (s->arguments.blocks)
            atomic_store(&s->device.shared->keep, 1);
        if (pwrite(((struct null_file *)file)->fd, op->buf, op->length_bytes,
                   (off_t)op->offset_bytes) != op->length_bytes)
            fail(op, -ENOSPC, "/dev/shm is full");
    }
}

static bool outside_device(const struct null_session *s, const struct nm_op *op)
{
    uint64_t mask = s->arguments.unit_bytes - 1, size = op->file->size_bytes;

    return ((op->offset_bytes | op->length_bytes) & mask) || op->offset_bytes > size ||
           op->length_bytes > size - op->offset_bytes;
}

static void unlink_file(struct null_session *s, struct nm_op *op)
{
    struct nm_stat stat = {0};
    struct nm_op look = {.kind = NM_OP_STAT, .path = op->path, .stat = &stat};

    nm_names_execute(&s->names, &look);
    nm_names_execute(&s->names, op);
    if (op->result == 0)
        atomic_fetch_sub(&s->device.shared->used_bytes, stat.size_bytes);
}

static void execute(struct null_session *s, struct nm_op *op)
{
    int r;

    op->result = 0;
    switch (op->kind) {
    case NM_OP_READ:
    case NM_OP_WRITE:
        if (s->arguments.blocks && outside_device(s, op))
            fail(op, -EINVAL, "outside of the device, or no whole blocks");
        else if (op->kind == NM_OP_READ)
            read_data(s, op);
        else
            write_data(s, op);
        break;
    case NM_OP_OPEN:
    case NM_OP_CREATE: open_file(s, op); break;
    case NM_OP_FLUSH:
    case NM_OP_CLOSE:
        r = op->kind == NM_OP_CLOSE ? close_file(s, (struct null_file *)op->file)
            : op->file              ? publish_size((struct null_file *)op->file)
                                    : 0;
        if (r < 0)
            fail(op, r, "cannot keep the size");
        break;
    case NM_OP_UNLINK: unlink_file(s, op); break;
    default: nm_names_execute(&s->names, op); break;
    }
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
        fail(op, -ENOSPC, "no space left (fault)");
        complete_at(s, op, op->submit_ns + s->arguments.latency_ns);
        return true;
    case NULL_FAULT_EIO:
        fail(op, -EIO, "input/output error (fault)");
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
        fail(op, s->lost ? -ECONNRESET : -EBUSY,
             s->lost ? "connection lost (fault)" : "more operations than the depth");
        nm_session_complete(session, op);
        return;
    }
    if (fault && fault_before(s, op, fault))
        return;
    execute(s, op);
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
        close_file(s, s->files);
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
