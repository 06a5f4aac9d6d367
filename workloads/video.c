/* Workload video: playbacks at a constant bit rate, and by search how many the target carries.
 *
 * `video:BITRATE` searches the largest number of players without an underrun: doubling, then
 * halving the interval; a step lasts `time` or ends with the first underrun. `video:NxBITRATE`
 * plays N for that time and counts. Players are multiplexed over one stream, so that the search
 * needs no agreement between processes; each has its own open file and its own part of the data.
 * Also refused in a search: players that together fall behind, which a longer film would show as
 * underruns. Definition: docs/METRICS.md "video".
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "video.h"

#include "bitrate.h"
#include "clock.h"
#include "player.h"
#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA_OPS (NM_OP_MASK(NM_OP_OPEN) | NM_OP_MASK(NM_OP_CLOSE))
#define MEASURED                                                                                   \
    .role = NM_PHASE_MEASURED, .needs = DATA_OPS | NM_OP_MASK(NM_OP_READ), .drop_caches = true

static const struct nm_phase search_phases[] = {
    {.name = "layout", .role = NM_PHASE_SETUP, .needs = DATA_OPS},
    {.name = "search", MEASURED},
};

static const struct nm_phase play_phases[] = {
    {.name = "layout", .role = NM_PHASE_SETUP, .needs = DATA_OPS},
    {.name = "play", MEASURED},
};

extern const struct nm_workload_ops nm_workload_video;

/* ---- one parsed workload ---- */

/* "8Mbit", "12x8Mbit" */
static int parse_arguments(struct nm_video *video, const char *text, struct nm_error *err)
{
    const char *x = strchr(text, 'x');
    char number[16];
    uint64_t players;

    if (x) {
        snprintf(number, sizeof(number), "%.*s", (int)(x - text), text);
        if (nm_units_parse_u64(number, &players, NULL) < 0 || !players ||
            players > NM_VIDEO_PLAYERS_MAX)
            return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                                "video takes BITRATE or PLAYERSxBITRATE with at most %d players, "
                                "as in video:12x8Mbit; not '%.60s'",
                                NM_VIDEO_PLAYERS_MAX, text);
        video->options.players = (uint32_t)players;
        text = x + 1;
    }
    return nm_bitrate_parse(text, &video->bits_per_s, err);
}

static int check(const struct nm_video *video, struct nm_error *err)
{
    const struct nm_video_options *options = &video->options;
    struct nm_player player = {0};
    char least[32];
    uint32_t most = options->players ? options->players : options->most;

    nm_player_shape(&player, video->block_bytes, video->bits_per_s, options->buffer_ns);
    if (player.buffer_blocks < NM_PLAYER_BUFFER_BLOCKS_MIN)
        return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                            "video: a buffer of less than %d blocks of %" PRIu32
                            " bytes; raise buffer or lower block",
                            NM_PLAYER_BUFFER_BLOCKS_MIN, video->block_bytes);
    if (options->time_ns < 4 * options->buffer_ns)
        return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                            "video: time must be at least four times the buffer, or the buffer "
                            "hides what the target cannot do");
    if (options->size_bytes / video->block_bytes < most)
        return nm_error_set(
            err, -EINVAL, NM_REASON_INTERNAL,
            "video: size must hold one block for each of %" PRIu32 " players, at least %s", most,
            nm_units_format_bytes_human((uint64_t)most * video->block_bytes, least, sizeof(least)));
    return 0;
}

static int parse(const char *arguments, const void *values, struct nm_workload **ret,
                 struct nm_error *err)
{
    struct nm_video *video = calloc(1, sizeof(*video));
    int r;

    if (!video)
        return nm_error_no_memory(err);
    video->base.ops = &nm_workload_video;
    video->options = *(const struct nm_video_options *)values;
    r = nm_bitrate_parse(video->options.bitrate ? video->options.bitrate : "", &video->bits_per_s,
                         err);
    if (!r && arguments && *arguments)
        r = parse_arguments(video, arguments, err);
    if (!r) {
        video->block_bytes = video->options.block_bytes ? (uint32_t)video->options.block_bytes
                                                        : nm_bitrate_block(video->bits_per_s);
        r = check(video, err);
    }
    if (r < 0) {
        free(video);
        return r;
    }
    *ret = &video->base;
    return 0;
}

