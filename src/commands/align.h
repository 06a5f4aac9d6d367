/* Private to the command align: the disk to look at, and what it prints.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_COMMANDS_ALIGN_H
#define NM_COMMANDS_ALIGN_H

#include "alignment.h"
#include "command.h"

struct nm_align_subject {
    char name[512]; /* canonical: of the whole disk, where a partition was named */
    struct nm_disk_shape shape;
    struct nm_partition_table table;
};

/* A device (through sysfs and ioctl) or an image of this machine. For an image, sector and physical
 * block come from shape where they are not 0. */
int nm_align_read_local(const char *path, struct nm_align_subject *subject,
                        struct nm_error *err) NM_MUST_CHECK;

void nm_align_print_text(const struct nm_align_subject *subject);
int nm_align_print_json(const struct nm_align_subject *subject, struct nm_error *err) NM_MUST_CHECK;

#endif
