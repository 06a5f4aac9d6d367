/* export --format tex: the tables of the selected cells in LaTeX, as `table --format tex` prints
 * them, but in English whoever runs it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "export.h"

#include "../table.h"

static int write_tex(struct nm_store *store, const struct nm_cells *cells, FILE *out,
                     struct nm_error *err)
{
    const struct nm_table_style style = {.by = NM_TABLE_BY_VOLUME, .digits = -1, .language = "en"};

    (void)store;
    return nm_table_write(cells, "tex", &style, out, err);
}

const struct nm_export_format nm_export_tex = {
    .name = "tex",
    .help = "upload/download tables in LaTeX, for \\input",
    .write = write_tex,
};
