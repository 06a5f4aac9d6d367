/* Tables in HTML: a page, or (style.fragment) only the tables for a page of somebody else.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "table_markup.h"

#include "escape.h"

#include <math.h>

static void element(FILE *out, const char *open, const char *text, const char *close)
{
    fputs(open, out);
    nm_escape_html(out, text);
    fputs(close, out);
}

/* Bonnie++'s own tables are coloured from the worst to the best of a column: 0 to 4, -1 = not at
 * all. The best one is bold, too. */
static int shade_of(const struct nm_grid *grid, size_t row, size_t column)
{
    double own = nm_words_merit(nm_grid_cell(grid, row, column)), worst = own, best = own;

    for (size_t i = 0; i < grid->n_rows; i++) {
        double other = nm_words_merit(nm_grid_cell(grid, i, column));

        if (isfinite(other)) {
            worst = fmin(worst, other);
            best = fmax(best, other);
        }
    }
    return nm_cell_is_of(grid->names, "bonnie") && best > worst
               ? (int)lround(4 * (own - worst) / (best - worst))
               : -1;
}

/* A field without a number names its status, one with a number says of how many trials. */
static void open_field(const struct nm_table_doc *doc, const struct nm_grid *grid, size_t row,
                       size_t field, FILE *out)
{
    static const char *const shades[] = {" worst", " bad", "", " good", " best"};
    size_t column = grid->fields[field].column;
    const struct nm_cell *cell = nm_grid_cell(grid, row, column);
    char text[NM_WORDS];
    int shade;

    if (!nm_words_is_number(cell) || !*nm_field_text(doc, grid, row, field, text))
        fprintf(out, "<td class=\"%s\">",
                cell ? nm_cell_status_name(cell->status) : nm_cell_status_name(NM_CELL_MISSING));
    else {
        shade = shade_of(grid, row, column);
        fprintf(out, "<td class=\"number%s\" title=\"n = %zu%s%s\">",
                shade < 0 ? "" : shades[shade], cell->n_ok,
                *nm_words_spread(doc, cell, text) ? ", " : "", text);
    }
}

static const struct nm_markup markup = {
    .escape = nm_escape_html,
    .corner = {"<thead><tr><th scope=\"col\">", "</th>"},
    .title = {"<th scope=\"col\">", "</th>"},
    .rule = {"</tr></thead>\n<tbody>\n", ""},
    .label = {"<tr><th scope=\"row\">", "</th>"},
    .field = {"", "</td>"},
    .open_field = open_field,
    .best = {"<b>", "</b>"},
    .marks = {"<sup>", "</sup>"},
    .row_end = "</tr>\n",
    .notes = {"<p class=\"notes\">", "</p>\n"},
    .note_mark = {"<sup>", "</sup> "},
    .note_end = "<br>\n",
    .first_sentence = "",
    .next_sentence = "<br>\n",
    .sentence_end = "",
};

static void write_table(const struct nm_table_doc *doc, const struct nm_grid *grid, FILE *out)
{
    char text[NM_WORDS];

    if (doc->style->fragment) { /* a page of somebody else may be narrower than the table */
        fputs("<div>", out);
        element(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"",
                nm_words_title(doc, grid, text), "\">\n");
    }
    element(out, "<table>\n<caption>", nm_words_title(doc, grid, text), "<br>");
    element(out, "", nm_words_subtitle(doc, grid, text), "");
    if (grid->variant)
        element(out, "<br>", grid->variant, "");
    fputs("</caption>\n", out);
    nm_markup_rows(doc, grid, &markup, out);
    fputs("</tbody>\n</table>\n", out);
    fputs(doc->style->fragment ? "</div>\n" : "", out);
    nm_markup_notes(doc, grid, &markup, out);
    fputs(doc->style->fragment ? "</div>\n" : "", out);
}

static void write_head(const struct nm_table_doc *doc, FILE *out)
{
    fprintf(out,
            "<!DOCTYPE html>\n<html lang=\"%s\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<title>nasmark</title>\n<style>\n"
            "body { font-family: sans-serif; margin: 2em; }\n"
            "table { border-collapse: collapse; margin-top: 1.5em; }\n"
            "caption { text-align: left; font-weight: bold; padding: 0.3em 0; }\n"
            "th, td { border: 1px solid #bbb; padding: 0.25em 0.7em; text-align: right; }\n"
            "th[scope=row], thead th:first-child { text-align: left; font-weight: normal; }\n"
            "td { font-variant-numeric: tabular-nums; }\n"
            "td:not(.number) { color: #555; font-style: italic; }\n" NM_MARKUP_SHADES
            ".notes { font-size: smaller; color: #333; }\n"
            "</style>\n</head>\n<body>\n",
            nm_language_code(doc->language));
}

static int write_html(const struct nm_table_doc *doc, FILE *out, struct nm_error *err)
{
    char text[NM_WORDS];

    (void)err;
    if (!doc->style->fragment)
        write_head(doc, out);
    for (size_t i = 0; i < doc->grids->count; i++) {
        const struct nm_grid *grid = &doc->grids->items[i];

        if (!i || !nm_words_same_device(doc, grid - 1, grid))
            element(out, doc->style->fragment ? "<h3>" : "<h2>", nm_words_device(doc, grid, text),
                    doc->style->fragment ? "</h3>\n" : "</h2>\n");
        write_table(doc, grid, out);
    }
    if (!doc->style->fragment)
        fputs("</body>\n</html>\n", out);
    return 0;
}

const struct nm_table_format nm_format_html = {
    .name = "html",
    .for_people = true,
    .write = write_html,
};
