/* nasmark chart: one picture of what was measured.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "../../results/chart/chart.h"

#include "output.h"
#include "stored.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct nm_arg args[] = {
    {.name = "kind",
     .type = NM_ARG_VALUE,
     .metavar = "KIND",
     .help = "bars, atto, curve, series or history (default bars)"},
    {.name = "output",
     .short_name = 'o',
     .type = NM_ARG_VALUE,
     .metavar = "FILE",
     .help = "where to; its name ends in .svg, .png or .pdf; required"},
    {.name = "lang",
     .type = NM_ARG_VALUE,
     .metavar = "LANGUAGE",
     .help = "en, pl, ru or ja (default: the language of the environment)"},
};

static int find_kind(const char *name, const struct nm_chart_kind **ret_kind, struct nm_error *err)
{
    char names[160] = "";

    *ret_kind = nm_chart_find(name ? name : nm_chart_table[0]->name);
    if (*ret_kind)
        return 0;
    for (size_t i = 0; nm_chart_table[i]; i++)
        snprintf(names + strlen(names), sizeof(names) - strlen(names), " %s",
                 nm_chart_table[i]->name);
    return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL, "--kind %s: kinds of charts are%s", name,
                        names);
}

/* "png" of "x/y.png". */
static int find_format(const char *path, const char **ret_format, struct nm_error *err)
{
    const char *const *formats = nm_chart_formats();
    const char *dot = path ? strrchr(path, '.') : NULL;

    for (size_t i = 0; dot && formats[i]; i++)
        if (!strcasecmp(formats[i], dot + 1)) {
            *ret_format = formats[i];
            return 0;
        }
    return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                        "%s%s; name a file that ends in .svg, .png or .pdf with -o",
                        path ? path : "there is no file to write to",
                        path ? ": the kind of picture is not known" : "");
}

static int make(const struct nm_arguments *arguments, const struct nm_chart_kind *kind,
                const struct nm_language *language, struct nm_store **ret_store,
                struct nm_cells **ret_cells, struct nm_chart **ret_chart, struct nm_error *err)
{
    struct nm_chart_input input = {.language = language};
    int r = kind->all_versions ? nm_stored_versions(arguments, ret_store, ret_cells, err)
                               : nm_stored_cells(arguments, true, ret_store, ret_cells, err);

    if (r < 0)
        return r;
    input.store = *ret_store;
    input.cells = *ret_cells;
    r = nm_chart_new(kind, &input, 0, ret_chart, err);
    if (r == 0 && !(*ret_chart)->n_figures)
        r = nm_error_set(err, -ENODATA, NM_REASON_NOT_FOUND,
                         "%s: this selection holds no %s; `nasmark list cells` shows what there is",
                         kind->name, kind->wants);
    return r;
}

static int run(const struct nm_arguments *arguments)
{
    const char *path = nm_arguments_get(arguments, "output"), *format = NULL;
    const struct nm_language *language = NULL;
    const struct nm_chart_kind *kind = NULL;
    struct nm_chart *chart = NULL;
    struct nm_cells *cells = NULL;
    struct nm_store *store = NULL;
    struct nm_error err = {0};
    struct nm_output output;
    int r = find_kind(nm_arguments_get(arguments, "kind"), &kind, &err);

    if (r == 0)
        r = find_format(path, &format, &err);
    if (r == 0)
        r = nm_stored_language(arguments, &language, &err);
    if (r == 0)
        r = make(arguments, kind, language, &store, &cells, &chart, &err);
    if (r == 0)
        r = nm_output_open(&output, path, &err);
    if (r == 0)
        r = nm_output_close(&output, nm_chart_write(chart, format, output.file, &err), &err);
    if (r == 0 && chart->left_out && !arguments->quiet)
        nm_complain("warning: %zu more figures do not fit into one picture; narrow the selection",
                    chart->left_out);
    nm_chart_free(chart);
    nm_cells_free(cells);
    nm_store_close(store);
    return r < 0 ? nm_stored_fail(&err) : NM_EXIT_OK;
}

const struct nm_command nm_command_chart = {
    .name = "chart",
    .syntax = "[SELECT]",
    .help = "draw a picture: SVG, PNG or PDF",
    .details =
        "bars: a group of bars per volume, one figure per workload, with the range of the trials "
        "and the speed of the link. atto: rate over block size. curve: a drive from its start to "
        "its end. series: the rate in the course of "
        "each trial. history: firmware versions over time with change points. SELECT as in "
        "`table`; history reads every version unless some are named. What is selected decides how "
        "many figures stand one below the other.",
    .args = args,
    .n_args = sizeof(args) / sizeof(args[0]),
    .max_words = SIZE_MAX,
    .run = run,
};
