/* Groups of horizontal bars: the name of a group stands above its bars, where a long one has room;
 * each bar names itself, so that its colour and hatching only repeat what is written.
 *
 *   Single volume
 *     SMB Upload    ########|- 47.3
 *     SMB Download  ############|-- 78.0
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "figure.h"

#include <math.h>

#define BAR         11.0
#define ROW         16.0
#define GROUP       20.0 /* its name */
#define BETWEEN     7.0  /* groups */
#define AXIS        34.0 /* numbers and name below */
#define HALF_NUMBER 22.0 /* of the axis, beyond its end */
#define STRIPES_MAX 1024 /* ends of them; enough for a bar of 1200 */
#define HATCH       5.0  /* between two stripes */
/* Farther away a rule would only press the bars together; the note has its number. */
#define RULE_REACH 2.0

struct frame {
    const struct nm_figure *figure;
    struct nm_canvas *canvas;
    double left, right; /* of the plot */
    double first, step; /* ticks */
    size_t n_ticks;
};

static double place(const struct frame *frame, double value)
{
    double last = frame->first + frame->step * (double)(frame->n_ticks - 1);

    return frame->left + (frame->right - frame->left) * fmin(fmax(value, 0), last) / last;
}

static double largest(const struct nm_figure *figure)
{
    double max = 0;

    for (size_t i = 0; i < figure->n_groups; i++)
        for (size_t k = 0; k < figure->groups[i].n_bars; k++) {
            const struct nm_figure_bar *bar = &figure->groups[i].bars[k];

            max = fmax(max, fmax(isfinite(bar->value) ? bar->value : 0,
                                 isfinite(bar->high) ? bar->high : 0));
        }
    for (size_t i = 0; i < figure->n_across; i++)
        if (figure->across[i].at <= RULE_REACH * max)
            max = fmax(max, figure->across[i].at);
    return max > 0 ? max : 1;
}

static void widen(double *width, const char *text, double size)
{
    *width = fmax(*width, nm_canvas_width(text, size));
}

/* Room for the names on the left, and on the right for the number behind the longest bar. */
static void set_up(struct frame *frame, double x, double width)
{
    const struct nm_figure *figure = frame->figure;
    double names = 0, values = 0;

    for (size_t i = 0; i < figure->n_groups; i++)
        for (size_t k = 0; k < figure->groups[i].n_bars; k++) {
            const struct nm_figure_bar *bar = &figure->groups[i].bars[k];

            widen(&names, bar->label, NM_FIGURE_SMALL);
            if (isfinite(bar->value))
                widen(&values, bar->text, NM_FIGURE_SMALL);
        }
    frame->left = x + fmax(fmin(names, width * 0.45), HALF_NUMBER) + 8;
    frame->right = x + width - fmax(fmin(values, width * 0.25), HALF_NUMBER) - 6;
    frame->n_ticks = nm_figure_ticks(0, largest(figure), 6, &frame->first, &frame->step);
}

static void draw_text(const struct frame *frame, const char *text, double x, double y, double size,
                      double room, enum nm_anchor anchor, enum nm_ink ink, bool bold)
{
    char fitted[NM_CANVAS_LINE];
    const struct nm_text t = {.text = nm_canvas_fit(text, size, room, fitted, sizeof(fitted)),
                              .x = x,
                              .y = y,
                              .size = size,
                              .anchor = anchor,
                              .ink = ink,
                              .bold = bold};

    frame->canvas->ops->text(frame->canvas, &t);
}

/* Stripes of the paper over a bar: from its lower to its upper edge, cut where the bar ends. */
static void draw_hatch(const struct frame *frame, double x, double y, double width, unsigned hatch)
{
    bool rising = hatch & 1, falling = hatch & 2;
    struct nm_point points[STRIPES_MAX];
    size_t n = 0;

    if (hatch > 3) { /* along the bar */
        nm_canvas_line(frame->canvas, x, y + BAR / 2, x + width, y + BAR / 2, NM_INK_PAPER, 2,
                       NM_DASH_NONE);
        return;
    }
    for (double at = HATCH - BAR; at < width && n + 4 <= STRIPES_MAX; at += HATCH) {
        double from = fmax(at, 0), to = fmin(at + BAR, width);

        if (rising) {
            points[n++] = (struct nm_point){x + from, y + BAR - (from - at)};
            points[n++] = (struct nm_point){x + to, y + BAR - (to - at)};
        }
        if (falling) {
            points[n++] = (struct nm_point){x + from, y + (from - at)};
            points[n++] = (struct nm_point){x + to, y + (to - at)};
        }
    }
    frame->canvas->ops->segments(frame->canvas, points, n, NM_INK_PAPER, 1.4);
}

static void draw_whisker(const struct frame *frame, const struct nm_figure_bar *bar, double middle)
{
    double low = place(frame, bar->low), high = place(frame, bar->high);

    nm_canvas_line(frame->canvas, low, middle, high, middle, NM_INK_TEXT, 1, NM_DASH_NONE);
    nm_canvas_line(frame->canvas, low, middle - 3, low, middle + 3, NM_INK_TEXT, 1, NM_DASH_NONE);
    nm_canvas_line(frame->canvas, high, middle - 3, high, middle + 3, NM_INK_TEXT, 1, NM_DASH_NONE);
}

