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

struct widths {
    size_t label, value[NM_PHASES_MAX], tail[NM_PHASES_MAX];
};

static void measure(const struct nm_table_doc *doc, const struct nm_grid *grid, size_t n_fields,
                    struct widths *widths)
{
    char label[NM_WORDS];
    struct field field;

    memset(widths, 0, sizeof(*widths));
    if (grid->by_step)
        widths->label = nm_escape_width(nm_words_rows(doc, grid));
    for (size_t row = 0; row < grid->n_rows; row++) {
        widths->label = widen(widths->label, nm_words_row(doc, grid, row, label));
        for (size_t k = 0; k < n_fields; k++) {
            read_field(doc, grid, row, k, &field);
            widths->value[k] = widen(widths->value[k], field.value);
            widths->tail[k] = widen(widths->tail[k], field.tail);
        }
    }
    for (size_t k = 0; k < n_fields; k++)
        widths->value[k] = widen(widths->value[k], nm_field_title(doc, grid, k, label));
}

static void write_head(const struct nm_table_doc *doc, const struct nm_grid *grid, size_t n_fields,
                       const struct widths *widths, FILE *out)
{
    char text[NM_WORDS] = "";

    if (grid->by_step) /* what all steps have in common */
        snprintf(text, sizeof(text), "%s", nm_words_rows(doc, grid));
    nm_escape_plain(out, text);
    pad(out, lack(text, widths->label));
    for (size_t k = 0; k < n_fields; k++) {
        nm_field_title(doc, grid, k, text);
        pad(out, 2 + lack(text, widths->value[k]));
        nm_escape_plain(out, text);
        if (k + 1 < n_fields)
            pad(out, widths->tail[k]);
    }
    putc('\n', out);
}

static void write_row(const struct nm_table_doc *doc, const struct nm_grid *grid, size_t row,
                      size_t n_fields, const struct widths *widths, FILE *out)
{
    size_t blanks; /* before the next text: none at the end of a line */
    char label[NM_WORDS];
    struct field field;

    nm_words_row(doc, grid, row, label);
    nm_escape_plain(out, label);
    blanks = lack(label, widths->label);
    for (size_t k = 0; k < n_fields; k++) {
        read_field(doc, grid, row, k, &field);
        blanks += 2 + lack(field.value, widths->value[k]);
        if (*field.value) {
            pad(out, blanks);
            blanks = 0;
        }
        fprintf(out, "%s%s%s%s", doc->style->color && field.best ? BOLD : "", field.value,
                doc->style->color && field.best ? PLAIN : "", field.tail);
        blanks += lack(field.tail, widths->tail[k]);
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
        size_t n_fields = grid->n_fields < NM_PHASES_MAX ? grid->n_fields : NM_PHASES_MAX;
        struct widths widths;

        if (!i || !nm_words_same_device(doc, grid - 1, grid)) {
            write_line(out, i ? "\n" : "", nm_words_device(doc, grid, text), "");
        }
        putc('\n', out);
        write_line(out, bold, nm_words_title(doc, grid, text), plain);
        write_line(out, "", nm_words_subtitle(doc, grid, text), "");
        if (grid->variant)
            write_line(out, "", grid->variant, "");
        measure(doc, grid, n_fields, &widths);
        write_head(doc, grid, n_fields, &widths, out);
        for (size_t row = 0; row < grid->n_rows; row++)
            write_row(doc, grid, row, n_fields, &widths, out);
        write_notes(doc, grid, out);
    }
    return 0;
}

const struct nm_table_format nm_format_text = {
    .name = "text",
    .for_people = true,
    .write = write_text,
};
