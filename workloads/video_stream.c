/* The players of one trial of video, and the search for the largest number of them (video.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "video.h"

#include "clock.h"
#include "player.h"
#include "random.h"
#include "transfer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum stage { STAGE_OPEN, STAGE_PLAY, STAGE_DRAIN, STAGE_CLOSE };

/* What one step of players gave. */
struct step {
    bool carried;
    uint64_t underruns, worst_late_ns, startup_ns;
    uint32_t players_failed;
};

struct stream {
    const struct nm_video *video;
    struct nm_workload_context context;
    /* layout */
    bool layout, skip, begun, finished;
    struct nm_transfer transfer;
    /* playing */
    char path[128];
    enum stage stage;
    struct nm_player *players; /* opened of them have a file */
    uint32_t opening, opened, closed, playing, in_flight;
    uint64_t region_bytes, random, end_ns;
    bool underrun;
    /* the search */
    uint32_t carried, refused, steps; /* largest and smallest so; refused = most + 1 at first */
    struct step best, worst;
    uint64_t bytes;
};

static int check_device(const struct nm_video *video, const struct nm_workload_context *context,
                        struct nm_error *err)
{
    if (context->block_bytes % context->unit_bytes)
        return nm_error_set(err, -EOPNOTSUPP, NM_REASON_UNSUPPORTED,
                            "block must be a multiple of the device's %" PRIu32 "-byte blocks",
                            context->unit_bytes);
    if (video->options.size_bytes > context->capacity_bytes)
        return nm_error_set(err, -ENOSPC, NM_REASON_NO_SPACE,
                            "the device has %" PRIu64 " bytes, the workload reads %" PRIu64
                            "; lower the size of the workload",
                            context->capacity_bytes, video->options.size_bytes);
    return 0;
}

int nm_video_start(const struct nm_workload *workload, const struct nm_workload_context *context,
                   size_t phase, unsigned index, void **ret_state, struct nm_error *err)
{
    const struct nm_video *video = (const struct nm_video *)workload;
    const struct nm_video_options *options = &video->options;
    struct stream *stream;
    int r = context->on_blocks ? check_device(video, context, err) : 0;

    (void)index;
    if (r < 0)
        return r;
    stream = calloc(1, sizeof(*stream));
    if (stream)
        stream->players =
            calloc(options->players ? options->players : options->most, sizeof(*stream->players));
    if (!stream || !stream->players) {
        free(stream);
        return nm_error_no_memory(err);
    }
    stream->video = video;
    stream->context = *context;
    stream->layout = !phase;
    nm_workload_path(context, 0, 0, stream->path, sizeof(stream->path));
    stream->random = context->seed;
    stream->region_bytes = options->size_bytes;
    stream->playing = options->players ? options->players : 1;
    stream->refused = options->most + 1;
    stream->skip = stream->layout && context->on_blocks; /* a device is read as it is */
    if (stream->layout)
        nm_transfer_upload(&stream->transfer, stream->path, context->block_bytes,
                           options->size_bytes);
    *ret_state = stream;
    return 0;
}

/* All players at once, each somewhere in its own part. */
static void begin_step(struct stream *stream, uint64_t now_ns)
{
    const struct nm_video *video = stream->video;
    uint64_t blocks = stream->region_bytes / stream->playing / video->block_bytes;

    for (uint32_t i = 0; i < stream->playing; i++) {
        struct nm_player *player = &stream->players[i];

        nm_player_shape(player, video->block_bytes, video->bits_per_s, video->options.buffer_ns);
        player->base_bytes = i * blocks * video->block_bytes;
        player->part_bytes = blocks * video->block_bytes;
        player->next_bytes = nm_random_next(&stream->random) % blocks * video->block_bytes;
        nm_player_begin(player, now_ns, now_ns + video->options.time_ns / 4 * 3);
    }
    stream->end_ns = now_ns + video->options.time_ns;
    stream->underrun = false;
    stream->steps++;
    stream->stage = STAGE_PLAY;
}

static void judge(const struct stream *stream, struct step *step)
{
    uint64_t slack_ns = 0;

    *step = (struct step){0};
    for (uint32_t i = 0; i < stream->playing; i++) {
        const struct nm_player *player = &stream->players[i];
        uint64_t startup_ns =
            (player->play_ns ? player->play_ns : stream->end_ns) - player->begin_ns;

        step->underruns += player->underruns;
        step->players_failed += player->underruns || !player->play_ns;
        if (player->worst_late_ns > step->worst_late_ns)
            step->worst_late_ns = player->worst_late_ns;
        if (startup_ns > step->startup_ns)
            step->startup_ns = startup_ns;
        slack_ns += player->slack_ns / stream->playing;
    }
    step->carried = !step->players_failed && slack_ns >= nm_player_full_ns(&stream->players[0]);
}

