/* Kind "bars": one figure per workload, a group per volume, a bar per protocol and phase
 * (chart.h).
 *
 * What stands in one figure is what the tables would let stand side by side: tables that are set
 * apart by their conditions are figures of their own.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "chart.h"

#include "flags.h"
#include "units.h"
#include "url.h"

#include <math.h>
#include <string.h>

struct maker {
    struct nm_chart *chart;
    struct nm_figure *figure;
    const struct nm_table_doc *doc;
    const struct nm_grid *grids; /* of this figure */
    size_t n_grids;
};

static bool same_figure(const struct nm_table_doc *doc, const struct nm_grid *a,
                        const struct nm_grid *b)
{
    char title_a[NM_WORDS], title_b[NM_WORDS]; /* over a network bonnie is another test */

    return nm_words_same_device(doc, a, b) && !strcmp(a->names->workload, b->names->workload) &&
           !strcmp(nm_words_title(doc, a, title_a), nm_words_title(doc, b, title_b)) &&
           !a->by_step && !b->by_step && !a->variant && !b->variant;
}

/* Row of a grid for the same volume, n_rows = it has none. */
static size_t row_of(const struct nm_grid *grid, const struct nm_cell *like)
{
    size_t row = 0;

    while (row < grid->n_rows && strcmp(grid->rows[row]->volume, like->volume))
        row++;
    return row;
}

static void set_trials(struct maker *maker, const struct nm_cell *cell, struct nm_figure_bar *bar)
{
    double *trials = nm_chart_alloc(maker->chart, cell->n_ok, sizeof(*trials));

    for (size_t i = 0; trials && i < cell->n_trials; i++)
        if (cell->trials[i].status == NM_STATUS_OK && cell->trials[i].duration_ns)
            trials[bar->n_trials++] =
                (double)cell->trials[i].bytes * 1e3 / (double)cell->trials[i].duration_ns;
    bar->trials = trials;
}

static void set_bar(struct maker *maker, const char *row, const struct nm_grid *grid,
                    const struct nm_cell *cell, size_t column, struct nm_figure_bar *bar)
{
    const struct nm_table_doc *doc = maker->doc;
    const char *phase = nm_words_column(doc, grid, column);
    int protocol = nm_protocol_parse(grid->names->protocol);
    bool has_rate = cell && isfinite(cell->bytes_per_s);
    char text[NM_WORDS];
    const char *cells[6];

    bar->label =
        grid->by_step
            ? nm_chart_text(maker->chart, "%s", phase)
            : nm_chart_text(maker->chart, "%s %s",
                            nm_words_protocol(doc->language, grid->names->protocol), phase);
    bar->hue = protocol < 0 ? NM_INKS_OF_SERIES - 1 : (unsigned)protocol;
    bar->hatch = (unsigned)column % 5;
    bar->text = nm_chart_text(maker->chart, "%s", nm_words_value(doc, cell, text));
    bar->value = has_rate ? cell->bytes_per_s / 1e6 : NAN;
    bar->low = bar->high = NAN;
    if (has_rate && cell->n_ok > 1) {
        bar->low = cell->min_bytes_per_s / 1e6;
        bar->high = cell->max_bytes_per_s / 1e6;
        set_trials(maker, cell, bar);
    }
    cells[0] = row;
    cells[1] = bar->label;
    cells[2] = bar->text;
    cells[3] = nm_chart_rate(maker->chart, doc->language, bar->low * 1e6);
    cells[4] = nm_chart_rate(maker->chart, doc->language, bar->high * 1e6);
    cells[5] = cell && cell->n_ok ? nm_chart_text(maker->chart, "%zu", cell->n_ok) : "";
    nm_chart_table_row(maker->figure, cells);
}

static void set_group(struct maker *maker, size_t row, size_t n_bars, struct nm_figure_group *group)
{
    const struct nm_cell *like = maker->grids[0].rows[row];
    char text[NM_WORDS];

    group->label =
        nm_chart_text(maker->chart, "%s", nm_words_row(maker->doc, &maker->grids[0], row, text));
    group->bars = nm_chart_alloc(maker->chart, n_bars, sizeof(*group->bars));
    for (size_t i = 0; group->bars && i < maker->n_grids; i++) {
        const struct nm_grid *grid = &maker->grids[i];
        size_t at = i ? row_of(grid, like) : row;

        for (size_t k = 0; k < grid->n_columns; k++)
            if (nm_chart_has_rate(grid, k))
                set_bar(maker, group->label, grid,
                        at < grid->n_rows ? nm_grid_cell(grid, at, k) : NULL, k,
                        &group->bars[group->n_bars++]);
    }
}

