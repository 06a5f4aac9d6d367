/* Requests of the local backend: io_uring, or, where the kernel does not give us one, one system
 * call after the other.
 *
 * An operation goes out in pieces: normally one; a write whose end is no multiple of the direct
 * block goes out as a direct piece and a buffered tail, and what the kernel cut short goes out
 * again. Buffered writes are made at once: io_uring would hand them to a kernel thread, which costs
 * more than the copy. So are buffered reads that were asked for one at a time.
 *
 * A request that the kernel keeps beyond the timeout is completed with -ETIMEDOUT; its buffer
 * still belongs to the kernel, so the session is dead from then on.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "local.h"

#include "clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A wait that ends by a timer of its own arms and disarms it each time, which costs more than a
 * microsecond: a tenth of a 4 KiB request to a fast disk. So one request of ours ends every wait
 * after this time at the latest, and is renewed when it has. Shorter waits have their own timer. */
#define TICK_NS (40 * NM_NS_PER_MS)

int local_queue_init(struct local_session *s, struct nm_error *err)
{
    struct io_uring_params params = {.flags =
                                         IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN};
    int r;

    s->tick = (struct __kernel_timespec){.tv_nsec = (long long)TICK_NS};
    s->slots = calloc(s->how->depth, sizeof(*s->slots));
    if (!s->slots)
        return nm_error_errno(err, -ENOMEM, "local: out of memory");
    if (s->options->io_engine == LOCAL_ENGINE_SYNC) {
        snprintf(s->engine_reason, sizeof(s->engine_reason), "local.io_engine = sync");
        return 0;
    }
    r = io_uring_queue_init_params(s->how->depth + 1, &s->ring, &params); /* the tick */
    if (r == -EINVAL)                                                     /* before Linux 6.1 */
        r = io_uring_queue_init(s->how->depth + 1, &s->ring, 0);
    s->uring = r == 0;
    if (r == 0)
        return 0;
    if (s->options->io_engine == LOCAL_ENGINE_URING)
        return nm_error_set(
            err, r, NM_REASON_UNSUPPORTED,
            "local: this system gives no io_uring (%s); take local.io_engine = auto", strerror(-r));
    snprintf(s->engine_reason, sizeof(s->engine_reason), "no io_uring: %s", strerror(-r));
    return 0;
}

static struct local_slot *take_slot(struct local_session *s)
{
    for (unsigned i = 0; i < s->how->depth; i++) {
        struct local_slot *slot = &s->slots[s->next_slot];

        if (++s->next_slot == s->how->depth)
            s->next_slot = 0;
        if (!slot->busy && !slot->op)
            return slot;
    }
    return NULL;
}

static void finish(struct local_session *s, struct local_slot *slot)
{
    struct nm_op *op = slot->op;

    slot->op = NULL;
    nm_session_complete(&s->base, op);
}

static int refuse_alignment(const struct local_session *s, struct nm_op *op, uint64_t offset)
{
    return nm_error_set(
        &op->err, -EINVAL, NM_REASON_UNSUPPORTED,
        "%s: %s at byte %llu: direct I/O needs multiples of %u bytes here; take such "
        "a block size, or local.direct = no",
        s->path, nm_op_kind_name(op->kind), (unsigned long long)offset, s->can.align_bytes);
}

/* Chooses descriptor and length of the next piece. 0, or -errno with op->err. */
static int plan_piece(struct local_session *s, struct local_slot *slot)
{
    struct nm_op *op = slot->op;
    struct local_file *file = (struct local_file *)op->file;
    uint64_t offset = op->offset_bytes + slot->done_bytes;
    uint32_t rest = op->length_bytes - slot->done_bytes, mask = s->can.align_bytes - 1;

    slot->fd = file->fd;
    slot->direct = file->direct;
    slot->piece_bytes = rest;
    if (!file->direct || !((offset | rest) & mask))
        return 0;
    if (offset & mask)
        return refuse_alignment(s, op, offset);
    if (op->kind == NM_OP_READ) {
        uint32_t most = op->length_bytes + (LOCAL_PAGE_BYTES - 1);

        most -= most % LOCAL_PAGE_BYTES; /* the operation's whole pages */
        slot->piece_bytes = (rest + mask) & ~mask;
        return slot->piece_bytes <= most - slot->done_bytes ? 0 : refuse_alignment(s, op, offset);
    }
    /* A ragged end: sequences of small blocks do not get far with this, since their next offset is
     * refused. */
    slot->piece_bytes = rest - rest % (mask < LOCAL_PAGE_BYTES ? LOCAL_PAGE_BYTES : mask + 1);
    if (slot->piece_bytes)
        return 0;
    slot->piece_bytes = rest;
    slot->direct = false;
    slot->fd = local_file_buffered_fd(file, &op->err);
    return slot->fd < 0 ? slot->fd : 0;
}

