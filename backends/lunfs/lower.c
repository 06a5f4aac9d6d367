/* The block backend under the file system, through the contract (lunfs.h): opening it, operations
 * with a callback each, staging buffers. Memory for all of them is allocated at connect.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "lunfs.h"

#include "clock.h"
#include "iscsi/options_iscsi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SPARE_BLOCKS (LUNFS_STAGES + 8) /* beside the data of the engine's operations */

static const struct nm_backend_ops *find_lower(const struct nm_url *url)
{
    for (size_t i = 0; nm_backend_table[i]; i++) {
        const struct nm_backend_ops *ops = nm_backend_table[i];

        if (ops->protocol == url->protocol && (ops->traits & NM_TRAIT_BLOCKS) &&
            (!ops->suits || ops->suits(url)))
            return ops;
    }
    return NULL;
}

/* The URL without `fs`, which only chooses between us and the raw device. */
static int lower_target(struct lunfs *fs, const struct nm_url *url)
{
    fs->lower_url = *url;
    fs->lower_url.n_args = 0;
    fs->lower_url.args = calloc(url->n_args + 1, sizeof(*url->args));
    if (!fs->lower_url.args)
        return -ENOMEM;
    for (size_t i = 0; i < url->n_args; i++)
        if (strcmp(url->args[i].name, "fs") != 0)
            fs->lower_url.args[fs->lower_url.n_args++] = url->args[i];
    return 0;
}

static int lower_connect(struct lunfs *fs, const struct nm_connect *how, struct nm_error *err)
{
    const struct nm_backend_ops *ops = NULL;

    if (lower_target(fs, how->url) < 0)
        return nm_error_errno(err, -ENOMEM, "lunfs: no memory");
    ops = find_lower(&fs->lower_url);
    if (!ops)
        return nm_error_set(err, -EOPNOTSUPP, NM_REASON_UNSUPPORTED,
                            "a file system needs a block target, %s is none",
                            nm_protocol_name(how->url->protocol));
    fs->lower_ops = ops;
    fs->lower_how = *how;
    fs->lower_how.url = &fs->lower_url;
    fs->lower_how.depth = 2 * how->depth + SPARE_BLOCKS;
    if (fs->lower_how.block_bytes < LUNFS_STAGE_BYTES)
        fs->lower_how.block_bytes = LUNFS_STAGE_BYTES;
    if (ops->options && ops->options != &nm_iscsi_section) { /* ours are those of [iscsi] */
        int r;

        fs->lower_options = calloc(1, ops->options->size);
        if (!fs->lower_options)
            return nm_error_errno(err, -ENOMEM, "lunfs: no memory");
        r = nm_options_init(ops->options, fs->lower_options, err);
        if (r < 0)
            return r;
        fs->lower_how.options = fs->lower_options;
    }
    return nm_backend_connect(ops, &fs->lower_how, &fs->lower, err);
}

static int make_slots(struct lunfs *fs, struct nm_error *err)
{
    unsigned n = fs->lower_how.depth;

    fs->blocks = calloc(n, sizeof(*fs->blocks));
    fs->stages = calloc(LUNFS_STAGES, sizeof(*fs->stages));
    fs->stage_memory = mmap(NULL, (size_t)LUNFS_STAGES * LUNFS_STAGE_BYTES, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fs->stage_memory == MAP_FAILED)
        fs->stage_memory = NULL;
    if (!fs->blocks || !fs->stages || !fs->stage_memory)
        return nm_error_errno(err, -ENOMEM, "lunfs: no memory for a queue of %u", n);
    for (unsigned i = 0; i < n; i++) {
        fs->blocks[i].next = fs->free_blocks;
        fs->free_blocks = &fs->blocks[i];
    }
    for (unsigned i = 0; i < LUNFS_STAGES; i++) {
        fs->stages[i].data = fs->stage_memory + (size_t)i * LUNFS_STAGE_BYTES;
        lunfs_lower_unstage(fs, &fs->stages[i]);
    }
    return 0;
}

int lunfs_lower_open(struct lunfs *fs, const struct nm_connect *how, struct nm_error *err)
{
    unsigned flags = how->read_only ? NM_OPEN_READ : NM_OPEN_READ | NM_OPEN_WRITE;
    struct nm_op op = {.kind = NM_OP_OPEN, .path = "", .open_flags = flags};
    int r = lower_connect(fs, how, err);

    if (!r)
        r = make_slots(fs, err);
    if (r < 0)
        return r;
    if (nm_session_run(fs->lower, &op, fs->timeout_ns) < 0) {
        if (err)
            *err = op.err;
        return (int)op.result;
    }
    fs->device = op.file;
    fs->size_bytes = fs->device->size_bytes;
    return 0;
}

