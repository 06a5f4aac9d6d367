/* Run directories on the target (directory.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "directory.h"

#include "clock.h"
#include "workload.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MARKER_BYTES 4096

/* ---- making ---- */

static int make(struct nm_session *session, const char *path, bool fresh, uint64_t timeout_ns,
                struct nm_error *err)
{
    struct nm_op op = {.kind = NM_OP_MKDIR, .path = path};

    if (nm_session_run(session, &op, timeout_ns) == 0 || (op.result == -EEXIST && !fresh))
        return 0;
    *err = op.err;
    nm_error_prefix(err, "cannot make the directory %s", path);
    return (int)op.result;
}

/* One that is there already was written by an earlier group of this run. */
static int put_marker(struct nm_session *session, const char *path, void *text, uint32_t length,
                      uint64_t timeout_ns, struct nm_error *err)
{
    struct nm_op op = {.kind = NM_OP_CREATE, .path = path, .expected_bytes = length};

    if (nm_session_run(session, &op, timeout_ns) < 0) {
        if (op.result == -EEXIST)
            return 0;
        goto failed;
    }
    op.kind = NM_OP_WRITE;
    op.buf = text;
    op.length_bytes = length;
    int64_t written = nm_session_run(session, &op, timeout_ns);
    struct nm_error first = op.err;

    op.kind = NM_OP_CLOSE;
    if (nm_session_run(session, &op, timeout_ns) < 0 && written >= 0)
        goto failed;
    if (written >= 0)
        return 0;
    op.err = first;
    op.result = written;

failed:
    *err = op.err;
    nm_error_prefix(err, "cannot write %s", path);
    return (int)op.result;
}

static int write_marker(struct nm_session *session, const char *run_directory, uint64_t timeout_ns,
                        void *buffer, size_t buffer_bytes, struct nm_error *err)
{
    char path[160], host[64] = "unknown", utc[24];

    gethostname(host, sizeof(host) - 1);
    for (char *c = host; *c; c++)
        if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
            *c = '_';
    nm_clock_format_utc(nm_clock_utc_ns(), utc);
    snprintf(path, sizeof(path), "%s/%s", run_directory, NM_OWNER_FILE);
    int length = snprintf(
        buffer, buffer_bytes,
        "{\"program\":\"nasmark\",\"directory\":\"%s\",\"host\":\"%s\",\"pid\":%d,"
        "\"started\":\"%s\",\"note\":\"test data; `nasmark clean` removes this directory\"}\n",
        run_directory, host, (int)getppid(), utc);

    if (length < 0 || (size_t)length >= buffer_bytes)
        return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL, "marker does not fit");
    return put_marker(session, path, buffer, (uint32_t)length, timeout_ns, err);
}

int nm_directory_enter(struct nm_session *session, const char *run_directory, const char *directory,
                       bool fresh, uint64_t timeout_ns, void *buffer, size_t buffer_bytes,
                       struct nm_error *err)
{
    int r = make(session, run_directory, fresh, timeout_ns, err);

    if (!r)
        r = write_marker(session, run_directory, timeout_ns, buffer, buffer_bytes, err);
    if (!r && *directory)
        r = make(session, directory, false, timeout_ns, err);
    return r;
}

/* ---- removing ---- */

struct listing {
    char **names; /* ours; a directory's name ends with '/' */
    size_t count, capacity;
    uint64_t foreign;
    bool marker; /* stays until nothing else is there: it says whose the directory is */
    bool out_of_memory;
};

static void note_entry(void *context, const char *name, const struct nm_stat *stat)
{
    struct listing *list = context;
    bool ours =
        nm_workload_owns_name(name) || (stat->is_directory && !strncmp(name, "g", 1) && name[1] &&
                                        !name[1 + strspn(name + 1, "0123456789")]);
    char *copy = NULL;

    if (!strcmp(name, NM_OWNER_FILE) && !stat->is_directory && !stat->is_symlink) {
        list->marker = true;
        return;
    }
    if (!ours || stat->is_symlink) {
        list->foreign++;
        return;
    }
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 256;
        char **names = reallocarray(list->names, capacity, sizeof(*names));

        if (!names) {
            list->out_of_memory = true;
            return;
        }
        list->names = names;
        list->capacity = capacity;
    }
    if (asprintf(&copy, "%s%s", name, stat->is_directory ? "/" : "") < 0) {
        list->out_of_memory = true;
        return;
    }
    list->names[list->count++] = copy;
}

static void listing_done(struct listing *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->names[i]);
    free(list->names);
}

static bool gone(const struct nm_op *op)
{
    return op->result >= 0 || op->err.reason == NM_REASON_NOT_FOUND;
}

/* One operation whose object may be missing already. */
static int remove_one(struct nm_session *session, enum nm_op_kind kind, const char *path,
                      uint64_t timeout_ns, struct nm_error *err)
{
    struct nm_op op = {.kind = kind, .path = path};

    nm_session_run(session, &op, timeout_ns);
    if (gone(&op))
        return 0;
    *err = op.err;
    nm_error_prefix(err, "cannot remove %s", path);
    return (int)op.result;
}

/* Length of the marker's text, in buffer. */
static int get_marker(struct nm_session *session, const char *path, void *buffer,
                      size_t buffer_bytes, uint64_t timeout_ns, uint32_t *ret_length,
                      struct nm_error *err)
{
    struct nm_op op = {.kind = NM_OP_OPEN, .path = path, .open_flags = NM_OPEN_READ};
    int64_t length = nm_session_run(session, &op, timeout_ns);

