/* Canvas that writes SVG (canvas.h).
 *
 * Every shape has its colour on white as an attribute and a class: a style sheet can give other
 * colours for dark paper, a program without style sheets still shows the picture.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "canvas.h"

#include "../escape.h"

#include <math.h>

/* "12.3": one decimal, whatever the locale. */
static void number(FILE *out, const char *before, double value)
{
    long tenths = isfinite(value) ? lround(fmin(fmax(value, -1e6), 1e6) * 10) : 0;
    long whole = labs(tenths);

    fprintf(out, "%s%s%ld", before, tenths < 0 ? "-" : "", whole / 10);
    if (whole % 10)
        fprintf(out, ".%ld", whole % 10);
}

static FILE *out_of(struct nm_canvas *canvas)
{
    return ((struct nm_canvas_svg *)canvas)->out;
}

static void fill(FILE *out, enum nm_ink ink)
{
    if (ink == NM_INK_NONE)
        fputs(" fill=\"none\"", out);
    else
        fprintf(out, " fill=\"#%06x\"", nm_ink_rgb(ink, false));
}

static void rectangle(struct nm_canvas *canvas, double x, double y, double width, double height,
                      enum nm_ink ink)
{
    FILE *out = out_of(canvas);

    number(out, "<rect x=\"", x);
    number(out, "\" y=\"", y);
    number(out, "\" width=\"", fmax(width, 0));
    number(out, "\" height=\"", fmax(height, 0));
    fprintf(out, "\" class=\"f%d\"", ink);
    fill(out, ink);
    fputs("/>\n", out);
}

static void put_points(FILE *out, const struct nm_point *points, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        number(out, i ? " " : "", points[i].x);
        number(out, ",", points[i].y);
    }
}

static void lines(struct nm_canvas *canvas, const struct nm_point *points, size_t n,
                  enum nm_ink ink, double width, enum nm_dash dash)
{
    static const char *const dashes[NM_DASHES] = {
        [NM_DASH_LONG] = "9 4", [NM_DASH_SHORT] = "5 3", [NM_DASH_DOT] = "1.5 3"};
    FILE *out = out_of(canvas);

    fputs("<polyline points=\"", out);
    put_points(out, points, n);
    fprintf(out, "\" class=\"l%d\" fill=\"none\" stroke=\"#%06x\"", ink, nm_ink_rgb(ink, false));
    number(out, " stroke-width=\"", width);
    putc('"', out);
    if (dashes[dash])
        fprintf(out, " stroke-dasharray=\"%s\"", dashes[dash]);
    fputs("/>\n", out);
}

static void segments(struct nm_canvas *canvas, const struct nm_point *points, size_t n,
                     enum nm_ink ink, double width)
{
    FILE *out = out_of(canvas);

    fputs("<path d=\"", out);
    for (size_t i = 0; i < n; i++) {
        number(out, i % 2 ? "L" : "M", points[i].x);
        number(out, " ", points[i].y);
    }
    fprintf(out, "\" class=\"l%d\" fill=\"none\" stroke=\"#%06x\"", ink, nm_ink_rgb(ink, false));
    number(out, " stroke-width=\"", width);
    fputs("\"/>\n", out);
}

static void outline_of(FILE *out, enum nm_ink fill_ink, enum nm_ink outline)
{
    fprintf(out, " class=\"f%d", fill_ink);
    if (outline != NM_INK_NONE)
        fprintf(out, " l%d", outline);
    putc('"', out);
    fill(out, fill_ink);
    if (outline != NM_INK_NONE)
        fprintf(out, " stroke=\"#%06x\" stroke-width=\"0.8\"", nm_ink_rgb(outline, false));
    fputs("/>\n", out);
}

static void polygon(struct nm_canvas *canvas, const struct nm_point *points, size_t n,
                    enum nm_ink fill_ink, enum nm_ink outline)
{
    FILE *out = out_of(canvas);

    fputs("<polygon points=\"", out);
    put_points(out, points, n);
    putc('"', out);
    outline_of(out, fill_ink, outline);
}

static void circle(struct nm_canvas *canvas, double x, double y, double radius,
                   enum nm_ink fill_ink, enum nm_ink outline)
{
    FILE *out = out_of(canvas);

    number(out, "<circle cx=\"", x);
    number(out, "\" cy=\"", y);
    number(out, "\" r=\"", radius);
    putc('"', out);
    outline_of(out, fill_ink, outline);
}

static void text(struct nm_canvas *canvas, const struct nm_text *t)
{
    static const char *const anchors[] = {[NM_ANCHOR_MIDDLE] = "middle", [NM_ANCHOR_END] = "end"};
    FILE *out = out_of(canvas);

    number(out, "<text x=\"", t->x);
    number(out, "\" y=\"", t->y);
    number(out, "\" font-size=\"", t->size);
    fprintf(out, "\" class=\"f%d\"", t->ink);
    fill(out, t->ink);
    if (anchors[t->anchor])
        fprintf(out, " text-anchor=\"%s\"", anchors[t->anchor]);
    if (t->bold)
        fputs(" font-weight=\"bold\"", out);
    putc('>', out);
    nm_escape_html(out, t->text);
    fputs("</text>\n", out);
}

static const struct nm_canvas_ops ops = {
    .rectangle = rectangle,
    .lines = lines,
    .segments = segments,
    .polygon = polygon,
    .circle = circle,
    .text = text,
};

void nm_canvas_svg_style(FILE *out, const char *indent)
{
    for (int ink = NM_INK_TEXT; ink < NM_INKS; ink++)
        fprintf(out, "%s.nm-chart .f%d { fill: #%06x; } .nm-chart .l%d { stroke: #%06x; }\n",
                indent, ink, nm_ink_rgb((enum nm_ink)ink, true), ink,
                nm_ink_rgb((enum nm_ink)ink, true));
}

void nm_canvas_svg_begin(struct nm_canvas_svg *svg, FILE *out, double width, double height,
                         const char *label, bool alone)
{
    *svg = (struct nm_canvas_svg){.canvas = {.ops = &ops}, .out = out};
    if (alone)
        fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
              "<svg xmlns=\"http://www.w3.org/2000/svg\"",
              out);
    else
        fputs("<svg", out);
    number(out, " class=\"nm-chart\" width=\"", width);
    number(out, "\" height=\"", height);
    number(out, "\" viewBox=\"0 0 ", width);
    number(out, " ", height);
    fputs("\" role=\"img\" font-family=\"sans-serif\" aria-label=\"", out);
    nm_escape_html(out, label);
    fputs("\">\n", out);
    if (!alone)
        return;
    fputs("<style>\n@media (prefers-color-scheme: dark) {\n", out);
    nm_canvas_svg_style(out, "  ");
    fputs("}\n</style>\n", out);
    rectangle(&svg->canvas, 0, 0, width, height, NM_INK_PAPER);
}

void nm_canvas_svg_end(struct nm_canvas_svg *svg)
{
    fputs("</svg>\n", svg->out);
}