void lunfs_lower_close(struct lunfs *fs)
{
    if (fs->lower)
        fs->lower->ops->disconnect(fs->lower); /* drops the open device as well */
    fs->lower = NULL;
    if (fs->stage_memory)
        munmap(fs->stage_memory, (size_t)LUNFS_STAGES * LUNFS_STAGE_BYTES);
    if (fs->lower_options)
        nm_options_done(fs->lower_ops->options, fs->lower_options);
    free(fs->lower_options);
    free(fs->lower_url.args);
    free(fs->blocks);
    free(fs->stages);
}

static void fail(struct lunfs *fs, const struct nm_error *err)
{
    if (!fs->failure.code)
        fs->failure = *err;
}

static void finish(struct lunfs *fs, struct nm_op *op)
{
    struct lunfs_block *block = (struct lunfs_block *)op;
    void (*done)(struct lunfs *, struct nm_op *, void *) = block->done;
    struct nm_op copy = *op;

    if (op->result < 0 &&
        (op->err.reason == NM_REASON_TIMEOUT || op->err.reason == NM_REASON_CONNECTION_LOST ||
         op->err.reason == NM_REASON_ABORTED))
        fail(fs, &op->err);
    block->next = fs->free_blocks;
    fs->free_blocks = block;
    if (done)
        done(fs, &copy, block->context);
}

int lunfs_lower_service(struct lunfs *fs, uint64_t deadline_ns)
{
    struct nm_error err = {0};
    struct nm_op *op;

    if (deadline_ns > fs->deadline_ns)
        deadline_ns = fs->deadline_ns;
    op = nm_session_reap(fs->lower, deadline_ns, &err);
    if (!op && err.code)
        fail(fs, &err);
    for (; op; op = fs->lower->done_first ? nm_session_reap(fs->lower, 0, &err) : NULL)
        finish(fs, op);
    return fs->failure.code;
}

void lunfs_lower_bury(struct lunfs *fs)
{
    struct nm_error err;

    while (fs->lower->in_flight) {
        struct nm_op *op = nm_session_reap(fs->lower, 0, &err);

        if (!op)
            return;
        finish(fs, op);
    }
}

int lunfs_lower_wait(struct lunfs *fs)
{
    uint64_t start_ns = nm_clock_now_ns(), limit_ns = start_ns + 2 * fs->timeout_ns;
    unsigned before = fs->lower->in_flight;
    struct nm_error err;

    if (fs->failure.code)
        return fs->failure.code;
    lunfs_lower_service(fs, limit_ns);
    if (fs->failure.code || fs->lower->in_flight < before)
        return fs->failure.code;
    /* The block backend ends each of its operations in time, so this is our own limit. */
    nm_error_set(&err, -ETIMEDOUT, NM_REASON_TIMEOUT,
                 "lunfs: the LUN did not take what was cached within the time limit");
    fail(fs, &err);
    return fs->failure.code;
}

int lunfs_lower_start(struct lunfs *fs, enum nm_op_kind kind, uint64_t offset_bytes, void *buf,
                      uint32_t length_bytes, bool discard,
                      void (*done)(struct lunfs *, struct nm_op *, void *), void *context)
{
    struct lunfs_block *block;

    while (!fs->free_blocks && !fs->failure.code)
        lunfs_lower_wait(fs);
    if (fs->failure.code)
        return fs->failure.code;
    block = fs->free_blocks;
    fs->free_blocks = block->next;
    block->op = (struct nm_op){.kind = kind,
                               .file = fs->device,
                               .offset_bytes = offset_bytes,
                               .length_bytes = length_bytes,
                               .buf = buf,
                               .discard = discard,
                               .slot = (unsigned)(block - fs->blocks)};
    block->done = done;
    block->context = context;
    nm_session_submit(fs->lower, &block->op);
    return 0;
}

static void on_done(struct lunfs *fs, struct nm_op *op, void *context)
{
    (void)context;
    fs->run_done = true;
    fs->run_error = op->err;
    fs->run_error.code = op->result < 0 ? (int)op->result : 0;
}

int lunfs_lower_run(struct lunfs *fs, enum nm_op_kind kind, uint64_t offset_bytes, void *buf,
                    uint32_t length_bytes, struct nm_error *err)
{
    int r;

    fs->run_done = false;
    r = lunfs_lower_start(fs, kind, offset_bytes, buf, length_bytes, false, on_done, NULL);
    while (!r && !fs->run_done)
        r = lunfs_lower_wait(fs);
    if (fs->run_done)
        r = fs->run_error.code;
    if (r < 0)
        *err = fs->run_done ? fs->run_error : fs->failure;
    return r;
}

int lunfs_lower_stage(struct lunfs *fs, struct lunfs_stage **ret)
{
    while (!fs->free_stages && !fs->failure.code)
        lunfs_lower_wait(fs);
    if (fs->failure.code)
        return fs->failure.code;
    *ret = fs->free_stages;
    fs->free_stages = (*ret)->next;
    return 0;
}

void lunfs_lower_unstage(struct lunfs *fs, struct lunfs_stage *stage)
{
    stage->next = fs->free_stages;
    fs->free_stages = stage;
}
