/* Workloads access, random and mixed: a list of steps of block access (steps.h) on one file per
 * target or on a raw device. Profiles such as ATTO and CrystalDiskMark are option values of
 * `access`.
 *
 * Each step is a phase. A step runs `runs` times; each time it ends after `length` bytes or
 * `seconds`, whichever comes first (0 = no such limit), and the metrics name the best and the
 * median run. A warm-up of the same kind and a pause come before it, outside the clock. All threads
 * of a step work on the same file. Definition: docs/METRICS.md "access".
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "access_runs.h"

#include "clock.h"
#include "random.h"
#include "steps.h"
#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    char *steps;
    uint64_t size_bytes, length_bytes, time_ns, warmup_ns, pause_ns;
    uint32_t runs;
};

struct access {
    struct nm_workload base;
    struct options options; /* steps is borrowed */
    struct nm_step steps[NM_STEPS_MAX];
    size_t n_steps;
    struct nm_phase
        phases[3 * NM_STEPS_MAX + 1]; /* layout, then pause, warm-up and step for each */
    size_t n_phases;
    bool writes;
};

enum stage {
    STAGE_OPEN,
    STAGE_OPENING,
    STAGE_RUN,
    STAGE_FLUSH,
    STAGE_FLUSHING,
    STAGE_CLOSE,
    STAGE_CLOSING,
    STAGE_END
};

struct stream {
    const struct access *access;
    const struct nm_step *step; /* NULL: layout or pause */
    struct nm_workload_context context;
    bool layout, idle, warmup;
    enum stage stage;
    char path[128];
    struct nm_file *file;
    uint64_t random; /* state of the generator */
    uint64_t region_bytes, next_bytes;
    uint64_t pause_ns, until_ns;
    /* the current run */
    uint32_t run, runs;
    uint64_t run_begin_ns, run_end_ns, run_issued, run_limit_bytes, run_time_ns;
    unsigned in_flight;
    bool run_full;
    /* results */
    uint64_t bytes, run_bytes, operations, latency_sum_ns;
    struct nm_access_runs results;
    uint64_t run_operations, run_latency_sum_ns;
};

/* ---- one parsed workload ---- */

static void add_phase(struct access *access, const char *name, enum nm_phase_role role,
                      unsigned needs, bool writes)
{
    access->phases[access->n_phases++] =
        (struct nm_phase){.name = name, .role = role, .needs = needs, .writes = writes};
}

#define NEEDS       (NM_OP_MASK(NM_OP_OPEN) | NM_OP_MASK(NM_OP_CLOSE))
#define NEEDS_WRITE (NM_OP_MASK(NM_OP_WRITE) | NM_OP_MASK(NM_OP_FLUSH))

static unsigned needs_of(const struct nm_step *step)
{
    return NEEDS | (step->read_percent < 100 ? NEEDS_WRITE : 0) |
           (step->read_percent > 0 ? NM_OP_MASK(NM_OP_READ) : 0);
}

static void list_all_phases(struct access *access)
{
    add_phase(access, "layout", NM_PHASE_SETUP, NEEDS, false);
    for (size_t i = 0; i < access->n_steps; i++) {
        const struct nm_step *step = &access->steps[i];

        if (access->options.pause_ns)
            add_phase(access, "pause", NM_PHASE_SETUP, 0, false);
        if (access->options.warmup_ns)
            add_phase(access, "warm-up", NM_PHASE_SETUP, needs_of(step), false);
        add_phase(access, step->name, NM_PHASE_MEASURED, needs_of(step), step->read_percent < 100);
        access->writes |= step->read_percent < 100;
    }
}

static int parse_size(struct access *access, const char *arguments, struct nm_error *err)
{
    int r = arguments && *arguments
                ? nm_units_parse_bytes(arguments, &access->options.size_bytes, err)
                : 0;

    if (r < 0)
        return r;
    for (size_t i = 0; i < access->n_steps; i++)
        if (access->options.size_bytes < access->steps[i].block_bytes)
            return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                                "size must be at least the largest block of the steps");
    if (access->options.size_bytes > NM_PATTERN_GROUP_WORDS * 8)
        return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL, "size: at most 16 TiB");
    if (!access->options.length_bytes && !access->options.time_ns)
        return nm_error_set(
            err, -EINVAL, NM_REASON_INTERNAL,
            "length and time are both 0: give at least one of them, or a step never ends");
    return 0;
}

