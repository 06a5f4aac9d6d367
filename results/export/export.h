/* Trials and cells for other programs. A new format is one file and one row of nm_export_table.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_EXPORT_H
#define NM_EXPORT_H

#include "../select.h"

#include <stdio.h>

struct nm_export_format {
    const char *name; /* as on the command line */
    const char *help; /* one line */
    bool binary;      /* not for a terminal */
    /* Writes all of it, independent of locale and language. The store is open for what is not in
     * the cells (bins, histograms). */
    int (*write)(struct nm_store *store, const struct nm_cells *cells, FILE *out,
                 struct nm_error *err);
};

extern const struct nm_export_format *const nm_export_table[];   /* NULL-terminated */
const struct nm_export_format *nm_export_find(const char *name); /* NULL = unknown */

#endif
