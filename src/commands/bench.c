/* nasmark bench URL: measures one target without a plan file.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "measure.h"
#include "sets.h"

#include <stdlib.h>

static const struct nm_arg args[] = {
    {.name = "workload",
     .short_name = 'w',
     .type = NM_ARG_VALUES,
     .metavar = "W",
     .help = "workload, as in copy:1x2GB; may be repeated (default: the copy procedure)"},
    {.name = "trials",
     .alias = "passes",
     .type = NM_ARG_VALUE,
     .metavar = "N",
     .help = "trials per cell"},
    {.name = "streams", .type = NM_ARG_VALUE, .metavar = "N", .help = "parallel streams"},
    {.name = "depth",
     .type = NM_ARG_VALUE,
     .metavar = "N",
     .help = "requests in flight per stream"},
    {.name = "set",
     .type = NM_ARG_VALUES,
     .metavar = "SECTION.KEY=VALUE",
     .help = "sets a value as in a plan file; may be repeated"},
    {.name = "volume",
     .type = NM_ARG_VALUE,
     .metavar = "NAME",
     .help = "name of the volume (default: last part of share, export, target or directory)"},
    {.name = "again",
     .type = NM_ARG_FLAG,
     .help = "as of `run`; bench measures another round in any case"},
    {.name = "dry-run",
     .type = NM_ARG_FLAG,
     .help = "print cells, bytes to move, estimated time and space, and the trials that the noise "
             "seen before asks for; touch nothing"},
};

static int run(const struct nm_arguments *arguments)
{
    struct nm_campaign_options options = {.single = true, .again = true};
    static const char *const shorthand[] = {"trials", "streams", "depth", NULL};
    size_t n_workloads;
    const char *const *workloads = nm_arguments_all(arguments, "workload", &n_workloads);
    struct nm_vault *vault = NULL;
    struct nm_plan *plan = NULL;
    struct nm_sets sets = {0};
    struct nm_error err = {0};
    char *warnings = NULL;
    int code, r = nm_sets_collect(arguments, shorthand, &sets, &err);

    if (!r)
        r = nm_vault_open(arguments->credentials, &vault, &err);
    if (!r)
        r = nm_plan_from_url(arguments->words[0], nm_arguments_get(arguments, "volume"), workloads,
                             n_workloads, (const char *const *)sets.items, sets.count, vault, &plan,
                             &warnings, &err);
    nm_warn(warnings);
    code = r < 0 ? nm_measure_fail(&err)
                 : nm_measure(arguments, plan, vault, &options,
                              nm_arguments_get(arguments, "dry-run"));
    nm_plan_free(plan);
    nm_vault_free(vault);
    nm_sets_done(&sets);
    free(warnings);
    return code;
}

const struct nm_command nm_command_bench = {
    .name = "bench",
    .syntax = "URL",
    .help = "measure one target without a plan file",
    .details =
        "Measures anew each time and prints the tables of this run. The NAS is named after the "
        "host, with firmware `unknown`: --set nas.name= and --set nas.firmware= say better.",
    .args = args,
    .n_args = sizeof(args) / sizeof(args[0]),
    .min_words = 1,
    .max_words = 1,
    .prints_data = true,
    .run = run,
};
