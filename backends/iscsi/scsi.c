/* SCSI as plain data (scsi.h). Answers come from the network: every length is checked.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "scsi.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <iscsi/iscsi.h>
#include <iscsi/scsi-lowlevel.h>

static uint32_t be16(const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t be32(const uint8_t *p)
{
    return be16(p) << 16 | be16(p + 2);
}

static uint64_t be64(const uint8_t *p)
{
    return (uint64_t)be32(p) << 32 | be32(p + 4);
}

enum nm_scsi_verdict nm_scsi_judge(const struct nm_scsi_status *status)
{
    switch (status->status) {
    case SCSI_STATUS_GOOD:
    case SCSI_STATUS_CONDITION_MET: return NM_SCSI_GOOD;
    case SCSI_STATUS_BUSY:
    case SCSI_STATUS_TASK_SET_FULL: return NM_SCSI_BUSY;
    case SCSI_STATUS_TASK_ABORTED: return NM_SCSI_AGAIN;
    case SCSI_STATUS_CHECK_CONDITION: break;
    case SCSI_STATUS_RESERVATION_CONFLICT:
    case SCSI_STATUS_ACA_ACTIVE: return NM_SCSI_FAILED;
    default: return NM_SCSI_LOST;
    }
    switch (status->key) {
    case SCSI_SENSE_RECOVERED_ERROR: return NM_SCSI_GOOD;
    case SCSI_SENSE_UNIT_ATTENTION:
    case SCSI_SENSE_COMMAND_ABORTED: return NM_SCSI_AGAIN;
    case SCSI_SENSE_NOT_READY: /* 04/01 in process of becoming ready, 04/0A changing its path */
        return status->ascq == 0x0401 || status->ascq == 0x040a ? NM_SCSI_BUSY : NM_SCSI_FAILED;
    default: return NM_SCSI_FAILED;
    }
}

/* Final answers of a LUN; key -1 = any, ascq -1 = any, writing -1 = either. First match counts. */
static const struct {
    int key, ascq, writing;
    int code;
    enum nm_reason reason;
    const char *text;
} answers[] = {
    {7, 0x2707, -1, -ENOSPC, NM_REASON_NO_SPACE,
     "the volume behind the thin LUN is full; free space on the NAS"},
    {7, -1, -1, -EROFS, NM_REASON_READ_ONLY,
     "the LUN is write-protected; allow writing on the NAS or run read-only workloads"},
    {3, -1, 1, -ENOSPC, NM_REASON_NO_SPACE,
     "medium error while writing: the volume behind the LUN is full (an overcommitted LUN) or "
     "defective; free space on the NAS"},
    {3, -1, -1, -EIO, NM_REASON_INTERNAL, "medium error: the NAS cannot read its disks"},
    {5, 0x2500, -1, -ENXIO, NM_REASON_NOT_FOUND, "the target has no such LUN"},
    {5, 0x2100, -1, -EINVAL, NM_REASON_INTERNAL, "block address outside of the LUN"},
    {5, 0x2000, -1, -EOPNOTSUPP, NM_REASON_UNSUPPORTED, "the target does not know this command"},
    {5, -1, -1, -EINVAL, NM_REASON_UNSUPPORTED, "the target refuses this command"},
    {2, -1, -1, -ENXIO, NM_REASON_NOT_FOUND,
     "the LUN is not ready; check on the NAS that it is online"},
    {4, -1, -1, -EIO, NM_REASON_INTERNAL, "hardware error of the NAS"},
    {6, -1, -1, -EAGAIN, NM_REASON_INTERNAL, "the LUN kept reporting events (unit attention)"},
    {11, -1, -1, -EIO, NM_REASON_INTERNAL, "the target kept aborting the command"},
    {-1, -1, -1, -EIO, NM_REASON_INTERNAL, "the target reported an error"},
};

