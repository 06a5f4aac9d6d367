/* The MBR and the chain of its logical partitions (partition_parse.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "partition_parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ENTRIES_AT   446
#define ENTRY_BYTES  16
#define ENTRIES      4
#define LOGICALS_MAX 128

struct entry {
    unsigned char status, type;
    uint32_t first_sector, sectors;
};

static struct entry entry_at(const unsigned char *sector, unsigned i)
{
    const unsigned char *p = sector + ENTRIES_AT + i * ENTRY_BYTES;

    return (struct entry){p[0], p[4], nm_le32(p + 8), nm_le32(p + 12)};
}

static bool has_signature(const unsigned char *sector)
{
    return sector[510] == 0x55 && sector[511] == 0xaa;
}

static bool is_extended(unsigned char type)
{
    return type == 0x05 || type == 0x0f || type == 0x85;
}

/* A boot sector of FAT or NTFS has the same signature: there, entries are text or code. */
void nm_mbr_look(const unsigned char sector[512], struct nm_mbr *ret)
{
    *ret = (struct nm_mbr){.valid = has_signature(sector)};
    for (unsigned i = 0; i < ENTRIES; i++) {
        struct entry entry = entry_at(sector, i);

        if (entry.status & 0x7f)
            ret->valid = false;
        if (!entry.type || !entry.sectors)
            continue;
        *(entry.type == 0xee ? &ret->protective : &ret->other) = true;
        if (!entry.first_sector)
            ret->valid = false;
    }
    if (!ret->valid)
        *ret = (struct nm_mbr){0};
}

static void fill(struct nm_partition *partition, const struct entry *entry)
{
    if (!partition)
        return;
    snprintf(partition->type, sizeof(partition->type), "0x%02x", entry->type);
    partition->container = is_extended(entry->type);
}

/* Each link of the chain holds one logical partition (relative to the link) and the next link
 * (relative to the extended partition). */
static int read_logicals(const struct nm_disk *disk, uint64_t extended_sector,
                         struct nm_partition_table *table, struct nm_error *err)
{
    uint32_t unit = table->sector_bytes;
    unsigned char sector[NM_SECTOR_MAX];
    uint64_t link = extended_sector;

    for (unsigned n = 0; n < LOGICALS_MAX; n++) {
        struct entry data, next;
        struct nm_partition *partition;
        int r = nm_disk_read(disk, link * unit, sector, unit, err);

        if (r < 0)
            return r;
        if (!r || !has_signature(sector)) {
            nm_partition_warn(table, "the chain of logical partitions breaks at sector %" PRIu64,
                              link);
            table->damaged = true;
            return 0;
        }
        data = entry_at(sector, 0);
        next = entry_at(sector, 1);
        if (data.type && data.sectors) {
            partition =
                nm_partition_add(disk, table, 5 + n, link + data.first_sector, data.sectors);
            fill(partition, &data);
            if (partition)
                partition->logical = true;
        }
        if (!is_extended(next.type) || !next.sectors)
            return 0;
        if (extended_sector + next.first_sector <= link) {
            nm_partition_warn(table,
                              "the chain of logical partitions runs in a circle at sector "
                              "%" PRIu64,
                              link);
            table->damaged = true;
            return 0;
        }
        link = extended_sector + next.first_sector;
    }
    nm_partition_warn(table, "more than %d logical partitions; the rest is not shown",
                      LOGICALS_MAX);
    return 0;
}

int nm_mbr_read(const struct nm_disk *disk, const unsigned char sector[512],
                struct nm_partition_table *table, struct nm_error *err)
{
    const uint64_t reach_bytes = (UINT64_C(1) << 32) * table->sector_bytes;
    int r = 0;

    for (unsigned i = 0; i < ENTRIES; i++) {
        struct entry entry = entry_at(sector, i);

        if (!entry.type || !entry.sectors || entry.type == 0xee)
            continue;
        fill(nm_partition_add(disk, table, i + 1, entry.first_sector, entry.sectors), &entry);
    }
    for (unsigned i = 0; i < ENTRIES && !r; i++) {
        struct entry entry = entry_at(sector, i);

        if (is_extended(entry.type) && entry.sectors)
            r = read_logicals(disk, entry.first_sector, table, err);
    }
    if (disk->size_bytes > reach_bytes && table->scheme == NM_SCHEME_MBR)
        nm_partition_warn(
            table, "%" PRIu64 " bytes beyond %" PRIu64 " cannot be reached with an MBR; use GPT",
            disk->size_bytes - reach_bytes, reach_bytes);
    return r;
}
