/* Which bytes of a file were written (lunfs.h). Blocks are allocated before they are written and
 * hold whatever was on the LUN, so the gaps between written ranges read as zero and are zeroed
 * before the file is closed. Writers that go through a file at some queue depth need a handful of
 * ranges; when there are too many the smallest gap is zeroed at once.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "lunfs.h"

#include <string.h>

bool lunfs_span_from(const struct lunfs_node *node, uint64_t offset_bytes, struct lunfs_span *ret)
{
    uint32_t low = 0, high = node->n_spans;

    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (node->spans[middle].end <= offset_bytes)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == node->n_spans)
        return false;
    *ret = node->spans[low];
    return true;
}

static int zero_smallest_gap(struct lunfs *fs, struct lunfs_node *node, struct nm_error *err)
{
    struct lunfs_span *spans = node->spans;
    uint64_t smallest = UINT64_MAX;
    uint32_t best = 0;
    int r;

    for (uint32_t i = 0; i + 1 < node->n_spans; i++)
        if (spans[i + 1].start - spans[i].end < smallest) {
            smallest = spans[i + 1].start - spans[i].end;
            best = i;
        }
    r = lunfs_data_write(fs, node, spans[best].end, NULL, smallest, err);
    if (r < 0)
        return r;
    spans[best].end = spans[best + 1].end;
    node->n_spans--;
    memmove(&spans[best + 1], &spans[best + 2], (node->n_spans - best - 1) * sizeof(*spans));
    return 0;
}

int lunfs_span_add(struct lunfs *fs, struct lunfs_node *node, uint64_t start, uint64_t end,
                   struct nm_error *err)
{
    struct lunfs_span *spans = node->spans;
    uint32_t first = 0, last;

    while (first < node->n_spans && spans[first].end < start)
        first++;
    for (last = first; last < node->n_spans && spans[last].start <= end; last++) {
        start = spans[last].start < start ? spans[last].start : start;
        end = spans[last].end > end ? spans[last].end : end;
    }
    if (last > first) { /* touches first..last-1: one range instead of them */
        memmove(&spans[first + 1], &spans[last], (node->n_spans - last) * sizeof(*spans));
        node->n_spans -= last - first - 1;
    } else {
        if (node->n_spans == LUNFS_SPANS) {
            int r = zero_smallest_gap(fs, node, err);

            return r < 0 ? r : lunfs_span_add(fs, node, start, end, err);
        }
        memmove(&spans[first + 1], &spans[first], (node->n_spans - first) * sizeof(*spans));
        node->n_spans++;
    }
    spans[first] = (struct lunfs_span){start, end};
    return 0;
}

int lunfs_span_fill(struct lunfs *fs, struct lunfs_node *node, struct nm_error *err)
{
    uint64_t at = 0;
    int r = 0;

    for (uint32_t i = 0; i < node->n_spans && !r; i++) {
        if (node->spans[i].start > at)
            r = lunfs_data_write(fs, node, at, NULL, node->spans[i].start - at, err);
        at = node->spans[i].end;
    }
    if (r < 0)
        return r;
    node->n_spans = node->size_bytes ? 1 : 0;
    node->spans[0] = (struct lunfs_span){0, node->size_bytes};
    return 0;
}
