/* What a run is: campaign, volume, identity, session, and the remarks made afterwards (store.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_sql.h"

#include "clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static int nas_and_firmware(struct nm_store *store, const struct nm_nas_record *nas,
                            int64_t *ret_firmware_id, struct nm_error *err)
{
    int64_t nas_id = 0;
    int r = nm_sql_int(store,
                       "INSERT INTO nas(name, vendor, model, disks, ram_bytes)"
                       " VALUES(?, ?, ?, ?, ?) ON CONFLICT(name) DO UPDATE SET"
                       " vendor=coalesce(excluded.vendor, vendor),"
                       " model=coalesce(excluded.model, model),"
                       " disks=coalesce(excluded.disks, disks),"
                       " ram_bytes=coalesce(excluded.ram_bytes, ram_bytes) RETURNING id",
                       &nas_id, err, "ttttz", nas->name, nas->vendor, nas->model, nas->disks,
                       nas->ram_bytes);

    if (r == 0)
        r = nm_sql_int(store,
                       "INSERT INTO firmware(nas_id, version, date, first_run_utc_ns)"
                       " VALUES(?, ?, ?, ?) ON CONFLICT(nas_id, version) DO UPDATE SET"
                       " date=coalesce(excluded.date, date) RETURNING id",
                       ret_firmware_id, err, "ittu", nas_id, nas->firmware, nas->firmware_date,
                       nm_clock_utc_ns());
    return r;
}

int nm_store_campaign(struct nm_store *store, const struct nm_nas_record *nas,
                      const char *canonical_run, int64_t *ret_campaign_id, struct nm_error *err)
{
    int64_t firmware_id = 0, id = 0;
    int r = nm_sql_begin(store, err);

    if (r < 0)
        return r;
    r = nas_and_firmware(store, nas, &firmware_id, err);
    if (r == 0)
        r = nm_sql_find_or_insert(
            store, "SELECT id FROM campaign WHERE firmware_id=?1 AND canonical_run=?2",
            "INSERT INTO campaign(firmware_id, canonical_run) VALUES(?1, ?2) RETURNING id", &id,
            err, "it", firmware_id, canonical_run);
    r = nm_sql_end(store, r, err);
    if (r == 0)
        *ret_campaign_id = id;
    return r;
}

int nm_store_last_campaign(struct nm_store *store, const char *nas, const char *firmware,
                           int64_t *ret_campaign_id, char **ret_canonical_run, struct nm_error *err)
{
    sqlite3_stmt *statement;
    char *text = NULL;
    int64_t id = 0;
    int r = nm_sql_query(store,
                         "SELECT c.id, c.canonical_run FROM campaign c"
                         " JOIN firmware f ON f.id=c.firmware_id JOIN nas n ON n.id=f.nas_id"
                         " LEFT JOIN session s ON s.campaign_id=c.id"
                         " WHERE n.name=? AND f.version=?"
                         " ORDER BY s.start_utc_ns DESC, c.id DESC LIMIT 1",
                         &statement, err, "tt", nas, firmware);

    if (r == 0)
        r = nm_sql_step(store, statement, err);
    if (r < 0)
        return r;
    if (r == 1) {
        id = sqlite3_column_int64(statement, 0);
        text = strdup(nm_sql_text(statement, 1));
        sqlite3_reset(statement);
        if (!text)
            return nm_error_errno(err, -ENOMEM, "store: out of memory");
    }
    *ret_campaign_id = id;
    *ret_canonical_run = text;
    return 0;
}

/* Kind under which the volume is known already; -ENOENT when it is new. */
static int check_kind(struct nm_store *store, int64_t firmware_id,
                      const struct nm_volume_record *volume, struct nm_error *err)
{
    sqlite3_stmt *statement;
    int r = nm_sql_query(store, "SELECT kind FROM volume WHERE firmware_id=? AND name=?",
                         &statement, err, "it", firmware_id, volume->name);

    if (r == 0)
        r = nm_sql_step(store, statement, err);
    if (r <= 0)
        return r;
    r = 0;
    if (strcmp(nm_sql_text(statement, 0), volume->kind))
        r = nm_error_set(
            err, -EEXIST, NM_REASON_PROTECTED,
            "volume %s is stored with kind %s for this firmware, now it says %s; a new "
            "configuration needs a section name of its own",
            volume->name, nm_sql_text(statement, 0), volume->kind);
    sqlite3_reset(statement);
    return r;
}

int nm_store_volume(struct nm_store *store, int64_t campaign_id,
                    const struct nm_volume_record *volume, int64_t *ret_volume_id,
                    struct nm_error *err)
{
    int64_t firmware_id = 0, id = 0;
    int r = nm_sql_begin(store, err);

