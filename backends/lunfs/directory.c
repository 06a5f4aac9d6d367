/* Directories on the LUN and in memory (directory.h).
 *
 * A directory is read once, in long requests, into a hash; after that a name costs no I/O. New
 * names go behind the last one (ext2fs_link() looks through the whole directory for each), or where
 * names were removed. Blocks are changed in the page cache and stay plain linear directory blocks,
 * which any kernel reads.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "directory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DOT_BYTES 12u /* "." and "..": header and name, rounded up */
#define GROW_MAX  64u /* blocks added at once */
#define NAMES_MAX (UINT32_MAX / 2)
#define NO_ENTRY  UINT32_MAX

/* ---- entries on the LUN ---- */

static struct ext2_dir_entry_2 *at(unsigned char *page, uint32_t offset)
{
    return (struct ext2_dir_entry_2 *)(page + offset);
}

static uint32_t length_of(const struct ext2_dir_entry_2 *e)
{
    return ext2fs_le16_to_cpu(e->rec_len);
}

static void set_length(struct ext2_dir_entry_2 *e, uint32_t length)
{
    e->rec_len = ext2fs_cpu_to_le16((uint16_t)length);
}

static uint32_t needed(size_t name_length)
{
    return (uint32_t)(8 + name_length + 3) & ~3u;
}

static bool sound(const struct ext2_dir_entry_2 *e, uint32_t offset)
{
    uint32_t length = length_of(e);

    return length >= 8 && length % 4 == 0 && offset + length <= LUNFS_PAGE &&
           needed(e->name_len) <= length;
}

static void put(struct ext2_dir_entry_2 *e, uint32_t length, ext2_ino_t ino, const char *name,
                size_t name_length, unsigned type)
{
    e->inode = ext2fs_cpu_to_le32(ino);
    set_length(e, length);
    e->name_len = (__u8)name_length;
    e->file_type = (__u8)type;
    memcpy(e->name, name, name_length);
}

static uint64_t page_of(const struct lunfs_directory *directory, uint32_t block)
{
    uint64_t run;

    return lunfs_node_map(directory->node, (uint64_t)block * LUNFS_PAGE, &run) / LUNFS_PAGE;
}

static uint32_t n_blocks(const struct lunfs_directory *directory)
{
    return (uint32_t)(directory->node->size_bytes / LUNFS_PAGE);
}

static int get_block(struct lunfs *fs, const struct lunfs_directory *directory, uint32_t block,
                     unsigned char **ret, struct nm_error *err)
{
    int r = lunfs_cache_get(fs, page_of(directory, block), false, ret);

    return r < 0 ? lunfs_volume_error(fs, r, err, "read", "directory") : 0;
}

static int corrupt(struct nm_error *err)
{
    return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT,
                        "lunfs: a directory on the LUN is damaged");
}

/* ---- names in memory ---- */

static uint32_t hash_of(const char *name, size_t length)
{
    uint32_t hash = 2166136261u; /* FNV-1a */

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    return hash;
}

struct lunfs_entry *lunfs_directory_find(const struct lunfs_directory *directory, const char *name,
                                         size_t length)
{
    uint32_t hash = hash_of(name, length), i;

    if (!directory->n_buckets)
        return NULL;
    for (i = directory->buckets[hash & (directory->n_buckets - 1)]; i != NO_ENTRY;
         i = directory->entries[i].chain) {
        struct lunfs_entry *e = &directory->entries[i];

        if (e->hash == hash && e->length == length &&
            !memcmp(directory->names + e->name, name, length))
            return e;
    }
    return NULL;
}

/* A longer text of names, without those that were removed. */
static int extend_names(struct lunfs_directory *directory)
{
    uint32_t room = directory->names_live < directory->names_room / 2 ? directory->names_room
                                                                      : 2 * directory->names_room;
    uint32_t used = 0;
    char *names;

    if (!room)
        room = 4096;
    names = room > NAMES_MAX ? NULL : malloc(room);
    if (!names)
        return -ENOMEM;
    for (uint32_t i = 0; i < directory->n_entries; i++) {
        struct lunfs_entry *e = &directory->entries[i];

        if (!e->ino)
            continue;
        memcpy(names + used, directory->names + e->name, e->length + 1u);
        e->name = used;
        used += e->length + 1u;
    }
    free(directory->names);
    directory->names = names;
    directory->names_used = used;
    directory->names_room = room;
    return 0;
}

