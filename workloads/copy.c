/* Workload copy: files to the server (upload) and back (download), as a person copies folders.
 *
 * `copy:1x2GB,50x2MB`: COUNTxSIZE groups, all files in one directory (or files_per_directory in
 * each). Time runs from the first create to the last close, flush included. One file at a time per
 * stream; blocks of a file at queue depth. File k belongs to stream k mod streams. Definition:
 * docs/METRICS.md "copy".
 *
 * The local source and destination directories hold a set of their own (names of
 * nm_workload_file_name) in a directory made for this group and removed with it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "localset.h"
#include "transfer.h"

#include "clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PHASE_PREPARE, PHASE_UPLOAD, PHASE_SIZES, PHASE_DOWNLOAD, PHASES };

#define FILE_OPS                                                                                   \
    (NM_OP_MASK(NM_OP_MKDIR) | NM_OP_MASK(NM_OP_RMDIR) | NM_OP_MASK(NM_OP_LIST) |                  \
     NM_OP_MASK(NM_OP_UNLINK) | NM_OP_MASK(NM_OP_CLOSE))

static const struct nm_phase phases[PHASES] = {
    [PHASE_PREPARE] = {.name = "prepare", .role = NM_PHASE_SETUP, .needs = FILE_OPS},
    [PHASE_UPLOAD] = {.name = "upload",
                      .role = NM_PHASE_MEASURED,
                      .needs = FILE_OPS | NM_OP_MASK(NM_OP_CREATE) | NM_OP_MASK(NM_OP_WRITE) |
                               NM_OP_MASK(NM_OP_FLUSH),
                      .writes = true},
    [PHASE_SIZES] = {.name = "sizes", .role = NM_PHASE_CHECK, .needs = FILE_OPS},
    [PHASE_DOWNLOAD] = {.name = "download",
                        .role = NM_PHASE_MEASURED,
                        .needs = FILE_OPS | NM_OP_MASK(NM_OP_OPEN) | NM_OP_MASK(NM_OP_READ),
                        .drop_caches = true},
};

extern const struct nm_workload_ops nm_workload_copy;

struct copy {
    struct nm_workload base;
    struct nm_copyset set;
};

/* One stream in one phase. */
struct stream {
    const struct copy *copy;
    struct nm_workload_context context;
    size_t phase;
    uint64_t next_file; /* index of the next file of this stream */
    unsigned stream;
    struct nm_transfer transfer;
    bool flushing, flushed; /* the session flush at the end of an upload */
    uint64_t files, bytes;
    /* PREPARE */
    uint64_t next_directory, directories;
    char path[192];
    bool waiting;
    struct nm_localset_writer *source;
    /* SIZES */
    struct nm_copyset_check *check;
    uint64_t listed_directories;
};

static int parse(const char *arguments, const void *options, struct nm_workload **ret,
                 struct nm_error *err)
{
    struct copy *copy = calloc(1, sizeof(*copy));
    int r;

    (void)options;
    if (!copy)
        return nm_error_no_memory(err);
    r = nm_copyset_parse(arguments, &copy->set, err);
    if (r < 0) {
        free(copy);
        return r;
    }
    copy->base.ops = &nm_workload_copy;
    *ret = &copy->base;
    return 0;
}

static char *key(const struct nm_workload *workload)
{
    return nm_copyset_format(&((const struct copy *)workload)->set, "copy:");
}

static size_t list_phases(const struct nm_workload *workload, const struct nm_phase **ret_phases)
{
    (void)workload;
    *ret_phases = phases;
    return PHASES;
}

static struct nm_workload_size size_of(const struct nm_workload *workload,
                                       const struct nm_workload_context *context, size_t phase)
{
    const struct nm_copyset *set = &((const struct copy *)workload)->set;
    struct nm_workload_size size = {.space_bytes = set->bytes};

    (void)context;
    if (phases[phase].role == NM_PHASE_MEASURED) {
        size.bytes = set->bytes;
        size.files = set->files;
    }
    return size;
}

