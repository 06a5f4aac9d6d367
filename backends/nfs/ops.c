/* What each operation of the engine does: a walk to its directory, then steps of one call each.
 *
 * Runs in the worker's thread, from nm_nfs_calls_turn() or submit, never inside libnfs. A step ends
 * in another call or in nm_nfs_request_done(), exactly one of them. Contents are in data.c, LIST in
 * list.c.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "nfs_internal.h"

#include <errno.h>
#include <string.h>

#define SHARE_READ  1u /* OPEN of NFSv4 */
#define SHARE_WRITE 2u

/* -------- failing */

static const char *subject(const struct nm_nfs_request *rq)
{
    switch (rq->op->kind) {
    case NM_OP_READ:
    case NM_OP_WRITE:
    case NM_OP_FLUSH:
    case NM_OP_CLOSE: return rq->file ? rq->file->label : "everything";
    default: return *rq->op->path ? rq->op->path : "the target directory";
    }
}

static void fail_finally(struct nm_nfs_session *s, struct nm_nfs_request *rq, int status,
                         const char *rejection)
{
    struct nm_op *op = rq->op;
    int r = nm_nfs_status_error(s, status, rejection, &op->err, "%s %s", nm_op_kind_name(op->kind),
                                subject(rq));

    nm_nfs_request_done(s, rq, r);
}

/* The rest of nm_nfs_request_fail() for a volume that may be full: FSSTAT has been answered. */
static void space_known(struct nm_nfs_session *s, struct nm_nfs_request *rq,
                        struct nm_nfs_call *call)
{
    uint64_t needed_bytes = rq->op->kind == NM_OP_WRITE ? rq->op->length_bytes : 0;
    char name[48];

    if (call->status || call->limits.avail_bytes >= needed_bytes + (1u << 20)) {
        fail_finally(s, rq, rq->status, rq->rejection);
        return;
    }
    nm_nfs_status_name(s, rq->status, name, sizeof(name));
    nm_error_set(&rq->op->err, -ENOSPC, NM_REASON_NO_SPACE,
                 "nfs: %s %s: the volume is full: %llu bytes are free (the server says %s)",
                 nm_op_kind_name(rq->op->kind), subject(rq),
                 (unsigned long long)call->limits.avail_bytes, name);
    nm_error_raw(&rq->op->err, "%s", name);
    nm_nfs_request_done(s, rq, -ENOSPC);
}

static bool changes_data(enum nm_op_kind kind)
{
    return kind == NM_OP_WRITE || kind == NM_OP_CREATE || kind == NM_OP_MKDIR ||
           kind == NM_OP_FLUSH;
}

void nm_nfs_request_fail(struct nm_nfs_session *s, struct nm_nfs_request *rq, int status,
                         const char *rejection)
{
    bool stale = status == NM_NFS_STALE || status == NM_NFS_BADHANDLE || status == NM_NFS_FHEXPIRED;

    if (stale && rq->from_cache && !rq->restarted) {
        rq->restarted = true; /* somebody replaced a directory: walk again */
        nm_nfs_directory_drop_all(s);
        nm_nfs_op_start(s, rq);
        return;
    }
    if ((status == NM_NFS_IO || status == NM_NFS_SERVERFAULT) && changes_data(rq->op->kind)) {
        struct nm_nfs_call *call = nm_nfs_call_new(s, rq, NM_NFS_FSSTAT, space_known);

        rq->status = status;
        rq->rejection = rejection;
        if (call) {
            call->fh = &s->root;
            nm_nfs_call_send(s, call);
            return;
        }
    }
    fail_finally(s, rq, status, rejection);
}

static void done_or_fail(struct nm_nfs_session *s, struct nm_nfs_request *rq,
                         struct nm_nfs_call *call)
{
    if (call->status)
        nm_nfs_request_fail(s, rq, call->status, call->rejection);
    else
        nm_nfs_request_done(s, rq, 0);
}

struct nm_nfs_call *nm_nfs_name_call(struct nm_nfs_session *s, struct nm_nfs_request *rq,
                                     enum nm_nfs_call_kind kind, nm_nfs_step *then)
{
    struct nm_nfs_call *call = nm_nfs_call_new(s, rq, kind, then);

