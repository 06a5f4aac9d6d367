/* The schema of the store as numbered migrations.
 *
 * A migration is text that is never changed after a release; a new need is a new row. All missing
 * ones run in one transaction, so a file has the old schema or the new one, never something
 * between. Identity of every row is a natural key (UNIQUE); the integer ids never leave the file,
 * except the trial's, which `void` and `show` take.
 *
 * A cell is a row of its own: names, round and key conditions. Trials point to it and stay narrow,
 * bins and histograms lie in tables of their own: a table over many trials reads none of them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_sql.h"

#include "clock.h"

#include <errno.h>

struct migration {
    int version;
    const char *title;
    const char *sql;
};

static const struct migration migrations[] = {
    {
        .version = 1,
        .title = "first schema",
        .sql =
            "CREATE TABLE migration("
            " version INTEGER PRIMARY KEY, title TEXT NOT NULL, program TEXT NOT NULL,"
            " applied_utc_ns INTEGER NOT NULL) STRICT;"

            "CREATE TABLE nas("
            " id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, vendor TEXT, model TEXT,"
            " disks TEXT, ram_bytes INTEGER) STRICT;"

            "CREATE TABLE firmware("
            " id INTEGER PRIMARY KEY, nas_id INTEGER NOT NULL REFERENCES nas(id),"
            " version TEXT NOT NULL, date TEXT, first_run_utc_ns INTEGER NOT NULL,"
            " UNIQUE(nas_id, version)) STRICT;"

            "CREATE TABLE campaign("
            " id INTEGER PRIMARY KEY, firmware_id INTEGER NOT NULL REFERENCES firmware(id),"
            " canonical_run TEXT NOT NULL, UNIQUE(firmware_id, canonical_run)) STRICT;"

            /* One invocation. client: JSON object. outcome: NULL while it runs or when it was
             * killed. */
            "CREATE TABLE session("
            " id INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE,"
            " campaign_id INTEGER NOT NULL REFERENCES campaign(id), seed TEXT NOT NULL,"
            " run_order TEXT NOT NULL, plan TEXT NOT NULL, client TEXT, program TEXT NOT NULL,"
            " start_utc_ns INTEGER NOT NULL, end_utc_ns INTEGER, outcome TEXT) STRICT;"
            "CREATE INDEX session_campaign ON session(campaign_id, start_utc_ns);"

            "CREATE TABLE note("
            " id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL REFERENCES session(id),"
            " utc_ns INTEGER NOT NULL, text TEXT NOT NULL) STRICT;"
            "CREATE INDEX note_session ON note(session_id);"

            /* Files that were imported; hash is over the contents and the names given with them. */
            "CREATE TABLE import("
            " hash TEXT PRIMARY KEY, format TEXT NOT NULL, file TEXT NOT NULL,"
            " session_id INTEGER REFERENCES session(id), utc_ns INTEGER NOT NULL)"
            " STRICT, WITHOUT ROWID;"

            "CREATE TABLE volume("
            " id INTEGER PRIMARY KEY, firmware_id INTEGER NOT NULL REFERENCES firmware(id),"
            " name TEXT NOT NULL, kind TEXT NOT NULL, label TEXT, interface TEXT,"
            " position INTEGER NOT NULL, UNIQUE(firmware_id, name)) STRICT;"

            /* What is behind a volume over one protocol: LUN serial, server identity, fsid. */
            "CREATE TABLE identity("
            " volume_id INTEGER NOT NULL REFERENCES volume(id), protocol TEXT NOT NULL,"
            " identity TEXT NOT NULL, PRIMARY KEY(volume_id, protocol)) STRICT, WITHOUT ROWID;"

            "CREATE TABLE target("
            " id INTEGER PRIMARY KEY, volume_id INTEGER NOT NULL REFERENCES volume(id),"
            " protocol TEXT NOT NULL, url TEXT NOT NULL, UNIQUE(volume_id, protocol, url)) STRICT;"

            "CREATE TABLE workload(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE) STRICT;"

            "CREATE TABLE phase("
            " id INTEGER PRIMARY KEY, workload_id INTEGER NOT NULL REFERENCES workload(id),"
            " name TEXT NOT NULL, position INTEGER NOT NULL, writes INTEGER NOT NULL,"
            " UNIQUE(workload_id, name)) STRICT;"

            /* The key conditions alone (what comparisons go by) and the whole set. */
            "CREATE TABLE key_conditions("
            " id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, text TEXT NOT NULL) STRICT;"
            "CREATE TABLE conditions("
            " id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, text TEXT NOT NULL) STRICT;"

            /* imported: numbers of another tool are never pooled with measured ones. */
            "CREATE TABLE cell("
            " id INTEGER PRIMARY KEY, campaign_id INTEGER NOT NULL REFERENCES campaign(id),"
            " volume_id INTEGER NOT NULL REFERENCES volume(id), protocol TEXT NOT NULL,"
            " phase_id INTEGER NOT NULL REFERENCES phase(id), round INTEGER NOT NULL,"
            " imported INTEGER NOT NULL, key_id INTEGER NOT NULL REFERENCES key_conditions(id),"
            " UNIQUE(campaign_id, volume_id, protocol, phase_id, round, imported, key_id)) STRICT;"

            /* NULL = not known or not measured. A void trial keeps its status beside void_why. */
            "CREATE TABLE trial("
            " id INTEGER PRIMARY KEY, cell_id INTEGER NOT NULL REFERENCES cell(id),"
            " session_id INTEGER NOT NULL REFERENCES session(id),"
            " target_id INTEGER NOT NULL REFERENCES target(id),"
            " conditions_id INTEGER NOT NULL REFERENCES conditions(id),"
            " pass INTEGER NOT NULL, group_order INTEGER NOT NULL,"
            " status TEXT NOT NULL CHECK(status IN ('ok', 'failed', 'unsupported', 'na', 'missing',"
            "  'void', 'aborted', 'too_short')),"
            " reason TEXT, raw TEXT, message TEXT, start_utc_ns INTEGER,"
            " duration_ns INTEGER, bytes INTEGER, files INTEGER, operations INTEGER,"
            " cpu_ns INTEGER, generator_cpu_ns INTEGER, streams INTEGER, flags TEXT,"
            " source TEXT NOT NULL, source_text TEXT, void_why TEXT, void_utc_ns INTEGER,"
            " CHECK(status <> 'ok' OR (ifnull(duration_ns, 0) > 0 AND bytes IS NOT NULL))) STRICT;"
            "CREATE INDEX trial_cell ON trial(cell_id);"
            "CREATE INDEX trial_session ON trial(session_id);"

            "CREATE TABLE metric("
            " trial_id INTEGER NOT NULL REFERENCES trial(id), position INTEGER NOT NULL,"
            " name TEXT NOT NULL, unit TEXT NOT NULL, better TEXT NOT NULL, summary TEXT NOT NULL,"
            " value REAL, PRIMARY KEY(trial_id, position)) STRICT, WITHOUT ROWID;"

            "CREATE TABLE histogram("
            " trial_id INTEGER NOT NULL REFERENCES trial(id), operation TEXT NOT NULL,"
            " text TEXT NOT NULL, PRIMARY KEY(trial_id, operation)) STRICT, WITHOUT ROWID;"

            /* Bytes per interval of bin_ns, n LEB128 numbers. */
            "CREATE TABLE bins("
            " trial_id INTEGER PRIMARY KEY REFERENCES trial(id), bin_ns INTEGER NOT NULL,"
            " n INTEGER NOT NULL, data BLOB NOT NULL) STRICT;",
    },
    {
        .version = 2,
        .title = "samples over position",
        /* Offset, length, duration of each point, 3 * n LEB128 numbers. */
        .sql = "CREATE TABLE points("
               " trial_id INTEGER PRIMARY KEY REFERENCES trial(id), n INTEGER NOT NULL,"
               " data BLOB NOT NULL) STRICT;",
    },
};

