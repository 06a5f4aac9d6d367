/* Private to --dry-run (measure.h): what earlier trials say about the plan.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_PREVIEW_H
#define NM_PREVIEW_H

#include "select.h"
#include "stats.h"

struct nm_preview_noise {
    double margin;          /* fraction that shall be seen */
    size_t n_cells;         /* with two trials at least; 0 = nothing is known */
    double noise;           /* standard deviation between the trials of a cell, median; fraction */
    unsigned needed_trials; /* per cell; 0 = more than NM_STATS_MAX_TRIALS */
};

/* cells[i] may be NULL: never measured. */
int nm_preview_noise(const struct nm_cell *const *cells, size_t n, double margin,
                     struct nm_preview_noise *ret, struct nm_error *err) NM_MUST_CHECK;

#endif