static int start(const struct nm_workload *workload, const struct nm_workload_context *context,
                 size_t phase, unsigned stream_index, void **ret_state, struct nm_error *err)
{
    struct stream *stream = calloc(1, sizeof(*stream));
    int r = 0;

    if (!stream)
        return nm_error_no_memory(err);
    stream->copy = (const struct copy *)workload;
    stream->context = *context;
    stream->phase = phase;
    stream->next_file = stream->stream = stream_index;
    stream->transfer.local = -1;
    if (context->files_per_directory)
        stream->directories = (stream->copy->set.files + context->files_per_directory - 1) /
                              context->files_per_directory;
    if (phase == PHASE_PREPARE && stream_index == 0 && context->source)
        r = nm_localset_writer_new(&stream->copy->set, context, &stream->source, err);
    if (phase == PHASE_SIZES)
        r = nm_copyset_check_new(&stream->copy->set, &stream->check, err);
    if (phase == PHASE_DOWNLOAD && context->destination)
        r = nm_localset_make_directory(context->destination, context, err);
    if (r < 0) {
        free(stream);
        return r;
    }
    *ret_state = stream;
    return 0;
}

/* ---- prepare ---- */

/* Directories below the group's, and the local source set; all by stream 0. */
static enum nm_next next_prepare(struct stream *stream, uint64_t now_ns, struct nm_op *op,
                                 uint64_t *wait_until_ns)
{
    if (stream->source) {
        int r = nm_localset_writer_step(stream->source, &op->err);

        *wait_until_ns = now_ns;
        if (r <= 0)
            return r < 0 ? NM_NEXT_FAIL : NM_NEXT_WAIT;
        nm_localset_writer_free(stream->source);
        stream->source = NULL;
    }
    if (stream->stream || stream->next_directory == stream->directories)
        return stream->waiting ? NM_NEXT_WAIT : NM_NEXT_DONE;
    if (stream->waiting)
        return NM_NEXT_WAIT;
    snprintf(stream->path, sizeof(stream->path), "%s/d%04llu", stream->context.directory,
             (unsigned long long)stream->next_directory++);
    op->kind = NM_OP_MKDIR;
    op->path = stream->path;
    stream->waiting = true;
    return NM_NEXT_OP;
}

/* ---- sizes: list every directory, compare ---- */

static enum nm_next next_sizes(struct stream *stream, struct nm_op *op)
{
    uint64_t wanted = stream->directories ? stream->directories : 1;

    if (stream->waiting)
        return NM_NEXT_WAIT;
    if (stream->stream || stream->listed_directories == wanted)
        return NM_NEXT_DONE;
    if (stream->directories)
        snprintf(stream->path, sizeof(stream->path), "%s/d%04llu", stream->context.directory,
                 (unsigned long long)stream->listed_directories);
    else
        snprintf(stream->path, sizeof(stream->path), "%s", stream->context.directory);
    stream->listed_directories++;
    op->kind = NM_OP_LIST;
    op->path = stream->path;
    op->list_entry = nm_copyset_check_entry;
    op->list_context = stream->check;
    stream->waiting = true;
    return NM_NEXT_OP;
}

/* ---- upload and download ---- */

static void close_local(struct nm_transfer *transfer)
{
    if (transfer->local >= 0)
        close(transfer->local);
    transfer->local = -1;
}

static void begin_file(struct stream *stream, uint64_t now_ns)
{
    struct nm_transfer *transfer = &stream->transfer;
    const struct nm_workload_context *context = &stream->context;
    const char *local = stream->phase == PHASE_UPLOAD ? context->source : context->destination;

    nm_workload_path(context, stream->next_file, context->files_per_directory, transfer->path,
                     sizeof(transfer->path));
    nm_copyset_file(&stream->copy->set, stream->next_file, &transfer->size_bytes,
                    &transfer->position_bytes);
    transfer->write = stream->phase == PHASE_UPLOAD;
    transfer->flush = context->flush_each_file;
    transfer->block_bytes = context->block_bytes;
    transfer->local_error = 0;
    if (local) {
        int fd = nm_localset_open(local, context, stream->next_file, transfer->write);

        transfer->local = fd < 0 ? -1 : fd;
        transfer->local_error = fd < 0 ? fd : 0;
    }
    nm_transfer_begin(transfer, now_ns);
}