    if (!call) {
        fail_finally(s, rq, NM_NFS_UNSENT, NULL);
        return NULL;
    }
    call->fh = &rq->directory;
    call->name = rq->name;
    return call;
}

static void send_name(struct nm_nfs_session *s, struct nm_nfs_request *rq,
                      enum nm_nfs_call_kind kind, nm_nfs_step *then)
{
    struct nm_nfs_call *call = nm_nfs_name_call(s, rq, kind, then);

    if (call)
        nm_nfs_call_send(s, call);
}

/* -------- walking */

static void walk_on(struct nm_nfs_session *s, struct nm_nfs_request *rq);

static void walk_step(struct nm_nfs_session *s, struct nm_nfs_request *rq, struct nm_nfs_call *call)
{
    int status = call->status;

    if (!status && call->attr.valid && call->attr.type != NM_NFS_TYPE_DIRECTORY)
        status = NM_NFS_NOTDIR;
    if (!status && !call->has_fh)
        status = NM_NFS_SERVERFAULT;
    if (status) {
        nm_nfs_request_fail(s, rq, status, call->rejection);
        return;
    }
    rq->directory = call->result_fh;
    rq->path_done += (rq->path_done ? 1 : 0) + strlen(rq->component);
    nm_nfs_directory_add(s, rq->path, rq->path_done, &rq->directory);
    walk_on(s, rq);
}

static void walk_on(struct nm_nfs_session *s, struct nm_nfs_request *rq)
{
    const char *from = rq->path + rq->path_done + (rq->path_done ? 1 : 0);
    struct nm_nfs_call *call;
    size_t length;

    if (rq->path_done == rq->path_length) {
        rq->walked(s, rq);
        return;
    }
    length = strcspn(from, "/");
    memcpy(rq->component, from, length);
    rq->component[length] = 0;
    call = nm_nfs_name_call(s, rq, NM_NFS_LOOKUP, walk_step);
    if (!call)
        return;
    call->name = rq->component;
    nm_nfs_call_send(s, call);
}

/* 0 or the status that a server would give; ".." never leaves this program. */
static int check_path(const char *path)
{
    for (const char *p = path; *p;) {
        size_t length = strcspn(p, "/");

        if (!length || (length <= 2 && !strncmp(p, "..", length)))
            return NM_NFS_INVAL;
        if (length >= NM_NFS_NAME_BYTES)
            return NM_NFS_NAMETOOLONG;
        p += length;
        if (*p && !*++p)
            return NM_NFS_INVAL;
    }
    return 0;
}

/* Goes to the directory of path's last part (whole: to path itself), the part goes to rq->name. */
static void walk(struct nm_nfs_session *s, struct nm_nfs_request *rq, const char *path, bool whole,
                 void (*walked)(struct nm_nfs_session *s, struct nm_nfs_request *rq))
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    int status = check_path(path);

    if (!status && !whole && !*path)
        status = rq->op->kind == NM_OP_MKDIR ? NM_NFS_EXIST : NM_NFS_INVAL;
    if (status) {
        fail_finally(s, rq, status, NULL);
        return;
    }
    rq->path = path;
    rq->path_length = whole ? strlen(path) : slash ? (size_t)(slash - path) : 0;
    rq->walked = walked;
    memcpy(rq->name, name, strlen(name) + 1);
    rq->directory = s->root;
    rq->path_done = 0;
    for (size_t n = rq->path_length; n; n--) {
        const struct nm_nfs_fh *fh =
            n == rq->path_length || path[n] == '/' ? nm_nfs_directory_find(s, path, n) : NULL;

        if (fh) {
            rq->directory = *fh;
            rq->path_done = n;
            rq->from_cache = true;
            break;
        }
    }
    walk_on(s, rq);
}

/* -------- names */

static void made_directory(struct nm_nfs_session *s, struct nm_nfs_request *rq,
                           struct nm_nfs_call *call)
{
    if (!call->status && call->has_fh)
        nm_nfs_directory_add(s, rq->op->path, strlen(rq->op->path), &call->result_fh);
    done_or_fail(s, rq, call);
}

