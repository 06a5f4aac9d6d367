/* Workload meta: files and directories made, looked up, listed, renamed and removed, what mdtest
 * does and what a backup, a build or a file manager waits for.
 *
 * `meta:COUNT`: COUNT empty files and COUNT directories per stream, each stream in a directory of
 * its own, one operation after another, first in order, then at random. Definition: docs/METRICS.md
 * "meta".
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "namework.h"

#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_COUNT 1000u

struct options {
    uint32_t listings;
};

static const struct nm_option option_rows[] = {
    {.name = "listings",
     .type = NM_OPTION_UINT,
     .offset = offsetof(struct options, listings),
     .preset = "10",
     .min = 1,
     .max = 100000,
     .help = "how often a list phase lists the directory"},
};
static const struct nm_option_section section = {.name = "meta",
                                                 .help = "files and directories",
                                                 .options = option_rows,
                                                 .n_options = NM_OPTION_COUNT(option_rows),
                                                 .size = sizeof(struct options)};

extern const struct nm_workload_ops nm_workload_meta;

struct meta {
    struct nm_workload base;
    struct options options;
    uint32_t count;
};

/* One row per phase. */
struct task {
    enum nm_namework_kind kind;
    bool directories, renamed, random;
};

#define SETUP                                                                                      \
    {                                                                                              \
        .name = "directory", .role = NM_PHASE_SETUP, .needs = NM_OP_MASK(NM_OP_MKDIR)              \
    }
#define PHASE(NAME, NEEDS, WRITES)                                                                 \
    {                                                                                              \
        .name = NAME, .role = NM_PHASE_MEASURED, .needs = (NEEDS), .writes = WRITES                \
    }
#define CREATE (NM_OP_MASK(NM_OP_CREATE) | NM_OP_MASK(NM_OP_CLOSE))
#define ORDER(SUFFIX)                                                                              \
    SETUP, PHASE("create" SUFFIX, CREATE, true),                                                   \
        PHASE("stat" SUFFIX, NM_OP_MASK(NM_OP_STAT), false),                                       \
        PHASE("list" SUFFIX, NM_OP_MASK(NM_OP_LIST), false),                                       \
        PHASE("rename" SUFFIX, NM_OP_MASK(NM_OP_RENAME), true),                                    \
        PHASE("delete" SUFFIX, NM_OP_MASK(NM_OP_UNLINK), true),                                    \
        PHASE("create_dirs" SUFFIX, NM_OP_MASK(NM_OP_MKDIR), true),                                \
        PHASE("stat_dirs" SUFFIX, NM_OP_MASK(NM_OP_STAT), false),                                  \
        PHASE("rename_dirs" SUFFIX, NM_OP_MASK(NM_OP_RENAME), true),                               \
        PHASE("delete_dirs" SUFFIX, NM_OP_MASK(NM_OP_RMDIR), true)

static const struct nm_phase phase_rows[] = {ORDER("_sequential"), ORDER("_random")};

static const struct task tasks[] = {
    {.kind = NM_NAMEWORK_DIRECTORY},
    {.kind = NM_NAMEWORK_CREATE},
    {.kind = NM_NAMEWORK_STAT},
    {.kind = NM_NAMEWORK_LIST},
    {.kind = NM_NAMEWORK_RENAME},
    {.kind = NM_NAMEWORK_DELETE, .renamed = true},
    {.kind = NM_NAMEWORK_CREATE, .directories = true},
    {.kind = NM_NAMEWORK_STAT, .directories = true},
    {.kind = NM_NAMEWORK_RENAME, .directories = true},
    {.kind = NM_NAMEWORK_DELETE, .directories = true, .renamed = true},
};

#define TASKS (sizeof(tasks) / sizeof(tasks[0]))
_Static_assert(sizeof(phase_rows) / sizeof(phase_rows[0]) == 2 * TASKS, "a task for each phase");

