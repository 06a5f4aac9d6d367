/* Charts: the table of kinds and what is the same for all of them (chart.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "chart.h"

#include "units.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

extern const struct nm_chart_kind nm_chart_bars, nm_chart_atto, nm_chart_curve, nm_chart_series,
    nm_chart_history;

const struct nm_chart_kind *const nm_chart_table[] = {
    &nm_chart_bars, &nm_chart_atto, &nm_chart_curve, &nm_chart_series, &nm_chart_history, NULL,
};

const struct nm_chart_kind *nm_chart_find(const char *name)
{
    for (size_t i = 0; nm_chart_table[i]; i++)
        if (!strcmp(nm_chart_table[i]->name, name))
            return nm_chart_table[i];
    return NULL;
}

static int no_memory(struct nm_error *err)
{
    return nm_error_errno(err, -ENOMEM, "chart: out of memory");
}

int nm_chart_new(const struct nm_chart_kind *kind, const struct nm_chart_input *input, size_t max,
                 struct nm_chart **ret, struct nm_error *err)
{
    struct nm_chart *chart = calloc(1, sizeof(*chart));
    int r;

    if (!chart || !(chart->pool = nm_pool_new())) {
        nm_chart_free(chart);
        return no_memory(err);
    }
    chart->max = max ? max : NM_CHART_FIGURES_MAX;
    r = kind->fill(input, chart, err);
    if (r == 0 && chart->out_of_memory)
        r = no_memory(err);
    if (r < 0)
        nm_chart_free(chart);
    else
        *ret = chart;
    return r;
}

void nm_chart_free(struct nm_chart *chart)
{
    if (!chart)
        return;
    nm_pool_free(chart->pool);
    free(chart->figures);
    free(chart);
}

/* ---- for kinds */

struct nm_figure *nm_chart_add(struct nm_chart *chart)
{
    struct nm_figure *figures;

    if (chart->n_figures == chart->max) {
        chart->left_out++;
        return NULL;
    }
    figures = reallocarray(chart->figures, chart->n_figures + 1, sizeof(*figures));
    if (!figures) {
        chart->out_of_memory = true;
        return NULL;
    }
    chart->figures = figures;
    memset(&figures[chart->n_figures], 0, sizeof(*figures));
    return &figures[chart->n_figures++];
}

void *nm_chart_alloc(struct nm_chart *chart, size_t n, size_t size)
{
    void *memory = nm_pool_alloc(chart->pool, n * size + 1);

    if (!memory)
        chart->out_of_memory = true;
    return memory;
}

const char *nm_chart_text(struct nm_chart *chart, const char *fmt, ...)
{
    const char *copy;
    char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    copy = text ? nm_pool_text(chart->pool, text) : NULL;
    free(text);
    if (!copy)
        chart->out_of_memory = true;
    return copy ? copy : "";
}

void nm_chart_table_begin(struct nm_chart *chart, struct nm_figure *figure,
                          const char *const *heads, size_t n_columns, size_t max_rows)
{
    const char **table = nm_chart_alloc(chart, (max_rows + 1) * n_columns, sizeof(*table));

    if (!table)
        return;
    memcpy(table, heads, n_columns * sizeof(*table));
    figure->table = table;
    figure->n_columns = n_columns;
}

void nm_chart_table_row(struct nm_figure *figure, const char *const *texts)
{
    const char **row;

    if (!figure->table)
        return;
    row = (const char **)figure->table + (figure->n_rows + 1) * figure->n_columns;
    memcpy(row, texts, figure->n_columns * sizeof(*row));
    figure->n_rows++;
}

const char *nm_chart_rate(struct nm_chart *chart, const struct nm_language *language,
                          double bytes_per_s)
{
    char text[40];

    if (!isfinite(bytes_per_s))
        return "";
    return nm_chart_text(chart, "%s",
                         nm_units_format_rate(bytes_per_s / 1e6, -1,
                                              nm_language_decimal_sign(language), text,
                                              sizeof(text)));
}

