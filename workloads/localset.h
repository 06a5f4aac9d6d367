/* Local copies of a file set: the source an upload reads from, the destination a download writes
 * to.
 *
 * They live in DIRECTORY/nasmark-RUN-V-PROTOCOL.gN/, made and removed by us; nothing else in the
 * user's directory is touched. Plain system calls on the client's own disk.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_LOCALSET_H
#define NM_LOCALSET_H

#include "copyset.h"

/* Makes the directory of this group below `parent`. */
int nm_localset_make_directory(const char *parent, const struct nm_workload_context *context,
                               struct nm_error *err) NM_MUST_CHECK;

/* Writes the source set piece by piece, so that the caller can show a sign of life in between. */
struct nm_localset_writer;
int nm_localset_writer_new(const struct nm_copyset *set, const struct nm_workload_context *context,
                           struct nm_localset_writer **ret, struct nm_error *err) NM_MUST_CHECK;
/* 1 = all written and synchronised, 0 = call again, negative = failed. */
int nm_localset_writer_step(struct nm_localset_writer *writer, struct nm_error *err) NM_MUST_CHECK;
void nm_localset_writer_free(struct nm_localset_writer *writer);

/* Opens one file of the set for reading (source) or anew for writing (destination). Descriptor or
 * -errno. */
int nm_localset_open(const char *parent, const struct nm_workload_context *context, uint64_t index,
                     bool for_reading) NM_MUST_CHECK;

/* Removes the group's directory below parent with what is ours in it. A missing one is no error. */
int nm_localset_remove(const char *parent, const char *directory,
                       struct nm_error *err) NM_MUST_CHECK;

#endif
