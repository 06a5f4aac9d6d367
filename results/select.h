/* Reading the store: SELECT words -> cells with their trials.
 *
 * SELECT = `key=value` words (and-ed; shell globs in values): nas= firmware= volume= kind=
 * protocol= workload= phase= run= campaign= since= source=measured|imported. since= takes a UTC
 * date
 * ("2026-01-31", "2026-01-31T12:00:00Z") or an age ("7d", "12h").
 *
 * What is not named goes by default to the newest that fits the other words: the newest firmware of
 * each NAS (not when firmware, campaign or run is named), its newest campaign (not when campaign or
 * run is named), and per cell the newest round in which it was run (not when run is named).
 *
 * Trials whose key conditions differ are never pooled: they are separate cells (same names, other
 * conditions), as are measured and imported ones. A trial without a number, whose conditions are
 * known in part only, belongs to the cell that it does not contradict.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_SELECT_H
#define NM_SELECT_H

#include "store.h"

/* A stored trial; strings are owned by the result set. */
struct nm_trial {
    int64_t id;
    const char *run; /* run id of its session */
    uint32_t round, pass, group_order;
    enum nm_status status;
    enum nm_reason reason;
    const char *raw, *message;
    uint64_t start_utc_ns, duration_ns, bytes, files, operations, cpu_ns;
    const char *flags;
    const char *source, *source_text;
    const struct nm_metrics *metrics; /* never NULL; allocated up to its count only */
};

enum nm_cell_status { /* of a whole cell */
                      NM_CELL_OK,
                      NM_CELL_PARTIAL, /* some trials succeeded */
                      NM_CELL_FAILED,
                      NM_CELL_NA,
                      NM_CELL_UNSUPPORTED,
                      NM_CELL_MISSING,
                      NM_CELL_TOO_SHORT,
                      NM_CELL_ABORTED,
};
const char *nm_cell_status_name(enum nm_cell_status status);

/* One cell: target x workload x phase under one set of key conditions. */
struct nm_cell {
    const char *nas, *firmware, *firmware_date; /* date NULL = unknown */
    uint64_t firmware_utc_ns; /* order of versions: firmware_date, else the first run */
    int64_t campaign_id;
    uint32_t round;
    bool imported;
    const char *volume, *kind, *label, *interface;
    int volume_position;
    const char *protocol, *workload, *phase;
    int phase_index;
    bool phase_writes;
    const char *conditions_hash; /* of the key conditions */
    const struct nm_conditions
        *conditions; /* of its newest trial; allocated up to its count only */
    struct nm_trial *trials;
    size_t n_trials;
    /* derived */
    enum nm_cell_status status;
    size_t n_ok, n_failed;
    double bytes_per_s; /* geometric mean over ok trials; NAN when there is none */
    double min_bytes_per_s, max_bytes_per_s;
    double files_per_s; /* geometric mean; NAN when not a file workload */
    char flags[96];     /* union of the trials' flags */
};

struct nm_cells {
    struct nm_cell *items;
    size_t count;
    void *arena; /* owns every string; private to select.c */
};

struct nm_select; /* parsed SELECT */

int nm_select_parse(const char *const *words, size_t n_words, struct nm_select **ret_select,
                    struct nm_error *err) NM_MUST_CHECK;
/* One argument with several blank-separated words (compare). */
int nm_select_parse_line(const char *line, struct nm_select **ret_select,
                         struct nm_error *err) NM_MUST_CHECK;
void nm_select_free(struct nm_select *select);
/* Value given for a key ("firmware"), NULL = the key was not named. */
const char *nm_select_get(const struct nm_select *select, const char *key);

/* Leaves the metrics of trials that moved bytes empty, but for steps of block access: for readers
 * of rates alone, over very many trials. */
void nm_select_skip_metrics(struct nm_select *select);

/* Cells in display order: NAS, firmware, campaign, workload, protocol, volume position, phase
 * index. Void trials are among a cell's trials but count for nothing. No cell at all is no error.
 */
int nm_select_cells(struct nm_store *store, const struct nm_select *select,
                    struct nm_cells **ret_cells, struct nm_error *err) NM_MUST_CHECK;
void nm_cells_free(struct nm_cells *cells);

/* Is the cell one of this workload ("bonnie"), under its own name or as a profile of it? */
bool nm_cell_is_of(const struct nm_cell *cell, const char *workload);

/* Every metric that the successful trials of a cell have, each summarised as it asks for. */
void nm_cell_metrics(const struct nm_cell *cell, struct nm_metrics *ret);

/* Samples over position of one trial, in the order of measuring; caller frees. -ENOENT: it has
 * none. */
int nm_select_points(struct nm_store *store, int64_t trial_id, struct nm_curve_point **ret_points,
                     size_t *ret_n, struct nm_error *err) NM_MUST_CHECK;

/* Bins of one trial (bytes per bin); caller frees. */
int nm_select_bins(struct nm_store *store, int64_t trial_id, uint64_t **ret_bins, size_t *ret_n,
                   uint64_t *ret_bin_ns, struct nm_error *err) NM_MUST_CHECK;

#endif
