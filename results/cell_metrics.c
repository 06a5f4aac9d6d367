/* One number per metric and cell (select.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "select.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *pa, const void *pb)
{
    double a = *(const double *)pa, b = *(const double *)pb;

    return (a > b) - (a < b);
}

/* NAN when the values have no such mean. values are sorted. */
static double summarise(const double *values, size_t n, const struct nm_metric *like)
{
    double sum = 0, logs = 0;

    for (size_t i = 0; i < n; i++) {
        sum += values[i];
        logs += log(values[i]); /* 0 gives -inf and a mean of 0, below 0 NAN */
    }
    switch (like->summary) {
    case NM_SUMMARY_GEOMEAN: return exp(logs / (double)n);
    case NM_SUMMARY_MEDIAN: return (values[(n - 1) / 2] + values[n / 2]) / 2;
    case NM_SUMMARY_BEST: return like->better == NM_BETTER_LOWER ? values[0] : values[n - 1];
    case NM_SUMMARY_MAX: return values[n - 1];
    case NM_SUMMARY_MEAN: return sum / (double)n;
    }
    return NAN;
}

static void add(const struct nm_cell *cell, const struct nm_metric *like, double *values,
                struct nm_metrics *ret)
{
    size_t n = 0;
    double value;

    for (size_t i = 0; i < cell->n_trials; i++) {
        const struct nm_metric *metric = nm_metrics_get(cell->trials[i].metrics, like->name);

        if (cell->trials[i].status == NM_STATUS_OK && metric && isfinite(metric->value))
            values[n++] = metric->value;
    }
    qsort(values, n, sizeof(*values), by_value);
    value = n ? summarise(values, n, like) : NAN;
    if (isfinite(value))
        nm_metrics_add(ret, like->name, like->unit, like->better, like->summary, value);
}

void nm_cell_metrics(const struct nm_cell *cell, struct nm_metrics *ret)
{
    double *values = calloc(cell->n_trials + 1, sizeof(*values));

    ret->count = 0;
    for (size_t i = 0; values && i < cell->n_trials; i++) {
        const struct nm_metrics *set = cell->trials[i].metrics;

        for (uint32_t k = 0; cell->trials[i].status == NM_STATUS_OK && k < set->count; k++)
            if (!nm_metrics_get(ret, set->items[k].name))
                add(cell, &set->items[k], values, ret);
    }
    free(values);
}
