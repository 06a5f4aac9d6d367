/* Lines over time, block size or versions: axes, a legend above, marks and dashes that tell lines
 * apart without colour (figure.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "figure.h"

#include "units.h"

#include <math.h>
#include <string.h>

#define PLOT       220.0
#define LEGEND_ROW 17.0
#define SAMPLE     26.0 /* piece of line in the legend */
#define MARK       3.2
#define TICKS_X    9
#define SPAN_MIN   0.2 /* of y, where it does not begin at 0: a small difference looks small */

struct frame {
    const struct nm_figure *figure;
    struct nm_canvas *canvas;
    double left, right, top, bottom;
    double x_low, x_high; /* of the axis */
    double first, step;   /* ticks of y */
    size_t n_ticks;
    double x_first, x_step; /* ticks of a linear x */
    size_t x_ticks;
};

static double place_x(const struct frame *f, double x)
{
    return f->left + (f->right - f->left) * (x - f->x_low) / (f->x_high - f->x_low);
}

static double place_y(const struct frame *f, double y)
{
    double last = f->first + f->step * (double)(f->n_ticks - 1);

    return f->bottom - (f->bottom - f->top) * (y - f->first) / (last - f->first);
}

static void put(const struct frame *f, const char *text, double x, double y, double room,
                enum nm_anchor anchor, enum nm_ink ink)
{
    char fitted[NM_CANVAS_LINE];
    const struct nm_text t = {
        .text = nm_canvas_fit(text, NM_FIGURE_SMALL, room, fitted, sizeof(fitted)),
        .x = x,
        .y = y,
        .size = NM_FIGURE_SMALL,
        .anchor = anchor,
        .ink = ink};

    f->canvas->ops->text(f->canvas, &t);
}

/* ---- scales */

static void set_scales(struct frame *f, double x, double width)
{
    const struct nm_figure *figure = f->figure;
    double low = INFINITY, high = -INFINITY, widest = 0;
    char number[32];

    f->x_low = INFINITY;
    f->x_high = -INFINITY;
    for (size_t i = 0; i < figure->n_lines; i++)
        for (size_t k = 0; k < figure->lines[i].n; k++) {
            const struct nm_point *p = &figure->lines[i].points[k];

            f->x_low = fmin(f->x_low, p->x);
            f->x_high = fmax(f->x_high, p->x);
            low = fmin(low, p->y);
            high = fmax(high, p->y);
        }
    for (size_t i = 0; i < figure->n_across; i++)
        if (figure->across[i].at <= 2 * high)
            high = fmax(high, figure->across[i].at);
    if (!isfinite(f->x_low))
        f->x_low = f->x_high = low = high = 0;
    if (figure->y_from_zero || low < high / 2) {
        low = fmin(low, 0);
    } else if (high - low < SPAN_MIN * high) {
        low = (low + high - SPAN_MIN * high) / 2;
        high = low + SPAN_MIN * high;
    }
    f->n_ticks = nm_figure_ticks(low, high, 6, &f->first, &f->step);
    for (size_t i = 0; i < f->n_ticks; i++)
        widest = fmax(
            widest, nm_canvas_width(nm_figure_number(f->first + f->step * (double)i, f->step,
                                                     figure->decimal_sign, number, sizeof(number)),
                                    NM_FIGURE_SMALL));
    f->left = x + widest + 8;
    f->right = x + width - 14;
    if (figure->x_scale == NM_SCALE_LINEAR) {
        f->x_ticks = nm_figure_ticks(f->x_low, f->x_high, TICKS_X, &f->x_first, &f->x_step);
        f->x_low = f->x_first; /* to the end of the data, not of the last step */
        f->x_high = fmax(f->x_high, f->x_first + f->x_step);
    } else {
        f->x_low -= 0.5;
        f->x_high += 0.5;
    }
}

/* ---- axes */

static void draw_y_axis(const struct frame *f)
{
    char number[32];

    for (size_t i = 0; i < f->n_ticks; i++) {
        double value = f->first + f->step * (double)i, y = place_y(f, value);

        nm_canvas_line(f->canvas, f->left, y, f->right, y, i ? NM_INK_GRID : NM_INK_MUTED, 1,
                       NM_DASH_NONE);
        put(f, nm_figure_number(value, f->step, f->figure->decimal_sign, number, sizeof(number)),
            f->left - 5, y + 4, 100, NM_ANCHOR_END, NM_INK_MUTED);
    }
}

