/* Statistics of trials: centres, and the comparison of two groups of them.
 *
 * Pure functions on arrays; the method is in docs/METRICS. Everything is done on natural logarithms
 * of rates. Tails of distributions come from GSL. No output is ever NaN or infinite: what cannot be
 * computed says so by a flag (has_delta, has_interval) and its fields are 0.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_STATS_H
#define NM_STATS_H

#include "../src/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Trials per side below which no verdict is given. */
#define NM_STATS_MIN_TRIALS 3
/* Rows from which on the noise of all rows is pooled into a prior. */
#define NM_STATS_MIN_PRIOR_ROWS 8
/* Noise between back-to-back sessions when no measured one is known: 1 %. */
#define NM_STATS_DEFAULT_TAU 0.01

/* Geometric mean of the values that are finite and positive. False when there is none. */
bool nm_stats_geometric_mean(const double *values, size_t n, double *ret_mean);

/* Log-values of one side of a row. Values that are not finite and positive are left out. */
struct nm_stats_side {
    size_t n;
    double mean;     /* of ln(value) */
    double variance; /* of ln(value), n-1; 0 when n < 2 */
};
struct nm_stats_side nm_stats_side(const double *values, size_t n);

enum nm_adjust { NM_ADJUST_BH, NM_ADJUST_HOLM, NM_ADJUST_NONE };

enum nm_verdict {
    NM_VERDICT_NOT_COMPARABLE,
    NM_VERDICT_INSUFFICIENT,
    NM_VERDICT_SAME,
    NM_VERDICT_REGRESSED,
    NM_VERDICT_IMPROVED,
    NM_VERDICT_UNCLEAR,
};
const char *nm_verdict_name(enum nm_verdict verdict); /* "NOT-COMPARABLE", ... */

/* One row of a comparison. The caller fills the input; nm_stats_compare() the rest. */
struct nm_stats_row {
    /* input */
    struct nm_stats_side a, b;
    bool not_comparable;
    bool lower_is_better;
    double tau; /* session noise to add (log scale), 0 = trials cover it */

    /* result */
    bool has_delta;    /* both sides have a value */
    double delta_log;  /* mean(b) - mean(a) */
    double delta;      /* the same as a fraction: -0.10 = 10 % lower */
    bool has_interval; /* both sides have two values: the fields below are set */
    double se, df, t, p;
    double q; /* p adjusted over the rows with enough trials; p itself in the others */
    double ci95[2], ci90[2]; /* fractions */
    enum nm_verdict verdict;
    bool small_but_real;    /* SAME, but p < 0.05 */
    unsigned needed_trials; /* per side to see the margin; 0 = more than NM_STATS_MAX_TRIALS */
    double smallest_effect; /* fraction that this row could have seen */
};
#define NM_STATS_MAX_TRIALS 10

/* Noise of all rows (Smyth 2004). d0 = 0: too few rows, plain Welch was used. */
struct nm_stats_prior {
    double d0, s0_squared;
    double mean_e, excess_v; /* intermediate results of the fit */
};

/* Geometric mean of the ratios b/a of all rows that have an interval. */
struct nm_stats_overall {
    bool valid;
    size_t n_rows;
    double ratio, df;
    double ci95[2]; /* fractions */
};

/* margin: fraction that matters (0.05). Fails only for want of memory. */
int nm_stats_compare(struct nm_stats_row *rows, size_t n, double margin, enum nm_adjust adjust,
                     struct nm_stats_prior *ret_prior, struct nm_stats_overall *ret_overall,
                     struct nm_error *err) NM_MUST_CHECK;

/* The parts, for tests and for other users of the same rules. */
double nm_stats_inverse_trigamma(double x);
/* Each variance has its degrees of freedom; scratch holds n. */
struct nm_stats_prior nm_stats_fit_prior(const double *variances, const double *dfs, size_t n,
                                         double *scratch);
/* q[] from p[]; both n long, may be the same array. */
int nm_stats_adjust(const double *p, double *q, size_t n, enum nm_adjust adjust,
                    struct nm_error *err) NM_MUST_CHECK;
/* Smallest n per side in 3..10 whose 95 % interval is narrower than margin_log on each side;
 * variance per trial, tau_squared = part of the variance that more trials do not reduce.
 * 0 = more than 10. */
unsigned nm_stats_needed_trials(double variance, double prior_df, double tau_squared,
                                double margin_log);
/* Median variance between trials of one cell and side, over the rows that have one; 0 = unknown.
 * scratch holds 2 n. */
double nm_stats_typical_variance(const struct nm_stats_row *rows, size_t n, double *scratch);

#endif
