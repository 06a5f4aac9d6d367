/* nasmark plan: prints a commented plan file, or what a plan means after defaults and --set.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan.h"

#include "command.h"

#include <stdlib.h>

static const struct nm_arg args[] = {
    {.name = "set",
     .type = NM_ARG_VALUES,
     .metavar = "SECTION.KEY=VALUE",
     .help = "overrides a value of the plan; may be repeated"},
};

/* The plan in force: what differs from the defaults, without secrets. */
static char *check(const struct nm_arguments *arguments, struct nm_error *err)
{
    size_t n_sets;
    const char *const *sets = nm_arguments_all(arguments, "set", &n_sets);
    struct nm_vault *vault = NULL;
    struct nm_plan *plan = NULL;
    char *text = NULL, *warnings = NULL;

    if (nm_vault_new(&vault, err) == 0 &&
        nm_plan_load(arguments->words[0], sets, n_sets, vault, &plan, &warnings, err) == 0) {
        text = nm_plan_format(plan);
        if (!text)
            nm_error_no_memory(err);
    }
    nm_warn(warnings);
    nm_plan_free(plan);
    nm_vault_free(vault);
    free(warnings);
    return text;
}

static int run(const struct nm_arguments *arguments)
{
    struct nm_error err = {0};
    char *text = arguments->n_words ? check(arguments, &err) : nm_plan_template();

    if (!text) {
        nm_complain("%s", err.code ? err.text : "this machine is out of memory");
        return NM_EXIT_USAGE;
    }
    fputs(text, stdout);
    free(text);
    return NM_EXIT_OK;
}

const struct nm_command nm_command_plan = {
    .name = "plan",
    .syntax = "[PLAN]",
    .help = "print a commented plan to start from, or check one",
    .details = "Without a file: every section and key with its default and what it does. With a "
               "file: the plan is read and checked, nothing is connected, and what differs from "
               "the defaults is printed.",
    .args = args,
    .n_args = sizeof(args) / sizeof(args[0]),
    .max_words = 1,
    .run = run,
};
