/* The engine's side of the backend contract: one queue over synchronous and asynchronous backends,
 * choice of a backend for a URL, and the check of the table (backend.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "backend.h"

#include "clock.h"

#include <errno.h>
#include <string.h>

static const char *const op_names[NM_OP_KINDS] = {
    [NM_OP_MKDIR] = "mkdir",   [NM_OP_RMDIR] = "rmdir",   [NM_OP_OPEN] = "open",
    [NM_OP_CREATE] = "create", [NM_OP_READ] = "read",     [NM_OP_WRITE] = "write",
    [NM_OP_FLUSH] = "flush",   [NM_OP_CLOSE] = "close",   [NM_OP_STAT] = "stat",
    [NM_OP_LIST] = "list",     [NM_OP_UNLINK] = "unlink", [NM_OP_RENAME] = "rename",
};

const char *nm_op_kind_name(enum nm_op_kind kind)
{
    return (unsigned)kind < NM_OP_KINDS ? op_names[kind] : "?";
}

const struct nm_backend_ops *nm_backend_find(const char *name)
{
    for (size_t i = 0; nm_backend_table[i]; i++)
        if (!strcmp(nm_backend_table[i]->name, name))
            return nm_backend_table[i];
    return NULL;
}

const struct nm_backend_ops *nm_backend_select(const struct nm_url *url, unsigned needs,
                                               unsigned trait, struct nm_error *err)
{
    const struct nm_backend_ops *near = NULL;
    const char *fs = nm_url_arg(url, "fs");

    if (fs && !trait)
        trait = strcmp(fs, "raw") ? NM_TRAIT_FILES : NM_TRAIT_BLOCKS;
    for (size_t i = 0; nm_backend_table[i]; i++) {
        const struct nm_backend_ops *ops = nm_backend_table[i];

        if (ops->protocol != url->protocol || (trait && !(ops->traits & trait)) ||
            (ops->suits && !ops->suits(url)))
            continue;
        near = ops;
        if (!ops->unavailable && !(needs & ~ops->supports))
            return ops;
    }
    if (!near)
        nm_error_set(err, -EOPNOTSUPP, NM_REASON_UNSUPPORTED, "this %s target cannot carry %s",
                     nm_protocol_name(url->protocol),
                     trait == NM_TRAIT_FILES ? "files"
                     : trait                 ? "raw blocks"
                                             : "this workload");
    else if (near->unavailable)
        nm_error_set(err, -EOPNOTSUPP, NM_REASON_UNSUPPORTED, "%s: not built: %s", near->name,
                     near->unavailable);
    else
        for (int kind = 0; kind < NM_OP_KINDS; kind++)
            if (needs & ~near->supports & NM_OP_MASK(kind)) {
                nm_error_set(err, -EOPNOTSUPP, NM_REASON_UNSUPPORTED, "%s does not support %s",
                             near->name, nm_op_kind_name(kind));
                break;
            }
    return NULL;
}

int nm_backend_table_check(struct nm_error *err)
{
    for (size_t i = 0; nm_backend_table[i]; i++) {
        const struct nm_backend_ops *ops = nm_backend_table[i];
        const char *fault = NULL;

        if (ops->unavailable)
            continue;
        if (!ops->connect || !ops->disconnect || !ops->describe)
            fault = "a hook that every backend must have is missing";
        else if (!!ops->execute == (ops->submit && ops->reap) || !ops->submit != !ops->reap)
            fault = "needs exactly one of execute and submit + reap";
        else if (!(ops->traits & (NM_TRAIT_FILES | NM_TRAIT_BLOCKS)))
            fault = "is neither for files nor for blocks";
        else if (ops->supports & ~NM_OP_MASK_ALL)
            fault = "supports operations that do not exist";
        else if ((ops->traits & NM_TRAIT_BLOCKS) && !ops->claim)
            fault = "could write to a device that nobody claimed";
        for (size_t k = 0; k < i && !fault; k++)
            if (!strcmp(nm_backend_table[k]->name, ops->name))
                fault = "name is not unique";
        if (fault)
            return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL, "backend table: %s: %s",
                                ops->name, fault);
    }
    return 0;
}

int nm_backend_connect(const struct nm_backend_ops *ops, const struct nm_connect *how,
                       struct nm_session **ret_session, struct nm_error *err)
{
    struct nm_session *session = NULL;
    int r;

    if (ops->unavailable)
        return nm_error_set(err, -EOPNOTSUPP, NM_REASON_UNSUPPORTED, "%s: not built: %s", ops->name,
                            ops->unavailable);
    r = ops->connect(how, &session, err);
    if (r < 0)
        return r;
    session->ops = ops;
    session->read_only = how->read_only;
    session->unclaimed = ops->claim && !how->claimed;
    *ret_session = session;
    return 0;
}

int nm_backend_claim(struct nm_session *session, volatile double *done_fraction,
                     struct nm_error *err)
{
    int r;

    if (session->read_only)
        return nm_error_set(err, -EROFS, NM_REASON_READ_ONLY,
                            "%s: a read-only session cannot claim its target", session->ops->name);
    r = session->ops->claim ? session->ops->claim(session, done_fraction, err) : 0;
    if (r < 0)
        return r;
    session->unclaimed = false;
    return 0;
}

void nm_session_complete(struct nm_session *session, struct nm_op *op)
{
    op->done_ns = nm_clock_now_ns();
    op->next = NULL;
    if (session->done_last)
        session->done_last->next = op;
    else
        session->done_first = op;
    session->done_last = op;
}

/* What changes a target: everything on a read-only session, contents and names on one that nobody
 * claimed (opening a device for writing is not a change). */
