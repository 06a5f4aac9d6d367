/* The set of files that `copy` moves: notation, sizes, positions, the check of a listing.
 *
 * Pure: no I/O. Local source and destination directories are in localset.h.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_COPYSET_H
#define NM_COPYSET_H

#include "workload.h"

#define NM_COPYSET_GROUPS    16
#define NM_COPYSET_FILES_MAX 10000000u

struct nm_copyset_group {
    uint64_t files, size_bytes;
};

struct nm_copyset {
    struct nm_copyset_group groups[NM_COPYSET_GROUPS];
    size_t n_groups;
    uint64_t files, bytes; /* of all groups */
};

/* "1x2GB,50x2MB". */
int nm_copyset_parse(const char *text, struct nm_copyset *ret, struct nm_error *err) NM_MUST_CHECK;

/* PREFIX followed by the canonical notation. Heap; NULL when out of memory. */
char *nm_copyset_format(const struct nm_copyset *set, const char *prefix);

/* Size of file `index` and where its data begin in the group's data space (multiple of 512). */
void nm_copyset_file(const struct nm_copyset *set, uint64_t index, uint64_t *ret_size_bytes,
                     uint64_t *ret_position_bytes);

/* Compares listings with the set: every file there, once, with its size. */
struct nm_copyset_check;
int nm_copyset_check_new(const struct nm_copyset *set, struct nm_copyset_check **ret,
                         struct nm_error *err) NM_MUST_CHECK;
void nm_copyset_check_free(struct nm_copyset_check *check);
void nm_copyset_check_entry(void *check, const char *name,
                            const struct nm_stat *stat); /* list_entry */
int nm_copyset_check_result(const struct nm_copyset_check *check,
                            struct nm_error *err) NM_MUST_CHECK;

#endif
