/* Workload dd: `dd if=/dev/zero of=FILE bs=BLOCK count=N`, one block after another through the page
 * cache, as that program does it; each run is a trial.
 *
 * `dd[:SIZE[,BLOCK]]`. The trial says what `time dd` says: bytes, seconds, real, user, sys; `export
 * --format dd` prints them as GNU dd does. Zeros are what everybody gives to dd: the condition data
 * and a flag say so. Definition: docs/METRICS.md "dd".
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "transfer.h"

#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_BYTES       (UINT64_C(4) << 30)
#define DEFAULT_BLOCK_BYTES (128u << 10)
#define LARGEST_BLOCK_BYTES (64u << 20)

enum input { INPUT_ZERO, INPUT_RANDOM };
static const char *const input_words[] = {"zero", "random", NULL};

struct options {
    int input;
    bool fdatasync;
    uint32_t runs;
};

static const struct nm_option option_rows[] = {
    {.name = "input",
     .type = NM_OPTION_ENUM,
     .offset = offsetof(struct options, input),
     .preset = "zero",
     .values = input_words,
     .help = "what is written; [run] data does not apply"},
    {.name = "fdatasync",
     .type = NM_OPTION_BOOL,
     .offset = offsetof(struct options, fdatasync),
     .preset = "yes",
     .help = "flush inside the clock (conv=fdatasync); no is what dd does when nothing is said"},
    {.name = "runs",
     .type = NM_OPTION_UINT,
     .offset = offsetof(struct options, runs),
     .preset = "5",
     .min = 1,
     .max = 1000,
     .help = "trials of dd; [run] trials does not apply"},
};
static const struct nm_option_section section = {.name = "dd",
                                                 .help = "one file as dd writes it",
                                                 .options = option_rows,
                                                 .n_options = NM_OPTION_COUNT(option_rows),
                                                 .size = sizeof(struct options)};

static const struct nm_phase phase_rows[] = {
    {.name = "write",
     .role = NM_PHASE_MEASURED,
     .needs = NM_OP_MASK(NM_OP_OPEN) | NM_OP_MASK(NM_OP_CLOSE) | NM_OP_MASK(NM_OP_WRITE) |
              NM_OP_MASK(NM_OP_FLUSH),
     .writes = true,
     .buffered = true},
};

extern const struct nm_workload_ops nm_workload_dd;

struct dd {
    struct nm_workload base;
    struct options options;
    uint64_t size_bytes;
    uint32_t block_bytes;
};

struct stream {
    struct nm_transfer transfer;
    bool started, finished;
    uint64_t bytes;
};

static int parse_arguments(struct dd *dd, const char *arguments, struct nm_error *err)
{
    char size[32];
    size_t length = strcspn(arguments, ",");
    uint64_t block = dd->block_bytes;
    int r;

    snprintf(size, sizeof(size), "%.*s", (int)length, arguments);
    if (length >= sizeof(size))
        r = nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                         "dd takes SIZE[,BLOCK], as in dd:4GiB,128KiB; not '%.60s'", arguments);
    else
        r = nm_units_parse_bytes(size, &dd->size_bytes, err);
    if (!r && arguments[length])
        r = nm_units_parse_bytes(arguments + length + 1, &block, err);
    if (!r && (!block || block > LARGEST_BLOCK_BYTES || dd->size_bytes < block ||
               dd->size_bytes % block || dd->size_bytes > NM_PATTERN_GROUP_WORDS * 8))
        r = nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                         "dd writes whole blocks of 1 B to %u MiB, 16 TiB at most: the size must "
                         "be a multiple of the block, as in dd:4GiB,128KiB",
                         LARGEST_BLOCK_BYTES >> 20);
    dd->block_bytes = (uint32_t)block;
    return r;
}

static int parse(const char *arguments, const void *options, struct nm_workload **ret,
                 struct nm_error *err)
{
    struct dd *dd = calloc(1, sizeof(*dd));
    int r = 0;

    if (!dd)
        return nm_error_no_memory(err);
    dd->base.ops = &nm_workload_dd;
    dd->options = *(const struct options *)options;
    dd->size_bytes = DEFAULT_BYTES;
    dd->block_bytes = DEFAULT_BLOCK_BYTES;
    if (arguments && *arguments)
        r = parse_arguments(dd, arguments, err);
    if (r < 0) {
        free(dd);
        return r;
    }
    *ret = &dd->base;
    return 0;
}

/* As the import of what dd printed names it. */
static char *key(const struct nm_workload *workload)
{
    const struct dd *dd = (const struct dd *)workload;
    char *text, size[32], block[32];

    if (asprintf(&text, "dd:%s,%s", nm_units_format_bytes(dd->size_bytes, size, sizeof(size)),
                 nm_units_format_bytes(dd->block_bytes, block, sizeof(block))) < 0)
        return NULL;
    return text;
}