int nm_scsi_error(struct nm_error *err, const struct nm_scsi_status *status, bool writing,
                  const char *what)
{
    switch (status->status) {
    case SCSI_STATUS_CHECK_CONDITION: break;
    case SCSI_STATUS_RESERVATION_CONFLICT:
        nm_error_set(err, -EBUSY, NM_REASON_PROTECTED,
                     "%s: the LUN is reserved by another initiator; log that one out", what);
        nm_error_raw(err, "RESERVATION CONFLICT");
        return -EBUSY;
    case SCSI_STATUS_BUSY:
    case SCSI_STATUS_TASK_SET_FULL:
        nm_error_set(err, -EBUSY, NM_REASON_TIMEOUT,
                     "%s: the target stayed busy; lower `depth` or wait until the NAS is idle",
                     what);
        nm_error_raw(err, status->status == SCSI_STATUS_BUSY ? "BUSY" : "TASK SET FULL");
        return -EBUSY;
    case SCSI_STATUS_TIMEOUT:
        nm_error_set(err, -ETIMEDOUT, NM_REASON_TIMEOUT, "%s: no answer from the target", what);
        nm_error_raw(err, "TIMEOUT");
        return -ETIMEDOUT;
    case SCSI_STATUS_ERROR:
    case SCSI_STATUS_CANCELLED:
        nm_error_set(err, -ECONNRESET, NM_REASON_CONNECTION_LOST,
                     "%s: the connection to the target was lost", what);
        nm_error_raw(err, status->status == SCSI_STATUS_ERROR ? "ERROR" : "CANCELLED");
        return -ECONNRESET;
    default:
        nm_error_set(err, -EIO, NM_REASON_INTERNAL, "%s: the target answered with status 0x%x",
                     what, (unsigned)status->status);
        nm_error_raw(err, "STATUS 0x%x", (unsigned)status->status);
        return -EIO;
    }
    for (size_t i = 0;; i++)
        if ((answers[i].key == status->key || answers[i].key == -1) &&
            (answers[i].ascq == status->ascq || answers[i].ascq == -1) &&
            (answers[i].writing == writing || answers[i].writing == -1)) {
            nm_error_set(err, answers[i].code, answers[i].reason, "%s: %s", what, answers[i].text);
            nm_error_raw(err, "SENSE %x/%04x", (unsigned)status->key, (unsigned)status->ascq);
            return answers[i].code;
        }
}

static int check_capacity(const struct nm_scsi_capacity *capacity)
{
    return !capacity->blocks || !capacity->block_bytes ||
                   capacity->blocks > (uint64_t)INT64_MAX / capacity->block_bytes
               ? -EBADMSG
               : 0;
}

int nm_scsi_parse_capacity16(const uint8_t *data, size_t length, struct nm_scsi_capacity *ret)
{
    struct nm_scsi_capacity capacity = {0};

    if (length < 12)
        return -EBADMSG;
    capacity.blocks = be64(data) + 1;
    capacity.block_bytes = be32(data + 8);
    if (length >= 15)
        capacity.thin = data[14] & 0x80;
    if (length >= 16 && capacity.block_bytes <= 1u << 16) { /* 2^15 blocks of it still fit */
        capacity.physical_bytes = capacity.block_bytes << (data[13] & 0x0f);
        capacity.offset_bytes =
            ((uint32_t)(data[14] & 0x3f) << 8 | data[15]) * capacity.block_bytes;
    }
    if (check_capacity(&capacity) < 0)
        return -EBADMSG;
    *ret = capacity;
    return 0;
}

int nm_scsi_parse_capacity10(const uint8_t *data, size_t length, struct nm_scsi_capacity *ret)
{
    struct nm_scsi_capacity capacity = {0};

    /* 0xffffffff stands for "larger, ask with READ CAPACITY(16)". */
    if (length < 8 || be32(data) == UINT32_MAX)
        return -EBADMSG;
    capacity.blocks = (uint64_t)be32(data) + 1;
    capacity.block_bytes = be32(data + 4);
    if (check_capacity(&capacity) < 0)
        return -EBADMSG;
    *ret = capacity;
    return 0;
}

/* Printable text without the blanks around it; other bytes become '?'. */
static void copy_text(const uint8_t *data, size_t length, char *out, size_t size)
{
    size_t n = 0;

    while (length && (*data == ' ' || !*data))
        data++, length--;
    while (length && (data[length - 1] == ' ' || !data[length - 1]))
        length--;
    for (; n < length && n + 1 < size; n++)
        out[n] = (char)(data[n] >= ' ' && data[n] < 0x7f ? data[n] : '?');
    out[n] = '\0';
}

int nm_scsi_parse_inquiry(const uint8_t *data, size_t length, struct nm_scsi_inquiry *ret)
{
    if (length < 36)
        return -EBADMSG;
    ret->type = data[0] & 0x1f;
    copy_text(data + 8, 8, ret->vendor, sizeof(ret->vendor));
    copy_text(data + 16, 16, ret->product, sizeof(ret->product));
    copy_text(data + 32, 4, ret->revision, sizeof(ret->revision));
    return 0;
}

