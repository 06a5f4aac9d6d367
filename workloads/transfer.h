/* One file (or one region of a device) moved in blocks at queue depth: open, data, flush, close.
 * What copy, sequential and the eviction of caches are made of.
 *
 * A generator without any I/O of its own, except that the data of an upload may come from a local
 * file and those of a download may go into one (source and destination of the plan).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_TRANSFER_H
#define NM_TRANSFER_H

#include "workload.h"

enum nm_transfer_step {
    NM_TRANSFER_IDLE,
    NM_TRANSFER_OPEN,    /* to be issued */
    NM_TRANSFER_OPENING, /* issued, not yet complete */
    NM_TRANSFER_DATA,
    NM_TRANSFER_FLUSH,
    NM_TRANSFER_FLUSHING,
    NM_TRANSFER_CLOSE,
    NM_TRANSFER_CLOSING,
};

struct nm_transfer {
    enum nm_transfer_step step;
    bool write;
    bool device; /* OPEN "" instead of CREATE; base_bytes is where the region begins */
    bool flush;  /* before close */
    uint32_t block_bytes;
    char path[192];
    uint64_t base_bytes, size_bytes, next_bytes;
    uint64_t position_bytes; /* of byte 0 in the group's data space */
    unsigned in_flight;
    struct nm_file *file;
    int local;       /* descriptor of the local source or destination, -1 = memory */
    int local_error; /* negative errno of the local side: fails the transfer at its next completion
                      */
    uint64_t begin_ns;
};

/* An upload of size_bytes from memory, flushed: a layout. What else differs is set before
 * nm_transfer_begin(). */
void nm_transfer_upload(struct nm_transfer *transfer, const char *path, uint32_t block_bytes,
                        uint64_t size_bytes);

/* Begins a transfer: the fields above file are the caller's to set; step becomes OPEN. */
void nm_transfer_begin(struct nm_transfer *transfer, uint64_t now_ns);

/* Next operation of this transfer; NM_NEXT_DONE once it is closed (or was never begun). */
enum nm_next nm_transfer_next(struct nm_transfer *transfer, struct nm_op *op,
                              uint64_t *pattern_bytes);

/* Takes a completion. 1 = the transfer is complete and closed, 0 = goes on, negative = failed
 * (err). */
int nm_transfer_done(struct nm_transfer *transfer, struct nm_op *op,
                     struct nm_error *err) NM_MUST_CHECK;

#endif
