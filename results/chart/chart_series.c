/* Kind "series": the rate in the course of each trial, one figure per cell; where a trial began
 * faster than it went on, the knee is marked (chart.h). Cells with something to see come first.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "chart.h"

#include "clock.h"
#include "steady.h"
#include "units.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POINTS_MAX 240 /* of a line: more than that many nobody can see */
#define BINS_MIN   4   /* fewer are no course */
#define TRIALS_MAX 5   /* of a cell: the newest */

struct course {
    const struct nm_trial *trial;
    double *rates; /* B/s; heap */
    size_t n;
    uint64_t bin_ns;
    struct nm_steady_split knee;
};

/* Bins of the length that leaves at most POINTS_MAX of them, without the one that the end of the
 * trial cut short. */
static int read_course(struct nm_store *store, const struct nm_trial *trial, struct course *ret,
                       struct nm_error *err)
{
    uint64_t *bins = NULL, bin_ns = 0;
    double *seconds;
    size_t n = 0, per;
    int r = nm_select_bins(store, trial->id, &bins, &n, &bin_ns, err);

    *ret = (struct course){.trial = trial};
    if (r == -ENOENT)
        return 0;
    if (r < 0)
        return r;
    if (n && bin_ns && trial->duration_ns % bin_ns)
        n--;
    per = (n + POINTS_MAX - 1) / POINTS_MAX;
    ret->rates = calloc(n + 1, sizeof(*ret->rates));
    seconds = calloc(n + 1, sizeof(*seconds));
    if (!ret->rates || !seconds) {
        r = nm_error_errno(err, -ENOMEM, "chart: out of memory");
    } else if (per && bin_ns) {
        ret->bin_ns = bin_ns * per;
        ret->n = nm_steady_rebin(bins, n, bin_ns, ret->bin_ns, ret->rates, n);
        if (nm_metrics_get(trial->metrics, "burst_rate"))
            ret->knee =
                nm_steady_split(seconds, nm_steady_rebin(bins, n, bin_ns, NM_NS_PER_S, seconds, n));
    }
    free(seconds);
    free(bins);
    return r;
}

static const char *duration(struct nm_chart *chart, const struct nm_language *language, uint64_t ns)
{
    char text[40], *point;

    nm_units_format_duration(ns, text, sizeof(text));
    point = strchr(text, '.');
    if (point)
        *point = nm_language_decimal_sign(language);
    return nm_chart_text(chart, "%s", text);
}

static void set_line(struct nm_chart *chart, const struct nm_language *language,
                     const struct course *course, struct nm_figure *figure)
{
    struct nm_figure_line *line = &figure->lines[figure->n_lines++];
    const struct nm_trial *trial = course->trial;
    double rate = (double)trial->bytes * 1e9 / (double)trial->duration_ns;
    double low = INFINITY, high = 0;
    const char *cells[7];

    line->points = nm_chart_alloc(chart, course->n, sizeof(*line->points));
    for (size_t i = 0; line->points && i < course->n; i++) {
        line->points[line->n++] = (struct nm_point){
            .x = ((double)i + 0.5) * (double)course->bin_ns / 1e9, .y = course->rates[i] / 1e6};
        low = fmin(low, course->rates[i]);
        high = fmax(high, course->rates[i]);
    }
    line->label = nm_chart_text(chart, nm_tr(language, "pass %u: %s MB/s"), trial->pass,
                                nm_chart_rate(chart, language, rate));
    cells[0] = nm_chart_text(chart, "%u", trial->pass);
    cells[1] = nm_chart_rate(chart, language, rate);
    cells[2] = duration(chart, language, trial->duration_ns);
    cells[3] = nm_chart_rate(chart, language, low);
    cells[4] = nm_chart_rate(chart, language, high);
    cells[5] = course->knee.significant ? nm_chart_rate(chart, language, course->knee.burst) : "";
    cells[6] =
        course->knee.significant ? nm_chart_rate(chart, language, course->knee.sustained) : "";
    nm_chart_table_row(figure, cells);
    if (course->knee.significant && figure->n_upright < NM_FIGURE_RULES)
        figure->upright[figure->n_upright++] = (struct nm_figure_rule){
            .at = (double)course->knee.at,
            .label =
                nm_chart_text(chart, nm_tr(language, "%zu s: %s, then %s MB/s"), course->knee.at,
                              nm_chart_rate(chart, language, course->knee.burst),
                              nm_chart_rate(chart, language, course->knee.sustained))};
}

static void set_texts(struct nm_chart *chart, const struct nm_table_doc *doc,
                      const struct nm_cell *cell, size_t n, uint64_t bin_ns,
                      struct nm_figure *figure)
{
    const struct nm_language *language = doc->language;
    const struct nm_grid names = {.names = cell};
    char title[NM_WORDS], device[NM_WORDS], label[NM_WORDS];

