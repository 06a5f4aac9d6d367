/* What the parts of the nfs backend share; nobody else includes it.
 *
 * The backend drives libnfs through its raw RPC layer: one NFS procedure per call, file handles and
 * state of our own. The high-level API of libnfs 4.0.0 needs 5 round trips per small file instead
 * of 3, loses the server's status (ENOSPC arrives as -EFAULT), cannot stripe one file over several
 * connections and does not write over NFSv4; and its timeouts corrupt the library's own queues
 * (rpc_timeout_scan leaves a stale tail), so that deadlines are ours too.
 *
 * Layers, each knowing only the one below:
 *   nfs.c    the row: connect, describe, submit, reap
 *   ops.c list.c data.c  one operation of the engine = steps, each of them one call
 *   calls.c  calls in flight: connections, deadlines, try-later answers, death (memory: pools.c)
 *   proto3.c proto4.c  a call as bytes of NFSv3 or NFSv4.0, and back (NFSv4's attributes: attr4.c,
 *            identity: client4.c)
 *   mount.c  finds server port, version, export and target directory; synchronous (portmapper and
 *            MOUNT: mountd.c)
 *   link.c   one TCP connection with its libnfs context
 * Process rule: everything belongs to the one thread of the worker; no libnfs callback starts a new
 * call (libnfs forbids it while it tears a connection down), it only queues what has arrived.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_NFS_INTERNAL_H
#define NM_NFS_INTERNAL_H

#include "../backend.h"

#include <netdb.h>
#include <sys/time.h>
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>

#define NM_NFS_FH_BYTES 128
#define NM_NFS_NAME_BYTES                                                                          \
    256 /* with the NUL; names of 255 bytes are the limit of both versions                         \
         */
#define NM_NFS_LINKS_MAX       16
#define NM_NFS_TRANSFER_BYTES  (1u << 20) /* libnfs closes the connection on replies above that */
#define NM_NFS_CALLS_MAX       256 /* READ and WRITE calls in flight, or the depth if larger */
#define NM_NFS_DIRECTORY_SLOTS 128
#define NM_NFS_PAGE_ENTRIES    512

/* Status of a call: 0, a status of the server (NFSv3 and NFSv4 share the numbers), or: */
enum {
    NM_NFS_LOST = -1,      /* no answer will come, the connection is gone */
    NM_NFS_REJECTED = -2,  /* refused by the RPC layer of the server (program, version, user) */
    NM_NFS_UNSENT = -3,    /* libnfs could not encode or queue it, or memory is short */
    NM_NFS_ABORTED = -4,   /* not sent any more, the operation was cancelled */
    NM_NFS_RESTARTED = -5, /* COMMIT succeeded, but by a server that lost the writes before it */
};
enum { /* the ones the steps look at */
       NM_NFS_PERM = 1,
       NM_NFS_NOENT = 2,
       NM_NFS_IO = 5,
       NM_NFS_ACCES = 13,
       NM_NFS_EXIST = 17,
       NM_NFS_NOTDIR = 20,
       NM_NFS_ISDIR = 21,
       NM_NFS_INVAL = 22,
       NM_NFS_NAMETOOLONG = 63,
       NM_NFS_STALE = 70,
       NM_NFS_BADHANDLE = 10001,
       NM_NFS_NOTSUPP = 10004,
       NM_NFS_SERVERFAULT = 10006,
       NM_NFS_JUKEBOX = 10008, /* NFSv4: DELAY */
       NM_NFS_EXPIRED = 10011,
       NM_NFS_GRACE = 10013,
       NM_NFS_FHEXPIRED = 10014,
       NM_NFS_STALE_CLIENTID = 10022,
       NM_NFS_BAD_SEQID = 10026,
       NM_NFS_SYMLINK = 10029,
};

struct nm_nfs_options {
    uint32_t connections;
};

struct nm_nfs_fh {
    uint32_t length;
    char data[NM_NFS_FH_BYTES];
};