/* Speed of the link of the first number whose link is known. */
static void add_link(struct maker *maker)
{
    const struct nm_language *language = maker->doc->language;

    for (size_t i = 0; i < maker->n_grids; i++)
        for (size_t k = 0; k < maker->grids[i].n_columns; k++) {
            const struct nm_cell *cell = maker->grids[i].numbers[k];
            double rate = cell ? nm_link_rate(cell->conditions) : 0;

            if (!(rate > 0))
                continue;
            maker->figure->across[0].at = rate / 1e6;
            maker->figure->across[0].label =
                nm_chart_text(maker->chart, nm_tr(language, "link, %s Mbit/s: at most %s MB/s"),
                              nm_conditions_get(cell->conditions, "client.link_mbit"),
                              nm_chart_rate(maker->chart, language, rate));
            maker->figure->n_across = 1;
            return;
        }
}

static void set_texts(struct maker *maker)
{
    const struct nm_grid *grid = maker->grids;
    const struct nm_language *language = maker->doc->language;
    struct nm_figure *figure = maker->figure;
    bool spread = false;
    char title[NM_WORDS], device[NM_WORDS], label[NM_WORDS];

    figure->title = nm_chart_text(maker->chart, "%s", nm_words_title(maker->doc, grid, title));
    nm_words_device(maker->doc, grid, device);
    if (grid->by_step)
        figure->subtitle = nm_chart_text(maker->chart, "%s \u00b7 %s \u00b7 %s", device,
                                         nm_words_label(language, grid->names, label),
                                         nm_words_protocol(language, grid->names->protocol));
    else
        figure->subtitle =
            nm_chart_text(maker->chart, "%s%s%s", device, grid->variant ? " \u00b7 " : "",
                          grid->variant ? grid->variant : "");
    figure->y_name = "MB/s";
    figure->decimal_sign = nm_language_decimal_sign(language);
    for (size_t i = 0; i < figure->n_groups; i++)
        for (size_t k = 0; k < figure->groups[i].n_bars; k++)
            spread |= figure->groups[i].bars[k].n_trials > 0;
    if (spread)
        figure->note =
            nm_tr(language, "Bar: geometric mean; line across its end: slowest to fastest trial; "
                            "dots: trials.");
    else if (grid->names->imported)
        figure->note = nm_tr(language, "Imported numbers, not measured by this program.");
}

/* What has a rate nowhere (a protocol that was not measured, a phase that counts files) gets no
 * bars: it would be a list of words. */
static size_t count_bars(const struct nm_grid *grids, size_t n)
{
    size_t n_bars = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < grids[i].n_columns; k++)
            n_bars += nm_chart_has_rate(&grids[i], k);
    return n_bars;
}

static void add_figure(struct nm_chart *chart, const struct nm_table_doc *doc,
                       const struct nm_grid *grids, size_t n_grids)
{
    struct maker maker = {.chart = chart, .doc = doc, .grids = grids, .n_grids = n_grids};
    struct nm_figure *figure;
    size_t n_bars = count_bars(grids, n_grids), n_rows = grids[0].n_rows;
    const char *heads[] = {nm_words_rows(doc, &grids[0]),
                           nm_tr(doc->language, "Measured"),
                           "MB/s",
                           nm_tr(doc->language, "Slowest"),
                           nm_tr(doc->language, "Fastest"),
                           nm_tr(doc->language, "Trials")};

    if (!n_bars)
        return;
    figure = maker.figure = nm_chart_add(chart);
    if (!figure)
        return;
    figure->form = NM_FIGURE_BARS;
    figure->groups = nm_chart_alloc(chart, n_rows, sizeof(*figure->groups));
    nm_chart_table_begin(chart, figure, heads, sizeof(heads) / sizeof(heads[0]), n_rows * n_bars);
    for (size_t row = 0; figure->groups && row < n_rows; row++)
        set_group(&maker, row, n_bars, &figure->groups[figure->n_groups++]);
    add_link(&maker);
    set_texts(&maker);
}

static int fill(const struct nm_chart_input *input, struct nm_chart *chart, struct nm_error *err)
{
    const struct nm_table_style style = {.digits = -1};
    struct nm_grids *grids;
    struct nm_table_doc doc = {.style = &style, .language = input->language};
    int r = nm_grids_new(input->cells, NM_TABLE_BY_VOLUME, true, &grids, err);

    if (r < 0)
        return r;
    doc.grids = grids;
    for (size_t i = 0, end; i < grids->count; i = end) {
        for (end = i + 1;
             end < grids->count && same_figure(&doc, &grids->items[i], &grids->items[end]);)
            end++;
        if (!nm_chart_is_curve(&grids->items[i]))
            add_figure(chart, &doc, &grids->items[i], end - i);
    }
    nm_grids_free(grids);
    return 0;
}

const struct nm_chart_kind nm_chart_bars = {
    .name = "bars",
    .help = "a group of bars per volume, one figure per workload",
    .wants = "rates",
    .fill = fill,
};
