/* The runs of one step of access (access_runs.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "access_runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void nm_access_runs_add(struct nm_access_runs *runs, uint64_t bytes, uint64_t operations,
                        uint64_t latency_sum_ns, uint64_t elapsed_ns)
{
    size_t i = runs->count;

    if (i == NM_ACCESS_RUNS_MAX || !elapsed_ns || !operations)
        return;
    runs->rates[i] = (double)bytes * 1e9 / (double)elapsed_ns;
    runs->iops[i] = (double)operations * 1e9 / (double)elapsed_ns;
    runs->latencies_ns[i] = (double)latency_sum_ns / (double)operations;
    runs->count++;
}

static int by_value(const void *pa, const void *pb)
{
    double a = *(const double *)pa, b = *(const double *)pb;

    return (a > b) - (a < b);
}

static double median_of(const double *values, size_t n)
{
    double sorted[NM_ACCESS_RUNS_MAX];

    memcpy(sorted, values, n * sizeof(*values));
    qsort(sorted, n, sizeof(*sorted), by_value);
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

void nm_access_runs_metrics(const struct nm_access_runs *runs, struct nm_metrics *metrics)
{
    size_t best = 0;
    double lowest = runs->latencies_ns[0];
    char name[32];

    if (!runs->count)
        return;
    for (size_t i = 1; i < runs->count; i++) {
        if (runs->rates[i] > runs->rates[best])
            best = i;
        if (runs->latencies_ns[i] < lowest)
            lowest = runs->latencies_ns[i];
    }
    nm_metrics_add(metrics, "best_rate", "B/s", NM_BETTER_HIGHER, NM_SUMMARY_BEST,
                   runs->rates[best]);
    nm_metrics_add(metrics, "median_rate", "B/s", NM_BETTER_HIGHER, NM_SUMMARY_MEDIAN,
                   median_of(runs->rates, runs->count));
    nm_metrics_add(metrics, "iops", "1/s", NM_BETTER_HIGHER, NM_SUMMARY_GEOMEAN, runs->iops[best]);
    nm_metrics_add(metrics, "mean_latency", "ns", NM_BETTER_LOWER, NM_SUMMARY_BEST, lowest);
    nm_metrics_add(metrics, "ended_by_time", "1", NM_BETTER_NONE, NM_SUMMARY_MAX, runs->by_time);
    for (size_t i = 0; i < runs->count; i++) {
        snprintf(name, sizeof(name), "run%zu_rate", i + 1);
        nm_metrics_add(metrics, name, "B/s", NM_BETTER_HIGHER, NM_SUMMARY_MEDIAN, runs->rates[i]);
        snprintf(name, sizeof(name), "run%zu_iops", i + 1);
        nm_metrics_add(metrics, name, "1/s", NM_BETTER_HIGHER, NM_SUMMARY_MEDIAN, runs->iops[i]);
        snprintf(name, sizeof(name), "run%zu_latency", i + 1);
        nm_metrics_add(metrics, name, "ns", NM_BETTER_LOWER, NM_SUMMARY_MEDIAN,
                       runs->latencies_ns[i]);
    }
}

static double value_of(const struct nm_metrics *metrics, size_t run, const char *what)
{
    char name[32];

    snprintf(name, sizeof(name), "run%zu_%s", run + 1, what);
    const struct nm_metric *metric = nm_metrics_get(metrics, name);

    return metric ? metric->value : 0;
}

void nm_access_combine(const struct nm_metrics *streams, size_t n, struct nm_metrics *ret)
{
    struct nm_access_runs all = {0};

    while (all.count < NM_ACCESS_RUNS_MAX && value_of(&streams[0], all.count, "rate") > 0)
        all.count++;
    for (size_t s = 0; s < n; s++) {
        const struct nm_metric *ended = nm_metrics_get(&streams[s], "ended_by_time");

        all.by_time |= ended && ended->value > 0;
        for (size_t i = 0; i < all.count; i++) {
            all.rates[i] += value_of(&streams[s], i, "rate");
            all.iops[i] += value_of(&streams[s], i, "iops");
            all.latencies_ns[i] += value_of(&streams[s], i, "latency") / (double)n;
        }
    }
    nm_access_runs_metrics(&all, ret);
}