    if (r < 0)
        return r;
    r = nm_sql_int(store, "SELECT firmware_id FROM campaign WHERE id=?", &firmware_id, err, "i",
                   campaign_id);
    if (r == -ENOENT)
        r = nm_error_set(err, -ENOENT, NM_REASON_INTERNAL, "store: there is no campaign %" PRId64,
                         campaign_id);
    if (r == 0)
        r = check_kind(store, firmware_id, volume, err);
    if (r == 0)
        r = nm_sql_int(store,
                       "INSERT INTO volume(firmware_id, name, kind, label, interface, position)"
                       " VALUES(?, ?, ?, ?, ?, ?) ON CONFLICT(firmware_id, name) DO UPDATE SET"
                       " label=excluded.label, interface=excluded.interface,"
                       " position=excluded.position RETURNING id",
                       &id, err, "itttti", firmware_id, volume->name, volume->kind, volume->label,
                       volume->interface, (int64_t)volume->position);
    r = nm_sql_end(store, r, err);
    if (r == 0)
        *ret_volume_id = id;
    return r;
}

/* Compares with what is stored; -ENOENT (err untouched) when nothing is. */
static int compare_identity(struct nm_store *store, int64_t volume_id, const char *protocol,
                            const char *identity, struct nm_error *err)
{
    sqlite3_stmt *statement;
    int r = nm_sql_query(store,
                         "SELECT i.identity, v.name FROM identity i JOIN volume v"
                         " ON v.id=i.volume_id WHERE i.volume_id=? AND i.protocol=?",
                         &statement, err, "it", volume_id, protocol);

    if (r == 0)
        r = nm_sql_step(store, statement, err);
    if (r <= 0)
        return r < 0 ? r : -ENOENT;
    r = 0;
    if (strcmp(nm_sql_text(statement, 0), identity))
        r = nm_error_set(
            err, -EEXIST, NM_REASON_PROTECTED,
            "volume %.64s over %s was '%.120s' and is now '%.120s': its trials would be "
            "mixed with another device's; give it a name of its own (bench: --volume)",
            nm_sql_text(statement, 1), protocol, nm_sql_text(statement, 0), identity);
    sqlite3_reset(statement);
    return r;
}

int nm_store_check_identity(struct nm_store *store, int64_t volume_id, const char *protocol,
                            const char *identity, struct nm_error *err)
{
    int r = nm_sql_begin(store, err);

    if (r < 0)
        return r;
    r = compare_identity(store, volume_id, protocol, identity, err);
    if (r == -ENOENT)
        r = nm_sql_run(store, "INSERT INTO identity VALUES(?, ?, ?)", err, "itt", volume_id,
                       protocol, identity);
    return nm_sql_end(store, r, err);
}

/* Eight hex digits that no other session of this file has. */
static int draw_run_id(struct nm_store *store, char ret_run_id[16], struct nm_error *err)
{
    for (;;) {
        uint32_t value;
        int64_t there;
        int r;

        if (getrandom(&value, sizeof(value), 0) != sizeof(value))
            return nm_error_errno(err, -errno, "run id: %s", strerror(errno));
        snprintf(ret_run_id, 16, "%08" PRIx32, value);
        r = nm_sql_int(store, "SELECT id FROM session WHERE run=?", &there, err, "t", ret_run_id);
        if (r != 0)
            return r == -ENOENT ? 0 : r;
    }
}

int nm_store_session_begin(struct nm_store *store, int64_t campaign_id, uint64_t seed,
                           const char *order, const char *plan_text, const char *client,
                           int64_t *ret_session_id, char ret_run_id[16], struct nm_error *err)
{
    char seed_text[24], run_id[16];
    int64_t id = 0;
    int r = nm_sql_begin(store, err);

    if (r < 0)
        return r;
    snprintf(seed_text, sizeof(seed_text), "%" PRIu64, seed);
    r = draw_run_id(store, run_id, err);
    if (r == 0)
        r = nm_sql_int(store,
                       "INSERT INTO session(run, campaign_id, seed, run_order, plan, client,"
                       " program, start_utc_ns) VALUES(?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
                       &id, err, "titttttu", run_id, campaign_id, seed_text, order, plan_text,
                       client, NM_VERSION, nm_clock_utc_ns());
    r = nm_sql_end(store, r, err);
    if (r == 0) {
        *ret_session_id = id;
        memcpy(ret_run_id, run_id, sizeof(run_id));
    }
    return r;
}

int nm_store_session_end(struct nm_store *store, int64_t session_id, const char *outcome,
                         struct nm_error *err)
{
    return nm_sql_run(store, "UPDATE session SET end_utc_ns=?, outcome=? WHERE id=?", err, "uti",
                      nm_clock_utc_ns(), outcome, session_id);
}

int nm_store_passes(struct nm_store *store, int64_t campaign_id, uint32_t round, int64_t volume_id,
                    const char *protocol, const char *url, const char *workload, const char *phase,
                    bool *ret_done, uint32_t n, struct nm_error *err)
{
    sqlite3_stmt *statement;
    int r = nm_sql_query(
        store,
        "SELECT DISTINCT t.pass FROM cell c JOIN trial t ON t.cell_id=c.id AND t.void_why IS NULL"
        " JOIN target u ON u.id=t.target_id AND u.url=?"
        " WHERE c.campaign_id=? AND c.round=? AND c.volume_id=? AND c.protocol=?"
        " AND c.phase_id=(SELECT p.id FROM phase p JOIN workload w ON w.id=p.workload_id"
        "  WHERE w.key=? AND p.name=?)"
        " AND t.status IN ('ok', 'unsupported', 'na', 'too_short') AND t.pass BETWEEN 1 AND ?",
        &statement, err, "tiuitttu", url, campaign_id, (uint64_t)round, volume_id, protocol,
        workload, phase, (uint64_t)n);

    if (r == 0)
        memset(ret_done, 0, n * sizeof(*ret_done));
    while (r >= 0 && (r = nm_sql_step(store, statement, err)) > 0)
        ret_done[sqlite3_column_int64(statement, 0) - 1] = true;
    return r;
}

