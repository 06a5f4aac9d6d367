/* Names below one directory: every operation on names for targets that are directories of this
 * machine (local, and null for its table of files).
 *
 * The directory is opened once; all paths are relative to it, resolved component by component, and
 * a symbolic link, ".." or another file system in the way is refused, so nothing outside can be
 * reached, whoever changes the tree meanwhile. The directory of the last name stays open, so a
 * folder with many files costs one system call per name. Calls are synchronous: a kernel that
 * never answers is ended by the engine, which kills the worker.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_LOCAL_NAMES_H
#define NM_LOCAL_NAMES_H

#include "backend.h"

#include <sys/types.h>

#define NM_NAMES_MASK                                                                              \
    (NM_OP_MASK(NM_OP_MKDIR) | NM_OP_MASK(NM_OP_RMDIR) | NM_OP_MASK(NM_OP_STAT) |                  \
     NM_OP_MASK(NM_OP_LIST) | NM_OP_MASK(NM_OP_UNLINK) | NM_OP_MASK(NM_OP_RENAME))

struct nm_names {
    int root_fd;   /* of the caller */
    dev_t device;  /* file system of root_fd */
    int parent_fd; /* directory of the last path, -1 = none, may be root_fd */
    char parent[4096];
};

int nm_names_init(struct nm_names *names, int root_fd, struct nm_error *err) NM_MUST_CHECK;
void nm_names_done(struct nm_names *names);

/* Runs an operation of NM_NAMES_MASK; sets result and err. */
void nm_names_execute(struct nm_names *names, struct nm_op *op);

/* open(2) of a regular file below the directory; flags as there, O_CREAT comes with O_EXCL. Returns
 * the descriptor and the file's size, or -errno. */
int nm_names_open(struct nm_names *names, const char *path, int flags, uint64_t *ret_size_bytes,
                  struct nm_error *err) NM_MUST_CHECK;

/* Error for a failed system call on path; changing = the call would have changed the target. */
int nm_names_error(struct nm_error *err, int code, bool changing, const char *verb,
                   const char *path);

#endif
