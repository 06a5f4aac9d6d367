/* What was imported, and sessions that were made elsewhere (store.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_sql.h"

#include "clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int nm_store_import_find(struct nm_store *store, const char *hash, char ret_run_id[16],
                         struct nm_error *err)
{
    sqlite3_stmt *statement;
    int r = nm_sql_query(store,
                         "SELECT s.run FROM import i LEFT JOIN session s ON s.id=i.session_id"
                         " WHERE i.hash=?",
                         &statement, err, "t", hash);

    if (r == 0)
        r = nm_sql_step(store, statement, err);
    if (r < 0)
        return r;
    if (r == 0)
        return -ENOENT;
    snprintf(ret_run_id, 16, "%s", nm_sql_text(statement, 0));
    sqlite3_reset(statement);
    return 0;
}

int nm_store_import_add(struct nm_store *store, const char *hash, const char *format,
                        const char *file, int64_t session_id, struct nm_error *err)
{
    return nm_sql_run(store, "INSERT INTO import VALUES(?, ?, ?, ?, ?)", err, "tttzu", hash, format,
                      file, (uint64_t)session_id, nm_clock_utc_ns());
}

/* Id of the session with this run id; -ENOENT (err untouched) when there is none. */
static int find_session(struct nm_store *store, const char *run, int64_t campaign_id,
                        int64_t *ret_id, struct nm_error *err)
{
    sqlite3_stmt *statement;
    int64_t id, owner;
    int r = nm_sql_query(store, "SELECT id, campaign_id FROM session WHERE run=?", &statement, err,
                         "t", run);

    if (r == 0)
        r = nm_sql_step(store, statement, err);
    if (r < 0)
        return r;
    if (r == 0)
        return -ENOENT;
    id = sqlite3_column_int64(statement, 0);
    owner = sqlite3_column_int64(statement, 1);
    sqlite3_reset(statement);
    if (owner != campaign_id)
        return nm_error_set(err, -EEXIST, NM_REASON_PROTECTED,
                            "run %s of this file is another run in the database; import it into a "
                            "database of its own (--db)",
                            run);
    *ret_id = id;
    return 0;
}

int nm_store_session_import(struct nm_store *store, int64_t campaign_id,
                            const struct nm_session_record *session, int64_t *ret_session_id,
                            struct nm_error *err)
{
    uint64_t start = session->start_utc_ns ? session->start_utc_ns : nm_clock_utc_ns();
    char seed[24];
    int64_t id = 0;
    int r = nm_sql_begin(store, err);

    if (r < 0)
        return r;
    snprintf(seed, sizeof(seed), "%" PRIu64, session->seed);
    r = find_session(store, session->run, campaign_id, &id, err);
    if (r == -ENOENT)
        r = nm_sql_int(store,
                       "INSERT INTO session(run, campaign_id, seed, run_order, plan, client,"
                       " program, start_utc_ns, end_utc_ns, outcome)"
                       " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
                       &id, err, "titttttuzt", session->run, campaign_id, seed,
                       session->order ? session->order : "passes",
                       session->plan ? session->plan : "", session->client, NM_VERSION, start,
                       session->end_utc_ns, session->outcome);
    r = nm_sql_end(store, r, err);
    if (r == 0)
        *ret_session_id = id;
    return r;
}

int nm_store_volume_find(struct nm_store *store, int64_t campaign_id, const char *name,
                         const char *kind, int64_t *ret_volume_id, struct nm_error *err)
{
    sqlite3_stmt *statement;
    int r = nm_sql_query(store,
                         "SELECT v.id, v.kind FROM volume v JOIN campaign c"
                         " ON c.firmware_id=v.firmware_id WHERE c.id=? AND v.name=?",
                         &statement, err, "it", campaign_id, name);

    if (r == 0)
        r = nm_sql_step(store, statement, err);
    if (r < 0)
        return r;
    if (r == 0)
        return -ENOENT;
    *ret_volume_id = sqlite3_column_int64(statement, 0);
    r = 0;
    if (kind && strcmp(nm_sql_text(statement, 1), kind) != 0)
        r = nm_error_set(
            err, -EEXIST, NM_REASON_PROTECTED,
            "volume %s is stored with kind %s for this firmware, now it says %s; a new "
            "configuration needs a name of its own",
            name, nm_sql_text(statement, 1), kind);
    sqlite3_reset(statement);
    return r;
}

int nm_store_trial_known(struct nm_store *store, const struct nm_trial_record *trial,
                         bool *ret_known, struct nm_error *err)
{
    int64_t one;
    int r = nm_sql_int(store,
                       "SELECT 1 FROM trial t JOIN cell c ON c.id=t.cell_id"
                       " JOIN phase p ON p.id=c.phase_id JOIN workload w ON w.id=p.workload_id"
                       " WHERE t.session_id=? AND c.volume_id=? AND c.protocol=? AND w.key=?"
                       " AND p.name=? AND c.round=? AND t.pass=? AND coalesce(t.start_utc_ns, 0)=?"
                       " LIMIT 1",
                       &one, err, "iitttuuu", trial->session_id, trial->volume_id, trial->protocol,
                       trial->workload, trial->phase, (uint64_t)trial->round, (uint64_t)trial->pass,
                       trial->start_utc_ns);

    if (r < 0 && r != -ENOENT)
        return r;
    *ret_known = r == 0;
    return 0;
}
