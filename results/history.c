/* Change points (history.h): Olshen et al. 2004, with t tests instead of permutations, because a
 * history has ten versions, not ten thousand.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "history.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

#define ACCEPT_P  0.01
#define MIN_PIECE 2
/* Equal values have this standard deviation (as in stats.c), which keeps t finite. */
#define RESOLUTION 1e-6

struct arc {
    size_t from, to; /* [from, to) of the whole history */
    double t, step;  /* arc against the rest */
};

struct search {
    const double *y;
    double margin_log;
    struct nm_history_change *changes;
    size_t n_changes;
};

/* Sums of a segment about its own mean, so that every arc is two subtractions. */
struct sums {
    size_t n;
    double before[NM_HISTORY_MAX_VERSIONS + 1]; /* of the first k values */
    double squares;
};

static void sum_up(const double *y, size_t n, struct sums *ret)
{
    double mean = 0;

    for (size_t i = 0; i < n; i++)
        mean += y[i] / (double)n;
    ret->n = n;
    ret->before[0] = ret->squares = 0;
    for (size_t i = 0; i < n; i++) {
        ret->before[i + 1] = ret->before[i] + (y[i] - mean);
        ret->squares += (y[i] - mean) * (y[i] - mean);
    }
}

/* t of [from, to) against the rest of the segment. */
static struct arc arc_test(const struct sums *sums, size_t from, size_t to)
{
    double n_in = (double)(to - from), n_out = (double)sums->n - n_in;
    double sum = sums->before[to] - sums->before[from];
    double in = sum / n_in, out = (sums->before[sums->n] - sum) / n_out;
    double squares = sums->squares - n_in * in * in - n_out * out * out;
    double variance = fmax(squares / (n_in + n_out - 2), RESOLUTION * RESOLUTION);

    return (struct arc){.from = from,
                        .to = to,
                        .step = in - out,
                        .t = (in - out) / sqrt(variance * (1 / n_in + 1 / n_out))};
}

/* Pieces left of, inside and right of an arc are empty or at least MIN_PIECE long. An arc that
 * touches the beginning is the same split as its complement that touches the end: counted once. */
static struct arc strongest_arc(const double *y, size_t begin, size_t end, size_t *ret_arcs)
{
    struct arc best = {0};
    struct sums sums;

    sum_up(y + begin, end - begin, &sums);
    *ret_arcs = 0;
    for (size_t from = 0; from + MIN_PIECE <= sums.n; from++) {
        if (from && from < MIN_PIECE)
            continue;
        for (size_t to = from + MIN_PIECE; to <= sums.n - MIN_PIECE; to++) {
            struct arc arc = arc_test(&sums, from, to);

            ++*ret_arcs;
            if (fabs(arc.t) > fabs(best.t))
                best = arc;
        }
    }
    best.from += begin;
    best.to += begin;
    return best;
}

static void add_change(struct search *search, size_t index, double t, double p, double df,
                       size_t arcs)
{
    size_t at = search->n_changes++;

    for (; at > 0 && search->changes[at - 1].index > index; at--)
        search->changes[at] = search->changes[at - 1];
    search->changes[at] =
        (struct nm_history_change){.index = index, .t = t, .p = p, .df = df, .arcs = arcs};
}

static void segment(struct search *search, size_t begin, size_t end)
{
    size_t arcs, n = end - begin;
    struct arc arc;
    double p, df = (double)n - 2;

    if (n < NM_HISTORY_MIN_VERSIONS)
        return;
    arc = strongest_arc(search->y, begin, end, &arcs);
    p = fmin(1, (double)arcs * 2 * gsl_cdf_tdist_Q(fabs(arc.t), df));
    if (p >= ACCEPT_P || fabs(arc.step) < search->margin_log)
        return;
    if (arc.from > begin)
        add_change(search, arc.from, arc.t, p, df, arcs);
    add_change(search, arc.to, -arc.t, p, df, arcs);
    if (arc.from > begin)
        segment(search, begin, arc.from);
    segment(search, arc.from, arc.to);
    segment(search, arc.to, end);
}

static double fraction(double log_ratio)
{
    return expm1(fmin(fmax(log_ratio, -700), 700)); /* finite, whatever came in */
}

static double mean_of(const double *y, size_t from, size_t to)
{
    double sum = 0;

    for (size_t i = from; i < to; i++)
        sum += y[i];
    return sum / (double)(to - from);
}

size_t nm_history_changes(const double *y, size_t n, double margin,
                          struct nm_history_change *changes)
{
    struct search search = {.y = y, .margin_log = log1p(margin), .changes = changes};

    if (n > NM_HISTORY_MAX_VERSIONS)
        return 0;
    segment(&search, 0, n);
    for (size_t i = 0; i < search.n_changes; i++) {
        size_t before = i ? changes[i - 1].index : 0, at = changes[i].index;
        size_t after = i + 1 < search.n_changes ? changes[i + 1].index : n;

        changes[i].step = fraction(mean_of(y, at, after) - mean_of(y, before, at));
    }
    return search.n_changes;
}

struct nm_history_newest nm_history_newest(const double *y, size_t n,
                                           const struct nm_history_change *changes,
                                           size_t n_changes)
{
    struct nm_history_newest newest = {0};
    size_t since = n_changes ? changes[n_changes - 1].index : 0;
    double mean, squares = 0, spread, reach;

    if (n < since + 4)
        return newest;
    newest.known = true;
    newest.k = n - 1 - since;
    newest.df = (double)newest.k - 1;
    mean = mean_of(y, since, n - 1);
    for (size_t i = since; i < n - 1; i++)
        squares += (y[i] - mean) * (y[i] - mean);
    spread = fmax(sqrt(squares / newest.df), RESOLUTION) * sqrt(1 + 1 / (double)newest.k);
    newest.t = (y[n - 1] - mean) / spread;
    newest.p = fmin(1, 2 * gsl_cdf_tdist_Q(fabs(newest.t), newest.df));
    reach = gsl_cdf_tdist_Pinv(0.995, newest.df) * spread;
    newest.low = mean - reach;
    newest.high = mean + reach;
    newest.provisional = y[n - 1] < newest.low || y[n - 1] > newest.high;
    return newest;
}
