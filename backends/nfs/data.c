/* READ, WRITE, FLUSH and CLOSE.
 *
 * READ and WRITE are cut into parts of the server's request size, which go out at once, over all
 * connections, as far as the limit of calls allows; so an operation larger than rsize or wsize is
 * pipelined even at depth 1. Writes are UNSTABLE; FLUSH and CLOSE send COMMIT when something is not
 * on disk yet, once. The write verifier tells whether the server restarted in between: then the
 * data may be gone, and the operation fails.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "nfs_internal.h"

#include <errno.h>

static struct nm_nfs_file *file_of(const struct nm_op *op)
{
    return (struct nm_nfs_file *)op->file;
}

/* -------- parts */

static void part_done(struct nm_nfs_session *s, struct nm_nfs_request *rq,
                      struct nm_nfs_call *call);

/* false: out of memory, or nothing was sent */
static bool part_send(struct nm_nfs_session *s, struct nm_nfs_request *rq, uint32_t at_bytes,
                      uint32_t length_bytes)
{
    const struct nm_op *op = rq->op;
    struct nm_nfs_call *call =
        nm_nfs_call_new(s, rq, op->kind == NM_OP_READ ? NM_NFS_READ : NM_NFS_WRITE, part_done);

    if (!call) {
        rq->status = NM_NFS_UNSENT;
        return false;
    }
    call->file = rq->file;
    call->offset_bytes = op->offset_bytes + at_bytes;
    call->length_bytes = length_bytes;
    call->buf = (char *)op->buf + at_bytes;
    s->data_calls++;
    nm_nfs_call_send(s, call);
    return true;
}

static void parts_finished(struct nm_nfs_session *s, struct nm_nfs_request *rq)
{
    uint32_t length_bytes = rq->op->length_bytes;

    if (rq->status)
        nm_nfs_request_fail(s, rq, rq->status, rq->rejection);
    else
        nm_nfs_request_done(s, rq, length_bytes < rq->eof_bytes ? length_bytes : rq->eof_bytes);
}

static void note_written(struct nm_nfs_file *file, const struct nm_nfs_call *call)
{
    if (!call->unstable)
        return; /* the server has it on disk already */
    if (file->unstable && file->verifier != call->verifier)
        file->lost = true;
    if (!file->unstable)
        file->verifier = call->verifier;
    file->unstable = true;
    file->write_replies++;
}

static void part_done(struct nm_nfs_session *s, struct nm_nfs_request *rq, struct nm_nfs_call *call)
{
    uint32_t at_bytes = (uint32_t)(call->offset_bytes - rq->op->offset_bytes);
    bool short_read = call->kind == NM_NFS_READ && call->eof;
    int status = call->status;

    s->data_calls--;
    if (!status && call->kind == NM_NFS_WRITE)
        note_written(rq->file, call);
    if (!status && call->count < call->length_bytes) {
        if (short_read)
            rq->eof_bytes =
                at_bytes + call->count < rq->eof_bytes ? at_bytes + call->count : rq->eof_bytes;
        else if (!call->count || call->count > call->length_bytes)
            status = NM_NFS_IO; /* success without progress */
        else if (!rq->status &&
                 part_send(s, rq, at_bytes + call->count, call->length_bytes - call->count))
            return;
    }
    if (status && !rq->status) {
        rq->status = status;
        rq->rejection = call->rejection;
    }
    if (rq->status)
        nm_nfs_request_unqueue(s, rq);
    if (!rq->outstanding && !rq->pending)
        parts_finished(s, rq);
}

void nm_nfs_parts_send(struct nm_nfs_session *s)
{
    struct nm_nfs_request *rq;

    while ((rq = s->pending_first) && s->data_calls < s->data_calls_max) {
        const struct nm_op *op = rq->op;
        uint32_t most_bytes = op->kind == NM_OP_READ ? s->read_bytes : s->write_bytes;
        uint32_t left_bytes = op->length_bytes - rq->sent_bytes;
        uint32_t part_bytes = left_bytes < most_bytes ? left_bytes : most_bytes;

        rq->sent_bytes += part_bytes;
        if (!part_send(s, rq, rq->sent_bytes - part_bytes, part_bytes) ||
            rq->sent_bytes == op->length_bytes)
            nm_nfs_request_unqueue(s, rq);
        if (!rq->outstanding && !rq->pending)
            parts_finished(s, rq);
    }
}

static int refuse(const struct nm_nfs_session *s, const struct nm_nfs_file *file, struct nm_op *op)
{
    bool writes = op->kind == NM_OP_WRITE;

    if (writes && s->cannot_write)
        return nm_error_set(&op->err, -EOPNOTSUPP, NM_REASON_UNSUPPORTED,
                            "nfs: this libnfs cannot send NFSv4 writes of 4 KiB or more; use "
                            "?version=3, or libnfs 5 or newer");
    if (writes ? !file->writable : !file->readable)
        return nm_error_set(&op->err, -EBADF, NM_REASON_INTERNAL, "nfs: %s is not open for %s",
                            file->label, writes ? "writing" : "reading");
    return 0;
}

static void parts_start(struct nm_nfs_session *s, struct nm_nfs_request *rq)
{
    struct nm_op *op = rq->op;
    int r = refuse(s, rq->file, op);

    if (r || !op->length_bytes) {
        nm_nfs_request_done(s, rq, r);
        return;
    }
    rq->eof_bytes = op->length_bytes;
    nm_nfs_request_queue(s, rq);
    nm_nfs_parts_send(s);
}