    figure->title = nm_chart_text(chart, "%s: %s", nm_words_title(doc, &names, title),
                                  nm_words_phase(doc, cell->phase));
    figure->subtitle = nm_chart_text(
        chart, "%s \u00b7 %s \u00b7 %s", nm_words_device(doc, &names, device),
        nm_words_label(language, cell, label), nm_words_protocol(language, cell->protocol));
    if (n < cell->n_ok)
        figure->note = nm_chart_text(
            chart, nm_tr(language, "Each point: the mean over %s; %zu of %zu trials."),
            duration(chart, language, bin_ns), n, cell->n_ok);
    else
        figure->note = nm_chart_text(chart, nm_tr(language, "Each point: the mean over %s."),
                                     duration(chart, language, bin_ns));
    figure->x_name = nm_tr(language, "seconds since the start");
    figure->y_name = "MB/s";
    figure->decimal_sign = nm_language_decimal_sign(language);
    figure->y_from_zero = true;
}

static void add_figure(struct nm_chart *chart, const struct nm_table_doc *doc,
                       const struct nm_cell *cell, const struct course *courses, size_t n)
{
    const struct nm_language *language = doc->language;
    const char *heads[] = {nm_tr(language, "Pass"),     "MB/s",
                           nm_tr(language, "Time"),     nm_tr(language, "Slowest"),
                           nm_tr(language, "Fastest"),  nm_tr(language, "Burst"),
                           nm_tr(language, "Sustained")};
    struct nm_figure *figure = nm_chart_add(chart);
    uint64_t bin_ns = 0;

    if (!figure)
        return;
    figure->form = NM_FIGURE_LINES;
    figure->lines = nm_chart_alloc(chart, n, sizeof(*figure->lines));
    nm_chart_table_begin(chart, figure, heads, sizeof(heads) / sizeof(heads[0]), n);
    for (size_t i = 0; figure->lines && i < n; i++) {
        set_line(chart, language, &courses[i], figure);
        bin_ns = courses[i].bin_ns > bin_ns ? courses[i].bin_ns : bin_ns;
    }
    set_texts(chart, doc, cell, n, bin_ns, figure);
}

static int add_cell(const struct nm_chart_input *input, struct nm_chart *chart,
                    const struct nm_table_doc *doc, const struct nm_cell *cell,
                    struct nm_error *err)
{
    struct course courses[TRIALS_MAX];
    size_t n = 0;
    int r = 0;

    for (size_t i = cell->n_trials; i-- > 0 && n < TRIALS_MAX && r == 0;) {
        if (cell->trials[i].status != NM_STATUS_OK || !cell->trials[i].bytes ||
            !cell->trials[i].duration_ns)
            continue;
        r = read_course(input->store, &cell->trials[i], &courses[n], err);
        if (r == 0 && courses[n].n >= BINS_MIN)
            n++;
        else
            free(courses[n].rates);
    }
    for (size_t i = 0; i < n / 2; i++) { /* oldest first */
        struct course keep = courses[i];

        courses[i] = courses[n - 1 - i];
        courses[n - 1 - i] = keep;
    }
    if (r == 0 && n)
        add_figure(chart, doc, cell, courses, n);
    for (size_t i = 0; i < n; i++)
        free(courses[i].rates);
    return r;
}

static bool has_course(const struct nm_cell *cell)
{
    return cell->n_ok && !cell->imported && isfinite(cell->bytes_per_s);
}

/* Its rate changed within a trial. */
static bool is_noteworthy(const struct nm_cell *cell)
{
    return strstr(cell->flags, "burst") || strstr(cell->flags, "unstable");
}

static int fill(const struct nm_chart_input *input, struct nm_chart *chart, struct nm_error *err)
{
    const struct nm_table_style style = {.digits = -1};
    const struct nm_table_doc doc = {.style = &style, .language = input->language};
    int r = 0;

    for (int noteworthy = 1; input->store && noteworthy >= 0; noteworthy--)
        for (size_t i = 0; i < input->cells->count && r == 0; i++) {
            const struct nm_cell *cell = &input->cells->items[i];

            if (!has_course(cell) || is_noteworthy(cell) != noteworthy)
                continue;
            if (chart->n_figures == chart->max)
                chart->left_out++; /* nothing is read for it */
            else
                r = add_cell(input, chart, &doc, cell, err);
        }
    return r;
}

const struct nm_chart_kind nm_chart_series = {
    .name = "series",
    .help = "rate in the course of each trial, one figure per cell",
    .wants = "measured trials of at least half a second",
    .fill = fill,
};
