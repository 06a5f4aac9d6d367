/* Workload drive: what the drive benchmark of the desktop "Disks" utility measures, on a device, an
 * image, a LUN or one big file.
 *
 * read: 100 samples of 10 MiB at n/100 of the size; before each, an untimed read of one page moves
 * the head there. access: 1000 reads of one page at random places, the same ones every time. write
 * (`drive:write`): at the same places 10 MiB are read and the same bytes written back, flush
 * included; only the writing is timed. So whatever ends it and whenever, the device holds what it
 * held; still it needs the consent and the exclusive use that any write to a device needs. Every
 * sample is a point of its trial (nm_curve_point). Definition: docs/METRICS.md "drive".
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "clock.h"
#include "random.h"
#include "transfer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 4096u
#define SEED       UINT64_C(42) /* the places of access repeat from run to run */

struct options {
    uint64_t size_bytes, sample_bytes;
    uint32_t samples, accesses;
    bool write;
};

struct drive {
    struct nm_workload base;
    struct options options;
};

enum phase { PHASE_LAYOUT, PHASE_READ, PHASE_ACCESS, PHASE_WRITE, PHASES };

#define DATA_OPS (NM_OP_MASK(NM_OP_OPEN) | NM_OP_MASK(NM_OP_CLOSE))
#define READS    (DATA_OPS | NM_OP_MASK(NM_OP_READ))

static const struct nm_phase phases[] = {
    [PHASE_LAYOUT] = {.name = "layout", .role = NM_PHASE_SETUP, .needs = DATA_OPS},
    [PHASE_READ] = {.name = "read", .role = NM_PHASE_MEASURED, .needs = READS, .drop_caches = true},
    [PHASE_ACCESS] = {.name = "access",
                      .role = NM_PHASE_MEASURED,
                      .needs = READS,
                      .drop_caches = true},
    [PHASE_WRITE] = {.name = "write",
                     .role = NM_PHASE_MEASURED,
                     .needs = READS | NM_OP_MASK(NM_OP_WRITE) | NM_OP_MASK(NM_OP_FLUSH),
                     .writes = true},
};

/* One operation after the other: what is read stays in the buffer of the only slot. */
enum step { STEP_OPEN, STEP_POSITION, STEP_READ, STEP_WRITE, STEP_FLUSH, STEP_CLOSE, STEP_END };

struct stream {
    const struct drive *drive;
    struct nm_workload_context context;
    enum phase phase;
    bool skip, begun, finished;
    struct nm_transfer transfer; /* layout */
    char path[128];
    struct nm_file *file;
    enum step step;
    bool waiting;
    uint32_t index, count, sample_bytes;
    uint64_t region_bytes, offset_bytes, random;
    uint64_t write_ns; /* when the write was submitted */
    /* results */
    double sum, least, most; /* rates in B/s, or times in ns */
};

extern const struct nm_workload_ops nm_workload_drive;

/* ---- one parsed workload ---- */

static int parse(const char *arguments, const void *options, struct nm_workload **ret,
                 struct nm_error *err)
{
    struct drive *drive;

    if (arguments && *arguments && strcmp(arguments, "write") != 0)
        return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                            "drive takes nothing or write, as in drive:write; not '%.60s'",
                            arguments);
    drive = calloc(1, sizeof(*drive));
    if (!drive)
        return nm_error_no_memory(err);
    drive->base.ops = &nm_workload_drive;
    drive->options = *(const struct options *)options;
    drive->options.write |= arguments && *arguments;
    *ret = &drive->base;
    return 0;
}

static char *key(const struct nm_workload *workload)
{
    return strdup(((const struct drive *)workload)->options.write ? "drive:write" : "drive");
}

static size_t list_phases(const struct nm_workload *workload, const struct nm_phase **ret_phases)
{
    *ret_phases = phases;
    return ((const struct drive *)workload)->options.write ? PHASES : PHASE_WRITE;
}

/* What the samples are spread over, in whole pages. */
static uint64_t region_of(const struct drive *drive, const struct nm_workload_context *context)
{
    uint64_t bytes = context->on_blocks ? context->capacity_bytes : drive->options.size_bytes;

    return bytes / PAGE_BYTES * PAGE_BYTES;
}