static int make_room(struct lunfs_directory *directory, size_t length)
{
    if (directory->names_used + length + 1 > directory->names_room && extend_names(directory) < 0)
        return -ENOMEM;
    if (directory->free_entry == NO_ENTRY && directory->n_entries == directory->room) {
        uint32_t room = directory->room ? 2 * directory->room : 64;
        struct lunfs_entry *entries = reallocarray(directory->entries, room, sizeof(*entries));
        uint32_t *buckets = reallocarray(directory->buckets, room, sizeof(*buckets));

        if (entries)
            directory->entries = entries;
        if (buckets)
            directory->buckets = buckets;
        if (!entries || !buckets)
            return -ENOMEM;
        directory->room = directory->n_buckets = room;
        memset(buckets, 0xff, room * sizeof(*buckets));
        for (uint32_t i = 0; i < directory->n_entries; i++) {
            uint32_t *bucket = &buckets[entries[i].hash & (room - 1)];

            entries[i].chain = *bucket;
            *bucket = i;
        }
    }
    return 0;
}

static int remember(struct lunfs_directory *directory, const char *name, size_t length,
                    ext2_ino_t ino, unsigned type, uint32_t block)
{
    struct lunfs_entry *e;
    uint32_t i, *bucket;

    if (make_room(directory, length) < 0)
        return -ENOMEM;
    i = directory->free_entry;
    if (i != NO_ENTRY)
        directory->free_entry = directory->entries[i].chain;
    else
        i = directory->n_entries++;
    e = &directory->entries[i];
    *e = (struct lunfs_entry){.hash = hash_of(name, length),
                              .ino = ino,
                              .block = block,
                              .name = directory->names_used,
                              .length = (uint8_t)length,
                              .type = (uint8_t)type};
    memcpy(directory->names + e->name, name, length);
    directory->names[e->name + length] = '\0';
    directory->names_used += (uint32_t)length + 1;
    directory->names_live += (uint32_t)length + 1;
    bucket = &directory->buckets[e->hash & (directory->n_buckets - 1)];
    e->chain = *bucket;
    *bucket = i;
    directory->count++;
    return 0;
}

static void forget(struct lunfs_directory *directory, struct lunfs_entry *entry)
{
    uint32_t i = (uint32_t)(entry - directory->entries);
    uint32_t *link = &directory->buckets[entry->hash & (directory->n_buckets - 1)];

    while (*link != i)
        link = &directory->entries[*link].chain;
    *link = entry->chain;
    directory->names_live -= entry->length + 1u;
    *entry = (struct lunfs_entry){.chain = directory->free_entry};
    directory->free_entry = i;
    if (--directory->count)
        return;
    directory->n_entries = directory->names_used = 0;
    directory->free_entry = NO_ENTRY;
}

/* ---- reading ---- */

static int scan_block(struct lunfs_directory *directory, unsigned char *page, uint32_t block,
                      struct nm_error *err)
{
    for (uint32_t offset = 0; offset < LUNFS_PAGE;) {
        struct ext2_dir_entry_2 *e = at(page, offset);
        ext2_ino_t ino = ext2fs_le32_to_cpu(e->inode);

        if (!sound(e, offset))
            return corrupt(err);
        offset += length_of(e);
        if (!ino || (e->name_len == 1 && e->name[0] == '.'))
            continue;
        if (e->name_len == 2 && !memcmp(e->name, "..", 2)) {
            directory->parent = ino;
            continue;
        }
        if (remember(directory, e->name, e->name_len, ino, e->file_type, block) < 0)
            return nm_error_errno(err, -ENOMEM, "lunfs: no memory for the names of a directory");
    }
    return 0;
}

