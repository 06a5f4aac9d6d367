/* The queue: operations cut into SCSI commands, spread over the sessions, repeated when the target
 * asks for it, bounded by a deadline each (session.h).
 *
 * Data go straight from and to op->buf. All memory of ours is allocated at connect. Commands are
 * started in the order of submission; an operation that does not fit into the free commands waits
 * in line. Every WRITE comes through check(), which refuses it on unclaimed or read-only sessions
 * even if a caller got around nm_session_submit().
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "session.h"

#include "clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_NS (50 * NM_NS_PER_MS) /* how often deadlines are looked at */

int nm_iscsi_queue_init(struct nm_iscsi_session *session, unsigned depth, uint32_t block_bytes,
                        struct nm_error *err)
{
    unsigned per_op = block_bytes / session->command_bytes + 2;
    size_t n_commands = (size_t)(depth ? depth : 1) * per_op + 1;

    session->n_ios = (depth ? depth : 1) + 1; /* one more for a FLUSH beside a full queue */
    session->ios = calloc(session->n_ios, sizeof(*session->ios));
    session->commands = calloc(n_commands, sizeof(*session->commands));
    if (!session->ios || !session->commands)
        return nm_error_errno(err, -ENOMEM, "iscsi: no memory for a queue of %u", depth);
    for (unsigned i = 0; i < session->n_ios; i++) {
        session->ios[i].next = session->free_ios;
        session->free_ios = &session->ios[i];
    }
    for (size_t i = 0; i < n_commands; i++) {
        session->commands[i].next = session->free_commands;
        session->free_commands = &session->commands[i];
    }
    return 0;
}

void nm_iscsi_queue_done(struct nm_iscsi_session *session)
{
    free(session->ios);
    free(session->commands);
}

static void complete(struct nm_iscsi_session *session, struct nm_iscsi_io *io)
{
    struct nm_op *op = io->op;

    if (!io->failed)
        op->result = op->kind == NM_OP_FLUSH ? 0 : (int64_t)io->wanted_bytes;
    io->op = NULL;
    io->next = session->free_ios;
    session->free_ios = io;
    nm_session_complete(&session->base, op);
}

static void maybe_complete(struct nm_iscsi_session *session, struct nm_iscsi_io *io)
{
    if (!io->commands && !io->in_line)
        complete(session, io);
}

static void fail_io(struct nm_iscsi_io *io, const struct nm_error *err)
{
    if (io->failed)
        return;
    io->failed = true;
    io->op->err = *err;
    io->op->result = err->code;
}

/* The session is dead from now on; nm_iscsi_reap() cleans up, never a callback. */
static void fail_session(struct nm_iscsi_session *session, const struct nm_error *err)
{
    if (!session->failure.code)
        session->failure = *err;
}

static void release_command(struct nm_iscsi_session *session, struct nm_iscsi_command *command)
{
    command->io = NULL;
    command->next = session->free_commands;
    session->free_commands = command;
}

/* A write that failed may still have DATA-OUT PDUs queued inside libiscsi 1.19, which look into the
 * task when they are sent: keep it until nothing is left to send. */
static void retire(struct nm_iscsi_conn *conn, struct scsi_task *task)
{
    scsi_set_task_private_ptr(task, conn->retired);
    conn->retired = task;
}

static void free_retired(struct nm_iscsi_conn *conn)
{
    if (iscsi_which_events(conn->context) & POLLOUT || iscsi_out_queue_length(conn->context))
        return;
    while (conn->retired) {
        struct scsi_task *next = scsi_get_task_private_ptr(conn->retired);

        scsi_free_scsi_task(conn->retired);
        conn->retired = next;
    }
}

