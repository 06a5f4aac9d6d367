/* Workload bonnie: what Bonnie++ 2.00 measures, phase by phase, on any target with files.
 *
 * `bonnie[:SIZE]`: per-character and block output, rewrite, per-character and block input, random
 * seeks by several processes, then empty files made, looked up and removed, in order and at random.
 * Local targets go through the page cache, as the original does; where a request of one byte would
 * be a round trip (every network protocol) the per-character phases move chunks, and what is
 * printed is called bonnie-like. Definition: docs/METRICS.md "bonnie".
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bonnie_data.h"
#include "namework.h"

#include "clock.h"
#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB            (UINT64_C(1) << 20)
#define SMALLEST_BYTES (300 * MIB)
#define LARGEST_BYTES  (UINT64_C(4) << 40) /* three such parts of the data space */
#define FILES_UNIT     1024u               /* as the original counts them */

static const struct nm_option option_rows[] = {
    {.name = "size",
     .type = NM_OPTION_SIZE,
     .offset = offsetof(struct nm_bonnie_options, size_bytes),
     .preset = "auto",
     .zero_word = "auto",
     .max = LARGEST_BYTES,
     .help =
         "amount of data; auto = twice the memory (of the NAS, if nas.ram says it, else of this "
         "machine), 300 MiB at least"},
    {.name = "chunk",
     .type = NM_OPTION_SIZE,
     .offset = offsetof(struct nm_bonnie_options, chunk_bytes),
     .preset = "8KiB",
     .min = 512,
     .max = 16 << 20,
     .help = "size of one request"},
    {.name = "file_size",
     .type = NM_OPTION_SIZE,
     .offset = offsetof(struct nm_bonnie_options, file_bytes),
     .preset = "1GiB",
     .min = 512,
     .help = "largest file; more data are more files"},
    {.name = "per_char",
     .type = NM_OPTION_SIZE,
     .offset = offsetof(struct nm_bonnie_options, char_bytes),
     .preset = "3MiB",
     .max = UINT64_C(1) << 40,
     .help = "amount of the per-character phases; 0 = leave them out"},
    {.name = "seeks",
     .type = NM_OPTION_UINT,
     .offset = offsetof(struct nm_bonnie_options, seeks),
     .preset = "8192",
     .min = 1,
     .max = 100000000,
     .help = "random seeks, of all seekers together"},
    {.name = "seekers",
     .type = NM_OPTION_UINT,
     .offset = offsetof(struct nm_bonnie_options, seekers),
     .preset = "5",
     .min = 1,
     .max = 64,
     .help = "that seek at the same time"},
    {.name = "files",
     .type = NM_OPTION_UINT,
     .offset = offsetof(struct nm_bonnie_options, files),
     .preset = "16",
     .max = NM_NAMEWORK_MAX / FILES_UNIT,
     .help = "times 1024 files; 0 = leave these phases out"},
};
static const struct nm_option_section section = {.name = "bonnie",
                                                 .help = "what Bonnie++ measures",
                                                 .options = option_rows,
                                                 .n_options = NM_OPTION_COUNT(option_rows),
                                                 .size = sizeof(struct nm_bonnie_options)};

/* One row per phase; parse() leaves out what is not asked for. */
struct task {
    struct nm_phase phase;
    bool is_char, is_names, random;
    enum nm_bonnie_data_access access;
    enum nm_namework_kind names;
};

#define OPEN    (NM_OP_MASK(NM_OP_OPEN) | NM_OP_MASK(NM_OP_CLOSE))
#define CREATE  (NM_OP_MASK(NM_OP_CREATE) | NM_OP_MASK(NM_OP_CLOSE))
#define READING NM_OP_MASK(NM_OP_READ)
#define WRITING (NM_OP_MASK(NM_OP_WRITE) | NM_OP_MASK(NM_OP_FLUSH))