struct nm_nfs_attr {
    bool valid;
    uint32_t type; /* NF3REG = NF4REG = 1, directory 2, symlink 5 */
    uint64_t size_bytes, used_bytes;
    uint64_t fsid_major, fsid_minor;
    uint64_t fileid;
};
enum { NM_NFS_TYPE_FILE = 1, NM_NFS_TYPE_DIRECTORY = 2, NM_NFS_TYPE_SYMLINK = 5 };

/* Facts about the server and the volume; 0 = not told. */
struct nm_nfs_limits {
    uint64_t total_bytes, avail_bytes;
    uint64_t read_bytes, write_bytes; /* largest request */
    uint32_t lease_s;                 /* NFSv4 */
};

struct nm_nfs_entry {
    char name[NM_NFS_NAME_BYTES];
    struct nm_nfs_attr attr;
};

struct nm_nfs_page { /* part of a directory */
    uint64_t cookie;
    char verifier[8];
    bool eof;
    unsigned n, next;
    struct nm_nfs_entry entries[NM_NFS_PAGE_ENTRIES];
};

struct nm_nfs_peer {
    struct addrinfo *addresses;
    struct addrinfo *answered; /* the one of them that took a connection */
    const char *name;          /* for messages */
    uint32_t uid, gid, n_groups;
    uint32_t groups[16];
};

struct nm_nfs_link {
    struct rpc_context *rpc;
    unsigned outstanding; /* calls */
    bool queued;          /* libnfs holds bytes that it has not yet offered to the socket */
    bool low_port;        /* local port below 1024 */
};

struct nm_nfs_session;
struct nm_nfs_request;
struct nm_nfs_call;

/* An open file. Objects are reused; with NFSv4 each carries an open owner whose sequence number
 * lives on, so that opens never wait for each other and need no confirmation after the first. */
struct nm_nfs_file {
    struct nm_file base;
    struct nm_nfs_fh fh;
    struct nm_nfs_file *next, *previous; /* open files of the session, or free ones */
    bool opened;                         /* NFSv4: state to be closed */
    bool readable, writable;
    bool unstable;          /* written, not committed */
    bool lost;              /* the server restarted in between */
    uint64_t verifier;      /* of the unstable writes */
    uint32_t write_replies; /* counts; a COMMIT covers only what was answered before it left */
    uint64_t owner;
    uint32_t seqid;
    uint32_t state_seqid;
    char state_other[12];
    char label[64]; /* last part of the path, for messages */
};

enum nm_nfs_call_kind {
    NM_NFS_ROOT,
    NM_NFS_LOOKUP,
    NM_NFS_GETATTR,
    NM_NFS_ACCESS,
    NM_NFS_MKDIR,
    NM_NFS_CREATE,
    NM_NFS_OPEN,
    NM_NFS_OPEN_CONFIRM,
    NM_NFS_READ,
    NM_NFS_WRITE,
    NM_NFS_COMMIT,
    NM_NFS_CLOSE,
    NM_NFS_REMOVE,
    NM_NFS_RMDIR,
    NM_NFS_RENAME,
    NM_NFS_READDIR, /* names alone */
    NM_NFS_READDIRPLUS,
    NM_NFS_FSSTAT,
    NM_NFS_FSINFO,
    NM_NFS_RENEW,
    NM_NFS_CLIENT_SET,
    NM_NFS_CLIENT_CONFIRM,
};

/* What follows when a call was answered; status 0 or not. */
typedef void nm_nfs_step(struct nm_nfs_session *s, struct nm_nfs_request *rq,
                         struct nm_nfs_call *call);