static void describe_place(const struct nm_iscsi_session *session,
                           const struct nm_iscsi_command *command, char *out, size_t size)
{
    const struct nm_op *op = command->io->op;

    if (op->kind == NM_OP_FLUSH)
        snprintf(out, size, "%s: SYNCHRONIZE CACHE", session->target);
    else
        snprintf(out, size, "%s: %s of %zu bytes at %llu", session->target,
                 nm_op_kind_name(op->kind), command->iov.iov_len,
                 (unsigned long long)(command->lba * session->capacity.block_bytes));
}

static void command_failed(struct nm_iscsi_session *session, struct nm_iscsi_command *command,
                           const struct nm_scsi_status *status)
{
    struct nm_iscsi_io *io = command->io;
    struct nm_error err;
    char place[400];

    describe_place(session, command, place, sizeof(place));
    nm_scsi_error(&err, status, io->op->kind != NM_OP_READ, place);
    if (nm_scsi_judge(status) == NM_SCSI_LOST)
        fail_session(session, session->failure.code ? &session->failure : &err);
    fail_io(io, session->failure.code ? &session->failure : &err);
}

/* True when the command will be repeated. */
static bool repeat(struct nm_iscsi_session *session, struct nm_iscsi_command *command,
                   const struct nm_scsi_status *status)
{
    enum nm_scsi_verdict verdict = nm_scsi_judge(status);

    if (session->failure.code || (verdict != NM_SCSI_AGAIN && verdict != NM_SCSI_BUSY))
        return false;
    if (command->tries++ == NM_ISCSI_RETRIES)
        return false;
    session->retries++;
    command->wake_ns =
        verdict == NM_SCSI_BUSY ? nm_clock_now_ns() + command->tries * NM_ISCSI_BUSY_PAUSE_NS : 0;
    command->next = session->delayed;
    session->delayed = command;
    return true;
}

static void on_command(struct iscsi_context *context, int status_code, void *data,
                       void *private_data)
{
    struct nm_iscsi_command *command = private_data;
    struct nm_iscsi_conn *conn = command->conn;
    struct nm_iscsi_session *session = conn->session;
    struct nm_iscsi_io *io = command->io;
    struct scsi_task *task = data;
    struct nm_scsi_status status = {status_code, (int)task->sense.key, task->sense.ascq};
    bool good = nm_scsi_judge(&status) == NM_SCSI_GOOD;

    (void)context;
    conn->in_flight--;
    if (good && io->op->kind != NM_OP_FLUSH && task->residual_status != SCSI_RESIDUAL_NO_RESIDUAL &&
        task->residual) {
        struct nm_error err;

        good = false;
        nm_error_set(&err, -EIO, NM_REASON_CORRUPT,
                     "%s: the target said it was done but moved %zu bytes less or more than asked",
                     session->target, task->residual);
        fail_io(io, &err);
    } else if (!good && repeat(session, command, &status)) {
        command = NULL;
    } else if (!good && status.key == SCSI_SENSE_ILLEGAL_REQUEST && status.ascq == 0x2000 &&
               task->cdb[0] == SCSI_OPCODE_SYNCHRONIZECACHE16) {
        session->sync10 = true; /* an old LUN: the same command with a shorter name */
        command->wake_ns = 0;
        command->next = session->delayed;
        session->delayed = command;
        command = NULL;
    } else if (!good) {
        command_failed(session, command, &status);
    }
    if (good || io->op->kind != NM_OP_WRITE)
        scsi_free_scsi_task(task);
    else
        retire(conn, task);
    if (!command)
        return;
    release_command(session, command);
    io->commands--;
    maybe_complete(session, io);
}

static struct nm_iscsi_conn *least_busy(struct nm_iscsi_session *session)
{
    struct nm_iscsi_conn *best = NULL;

    for (unsigned i = 0; i < session->n_conns; i++) {
        struct nm_iscsi_conn *conn = &session->conns[(session->turn + i) % session->n_conns];

        if (!best || conn->in_flight < best->in_flight)
            best = conn;
    }
    session->turn++;
    return best;
}