static int parse_as(const struct nm_workload_ops *ops, const char *arguments, const void *values,
                    struct nm_workload **ret, struct nm_error *err)
{
    struct access *access = calloc(1, sizeof(*access));
    int r;

    if (!access)
        return nm_error_errno(err, -ENOMEM, "out of memory");
    access->base.ops = ops;
    access->options = *(const struct options *)values;
    r = nm_steps_parse(access->options.steps ? access->options.steps : "", access->steps, err);
    access->n_steps = r > 0 ? (size_t)r : 0;
    if (r > 0)
        r = parse_size(access, arguments, err);
    if (r < 0) {
        free(access);
        return r;
    }
    list_all_phases(access);
    *ret = &access->base;
    return 0;
}

static char *key(const struct nm_workload *workload)
{
    const struct access *access = (const struct access *)workload;
    char *text, size[32];

    if (asprintf(&text, "%s:%s", workload->ops->name,
                 nm_units_format_bytes(access->options.size_bytes, size, sizeof(size))) < 0)
        return NULL;
    return text;
}

static size_t phases(const struct nm_workload *workload, const struct nm_phase **ret_phases)
{
    const struct access *access = (const struct access *)workload;

    *ret_phases = access->phases;
    return access->n_phases;
}

/* The step that a pause, warm-up or step phase is about; NULL for the layout. */
static const struct nm_step *step_of(const struct access *access, size_t phase)
{
    size_t per_step = 1 + !!access->options.pause_ns + !!access->options.warmup_ns;

    return phase ? &access->steps[(phase - 1) / per_step] : NULL;
}

static struct nm_workload_size size_of(const struct nm_workload *workload,
                                       const struct nm_workload_context *context, size_t phase)
{
    const struct access *access = (const struct access *)workload;
    const struct options *options = &access->options;
    struct nm_workload_size size = {
        .space_bytes = context->on_blocks && !access->writes ? 0 : options->size_bytes};

    if (access->phases[phase].role == NM_PHASE_MEASURED && options->time_ns)
        size.duration_ns = options->time_ns * options->runs;
    else if (access->phases[phase].role == NM_PHASE_MEASURED)
        size.bytes = options->length_bytes * options->runs;
    return size;
}

/* The layout is written as the plan says; everything else as its step says. */
static void shape(const struct nm_workload *workload, size_t phase,
                  struct nm_workload_context *context)
{
    const struct nm_step *step = step_of((const struct access *)workload, phase);

    if (!step)
        return;
    if (step->depth)
        context->depth = step->depth;
    if (step->threads)
        context->streams = step->threads;
    context->block_bytes = step->block_bytes;
}

/* ---- one stream ---- */

static int check_device(const struct access *access, const struct nm_workload_context *context,
                        struct nm_error *err)
{
    if (context->block_bytes % context->unit_bytes)
        return nm_error_set(err, -EOPNOTSUPP, NM_REASON_UNSUPPORTED,
                            "n/a on blocks of %" PRIu32 " bytes: requests of %" PRIu32
                            " bytes are no multiple",
                            context->unit_bytes, context->block_bytes);
    if (access->options.size_bytes > context->capacity_bytes)
        return nm_error_set(err, -ENOSPC, NM_REASON_NO_SPACE,
                            "the device has %" PRIu64 " bytes, the workload needs %" PRIu64
                            "; lower its size",
                            context->capacity_bytes, access->options.size_bytes);
    return 0;
}

static void begin_run(struct stream *stream)
{
    const struct options *options = &stream->access->options;

    stream->run_begin_ns = stream->run_issued = stream->run_bytes = 0;
    stream->run_operations = stream->run_latency_sum_ns = 0;
    stream->run_full = false;
    stream->run_time_ns = stream->layout   ? 0 /* all of it, however long that takes */
                          : stream->warmup ? options->warmup_ns
                                           : options->time_ns;
    stream->run_limit_bytes = stream->layout   ? stream->region_bytes
                              : stream->warmup ? 0
                                               : options->length_bytes / stream->context.streams;
}

