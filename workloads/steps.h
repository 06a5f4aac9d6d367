/* Steps of block access: "seq1MiB-q8t1-read", "rnd4KiB-q32t16-write", "rnd4KiB-q1t1-mix70".
 *
 * What ATTO, CrystalDiskMark and the like are made of: pattern, block, requests in flight, threads,
 * direction. A step's canonical text is the name of its phase. Pure.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_STEPS_H
#define NM_STEPS_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NM_STEPS_MAX 48

struct nm_step {
    bool random;
    uint32_t block_bytes;
    uint32_t depth, threads; /* 0 = the plan's */
    uint32_t read_percent;   /* 100 read, 0 write, else mixed */
    char name[40];
};

/* Parses one step. Defaults: q and t from the plan. */
int nm_step_parse(const char *text, struct nm_step *ret, struct nm_error *err) NM_MUST_CHECK;

/* Parses words separated by blanks; returns their number (1..NM_STEPS_MAX) or negative. */
int nm_steps_parse(const char *text, struct nm_step steps[NM_STEPS_MAX],
                   struct nm_error *err) NM_MUST_CHECK;

#endif