static struct scsi_task *start_data(struct nm_iscsi_session *session,
                                    struct nm_iscsi_command *command)
{
    struct iscsi_context *context = command->conn->context;
    int block_bytes = (int)session->capacity.block_bytes;
    uint32_t bytes = (uint32_t)command->iov.iov_len;

    if (command->io->op->kind == NM_OP_READ)
        return iscsi_read16_iov_task(context, session->lun, command->lba, bytes, block_bytes, 0, 0,
                                     0, 0, 0, on_command, command, &command->iov, 1);
    /* Not the iov form: a failed write outlives its command (retire), and this one keeps its own
     * vector. */
    return iscsi_write16_task(context, session->lun, command->lba, command->iov.iov_base, bytes,
                              block_bytes, 0, 0, 0, 0, 0, on_command, command);
}

static void start(struct nm_iscsi_session *session, struct nm_iscsi_command *command)
{
    struct nm_iscsi_conn *conn = least_busy(session);
    struct nm_iscsi_io *io = command->io;

    command->conn = conn;
    if (io->op->kind != NM_OP_FLUSH)
        command->task = start_data(session, command);
    else if (session->sync10)
        command->task = iscsi_synchronizecache10_task(conn->context, session->lun, 0, 0, 0, 0,
                                                      on_command, command);
    else
        command->task = iscsi_synchronizecache16_task(conn->context, session->lun, 0, 0, 0, 0,
                                                      on_command, command);
    if (command->task) {
        conn->in_flight++;
        return;
    }
    struct nm_scsi_status status = {SCSI_STATUS_ERROR, 0, 0};

    command_failed(session, command, &status);
    release_command(session, command);
    io->commands--;
}

static void leave_line(struct nm_iscsi_session *session)
{
    session->first_io->in_line = false;
    session->first_io = session->first_io->next;
    if (!session->first_io)
        session->last_io = NULL;
}

/* Cuts the operations in line into commands while there are free ones. */
static void start_commands(struct nm_iscsi_session *session)
{
    while (session->first_io && session->free_commands && !session->failure.code) {
        struct nm_iscsi_io *io = session->first_io;
        struct nm_iscsi_command *command = session->free_commands;
        uint64_t bytes = io->wanted_bytes - io->issued_bytes;

        if (bytes && !io->failed) {
            if (bytes > session->command_bytes)
                bytes = session->command_bytes;
            session->free_commands = command->next;
            command->io = io;
            command->tries = 0;
            if (io->op->kind != NM_OP_FLUSH) {
                command->lba =
                    (io->op->offset_bytes + io->issued_bytes) / session->capacity.block_bytes;
                command->iov.iov_base = (char *)io->op->buf + io->issued_bytes;
                command->iov.iov_len = bytes;
            }
            io->issued_bytes += bytes;
            io->commands++;
            start(session, command);
        }
        if (io->failed || io->issued_bytes == io->wanted_bytes) {
            leave_line(session);
            maybe_complete(session, io);
        }
    }
}

static void start_delayed(struct nm_iscsi_session *session, uint64_t now_ns)
{
    struct nm_iscsi_command *list = session->delayed;

    session->delayed = NULL;
    while (list) {
        struct nm_iscsi_command *command = list;

        list = command->next;
        if (command->wake_ns > now_ns) {
            command->next = session->delayed;
            session->delayed = command;
        } else {
            struct nm_iscsi_io *io = command->io;

            start(session, command);
            maybe_complete(session, io);
        }
    }
}

/* Validates READ, WRITE, FLUSH; 0 = start it, 1 = there is nothing to do. No command that a LUN
 * would have to refuse is ever sent. */