int nm_store_find_volume(struct nm_store *store, const struct nm_nas_record *nas,
                         const char *canonical_run, const char *volume, int64_t *ret_campaign_id,
                         int64_t *ret_volume_id, struct nm_error *err)
{
    sqlite3_stmt *statement;
    int r = nm_sql_query(store,
                         "SELECT c.id, v.id FROM campaign c JOIN firmware f ON f.id=c.firmware_id"
                         " JOIN nas n ON n.id=f.nas_id JOIN volume v ON v.firmware_id=f.id"
                         " WHERE n.name=? AND f.version=? AND c.canonical_run=? AND v.name=?",
                         &statement, err, "tttt", nas->name, nas->firmware, canonical_run, volume);

    if (r == 0)
        r = nm_sql_step(store, statement, err);
    if (r < 0)
        return r;
    *ret_campaign_id = r ? sqlite3_column_int64(statement, 0) : 0;
    *ret_volume_id = r ? sqlite3_column_int64(statement, 1) : 0;
    if (r)
        sqlite3_reset(statement);
    return 0;
}

int nm_store_last_trial(struct nm_store *store, int64_t *ret_trial_id, struct nm_error *err)
{
    return nm_sql_int(store, "SELECT coalesce(max(id), 0) FROM trial", ret_trial_id, err, "");
}

int nm_store_round(struct nm_store *store, int64_t campaign_id, uint32_t *ret_round,
                   struct nm_error *err)
{
    int64_t round = 0;
    int r = nm_sql_int(store, "SELECT coalesce(max(round), 0) FROM cell WHERE campaign_id=?",
                       &round, err, "i", campaign_id);

    if (r == 0)
        *ret_round = (uint32_t)round;
    return r;
}

int nm_store_void_trial(struct nm_store *store, int64_t trial_id, const char *why,
                        struct nm_error *err)
{
    int64_t id;
    int r = nm_sql_begin(store, err);

    if (r < 0)
        return r;
    r = nm_sql_int(store,
                   "UPDATE trial SET void_why=?, void_utc_ns=? WHERE id=? AND void_why IS NULL"
                   " RETURNING id",
                   &id, err, "tui", why, nm_clock_utc_ns(), trial_id);
    if (r == -ENOENT) {
        r = nm_sql_int(store, "SELECT id FROM trial WHERE id=?", &id, err, "i", trial_id);
        if (r == 0)
            r = nm_error_set(err, -EALREADY, NM_REASON_PROTECTED,
                             "trial %" PRId64 " is void already; its reason stays", trial_id);
        else if (r == -ENOENT)
            r = nm_error_set(err, -ENOENT, NM_REASON_NOT_FOUND,
                             "there is no trial %" PRId64 "; `nasmark show RUN` lists them",
                             trial_id);
    }
    return nm_sql_end(store, r, err);
}

int nm_store_note(struct nm_store *store, const char *run_id, const char *text,
                  struct nm_error *err)
{
    int64_t id;
    int r = nm_sql_begin(store, err);

    if (r < 0)
        return r;
    r = nm_sql_int(store,
                   "INSERT INTO note(session_id, utc_ns, text)"
                   " SELECT id, ?2, ?3 FROM session WHERE run=?1 RETURNING id",
                   &id, err, "tut", run_id, nm_clock_utc_ns(), text);
    if (r == -ENOENT)
        r = nm_error_set(err, -ENOENT, NM_REASON_NOT_FOUND,
                         "there is no run %s; `nasmark list runs` shows them", run_id);
    return nm_sql_end(store, r, err);
}

int nm_store_target(struct nm_store *store, int64_t volume_id, const char *protocol,
                    const char *url, struct nm_error *err)
{
    return nm_sql_run(store,
                      "INSERT INTO target(volume_id, protocol, url) VALUES(?, ?, ?)"
                      " ON CONFLICT DO NOTHING",
                      err, "itt", volume_id, protocol, url);
}

int nm_store_targets(struct nm_store *store, int (*take)(void *context, const char *url),
                     void *context, struct nm_error *err)
{
    sqlite3_stmt *statement;
    int r = nm_sql_query(store, "SELECT DISTINCT url FROM target WHERE url<>'' ORDER BY url",
                         &statement, err, "");

    while (r >= 0 && (r = nm_sql_step(store, statement, err)) > 0) {
        r = take(context, (const char *)sqlite3_column_text(statement, 0));
        if (r)
            return r < 0 ? nm_error_errno(err, r, "reading the targets: %s", strerror(-r)) : r;
    }
    return r;
}
