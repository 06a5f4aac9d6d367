/* Bit rates of films: "8Mbit", "25.5Mbit", "400kbit". Pure.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_BITRATE_H
#define NM_BITRATE_H

#include "error.h"

#include <stdint.h>

#define NM_BITRATE_TEXT 24

/* bit, kbit, Mbit or Gbit per second; "/s" may follow. */
int nm_bitrate_parse(const char *text, uint64_t *ret_bits_per_s,
                     struct nm_error *err) NM_MUST_CHECK;

/* Shortest exact spelling. */
const char *nm_bitrate_format(uint64_t bits_per_s, char out[NM_BITRATE_TEXT]);

/* Size of one read of a player: the power of two below 1/16 s, 64 KiB to 1 MiB. */
uint32_t nm_bitrate_block(uint64_t bits_per_s);

#endif