/* Text of the index-th tick of x at *ret_x; NULL after the last. */
static const char *x_tick(const struct frame *f, size_t index, double *ret_x, char *out,
                          size_t size)
{
    const struct nm_figure *figure = f->figure;
    char number[32];
    double value;

    switch (figure->x_scale) {
    case NM_SCALE_LINEAR:
        value = f->x_first + f->x_step * (double)index;
        if (index >= f->x_ticks || value > f->x_high * (1 + 1e-9))
            return NULL;
        *ret_x = value;
        return nm_figure_number(value, f->x_step, figure->decimal_sign, out, size);
    case NM_SCALE_BYTES:
        value = ceil(f->x_low) + (double)index;
        if (value > f->x_high || value > 62 || value < 0)
            return NULL;
        *ret_x = value;
        nm_units_format_bytes(UINT64_C(1) << (int)value, number, sizeof(number));
        snprintf(out, size, "%.*s %s", (int)strspn(number, "0123456789"), number,
                 number + strspn(number, "0123456789"));
        return out;
    case NM_SCALE_NAMES:
        *ret_x = (double)index;
        return index < figure->n_names ? nm_canvas_fit(figure->names[index], NM_FIGURE_SMALL,
                                                       (f->right - f->left) / 3, out, size)
                                       : NULL;
    }
    return NULL;
}

/* Of names and sizes every n-th where they would touch; the ends of the axis stay inside. */
static void draw_x_axis(const struct frame *f)
{
    char text[NM_CANVAS_LINE];
    double widest = 0, x = 0, apart, free_from = 0;
    size_t n = 0, every = 1;

    for (; x_tick(f, n, &x, text, sizeof(text)); n++)
        widest = fmax(widest, nm_canvas_width(text, NM_FIGURE_SMALL));
    apart = n > 1 ? (f->right - f->left) / (double)n : f->right - f->left;
    while ((double)every * apart < widest + 8 && every < n)
        every++;
    for (size_t i = 0; i < n; i++) {
        const char *label = x_tick(f, i, &x, text, sizeof(text));
        double at = place_x(f, x), half = nm_canvas_width(label, NM_FIGURE_SMALL) / 2;
        double shown = fmin(fmax(at, f->left - 20 + half), f->right + 14 - half);

        nm_canvas_line(f->canvas, at, f->bottom, at, f->bottom + 4, NM_INK_MUTED, 1, NM_DASH_NONE);
        if (i % every || shown - half < free_from)
            continue;
        put(f, label, shown, f->bottom + 16, 2 * half + 20, NM_ANCHOR_MIDDLE, NM_INK_MUTED);
        free_from = shown + half + 5;
    }
    if (f->figure->x_name)
        put(f, f->figure->x_name, (f->left + f->right) / 2, f->bottom + 31, f->right - f->left,
            NM_ANCHOR_MIDDLE, NM_INK_MUTED);
}

/* ---- data */

static void draw_mark(const struct frame *f, size_t line, double x, double y)
{
    const double size = f->figure->lines[line].apart ? MARK / 2 : MARK;
    const struct nm_point shapes[][4] = {
        {{x - size, y - size}, {x + size, y - size}, {x + size, y + size}, {x - size, y + size}},
        {{x - size, y + size}, {x + size, y + size}, {x, y - size}, {x, y - size}},
        {{x - size, y}, {x, y - size}, {x + size, y}, {x, y + size}},
    };
    enum nm_ink ink = nm_ink_of_series((unsigned)line);

    if (line % 4 == 0)
        f->canvas->ops->circle(f->canvas, x, y, size, ink, NM_INK_PAPER);
    else
        f->canvas->ops->polygon(f->canvas, shapes[line % 4 - 1], 4, ink, NM_INK_PAPER);
}

static void draw_sample(const struct frame *f, size_t line, double x, double y)
{
    const struct nm_figure_line *data = &f->figure->lines[line];

    if (!data->apart)
        nm_canvas_line(f->canvas, x, y, x + SAMPLE, y, nm_ink_of_series((unsigned)line), 2,
                       (enum nm_dash)(line % NM_DASHES));
    if (data->marks || data->apart)
        draw_mark(f, line, x + SAMPLE / 2, y);
}

