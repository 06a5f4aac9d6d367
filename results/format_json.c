/* Tables as one JSON document (docs/schema/table.json).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "table_grid.h"

#include "cell_json.h"
#include "escape.h"

#include <errno.h>
#include <jansson.h>

/* NULL when the rows differ in it. */
static json_t *unless(bool varies, const char *text)
{
    return varies ? json_null() : nm_escape_json(text);
}

static json_t *row_json(const struct nm_table_doc *doc, const struct nm_grid *grid, size_t row)
{
    bool by_volume = doc->style->by == NM_TABLE_BY_VOLUME;
    const struct nm_cell *names = grid->rows[row], *volume = by_volume ? names : grid->names;
    char label[NM_WORDS];
    json_t *phases = json_object(),
           *json = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "volume",
                             nm_escape_json(volume->volume), "kind", nm_escape_json(volume->kind),
                             "label", nm_escape_json(nm_words_label(doc->language, volume, label)),
                             "interface", nm_escape_json(volume->interface), "protocol",
                             nm_escape_json(doc->style->by == NM_TABLE_BY_PROTOCOL
                                                ? names->protocol
                                                : grid->names->protocol),
                             "firmware", nm_escape_json(names->firmware), "phases", phases);

    for (size_t k = 0; json && k < grid->n_columns; k++)
        if (json_object_set_new(phases, grid->columns[k]->phase,
                                nm_cell_json(nm_grid_cell(grid, row, k))) < 0) {
            json_decref(json);
            return NULL;
        }
    return json;
}

static json_t *grid_json(const struct nm_table_doc *doc, const struct nm_grid *grid)
{
    const struct nm_cell *names = grid->names;
    enum nm_table_by by = doc->style->by;
    json_t *rows = json_array(),
           *json = json_pack("{s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o}", "workload",
                             nm_escape_json(names->workload), "protocol",
                             unless(by == NM_TABLE_BY_PROTOCOL, names->protocol), "nas",
                             nm_escape_json(names->nas), "firmware",
                             unless(by == NM_TABLE_BY_FIRMWARE, names->firmware), "volume",
                             unless(by == NM_TABLE_BY_VOLUME, names->volume), "source",
                             names->imported ? "imported" : "measured", "conditions",
                             nm_escape_json(grid->variant), "rows", rows);

    for (size_t i = 0; json && i < grid->n_rows; i++)
        if (json_array_append_new(rows, row_json(doc, grid, i)) < 0) {
            json_decref(json);
            return NULL;
        }
    return json;
}

static int write_json(const struct nm_table_doc *doc, FILE *out, struct nm_error *err)
{
    json_t *tables = json_array(),
           *json = json_pack("{s:i, s:o, s:o}", "schema", 1, "run",
                             nm_escape_json(doc->style->run_id), "tables", tables);
    int r = json ? 0 : -ENOMEM;

    for (size_t i = 0; i < doc->grids->count && r == 0; i++)
        if (json_array_append_new(tables, grid_json(doc, &doc->grids->items[i])) < 0)
            r = -ENOMEM;
    if (r == 0 && json_dumpf(json, out, JSON_INDENT(1) | JSON_REAL_PRECISION(15)) < 0 &&
        !ferror(out)) /* why the stream took no more, is asked where it is flushed */
        r = -ENOMEM;
    if (r == 0)
        putc('\n', out);
    json_decref(json);
    return r < 0 ? nm_error_no_memory(err) : 0;
}

const struct nm_table_format nm_format_json = {.name = "json", .write = write_json};