static int check(struct nm_iscsi_session *session, struct nm_op *op, uint64_t *ret_bytes)
{
    uint64_t size = session->size_bytes, offset = op->offset_bytes;
    uint32_t block_bytes = session->capacity.block_bytes;

    if (op->kind == NM_OP_FLUSH) {
        *ret_bytes = 1;
        return 0;
    }
    if (op->kind == NM_OP_WRITE && (session->base.unclaimed || session->base.read_only))
        return nm_error_set(&op->err, -EPERM, NM_REASON_PROTECTED,
                            "%s: write refused: nobody claimed this LUN", session->target);
    if (offset % block_bytes || op->length_bytes % block_bytes)
        return nm_error_set(&op->err, -EINVAL, NM_REASON_UNSUPPORTED,
                            "%s: %s of %u bytes at %llu: the LUN has blocks of %u bytes, offset "
                            "and length must be multiples",
                            session->target, nm_op_kind_name(op->kind), op->length_bytes,
                            (unsigned long long)offset, block_bytes);
    *ret_bytes = op->length_bytes;
    if (offset <= size && op->length_bytes <= size - offset)
        return op->length_bytes ? 0 : 1;
    return nm_error_set(&op->err, op->kind == NM_OP_WRITE ? -ENOSPC : -EINVAL,
                        op->kind == NM_OP_WRITE ? NM_REASON_NO_SPACE : NM_REASON_UNSUPPORTED,
                        "%s: %s of %u bytes at %llu would end beyond the LUN of %llu bytes",
                        session->target, nm_op_kind_name(op->kind), op->length_bytes,
                        (unsigned long long)offset, (unsigned long long)size);
}

static void submit_data(struct nm_iscsi_session *session, struct nm_op *op)
{
    struct nm_iscsi_io *io = session->free_ios;
    uint64_t bytes = 0;
    int r = check(session, op, &bytes);

    if (!r && !io)
        r = nm_error_set(&op->err, -EAGAIN, NM_REASON_INTERNAL,
                         "%s: more operations than the depth given at connect", session->target);
    if (r) {
        op->result = r < 0 ? r : (int64_t)bytes;
        nm_session_complete(&session->base, op);
        return;
    }
    session->free_ios = io->next;
    *io = (struct nm_iscsi_io){.op = op,
                               .wanted_bytes = bytes,
                               .in_line = true,
                               .deadline_ns = nm_clock_now_ns() + session->timeout_ns};
    op->backend_state = io;
    if (session->last_io)
        session->last_io->next = io;
    else
        session->first_io = io;
    session->last_io = io;
    start_commands(session);
}

static int open_device(struct nm_iscsi_session *session, struct nm_op *op)
{
    if (op->path && op->path[0])
        return nm_error_set(&op->err, -ENOENT, NM_REASON_NOT_FOUND,
                            "%s: a raw LUN has no file '%s'", session->target, op->path);
    if ((op->open_flags & NM_OPEN_WRITE) && session->write_protected)
        return nm_error_set(&op->err, -EROFS, NM_REASON_READ_ONLY,
                            "%s: the LUN is write-protected; allow writing on the NAS or run "
                            "read-only workloads",
                            session->target);
    op->file = &session->device; /* there is but one, however often it is opened */
    return 0;
}

void nm_iscsi_submit(struct nm_session *base, struct nm_op *op)
{
    struct nm_iscsi_session *session = (struct nm_iscsi_session *)base;

    if (op->kind == NM_OP_CLOSE) {
        op->file = NULL;
        op->result = 0;
    } else if (session->failure.code) {
        op->err = session->failure;
        op->result = session->failure.code;
    } else if (op->kind == NM_OP_OPEN) {
        op->result = open_device(session, op);
    } else {
        submit_data(session, op);
        return;
    }
    nm_session_complete(base, op);
}

/* Ends everything after a failure: connections first (their callbacks give the commands in flight
 * back), then what was waiting for a retry or in line. */
