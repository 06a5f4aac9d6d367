/* nasmark history: a cell over firmware versions, with its change points.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "../../results/series.h"

#include "stored.h"

#include <errno.h>
#include <stdio.h>

#define MARGIN 0.05

static const struct nm_arg args[] = {
    {.name = "metric",
     .type = NM_ARG_VALUE,
     .metavar = "M",
     .help = "what is shown (default: bytes_per_s, else the first metric of the workload)"},
};

static int print(const struct nm_arguments *arguments, const struct nm_series_set *set,
                 struct nm_error *err)
{
    json_t *document;
    int r;

    if (!arguments->json)
        return nm_series_write_text(set, stdout, err);
    document = nm_series_json(set);
    if (!document)
        return nm_error_errno(err, -ENOMEM, "writing the history: out of memory");
    r = json_dumpf(document, stdout, JSON_INDENT(1));
    json_decref(document);
    putchar('\n');
    return r < 0 ? nm_error_errno(err, -EIO, "writing the history failed") : 0;
}

static int run(const struct nm_arguments *arguments)
{
    struct nm_series_set *set = NULL;
    struct nm_cells *cells = NULL;
    struct nm_store *store = NULL;
    struct nm_error err = {0};
    int r = nm_stored_versions(arguments, &store, &cells, &err);

    if (r == 0)
        r = nm_series_new(cells, nm_arguments_get(arguments, "metric"), MARGIN, &set, &err);
    if (r == 0 && !set->count)
        r = nm_error_set(&err, -ENOENT, NM_REASON_NOT_FOUND,
                         "nothing that was measured fits; `nasmark list cells` shows what is "
                         "stored");
    if (r == 0)
        r = print(arguments, set, &err);
    if (r < 0)
        nm_complain("%s", err.text);
    nm_series_free(set);
    nm_cells_free(cells);
    nm_store_close(store);
    return r < 0 ? NM_EXIT_USAGE : NM_EXIT_OK;
}

const struct nm_command nm_command_history = {
    .name = "history",
    .syntax = "[SELECT]",
    .help = "firmware versions over time, change points",
    .details = "One series per cell and set of conditions, versions ordered by firmware_date, else "
               "by their first run. A change point needs four versions, p < 0.01 and 5 %. The "
               "newest version is provisional when it lies outside the 99 % range of those since "
               "the last change.",
    .args = args,
    .n_args = sizeof(args) / sizeof(args[0]),
    .max_words = SIZE_MAX,
    .prints_data = true,
    .run = run,
};