int nm_scsi_parse_mode6(const uint8_t *data, size_t length, bool *ret_protected, int *ret_cache)
{
    size_t at;

    if (length < 4)
        return -EBADMSG;
    *ret_protected = data[2] & 0x80;
    *ret_cache = -1;
    for (at = 4 + (size_t)data[3]; at + 2 < length; at += 2 + (size_t)data[at + 1])
        if ((data[at] & 0x7f) == SCSI_MODEPAGE_CACHING && !(data[at] & 0x40))
            *ret_cache = !!(data[at + 2] & 4); /* WCE */
    return 0;
}

/* The part of a VPD page behind its header, as far as it was received. */
static size_t vpd_body(const uint8_t *data, size_t length, unsigned page)
{
    size_t body;

    if (length < 4 || data[1] != page)
        return 0;
    body = be16(data + 2);
    return body < length - 4 ? body : length - 4;
}

void nm_scsi_parse_serial(const uint8_t *data, size_t length, char *out, size_t size)
{
    copy_text(data + 4, vpd_body(data, length, 0x80), out, size);
}

static void hex(const uint8_t *data, size_t length, char *out, size_t size)
{
    for (size_t i = 0; i < length && 2 * i + 2 < size; i++)
        snprintf(out + 2 * i, 3, "%02x", data[i]);
}

void nm_scsi_parse_identity(const uint8_t *data, size_t length, char *out, size_t size)
{
    const uint8_t *end = data + 4 + vpd_body(data, length, 0x83);
    int best = 0;

    out[0] = '\0';
    if (end == data + 4)
        return;
    for (const uint8_t *d = data + 4; end - d >= 4 && end - d - 4 >= d[3]; d += 4 + d[3]) {
        static const struct {
            unsigned type;
            int rank;
            const char *prefix;
        } kinds[] = {{3, 3, "naa."}, {2, 2, "eui."}, {1, 1, "t10."}};

        if ((d[1] & 0x30) || !d[3]) /* not of the logical unit, or empty */
            continue;
        for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
            size_t n = strlen(kinds[k].prefix);

            if ((d[1] & 0xfu) != kinds[k].type || kinds[k].rank <= best || n + 1 >= size)
                continue;
            best = kinds[k].rank;
            snprintf(out, size, "%s", kinds[k].prefix);
            if ((d[0] & 0xf) == 1)
                hex(d + 4, d[3], out + n, size - n);
            else
                copy_text(d + 4, d[3], out + n, size - n);
        }
    }
}

uint32_t nm_scsi_parse_max_transfer(const uint8_t *data, size_t length)
{
    return vpd_body(data, length, 0xb0) >= 8 ? be32(data + 8) : 0;
}

unsigned nm_scsi_parse_luns(const uint8_t *data, size_t length, char *out, size_t size)
{
    size_t bytes, used = 0;
    unsigned count = 0;

    out[0] = '\0';
    if (length < 8)
        return 0;
    bytes = be32(data) < length - 8 ? be32(data) : length - 8;
    for (size_t at = 8; at + 8 <= 8 + bytes; at += 8, count++) {
        uint32_t lun = be16(data + at);

        lun &= lun >> 14 == 1 ? 0x3fff : 0xff;
        if (used + 12 < size)
            used += (size_t)snprintf(out + used, size - used, "%s%u", count ? ", " : "", lun);
        else if (used + 4 < size && used && out[used - 1] != '.')
            used += (size_t)snprintf(out + used, size - used, "...");
    }
    return count;
}

uint16_t nm_scsi_encode_lun(unsigned lun)
{
    return (uint16_t)(lun < 256 ? lun : 0x4000 | lun);
}

uint32_t nm_scsi_parse_lba_status(const uint8_t *data, size_t length, uint64_t lba,
                                  bool *ret_unmapped)
{
    uint64_t first;
    uint32_t blocks;

    if (length < 24)
        return 0;
    first = be64(data + 8);
    blocks = be32(data + 16);
    if (first > lba || first + blocks <= lba)
        return 0;
    *ret_unmapped = (data[20] & 0xf) == SCSI_PROVISIONING_TYPE_DEALLOCATED;
    return (uint32_t)(first + blocks - lba);
}