/* Samples do not overlap: a small target gets smaller ones. */
static uint32_t sample_of(const struct drive *drive, const struct nm_workload_context *context)
{
    uint64_t most = region_of(drive, context) / drive->options.samples / PAGE_BYTES * PAGE_BYTES;
    uint64_t bytes = drive->options.sample_bytes < most ? drive->options.sample_bytes : most;

    return bytes < PAGE_BYTES ? PAGE_BYTES : (uint32_t)(bytes / PAGE_BYTES * PAGE_BYTES);
}

/* space_bytes stays 0 on a device, also when it is written: nothing of it is used up, and nothing
 * may be wiped afterwards. */
static struct nm_workload_size size_of(const struct nm_workload *workload,
                                       const struct nm_workload_context *context, size_t phase)
{
    const struct drive *drive = (const struct drive *)workload;
    struct nm_workload_size size = {.space_bytes =
                                        context->on_blocks ? 0 : drive->options.size_bytes};

    if (phase == PHASE_ACCESS)
        size.bytes = (uint64_t)drive->options.accesses * PAGE_BYTES;
    else if (phase != PHASE_LAYOUT)
        size.bytes = (uint64_t)drive->options.samples * sample_of(drive, context);
    return size;
}

/* One depth and block for all phases: what differs between them says nothing about the target. */
static void shape(const struct nm_workload *workload, size_t phase,
                  struct nm_workload_context *context)
{
    (void)phase;
    context->streams = context->depth = 1;
    context->block_bytes = sample_of((const struct drive *)workload, context);
}

/* ---- one stream ---- */

static int check_device(const struct drive *drive, const struct nm_workload_context *context,
                        struct nm_error *err)
{
    if (PAGE_BYTES % context->unit_bytes)
        return nm_error_set(err, -EOPNOTSUPP, NM_REASON_UNSUPPORTED,
                            "drive reads pages of %u bytes, the device has blocks of %" PRIu32,
                            PAGE_BYTES, context->unit_bytes);
    if (region_of(drive, context) / PAGE_BYTES < drive->options.samples)
        return nm_error_set(err, -EOPNOTSUPP, NM_REASON_UNSUPPORTED,
                            "the device has %" PRIu64
                            " bytes, less than a page for each of %" PRIu32
                            " samples; lower samples",
                            context->capacity_bytes, drive->options.samples);
    return 0;
}

static int start(const struct nm_workload *workload, const struct nm_workload_context *context,
                 size_t phase, unsigned index, void **ret_state, struct nm_error *err)
{
    const struct drive *drive = (const struct drive *)workload;
    int r = context->on_blocks ? check_device(drive, context, err) : 0;
    struct stream *stream = r ? NULL : calloc(1, sizeof(*stream));

    (void)index;
    if (!stream)
        return r ? r : nm_error_no_memory(err);
    stream->drive = drive;
    stream->context = *context;
    stream->phase = (enum phase)phase;
    stream->region_bytes = region_of(drive, context);
    stream->count = phase == PHASE_ACCESS ? drive->options.accesses : drive->options.samples;
    stream->sample_bytes = phase == PHASE_ACCESS ? PAGE_BYTES : context->block_bytes;
    stream->random = SEED;
    nm_workload_path(context, 0, 0, stream->path, sizeof(stream->path));
    stream->skip = phase == PHASE_LAYOUT && context->on_blocks;
    if (phase == PHASE_LAYOUT)
        nm_transfer_upload(&stream->transfer, stream->path, context->block_bytes,
                           stream->region_bytes);
    *ret_state = stream;
    return 0;
}

static void choose_place(struct stream *stream)
{
    uint64_t pages = stream->region_bytes / PAGE_BYTES;

    if (stream->phase == PHASE_ACCESS)
        stream->offset_bytes = nm_random_next(&stream->random) % pages * PAGE_BYTES;
    else /* pages first: capacity times index would not fit into 64 bits */
        stream->offset_bytes = (pages / stream->count * stream->index +
                                pages % stream->count * stream->index / stream->count) *
                               PAGE_BYTES;
}

