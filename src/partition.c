/* Which table a disk has (partition.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "partition.h"

#include "blank.h"
#include "partition_parse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What libblkid gets to see: VMFS has its superblock at 2 MiB, md and others have theirs at the
 * end. */
#define HEAD_BYTES (4u << 20)
#define TAIL_BYTES (1u << 20)

const char *nm_partition_scheme_name(enum nm_partition_scheme scheme)
{
    static const char *const names[] = {[NM_SCHEME_NONE] = "none",
                                        [NM_SCHEME_MBR] = "mbr",
                                        [NM_SCHEME_GPT] = "gpt",
                                        [NM_SCHEME_HYBRID] = "gpt-hybrid"};

    return names[scheme];
}

int nm_disk_read(const struct nm_disk *disk, uint64_t offset_bytes, void *buf,
                 uint32_t length_bytes, struct nm_error *err)
{
    int r;

    if (length_bytes > disk->size_bytes || offset_bytes > disk->size_bytes - length_bytes)
        return 0;
    r = disk->read(disk->context, offset_bytes, buf, length_bytes, err);
    return r < 0 ? r : 1;
}

void nm_partition_warn(struct nm_partition_table *table, const char *fmt, ...)
{
    va_list ap;

    if (table->n_warnings == NM_PARTITION_WARNINGS_MAX)
        return;
    va_start(ap, fmt);
    vsnprintf(table->warnings[table->n_warnings++], sizeof(table->warnings[0]), fmt, ap);
    va_end(ap);
}

struct nm_partition *nm_partition_add(const struct nm_disk *disk, struct nm_partition_table *table,
                                      uint32_t number, uint64_t first_sector, uint64_t sectors)
{
    uint64_t disk_sectors = disk->size_bytes / table->sector_bytes;
    uint64_t most = UINT64_MAX / table->sector_bytes;
    struct nm_partition *partition;

    if (table->count == NM_PARTITIONS_MAX) {
        nm_partition_warn(table, "more than %d partitions; the rest is not shown",
                          NM_PARTITIONS_MAX);
        return NULL;
    }
    if (first_sector >= most || sectors > most - first_sector) {
        nm_partition_warn(table, "partition %" PRIu32 " lies beyond 2^64 bytes; left out", number);
        table->damaged = true;
        return NULL;
    }
    if (first_sector + sectors > disk_sectors) {
        nm_partition_warn(table,
                          "partition %" PRIu32 " ends at sector %" PRIu64
                          ", beyond the end of the disk at sector %" PRIu64,
                          number, first_sector + sectors - 1, disk_sectors - 1);
        table->damaged = true;
    }
    partition = &table->items[table->count++];
    *partition = (struct nm_partition){.number = number,
                                       .start_bytes = first_sector * table->sector_bytes,
                                       .size_bytes = sectors * table->sector_bytes};
    return partition;
}

/* ---- without a table ---- */

static int copy_part(const struct nm_disk *disk, int memory, uint64_t begin_bytes,
                     uint64_t end_bytes, unsigned char *buf, struct nm_error *err)
{
    for (uint64_t at = begin_bytes; at < end_bytes;) {
        uint32_t length = end_bytes - at < TAIL_BYTES ? (uint32_t)(end_bytes - at) : TAIL_BYTES;
        int r = nm_disk_read(disk, at, buf, length, err);

        if (r < 0)
            return r;
        if (pwrite(memory, buf, length, (off_t)at) != (ssize_t)length)
            return nm_error_errno(err, -ENOMEM, "no memory for the ends of the disk");
        at += length;
    }
    return 0;
}

/* Head and tail at their places in a sparse file in memory. */
static int name_contents(const struct nm_disk *disk, struct nm_partition_table *table,
                         struct nm_error *err)
{
    uint32_t unit = table->sector_bytes;
    uint64_t size = disk->size_bytes / unit * unit, head = size < HEAD_BYTES ? size : HEAD_BYTES;
    uint64_t tail = size - head < TAIL_BYTES ? head : (size - TAIL_BYTES) / unit * unit;
    unsigned char *buf = malloc(TAIL_BYTES);
    int memory = memfd_create("nasmark-ends", MFD_CLOEXEC), r = 0;

    if (!buf || memory < 0 || ftruncate(memory, (off_t)size) < 0)
        r = nm_error_errno(err, -ENOMEM, "no memory for the ends of the disk");
    if (!r)
        r = copy_part(disk, memory, 0, head, buf, err);
    if (!r)
        r = copy_part(disk, memory, tail, size, buf, err);
    if (!r && !nm_blank_name(memory, unit, false, table->contents, sizeof(table->contents)))
        table->contents[0] = '\0';
    if (memory >= 0)
        close(memory);
    free(buf);
    return r;
}

/* ---- the table ---- */

/* GPT in the unit of the disk, else in the other usual one. */
static int read_gpt(const struct nm_disk *disk, bool protective, struct nm_partition_table *table,
                    struct nm_error *err)
{
    static const uint32_t usual[] = {512, 4096};
    int r = disk->sector_bytes ? nm_gpt_read(disk, disk->sector_bytes, protective, table, err) : 0;

    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]) && !r; i++) {
        /* Smaller sectors than those of the device cannot be read singly. */
        if (usual[i] == disk->sector_bytes || usual[i] < disk->sector_bytes)
            continue;
        r = nm_gpt_read(disk, usual[i], protective, table, err);
        if (r == 1 && disk->sector_bytes)
            nm_partition_warn(table,
                              "the table was written for sectors of %" PRIu32
                              " bytes, this disk has %" PRIu32
                              ": its partitions cannot be used here",
                              usual[i], disk->sector_bytes);
    }
    return r;
}

int nm_partition_read(const struct nm_disk *disk, struct nm_partition_table *ret,
                      struct nm_error *err)
{
    uint32_t unit = disk->sector_bytes ? disk->sector_bytes : 512;
    unsigned char sector[NM_SECTOR_MAX];
    struct nm_mbr mbr = {0};
    int r;

    *ret = (struct nm_partition_table){.sector_bytes = unit};
    if (unit < 512 || unit > NM_SECTOR_MAX)
        return nm_error_set(err, -EOPNOTSUPP, NM_REASON_UNSUPPORTED,
                            "sectors of %" PRIu32 " bytes: only 512 to %u are known", unit,
                            NM_SECTOR_MAX);
    r = nm_disk_read(disk, 0, sector, unit, err);
    if (r <= 0)
        return r;
    nm_mbr_look(sector, &mbr);
    r = read_gpt(disk, mbr.protective, ret, err);
    if (r < 0)
        return r;
    if (r) {
        if (!mbr.other)
            return 0;
        ret->scheme = NM_SCHEME_HYBRID;
        nm_partition_warn(ret, "hybrid MBR: it has partitions of its own beside the GPT; systems "
                               "differ in which they believe");
        return 0;
    }
    if (mbr.protective) {
        nm_partition_warn(ret, "a protective MBR, but no GPT header");
        ret->damaged = true;
    }
    if (mbr.other) {
        ret->scheme = NM_SCHEME_MBR;
        return nm_mbr_read(disk, sector, ret, err);
    }
    r = name_contents(disk, ret, err);
    if (!r && mbr.valid && !ret->contents[0])
        ret->scheme = NM_SCHEME_MBR; /* an empty one */
    return r;
}
