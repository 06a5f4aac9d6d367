/* Directories of lunfs in memory: a hash of the names, and where the next one goes. Private to
 * directory.c and names.c.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_LUNFS_DIRECTORY_H
#define NM_LUNFS_DIRECTORY_H

#include "lunfs.h"

struct lunfs_entry {
    uint32_t hash, chain; /* chain: same bucket, or free list */
    ext2_ino_t ino;       /* 0 = unused */
    uint32_t block;       /* of the directory, where the entry lies */
    uint32_t name;        /* in names, NUL-terminated */
    uint8_t length, type; /* EXT2_FT_... */
};

struct lunfs_directory {
    ext2_ino_t ino, parent;
    struct lunfs_node *node;
    struct lunfs_entry *entries;
    uint32_t *buckets, n_buckets; /* a power of two */
    uint32_t n_entries, room, free_entry, count;
    char *names;
    uint32_t names_used, names_room, names_live;
    uint32_t cursor, hint; /* block and offset where room is looked for first */
    uint64_t used;         /* number of the operation that used it last */
    struct lunfs_directory *next;
};

/* The directory with this inode, read when it is not in memory. Stays valid during the current
 * operation on names. */
int lunfs_directory_get(struct lunfs *fs, ext2_ino_t ino, struct lunfs_directory **ret,
                        struct nm_error *err);
struct lunfs_entry *lunfs_directory_find(const struct lunfs_directory *directory, const char *name,
                                         size_t length);
int lunfs_directory_insert(struct lunfs *fs, struct lunfs_directory *directory, const char *name,
                           size_t length, ext2_ino_t ino, unsigned type, struct nm_error *err);
int lunfs_directory_remove(struct lunfs *fs, struct lunfs_directory *directory,
                           struct lunfs_entry *entry, struct nm_error *err);
/* First block of a new directory. */
int lunfs_directory_init(struct lunfs *fs, struct lunfs_node *node, ext2_ino_t parent,
                         struct nm_error *err);
int lunfs_directory_set_parent(struct lunfs *fs, struct lunfs_directory *directory,
                               ext2_ino_t parent, struct nm_error *err);
/* One more or one less sub-directory. */
void lunfs_directory_count_child(struct lunfs_directory *directory, int change);
/* Out of memory; the node goes back. */
int lunfs_directory_drop(struct lunfs *fs, struct lunfs_directory *directory, struct nm_error *err);

#endif