static void mkdir_walked(struct nm_nfs_session *s, struct nm_nfs_request *rq)
{
    send_name(s, rq, NM_NFS_MKDIR, made_directory);
}

static void rmdir_walked(struct nm_nfs_session *s, struct nm_nfs_request *rq)
{
    nm_nfs_directory_drop(s, rq->op->path, strlen(rq->op->path));
    send_name(s, rq, NM_NFS_RMDIR, done_or_fail);
}

static void unlink_walked(struct nm_nfs_session *s, struct nm_nfs_request *rq)
{
    send_name(s, rq, NM_NFS_REMOVE, done_or_fail);
}

/* RENAME of both versions replaces an existing file without a word: look first. */
static void rename_looked(struct nm_nfs_session *s, struct nm_nfs_request *rq,
                          struct nm_nfs_call *looked)
{
    struct nm_nfs_call *call;

    if (looked->status != NM_NFS_NOENT) {
        nm_nfs_request_fail(s, rq, looked->status ? looked->status : NM_NFS_EXIST,
                            looked->rejection);
        return;
    }
    nm_nfs_directory_drop_all(s);
    call = nm_nfs_name_call(s, rq, NM_NFS_RENAME, done_or_fail);
    if (!call)
        return;
    call->fh = &rq->from;
    call->name = rq->from_name;
    call->fh2 = &rq->directory;
    call->name2 = rq->name;
    nm_nfs_call_send(s, call);
}

static void rename_to_walked(struct nm_nfs_session *s, struct nm_nfs_request *rq)
{
    send_name(s, rq, NM_NFS_LOOKUP, rename_looked);
}

static void rename_from_walked(struct nm_nfs_session *s, struct nm_nfs_request *rq)
{
    rq->from = rq->directory;
    memcpy(rq->from_name, rq->name, sizeof(rq->from_name));
    walk(s, rq, rq->op->new_path, false, rename_to_walked);
}

void nm_nfs_to_stat(const struct nm_nfs_attr *attr, struct nm_stat *out)
{
    *out = (struct nm_stat){.size_bytes = attr->size_bytes,
                            .allocated_bytes = attr->used_bytes,
                            .is_directory = attr->type == NM_NFS_TYPE_DIRECTORY,
                            .is_symlink = attr->type == NM_NFS_TYPE_SYMLINK};
}

static void stat_known(struct nm_nfs_session *s, struct nm_nfs_request *rq,
                       struct nm_nfs_call *call)
{
    if (!call->status && !call->attr.valid && call->kind == NM_NFS_LOOKUP && call->has_fh) {
        struct nm_nfs_call *again = nm_nfs_name_call(s, rq, NM_NFS_GETATTR, stat_known);

        rq->directory = call->result_fh; /* LOOKUP of NFSv3 may leave the attributes out */
        if (again)
            nm_nfs_call_send(s, again);
        return;
    }
    if (!call->status)
        nm_nfs_to_stat(&call->attr, rq->op->stat);
    done_or_fail(s, rq, call);
}

static void stat_walked(struct nm_nfs_session *s, struct nm_nfs_request *rq)
{
    send_name(s, rq, *rq->op->path ? NM_NFS_LOOKUP : NM_NFS_GETATTR, stat_known);
}

/* -------- opening */

static void open_failed(struct nm_nfs_session *s, struct nm_nfs_request *rq, int status,
                        const char *rejection)
{
    nm_nfs_file_free(s, rq->file);
    rq->file = NULL;
    nm_nfs_request_fail(s, rq, status, rejection);
}

static void open_send(struct nm_nfs_session *s, struct nm_nfs_request *rq,
                      enum nm_nfs_call_kind kind, nm_nfs_step *then)
{
    struct nm_nfs_file *file = rq->file;
    struct nm_nfs_call *call = nm_nfs_call_new(s, rq, kind, then);

