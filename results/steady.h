/* What the course of one trial says: burst and sustained rate, steady state, stability.
 *
 * Pure functions on bins (bytes or any rate per equal time interval, zero bins included). Samples
 * inside a trial are never replicates: nothing here goes into a comparison. Outputs are finite.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_STEADY_H
#define NM_STEADY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sums bins of bin_ns into whole bins of target_ns (a multiple of bin_ns; else nothing is written);
 * an incomplete last one is left out. Returns the number written, at most max. Values are bytes per
 * second. */
size_t nm_steady_rebin(const uint64_t *bins_bytes, size_t n, uint64_t bin_ns, uint64_t target_ns,
                       double *ret_rates, size_t max);

/* Least-squares split into two levels, left >= 3 and right >= 5 bins. */
struct nm_steady_split {
    size_t at; /* first bin of the right part; 0 = fewer than 8 bins, or all equal */
    double burst, sustained, r_squared;
    double ratio;       /* burst / sustained; 0 when the right part is all zero */
    double cache_units; /* at * (burst - sustained): bins x rate; bytes with bins of 1 s and B/s */
    bool significant;   /* ratio >= 1.25 and R^2 >= 0.5: worth a note */
};
struct nm_steady_split nm_steady_split(const double *rates, size_t n);

/* SNIA-like steady state over five equal windows (the first bins that do not fit are left out). */
struct nm_steady_state {
    bool known; /* at least five bins and not all zero */
    bool steady;
    double range; /* (max - min) / mean of the windows */
    double drift; /* |4 x slope| / mean: change along the fitted line */
};
struct nm_steady_state nm_steady_state(const double *rates, size_t n);

struct nm_stability {
    bool known; /* n >= 2 and not all zero */
    double mean, median;
    double cv;         /* standard deviation (n-1) / mean */
    double p5;         /* 5th percentile, linear interpolation */
    double below_half; /* share of bins under half of the median */
    size_t stalls;     /* runs of bins under 5 % of the median */
    size_t longest_stall_bins;
};
/* scratch holds n values. */
struct nm_stability nm_steady_stability(const double *rates, size_t n, double *scratch);

#endif
