/* Blank or not: the rule that keeps foreign data on block targets alive. Works over any block
 * backend through the contract, reads only.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_BLANK_H
#define NM_BLANK_H

#include "backend.h"

struct nm_blank {
    struct nm_session *session; /* of a block backend, nothing in flight */
    uint64_t size_bytes;
    uint32_t block_bytes;
    unsigned depth;    /* as given at connect */
    uint32_t io_bytes; /* largest READ, as given at connect */
    uint64_t timeout_ns;

    /* MAY. Whether the bytes from offset on are unmapped, and how many share that answer; 0 = the
     * target does not tell (they are read). */
    bool (*unmapped)(void *context, uint64_t offset_bytes, uint64_t *ret_bytes);
    void *context;
};

/* 0 when every byte reads as zero or is reported unmapped; -EPERM (protected) when not, ret_found
 * says what is there ("ext4 file system 'backup'", "GPT partition table", "non-zero data at byte
 * N"). Looks at both ends first and stops at the first finding. Other errors: reading failed. */
int nm_blank_check(const struct nm_blank *blank, volatile double *done_fraction, char *ret_found,
                   size_t found_size, struct nm_error *err) NM_MUST_CHECK;

/* What libblkid recognises in a file that holds both ends of a target at their places: "ext4 file
 * system 'backup'", "GPT partition table" (with tables); false = nothing. */
bool nm_blank_name(int fd, uint32_t block_bytes, bool tables, char *out, size_t size);

/* Writes zeroes to the first and the last MiB of [0, end_bytes) of a claimed block target and
 * flushes. */
int nm_blank_wipe_ends(const struct nm_blank *blank, uint64_t end_bytes,
                       struct nm_error *err) NM_MUST_CHECK;

#endif
