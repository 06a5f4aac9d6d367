/* What the LUN is: present, a disk, its blocks, limits, protection and identity (session.h). Reads
 * only. What a LUN need not answer (VPD pages, mode pages) is left unknown, never guessed.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ANSWER_BYTES 1024

static struct scsi_task *make_ready(const void *arguments)
{
    (void)arguments;
    return scsi_cdb_testunitready();
}

static struct scsi_task *make_inquiry(const void *arguments)
{
    const int *page = arguments; /* -1 = standard */

    return *page < 0 ? scsi_cdb_inquiry(0, 0, 96) : scsi_cdb_inquiry(1, *page, ANSWER_BYTES);
}

static struct scsi_task *make_capacity16(const void *arguments)
{
    (void)arguments;
    return scsi_cdb_readcapacity16();
}

static struct scsi_task *make_capacity10(const void *arguments)
{
    (void)arguments;
    return scsi_cdb_readcapacity10(0, 0);
}

static struct scsi_task *make_mode6(const void *arguments)
{
    (void)arguments;
    return scsi_cdb_modesense6(0, SCSI_MODESENSE_PC_CURRENT, SCSI_MODEPAGE_RETURN_ALL_PAGES, 0,
                               255);
}

static struct scsi_task *make_luns(const void *arguments)
{
    (void)arguments;
    return scsi_reportluns_cdb(SCSI_REPORTLUNS_REPORT_ALL_LUNS, ANSWER_BYTES);
}

static struct scsi_task *make_lba_status(const void *arguments)
{
    const uint64_t *lba = arguments;

    return scsi_cdb_get_lba_status(*lba, 24);
}

static int ask(struct nm_iscsi_session *session, struct scsi_task *(*make)(const void *),
               const void *arguments, uint8_t *data, size_t *length, const char *what,
               struct nm_error *err)
{
    *length = ANSWER_BYTES;
    return nm_iscsi_conn_command(&session->conns[0], make, arguments, data, length, what, err);
}

/* A question the LUN may leave open: false = no answer, but the connection is fine. */
static bool ask_page(struct nm_iscsi_session *session, int page, uint8_t *data, size_t *length)
{
    return ask(session, make_inquiry, &page, data, length, "INQUIRY", NULL) == 0;
}

static int no_such_lun(struct nm_iscsi_session *session, struct nm_error *err)
{
    uint8_t data[ANSWER_BYTES];
    char luns[160] = "";
    size_t length;
    uint16_t lun = session->lun;

    session->lun = 0; /* REPORT LUNS is answered by LUN 0 even where it is not a disk */
    if (!session->conns[0].lost &&
        !ask(session, make_luns, NULL, data, &length, "REPORT LUNS", NULL))
        nm_scsi_parse_luns(data, length, luns, sizeof(luns));
    session->lun = lun;
    nm_error_set(err, -ENXIO, NM_REASON_NOT_FOUND, "%s: the target has no LUN %u; it has: %s",
                 session->target, session->url->lun, luns[0] ? luns : "(it does not tell)");
    nm_error_raw(err, "SENSE 5/2500");
    return -ENXIO;
}

static int check_present(struct nm_iscsi_session *session, struct nm_error *err)
{
    const int standard = -1;
    uint8_t data[ANSWER_BYTES];
    struct nm_error refused = {0};
    size_t length;
    int r = ask(session, make_inquiry, &standard, data, &length, "INQUIRY", &refused);

    if (r == -ENXIO || (!r && length && data[0] >> 5 != 0))
        return no_such_lun(session, err);
    if (r < 0) {
        if (err)
            *err = refused;
        return r;
    }
    if (nm_scsi_parse_inquiry(data, length, &session->inquiry) < 0)
        return nm_error_set(err, -EBADMSG, NM_REASON_UNSUPPORTED,
                            "%s: the target's INQUIRY answer is too short", session->target);
    if (session->inquiry.type != SCSI_INQUIRY_PERIPHERAL_DEVICE_TYPE_DIRECT_ACCESS)
        return nm_error_set(err, -ENXIO, NM_REASON_UNSUPPORTED,
                            "%s: LUN %u is no disk (%s); choose another LUN", session->target,
                            session->url->lun, scsi_devtype_to_str((int)session->inquiry.type));
    /* Right after a login the LUN reports a unit attention; conn_command() repeats. */
    r = ask(session, make_ready, NULL, data, &length, "TEST UNIT READY", &refused);
    if (r == -ENXIO && strstr(refused.raw, "2500"))
        return no_such_lun(session, err);
    if (r < 0 && err)
        *err = refused;
    return r;
}

