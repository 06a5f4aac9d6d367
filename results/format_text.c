/* Tables for a terminal: aligned by display width, best in bold or starred.
 *
 *   Copying a large file (2 GB)
 *   Protocol: SMB [MB/s]
 *                    Upload         Download
 *   Single volume      47.3 ±0.6%       78.0 ±0.9%
 *   RAID0             *52.9 ±0.4%      *83.4 ±1.1%
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "table_grid.h"

#include "escape.h"

#include <string.h>

#define BOLD  "\033[1m"
#define PLAIN "\033[0m"

static void pad(FILE *out, size_t n)
{
    for (; n > 0; n--)
        putc(' ', out);
}

/* Blanks, so that text of this width ends at column `to`. */
static size_t lack(const char *text, size_t to)
{
    size_t width = nm_escape_width(text);

    return width < to ? to - width : 0;
}

static size_t widen(size_t width, const char *text)
{
    size_t needed = nm_escape_width(text);

    return needed > width ? needed : width;
}

/* What stands in front of the number, the number, and what follows it. */
struct field {
    bool best;
    char value[NM_WORDS + 1]; /* with the star */
    char tail[NM_WORDS];      /* spread and marks */
};

static void read_field(const struct nm_table_doc *doc, const struct nm_grid *grid, size_t row,
                       size_t field, struct field *ret)
{
    const struct nm_cell *cell = nm_grid_cell(grid, row, grid->fields[field].column);
    char value[NM_WORDS], spread[NM_WORDS] = "", marks[NM_WORDS] = "";
    bool is_main = nm_field_is_main(grid, field);

    ret->best = is_main && nm_words_is_best(doc, grid, row, grid->fields[field].column);
    nm_field_text(doc, grid, row, field, value);
    if (is_main)
        nm_notes_marks(doc, grid, cell, marks);
    if (grid->fields[field].part == NM_FIELD_RATE)
        nm_words_spread(doc, cell, spread);
    snprintf(ret->value, sizeof(ret->value), "%s%s", ret->best && !doc->style->color ? "*" : "",
             value);
    snprintf(ret->tail, sizeof(ret->tail), "%s%.40s%s%.40s%s", *spread ? " " : "", spread,
             *marks ? " (" : "", marks, *marks ? ")" : "");
}

/* A table as it stands on the screen. One that is wider than a screen and has fewer rows than
 * columns is turned: a line per phase, a column per volume. */
#define SCREEN 100

struct layout {
    const struct nm_table_doc *doc;
    const struct nm_grid *grid;
    bool turned;
    size_t n_lines, n_columns;
    size_t label, value[NM_PHASES_MAX], tail[NM_PHASES_MAX]; /* display widths */
};

static const char *line_name(const struct layout *layout, size_t line, char out[NM_WORDS])
{
    return layout->turned ? nm_field_title(layout->doc, layout->grid, line, out)
                          : nm_words_row(layout->doc, layout->grid, line, out);
}

static const char *column_name(const struct layout *layout, size_t column, char out[NM_WORDS])
{
    return layout->turned ? nm_words_row(layout->doc, layout->grid, column, out)
                          : nm_field_title(layout->doc, layout->grid, column, out);
}

static void read_at(const struct layout *layout, size_t line, size_t column, struct field *ret)
{
    read_field(layout->doc, layout->grid, layout->turned ? column : line,
               layout->turned ? line : column, ret);
}

/* Returns the width of a line. */
static size_t measure(struct layout *layout)
{
    char name[NM_WORDS];
    struct field field;
    size_t width;

    layout->label =
        layout->grid->by_step ? nm_escape_width(nm_words_rows(layout->doc, layout->grid)) : 0;
    for (size_t k = 0; k < layout->n_columns; k++) {
        layout->value[k] = nm_escape_width(column_name(layout, k, name));
        layout->tail[k] = 0;
    }
    for (size_t line = 0; line < layout->n_lines; line++) {
        layout->label = widen(layout->label, line_name(layout, line, name));
        for (size_t k = 0; k < layout->n_columns; k++) {
            read_at(layout, line, k, &field);
            layout->value[k] = widen(layout->value[k], field.value);
            layout->tail[k] = widen(layout->tail[k], field.tail);
        }
    }
    width = layout->label;
    for (size_t k = 0; k < layout->n_columns; k++)
        width += 2 + layout->value[k] + layout->tail[k];
    return width;
}