#define DATA(NAME, NEEDS, WRITES, ...)                                                             \
    {                                                                                              \
        .phase = {.name = NAME,                                                                    \
                  .role = NM_PHASE_MEASURED,                                                       \
                  .needs = (NEEDS),                                                                \
                  .writes = WRITES,                                                                \
                  .buffered = true},                                                               \
        __VA_ARGS__                                                                                \
    }
/* Nothing may be left over in caches that are ours to drop (not the page cache: as the original).
 */
#define READ_BACK(NAME, ...)                                                                       \
    {                                                                                              \
        .phase = {.name = NAME,                                                                    \
                  .role = NM_PHASE_MEASURED,                                                       \
                  .needs = OPEN | READING,                                                         \
                  .drop_caches = true,                                                             \
                  .buffered = true},                                                               \
        .access = NM_BONNIE_DATA_READ, __VA_ARGS__                                                 \
    }
#define NAMES(NAME, ROLE, NEEDS, WRITES, KIND, RANDOM)                                             \
    {                                                                                              \
        .phase = {.name = NAME,                                                                    \
                  .role = ROLE,                                                                    \
                  .needs = (NEEDS),                                                                \
                  .writes = WRITES,                                                                \
                  .buffered = true},                                                               \
        .is_names = true, .names = KIND, .random = RANDOM                                          \
    }
#define NAMES_IN(ORDER, RANDOM)                                                                    \
    NAMES("directory", NM_PHASE_SETUP, NM_OP_MASK(NM_OP_MKDIR), false, NM_NAMEWORK_DIRECTORY,      \
          RANDOM),                                                                                 \
        NAMES("create_" ORDER, NM_PHASE_MEASURED, CREATE, true, NM_NAMEWORK_CREATE, RANDOM),       \
        NAMES("stat_" ORDER, NM_PHASE_MEASURED, NM_OP_MASK(NM_OP_STAT), false, NM_NAMEWORK_STAT,   \
              RANDOM),                                                                             \
        NAMES("delete_" ORDER, NM_PHASE_MEASURED, NM_OP_MASK(NM_OP_UNLINK), true,                  \
              NM_NAMEWORK_DELETE, RANDOM)

static const struct task tasks[] = {
    DATA("write_char", CREATE | WRITING, true, .is_char = true, .access = NM_BONNIE_DATA_WRITE),
    DATA("write_block", CREATE | WRITING, true, .access = NM_BONNIE_DATA_WRITE),
    DATA("rewrite", OPEN | READING | WRITING, true, .access = NM_BONNIE_DATA_REWRITE),
    READ_BACK("read_char", .is_char = true),
    READ_BACK("read_block"),
    DATA("seeks", OPEN | READING | WRITING, false, .access = NM_BONNIE_DATA_SEEK),
    NAMES_IN("sequential", false),
    NAMES_IN("random", true),
};
#define TASKS (sizeof(tasks) / sizeof(tasks[0]))

extern const struct nm_workload_ops nm_workload_bonnie;

struct bonnie {
    struct nm_workload base;
    struct nm_bonnie_options options;
    struct nm_phase phases[TASKS];
    const struct task *tasks[TASKS];
    size_t n_phases;
};

/* Of one phase; which of the two is the task's. */
struct stream {
    const struct task *task;
    struct nm_bonnie_data data;
    struct nm_namework names;
};

/* ---- one parsed workload ---- */

static int check_options(const struct nm_bonnie_options *options, struct nm_error *err)
{
    if (options->file_bytes % options->chunk_bytes)
        return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                            "bonnie: file_size must be a multiple of chunk");
    if (options->size_bytes && options->size_bytes < options->chunk_bytes)
        return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                            "bonnie: size must be at least one chunk");
    if (options->size_bytes > LARGEST_BYTES ||
        options->size_bytes / options->file_bytes >= NM_BONNIE_FILES_MAX)
        return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                            "bonnie: at most 4 TiB in %u files; lower size or raise file_size",
                            NM_BONNIE_FILES_MAX);
    return 0;
}

