/* Log-linear latency histogram (histogram.h has the error bound).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "histogram.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUB (UINT64_C(1) << NM_HISTOGRAM_SUB_BITS)

static unsigned bucket_of(uint64_t value)
{
    if (value < SUB)
        return (unsigned)value;
    unsigned power = 63u - (unsigned)__builtin_clzll(value); /* >= SUB_BITS */
    unsigned shift = power - NM_HISTOGRAM_SUB_BITS;

    return ((shift + 1) << NM_HISTOGRAM_SUB_BITS) + (unsigned)((value >> shift) - SUB);
}

static uint64_t middle_of(unsigned bucket)
{
    if (bucket < SUB)
        return bucket;
    unsigned shift = (bucket >> NM_HISTOGRAM_SUB_BITS) - 1;
    uint64_t low = (SUB + (bucket & (SUB - 1))) << shift;

    return low + ((UINT64_C(1) << shift) >> 1);
}

void nm_histogram_add(struct nm_histogram *h, uint64_t value_ns)
{
    h->buckets[bucket_of(value_ns)]++;
    if (!h->count || value_ns < h->min_ns)
        h->min_ns = value_ns;
    if (value_ns > h->max_ns)
        h->max_ns = value_ns;
    h->count++;
    h->sum_ns += value_ns;
}

void nm_histogram_merge(struct nm_histogram *h, const struct nm_histogram *other)
{
    if (!other->count)
        return;
    if (!h->count || other->min_ns < h->min_ns)
        h->min_ns = other->min_ns;
    if (other->max_ns > h->max_ns)
        h->max_ns = other->max_ns;
    h->count += other->count;
    h->sum_ns += other->sum_ns;
    for (unsigned i = 0; i < NM_HISTOGRAM_BUCKETS; i++)
        h->buckets[i] += other->buckets[i];
}

uint64_t nm_histogram_percentile(const struct nm_histogram *h, double fraction)
{
    double exact = fraction * (double)h->count;
    uint64_t rank = (uint64_t)exact, seen = 0;

    if (!h->count)
        return 0;
    if ((double)rank < exact || !rank)
        rank++;
    for (unsigned i = 0; i < NM_HISTOGRAM_BUCKETS; i++) {
        seen += h->buckets[i];
        if (seen >= rank) {
            uint64_t value = middle_of(i);

            return value < h->min_ns ? h->min_ns : value > h->max_ns ? h->max_ns : value;
        }
    }
    return h->max_ns;
}

char *nm_histogram_format(const struct nm_histogram *h)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    fprintf(out, "sum=%" PRIu64 " min=%" PRIu64 " max=%" PRIu64, h->sum_ns, h->min_ns, h->max_ns);
    for (unsigned i = 0; i < NM_HISTOGRAM_BUCKETS; i++)
        if (h->buckets[i])
            fprintf(out, " %u:%" PRIu32, i, h->buckets[i]);
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}

int nm_histogram_parse(const char *text, struct nm_histogram *ret, struct nm_error *err)
{
    struct nm_histogram h = {0};
    int used = 0;

    if (sscanf(text, "sum=%" SCNu64 " min=%" SCNu64 " max=%" SCNu64 "%n", &h.sum_ns, &h.min_ns,
               &h.max_ns, &used) != 3)
        return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL, "histogram: not in the stored form");
    for (text += used; *text;) {
        unsigned bucket;
        uint32_t count;

        if (sscanf(text, " %u:%" SCNu32 "%n", &bucket, &count, &used) != 2 ||
            bucket >= NM_HISTOGRAM_BUCKETS)
            return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                                "histogram: bad bucket at '%.20s'", text);
        h.buckets[bucket] = count;
        h.count += count;
        text += used;
    }
    *ret = h;
    return 0;
}
