/* Partition tables from anybody: whatever lies on a disk is read in time and in bounds, and every
 * partition that is shown fits into 64 bits and is judged.
 *
 * The first byte says how: bit 0 the checksums of a GPT are made right first, so that what is
 * behind them is reached; bits 1 and 2 the sector; bits 3 to 7 by how many doublings the disk is
 * larger than the data (zero there).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "alignment.h"
#include "partition_parse.h"

#include <stdlib.h>
#include <string.h>

#define DISK_MAX ((size_t)1 << 18)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes {
    unsigned char *data;
    size_t size;
};

static void require(int holds)
{
    if (!holds)
        abort();
}

static int read_bytes(void *context, uint64_t offset, void *buf, uint32_t length,
                      struct nm_error *err)
{
    const struct bytes *bytes = context;
    size_t there = offset < bytes->size ? bytes->size - (size_t)offset : 0;

    (void)err;
    memset(buf, 0, length);
    if (there)
        memcpy(buf, bytes->data + offset, there < length ? there : length);
    return 0;
}

static uint32_t crc32_of(const unsigned char *data, size_t length)
{
    uint32_t crc = UINT32_MAX;

    while (length--) {
        crc ^= *data++;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static void put32(unsigned char *p, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(value >> 8 * i);
}

static void mend(struct bytes *bytes, size_t unit)
{
    unsigned char *header = bytes->data + unit;
    uint64_t at, length;
    uint32_t header_bytes;

    if (bytes->size < 2 * unit || memcmp(header, "EFI PART", 8))
        return;
    at = nm_le64(header + 72);
    length = (uint64_t)nm_le32(header + 80) * nm_le32(header + 84);
    if (at < bytes->size / unit && length <= bytes->size - at * unit)
        put32(header + 88, crc32_of(bytes->data + at * unit, (size_t)length));
    header_bytes = nm_le32(header + 12);
    if (header_bytes >= 92 && header_bytes <= unit) {
        put32(header + 16, 0);
        put32(header + 16, crc32_of(header, header_bytes));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t units[] = {0, 512, 4096, 2048};
    static struct nm_partition_table table;
    struct bytes bytes;
    uint8_t how;

    if (size < 2 || size > DISK_MAX)
        return 0;
    how = data[0];
    bytes = (struct bytes){.data = malloc(size - 1), .size = size - 1};
    memcpy(bytes.data, data + 1, size - 1);
    if (how & 1)
        mend(&bytes, units[how >> 1 & 3] ? units[how >> 1 & 3] : 512);

    const struct nm_disk disk = {.read = read_bytes,
                                 .context = &bytes,
                                 .size_bytes = (uint64_t)bytes.size << (how >> 3),
                                 .sector_bytes = units[how >> 1 & 3]};
    const struct nm_disk_shape shape = {.size_bytes = disk.size_bytes,
                                        .sector_bytes = 512,
                                        .physical_bytes = 4096,
                                        .minimum_io_bytes = (how & 1) * 196608u};

    require(nm_partition_read(&disk, &table, NULL) == 0);
    require(table.count <= NM_PARTITIONS_MAX);
    for (uint32_t i = 0; i < table.count; i++) {
        const struct nm_partition *partition = &table.items[i];
        struct nm_alignment_verdict verdict;

        require(partition->start_bytes <= UINT64_MAX - partition->size_bytes);
        require(memchr(partition->name, 0, sizeof(partition->name)) != NULL);
        nm_alignment_judge(&shape, partition, &verdict);
        require(!verdict.off_bytes || verdict.off_bytes < verdict.grain_bytes);
    }
    free(bytes.data);
    return 0;
}
