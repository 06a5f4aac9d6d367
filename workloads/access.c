/* Workloads access, random and mixed: a list of steps of block access (steps.h) on one file per
 * target or on a raw device. Profiles such as ATTO and CrystalDiskMark are option values of
 * `access`.
 *
 * Each step is a phase. A step runs `runs` times; each time it ends after `length` bytes or
 * `time`, whichever comes first (0 = no such limit), and the metrics name the best and the
 * median run. A warm-up of the same kind and a pause come before it, outside the clock. All threads
 * of a step work on the same file. Definition: docs/METRICS.md "access".
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "access.h"

#include "access_runs.h"
#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void add_phase(struct nm_access *access, const char *name, enum nm_phase_role role,
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

static void list_all_phases(struct nm_access *access)
{
    add_phase(access, "layout", NM_PHASE_SETUP, NEEDS, false);
    access->phases[0].fills = true;
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

static int parse_size(struct nm_access *access, const char *arguments, struct nm_error *err)
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
    struct nm_access *access = calloc(1, sizeof(*access));
    int r;

    if (!access)
        return nm_error_no_memory(err);
    access->base.ops = ops;
    access->options = *(const struct nm_access_options *)values;
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
    const struct nm_access *access = (const struct nm_access *)workload;
    char *text, size[32];

    if (asprintf(&text, "%s:%s", workload->ops->name,
                 nm_units_format_bytes(access->options.size_bytes, size, sizeof(size))) < 0)
        return NULL;
    return text;
}

static size_t phases(const struct nm_workload *workload, const struct nm_phase **ret_phases)
{
    const struct nm_access *access = (const struct nm_access *)workload;

    *ret_phases = access->phases;
    return access->n_phases;
}

const struct nm_step *nm_access_step(const struct nm_access *access, size_t phase)
{
    size_t per_step = 1 + !!access->options.pause_ns + !!access->options.warmup_ns;

    return phase ? &access->steps[(phase - 1) / per_step] : NULL;
}

static struct nm_workload_size size_of(const struct nm_workload *workload,
                                       const struct nm_workload_context *context, size_t phase)
{
    const struct nm_access *access = (const struct nm_access *)workload;
    const struct nm_access_options *options = &access->options;
    struct nm_workload_size size = {
        .space_bytes =
            nm_workload_reads_as_found(context, access->writes) ? 0 : options->size_bytes};

    if (access->phases[phase].role == NM_PHASE_MEASURED && options->time_ns)
        size.duration_ns = options->time_ns * options->runs;
    else if (access->phases[phase].role == NM_PHASE_MEASURED)
        size.bytes = options->length_bytes * options->runs;
    return size;
}

static void describe(const struct nm_workload *workload, const struct nm_workload_context *context,
                     size_t phase, struct nm_conditions *conditions)
{
    const struct nm_access *access = (const struct nm_access *)workload;

    (void)context;
    (void)phase;
    nm_conditions_set(conditions, "workload.size", "%" PRIu64, access->options.size_bytes);
}

/* The layout is written as the plan says; everything else as its step says. */
static void shape(const struct nm_workload *workload, size_t phase,
                  struct nm_workload_context *context)
{
    const struct nm_step *step = nm_access_step((const struct nm_access *)workload, phase);

    if (!step)
        return;
    if (step->depth)
        context->depth = step->depth;
    if (step->threads)
        context->streams = step->threads;
    context->block_bytes = step->block_bytes;
}

/* ---- rows ---- */

#define OPTIONS(preset_steps, preset_length, preset_time)                                          \
    {                                                                                              \
        {.name = "steps",                                                                          \
         .type = NM_OPTION_LIST,                                                                   \
         .offset = offsetof(struct nm_access_options, steps),                                      \
         .preset = preset_steps,                                                                   \
         .help = "what is done, one phase each: seq or rnd, block, -qDEPTH tTHREADS, -read "       \
                 "-write -mixREAD%"},                                                              \
            {.name = "size",                                                                       \
             .type = NM_OPTION_SIZE,                                                               \
             .offset = offsetof(struct nm_access_options, size_bytes),                             \
             .preset = "1GiB",                                                                     \
             .min = 1,                                                                             \
             .help = "of the file, or of the part of the device"},                                 \
            {.name = "length",                                                                     \
             .type = NM_OPTION_SIZE,                                                               \
             .offset = offsetof(struct nm_access_options, length_bytes),                           \
             .preset = preset_length,                                                              \
             .help = "a run ends after so many bytes; 0 = only by time"},                          \
            {.name = "time",                                                                       \
             .type = NM_OPTION_DURATION,                                                           \
             .offset = offsetof(struct nm_access_options, time_ns),                                \
             .preset = preset_time,                                                                \
             .help = "a run ends after so long; 0 = only by length"},                              \
            {.name = "runs",                                                                       \
             .type = NM_OPTION_UINT,                                                               \
             .offset = offsetof(struct nm_access_options, runs),                                   \
             .preset = "1",                                                                        \
             .min = 1,                                                                             \
             .max = NM_ACCESS_RUNS_MAX,                                                            \
             .help = "runs of each step in one trial; best and median are metrics"},               \
            {.name = "warmup",                                                                     \
             .type = NM_OPTION_DURATION,                                                           \
             .offset = offsetof(struct nm_access_options, warmup_ns),                              \
             .preset = "0",                                                                        \
             .help = "the same access before each step, not counted"},                             \
            {.name = "pause",                                                                      \
             .type = NM_OPTION_DURATION,                                                           \
             .offset = offsetof(struct nm_access_options, pause_ns),                               \
             .preset = "0",                                                                        \
             .help = "before each step"},                                                          \
    }

#define ROW(NAME, HELP, STEPS, LENGTH, TIME)                                                       \
    static const struct nm_option NAME##_options[] = OPTIONS(STEPS, LENGTH, TIME);                 \
    static const struct nm_option_section NAME##_section = {                                       \
        .name = #NAME,                                                                             \
        .help = HELP,                                                                              \
        .options = NAME##_options,                                                                 \
        .n_options = NM_OPTION_COUNT(NAME##_options),                                              \
        .size = sizeof(struct nm_access_options)};                                                 \
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
        .describe = describe,                                                                      \
        .shape = shape,                                                                            \
        .start = nm_access_start,                                                                  \
        .next_op = nm_access_next_op,                                                              \
        .done_op = nm_access_done_op,                                                              \
        .finish = nm_access_finish,                                                                \
        .combine = nm_access_combine,                                                              \
    }

ROW(access, "steps of block access; the base of ATTO and CrystalDiskMark profiles",
    "seq1MiB-q8t1-write seq1MiB-q8t1-read", "1GiB", "0");
ROW(random, "random blocks, written, then read", "rnd4KiB-write rnd4KiB-read", "0", "10s");
ROW(mixed, "random blocks, 70 % read and 30 % written", "rnd4KiB-mix70", "0", "10s");