#define N_MIGRATIONS (sizeof(migrations) / sizeof(migrations[0]))

int nm_schema_newest(void)
{
    return migrations[N_MIGRATIONS - 1].version;
}

static int apply(struct nm_store *store, const struct migration *migration, struct nm_error *err)
{
    char pragma[80];
    int rc;

    sqlite3_snprintf(sizeof(pragma), pragma, "PRAGMA application_id=%d; PRAGMA user_version=%d",
                     NM_STORE_APPLICATION_ID, migration->version);
    rc = sqlite3_exec(store->db, migration->sql, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(store->db, pragma, NULL, NULL, NULL);
    if (rc != SQLITE_OK)
        return nm_sql_error(store, rc, "updating the schema", err);
    return nm_sql_run(store, "INSERT INTO migration VALUES(?, ?, ?, ?)", err, "ittu",
                      (int64_t)migration->version, migration->title, NM_VERSION, nm_clock_utc_ns());
}

int nm_schema_migrate(struct nm_store *store, struct nm_error *err)
{
    int64_t version = 0;
    int r = nm_sql_int(store, "PRAGMA user_version", &version, err, "");

    if (r < 0 || version == nm_schema_newest())
        return r;
    r = nm_sql_begin(store, err);
    if (r < 0)
        return r;
    /* Somebody else may have done it while we waited for the lock. */
    r = nm_sql_int(store, "PRAGMA user_version", &version, err, "");
    for (size_t i = 0; i < N_MIGRATIONS && r == 0; i++)
        if (migrations[i].version > version)
            r = apply(store, &migrations[i], err);
    return nm_sql_end(store, r, err);
}
