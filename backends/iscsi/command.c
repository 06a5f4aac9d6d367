/* One SCSI command from its start to its end: which connection, what its answer means, whether it
 * is repeated (session.h). The callbacks of libiscsi arrive here; they never close a connection.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "session.h"

#include "clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

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

void nm_iscsi_io_settle(struct nm_iscsi_session *session, struct nm_iscsi_io *io)
{
    if (!io->commands && !io->in_line)
        complete(session, io);
}

void nm_iscsi_io_fail(struct nm_iscsi_io *io, const struct nm_error *err)
{
    if (io->failed)
        return;
    io->failed = true;
    io->op->err = *err;
    io->op->result = err->code;
}

void nm_iscsi_fail(struct nm_iscsi_session *session, const struct nm_error *err)
{
    if (!session->failure.code)
        session->failure = *err;
}

void nm_iscsi_command_release(struct nm_iscsi_session *session, struct nm_iscsi_command *command)
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

void nm_iscsi_free_retired(struct nm_iscsi_conn *conn)
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
        nm_iscsi_fail(session, &err);
    nm_iscsi_io_fail(io, session->failure.code ? &session->failure : &err);
}

static void delay(struct nm_iscsi_session *session, struct nm_iscsi_command *command,
                  uint64_t pause_ns)
{
    command->wake_ns = pause_ns ? nm_clock_now_ns() + pause_ns : 0;
    command->next = session->delayed;
    session->delayed = command;
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
    delay(session, command, verdict == NM_SCSI_BUSY ? command->tries * NM_ISCSI_BUSY_PAUSE_NS : 0);
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
        nm_iscsi_io_fail(io, &err);
    } else if (!good && repeat(session, command, &status)) {
        command = NULL;
    } else if (!good && status.key == SCSI_SENSE_ILLEGAL_REQUEST && status.ascq == 0x2000 &&
               task->cdb[0] == SCSI_OPCODE_SYNCHRONIZECACHE16) {
        session->sync10 = true; /* an old LUN: the same command with a shorter name */
        delay(session, command, 0);
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
    nm_iscsi_command_release(session, command);
    io->commands--;
    nm_iscsi_io_settle(session, io);
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

void nm_iscsi_command_start(struct nm_iscsi_session *session, struct nm_iscsi_command *command)
{
    struct nm_iscsi_conn *conn = least_busy(session);
    struct nm_iscsi_io *io = command->io;
    struct scsi_task *task;

    command->conn = conn;
    if (io->op->kind != NM_OP_FLUSH)
        task = start_data(session, command);
    else if (session->sync10)
        task = iscsi_synchronizecache10_task(conn->context, session->lun, 0, 0, 0, 0, on_command,
                                             command);
    else
        task = iscsi_synchronizecache16_task(conn->context, session->lun, 0, 0, 0, 0, on_command,
                                             command);
    if (task) {
        conn->in_flight++;
        return;
    }
    command_failed(session, command, &(struct nm_scsi_status){.status = SCSI_STATUS_ERROR});
    nm_iscsi_command_release(session, command);
    io->commands--;
}
