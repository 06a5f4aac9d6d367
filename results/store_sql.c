/* Running SQL on the store: statement cache, binding, transactions, errors (store_sql.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_sql.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

static int busy(struct nm_store *store, const char *doing, struct nm_error *err)
{
    int64_t pid = nm_place_lock_holder(store->path);
    char who[32] = "pid unknown";

    if (pid > 0)
        sqlite3_snprintf(sizeof(who), who, "pid %lld", (long long)pid);
    return nm_error_set(err, -EBUSY, NM_REASON_TIMEOUT,
                        "database busy (%s): %s: another process holds it (while %s); wait for it "
                        "to finish or end it, then try again",
                        who, store->path, doing);
}

int nm_sql_error(struct nm_store *store, int rc, const char *doing, struct nm_error *err)
{
    static const struct {
        int rc, code;
        enum nm_reason reason;
        const char *remedy;
    } rows[] = {
        {SQLITE_FULL, -ENOSPC, NM_REASON_NO_SPACE, "free some space there or use another --db"},
        {SQLITE_READONLY, -EROFS, NM_REASON_READ_ONLY,
         "make the file and its directory writable or use another --db"},
        {SQLITE_PERM, -EACCES, NM_REASON_READ_ONLY, "check the permissions of the file"},
        {SQLITE_CANTOPEN, -ENOENT, NM_REASON_NOT_FOUND,
         "check that the path exists and is accessible"},
        {SQLITE_CORRUPT, -EBADMSG, NM_REASON_CORRUPT,
         "the file is damaged: restore a copy, or rescue it with `sqlite3 FILE .recover`"},
        {SQLITE_NOTADB, -EBADMSG, NM_REASON_PROTECTED,
         "it is not a SQLite database; name another file with --db"},
        {SQLITE_NOMEM, -ENOMEM, NM_REASON_CLIENT_LIMIT, "close other programs"},
        {SQLITE_IOERR, -EIO, NM_REASON_INTERNAL, "check the disk under it"},
    };
    int primary = rc & 0xff;

    if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED)
        return busy(store, doing, err);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].rc == primary) {
            int r = nm_error_set(err, rows[i].code, rows[i].reason, "database %s: %s: %s; %s",
                                 store->path, doing, sqlite3_errmsg(store->db), rows[i].remedy);

            nm_error_raw(err, "SQLITE %d", rc);
            return r;
        }
    return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL, "database %s: %s: %s", store->path, doing,
                        sqlite3_errmsg(store->db));
}

static int prepare(struct nm_store *store, const char *sql, sqlite3_stmt **ret_statement,
                   struct nm_error *err)
{
    int rc;

    for (size_t i = 0; i < store->n_cached; i++)
        if (store->cache[i].sql == sql) {
            *ret_statement = store->cache[i].statement;
            sqlite3_reset(*ret_statement);
            sqlite3_clear_bindings(*ret_statement);
            return 0;
        }
    if (store->n_cached == NM_SQL_STATEMENTS)
        return nm_error_set(err, -ENOBUFS, NM_REASON_INTERNAL,
                            "store: more statements than NM_SQL_STATEMENTS");
    rc = sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret_statement, NULL);
    if (rc != SQLITE_OK)
        return nm_sql_error(store, rc, "preparing", err);
    store->cache[store->n_cached].sql = sql;
    store->cache[store->n_cached++].statement = *ret_statement;
    return 0;
}

/* Binds one value; parameters that the statement does not have are taken and dropped. */
static int bind_one(sqlite3_stmt *statement, int at, char type, va_list *ap)
{
    bool there = at <= sqlite3_bind_parameter_count(statement);

    switch (type) {
    case 'i': {
        int64_t value = va_arg(*ap, int64_t);

        return there ? sqlite3_bind_int64(statement, at, value) : SQLITE_OK;
    }
    case 'u':
    case 'z': {
        uint64_t value = va_arg(*ap, uint64_t);

        if (value > INT64_MAX)
            return SQLITE_TOOBIG;
        if (!there || (type == 'z' && !value))
            return SQLITE_OK;
        return sqlite3_bind_int64(statement, at, (int64_t)value);
    }
    case 'd': {
        double value = va_arg(*ap, double);

        return there && isfinite(value) ? sqlite3_bind_double(statement, at, value) : SQLITE_OK;
    }
    case 't': {
        const char *text = va_arg(*ap, const char *);

        return there && text ? sqlite3_bind_text(statement, at, text, -1, SQLITE_TRANSIENT)
                             : SQLITE_OK;
    }
    case 'b': {
        const void *blob = va_arg(*ap, const void *);
        size_t size = va_arg(*ap, size_t);

        return there ? sqlite3_bind_blob64(statement, at, blob ? blob : "", size, SQLITE_TRANSIENT)
                     : SQLITE_OK;
    }
    default: return SQLITE_MISUSE;
    }
}

