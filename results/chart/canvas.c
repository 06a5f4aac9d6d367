/* What all canvases have in common: inks, widths of text (canvas.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "canvas.h"

#include "../escape.h"

#include <stdint.h>
#include <string.h>

enum nm_ink nm_ink_of_series(unsigned n)
{
    return (enum nm_ink)(NM_INK_SERIES + n % NM_INKS_OF_SERIES);
}

/* Okabe and Ito's palette, told apart with any colour vision; darkened where it would be too pale
 * on white, lightened for dark paper. */
unsigned nm_ink_rgb(enum nm_ink ink, bool dark)
{
    static const unsigned rgb[NM_INKS][2] = {
        [NM_INK_NONE] = {0xffffff, 0x14171c},       [NM_INK_TEXT] = {0x1b1f24, 0xe6e9ed},
        [NM_INK_MUTED] = {0x57606a, 0xa3adb8},      [NM_INK_GRID] = {0xd5dae0, 0x363d47},
        [NM_INK_PAPER] = {0xffffff, 0x14171c},      [NM_INK_SERIES + 0] = {0x0072b2, 0x4fa8e0},
        [NM_INK_SERIES + 1] = {0xc97b00, 0xf0ad33}, [NM_INK_SERIES + 2] = {0x00875f, 0x2bbf90},
        [NM_INK_SERIES + 3] = {0xb8457f, 0xe08fbb}, [NM_INK_SERIES + 4] = {0x56a0d0, 0x9ad0f5},
        [NM_INK_SERIES + 5] = {0xd55e00, 0xf58045}, [NM_INK_SERIES + 6] = {0x857500, 0xf0e442},
    };

    return rgb[ink < NM_INKS ? ink : NM_INK_TEXT][dark];
}

static void no_rectangle(struct nm_canvas *canvas, double x, double y, double width, double height,
                         enum nm_ink ink)
{
    (void)canvas, (void)x, (void)y, (void)width, (void)height, (void)ink;
}

static void no_lines(struct nm_canvas *canvas, const struct nm_point *points, size_t n,
                     enum nm_ink ink, double width, enum nm_dash dash)
{
    (void)canvas, (void)points, (void)n, (void)ink, (void)width, (void)dash;
}

static void no_segments(struct nm_canvas *canvas, const struct nm_point *points, size_t n,
                        enum nm_ink ink, double width)
{
    (void)canvas, (void)points, (void)n, (void)ink, (void)width;
}

static void no_polygon(struct nm_canvas *canvas, const struct nm_point *points, size_t n,
                       enum nm_ink fill, enum nm_ink outline)
{
    (void)canvas, (void)points, (void)n, (void)fill, (void)outline;
}

static void no_circle(struct nm_canvas *canvas, double x, double y, double radius, enum nm_ink fill,
                      enum nm_ink outline)
{
    (void)canvas, (void)x, (void)y, (void)radius, (void)fill, (void)outline;
}

static void no_text(struct nm_canvas *canvas, const struct nm_text *text)
{
    (void)canvas, (void)text;
}

const struct nm_canvas_ops nm_canvas_nothing = {
    .rectangle = no_rectangle,
    .lines = no_lines,
    .segments = no_segments,
    .polygon = no_polygon,
    .circle = no_circle,
    .text = no_text,
};

void nm_canvas_line(struct nm_canvas *canvas, double x1, double y1, double x2, double y2,
                    enum nm_ink ink, double width, enum nm_dash dash)
{
    const struct nm_point points[] = {{x1, y1}, {x2, y2}};

    canvas->ops->lines(canvas, points, 2, ink, width, dash);
}

/* Length of the character at text, in bytes; a byte that is no UTF-8 stands for itself. */
static size_t length_of(const char *text)
{
    unsigned char first = (unsigned char)*text;
    size_t length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

    return strnlen(text, length) < length ? 1 : length;
}

/* Marks and overrides of direction (U+200E, U+200F, U+202A..202E, U+2066..2069), line and paragraph
 * separators, and controls. */
static bool is_unwanted(const char *text, size_t length)
{
    const unsigned char *c = (const unsigned char *)text;

    if (length == 1)
        return *c < ' ' || *c == 0x7f;
    if (length == 2)
        return c[0] == 0xc2 && c[1] < 0xa0; /* C1 controls */
    if (length != 3 || c[0] != 0xe2)
        return false;
    return (c[1] == 0x80 && (c[2] == 0x8e || c[2] == 0x8f || (c[2] >= 0xa8 && c[2] <= 0xae))) ||
           (c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9);
}

/* Share of the size that a character takes in DejaVu Sans, one of the widest fonts in use. */
static double width_of(const char *text, size_t length)
{
    char one[5] = "";

    if (is_unwanted(text, length))
        return 0.36; /* shown as a blank */
    if (length == 1) {
        if (strchr(" .,:;'|!ijlI", *text))
            return 0.36;
        if (strchr("mwMW@%", *text))
            return 0.98;
        if (*text >= 'A' && *text <= 'Z')
            return 0.73;
        return 0.64;
    }
    memcpy(one, text, length);
    return length == 4                ? 1.3
           : nm_escape_width(one) > 1 ? 1.04
                                      : 0.72 * (double)nm_escape_width(one);
}

double nm_canvas_width(const char *text, double size)
{
    double width = 0;
    size_t length;

    for (; *text; text += length) {
        length = length_of(text);
        width += width_of(text, length);
    }
    return width * size;
}

const char *nm_canvas_fit(const char *text, double size, double width, char *out, size_t out_size)
{
    static const char ellipsis[] = "\u2026";
    double ellipsis_width = nm_canvas_width(ellipsis, size), used = 0;
    bool whole = nm_canvas_width(text, size) <= width;
    size_t n = 0, length;

    for (; *text; text += length) {
        double own;

        length = length_of(text);
        own = width_of(text, length) * size;
        if ((!whole && used + own + ellipsis_width > width) ||
            n + length + sizeof(ellipsis) > out_size)
            break;
        if (is_unwanted(text, length)) {
            out[n++] = ' ';
        } else {
            memcpy(out + n, text, length);
            n += length;
        }
        used += own;
    }
    if (*text && n + sizeof(ellipsis) <= out_size) {
        memcpy(out + n, ellipsis, sizeof(ellipsis) - 1);
        n += sizeof(ellipsis) - 1;
    }
    out[n] = '\0';
    return out;
}

size_t nm_canvas_wrap(const char *text, double size, double width, char (*lines)[NM_CANVAS_LINE],
                      size_t max)
{
    size_t n = 0;

    while (*text && n < max) {
        char piece[NM_CANVAS_LINE];
        size_t taken = 0, at = 0;

        /* As many words as fit; of a word that is too long as much as fits. */
        for (;;) {
            size_t end = at + strspn(text + at, " ");

            end += strcspn(text + end, " ");
            if (end == at || end >= sizeof(piece))
                break;
            memcpy(piece, text, end);
            piece[end] = '\0';
            if (nm_canvas_width(piece, size) > width)
                break;
            taken = at = end;
        }
        if (!taken || n + 1 == max) {
            nm_canvas_fit(text, size, width, lines[n++], NM_CANVAS_LINE);
            if (n == max || strlen(lines[n - 1]) >= strlen(text))
                break;
            taken = strcspn(text, " ");
        } else {
            memcpy(piece, text, taken);
            piece[taken] = '\0';
            nm_canvas_fit(piece, size, width, lines[n++], NM_CANVAS_LINE);
        }
        text += taken;
        text += strspn(text, " ");
    }
    return n;
}
