/* Files of the local backend.
 *
 * With direct I/O a file is opened with O_DIRECT; the ragged end of a write goes through a second,
 * buffered descriptor of the same file, and a file smaller than a page is written through the page
 * cache altogether (as one block it costs one copy; its data reach the disk with the flush, and
 * direct reads do not see the cache). Without direct I/O the cache is emptied after every flush and
 * before reading, unless the page cache was asked for.
 *
 * Space is allocated ahead where the file system needs it: on ext4 a direct write that extends the
 * file holds up all others (measured; libraries of 2023: Linux 6.1).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "local.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void out_of_memory(struct nm_op *op)
{
    op->result = nm_error_errno(&op->err, -ENOMEM, "local: out of memory");
}

static void keep_file(struct local_session *s, struct nm_op *op, struct local_file *file)
{
    file->base.session = &s->base;
    file->next = s->files;
    if (s->files)
        s->files->previous = file;
    s->files = file;
    op->file = &file->base;
    op->result = 0;
}

static int access_flags(const struct nm_op *op)
{
    if (op->kind == NM_OP_CREATE ||
        (op->open_flags & (NM_OPEN_READ | NM_OPEN_WRITE)) == (NM_OPEN_READ | NM_OPEN_WRITE))
        return O_RDWR;
    return op->open_flags & NM_OPEN_WRITE ? O_WRONLY : O_RDONLY;
}

/* Allocation is an optimisation: only a full volume is an error. */
static int preallocate(struct local_session *s, struct local_file *file, struct nm_op *op)
{
    if (!s->can.preallocate || !file->direct || !op->expected_bytes)
        return 0;
    if (fallocate(file->fd, 0, 0, (off_t)op->expected_bytes) == 0) {
        file->allocated_bytes = op->expected_bytes;
        return 0;
    }
    if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG)
        return 0;
    op->result = nm_names_error(&op->err, -errno, true, "create", op->path);
    return (int)op->result;
}

static void open_failed(struct local_session *s, struct nm_op *op, int code)
{
    op->result = code;
    if (code == -EINVAL && s->can.direct)
        nm_error_set(&op->err, code, NM_REASON_UNSUPPORTED,
                     "%s '%.200s': the file system refuses direct I/O; take local.direct = no",
                     nm_op_kind_name(op->kind), op->path);
}

void local_file_open(struct local_session *s, struct nm_op *op)
{
    bool create = op->kind == NM_OP_CREATE;
    struct local_file *file = calloc(1, sizeof(*file));

    if (!file) {
        out_of_memory(op);
        return;
    }
    file->buffered_fd = -1;
    file->writable = create || (op->open_flags & NM_OPEN_WRITE);
    file->direct =
        s->can.direct && !(create && op->expected_bytes && op->expected_bytes < LOCAL_PAGE_BYTES);
    file->fd =
        nm_names_open(&s->names, op->path,
                      access_flags(op) | (create ? O_CREAT : 0) | (file->direct ? O_DIRECT : 0),
                      &file->base.size_bytes, &op->err);
    if (file->fd < 0) {
        open_failed(s, op, file->fd);
        free(file);
        return;
    }
    if (create && preallocate(s, file, op) < 0) {
        struct nm_op undo = {.kind = NM_OP_UNLINK, .path = op->path};

        close(file->fd);
        free(file);
        nm_names_execute(&s->names, &undo);
        return;
    }
    if (!create && (op->open_flags & NM_OPEN_READ) && !file->direct)
        local_file_drop_cache(s, file);
    keep_file(s, op, file);
}

void local_file_open_device(struct local_session *s, struct nm_op *op)
{
    struct local_file *file = calloc(1, sizeof(*file));
    char name[32];

    if (!file) {
        out_of_memory(op);
        return;
    }
    /* What was checked at connect is what is opened, whatever the name means by now. */
    snprintf(name, sizeof(name), "/proc/self/fd/%d", s->root_fd);
    file->buffered_fd = -1;
    file->direct = s->can.direct;
    file->writable = op->open_flags & NM_OPEN_WRITE;
    file->base.size_bytes = s->capacity_bytes;
    file->fd = open(name, access_flags(op) | O_CLOEXEC | (file->direct ? O_DIRECT : 0));
    if (file->fd < 0) {
        op->result = nm_names_error(&op->err, -errno, file->writable, "open", s->path);
        free(file);
        return;
    }
    if (!file->direct)
        local_file_drop_cache(s, file);
    keep_file(s, op, file);
}

int local_file_buffered_fd(struct local_file *file, struct nm_error *err)
{
    char name[32];

    if (file->buffered_fd < 0) {
        snprintf(name, sizeof(name), "/proc/self/fd/%d", file->fd);
        file->buffered_fd = open(name, O_WRONLY | O_CLOEXEC);
        if (file->buffered_fd < 0)
            return nm_names_error(err, -errno, true, "open again", name);
    }
    return file->buffered_fd;
}

void local_file_drop_cache(const struct local_session *s, const struct local_file *file)
{
    if (!s->can.direct && !s->how->buffered)
        posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED);
}

void local_file_drop(struct local_session *s, struct local_file *file)
{
    if (file->next)
        file->next->previous = file->previous;
    if (file->previous)
        file->previous->next = file->next;
    else
        s->files = file->next;
    if (file->buffered_fd >= 0)
        close(file->buffered_fd);
    close(file->fd);
    free(file);
}

void local_file_close(struct local_session *s, struct nm_op *op)
{
    struct local_file *file = (struct local_file *)op->file;
    int r = 0;

    if (file->allocated_bytes > file->base.size_bytes &&
        ftruncate(file->fd, (off_t)file->base.size_bytes) < 0)
        r = -errno;
    local_file_drop(s, file);
    op->result = r;
    if (r < 0)
        nm_names_error(&op->err, r, true, "close", s->path);
}

void local_flush_all(struct local_session *s, struct nm_op *op)
{
    int r = s->is_device ? 0 : syncfs(s->root_fd) < 0 ? -errno : 0;

    for (struct local_file *file = s->files; file && r == 0; file = file->next) {
        if (s->is_device && file->writable && fsync(file->fd) < 0)
            r = -errno;
        local_file_drop_cache(s, file);
    }
    op->result = r;
    if (r < 0)
        nm_names_error(&op->err, r, true, "flush", s->path);
}