/* A step is over and nothing is in flight: what next. */
static void end_step(struct stream *stream)
{
    const struct nm_video_options *options = &stream->video->options;
    struct step step;

    judge(stream, &step);
    if (options->players || step.carried) {
        stream->best = step;
        stream->carried = stream->playing;
    } else {
        stream->worst = step;
        stream->refused = stream->playing;
    }
    stream->stage = STAGE_CLOSE;
    if (options->players || stream->refused - stream->carried <= 1)
        return;
    if (stream->refused <= options->most)
        stream->playing = (stream->carried + stream->refused) / 2;
    else
        stream->playing = stream->carried * 2 < options->most ? stream->carried * 2 : options->most;
    stream->stage = STAGE_OPEN;
}

static enum nm_next play(struct stream *stream, uint64_t now_ns, struct nm_op *op,
                         uint64_t *pattern_bytes, uint64_t *wait_until_ns)
{
    uint64_t first_ns = stream->end_ns;
    bool over = now_ns >= stream->end_ns || (stream->underrun && !stream->video->options.players);

    for (uint32_t i = 0; i < stream->playing && !over; i++) {
        uint64_t wants_ns = nm_player_wants_ns(&stream->players[i]);

        if (wants_ns <= now_ns) {
            nm_player_read(&stream->players[i], op);
            *pattern_bytes = stream->context.on_blocks ? NM_NO_PATTERN : op->offset_bytes;
            stream->in_flight++;
            return NM_NEXT_OP;
        }
        if (wants_ns < first_ns)
            first_ns = wants_ns;
    }
    if (over)
        stream->stage = STAGE_DRAIN;
    *wait_until_ns = over ? 0 : first_ns;
    return NM_NEXT_WAIT;
}

static enum nm_next open_players(struct stream *stream, uint64_t now_ns, struct nm_op *op)
{
    if (stream->opening < stream->playing) {
        op->kind = NM_OP_OPEN;
        op->path = stream->path;
        op->open_flags = NM_OPEN_READ;
        op->expected_bytes = stream->context.on_blocks ? 0 : stream->region_bytes;
        op->user = &stream->players[stream->opening++];
        return NM_NEXT_OP;
    }
    if (stream->opened == stream->opening)
        begin_step(stream, now_ns);
    return NM_NEXT_WAIT;
}

static enum nm_next close_players(struct stream *stream, struct nm_op *op)
{
    if (stream->closed == stream->opened) {
        stream->finished = true;
        return NM_NEXT_WAIT; /* for the last close */
    }
    op->kind = NM_OP_CLOSE;
    op->file = stream->players[stream->closed++].file;
    stream->in_flight++;
    return NM_NEXT_OP;
}

static enum nm_next next_play(struct stream *stream, uint64_t now_ns, struct nm_op *op,
                              uint64_t *pattern_bytes, uint64_t *wait_until_ns)
{
    if (stream->stage == STAGE_DRAIN && !stream->in_flight)
        end_step(stream);
    if (stream->stage == STAGE_OPEN) {
        enum nm_next next = open_players(stream, now_ns, op);

        if (next == NM_NEXT_OP || stream->stage == STAGE_OPEN)
            return next;
    }
    if (stream->stage == STAGE_PLAY) {
        enum nm_next next = play(stream, now_ns, op, pattern_bytes, wait_until_ns);

        if (stream->stage == STAGE_PLAY || stream->in_flight)
            return next;
        return next_play(stream, now_ns, op, pattern_bytes, wait_until_ns);
    }
    if (stream->stage == STAGE_CLOSE && !stream->finished) {
        enum nm_next next = close_players(stream, op);

        if (next == NM_NEXT_OP)
            return next;
    }
    return stream->finished && !stream->in_flight ? NM_NEXT_DONE : NM_NEXT_WAIT;
}

