/* The engine's operations become requests of lanes, completed requests become completed operations
 * (smb.h).
 *
 * A path operation goes to the least busy lane. A file is opened by one lane; when that lane is
 * busy, data go to another one, which then opens the file as well. CLOSE goes to all lanes that
 * have it open. Each lane works in order, so nothing overtakes an open or a close.
 *
 * A session dies as a whole: a connection that broke, a lane that died and an operation that got
 * too old all mean that the number cannot be had any more. Then every lane is killed and every
 * operation in flight is completed with that error.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "smb.h"

#include "clock.h"

#include <errno.h>
#include <string.h>

static struct nm_smb_session *session_of(struct nm_session *base)
{
    return (struct nm_smb_session *)base;
}

static struct nm_smb_request *request_of(struct nm_smb_session *session, uint32_t number)
{
    return &session->lanes.shared->requests[number];
}

/* ---- completion ---- */

static void complete(struct nm_smb_session *session, struct nm_op *op, int64_t result,
                     const struct nm_error *err)
{
    op->result = result;
    if (result < 0 && err)
        op->err = *err;
    nm_session_complete(&session->base, op);
}

static void die(struct nm_smb_session *session, const struct nm_error *err)
{
    if (session->dead.code)
        return;
    session->dead = *err;
    nm_smb_lanes_stop(&session->lanes, 0);
    for (uint32_t i = 0; i < session->n_slots; i++) {
        struct nm_smb_slot *slot = &session->slots[i];

        if (!slot->busy)
            continue;
        slot->busy = false;
        if (slot->op && slot->op->kind == NM_OP_CLOSE && --slot->file->closing)
            continue;
        if (slot->op)
            complete(session, slot->op, err->code, err);
    }
    while (session->waiting_first) {
        struct nm_op *op = session->waiting_first;

        session->waiting_first = op->next;
        complete(session, op, err->code, err);
    }
}

static void finish_close(struct nm_smb_session *session, const struct nm_smb_request *request,
                         struct nm_op *op, struct nm_smb_file *file)
{
    if (request->result < 0 && !file->close_err.code)
        file->close_err = request->err;
    if (--file->closing)
        return;
    complete(session, op, file->close_err.code, &file->close_err);
    nm_smb_file_release(session, file);
}

static void finish_data(struct nm_smb_session *session, struct nm_smb_request *request,
                        struct nm_op *op, struct nm_smb_file *file)
{
    if (request->result == -EBADF && file->reopen_err.code)
        request->err = file->reopen_err;
    else if (op->kind == NM_OP_WRITE && request->result >= 0 && request->result != op->length_bytes)
        request->result = nm_error_set(&request->err, -EIO, NM_REASON_INTERNAL,
                                       "write: the server took %lld of %u bytes",
                                       (long long)request->result, op->length_bytes);
    complete(session, op, request->result, &request->err);
}

static void finish_open(struct nm_smb_session *session, const struct nm_smb_request *request,
                        struct nm_op *op, struct nm_smb_file *file)
{
    if (request->result < 0) {
        nm_smb_file_release(session, file);
    } else {
        file->base.size_bytes = request->size_bytes;
        op->file = &file->base;
        nm_smb_names_add(&session->names, op->path, NULL);
    }
    complete(session, op, request->result, &request->err);
}

static void start_waiting_list(struct nm_smb_session *session);

static void take_entry(void *context, const char *name, const struct nm_stat *stat)
{
    struct nm_smb_session *session = context;
    struct nm_op *op = session->listing;

    if (!stat->is_directory)
        nm_smb_names_add(&session->names, op->path, name);
    op->list_entry(op->list_context, name, stat);
}

static void finish_list(struct nm_smb_session *session, struct nm_smb_request *request,
                        struct nm_op *op)
{
    if (request->result >= 0 && nm_smb_lanes_list(&session->lanes, take_entry, session) < 0)
        request->result = nm_error_set(&request->err, -EIO, NM_REASON_INTERNAL,
                                       "list: the entries were lost between processes");
    session->listing = NULL;
    complete(session, op, request->result, &request->err);
}

