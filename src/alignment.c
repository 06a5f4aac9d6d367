/* Whether a partition is aligned (alignment.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "alignment.h"

#define MIB       (UINT64_C(1) << 20)
#define MEDIA_4K  UINT64_C(4096)
#define BIG_BYTES UINT64_C(1000000000000) /* from about here on disks have 4 KiB media */

const char *nm_alignment_name(enum nm_alignment alignment)
{
    static const char *const names[] = {
        [NM_ALIGNMENT_NONE] = "container",
        [NM_ALIGNMENT_OK] = "aligned",
        [NM_ALIGNMENT_WRONG] = "misaligned",
        [NM_ALIGNMENT_WRONG_ON_4K] = "misaligned-on-4k",
        [NM_ALIGNMENT_UNKNOWN] = "misaligned-if-4k",
    };

    return names[alignment];
}

/* From start to the next aligned place. */
static uint64_t distance(uint64_t start_bytes, uint64_t grain_bytes, uint64_t offset_bytes)
{
    return (grain_bytes + offset_bytes % grain_bytes - start_bytes % grain_bytes) % grain_bytes;
}

void nm_alignment_judge(const struct nm_disk_shape *disk, const struct nm_partition *partition,
                        struct nm_alignment_verdict *ret)
{
    uint64_t start = partition->start_bytes, grain = disk->physical_bytes;
    struct nm_alignment_verdict verdict = {.alignment = NM_ALIGNMENT_OK,
                                           .on_mib = start % MIB == 0};

    if (disk->minimum_io_bytes > grain)
        grain = disk->minimum_io_bytes;
    verdict.off_bytes = distance(start, grain, disk->offset_bytes);
    if (verdict.off_bytes) {
        verdict.alignment = NM_ALIGNMENT_WRONG;
    } else if (grain < MEDIA_4K && distance(start, MEDIA_4K, disk->offset_bytes)) {
        verdict.alignment =
            disk->size_bytes >= BIG_BYTES ? NM_ALIGNMENT_UNKNOWN : NM_ALIGNMENT_WRONG_ON_4K;
        grain = MEDIA_4K;
        verdict.off_bytes = distance(start, grain, disk->offset_bytes);
    }
    verdict.grain_bytes = grain;
    if (verdict.off_bytes) {
        uint64_t step = MIB % grain ? grain : MIB;

        verdict.better_bytes = (start / step + 1) * step + disk->offset_bytes % grain;
    }
    if (partition->container)
        verdict.alignment = NM_ALIGNMENT_NONE;
    *ret = verdict;
}
