/* Workload mix: films are watched while files are copied onto the same target, and each stream is
 * reported.
 *
 * `mix:READERSxBITRATE,WRITERS`: every reader is a player (player.h) of a file of its own, every
 * writer uploads one file after the other, each flushed and closed, until the time is over; then
 * the last one is cut short. A writer keeps at most `upload` bytes: older files are removed.
 * Streams are processes where the backend allows. On a device each stream has a region. Definition:
 * docs/METRICS.md "mix".
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "mix.h"

#include "bitrate.h"
#include "clock.h"
#include "player.h"
#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Metrics of each: NM_METRICS_MAX. */
#define READERS_MAX 8
#define WRITERS_MAX 8

#define DATA_OPS (NM_OP_MASK(NM_OP_OPEN) | NM_OP_MASK(NM_OP_CLOSE))

static const struct nm_phase phases[NM_MIX_PHASES] = {
    [NM_MIX_LAYOUT] = {.name = "layout", .role = NM_PHASE_SETUP, .needs = DATA_OPS},
    [NM_MIX_LOAD] = {.name = "load",
                     .role = NM_PHASE_MEASURED,
                     .needs = DATA_OPS | NM_OP_MASK(NM_OP_CREATE) | NM_OP_MASK(NM_OP_READ) |
                              NM_OP_MASK(NM_OP_WRITE) | NM_OP_MASK(NM_OP_FLUSH) |
                              NM_OP_MASK(NM_OP_UNLINK),
                     .writes = true,
                     .drop_caches = true},
};

extern const struct nm_workload_ops nm_workload_mix;

/* ---- one parsed workload ---- */

static int bad_arguments(const char *text, struct nm_error *err)
{
    return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                        "mix takes READERSxBITRATE,WRITERS with 1 to %d readers and 1 to %d "
                        "writers, as in mix:2x25Mbit,1; not '%.60s'",
                        READERS_MAX, WRITERS_MAX, text);
}

/* "2x25Mbit,1" */
static int parse_arguments(struct nm_mix *mix, const char *text, struct nm_error *err)
{
    const char *x = strchr(text, 'x'), *comma = strchr(text, ',');
    char readers[8], rate[32];
    uint64_t n_readers, n_writers;

    if (!x || !comma || comma < x)
        return bad_arguments(text, err);
    snprintf(readers, sizeof(readers), "%.*s", (int)(x - text), text);
    snprintf(rate, sizeof(rate), "%.*s", (int)(comma - x - 1), x + 1);
    if (nm_units_parse_u64(readers, &n_readers, NULL) < 0 || !n_readers ||
        n_readers > READERS_MAX || nm_units_parse_u64(comma + 1, &n_writers, NULL) < 0 ||
        !n_writers || n_writers > WRITERS_MAX)
        return bad_arguments(text, err);
    mix->options.readers = (uint32_t)n_readers;
    mix->options.writers = (uint32_t)n_writers;
    return nm_bitrate_parse(rate, &mix->bits_per_s, err);
}

static int check(struct nm_mix *mix, struct nm_error *err)
{
    struct nm_player player = {0};

    nm_player_shape(&player, nm_bitrate_block(mix->bits_per_s), mix->bits_per_s,
                    mix->options.buffer_ns);
    if (player.buffer_blocks < NM_PLAYER_BUFFER_BLOCKS_MIN)
        return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                            "mix: a buffer of less than %d blocks of %" PRIu32 " bytes; raise it",
                            NM_PLAYER_BUFFER_BLOCKS_MIN, nm_bitrate_block(mix->bits_per_s));
    if (mix->options.upload_bytes < 2 * mix->options.file_bytes)
        return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                            "mix: upload must hold at least two files");
    if (mix->options.time_ns < 2 * mix->options.buffer_ns)
        return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                            "mix: time must be at least twice the buffer");
    mix->ring = (uint32_t)(mix->options.upload_bytes / mix->options.file_bytes);
    return 0;
}

static int parse(const char *arguments, const void *values, struct nm_workload **ret,
                 struct nm_error *err)
{
    struct nm_mix *mix = calloc(1, sizeof(*mix));
    int r;

    if (!mix)
        return nm_error_no_memory(err);
    mix->base.ops = &nm_workload_mix;
    mix->options = *(const struct nm_mix_options *)values;
    r = nm_bitrate_parse(mix->options.bitrate ? mix->options.bitrate : "", &mix->bits_per_s, err);
    if (!r && arguments && *arguments)
        r = parse_arguments(mix, arguments, err);
    if (!r)
        r = check(mix, err);
    if (r < 0) {
        free(mix);
        return r;
    }
    *ret = &mix->base;
    return 0;
}

static char *key(const struct nm_workload *workload)
{
    const struct nm_mix *mix = (const struct nm_mix *)workload;
    char *text, rate[NM_BITRATE_TEXT];

    if (asprintf(&text, "mix:%" PRIu32 "x%s,%" PRIu32, mix->options.readers,
                 nm_bitrate_format(mix->bits_per_s, rate), mix->options.writers) < 0)
        return NULL;
    return text;
}

