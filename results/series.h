/* The history of cells over firmware versions: one series per cell and set of key conditions.
 *
 * Made from cells of several firmware versions (select with firmware=*); used by `history` and by
 * the history chart. The cells must outlive the series.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_SERIES_H
#define NM_SERIES_H

#include "history.h"
#include "metric.h"

#include <jansson.h>
#include <stdio.h>

struct nm_series_point {
    const struct nm_cell *cell; /* names the firmware */
    double centre, min, max;    /* geometric mean of its trials, and their range */
    size_t n;                   /* trials */
};

struct nm_series {
    const struct nm_cell *first; /* names the cell */
    const struct nm_cell
        *above; /* of an earlier series of the same names, other conditions; NULL */
    const char *metric;
    char unit[16];
    bool lower_is_better;
    struct nm_series_point *points; /* in the order of the versions */
    size_t n;
    size_t n_cut; /* oldest versions left out, beyond NM_HISTORY_MAX_VERSIONS */
    struct nm_history_change *changes;
    size_t n_changes;
    struct nm_history_newest newest;
};

struct nm_series_set {
    struct nm_series *items;
    size_t count;
};

/* metric NULL = the default of each cell. Versions without a number are not in the series; a cell
 * without any is no series. */
int nm_series_new(const struct nm_cells *cells, const char *metric, double margin,
                  struct nm_series_set **ret, struct nm_error *err) NM_MUST_CHECK;
void nm_series_free(struct nm_series_set *set);

/* "ok", "provisional" or "insufficient": what the newest version is worth. */
const char *nm_series_verdict(const struct nm_series *series);

/* series_write.c */
int nm_series_write_text(const struct nm_series_set *set, FILE *out,
                         struct nm_error *err) NM_MUST_CHECK;
/* The document of `history --json`; NULL when out of memory. */
json_t *nm_series_json(const struct nm_series_set *set);

#endif