uint64_t nm_chart_step_bytes(const char *phase)
{
    size_t step = nm_grid_step(phase), length;
    char text[32];
    uint64_t bytes;

    if (!step || strncmp(phase, "seq", 3))
        return 0;
    length = strcspn(phase + 3, "-");
    if (length >= sizeof(text) || length + 3 > step)
        return 0;
    memcpy(text, phase + 3, length);
    text[length] = '\0';
    return nm_units_parse_bytes(text, &bytes, NULL) < 0 ? 0 : bytes;
}

bool nm_chart_has_rate(const struct nm_grid *grid, size_t column)
{
    return grid->numbers[column] && isfinite(grid->numbers[column]->bytes_per_s);
}

bool nm_chart_is_curve(const struct nm_grid *grid)
{
    uint64_t before = 0;

    if (!grid->by_step || grid->n_rows < 3)
        return false;
    for (size_t i = 0; i < grid->n_rows; i++) {
        uint64_t bytes = nm_chart_step_bytes(grid->rows[i]->phase);

        if (bytes <= before)
            return false;
        before = bytes;
    }
    return true;
}

/* ---- pictures */

#define WIDTH  760.0 /* of a picture; 96 units an inch */
#define MARGIN 20.0

static double picture_height(const struct nm_chart *chart)
{
    double height = MARGIN;

    for (size_t i = 0; i < chart->n_figures; i++)
        height += nm_figure_height(&chart->figures[i], WIDTH - 2 * MARGIN) + MARGIN;
    return height;
}

static void draw_picture(struct nm_canvas *canvas, const void *what)
{
    const struct nm_chart *chart = what;
    double y = MARGIN;

    for (size_t i = 0; i < chart->n_figures; i++)
        y += nm_figure_draw(&chart->figures[i], canvas, MARGIN, y, WIDTH - 2 * MARGIN) + MARGIN;
}

static int write_svg(const struct nm_chart *chart, FILE *out, struct nm_error *err)
{
    struct nm_canvas_svg svg;

    (void)err;
    nm_canvas_svg_begin(&svg, out, WIDTH, picture_height(chart),
                        chart->n_figures ? chart->figures[0].title : "", true);
    draw_picture(&svg.canvas, chart);
    nm_canvas_svg_end(&svg);
    return 0;
}

static int write_png(const struct nm_chart *chart, FILE *out, struct nm_error *err)
{
    return nm_canvas_cairo(out, false, WIDTH, picture_height(chart), draw_picture, chart, err);
}

static int write_pdf(const struct nm_chart *chart, FILE *out, struct nm_error *err)
{
    return nm_canvas_cairo(out, true, WIDTH, picture_height(chart), draw_picture, chart, err);
}

static const struct {
    const char *name;
    int (*write)(const struct nm_chart *chart, FILE *out, struct nm_error *err);
} formats[] = {{"svg", write_svg}, {"png", write_png}, {"pdf", write_pdf}};

#define N_FORMATS (sizeof(formats) / sizeof(formats[0]))

const char *const *nm_chart_formats(void)
{
    static const char *names[N_FORMATS + 1];

    for (size_t i = 0; i < N_FORMATS; i++)
        names[i] = formats[i].name;
    return names;
}

int nm_chart_write(const struct nm_chart *chart, const char *format, FILE *out,
                   struct nm_error *err)
{
    for (size_t i = 0; i < N_FORMATS; i++)
        if (!strcmp(formats[i].name, format))
            return formats[i].write(chart, out, err);
    return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                        "a chart is written as svg, png or pdf, not as '%s'", format);
}

void nm_chart_inline(const struct nm_figure *figure, double width, FILE *out)
{
    struct nm_canvas_svg svg;

    nm_canvas_svg_begin(&svg, out, width, nm_figure_height(figure, width), figure->title, false);
    nm_figure_draw(figure, &svg.canvas, 0, 0, width);
    nm_canvas_svg_end(&svg);
}
