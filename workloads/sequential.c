/* Workload sequential: one stream of blocks written, then read, on a file or straight on a device.
 *
 * `sequential:SIZE[,read]`: SIZE bytes over all streams, each stream its own file or its own region
 * of the device. With `read` nothing is written on a device; what is there is read (files are made
 * outside the clock). Raw LUN and file figures of the same size and block can be compared directly.
 * Definition: docs/METRICS.md "sequential".
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "transfer.h"

#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_BYTES (UINT64_C(1) << 30)

#define DATA_OPS (NM_OP_MASK(NM_OP_OPEN) | NM_OP_MASK(NM_OP_CLOSE))

enum { WRITE_PHASE, READ_PHASE };

static const struct nm_phase write_read[] = {
    [WRITE_PHASE] = {.name = "write",
                     .role = NM_PHASE_MEASURED,
                     .needs = DATA_OPS | NM_OP_MASK(NM_OP_WRITE) | NM_OP_MASK(NM_OP_FLUSH),
                     .writes = true},
    [READ_PHASE] = {.name = "read",
                    .role = NM_PHASE_MEASURED,
                    .needs = DATA_OPS | NM_OP_MASK(NM_OP_READ),
                    .drop_caches = true},
};

/* The set-up writes what is read, but for a device that is not ours. */
static const struct nm_phase read_only[] = {
    {.name = "prepare", .role = NM_PHASE_SETUP, .needs = DATA_OPS, .fills = true},
    {.name = "read",
     .role = NM_PHASE_MEASURED,
     .needs = DATA_OPS | NM_OP_MASK(NM_OP_READ),
     .drop_caches = true},
};

extern const struct nm_workload_ops nm_workload_sequential;

struct sequential {
    struct nm_workload base;
    uint64_t size_bytes;
    bool read_only;
};

struct stream {
    struct nm_workload_context context;
    struct nm_transfer transfer;
    bool started, finished, skip;
    bool foreign; /* a device read as it was found: its data are not ours to compare */
    uint64_t bytes;
};

static int parse(const char *arguments, const void *options, struct nm_workload **ret,
                 struct nm_error *err)
{
    struct sequential *sequential = calloc(1, sizeof(*sequential));
    char size[32];
    int r = 0;

    (void)options;
    if (!sequential)
        return nm_error_no_memory(err);
    sequential->size_bytes = DEFAULT_BYTES;
    if (arguments && *arguments) {
        size_t length = strcspn(arguments, ",");

        if (length >= sizeof(size) || (arguments[length] && strcmp(arguments + length, ",read")))
            r = nm_error_set(
                err, -EINVAL, NM_REASON_INTERNAL,
                "sequential takes SIZE or SIZE,read, as in sequential:1GiB; not '%.60s'",
                arguments);
        snprintf(size, sizeof(size), "%.*s", (int)length, arguments);
        sequential->read_only = arguments[length];
        if (!r)
            r = nm_units_parse_bytes(size, &sequential->size_bytes, err);
        if (!r && !sequential->size_bytes)
            r = nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                             "sequential of 0 bytes; give a size");
        if (!r && sequential->size_bytes > NM_PATTERN_GROUP_WORDS * 8)
            r = nm_error_set(err, -EINVAL, NM_REASON_INTERNAL, "sequential: at most 16 TiB");
    }
    if (r < 0) {
        free(sequential);
        return r;
    }
    sequential->base.ops = &nm_workload_sequential;
    *ret = &sequential->base;
    return 0;
}

static char *key(const struct nm_workload *workload)
{
    const struct sequential *sequential = (const struct sequential *)workload;
    char *text, size[32];

    if (asprintf(&text, "sequential:%s%s",
                 nm_units_format_bytes(sequential->size_bytes, size, sizeof(size)),
                 sequential->read_only ? ",read" : "") < 0)
        return NULL;
    return text;
}

static size_t list_phases(const struct nm_workload *workload, const struct nm_phase **ret_phases)
{
    *ret_phases = ((const struct sequential *)workload)->read_only ? read_only : write_read;
    return 2;
}

static struct nm_workload_size size_of(const struct nm_workload *workload,
                                       const struct nm_workload_context *context, size_t phase)
{
    const struct sequential *sequential = (const struct sequential *)workload;
    struct nm_workload_size size = {0};
    const struct nm_phase *list;

    list_phases(workload, &list);
    if (list[phase].role == NM_PHASE_MEASURED)
        size.bytes = sequential->size_bytes;
    if (!nm_workload_reads_as_found(context, !sequential->read_only))
        size.space_bytes = sequential->size_bytes;
    return size;
}

