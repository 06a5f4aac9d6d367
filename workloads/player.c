/* One playback (player.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "player.h"

#include "clock.h"

/* With as many players as the target can just carry, all ask at once and the last one gets its
 * block when the next is due; one more for the measurement itself. */
#define ANSWER_BLOCKS 2

void nm_player_shape(struct nm_player *player, uint32_t block_bytes, uint64_t bits_per_s,
                     uint64_t buffer_ns)
{
    player->block_bytes = block_bytes;
    player->block_ns =
        (uint64_t)((double)block_bytes * 8 * (double)NM_NS_PER_S / (double)bits_per_s);
    player->buffer_blocks = (uint32_t)(buffer_ns / player->block_ns);
}

void nm_player_begin(struct nm_player *player, uint64_t now_ns, uint64_t late_from_ns)
{
    player->begin_ns = now_ns;
    player->late_from_ns = late_from_ns;
    player->play_ns = player->got_blocks = 0;
    player->underruns = player->worst_late_ns = player->slack_ns = 0;
    player->in_flight = false;
}

uint64_t nm_player_wants_ns(const struct nm_player *player)
{
    if (player->in_flight)
        return UINT64_MAX;
    if (!player->play_ns)
        return player->begin_ns;
    /* when the block that lies in its place has been played */
    return player->play_ns + (player->got_blocks - player->buffer_blocks + 1) * player->block_ns;
}

void nm_player_read(struct nm_player *player, struct nm_op *op)
{
    op->kind = NM_OP_READ;
    op->file = player->file;
    op->offset_bytes = player->base_bytes + player->next_bytes;
    op->length_bytes = player->block_bytes;
    op->discard = true;
    op->user = player;
    player->next_bytes = (player->next_bytes + player->block_bytes) % player->part_bytes;
    player->in_flight = true;
}

void nm_player_done(struct nm_player *player, uint64_t done_ns)
{
    uint64_t needed_ns = player->play_ns + player->got_blocks * player->block_ns;

    player->in_flight = false;
    player->got_blocks++;
    if (!player->play_ns) {
        if (player->got_blocks == player->buffer_blocks)
            player->play_ns = done_ns;
        return;
    }
    if (done_ns > needed_ns) {
        uint64_t late_ns = done_ns - needed_ns;

        player->underruns++;
        if (late_ns > player->worst_late_ns)
            player->worst_late_ns = late_ns;
        player->play_ns += late_ns;
    } else if (done_ns >= player->late_from_ns && needed_ns - done_ns > player->slack_ns) {
        player->slack_ns = needed_ns - done_ns;
    }
}

uint64_t nm_player_full_ns(const struct nm_player *player)
{
    return (player->buffer_blocks - 1 - ANSWER_BLOCKS) * player->block_ns;
}