#define CHANGES                                                                                    \
    (NM_OP_MASK(NM_OP_MKDIR) | NM_OP_MASK(NM_OP_RMDIR) | NM_OP_MASK(NM_OP_CREATE) |                \
     NM_OP_MASK(NM_OP_WRITE) | NM_OP_MASK(NM_OP_UNLINK) | NM_OP_MASK(NM_OP_RENAME))

static int refuse(const struct nm_session *session, struct nm_op *op)
{
    const char *backend = session->ops->name, *kind = nm_op_kind_name(op->kind);

    if (!(session->ops->supports & NM_OP_MASK(op->kind)))
        return nm_error_set(&op->err, -EOPNOTSUPP, NM_REASON_UNSUPPORTED, "%s does not support %s",
                            backend, kind);
    if (session->read_only && ((CHANGES & NM_OP_MASK(op->kind)) ||
                               (op->kind == NM_OP_OPEN && (op->open_flags & NM_OPEN_WRITE))))
        return nm_error_set(&op->err, -EROFS, NM_REASON_READ_ONLY,
                            "%s: %s refused: the session is read-only", backend, kind);
    if (session->unclaimed && (CHANGES & NM_OP_MASK(op->kind)))
        return nm_error_set(&op->err, -EPERM, NM_REASON_PROTECTED,
                            "%s: %s refused: the target was not claimed", backend, kind);
    return 0;
}

void nm_session_submit(struct nm_session *session, struct nm_op *op)
{
    const struct nm_backend_ops *ops = session->ops;

    op->submit_ns = nm_clock_now_ns();
    op->next = NULL;
    session->in_flight++;
    op->result = refuse(session, op);
    if (op->result < 0) {
        nm_session_complete(session, op);
    } else if (ops->execute) {
        ops->execute(session, op);
        nm_session_complete(session, op);
    } else {
        ops->submit(session, op);
    }
}

static struct nm_op *pop(struct nm_session *session)
{
    struct nm_op *op = session->done_first;

    if (!op)
        return NULL;
    session->done_first = op->next;
    if (!session->done_first)
        session->done_last = NULL;
    op->next = NULL;
    session->in_flight--;
    return op;
}

struct nm_op *nm_session_reap(struct nm_session *session, uint64_t deadline_ns,
                              struct nm_error *err)
{
    struct nm_op *op = pop(session);

    if (err)
        err->code = 0;
    while (!op && session->ops->reap && session->in_flight) {
        int r = session->ops->reap(session, deadline_ns, err);

        op = pop(session);
        if (op || r < 0 || nm_clock_now_ns() >= deadline_ns)
            break;
    }
    return op;
}

int64_t nm_session_run(struct nm_session *session, struct nm_op *op, uint64_t timeout_ns)
{
    uint64_t deadline_ns = nm_clock_now_ns() + timeout_ns;
    struct nm_error err = {0};

    nm_session_submit(session, op);
    while (nm_session_reap(session, deadline_ns, &err) != op) {
        if (nm_clock_now_ns() < deadline_ns && !err.code)
            continue;
        /* The backend still owns the operation: the session must not be used any more. */
        op->result = err.code ? err.code : -ETIMEDOUT;
        op->err = err;
        if (!err.code)
            nm_error_set(&op->err, -ETIMEDOUT, NM_REASON_TIMEOUT, "%s: %s did not complete in time",
                         session->ops->name, nm_op_kind_name(op->kind));
        break;
    }
    return op->result;
}
