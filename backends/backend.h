/* The contract between the engine and a storage client.
 *
 * A backend is one const row (struct nm_backend_ops) in backends/table.c. It moves bytes; it never
 * knows a workload, the database or a terminal. It runs inside a worker process: one session per
 * process, one thread, and nothing of the library may be touched before `connect` (the parent never
 * loads a session).
 *
 * One queue for all: the engine owns the operations (struct nm_op) and their buffers, submits up to
 * `depth` of them and reaps completions. A backend is EITHER synchronous (`execute`) OR
 * asynchronous (`submit` + `reap`); nm_session_submit()/nm_session_reap() hide the difference.
 *
 * Source of the shape: fio's queue()/getevents(), IOR's aiori vtable; units and deadlines are ours.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_BACKEND_H
#define NM_BACKEND_H

#include "conditions.h"
#include "credentials.h"
#include "error.h"
#include "options.h"
#include "url.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nm_op_kind {
    NM_OP_MKDIR, /* path */
    NM_OP_RMDIR, /* path; fails on a directory that is not empty */
    NM_OP_OPEN, /* path, open_flags -> file. On a block target path is "" and means the whole device
                 */
    NM_OP_CREATE, /* path, expected_bytes -> file. Exclusive: an existing name is -EEXIST. Readable
                     too */
    NM_OP_READ,   /* file, offset, length, buf -> bytes (short only at the end of the file) */
    NM_OP_WRITE,  /* file, offset, length, buf -> bytes (never short) */
    NM_OP_FLUSH,  /* file: its data and size are on stable storage as far as the protocol can say;
                     file NULL: everything written by this session is */
    NM_OP_CLOSE,  /* file; gone afterwards, whatever the result */
    NM_OP_STAT,   /* path -> *stat */
    NM_OP_LIST,   /* path; list_entry() for each entry except "." and ".." */
    NM_OP_UNLINK, /* path */
    NM_OP_RENAME, /* path -> new_path; replaces nothing: an existing new_path is -EEXIST */
    NM_OP_KINDS
};
#define NM_OP_MASK(kind) (1u << (kind))
#define NM_OP_MASK_ALL   ((1u << NM_OP_KINDS) - 1)
#define NM_OP_MASK_BLOCK                                                                           \
    (NM_OP_MASK(NM_OP_OPEN) | NM_OP_MASK(NM_OP_READ) | NM_OP_MASK(NM_OP_WRITE) |                   \
     NM_OP_MASK(NM_OP_FLUSH) | NM_OP_MASK(NM_OP_CLOSE))

const char *nm_op_kind_name(enum nm_op_kind kind); /* "mkdir", "open", ... */

struct nm_session;

/* An open file or device; backends embed it as their first member. */
struct nm_file {
    struct nm_session *session;
    uint64_t size_bytes; /* at OPEN; block targets: capacity */
};

struct nm_stat {
    uint64_t size_bytes;
    uint64_t allocated_bytes; /* UINT64_MAX when the protocol does not say */
    bool is_directory;
    bool is_symlink;
};

enum nm_open_flags {
    NM_OPEN_READ = 1 << 0,
    NM_OPEN_WRITE = 1 << 1,
};

/* One operation. The engine owns it; between submit and completion only the backend touches it. */
struct nm_op {
    /* in */
    enum nm_op_kind kind;
    unsigned open_flags;
    struct nm_file *file; /* in for READ WRITE FLUSH CLOSE, out for OPEN CREATE */
    const char *path; /* relative to the target's directory, UTF-8, '/' between names, "" = itself;
                         stays valid until completion */
    const char *new_path; /* RENAME */
    uint64_t offset_bytes;
    uint32_t length_bytes;
    uint64_t expected_bytes; /* CREATE: final size, may be used to preallocate; OPEN: size the
                                caller knows already, so that nm_file.size_bytes need not cost a
                                round trip; 0 = unknown */
    void *buf; /* inside nm_connect.buffers, page aligned; its whole pages belong to this operation,
                  so a READ or WRITE may be rounded up to the page */
    bool discard; /* READ: nobody will look at the data; a backend may put them anywhere inside
                     nm_connect.buffers, e.g. always to the same place, which stays in the caches
                     of the CPU */
    struct nm_stat *stat; /* STAT */
    void (*list_entry)(void *context, const char *name,
                       const struct nm_stat *stat); /* LIST; stat is never NULL */
    void *list_context;
    unsigned slot; /* 0..depth-1 of its stream, constant */
    /* out */
    int64_t result;      /* bytes, 0, or -errno */
    struct nm_error err; /* MUST be filled in (reason, raw, text) when result < 0 */
    uint64_t submit_ns, done_ns;
    /* owners */
    void *backend_state; /* the backend's between submit and completion */
    void *user;          /* the workload's */
    struct nm_op *next;  /* completion list */
};

