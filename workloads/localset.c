/* Local copies of a file set (localset.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "localset.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_BYTES (4u << 20)

/* "nasmark-12ab34cd-0-smb/g1" -> "PARENT/nasmark-12ab34cd-0-smb.g1" */
static int directory_path(const char *parent, const char *directory, char *out, size_t size)
{
    int n = snprintf(out, size, "%s/%s", parent, directory);

    if (n < 0 || (size_t)n >= size)
        return -ENAMETOOLONG;
    for (char *c = out + strlen(parent) + 1; *c; c++)
        if (*c == '/')
            *c = '.';
    return 0;
}

int nm_localset_make_directory(const char *parent, const struct nm_workload_context *context,
                               struct nm_error *err)
{
    char path[4096];
    int r = directory_path(parent, context->directory, path, sizeof(path));

    if (!r && mkdir(path, 0700) < 0 && errno != EEXIST)
        r = -errno;
    if (r < 0)
        return nm_error_set(
            err, r, NM_REASON_CLIENT_LIMIT,
            "cannot make a directory in %s: %s; source and destination must be existing, "
            "writable directories",
            parent, strerror(-r));
    return 0;
}

int nm_localset_open(const char *parent, const struct nm_workload_context *context, uint64_t index,
                     bool for_reading)
{
    char path[4096], name[NM_FILE_NAME_BYTES];
    int r = directory_path(parent, context->directory, path, sizeof(path) - NM_FILE_NAME_BYTES - 1);

    if (r < 0)
        return r;
    nm_workload_file_name(index, 0, name);
    size_t length = strlen(path);

    snprintf(path + length, sizeof(path) - length, "/%s", name);
    r = open(path, (for_reading ? O_RDONLY : O_WRONLY | O_CREAT | O_EXCL) | O_CLOEXEC | O_NOFOLLOW,
             0600);
    return r < 0 ? -errno : r;
}

/* ---- source ---- */

struct nm_localset_writer {
    const struct nm_copyset *set;
    struct nm_workload_context context;
    struct nm_pattern pattern;
    uint64_t file, offset_bytes;
    int fd;
    unsigned char *piece;
};

int nm_localset_writer_new(const struct nm_copyset *set, const struct nm_workload_context *context,
                           struct nm_localset_writer **ret, struct nm_error *err)
{
    int r = nm_localset_make_directory(context->source, context, err);
    struct nm_localset_writer *writer;

    if (r < 0)
        return r;
    writer = calloc(1, sizeof(*writer));
    if (writer)
        writer->piece = malloc(PIECE_BYTES);
    if (!writer || !writer->piece) {
        free(writer);
        return nm_error_no_memory(err);
    }
    writer->set = set;
    writer->context = *context;
    writer->pattern = *context->pattern;
    writer->fd = -1;
    *ret = writer;
    return 0;
}

static int source_failed(const struct nm_localset_writer *writer, int code, struct nm_error *err)
{
    return nm_error_set(err, code, NM_REASON_CLIENT_LIMIT, "cannot write the source set in %s: %s",
                        writer->context.source, strerror(-code));
}

int nm_localset_writer_step(struct nm_localset_writer *writer, struct nm_error *err)
{
    uint64_t size, position;

    if (writer->file == writer->set->files)
        return 1;
    nm_copyset_file(writer->set, writer->file, &size, &position);
    if (writer->fd < 0) {
        int fd = nm_localset_open(writer->context.source, &writer->context, writer->file, false);

        if (fd < 0)
            return source_failed(writer, fd, err);
        writer->fd = fd;
        writer->offset_bytes = 0;
    }
    size_t length = size - writer->offset_bytes < PIECE_BYTES
                        ? (size_t)(size - writer->offset_bytes)
                        : PIECE_BYTES;

    nm_pattern_fill(&writer->pattern, position + writer->offset_bytes, writer->piece, length);
    for (size_t done = 0; done < length;) {
        ssize_t n = write(writer->fd, writer->piece + done, length - done);

        if (n < 0)
            return source_failed(writer, -errno, err);
        done += (size_t)n;
    }
    writer->offset_bytes += length;
    if (writer->offset_bytes < size)
        return 0;
    /* Large files reach the disk now, or their write-back would run beside the measurement. */
    if ((size >= PIECE_BYTES && fdatasync(writer->fd) < 0) || close(writer->fd) < 0)
        return source_failed(writer, -errno, err);
    writer->fd = -1;
    writer->file++;
    return writer->file == writer->set->files;
}

void nm_localset_writer_free(struct nm_localset_writer *writer)
{
    if (!writer)
        return;
    if (writer->fd >= 0)
        close(writer->fd);
    free(writer->piece);
    free(writer);
}

/* ---- removing ---- */

int nm_localset_remove(const char *parent, const char *directory, struct nm_error *err)
{
    char path[4096];
    struct dirent *entry;
    DIR *dir;
    int r = directory_path(parent, directory, path, sizeof(path));

    if (r < 0)
        return nm_error_errno(err, r, "%s: path too long", parent);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return errno == ENOENT ? 0 : nm_error_errno(err, -errno, "%s: %s", path, strerror(errno));
    dir = fdopendir(fd);
    if (!dir) {
        close(fd);
        return nm_error_no_memory(err);
    }
    while ((entry = readdir(dir)))
        if (nm_workload_owns_name(entry->d_name) && unlinkat(fd, entry->d_name, 0) < 0)
            r = -errno;
    closedir(dir);
    if (rmdir(path) < 0)
        r = -errno;
    return r < 0 ? nm_error_errno(err, r, "cannot remove %s: %s; remove it by hand", path,
                                  strerror(-r))
                 : 0;
}