static void finish(struct nm_smb_session *session, uint32_t number)
{
    struct nm_smb_slot *slot = &session->slots[number];
    struct nm_smb_request *request = request_of(session, number);
    struct nm_op *op = slot->op;

    if (!slot->busy)
        return;
    nm_smb_slot_release(session, number);
    session->lanes.lane[slot->lane].queued--;
    switch (request->kind) {
    case NM_SMB_REOPEN:
        if (request->result < 0) {
            slot->file->open_lanes &= ~(1u << slot->lane);
            slot->file->reopen_err = request->err;
        }
        break;
    case NM_OP_OPEN:
    case NM_OP_CREATE: finish_open(session, request, op, slot->file); break;
    case NM_OP_READ:
    case NM_OP_WRITE: finish_data(session, request, op, slot->file); break;
    case NM_OP_CLOSE: finish_close(session, request, op, slot->file); break;
    case NM_OP_LIST: finish_list(session, request, op); break;
    case NM_OP_STAT:
        if (request->result >= 0)
            *op->stat = request->stat;
        complete(session, op, request->result, &request->err);
        break;
    default:
        if (op)
            complete(session, op, request->result, &request->err);
        break;
    }
    if (op && session->base.done_last == op)
        op->done_ns = request->done_ns; /* the worker may have been busy since */
    if (request->result < 0 && request->fatal)
        die(session, &request->err);
    start_waiting_list(session);
}

/* ---- submission ---- */

static void hand_over(struct nm_smb_session *session, uint32_t number)
{
    struct nm_smb_slot *slot = &session->slots[number];

    request_of(session, number)->sequence = ++session->sequence;
    session->lanes.lane[slot->lane].queued++;
    nm_smb_lanes_submit(&session->lanes, slot->lane, number);
}

static void copy_path(char *to, const char *from)
{
    memcpy(to, from, strlen(from) + 1); /* nm_smb_check_path() has bounded it */
}

/* The least busy lane; one that would have to open the file first counts as busier by one. */
static unsigned choose_lane(const struct nm_smb_session *session, unsigned open_lanes)
{
    unsigned best = 0, best_load = UINT32_MAX;

    for (unsigned i = 0; i < session->lanes.count; i++) {
        unsigned load = session->lanes.lane[i].queued + !(open_lanes & 1u << i);

        if (load < best_load) {
            best = i;
            best_load = load;
        }
    }
    return best;
}

static int out_of_slots(struct nm_error *err)
{
    return nm_error_set(err, -EAGAIN, NM_REASON_CLIENT_LIMIT,
                        "smb: more operations in flight than the depth of the session");
}

static int start_path(struct nm_smb_session *session, struct nm_op *op)
{
    struct nm_smb_file *file = NULL;
    unsigned lane = choose_lane(session, ~0u);
    struct nm_smb_request *request;
    uint32_t number;

    if (op->kind == NM_OP_OPEN || op->kind == NM_OP_CREATE) {
        file = nm_smb_file_take(session);
        if (!file)
            return nm_error_set(&op->err, -EMFILE, NM_REASON_CLIENT_LIMIT,
                                "smb: too many files are open");
    }
    number = nm_smb_slot_take(session, op, file, lane);
    if (number == NM_SMB_NO_SLOT) {
        if (file)
            nm_smb_file_release(session, file);
        return out_of_slots(&op->err);
    }
    request = request_of(session, number);
    request->kind = (int)op->kind;
    request->open_flags = op->open_flags;
    request->expected_bytes = op->expected_bytes;
    copy_path(request->path, op->path);
    if (op->kind == NM_OP_RENAME)
        copy_path(request->new_path, op->new_path);
    request->known_file = nm_smb_names_has(&session->names, op->path);
    if (op->kind == NM_OP_UNLINK || op->kind == NM_OP_RENAME)
        nm_smb_names_forget(&session->names, op->path);
    if (file) {
        request->handle = file->handle;
        file->open_flags = op->kind == NM_OP_CREATE ? NM_OPEN_READ | NM_OPEN_WRITE : op->open_flags;
        file->open_lanes = 1u << lane;
        file->close_err.code = file->reopen_err.code = 0;
        copy_path(file->path, op->path);
    }
    hand_over(session, number);
    return 0;
}