static char *key(const struct nm_workload *workload)
{
    const struct nm_video *video = (const struct nm_video *)workload;
    char *text, rate[NM_BITRATE_TEXT], count[16] = "";

    if (video->options.players)
        snprintf(count, sizeof(count), "%" PRIu32 "x", video->options.players);
    if (asprintf(&text, "video:%s%s", count, nm_bitrate_format(video->bits_per_s, rate)) < 0)
        return NULL;
    return text;
}

static size_t list_phases(const struct nm_workload *workload, const struct nm_phase **ret_phases)
{
    *ret_phases =
        ((const struct nm_video *)workload)->options.players ? play_phases : search_phases;
    return 2;
}

static struct nm_workload_size size_of(const struct nm_workload *workload,
                                       const struct nm_workload_context *context, size_t phase)
{
    const struct nm_video_options *options = &((const struct nm_video *)workload)->options;
    struct nm_workload_size size = {.space_bytes = context->on_blocks ? 0 : options->size_bytes};
    unsigned steps = 1;

    if (!options->players)
        for (uint32_t n = options->most; n > 1; n /= 2)
            steps++; /* about half of the doublings and halvings end early */
    if (phase)
        size.duration_ns = options->time_ns * steps;
    return size;
}

static void shape(const struct nm_workload *workload, size_t phase,
                  struct nm_workload_context *context)
{
    const struct nm_video *video = (const struct nm_video *)workload;

    context->streams = 1;
    if (!phase)
        return;
    context->depth = video->options.players ? video->options.players : video->options.most;
    context->block_bytes = video->block_bytes;
}

/* ---- row ---- */

#define FIELD(name) offsetof(struct nm_video_options, name)

static const struct nm_option option_rows[] = {
    {.name = "bitrate",
     .type = NM_OPTION_STRING,
     .offset = FIELD(bitrate),
     .preset = "40Mbit",
     .help = "of one player; kbit, Mbit and Gbit are 10^3, 10^6, 10^9 bits per second"},
    {.name = "players",
     .type = NM_OPTION_UINT,
     .offset = FIELD(players),
     .preset = "search",
     .zero_word = "search",
     .max = NM_VIDEO_PLAYERS_MAX,
     .help = "how many play; search = find the largest number without an underrun"},
    {.name = "most",
     .type = NM_OPTION_UINT,
     .offset = FIELD(most),
     .preset = "256",
     .min = 1,
     .max = NM_VIDEO_PLAYERS_MAX,
     .help = "where the search ends"},
    {.name = "buffer",
     .type = NM_OPTION_DURATION,
     .offset = FIELD(buffer_ns),
     .preset = "2s",
     .min = NM_NS_PER_MS,
     .help = "what a player keeps in memory; full when it begins to play"},
    {.name = "time",
     .type = NM_OPTION_DURATION,
     .offset = FIELD(time_ns),
     .preset = "30s",
     .min = NM_NS_PER_MS,
     .help = "of one step of the search, or of the whole; the start counts"},
    {.name = "size",
     .type = NM_OPTION_SIZE,
     .offset = FIELD(size_bytes),
     .preset = "2GiB",
     .min = 65536,
     .help = "of the file, or of the part of the device; each player has its own part of it"},
    {.name = "block",
     .type = NM_OPTION_SIZE,
     .offset = FIELD(block_bytes),
     .preset = "auto",
     .zero_word = "auto",
     .max = 16 << 20,
     .help = "of one read; auto = about 1/16 s, 64 KiB to 1 MiB"},
};

static const struct nm_option_section section = {.name = "video",
                                                 .help = "playbacks at a constant bit rate",
                                                 .options = option_rows,
                                                 .n_options = NM_OPTION_COUNT(option_rows),
                                                 .size = sizeof(struct nm_video_options)};

const struct nm_workload_ops nm_workload_video = {
    .name = "video",
    .help = "playbacks at a constant bit rate: how many the target carries without an underrun",
    .syntax = "video[:[PLAYERSx]BITRATE]",
    .options = &section,
    .parse = parse,
    .free = nm_workload_free,
    .key = key,
    .phases = list_phases,
    .size = size_of,
    .shape = shape,
    .start = nm_video_start,
    .next_op = nm_video_next_op,
    .done_op = nm_video_done_op,
    .finish = nm_video_finish,
};
