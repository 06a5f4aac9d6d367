/* Kind "atto": rate over block size, write and read, one figure per volume and protocol
 * (chart.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "chart.h"

#include <math.h>
#include <string.h>

static void set_line(struct nm_chart *chart, const struct nm_grid *grid, size_t column,
                     struct nm_figure_line *line)
{
    line->points = nm_chart_alloc(chart, grid->n_rows, sizeof(*line->points));
    line->marks = true;
    for (size_t row = 0; line->points && row < grid->n_rows; row++) {
        const struct nm_cell *cell = nm_grid_cell(grid, row, column);

        if (cell && isfinite(cell->bytes_per_s))
            line->points[line->n++] =
                (struct nm_point){.x = log2((double)nm_chart_step_bytes(grid->rows[row]->phase)),
                                  .y = cell->bytes_per_s / 1e6};
    }
}

/* Rows are the block sizes; what could not be measured says so here. */
static void set_table(struct nm_chart *chart, const struct nm_table_doc *doc,
                      const struct nm_grid *grid, struct nm_figure *figure)
{
    const char **texts = nm_chart_alloc(chart, grid->n_columns + 1, sizeof(*texts));
    char text[NM_WORDS];

    if (!texts)
        return;
    texts[0] = nm_words_rows(doc, grid);
    for (size_t k = 0; k < grid->n_columns; k++)
        texts[k + 1] = nm_chart_text(chart, "%s [MB/s]", nm_words_column(doc, grid, k));
    nm_chart_table_begin(chart, figure, texts, grid->n_columns + 1, grid->n_rows);
    for (size_t row = 0; row < grid->n_rows; row++) {
        texts[0] = nm_chart_text(chart, "%s", nm_words_row(doc, grid, row, text));
        for (size_t k = 0; k < grid->n_columns; k++)
            texts[k + 1] =
                nm_chart_text(chart, "%s", nm_words_value(doc, nm_grid_cell(grid, row, k), text));
        nm_chart_table_row(figure, texts);
    }
}

static void add_figure(struct nm_chart *chart, const struct nm_table_doc *doc,
                       const struct nm_grid *grid)
{
    const struct nm_language *language = doc->language;
    struct nm_figure *figure = nm_chart_add(chart);
    char device[NM_WORDS], label[NM_WORDS];

    if (!figure)
        return;
    figure->form = NM_FIGURE_LINES;
    figure->x_scale = NM_SCALE_BYTES;
    figure->y_from_zero = true;
    figure->title =
        nm_chart_text(chart, nm_tr(language, "%s: rate by block size"), grid->names->workload);
    figure->subtitle =
        nm_chart_text(chart, "%s \u00b7 %s \u00b7 %s%s%s", nm_words_device(doc, grid, device),
                      nm_words_label(language, grid->names, label),
                      nm_words_protocol(language, grid->names->protocol),
                      grid->variant ? " \u00b7 " : "", grid->variant ? grid->variant : "");
    figure->x_name = nm_tr(language, "block size");
    figure->y_name = "MB/s";
    figure->decimal_sign = nm_language_decimal_sign(language);
    figure->lines = nm_chart_alloc(chart, grid->n_columns, sizeof(*figure->lines));
    for (size_t k = 0; figure->lines && k < grid->n_columns; k++) {
        figure->lines[k].label = nm_chart_text(chart, "%s", nm_words_column(doc, grid, k));
        set_line(chart, grid, k, &figure->lines[k]);
        figure->n_lines++;
    }
    set_table(chart, doc, grid, figure);
}

static bool has_points(const struct nm_grid *grid)
{
    for (size_t k = 0; k < grid->n_columns; k++)
        if (nm_chart_has_rate(grid, k))
            return true;
    return false;
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
    for (size_t i = 0; i < grids->count; i++)
        if (nm_chart_is_curve(&grids->items[i]) && has_points(&grids->items[i]))
            add_figure(chart, &doc, &grids->items[i]);
    nm_grids_free(grids);
    return 0;
}

const struct nm_chart_kind nm_chart_atto = {
    .name = "atto",
    .help = "rate over block size, one figure per volume and protocol",
    .wants = "workload with a row of block sizes (atto2, atto4)",
    .fill = fill,
};
