/* A command of the user, run between phases by the parent, outside every clock.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_HOOK_H
#define NM_HOOK_H

#include "clock.h"
#include "error.h"

#include <signal.h>

#define NM_HOOK_LIMIT_NS (600 * NM_NS_PER_S) /* `prepare` may take that long */

/* Runs `sh -c COMMAND` with no standard input and its output on stderr; environment: pairs until a
 * NULL name, added to ours. 0 when it ended with status 0; otherwise the trial that waits for it
 * has failed. After limit_ns it is killed with what it started, and earlier when *interrupted (may
 * be NULL) becomes non-zero; one that not even that ends is left to itself. */
int nm_hook_run(const char *command, const char *const (*environment)[2], uint64_t limit_ns,
                const volatile sig_atomic_t *interrupted, struct nm_error *err) NM_MUST_CHECK;

#endif
