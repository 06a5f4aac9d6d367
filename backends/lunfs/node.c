/* Inodes in use: extents, allocation, storing, freeing (lunfs.h).
 *
 * Up to four extents are kept in the inode by hand, which makes small files cheap; more are given
 * to libext2fs, which builds the tree. Blocks are taken in one direction over the LUN (fs->goal),
 * so that files written one after another lie one after another.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "lunfs.h"

#include "clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ext2fs/ext3_extents.h>

#define SLAB 64 /* nodes allocated at once; they are reused, never given back before the end */

static struct lunfs_node **bucket_of(struct lunfs *fs, ext2_ino_t ino)
{
    return &fs->nodes[ino % (sizeof(fs->nodes) / sizeof(fs->nodes[0]))];
}

struct lunfs_node *lunfs_node_find(struct lunfs *fs, ext2_ino_t ino)
{
    struct lunfs_node *node = *bucket_of(fs, ino);

    while (node && node->ino != ino)
        node = node->chain;
    return node;
}

static struct lunfs_node *node_new(struct lunfs *fs, ext2_ino_t ino)
{
    struct lunfs_node *node = fs->free_nodes, **bucket = bucket_of(fs, ino);

    if (!node) {
        struct lunfs_slab *slab = calloc(1, sizeof(*slab) + SLAB * sizeof(*node));

        if (!slab)
            return NULL;
        slab->next = fs->node_slabs;
        fs->node_slabs = slab;
        node = (struct lunfs_node *)(slab + 1);
        for (unsigned i = 0; i < SLAB; i++) {
            node[i].chain = fs->free_nodes;
            fs->free_nodes = &node[i];
        }
        node = fs->free_nodes;
    }
    fs->free_nodes = node->chain;
    *node = (struct lunfs_node){.ino = ino, .references = 1, .room = 4, .chain = *bucket};
    node->extents = node->few;
    *bucket = node;
    return node;
}

static void node_delete(struct lunfs *fs, struct lunfs_node *node)
{
    struct lunfs_node **link = bucket_of(fs, node->ino);

    while (*link != node)
        link = &(*link)->chain;
    *link = node->chain;
    if (node->extents != node->few)
        free(node->extents);
    node->extents = NULL;
    node->chain = fs->free_nodes;
    fs->free_nodes = node;
}

void lunfs_node_forget(struct lunfs *fs)
{
    for (size_t i = 0; i < sizeof(fs->nodes) / sizeof(fs->nodes[0]); i++)
        while (fs->nodes[i])
            node_delete(fs, fs->nodes[i]);
    while (fs->node_slabs) {
        struct lunfs_slab *next = fs->node_slabs->next;

        free(fs->node_slabs);
        fs->node_slabs = next;
    }
    fs->free_nodes = NULL;
}

/* ---- extents ---- */

static uint64_t allocated_blocks(const struct lunfs_node *node)
{
    const struct lunfs_extent *last = node->extents + node->n_extents - 1;

    return node->n_extents ? (uint64_t)last->lblk + last->count : 0;
}

uint64_t lunfs_node_allocated_bytes(const struct lunfs_node *node)
{
    return allocated_blocks(node) * LUNFS_PAGE;
}

static int add_extent(struct lunfs_node *node, uint64_t pblk, uint64_t count)
{
    struct lunfs_extent *last = node->extents + node->n_extents - 1;

    if (node->n_extents > (node->tree ? node->stored : 0) && last->pblk + last->count == pblk &&
        last->count + count <= EXT_INIT_MAX_LEN) {
        last->count += (uint32_t)count;
        return 0;
    }
    if (node->n_extents == node->room) {
        uint32_t room = 2 * node->room;
        struct lunfs_extent *more = node->extents == node->few ? NULL : node->extents;

        more = reallocarray(more, room, sizeof(*more));
        if (!more)
            return -ENOMEM;
        if (node->extents == node->few)
            memcpy(more, node->few, sizeof(node->few));
        node->extents = more;
        node->room = room;
    }
    node->extents[node->n_extents] = (struct lunfs_extent){
        .lblk = (uint32_t)allocated_blocks(node), .count = (uint32_t)count, .pblk = pblk};
    node->n_extents++;
    return 0;
}

int lunfs_node_allocate(struct lunfs *fs, struct lunfs_node *node, uint64_t bytes,
                        struct nm_error *err)
{
    uint64_t want = (bytes + LUNFS_PAGE - 1) / LUNFS_PAGE, have = allocated_blocks(node);
    errcode_t code = 0;

