/* Private to results/: the open database and the few ways SQL is run on it.
 *
 * Statements are prepared once per store and found again by the address of their text, so the SQL
 * stands where it is used and costs nothing to repeat. Values are always bound: `types` has one
 * letter per parameter.
 *
 *   i  int64_t
 *   u  uint64_t (a number above INT64_MAX is an error, never a wrapped one)
 *   z  uint64_t, 0 is stored as NULL ("not known")
 *   d  double (NAN is stored as NULL)
 *   t  const char *, NULL is NULL
 *   b  const void *, size_t (blob)
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_STORE_SQL_H
#define NM_STORE_SQL_H

#include "store.h"

#include <sqlite3.h>

#define NM_SQL_STATEMENTS 64

struct nm_store {
    sqlite3 *db;
    char *path;
    enum nm_store_mode mode;
    char warning[400];
    bool in_batch;
    struct {
        const char *sql;
        sqlite3_stmt *statement;
    } cache[NM_SQL_STATEMENTS];
    size_t n_cached;
};

/* Error of the last SQLite call in the words of the product; names the holder of a lock. */
int nm_sql_error(struct nm_store *store, int rc, const char *doing, struct nm_error *err);

/* Prepared, reset and bound; the statement stays the store's. sql must be a string literal. */
int nm_sql_query(struct nm_store *store, const char *sql, sqlite3_stmt **ret_statement,
                 struct nm_error *err, const char *types, ...) NM_MUST_CHECK;

/* 1 = a row, 0 = no more rows, or -errno. */
int nm_sql_step(struct nm_store *store, sqlite3_stmt *statement,
                struct nm_error *err) NM_MUST_CHECK;

/* Runs a statement that returns nothing. */
int nm_sql_run(struct nm_store *store, const char *sql, struct nm_error *err, const char *types,
               ...) NM_MUST_CHECK;

/* First column of the first row; -ENOENT (err untouched) when there is no row. */
int nm_sql_int(struct nm_store *store, const char *sql, int64_t *ret_value, struct nm_error *err,
               const char *types, ...) NM_MUST_CHECK;

/* Id of the row that `find` returns, else of the row that `insert` makes (RETURNING id). Both see
 * the same parameters; either may leave out the last ones. */
int nm_sql_find_or_insert(struct nm_store *store, const char *find, const char *insert,
                          int64_t *ret_id, struct nm_error *err, const char *types,
                          ...) NM_MUST_CHECK;

/* A write transaction (a savepoint inside a batch). nm_sql_end commits when r is 0, rolls back when
 * it is negative, and returns what became of it. */
int nm_sql_begin(struct nm_store *store, struct nm_error *err) NM_MUST_CHECK;
int nm_sql_end(struct nm_store *store, int r, struct nm_error *err) NM_MUST_CHECK;

/* Text of a column, "" for NULL; valid until the next step. */
const char *nm_sql_text(sqlite3_stmt *statement, int column);

/* What the versions of a firmware row f are ordered by, ns: its date when it is one, else its first
 * run. */
#define NM_SQL_FIRMWARE_ORDER                                                                      \
    "coalesce(iif(f.date LIKE '____-__-__%', max(0, strftime('%s', f.date) * 1000000000), NULL),"  \
    " f.first_run_utc_ns)"

/* store_schema.c */
#define NM_STORE_APPLICATION_ID 0x4e41534d /* "NASM" */
int nm_schema_newest(void);
int nm_schema_migrate(struct nm_store *store, struct nm_error *err) NM_MUST_CHECK;

/* store_place.c: what the file lies on, and who holds it. */

/* Name of the kind of network or FUSE file system that a statfs magic stands for, NULL when it is a
 * local one. */
const char *nm_place_remote_name(uint32_t magic);

/* The same for the file system that path, or the directory it will be made in, lies on. */
const char *nm_place_remote(const char *path);

/* Process (not this one) that holds a lock on the database or its WAL index; 0 = nobody known. */
int64_t nm_place_lock_holder(const char *path);

/* mkdir -p for the directory of path. */
int nm_place_make_parents(const char *path, struct nm_error *err) NM_MUST_CHECK;

/* store_points.c: of one trial, inside its transaction; no points store nothing. */
int nm_store_points(struct nm_store *store, int64_t trial_id, const struct nm_curve_point *points,
                    size_t n, struct nm_error *err) NM_MUST_CHECK;

/* store_pack.c: bins as one blob of LEB128 numbers. Heap, NULL when out of memory. */
unsigned char *nm_pack_bins(const uint64_t *bins, size_t n, size_t *ret_size);
int nm_pack_read(const unsigned char *blob, size_t size, uint64_t **ret_bins, size_t *ret_n,
                 struct nm_error *err) NM_MUST_CHECK;

/* Text of a whole set, one "name=value" a line, and back. */
char *nm_pack_conditions(const struct nm_conditions *set);
void nm_pack_read_conditions(const char *text, struct nm_conditions *ret);

/* Tests: how long a lock is waited for. */
void nm_store_set_patience(struct nm_store *store, int ms);

#endif
