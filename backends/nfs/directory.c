/* Handles of directories below the target, so that an operation on a/b/c costs no LOOKUP of a and b
 * each time (libnfs's high-level API walks the whole path for every call).
 *
 * A direct-mapped table: a collision only costs another LOOKUP. A handle that has become stale is
 * noticed by the operation that used it, which drops the table and starts again once.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "nfs_internal.h"

#include <string.h>

static unsigned slot_of(const char *path, size_t length)
{
    uint32_t hash = 2166136261u; /* FNV-1a */

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)path[i]) * 16777619u;
    return hash % NM_NFS_DIRECTORY_SLOTS;
}

const struct nm_nfs_fh *nm_nfs_directory_find(const struct nm_nfs_session *s, const char *path,
                                              size_t length)
{
    const struct nm_nfs_directory *slot = &s->directories[slot_of(path, length)];

    return length && slot->length == length && !memcmp(slot->path, path, length) ? &slot->fh : NULL;
}

void nm_nfs_directory_add(struct nm_nfs_session *s, const char *path, size_t length,
                          const struct nm_nfs_fh *fh)
{
    struct nm_nfs_directory *slot = &s->directories[slot_of(path, length)];

    if (!length || length > sizeof(slot->path))
        return;
    slot->length = (uint16_t)length;
    memcpy(slot->path, path, length);
    slot->fh = *fh;
}

void nm_nfs_directory_drop(struct nm_nfs_session *s, const char *path, size_t length)
{
    if (nm_nfs_directory_find(s, path, length))
        s->directories[slot_of(path, length)].length = 0;
}

void nm_nfs_directory_drop_all(struct nm_nfs_session *s)
{
    for (unsigned i = 0; i < NM_NFS_DIRECTORY_SLOTS; i++)
        s->directories[i].length = 0;
}
