/* Inside the iSCSI backend: one nm_session over one or several iSCSI sessions (conn.c), a queue of
 * operations cut into SCSI commands (queue.c).
 *
 * Process rule: everything belongs to the worker that connected. libiscsi 1.19 is one context, one
 * thread. A connection that failed or did not answer in time is never repaired: automatic
 * reconnection would hide a pause inside a measured interval, and a command that libiscsi gives up
 * on leaves queued DATA-OUT PDUs behind that point to it (use after free). So a failure ends the
 * whole session, and every operation in flight is completed with that error.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_ISCSI_SESSION_H
#define NM_ISCSI_SESSION_H

#include "backend.h"
#include "options_iscsi.h"
#include "scsi.h"

#include <iscsi/iscsi.h>
#include <iscsi/scsi-lowlevel.h>

#define NM_ISCSI_SESSIONS_MAX   16
#define NM_ISCSI_TRANSFER_BYTES (512u * 1024) /* largest command; smaller when the LUN says so */
#define NM_ISCSI_RETRIES        10            /* per command: unit attention, busy */
#define NM_ISCSI_BUSY_PAUSE_NS  (50 * UINT64_C(1000000)) /* times the number of the try */

/* What the login negotiated. */
struct nm_iscsi_negotiated {
    uint32_t segment_bytes; /* MaxRecvDataSegmentLength of the target: largest piece of a WRITE; 0 =
                               the library did not tell */
    bool header_digest;
};

/* One iSCSI session (one TCP connection). */
struct nm_iscsi_conn {
    struct nm_iscsi_session *session;
    struct iscsi_context *context; /* NULL = closed */
    unsigned in_flight;            /* commands */
    bool lost;                     /* set in callbacks and after a failed service call */
    struct scsi_task *retired;     /* failed writes; see retire() */
    struct nm_iscsi_negotiated negotiated;
    char portal[300]; /* numeric address that answered, after redirection */
};

/* One operation of the engine between submit and completion. */
struct nm_iscsi_io {
    struct nm_op *op;
    uint64_t deadline_ns;
    uint64_t issued_bytes; /* of op->length_bytes, or of the one SYNCHRONIZE CACHE: 1 */
    uint64_t wanted_bytes;
    unsigned commands; /* in flight or waiting for a retry */
    bool in_line;      /* not yet cut into commands to its end */
    bool failed;       /* op->err and op->result hold the first error */
    struct nm_iscsi_io *next;
};

/* One SCSI command. */
struct nm_iscsi_command {
    struct nm_iscsi_io *io;
    struct nm_iscsi_conn *conn;
    struct scsi_iovec iov;
    uint64_t lba;
    unsigned tries;
    uint64_t wake_ns; /* when the retry is due */
    struct nm_iscsi_command *next;
};

struct nm_iscsi_session {
    struct nm_session base;
    struct nm_file device;
    const struct nm_url *url;
    const struct nm_credentials *credentials;
    const struct nm_iscsi_options *options;
    uint64_t timeout_ns;
    char *buffers; /* of the engine's queue; NULL = none */
    char volume[64], target[260], initiator[224];
    uint16_t lun; /* as it goes into the PDU */

    struct nm_iscsi_conn conns[NM_ISCSI_SESSIONS_MAX];
    unsigned n_conns, turn;

    struct nm_scsi_capacity capacity;
    struct nm_scsi_inquiry inquiry;
    uint64_t size_bytes;
    uint32_t limit_bytes;   /* Block Limits VPD, 0 = none */
    uint32_t command_bytes; /* largest command we send */
    bool write_protected;
    int write_cache;           /* -1 = unknown */
    bool sync10, lba_status;   /* commands this LUN wants or has */
    char serial[64], naa[160]; /* "" = not reported */

    struct nm_iscsi_io *ios, *free_ios, *first_io, *last_io; /* queue of not fully issued ones */
    struct nm_iscsi_command *commands, *free_commands, *delayed;
    unsigned n_ios;
    uint64_t next_check_ns;  /* of deadlines */
    struct nm_error failure; /* code != 0: the session is dead */
    uint64_t retries;        /* events and busy answers that were repeated */
};

/* conn.c ---------------------------------------------------------------------------------------*/

/* Logs in, following at most a few redirections. */
int nm_iscsi_conn_open(struct nm_iscsi_session *session, struct nm_iscsi_conn *conn,
                       struct nm_error *err) NM_MUST_CHECK;

/* Ends the connection; orderly (logout, short wait) or at once. Commands in flight get their
 * callback. NULL-safe on a closed connection. */
void nm_iscsi_conn_close(struct nm_iscsi_conn *conn, bool orderly);

/* One command outside the queue: sends task (consumed), waits, repeats it on unit attention and
 * busy. data, *length: answer, cut to the buffer. -errno with err. */
int nm_iscsi_conn_command(struct nm_iscsi_conn *conn, struct scsi_task *(*make)(const void *),
                          const void *arguments, void *data, size_t *length, const char *what,
                          struct nm_error *err) NM_MUST_CHECK;

/* "none", "one-way" or "mutual": what the login offers. */
const char *nm_iscsi_chap(const struct nm_iscsi_session *session);

/* The targets behind the portal, for messages: "did you mean a? it offers: b, a, c"; "" when it
 * does not tell. */
void nm_iscsi_discover(struct nm_iscsi_session *session, char *out, size_t size);

/* probe.c --------------------------------------------------------------------------------------*/

/* Finds out what the LUN is: capacity, block size, protection, identity. */
int nm_iscsi_probe(struct nm_iscsi_session *session, struct nm_error *err) NM_MUST_CHECK;

/* How many blocks from lba on share one provisioning state; 0 = the LUN does not tell. */
uint32_t nm_iscsi_lba_status(struct nm_iscsi_session *session, uint64_t lba, bool *ret_unmapped);

/* command.c ------------------------------------------------------------------------------------*/

/* Sends the command on the connection that has least to do. On failure the operation is marked as
 * failed and the command is released. */
void nm_iscsi_command_start(struct nm_iscsi_session *session, struct nm_iscsi_command *command);
void nm_iscsi_command_release(struct nm_iscsi_session *session, struct nm_iscsi_command *command);

/* Completes the operation when no command of it is left. */
void nm_iscsi_io_settle(struct nm_iscsi_session *session, struct nm_iscsi_io *io);
void nm_iscsi_io_fail(struct nm_iscsi_io *io, const struct nm_error *err); /* the first counts */

/* The session is dead from now on; nm_iscsi_reap() cleans up, never a callback. */
void nm_iscsi_fail(struct nm_iscsi_session *session, const struct nm_error *err);

/* Frees failed writes that libiscsi has nothing left to send of. */
void nm_iscsi_free_retired(struct nm_iscsi_conn *conn);

/* queue.c --------------------------------------------------------------------------------------*/

int nm_iscsi_queue_init(struct nm_iscsi_session *session, unsigned depth, uint32_t block_bytes,
                        struct nm_error *err) NM_MUST_CHECK;
void nm_iscsi_queue_done(struct nm_iscsi_session *session);
void nm_iscsi_submit(struct nm_session *session, struct nm_op *op);
int nm_iscsi_reap(struct nm_session *session, uint64_t deadline_ns, struct nm_error *err);
void nm_iscsi_cancel(struct nm_session *session);

#endif
