/* nasmark compare: verdict per cell of two selections.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "../../results/compare.h"

#include "command.h"
#include "units.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct nm_arg args[] = {
    {.name = "margin",
     .type = NM_ARG_VALUE,
     .metavar = "PERCENT",
     .help = "smallest difference that matters, e.g. 3% (default 5%)"},
    {.name = "adjust",
     .type = NM_ARG_VALUE,
     .metavar = "bh|holm|none",
     .help = "correction for many rows (default bh)"},
    {.name = "allow",
     .type = NM_ARG_VALUES,
     .metavar = "CONDITION",
     .help = "compare although this condition differs (\"source\": measured with imported); may "
             "be repeated"},
    {.name = "metric",
     .type = NM_ARG_VALUE,
     .metavar = "NAME",
     .help = "what is compared (default: bytes_per_s, else the first metric of the workload)"},
    {.name = "require-proof",
     .type = NM_ARG_FLAG,
     .help = "exit 3 when a row is UNCLEAR or INSUFFICIENT"},
};

static int read_options(const struct nm_arguments *arguments, struct nm_compare_options *options,
                        struct nm_error *err)
{
    static const char *const names[] = {
        [NM_ADJUST_BH] = "bh", [NM_ADJUST_HOLM] = "holm", [NM_ADJUST_NONE] = "none"};
    const char *margin = nm_arguments_get(arguments, "margin");
    const char *adjust = nm_arguments_get(arguments, "adjust");
    int r = margin ? nm_units_parse_fraction(margin, &options->margin, err) : 0;
    size_t n;

    if (r < 0)
        return r;
    if (!(options->margin > 0 && options->margin < 1))
        return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                            "--margin %s: write a share between 0 and 100%%, like 5%%", margin);
    for (int i = 0; adjust && i <= NM_ADJUST_NONE; i++)
        if (!strcmp(names[i], adjust)) {
            options->adjust = (enum nm_adjust)i;
            adjust = NULL;
        }
    if (adjust)
        return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL, "--adjust %s: it is bh, holm or none",
                            adjust);
    options->allowed = nm_arguments_all(arguments, "allow", &n);
    for (size_t i = 0; i < n; i++)
        if (!nm_condition_find(options->allowed[i]))
            return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                                "--allow %s: there is no such condition; a row that cannot be "
                                "compared names the one that differs",
                                options->allowed[i]);
    options->metric = nm_arguments_get(arguments, "metric");
    return 0;
}

static int read_side(struct nm_store *store, const char *line, struct nm_select **ret_select,
                     struct nm_cells **ret_cells, struct nm_error *err)
{
    int r = nm_select_parse_line(line, ret_select, err);

    return r < 0 ? r : nm_select_cells(store, *ret_select, ret_cells, err);
}

/* The names of cells' metrics, each once; at most max. */
static size_t metric_names(const struct nm_cells *cells, const char **names, size_t n, size_t max)
{
    for (size_t i = 0; i < cells->count; i++)
        for (size_t t = 0; t < cells->items[i].n_trials; t++) {
            const struct nm_metrics *metrics = cells->items[i].trials[t].metrics;

            for (uint32_t m = 0; metrics && m < metrics->count && n < max; m++) {
                size_t k = 0;

                while (k < n && strcmp(names[k], metrics->items[m].name))
                    k++;
                if (k == n)
                    names[n++] = metrics->items[m].name;
            }
        }
    return n;
}

/* --metric must be one that some trial has: a comparison of nothing would pass for a success. */
static int check_metric(const char *metric, const struct nm_cells *a, const struct nm_cells *b,
                        struct nm_error *err)
{
    const char *names[128] = {"bytes_per_s", "files_per_s"};
    size_t n = metric_names(a, names, 2, sizeof(names) / sizeof(names[0]));

    n = metric_names(b, names, n, sizeof(names) / sizeof(names[0]));
    for (size_t i = 0; i < n; i++)
        if (!metric || !strcmp(names[i], metric))
            return 0;
    nm_error_set(err, -ENOENT, NM_REASON_NOT_FOUND,
                 "--metric %s: no trial of either side has it; `show` names those of a trial",
                 metric);
    nm_options_suggest(err, metric, names, n);
    return -ENOENT;
}

