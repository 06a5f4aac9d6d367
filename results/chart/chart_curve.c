/* Kind "curve": a drive over its whole length, one figure per cell: rate by position as lines,
 * access times as dots (chart.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "chart.h"

#include "clock.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POINTS_MAX 300 /* of a line */
#define TRIALS_MAX 3   /* of a cell: the newest */
/* Samples shorter than that are about the time to get there, not about the rate. */
#define RATE_BYTES 65536

struct samples {
    const struct nm_trial *trial;
    struct nm_curve_point *points; /* heap */
    size_t n;
};

static int by_offset(const void *pa, const void *pb)
{
    const struct nm_point *a = pa, *b = pb;

    return (a->x > b->x) - (a->x < b->x);
}

static bool is_rate(const struct samples *samples)
{
    return samples->points[0].length_bytes >= RATE_BYTES;
}

/* MB/s, or ms where only the time counts; NAN = cannot be said. */
static double value_of(const struct nm_curve_point *point, bool rate)
{
    if (!point->duration_ns)
        return NAN;
    return rate ? (double)point->length_bytes * 1e3 / (double)point->duration_ns
                : (double)point->duration_ns / 1e6;
}

static void set_line(struct nm_chart *chart, const struct nm_language *language,
                     const struct samples *samples, struct nm_figure *figure)
{
    struct nm_figure_line *line = &figure->lines[figure->n_lines++];
    bool rate = is_rate(samples);
    /* In the order of measuring every n-th is as good a choice as any. */
    size_t step = (samples->n + POINTS_MAX - 1) / POINTS_MAX;
    double low = INFINITY, high = 0, sum = 0;
    size_t n = 0;
    const char *cells[5];

    line->points = nm_chart_alloc(chart, POINTS_MAX, sizeof(*line->points));
    line->label = nm_chart_text(chart, nm_tr(language, "pass %u"), samples->trial->pass);
    line->apart = !rate;
    for (size_t i = 0; line->points && i < samples->n; i++) {
        double value = value_of(&samples->points[i], rate);

        if (!isfinite(value))
            continue;
        low = fmin(low, value);
        high = fmax(high, value);
        sum += value;
        n++;
        if (i % step == 0 && line->n < POINTS_MAX)
            line->points[line->n++] =
                (struct nm_point){.x = (double)samples->points[i].offset_bytes / 1e9, .y = value};
    }
    if (line->n)
        qsort(line->points, line->n, sizeof(*line->points), by_offset);
    cells[0] = nm_chart_text(chart, "%u", samples->trial->pass);
    cells[1] = nm_chart_rate(chart, language, n ? low * 1e6 : NAN);
    cells[2] = nm_chart_rate(chart, language, n ? sum / (double)n * 1e6 : NAN);
    cells[3] = nm_chart_rate(chart, language, n ? high * 1e6 : NAN);
    cells[4] = nm_chart_text(chart, "%zu", n);
    nm_chart_table_row(figure, cells);
}

static void add_figure(struct nm_chart *chart, const struct nm_table_doc *doc,
                       const struct nm_cell *cell, const struct samples *samples, size_t n)
{
    const struct nm_language *language = doc->language;
    const char *unit = is_rate(&samples[0]) ? "MB/s" : "ms";
    const char *heads[] = {
        nm_tr(language, "Pass"), nm_chart_text(chart, nm_tr(language, "Smallest [%s]"), unit),
        nm_chart_text(chart, nm_tr(language, "Mean [%s]"), unit),
        nm_chart_text(chart, nm_tr(language, "Largest [%s]"), unit), nm_tr(language, "Samples")};
    const struct nm_grid names = {.names = cell};
    struct nm_figure *figure = nm_chart_add(chart);
    char title[NM_WORDS], device[NM_WORDS], label[NM_WORDS];

    if (!figure)
        return;
    figure->form = NM_FIGURE_LINES;
    figure->y_from_zero = true;
    figure->title =
        nm_chart_text(chart, nm_tr(language, "%s: %s over position"),
                      nm_words_title(doc, &names, title), nm_words_phase(doc, cell->phase));
    figure->subtitle = nm_chart_text(
        chart, "%s \u00b7 %s \u00b7 %s", nm_words_device(doc, &names, device),
        nm_words_label(language, cell, label), nm_words_protocol(language, cell->protocol));
    figure->x_name = nm_tr(language, "position [GB]");
    figure->y_name = unit;
    figure->decimal_sign = nm_language_decimal_sign(language);
    figure->lines = nm_chart_alloc(chart, n, sizeof(*figure->lines));
    nm_chart_table_begin(chart, figure, heads, sizeof(heads) / sizeof(heads[0]), n);
    for (size_t i = n; figure->lines && i-- > 0;) /* oldest first */
        set_line(chart, language, &samples[i], figure);
}

static int read_samples(struct nm_store *store, const struct nm_trial *trial, struct samples *ret,
                        struct nm_error *err)
{
    int r;

    *ret = (struct samples){.trial = trial};
    r = nm_select_points(store, trial->id, &ret->points, &ret->n, err);
    return r == -ENOENT ? 0 : r;
}

static int add_cell(const struct nm_chart_input *input, struct nm_chart *chart,
                    const struct nm_table_doc *doc, const struct nm_cell *cell,
                    struct nm_error *err)
{
    struct samples samples[TRIALS_MAX];
    size_t n = 0;
    int r = 0;

    for (size_t i = cell->n_trials; i-- > 0 && n < TRIALS_MAX && r == 0;) {
        if (cell->trials[i].status != NM_STATUS_OK)
            continue;
        r = read_samples(input->store, &cell->trials[i], &samples[n], err);
        if (r == 0 && samples[n].n > 1)
            n++;
        else
            free(samples[n].points);
    }
    if (r == 0 && n)
        add_figure(chart, doc, cell, samples, n);
    for (size_t i = 0; i < n; i++)
        free(samples[i].points);
    return r;
}

static int fill(const struct nm_chart_input *input, struct nm_chart *chart, struct nm_error *err)
{
    const struct nm_table_style style = {.digits = -1};
    const struct nm_table_doc doc = {.style = &style, .language = input->language};
    int r = 0;

    for (size_t i = 0; input->store && i < input->cells->count && r == 0; i++)
        if (nm_cell_is_of(&input->cells->items[i], "drive"))
            r = add_cell(input, chart, &doc, &input->cells->items[i], err);
    return r;
}

const struct nm_chart_kind nm_chart_curve = {
    .name = "curve",
    .help = "rate and access time over the position on a drive, one figure per cell",
    .wants = "measured trials of the workload drive",
    .fill = fill,
};