/* Everything a backend needs to connect. All pointers outlive the session. */
struct nm_connect {
    const struct nm_url *url;
    const struct nm_credentials *credentials;
    const void *options;  /* the backend's own section structure (ops->options), never NULL when it
                             has one */
    const char *volume;   /* name of the volume, for messages */
    uint64_t timeout_ns;  /* of one operation; a backend never waits longer for one answer */
    unsigned depth;       /* operations in flight at most (all streams of this session together) */
    uint32_t block_bytes; /* largest length of a READ or WRITE */
    void *buffers; /* MAP_SHARED region with all buffers of the queue, mapped before connect, so
                      that helper processes forked by the backend see the same memory */
    size_t buffers_bytes;
    unsigned stream, streams; /* which of how many workers this is */
    bool read_only;           /* refuse every operation that changes the target */
    bool claimed;             /* block targets: claim() succeeded earlier in this run */
    bool buffered;            /* local: use the page cache on purpose (bonnie does) */
};

enum nm_trait {
    NM_TRAIT_FILES = 1 << 0,          /* names, directories, files */
    NM_TRAIT_BLOCKS = 1 << 1,         /* one device of fixed size, OPEN "" */
    NM_TRAIT_ASYNC = 1 << 2,          /* depth > 1 has an effect */
    NM_TRAIT_SINGLE_PROCESS = 1 << 3, /* all streams share one session inside one worker */
    NM_TRAIT_NO_FLUSH = 1 << 4,       /* the protocol library cannot flush: FLUSH returns 0 and does
                                         nothing;       the condition flush says "ack" */
    NM_TRAIT_PAGE_CACHE = 1 << 5,     /* nm_connect.buffered works: requests end in the memory of
                                         this machine, so one of a byte costs no round trip */
};

/* What describe() finds besides the conditions. */
struct nm_target_info {
    uint64_t total_bytes, free_bytes; /* UINT64_MAX = unknown */
    uint32_t block_bytes;             /* smallest unit of a raw READ or WRITE; 1 for files */
    uint32_t physical_bytes; /* raw devices: of the medium, and how far its first block lies */
    uint32_t offset_bytes;   /* from the first byte; 0, 0 = not told */
    bool writable;           /* as far as it can be told without writing */
    bool prefill;       /* raw devices: write what is to be read, where claim() allows writing */
    char identity[160]; /* what is behind the target: share + server id, fsid, NAA, st_dev */
};

struct nm_backend_ops {
    const char *name;                        /* "smb" */
    const char *help;                        /* one line */
    enum nm_protocol protocol;               /* which URLs */
    unsigned supports;                       /* mask of NM_OP_MASK() */
    unsigned traits;                         /* mask of nm_trait */
    const struct nm_option_section *options; /* section of the plan, or NULL */
    const char *unavailable;                 /* why it was not built; all hooks are NULL then */
    uint32_t auto_block_bytes;               /* request size behind `block = auto`; 0 = 1 MiB */

    /* MAY. Which URLs of its protocol are for this row; NULL = all of them. Looks at the text or at
     * a local file's type, never at the network. */
    bool (*suits)(const struct nm_url *url);

    /* MUST. Called by nm_backend_connect() alone. Log in, open the target, check that it is there.
     * Must not change the target. Bounded by timeout_ns per answer. On failure *ret_session is
     * untouched and err says what, where, and what to do; class and raw code are exact (wrong
     * password is auth, missing share is not_found
     * ...). */
    int (*connect)(const struct nm_connect *how, struct nm_session **ret_session,
                   struct nm_error *err);

    /* MUST. Never blocks longer than timeout_ns; takes NULL. Files still open are dropped. */
    void (*disconnect)(struct nm_session *session);

    /* MUST. Conditions of this session (dialect, signing, rsize, block size ...), free space,
     * identity. */
    int (*describe)(struct nm_session *session, struct nm_target_info *info,
                    struct nm_conditions *conditions, struct nm_error *err);

    /* Either this ... (completes before it returns; sets op->result and op->err) */
    void (*execute)(struct nm_session *session, struct nm_op *op);

