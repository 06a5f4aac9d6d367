/* The file system as a whole: opening, flushing, closing (lunfs.h).
 *
 * It is marked as in use on the LUN before the first metadata are written and as clean after the
 * last ones, at each flush of everything and when the session ends in order. So a session that dies
 * leaves either the state of the last flush, or a mark by which the next one knows that it is
 * neither the old nor the new state.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "lunfs.h"

#include "clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Kept in the superblock beside what mke2fs put there, so that later sessions can report it. */
#define MADE "nasmark mkfs_ns="

static const struct {
    errcode_t code;
    int value;
} codes[] = {
    {EXT2_ET_BLOCK_ALLOC_FAIL, -ENOSPC}, {EXT2_ET_INODE_ALLOC_FAIL, -ENOSPC},
    {EXT2_ET_DIR_NO_SPACE, -ENOSPC},     {EXT2_ET_NO_MEMORY, -ENOMEM},
    {EXT2_ET_RO_FILSYS, -EROFS},         {EXT2_ET_TOOSMALL, -ENOSPC},
};

int lunfs_volume_error(struct lunfs *fs, errcode_t code, struct nm_error *err, const char *what,
                       const char *path)
{
    int value = -EIO;

    if (fs->failure.code || fs->write_error.code || fs->io_error.code) {
        if (err)
            *err = fs->failure.code       ? fs->failure
                   : fs->write_error.code ? fs->write_error
                                          : fs->io_error;
        value = fs->failure.code       ? fs->failure.code
                : fs->write_error.code ? fs->write_error.code
                                       : fs->io_error.code;
        fs->io_error = (struct nm_error){0};
        nm_error_prefix(err, "%s '%s' on the file system of the LUN", what, path);
        return value;
    }
    if (code < 0)
        value = (int)code;
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (codes[i].code == code)
            value = codes[i].value;
    if (value == -ENOSPC)
        nm_error_set(err, value, NM_REASON_NO_SPACE,
                     "%s '%s': the file system on the LUN is full; use a larger LUN or a smaller "
                     "workload",
                     what, path);
    else if (code < 0)
        nm_error_errno(err, value, "%s '%s': %s", what, path, strerror(-value));
    else
        nm_error_set(err, value, NM_REASON_INTERNAL, "%s '%s': libext2fs: %s", what, path,
                     error_message(code));
    if (code > 0)
        nm_error_raw(err, "EXT2 %ld", (long)(code & 0xff));
    return value;
}

/* Ours, in one piece, and with the block size that the cache has. */
static bool usable(const struct lunfs *fs)
{
    struct ext2_super_block *super = fs->fs->super;

    return !strncmp((const char *)super->s_volume_name, "nasmark", 8) &&
           (super->s_state & EXT2_VALID_FS) && !(super->s_state & EXT2_ERROR_FS) &&
           EXT2_BLOCK_SIZE(super) == LUNFS_PAGE &&
           EXT2_INODE_SIZE(super) == sizeof(union lunfs_inode) &&
           !ext2fs_has_feature_journal(super) && !ext2fs_has_feature_metadata_csum(super);
}

static void find_metadata(struct lunfs *fs)
{
    fs->metadata_end = 0;
    for (dgrp_t group = 0; group < fs->fs->group_desc_count; group++) {
        uint64_t end = ext2fs_inode_table_loc(fs->fs, group) + fs->fs->inode_blocks_per_group;

        if (end > fs->metadata_end)
            fs->metadata_end = end;
    }
}

static uint64_t read_mkfs_ns(const struct ext2_super_block *super)
{
    char text[sizeof(super->s_last_mounted) + 1] = "";
    unsigned long long ns = 0;

    memcpy(text, super->s_last_mounted, sizeof(super->s_last_mounted));
    return sscanf(text, MADE "%llu", &ns) == 1 ? ns : 0;
}

/* What is cached of a block that was freed must not reach the LUN any more: the block may get file
 * data, which are written past the cache. A failure is that of the session and shows later. Ranges
 * are up to their caller: the callback for them gets no range (libext2fs 1.47.0). */
static void on_block(ext2_filsys fs, blk64_t block, int in_use)
{
    if (in_use < 0)
        (void)lunfs_cache_discard(fs->io->private_data, block, 1);
}

