/* nasmark note: adds a remark to a run.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "stored.h"

static int run(const struct nm_arguments *arguments)
{
    struct nm_store *store = NULL;
    struct nm_error err = {0};
    int r = nm_stored_open(arguments, NM_STORE_WRITE, &store, &err);

    if (r == 0)
        r = nm_store_note(store, arguments->words[0], arguments->words[1], &err);
    nm_store_close(store);
    return r < 0 ? nm_stored_fail(&err) : NM_EXIT_OK;
}

const struct nm_command nm_command_note = {
    .name = "note",
    .syntax = "RUN TEXT",
    .help = "add a remark to a run",
    .details = "Remarks are shown by `show RUN` with the time at which they were made.",
    .min_words = 2,
    .max_words = 2,
    .run = run,
};