static int parse(const char *arguments, const void *options, struct nm_workload **ret,
                 struct nm_error *err)
{
    struct bonnie *bonnie = calloc(1, sizeof(*bonnie));
    int r = 0;

    if (!bonnie)
        return nm_error_no_memory(err);
    bonnie->base.ops = &nm_workload_bonnie;
    bonnie->options = *(const struct nm_bonnie_options *)options;
    if (arguments && *arguments) {
        r = nm_units_parse_bytes(arguments, &bonnie->options.size_bytes, err);
        if (!r && !bonnie->options.size_bytes)
            r = nm_error_set(err, -EINVAL, NM_REASON_INTERNAL, "bonnie of 0 bytes; give a size");
    }
    if (!r)
        r = check_options(&bonnie->options, err);
    if (r < 0) {
        free(bonnie);
        return r;
    }
    for (size_t i = 0; i < TASKS; i++) {
        if ((tasks[i].is_char && !bonnie->options.char_bytes) ||
            (tasks[i].is_names && !bonnie->options.files))
            continue;
        bonnie->phases[bonnie->n_phases] = tasks[i].phase;
        bonnie->tasks[bonnie->n_phases++] = &tasks[i];
    }
    *ret = &bonnie->base;
    return 0;
}

static char *key(const struct nm_workload *workload)
{
    uint64_t bytes = ((const struct bonnie *)workload)->options.size_bytes;
    char *text, size[32];

    if (!bytes)
        return strdup("bonnie");
    if (asprintf(&text, "bonnie:%s", nm_units_format_bytes(bytes, size, sizeof(size))) < 0)
        return NULL;
    return text;
}

static size_t list_phases(const struct nm_workload *workload, const struct nm_phase **ret_phases)
{
    const struct bonnie *bonnie = (const struct bonnie *)workload;

    *ret_phases = bonnie->phases;
    return bonnie->n_phases;
}

/* Twice the memory that could hold the data, in whole MiB as the original; whole chunks. */
static uint64_t size_in(const struct bonnie *bonnie, const struct nm_workload_context *context)
{
    uint64_t ram_bytes = context->page_cache || !context->nas_ram_bytes ? context->client_ram_bytes
                                                                        : context->nas_ram_bytes;
    uint64_t bytes = bonnie->options.size_bytes;

    if (!bytes) {
        bytes = 2 * ram_bytes > SMALLEST_BYTES ? 2 * ram_bytes : SMALLEST_BYTES;
        bytes -= bytes % MIB;
    }
    return bytes - bytes % bonnie->options.chunk_bytes;
}

static struct nm_workload_size size_of(const struct nm_workload *workload,
                                       const struct nm_workload_context *context, size_t phase)
{
    const struct bonnie *bonnie = (const struct bonnie *)workload;
    const struct task *task = bonnie->tasks[phase];
    uint64_t bytes = size_in(bonnie, context);
    struct nm_workload_size size = {.space_bytes = bytes + bonnie->options.char_bytes};

    if (task->is_names)
        size.files = task->phase.role == NM_PHASE_MEASURED ? bonnie->options.files * FILES_UNIT : 0;
    else if (task->is_char)
        size.bytes = bonnie->options.char_bytes;
    else if (task->access != NM_BONNIE_DATA_SEEK)
        size.bytes = bytes;
    return size;
}

static void shape(const struct nm_workload *workload, size_t phase,
                  struct nm_workload_context *context)
{
    const struct bonnie *bonnie = (const struct bonnie *)workload;
    const struct task *task = bonnie->tasks[phase];

    context->depth = 1;
    context->streams =
        !task->is_names && task->access == NM_BONNIE_DATA_SEEK ? bonnie->options.seekers : 1;
    context->block_bytes =
        task->is_char && context->page_cache ? 1 : (uint32_t)bonnie->options.chunk_bytes;
}

