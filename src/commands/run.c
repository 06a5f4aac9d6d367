/* nasmark run PLAN: executes a plan file.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "measure.h"
#include "sets.h"

#include <errno.h>
#include <stdlib.h>

static const struct nm_arg args[] = {
    {.name = "only",
     .type = NM_ARG_VALUE,
     .metavar = "GLOB",
     .help = "only groups whose volume/protocol/workload matches"},
    {.name = "volume",
     .type = NM_ARG_VALUES,
     .metavar = "V",
     .help = "only this volume today; may be repeated"},
    {.name = "trials",
     .alias = "passes",
     .type = NM_ARG_VALUE,
     .metavar = "N",
     .help = "trials per cell, instead of the plan's"},
    {.name = "set",
     .type = NM_ARG_VALUES,
     .metavar = "SECTION.KEY=VALUE",
     .help = "overrides a value of the plan; may be repeated"},
    {.name = "dry-run",
     .type = NM_ARG_FLAG,
     .help = "print cells, bytes to move, estimated time and space, and the trials that the noise "
             "seen before asks for; touch nothing"},
    {.name = "resume",
     .type = NM_ARG_FLAG,
     .help = "go on with an unfinished campaign of exactly this plan"},
    {.name = "again",
     .type = NM_ARG_FLAG,
     .help = "measure another round, also of cells that are complete"},
};

static int run(const struct nm_arguments *arguments)
{
    struct nm_campaign_options options = {
        .only = nm_arguments_get(arguments, "only"),
        .resume = nm_arguments_get(arguments, "resume"),
        .again = nm_arguments_get(arguments, "again"),
    };
    static const char *const shorthand[] = {"trials", NULL};
    struct nm_vault *vault = NULL;
    struct nm_plan *plan = NULL;
    struct nm_sets sets = {0};
    struct nm_error err = {0};
    char *warnings = NULL;
    int code, r = nm_sets_collect(arguments, shorthand, &sets, &err);

    options.volumes = nm_arguments_all(arguments, "volume", &options.n_volumes);
    if (!r)
        r = nm_vault_open(arguments->credentials, &vault, &err);
    if (!r)
        r = nm_plan_load(arguments->words[0], (const char *const *)sets.items, sets.count, vault,
                         &plan, &warnings, &err);
    nm_warn(warnings);
    if (!r && options.resume && options.again)
        r = nm_error_set(
            &err, -EINVAL, NM_REASON_INTERNAL,
            "--resume goes on with a campaign and --again starts another round; give one of them");
    code = r < 0 ? nm_measure_fail(&err)
                 : nm_measure(arguments, plan, vault, &options,
                              nm_arguments_get(arguments, "dry-run"));
    nm_plan_free(plan);
    nm_vault_free(vault);
    nm_sets_done(&sets);
    free(warnings);
    return code;
}

const struct nm_command nm_command_run = {
    .name = "run",
    .syntax = "PLAN",
    .help = "execute a plan; prints the run id, then the tables",
    .details =
        "Adds the trials that are missing, up to `trials` per cell. A campaign is the NAS, its "
        "firmware and what decides about the numbers: [run] and the sections of backends "
        "([smb], [iscsi] ...), of the workloads used ([random] ...) and of their profiles. "
        "Other values there begin another campaign, except of keys that change no number "
        "(trials, keep, pause, timeout ...); volumes do not, so the next one "
        "tomorrow joins the same tables. Ctrl-C ends the run and cleans up; a second "
        "Ctrl-C does not wait for that.",
    .args = args,
    .n_args = sizeof(args) / sizeof(args[0]),
    .min_words = 1,
    .max_words = 1,
    .prints_data = true,
    .run = run,
};
