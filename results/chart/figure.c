/* What every figure has: title, notes, round numbers on its axes (figure.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "figure.h"

#include "units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 4

size_t nm_figure_ticks(double low, double high, size_t wanted, double *ret_first, double *ret_step)
{
    static const double steps[] = {1, 2, 2.5, 5, 10};
    double span = high - low, rough, power, step = 1;

    if (!(span > 0) || !isfinite(span)) {
        span = fabs(high) > 0 && isfinite(high) ? fabs(high) * 0.2 : 1;
        low = isfinite(high) ? high - span / 2 : 0;
        high = low + span;
    }
    rough = span / (double)(wanted > 1 ? wanted - 1 : 1);
    power = pow(10, floor(log10(rough)));
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        step = steps[i] * power;
        if (step >= rough * 0.999)
            break;
    }
    *ret_first = floor(low / step + 1e-9) * step;
    *ret_step = step;
    return (size_t)(ceil((high - *ret_first) / step - 1e-9) + 1.5);
}

const char *nm_figure_number(double value, double step, char decimal_sign, char *out, size_t size)
{
    char *point;
    int digits = 0;

    while (digits < 12 && fabs(step * pow(10, digits) - round(step * pow(10, digits))) > 1e-6)
        digits++;
    if (fabs(value) < step * 1e-6)
        value = 0;
    if (fabs(value) >= 1e9 || (value != 0 && fabs(value) < 1e-9))
        return nm_units_format_double(value, 3, out, size);
    snprintf(out, size, "%.*f", digits, value);
    point = strpbrk(out, ".,"); /* whatever the locale */
    if (point)
        *point = decimal_sign;
    return out;
}

/* Text in lines of at most `width`; returns the height. */
static double draw_paragraph(struct nm_canvas *canvas, const char *text, double x, double y,
                             double width, double size, enum nm_ink ink, bool bold)
{
    char lines[LINES_MAX][NM_CANVAS_LINE];
    /* bold letters are wider */
    size_t n = nm_canvas_wrap(text, bold ? size * 1.1 : size, width, lines, LINES_MAX);

    for (size_t i = 0; i < n; i++) {
        const struct nm_text line = {.text = lines[i],
                                     .x = x,
                                     .y = y + size * (1.0 + 1.3 * (double)i),
                                     .size = size,
                                     .ink = ink,
                                     .bold = bold};

        canvas->ops->text(canvas, &line);
    }
    return (double)n * size * 1.3;
}

double nm_figure_draw(const struct nm_figure *figure, struct nm_canvas *canvas, double x, double y,
                      double width)
{
    double top = y;

    y += draw_paragraph(canvas, figure->title, x, y, width, NM_FIGURE_FONT + 1, NM_INK_TEXT, true);
    if (figure->subtitle)
        y += draw_paragraph(canvas, figure->subtitle, x, y, width, NM_FIGURE_SMALL + 1,
                            NM_INK_MUTED, false);
    y += 6;
    if (figure->form == NM_FIGURE_BARS)
        y += nm_figure_draw_bars(figure, canvas, x, y, width);
    else
        y += nm_figure_draw_lines(figure, canvas, x, y, width);
    if (figure->note)
        y +=
            draw_paragraph(canvas, figure->note, x, y, width, NM_FIGURE_SMALL, NM_INK_MUTED, false);
    return y - top + 4;
}

double nm_figure_height(const struct nm_figure *figure, double width)
{
    struct nm_canvas nothing = {.ops = &nm_canvas_nothing};

    return nm_figure_draw(figure, &nothing, 0, 0, width);
}
