/* The spawner: a small process, forked before database, threads and terminal state exist, that
 * forks the workers. So no SQLite handle crosses a fork, and a worker starts from a small, known
 * process.
 *
 * Parent -> spawner: spawn slot N, kill slot N. Spawner -> parent: slot N ended with this wait
 * status. Everyone below dies with the process above it (PR_SET_PDEATHSIG, checked against a race
 * by getppid); the spawner and the workers ignore the terminal's signals: stopping is the parent's
 * decision.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_SPAWNER_H
#define NM_SPAWNER_H

#include "clock.h"
#include "error.h"

#include <stdint.h>

struct nm_spawner;

/* Forks. In each worker `worker(slot, context)` runs and its result is the exit status. */
int nm_spawner_start(int (*worker)(unsigned slot, void *context), void *context,
                     struct nm_spawner **ret_spawner, struct nm_error *err) NM_MUST_CHECK;

/* nm_spawner_stop() waits for workers that long; a system call that never returns outlives even
 * SIGKILL. */
#define NM_SPAWNER_END_NS (2 * NM_NS_PER_S)

/* Ends the spawner and every worker still running. NULL-safe. */
void nm_spawner_stop(struct nm_spawner *spawner);

int nm_spawner_spawn(struct nm_spawner *spawner, unsigned slot, struct nm_error *err) NM_MUST_CHECK;
int nm_spawner_kill(struct nm_spawner *spawner, unsigned slot, struct nm_error *err) NM_MUST_CHECK;

/* The worker in this slot was killed and does not end: its end will not be reported, the slot is
 * free. */
int nm_spawner_forget(struct nm_spawner *spawner, unsigned slot,
                      struct nm_error *err) NM_MUST_CHECK;

/* Waits until a worker ended or deadline_ns. 1 = *ret_slot ended with *ret_status (as from
 * waitpid), 0 = deadline or a signal arrived, negative = the spawner is gone. */
int nm_spawner_wait(struct nm_spawner *spawner, uint64_t deadline_ns, unsigned *ret_slot,
                    int *ret_status, struct nm_error *err) NM_MUST_CHECK;

/* In a process just forked: die with the parent whose pid was `parent`. Exits at once when it is
 * gone. */
void nm_process_die_with(int parent);

#endif