static int start(const struct nm_workload *workload, const struct nm_workload_context *context,
                 size_t phase, unsigned index, void **ret_state, struct nm_error *err)
{
    const struct access *access = (const struct access *)workload;
    const char *name = access->phases[phase].name;
    int r = context->on_blocks ? check_device(access, context, err) : 0;
    struct stream *stream = r ? NULL : calloc(1, sizeof(*stream));

    if (!stream)
        return r ? r : nm_error_errno(err, -ENOMEM, "out of memory");
    stream->access = access;
    stream->context = *context;
    stream->layout = !phase;
    stream->warmup = !strcmp(name, "warm-up");
    stream->step = phase ? step_of(access, phase) : NULL;
    stream->runs = access->phases[phase].role == NM_PHASE_MEASURED ? access->options.runs : 1;
    stream->random =
        context->seed + phase * UINT64_C(0x5851f42d4c957f2d) + index * UINT64_C(0x14057b7ef767814f);
    stream->region_bytes = access->options.size_bytes / context->block_bytes * context->block_bytes;
    if (stream->layout) /* whole file, by one stream; a device that is only read is left as it is */
        stream->region_bytes = access->options.size_bytes;
    if (stream->layout && context->on_blocks)
        stream->region_bytes -= stream->region_bytes % context->unit_bytes;
    stream->idle = stream->layout && (index || (context->on_blocks && !access->writes));
    if (!strcmp(name, "pause")) {
        stream->idle = true;
        stream->pause_ns = access->options.pause_ns;
    }
    if (!stream->layout &&
        !stream->step->random) /* threads share the region, each from its own start */
        stream->next_bytes = stream->region_bytes / stream->context.block_bytes * index /
                             context->streams * stream->context.block_bytes;
    if (!context->on_blocks) {
        nm_workload_path(context, 0, 0, stream->path, sizeof(stream->path));
    }
    begin_run(stream);
    *ret_state = stream;
    return 0;
}

static bool writing(const struct stream *stream)
{
    return stream->layout || stream->step->read_percent < 100;
}

static enum nm_next open_file(struct stream *stream, struct nm_op *op)
{
    op->path = stream->path;
    op->open_flags = NM_OPEN_READ | (writing(stream) ? NM_OPEN_WRITE : 0);
    op->kind = stream->layout && !stream->context.on_blocks ? NM_OP_CREATE : NM_OP_OPEN;
    op->expected_bytes = stream->layout ? stream->region_bytes : 0;
    stream->stage = STAGE_OPENING;
    return NM_NEXT_OP;
}

static uint64_t next_offset(struct stream *stream, uint32_t length)
{
    uint64_t blocks = stream->region_bytes / stream->context.block_bytes, offset;

    if (!stream->layout && stream->step->random)
        return nm_random_next(&stream->random) % blocks * stream->context.block_bytes;
    offset = stream->next_bytes;
    stream->next_bytes += length;
    if (!stream->layout && stream->next_bytes + stream->context.block_bytes > stream->region_bytes)
        stream->next_bytes = 0;
    return offset;
}

/* Whether the current run may issue no more. */
static bool run_is_full(struct stream *stream, uint64_t now_ns)
{
    if (!stream->run_begin_ns)
        stream->run_begin_ns = now_ns;
    if (stream->run_limit_bytes && stream->run_issued >= stream->run_limit_bytes)
        stream->run_full = true;
    else if (stream->run_time_ns && now_ns - stream->run_begin_ns >= stream->run_time_ns)
        stream->run_full = stream->results.by_time = true;
    return stream->run_full;
}

/* The last operation of a run is back. */
static void end_run(struct stream *stream)
{
    uint64_t elapsed_ns = stream->run_end_ns - stream->run_begin_ns;

    nm_access_runs_add(&stream->results, stream->run_bytes, stream->run_operations,
                       stream->run_latency_sum_ns, elapsed_ns);
    stream->run++;
    if (stream->run < stream->runs) {
        begin_run(stream);
        return;
    }
    stream->stage = writing(stream) ? STAGE_FLUSH : STAGE_CLOSE;
}

