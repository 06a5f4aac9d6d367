/* Kind "history": a cell over firmware versions with its change points, one figure per cell
 * (chart.h). Cells with something to see come first.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "chart.h"

#include "series.h"

#include <math.h>
#include <string.h>

#define MARGIN 0.05

static bool is_noteworthy(const struct nm_series *series)
{
    return series->n_changes || (series->newest.known && series->newest.provisional);
}

/* Unit for people and what values are divided by. */
static const char *unit_of(const struct nm_series *series, double *ret_divisor)
{
    *ret_divisor = 1;
    if (!strcmp(series->unit, "B/s")) {
        *ret_divisor = 1e6;
        return "MB/s";
    }
    if (!strcmp(series->unit, "ns")) {
        *ret_divisor = 1e6;
        return "ms";
    }
    return series->unit;
}

static const char *value_text(struct nm_chart *chart, const struct nm_language *language,
                              const char *unit, double value)
{
    char text[64], *point;

    nm_metric_format(unit, value, text, sizeof(text));
    point = strchr(text, '.');
    if (point)
        *point = nm_language_decimal_sign(language);
    return nm_chart_text(chart, "%s", text);
}

static const char *step_text(struct nm_chart *chart, const struct nm_language *language,
                             const struct nm_history_change *change)
{
    char text[32], *point;

    snprintf(text, sizeof(text), "%+.1f %%", 100 * change->step);
    point = strpbrk(text, ".,");
    if (point)
        *point = nm_language_decimal_sign(language);
    return nm_chart_text(chart, "%s", text);
}

static void set_rows(struct nm_chart *chart, const struct nm_language *language,
                     const struct nm_series *series, struct nm_figure *figure)
{
    const char *heads[] = {nm_tr(language, "Firmware"), nm_tr(language, "Date"),
                           nm_tr(language, "Value"), nm_tr(language, "Trials"),
                           nm_tr(language, "Change")};

    nm_chart_table_begin(chart, figure, heads, sizeof(heads) / sizeof(heads[0]), series->n);
    for (size_t i = 0; i < series->n; i++) {
        const struct nm_series_point *point = &series->points[i];
        const char *cells[5] = {nm_chart_text(chart, "%s", point->cell->firmware),
                                point->cell->firmware_date
                                    ? nm_chart_text(chart, "%s", point->cell->firmware_date)
                                    : "",
                                value_text(chart, language, series->unit, point->centre),
                                nm_chart_text(chart, "%zu", point->n), ""};

        for (size_t k = 0; k < series->n_changes; k++)
            if (series->changes[k].index == i)
                cells[4] = step_text(chart, language, &series->changes[k]);
        nm_chart_table_row(figure, cells);
    }
}

static void set_line(struct nm_chart *chart, const struct nm_language *language,
                     const struct nm_series *series, struct nm_figure *figure)
{
    const char **names = nm_chart_alloc(chart, series->n, sizeof(*names));
    struct nm_point *points = nm_chart_alloc(chart, series->n, sizeof(*points));
    double divisor;

    figure->y_name = nm_chart_text(chart, "%s", unit_of(series, &divisor));
    figure->lines = nm_chart_alloc(chart, 1, sizeof(*figure->lines));
    if (!names || !points || !figure->lines)
        return;
    for (size_t i = 0; i < series->n; i++) {
        names[i] = nm_chart_text(chart, "%s", series->points[i].cell->firmware);
        points[i] = (struct nm_point){.x = (double)i, .y = series->points[i].centre / divisor};
    }
    figure->names = names;
    figure->n_names = series->n;
    figure->lines[0] = (struct nm_figure_line){.points = points, .n = series->n, .marks = true};
    figure->n_lines = 1;
    for (size_t i = 0; i < series->n_changes && i < NM_FIGURE_RULES; i++)
        figure->upright[figure->n_upright++] =
            (struct nm_figure_rule){.at = (double)series->changes[i].index - 0.5,
                                    .label = step_text(chart, language, &series->changes[i])};
}

static const char *note_of(struct nm_chart *chart, const struct nm_language *language,
                           const struct nm_series *series)
{
    const struct nm_history_newest *newest = &series->newest;

    if (newest->known && newest->provisional)
        return nm_chart_text(
            chart,
            nm_tr(language,
                  "The newest version lies outside the 99 %% range of the versions before "
                  "it (%s to %s): measure again before believing it."),
            value_text(chart, language, series->unit, exp(newest->low)),
            value_text(chart, language, series->unit, exp(newest->high)));
    if (series->n < NM_HISTORY_MIN_VERSIONS)
        return nm_chart_text(chart, nm_tr(language, "Changes are looked for from %d versions on."),
                             NM_HISTORY_MIN_VERSIONS);
    if (!series->n_changes)
        return nm_tr(language, "No change was found.");
    return nm_tr(language, "Dashed: a change (p < 0.01, at least 5 %).");
}

static void add_figure(struct nm_chart *chart, const struct nm_table_doc *doc,
                       const struct nm_series *series)
{
    const struct nm_cell *cell = series->first;
    const struct nm_grid names = {.names = cell};
    struct nm_figure *figure = nm_chart_add(chart);
    char title[NM_WORDS], label[NM_WORDS];

    if (!figure)
        return;
    figure->form = NM_FIGURE_LINES;
    figure->x_scale = NM_SCALE_NAMES;
    figure->x_name = nm_tr(doc->language, "firmware");
    figure->decimal_sign = nm_language_decimal_sign(doc->language);
    figure->title = nm_chart_text(chart, "%s: %s%s%s", nm_words_title(doc, &names, title),
                                  nm_words_phase(doc, cell->phase),
                                  strcmp(series->metric, "bytes_per_s") ? ", " : "",
                                  strcmp(series->metric, "bytes_per_s") ? series->metric : "");
    figure->subtitle = nm_chart_text(chart, "%s \u00b7 %s \u00b7 %s", cell->nas,
                                     nm_words_label(doc->language, cell, label),
                                     nm_words_protocol(doc->language, cell->protocol));
    set_line(chart, doc->language, series, figure);
    set_rows(chart, doc->language, series, figure);
    figure->note = note_of(chart, doc->language, series);
}

static int fill(const struct nm_chart_input *input, struct nm_chart *chart, struct nm_error *err)
{
    const struct nm_table_style style = {.digits = -1};
    const struct nm_table_doc doc = {.style = &style, .language = input->language};
    struct nm_series_set *set;
    int r = nm_series_new(input->cells, NULL, MARGIN, &set, err);

    if (r < 0)
        return r;
    for (int noteworthy = 1; noteworthy >= 0; noteworthy--)
        for (size_t i = 0; i < set->count; i++)
            if (set->items[i].n > 1 && is_noteworthy(&set->items[i]) == noteworthy)
                add_figure(chart, &doc, &set->items[i]);
    nm_series_free(set);
    return 0;
}

const struct nm_chart_kind nm_chart_history = {
    .name = "history",
    .help = "a cell over firmware versions with its change points, one figure per cell",
    .all_versions = true,
    .wants = "cell with two firmware versions",
    .fill = fill,
};
