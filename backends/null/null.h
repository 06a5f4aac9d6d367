/* The null backend's parts: parameters (arguments.c), the device that all sessions share
 * (device.c), faults (faults.c), sessions (null.c) and files (files.c).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_NULL_H
#define NM_NULL_H

#include "backend.h"
#include "local/names.h"

#include <stdatomic.h>

/* What stands behind "?" in the URL. */
struct null_arguments {
    uint64_t rate_bytes_per_s; /* 0 = as fast as the program is */
    char *burst;               /* "4GB:80MB" */
    uint64_t latency_ns;
    uint64_t capacity_bytes;
    bool blocks;
    uint32_t unit_bytes;
    bool store;
    char *fault;
    /* from burst */
    uint64_t burst_bytes, after_bytes_per_s;
};

extern const struct nm_option_section null_arguments_section;

int null_arguments_parse(const struct nm_url *url, struct null_arguments *ret,
                         struct nm_error *err) NM_MUST_CHECK;
void null_arguments_done(struct null_arguments *arguments);

/* --- device.c: what outlives a session --- */

/* In shared memory, so that all workers on one name share its rate and space. */
struct null_shared {
    _Atomic uint64_t epoch_ns;
    _Atomic uint64_t busy_until; /* 1/1024 ns since the epoch */
    _Atomic uint64_t used_bytes;
    _Atomic uint32_t keep; /* the block device holds data that were not released */
};

struct null_device {
    int base_fd;  /* /dev/shm */
    int root_fd;  /* our directory there; shared lock while a session lives */
    int files_fd; /* the tree of files */
    char name[96];
    struct null_shared *shared;
};

#define NULL_DEVICE_CLOSED ((struct null_device){.base_fd = -1, .root_fd = -1, .files_fd = -1})

/* What it opened before a failure is closed by null_device_close(). */
int null_device_open(struct null_device *device, const struct nm_url *url,
                     struct nm_error *err) NM_MUST_CHECK;

/* The last session leaves nothing behind when no files (or raw data) are left. */
void null_device_close(struct null_device *device);

/* When a transfer that begins at now_ns is over. */
uint64_t null_device_transfer(struct null_device *device, uint64_t now_ns, uint64_t bytes,
                              uint64_t bytes_per_s);

/* --- faults.c --- */

enum null_fault_kind {
    NULL_FAULT_TIMEOUT, /* no answer: -ETIMEDOUT after the operation's timeout */
    NULL_FAULT_HANG,    /* never completes at all */
    NULL_FAULT_BLOCK,   /* the call does not return */
    NULL_FAULT_CRASH,   /* the process ends */
    NULL_FAULT_LOST,    /* the session is dead from here on */
    NULL_FAULT_ENOSPC,
    NULL_FAULT_EIO,
    NULL_FAULT_CORRUPT, /* one byte of a READ is flipped */
    NULL_FAULT_SHORT,   /* half of the bytes */
    NULL_FAULT_SLOW,    /* takes longer, 1 s if nothing else is said */
    NULL_FAULT_KINDS
};

struct null_fault {
    enum null_fault_kind kind;
    unsigned ops; /* mask; what the countdown counts */
    uint64_t left;
    uint64_t slow_ns;
};

#define NULL_FAULTS_MAX 8

struct null_faults {
    size_t count;
    struct null_fault items[NULL_FAULTS_MAX];
};

int null_faults_parse(const char *text, struct null_faults *ret,
                      struct nm_error *err) NM_MUST_CHECK;

/* The fault that hits this operation, NULL = none. Counts. */
const struct null_fault *null_faults_next(struct null_faults *faults, enum nm_op_kind kind);

/* --- null.c, files.c --- */

struct null_file {
    struct nm_file base;
    int fd;               /* in the shared tree; -1 for a device that stores nothing */
    uint64_t known_bytes; /* size that the file in the tree has */
    struct null_file *previous, *next;
};

struct null_pending {
    uint64_t due_ns, order; /* order: first in, first out among equals */
    struct nm_op *op;
};

struct null_session {
    struct nm_session base;
    struct null_arguments arguments;
    struct null_device device;
    struct null_faults faults;
    struct nm_names names;
    uint64_t timeout_ns, written_bytes, order;
    bool lost;
    unsigned n_pending, depth;
    struct null_pending *heap; /* smallest due_ns first */
    struct null_file *files;
};

/* Runs an operation; sets its result, does not complete it. */
void null_files_execute(struct null_session *s, struct nm_op *op);
int null_file_close(struct null_session *s, struct null_file *file);
void null_fail(struct nm_op *op, int code, const char *text);

#endif