struct nm_nfs_call {
    enum nm_nfs_call_kind kind;
    struct nm_nfs_session *session;
    struct nm_nfs_request *request; /* NULL: somebody waits in nm_nfs_call_wait() */
    nm_nfs_step *then;
    struct nm_nfs_call *next;
    struct nm_nfs_link *link;
    uint64_t not_before_ns; /* try later: when to send it again */
    unsigned tries;
    bool done;
    /* in; whatever they point to lives until the answer */
    const struct nm_nfs_fh *fh, *fh2;
    const char *name, *name2;
    struct nm_nfs_file *file;
    struct nm_nfs_page *page;
    uint64_t offset_bytes;
    uint32_t length_bytes;
    uint32_t open_flags;
    char *buf;
    uint32_t write_replies; /* COMMIT: of the file when it left */
    bool commits;           /* CLOSE: commits first, in the same compound */
    /* out */
    int status;
    const char *rejection; /* static text of libnfs */
    bool has_fh, eof, unstable, confirm, closed;
    uint32_t count;
    uint32_t access;
    uint64_t verifier;
    struct nm_nfs_attr attr;
    struct nm_nfs_limits limits;
    struct nm_nfs_fh result_fh;
};

/* One operation of the engine on its way. */
struct nm_nfs_request {
    struct nm_op *op;
    struct nm_nfs_request *next, *previous; /* in flight, oldest first; or free */
    struct nm_nfs_request *pending_next;    /* has parts that were not sent yet */
    bool pending;
    bool aborted;               /* by cancel(): nothing more is sent */
    bool expired;               /* past its deadline: "try later" is an error now */
    bool from_cache, restarted; /* a handle of the directory cache was used; that one was stale */
    uint64_t deadline_ns;
    unsigned outstanding; /* calls on the wire or waiting to be sent again */
    unsigned delayed;     /* of them waiting */
    /* walk */
    const char *path;
    size_t path_length, path_done;
    void (*walked)(struct nm_nfs_session *s, struct nm_nfs_request *rq);
    struct nm_nfs_fh directory, from;  /* where the walk is; RENAME: directory of the old name */
    char component[NM_NFS_NAME_BYTES]; /* of the walk */
    char name[NM_NFS_NAME_BYTES], from_name[NM_NFS_NAME_BYTES];
    /* parts of a READ or WRITE */
    uint32_t sent_bytes, eof_bytes;
    int status; /* first failure */
    const char *rejection;
    struct nm_nfs_file *file;
    struct nm_nfs_page *page;
};

struct nm_nfs_proto {
    unsigned version;
    bool has_opens; /* OPEN and CLOSE exist */
    const char *status_prefix;
    /* Encodes and queues the call on call->link. 0 or negative; the answer comes by
     * nm_nfs_call_arrived(). */
    int (*send)(struct nm_nfs_call *call);
};
extern const struct nm_nfs_proto nm_nfs_proto3, nm_nfs_proto4;

struct nm_nfs_directory { /* a slot of the cache of directory handles */
    uint16_t length;
    char path[510];
    struct nm_nfs_fh fh;
};

struct nm_nfs_session {
    struct nm_session base;
    struct nm_connect how;
    const struct nm_nfs_options *options;
    struct nm_nfs_peer peer;
    const struct nm_nfs_proto *proto;
    /* "auto": why this version; "" when it was asked for */
    char chosen_because[sizeof(((struct nm_error *)0)->text)];
    uint16_t port;
    char export_path[256];
    struct nm_nfs_fh root; /* the target directory */
    struct nm_nfs_attr root_attr;
    uint32_t read_bytes, write_bytes; /* largest request of ours */

    struct nm_nfs_link links[NM_NFS_LINKS_MAX];
    unsigned n_links;
    struct nm_nfs_call *arrived_first, *arrived_last;
    struct nm_nfs_call *delayed;
    struct nm_nfs_call *free_calls;
    unsigned data_calls, data_calls_max;
    struct nm_nfs_request in_flight; /* ring */
    struct nm_nfs_request *free_requests;
    struct nm_nfs_request *pending_first, *pending_last;
    struct nm_nfs_file open_files; /* ring */
    struct nm_nfs_file *free_files;
    uint64_t last_answer_ns;
    bool dead;
    struct nm_error death;

