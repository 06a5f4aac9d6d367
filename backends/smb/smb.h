/* The SMB backend: what its parts share. Start here.
 *
 *   smb.c        the row: options, connect, describe, disconnect
 *   queue.c      operations of the engine -> requests of lanes and back
 *   pool.c       slots and open files
 *   lanes.c      lanes: child processes, one libsmbclient context each
 *   client.c     one libsmbclient context: settings, login, end
 *   execute.c    what it does: one request after the other
 *   negotiate.c  an own SMB2 NEGOTIATE: dialect, signing, cipher, sizes, identity of the server
 *   diagnose.c   why a connection failed, and whether a login was silently turned into guest
 *   process.c    helper processes, shared memory
 *   home.c       the private home directory that hides the host's smb.conf
 *   address.c    URLs and names as libsmbclient wants them
 *   names.c      paths known to be files, so that UNLINK need not ask
 *   ring.c       the queue of request numbers from worker to lane
 *
 * libsmbclient 4.17 is not thread-safe, keeps settings per process, can block for longer than its
 * timeout (a close after a timed out write waits a second period) and keeps one WRITE in flight
 * per context. So several contexts work on one file at interleaved offsets: lanes. Lane 0 is the
 * worker itself, the others are child processes that share the buffers and can be killed. Lane 0
 * takes what is done one after the other (small files, depth 1), where a hand-over to another
 * process would cost 5 to 10 % on loopback.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_SMB_H
#define NM_SMB_H

#include "backend.h"

#include <stdatomic.h>
#include <sys/types.h>

#define NM_SMB_PATH_MAX   4096u /* bytes of one path below the target, NUL included */
#define NM_SMB_LANES_MAX  16u
#define NM_SMB_PORT       445u
#define NM_SMB_CALL_BYTES (8u << 20) /* one library call; larger reads lose speed and burn CPU */
#define NM_SMB_SECRET_MAX 256u       /* what the library's authentication hook can carry */

enum nm_smb_dialect {
    NM_SMB_NT1,
    NM_SMB_2_02,
    NM_SMB_2_10,
    NM_SMB_3_00,
    NM_SMB_3_02,
    NM_SMB_3_11,
    NM_SMB_DIALECTS
};
extern const char *const nm_smb_dialect_names[]; /* as in smb.conf; NULL-terminated */

enum nm_smb_demand { NM_SMB_DEFAULT, NM_SMB_REQUIRED, NM_SMB_OFF };

/* Section [smb] of the plan. */
struct nm_smb_options {
    int protocol_min, protocol_max; /* enum nm_smb_dialect */
    int signing, encryption;        /* enum nm_smb_demand */
    uint32_t lanes;                 /* 0 = auto */
};
extern const struct nm_option_section nm_smb_options;

extern const struct nm_backend_ops nm_backend_smb;

/* ---- negotiate.c ---- */

/* The server's side of the negotiation. */
struct nm_smb_server {
    int dialect;                              /* enum nm_smb_dialect */
    bool signing_required;                    /* by the server */
    uint16_t cipher, signing_algorithm;       /* MS-SMB2 numbers; cipher 0 = none */
    uint32_t max_read_bytes, max_write_bytes; /* of one request */
    int64_t clock_skew_ms;                    /* server's clock less ours; INT64_MIN = not told */
    unsigned char guid[16];
};

/* Resolves, connects and negotiates between min and max (SMB2 and later) by one NEGOTIATE of our
 * own: the library tells neither dialect nor cipher. Exact errors: host unknown, port closed, no
 * answer, no common dialect, SMB1 only. Blocks in the resolver, so run it in a helper. */
int nm_smb_negotiate(const char *host, uint16_t port, int min, int max, uint64_t deadline_ns,
                     struct nm_smb_server *ret, struct nm_error *err) NM_MUST_CHECK;

/* The two messages, without the four bytes of transport header. build returns the length. */
size_t nm_smb_negotiate_build(int min, int max, unsigned char out[256]);
int nm_smb_negotiate_parse(const unsigned char *message, size_t length, int min, int max,
                           uint64_t utc_ns, struct nm_smb_server *ret,
                           struct nm_error *err) NM_MUST_CHECK;

const char *nm_smb_cipher_name(unsigned cipher);
const char *nm_smb_signing_name(unsigned algorithm);

/* ---- address.c ---- */

