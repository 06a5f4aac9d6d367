/* The contract suite: what backends/backend.h promises, checked over any backend and any target.
 *
 * Every check runs in a process of its own that connects as a worker does (one session per process,
 * buffers in a shared mapping made before connect), so a crash or a hang fails one check and
 * nothing else. A check that fails says why and leaves with status 1.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_TEST_CONTRACT_H
#define NM_TEST_CONTRACT_H

#include "backend.h"
#include "pattern.h"

#include <stdbool.h>
#include <stdint.h>

/* Common to all checks of one run; the parent's, except for `shared`. */
struct contract {
    const struct nm_backend_ops *ops;
    struct nm_connect how;  /* buffers are set per check */
    const char *directory;  /* everything that the suite creates lies in it */
    const char *freeze;     /* shell command that stops the server from answering, NULL = none */
    const char *thaw;       /* and the one that ends it */
    struct nm_pattern data; /* what is written */
    struct {                /* what one check learns for the next */
        bool connected, claimed;
    } * shared;
};

/* One check's session. */
struct session {
    const struct contract *suite;
    struct nm_session *nm;
    struct nm_connect how;
    struct nm_op *queue; /* one per slot */
    char path[2048];     /* last result of path_of() */
};

enum check_flags {
    CHECK_READ_ONLY = 1 << 0,  /* the session is read-only */
    CHECK_UNCLAIMED = 1 << 1,  /* do not claim first */
    CHECK_NO_CONNECT = 1 << 2, /* the check connects by itself */
    CHECK_FREEZE = 1 << 3,     /* needs the freeze command */
};

struct check {
    const char *name;
    void (*run)(struct session *s);
    unsigned flags;
};

extern const struct check file_checks[], block_checks[]; /* end with a row without name */

/* Fails the check, with the place, when the condition does not hold. */
#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition))                                                                          \
            check_failed(__FILE__, __LINE__, #condition, __VA_ARGS__);                             \
    } while (0)
_Noreturn void check_failed(const char *file, int line, const char *what, const char *fmt, ...)
    NM_PRINTF(4, 5);
_Noreturn void check_skipped(const char *why);

void session_connect(struct session *s, bool read_only);
void session_disconnect(struct session *s);

/* directory/NAME, or directory alone for "". Valid until the next call. */
const char *path_of(struct session *s, const char *name);
void *buffer_of(const struct session *s, unsigned slot);

/* Runs one operation; only the fields given in op matter. Every failure must carry reason, code and
 * text, and nothing may stay in flight. Returns op->result. */
int64_t run(struct session *s, struct nm_op *op);

/* The operation must succeed; returns its result. / must fail, and with these (0 and NONE: any). */
int64_t must(struct session *s, struct nm_op op);
void must_fail(struct session *s, struct nm_op op, int code, enum nm_reason reason);

struct nm_file *must_open(struct session *s, const char *name, unsigned flags);
struct nm_file *must_create(struct session *s, const char *name, uint64_t expected_bytes);
void must_close(struct session *s, struct nm_file *file);

/* READs or WRITEs `length` bytes from offset at full depth, out of order, in pieces of block_bytes;
 * the data belong to position + offset of the pattern. Reads are compared. */
void transfer(struct session *s, struct nm_file *file, enum nm_op_kind kind, uint64_t offset,
              uint64_t length, uint64_t position);

/* One operation on a name of the suite's directory. */
struct nm_op op_on(struct session *s, enum nm_op_kind kind, const char *name);

struct nm_stat stat_of(struct session *s, const char *name);
void must_have_size(struct session *s, const char *name, uint64_t size_bytes);
void must_be_missing(struct session *s, const char *name);

/* Writes a file of its own data, flushed; reads it, with the data of the file `origin`. */
void put_file(struct session *s, const char *name, uint64_t size_bytes);
void get_file(struct session *s, const char *name, const char *origin, uint64_t size_bytes);

/* A place in the pattern for a file of this name, the same in every check. */
uint64_t position_of(const char *name);

#endif
