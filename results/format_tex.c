/* Tables in LaTeX, to be \input into a document that loads booktabs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "table_grid.h"

#include "escape.h"

static void element(FILE *out, const char *open, const char *text, const char *close)
{
    fputs(open, out);
    nm_escape_tex(out, text);
    fputs(close, out);
}

static void write_field(const struct nm_table_doc *doc, const struct nm_grid *grid, size_t row,
                        size_t field, FILE *out)
{
    size_t column = grid->fields[field].column;
    const struct nm_cell *cell = nm_grid_cell(grid, row, column);
    bool is_main = nm_field_is_main(grid, field);
    bool best = is_main && nm_words_is_best(doc, grid, row, column);
    char text[NM_WORDS];

    element(out, best ? " & \\textbf{" : " & ", nm_field_text(doc, grid, row, field, text),
            best ? "}" : "");
    if (is_main && *nm_notes_marks(doc, grid, cell, text))
        fprintf(out, "\\textsuperscript{%s}", text);
}

static void write_notes(const struct nm_table_doc *doc, const struct nm_grid *grid, FILE *out)
{
    char text[NM_WORDS];

    if (!grid->n_notes && !nm_notes_sentence(doc, grid, 0, text))
        return;
    fputs("\n\\smallskip\n{\\footnotesize", out);
    for (size_t i = 0; i < grid->n_notes; i++) {
        fprintf(out, "\n\\textsuperscript{%c} ", (char)('a' + i));
        element(out, "", grid->notes[i], "\\\\");
    }
    for (size_t i = 0; nm_notes_sentence(doc, grid, i, text); i++)
        element(out, i ? "\\\\\n" : "\n", text, "");
    fputs("}\n", out);
}

static void write_table(const struct nm_table_doc *doc, const struct nm_grid *grid, FILE *out)
{
    char text[NM_WORDS];

    fputs("\n\\begin{table}\n\\centering\n", out);
    element(out, "\\caption{", nm_words_device(doc, grid, text), ": ");
    element(out, "", nm_words_title(doc, grid, text), ". ");
    element(out, "", nm_words_subtitle(doc, grid, text), "");
    if (grid->variant)
        element(out, " (", grid->variant, ")");
    fputs("}\n\\begin{tabular}{l", out);
    for (size_t k = 0; k < grid->n_fields; k++)
        putc('r', out);
    element(out, "}\n\\toprule\n", nm_words_rows(doc, grid), "");
    for (size_t k = 0; k < grid->n_fields; k++)
        element(out, " & ", nm_field_title(doc, grid, k, text), "");
    fputs(" \\\\\n\\midrule\n", out);
    for (size_t row = 0; row < grid->n_rows; row++) {
        /* A row that begins with [ would be taken for the argument of the \\ before it. */
        element(out, "{}", nm_words_row(doc, grid, row, text), "");
        for (size_t k = 0; k < grid->n_fields; k++)
            write_field(doc, grid, row, k, out);
        fputs(" \\\\\n", out);
    }
    fputs("\\bottomrule\n\\end{tabular}\n", out);
    write_notes(doc, grid, out);
    fputs("\\end{table}\n", out);
}

static int write_tex(const struct nm_table_doc *doc, FILE *out, struct nm_error *err)
{
    (void)err;
    fputs("% needs \\usepackage{booktabs}; UTF-8 (Japanese: lualatex with luatexja)\n", out);
    for (size_t i = 0; i < doc->grids->count; i++)
        write_table(doc, &doc->grids->items[i], out);
    return 0;
}

const struct nm_table_format nm_format_tex = {
    .name = "tex",
    .for_people = true,
    .write = write_tex,
};