static void data_op(struct stream *stream, struct nm_op *op, uint64_t *pattern_bytes)
{
    bool keep = stream->phase == PHASE_WRITE; /* the buffer is written back */

    op->kind = stream->step == STEP_WRITE ? NM_OP_WRITE : NM_OP_READ;
    op->file = stream->file;
    op->offset_bytes = stream->offset_bytes;
    op->length_bytes = stream->step == STEP_POSITION ? PAGE_BYTES : stream->sample_bytes;
    op->discard = !keep;
    /* A device holds nobody knows what; and what is written back must not be made anew. */
    *pattern_bytes = keep || stream->context.on_blocks ? NM_NO_PATTERN : op->offset_bytes;
}

static enum nm_next next_sample(struct stream *stream, struct nm_op *op, uint64_t *pattern_bytes)
{
    switch (stream->step) {
    case STEP_OPEN:
        op->kind = NM_OP_OPEN;
        op->path = stream->path;
        op->open_flags = NM_OPEN_READ | (stream->phase == PHASE_WRITE ? NM_OPEN_WRITE : 0);
        op->expected_bytes = stream->context.on_blocks ? 0 : stream->region_bytes;
        break;
    case STEP_POSITION:
        choose_place(stream);
        data_op(stream, op, pattern_bytes);
        break;
    case STEP_READ:
        if (stream->phase == PHASE_ACCESS)
            choose_place(stream);
        data_op(stream, op, pattern_bytes);
        break;
    case STEP_WRITE: data_op(stream, op, pattern_bytes); break;
    case STEP_FLUSH:
    case STEP_CLOSE:
        op->kind = stream->step == STEP_FLUSH ? NM_OP_FLUSH : NM_OP_CLOSE;
        op->file = stream->file;
        break;
    case STEP_END: return NM_NEXT_DONE;
    }
    stream->waiting = true;
    return NM_NEXT_OP;
}

static enum nm_next next_op(void *state, uint64_t now_ns, struct nm_op *op, uint64_t *pattern_bytes,
                            uint64_t *wait_until_ns)
{
    struct stream *stream = state;

    *wait_until_ns = 0;
    if (stream->phase != PHASE_LAYOUT)
        return stream->waiting ? NM_NEXT_WAIT : next_sample(stream, op, pattern_bytes);
    if (stream->skip || stream->finished)
        return NM_NEXT_DONE;
    if (!stream->begun)
        nm_transfer_begin(&stream->transfer, now_ns);
    stream->begun = true;
    return nm_transfer_next(&stream->transfer, op, pattern_bytes);
}

/* One sample took this long; on to the next one. */
static void take_sample(struct stream *stream, uint64_t duration_ns)
{
    double value = stream->phase == PHASE_ACCESS
                       ? (double)duration_ns
                       : (double)stream->sample_bytes * 1e9 / (double)(duration_ns + !duration_ns);

    nm_points_add(stream->context.points, stream->offset_bytes, stream->sample_bytes, duration_ns);
    stream->sum += value;
    if (!stream->index || value < stream->least)
        stream->least = value;
    if (!stream->index || value > stream->most)
        stream->most = value;
    stream->index++;
    if (stream->index == stream->count)
        stream->step = STEP_CLOSE;
    else
        stream->step = stream->phase == PHASE_ACCESS ? STEP_READ : STEP_POSITION;
}

static int done_sample(struct stream *stream, struct nm_op *op, struct nm_error *err)
{
    stream->waiting = false;
    if (op->result < 0) {
        *err = op->err;
        return (int)op->result;
    }
    if ((op->kind == NM_OP_READ || op->kind == NM_OP_WRITE) &&
        nm_workload_check_length(op, NM_SHORT_TARGET, err) < 0)
        return err->code;
    switch (stream->step) {
    case STEP_OPEN:
        stream->file = op->file;
        stream->step = stream->phase == PHASE_ACCESS ? STEP_READ : STEP_POSITION;
        break;
    case STEP_READ:
        if (stream->phase == PHASE_WRITE)
            stream->step = STEP_WRITE;
        else
            take_sample(stream, op->done_ns - op->submit_ns);
        break;
    case STEP_WRITE:
        stream->write_ns = op->submit_ns;
        stream->step = STEP_FLUSH;
        break;
    case STEP_FLUSH: take_sample(stream, op->done_ns - stream->write_ns); break;
    default: stream->step++; break;
    }
    return 0;
}

