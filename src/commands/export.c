/* nasmark export: trials and cells for other programs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "../../results/export/export.h"

#include "options.h"
#include "output.h"
#include "stored.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const struct nm_arg args[] = {
    {.name = "format",
     .type = NM_ARG_VALUE,
     .metavar = "FORMAT",
     .help = "csv, json, xlsx, tex, fio-json, bonnie, crystaldiskmark or dd; required"},
    {.name = "output",
     .short_name = 'o',
     .type = NM_ARG_VALUE,
     .metavar = "FILE",
     .help = "where to (default: standard output)"},
};

static const struct nm_export_format *read_format(const struct nm_arguments *arguments,
                                                  const char *path, struct nm_error *err)
{
    const char *name = nm_arguments_get(arguments, "format");
    const struct nm_export_format *format = name ? nm_export_find(name) : NULL;
    char names[200] = "";

    for (size_t i = 0; nm_export_table[i]; i++)
        snprintf(names + strlen(names), sizeof(names) - strlen(names), " %s",
                 nm_export_table[i]->name);
    if (!format)
        nm_error_set(err, -EINVAL, NM_REASON_INTERNAL, "%s%s: formats are%s",
                     name ? "--format " : "--format is missing", name ? name : "", names);
    else if (format->binary && (!path || !strcmp(path, "-")) && isatty(STDOUT_FILENO))
        nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                     "%s is not for a terminal; name a file with -o", name);
    else
        return format;
    return NULL;
}

static int run(const struct nm_arguments *arguments)
{
    const char *path = nm_arguments_get(arguments, "output");
    struct nm_error err = {0};
    const struct nm_export_format *format = read_format(arguments, path, &err);
    struct nm_cells *cells = NULL;
    struct nm_store *store = NULL;
    struct nm_output output;
    int r = format ? nm_stored_cells(arguments, true, &store, &cells, &err) : -EINVAL;

    if (r == 0) {
        r = nm_output_open(&output, path, &err);
        if (r == 0)
            r = nm_output_close(&output, format->write(store, cells, output.file, &err), &err);
    }
    nm_cells_free(cells);
    nm_store_close(store);
    return r < 0 ? nm_stored_fail(&err) : NM_EXIT_OK;
}

const struct nm_command nm_command_export = {
    .name = "export",
    .syntax = "[SELECT]",
    .help = "write trials or cells for another program",
    .details =
        "csv and json hold every trial of the selected cells and can be imported again; json has "
        "histograms and samples, too. xlsx has a sheet with a chart for every table, and one with "
        "all trials. fio-json and crystaldiskmark can be imported again as what those programs "
        "save; crystaldiskmark is one card, so the selection has to name one volume, protocol and "
        "workload. bonnie is what bon_csv2html and bon_csv2txt read, dd what `time dd` prints; "
        "both can be imported again. SELECT as in `table`.",
    .args = args,
    .n_args = sizeof(args) / sizeof(args[0]),
    .max_words = SIZE_MAX,
    .run = run,
};
