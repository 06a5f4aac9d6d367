/* Two runs on one device would destroy each other's file system: one nasmark of this machine at a
 * time. Runs of other machines are not seen.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_DEVICE_LOCK_H
#define NM_DEVICE_LOCK_H

#include "error.h"

/* Takes the lock of a device (its identity, or its URL when it tells none) for this process, which
 * may take it several times. *ret_fd: to be closed; -1 when this process has it already. -EBUSY
 * (reason protected) names the process that has it. */
int nm_device_lock(const char *identity, const char *url, int *ret_fd,
                   struct nm_error *err) NM_MUST_CHECK;

#endif
