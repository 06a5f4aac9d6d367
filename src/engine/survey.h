/* The partition table of a raw target, read through its session. Runs inside a worker.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_SURVEY_H
#define NM_SURVEY_H

#include "backend.h"
#include "partition.h"

#include <stdatomic.h>

/* buffer: memory of the queue, io_bytes long at least. Reads only. */
int nm_survey_run(struct nm_session *session, const struct nm_target_info *info,
                  uint64_t timeout_ns, void *buffer, uint32_t io_bytes,
                  _Atomic uint64_t *heartbeat_ns, struct nm_partition_table *ret,
                  struct nm_error *err) NM_MUST_CHECK;

#endif
