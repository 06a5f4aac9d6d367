/* One playback at a constant bit rate: fills a buffer, plays, reads a block whenever there is room,
 * and notes every block that came too late. What video and mix are made of.
 *
 * Block k (from 0) is needed at play + k * block_ns, where play is when the buffer was full for the
 * first time. A block that comes later is an underrun: the picture stands still for exactly that
 * long and goes on, so everything after it is needed later too. One read is in flight at a time. A
 * generator without I/O of its own; file and time come from outside.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_PLAYER_H
#define NM_PLAYER_H

#include "workload.h"

#define NM_PLAYER_BUFFER_BLOCKS_MIN 4 /* fewer cannot tell a slow target from a late block */

struct nm_player {
    /* the caller's */
    struct nm_file *file;
    uint64_t base_bytes, part_bytes; /* what it reads, over and over; part is whole blocks */
    uint64_t next_bytes;             /* where it begins, inside the part; whole blocks */
    uint32_t block_bytes;
    uint64_t block_ns; /* how long one block plays */
    uint32_t buffer_blocks;
    /* its own */
    uint64_t begin_ns, play_ns; /* play 0 = still filling */
    uint64_t late_from_ns;      /* from here on the slack counts */
    uint64_t got_blocks;
    bool in_flight;
    /* results */
    uint64_t underruns, worst_late_ns;
    uint64_t slack_ns; /* most time that a block of the last part was there before its use */
};

/* How long block_bytes play at a bit rate, and how many of them a buffer of buffer_ns holds. */
void nm_player_shape(struct nm_player *player, uint32_t block_bytes, uint64_t bits_per_s,
                     uint64_t buffer_ns);

/* Begins; late_from_ns: slack counts from then on. The fields of the caller are set. */
void nm_player_begin(struct nm_player *player, uint64_t now_ns, uint64_t late_from_ns);

/* When it wants its next block; UINT64_MAX: not before the one in flight is there. */
uint64_t nm_player_wants_ns(const struct nm_player *player);

/* The read of that block. */
void nm_player_read(struct nm_player *player, struct nm_op *op);

/* A block is there. */
void nm_player_done(struct nm_player *player, uint64_t done_ns);

/* Most slack that a player with a full buffer can show, less the blocks that an equally loaded
 * target takes to answer. */
uint64_t nm_player_full_ns(const struct nm_player *player);

#endif