static void describe(const struct nm_workload *workload, const struct nm_workload_context *context,
                     size_t phase, struct nm_conditions *conditions)
{
    const struct bonnie *bonnie = (const struct bonnie *)workload;

    if (!bonnie->tasks[phase]->is_names)
        nm_conditions_set(conditions, "workload.size", "%" PRIu64, size_in(bonnie, context));
}

/* ---- one stream ---- */

/* Number of the file of the per-character phases: behind all the others. */
static uint32_t char_file(const struct bonnie *bonnie, uint64_t size_bytes)
{
    return (uint32_t)((size_bytes + bonnie->options.file_bytes - 1) / bonnie->options.file_bytes);
}

static int start_data(struct stream *stream, const struct bonnie *bonnie,
                      const struct nm_workload_context *context, unsigned index,
                      struct nm_error *err)
{
    const struct nm_bonnie_options *options = &bonnie->options;
    struct nm_bonnie_data *data = &stream->data;
    uint64_t size_bytes = size_in(bonnie, context);

    data->access = stream->task->access;
    data->directory = context->directory;
    data->size_bytes = size_bytes;
    data->file_bytes = options->file_bytes;
    data->chunk_bytes = context->block_bytes;
    data->random = context->seed + (index + 1) * UINT64_C(0x14057b7ef767814f);
    data->seeks = options->seeks / context->streams + (index < options->seeks % context->streams);
    data->rewritten_bytes = size_bytes; /* the second part of the data space */
    if (stream->task->is_char) {
        data->first_file = char_file(bonnie, size_bytes);
        data->size_bytes = data->file_bytes = options->char_bytes;
        data->position_bytes = 2 * size_bytes; /* the third */
    } else if (data->access == NM_BONNIE_DATA_READ || data->access == NM_BONNIE_DATA_SEEK) {
        data->position_bytes = size_bytes;
    }
    if (char_file(bonnie, size_bytes) >= NM_BONNIE_FILES_MAX) /* with a size from the memory */
        return nm_error_set(err, -EINVAL, NM_REASON_CLIENT_LIMIT,
                            "%" PRIu64 " bytes are more than %u files; raise bonnie.file_size",
                            size_bytes, NM_BONNIE_FILES_MAX);
    return nm_bonnie_data_init(data, err);
}

static int start_names(struct stream *stream, const struct bonnie *bonnie,
                       const struct nm_workload_context *context, struct nm_error *err)
{
    struct nm_namework *names = &stream->names;

    names->kind = stream->task->names;
    names->random = stream->task->random;
    names->count = bonnie->options.files * FILES_UNIT;
    names->latency = context->file_latency;
    snprintf(names->directory, sizeof(names->directory), "%s/d%07d", context->directory,
             names->random);
    return nm_namework_init(names, context->seed + (uint64_t)names->kind, err);
}

static int start(const struct nm_workload *workload, const struct nm_workload_context *context,
                 size_t phase, unsigned index, void **ret_state, struct nm_error *err)
{
    const struct bonnie *bonnie = (const struct bonnie *)workload;
    struct stream *stream = calloc(1, sizeof(*stream));
    int r;

    if (!stream)
        return nm_error_no_memory(err);
    stream->task = bonnie->tasks[phase];
    r = stream->task->is_names ? start_names(stream, bonnie, context, err)
                               : start_data(stream, bonnie, context, index, err);
    if (r < 0) {
        free(stream);
        return r;
    }
    *ret_state = stream;
    return 0;
}

static enum nm_next next_op(void *state, uint64_t now_ns, struct nm_op *op, uint64_t *pattern_bytes,
                            uint64_t *wait_until_ns)
{
    struct stream *stream = state;

    (void)now_ns;
    *wait_until_ns = 0;
    return stream->task->is_names ? nm_namework_next(&stream->names, op)
                                  : nm_bonnie_data_next(&stream->data, op, pattern_bytes);
}