static int parse(const char *arguments, const void *options, struct nm_workload **ret,
                 struct nm_error *err)
{
    struct meta *meta;
    uint64_t count = DEFAULT_COUNT;
    int r = arguments && *arguments ? nm_units_parse_u64(arguments, &count, err) : 0;

    if (r < 0)
        return nm_error_set(err, r, NM_REASON_INTERNAL,
                            "meta takes a number of files, as in meta:1000; not '%.60s'",
                            arguments);
    if (!count || count > NM_NAMEWORK_MAX)
        return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL, "meta: 1 to %u files",
                            NM_NAMEWORK_MAX);
    meta = calloc(1, sizeof(*meta));
    if (!meta)
        return nm_error_no_memory(err);
    meta->base.ops = &nm_workload_meta;
    meta->options = *(const struct options *)options;
    meta->count = (uint32_t)count;
    *ret = &meta->base;
    return 0;
}

static char *key(const struct nm_workload *workload)
{
    char *text;

    return asprintf(&text, "meta:%" PRIu32, ((const struct meta *)workload)->count) < 0 ? NULL
                                                                                        : text;
}

static size_t list_phases(const struct nm_workload *workload, const struct nm_phase **ret_phases)
{
    (void)workload;
    *ret_phases = phase_rows;
    return 2 * TASKS;
}

static struct nm_workload_size size_of(const struct nm_workload *workload,
                                       const struct nm_workload_context *context, size_t phase)
{
    const struct meta *meta = (const struct meta *)workload;
    struct nm_workload_size size = {0};

    if (phase_rows[phase].role == NM_PHASE_MEASURED)
        size.files = (uint64_t)meta->count * context->streams;
    return size;
}

/* One operation after another: more at once are more streams. */
static void shape(const struct nm_workload *workload, size_t phase,
                  struct nm_workload_context *context)
{
    (void)workload;
    (void)phase;
    context->depth = 1;
}

static int start(const struct nm_workload *workload, const struct nm_workload_context *context,
                 size_t phase, unsigned stream, void **ret_state, struct nm_error *err)
{
    const struct meta *meta = (const struct meta *)workload;
    const struct task *task = &tasks[phase % TASKS];
    struct nm_namework *work = calloc(1, sizeof(*work));
    bool random = phase >= TASKS;

    if (!work)
        return nm_error_no_memory(err);
    work->kind = task->kind;
    work->directories = task->directories;
    work->renamed = task->renamed;
    work->random = random;
    work->count = meta->count;
    work->listings = meta->options.listings;
    work->latency = context->file_latency;
    snprintf(work->directory, sizeof(work->directory), "%s/d%07u", context->directory,
             stream + (random ? context->streams : 0));
    int r =
        nm_namework_init(work, context->seed + phase * UINT64_C(0x5851f42d4c957f2d) + stream, err);

    if (r < 0) {
        free(work);
        return r;
    }
    *ret_state = work;
    return 0;
}

static enum nm_next next_op(void *state, uint64_t now_ns, struct nm_op *op, uint64_t *pattern_bytes,
                            uint64_t *wait_until_ns)
{
    (void)now_ns;
    (void)pattern_bytes;
    *wait_until_ns = 0;
    return nm_namework_next(state, op);
}

static int done_op(void *state, struct nm_op *op, struct nm_error *err)
{
    return nm_namework_take(state, op, err);
}

static void finish(void *state, uint64_t elapsed_ns, struct nm_metrics *metrics,
                   uint64_t *ret_bytes, uint64_t *ret_files)
{
    struct nm_namework *work = state;

    if (metrics)
        nm_namework_metrics(work, elapsed_ns, metrics);
    *ret_bytes = 0;
    *ret_files = nm_namework_count(work);
    nm_namework_done(work);
    free(work);
}

const struct nm_workload_ops nm_workload_meta = {
    .name = "meta",
    .help = "files and directories created, looked up, listed, renamed, removed",
    .syntax = "meta[:COUNT]",
    .trait = NM_TRAIT_FILES,
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