static enum nm_next issue(struct stream *stream, struct nm_op *op, uint64_t *pattern_bytes)
{
    uint32_t length = stream->context.block_bytes;
    bool read;

    if (stream->run_full)
        return NM_NEXT_WAIT;
    if (stream->layout && stream->region_bytes - stream->run_issued < length)
        length = (uint32_t)(stream->region_bytes - stream->run_issued);
    read =
        !stream->layout && (stream->step->read_percent == 100 ||
                            (stream->step->read_percent &&
                             nm_random_next(&stream->random) % 100 < stream->step->read_percent));
    op->kind = read ? NM_OP_READ : NM_OP_WRITE;
    op->discard = true;
    op->file = stream->file;
    op->offset_bytes = next_offset(stream, length);
    op->length_bytes = length;
    /* The same offset always holds the same data, so reads can be verified whatever was written
     * last; a device that is read as it was found holds nobody knows what. */
    *pattern_bytes = read && stream->context.on_blocks && !stream->access->writes
                         ? NM_NO_PATTERN
                         : op->offset_bytes;
    stream->run_issued += length;
    stream->in_flight++;
    return NM_NEXT_OP;
}

static enum nm_next next_op(void *state, uint64_t now_ns, struct nm_op *op, uint64_t *pattern_bytes,
                            uint64_t *wait_until_ns)
{
    struct stream *stream = state;

    *wait_until_ns = 0;
    if (stream->idle) {
        if (!stream->until_ns)
            stream->until_ns = now_ns + stream->pause_ns;
        *wait_until_ns = stream->until_ns;
        return now_ns < stream->until_ns ? NM_NEXT_WAIT : NM_NEXT_DONE;
    }
    switch (stream->stage) {
    case STAGE_OPEN: return open_file(stream, op);
    case STAGE_RUN:
        if (run_is_full(stream, now_ns) && !stream->in_flight) {
            end_run(stream); /* by time, with everything back already */
            return next_op(state, now_ns, op, pattern_bytes, wait_until_ns);
        }
        return issue(stream, op, pattern_bytes);
    case STAGE_FLUSH:
    case STAGE_CLOSE:
        op->kind = stream->stage == STAGE_FLUSH ? NM_OP_FLUSH : NM_OP_CLOSE;
        op->file = stream->file;
        stream->stage++;
        return NM_NEXT_OP;
    case STAGE_END: return NM_NEXT_DONE;
    default: return NM_NEXT_WAIT;
    }
}

static int done_data(struct stream *stream, const struct nm_op *op, struct nm_error *err)
{
    stream->in_flight--;
    if (nm_workload_check_length(op, NM_SHORT_LAYOUT, err) < 0)
        return err->code;
    stream->bytes += op->length_bytes;
    stream->run_bytes += op->length_bytes;
    stream->run_operations++;
    stream->operations++;
    stream->run_latency_sum_ns += op->done_ns - op->submit_ns;
    stream->run_end_ns = op->done_ns;
    if (stream->run_limit_bytes && stream->run_issued >= stream->run_limit_bytes)
        stream->run_full = true;
    if (stream->run_full && !stream->in_flight)
        end_run(stream);
    return 0;
}

static int done_op(void *state, struct nm_op *op, struct nm_error *err)
{
    struct stream *stream = state;

    if (op->result < 0) {
        *err = op->err;
        return (int)op->result;
    }
    switch (op->kind) {
    case NM_OP_READ:
    case NM_OP_WRITE: return done_data(stream, op, err);
    case NM_OP_OPEN:
    case NM_OP_CREATE:
        stream->file = op->file;
        stream->stage = STAGE_RUN;
        return 0;
    default: stream->stage++; return 0;
    }
}

/* ---- results ---- */

static void finish(void *state, uint64_t elapsed_ns, struct nm_metrics *metrics,
                   uint64_t *ret_bytes, uint64_t *ret_files)
{
    struct stream *stream = state;

    (void)elapsed_ns;
    if (metrics && !stream->idle)
        nm_access_runs_metrics(&stream->results, metrics);
    *ret_bytes = stream->bytes;
    *ret_files = 0;
    free(stream);
}

