/* The contract between the engine and a workload.
 *
 * A workload is one const row (struct nm_workload_ops) in workloads/table.c. It is a generator of
 * operations: pure given its seed, so it can be unit-tested without any storage. It never knows a
 * protocol, a process or the database. One state machine per stream; the engine runs the streams in
 * worker processes.
 *
 * A group (target x workload) runs its phases in order on the same files. Set-up and tear-down are
 * phases too: same generator, same queue, outside the clock.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_WORKLOAD_H
#define NM_WORKLOAD_H

#include "backend.h"
#include "histogram.h"
#include "error.h"
#include "options.h"
#include "pattern.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NM_METRICS_MAX 64
#define NM_PHASES_MAX  40

enum nm_better {
    NM_BETTER_HIGHER,
    NM_BETTER_LOWER,
    NM_BETTER_NONE, /* informational */
};

enum nm_summary {
    NM_SUMMARY_GEOMEAN, /* over trials; the default for rates */
    NM_SUMMARY_MEDIAN,
    NM_SUMMARY_BEST,
    NM_SUMMARY_MAX,
    NM_SUMMARY_MEAN,
};

struct nm_metric {
    char name[32]; /* "files_per_s", "latency_p99" */
    char unit[16]; /* "1/s", "ns", "B/s" */
    enum nm_better better;
    enum nm_summary summary;
    double value;
};

struct nm_metrics {
    uint32_t count;
    struct nm_metric items[NM_METRICS_MAX];
};

void nm_metrics_add(struct nm_metrics *set, const char *name, const char *unit,
                    enum nm_better better, enum nm_summary summary, double value);
/* Metrics of n streams as one: through ops->combine, else rates (unit .../s) are summed and
 * everything else is the largest. n = 1 copies. */
struct nm_workload_ops;
void nm_metrics_combine(const struct nm_workload_ops *ops, const struct nm_metrics *each, size_t n,
                        struct nm_metrics *ret);
const struct nm_metric *nm_metrics_get(const struct nm_metrics *set, const char *name);

/* What was measured place by place (the curve of a drive), in the order of measuring. */
struct nm_curve_point {
    uint64_t offset_bytes, length_bytes, duration_ns;
};

#define NM_POINTS_MAX 4096

struct nm_points {
    uint32_t count;
    struct nm_curve_point items[NM_POINTS_MAX];
};

/* points may be NULL; what is beyond the maximum is left out. */
void nm_points_add(struct nm_points *points, uint64_t offset_bytes, uint64_t length_bytes,
                   uint64_t duration_ns);

enum nm_phase_role {
    NM_PHASE_SETUP, /* before the first measured phase of a group; creates what the phases need */
    NM_PHASE_MEASURED, /* one trial */
    NM_PHASE_CHECK,    /* after a measured phase, outside the clock: a failure fails that trial */
};

struct nm_phase {
    const char *name; /* "upload", "download", "write", "read"; cells and SELECT use it */
    enum nm_phase_role role;
    unsigned needs;   /* mask of NM_OP_MASK() */
    bool writes;      /* data go to the target (direction of the table's columns) */
    bool drop_caches; /* the engine drops client caches (and evicts, if asked) before this phase */
    bool buffered;    /* local targets: through the page cache, like the original tool */
    bool fills;       /* set-up that writes what is only read later; raw devices: if prefill */
};