static int query(struct nm_store *store, const char *sql, sqlite3_stmt **ret_statement,
                 struct nm_error *err, const char *types, va_list *ap)
{
    sqlite3_stmt *statement;
    int r = prepare(store, sql, &statement, err);

    for (int at = 1; r == 0 && *types; at++, types++) {
        int rc = bind_one(statement, at, *types, ap);

        if (rc == SQLITE_TOOBIG)
            return nm_error_set(err, -ERANGE, NM_REASON_INTERNAL,
                                "store: a number does not fit into 63 bits");
        if (rc != SQLITE_OK)
            return nm_sql_error(store, rc, "binding", err);
    }
    if (r == 0)
        *ret_statement = statement;
    return r;
}

int nm_sql_query(struct nm_store *store, const char *sql, sqlite3_stmt **ret_statement,
                 struct nm_error *err, const char *types, ...)
{
    va_list ap;
    int r;

    va_start(ap, types);
    r = query(store, sql, ret_statement, err, types, &ap);
    va_end(ap);
    return r;
}

int nm_sql_step(struct nm_store *store, sqlite3_stmt *statement, struct nm_error *err)
{
    int rc = sqlite3_step(statement), r = 0;

    if (rc == SQLITE_ROW)
        return 1;
    if (rc != SQLITE_DONE)
        r = nm_sql_error(store, rc, "reading or writing", err);
    sqlite3_reset(statement);
    return r;
}

/* First column of the first row; the statement is reset, so it holds no lock afterwards. */
static int first_int(struct nm_store *store, sqlite3_stmt *statement, int64_t *ret_value,
                     struct nm_error *err)
{
    int r = nm_sql_step(store, statement, err);

    if (r == 1) {
        int64_t value = sqlite3_column_int64(statement, 0);

        /* The step after the row completes an INSERT ... RETURNING. */
        r = nm_sql_step(store, statement, err);
        sqlite3_reset(statement);
        if (r < 0)
            return r;
        *ret_value = value;
        return 0;
    }
    return r < 0 ? r : -ENOENT;
}

int nm_sql_run(struct nm_store *store, const char *sql, struct nm_error *err, const char *types,
               ...)
{
    sqlite3_stmt *statement;
    va_list ap;
    int r;

    va_start(ap, types);
    r = query(store, sql, &statement, err, types, &ap);
    va_end(ap);
    if (r == 0)
        r = nm_sql_step(store, statement, err);
    return r < 0 ? r : 0;
}

int nm_sql_int(struct nm_store *store, const char *sql, int64_t *ret_value, struct nm_error *err,
               const char *types, ...)
{
    sqlite3_stmt *statement;
    va_list ap;
    int r;

    va_start(ap, types);
    r = query(store, sql, &statement, err, types, &ap);
    va_end(ap);
    return r < 0 ? r : first_int(store, statement, ret_value, err);
}

int nm_sql_find_or_insert(struct nm_store *store, const char *find, const char *insert,
                          int64_t *ret_id, struct nm_error *err, const char *types, ...)
{
    sqlite3_stmt *statement;
    va_list ap;
    int r;

    va_start(ap, types);
    r = query(store, find, &statement, err, types, &ap);
    va_end(ap);
    if (r == 0)
        r = first_int(store, statement, ret_id, err);
    if (r != -ENOENT)
        return r;
    va_start(ap, types);
    r = query(store, insert, &statement, err, types, &ap);
    va_end(ap);
    return r < 0 ? r : first_int(store, statement, ret_id, err);
}

int nm_sql_begin(struct nm_store *store, struct nm_error *err)
{
    if (store->in_batch)
        return nm_sql_run(store, "SAVEPOINT one", err, "");
    return nm_sql_run(store, "BEGIN IMMEDIATE", err, "");
}

int nm_sql_end(struct nm_store *store, int r, struct nm_error *err)
{
    if (store->in_batch) {
        if (r < 0 && nm_sql_run(store, "ROLLBACK TO one", NULL, "") < 0)
            return r;
        int done = nm_sql_run(store, "RELEASE one", r < 0 ? NULL : err, "");

        return r < 0 ? r : done;
    }
    if (r == 0)
        r = nm_sql_run(store, "COMMIT", err, "");
    if (r < 0 && !sqlite3_get_autocommit(store->db))
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return r;
}

const char *nm_sql_text(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);

    return text ? text : "";
}
