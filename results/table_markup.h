/* Private to the table formats: what a format writes around the texts of a table, as data.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_TABLE_MARKUP_H
#define NM_TABLE_MARKUP_H

#include "table_grid.h"

/* From the worst to the best of a column, on light and on dark paper. */
#define NM_MARKUP_SHADES                                                                           \
    "td.worst { background: rgba(213, 94, 0, 0.4); }\n"                                            \
    "td.bad { background: rgba(213, 94, 0, 0.18); }\n"                                             \
    "td.good { background: rgba(0, 114, 178, 0.18); }\n"                                           \
    "td.best { background: rgba(0, 114, 178, 0.4); }\n"

struct nm_brackets {
    const char *open, *close;
};

struct nm_markup {
    void (*escape)(FILE *out, const char *text);
    struct nm_brackets corner, title; /* of the head; corner is above the labels */
    struct nm_brackets rule;          /* between the head and the rows */
    const char *rule_of_column;       /* within the rule, once for each; NULL = nothing */
    struct nm_brackets label, field, best, marks;
    const char *row_end;
    /* Instead of field.open, where it depends on the field. */
    void (*open_field)(const struct nm_table_doc *doc, const struct nm_grid *grid, size_t row,
                       size_t field, FILE *out);

    struct nm_brackets notes; /* nothing of it when there are none */
    struct nm_brackets note_mark;
    const char *note_end;
    const char *first_sentence, *next_sentence; /* before them */
    const char *sentence_end;
};

/* Head and rows. */
void nm_markup_rows(const struct nm_table_doc *doc, const struct nm_grid *grid,
                    const struct nm_markup *markup, FILE *out);
void nm_markup_notes(const struct nm_table_doc *doc, const struct nm_grid *grid,
                     const struct nm_markup *markup, FILE *out);

#endif