static int fail(const struct local_session *s, struct local_slot *slot, int code)
{
    struct nm_op *op = slot->op;
    const char *kind = nm_op_kind_name(op->kind);

    if (code == -EINVAL && slot->direct)
        nm_error_set(&op->err, code, NM_REASON_UNSUPPORTED,
                     "%s: %s: the file system took the file for direct I/O and then refused the "
                     "request; take local.direct = no",
                     s->path, kind);
    else
        nm_names_error(&op->err, code, op->kind != NM_OP_READ, kind, s->path);
    nm_error_raw(&op->err, "%s", strerrorname_np(-code));
    return code;
}

/* Takes the kernel's answer to a piece; true when the operation is over. */
static bool piece_done(struct local_session *s, struct local_slot *slot, int result)
{
    struct nm_op *op = slot->op;
    struct nm_file *file = op->file;
    uint32_t rest = op->length_bytes - slot->done_bytes;
    uint64_t end;

    if (result == -EINTR)
        return false;
    if (result == 0 && op->kind == NM_OP_WRITE)
        result = -EIO;
    if (result < 0) {
        op->result = fail(s, slot, result);
        return true;
    }
    if (op->kind == NM_OP_FLUSH) {
        local_file_drop_cache(s, (struct local_file *)file);
        return true;
    }
    slot->done_bytes += (uint32_t)result < rest ? (uint32_t)result : rest;
    op->result = slot->done_bytes;
    end = op->offset_bytes + slot->done_bytes;
    if (op->kind == NM_OP_READ)
        return result == 0 || slot->done_bytes == op->length_bytes || end >= file->size_bytes;
    if (end > file->size_bytes)
        file->size_bytes = end;
    return slot->done_bytes == op->length_bytes;
}

static int call(const struct local_slot *slot)
{
    const struct nm_op *op = slot->op;
    char *buf = (char *)op->buf + slot->done_bytes;
    off_t offset = (off_t)(op->offset_bytes + slot->done_bytes);
    ssize_t r = op->kind == NM_OP_READ    ? pread(slot->fd, buf, slot->piece_bytes, offset)
                : op->kind == NM_OP_WRITE ? pwrite(slot->fd, buf, slot->piece_bytes, offset)
                                          : fsync(slot->fd);

    return r < 0 ? -errno : (int)r;
}

/* Hands what is prepared to the kernel. */
static int submit(struct local_session *s)
{
    int r;

    s->prepared = false;
    do
        r = io_uring_submit(&s->ring);
    while (r == -EINTR || r == -EAGAIN);
    return r < 0 ? r : 0;
}

static int hand_over(struct local_session *s, struct local_slot *slot)
{
    const struct nm_op *op = slot->op;
    struct io_uring_sqe *sqe = io_uring_get_sqe(&s->ring);
    char *buf = (char *)op->buf + slot->done_bytes;
    uint64_t offset = op->offset_bytes + slot->done_bytes;
    int r;

    if (!sqe)
        return -EBUSY;
    if (op->kind == NM_OP_READ)
        io_uring_prep_read(sqe, slot->fd, buf, slot->piece_bytes, offset);
    else if (op->kind == NM_OP_WRITE)
        io_uring_prep_write(sqe, slot->fd, buf, slot->piece_bytes, offset);
    else
        io_uring_prep_fsync(sqe, slot->fd, 0);
    io_uring_sqe_set_data(sqe, slot);
    slot->busy = true;
    /* One at a time: the reap that follows hands it over and waits in the same system call. With
     * several in flight each goes out at once; together they would leave the device idle between
     * the batches (measured with random writes on virtio-blk). */
    if (s->how->depth == 1) {
        s->prepared = true;
        return 0;
    }
    r = submit(s);
    if (r < 0)
        slot->busy = false;
    return r;
}

