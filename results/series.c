/* Series of firmware versions (series.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "series.h"

#include "stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Cells of one series return 0. */
static int by_names(const struct nm_cell *a, const struct nm_cell *b)
{
    int r = strcmp(a->nas, b->nas);

    if (!r)
        r = strcmp(a->volume, b->volume);
    if (!r)
        r = strcmp(a->protocol, b->protocol);
    if (!r)
        r = strcmp(a->workload, b->workload);
    return r ? r : strcmp(a->phase, b->phase);
}

static int by_series(const struct nm_cell *a, const struct nm_cell *b)
{
    int r = by_names(a, b);

    if (!r)
        r = a->imported - b->imported;
    return r ? r : strcmp(a->conditions_hash, b->conditions_hash);
}

/* Series by series, the cells of one as they were selected. */
static int in_series_order(const void *left, const void *right)
{
    const struct nm_cell *a = *(const struct nm_cell *const *)left,
                         *b = *(const struct nm_cell *const *)right;
    int r = by_series(a, b);

    return r ? r : (a > b) - (a < b);
}

static int by_first_cell(const void *left, const void *right)
{
    const struct nm_series *a = left, *b = right;

    return (a->first > b->first) - (a->first < b->first);
}

static int by_version(const void *left, const void *right)
{
    const struct nm_cell *a = ((const struct nm_series_point *)left)->cell;
    const struct nm_cell *b = ((const struct nm_series_point *)right)->cell;

    if (a->firmware_utc_ns != b->firmware_utc_ns)
        return a->firmware_utc_ns < b->firmware_utc_ns ? -1 : 1;
    return strcmp(a->firmware, b->firmware);
}

/* Adds the cell's version when it has a number; a second cell of the same version (another
 * campaign) counts only when it is newer. */
static int add_point(struct nm_series *series, const struct nm_cell *cell, struct nm_error *err)
{
    struct nm_series_point point = {.cell = cell};
    struct nm_metric_values values;
    int r = nm_metric_values(cell, series->metric, &values, err);

    if (r < 0)
        return r;
    point.n = values.n;
    if (nm_stats_geometric_mean(values.values, values.n, &point.centre)) {
        size_t at = 0;

        point.min = point.max = values.values[0];
        for (size_t i = 1; i < values.n; i++) {
            point.min = fmin(point.min, values.values[i]);
            point.max = fmax(point.max, values.values[i]);
        }
        while (at < series->n && strcmp(series->points[at].cell->firmware, cell->firmware) != 0)
            at++;
        if (at == series->n)
            series->points[series->n++] = point;
        else if (series->points[at].cell->campaign_id < cell->campaign_id)
            series->points[at] = point;
        memcpy(series->unit, values.unit, sizeof(series->unit));
        series->lower_is_better = values.lower_is_better;
    }
    nm_metric_values_done(&values);
    return 0;
}

static int find_changes(struct nm_series *series, double margin, struct nm_error *err)
{
    double *y = calloc(series->n + 1, sizeof(*y));

    series->changes = calloc(series->n + 1, sizeof(*series->changes));
    if (!y || !series->changes) {
        free(y);
        return nm_error_errno(err, -ENOMEM, "history: out of memory");
    }
    for (size_t i = 0; i < series->n; i++)
        y[i] = log(series->points[i].centre);
    series->n_changes = nm_history_changes(y, series->n, margin, series->changes);
    series->newest = nm_history_newest(y, series->n, series->changes, series->n_changes);
    free(y);
    return 0;
}

/* One series from its n cells. */
static int build(struct nm_series *series, const struct nm_cell *const *cells, size_t n,
                 const char *metric, double margin, struct nm_error *err)
{
    int r = 0;

    *series = (struct nm_series){.first = cells[0], .metric = metric};
    for (size_t i = 0; i < n && !series->metric; i++)
        series->metric = nm_metric_default(cells[i]);
    series->points = calloc(n, sizeof(*series->points));
    if (!series->points)
        return nm_error_errno(err, -ENOMEM, "history: out of memory");
    for (size_t i = 0; i < n && r == 0; i++)
        r = add_point(series, cells[i], err);
    if (r < 0)
        return r;
    qsort(series->points, series->n, sizeof(*series->points), by_version);
    if (series->n > NM_HISTORY_MAX_VERSIONS) {
        series->n_cut = series->n - NM_HISTORY_MAX_VERSIONS;
        series->n = NM_HISTORY_MAX_VERSIONS;
        memmove(series->points, series->points + series->n_cut,
                series->n * sizeof(*series->points));
    }
    return find_changes(series, margin, err);
}

static void series_done(struct nm_series *series)
{
    free(series->points);
    free(series->changes);
}

/* Fills series->above, while those of the same names are neighbours. */
static void find_above(struct nm_series_set *set)
{
    for (size_t i = 0, end; i < set->count; i = end) {
        const struct nm_cell *lowest = set->items[i].first;

        for (end = i + 1; end < set->count && !by_names(lowest, set->items[end].first); end++)
            if (set->items[end].first < lowest)
                lowest = set->items[end].first;
        for (size_t k = i; k < end; k++)
            set->items[k].above = set->items[k].first == lowest ? NULL : lowest;
    }
}

/* Every series, ordered by its first cell. */
static int build_all(struct nm_series_set *set, const struct nm_cell **order, size_t n,
                     const char *metric, double margin, struct nm_error *err)
{
    qsort(order, n, sizeof(*order), in_series_order);
    for (size_t i = 0, end; i < n; i = end) {
        struct nm_series *series = &set->items[set->count++];
        int r;

        for (end = i + 1; end < n && !by_series(order[i], order[end]);)
            end++;
        r = build(series, &order[i], end - i, metric, margin, err);
        if (r < 0)
            return r;
        if (!series->n)
            series_done(&set->items[--set->count]);
    }
    find_above(set);
    qsort(set->items, set->count, sizeof(*set->items), by_first_cell);
    return 0;
}

int nm_series_new(const struct nm_cells *cells, const char *metric, double margin,
                  struct nm_series_set **ret, struct nm_error *err)
{
    struct nm_series_set *set = calloc(1, sizeof(*set));
    const struct nm_cell **order = calloc(cells->count + 1, sizeof(*order));
    int r = -ENOMEM;

    if (set)
        set->items = calloc(cells->count + 1, sizeof(*set->items));
    if (!set || !set->items || !order) {
        nm_error_errno(err, -ENOMEM, "history: out of memory");
        goto out;
    }
    for (size_t i = 0; i < cells->count; i++)
        order[i] = &cells->items[i];
    r = build_all(set, order, cells->count, metric, margin, err);
out:
    free(order);
    if (r < 0)
        nm_series_free(set);
    else
        *ret = set;
    return r;
}

void nm_series_free(struct nm_series_set *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->count; i++)
        series_done(&set->items[i]);
    free(set->items);
    free(set);
}

const char *nm_series_verdict(const struct nm_series *series)
{
    if (!series->newest.known)
        return "insufficient";
    return series->newest.provisional ? "provisional" : "ok";
}
