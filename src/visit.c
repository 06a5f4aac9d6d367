/* A visit to one target (visit.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "visit.h"

#include <stdlib.h>

int nm_visit_open(const struct nm_arguments *arguments, const char *url, struct nm_visit *ret_visit,
                  struct nm_error *err)
{
    const char *workload = "copy:1x1B"; /* never run; a plan has one */
    size_t n_sets;
    const char *const *sets = nm_arguments_all(arguments, "set", &n_sets);
    struct nm_visit visit = {0};
    char *warnings = NULL;
    int r = nm_vault_open(arguments->credentials, &visit.vault, err);

    if (!r)
        r = nm_plan_from_url(url, NULL, &workload, 1, sets, n_sets, visit.vault, &visit.plan,
                             &warnings, err);
    nm_warn(warnings);
    free(warnings);
    if (!r)
        r = nm_runner_open(visit.plan, visit.vault, &visit.runner, err);
    if (r < 0)
        nm_visit_close(&visit);
    else
        *ret_visit = visit;
    return r;
}

void nm_visit_close(struct nm_visit *visit)
{
    nm_runner_close(&visit->runner);
    nm_plan_free(visit->plan);
    nm_vault_free(visit->vault);
}
