/* One trial as it is written to and read from the store; units as everywhere bytes and nanoseconds.
 *
 * Identities: docs/ARCHITECTURE.md. Plain structures with borrowed strings on the way in; what
 * comes out of nm_select_* owns its strings.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_RECORD_H
#define NM_RECORD_H

#include "../src/conditions.h"
#include "../src/engine/histogram.h"
#include "../src/error.h"
#include "../workloads/workload.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nm_status {
    NM_STATUS_OK,
    NM_STATUS_FAILED,
    NM_STATUS_UNSUPPORTED, /* backend or target cannot do it; stored with the reason */
    NM_STATUS_NA,          /* the volume has no URL for that protocol */
    NM_STATUS_MISSING,     /* not run (other volume today, target did not answer) */
    NM_STATUS_VOID,        /* taken back by hand, with a reason */
    NM_STATUS_ABORTED,
    NM_STATUS_TOO_SHORT, /* value null */
    NM_STATUSES
};
const char *nm_status_name(enum nm_status status); /* "ok", "failed", ..., "too_short" */
int nm_status_parse(const char *name);             /* -1 = unknown */

const char *nm_better_name(enum nm_better better); /* "higher", "lower", "none" */
int nm_better_parse(const char *name);
const char *nm_summary_name(enum nm_summary summary); /* "geomean", "median", ... */
int nm_summary_parse(const char *name);

struct nm_nas_record {
    const char *name, *vendor, *model, *firmware, *firmware_date, *disks;
    uint64_t ram_bytes;
};

/* A session as it was, for what comes from another database. */
struct nm_session_record {
    const char *run; /* run id; NULL = the session of whoever imports */
    uint64_t seed;
    const char *order, *plan, *client, *outcome; /* outcome NULL = did not end */
    uint64_t start_utc_ns, end_utc_ns;           /* 0 = unknown */
};

struct nm_volume_record {
    const char *name, *kind, *label, *interface; /* label NULL: name of the kind */
    int position;                                /* order in the plan */
};

/* Latency of one operation kind. */
struct nm_histogram_record {
    const char *operation; /* "read", "write", "file" (whole files) */
    const struct nm_histogram *histogram;
};

struct nm_trial_record {
    int64_t session_id, campaign_id, volume_id; /* from nm_store_* */
    const char *protocol;
    const char *target;   /* canonical URL without secrets; "" for na and imported */
    const char *workload; /* canonical key */
    const char *phase;
    int phase_index; /* order of the phases of the workload */
    bool phase_writes;
    uint32_t round;         /* campaign round (--again), from 0 */
    uint32_t pass;          /* from 1 */
    uint32_t group_order;   /* position in the shuffled pass */
    int64_t earlier_trials; /* what up to this id is of the same cell and pass and was finished
                               becomes void: the pass was cut off and this is it anew. 0 = none */
    enum nm_status status;
    enum nm_reason reason;
    const char *raw, *message; /* of the failure, or NULL */
    uint64_t start_utc_ns;
    uint64_t duration_ns;
    uint64_t bytes, files, operations;
    uint64_t cpu_ns; /* client CPU inside the clock, without data generation */
    uint64_t generator_cpu_ns;
    uint32_t streams;
    const struct nm_conditions *conditions;
    const struct nm_metrics *metrics; /* may be NULL */
    const struct nm_histogram_record *histograms;
    size_t n_histograms;
    const uint64_t *bins_bytes; /* bytes per bin, zero bins included */
    size_t n_bins;
    uint64_t bin_ns;                     /* 100 ms */
    const struct nm_curve_point *points; /* over position, in the order of measuring */
    size_t n_points;
    const char *flags;       /* words: "link client-cpu" or NULL */
    const char *source;      /* "measured", "imported:FORMAT" */
    const char *source_text; /* imported: the value as printed there, with unit; else NULL */
};

#endif