/* Percent-encodes all but unreserved characters; '/' is kept when it separates names. Returns the
 * length, or 0 when it does not fit. */
size_t nm_smb_encode(const char *text, bool keep_slash, char *out, size_t size);

/* "smb://nas:445/share" and, when whole, "/directory" of the target. Heap; NULL when out of
 * memory. Neither user nor secret is in it. */
char *nm_smb_target_url(const struct nm_url *url, bool whole);

/* 0, or why SMB cannot carry this path (names too long, characters that are not names). */
int nm_smb_check_path(const char *path, struct nm_error *err) NM_MUST_CHECK;

/* ---- home.c ---- */

/* A directory only we can read, to be $HOME of whoever opens a context: libsmbclient takes its
 * configuration from $HOME/.smb/smb.conf and then never looks at the host's. It lives while a
 * session connects; what a killed process left behind goes an hour later. */
struct nm_smb_home {
    char path[64];
    char client[16]; /* the client's name in this configuration: shows that it was read */
};
int nm_smb_home_create(struct nm_smb_home *home, const struct nm_smb_options *options, int min,
                       int max, struct nm_error *err) NM_MUST_CHECK;
void nm_smb_home_remove(struct nm_smb_home *home); /* NULL-safe, may be called twice */

/* ---- process.c ---- */

/* Forks. In the child: dies with its parent, ignores what the terminal sends, keeps no standard
 * stream (the library prints); returns 0. In the parent: the pid, and a descriptor that becomes
 * readable when the child ends (the child has the other end of the pipe). -errno on failure. */
int nm_smb_fork(const char *name, pid_t *ret_pid, int *ret_life_fd, struct nm_error *err);

/* Waits for the end of a process until deadline_ns, then kills it. Closes life_fd, adds the CPU
 * time of the process to *cpu_ns (may be NULL). 0 = it ended well, -ETIMEDOUT = had to be killed,
 * -ECHILD = it died. */
int nm_smb_wait(pid_t pid, int life_fd, uint64_t deadline_ns, uint64_t *cpu_ns);

/* Runs work(shared) in a process of its own: for calls that can block or that would leave settings
 * of the library behind. shared must be MAP_SHARED memory. */
int nm_smb_help(void (*work)(void *shared), void *shared, uint64_t deadline_ns, const char *what,
                struct nm_error *err) NM_MUST_CHECK;

/* Zeroed anonymous shared memory, NULL when there is none. */
void *nm_smb_shared_alloc(size_t bytes);
void nm_smb_shared_free(void *memory, size_t bytes);

/* ---- client.c, execute.c ---- */

/* Everything a context needs; complete before a process is forked, constant afterwards. */
struct nm_smb_target {
    struct nm_connect how;
    struct nm_smb_options options;
    struct nm_smb_home home;
    int dialect_min, dialect_max;         /* pinned after the negotiation */
    const char *user, *password, *domain; /* user "" = none was named */
    char *url, *root_url;                 /* target directory, share */
    char *label;                          /* "smb://nas/share/directory" for messages */
};

/* Requests beyond the engine's operations. */
enum {
    NM_SMB_REOPEN = NM_OP_KINDS, /* open under `handle` what another lane has open already */
    NM_SMB_INFO,                 /* -> info */
};

struct nm_smb_info {
    uint64_t total_bytes, free_bytes;
    uint64_t root_id; /* the server's number of the share's root; 0 = not to be seen */
    bool encrypted, read_only;
    const char *login; /* "user", "guest" or "anonymous": a literal, so the same in all processes */
};

/* One request to a client. Lives in shared memory; the worker owns it until it is handed to a
 * lane and again when its number came back. */
struct nm_smb_request {
    int kind; /* enum nm_op_kind or one of the above */
    unsigned open_flags;
    uint32_t handle; /* number of the file, given by the worker, the same in all lanes */
    uint32_t length_bytes;
    uint64_t offset_bytes;
    uint64_t expected_bytes;
    void *buf;
    uint64_t sequence; /* for cancel */
    bool known_file;   /* UNLINK: no need to check that it is none */
    /* out */
    int64_t result;
    uint64_t done_ns;
    bool fatal; /* the connection is gone */
    uint64_t size_bytes;
    struct nm_stat stat;
    struct nm_smb_info info;
    struct nm_error err;
    char path[NM_SMB_PATH_MAX], new_path[NM_SMB_PATH_MAX];
};

