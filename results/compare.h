/* Two selections against each other: which cells belong together, and the verdict of each pair.
 *
 * Works on cells that were read before (select.h); touches neither the store nor a terminal. The
 * arithmetic is in stats.h.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_COMPARE_H
#define NM_COMPARE_H

#include "metric.h"
#include "stats.h"

#include <jansson.h>
#include <stdio.h>

/* Names that make up the identity of a row. Those that the two SELECTs give differently are what is
 * compared: they need not match, and the conditions they imply may differ. */
enum nm_compare_key {
    NM_COMPARE_NAS = 1 << 0, /* the firmware goes with it */
    NM_COMPARE_FIRMWARE = 1 << 1,
    NM_COMPARE_VOLUME = 1 << 2, /* also named by kind= */
    NM_COMPARE_PROTOCOL = 1 << 3,
    NM_COMPARE_WORKLOAD = 1 << 4,
    NM_COMPARE_PHASE = 1 << 5,
};

struct nm_compare_options {
    unsigned keys;              /* what is compared: nm_compare_key mask */
    const char *const *allowed; /* conditions waived, NULL-terminated, may be NULL */
    const char *metric;         /* NULL = the default of each cell */
    double margin;              /* fraction: 0.05 */
    enum nm_adjust adjust;
    double tau;        /* noise between sessions for one-session sides */
    bool tau_measured; /* false: the default, and the reader is told */
};

struct nm_compare_row {
    /* identity; NULL = compared */
    const char *nas, *firmware, *volume, *protocol, *workload, *phase;
    const char *metric;          /* NULL when neither side has a number */
    char unit[16];               /* of the metric */
    const struct nm_cell *a, *b; /* NULL = not selected on that side */
    bool has_a, has_b;           /* the centres below are set */
    double centre_a, centre_b;   /* geometric means */
    struct nm_stats_row stats;
    char note[200];
};

struct nm_compare {
    struct nm_compare_options options;
    struct nm_compare_row *rows;
    size_t n_rows;
    struct nm_stats_prior prior;
    struct nm_stats_overall overall;
    size_t counts[NM_VERDICT_UNCLEAR + 1];
    double typical_noise;    /* standard deviation between trials, fraction; 0 = unknown */
    unsigned typical_trials; /* per side and cell to see the margin; 0 = more than 10 */
    bool tau_used;
};

/* Compared keys from the words of the two SELECTs; NULL = not named. */
unsigned nm_compare_keys(const struct nm_select *a, const struct nm_select *b);

/* Pairs and judges. -EINVAL when a side is ambiguous, -ENOENT when nothing belongs together; both
 * say what to name. The cells must outlive the result. */
int nm_compare_new(const struct nm_cells *a, const struct nm_cells *b,
                   const struct nm_compare_options *options, struct nm_compare **ret,
                   struct nm_error *err) NM_MUST_CHECK;
void nm_compare_free(struct nm_compare *compare);

/* Noise between sessions from cells that were measured back to back in several sessions without any
 * change (A/A): one-way analysis of variance on log rates. False when there are none. */
bool nm_compare_session_noise(const struct nm_cells *cells, double *ret_tau);

/* 0, 4, 1 or 3, in that precedence (command.h). */
int nm_compare_exit(const struct nm_compare *compare, bool require_proof);

/* compare_write.c */
enum nm_compare_column {
    NM_COMPARE_CELL,
    NM_COMPARE_A,
    NM_COMPARE_B,
    NM_COMPARE_DELTA,
    NM_COMPARE_CI,
    NM_COMPARE_Q,
    NM_COMPARE_N,
    NM_COMPARE_VERDICT,
    NM_COMPARE_NOTE,
    NM_COMPARE_COLUMNS
};
/* A row as people read it, the same wherever it is shown; line is zeroed before. */
struct nm_compare_line {
    char text[NM_COMPARE_COLUMNS][208];
};
void nm_compare_line(const struct nm_compare *compare, const struct nm_compare_row *row,
                     struct nm_compare_line *line);
int nm_compare_write_text(const struct nm_compare *compare, bool color, FILE *out,
                          struct nm_error *err) NM_MUST_CHECK;
/* The document of `compare --json`; NULL when out of memory. */
json_t *nm_compare_json(const struct nm_compare *compare);

#endif
