/* Test data: positional, incompressible, unique per 512-byte block, checkable at any offset.
 *
 * Every 8-byte word at position p (bytes, multiple of 8) of a data space is
 *     mix(base + p / 8)
 * where mix is the SplitMix64 finaliser (Steele, Lea, Flood 2014: a bijection on 64 bits) and base
 * is unique per run and group. Since mix can be inverted, a wrong block tells where it came from:
 * undoing mix on its first word gives base' + p', i.e. the file and offset (swapped), another
 * group's base (stale), or neither (damaged). No stamp has to be written and nothing is stored.
 * Every run draws a random 64-bit origin; group g of the run has base = origin + g * 2^41 words,
 * room for 16 TiB.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_PATTERN_H
#define NM_PATTERN_H

#include "error.h"
#include "options.h"

#include <stddef.h>
#include <stdint.h>

#define NM_PATTERN_GROUP_WORDS (UINT64_C(1) << 41)
#define NM_PATTERN_BLOCK_BYTES 512u

struct nm_pattern {
    uint64_t origin; /* of the run */
    uint64_t base;   /* of the group */
    struct nm_data_kind data;
};

/* group counts from 0 within the run. */
void nm_pattern_init(struct nm_pattern *pattern, uint64_t origin, uint64_t group,
                     struct nm_data_kind data);

/* Fills length bytes for position_bytes (any alignment, any length). */
void nm_pattern_fill(const struct nm_pattern *pattern, uint64_t position_bytes, void *buf,
                     size_t length);

/* Checks; 0 when equal. Otherwise -EILSEQ, *ret_offset = first wrong byte in buf, err (reason
 * corrupt) says damaged, stale, swapped or zeroes and, where known, the position the bytes belong
 * to. */
int nm_pattern_check(const struct nm_pattern *pattern, uint64_t position_bytes, const void *buf,
                     size_t length, size_t *ret_offset, struct nm_error *err) NM_MUST_CHECK;

#endif