    if (want <= have)
        return 0;
    want -= have;
    if (want > ext2fs_free_blocks_count(fs->fs->super) || want + have > UINT32_MAX)
        code = EXT2_ET_BLOCK_ALLOC_FAIL;
    while (want && !code) {
        uint64_t limit = want < EXT_INIT_MAX_LEN ? want : EXT_INIT_MAX_LEN;
        blk64_t first, count;

        code = ext2fs_new_range(fs->fs, 0, fs->goal, limit, NULL, &first, &count);
        if (code)
            break;
        if (count > limit)
            count = limit;
        code = add_extent(node, first, count);
        if (code)
            break;
        ext2fs_block_alloc_stats_range(fs->fs, first, (blk_t)count, +1);
        ext2fs_iblk_add_blocks(fs->fs, &node->inode.small, count);
        fs->goal = first + count;
        want -= count;
    }
    node->dirty = true;
    return code ? lunfs_volume_error(fs, code, err, "allocate blocks for", "file") : 0;
}

uint64_t lunfs_node_map(const struct lunfs_node *node, uint64_t offset_bytes,
                        uint64_t *ret_run_bytes)
{
    uint64_t block = offset_bytes / LUNFS_PAGE;
    uint32_t low = 0, high = node->n_extents;

    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;

        if (node->extents[middle].lblk <= block)
            low = middle;
        else
            high = middle;
    }
    const struct lunfs_extent *e = &node->extents[low];
    uint64_t inside = offset_bytes - (uint64_t)e->lblk * LUNFS_PAGE;

    *ret_run_bytes = (uint64_t)e->count * LUNFS_PAGE - inside;
    return e->pblk * LUNFS_PAGE + inside;
}

/* ---- inode and extents between memory and LUN ---- */

static void put_root(struct lunfs_node *node, uint32_t count)
{
    struct ext3_extent_header *header = (struct ext3_extent_header *)node->inode.small.i_block;
    struct ext3_extent *e = EXT_FIRST_EXTENT(header);

    memset(node->inode.small.i_block, 0, sizeof(node->inode.small.i_block));
    header->eh_magic = ext2fs_cpu_to_le16(EXT3_EXT_MAGIC);
    header->eh_max = ext2fs_cpu_to_le16(4);
    header->eh_entries = ext2fs_cpu_to_le16((uint16_t)count);
    for (uint32_t i = 0; i < count; i++) {
        e[i].ee_block = ext2fs_cpu_to_le32(node->extents[i].lblk);
        e[i].ee_len = ext2fs_cpu_to_le16((uint16_t)node->extents[i].count);
        e[i].ee_start = ext2fs_cpu_to_le32((uint32_t)node->extents[i].pblk);
        e[i].ee_start_hi = ext2fs_cpu_to_le16((uint16_t)(node->extents[i].pblk >> 32));
    }
}

/* Appends the extents that the tree does not have yet. */
static errcode_t grow_tree(struct lunfs *fs, struct lunfs_node *node)
{
    ext2_extent_handle_t handle;
    struct ext2fs_extent last;
    errcode_t code;

    if (!node->tree) {
        put_root(node, 4);
        node->tree = true;
        node->stored = 4;
    }
    if (node->stored == node->n_extents)
        return 0;
    code = ext2fs_extent_open2(fs->fs, node->ino, &node->inode.small, &handle);
    if (code)
        return code;
    if (node->stored)
        code = ext2fs_extent_get(handle, EXT2_EXTENT_LAST_LEAF, &last);
    for (; !code && node->stored < node->n_extents; node->stored++) {
        const struct lunfs_extent *e = &node->extents[node->stored];
        struct ext2fs_extent next = {.e_pblk = e->pblk,
                                     .e_lblk = e->lblk,
                                     .e_len = e->count,
                                     .e_flags = EXT2_EXTENT_FLAGS_LEAF};

        code = ext2fs_extent_insert(handle, EXT2_EXTENT_INSERT_AFTER, &next);
    }
    ext2fs_extent_free(handle);
    return code;
}

int lunfs_node_store(struct lunfs *fs, struct lunfs_node *node, struct nm_error *err)
{
    errcode_t code = 0;

    if (node->tree || node->n_extents > 4)
        code = grow_tree(fs, node);
    else
        put_root(node, node->n_extents);
    ext2fs_inode_size_set(fs->fs, &node->inode.small, node->size_bytes);
    if (!code)
        code = ext2fs_write_inode_full(fs->fs, node->ino, &node->inode.small,
                                       sizeof(node->inode.bytes));
    if (code)
        return lunfs_volume_error(fs, code, err, "write the inode of", "file");
    node->dirty = false;
    return 0;
}

