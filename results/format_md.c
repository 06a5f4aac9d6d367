/* Tables in GitHub Markdown.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "table_markup.h"

#include "escape.h"

static const struct nm_markup markup = {
    .escape = nm_escape_md,
    .corner = {"| ", " |"},
    .title = {" ", " |"},
    .rule = {"\n|:---|", "\n"},
    .rule_of_column = "---:|",
    .label = {"| ", " |"},
    .field = {" ", " |"},
    .best = {"**", "**"},
    .marks = {" (", ")"},
    .row_end = "\n",
    .notes = {"", ""},
    .note_mark = {"(", ") "},
    .note_end = "  \n", /* a line break */
    .first_sentence = "",
    .next_sentence = "",
    .sentence_end = "  \n",
};

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
        nm_markup_rows(doc, grid, &markup, out);
        putc('\n', out);
        nm_markup_notes(doc, grid, &markup, out);
    }
    return 0;
}

const struct nm_table_format nm_format_md = {
    .name = "md",
    .for_people = true,
    .write = write_md,
};
