/* nasmark table: upload/download tables.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "../../results/table.h"

#include "options.h"
#include "stored.h"
#include "units.h"

#include <errno.h>
#include <string.h>

static const struct nm_arg args[] = {
    {.name = "by",
     .type = NM_ARG_VALUE,
     .metavar = "ROW",
     .help = "what the rows are: volume, protocol or firmware (default volume)"},
    {.name = "format",
     .type = NM_ARG_VALUE,
     .metavar = "FORMAT",
     .help = "text, md, csv, json, html or tex (default text)"},
    {.name = "unit",
     .type = NM_ARG_VALUE,
     .metavar = "UNIT",
     .help = "MB/s (10^6 bytes) or MiB/s (default MB/s)"},
    {.name = "lang",
     .type = NM_ARG_VALUE,
     .metavar = "LANGUAGE",
     .help = "en, pl, ru or ja (default: the language of the environment)"},
    {.name = "digits",
     .type = NM_ARG_VALUE,
     .metavar = "N",
     .help = "digits after the decimal sign (default: as many as the number deserves)"},
};

static int read_style(const struct nm_arguments *arguments, struct nm_table_style *style,
                      struct nm_error *err)
{
    const char *by = nm_arguments_get(arguments, "by"), *unit = nm_arguments_get(arguments, "unit"),
               *digits = nm_arguments_get(arguments, "digits");
    uint64_t n = 0;
    int row = by ? nm_table_by_parse(by) : NM_TABLE_BY_VOLUME;

    if (row < 0)
        return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                            "--by %s: rows are volume, protocol or firmware", by);
    if (unit && strcmp(unit, "MB/s") && strcmp(unit, "MiB/s"))
        return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL, "--unit %s: it is MB/s or MiB/s",
                            unit);
    if (digits && (nm_units_parse_u64(digits, &n, NULL) < 0 || n > 9))
        return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL, "--digits %s: a number from 0 to 9",
                            digits);
    style->by = (enum nm_table_by)row;
    style->mebi = unit && !strcmp(unit, "MiB/s");
    style->digits = digits ? (int)n : -1;
    style->language = nm_arguments_get(arguments, "lang");
    style->color = arguments->color;
    return 0;
}

static int run(const struct nm_arguments *arguments)
{
    const char *format = nm_arguments_get(arguments, "format");
    struct nm_table_style style = {0};
    struct nm_cells *cells = NULL;
    struct nm_store *store = NULL;
    struct nm_error err = {0};
    int r = read_style(arguments, &style, &err);

    format = arguments->json ? "json" : format ? format : "text";
    if (r == 0 && style.by == NM_TABLE_BY_FIRMWARE)
        r = nm_stored_versions(arguments, &store, &cells, &err);
    else if (r == 0)
        r = nm_stored_cells(arguments, !strcmp(format, "json"), &store, &cells, &err);
    if (r == 0)
        r = nm_table_write(cells, format, &style, stdout, &err);
    nm_cells_free(cells);
    nm_store_close(store);
    return r < 0 ? nm_stored_fail(&err) : NM_EXIT_OK;
}

const struct nm_command nm_command_tables = {
    .name = "table",
    .syntax = "[SELECT]",
    .help = "print upload/download tables",
    .details =
        "SELECT is key=value words, all of which must fit; values may be shell globs: nas= "
        "firmware= volume= kind= protocol= workload= phase= run= campaign= since= "
        "source=measured|imported. Without words: the newest firmware of each NAS, its newest "
        "campaign; with --by firmware every version. Numbers are geometric means of the trials; "
        "trials under different conditions "
        "are never pooled but stand in tables of their own. The best of a column is bold, in plain "
        "text it has a star; letters point to the notes below.",
    .args = args,
    .n_args = sizeof(args) / sizeof(args[0]),
    .max_words = SIZE_MAX,
    .prints_data = true,
    .run = run,
};
