/* Tables in LaTeX, to be \input into a document that loads booktabs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "table_markup.h"

#include "escape.h"

static void element(FILE *out, const char *open, const char *text, const char *close)
{
    fputs(open, out);
    nm_escape_tex(out, text);
    fputs(close, out);
}

static const struct nm_markup markup = {
    .escape = nm_escape_tex,
    .corner = {"}\n\\toprule\n", ""},
    .title = {" & ", ""},
    .rule = {" \\\\\n\\midrule\n", ""},
    /* A row that begins with [ would be taken for the argument of the \\ before it. */
    .label = {"{}", ""},
    .field = {" & ", ""},
    .best = {"\\textbf{", "}"},
    .marks = {"\\textsuperscript{", "}"},
    .row_end = " \\\\\n",
    .notes = {"\n\\smallskip\n{\\footnotesize", "}\n"},
    .note_mark = {"\n\\textsuperscript{", "} "},
    .note_end = "\\\\",
    .first_sentence = "\n",
    .next_sentence = "\\\\\n",
    .sentence_end = "",
};

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
    nm_markup_rows(doc, grid, &markup, out);
    fputs("\\bottomrule\n\\end{tabular}\n", out);
    nm_markup_notes(doc, grid, &markup, out);
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
