/* Directories and files of a run on the target: made, marked as ours, removed. Outside the clock.
 *
 * Layout below the target: nasmark-RUN-V-PROTOCOL/ (one per run, volume and protocol) with the
 * marker file nasmark-owner.json and one directory per group. Removed is only what lies in there
 * under names that the product gives (nm_workload_owns_name, the marker); everything else stays and
 * is counted.
 *
 * Runs inside a worker process.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_DIRECTORY_H
#define NM_DIRECTORY_H

#include "backend.h"

#define NM_RUN_DIRECTORY_PREFIX "nasmark-"
#define NM_OWNER_FILE           "nasmark-owner.json"

/* Makes run_directory (when `fresh` it must not exist yet), its marker, and directory below it.
 * buffer: a piece of nm_connect.buffers of buffer_bytes. */
int nm_directory_enter(struct nm_session *session, const char *run_directory, const char *directory,
                       bool fresh, uint64_t timeout_ns, void *buffer, size_t buffer_bytes,
                       struct nm_error *err) NM_MUST_CHECK;

/* Removes what is ours below path and path itself, if empty then. A path that does not exist is no
 * error. *ret_foreign = entries that were not ours and stay, with the marker; what a server hides
 * from listings counts as one. buffer: as above. heartbeat is stamped at each operation. */
int nm_directory_remove(struct nm_session *session, const char *path, uint64_t timeout_ns,
                        void *buffer, size_t buffer_bytes, _Atomic uint64_t *heartbeat_ns,
                        uint64_t *ret_foreign, struct nm_error *err) NM_MUST_CHECK;

#endif