static void lay_out(const struct nm_table_doc *doc, const struct nm_grid *grid,
                    struct layout *layout)
{
    layout->doc = doc;
    layout->grid = grid;
    layout->turned = false;
    layout->n_lines = grid->n_rows;
    layout->n_columns = grid->n_fields < NM_PHASES_MAX ? grid->n_fields : NM_PHASES_MAX;
    if (measure(layout) <= SCREEN || grid->by_step || grid->n_rows >= layout->n_columns)
        return;
    layout->turned = true;
    layout->n_lines = layout->n_columns;
    layout->n_columns = grid->n_rows;
    measure(layout);
}

static void write_head(const struct layout *layout, FILE *out)
{
    char text[NM_WORDS] = "";

    if (layout->grid->by_step) /* what all steps have in common */
        snprintf(text, sizeof(text), "%s", nm_words_rows(layout->doc, layout->grid));
    nm_escape_plain(out, text);
    pad(out, lack(text, layout->label));
    for (size_t k = 0; k < layout->n_columns; k++) {
        const char *name = column_name(layout, k, text);

        pad(out, 2 + lack(name, layout->value[k]));
        nm_escape_plain(out, name);
        if (k + 1 < layout->n_columns)
            pad(out, layout->tail[k]);
    }
    putc('\n', out);
}

static void write_table_line(const struct layout *layout, size_t line, FILE *out)
{
    bool color = layout->doc->style->color;
    size_t blanks; /* before the next text: none at the end of a line */
    char text[NM_WORDS];
    const char *name = line_name(layout, line, text);
    struct field field;

    nm_escape_plain(out, name);
    blanks = lack(name, layout->label);
    for (size_t k = 0; k < layout->n_columns; k++) {
        read_at(layout, line, k, &field);
        blanks += 2 + lack(field.value, layout->value[k]);
        if (*field.value) {
            pad(out, blanks);
            blanks = 0;
        }
        fprintf(out, "%s%s%s%s", color && field.best ? BOLD : "", field.value,
                color && field.best ? PLAIN : "", field.tail);
        blanks += lack(field.tail, layout->tail[k]);
    }
    putc('\n', out);
}

static void write_notes(const struct nm_table_doc *doc, const struct nm_grid *grid, FILE *out)
{
    char text[NM_WORDS];

    for (size_t i = 0; i < grid->n_notes; i++) {
        fprintf(out, "(%c) ", (char)('a' + i));
        nm_escape_plain(out, grid->notes[i]);
        putc('\n', out);
    }
    for (size_t i = 0; nm_notes_sentence(doc, grid, i, text); i++) {
        nm_escape_plain(out, text);
        putc('\n', out);
    }
}

static void write_line(FILE *out, const char *before, const char *text, const char *after)
{
    fputs(before, out);
    nm_escape_plain(out, text);
    fputs(after, out);
    putc('\n', out);
}

static int write_text(const struct nm_table_doc *doc, FILE *out, struct nm_error *err)
{
    const char *bold = doc->style->color ? BOLD : "", *plain = doc->style->color ? PLAIN : "";
    char text[NM_WORDS];

    (void)err;
    for (size_t i = 0; i < doc->grids->count; i++) {
        const struct nm_grid *grid = &doc->grids->items[i];
        struct layout layout;

        if (!i || !nm_words_same_device(doc, grid - 1, grid)) {
            write_line(out, i ? "\n" : "", nm_words_device(doc, grid, text), "");
        }
        putc('\n', out);
        write_line(out, bold, nm_words_title(doc, grid, text), plain);
        write_line(out, "", nm_words_subtitle(doc, grid, text), "");
        if (grid->variant)
            write_line(out, "", grid->variant, "");
        lay_out(doc, grid, &layout);
        write_head(&layout, out);
        for (size_t line = 0; line < layout.n_lines; line++)
            write_table_line(&layout, line, out);
        write_notes(doc, grid, out);
    }
    return 0;
}

const struct nm_table_format nm_format_text = {
    .name = "text",
    .for_people = true,
    .write = write_text,
};