static int bury(struct nm_iscsi_session *session, struct nm_error *err)
{
    for (unsigned i = 0; i < session->n_conns; i++)
        nm_iscsi_conn_close(&session->conns[i], false);
    while (session->delayed) {
        struct nm_iscsi_command *command = session->delayed;
        struct nm_iscsi_io *io = command->io;

        session->delayed = command->next;
        release_command(session, command);
        fail_io(io, &session->failure);
        io->commands--;
        maybe_complete(session, io);
    }
    while (session->first_io) {
        struct nm_iscsi_io *io = session->first_io;

        leave_line(session);
        fail_io(io, &session->failure);
        maybe_complete(session, io);
    }
    if (err)
        *err = session->failure;
    return session->failure.code;
}

static void check_deadlines(struct nm_iscsi_session *session, uint64_t now_ns)
{
    struct nm_error err;

    if (now_ns < session->next_check_ns)
        return;
    session->next_check_ns = now_ns + CHECK_NS;
    for (unsigned i = 0; i < session->n_ios; i++) {
        struct nm_iscsi_io *io = &session->ios[i];

        if (!io->op || now_ns < io->deadline_ns)
            continue;
        nm_error_set(&err, -ETIMEDOUT, NM_REASON_TIMEOUT,
                     "%s: no answer to %s within %llu s; the session was given up", session->target,
                     nm_op_kind_name(io->op->kind),
                     (unsigned long long)(session->timeout_ns / NM_NS_PER_S));
        fail_session(session, &err);
        return;
    }
}

static void conn_lost(struct nm_iscsi_session *session, struct nm_iscsi_conn *conn)
{
    struct nm_error err;

    conn->lost = true;
    nm_error_set(&err, -ECONNRESET, NM_REASON_CONNECTION_LOST,
                 "%s: portal %s closed the connection", session->target, conn->portal);
    fail_session(session, &err);
}

/* Sends what can be sent without waiting, then waits for answers until deadline_ns. */
static void serve(struct nm_iscsi_session *session, uint64_t deadline_ns)
{
    struct pollfd fds[NM_ISCSI_SESSIONS_MAX];
    int cap_ms = session->delayed ? 10 : (int)(CHECK_NS / NM_NS_PER_MS);

    for (unsigned i = 0; i < session->n_conns; i++) {
        struct nm_iscsi_conn *conn = &session->conns[i];
        int events = iscsi_which_events(conn->context);

        if (events & POLLOUT) {
            if (iscsi_service(conn->context, POLLOUT) < 0)
                conn_lost(session, conn);
            events = iscsi_which_events(conn->context);
        }
        /* No events (poll ignores the descriptor): asked again after the pause. */
        fds[i].fd = events ? iscsi_get_fd(conn->context) : -1;
        fds[i].events = (short)events;
        fds[i].revents = 0;
    }
    if (session->failure.code || session->base.done_first)
        return;
    if (poll(fds, session->n_conns, nm_clock_poll_ms(deadline_ns, cap_ms)) <= 0)
        return;
    for (unsigned i = 0; i < session->n_conns; i++) {
        struct nm_iscsi_conn *conn = &session->conns[i];

        if (fds[i].revents && iscsi_service(conn->context, fds[i].revents) < 0)
            conn_lost(session, conn);
        if (conn->retired)
            free_retired(conn);
    }
}

int nm_iscsi_reap(struct nm_session *base, uint64_t deadline_ns, struct nm_error *err)
{
    struct nm_iscsi_session *session = (struct nm_iscsi_session *)base;

    for (;;) {
        uint64_t now_ns = nm_clock_now_ns();

        check_deadlines(session, now_ns);
        if (session->failure.code)
            return bury(session, err);
        if (session->delayed)
            start_delayed(session, now_ns);
        start_commands(session);
        if (base->done_first)
            return 0;
        serve(session, deadline_ns);
        if (base->done_first || (!session->failure.code && now_ns >= deadline_ns))
            return 0;
    }
}

void nm_iscsi_cancel(struct nm_session *base)
{
    struct nm_iscsi_session *session = (struct nm_iscsi_session *)base;
    struct nm_error err;

    nm_error_set(&err, -ECANCELED, NM_REASON_ABORTED, "%s: cancelled", session->target);
    fail_session(session, &err);
}
