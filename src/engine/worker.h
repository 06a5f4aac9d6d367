/* A worker process: connects to one target, does one job (arena.h), leaves the result in its slot,
 * ends.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_WORKER_H
#define NM_WORKER_H

#include "arena.h"
#include "plan.h"

struct nm_worker_setup {
    const struct nm_plan *plan;
    struct nm_arena *arena;
};

/* Entry for nm_spawner_start(); context is a struct nm_worker_setup. */
int nm_worker_main(unsigned slot, void *context);

#endif
