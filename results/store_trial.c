/* Writing one trial: cell, conditions, values, metrics, histograms and bins in one transaction
 * (store.h). A killed process leaves a whole trial or none.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_sql.h"

#include "clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static void hash_of(const char *text, char out[33])
{
    XXH128_hash_t hash = XXH3_128bits(text, strlen(text));

    snprintf(out, 33, "%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64, (uint64_t)hash.low64);
}

static int store_conditions(struct nm_store *store, const struct nm_conditions *set,
                            int64_t *ret_key_id, int64_t *ret_id, struct nm_error *err)
{
    static const struct nm_conditions none;
    char *key = nm_conditions_key_text(set ? set : &none), *text = nm_pack_conditions(set);
    char hash[33];
    int r = 0;

    if (!key || !text) {
        r = nm_error_errno(err, -ENOMEM, "store: out of memory");
        goto out;
    }
    hash_of(key, hash);
    r = nm_sql_find_or_insert(store, "SELECT id FROM key_conditions WHERE hash=?1",
                              "INSERT INTO key_conditions(hash, text) VALUES(?1, ?2) RETURNING id",
                              ret_key_id, err, "tt", hash, key);
    if (r < 0)
        goto out;
    hash_of(text, hash);
    r = nm_sql_find_or_insert(store, "SELECT id FROM conditions WHERE hash=?1",
                              "INSERT INTO conditions(hash, text) VALUES(?1, ?2) RETURNING id",
                              ret_id, err, "tt", hash, text);
out:
    free(key);
    free(text);
    return r;
}

static int store_phase(struct nm_store *store, const struct nm_trial_record *trial,
                       int64_t *ret_phase_id, struct nm_error *err)
{
    int64_t workload_id = 0;
    int r = nm_sql_find_or_insert(store, "SELECT id FROM workload WHERE key=?1",
                                  "INSERT INTO workload(key) VALUES(?1) RETURNING id", &workload_id,
                                  err, "t", trial->workload);

    if (r == 0)
        r = nm_sql_find_or_insert(
            store, "SELECT id FROM phase WHERE workload_id=?1 AND name=?2",
            "INSERT INTO phase(workload_id, name, position, writes) VALUES(?1, ?2, ?3, ?4)"
            " RETURNING id",
            ret_phase_id, err, "itii", workload_id, trial->phase, (int64_t)trial->phase_index,
            (int64_t)trial->phase_writes);
    return r;
}

static int store_cell(struct nm_store *store, const struct nm_trial_record *trial, int64_t key_id,
                      int64_t *ret_cell_id, struct nm_error *err)
{
    bool imported = strcmp(trial->source, "measured") != 0;
    int64_t phase_id = 0;
    int r = store_phase(store, trial, &phase_id, err);

    if (r == 0)
        r = nm_sql_find_or_insert(
            store,
            "SELECT id FROM cell WHERE campaign_id=?1 AND volume_id=?2 AND protocol=?3"
            " AND phase_id=?4 AND round=?5 AND imported=?6 AND key_id=?7",
            "INSERT INTO cell(campaign_id, volume_id, protocol, phase_id, round, imported, key_id)"
            " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING id",
            ret_cell_id, err, "iitiuii", trial->campaign_id, trial->volume_id, trial->protocol,
            phase_id, (uint64_t)trial->round, (int64_t)imported, key_id);
    return r;
}

/* Numbers that were not measured are NULL: of a trial that did not take place all, of any other
 * those that the caller left 0 although 0 cannot be a result. */
static int store_values(struct nm_store *store, const struct nm_trial_record *t, int64_t cell_id,
                        int64_t conditions_id, int64_t *ret_trial_id, struct nm_error *err)
{
    static const struct nm_trial_record nothing;
    bool took_place = t->status != NM_STATUS_NA && t->status != NM_STATUS_UNSUPPORTED &&
                      t->status != NM_STATUS_MISSING;
    const struct nm_trial_record *v = took_place ? t : &nothing;
    const char *reason = t->reason == NM_REASON_NONE ? NULL : nm_reason_name(t->reason);
    const char *flags = t->flags && *t->flags ? t->flags : NULL;
    const char *void_why = t->status != NM_STATUS_VOID ? NULL : t->message ? t->message : "";
    int64_t target_id = 0;
    int r = nm_sql_find_or_insert(
        store, "SELECT id FROM target WHERE volume_id=?1 AND protocol=?2 AND url=?3",
        "INSERT INTO target(volume_id, protocol, url) VALUES(?1, ?2, ?3) RETURNING id", &target_id,
        err, "itt", t->volume_id, t->protocol, t->target);

    if (r < 0)
        return r;
    return nm_sql_int(
        store,
        "INSERT INTO trial(cell_id, session_id, target_id, conditions_id, pass, group_order,"
        " status, reason, raw, message, flags, source, source_text, start_utc_ns, duration_ns,"
        " bytes, files, operations, cpu_ns, generator_cpu_ns, streams, void_why)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15,"
        " iif(?22, ?16, NULL), ?17, ?18, ?19, ?20, ?21, ?23) RETURNING id",
        ret_trial_id, err, "iiiiuutttttttzzuzzzzzit", cell_id, t->session_id, target_id,
        conditions_id, (uint64_t)t->pass, (uint64_t)t->group_order, nm_status_name(t->status),
        reason, t->raw, t->message, flags, t->source, t->source_text, t->start_utc_ns,
        v->duration_ns, v->bytes, v->files, v->operations, v->cpu_ns, v->generator_cpu_ns,
        (uint64_t)v->streams, (int64_t)took_place, void_why);
}

