/* One stream of mix: a player, or a writer of one file after the other (mix.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "mix.h"

#include "bitrate.h"
#include "player.h"
#include "transfer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum step { STEP_OPEN, STEP_PLAY, STEP_CLOSE, STEP_END };

struct stream {
    const struct nm_mix *mix;
    struct nm_workload_context context;
    bool layout, reader, waiting, begun;
    unsigned index; /* among the readers or the writers, from 0 */
    uint64_t base_bytes, end_ns, bytes;
    char path[192];
    struct nm_transfer transfer; /* layout, writer */
    struct nm_player player;
    enum step step; /* reader */
    uint32_t file;  /* writer: how many so far */
    bool removing, cut, finished;
};

static int check_device(const struct nm_mix *mix, const struct nm_workload_context *context,
                        struct nm_error *err)
{
    uint64_t needed = nm_mix_space(mix);

    if (context->block_bytes % context->unit_bytes ||
        nm_bitrate_block(mix->bits_per_s) % context->unit_bytes ||
        mix->options.size_bytes % context->unit_bytes ||
        mix->options.file_bytes % context->unit_bytes)
        return nm_error_set(err, -EOPNOTSUPP, NM_REASON_UNSUPPORTED,
                            "block, size and file must be multiples of the device's %" PRIu32
                            "-byte blocks",
                            context->unit_bytes);
    if (needed > context->capacity_bytes)
        return nm_error_set(err, -ENOSPC, NM_REASON_NO_SPACE,
                            "the device has %" PRIu64 " bytes, the workload needs %" PRIu64
                            "; lower size or upload",
                            context->capacity_bytes, needed);
    return 0;
}

static void name_file(struct stream *stream, uint64_t number)
{
    nm_workload_path(&stream->context, number, 0, stream->path, sizeof(stream->path));
}

/* The film of a reader. */
static void begin_reader(struct stream *stream)
{
    const struct nm_mix_options *options = &stream->mix->options;
    uint32_t block = nm_bitrate_block(stream->mix->bits_per_s);

    stream->base_bytes = stream->index * options->size_bytes;
    name_file(stream, stream->index);
    if (block > stream->context.block_bytes)
        block = stream->context.block_bytes;
    nm_player_shape(&stream->player, block, stream->mix->bits_per_s, options->buffer_ns);
    stream->player.part_bytes = options->size_bytes / block * block;
    stream->player.base_bytes = stream->context.on_blocks ? stream->base_bytes : 0;
}

/* base: on a device; position: of its data, never used twice. */
static void begin_transfer(struct stream *stream, uint64_t base_bytes, uint64_t position_bytes,
                           uint64_t size_bytes, uint64_t now_ns)
{
    struct nm_transfer *transfer = &stream->transfer;

    nm_transfer_upload(transfer, stream->path, stream->context.block_bytes, size_bytes);
    transfer->device = stream->context.on_blocks;
    transfer->base_bytes = transfer->device ? base_bytes : 0;
    transfer->position_bytes = position_bytes;
    nm_transfer_begin(transfer, now_ns);
}

int nm_mix_start(const struct nm_workload *workload, const struct nm_workload_context *context,
                 size_t phase, unsigned index, void **ret_state, struct nm_error *err)
{
    const struct nm_mix *mix = (const struct nm_mix *)workload;
    const struct nm_mix_options *options = &mix->options;
    int r = context->on_blocks ? check_device(mix, context, err) : 0;
    struct stream *stream = r ? NULL : calloc(1, sizeof(*stream));

    if (!stream)
        return r ? r : nm_error_no_memory(err);
    stream->mix = mix;
    stream->context = *context;
    stream->layout = phase == NM_MIX_LAYOUT;
    stream->reader = index < options->readers;
    stream->index = stream->reader ? index : index - options->readers;
    if (stream->reader)
        begin_reader(stream);
    else
        stream->base_bytes = options->readers * options->size_bytes +
                             (uint64_t)stream->index * mix->ring * options->file_bytes;
    stream->finished = stream->layout && !stream->reader;
    *ret_state = stream;
    return 0;
}

static enum nm_next next_layout(struct stream *stream, uint64_t now_ns, struct nm_op *op,
                                uint64_t *pattern_bytes)
{
    if (!stream->begun)
        begin_transfer(stream, stream->base_bytes, stream->base_bytes,
                       stream->mix->options.size_bytes, now_ns);
    stream->begun = true;
    return nm_transfer_next(&stream->transfer, op, pattern_bytes);
}

static enum nm_next next_reader(struct stream *stream, uint64_t now_ns, struct nm_op *op,
                                uint64_t *pattern_bytes, uint64_t *wait_until_ns)
{
    uint64_t wants_ns = stream->step == STEP_PLAY ? nm_player_wants_ns(&stream->player) : 0;

    if (stream->waiting)
        return NM_NEXT_WAIT;
    if (stream->step == STEP_PLAY && now_ns >= stream->end_ns)
        stream->step = STEP_CLOSE;
    switch (stream->step) {
    case STEP_OPEN:
        op->kind = NM_OP_OPEN;
        op->path = stream->path;
        op->open_flags = NM_OPEN_READ;
        break;
    case STEP_PLAY:
        if (wants_ns > now_ns) {
            *wait_until_ns = wants_ns < stream->end_ns ? wants_ns : stream->end_ns;
            return NM_NEXT_WAIT;
        }
        nm_player_read(&stream->player, op);
        *pattern_bytes = stream->base_bytes + op->offset_bytes - stream->player.base_bytes;
        break;
    case STEP_CLOSE:
        op->kind = NM_OP_CLOSE;
        op->file = stream->player.file;
        break;
    case STEP_END: return NM_NEXT_DONE;
    }
    stream->waiting = true;
    return NM_NEXT_OP;
}