static int scan(struct lunfs *fs, struct lunfs_directory *directory, struct nm_error *err)
{
    const struct lunfs_node *node = directory->node;
    uint32_t blocks = n_blocks(directory);
    int r = 0;

    if (lunfs_node_allocated_bytes(node) < node->size_bytes || node->size_bytes % LUNFS_PAGE)
        return corrupt(err);
    for (uint32_t i = 0; i < node->n_extents && !r; i++)
        r = lunfs_cache_fetch(fs, node->extents[i].pblk, node->extents[i].count);
    if (r < 0)
        return lunfs_volume_error(fs, r, err, "read", "directory");
    for (uint32_t block = 0; block < blocks && !r; block++) {
        unsigned char *page;

        r = get_block(fs, directory, block, &page, err);
        if (!r)
            r = scan_block(directory, page, block, err);
    }
    directory->cursor = blocks - 1;
    return r;
}

int lunfs_directory_drop(struct lunfs *fs, struct lunfs_directory *directory, struct nm_error *err)
{
    struct lunfs_directory **link = &fs->directories;
    int r;

    while (*link != directory)
        link = &(*link)->next;
    *link = directory->next;
    fs->n_directories--;
    r = lunfs_node_put(fs, directory->node, err);
    free(directory->entries);
    free(directory->buckets);
    free(directory->names);
    free(directory);
    return r;
}

/* Makes place for one more; those of the current operation stay. */
static int drop_oldest(struct lunfs *fs, struct nm_error *err)
{
    struct lunfs_directory *oldest = NULL;

    if (fs->n_directories < LUNFS_DIRECTORIES)
        return 0;
    for (struct lunfs_directory *d = fs->directories; d; d = d->next)
        if (d->used != fs->operation && (!oldest || d->used < oldest->used))
            oldest = d;
    return oldest ? lunfs_directory_drop(fs, oldest, err) : 0;
}

int lunfs_directory_get(struct lunfs *fs, ext2_ino_t ino, struct lunfs_directory **ret,
                        struct nm_error *err)
{
    struct lunfs_directory *directory;
    int r;

    for (directory = fs->directories; directory; directory = directory->next)
        if (directory->ino == ino) {
            directory->used = fs->operation;
            *ret = directory;
            return 0;
        }
    r = drop_oldest(fs, err);
    if (r < 0)
        return r;
    directory = calloc(1, sizeof(*directory));
    if (!directory)
        return nm_error_errno(err, -ENOMEM, "lunfs: no memory for a directory");
    directory->ino = ino;
    directory->free_entry = NO_ENTRY;
    directory->used = fs->operation;
    r = lunfs_node_get(fs, ino, &directory->node, err);
    if (r < 0) {
        free(directory);
        return r;
    }
    directory->next = fs->directories;
    fs->directories = directory;
    fs->n_directories++;
    r = scan(fs, directory, err);
    if (r < 0) {
        struct nm_error second;

        (void)lunfs_directory_drop(fs, directory, &second); /* the first error counts */
        return r;
    }
    *ret = directory;
    return 0;
}

/* ---- changing ---- */

static int grow(struct lunfs *fs, struct lunfs_directory *directory, struct nm_error *err)
{
    struct lunfs_node *node = directory->node;
    uint32_t blocks = n_blocks(directory), more = blocks / 4 + 1;
    int r;

    more = more < GROW_MAX ? more : GROW_MAX;
    r = lunfs_node_allocate(fs, node, (uint64_t)(blocks + more) * LUNFS_PAGE, err);
    for (uint32_t i = 0; i < more && !r; i++) {
        unsigned char *page;
        uint64_t number = page_of(directory, blocks + i);

        r = lunfs_cache_get(fs, number, true, &page);
        if (r < 0)
            return lunfs_volume_error(fs, r, err, "extend", "directory");
        set_length(at(page, 0), LUNFS_PAGE);
        lunfs_cache_dirty(fs, number, false);
    }
    if (r < 0)
        return r;
    node->size_bytes += (uint64_t)more * LUNFS_PAGE;
    return lunfs_node_store(fs, node, err);
}

/* Puts the entry into this block if there is room from offset `hint` on. */
static bool insert_into(unsigned char *page, uint32_t *hint, const char *name, size_t length,
                        ext2_ino_t ino, unsigned type)
{
    for (uint32_t offset = *hint; offset < LUNFS_PAGE; offset += length_of(at(page, offset))) {
        struct ext2_dir_entry_2 *e = at(page, offset);
        uint32_t taken = e->inode ? needed(e->name_len) : 0, whole = length_of(e);

        if (whole - taken < needed(length))
            continue;
        if (taken)
            set_length(e, taken);
        put(at(page, offset + taken), whole - taken, ino, name, length, type);
        *hint = offset + taken;
        return true;
    }
    return false;
}

