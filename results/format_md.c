/* Tables in GitHub Markdown.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "table_grid.h"

#include "escape.h"

static void write_field(const struct nm_table_doc *doc, const struct nm_grid *grid, size_t row,
                        size_t field, FILE *out)
{
    size_t column = grid->fields[field].column;
    const struct nm_cell *cell = nm_grid_cell(grid, row, column);
    bool is_main = nm_field_is_main(grid, field);
    const char *bold = is_main && nm_words_is_best(doc, grid, row, column) ? "**" : "";
    char text[NM_WORDS];

    fputs(bold, out);
    nm_escape_md(out, nm_field_text(doc, grid, row, field, text));
    fputs(bold, out);
    if (is_main && *nm_notes_marks(doc, grid, cell, text))
        fprintf(out, " (%s)", text);
}

static void write_table(const struct nm_table_doc *doc, const struct nm_grid *grid, FILE *out)
{
    char text[NM_WORDS];

    fputs("| ", out);
    nm_escape_md(out, nm_words_rows(doc, grid));
    fputs(" |", out);
    for (size_t k = 0; k < grid->n_fields; k++) {
        putc(' ', out);
        nm_escape_md(out, nm_field_title(doc, grid, k, text));
        fputs(" |", out);
    }
    fputs("\n|:---|", out);
    for (size_t k = 0; k < grid->n_fields; k++)
        fputs("---:|", out);
    putc('\n', out);
    for (size_t row = 0; row < grid->n_rows; row++) {
        fputs("| ", out);
        nm_escape_md(out, nm_words_row(doc, grid, row, text));
        fputs(" |", out);
        for (size_t k = 0; k < grid->n_fields; k++) {
            putc(' ', out);
            write_field(doc, grid, row, k, out);
            fputs(" |", out);
        }
        putc('\n', out);
    }
}

static void write_notes(const struct nm_table_doc *doc, const struct nm_grid *grid, FILE *out)
{
    char text[NM_WORDS];

    putc('\n', out);
    for (size_t i = 0; i < grid->n_notes; i++) {
        fprintf(out, "(%c) ", (char)('a' + i));
        nm_escape_md(out, grid->notes[i]);
        fputs("  \n", out); /* a line break */
    }
    for (size_t i = 0; nm_notes_sentence(doc, grid, i, text); i++) {
        nm_escape_md(out, text);
        fputs("  \n", out);
    }
}

static int write_md(const struct nm_table_doc *doc, FILE *out, struct nm_error *err)
{
    char text[NM_WORDS];

    (void)err;
    for (size_t i = 0; i < doc->grids->count; i++) {
        const struct nm_grid *grid = &doc->grids->items[i];

        if (!i || !nm_words_same_device(doc, grid - 1, grid)) {
            fputs(i ? "\n## " : "## ", out);
            nm_escape_md(out, nm_words_device(doc, grid, text));
            putc('\n', out);
        }
        fputs("\n### ", out);
        nm_escape_md(out, nm_words_title(doc, grid, text));
        fputs("\n\n", out);
        nm_escape_md(out, nm_words_subtitle(doc, grid, text));
        fputs("\n\n", out);
        if (grid->variant) {
            nm_escape_md(out, grid->variant);
            fputs("\n\n", out);
        }
        write_table(doc, grid, out);
        write_notes(doc, grid, out);
    }
    return 0;
}

const struct nm_table_format nm_format_md = {
    .name = "md",
    .for_people = true,
    .write = write_md,
};