static errcode_t read_extents(struct lunfs *fs, struct lunfs_node *node)
{
    ext2_extent_handle_t handle;
    struct ext2fs_extent e;
    errcode_t code = ext2fs_extent_open2(fs->fs, node->ino, &node->inode.small, &handle);

    if (code)
        return code;
    for (code = ext2fs_extent_get(handle, EXT2_EXTENT_ROOT, &e); !code;
         code = ext2fs_extent_get(handle, EXT2_EXTENT_NEXT, &e)) {
        if (!(e.e_flags & EXT2_EXTENT_FLAGS_LEAF) || (e.e_flags & EXT2_EXTENT_FLAGS_SECOND_VISIT))
            continue;
        if (e.e_lblk != allocated_blocks(node)) { /* not written by us: holes are not supported */
            code = EXT2_ET_EXTENT_INVALID_LENGTH;
            break;
        }
        node->stored = UINT32_MAX; /* no merging: extents stay as they are on the LUN */
        code = add_extent(node, e.e_pblk, e.e_len);
        if (code)
            break;
    }
    ext2fs_extent_free(handle);
    node->stored = node->n_extents;
    return code == EXT2_ET_EXTENT_NO_NEXT || code == EXT2_ET_NO_CURRENT_NODE ? 0 : code;
}

int lunfs_node_get(struct lunfs *fs, ext2_ino_t ino, struct lunfs_node **ret, struct nm_error *err)
{
    struct lunfs_node *node = lunfs_node_find(fs, ino);
    const struct ext3_extent_header *header;
    errcode_t code;

    if (node) {
        node->references++;
        *ret = node;
        return 0;
    }
    node = node_new(fs, ino);
    if (!node)
        return nm_error_errno(err, -ENOMEM, "lunfs: no memory for an inode");
    code = ext2fs_read_inode_full(fs->fs, ino, &node->inode.small, sizeof(node->inode.bytes));
    header = (const struct ext3_extent_header *)node->inode.small.i_block;
    node->tree = header->eh_depth != 0;
    if (!code &&
        (LINUX_S_ISREG(node->inode.small.i_mode) || LINUX_S_ISDIR(node->inode.small.i_mode)))
        code = read_extents(fs, node);
    if (code) {
        node_delete(fs, node);
        return lunfs_volume_error(fs, code, err, "read the inode of", "file");
    }
    node->size_bytes = EXT2_I_SIZE(&node->inode.small);
    node->n_spans = node->size_bytes ? 1 : 0;
    node->spans[0] = (struct lunfs_span){0, node->size_bytes};
    *ret = node;
    return 0;
}

static void set_times(struct ext2_inode_large *inode, bool created)
{
    uint64_t now_s = nm_clock_utc_ns() / NM_NS_PER_S;
    uint32_t low = (uint32_t)now_s;
    uint32_t epoch = (uint32_t)((now_s - (uint64_t)(int64_t)(int32_t)low) >> 32) & 3;

    inode->i_mtime = inode->i_ctime = low;
    inode->i_mtime_extra = inode->i_ctime_extra = epoch;
    if (!created)
        return;
    inode->i_atime = inode->i_crtime = low;
    inode->i_atime_extra = inode->i_crtime_extra = epoch;
}

int lunfs_node_create(struct lunfs *fs, ext2_ino_t parent, unsigned mode, struct lunfs_node **ret,
                      struct nm_error *err)
{
    struct lunfs_node *node;
    ext2_ino_t ino;
    errcode_t code = ext2fs_new_inode(fs->fs, parent, (int)mode, NULL, &ino);

    if (code)
        return lunfs_volume_error(fs, code, err, "find a free inode for", "file");
    node = node_new(fs, ino);
    if (!node)
        return nm_error_errno(err, -ENOMEM, "lunfs: no memory for an inode");
    ext2fs_inode_alloc_stats2(fs->fs, ino, +1, LINUX_S_ISDIR(mode));
    node->inode.i.i_mode = (__u16)mode;
    node->inode.i.i_links_count = 1;
    node->inode.i.i_flags = EXT4_EXTENTS_FL;
    node->inode.i.i_extra_isize = sizeof(node->inode.i) - EXT2_GOOD_OLD_INODE_SIZE;
    set_times(&node->inode.i, true);
    node->dirty = true;
    *ret = node;
    return 0;
}

/* Shortens the last extent of the tree to `stay` blocks, or removes it. (ext2fs_punch() would do
 * it, but up to 1.47.0 it refuses extents that reach the last block of the file system.) */
