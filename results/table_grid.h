/* Private to the table formats: cells laid out as tables, and every text that is the same in all
 * formats.
 *
 * A format file only decides about brackets and bold; what stands in a field, which field is the
 * best, which notes there are and how many digits a number has is decided once, here.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_TABLE_GRID_H
#define NM_TABLE_GRID_H

#include "language.h"
#include "pool.h"
#include "table.h"

#define NM_NOTES_MAX 24

/* A column as it is printed: a phase and what is said of it. */
enum nm_field_part {
    NM_FIELD_RATE,
    NM_FIELD_BEST, /* of the runs of a step */
    NM_FIELD_MEDIAN,
    NM_FIELD_IOPS,
    NM_FIELD_LATENCY, /* us */
    NM_FIELD_READER,  /* rate of one stream of a mix */
    NM_FIELD_WRITER,
    NM_FIELD_UNDERRUNS, /* of all readers */
};
struct nm_field {
    size_t column;
    enum nm_field_part part;
    unsigned stream; /* from 1 */
};

/* One table. Row and column names are read from a cell that has them. */
struct nm_grid {
    const struct nm_cell *names; /* what all cells of the table have in common */
    bool is_twin;                /* of the table before it: same names, other conditions */
    bool by_step; /* rows are steps ("seq4KiB-q8"), columns their directions; one volume */
    size_t n_rows, n_columns;
    const struct nm_cell **rows, **columns;
    const struct nm_cell **cells; /* row-major, nm_grid_cell() */
    size_t row_room, column_room;
    struct nm_field *fields; /* columns to print; one per phase but for steps and mixes */
    size_t n_fields;
    const char *head; /* of the column of row names; NULL = nm_words_rows() knows it */
    bool is_card;     /* by_step, and a step is several runs: best and median */
    const struct nm_cell **numbers;  /* per column one cell with a number, or NULL */
    const struct nm_cell **best;     /* per column, NULL when fewer than two rows have a number */
    size_t usual_n;                  /* trials that a number of this table has, unless noted */
    const char *variant;             /* conditions that set it apart from its twins, or NULL */
    const char *notes[NM_NOTES_MAX]; /* referred to by marks a, b, c ... in the fields */
    size_t n_notes;
};

struct nm_grids {
    struct nm_grid *items;
    size_t count;
    struct nm_pool *pool;
};

/* With `steps`, a workload of very many phases in pairs (block sizes times directions) becomes one
 * table per volume whose rows are the steps, as the tools it comes from print it. */
int nm_grids_new(const struct nm_cells *cells, enum nm_table_by by, bool steps,
                 struct nm_grids **ret_grids, struct nm_error *err) NM_MUST_CHECK;
void nm_grids_free(struct nm_grids *grids);

/* The same with the best of every column and the notes: what a format prints. */
int nm_grids_finished(const struct nm_cells *cells, const struct nm_table_style *style,
                      const struct nm_language *language, bool steps, struct nm_grids **ret_grids,
                      struct nm_error *err) NM_MUST_CHECK;

/* Length of the step in the name of a phase: "seq4KiB-q8" of "seq4KiB-q8-write"; 0 = not of that
 * sort. */
size_t nm_grid_step(const char *phase);

/* NULL = was never run. */
static inline const struct nm_cell *nm_grid_cell(const struct nm_grid *grid, size_t row,
                                                 size_t column)
{
    return grid->cells[row * grid->column_room + column];
}

/* What a format gets. */
struct nm_table_doc {
    const struct nm_grids *grids;
    const struct nm_table_style *style;
    const struct nm_language *language;
};

struct nm_table_format {
    const char *name;
    bool for_people; /* in the user's language */
    int (*write)(const struct nm_table_doc *doc, FILE *out, struct nm_error *err);
};

extern const struct nm_table_format nm_format_text, nm_format_md, nm_format_csv, nm_format_json,
    nm_format_html, nm_format_tex;

/* table_words.c and table_values.c: into a buffer that is returned, if not said otherwise. */
#define NM_WORDS 512

/* "readynas-104, firmware 6.1.2": what stands once above the tables of a device. */
const char *nm_words_device(const struct nm_table_doc *doc, const struct nm_grid *grid,
                            char out[NM_WORDS]);
bool nm_words_same_device(const struct nm_table_doc *doc, const struct nm_grid *a,
                          const struct nm_grid *b);
