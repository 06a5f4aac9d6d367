/* Latency histogram: log-linear buckets, plain data of fixed size (lives in shared memory).
 *
 * Values below 64 ns are exact. Above, every power of two is divided into 64 equal buckets, so a
 * bucket of values [v, v + w) has w = 2^k with v >= 64 * 2^k: w / v <= 1/64. Reported is the middle
 * of the bucket: its distance to any member is at most w / 2, a relative error of at most 1/128 =
 * 0.78 % (<= 1 %). 64-bit range: 58 powers x 64 + 64 buckets.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_HISTOGRAM_H
#define NM_HISTOGRAM_H

#include "error.h"

#include <stddef.h>
#include <stdint.h>

#define NM_HISTOGRAM_SUB_BITS 6
#define NM_HISTOGRAM_BUCKETS  ((64 - NM_HISTOGRAM_SUB_BITS + 1) << NM_HISTOGRAM_SUB_BITS)

struct nm_histogram {
    uint64_t count, sum_ns, min_ns, max_ns; /* min_ns is meaningless while count == 0 */
    uint32_t buckets[NM_HISTOGRAM_BUCKETS];
};

void nm_histogram_add(struct nm_histogram *histogram, uint64_t value_ns);
void nm_histogram_merge(struct nm_histogram *histogram, const struct nm_histogram *other);

/* Value below or at which `fraction` (0..1) of the counts lie, clamped to [min, max]; 0 when empty.
 */
uint64_t nm_histogram_percentile(const struct nm_histogram *histogram, double fraction);

/* Compact, lossless text "index:count ..." for the store; heap; NULL when out of memory. */
char *nm_histogram_format(const struct nm_histogram *histogram);
int nm_histogram_parse(const char *text, struct nm_histogram *ret,
                       struct nm_error *err) NM_MUST_CHECK;

#endif
