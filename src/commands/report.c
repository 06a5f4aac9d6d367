/* nasmark report: one page about what was measured.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "../../results/report/report.h"

#include "output.h"
#include "stored.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct nm_arg args[] = {
    {.name = "output",
     .short_name = 'o',
     .type = NM_ARG_VALUE,
     .metavar = "FILE",
     .help = "where to, FILE.html; required (- is standard output)"},
    {.name = "lang",
     .type = NM_ARG_VALUE,
     .metavar = "LANGUAGE",
     .help = "en, pl, ru or ja (default: the language of the environment)"},
};

/* "nasmark 0.1.0: report nas=readynas-104"; heap. */
static char *made_by(const struct nm_arguments *arguments)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    fputs("nasmark " NM_VERSION ": report", out);
    for (size_t i = 0; i < arguments->n_words; i++)
        fprintf(out, " %s", arguments->words[i]);
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}

static int write_file(const struct nm_report_input *input, const char *path, struct nm_error *err)
{
    struct nm_output output;
    int r = nm_output_open(&output, path, err);

    return r < 0 ? r : nm_output_close(&output, nm_report_write(input, output.file, err), err);
}

static int run(const struct nm_arguments *arguments)
{
    const char *path = nm_arguments_get(arguments, "output");
    struct nm_report_input input = {0};
    struct nm_store *store = NULL;
    struct nm_cells *cells = NULL, *versions = NULL;
    struct nm_error err = {0};
    char *made = made_by(arguments);
    int r = nm_stored_language(arguments, &input.language, &err);

    if (r == 0 && !path)
        r = nm_error_set(&err, -EINVAL, NM_REASON_INTERNAL,
                         "there is no file to write to; name one with -o FILE.html");
    if (r == 0)
        r = nm_stored_cells(arguments, true, &store, &cells, &err);
    if (r == 0)
        r = nm_stored_more_versions(arguments, store, &versions, &err);
    if (r == 0) {
        input.store = store;
        input.cells = cells;
        input.versions = versions;
        input.made = made;
        r = write_file(&input, path, &err);
    }
    free(made);
    nm_cells_free(versions);
    nm_cells_free(cells);
    nm_store_close(store);
    return r < 0 ? nm_stored_fail(&err) : NM_EXIT_OK;
}

const struct nm_command nm_command_report = {
    .name = "report",
    .syntax = "[SELECT]",
    .help = "write one self-contained page (HTML)",
    .details =
        "Summary with what the numbers do not say, tables, charts with their tables, the course of "
        "the trials, firmware history and comparison where there are several versions, gaps, "
        "conditions, method. The page has no script and fetches nothing; it may be printed or "
        "published: names of hosts, shares and serial numbers are not in it. SELECT as in "
        "`table`.",
    .args = args,
    .n_args = sizeof(args) / sizeof(args[0]),
    .max_words = SIZE_MAX,
    .run = run,
};