static int store_metrics(struct nm_store *store, int64_t trial_id, const struct nm_metrics *set,
                         struct nm_error *err)
{
    int r = 0;

    for (uint32_t i = 0; set && i < set->count && r == 0; i++) {
        const struct nm_metric *metric = &set->items[i];

        r = nm_sql_run(store, "INSERT INTO metric VALUES(?, ?, ?, ?, ?, ?, ?)", err, "iuttttd",
                       trial_id, (uint64_t)i, metric->name, metric->unit,
                       nm_better_name(metric->better), nm_summary_name(metric->summary),
                       metric->value);
    }
    return r;
}

static int store_histograms(struct nm_store *store, int64_t trial_id,
                            const struct nm_trial_record *trial, struct nm_error *err)
{
    int r = 0;

    for (size_t i = 0; i < trial->n_histograms && r == 0; i++) {
        const struct nm_histogram_record *record = &trial->histograms[i];
        char *text = nm_histogram_format(record->histogram);

        if (!text)
            return nm_error_errno(err, -ENOMEM, "store: out of memory");
        r = nm_sql_run(store, "INSERT INTO histogram VALUES(?, ?, ?)", err, "itt", trial_id,
                       record->operation, text);
        free(text);
    }
    return r;
}

static int store_bins(struct nm_store *store, int64_t trial_id, const struct nm_trial_record *trial,
                      struct nm_error *err)
{
    unsigned char *blob;
    size_t size;
    int r;

    if (!trial->n_bins)
        return 0;
    blob = nm_pack_bins(trial->bins_bytes, trial->n_bins, &size);
    if (!blob)
        return nm_error_errno(err, -ENOMEM, "store: out of memory");
    r = nm_sql_run(store, "INSERT INTO bins VALUES(?, ?, ?, ?)", err, "iuub", trial_id,
                   trial->bin_ns, (uint64_t)trial->n_bins, blob, size);
    free(blob);
    return r;
}

/* History goes by the first run; imported trials can be older than the day of their import. */
static int age_firmware(struct nm_store *store, const struct nm_trial_record *trial,
                        struct nm_error *err)
{
    if (!trial->start_utc_ns)
        return 0;
    return nm_sql_run(store,
                      "UPDATE firmware SET first_run_utc_ns=?2 WHERE first_run_utc_ns>?2 AND"
                      " id=(SELECT firmware_id FROM campaign WHERE id=?1)",
                      err, "iu", trial->campaign_id, trial->start_utc_ns);
}

/* One trial of a cell per pass. A group whose later phase was cut off (killed, failed) runs again
 * as a whole, so its earlier phases have a trial already. */
static int supersede(struct nm_store *store, const struct nm_trial_record *trial, int64_t cell_id,
                     struct nm_error *err)
{
    if (!trial->earlier_trials ||
        (trial->status != NM_STATUS_OK && trial->status != NM_STATUS_TOO_SHORT))
        return 0;
    return nm_sql_run(store,
                      "UPDATE trial SET void_utc_ns=?5, void_why='measured again in run '||(SELECT "
                      "run FROM session WHERE id=?4)"
                      " WHERE cell_id=?1 AND pass=?2 AND id<=?3 AND void_why IS NULL"
                      " AND status IN ('ok', 'too_short')",
                      err, "iuiiu", cell_id, (uint64_t)trial->pass, trial->earlier_trials,
                      trial->session_id, nm_clock_utc_ns());
}

int nm_store_trial(struct nm_store *store, const struct nm_trial_record *trial,
                   int64_t *ret_trial_id, struct nm_error *err)
{
    int64_t key_id = 0, conditions_id = 0, cell_id = 0, id = 0;
    int r = nm_sql_begin(store, err);

    if (r < 0)
        return r;
    r = store_conditions(store, trial->conditions, &key_id, &conditions_id, err);
    if (r == 0)
        r = store_cell(store, trial, key_id, &cell_id, err);
    if (r == 0)
        r = store_values(store, trial, cell_id, conditions_id, &id, err);
    if (r == 0)
        r = supersede(store, trial, cell_id, err);
    if (r == 0)
        r = store_metrics(store, id, trial->metrics, err);
    if (r == 0)
        r = store_histograms(store, id, trial, err);
    if (r == 0)
        r = store_bins(store, id, trial, err);
    if (r == 0)
        r = nm_store_points(store, id, trial->points, trial->n_points, err);
    if (r == 0)
        r = age_firmware(store, trial, err);
    r = nm_sql_end(store, r, err);
    if (r == 0 && ret_trial_id)
        *ret_trial_id = id;
    return r;
}
