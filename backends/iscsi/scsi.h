/* SCSI as plain data: what a status means for us, and what a LUN says about itself. No library, no
 * network, no state: everything here is a function of bytes, tested in tests/unit/test_scsi.c.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_ISCSI_SCSI_H
#define NM_ISCSI_SCSI_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a command ended, as libiscsi reports it (enum scsi_status, sense key, ASC << 8 | ASCQ). */
struct nm_scsi_status {
    int status;
    int key, ascq; /* valid with CHECK CONDITION */
};

enum nm_scsi_verdict {
    NM_SCSI_GOOD,
    NM_SCSI_AGAIN,  /* an event was reported instead of an answer: repeat at once */
    NM_SCSI_BUSY,   /* the target cannot now: repeat after a pause */
    NM_SCSI_FAILED, /* a final answer */
    NM_SCSI_LOST,   /* no answer: the connection is gone */
};

enum nm_scsi_verdict nm_scsi_judge(const struct nm_scsi_status *status);

/* Error with reason class and raw code ("SENSE 3/1100"); what names command and place. A medium
 * error of a write is how overcommitted LUNs report a full volume. Returns the errno value. */
int nm_scsi_error(struct nm_error *err, const struct nm_scsi_status *status, bool writing,
                  const char *what);

struct nm_scsi_capacity {
    uint64_t blocks;
    uint32_t block_bytes;
    uint32_t physical_bytes, offset_bytes; /* of the medium; first block that begins there; 0 = not
                                              told */
    bool thin;                             /* logical block provisioning management is enabled */
};

/* READ CAPACITY(16) and (10). -EBADMSG when the answer is too short or makes no sense. */
int nm_scsi_parse_capacity16(const uint8_t *data, size_t length, struct nm_scsi_capacity *ret);
int nm_scsi_parse_capacity10(const uint8_t *data, size_t length, struct nm_scsi_capacity *ret);

struct nm_scsi_inquiry {
    unsigned type; /* of device; 0 = a disk */
    char vendor[9], product[17], revision[5];
};

int nm_scsi_parse_inquiry(const uint8_t *data, size_t length, struct nm_scsi_inquiry *ret);

/* MODE SENSE(6): write protection, and whether a volatile write cache is on (-1 = not told). */
int nm_scsi_parse_mode6(const uint8_t *data, size_t length, bool *ret_protected, int *ret_cache);

/* VPD 0x80 and 0x83: printable texts, "" when the page has none. The designator of the logical unit
 * is chosen in the order NAA, EUI-64, T10: "naa.6001405...". */
void nm_scsi_parse_serial(const uint8_t *data, size_t length, char *out, size_t size);
void nm_scsi_parse_identity(const uint8_t *data, size_t length, char *out, size_t size);

/* VPD 0xB0: maximum transfer in blocks, 0 = no limit reported. */
uint32_t nm_scsi_parse_max_transfer(const uint8_t *data, size_t length);

/* REPORT LUNS as "0, 5, 300"; returns their number. The text is cut, never overrun. */
unsigned nm_scsi_parse_luns(const uint8_t *data, size_t length, char *out, size_t size);

/* LUN as the two bytes that libiscsi puts into the PDU: flat addressing from 256 on, which the
 * library leaves to its caller. */
uint16_t nm_scsi_encode_lun(unsigned lun);

/* One descriptor of GET LBA STATUS: how many blocks from lba on share one state. 0 = not told. */
uint32_t nm_scsi_parse_lba_status(const uint8_t *data, size_t length, uint64_t lba,
                                  bool *ret_unmapped);

#endif