typedef void nm_smb_entry_fn(void *context, const char *name, const struct nm_stat *stat);

struct nm_smb_client;

/* Logs in and makes sure that the target directory is there. Changes $HOME for the duration.
 * *ret_logged_in (may be NULL): the share was reached, whatever happened later. */
int nm_smb_client_open(const struct nm_smb_target *target, struct nm_smb_client **ret_client,
                       bool *ret_logged_in, struct nm_error *err) NM_MUST_CHECK;

/* Closes files and connection; gives up at the first of them that gets no answer. NULL-safe. */
void nm_smb_client_close(struct nm_smb_client *client);

/* Leaves everything as it is: the library would wait a timeout for each file. NULL-safe. */
void nm_smb_client_abandon(struct nm_smb_client *client);

/* Carries out one request. entry receives what LIST finds. */
void nm_smb_client_execute(struct nm_smb_client *client, struct nm_smb_request *request,
                           nm_smb_entry_fn *entry, void *entry_context);

/* True when a context of this process was abandoned: a new one would inherit its settings. */
bool nm_smb_client_tainted(void);

/* Names of the shares of the server as one text "a, b, c"; 0 or -errno. */
int nm_smb_client_shares(const struct nm_smb_target *target, char *out, size_t size);

/* Whether the server takes user and password at all, shown by reaching IPC$. */
int nm_smb_client_login(const struct nm_smb_target *target);

/* "NT_STATUS_ACCESS_DENIED" or its number. */
const char *nm_smb_status_name(uint32_t status, char out[32]);

/* ---- diagnose.c ---- */

/* Replaces err, with which connecting to target failed, by the cause. reached: the share itself
 * was reached. */
void nm_smb_diagnose(const struct nm_smb_target *target, bool reached, uint64_t deadline_ns,
                     struct nm_error *err);

/* 1 = the server did not know the user and let us in as guest, 0 = it did, -errno = cannot tell. */
int nm_smb_is_guest(const struct nm_smb_target *target, uint64_t deadline_ns);

/* ---- names.c ---- */

#define NM_SMB_NAMES 32768u
struct nm_smb_names {
    uint64_t hashes[NM_SMB_NAMES];
};
/* name NULL: directory is the whole path. */
void nm_smb_names_add(struct nm_smb_names *names, const char *directory, const char *name);
void nm_smb_names_forget(struct nm_smb_names *names, const char *path);
bool nm_smb_names_has(struct nm_smb_names *names, const char *path);

/* ---- ring.c ---- */

/* Request numbers from one producer process to one consumer process. In shared memory, zeroed. */
#define NM_SMB_RING_SLOTS 4096u
#define NM_SMB_RING_QUIT  UINT32_MAX
struct nm_smb_ring {
    _Alignas(64) _Atomic uint32_t tail; /* written by the producer; the consumer sleeps on it */
    _Alignas(64) _Atomic uint32_t head; /* written by the consumer */
    _Alignas(64) uint32_t slots[NM_SMB_RING_SLOTS];
};
int nm_smb_ring_push(struct nm_smb_ring *ring, uint32_t value); /* -EAGAIN when full */
uint32_t nm_smb_ring_pop(struct nm_smb_ring *ring);             /* sleeps while empty */
bool nm_smb_ring_try_pop(struct nm_smb_ring *ring, uint32_t *ret_value);

/* ---- lanes.c ---- */

struct nm_smb_lane {
    pid_t pid; /* 0 = no process */
    int life_fd;
    unsigned queued; /* requests handed over and not yet back */
};

/* Memory shared by worker and lanes. */
struct nm_smb_shared {
    _Atomic uint64_t cancel_before; /* requests with a smaller sequence end with -ECANCELED */
    struct nm_error connect_err[NM_SMB_LANES_MAX]; /* code 0 = connected */
    bool logged_in;                                /* lane 0 reached the share */
    struct nm_smb_ring rings[NM_SMB_LANES_MAX];
    struct nm_smb_request requests[]; /* n_requests */
};

struct nm_smb_lanes {
    const struct nm_smb_target *target;
    unsigned count;
    struct nm_smb_lane lane[NM_SMB_LANES_MAX];
    struct nm_smb_client *self; /* of lane 0; NULL: lane 0 is a child as well */
    bool in_worker;
    bool lost; /* a child died */
    struct nm_smb_shared *shared;
    size_t shared_bytes;
    int done_fds[2]; /* pipe: numbers of completed requests, written by all lanes */
    int list_fd;     /* memory file through which the entries of a LIST come */
    uint64_t cpu_ns; /* of lanes that are gone */
};

