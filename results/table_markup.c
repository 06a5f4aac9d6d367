/* Tables in formats that are texts between brackets: the walk over titles, rows and notes
 * (table_markup.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "table_markup.h"

static void put(const struct nm_markup *markup, const struct nm_brackets *brackets,
                const char *text, FILE *out)
{
    fputs(brackets->open, out);
    markup->escape(out, text);
    fputs(brackets->close, out);
}

static void write_field(const struct nm_table_doc *doc, const struct nm_grid *grid, size_t row,
                        size_t field, const struct nm_markup *markup, FILE *out)
{
    size_t column = grid->fields[field].column;
    const struct nm_cell *cell = nm_grid_cell(grid, row, column);
    bool is_main = nm_field_is_main(grid, field);
    bool best = is_main && nm_words_is_best(doc, grid, row, column);
    char text[NM_WORDS];

    if (markup->open_field)
        markup->open_field(doc, grid, row, field, out);
    else
        fputs(markup->field.open, out);
    fputs(best ? markup->best.open : "", out);
    markup->escape(out, nm_field_text(doc, grid, row, field, text));
    fputs(best ? markup->best.close : "", out);
    if (is_main && *nm_notes_marks(doc, grid, cell, text))
        put(markup, &markup->marks, text, out);
    fputs(markup->field.close, out);
}

void nm_markup_rows(const struct nm_table_doc *doc, const struct nm_grid *grid,
                    const struct nm_markup *markup, FILE *out)
{
    char text[NM_WORDS];

    put(markup, &markup->corner, nm_words_rows(doc, grid), out);
    for (size_t k = 0; k < grid->n_fields; k++)
        put(markup, &markup->title, nm_field_title(doc, grid, k, text), out);
    fputs(markup->rule.open, out);
    for (size_t k = 0; markup->rule_of_column && k < grid->n_fields; k++)
        fputs(markup->rule_of_column, out);
    fputs(markup->rule.close, out);
    for (size_t row = 0; row < grid->n_rows; row++) {
        put(markup, &markup->label, nm_words_row(doc, grid, row, text), out);
        for (size_t k = 0; k < grid->n_fields; k++)
            write_field(doc, grid, row, k, markup, out);
        fputs(markup->row_end, out);
    }
}

void nm_markup_notes(const struct nm_table_doc *doc, const struct nm_grid *grid,
                     const struct nm_markup *markup, FILE *out)
{
    char text[NM_WORDS];

    if (!grid->n_notes && !nm_notes_sentence(doc, grid, 0, text))
        return;
    fputs(markup->notes.open, out);
    for (size_t i = 0; i < grid->n_notes; i++) {
        fprintf(out, "%s%c%s", markup->note_mark.open, (char)('a' + i), markup->note_mark.close);
        markup->escape(out, grid->notes[i]);
        fputs(markup->note_end, out);
    }
    for (size_t i = 0; nm_notes_sentence(doc, grid, i, text); i++) {
        fputs(i ? markup->next_sentence : markup->first_sentence, out);
        markup->escape(out, text);
        fputs(markup->sentence_end, out);
    }
    fputs(markup->notes.close, out);
}
