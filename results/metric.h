/* Values of one metric over the counted trials of a cell.
 *
 * "bytes_per_s" and "files_per_s" come from the trial itself, every other name from the metrics
 * that its workload stored. Used by compare and history, so that both mean the same number.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_METRIC_H
#define NM_METRIC_H

#include "select.h"

/* What a cell is compared by when nobody asked: bytes per second where bytes moved, else the first
 * metric that has a direction; NULL = nothing. The string belongs to the cell or is constant. */
const char *nm_metric_default(const struct nm_cell *cell);

struct nm_metric_values {
    char unit[16];
    bool lower_is_better;
    size_t n;       /* finite, positive values */
    size_t n_other; /* counted trials whose value has no logarithm (0, negative) */
    double *values; /* heap */
};

/* Over the trials with status ok. name NULL gives an empty set. */
int nm_metric_values(const struct nm_cell *cell, const char *name, struct nm_metric_values *ret,
                     struct nm_error *err) NM_MUST_CHECK;
void nm_metric_values_done(struct nm_metric_values *values);

/* A value for people, with its unit: "97.4 MB/s", "8.2 ms", "2087 1/s". */
const char *nm_metric_format(const char *unit, double value, char *out, size_t size);

#endif
