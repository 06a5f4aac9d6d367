/* nasmark show: one run or one trial with everything that is stored of it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "../../results/browse.h"

#include "stored.h"

static int run(const struct nm_arguments *arguments)
{
    struct nm_store *store = NULL;
    struct nm_error err = {0};
    json_t *pages = NULL;
    int r = nm_stored_open(arguments, NM_STORE_READ, &store, &err);

    if (r == 0)
        r = nm_browse_show(store, arguments->words[0], &pages, &err);
    if (r == 0)
        r = nm_stored_print_pages(arguments, pages, &err);
    json_decref(pages);
    nm_store_close(store);
    return r < 0 ? nm_stored_fail(&err) : NM_EXIT_OK;
}

const struct nm_command nm_command_show = {
    .name = "show",
    .syntax = "ID",
    .help = "show one run or one trial",
    .details =
        "ID is a run id (eight hexadecimal digits, `list runs`) or the number of a trial (in "
        "`show RUN` and in --json output). A trial is shown with its conditions, metrics, "
        "latency percentiles and bytes per interval.",
    .min_words = 1,
    .max_words = 1,
    .prints_data = true,
    .run = run,
};
