/* Change points in the history of one cell over firmware versions.
 *
 * Pure functions: circular binary segmentation with Bonferroni on y = ln(centre of a version), and
 * the rule for the newest single version. Values must be finite logarithms. Outputs are finite.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_HISTORY_H
#define NM_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

/* Versions below which nothing is searched, and above which the search would take too long. */
#define NM_HISTORY_MIN_VERSIONS 4
#define NM_HISTORY_MAX_VERSIONS 300

struct nm_history_change {
    size_t index; /* first version of the new level */
    double t;     /* of the arc that was accepted; sign of the step at this index */
    double p;     /* after Bonferroni over the arcs of its segment */
    double df;
    size_t arcs;
    double step; /* fraction: level after against level before, up to the neighbouring changes */
};

/* Finds the changes, sorted by index; writes at most n - 1 (changes must hold as many). Returns
 * their number; 0 when n is below the minimum or above the maximum. margin: fraction that matters.
 */
size_t nm_history_changes(const double *y, size_t n, double margin,
                          struct nm_history_change *changes);

struct nm_history_newest {
    bool known; /* at least three versions since the last change stand before it */
    size_t k;   /* how many */
    double t, df, p;
    double low, high; /* 99 % prediction interval for ln(centre) */
    bool provisional; /* outside: rerun before believing it */
};
/* Judges y[n-1] by the versions since the last change at or before it. */
struct nm_history_newest nm_history_newest(const double *y, size_t n,
                                           const struct nm_history_change *changes,
                                           size_t n_changes);

#endif