/* Starts count lanes and waits until all are connected. The structure must be stopped and done in
 * any case. */
int nm_smb_lanes_start(struct nm_smb_lanes *lanes, const struct nm_smb_target *target,
                       unsigned count, uint32_t n_requests, uint64_t deadline_ns,
                       struct nm_error *err) NM_MUST_CHECK;

/* Ends all lanes: politely until deadline_ns, then by force. The shared memory stays. */
void nm_smb_lanes_stop(struct nm_smb_lanes *lanes, uint64_t deadline_ns);
void nm_smb_lanes_done(struct nm_smb_lanes *lanes); /* releases the rest */

/* Puts a request into the queue of a lane. */
void nm_smb_lanes_submit(struct nm_smb_lanes *lanes, unsigned lane, uint32_t request);

/* Carries out one request of lane 0, if there is any, and collects the numbers of completed
 * requests, at most max; waits for one until deadline_ns. 0 = none came, -ECHILD = a lane died. */
int nm_smb_lanes_reap(struct nm_smb_lanes *lanes, uint32_t *ret_requests, unsigned max,
                      uint64_t deadline_ns);

/* Delivers the entries of the LIST that was completed last. */
int nm_smb_lanes_list(struct nm_smb_lanes *lanes, nm_smb_entry_fn *entry, void *context);

uint64_t nm_smb_lanes_cpu_ns(const struct nm_smb_lanes *lanes);

/* ---- pool.c ---- */

struct nm_smb_file {
    struct nm_file base;
    uint32_t handle;
    unsigned open_flags;
    unsigned open_lanes; /* mask */
    unsigned closing;    /* CLOSE requests under way */
    struct nm_error close_err, reopen_err;
    struct nm_smb_file *next; /* while free */
    char path[NM_SMB_PATH_MAX];
};

#define NM_SMB_NO_SLOT UINT32_MAX

/* What the worker remembers of a request. */
struct nm_smb_slot {
    bool busy;
    unsigned lane;
    struct nm_op *op; /* NULL: a request of our own */
    struct nm_smb_file *file;
    uint64_t submit_ns;
    uint32_t next; /* while free */
};

struct nm_smb_session {
    struct nm_session base;
    struct nm_smb_target target;
    struct nm_smb_server server;
    struct nm_smb_lanes lanes;
    struct nm_smb_slot *slots;
    uint32_t n_slots, free_slot;              /* UINT32_MAX = none */
    struct nm_smb_file *free_files, **blocks; /* files come in blocks */
    uint32_t n_blocks;
    uint64_t sequence;
    uint64_t check_ns; /* no operation expires before */
    struct nm_smb_names names;
    struct nm_op *listing;                      /* the LIST under way */
    struct nm_op *waiting_first, *waiting_last; /* LIST, one after the other */
    struct nm_error dead;                       /* code 0 = alive */
};

int nm_smb_pool_init(struct nm_smb_session *session, struct nm_error *err) NM_MUST_CHECK;
void nm_smb_pool_done(struct nm_smb_session *session);

/* NULL: out of memory, or too many. */
struct nm_smb_file *nm_smb_file_take(struct nm_smb_session *session);
void nm_smb_file_release(struct nm_smb_session *session, struct nm_smb_file *file);

/* The number of a slot and of its request, NM_SMB_NO_SLOT when all are in use. */
uint32_t nm_smb_slot_take(struct nm_smb_session *session, struct nm_op *op,
                          struct nm_smb_file *file, unsigned lane);
void nm_smb_slot_release(struct nm_smb_session *session, uint32_t number);

/* ---- queue.c ---- */

void nm_smb_queue_submit(struct nm_session *base, struct nm_op *op);
int nm_smb_queue_reap(struct nm_session *base, uint64_t deadline_ns, struct nm_error *err);
void nm_smb_queue_cancel(struct nm_session *base);

/* Asks lane 0 and waits. */
int nm_smb_queue_info(struct nm_smb_session *session, struct nm_smb_info *ret,
                      struct nm_error *err) NM_MUST_CHECK;

#endif