enum nm_next nm_video_next_op(void *state, uint64_t now_ns, struct nm_op *op,
                              uint64_t *pattern_bytes, uint64_t *wait_until_ns)
{
    struct stream *stream = state;

    *wait_until_ns = 0;
    if (!stream->layout)
        return next_play(stream, now_ns, op, pattern_bytes, wait_until_ns);
    if (stream->skip || stream->finished)
        return NM_NEXT_DONE;
    if (!stream->begun)
        nm_transfer_begin(&stream->transfer, now_ns);
    stream->begun = true;
    return nm_transfer_next(&stream->transfer, op, pattern_bytes);
}

static int done_read(struct stream *stream, struct nm_op *op, struct nm_error *err)
{
    struct nm_player *player = op->user;

    if (nm_workload_check_length(op, NM_SHORT_LAYOUT, err) < 0)
        return err->code;
    stream->in_flight--;
    stream->bytes += op->length_bytes;
    nm_player_done(player, op->done_ns);
    stream->underrun |= player->underruns > 0;
    return 0;
}

int nm_video_done_op(void *state, struct nm_op *op, struct nm_error *err)
{
    struct stream *stream = state;

    if (stream->layout) {
        int r = nm_transfer_done(&stream->transfer, op, err);

        stream->finished = r > 0;
        return r < 0 ? r : 0;
    }
    if (op->result < 0) {
        *err = op->err;
        return (int)op->result;
    }
    if (op->kind == NM_OP_READ)
        return done_read(stream, op, err);
    if (op->kind == NM_OP_OPEN) {
        ((struct nm_player *)op->user)->file = op->file;
        stream->opened++;
    } else {
        stream->in_flight--;
    }
    return 0;
}

/* ---- results ---- */

#define ADD(name, unit, better, summary, value)                                                    \
    nm_metrics_add(metrics, name, unit, better, summary, (double)(value))

static void search_metrics(const struct stream *stream, struct nm_metrics *metrics)
{
    uint32_t most = stream->video->options.most;

    ADD("players", "streams", NM_BETTER_HIGHER, NM_SUMMARY_MEDIAN, stream->carried);
    ADD("carried_rate", "B/s", NM_BETTER_HIGHER, NM_SUMMARY_MEDIAN,
        stream->carried * (stream->video->bits_per_s / 8));
    ADD("limit_reached", "1", NM_BETTER_NONE, NM_SUMMARY_MAX, stream->carried == most);
    ADD("steps", "1", NM_BETTER_NONE, NM_SUMMARY_MEDIAN, stream->steps);
    if (stream->carried)
        ADD("startup", "ns", NM_BETTER_LOWER, NM_SUMMARY_MEDIAN, stream->best.startup_ns);
    if (stream->refused > most)
        return;
    /* of the smallest number that was too many */
    ADD("underruns", "1", NM_BETTER_NONE, NM_SUMMARY_MAX, stream->worst.underruns);
    ADD("worst_lateness", "ns", NM_BETTER_NONE, NM_SUMMARY_MAX, stream->worst.worst_late_ns);
}

static void play_metrics(const struct stream *stream, uint64_t elapsed_ns,
                         struct nm_metrics *metrics)
{
    ADD("underruns", "underruns", NM_BETTER_LOWER, NM_SUMMARY_MEDIAN, stream->best.underruns);
    ADD("players_failed", "1", NM_BETTER_LOWER, NM_SUMMARY_MEDIAN, stream->best.players_failed);
    ADD("worst_lateness", "ns", NM_BETTER_LOWER, NM_SUMMARY_MAX, stream->best.worst_late_ns);
    ADD("startup", "ns", NM_BETTER_LOWER, NM_SUMMARY_MEDIAN, stream->best.startup_ns);
    ADD("sustained", "1", NM_BETTER_HIGHER, NM_SUMMARY_MEDIAN, stream->best.carried);
    if (elapsed_ns)
        ADD("delivered_rate", "B/s", NM_BETTER_HIGHER, NM_SUMMARY_MEDIAN,
            (double)stream->bytes * 1e9 / (double)elapsed_ns);
}

/* The result is how many play, not how many bytes moved: those say nothing about the target. */
void nm_video_finish(void *state, uint64_t elapsed_ns, struct nm_metrics *metrics,
                     uint64_t *ret_bytes, uint64_t *ret_files)
{
    struct stream *stream = state;

    if (metrics && stream->video->options.players)
        play_metrics(stream, elapsed_ns, metrics);
    else if (metrics)
        search_metrics(stream, metrics);
    *ret_bytes = *ret_files = 0;
    free(stream->players);
    free(stream);
}