    if (!call) {
        open_failed(s, rq, NM_NFS_UNSENT, NULL);
        return;
    }
    call->fh = kind == NM_NFS_GETATTR ? &file->fh : &rq->directory;
    call->name = rq->name;
    call->file = file;
    call->open_flags = (file->readable ? SHARE_READ : 0) | (file->writable ? SHARE_WRITE : 0);
    nm_nfs_call_send(s, call);
}

static void open_finished(struct nm_nfs_session *s, struct nm_nfs_request *rq,
                          struct nm_nfs_call *call)
{
    struct nm_nfs_file *file = rq->file;
    int status = call->status;

    if (!status && call->kind == NM_NFS_GETATTR)
        file->base.size_bytes = call->attr.size_bytes;
    if (!status && call->kind == NM_NFS_GETATTR && call->attr.type != NM_NFS_TYPE_FILE)
        status = call->attr.type == NM_NFS_TYPE_DIRECTORY ? NM_NFS_ISDIR : NM_NFS_SYMLINK;
    if (status) {
        open_failed(s, rq, status, call->rejection);
        return;
    }
    rq->op->file = &file->base;
    nm_nfs_request_done(s, rq, 0);
}

/* CREATE, OPEN, or the LOOKUP after a CREATE that gave no handle (NFSv3 allows that). */
static void opened(struct nm_nfs_session *s, struct nm_nfs_request *rq, struct nm_nfs_call *call)
{
    struct nm_nfs_file *file = rq->file;

    if (call->status == NM_NFS_BAD_SEQID && !rq->restarted) {
        rq->restarted = true;
        file->owner = ++s->next_owner;
        file->seqid = 0;
        open_send(s, rq, call->kind, opened);
        return;
    }
    if (call->status) {
        open_failed(s, rq, call->status, call->rejection);
        return;
    }
    if (!call->has_fh && call->kind == NM_NFS_CREATE) {
        open_send(s, rq, NM_NFS_LOOKUP, opened);
        return;
    }
    if (!call->has_fh) {
        open_failed(s, rq, NM_NFS_SERVERFAULT, NULL);
        return;
    }
    file->fh = call->result_fh;
    file->base.size_bytes = call->attr.size_bytes;
    file->opened = s->proto->has_opens;
    if (call->confirm)
        open_send(s, rq, NM_NFS_OPEN_CONFIRM, open_finished);
    else if (rq->op->kind == NM_OP_OPEN &&
             (!call->attr.valid || call->attr.type != NM_NFS_TYPE_FILE))
        open_send(s, rq, NM_NFS_GETATTR, open_finished);
    else
        open_finished(s, rq, call);
}

static void open_walked(struct nm_nfs_session *s, struct nm_nfs_request *rq)
{
    const struct nm_op *op = rq->op;
    bool create = op->kind == NM_OP_CREATE;

    rq->file = nm_nfs_file_new(s, op->path);
    if (!rq->file) {
        fail_finally(s, rq, NM_NFS_UNSENT, NULL);
        return;
    }
    rq->file->readable = create || !op->open_flags || (op->open_flags & NM_OPEN_READ);
    rq->file->writable = create || (op->open_flags & NM_OPEN_WRITE);
    open_send(s, rq, create ? NM_NFS_CREATE : NM_NFS_OPEN, opened);
}

/* -------- */

void nm_nfs_op_start(struct nm_nfs_session *s, struct nm_nfs_request *rq)
{
    const struct nm_op *op = rq->op;

    switch (op->kind) {
    case NM_OP_MKDIR: walk(s, rq, op->path, false, mkdir_walked); break;
    case NM_OP_RMDIR: walk(s, rq, op->path, false, rmdir_walked); break;
    case NM_OP_UNLINK: walk(s, rq, op->path, false, unlink_walked); break;
    case NM_OP_RENAME: walk(s, rq, op->path, false, rename_from_walked); break;
    case NM_OP_STAT: walk(s, rq, op->path, !*op->path, stat_walked); break;
    case NM_OP_LIST: walk(s, rq, op->path, true, nm_nfs_list_start); break;
    case NM_OP_OPEN:
    case NM_OP_CREATE: walk(s, rq, op->path, false, open_walked); break;
    default: nm_nfs_data_start(s, rq);
    }
}