/* One file after the other; the one that would be too many replaces the oldest. */
static enum nm_next next_writer(struct stream *stream, uint64_t now_ns, struct nm_op *op,
                                uint64_t *pattern_bytes)
{
    const struct nm_mix *mix = stream->mix;
    struct nm_transfer *transfer = &stream->transfer;
    uint32_t place = stream->file % mix->ring;

    if (stream->waiting)
        return NM_NEXT_WAIT;
    if (transfer->step == NM_TRANSFER_IDLE) {
        if (now_ns >= stream->end_ns)
            return NM_NEXT_DONE;
        name_file(stream, mix->options.readers + place * mix->options.writers + stream->index);
        if (stream->file >= mix->ring && !stream->removing && !stream->context.on_blocks) {
            op->kind = NM_OP_UNLINK;
            op->path = stream->path;
            stream->waiting = stream->removing = true;
            return NM_NEXT_OP;
        }
        stream->removing = false;
        begin_transfer(stream, stream->base_bytes + place * mix->options.file_bytes,
                       mix->options.readers * mix->options.size_bytes +
                           ((uint64_t)stream->file * mix->options.writers + stream->index) *
                               mix->options.file_bytes,
                       mix->options.file_bytes, now_ns);
        stream->file++;
    }
    if (now_ns >= stream->end_ns && !stream->cut && transfer->step == NM_TRANSFER_DATA) {
        stream->cut = true;
        transfer->size_bytes = transfer->next_bytes;
        if (!transfer->in_flight)
            transfer->step = NM_TRANSFER_FLUSH;
    }
    return nm_transfer_next(transfer, op, pattern_bytes);
}

enum nm_next nm_mix_next_op(void *state, uint64_t now_ns, struct nm_op *op, uint64_t *pattern_bytes,
                            uint64_t *wait_until_ns)
{
    struct stream *stream = state;

    *wait_until_ns = 0;
    if (stream->finished)
        return NM_NEXT_DONE;
    if (stream->layout)
        return next_layout(stream, now_ns, op, pattern_bytes);
    if (!stream->end_ns)
        stream->end_ns = now_ns + stream->mix->options.time_ns;
    return stream->reader ? next_reader(stream, now_ns, op, pattern_bytes, wait_until_ns)
                          : next_writer(stream, now_ns, op, pattern_bytes);
}

static int done_reader(struct stream *stream, struct nm_op *op, struct nm_error *err)
{
    stream->waiting = false;
    if (op->result < 0) {
        *err = op->err;
        return (int)op->result;
    }
    if (op->kind == NM_OP_READ && nm_workload_check_length(op, NM_SHORT_LAYOUT, err) < 0)
        return err->code;
    switch (op->kind) {
    case NM_OP_OPEN:
        stream->player.file = op->file;
        nm_player_begin(&stream->player, op->done_ns, UINT64_MAX);
        stream->step = STEP_PLAY;
        break;
    case NM_OP_READ:
        nm_player_done(&stream->player, op->done_ns);
        stream->bytes += op->length_bytes;
        break;
    default: stream->step = STEP_END; break;
    }
    return 0;
}

int nm_mix_done_op(void *state, struct nm_op *op, struct nm_error *err)
{
    struct stream *stream = state;
    int r;

    if (stream->reader && !stream->layout)
        return done_reader(stream, op, err);
    if (op->kind == NM_OP_UNLINK) {
        stream->waiting = false;
        if (op->result < 0)
            *err = op->err;
        return op->result < 0 ? (int)op->result : 0;
    }
    r = nm_transfer_done(&stream->transfer, op, err);
    /* What comes back after the end, when the readers have stopped, does not count. */
    if (op->kind == NM_OP_WRITE && op->result > 0 && op->done_ns <= stream->end_ns)
        stream->bytes += (uint64_t)op->result;
    stream->finished |= stream->layout && r > 0;
    return r < 0 ? r : 0;
}

/* ---- results ---- */

static void add(struct nm_metrics *metrics, const char *who, unsigned index, const char *what,
                const char *unit, enum nm_better better, double value)
{
    char name[32];

    snprintf(name, sizeof(name), "%s%u_%s", who, index + 1, what);
    nm_metrics_add(metrics, name, unit, better, NM_SUMMARY_MEDIAN, value);
}

void nm_mix_finish(void *state, uint64_t elapsed_ns, struct nm_metrics *metrics,
                   uint64_t *ret_bytes, uint64_t *ret_files)
{
    struct stream *stream = state;
    const struct nm_player *player = &stream->player;
    double rate = (double)stream->bytes * 1e9 / (double)stream->mix->options.time_ns;

    (void)elapsed_ns;
    if (metrics && stream->reader) {
        add(metrics, "reader", stream->index, "rate", "B/s", NM_BETTER_HIGHER, rate);
        add(metrics, "reader", stream->index, "underruns", "1", NM_BETTER_LOWER,
            (double)player->underruns + !player->play_ns);
        add(metrics, "reader", stream->index, "lateness", "ns", NM_BETTER_LOWER,
            (double)player->worst_late_ns);
    } else if (metrics) {
        add(metrics, "writer", stream->index, "rate", "B/s", NM_BETTER_HIGHER, rate);
    }
    *ret_bytes = *ret_files = 0;
    free(stream);
}