/* The part of the plan every workload sees. */
struct nm_workload_context {
    unsigned streams;          /* streams in this group */
    unsigned depth;            /* per stream */
    uint32_t block_bytes;      /* already resolved ("auto" is gone) */
    bool flush_each_file;      /* flush = file */
    bool verify_full;          /* verify = full: engine regenerates and compares each READ */
    bool on_blocks;            /* the target is a raw device, not files */
    bool prefill;              /* raw device: it is ours, phases with `fills` write */
    uint64_t capacity_bytes;   /* raw device: size; files: free space; UINT64_MAX unknown */
    uint32_t unit_bytes;       /* raw device: logical block; 1 for files */
    uint64_t seed;             /* of this group in this pass */
    const char *directory;     /* of this group below the target, "" on raw devices */
    const char *source;        /* copy from this local directory, NULL = memory */
    const char *destination;   /* copy into this local directory, NULL = memory */
    uint64_t nas_ram_bytes;    /* 0 = unknown */
    uint64_t client_ram_bytes; /* of this machine; 0 = unknown */
    bool page_cache; /* small requests end in this machine's page cache (NM_TRAIT_PAGE_CACHE) */
    struct nm_data_kind data;     /* what is written looks like */
    bool no_flush;                /* nothing is flushed inside the clock; set by shape() alone */
    uint32_t files_per_directory; /* 0 = all in one */
    struct nm_histogram *file_latency; /* whole files, first operation to last; may be NULL */
    struct nm_points *points;          /* place by place; stored with the trial; may be NULL */
    const struct nm_pattern *pattern; /* for local source files; buffers are filled by the engine */
};

/* The only names a workload gives to files: "f0000042", from 0. out holds NM_FILE_NAME_BYTES. With
 * a files_per_directory, "d0000/f0000042". */
#define NM_FILE_NAME_BYTES 32
void nm_workload_file_name(uint64_t index, uint32_t files_per_directory,
                           char out[NM_FILE_NAME_BYTES]);
/* "DIRECTORY/f0000042"; on raw blocks "", which is the device itself. */
void nm_workload_path(const struct nm_workload_context *context, uint64_t index,
                      uint32_t files_per_directory, char *out, size_t size);
/* A raw device that is only read and not ours: nobody knows what it holds. */
bool nm_workload_reads_as_found(const struct nm_workload_context *context, bool writes);
/* Is "NAME" or "NAME:ARGUMENTS" the key of this workload, not of a profile? */
bool nm_workload_key_is(const char *key, const char *name);
/* Whether the last component of a path is such a name ('f' or 'd' and digits only). */
bool nm_workload_owns_name(const char *name);

/* For done_op: a READ or WRITE that moved less than was asked is corrupt. what: one of these. */
#define NM_SHORT_LAYOUT "the target is shorter than what was laid out"
#define NM_SHORT_TARGET "the target is shorter than its size says"
#define NM_SHORT_FILE   "the file on the target is shorter than what was written"
int nm_workload_check_length(const struct nm_op *op, const char *what,
                             struct nm_error *err) NM_MUST_CHECK;

/* How much one phase is, over all streams. */
struct nm_workload_size {
    uint64_t bytes, files; /* payload of a measured phase; 0 when it is bound by time */
    uint64_t duration_ns;  /* when it is bound by time, else 0 */
    uint64_t space_bytes;  /* needed on the target by the whole group */
};

enum nm_next {
    NM_NEXT_OP,   /* *op is filled in: submit it */
    NM_NEXT_WAIT, /* nothing to do before an operation completes or until *wait_until_ns */
    NM_NEXT_DONE, /* no more; the phase ends when the queue is empty */
    NM_NEXT_FAIL, /* cannot go on: op->err says why; the trial fails */
};

/* Where the bytes of a WRITE come from and where those of a READ belong: position in the group's
 * data space (pattern.h). The engine fills buffers before submit and checks them after completion.
 */
#define NM_NO_PATTERN UINT64_MAX

struct nm_workload; /* one parsed workload ("copy:1x2GB") with its options; owned by the plan */

struct nm_workload_ops {
    const char *name;                        /* "copy" */
    const char *help;                        /* one line */
    const char *syntax;                      /* "copy:COUNTxSIZE[,COUNTxSIZE...]" */
    unsigned trait;                          /* NM_TRAIT_FILES, NM_TRAIT_BLOCKS or 0 = either */
    const struct nm_option_section *options; /* section of the plan, or NULL */
    const char *unavailable;                 /* why it is not built */
    uint64_t shortest_ns; /* a phase that takes less has no value (too_short); 0 = 1 ms */
    bool tells_cpu;       /* metric cpu_percent: CPU time of all client processes / time */
    bool tells_times;     /* metrics real_s, user_s, sys_s, as `time` prints them */