static enum nm_next next_copy(struct stream *stream, uint64_t now_ns, struct nm_op *op,
                              uint64_t *pattern_bytes)
{
    enum nm_next next = nm_transfer_next(&stream->transfer, op, pattern_bytes);

    if (next != NM_NEXT_DONE)
        return next;
    if (stream->next_file < stream->copy->set.files) {
        begin_file(stream, now_ns);
        stream->next_file += stream->context.streams;
        return nm_transfer_next(&stream->transfer, op, pattern_bytes);
    }
    /* flush = end: what the protocol left in caches goes to stable storage inside the clock. */
    if (stream->phase == PHASE_UPLOAD && !stream->flushed && !stream->context.flush_each_file) {
        if (stream->flushing)
            return NM_NEXT_WAIT;
        stream->flushing = true;
        op->kind = NM_OP_FLUSH;
        return NM_NEXT_OP;
    }
    return NM_NEXT_DONE;
}

static enum nm_next next_op(void *state, uint64_t now_ns, struct nm_op *op, uint64_t *pattern_bytes,
                            uint64_t *wait_until_ns)
{
    struct stream *stream = state;

    *wait_until_ns = 0;
    switch (stream->phase) {
    case PHASE_PREPARE: return next_prepare(stream, now_ns, op, wait_until_ns);
    case PHASE_SIZES: return next_sizes(stream, op);
    default: return next_copy(stream, now_ns, op, pattern_bytes);
    }
}

static int done_copy(struct stream *stream, struct nm_op *op, struct nm_error *err)
{
    int r;

    if (op->kind == NM_OP_FLUSH && !op->file) {
        stream->flushed = true;
        if (op->result < 0)
            *err = op->err;
        return op->result < 0 ? (int)op->result : 0;
    }
    r = nm_transfer_done(&stream->transfer, op, err);
    if (r <= 0)
        return r;
    close_local(&stream->transfer);
    stream->files++;
    stream->bytes += stream->transfer.size_bytes;
    if (stream->context.file_latency)
        nm_histogram_add(stream->context.file_latency, op->done_ns - stream->transfer.begin_ns);
    return 0;
}

static int done_op(void *state, struct nm_op *op, struct nm_error *err)
{
    struct stream *stream = state;

    if (stream->phase == PHASE_UPLOAD || stream->phase == PHASE_DOWNLOAD)
        return done_copy(stream, op, err);
    stream->waiting = false;
    if (op->result < 0) {
        *err = op->err;
        return (int)op->result;
    }
    if (stream->phase == PHASE_SIZES && stream->listed_directories >= stream->directories)
        return nm_copyset_check_result(stream->check, err);
    return 0;
}

static void finish(void *state, uint64_t elapsed_ns, struct nm_metrics *metrics,
                   uint64_t *ret_bytes, uint64_t *ret_files)
{
    struct stream *stream = state;

    if (metrics && elapsed_ns && stream->files)
        nm_metrics_add(metrics, "files_per_s", "1/s", NM_BETTER_HIGHER, NM_SUMMARY_GEOMEAN,
                       (double)stream->files * 1e9 / (double)elapsed_ns);
    *ret_bytes = stream->bytes;
    *ret_files = stream->files;
    nm_copyset_check_free(stream->check);
    nm_localset_writer_free(stream->source);
    close_local(&stream->transfer);
    free(stream);
}

const struct nm_workload_ops nm_workload_copy = {
    .name = "copy",
    .help = "copy files to the server (upload) and back (download)",
    .syntax = "copy:COUNTxSIZE[,COUNTxSIZE...]",
    .trait = NM_TRAIT_FILES,
    .parse = parse,
    .free = nm_workload_free,
    .key = key,
    .phases = list_phases,
    .size = size_of,
    .start = start,
    .next_op = next_op,
    .done_op = done_op,
    .finish = finish,
};