int lunfs_volume_open(struct lunfs *fs, struct nm_error *err)
{
    int flags = EXT2_FLAG_64BITS | EXT2_FLAG_SKIP_MMP | (fs->read_only ? 0 : EXT2_FLAG_RW);
    errcode_t code;

    initialize_ext2_error_table();
    lunfs_opening = fs;
    fs->io_error = (struct nm_error){0};
    fs->metadata_end = 0;
    code = ext2fs_open2("LUN", NULL, flags, 0, 0, &lunfs_manager, &fs->fs);
    lunfs_opening = NULL;
    if (code)
        fs->fs = NULL;
    if (fs->failure.code || fs->io_error.code)
        return lunfs_volume_error(fs, code, err, "open", "/");
    if (code || !usable(fs)) {
        lunfs_volume_close(fs);
        return nm_error_set(err, -ENODATA, NM_REASON_PROTECTED,
                            "lunfs: the LUN has no file system of ours that was left clean");
    }
    fs->fs->flags |= EXT2_FLAG_MASTER_SB_ONLY; /* the copies are as mke2fs made them */
    find_metadata(fs);
    code = ext2fs_read_bitmaps(fs->fs);
    if (code) {
        int r = lunfs_volume_error(fs, code, err, "read the bitmaps of", "/");

        lunfs_volume_close(fs);
        return r;
    }
    ext2fs_set_block_alloc_stats_callback(fs->fs, on_block, NULL);
    fs->mkfs_ns = read_mkfs_ns(fs->fs->super);
    fs->goal = fs->metadata_end;
    return 0;
}

void lunfs_volume_close(struct lunfs *fs)
{
    if (fs->fs)
        ext2fs_free(fs->fs);
    fs->fs = NULL;
    fs->changing = fs->marked = fs->freed = false;
    lunfs_names_forget(fs);
    lunfs_cache_reset(fs);
}

int lunfs_volume_begin_changes(struct lunfs *fs, struct nm_error *err)
{
    struct ext2_super_block *super = fs->fs->super;

    if (fs->write_error.code) { /* what is on the LUN is incomplete, and so would be the rest */
        *err = fs->write_error;
        return err->code;
    }
    if (fs->changing)
        return 0;
    if (fs->format_ns) {
        snprintf((char *)super->s_last_mounted, sizeof(super->s_last_mounted), MADE "%llu",
                 (unsigned long long)fs->format_ns);
        fs->mkfs_ns = fs->format_ns;
        fs->format_ns = 0;
    }
    super->s_state &= (__u16)~EXT2_VALID_FS;
    ext2fs_mark_super_dirty(fs->fs);
    fs->changing = true;
    return 0;
}

/* Sets the mark in the superblock that is on the LUN, past the cache, and in the cached copy. */
int lunfs_volume_mark(struct lunfs *fs)
{
    const size_t place = SUPERBLOCK_OFFSET + offsetof(struct ext2_super_block, s_state);
    struct lunfs_stage *stage;
    unsigned char *page;
    int r;

    if (fs->marked || !fs->fs || !fs->changing)
        return 0;
    r = lunfs_lower_stage(fs, &stage);
    if (r < 0)
        return r;
    fs->marked = true; /* before the first wait: nobody marks twice */
    r = lunfs_lower_run(fs, NM_OP_READ, 0, stage->data, LUNFS_PAGE, &fs->io_error);
    stage->data[place] &= (unsigned char)~EXT2_VALID_FS;
    if (!r)
        r = lunfs_lower_run(fs, NM_OP_WRITE, 0, stage->data, LUNFS_PAGE, &fs->io_error);
    page = lunfs_cache_peek(fs, 0);
    if (page)
        page[place] &= (unsigned char)~EXT2_VALID_FS;
    lunfs_lower_unstage(fs, stage);
    return r;
}

static errcode_t write_all(struct lunfs *fs)
{
    errcode_t code = ext2fs_flush2(fs->fs, EXT2_FLAG_FLUSH_NO_SYNC);

    if (!code)
        code = lunfs_cache_write_back(fs);
    if (code)
        return code;
    fs->fs->super->s_state |= EXT2_VALID_FS;
    ext2fs_mark_super_dirty(fs->fs);
    fs->fs->flags |= EXT2_FLAG_SUPER_ONLY;
    code = ext2fs_flush2(fs->fs, EXT2_FLAG_FLUSH_NO_SYNC);
    fs->fs->flags &= ~EXT2_FLAG_SUPER_ONLY;
    return code ? code : lunfs_cache_write_back(fs);
}

int lunfs_volume_flush(struct lunfs *fs, bool durable, struct nm_error *err)
{
    errcode_t code;
    int r = lunfs_data_drain(fs, err);

    if (r < 0 || !fs->fs || !fs->changing)
        return r;
    for (size_t i = 0; i < sizeof(fs->nodes) / sizeof(fs->nodes[0]); i++)
        for (struct lunfs_node *node = fs->nodes[i]; node; node = node->chain)
            if (node->dirty && (r = lunfs_node_store(fs, node, err)) < 0)
                return r;
    code = write_all(fs);
    if (!code && durable)
        code = lunfs_lower_run(fs, NM_OP_FLUSH, 0, NULL, 0, &fs->io_error);
    if (code)
        return lunfs_volume_error(fs, code, err, "flush", "/");
    fs->changing = fs->marked = fs->freed = false;
    return 0;
}
