/* The lunfs backend row (lunfs.h): files on a LUN.
 *
 * Consent: connect() never writes to a LUN that was not claimed in this run; claim() asks the block
 * backend (blank, or named in allow_destroy) and then makes the file system. On a LUN that was
 * claimed in this run connect() makes it as well when it finds none that was left clean: raw
 * workloads were there in between, or a worker was killed.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "lunfs.h"

#include "clock.h"
#include "iscsi/options_iscsi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int make_file_system(struct lunfs *fs, struct nm_error *err)
{
    int r;

    while (fs->cache.writes) /* nothing of the old one may arrive after the new one */
        if (lunfs_lower_wait(fs) < 0) {
            *err = fs->failure;
            return fs->failure.code;
        }
    lunfs_volume_close(fs);
    r = lunfs_format(fs, err);
    return r < 0 ? r : lunfs_volume_open(fs, err);
}

static int open_file_system(struct lunfs *fs, bool claimed, struct nm_error *err)
{
    int r;

    if (!claimed && !fs->read_only)
        return 0;
    r = lunfs_volume_open(fs, err);
    if (r == -ENODATA && fs->read_only)
        return claimed ? r : 0;
    return r == -ENODATA ? make_file_system(fs, err) : r;
}

static void end_in_order(struct lunfs *fs)
{
    struct nm_error err;

    fs->deadline_ns = nm_clock_now_ns() + fs->timeout_ns;
    if (lunfs_data_drain(fs, &err) < 0)
        return;
    while (fs->files)
        if (lunfs_file_close(fs, fs->files, &err) < 0)
            return;
    /* How long making it took is kept in it, for the sessions that measure. */
    if (fs->format_ns && lunfs_volume_begin_changes(fs, &err) < 0)
        return;
    /* Not marked as clean when this fails; the next session will see it. */
    (void)lunfs_volume_flush(fs, true, &err);
}

static void free_files(struct lunfs_file *file)
{
    while (file) {
        struct lunfs_file *next = file->next;

        free(file);
        file = next;
    }
}

static void disconnect(struct nm_session *base)
{
    struct lunfs *fs = (struct lunfs *)base;

    if (!fs)
        return;
    if (fs->fs && (fs->changing || fs->files || fs->format_ns) && !fs->failure.code)
        end_in_order(fs);
    lunfs_volume_close(fs);
    lunfs_node_forget(fs);
    free_files(fs->files);
    free_files(fs->free_files);
    lunfs_lower_close(fs);
    lunfs_cache_close(&fs->cache);
    lunfs_data_close(fs);
    free(fs);
}

static int lunfs_connect(const struct nm_connect *how, struct nm_session **ret_session,
                         struct nm_error *err)
{
    struct lunfs *fs = calloc(1, sizeof(*fs));
    struct nm_conditions conditions = {0};
    struct nm_error spare;
    struct nm_target_info info;
    int r;

    err = err ? err : &spare;
    if (!fs)
        return nm_error_errno(err, -ENOMEM, "lunfs: no memory for a session");
    fs->timeout_ns = how->timeout_ns;
    fs->deadline_ns = NM_NEVER_NS;
    fs->read_only = how->read_only;
    fs->buffered = how->buffered;
    r = lunfs_lower_open(fs, how, err);
    if (!r)
        r = fs->lower->ops->describe(fs->lower, &info, &conditions, err);
    if (!r && info.block_bytes > LUNFS_PAGE)
        r = nm_error_set(err, -EOPNOTSUPP, NM_REASON_UNSUPPORTED,
                         "a file system of 4096-byte blocks does not fit on a LUN with blocks of "
                         "%u bytes; measure it raw (?fs=raw)",
                         info.block_bytes);
    if (!r) {
        fs->unit_bytes = info.block_bytes;
        r = lunfs_cache_open(&fs->cache, err);
    }
    if (!r)
        r = lunfs_data_open(fs, how->depth, err);
    if (!r)
        r = open_file_system(fs, how->claimed, err);
    if (r < 0) {
        disconnect(&fs->base);
        return r;
    }
    *ret_session = &fs->base;
    return 0;
}

static int describe(struct nm_session *base, struct nm_target_info *info,
                    struct nm_conditions *conditions, struct nm_error *err)
{
    struct lunfs *fs = (struct lunfs *)base;
    const char *version = "unknown";
    int r = fs->lower->ops->describe(fs->lower, info, conditions, err);

    if (r < 0)
        return r;
    (void)ext2fs_get_library_version(&version, NULL);
    nm_conditions_set(conditions, "lib.ext2fs", "%s", version);
    nm_conditions_set(conditions, "fs", "ext4");
    nm_conditions_set(conditions, "lunfs.block_bytes", "%u", LUNFS_PAGE);
    info->block_bytes = 1;
    if (!fs->fs)
        return 0;
    info->total_bytes = ext2fs_blocks_count(fs->fs->super) * LUNFS_PAGE;
    info->free_bytes = ext2fs_free_blocks_count(fs->fs->super) * LUNFS_PAGE;
    if (fs->mkfs_ns || fs->format_ns)
        nm_conditions_set(conditions, "lunfs.mkfs_ns", "%llu",
                          (unsigned long long)(fs->mkfs_ns ? fs->mkfs_ns : fs->format_ns));
    return 0;
}

