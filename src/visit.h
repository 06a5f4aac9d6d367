/* One target without a plan file, for commands that look at it or tidy it up but measure nothing.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_VISIT_H
#define NM_VISIT_H

#include "command.h"
#include "runner.h"

struct nm_visit {
    struct nm_vault *vault;
    struct nm_plan *plan; /* volume 0, its first protocol */
    struct nm_runner runner;
};

/* A plan for the URL with the values of --set, its credentials, a spawner. On failure there is
 * nothing to close. */
int nm_visit_open(const struct nm_arguments *arguments, const char *url, struct nm_visit *ret_visit,
                  struct nm_error *err) NM_MUST_CHECK;
void nm_visit_close(struct nm_visit *visit);

#endif