static bool any_grouped(const struct nm_cells *cells)
{
    for (size_t i = 0; i < cells->count; i++) {
        const char *order = nm_conditions_get(cells->items[i].conditions, "order");

        if (order && !strcmp(order, "grouped"))
            return true;
    }
    return false;
}

/* Noise between sessions, from everything that was measured more than once. */
static int read_session_noise(struct nm_store *store, struct nm_compare_options *options,
                              struct nm_error *err)
{
    struct nm_select *select = NULL;
    struct nm_cells *cells = NULL;
    int r = nm_select_parse_line("run=* source=measured", &select, err);

    if (r == 0) {
        nm_select_skip_metrics(select);
        r = nm_select_cells(store, select, &cells, err);
    }
    if (r == 0)
        options->tau_measured = nm_compare_session_noise(cells, &options->tau);
    nm_cells_free(cells);
    nm_select_free(select);
    return r;
}

static int print(const struct nm_arguments *arguments, const struct nm_compare *compare,
                 struct nm_error *err)
{
    json_t *document;
    int r;

    if (!arguments->json)
        return nm_compare_write_text(compare, arguments->color, stdout, err);
    document = nm_compare_json(compare);
    if (!document)
        return nm_error_errno(err, -ENOMEM, "writing the comparison: out of memory");
    r = json_dumpf(document, stdout, JSON_INDENT(1));
    json_decref(document);
    putchar('\n');
    return r < 0 ? nm_error_errno(err, -EIO, "writing the comparison failed") : 0;
}

static int run(const struct nm_arguments *arguments)
{
    struct nm_compare_options options = {.margin = 0.05, .tau = NM_STATS_DEFAULT_TAU};
    struct nm_select *select_a = NULL, *select_b = NULL;
    struct nm_cells *a = NULL, *b = NULL;
    struct nm_compare *compare = NULL;
    struct nm_store *store = NULL;
    struct nm_error err = {0};
    int code = NM_EXIT_USAGE, r = read_options(arguments, &options, &err);

    if (r == 0)
        r = nm_store_open(arguments->db, NM_STORE_READ, &store, &err);
    if (r == 0)
        r = read_side(store, arguments->words[0], &select_a, &a, &err);
    if (r == 0)
        r = read_side(store, arguments->words[1], &select_b, &b, &err);
    if (r == 0 && a->count && b->count)
        r = check_metric(options.metric, a, b, &err);
    if (r == 0 && any_grouped(a))
        r = read_session_noise(store, &options, &err);
    if (r == 0) {
        options.keys = nm_compare_keys(select_a, select_b);
        r = nm_compare_new(a, b, &options, &compare, &err);
    }
    if (r == 0)
        r = print(arguments, compare, &err);
    if (r == 0)
        code = nm_compare_exit(compare, nm_arguments_get(arguments, "require-proof"));
    else
        nm_complain("%s", err.text);
    nm_compare_free(compare);
    nm_cells_free(a);
    nm_cells_free(b);
    nm_select_free(select_a);
    nm_select_free(select_b);
    nm_store_close(store);
    return code;
}

const struct nm_command nm_command_compare = {
    .name = "compare",
    .syntax = "'SELECT_A' 'SELECT_B'",
    .help = "verdict per cell of two selections",
    .details =
        "Each SELECT is one argument; its words are and-ed, so a side of several words stands "
        "in quotes: nasmark compare 'nas=a firmware=1.0' 'nas=a firmware=1.1'. The keys that the "
        "two name "
        "differently are what is compared, all others must match. REGRESSED: significantly "
        "worse by at least the margin; SAME: the 90 % interval lies inside the margin; "
        "UNCLEAR: the noise hides more than that; INSUFFICIENT: fewer than three trials; "
        "NOT-COMPARABLE: conditions differ that the compared key does not explain. "
        "Exit: 0, 1 regressed, 3 unproven (with --require-proof), 4 not comparable.",
    .args = args,
    .n_args = sizeof(args) / sizeof(args[0]),
    .min_words = 2,
    .max_words = 2,
    .prints_data = true,
    .run = run,
};
