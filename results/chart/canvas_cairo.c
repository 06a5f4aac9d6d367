/* Canvas on cairo, for PNG and PDF; text by Pango, which finds a font for every script and sets
 * those that run from right to left (canvas.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "canvas.h"

#include <cairo-pdf.h>
#include <errno.h>
#include <math.h>
#include <pango/pangocairo.h>

#define PIXELS_PER_UNIT 2
#define PIXELS_MAX      30000 /* a side; cairo ends at 32767 */

struct cairo_canvas {
    struct nm_canvas canvas;
    cairo_t *cairo;
};

static cairo_t *use(struct nm_canvas *canvas, enum nm_ink ink)
{
    cairo_t *cairo = ((struct cairo_canvas *)canvas)->cairo;
    unsigned rgb = nm_ink_rgb(ink, false);

    cairo_set_source_rgb(cairo, (rgb >> 16) / 255.0, (rgb >> 8 & 0xff) / 255.0,
                         (rgb & 0xff) / 255.0);
    return cairo;
}

static void rectangle(struct nm_canvas *canvas, double x, double y, double width, double height,
                      enum nm_ink ink)
{
    cairo_t *cairo = use(canvas, ink);

    cairo_rectangle(cairo, x, y, fmax(width, 0), fmax(height, 0));
    cairo_fill(cairo);
}

static void path(cairo_t *cairo, const struct nm_point *points, size_t n)
{
    cairo_new_path(cairo); /* text leaves a current point behind */
    for (size_t i = 0; i < n; i++)
        cairo_line_to(cairo, points[i].x, points[i].y);
}

static void lines(struct nm_canvas *canvas, const struct nm_point *points, size_t n,
                  enum nm_ink ink, double width, enum nm_dash dash)
{
    static const double dashes[NM_DASHES][2] = {
        [NM_DASH_LONG] = {9, 4}, [NM_DASH_SHORT] = {5, 3}, [NM_DASH_DOT] = {1.5, 3}};
    cairo_t *cairo = use(canvas, ink);

    path(cairo, points, n);
    cairo_set_line_width(cairo, width);
    cairo_set_line_join(cairo, CAIRO_LINE_JOIN_ROUND);
    cairo_set_dash(cairo, dashes[dash], dash == NM_DASH_NONE ? 0 : 2, 0);
    cairo_stroke(cairo);
    cairo_set_dash(cairo, NULL, 0, 0);
}

static void segments(struct nm_canvas *canvas, const struct nm_point *points, size_t n,
                     enum nm_ink ink, double width)
{
    cairo_t *cairo = use(canvas, ink);

    cairo_new_path(cairo);
    for (size_t i = 0; i + 1 < n; i += 2) {
        cairo_move_to(cairo, points[i].x, points[i].y);
        cairo_line_to(cairo, points[i + 1].x, points[i + 1].y);
    }
    cairo_set_line_width(cairo, width);
    cairo_stroke(cairo);
}

static void fill(struct nm_canvas *canvas, enum nm_ink ink, enum nm_ink outline)
{
    cairo_t *cairo = use(canvas, ink);

    cairo_fill_preserve(cairo);
    if (outline != NM_INK_NONE) {
        use(canvas, outline);
        cairo_set_line_width(cairo, 0.8);
        cairo_stroke_preserve(cairo);
    }
    cairo_new_path(cairo);
}

static void polygon(struct nm_canvas *canvas, const struct nm_point *points, size_t n,
                    enum nm_ink ink, enum nm_ink outline)
{
    cairo_t *cairo = ((struct cairo_canvas *)canvas)->cairo;

    path(cairo, points, n);
    cairo_close_path(cairo);
    fill(canvas, ink, outline);
}

static void circle(struct nm_canvas *canvas, double x, double y, double radius, enum nm_ink ink,
                   enum nm_ink outline)
{
    cairo_t *cairo = ((struct cairo_canvas *)canvas)->cairo;

    cairo_new_path(cairo);
    cairo_arc(cairo, x, y, radius, 0, 2 * M_PI);
    fill(canvas, ink, outline);
}

static void text(struct nm_canvas *canvas, const struct nm_text *t)
{
    cairo_t *cairo = use(canvas, t->ink);
    PangoLayout *layout = pango_cairo_create_layout(cairo);
    PangoFontDescription *font = pango_font_description_from_string("sans-serif");
    char *valid = g_utf8_make_valid(t->text, -1);
    double shift = t->anchor == NM_ANCHOR_START ? 0 : t->anchor == NM_ANCHOR_MIDDLE ? 0.5 : 1;
    int width, height;

    pango_font_description_set_absolute_size(font, t->size * PANGO_SCALE);
    if (t->bold)
        pango_font_description_set_weight(font, PANGO_WEIGHT_BOLD);
    pango_layout_set_font_description(layout, font);
    pango_layout_set_single_paragraph_mode(layout, true);
    pango_layout_set_text(layout, valid, -1);
    pango_layout_get_size(layout, &width, &height);
    cairo_move_to(cairo, t->x - shift * width / PANGO_SCALE,
                  t->y - (double)pango_layout_get_baseline(layout) / PANGO_SCALE);
    pango_cairo_show_layout(cairo, layout);
    g_free(valid);
    pango_font_description_free(font);
    g_object_unref(layout);
}

static const struct nm_canvas_ops ops = {
    .rectangle = rectangle,
    .lines = lines,
    .segments = segments,
    .polygon = polygon,
    .circle = circle,
    .text = text,
};

static cairo_status_t put(void *out, const unsigned char *data, unsigned length)
{
    return fwrite(data, 1, length, out) == length ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

static void draw_page(cairo_surface_t *surface, double scale,
                      void (*draw)(struct nm_canvas *canvas, const void *what), const void *what)
{
    struct cairo_canvas canvas = {.canvas = {.ops = &ops}, .cairo = cairo_create(surface)};

    cairo_scale(canvas.cairo, scale, scale);
    cairo_paint(use(&canvas.canvas, NM_INK_PAPER));
    draw(&canvas.canvas, what);
    cairo_destroy(canvas.cairo);
}

int nm_canvas_cairo(FILE *out, bool pdf, double width, double height,
                    void (*draw)(struct nm_canvas *canvas, const void *what), const void *what,
                    struct nm_error *err)
{
    double scale = pdf ? 0.75 : PIXELS_PER_UNIT; /* points of a PDF: 72 per inch, ours 96 */
    cairo_surface_t *surface;
    cairo_status_t status;

    if (height * scale > PIXELS_MAX)
        return nm_error_set(err, -E2BIG, NM_REASON_CLIENT_LIMIT,
                            "the picture would be %.0f pixels high; narrow the selection, or "
                            "write SVG",
                            height * scale);
    surface = pdf ? cairo_pdf_surface_create_for_stream(put, out, width * scale, height * scale)
                  : cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)ceil(width * scale),
                                               (int)ceil(height * scale));
    draw_page(surface, scale, draw, what);
    status = cairo_surface_status(surface);
    if (status == CAIRO_STATUS_SUCCESS && !pdf)
        status = cairo_surface_write_to_png_stream(surface, put, out);
    cairo_surface_finish(surface);
    if (status == CAIRO_STATUS_SUCCESS)
        status = cairo_surface_status(surface);
    cairo_surface_destroy(surface);
    if (status == CAIRO_STATUS_SUCCESS)
        return 0;
    return nm_error_errno(err, status == CAIRO_STATUS_NO_MEMORY ? -ENOMEM : -EIO,
                          "drawing the picture: %s", cairo_status_to_string(status));
}