static int start_reopen(struct nm_smb_session *session, struct nm_op *op, struct nm_smb_file *file,
                        unsigned lane)
{
    uint32_t number = nm_smb_slot_take(session, NULL, file, lane);
    struct nm_smb_request *request;

    if (number == NM_SMB_NO_SLOT)
        return out_of_slots(&op->err);
    request = request_of(session, number);
    request->kind = NM_SMB_REOPEN;
    request->handle = file->handle;
    request->open_flags = file->open_flags;
    copy_path(request->path, file->path);
    file->open_lanes |= 1u << lane;
    hand_over(session, number);
    return 0;
}

static int start_data(struct nm_smb_session *session, struct nm_op *op)
{
    struct nm_smb_file *file = (struct nm_smb_file *)op->file;
    const struct nm_connect *how = &session->target.how;
    unsigned lane = choose_lane(session, file->open_lanes);
    struct nm_smb_request *request;
    uint32_t number;
    int r;

    if (session->lanes.count > 1 &&
        ((char *)op->buf < (char *)how->buffers ||
         (char *)op->buf + op->length_bytes > (char *)how->buffers + how->buffers_bytes))
        return nm_error_set(&op->err, -EFAULT, NM_REASON_INTERNAL,
                            "smb: the buffer is not in the memory shared with the lanes");
    if (!(file->open_lanes & 1u << lane)) {
        r = start_reopen(session, op, file, lane);
        if (r < 0)
            return r;
    }
    number = nm_smb_slot_take(session, op, file, lane);
    if (number == NM_SMB_NO_SLOT)
        return out_of_slots(&op->err);
    request = request_of(session, number);
    request->kind = (int)op->kind;
    request->handle = file->handle;
    request->offset_bytes = op->offset_bytes;
    request->length_bytes = op->length_bytes;
    request->buf = op->buf;
    copy_path(request->path, file->path);
    hand_over(session, number);
    return 0;
}

static int start_close(struct nm_smb_session *session, struct nm_op *op)
{
    struct nm_smb_file *file = (struct nm_smb_file *)op->file;
    uint32_t numbers[NM_SMB_LANES_MAX];
    unsigned n = 0;

    for (unsigned lane = 0; lane < session->lanes.count; lane++) {
        if (!(file->open_lanes & 1u << lane))
            continue;
        numbers[n] = nm_smb_slot_take(session, op, file, lane);
        if (numbers[n] == NM_SMB_NO_SLOT)
            return out_of_slots(&op->err);
        request_of(session, numbers[n])->kind = NM_OP_CLOSE;
        request_of(session, numbers[n])->handle = file->handle;
        copy_path(request_of(session, numbers[n])->path, file->path);
        n++;
    }
    file->closing = n;
    for (unsigned i = 0; i < n; i++)
        hand_over(session, numbers[i]);
    return 0;
}

/* The entries of a LIST come through one file: one at a time. */
static int start_list(struct nm_smb_session *session, struct nm_op *op)
{
    if (!session->listing) {
        int r;

        session->listing = op;
        r = start_path(session, op);
        if (r < 0)
            session->listing = NULL;
        return r;
    }
    op->next = NULL;
    if (session->waiting_first)
        session->waiting_last->next = op;
    else
        session->waiting_first = op;
    session->waiting_last = op;
    return 0;
}

static void start_waiting_list(struct nm_smb_session *session)
{
    struct nm_op *op = session->waiting_first;
    int r;

    if (!op || session->listing || session->dead.code)
        return;
    session->waiting_first = op->next;
    session->listing = op;
    r = start_path(session, op);
    if (r < 0) {
        session->listing = NULL;
        complete(session, op, r, NULL);
    }
}