static void draw_bar(const struct frame *frame, const struct nm_figure_bar *bar, double y)
{
    double middle = y + BAR / 2, base = middle + NM_FIGURE_SMALL * 0.36, end;

    draw_text(frame, bar->label, frame->left - 6, base, NM_FIGURE_SMALL, frame->left - 8,
              NM_ANCHOR_END, NM_INK_MUTED, false);
    if (!isfinite(bar->value)) {
        draw_text(frame, bar->text, frame->left + 5, base, NM_FIGURE_SMALL,
                  frame->right - frame->left, NM_ANCHOR_START, NM_INK_MUTED, false);
        return;
    }
    end = place(frame, bar->value);
    frame->canvas->ops->rectangle(frame->canvas, frame->left, y, end - frame->left, BAR,
                                  nm_ink_of_series(bar->hue));
    if (bar->hatch)
        draw_hatch(frame, frame->left, y, end - frame->left, bar->hatch);
    if (isfinite(bar->low) && isfinite(bar->high)) {
        draw_whisker(frame, bar, middle);
        end = fmax(end, place(frame, bar->high));
    }
    for (size_t i = 0; i < bar->n_trials; i++)
        frame->canvas->ops->circle(frame->canvas, place(frame, bar->trials[i]), middle, 2,
                                   NM_INK_PAPER, NM_INK_TEXT);
    draw_text(frame, bar->text, end + 5, base, NM_FIGURE_SMALL, frame->right + 200, NM_ANCHOR_START,
              NM_INK_TEXT, false);
}

static double draw_groups(const struct frame *frame, double x, double y, double width)
{
    const struct nm_figure *figure = frame->figure;
    double top = y;

    for (size_t i = 0; i < figure->n_groups; i++) {
        const struct nm_figure_group *group = &figure->groups[i];

        draw_text(frame, group->label, x, y + NM_FIGURE_FONT, NM_FIGURE_FONT, width,
                  NM_ANCHOR_START, NM_INK_TEXT, false);
        y += GROUP;
        for (size_t k = 0; k < group->n_bars; k++, y += ROW)
            draw_bar(frame, &group->bars[k], y);
        y += BETWEEN;
    }
    return y - top;
}

/* Through the bars, not through the names of the groups. */
static void draw_grid_line(const struct frame *frame, double x, double top, enum nm_ink ink)
{
    double y = top;

    for (size_t i = 0; i < frame->figure->n_groups; i++) {
        double height = ROW * (double)frame->figure->groups[i].n_bars;

        nm_canvas_line(frame->canvas, x, y + GROUP - 3, x, y + GROUP + height, ink, 1,
                       NM_DASH_NONE);
        y += GROUP + height + BETWEEN;
    }
}

/* Behind the bars; every other number where they would touch. */
static void draw_axis(const struct frame *frame, double top, double bottom)
{
    double widest = 0, apart = (frame->right - frame->left) / (double)(frame->n_ticks - 1);
    size_t every = 1;
    char number[32];

    for (size_t i = 0; i < frame->n_ticks; i++)
        widen(&widest,
              nm_figure_number(frame->first + frame->step * (double)i, frame->step,
                               frame->figure->decimal_sign, number, sizeof(number)),
              NM_FIGURE_SMALL);
    while ((double)every * apart < widest + 6 && every < frame->n_ticks)
        every++;
    for (size_t i = 0; i < frame->n_ticks; i++) {
        double value = frame->first + frame->step * (double)i, at = place(frame, value);

        draw_grid_line(frame, at, top, i ? NM_INK_GRID : NM_INK_MUTED);
        if (i % every == 0)
            draw_text(frame,
                      nm_figure_number(value, frame->step, frame->figure->decimal_sign, number,
                                       sizeof(number)),
                      at, bottom + 13, NM_FIGURE_SMALL, 100, NM_ANCHOR_MIDDLE, NM_INK_MUTED, false);
    }
    if (frame->figure->y_name)
        draw_text(frame, frame->figure->y_name, (frame->left + frame->right) / 2, bottom + 28,
                  NM_FIGURE_SMALL, frame->right - frame->left + 60, NM_ANCHOR_MIDDLE, NM_INK_MUTED,
                  false);
}

/* Its label stands above the bars, to the left of it, in a row of its own; returns its height. */
static double draw_rules(const struct frame *frame, double x, double top, double bottom)
{
    const struct nm_figure *figure = frame->figure;
    double last = frame->first + frame->step * (double)(frame->n_ticks - 1);
    double y = top;

    for (size_t i = 0; i < figure->n_across; i++) {
        const struct nm_figure_rule *rule = &figure->across[i];
        double at = place(frame, rule->at);

        if (rule->at > last)
            continue;
        y += NM_FIGURE_SMALL * 1.4;
        draw_text(frame, rule->label, at, y - 4, NM_FIGURE_SMALL, at - x, NM_ANCHOR_END,
                  NM_INK_TEXT, false);
        nm_canvas_line(frame->canvas, at, y - 1, at, bottom, NM_INK_TEXT, 1.2, NM_DASH_SHORT);
    }
    return y - top;
}

double nm_figure_draw_bars(const struct nm_figure *figure, struct nm_canvas *canvas, double x,
                           double y, double width)
{
    struct nm_canvas nothing = {.ops = &nm_canvas_nothing};
    struct frame frame = {.figure = figure, .canvas = &nothing}, *f = &frame;
    double labels, bars;

    set_up(f, x, width);
    labels = draw_rules(f, x, y, y);
    bars = draw_groups(f, x, y + labels, width);
    frame.canvas = canvas;
    draw_axis(f, y + labels, y + labels + bars);
    draw_groups(f, x, y + labels, width);
    draw_rules(f, x, y, y + labels + bars);
    return labels + bars + AXIS;
}