/* What is a system call even where there is a ring: buffered writes, and buffered reads that are
 * one at a time anyway. */
static bool is_call(const struct local_session *s, const struct local_slot *slot)
{
    return (slot->op->kind == NM_OP_WRITE && !slot->direct) ||
           (slot->op->kind == NM_OP_READ && s->how->buffered && s->how->depth == 1);
}

/* Sends pieces until the kernel has one or the operation is over. */
static void advance(struct local_session *s, struct local_slot *slot)
{
    struct nm_op *op = slot->op;
    int r;

    do {
        if (op->kind == NM_OP_FLUSH) {
            slot->fd = ((struct local_file *)op->file)->fd;
            slot->direct = false;
        } else {
            r = plan_piece(s, slot);
            if (r < 0) {
                op->result = r;
                break;
            }
        }
        if (!s->uring || is_call(s, slot)) {
            r = call(slot);
            continue;
        }
        r = hand_over(s, slot);
        if (r == 0)
            return;
    } while (!piece_done(s, slot, r));
    finish(s, slot);
}

static int outside_device(const struct local_session *s, struct nm_op *op)
{
    uint64_t size = op->file->size_bytes;

    if (((op->offset_bytes | op->length_bytes) & (s->unit_bytes - 1)) == 0 &&
        op->offset_bytes <= size && op->length_bytes <= size - op->offset_bytes)
        return 0;
    return nm_error_set(
        &op->err, -EINVAL, NM_REASON_UNSUPPORTED,
        "%s: %s of %u bytes at %llu refused: the device has %llu bytes in blocks of "
        "%u",
        s->path, nm_op_kind_name(op->kind), op->length_bytes, (unsigned long long)op->offset_bytes,
        (unsigned long long)size, s->unit_bytes);
}

void local_queue_submit(struct local_session *s, struct nm_op *op)
{
    struct local_slot *slot = NULL;

    op->result = 0;
    if (s->dead)
        op->result = nm_error_set(&op->err, -ETIMEDOUT, NM_REASON_TIMEOUT,
                                  "%s: an earlier request was never answered", s->path);
    else if (op->kind != NM_OP_FLUSH && s->is_device)
        op->result = outside_device(s, op);
    if (op->result == 0 && (op->kind == NM_OP_FLUSH || op->length_bytes)) {
        slot = take_slot(s);
        if (!slot)
            op->result = nm_error_set(&op->err, -EBUSY, NM_REASON_INTERNAL,
                                      "local: more than %u operations in flight", s->how->depth);
    }
    if (!slot) {
        nm_session_complete(&s->base, op);
        return;
    }
    *slot = (struct local_slot){.op = op};
    advance(s, slot);
}

static void answer(struct local_session *s, struct io_uring_cqe *cqe)
{
    struct local_slot *slot = io_uring_cqe_get_data(cqe);
    int result = cqe->res;

    io_uring_cqe_seen(&s->ring, cqe);
    if (!slot)
        return; /* of a cancel request */
    if ((void *)slot == s) {
        s->ticking = false;
        return;
    }
    slot->busy = false;
    if (!slot->op)
        return; /* abandoned */
    if (piece_done(s, slot, result))
        finish(s, slot);
    else
        advance(s, slot);
}

static uint64_t oldest_ns(const struct local_session *s)
{
    uint64_t oldest = NM_NEVER_NS;

    for (unsigned i = 0; i < s->how->depth; i++)
        if (s->slots[i].op && s->slots[i].op->submit_ns < oldest)
            oldest = s->slots[i].op->submit_ns;
    return oldest;
}

/* Completes what is too old although the kernel still has it. */
static void abandon_until(struct local_session *s, uint64_t submitted_ns)
{
    for (unsigned i = 0; i < s->how->depth; i++) {
        struct nm_op *op = s->slots[i].op;

        if (!op || op->submit_ns > submitted_ns)
            continue;
        op->result = nm_error_errno(&op->err, -ETIMEDOUT, "%s: %s: no answer in time", s->path,
                                    nm_op_kind_name(op->kind));
        s->dead = true;
        finish(s, &s->slots[i]);
    }
}

