/* Noise between sessions from runs of an unchanged device (compare.h).
 *
 * One-way analysis of variance with the sessions of a cell as groups, pooled over the cells. Only
 * trials that were measured back to back count: in the others the passes are spread over time.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "compare.h"

#include <math.h>
#include <string.h>

enum { MAX_SESSIONS = 64 }; /* of one cell; later ones are left out */

/* Fewer degrees of freedom between sessions than this are a guess, not a measurement. */
#define MIN_DF_BETWEEN 10

struct group {
    const char *run;
    double n, mean, squares;
};

struct pool {
    double between, within;       /* sums of squares */
    double df_between, df_within; /* degrees of freedom */
    double per_session;           /* sum of df x effective trials per session */
};

static bool same_cell(const struct nm_cell *a, const struct nm_cell *b)
{
    return !strcmp(a->nas, b->nas) && !strcmp(a->firmware, b->firmware) &&
           !strcmp(a->volume, b->volume) && !strcmp(a->protocol, b->protocol) &&
           !strcmp(a->workload, b->workload) && !strcmp(a->phase, b->phase) &&
           !strcmp(a->conditions_hash, b->conditions_hash);
}

static struct group *group_of(struct group *groups, size_t *n, const char *run)
{
    for (size_t i = 0; i < *n; i++)
        if (!strcmp(groups[i].run, run))
            return &groups[i];
    if (*n == MAX_SESSIONS)
        return NULL;
    groups[*n] = (struct group){.run = run};
    return &groups[(*n)++];
}

static void add_trials(const struct nm_cell *cell, struct group *groups, size_t *n)
{
    for (size_t i = 0; i < cell->n_trials; i++) {
        const struct nm_trial *trial = &cell->trials[i];
        struct group *group;
        double y, step;

        if (trial->status != NM_STATUS_OK || !trial->bytes || !trial->duration_ns)
            continue;
        group = group_of(groups, n, trial->run);
        if (!group)
            continue;
        y = log((double)trial->bytes / (double)trial->duration_ns);
        step = y - group->mean;
        group->n++;
        group->mean += step / group->n;
        group->squares += step * (y - group->mean);
    }
}

static void add_cell(struct pool *pool, const struct group *groups, size_t n)
{
    double total = 0, mean = 0, squares_n = 0, df = (double)n - 1;

    for (size_t i = 0; i < n; i++) {
        total += groups[i].n;
        mean += groups[i].n * groups[i].mean;
        squares_n += groups[i].n * groups[i].n;
    }
    if (n < 2 || total <= (double)n)
        return;
    mean /= total;
    for (size_t i = 0; i < n; i++) {
        pool->between += groups[i].n * (groups[i].mean - mean) * (groups[i].mean - mean);
        pool->within += groups[i].squares;
    }
    pool->df_between += df;
    pool->df_within += total - (double)n;
    pool->per_session += total - squares_n / total; /* df x effective trials per session */
}

static bool back_to_back(const struct nm_cell *cell)
{
    const char *order = nm_conditions_get(cell->conditions, "order");

    return order && !strcmp(order, "grouped");
}

static bool seen_before(const struct nm_cells *cells, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (same_cell(&cells->items[i], &cells->items[at]))
            return true;
    return false;
}

bool nm_compare_session_noise(const struct nm_cells *cells, double *ret_tau)
{
    struct pool pool = {0};
    double excess;

    for (size_t i = 0; i < cells->count; i++) {
        struct group groups[MAX_SESSIONS];
        size_t n = 0;

        if (!back_to_back(&cells->items[i]) || seen_before(cells, i))
            continue;
        for (size_t k = i; k < cells->count; k++) /* other rounds are cells of their own */
            if (same_cell(&cells->items[i], &cells->items[k]))
                add_trials(&cells->items[k], groups, &n);
        add_cell(&pool, groups, n);
    }
    if (pool.df_between < MIN_DF_BETWEEN)
        return false;
    excess = pool.between / pool.df_between - pool.within / pool.df_within;
    *ret_tau = sqrt(fmax(excess, 0) / (pool.per_session / pool.df_between));
    return true;
}