static int done_op(void *state, struct nm_op *op, struct nm_error *err)
{
    struct stream *stream = state;

    return stream->task->is_names ? nm_namework_take(&stream->names, op, err)
                                  : nm_bonnie_data_take(&stream->data, op, err);
}

/* ---- results ---- */

static void data_metrics(const struct nm_bonnie_data *data, uint64_t elapsed_ns,
                         struct nm_metrics *metrics)
{
    if (data->access == NM_BONNIE_DATA_SEEK && elapsed_ns)
        nm_metrics_add(metrics, "seeks_per_s", "1/s", NM_BETTER_HIGHER, NM_SUMMARY_GEOMEAN,
                       (double)data->sought * 1e9 / (double)elapsed_ns);
    nm_metrics_add(metrics, "latency_max", "ns", NM_BETTER_LOWER, NM_SUMMARY_MAX,
                   (double)data->longest_ns);
    if (data->access == NM_BONNIE_DATA_SEEK)
        nm_metrics_add(metrics, "seeks", "1", NM_BETTER_NONE, NM_SUMMARY_MAX, (double)data->sought);
}

static void finish(void *state, uint64_t elapsed_ns, struct nm_metrics *metrics,
                   uint64_t *ret_bytes, uint64_t *ret_files)
{
    struct stream *stream = state;

    *ret_bytes = *ret_files = 0;
    if (stream->task->is_names) {
        if (metrics)
            nm_namework_metrics(&stream->names, elapsed_ns, metrics);
        *ret_files = nm_namework_count(&stream->names);
        nm_namework_done(&stream->names);
    } else {
        if (metrics)
            data_metrics(&stream->data, elapsed_ns, metrics);
        /* Of seeks the number counts, not the bytes. */
        *ret_bytes = stream->data.access == NM_BONNIE_DATA_SEEK ? 0 : stream->data.done_bytes;
        nm_bonnie_data_done(&stream->data);
    }
    free(stream);
}

/* Several seekers: all seeks in the time of the slowest, which is that of the phase. */
static void combine(const struct nm_metrics *streams, size_t n, struct nm_metrics *ret)
{
    double seeks = 0, slowest_s = 0, longest_ns = 0;

    for (size_t i = 0; i < n; i++) {
        const struct nm_metric *rate = nm_metrics_get(&streams[i], "seeks_per_s");
        const struct nm_metric *number = nm_metrics_get(&streams[i], "seeks");
        const struct nm_metric *longest = nm_metrics_get(&streams[i], "latency_max");

        if (rate && number && rate->value > 0) {
            double took_s = number->value / rate->value;

            seeks += number->value;
            slowest_s = took_s > slowest_s ? took_s : slowest_s;
        }
        if (longest && longest->value > longest_ns)
            longest_ns = longest->value;
    }
    if (slowest_s > 0)
        nm_metrics_add(ret, "seeks_per_s", "1/s", NM_BETTER_HIGHER, NM_SUMMARY_GEOMEAN,
                       seeks / slowest_s);
    nm_metrics_add(ret, "latency_max", "ns", NM_BETTER_LOWER, NM_SUMMARY_MAX, longest_ns);
    if (slowest_s > 0)
        nm_metrics_add(ret, "seeks", "1", NM_BETTER_NONE, NM_SUMMARY_MAX, seeks);
}

const struct nm_workload_ops nm_workload_bonnie = {
    .name = "bonnie",
    .help = "what Bonnie++ measures: characters, blocks, rewrite, seeks, files",
    .syntax = "bonnie[:SIZE]",
    .trait = NM_TRAIT_FILES,
    .options = &section,
    .shortest_ns = NM_NS_PER_S / 2,
    .tells_cpu = true,
    .parse = parse,
    .free = nm_workload_free,
    .key = key,
    .phases = list_phases,
    .size = size_of,
    .shape = shape,
    .describe = describe,
    .start = start,
    .next_op = next_op,
    .done_op = done_op,
    .finish = finish,
    .combine = combine,
};
