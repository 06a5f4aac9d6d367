/* The null backend's parts: parameters, the device that all sessions share, faults.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_NULL_H
#define NM_NULL_H

#include "backend.h"

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

#endif