static size_t list_phases(const struct nm_workload *workload, const struct nm_phase **ret_phases)
{
    (void)workload;
    *ret_phases = phase_rows;
    return 1;
}

static struct nm_workload_size size_of(const struct nm_workload *workload,
                                       const struct nm_workload_context *context, size_t phase)
{
    uint64_t bytes = ((const struct dd *)workload)->size_bytes;

    (void)context;
    (void)phase;
    return (struct nm_workload_size){.bytes = bytes, .space_bytes = bytes};
}

static void shape(const struct nm_workload *workload, size_t phase,
                  struct nm_workload_context *context)
{
    const struct dd *dd = (const struct dd *)workload;

    (void)phase;
    context->depth = 1;
    context->streams = 1;
    context->block_bytes = dd->block_bytes;
    context->data.kind = dd->options.input == INPUT_ZERO ? NM_DATA_ZERO : NM_DATA_RANDOM;
    context->no_flush = !dd->options.fdatasync;
}

static uint32_t trials(const struct nm_workload *workload)
{
    return ((const struct dd *)workload)->options.runs;
}

static int start(const struct nm_workload *workload, const struct nm_workload_context *context,
                 size_t phase, unsigned index, void **ret_state, struct nm_error *err)
{
    const struct dd *dd = (const struct dd *)workload;
    struct stream *stream;

    (void)phase;
    (void)index;
    if (context->on_blocks && dd->block_bytes % context->unit_bytes)
        return nm_error_set(err, -EOPNOTSUPP, NM_REASON_UNSUPPORTED,
                            "blocks of %" PRIu32 " bytes are no multiple of the device's %" PRIu32,
                            dd->block_bytes, context->unit_bytes);
    if (context->on_blocks && dd->size_bytes > context->capacity_bytes)
        return nm_error_set(err, -ENOSPC, NM_REASON_NO_SPACE,
                            "the device has %" PRIu64 " bytes, dd writes %" PRIu64
                            "; lower the size",
                            context->capacity_bytes, dd->size_bytes);
    stream = calloc(1, sizeof(*stream));
    if (!stream)
        return nm_error_no_memory(err);
    stream->transfer.local = -1;
    stream->transfer.write = true;
    stream->transfer.flush = dd->options.fdatasync;
    stream->transfer.block_bytes = dd->block_bytes;
    stream->transfer.size_bytes = dd->size_bytes;
    stream->transfer.device = context->on_blocks;
    nm_workload_path(context, 0, 0, stream->transfer.path, sizeof(stream->transfer.path));
    *ret_state = stream;
    return 0;
}

static enum nm_next next_op(void *state, uint64_t now_ns, struct nm_op *op, uint64_t *pattern_bytes,
                            uint64_t *wait_until_ns)
{
    struct stream *stream = state;

    *wait_until_ns = 0;
    if (stream->finished)
        return NM_NEXT_DONE;
    if (!stream->started)
        nm_transfer_begin(&stream->transfer, now_ns);
    stream->started = true;
    return nm_transfer_next(&stream->transfer, op, pattern_bytes);
}

static int done_op(void *state, struct nm_op *op, struct nm_error *err)
{
    struct stream *stream = state;
    int r = nm_transfer_done(&stream->transfer, op, err);

    if (op->kind == NM_OP_WRITE && op->result > 0)
        stream->bytes += (uint64_t)op->result;
    stream->finished = r > 0;
    return r < 0 ? r : 0;
}

static void finish(void *state, uint64_t elapsed_ns, struct nm_metrics *metrics,
                   uint64_t *ret_bytes, uint64_t *ret_files)
{
    struct stream *stream = state;

    (void)elapsed_ns;
    (void)metrics;
    *ret_bytes = stream->bytes;
    *ret_files = 0;
    free(stream);
}

const struct nm_workload_ops nm_workload_dd = {
    .name = "dd",
    .help = "one file (or device) in blocks, as dd writes it; real, user and sys time",
    .syntax = "dd[:SIZE[,BLOCK]]",
    .options = &section,
    .tells_times = true,
    .parse = parse,
    .free = nm_workload_free,
    .key = key,
    .phases = list_phases,
    .size = size_of,
    .shape = shape,
    .trials = trials,
    .start = start,
    .next_op = next_op,
    .done_op = done_op,
    .finish = finish,
};
