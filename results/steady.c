/* Burst, sustained, steady, stable (steady.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "steady.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_LEFT = 3, MIN_RIGHT = 5, WINDOWS = 5 };

#define NOTE_RATIO      1.25
#define NOTE_R_SQUARED  0.5
#define STEADY_RANGE    0.20
#define STEADY_DRIFT    0.10
#define STALL_OF_MEDIAN 0.05

size_t nm_steady_rebin(const uint64_t *bins_bytes, size_t n, uint64_t bin_ns, uint64_t target_ns,
                       double *ret_rates, size_t max)
{
    size_t per, count;

    if (!bin_ns || target_ns < bin_ns || target_ns % bin_ns)
        return 0;
    per = target_ns / bin_ns;
    count = n / per < max ? n / per : max;
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = 0;

        for (size_t k = 0; k < per; k++)
            bytes += bins_bytes[i * per + k];
        ret_rates[i] = (double)bytes * 1e9 / (double)target_ns;
    }
    return count;
}

struct nm_steady_split nm_steady_split(const double *rates, size_t n)
{
    struct nm_steady_split split = {0};
    double total = 0, squares = 0, left = 0, best = 0, spread;

    if (n < MIN_LEFT + MIN_RIGHT)
        return split;
    for (size_t i = 0; i < n; i++)
        total += rates[i];
    for (size_t i = 0; i < n; i++)
        squares += (rates[i] - total / (double)n) * (rates[i] - total / (double)n);
    spread = squares;
    for (size_t at = 1; at <= n - MIN_RIGHT; at++) {
        double mean_left, mean_right, between;

        left += rates[at - 1];
        if (at < MIN_LEFT)
            continue;
        mean_left = left / (double)at;
        mean_right = (total - left) / (double)(n - at);
        /* what the split explains = weighted squared distance of the two means */
        between = (double)at * (double)(n - at) / (double)n * (mean_left - mean_right) *
                  (mean_left - mean_right);
        if (between > best) {
            best = between;
            split.at = at;
            split.burst = mean_left;
            split.sustained = mean_right;
        }
    }
    if (!split.at || !(spread > 0))
        return (struct nm_steady_split){0};
    split.r_squared = fmin(1, best / spread);
    if (split.sustained > 0)
        split.ratio = split.burst / split.sustained;
    split.cache_units = (double)split.at * (split.burst - split.sustained);
    split.significant = split.r_squared >= NOTE_R_SQUARED && split.burst > split.sustained &&
                        split.burst >= NOTE_RATIO * split.sustained;
    return split;
}

struct nm_steady_state nm_steady_state(const double *rates, size_t n)
{
    struct nm_steady_state state = {0};
    double means[WINDOWS], low, high, mean = 0, slope = 0;
    size_t per = n / WINDOWS, first = n % WINDOWS;

    if (!per)
        return state;
    for (size_t w = 0; w < WINDOWS; w++) {
        means[w] = 0;
        for (size_t i = 0; i < per; i++)
            means[w] += rates[first + w * per + i] / (double)per;
        mean += means[w] / WINDOWS;
    }
    if (!(mean > 0))
        return state;
    low = high = means[0];
    for (int w = 0; w < WINDOWS; w++) {
        low = fmin(low, means[w]);
        high = fmax(high, means[w]);
        slope += (w - 2) * means[w] / 10; /* sum of (w-2)^2 over five windows */
    }
    state.known = true;
    state.range = (high - low) / mean;
    state.drift = fabs(4 * slope) / mean;
    state.steady = state.range <= STEADY_RANGE && state.drift <= STEADY_DRIFT;
    return state;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double quantile(const double *sorted, size_t n, double share)
{
    double position = share * (double)(n - 1);
    size_t below = (size_t)position;

    if (below + 1 >= n)
        return sorted[n - 1];
    return sorted[below] + (position - (double)below) * (sorted[below + 1] - sorted[below]);
}

static void count_stalls(const double *rates, size_t n, struct nm_stability *stability)
{
    size_t run = 0;

    for (size_t i = 0; i < n; i++) {
        if (rates[i] >= STALL_OF_MEDIAN * stability->median) {
            run = 0;
            continue;
        }
        stability->stalls += run == 0;
        run++;
        if (run > stability->longest_stall_bins)
            stability->longest_stall_bins = run;
    }
}

struct nm_stability nm_steady_stability(const double *rates, size_t n, double *scratch)
{
    struct nm_stability stability = {0};
    double squares = 0;
    size_t slow = 0;

    if (n < 2)
        return stability;
    for (size_t i = 0; i < n; i++)
        stability.mean += rates[i] / (double)n;
    if (!(stability.mean > 0))
        return (struct nm_stability){0};
    for (size_t i = 0; i < n; i++)
        squares += (rates[i] - stability.mean) * (rates[i] - stability.mean);
    memcpy(scratch, rates, n * sizeof(*scratch));
    qsort(scratch, n, sizeof(*scratch), by_value);
    stability.known = true;
    stability.cv = sqrt(squares / (double)(n - 1)) / stability.mean;
    stability.median = quantile(scratch, n, 0.5);
    stability.p5 = quantile(scratch, n, 0.05);
    for (size_t i = 0; i < n; i++)
        slow += rates[i] < 0.5 * stability.median;
    stability.below_half = (double)slow / (double)n;
    count_stalls(rates, n, &stability);
    return stability;
}
