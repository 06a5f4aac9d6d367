/* Drawing surface of the charts: a few shapes in named inks, written as SVG or by cairo.
 *
 * What is drawn says which ink, never which colour: a page or a viewer in dark mode has other
 * colours than paper. SVG is written here and not by cairo's SVG surface, which turns text into
 * outlines: nobody could read it aloud, search it or restyle it, and two such pictures in one page
 * share their ids.
 *
 * Widths of text are estimated from the text alone, on the safe side: the layout is the same
 * wherever it is made and shown.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_CANVAS_H
#define NM_CANVAS_H

#include "../../src/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum nm_ink {
    NM_INK_NONE,
    NM_INK_TEXT,
    NM_INK_MUTED, /* axes, units, notes */
    NM_INK_GRID,
    NM_INK_PAPER,
    NM_INK_SERIES, /* and the ones that follow, NM_INKS_OF_SERIES of them */
    NM_INKS = NM_INK_SERIES + 7,
};
#define NM_INKS_OF_SERIES (NM_INKS - NM_INK_SERIES)
enum nm_ink nm_ink_of_series(unsigned n); /* the same again after the last */

enum nm_dash { NM_DASH_NONE, NM_DASH_LONG, NM_DASH_SHORT, NM_DASH_DOT, NM_DASHES };
enum nm_anchor { NM_ANCHOR_START, NM_ANCHOR_MIDDLE, NM_ANCHOR_END };

struct nm_point {
    double x, y;
};

struct nm_text {
    const char *text;
    double x, y; /* of the base line */
    double size;
    enum nm_anchor anchor;
    enum nm_ink ink;
    bool bold;
};

struct nm_canvas;

struct nm_canvas_ops {
    void (*rectangle)(struct nm_canvas *canvas, double x, double y, double width, double height,
                      enum nm_ink ink);
    void (*lines)(struct nm_canvas *canvas, const struct nm_point *points, size_t n,
                  enum nm_ink ink, double width, enum nm_dash dash);
    /* Many separate lines: from each even point to the next one. */
    void (*segments)(struct nm_canvas *canvas, const struct nm_point *points, size_t n,
                     enum nm_ink ink, double width);
    /* Closed, filled, with an outline in another ink or NM_INK_NONE. */
    void (*polygon)(struct nm_canvas *canvas, const struct nm_point *points, size_t n,
                    enum nm_ink fill, enum nm_ink outline);
    void (*circle)(struct nm_canvas *canvas, double x, double y, double radius, enum nm_ink fill,
                   enum nm_ink outline);
    void (*text)(struct nm_canvas *canvas, const struct nm_text *text);
};

/* Embedded as the first member of what an implementation keeps. */
struct nm_canvas {
    const struct nm_canvas_ops *ops;
};

/* Draws nothing: to learn how high a picture becomes. */
extern const struct nm_canvas_ops nm_canvas_nothing;

void nm_canvas_line(struct nm_canvas *canvas, double x1, double y1, double x2, double y2,
                    enum nm_ink ink, double width, enum nm_dash dash);

/* Upper estimate for a sans-serif font of this size. */
double nm_canvas_width(const char *text, double size);

/* Text cut at a character, with an ellipsis, so that it is at most `width` wide. Control characters
 * and those that change the direction of what follows become blanks. Returns out. */
const char *nm_canvas_fit(const char *text, double size, double width, char *out, size_t out_size);

/* Text into lines of at most `width`, broken at blanks; the last one may be cut. Returns their
 * number, at most max. */
#define NM_CANVAS_LINE 256
size_t nm_canvas_wrap(const char *text, double size, double width, char (*lines)[NM_CANVAS_LINE],
                      size_t max);

/* ---- canvas_svg.c */

/* RRGGBB of an ink on white or on dark paper. */
unsigned nm_ink_rgb(enum nm_ink ink, bool dark);
/* Style sheet of the inks for everything of class "nm-chart", for dark paper. */
void nm_canvas_svg_style(FILE *out, const char *indent);

struct nm_canvas_svg {
    struct nm_canvas canvas;
    FILE *out;
};
/* `alone`: a file of its own with background and style; else a piece of a page, whose style decides
 * about dark paper. label is what is read aloud. */
void nm_canvas_svg_begin(struct nm_canvas_svg *svg, FILE *out, double width, double height,
                         const char *label, bool alone);
void nm_canvas_svg_end(struct nm_canvas_svg *svg);

/* ---- canvas_cairo.c: one page; draw() is called once on white paper. */
int nm_canvas_cairo(FILE *out, bool pdf, double width, double height,
                    void (*draw)(struct nm_canvas *canvas, const void *what), const void *what,
                    struct nm_error *err) NM_MUST_CHECK;

#endif