/* In pieces, each of which begins where the one before it ended. */
static void draw_line(const struct frame *f, size_t at)
{
    const struct nm_figure_line *line = &f->figure->lines[at];
    struct nm_point points[256];
    size_t n = 0;

    for (size_t i = 0; i < line->n; i++) {
        points[n++] =
            (struct nm_point){place_x(f, line->points[i].x), place_y(f, line->points[i].y)};
        if (n < sizeof(points) / sizeof(points[0]) && i + 1 < line->n)
            continue;
        if (n > 1 && !line->apart)
            f->canvas->ops->lines(f->canvas, points, n, nm_ink_of_series((unsigned)at),
                                  line->marks ? 2 : 1.5, (enum nm_dash)(at % NM_DASHES));
        points[0] = points[n - 1];
        n = 1;
    }
    for (size_t i = 0; i < line->n && (line->marks || line->apart || line->n == 1); i++)
        draw_mark(f, at, place_x(f, line->points[i].x), place_y(f, line->points[i].y));
}

/* One after the other, in as many rows as needed; returns the height. */
static double draw_legend(const struct frame *f, double x, double y, double width)
{
    double at = x, top = y;

    if (f->figure->n_lines < 2 && !(f->figure->n_lines && f->figure->lines[0].label))
        return 0;
    for (size_t i = 0; i < f->figure->n_lines; i++) {
        const char *label = f->figure->lines[i].label;
        double room = fmin(nm_canvas_width(label, NM_FIGURE_SMALL), width - SAMPLE - 6);

        if (at > x && at + SAMPLE + 6 + room > x + width) {
            at = x;
            y += LEGEND_ROW;
        }
        draw_sample(f, i, at, y + LEGEND_ROW / 2);
        put(f, label, at + SAMPLE + 6, y + LEGEND_ROW / 2 + 4, room, NM_ANCHOR_START, NM_INK_TEXT);
        at += SAMPLE + 6 + room + 16;
    }
    return y + LEGEND_ROW - top + 4;
}

/* ---- rules */

static void draw_across(const struct frame *f)
{
    double last = f->first + f->step * (double)(f->n_ticks - 1), free_above = INFINITY;

    for (size_t i = 0; i < f->figure->n_across; i++) {
        const struct nm_figure_rule *rule = &f->figure->across[i];
        double y;

        if (rule->at > last || rule->at < f->first)
            continue;
        y = place_y(f, rule->at);
        nm_canvas_line(f->canvas, f->left, y, f->right, y, NM_INK_TEXT, 1.2, NM_DASH_SHORT);
        if (fabs(y - free_above) < 14)
            y += 16; /* below its line, where the one above has taken the place */
        free_above = y;
        put(f, rule->label, f->right - 2, y - 4, f->right - f->left, NM_ANCHOR_END, NM_INK_TEXT);
    }
}

/* Labels in a row above the plot, as far as they do not touch. */
static void draw_upright(const struct frame *f)
{
    double free_from = -INFINITY;

    for (size_t i = 0; i < f->figure->n_upright; i++) {
        const struct nm_figure_rule *rule = &f->figure->upright[i];
        double x = place_x(f, rule->at), half = nm_canvas_width(rule->label, NM_FIGURE_SMALL) / 2;
        double shown = fmin(fmax(x, f->left + half), f->right + 14 - half);

        nm_canvas_line(f->canvas, x, f->top, x, f->bottom, NM_INK_TEXT, 1.2, NM_DASH_SHORT);
        if (shown - half < free_from)
            continue;
        put(f, rule->label, shown, f->top - 4, 2 * half + 20, NM_ANCHOR_MIDDLE, NM_INK_TEXT);
        free_from = shown + half + 6;
    }
}

double nm_figure_draw_lines(const struct nm_figure *figure, struct nm_canvas *canvas, double x,
                            double y, double width)
{
    struct frame frame = {.figure = figure, .canvas = canvas}, *f = &frame;
    double top = y;

    set_scales(f, x, width);
    y += draw_legend(f, x, y, width);
    if (figure->y_name) {
        put(f, figure->y_name, x, y + 11, width / 2, NM_ANCHOR_START, NM_INK_MUTED);
        y += 19;
    }
    if (figure->n_upright)
        y += 16;
    f->top = y + 4;
    f->bottom = f->top + PLOT;
    draw_y_axis(f);
    draw_x_axis(f);
    for (size_t i = 0; i < figure->n_lines; i++)
        draw_line(f, i);
    draw_across(f);
    draw_upright(f);
    return f->bottom + 38 - top;
}
