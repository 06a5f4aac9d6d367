/* GPT: header, entries, backup (partition_parse.h). UEFI specification 2.10, chapter 5.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "partition_parse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES  92
#define ENTRY_LEAST   128u
#define ENTRY_MOST    4096u
#define ENTRIES_BYTES (1u << 20) /* 8192 entries of 128 bytes; more is an attack */
#define NAME_AT       56
#define NAME_UNITS    36

struct header {
    uint64_t own_sector, other_sector, entries_sector;
    uint32_t entries, entry_bytes, entries_crc;
};

static uint32_t crc32_of(const unsigned char *data, size_t length)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < length; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
    }
    return ~crc;
}

/* 1 = a header that is whole and says that it lies here. */
static int read_header(const struct nm_disk *disk, uint32_t unit, uint64_t at_sector,
                       struct header *ret, bool *ret_signature, struct nm_error *err)
{
    unsigned char sector[NM_SECTOR_MAX];
    uint32_t length, crc;
    int r = nm_disk_read(disk, at_sector * unit, sector, unit, err);

    *ret_signature = r == 1 && !memcmp(sector, "EFI PART", 8);
    if (r != 1 || !*ret_signature)
        return r < 0 ? r : 0;
    length = nm_le32(sector + 12);
    crc = nm_le32(sector + 16);
    if (length < HEADER_BYTES || length > unit)
        return 0;
    memset(sector + 16, 0, 4);
    *ret = (struct header){.own_sector = nm_le64(sector + 24),
                           .other_sector = nm_le64(sector + 32),
                           .entries_sector = nm_le64(sector + 72),
                           .entries = nm_le32(sector + 80),
                           .entry_bytes = nm_le32(sector + 84),
                           .entries_crc = nm_le32(sector + 88)};
    if (crc32_of(sector, length) != crc || ret->own_sector != at_sector ||
        ret->entry_bytes < ENTRY_LEAST || ret->entry_bytes > ENTRY_MOST ||
        ret->entry_bytes & (ret->entry_bytes - 1) || !ret->entries ||
        ret->entries > ENTRIES_BYTES / ret->entry_bytes)
        return 0;
    return 1;
}

static void put_utf8(char **at, uint32_t c)
{
    if (c < 0x80) {
        *(*at)++ = (char)c;
    } else if (c < 0x800) {
        *(*at)++ = (char)(0xc0 | c >> 6);
        *(*at)++ = (char)(0x80 | (c & 0x3f));
    } else {
        *(*at)++ = (char)(0xe0 | c >> 12);
        *(*at)++ = (char)(0x80 | (c >> 6 & 0x3f));
        *(*at)++ = (char)(0x80 | (c & 0x3f));
    }
}

/* UTF-16LE; what is no character of the basic plane, or controls the terminal, becomes '?'. */
static void take_name(const unsigned char *units, char out[112])
{
    char *at = out;

    for (unsigned i = 0; i < NAME_UNITS; i++) {
        uint32_t c = (uint32_t)units[2 * i] | (uint32_t)units[2 * i + 1] << 8;

        if (!c)
            break;
        put_utf8(&at, c < ' ' || (c >= 0x7f && c < 0xa0) || (c >= 0xd800 && c < 0xe000) ? '?' : c);
    }
    *at = '\0';
}

/* The first three groups are little-endian. */
static void take_guid(const unsigned char *g, char out[40])
{
    snprintf(out, 40, "%02X%02X%02X%02X-%02X%02X-%02X%02X-%02X%02X-%02X%02X%02X%02X%02X%02X", g[3],
             g[2], g[1], g[0], g[5], g[4], g[7], g[6], g[8], g[9], g[10], g[11], g[12], g[13],
             g[14], g[15]);
}

static void take_entry(const struct nm_disk *disk, struct nm_partition_table *table,
                       const unsigned char *entry, uint32_t number)
{
    static const unsigned char unused[16];
    uint64_t first = nm_le64(entry + 32), last = nm_le64(entry + 40);
    struct nm_partition *partition;

    if (!memcmp(entry, unused, sizeof(unused)))
        return;
    if (last < first || last == UINT64_MAX) {
        nm_partition_warn(table, "partition %" PRIu32 " ends before it begins; left out", number);
        table->damaged = true;
        return;
    }
    partition = nm_partition_add(disk, table, number, first, last - first + 1);
    if (!partition)
        return;
    take_guid(entry, partition->type);
    take_name(entry + NAME_AT, partition->name);
}

/* 1 = the entries are whole and in the table. */
static int read_entries(const struct nm_disk *disk, const struct header *header,
                        struct nm_partition_table *table, struct nm_error *err)
{
    uint32_t unit = table->sector_bytes, bytes = header->entries * header->entry_bytes;
    uint32_t read_bytes = (bytes + unit - 1) / unit * unit;
    unsigned char *entries = malloc(read_bytes);
    int r;

    if (!entries)
        return nm_error_no_memory(err);
    r = header->entries_sector > UINT64_MAX / unit
            ? 0
            : nm_disk_read(disk, header->entries_sector * unit, entries, read_bytes, err);
    if (r == 1 && crc32_of(entries, bytes) != header->entries_crc)
        r = 0;
    for (uint32_t i = 0; r == 1 && i < header->entries; i++)
        take_entry(disk, table, entries + (size_t)i * header->entry_bytes, i + 1);
    free(entries);
    return r;
}

static void judge_backup(const struct header *first, uint64_t last_sector, bool whole,
                         struct nm_partition_table *table)
{
    if (!whole)
        nm_partition_warn(table, "the backup header at the end is missing or damaged; sgdisk -e or "
                                 "gdisk writes it anew");
    if (first->other_sector != last_sector)
        nm_partition_warn(table,
                          "the backup header is expected at sector %" PRIu64
                          ", the disk ends at sector %" PRIu64 ": it was resized or copied",
                          first->other_sector, last_sector);
}

int nm_gpt_read(const struct nm_disk *disk, uint32_t sector_bytes, bool protective,
                struct nm_partition_table *table, struct nm_error *err)
{
    uint64_t last_sector = disk->size_bytes / sector_bytes - 1;
    struct header first, backup;
    bool first_there, backup_there;
    int r, first_whole, backup_whole;

    if (disk->size_bytes / sector_bytes < 3)
        return 0;
    first_whole = read_header(disk, sector_bytes, 1, &first, &first_there, err);
    if (first_whole < 0)
        return first_whole;
    backup_whole = read_header(disk, sector_bytes, last_sector, &backup, &backup_there, err);
    if (backup_whole < 0)
        return backup_whole;
    if (!first_whole && !backup_whole && !first_there)
        return 0;
    table->scheme = NM_SCHEME_GPT;
    table->sector_bytes = sector_bytes;
    if (!protective)
        nm_partition_warn(table, "there is no protective MBR; old tools take the disk for empty");
    if (first_whole) {
        r = read_entries(disk, &first, table, err);
        if (r == 1)
            judge_backup(&first, last_sector, backup_whole == 1, table);
        if (r)
            return r;
    }
    nm_partition_warn(table, "the first GPT header or its entries are damaged%s",
                      backup_whole ? "; read from the backup" : ", and so is the backup");
    table->damaged = true;
    table->backup_used = backup_whole;
    r = backup_whole ? read_entries(disk, &backup, table, err) : 0;
    return r < 0 ? r : 1;
}
