/* Reading one whole trial (store_document.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_document.h"

#include "select.h"
#include "store_sql.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(struct nm_error *err)
{
    return nm_error_errno(err, -ENOMEM, "reading a trial: out of memory");
}

/* Columns are read in order; *bad is set when memory runs out. */
struct row {
    sqlite3_stmt *statement;
    struct nm_pool *pool;
    int at;
    bool bad;
};

static const char *text(struct row *row)
{
    const char *value = (const char *)sqlite3_column_text(row->statement, row->at++);
    const char *copy = nm_pool_text(row->pool, value);

    row->bad |= value && !copy;
    return copy;
}

static uint64_t number(struct row *row)
{
    return (uint64_t)sqlite3_column_int64(row->statement, row->at++);
}

static void read_surroundings(struct row *row, struct nm_document *document)
{
    struct nm_session_record *session = &document->session;
    const char *seed;

    document->nas.name = text(row);
    document->nas.vendor = text(row);
    document->nas.model = text(row);
    document->nas.disks = text(row);
    document->nas.ram_bytes = number(row);
    document->nas.firmware = text(row);
    document->nas.firmware_date = text(row);
    document->campaign = text(row);
    session->run = text(row);
    seed = text(row);
    session->seed = seed ? strtoull(seed, NULL, 10) : 0;
    session->order = text(row);
    session->plan = text(row);
    session->client = text(row);
    session->start_utc_ns = number(row);
    session->end_utc_ns = number(row);
    session->outcome = text(row);
    document->volume.name = text(row);
    document->volume.kind = text(row);
    document->volume.label = text(row);
    document->volume.interface = text(row);
    document->volume.position = (int)number(row);
}

static void read_values(struct row *row, struct nm_trial_record *trial)
{
    const char *status, *reason, *why;
    int known;

    trial->protocol = text(row);
    trial->target = text(row);
    trial->workload = text(row);
    trial->phase = text(row);
    trial->phase_index = (int)number(row);
    trial->phase_writes = number(row);
    trial->round = (uint32_t)number(row);
    trial->pass = (uint32_t)number(row);
    trial->group_order = (uint32_t)number(row);
    status = text(row);
    known = status ? nm_status_parse(status) : -1;
    trial->status = known < 0 ? NM_STATUS_VOID : (enum nm_status)known;
    reason = text(row);
    known = reason ? nm_reason_parse(reason) : -1;
    trial->reason = known < 0 ? NM_REASON_NONE : (enum nm_reason)known;
    trial->raw = text(row);
    trial->message = text(row);
    trial->start_utc_ns = number(row);
    trial->duration_ns = number(row);
    trial->bytes = number(row);
    trial->files = number(row);
    trial->operations = number(row);
    trial->cpu_ns = number(row);
    trial->generator_cpu_ns = number(row);
    trial->streams = (uint32_t)number(row);
    trial->flags = text(row);
    trial->source = text(row);
    trial->source_text = text(row);
    why = text(row);
    if (why) {
        trial->status = NM_STATUS_VOID;
        trial->message = why;
    }
}

static int read_trial(struct nm_store *store, int64_t trial_id, struct nm_stored_document *stored,
                      struct nm_error *err)
{
    struct row row = {.pool = stored->pool};
    int r = nm_sql_query(
        store,
        "SELECT n.name, n.vendor, n.model, n.disks, n.ram_bytes, f.version, f.date,"
        " a.canonical_run, s.run, s.seed, s.run_order, s.plan, s.client, s.start_utc_ns,"
        " s.end_utc_ns, s.outcome, v.name, v.kind, v.label, v.interface, v.position,"
        " c.protocol, g.url, w.key, p.name, p.position, p.writes, c.round, t.pass, t.group_order,"
        " t.status, t.reason, t.raw, t.message, t.start_utc_ns, t.duration_ns, t.bytes, t.files,"
        " t.operations, t.cpu_ns, t.generator_cpu_ns, t.streams, t.flags, t.source, t.source_text,"
        " t.void_why, o.text"
        " FROM trial t JOIN cell c ON c.id=t.cell_id JOIN session s ON s.id=t.session_id"
        " JOIN target g ON g.id=t.target_id JOIN conditions o ON o.id=t.conditions_id"
        " JOIN campaign a ON a.id=c.campaign_id JOIN firmware f ON f.id=a.firmware_id"
        " JOIN nas n ON n.id=f.nas_id JOIN volume v ON v.id=c.volume_id"
        " JOIN phase p ON p.id=c.phase_id JOIN workload w ON w.id=p.workload_id WHERE t.id=?",
        &row.statement, err, "i", trial_id);

    if (r == 0)
        r = nm_sql_step(store, row.statement, err);
    if (r == 0)
        return nm_error_set(err, -ENOENT, NM_REASON_NOT_FOUND,
                            "there is no trial %" PRId64 "; `nasmark show RUN` lists them",
                            trial_id);
    if (r < 0)
        return r;
    read_surroundings(&row, &stored->document);
    read_values(&row, &stored->document.trial);
    nm_pack_read_conditions(nm_sql_text(row.statement, row.at), &stored->conditions);
    sqlite3_reset(row.statement);
    return row.bad ? no_memory(err) : 0;
}

