/* Private to select*.c: the parsed words of a SELECT.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_SELECT_WORDS_H
#define NM_SELECT_WORDS_H

#include "pool.h"
#include "select.h"

enum nm_select_key {
    NM_SELECT_NAS,
    NM_SELECT_FIRMWARE,
    NM_SELECT_VOLUME,
    NM_SELECT_KIND,
    NM_SELECT_PROTOCOL,
    NM_SELECT_WORKLOAD,
    NM_SELECT_PHASE,
    NM_SELECT_RUN,
    NM_SELECT_CAMPAIGN,
    NM_SELECT_SINCE,
    NM_SELECT_SOURCE,
    NM_SELECT_KEYS
};

struct nm_select {
    struct nm_select_word {
        enum nm_select_key key;
        char *value;
    } * words;
    size_t n_words;
    uint64_t since_utc_ns; /* 0 = not named */
    bool skip_metrics;
};

bool nm_select_has(const struct nm_select *select, enum nm_select_key key);

/* Every word of this key fits text (shell glob, or the very same text). */
bool nm_select_fits(const struct nm_select *select, enum nm_select_key key, const char *text);

/* A cell while it is being read, with what decides where it goes. */
struct nm_cell_row {
    struct nm_cell cell;
    int64_t id;
    int64_t conditions_id;    /* of the trial whose conditions are shown */
    uint64_t campaign_utc_ns; /* newest session of its campaign */
    const char *key_text;     /* canonical key conditions */
};

struct nm_cell_rows {
    struct nm_cell_row *items;
    size_t count, room;
};

/* select_settle.c: no SQL. */

/* Keeps the newest firmware and campaign where neither was named. */
void nm_rows_keep_newest(struct nm_cell_rows *rows, const struct nm_select *select);

/* With the trials read: display order, newest round, trials without a number joined to the cell
 * they belong to, and what each cell shows. Trial arrays come from pool. */
int nm_rows_settle(struct nm_cell_rows *rows, const struct nm_select *select, struct nm_pool *pool,
                   struct nm_error *err) NM_MUST_CHECK;

#endif
