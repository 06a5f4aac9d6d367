/* Whether a partition begins where the disk's blocks begin. Pure.
 *
 * Definition: grain = max(physical block, minimum I/O size); aligned when
 * (grain + alignment offset - start mod grain) mod grain = 0. A disk that says 512 bytes may have
 * media of 4096 and hide them behind a bridge, so that is judged too.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_ALIGNMENT_H
#define NM_ALIGNMENT_H

#include "partition.h"

/* What the disk tells, or what is assumed of it. */
struct nm_disk_shape {
    uint64_t size_bytes;
    uint32_t sector_bytes, physical_bytes;       /* physical is never 0 */
    uint32_t minimum_io_bytes, optimal_io_bytes; /* 0 = not told */
    uint32_t offset_bytes; /* the first physical block begins that far before or after sector 0 */
    bool assumed;          /* physical_bytes is a guess: nobody told */
};

enum nm_alignment {
    NM_ALIGNMENT_NONE, /* an extended partition: holds no data of its own */
    NM_ALIGNMENT_OK,
    NM_ALIGNMENT_WRONG,
    NM_ALIGNMENT_WRONG_ON_4K, /* fine for this disk, wrong for media of 4096 bytes */
    NM_ALIGNMENT_UNKNOWN,     /* wrong if the media of this big disk have 4096 bytes, not told */
};
const char *nm_alignment_name(enum nm_alignment alignment); /* "aligned", "misaligned" ... */

struct nm_alignment_verdict {
    enum nm_alignment alignment;
    uint64_t grain_bytes;  /* what it was judged by */
    uint64_t off_bytes;    /* from its start to the next place that is aligned; 0 = it is */
    bool on_mib;           /* begins at a multiple of 1 MiB */
    uint64_t better_bytes; /* where it should begin: the next such multiple */
};

void nm_alignment_judge(const struct nm_disk_shape *disk, const struct nm_partition *partition,
                        struct nm_alignment_verdict *ret);

#endif
