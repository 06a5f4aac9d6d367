/* Partition tables as they lie on a disk: MBR with extended and logical partitions, GPT with
 * sectors of any size, its backup, protective and hybrid MBR, or a file system on the whole disk.
 *
 * Reads through a callback, so that a device, an image and a LUN are the same. What is found is
 * hostile until proven: every number is 64 bits wide, every walk and every table has a maximum, and
 * what does not fit becomes a warning. Pure apart from the callback (and libblkid for the
 * contents).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_PARTITION_H
#define NM_PARTITION_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NM_PARTITIONS_MAX         256
#define NM_PARTITION_WARNINGS_MAX 12

struct nm_disk {
    /* Reads length bytes (a multiple of sector_bytes, at a multiple of it, inside the disk). */
    int (*read)(void *context, uint64_t offset_bytes, void *buf, uint32_t length_bytes,
                struct nm_error *err);
    void *context;
    uint64_t size_bytes;
    uint32_t sector_bytes; /* logical sector; 0 = not known (an image): both sizes are tried */
};

enum nm_partition_scheme {
    NM_SCHEME_NONE, /* blank, or a file system on the whole disk */
    NM_SCHEME_MBR,
    NM_SCHEME_GPT,
    NM_SCHEME_HYBRID, /* GPT, and an MBR with partitions of its own */
};
const char *nm_partition_scheme_name(enum nm_partition_scheme scheme);

struct nm_partition {
    uint32_t number; /* as Linux counts */
    uint64_t start_bytes, size_bytes;
    bool container; /* extended partition: holds others, no data of its own */
    bool logical;
    char type[40];  /* "0x83", or the GUID */
    char name[112]; /* GPT, UTF-8 */
};

struct nm_partition_table {
    enum nm_partition_scheme scheme;
    uint32_t sector_bytes; /* the unit the table counts in */
    bool backup_used;      /* GPT: the first header is damaged */
    bool damaged;          /* something in it is wrong, beyond a warning */
    uint32_t count, n_warnings;
    struct nm_partition items[NM_PARTITIONS_MAX];
    char contents[160]; /* without a table: "ext4 file system 'backup'", "" = nothing known */
    char warnings[NM_PARTITION_WARNINGS_MAX][200];
};

/* Only failing to read is an error. */
int nm_partition_read(const struct nm_disk *disk, struct nm_partition_table *ret,
                      struct nm_error *err) NM_MUST_CHECK;

#endif
