/* The local backend's parts. A session is either a directory (row `local`) or a whole device or
 * image file (row `device`); both share the queue.
 *
 *   local.c   rows, options, sessions        queue.c   requests: io_uring, or one after the other
 *   files.c   open, create, close, flush     names.c   everything on names
 *   probe.c   what the file system can do    mounts.c  where a path lies, what must be refused
 *   device.c  devices: capacity, who uses them, claim and release
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_LOCAL_H
#define NM_LOCAL_H

#include "backend.h"
#include "names.h"

#include <liburing.h>
#include <sys/types.h>

#define LOCAL_PAGE_BYTES 4096u

/* [local] */
enum local_direct { LOCAL_DIRECT_AUTO, LOCAL_DIRECT_YES, LOCAL_DIRECT_NO };
enum local_engine { LOCAL_ENGINE_AUTO, LOCAL_ENGINE_URING, LOCAL_ENGINE_SYNC };

struct local_options {
    int direct, io_engine;
    char *allow_destroy;
};

extern const struct nm_option_section local_options_section;

/* --- probe.c --- */

enum local_cached {
    LOCAL_CACHED_NO,      /* reads reach the storage */
    LOCAL_CACHED_DROPPED, /* the page cache is emptied before reading, and that works here */
    LOCAL_CACHED_UNKNOWN, /* a file system daemon is in between, or it was asked for */
    LOCAL_CACHED_YES,     /* reads come from memory, or may */
};

struct local_ability {
    bool direct;
    uint32_t align_bytes; /* of offset and length of direct requests */
    char reason[96];      /* why not direct, "" otherwise */
    enum local_cached cached;
    bool preallocate; /* extending direct writes would not run side by side */
};

int local_probe_directory(int dir_fd, const struct nm_connect *how, struct local_ability *ret,
                          struct nm_error *err) NM_MUST_CHECK;
/* fd: opened for reading, without O_DIRECT. */
int local_probe_device(int fd, const struct nm_connect *how, struct local_ability *ret,
                       struct nm_error *err) NM_MUST_CHECK;
const char *local_cached_name(enum local_cached cached);

/* --- mounts.c --- */

struct local_mount {
    dev_t device;
    char point[4096], fs[32], source[256], options[128];
};

/* The mount that fd lies on. */
int local_mount_find(int fd, struct local_mount *ret, struct nm_error *err) NM_MUST_CHECK;

/* Calls each() for every mount until it returns true; returns whether one did. -errno: unreadable.
 */
int local_mount_each(bool (*each)(void *context, const struct local_mount *mount), void *context);

/* Refuses a directory below which nothing is mounted although something should be: one that fstab
 * names, or an empty one where removable disks and shares are mounted by custom. */
int local_mount_check(const char *real_path, const struct local_mount *mount, bool empty,
                      const char *fstab, struct nm_error *err) NM_MUST_CHECK;

bool local_mount_is_system_disk(const struct local_mount *mount);

/* --- files.c, queue.c --- */

struct local_file {
    struct nm_file base;
    int fd;          /* O_DIRECT when direct */
    int buffered_fd; /* for tails of direct files; -1 until needed */
    bool direct, writable;
    uint64_t allocated_bytes; /* size that fallocate gave the file; above base.size_bytes only until
                                 it is closed */
    struct local_file *previous, *next;
};

/* One request on its way. */
struct local_slot {
    struct nm_op *op;     /* NULL = free, or abandoned when `busy` */
    bool busy;            /* the kernel has it */
    bool direct;          /* this piece */
    uint32_t done_bytes;  /* of the operation */
    uint32_t piece_bytes; /* asked for in this piece */
    int fd;
};

struct local_session {
    struct nm_session base;
    struct nm_connect connect; /* a copy */
    const struct nm_connect *how;
    const struct local_options *options;
    const char *path; /* as in the URL */
    int root_fd;      /* the directory; the device, for reading */
    bool is_device;
    uint64_t capacity_bytes; /* device */
    uint32_t unit_bytes;     /* device */
    struct local_ability can;
    struct local_mount mount;
    struct nm_names names;
    struct local_file *files;

    bool uring, dead;
    bool prepared; /* the ring holds requests that the kernel does not have yet */
    bool ticking;  /* a timeout request is under way */
    struct __kernel_timespec tick;
    char engine_reason[64]; /* why not io_uring, "" otherwise */
    struct io_uring ring;
    struct local_slot *slots; /* how->depth */
    unsigned next_slot;
};

int local_queue_init(struct local_session *s, struct nm_error *err) NM_MUST_CHECK;
void local_queue_done(struct local_session *s); /* waits for the kernel, at most timeout_ns */
void local_queue_submit(struct local_session *s,
                        struct nm_op *op); /* READ WRITE, FLUSH of a file */
int local_queue_reap(struct local_session *s, uint64_t deadline_ns, struct nm_error *err);
void local_queue_cancel(struct local_session *s);

void local_file_open(struct local_session *s, struct nm_op *op); /* OPEN, CREATE */
void local_file_open_device(struct local_session *s, struct nm_op *op);
void local_file_close(struct local_session *s, struct nm_op *op);
void local_file_drop(struct local_session *s, struct local_file *file); /* forgets it */
int local_file_buffered_fd(struct local_file *file, struct nm_error *err) NM_MUST_CHECK;
/* After an fsync: the page cache gives up what it holds, unless it is used on purpose. */
void local_file_drop_cache(const struct local_session *s, const struct local_file *file);
void local_flush_all(struct local_session *s, struct nm_op *op);

/* --- device.c --- */

bool local_is_device(const char *path);
int local_device_connect(struct local_session *s, struct nm_error *err) NM_MUST_CHECK;
void local_device_identity(const struct local_session *s, char *out, size_t size);
void local_device_open(struct local_session *s, struct nm_op *op);
int local_device_claim(struct nm_session *session, volatile double *done_fraction,
                       struct nm_error *err);
int local_device_release(struct nm_session *session, uint64_t end_bytes, struct nm_error *err);

#endif