int lunfs_directory_insert(struct lunfs *fs, struct lunfs_directory *directory, const char *name,
                           size_t length, ext2_ino_t ino, unsigned type, struct nm_error *err)
{
    for (;; directory->cursor++, directory->hint = 0) {
        unsigned char *page;
        int r = 0;

        if (directory->cursor == n_blocks(directory))
            r = grow(fs, directory, err);
        if (!r)
            r = get_block(fs, directory, directory->cursor, &page, err);
        if (r < 0)
            return r;
        if (!insert_into(page, &directory->hint, name, length, ino, type))
            continue;
        lunfs_cache_dirty(fs, page_of(directory, directory->cursor), false);
        directory->node->dirty = true;
        if (remember(directory, name, length, ino, type, directory->cursor) < 0)
            return nm_error_errno(err, -ENOMEM, "lunfs: no memory for the names of a directory");
        return 0;
    }
}

int lunfs_directory_remove(struct lunfs *fs, struct lunfs_directory *directory,
                           struct lunfs_entry *entry, struct nm_error *err)
{
    const char *name = directory->names + entry->name;
    struct ext2_dir_entry_2 *previous = NULL, *e;
    unsigned char *page;
    uint32_t block = entry->block;
    int r = get_block(fs, directory, block, &page, err);

    if (r < 0)
        return r;
    for (uint32_t offset = 0; offset < LUNFS_PAGE; offset += length_of(e), previous = e) {
        e = at(page, offset);
        if (!e->inode || e->name_len != entry->length || memcmp(e->name, name, entry->length) != 0)
            continue;
        if (previous)
            set_length(previous, length_of(previous) + length_of(e));
        else
            e->inode = 0;
        lunfs_cache_dirty(fs, page_of(directory, block), false);
        directory->node->dirty = true;
        forget(directory, entry);
        if (block <= directory->cursor) {
            directory->cursor = block;
            directory->hint = 0;
        }
        return 0;
    }
    return corrupt(err);
}

int lunfs_directory_init(struct lunfs *fs, struct lunfs_node *node, ext2_ino_t parent,
                         struct nm_error *err)
{
    unsigned char *page;
    uint64_t number, run;
    int r = lunfs_node_allocate(fs, node, LUNFS_PAGE, err);

    if (r < 0)
        return r;
    number = lunfs_node_map(node, 0, &run) / LUNFS_PAGE;
    r = lunfs_cache_get(fs, number, true, &page);
    if (r < 0)
        return lunfs_volume_error(fs, r, err, "make", "directory");
    put(at(page, 0), DOT_BYTES, node->ino, ".", 1, EXT2_FT_DIR);
    put(at(page, DOT_BYTES), LUNFS_PAGE - DOT_BYTES, parent, "..", 2, EXT2_FT_DIR);
    lunfs_cache_dirty(fs, number, false);
    node->size_bytes = LUNFS_PAGE;
    node->inode.i.i_links_count = 2;
    return lunfs_node_store(fs, node, err);
}

int lunfs_directory_set_parent(struct lunfs *fs, struct lunfs_directory *directory,
                               ext2_ino_t parent, struct nm_error *err)
{
    unsigned char *page;
    int r = get_block(fs, directory, 0, &page, err);

    if (r < 0)
        return r;
    at(page, DOT_BYTES)->inode = ext2fs_cpu_to_le32(parent);
    lunfs_cache_dirty(fs, page_of(directory, 0), false);
    directory->parent = parent;
    return 0;
}

void lunfs_directory_count_child(struct lunfs_directory *directory, int change)
{
    __u16 *links = &directory->node->inode.i.i_links_count;

    /* Feature dir_nlink: 1 means "too many to count", and stays. */
    if (*links != 1)
        *links = change > 0 && *links >= EXT2_LINK_MAX ? 1 : (__u16)(*links + change);
    directory->node->dirty = true;
}