static int done_op(void *state, struct nm_op *op, struct nm_error *err)
{
    struct stream *stream = state;
    int r;

    if (stream->phase != PHASE_LAYOUT)
        return done_sample(stream, op, err);
    r = nm_transfer_done(&stream->transfer, op, err);
    stream->finished = r > 0;
    return r < 0 ? r : 0;
}

/* ---- results ---- */

static void add_metrics(const struct stream *stream, struct nm_metrics *metrics)
{
    bool access = stream->phase == PHASE_ACCESS;
    const char *what = access ? "access" : "rate", *unit = access ? "ns" : "B/s";
    enum nm_better better = access ? NM_BETTER_LOWER : NM_BETTER_HIGHER;
    const struct {
        const char *name;
        double value;
    } rows[] = {
        {"average", stream->sum / stream->index}, {"min", stream->least}, {"max", stream->most}};
    char name[32];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        snprintf(name, sizeof(name), "%s_%s", rows[i].name, what);
        nm_metrics_add(metrics, name, unit, better, NM_SUMMARY_MEDIAN, rows[i].value);
    }
}

/* The result is the mean of the samples, not bytes by time: the untimed reads lie between. */
static void finish(void *state, uint64_t elapsed_ns, struct nm_metrics *metrics,
                   uint64_t *ret_bytes, uint64_t *ret_files)
{
    struct stream *stream = state;

    (void)elapsed_ns;
    if (metrics && stream->index)
        add_metrics(stream, metrics);
    *ret_bytes = *ret_files = 0;
    free(stream);
}

/* ---- row ---- */

#define FIELD(name) offsetof(struct options, name)

static const struct nm_option option_rows[] = {
    {.name = "size",
     .type = NM_OPTION_SIZE,
     .offset = FIELD(size_bytes),
     .preset = "2GiB",
     .min = 1 << 20,
     .help = "of the file; a device is measured whole"},
    {.name = "samples",
     .type = NM_OPTION_UINT,
     .offset = FIELD(samples),
     .preset = "100",
     .min = 1,
     .max = NM_POINTS_MAX,
     .help = "places that are read (and written)"},
    {.name = "sample",
     .type = NM_OPTION_SIZE,
     .offset = FIELD(sample_bytes),
     .preset = "10MiB",
     .min = PAGE_BYTES,
     .max = 64 << 20,
     .help = "what is read at each; smaller where samples would overlap"},
    {.name = "accesses",
     .type = NM_OPTION_UINT,
     .offset = FIELD(accesses),
     .preset = "1000",
     .min = 1,
     .max = NM_POINTS_MAX,
     .help = "pages that are read at random for the access time"},
    {.name = "write",
     .type = NM_OPTION_BOOL,
     .offset = FIELD(write),
     .preset = "no",
     .help = "also write back what was read, as drive:write does; a device that is not blank must "
             "be named in allow_destroy"},
};

static const struct nm_option_section section = {
    .name = "drive",
    .help = "rate over position and access time, as the Disks utility measures them",
    .options = option_rows,
    .n_options = NM_OPTION_COUNT(option_rows),
    .size = sizeof(struct options)};

const struct nm_workload_ops nm_workload_drive = {
    .name = "drive",
    .help = "rate over position and access time of a device, LUN, image or big file",
    .syntax = "drive[:write]",
    .options = &section,
    .parse = parse,
    .free = nm_workload_free,
    .key = key,
    .phases = list_phases,
    .size = size_of,
    .shape = shape,
    .start = start,
    .next_op = next_op,
    .done_op = done_op,
    .finish = finish,
};