static size_t list_phases(const struct nm_workload *workload, const struct nm_phase **ret_phases)
{
    (void)workload;
    *ret_phases = phases;
    return NM_MIX_PHASES;
}

uint64_t nm_mix_space(const struct nm_mix *mix)
{
    const struct nm_mix_options *options = &mix->options;

    return options->readers * options->size_bytes +
           (uint64_t)options->writers * mix->ring * options->file_bytes;
}

static struct nm_workload_size size_of(const struct nm_workload *workload,
                                       const struct nm_workload_context *context, size_t phase)
{
    const struct nm_mix *mix = (const struct nm_mix *)workload;

    (void)context;
    return (struct nm_workload_size){.duration_ns = phase == NM_MIX_LOAD ? mix->options.time_ns : 0,
                                     .space_bytes = nm_mix_space(mix)};
}

static void shape(const struct nm_workload *workload, size_t phase,
                  struct nm_workload_context *context)
{
    const struct nm_mix_options *options = &((const struct nm_mix *)workload)->options;

    (void)phase;
    context->streams = options->readers + options->writers;
}

static double sum_of(const struct nm_metrics *streams, size_t n, const char *who, const char *what)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < streams[i].count; k++) {
            const struct nm_metric *metric = &streams[i].items[k];
            const char *underline = strchr(metric->name, '_');

            if (!strncmp(metric->name, who, strlen(who)) && underline &&
                !strcmp(underline + 1, what))
                sum += metric->value;
        }
    return sum;
}

/* The whole first, then every stream. */
static void combine(const struct nm_metrics *streams, size_t n, struct nm_metrics *ret)
{
    nm_metrics_add(ret, "write_rate", "B/s", NM_BETTER_HIGHER, NM_SUMMARY_GEOMEAN,
                   sum_of(streams, n, "writer", "rate"));
    nm_metrics_add(ret, "read_rate", "B/s", NM_BETTER_HIGHER, NM_SUMMARY_GEOMEAN,
                   sum_of(streams, n, "reader", "rate"));
    nm_metrics_add(ret, "underruns", "1", NM_BETTER_LOWER, NM_SUMMARY_MEDIAN,
                   sum_of(streams, n, "reader", "underruns"));
    for (size_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < streams[i].count; k++) {
            const struct nm_metric *m = &streams[i].items[k];

            nm_metrics_add(ret, m->name, m->unit, m->better, m->summary, m->value);
        }
}

/* ---- row ---- */

#define FIELD(name) offsetof(struct nm_mix_options, name)

static const struct nm_option option_rows[] = {
    {.name = "readers",
     .type = NM_OPTION_UINT,
     .offset = FIELD(readers),
     .preset = "2",
     .min = 1,
     .max = READERS_MAX,
     .help = "films that are watched"},
    {.name = "bitrate",
     .type = NM_OPTION_STRING,
     .offset = FIELD(bitrate),
     .preset = "25Mbit",
     .help = "of each of them"},
    {.name = "writers",
     .type = NM_OPTION_UINT,
     .offset = FIELD(writers),
     .preset = "1",
     .min = 1,
     .max = WRITERS_MAX,
     .help = "copies that are uploaded at the same time"},
    {.name = "time",
     .type = NM_OPTION_DURATION,
     .offset = FIELD(time_ns),
     .preset = "30s",
     .min = NM_NS_PER_MS,
     .help = "how long"},
    {.name = "buffer",
     .type = NM_OPTION_DURATION,
     .offset = FIELD(buffer_ns),
     .preset = "2s",
     .min = NM_NS_PER_MS,
     .help = "what a player keeps in memory; full when it begins to play"},
    {.name = "size",
     .type = NM_OPTION_SIZE,
     .offset = FIELD(size_bytes),
     .preset = "128MiB",
     .min = 1 << 20,
     .help = "of a film; it begins again at its end"},
    {.name = "file",
     .type = NM_OPTION_SIZE,
     .offset = FIELD(file_bytes),
     .preset = "64MiB",
     .min = 1,
     .help = "of one uploaded file"},
    {.name = "upload",
     .type = NM_OPTION_SIZE,
     .offset = FIELD(upload_bytes),
     .preset = "1GiB",
     .min = 2,
     .help = "what a writer leaves at most; its oldest file makes room"},
};

static const struct nm_option_section section = {.name = "mix",
                                                 .help = "films are watched while files are copied",
                                                 .options = option_rows,
                                                 .n_options = NM_OPTION_COUNT(option_rows),
                                                 .size = sizeof(struct nm_mix_options)};

const struct nm_workload_ops nm_workload_mix = {
    .name = "mix",
    .help = "films are watched while files are copied onto the target; every stream is reported",
    .syntax = "mix[:READERSxBITRATE,WRITERS]",
    .options = &section,
    .parse = parse,
    .free = nm_workload_free,
    .key = key,
    .phases = list_phases,
    .size = size_of,
    .shape = shape,
    .start = nm_mix_start,
    .next_op = nm_mix_next_op,
    .done_op = nm_mix_done_op,
    .finish = nm_mix_finish,
    .combine = combine,
};
