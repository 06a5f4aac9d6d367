/* Tables in HTML: a page, or (style.fragment) only the tables for a page of somebody else.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "table_grid.h"

#include "escape.h"

static void element(FILE *out, const char *open, const char *text, const char *close)
{
    fputs(open, out);
    nm_escape_html(out, text);
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

    if (!nm_words_is_number(cell) || !*nm_field_text(doc, grid, row, field, text))
        fprintf(out, "<td class=\"%s\"",
                cell ? nm_cell_status_name(cell->status) : nm_cell_status_name(NM_CELL_MISSING));
    else
        fprintf(out, "<td class=\"number\" title=\"n = %zu%s%s\"", cell->n_ok,
                *nm_words_spread(doc, cell, text) ? ", " : "", text);
    fputs(best ? "><b>" : ">", out);
    nm_escape_html(out, nm_field_text(doc, grid, row, field, text));
    fputs(best ? "</b>" : "", out);
    if (is_main && *nm_notes_marks(doc, grid, cell, text))
        fprintf(out, "<sup>%s</sup>", text);
    fputs("</td>", out);
}

static void write_notes(const struct nm_table_doc *doc, const struct nm_grid *grid, FILE *out)
{
    char text[NM_WORDS];

    if (!grid->n_notes && !nm_notes_sentence(doc, grid, 0, text))
        return;
    fputs("<p class=\"notes\">", out);
    for (size_t i = 0; i < grid->n_notes; i++) {
        fprintf(out, "<sup>%c</sup> ", (char)('a' + i));
        element(out, "", grid->notes[i], "<br>\n");
    }
    for (size_t i = 0; nm_notes_sentence(doc, grid, i, text); i++)
        element(out, i ? "<br>\n" : "", text, "");
    fputs("</p>\n", out);
}

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
    element(out, "</caption>\n<thead><tr><th scope=\"col\">", nm_words_rows(doc, grid), "</th>");
    for (size_t k = 0; k < grid->n_fields; k++)
        element(out, "<th scope=\"col\">", nm_field_title(doc, grid, k, text), "</th>");
    fputs("</tr></thead>\n<tbody>\n", out);
    for (size_t row = 0; row < grid->n_rows; row++) {
        element(out, "<tr><th scope=\"row\">", nm_words_row(doc, grid, row, text), "</th>");
        for (size_t k = 0; k < grid->n_fields; k++)
            write_field(doc, grid, row, k, out);
        fputs("</tr>\n", out);
    }
    fputs("</tbody>\n</table>\n", out);
    fputs(doc->style->fragment ? "</div>\n" : "", out);
    write_notes(doc, grid, out);
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
            "td:not(.number) { color: #555; font-style: italic; }\n"
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