static int start(struct nm_smb_session *session, struct nm_op *op)
{
    int r = 0;

    if (session->dead.code) {
        op->err = session->dead;
        return session->dead.code;
    }
    switch (op->kind) {
    case NM_OP_READ:
    case NM_OP_WRITE: return start_data(session, op);
    case NM_OP_CLOSE: return start_close(session, op);
    case NM_OP_FLUSH: complete(session, op, 0, NULL); return 0;
    default: break;
    }
    r = nm_smb_check_path(op->path, &op->err);
    if (r == 0 && op->kind == NM_OP_RENAME)
        r = nm_smb_check_path(op->new_path, &op->err);
    if (r < 0)
        return r;
    return op->kind == NM_OP_LIST ? start_list(session, op) : start_path(session, op);
}

void nm_smb_queue_submit(struct nm_session *base, struct nm_op *op)
{
    struct nm_smb_session *session = session_of(base);
    int r = start(session, op);

    if (r < 0)
        complete(session, op, r, NULL);
}

/* ---- waiting ---- */

/* Kills the session when an operation is older than the timeout; finds the time of the next look.
 */
static void expire(struct nm_smb_session *session)
{
    uint64_t now_ns = nm_clock_now_ns(), timeout_ns = session->target.how.timeout_ns;
    uint64_t next_ns = NM_NEVER_NS;
    struct nm_error err;

    if (now_ns < session->check_ns)
        return;
    for (uint32_t i = 0; i < session->n_slots; i++) {
        const struct nm_smb_slot *slot = &session->slots[i];

        if (slot->busy && slot->submit_ns + timeout_ns < next_ns)
            next_ns = slot->submit_ns + timeout_ns;
    }
    session->check_ns = next_ns;
    if (now_ns < next_ns)
        return;
    nm_error_set(&err, -ETIMEDOUT, NM_REASON_TIMEOUT,
                 "%s: no answer within %llu ms; is the server stuck or the network down?",
                 session->target.label, (unsigned long long)(timeout_ns / NM_NS_PER_MS));
    die(session, &err);
}

static void reap_some(struct nm_smb_session *session, uint64_t deadline_ns)
{
    uint32_t numbers[64];
    uint64_t until_ns = deadline_ns < session->check_ns ? deadline_ns : session->check_ns;
    int n = nm_smb_lanes_reap(&session->lanes, numbers, 64, until_ns);

    for (int i = 0; i < n; i++)
        if (numbers[i] < session->n_slots)
            finish(session, numbers[i]);
    /* Before expire(): what waits for a dead lane gets old, but that is not why it fails. */
    if (session->lanes.lost) {
        struct nm_error err;

        nm_error_set(&err, -ECONNABORTED, NM_REASON_CONNECTION_LOST,
                     "%s: a lane process died (a crash of libsmbclient, or it was killed)",
                     session->target.label);
        die(session, &err);
    }
    expire(session);
}

int nm_smb_queue_reap(struct nm_session *base, uint64_t deadline_ns, struct nm_error *err)
{
    struct nm_smb_session *session = session_of(base);

    while (!base->done_first && !session->dead.code) {
        reap_some(session, deadline_ns);
        if (nm_clock_now_ns() >= deadline_ns)
            break;
    }
    if (!session->dead.code)
        return 0;
    if (err)
        *err = session->dead;
    return session->dead.code;
}

void nm_smb_queue_cancel(struct nm_session *base)
{
    struct nm_smb_session *session = session_of(base);

    if (!session->dead.code)
        atomic_store(&session->lanes.shared->cancel_before, session->sequence + 1);
}

int nm_smb_queue_info(struct nm_smb_session *session, struct nm_smb_info *ret, struct nm_error *err)
{
    uint32_t number =
        session->dead.code ? NM_SMB_NO_SLOT : nm_smb_slot_take(session, NULL, NULL, 0);
    struct nm_smb_request *request;

    if (number == NM_SMB_NO_SLOT) {
        if (err)
            *err = session->dead;
        return session->dead.code ? session->dead.code : out_of_slots(err);
    }
    request = request_of(session, number);
    request->kind = NM_SMB_INFO;
    request->path[0] = '\0';
    hand_over(session, number);
    while (session->slots[number].busy)
        reap_some(session, NM_NEVER_NS);
    if (session->dead.code || request->result < 0) {
        if (err)
            *err = session->dead.code ? session->dead : request->err;
        return session->dead.code ? session->dead.code : (int)request->result;
    }
    *ret = request->info;
    return 0;
}
