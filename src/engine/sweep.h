/* What earlier runs left behind on a target: found by name and marker, removed when nobody uses it.
 *
 * Ours is a directory right below the target that is named nasmark-RUN-V-PROTOCOL and either holds
 * a marker file naming the same directory, or is empty. It is in use while the process in the
 * marker lives on this machine; of another machine it is left alone for a day.
 *
 * Runs inside a worker process.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_SWEEP_H
#define NM_SWEEP_H

#include "backend.h"

#define NM_SWEEP_MAX 64

enum nm_sweep_state {
    NM_SWEEP_REMOVED,
    NM_SWEEP_FOUND, /* would be removed (dry run) */
    NM_SWEEP_IN_USE,
    NM_SWEEP_RECENT,   /* of another machine, younger than a day */
    NM_SWEEP_NOT_OURS, /* named like ours, without our marker */
    NM_SWEEP_FOREIGN,  /* ours removed, entries that are not ours stay */
    NM_SWEEP_FAILED,
    NM_SWEEP_STATES
};
const char *nm_sweep_state_name(enum nm_sweep_state state);

struct nm_sweep_entry {
    char name[96];
    char owner[160]; /* "host, pid 123, since 2026-01-31T12:00:00Z" or the reason of a failure */
    enum nm_sweep_state state;
};

struct nm_sweep {
    uint32_t count;   /* entries filled in */
    uint32_t skipped; /* more were there than fit: run it again */
    struct nm_sweep_entry entries[NM_SWEEP_MAX];
};

int nm_sweep_run(struct nm_session *session, bool remove, uint64_t timeout_ns, void *buffer,
                 size_t buffer_bytes, _Atomic uint64_t *heartbeat_ns, struct nm_sweep *ret,
                 struct nm_error *err) NM_MUST_CHECK;

#endif