    unsigned delays; /* answers that said: try again later */
    uint64_t delayed_ns;
    unsigned reconnects; /* idle connections that the server had closed */
    bool names_only;     /* READDIRPLUS is not supported */

    /* NFSv4 */
    uint64_t clientid;
    char client_verifier[8];  /* of this client */
    char confirm_verifier[8]; /* of SETCLIENTID */
    char client_name[96];
    uint64_t next_owner;
    uint64_t lease_ns, renewed_ns;
    bool cannot_write; /* this libnfs does not encode large calls */

    struct nm_nfs_directory directories[NM_NFS_DIRECTORY_SLOTS];
};

/* link.c */
int nm_nfs_peer_init(struct nm_nfs_peer *peer, const struct nm_url *url, struct nm_error *err);
void nm_nfs_peer_done(struct nm_nfs_peer *peer);
int nm_nfs_link_open(struct nm_nfs_link *link, struct nm_nfs_peer *peer, uint16_t port,
                     uint64_t deadline_ns, struct nm_error *err);
void nm_nfs_link_close(struct nm_nfs_link *link);
/* Sends and receives until *done. -ETIMEDOUT or -ECONNRESET. */
int nm_nfs_link_wait(struct nm_nfs_link *link, const bool *done, uint64_t deadline_ns);
/* Calls procedure 0. -EPROTONOSUPPORT: something answers, but not this program and version. */
int nm_nfs_link_ping(struct nm_nfs_link *link, int program, int version, uint64_t deadline_ns);
/* The server closed it while nobody was looking. */
bool nm_nfs_link_hung_up(struct nm_nfs_link *link);

/* pools.c */
int nm_nfs_calls_init(struct nm_nfs_session *s, struct nm_error *err);
void nm_nfs_calls_done(struct nm_nfs_session *s); /* after the connections were closed */
/* Closing the connections queued every call as arrived: all of them are lost. */
void nm_nfs_calls_drop(struct nm_nfs_session *s);
struct nm_nfs_call *nm_nfs_call_new(struct nm_nfs_session *s, struct nm_nfs_request *rq,
                                    enum nm_nfs_call_kind kind, nm_nfs_step *then);
void nm_nfs_call_init(struct nm_nfs_call *call, struct nm_nfs_session *s,
                      enum nm_nfs_call_kind kind);
void nm_nfs_call_free(struct nm_nfs_session *s, struct nm_nfs_call *call);
struct nm_nfs_request *nm_nfs_request_new(struct nm_nfs_session *s, struct nm_op *op);
void nm_nfs_request_done(struct nm_nfs_session *s, struct nm_nfs_request *rq, int64_t result);
void nm_nfs_request_queue(struct nm_nfs_session *s, struct nm_nfs_request *rq);
void nm_nfs_request_unqueue(struct nm_nfs_session *s, struct nm_nfs_request *rq);
struct nm_nfs_file *nm_nfs_file_new(struct nm_nfs_session *s, const char *path);
void nm_nfs_file_free(struct nm_nfs_session *s, struct nm_nfs_file *file);
/* Next entry of a page, or NULL for a name that could not stand in a path. */
struct nm_nfs_entry *nm_nfs_page_add(struct nm_nfs_page *page, const char *name, size_t length,
                                     uint64_t cookie);

/* calls.c */
void nm_nfs_call_send(struct nm_nfs_session *s, struct nm_nfs_call *call);
/* Until when an answer to what is asked now is awaited. */
uint64_t nm_nfs_deadline_ns(const struct nm_nfs_session *s);
/* Sends a call of the caller's and waits for it. Its status; NM_NFS_LOST: there was no answer. */
int nm_nfs_call_wait(struct nm_nfs_session *s, struct nm_nfs_call *call, uint64_t deadline_ns);
/* From a libnfs callback: true when there is a result to decode. */
bool nm_nfs_call_arrived(struct nm_nfs_call *call, int rpc_status, void *data);
/* One turn: sends, waits at most until wake_ns, runs the steps of what has arrived. */
void nm_nfs_calls_turn(struct nm_nfs_session *s, uint64_t wake_ns);
void nm_nfs_calls_kick(struct nm_nfs_session *s);
/* Before the first operation after a pause: reopens connections that the server has closed. */
void nm_nfs_session_revive(struct nm_nfs_session *s);

