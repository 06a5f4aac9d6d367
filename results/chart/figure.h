/* One figure of a chart: what it shows, as data. Kinds of charts fill figures (chart.h), figure_*.c
 * lays them out on a canvas; none knows of the other. Every figure brings the table that says the
 * same in figures.
 *
 * All texts and arrays belong to whoever filled the figure (a pool).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_FIGURE_H
#define NM_FIGURE_H

#include "canvas.h"

struct nm_figure_bar {
    const char *label;    /* "SMB Upload" */
    unsigned hue, hatch;  /* what bars of the same sort share; the label says it again */
    double value;         /* NAN = there is none */
    double low, high;     /* whisker; NAN = none */
    const char *text;     /* the value as the tables print it, or the word for why there is none */
    const double *trials; /* dots */
    size_t n_trials;
};

struct nm_figure_group {
    const char *label;
    struct nm_figure_bar *bars;
    size_t n_bars;
};

struct nm_figure_line {
    const char *label;
    struct nm_point *points; /* in the units of the axes, x ascending */
    size_t n;
    bool marks; /* a mark on every point */
    bool apart; /* marks alone, small ones */
};

/* A line that is no data: speed of the link, a change. */
struct nm_figure_rule {
    double at;
    const char *label;
};

enum nm_figure_form { NM_FIGURE_BARS, NM_FIGURE_LINES };
enum nm_figure_scale {
    NM_SCALE_LINEAR,
    NM_SCALE_BYTES, /* powers of two: x is log2 of bytes */
    NM_SCALE_NAMES, /* x is an index into names */
};

#define NM_FIGURE_RULES 16

struct nm_figure {
    enum nm_figure_form form;
    const char *title, *subtitle;
    const char *note;            /* what the marks mean; may be NULL */
    const char *x_name, *y_name; /* with units */
    char decimal_sign;
    bool y_from_zero; /* bars always are */

    struct nm_figure_group *groups;
    size_t n_groups;

    struct nm_figure_line *lines;
    size_t n_lines;
    enum nm_figure_scale x_scale;
    const char *const *names;
    size_t n_names;

    struct nm_figure_rule across[NM_FIGURE_RULES]; /* at a value of y (of the bars' axis) */
    size_t n_across;
    struct nm_figure_rule upright[NM_FIGURE_RULES]; /* at a value of x */
    size_t n_upright;

    /* the table behind: n_columns heads, then rows of n_columns texts */
    const char *const *table;
    size_t n_columns, n_rows;
};

#define NM_FIGURE_FONT  13.0
#define NM_FIGURE_SMALL 11.0

/* Draws with the upper left corner at (x, y); returns the height. */
double nm_figure_draw(const struct nm_figure *figure, struct nm_canvas *canvas, double x, double y,
                      double width);
double nm_figure_height(const struct nm_figure *figure, double width);

/* ---- private to figure_*.c */

/* Round steps over [low, high]: *ret_first, *ret_step, returns the number of ticks (2 to 12). The
 * first is at or below low, the last at or above high. */
size_t nm_figure_ticks(double low, double high, size_t wanted, double *ret_first, double *ret_step);
/* A tick's value, with as few digits as the step needs. */
const char *nm_figure_number(double value, double step, char decimal_sign, char *out, size_t size);

double nm_figure_draw_bars(const struct nm_figure *figure, struct nm_canvas *canvas, double x,
                           double y, double width);
double nm_figure_draw_lines(const struct nm_figure *figure, struct nm_canvas *canvas, double x,
                            double y, double width);

#endif