/* The region of one stream: whole blocks, the last stream takes the rest. */
static void region(const struct sequential *sequential, const struct nm_workload_context *context,
                   unsigned stream, uint64_t *ret_base, uint64_t *ret_size)
{
    uint64_t share =
        sequential->size_bytes / context->streams / context->block_bytes * context->block_bytes;

    *ret_base = share * stream;
    *ret_size = stream + 1 == context->streams ? sequential->size_bytes - *ret_base : share;
}

static int check_device(const struct sequential *sequential,
                        const struct nm_workload_context *context, struct nm_error *err)
{
    if (context->block_bytes % context->unit_bytes || sequential->size_bytes % context->unit_bytes)
        return nm_error_set(err, -EOPNOTSUPP, NM_REASON_UNSUPPORTED,
                            "block and size must be multiples of the device's %" PRIu32
                            "-byte blocks",
                            context->unit_bytes);
    if (sequential->size_bytes > context->capacity_bytes)
        return nm_error_set(err, -ENOSPC, NM_REASON_NO_SPACE,
                            "the device has %" PRIu64 " bytes, the workload needs %" PRIu64
                            "; lower the size of the workload",
                            context->capacity_bytes, sequential->size_bytes);
    return 0;
}

static int start(const struct nm_workload *workload, const struct nm_workload_context *context,
                 size_t phase, unsigned stream_index, void **ret_state, struct nm_error *err)
{
    const struct sequential *sequential = (const struct sequential *)workload;
    const struct nm_phase *list;
    uint64_t base;

    if (context->on_blocks) {
        int r = check_device(sequential, context, err);

        if (r < 0)
            return r;
    }
    struct stream *stream = calloc(1, sizeof(*stream));

    if (!stream)
        return nm_error_no_memory(err);
    list_phases(workload, &list);
    stream->context = *context;
    stream->foreign = nm_workload_reads_as_found(context, !sequential->read_only);
    stream->skip = list[phase].role == NM_PHASE_SETUP && stream->foreign;
    stream->transfer.local = -1;
    stream->transfer.write = list[phase].role == NM_PHASE_SETUP || list[phase].writes;
    stream->transfer.flush = true; /* one file per stream: its flush is the end of the write */
    stream->transfer.block_bytes = context->block_bytes;
    stream->transfer.device = context->on_blocks;
    region(sequential, context, stream_index, &base, &stream->transfer.size_bytes);
    stream->transfer.position_bytes = base;
    if (context->on_blocks)
        stream->transfer.base_bytes = base;
    nm_workload_path(context, stream_index, 0, stream->transfer.path,
                     sizeof(stream->transfer.path));
    *ret_state = stream;
    return 0;
}

static enum nm_next next_op(void *state, uint64_t now_ns, struct nm_op *op, uint64_t *pattern_bytes,
                            uint64_t *wait_until_ns)
{
    struct stream *stream = state;

    *wait_until_ns = 0;
    if (stream->skip || stream->finished || !stream->transfer.size_bytes)
        return NM_NEXT_DONE;
    if (!stream->started) {
        nm_transfer_begin(&stream->transfer, now_ns);
        stream->started = true;
    }

    enum nm_next next = nm_transfer_next(&stream->transfer, op, pattern_bytes);

    if (stream->foreign)
        *pattern_bytes = NM_NO_PATTERN;
    return next;
}

static int done_op(void *state, struct nm_op *op, struct nm_error *err)
{
    struct stream *stream = state;
    int r = nm_transfer_done(&stream->transfer, op, err);

    if (op->kind == NM_OP_READ || op->kind == NM_OP_WRITE)
        stream->bytes += op->result > 0 ? (uint64_t)op->result : 0;
    stream->finished = r > 0;
    return r < 0 ? r : 0;
}

static void finish(void *state, uint64_t elapsed_ns, struct nm_metrics *metrics,
                   uint64_t *ret_bytes, uint64_t *ret_files)
{
    struct stream *stream = state;

    if (metrics && elapsed_ns && stream->bytes)
        nm_metrics_add(metrics, "iops", "1/s", NM_BETTER_HIGHER, NM_SUMMARY_GEOMEAN,
                       (double)((stream->bytes + stream->context.block_bytes - 1) /
                                stream->context.block_bytes) *
                           1e9 / (double)elapsed_ns);
    *ret_bytes = stream->bytes;
    *ret_files = 0;
    free(stream);
}

const struct nm_workload_ops nm_workload_sequential = {
    .name = "sequential",
    .help = "one stream of blocks written, then read, on a file or a raw device",
    .syntax = "sequential[:SIZE[,read]]",
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