    /* MUST. Parses what stands behind the colon (NULL when nothing does). options: filled section
     * structure, stays valid. Sets base.ops. */
    int (*parse)(const char *arguments, const void *options, struct nm_workload **ret,
                 struct nm_error *err);
    void (*free)(struct nm_workload *workload);

    /* MUST. Canonical key: "copy:1x2GB". Heap. */
    char *(*key)(const struct nm_workload *workload);

    /* MUST. The phases in order; returns their number (<= NM_PHASES_MAX). */
    size_t (*phases)(const struct nm_workload *workload, const struct nm_phase **ret_phases);

    /* MUST. How much a phase is, for --dry-run, free space and ETA. */
    struct nm_workload_size (*size)(const struct nm_workload *workload,
                                    const struct nm_workload_context *context, size_t phase);

    /* MAY. A phase that fixes depth, streams, block_bytes, data or no_flush of its own (profiles
     * do) sets them in the context, which holds the plan's. Called before everything else that
     * takes this context. */
    void (*shape)(const struct nm_workload *workload, size_t phase,
                  struct nm_workload_context *context);

    /* MUST. State of one stream for one phase. */
    int (*start)(const struct nm_workload *workload, const struct nm_workload_context *context,
                 size_t phase, unsigned stream, void **ret_state, struct nm_error *err);

    /* MUST. Next operation. Sets *pattern_bytes to the position of WRITE/READ data in the group's
     * data space (NM_NO_PATTERN: engine leaves the buffer alone). op->slot, op->buf are set by the
     * engine and must be kept; the rest is the workload's. now_ns is the engine's clock
     * (monotonic). */
    enum nm_next (*next_op)(void *state, uint64_t now_ns, struct nm_op *op, uint64_t *pattern_bytes,
                            uint64_t *wait_until_ns);

    /* MUST. Called for each completion, in completion order. op->result may be an error: return 0
     * to accept it (teardown, missing files), negative to fail the trial (op->err or err says why).
     */
    int (*done_op)(void *state, struct nm_op *op, struct nm_error *err);

    /* MUST. End of the phase: adds metrics of this stream and frees the state. metrics may be NULL
     * (abort). counted_bytes/files = payload that counts for MB/s and files/s. */
    void (*finish)(void *state, uint64_t elapsed_ns, struct nm_metrics *metrics,
                   uint64_t *ret_bytes, uint64_t *ret_files);

    /* MAY. Trials of a cell, where a workload has a number of its own; else [run] trials. */
    uint32_t (*trials)(const struct nm_workload *workload);

    /* MAY. Conditions that the workload decides itself, for one measured phase. */
    void (*describe)(const struct nm_workload *workload, const struct nm_workload_context *context,
                     size_t phase, struct nm_conditions *conditions);

    /* MAY. Combines the metrics of several streams (default: rates are summed, latencies
     * maximised). */
    void (*combine)(const struct nm_metrics *streams, size_t n, struct nm_metrics *ret);
};

/* First member of every workload's own structure. */
struct nm_workload {
    const struct nm_workload_ops *ops;
};

/* The free hook of a workload that is one allocation. */
void nm_workload_free(struct nm_workload *workload);

extern const struct nm_workload_ops *const nm_workload_table[];   /* NULL-terminated */
const struct nm_workload_ops *nm_workload_find(const char *name); /* NULL = unknown */
int nm_workload_table_check(struct nm_error *err) NM_MUST_CHECK;

/* A profile: the section of a workload with other values, under a name of its own (ATTO,
 * CrystalDiskMark ...). Built-in ones are rows of workloads/profiles.c, others [profile NAME] of a
 * plan. */
struct nm_profile_item {
    const char *key, *value; /* of the workload's section */
};

struct nm_profile {
    const char *name;
    const char *workload; /* row of nm_workload_table */
    const char *help;     /* one line */
    const struct nm_profile_item *items;
    size_t n_items;
};

extern const struct nm_profile *const nm_profile_table[];   /* NULL-terminated */
const struct nm_profile *nm_profile_find(const char *name); /* NULL = unknown */

#endif
