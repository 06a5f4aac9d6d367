/* How many trials the noise of earlier trials asks for, for --dry-run (preview.h).
 *
 * The rule of docs/METRICS.md "Compare": from the scatter of the log rates of every planned cell
 * that has been measured before, with the noise of all of them as prior.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "preview.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* ln(rate) of the trials that succeeded; false when there are fewer than two. */
static bool scatter(const struct nm_cell *cell, double *ret_variance, double *ret_df)
{
    double *rates = calloc(cell->n_trials + 1, sizeof(*rates));
    struct nm_stats_side side = {0};
    size_t n = 0;

    for (size_t i = 0; rates && i < cell->n_trials; i++)
        if (cell->trials[i].status == NM_STATUS_OK && cell->trials[i].duration_ns)
            rates[n++] = (double)cell->trials[i].bytes / (double)cell->trials[i].duration_ns;
    if (rates)
        side = nm_stats_side(rates, n);
    free(rates);
    *ret_variance = side.variance;
    *ret_df = (double)side.n - 1;
    return side.n > 1 && side.variance > 0;
}

static int by_value(const void *pa, const void *pb)
{
    double a = *(const double *)pa, b = *(const double *)pb;

    return (a > b) - (a < b);
}

int nm_preview_noise(const struct nm_cell *const *cells, size_t n, double margin,
                     struct nm_preview_noise *ret, struct nm_error *err)
{
    double *variances = calloc(3 * n + 1, sizeof(*variances)), *dfs;
    struct nm_stats_prior prior = {0};
    double variance;
    size_t used = 0;

    *ret = (struct nm_preview_noise){.margin = margin};
    if (!variances)
        return nm_error_no_memory(err);
    dfs = variances + n;
    for (size_t i = 0; i < n; i++)
        if (cells[i] && scatter(cells[i], &variances[used], &dfs[used]))
            used++;
    if (used >= NM_STATS_MIN_PRIOR_ROWS)
        prior = nm_stats_fit_prior(variances, dfs, used, variances + 2 * n);
    if (used) {
        qsort(variances, used, sizeof(*variances), by_value);
        variance = (variances[(used - 1) / 2] + variances[used / 2]) / 2;
        ret->n_cells = used;
        ret->noise = sqrt(variance);
        ret->needed_trials = nm_stats_needed_trials(variance, prior.d0, 0, log1p(margin));
    }
    free(variances);
    return 0;
}