static int claim(struct nm_session *base, volatile double *done_fraction, struct nm_error *err)
{
    struct lunfs *fs = (struct lunfs *)base;
    struct nm_error spare;
    int r;

    err = err ? err : &spare;
    r = nm_backend_claim(fs->lower, done_fraction, err);
    if (r < 0)
        return r;
    /* Made a moment ago by connect(), and empty. */
    if (fs->fs && fs->format_ns)
        return 0;
    return make_file_system(fs, err);
}

static int drop_caches(struct nm_session *base, struct nm_error *err)
{
    struct lunfs *fs = (struct lunfs *)base;
    struct nm_error spare;
    int r;

    err = err ? err : &spare;
    r = fs->fs ? lunfs_volume_flush(fs, false, err) : 0;
    if (r < 0 || !fs->fs)
        return r;
    lunfs_volume_close(fs);
    return lunfs_volume_open(fs, err);
}

/* The data of one file and what leads to them: its inode, its name. Bitmaps and counters follow
 * with the flush of everything, as with a file system that has a journal. */
static int flush_file(struct lunfs *fs, struct lunfs_node *node, struct nm_error *err)
{
    int r = lunfs_data_drain(fs, err);

    if (!r && node->dirty)
        r = lunfs_node_store(fs, node, err);
    if (r < 0)
        return r;
    r = lunfs_cache_write_back(fs);
    if (!r)
        r = lunfs_lower_run(fs, NM_OP_FLUSH, 0, NULL, 0, &fs->io_error);
    return r < 0 ? lunfs_volume_error(fs, r, err, "flush", "file") : 0;
}

static int execute(struct lunfs *fs, struct nm_op *op)
{
    struct lunfs_file *file = (struct lunfs_file *)op->file;

    switch (op->kind) {
    case NM_OP_CLOSE: op->file = NULL; return lunfs_file_close(fs, file, &op->err);
    case NM_OP_FLUSH:
        if (!fs->changing)
            return 0;
        return file ? flush_file(fs, file->node, &op->err) : lunfs_volume_flush(fs, true, &op->err);
    default: break;
    }
    if (!fs->fs)
        return nm_error_set(&op->err, -ENODATA, NM_REASON_PROTECTED,
                            "%s '%s': there is no file system of ours on the LUN; it is made when "
                            "the LUN is claimed",
                            nm_op_kind_name(op->kind), op->path);
    lunfs_names_execute(fs, op);
    return (int)op->result;
}

static void submit(struct nm_session *base, struct nm_op *op)
{
    struct lunfs *fs = (struct lunfs *)base;

    if (fs->failure.code && op->kind != NM_OP_CLOSE) {
        op->err = fs->failure;
        op->result = fs->failure.code;
    } else if (op->kind == NM_OP_READ || op->kind == NM_OP_WRITE) {
        lunfs_data_submit(fs, op);
        return;
    } else {
        op->result = execute(fs, op);
    }
    nm_session_complete(base, op);
}

static int reap(struct nm_session *base, uint64_t deadline_ns, struct nm_error *err)
{
    struct lunfs *fs = (struct lunfs *)base;

    for (;;) {
        if (!fs->failure.code)
            lunfs_data_continue(fs);
        if (fs->failure.code) {
            lunfs_data_bury(fs);
            if (err)
                *err = fs->failure;
            return fs->failure.code;
        }
        if (base->done_first)
            return 0;
        lunfs_lower_service(fs, deadline_ns);
        if (!fs->failure.code && (base->done_first || nm_clock_now_ns() >= deadline_ns))
            return 0;
    }
}

static void cancel(struct nm_session *base)
{
    struct lunfs *fs = (struct lunfs *)base;

    if (fs->lower->ops->cancel)
        fs->lower->ops->cancel(fs->lower);
}

static uint64_t repeats(struct nm_session *base)
{
    const struct lunfs *fs = (struct lunfs *)base;

    return fs->lower->ops->repeats ? fs->lower->ops->repeats(fs->lower) : 0;
}

static bool suits(const struct nm_url *url)
{
    const char *fs = nm_url_arg(url, "fs");

    return !fs || !strcmp(fs, "ext4");
}

const struct nm_backend_ops nm_backend_lunfs = {
    .name = "lunfs",
    .help = "files in an ext4 file system on a LUN, all in user space (libext2fs)",
    .protocol = NM_PROTOCOL_ISCSI,
    .supports = NM_OP_MASK_ALL,
    .traits = NM_TRAIT_FILES | NM_TRAIT_ASYNC | NM_TRAIT_SINGLE_PROCESS,
    .options = &nm_iscsi_section,
    .auto_block_bytes = 256 * 1024, /* that of the LUN itself */
    .suits = suits,
    .connect = lunfs_connect,
    .disconnect = disconnect,
    .describe = describe,
    .submit = submit,
    .reap = reap,
    .cancel = cancel,
    .claim = claim,
    .drop_caches = drop_caches,
    .repeats = repeats,
};