static bool start_tick(struct local_session *s)
{
    struct io_uring_sqe *sqe = s->ticking ? NULL : io_uring_get_sqe(&s->ring);

    if (!sqe)
        return s->ticking;
    io_uring_prep_timeout(sqe, &s->tick, 0, 0);
    io_uring_sqe_set_data(sqe, s);
    s->ticking = true;
    return true;
}

static struct io_uring_cqe *wait_until(struct local_session *s, uint64_t until_ns)
{
    struct io_uring_cqe *cqe = NULL;
    uint64_t now_ns = nm_clock_now_ns();
    uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    struct __kernel_timespec time = {.tv_sec = (long long)(left_ns / NM_NS_PER_S),
                                     .tv_nsec = (long long)(left_ns % NM_NS_PER_S)};

    int r;

    if (!s->prepared && io_uring_peek_cqe(&s->ring, &cqe) == 0)
        return cqe;
    s->prepared = false;
    if (left_ns >= TICK_NS && start_tick(s)) {
        r = io_uring_submit_and_wait(&s->ring, 1);
        s->prepared = r < 0 && io_uring_sq_ready(&s->ring) > 0;
        return io_uring_peek_cqe(&s->ring, &cqe) ? NULL : cqe;
    }
    r = io_uring_submit_and_wait_timeout(&s->ring, &cqe, 1, &time, NULL);
    s->prepared = r < 0 && io_uring_sq_ready(&s->ring) > 0;
    return r < 0 ? NULL : cqe;
}

int local_queue_reap(struct local_session *s, uint64_t deadline_ns, struct nm_error *err)
{
    uint64_t timeout_ns, now_ns;
    struct io_uring_cqe *cqe;

    if (s->dead || !s->uring)
        return nm_error_set(err, -ETIMEDOUT, NM_REASON_TIMEOUT,
                            "%s: an earlier request was never answered", s->path);
    if (s->prepared || io_uring_peek_cqe(&s->ring, &cqe) != 0) {
        timeout_ns = oldest_ns(s);
        if (timeout_ns != NM_NEVER_NS)
            timeout_ns += s->how->timeout_ns;
        cqe = wait_until(s, timeout_ns < deadline_ns ? timeout_ns : deadline_ns);
        now_ns = nm_clock_now_ns();
        if (!cqe && now_ns >= timeout_ns)
            abandon_until(s, now_ns - s->how->timeout_ns);
    }
    while (cqe) {
        answer(s, cqe);
        cqe = NULL;
        io_uring_peek_cqe(&s->ring, &cqe);
    }
    return 0;
}

static void ask_to_cancel(struct local_session *s)
{
    if (s->prepared && submit(s) < 0)
        return;
    for (unsigned i = 0; i < s->how->depth; i++) {
        struct io_uring_sqe *sqe = s->slots[i].busy ? io_uring_get_sqe(&s->ring) : NULL;

        if (!sqe)
            continue;
        io_uring_prep_cancel(sqe, &s->slots[i], 0);
        io_uring_sqe_set_data(sqe, NULL);
        io_uring_submit(&s->ring);
    }
}

void local_queue_cancel(struct local_session *s)
{
    if (s->uring && !s->dead)
        ask_to_cancel(s);
}

static bool any_busy(const struct local_session *s)
{
    for (unsigned i = 0; i < s->how->depth; i++)
        if (s->slots[i].busy)
            return true;
    return false;
}

void local_queue_done(struct local_session *s)
{
    uint64_t until_ns = nm_clock_now_ns() + s->how->timeout_ns;
    struct io_uring_cqe *cqe;

    if (s->uring) {
        for (unsigned i = 0; i < s->how->depth; i++)
            s->slots[i].op = NULL;
        if (any_busy(s))
            ask_to_cancel(s);
        while (any_busy(s) && (cqe = wait_until(s, until_ns)))
            answer(s, cqe);
        io_uring_queue_exit(&s->ring);
    }
    s->uring = false;
    free(s->slots);
    s->slots = NULL;
}