static errcode_t cut_tree(struct lunfs *fs, struct lunfs_node *node, uint32_t stay)
{
    ext2_extent_handle_t handle;
    struct ext2fs_extent last;
    errcode_t code = ext2fs_extent_open2(fs->fs, node->ino, &node->inode.small, &handle);

    if (code)
        return code;
    code = ext2fs_extent_get(handle, EXT2_EXTENT_LAST_LEAF, &last);
    last.e_len = stay;
    if (!code)
        code = stay ? ext2fs_extent_replace(handle, 0, &last) : ext2fs_extent_delete(handle, 0);
    ext2fs_extent_free(handle);
    node->stored -= !stay;
    return code;
}

/* Frees blocks from block `keep` on. */
static errcode_t cut(struct lunfs *fs, struct lunfs_node *node, uint64_t keep)
{
    errcode_t code = 0;

    while (!code && allocated_blocks(node) > keep) {
        uint32_t i = node->n_extents - 1;
        struct lunfs_extent *last = &node->extents[i];
        uint32_t stay = keep > last->lblk ? (uint32_t)(keep - last->lblk) : 0;
        uint64_t first = last->pblk + stay;
        uint32_t count = last->count - stay;

        if (node->tree && i < node->stored)
            code = cut_tree(fs, node, stay);
        if (code)
            break;
        fs->freed = true;
        ext2fs_block_alloc_stats_range(fs->fs, first, count, -1);
        ext2fs_iblk_sub_blocks(fs->fs, &node->inode.small, count);
        if (lunfs_cache_discard(fs, first, count) < 0)
            code = EXT2_ET_SHORT_WRITE;
        last->count = stay;
        node->n_extents -= !stay;
    }
    return code;
}

/* No gaps, and no blocks behind the end. */
static bool settled(const struct lunfs_node *node)
{
    return node->n_spans <= 1 && (!node->n_spans || !node->spans[0].start) &&
           allocated_blocks(node) == (node->size_bytes + LUNFS_PAGE - 1) / LUNFS_PAGE;
}

/* A file that was written to: gaps zeroed, blocks behind the end freed. */
static int settle(struct lunfs *fs, struct lunfs_node *node, struct nm_error *err)
{
    errcode_t code;
    int r = lunfs_volume_begin_changes(fs, err);

    if (!r)
        r = lunfs_span_fill(fs, node, err);
    if (r < 0)
        return r;
    code = cut(fs, node, (node->size_bytes + LUNFS_PAGE - 1) / LUNFS_PAGE);
    if (code)
        return lunfs_volume_error(fs, code, err, "free blocks of", "file");
    set_times(&node->inode.i, false);
    return lunfs_node_store(fs, node, err);
}

static int destroy(struct lunfs *fs, struct lunfs_node *node, struct nm_error *err)
{
    bool directory = LINUX_S_ISDIR(node->inode.small.i_mode);
    errcode_t code = cut(fs, node, 0);

    node->inode.small.i_links_count = 0;
    node->inode.small.i_dtime = (__u32)(nm_clock_utc_ns() / NM_NS_PER_S);
    ext2fs_inode_size_set(fs->fs, &node->inode.small, 0);
    if (!code)
        code = ext2fs_write_inode_full(fs->fs, node->ino, &node->inode.small,
                                       sizeof(node->inode.bytes));
    if (code)
        return lunfs_volume_error(fs, code, err, "free the inode of", "file");
    ext2fs_inode_alloc_stats2(fs->fs, node->ino, -1, directory);
    return 0;
}

int lunfs_node_put(struct lunfs *fs, struct lunfs_node *node, struct nm_error *err)
{
    int r = 0;

    if (--node->references)
        return 0;
    if (fs->fs && node->unlinked)
        r = destroy(fs, node, err);
    else if (fs->fs && !fs->read_only && (node->dirty || !settled(node)))
        r = settle(fs, node, err);
    node_delete(fs, node);
    return r;
}

void lunfs_inode_stat(const struct ext2_inode *inode, struct nm_stat *ret)
{
    *ret = (struct nm_stat){.size_bytes = EXT2_I_SIZE(inode),
                            .allocated_bytes = (uint64_t)inode->i_blocks * 512,
                            .is_directory = LINUX_S_ISDIR(inode->i_mode),
                            .is_symlink = LINUX_S_ISLNK(inode->i_mode)};
}

void lunfs_node_stat(const struct lunfs_node *node, struct nm_stat *ret)
{
    lunfs_inode_stat(&node->inode.small, ret);
    ret->size_bytes = node->size_bytes;
}
