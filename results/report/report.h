/* One self-contained HTML page about what was measured: no script, nothing fetched from anywhere,
 * light and dark, for a screen, a phone and paper.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_REPORT_H
#define NM_REPORT_H

#include "../select.h"
#include "language.h"

#include <stdio.h>

struct nm_report_input {
    struct nm_store *store;
    const struct nm_cells *cells;    /* what the page is about */
    const struct nm_cells *versions; /* of every firmware version of the same devices */
    const struct nm_language *language;
    const char *made; /* last line of the page: program and selection; may be NULL */
};

int nm_report_write(const struct nm_report_input *input, FILE *out,
                    struct nm_error *err) NM_MUST_CHECK;

#endif
