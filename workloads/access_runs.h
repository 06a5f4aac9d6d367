/* The runs of one step of access: best, median, and every run as metrics; several threads as one.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_ACCESS_RUNS_H
#define NM_ACCESS_RUNS_H

#include "workload.h"

#define NM_ACCESS_RUNS_MAX 8 /* three metrics each: NM_METRICS_MAX */

struct nm_access_runs {
    size_t count;
    double rates[NM_ACCESS_RUNS_MAX];        /* B/s */
    double iops[NM_ACCESS_RUNS_MAX];         /* 1/s */
    double latencies_ns[NM_ACCESS_RUNS_MAX]; /* mean of the run's operations */
    bool by_time;                            /* a run ended by time, not by length */
};

/* Adds one run; what is beyond the maximum is refused by the options. */
void nm_access_runs_add(struct nm_access_runs *runs, uint64_t bytes, uint64_t operations,
                        uint64_t latency_sum_ns, uint64_t elapsed_ns);

/* Best and median of the runs, then every run: what combining needs to do it again for all threads.
 */
void nm_access_runs_metrics(const struct nm_access_runs *runs, struct nm_metrics *metrics);

/* nm_workload_ops.combine: rates of the same run add up, latencies are their mean. */
void nm_access_combine(const struct nm_metrics *streams, size_t n, struct nm_metrics *ret);

#endif