static int read_metrics(struct nm_store *store, int64_t trial_id, struct nm_metrics *ret,
                        struct nm_error *err)
{
    sqlite3_stmt *s;
    int r = nm_sql_query(store,
                         "SELECT name, unit, better, summary, value FROM metric WHERE trial_id=?"
                         " ORDER BY position",
                         &s, err, "i", trial_id);

    if (r < 0)
        return r;
    while ((r = nm_sql_step(store, s, err)) == 1) {
        int better = nm_better_parse(nm_sql_text(s, 2)), how = nm_summary_parse(nm_sql_text(s, 3));
        bool known = sqlite3_column_type(s, 4) != SQLITE_NULL;

        nm_metrics_add(ret, nm_sql_text(s, 0), nm_sql_text(s, 1),
                       better < 0 ? NM_BETTER_NONE : (enum nm_better)better,
                       how < 0 ? NM_SUMMARY_MEAN : (enum nm_summary)how,
                       known ? sqlite3_column_double(s, 4) : NAN);
    }
    return r;
}

static int read_histograms(struct nm_store *store, int64_t trial_id,
                           struct nm_stored_document *stored, struct nm_error *err)
{
    struct nm_trial_record *trial = &stored->document.trial;
    struct row row = {.pool = stored->pool};
    int r = nm_sql_query(
        store, "SELECT operation, text FROM histogram WHERE trial_id=? ORDER BY operation",
        &row.statement, err, "i", trial_id);

    if (r < 0)
        return r;
    while ((r = nm_sql_step(store, row.statement, err)) == 1 &&
           trial->n_histograms < NM_DOCUMENT_HISTOGRAMS_MAX) {
        struct nm_histogram *histogram = nm_pool_alloc(stored->pool, sizeof(*histogram));
        struct nm_histogram_record *record = &stored->histograms[trial->n_histograms];

        row.at = 0;
        record->operation = text(&row);
        r = !histogram || row.bad
                ? no_memory(err)
                : nm_histogram_parse(nm_sql_text(row.statement, 1), histogram, err);
        if (r < 0)
            break;
        record->histogram = histogram;
        trial->n_histograms++;
    }
    sqlite3_reset(row.statement);
    return r < 0 ? r : 0;
}

/* Not every trial has samples. */
static int unless_missing(int r, const struct nm_error *samples, struct nm_error *err)
{
    if (r < 0 && r != -ENOENT && err)
        *err = *samples;
    return r == -ENOENT ? 0 : r;
}

int nm_stored_document_read(struct nm_store *store, int64_t trial_id, bool whole,
                            struct nm_stored_document **ret, struct nm_error *err)
{
    struct nm_stored_document *stored = calloc(1, sizeof(*stored));
    struct nm_trial_record *trial = stored ? &stored->document.trial : NULL;
    struct nm_error samples;
    int r = 0;

    if (!stored || !(stored->pool = nm_pool_new()))
        r = no_memory(err);
    if (r == 0)
        r = read_trial(store, trial_id, stored, err);
    if (r == 0)
        r = read_metrics(store, trial_id, &stored->metrics, err);
    if (r == 0 && whole)
        r = read_histograms(store, trial_id, stored, err);
    if (r == 0 && whole)
        r = unless_missing(nm_select_bins(store, trial_id, &stored->bins, &trial->n_bins,
                                          &trial->bin_ns, &samples),
                           &samples, err);
    if (r == 0 && whole)
        r = unless_missing(
            nm_select_points(store, trial_id, &stored->points, &trial->n_points, &samples),
            &samples, err);
    if (r < 0) {
        nm_stored_document_free(stored);
        return r;
    }
    trial->conditions = &stored->conditions;
    trial->metrics = &stored->metrics;
    trial->histograms = stored->histograms;
    trial->bins_bytes = stored->bins;
    trial->points = stored->points;
    *ret = stored;
    return 0;
}

void nm_stored_document_free(struct nm_stored_document *stored)
{
    if (!stored)
        return;
    nm_pool_free(stored->pool);
    free(stored->bins);
    free(stored->points);
    free(stored);
}

int nm_stored_conditions_read(struct nm_store *store, int64_t trial_id, int64_t *inout_id,
                              struct nm_conditions *ret, struct nm_error *err)
{
    sqlite3_stmt *statement;
    int64_t id;
    int r =
        nm_sql_int(store, "SELECT conditions_id FROM trial WHERE id=?", &id, err, "i", trial_id);

    if (r < 0 || id == *inout_id)
        return r;
    r = nm_sql_query(store, "SELECT text FROM conditions WHERE id=?", &statement, err, "i", id);
    if (r == 0)
        r = nm_sql_step(store, statement, err);
    if (r < 0)
        return r;
    nm_pack_read_conditions(r == 1 ? nm_sql_text(statement, 0) : "", ret);
    sqlite3_reset(statement);
    *inout_id = id;
    return 1;
}