    if (length >= 0) {
        op.kind = NM_OP_READ;
        op.buf = buffer;
        op.length_bytes = (uint32_t)(buffer_bytes < MARKER_BYTES ? buffer_bytes : MARKER_BYTES);
        length = nm_session_run(session, &op, timeout_ns);
        struct nm_error first = op.err;

        op.kind = NM_OP_CLOSE;
        nm_session_run(session, &op, timeout_ns);
        op.err = first;
    }
    if (length < 0) {
        *err = op.err;
        nm_error_prefix(err, "cannot read %s", path);
        return (int)length;
    }
    *ret_length = (uint32_t)length;
    return 0;
}

/* A directory in which nothing but its marker is listed. What a server hides (links, names that it
 * vetoes) keeps it, and then the marker has to come back: without it nobody could tell any more
 * whose the directory is. */
static int remove_marked(struct nm_session *session, const char *path, bool marked,
                         uint64_t timeout_ns, void *buffer, size_t buffer_bytes,
                         uint64_t *ret_foreign, struct nm_error *err)
{
    struct nm_op op = {.kind = NM_OP_RMDIR, .path = path};
    uint32_t length = 0;
    char marker[512];
    int r = 0;

    snprintf(marker, sizeof(marker), "%s/%s", path, NM_OWNER_FILE);
    if (marked)
        r = get_marker(session, marker, buffer, buffer_bytes, timeout_ns, &length, err);
    if (!r && marked)
        r = remove_one(session, NM_OP_UNLINK, marker, timeout_ns, err);
    marked = length > 0;
    if (r < 0)
        return r;
    nm_session_run(session, &op, timeout_ns);
    if (gone(&op))
        return 0;
    if (marked)
        r = put_marker(session, marker, buffer, length, timeout_ns, err);
    if (!r && (op.result == -ENOTEMPTY || op.result == -EEXIST)) {
        ++*ret_foreign;
        return 0;
    }
    if (!r) {
        *err = op.err;
        r = (int)op.result;
    }
    nm_error_prefix(err, "cannot remove %s", path);
    return r;
}

/* Unlinks the files of one directory, several at a time. */
#define UNLINKS 16
static int unlink_all(struct nm_session *session, const char *path, const struct listing *list,
                      uint64_t timeout_ns, _Atomic uint64_t *heartbeat_ns, struct nm_error *err)
{
    struct {
        struct nm_op op;
        char path[512];
    } *work = calloc(UNLINKS, sizeof(*work));
    size_t next = 0;
    int r = 0;

    if (!work)
        return nm_error_no_memory(err);
    struct nm_op *idle[UNLINKS];
    unsigned n_idle = 0;

    while (n_idle < UNLINKS) {
        idle[n_idle] = &work[n_idle].op;
        idle[n_idle]->user = work[n_idle].path;
        n_idle++;
    }
    for (;;) {
        while (!r && n_idle && next < list->count) {
            const char *name = list->names[next++];

            if (name[strlen(name) - 1] == '/')
                continue;
            struct nm_op *op = idle[--n_idle];

            snprintf(op->user, sizeof(work->path), "%s/%s", path, name);
            op->kind = NM_OP_UNLINK;
            op->path = op->user;
            nm_session_submit(session, op);
        }
        if (!session->in_flight)
            break;
        struct nm_error dead = {0};
        struct nm_op *op = nm_session_reap(session, nm_clock_now_ns() + timeout_ns, &dead);

        if (!op) { /* what is in flight is lost with the session: leave its memory to the process */
            if (dead.code)
                *err = dead;
            else
                nm_error_set(err, -ETIMEDOUT, NM_REASON_TIMEOUT, "removing files: no answer");
            return err->code;
        }
        atomic_store(heartbeat_ns, nm_clock_now_ns());
        idle[n_idle++] = op;
        if (!gone(op) && !r) {
            r = (int)op->result;
            *err = op->err;
            nm_error_prefix(err, "cannot remove %s", op->path);
        }
    }
    free(work);
    return r;
}

int nm_directory_remove(struct nm_session *session, const char *path, uint64_t timeout_ns,
                        void *buffer, size_t buffer_bytes, _Atomic uint64_t *heartbeat_ns,
                        uint64_t *ret_foreign, struct nm_error *err)
{
    struct listing list = {0};
    struct nm_op op = {
        .kind = NM_OP_LIST, .path = path, .list_entry = note_entry, .list_context = &list};
    int r = 0;

    atomic_store(heartbeat_ns, nm_clock_now_ns());
    nm_session_run(session, &op, timeout_ns);
    if (op.result < 0) {
        if (!gone(&op)) {
            r = (int)op.result;
            *err = op.err;
            nm_error_prefix(err, "cannot list %s", path);
        }
        goto out;
    }
    if (list.out_of_memory) {
        r = nm_error_errno(err, -ENOMEM, "out of memory while listing %s", path);
        goto out;
    }
    r = unlink_all(session, path, &list, timeout_ns, heartbeat_ns, err);
    for (size_t i = 0; i < list.count && !r; i++) {
        char below[512];
        size_t length = strlen(list.names[i]);

        if (list.names[i][length - 1] != '/')
            continue;
        snprintf(below, sizeof(below), "%s/%.*s", path, (int)length - 1, list.names[i]);
        r = nm_directory_remove(session, below, timeout_ns, buffer, buffer_bytes, heartbeat_ns,
                                ret_foreign, err);
    }
    *ret_foreign += list.foreign;
    if (!r && !*ret_foreign)
        r = remove_marked(session, path, list.marker, timeout_ns, buffer, buffer_bytes, ret_foreign,
                          err);

out:
    listing_done(&list);
    return r;
}
