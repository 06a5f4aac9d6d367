/* A small, documented generator: what is drawn from a stored seed is the same everywhere.
 *
 * SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_RANDOM_H
#define NM_RANDOM_H

#include <stdint.h>

/* Its finaliser, a bijection on 64 bits. */
static inline uint64_t nm_random_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline uint64_t nm_random_next(uint64_t *state)
{
    return nm_random_mix(*state += UINT64_C(0x9e3779b97f4a7c15));
}

#endif