/* ---- rows ---- */

#define OPTIONS(preset_steps, preset_length, preset_time)                                          \
    {                                                                                              \
        {.name = "steps",                                                                          \
         .type = NM_OPTION_LIST,                                                                   \
         .offset = offsetof(struct options, steps),                                                \
         .preset = preset_steps,                                                                   \
         .help = "what is done, one phase each: seq or rnd, block, -qDEPTH tTHREADS, -read "       \
                 "-write -mixREAD%"},                                                              \
            {.name = "size",                                                                       \
             .type = NM_OPTION_SIZE,                                                               \
             .offset = offsetof(struct options, size_bytes),                                       \
             .preset = "1GiB",                                                                     \
             .min = 1,                                                                             \
             .help = "of the file, or of the part of the device"},                                 \
            {.name = "length",                                                                     \
             .type = NM_OPTION_SIZE,                                                               \
             .offset = offsetof(struct options, length_bytes),                                     \
             .preset = preset_length,                                                              \
             .help = "a run ends after so many bytes; 0 = only by time"},                          \
            {.name = "time",                                                                       \
             .type = NM_OPTION_DURATION,                                                           \
             .offset = offsetof(struct options, time_ns),                                          \
             .preset = preset_time,                                                                \
             .help = "a run ends after so long; 0 = only by length"},                              \
            {.name = "runs",                                                                       \
             .type = NM_OPTION_UINT,                                                               \
             .offset = offsetof(struct options, runs),                                             \
             .preset = "1",                                                                        \
             .min = 1,                                                                             \
             .max = NM_ACCESS_RUNS_MAX,                                                            \
             .help = "runs of each step in one trial; best and median are metrics"},               \
            {.name = "warmup",                                                                     \
             .type = NM_OPTION_DURATION,                                                           \
             .offset = offsetof(struct options, warmup_ns),                                        \
             .preset = "0",                                                                        \
             .help = "the same access before each step, not counted"},                             \
            {.name = "pause",                                                                      \
             .type = NM_OPTION_DURATION,                                                           \
             .offset = offsetof(struct options, pause_ns),                                         \
             .preset = "0",                                                                        \
             .help = "before each step"},                                                          \
    }

#define ROW(NAME, HELP, STEPS, LENGTH, TIME)                                                       \
    static const struct nm_option NAME##_options[] = OPTIONS(STEPS, LENGTH, TIME);                 \
    static const struct nm_option_section NAME##_section = {.name = #NAME,                         \
                                                            .help = HELP,                          \
                                                            .options = NAME##_options,             \
                                                            .n_options =                           \
                                                                NM_OPTION_COUNT(NAME##_options),   \
                                                            .size = sizeof(struct options)};       \
    extern const struct nm_workload_ops nm_workload_##NAME;                                        \
    static int parse_##NAME(const char *arguments, const void *options, struct nm_workload **ret,  \
                            struct nm_error *err)                                                  \
    {                                                                                              \
        return parse_as(&nm_workload_##NAME, arguments, options, ret, err);                        \
    }                                                                                              \
    const struct nm_workload_ops nm_workload_##NAME = {                                            \
        .name = #NAME,                                                                             \
        .help = HELP,                                                                              \
        .syntax = #NAME "[:SIZE]",                                                                 \
        .options = &NAME##_section,                                                                \
        .parse = parse_##NAME,                                                                     \
        .free = nm_workload_free,                                                                  \
        .key = key,                                                                                \
        .phases = phases,                                                                          \
        .size = size_of,                                                                           \
        .shape = shape,                                                                            \
        .start = start,                                                                            \
        .next_op = next_op,                                                                        \
        .done_op = done_op,                                                                        \
        .finish = finish,                                                                          \
        .combine = nm_access_combine,                                                              \
    }

ROW(access, "steps of block access; the base of ATTO and CrystalDiskMark profiles",
    "seq1MiB-q8t1-write seq1MiB-q8t1-read", "1GiB", "0");
ROW(random, "random blocks, written, then read", "rnd4KiB-write rnd4KiB-read", "0", "10s");
ROW(mixed, "random blocks, 70 % read and 30 % written", "rnd4KiB-mix70", "0", "10s");