/* "Copying a large file (2 GB)" */
const char *nm_words_title(const struct nm_table_doc *doc, const struct nm_grid *grid,
                           char out[NM_WORDS]);
/* "Protocol: SMB [MB/s]" */
const char *nm_words_subtitle(const struct nm_table_doc *doc, const struct nm_grid *grid,
                              char out[NM_WORDS]);
/* Head of the column of row names: "Volume" */
const char *nm_words_rows(const struct nm_table_doc *doc, const struct nm_grid *grid);
/* "SEQ Q4T1" when all steps of the table have it in common, else "". */
const char *nm_words_common_step(const struct nm_grid *grid, char out[NM_WORDS]);
/* "Single volume", "SMB" or "6.1.2" */
const char *nm_words_row(const struct nm_table_doc *doc, const struct nm_grid *grid, size_t row,
                         char out[NM_WORDS]);
/* Label of a volume: as given, else the name of its kind. out is used only where it must be. */
const char *nm_words_label(const struct nm_language *language, const struct nm_cell *cell,
                           char out[NM_WORDS]);
const char *nm_words_protocol(const struct nm_language *language, const char *protocol);
const char *nm_words_reason(const struct nm_language *language, enum nm_reason reason);
const char *nm_words_phase(const struct nm_table_doc *doc, const char *phase);
const char *nm_words_column(const struct nm_table_doc *doc, const struct nm_grid *grid,
                            size_t column);

/* What stands in a field: the number, or a word for why there is none. */
const char *nm_words_value(const struct nm_table_doc *doc, const struct nm_cell *cell,
                           char out[NM_WORDS]);
/* Half of the range of the trials relative to their mean, "±0.6%"; "" for one trial. */
const char *nm_words_spread(const struct nm_table_doc *doc, const struct nm_cell *cell,
                            char out[NM_WORDS]);
double nm_words_half_range(const struct nm_cell *cell); /* fraction; NAN for one trial */
const char *nm_words_percent(const struct nm_language *language, double fraction,
                             char out[NM_WORDS]);
bool nm_words_is_number(const struct nm_cell *cell);
/* What a cell is judged by, so that more is better; NAN = no number. */
double nm_words_merit(const struct nm_cell *cell);
/* A number in the unit of the table's head; others carry their own. */
bool nm_words_is_rate(const struct nm_cell *cell);

/* Fills grid->best. */
int nm_words_find_best(struct nm_grid *grid, struct nm_pool *pool,
                       struct nm_error *err) NM_MUST_CHECK;
/* It is the best of its column, or prints the same as the best. */
bool nm_words_is_best(const struct nm_table_doc *doc, const struct nm_grid *grid, size_t row,
                      size_t column);

/* table_fields.c */

/* Fills grid->fields, grid->is_card and grid->head. */
int nm_fields_list(const struct nm_table_doc *doc, struct nm_grid *grid, struct nm_pool *pool,
                   struct nm_error *err) NM_MUST_CHECK;
/* "Upload"; "Read: best", "median" */
const char *nm_field_title(const struct nm_table_doc *doc, const struct nm_grid *grid, size_t field,
                           char out[NM_WORDS]);
/* As nm_words_value(); "" where there is nothing to say beside the main one. */
const char *nm_field_text(const struct nm_table_doc *doc, const struct nm_grid *grid, size_t row,
                          size_t field, char out[NM_WORDS]);
/* The rate that a phase is judged by: it may be the best of its column, has a spread and marks. */
bool nm_field_is_main(const struct nm_grid *grid, size_t field);
/* In the unit of the text; NAN where the text is none, or is another metric than a rate. */
double nm_field_number(const struct nm_table_doc *doc, const struct nm_grid *grid, size_t row,
                       size_t field);

/* table_notes.c */

/* Fills grid->notes and grid->usual_n. */
int nm_notes_collect(const struct nm_table_doc *doc, struct nm_grid *grid, struct nm_pool *pool,
                     struct nm_error *err) NM_MUST_CHECK;
/* "a", "ab", "" */
const char *nm_notes_marks(const struct nm_table_doc *doc, const struct nm_grid *grid,
                           const struct nm_cell *cell, char out[NM_WORDS]);
/* Sentences about the whole table, in order; NULL after the last. */
const char *nm_notes_sentence(const struct nm_table_doc *doc, const struct nm_grid *grid,
                              size_t index, char out[NM_WORDS]);

#endif