/* ops.c */
void nm_nfs_op_start(struct nm_nfs_session *s, struct nm_nfs_request *rq);
/* Ends the request with the error of a call; may ask the server for free space first. */
void nm_nfs_request_fail(struct nm_nfs_session *s, struct nm_nfs_request *rq, int status,
                         const char *rejection);

/* A call of this request on rq->name in the directory that its walk has reached; NULL: the request
 * has failed. */
struct nm_nfs_call *nm_nfs_name_call(struct nm_nfs_session *s, struct nm_nfs_request *rq,
                                     enum nm_nfs_call_kind kind, nm_nfs_step *then);
void nm_nfs_to_stat(const struct nm_nfs_attr *attr, struct nm_stat *out);

/* list.c */
void nm_nfs_list_start(struct nm_nfs_session *s, struct nm_nfs_request *rq);

/* data.c */
void nm_nfs_data_start(struct nm_nfs_session *s, struct nm_nfs_request *rq);
/* Sends parts of the operations that wait, as far as the limit of calls allows. */
void nm_nfs_parts_send(struct nm_nfs_session *s);
/* CLOSE of a file without an operation, at the end of a session. */
void nm_nfs_file_abandon(struct nm_nfs_session *s, struct nm_nfs_file *file, uint64_t deadline_ns);

/* directory.c */
const struct nm_nfs_fh *nm_nfs_directory_find(const struct nm_nfs_session *s, const char *path,
                                              size_t length);
void nm_nfs_directory_add(struct nm_nfs_session *s, const char *path, size_t length,
                          const struct nm_nfs_fh *fh);
void nm_nfs_directory_drop(struct nm_nfs_session *s, const char *path, size_t length);
void nm_nfs_directory_drop_all(struct nm_nfs_session *s);

/* proto4.c: whether this libnfs encodes calls of 4 KiB and more; known after the first call. */
bool nm_nfs4_large_calls(void);

/* client4.c */
/* A client identity at the server, before the first OPEN and after the server forgot it. */
int nm_nfs4_client_begin(struct nm_nfs_session *s, struct nm_error *err);
/* Renews the lease when it is half over; returns 0 or -errno with err. */
int nm_nfs4_client_keep(struct nm_nfs_session *s, struct nm_error *err);

/* mount.c */
int nm_nfs_mount(struct nm_nfs_session *s, struct nm_error *err);

/* mountd.c */
/* Port of a program by the portmapper; 0 = not registered. */
int nm_nfs_portmapper_ask(struct nm_nfs_session *s, int program, int version, uint16_t *ret_port,
                          struct nm_error *err);
/* The innermost export that holds the URL's path: s->export_path and s->root. *ret_absent: there is
 * no MOUNT service or no such export. */
int nm_nfs_mountd_export(struct nm_nfs_session *s, bool *ret_absent, struct nm_error *err);
/* Adds a name to a list for a message: "a, b, ..." */
void nm_nfs_list_name(char *list, size_t size, const char *name);

/* status.c */
bool nm_nfs_status_try_later(int status);
/* Fills err from the status of a call; what = "create a/b". */
int nm_nfs_status_error(const struct nm_nfs_session *s, int status, const char *rejection,
                        struct nm_error *err, const char *what_fmt, ...) NM_PRINTF(5, 6);
/* Name with prefix: "NFS3ERR_NOSPC". */
void nm_nfs_status_name(const struct nm_nfs_session *s, int status, char *out, size_t size);

#endif
