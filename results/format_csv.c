/* Tables as CSV: one line per field of a table, numbers in full, independent of language and
 * locale.
 *
 * A number that was not measured is an empty field. Trials are in `nasmark export --format csv`.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "table_grid.h"

#include "escape.h"
#include "units.h"

#include <inttypes.h>
#include <math.h>

static void write_word(FILE *out, const char *text)
{
    nm_escape_csv(out, text ? text : "");
    putc(',', out);
}

static void write_number(FILE *out, double value)
{
    char text[40];

    if (fabs(value) < 1e15 && value == floor(value))
        fprintf(out, "%.0f", value); /* 64000000, not 6.4e+07 */
    else if (isfinite(value))
        fputs(nm_units_format_double(value, 0, text, sizeof(text)), out);
    putc(',', out);
}

static void write_line(const struct nm_table_doc *doc, const struct nm_grid *grid, size_t row,
                       size_t column, FILE *out)
{
    const struct nm_cell *cell = nm_grid_cell(grid, row, column), *names = grid->rows[row];
    bool by_protocol = doc->style->by == NM_TABLE_BY_PROTOCOL,
         by_volume = doc->style->by == NM_TABLE_BY_VOLUME;
    const struct nm_cell *volume = by_volume ? names : grid->names;
    char label[NM_WORDS];

    write_word(out, grid->names->nas);
    write_word(out, names->firmware);
    write_word(out, volume->volume);
    write_word(out, volume->kind);
    write_word(out, nm_words_label(doc->language, volume, label));
    write_word(out, by_protocol ? names->protocol : grid->names->protocol);
    write_word(out, grid->names->workload);
    write_word(out, grid->columns[column]->phase);
    write_word(out, nm_cell_status_name(cell ? cell->status : NM_CELL_MISSING));
    fprintf(out, "%zu,%zu,", cell ? cell->n_ok : 0, cell ? cell->n_failed : 0);
    write_number(out, cell ? cell->bytes_per_s : NAN);
    write_number(out, cell ? cell->min_bytes_per_s : NAN);
    write_number(out, cell ? cell->max_bytes_per_s : NAN);
    write_number(out, cell ? cell->files_per_s : NAN);
    write_word(out, cell ? cell->flags : "");
    write_word(out, grid->names->imported ? "imported" : "measured");
    nm_escape_csv(out, grid->variant ? grid->variant : "");
    putc('\n', out);
}

static int write_csv(const struct nm_table_doc *doc, FILE *out, struct nm_error *err)
{
    (void)err;
    fputs("nas,firmware,volume,kind,label,protocol,workload,phase,status,n,n_failed,bytes_per_s,"
          "min_bytes_per_s,max_bytes_per_s,files_per_s,flags,source,conditions\n",
          out);
    for (size_t i = 0; i < doc->grids->count; i++) {
        const struct nm_grid *grid = &doc->grids->items[i];

        for (size_t row = 0; row < grid->n_rows; row++)
            for (size_t k = 0; k < grid->n_columns; k++)
                write_line(doc, grid, row, k, out);
    }
    return 0;
}

const struct nm_table_format nm_format_csv = {.name = "csv", .write = write_csv};
