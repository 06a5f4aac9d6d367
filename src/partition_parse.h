/* Private to partition*.c.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_PARTITION_PARSE_H
#define NM_PARTITION_PARSE_H

#include "partition.h"

#define NM_SECTOR_MAX 4096u

static inline uint32_t nm_le32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t nm_le64(const unsigned char *p)
{
    return nm_le32(p) | (uint64_t)nm_le32(p + 4) << 32;
}

/* Reads inside the disk only: 1 = read, 0 = it does not lie on the disk. */
int nm_disk_read(const struct nm_disk *disk, uint64_t offset_bytes, void *buf,
                 uint32_t length_bytes, struct nm_error *err) NM_MUST_CHECK;

void nm_partition_warn(struct nm_partition_table *table, const char *fmt, ...) NM_PRINTF(2, 3);

/* The next free row, NULL (with one warning) when there is none. start and size are checked against
 * the disk. */
struct nm_partition *nm_partition_add(const struct nm_disk *disk, struct nm_partition_table *table,
                                      uint32_t number, uint64_t first_sector, uint64_t sectors);

struct nm_mbr {
    bool valid;      /* signature, and entries that can be meant */
    bool protective; /* has an entry of type 0xee */
    bool other;      /* has entries of other types */
};

/* What the first sector is as an MBR. */
void nm_mbr_look(const unsigned char sector[512], struct nm_mbr *ret);
/* Its partitions and the logical ones, in units of table->sector_bytes. */
int nm_mbr_read(const struct nm_disk *disk, const unsigned char sector[512],
                struct nm_partition_table *table, struct nm_error *err) NM_MUST_CHECK;

/* GPT with sectors of sector_bytes: 1 = read into table, 0 = there is none. */
int nm_gpt_read(const struct nm_disk *disk, uint32_t sector_bytes, bool protective,
                struct nm_partition_table *table, struct nm_error *err) NM_MUST_CHECK;

#endif