    /* ... or these two. submit() takes the operation over; it completes later, or already inside
     * submit, by nm_session_complete(). reap() waits until at least one operation has completed
     * (call nm_session_complete for each) or until deadline_ns; 0 = something completed or the
     * deadline passed, -errno = the session is dead (every operation in flight is completed with an
     * error first). An operation older than timeout_ns is completed by the backend with -ETIMEDOUT.
     */
    void (*submit)(struct nm_session *session, struct nm_op *op);
    int (*reap)(struct nm_session *session, uint64_t deadline_ns, struct nm_error *err);

    /* MAY. Asks in-flight operations to end soon (-ECANCELED); used on abort. */
    void (*cancel)(struct nm_session *session);

    /* MUST for NM_TRAIT_BLOCKS, else MAY; called by nm_backend_claim() alone. Makes a block target
     * ours before the first write: checks that it is blank or that the user named it in
     * allow_destroy; lunfs also formats it. Reports progress through *done_fraction (0..1, shared
     * memory, may be NULL). A session whose row has claim() refuses every change with
     * NM_REASON_PROTECTED until claim() succeeded or nm_connect.claimed was set. */
    int (*claim)(struct nm_session *session, volatile double *done_fraction, struct nm_error *err);

    /* MAY. After raw writes to [0, end_bytes) of a claimed block target: leave nothing behind that
     * looks like a partition table (first and last MiB zeroed). */
    int (*release)(struct nm_session *session, uint64_t end_bytes, struct nm_error *err);

    /* MAY. Drop every client-side cache (lunfs: page cache and file system state). */
    int (*drop_caches)(struct nm_session *session, struct nm_error *err);

    /* MAY. CPU time of helper processes so far (smb lanes). */
    uint64_t (*helpers_cpu_ns)(struct nm_session *session);

    /* MAY. Requests repeated so far because the server said "not now" (BUSY, UNIT ATTENTION,
     * JUKEBOX); the time this took is in the clock. */
    uint64_t (*repeats)(struct nm_session *session);
};

/* First member of every backend's session structure; zeroed by connect, filled in by
 * nm_backend_connect(). */
struct nm_session {
    const struct nm_backend_ops *ops;
    bool read_only, unclaimed;            /* nm_session_submit() refuses changes */
    struct nm_op *done_first, *done_last; /* completed, not yet handed to the engine */
    unsigned in_flight;
};

extern const struct nm_backend_ops *const nm_backend_table[]; /* NULL-terminated */

const struct nm_backend_ops *nm_backend_find(const char *name); /* NULL = unknown */

/* The backend for a URL that can do all of `needs` (mask of NM_OP_MASK) with the trait wanted
 * (NM_TRAIT_FILES or NM_TRAIT_BLOCKS; 0 = what the URL itself prefers). NULL and err (unsupported)
 * if none. */
const struct nm_backend_ops *nm_backend_select(const struct nm_url *url, unsigned needs,
                                               unsigned trait, struct nm_error *err);

/* Table consistency: exactly one of execute and submit+reap, MUST hooks present, names unique.
 * Called at start; a violation is a defect. */
int nm_backend_table_check(struct nm_error *err) NM_MUST_CHECK;

/* Opens a session; the only way to one. */
int nm_backend_connect(const struct nm_backend_ops *ops, const struct nm_connect *how,
                       struct nm_session **ret_session, struct nm_error *err) NM_MUST_CHECK;

/* claim() of the session's row; 0 when the row has none. */
int nm_backend_claim(struct nm_session *session, volatile double *done_fraction,
                     struct nm_error *err) NM_MUST_CHECK;

/* Called by a backend (also from inside submit/reap) when op->result is set. Stamps done_ns. */
void nm_session_complete(struct nm_session *session, struct nm_op *op);

/* Engine side: stamps submit_ns and starts the operation. Refuses unsupported kinds and, on
 * read-only or unclaimed sessions, changing ones (completes with an error). */
void nm_session_submit(struct nm_session *session, struct nm_op *op);

/* Next completed operation, waiting until deadline_ns. NULL: none (err->code is 0 on deadline, else
 * the session is dead). */
struct nm_op *nm_session_reap(struct nm_session *session, uint64_t deadline_ns,
                              struct nm_error *err);

/* Convenience for set-up, tests and probes: submit one operation and wait for it. Returns
 * op->result. */
int64_t nm_session_run(struct nm_session *session, struct nm_op *op, uint64_t timeout_ns);

#endif
