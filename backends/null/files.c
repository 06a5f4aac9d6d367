/* What operations do to the files of the null backend, all at once; when they complete is decided
 * in null.c.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "null.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void null_fail(struct nm_op *op, int code, const char *text)
{
    op->result = nm_error_errno(&op->err, code, "null: %s: %s", nm_op_kind_name(op->kind), text);
}

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
        null_fail(op, -ENOENT, "a device has no names");
        return;
    }
    if (!s->arguments.store)
        return;
    file->fd = openat(s->device.root_fd, "device", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file->fd < 0 || ftruncate(file->fd, (off_t)file->base.size_bytes) < 0)
        null_fail(op, -errno, "cannot keep the device's contents in /dev/shm");
    file->known_bytes = file->base.size_bytes;
}

static void open_file(struct null_session *s, struct nm_op *op)
{
    struct null_file *file = calloc(1, sizeof(*file));

    if (!file) {
        null_fail(op, -ENOMEM, "out of memory");
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

int null_file_close(struct null_session *s, struct null_file *file)
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
        null_fail(op, -errno, "cannot read from /dev/shm");
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
            null_fail(op, -ENOSPC, "the capacity of the URL is used up");
            return;
        }
        file->size_bytes = end;
    }
    if (s->arguments.store && op->length_bytes) {
        if (s->arguments.blocks)
            atomic_store(&s->device.shared->keep, 1);
        if (pwrite(((struct null_file *)file)->fd, op->buf, op->length_bytes,
                   (off_t)op->offset_bytes) != op->length_bytes)
            null_fail(op, -ENOSPC, "/dev/shm is full");
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

void null_files_execute(struct null_session *s, struct nm_op *op)
{
    int r;

    op->result = 0;
    switch (op->kind) {
    case NM_OP_READ:
    case NM_OP_WRITE:
        if (s->arguments.blocks && outside_device(s, op))
            null_fail(op, -EINVAL, "outside of the device, or no whole blocks");
        else if (op->kind == NM_OP_READ)
            read_data(s, op);
        else
            write_data(s, op);
        break;
    case NM_OP_OPEN:
    case NM_OP_CREATE: open_file(s, op); break;
    case NM_OP_FLUSH:
    case NM_OP_CLOSE:
        r = op->kind == NM_OP_CLOSE ? null_file_close(s, (struct null_file *)op->file)
            : op->file              ? publish_size((struct null_file *)op->file)
                                    : 0;
        if (r < 0)
            null_fail(op, r, "cannot keep the size");
        break;
    case NM_OP_UNLINK: unlink_file(s, op); break;
    default: nm_names_execute(&s->names, op); break;
    }
}
