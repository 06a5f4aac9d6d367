/* nasmark void: takes a trial back, with a reason.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "stored.h"
#include "units.h"

#include <errno.h>

static const struct nm_arg args[] = {
    {.name = "why",
     .type = NM_ARG_VALUE,
     .metavar = "TEXT",
     .help = "the reason; required, it is stored and shown"},
};

static int run(const struct nm_arguments *arguments)
{
    const char *why = nm_arguments_get(arguments, "why");
    struct nm_store *store = NULL;
    struct nm_error err = {0};
    uint64_t trial = 0;
    int r = 0;

    if (!why || !*why)
        r = nm_error_set(&err, -EINVAL, NM_REASON_INTERNAL,
                         "nothing is dropped without a reason; say it with --why TEXT");
    else if (nm_units_parse_u64(arguments->words[0], &trial, NULL) < 0 || trial > INT64_MAX)
        r = nm_error_set(&err, -EINVAL, NM_REASON_INTERNAL,
                         "%s: not the number of a trial; `nasmark show RUN` lists them",
                         arguments->words[0]);
    if (r == 0)
        r = nm_stored_open(arguments, NM_STORE_WRITE, &store, &err);
    if (r == 0)
        r = nm_store_void_trial(store, (int64_t)trial, why, &err);
    nm_store_close(store);
    return r < 0 ? nm_stored_fail(&err) : NM_EXIT_OK;
}

const struct nm_command nm_command_void = {
    .name = "void",
    .syntax = "TRIAL",
    .help = "mark a trial void, with a reason",
    .details =
        "A void trial stays in the database with its numbers but counts nowhere; the next run "
        "of its plan measures it again.",
    .args = args,
    .n_args = sizeof(args) / sizeof(args[0]),
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
