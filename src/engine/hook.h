/* A command of the user, run between phases by the parent, outside every clock.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_HOOK_H
#define NM_HOOK_H

#include "error.h"

#include <signal.h>

#define NM_HOOK_LIMIT_S 600 /* then it is killed */

/* Runs `sh -c COMMAND` with no standard input and its output on stderr; environment: pairs until a
 * NULL name, added to ours. 0 when it ended with status 0; otherwise the trial that waits for it
 * has failed. Ends early when *interrupted (may be NULL) becomes non-zero. */
int nm_hook_run(const char *command, const char *const (*environment)[2],
                const volatile sig_atomic_t *interrupted, struct nm_error *err) NM_MUST_CHECK;

#endif