/* -------- COMMIT and CLOSE */

/* What a COMMIT, alone or before a CLOSE, says about the file; 0 or a status. */
static int commit_result(struct nm_nfs_file *file, const struct nm_nfs_call *call)
{
    if (call->status)
        return call->status;
    if (file->lost || call->verifier != file->verifier) {
        file->unstable = file->lost = false;
        return NM_NFS_RESTARTED;
    }
    if (file->write_replies == call->write_replies)
        file->unstable = false;
    return 0;
}

static struct nm_nfs_call *state_call(struct nm_nfs_session *s, struct nm_nfs_request *rq,
                                      struct nm_nfs_file *file, enum nm_nfs_call_kind kind,
                                      nm_nfs_step *then)
{
    struct nm_nfs_call *call = nm_nfs_call_new(s, rq, kind, then);

    if (!call)
        return NULL;
    call->file = file;
    call->write_replies = file->write_replies;
    return call;
}

static void flush_next(struct nm_nfs_session *s, struct nm_nfs_request *rq);

static void flush_committed(struct nm_nfs_session *s, struct nm_nfs_request *rq,
                            struct nm_nfs_call *call)
{
    int status = commit_result(call->file, call);

    if (status) {
        rq->file = call->file;
        nm_nfs_request_fail(s, rq, status, call->rejection);
    } else if (rq->op->file) {
        nm_nfs_request_done(s, rq, 0);
    } else {
        flush_next(s, rq);
    }
}

static void commit(struct nm_nfs_session *s, struct nm_nfs_request *rq, struct nm_nfs_file *file,
                   nm_nfs_step *then)
{
    struct nm_nfs_call *call = state_call(s, rq, file, NM_NFS_COMMIT, then);

    if (call)
        nm_nfs_call_send(s, call);
    else
        nm_nfs_request_fail(s, rq, NM_NFS_UNSENT, NULL);
}

/* FLUSH without a file: every open file; closed ones were committed then. */
static void flush_next(struct nm_nfs_session *s, struct nm_nfs_request *rq)
{
    struct nm_nfs_file *file = s->open_files.next;

    while (file != &s->open_files && !file->unstable)
        file = file->next;
    if (file != &s->open_files)
        commit(s, rq, file, flush_committed);
    else
        nm_nfs_request_done(s, rq, 0);
}

static void flush_start(struct nm_nfs_session *s, struct nm_nfs_request *rq)
{
    if (!rq->file)
        flush_next(s, rq);
    else if (rq->file->unstable)
        commit(s, rq, rq->file, flush_committed);
    else
        nm_nfs_request_done(s, rq, 0);
}

static void close_finished(struct nm_nfs_session *s, struct nm_nfs_request *rq)
{
    if (rq->status) {
        rq->op->result = nm_nfs_status_error(s, rq->status, rq->rejection, &rq->op->err, "close %s",
                                             rq->file->label);
    } else {
        rq->op->result = 0;
    }
    nm_nfs_file_free(s, rq->file);
    nm_nfs_request_done(s, rq, rq->op->result);
}

static void close_note(struct nm_nfs_request *rq, int status, const char *rejection)
{
    if (!status || rq->status)
        return;
    rq->status = status;
    rq->rejection = rejection;
}

static void close_state(struct nm_nfs_session *s, struct nm_nfs_request *rq);

static void closed(struct nm_nfs_session *s, struct nm_nfs_request *rq, struct nm_nfs_call *call)
{
    bool only_commit_failed = call->status && call->commits && !call->closed;

    close_note(rq, call->commits ? commit_result(rq->file, call) : call->status, call->rejection);
    rq->file->unstable = false;
    if (only_commit_failed && call->status > 0)
        close_state(s, rq);
    else
        close_finished(s, rq);
}

/* NFSv4 commits in the compound that closes. */
static void close_state(struct nm_nfs_session *s, struct nm_nfs_request *rq)
{
    struct nm_nfs_call *call = state_call(s, rq, rq->file, NM_NFS_CLOSE, closed);

    if (!call) {
        close_note(rq, NM_NFS_UNSENT, NULL);
        close_finished(s, rq);
        return;
    }
    call->commits = rq->file->unstable;
    nm_nfs_call_send(s, call);
}

static void close_committed(struct nm_nfs_session *s, struct nm_nfs_request *rq,
                            struct nm_nfs_call *call)
{
    close_note(rq, commit_result(rq->file, call), call->rejection);
    close_finished(s, rq);
}

static void close_start(struct nm_nfs_session *s, struct nm_nfs_request *rq)
{
    if (rq->file->opened)
        close_state(s, rq);
    else if (rq->file->unstable)
        commit(s, rq, rq->file, close_committed);
    else
        close_finished(s, rq);
}

void nm_nfs_file_abandon(struct nm_nfs_session *s, struct nm_nfs_file *file, uint64_t deadline_ns)
{
    struct nm_nfs_call call;

    nm_nfs_call_init(&call, s, NM_NFS_CLOSE);
    call.file = file;
    if (file->opened)
        (void)nm_nfs_call_wait(s, &call, deadline_ns);
}

void nm_nfs_data_start(struct nm_nfs_session *s, struct nm_nfs_request *rq)
{
    rq->file = file_of(rq->op);
    switch (rq->op->kind) {
    case NM_OP_FLUSH: flush_start(s, rq); break;
    case NM_OP_CLOSE: close_start(s, rq); break;
    default: parts_start(s, rq);
    }
}