static int read_capacity(struct nm_iscsi_session *session, struct nm_error *err)
{
    struct nm_scsi_capacity *capacity = &session->capacity;
    uint8_t data[ANSWER_BYTES];
    size_t length;
    int r = ask(session, make_capacity16, NULL, data, &length, "READ CAPACITY(16)", err);

    if (!r)
        r = nm_scsi_parse_capacity16(data, length, capacity);
    if (r == -EOPNOTSUPP || r == -EINVAL) { /* old targets; their LUNs are below 2 TiB */
        r = ask(session, make_capacity10, NULL, data, &length, "READ CAPACITY(10)", err);
        if (!r)
            r = nm_scsi_parse_capacity10(data, length, capacity);
    }
    if (r == -EBADMSG)
        nm_error_set(err, r, NM_REASON_UNSUPPORTED, "%s: the capacity reported makes no sense",
                     session->target);
    if (r < 0)
        return r;
    if (capacity->block_bytes < 512 || capacity->block_bytes > 65536 ||
        (capacity->block_bytes & (capacity->block_bytes - 1)))
        return nm_error_set(err, -EOPNOTSUPP, NM_REASON_UNSUPPORTED,
                            "%s: the LUN has blocks of %u bytes; only powers of two from 512 on "
                            "(512, 4096) can be measured: create it with such blocks",
                            session->target, capacity->block_bytes);
    session->size_bytes = capacity->blocks * capacity->block_bytes;
    return 0;
}

static void read_limits(struct nm_iscsi_session *session)
{
    uint8_t data[ANSWER_BYTES];
    size_t length;
    uint64_t limit = 0;
    uint64_t lba = 0;

    session->write_cache = -1;
    if (!ask(session, make_mode6, NULL, data, &length, "MODE SENSE", NULL) &&
        nm_scsi_parse_mode6(data, length, &session->write_protected, &session->write_cache) < 0)
        session->write_cache = -1;
    if (ask_page(session, 0x80, data, &length))
        nm_scsi_parse_serial(data, length, session->serial, sizeof(session->serial));
    if (ask_page(session, 0x83, data, &length))
        nm_scsi_parse_identity(data, length, session->naa, sizeof(session->naa));
    if (ask_page(session, 0xb0, data, &length))
        limit = (uint64_t)nm_scsi_parse_max_transfer(data, length) * session->capacity.block_bytes;
    session->limit_bytes = limit > UINT32_MAX ? UINT32_MAX : (uint32_t)limit;
    session->command_bytes =
        limit && limit < NM_ISCSI_TRANSFER_BYTES ? session->limit_bytes : NM_ISCSI_TRANSFER_BYTES;
    session->lba_status = session->capacity.thin && !ask(session, make_lba_status, &lba, data,
                                                         &length, "GET LBA STATUS", NULL);
}

int nm_iscsi_probe(struct nm_iscsi_session *session, struct nm_error *err)
{
    int r = check_present(session, err);

    if (!r)
        r = read_capacity(session, err);
    if (r < 0)
        return r;
    read_limits(session);
    if (session->conns[0].lost)
        return nm_error_set(err, -ECONNRESET, NM_REASON_CONNECTION_LOST,
                            "%s: the connection was lost while the LUN was asked what it is",
                            session->target);
    return 0;
}

uint32_t nm_iscsi_lba_status(struct nm_iscsi_session *session, uint64_t lba, bool *ret_unmapped)
{
    uint8_t data[ANSWER_BYTES];
    struct nm_error err;
    size_t length;

    if (!session->lba_status || session->failure.code)
        return 0;
    if (ask(session, make_lba_status, &lba, data, &length, "GET LBA STATUS", &err) < 0) {
        if (session->conns[0].lost)
            session->failure = err;
        return 0;
    }
    return nm_scsi_parse_lba_status(data, length, lba, ret_unmapped);
}
