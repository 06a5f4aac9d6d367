/* Lists and single objects of the store as JSON (browse.h).
 *
 * Objects are made from the columns of a query: the name of a column is the key. A column
 * NAME_utc_ns becomes NAME_utc, a date.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "browse.h"

#include "cell_json.h"
#include "clock.h"
#include "escape.h"
#include "select_words.h"
#include "store_document.h"
#include "store_sql.h"
#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(struct nm_error *err)
{
    return nm_error_errno(err, -ENOMEM, "reading the store: out of memory");
}

static json_t *column_json(sqlite3_stmt *statement, int column)
{
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER: return json_integer(sqlite3_column_int64(statement, column));
    case SQLITE_FLOAT: return json_real(sqlite3_column_double(statement, column));
    case SQLITE_TEXT: return nm_escape_json(nm_sql_text(statement, column));
    default: return json_null();
    }
}

static int set_column(json_t *object, sqlite3_stmt *statement, int column)
{
    static const char suffix[] = "_utc_ns";
    const char *name = sqlite3_column_name(statement, column);
    size_t length = strlen(name), cut = sizeof(suffix) - 1;
    char key[64], utc[24];

    if (length <= cut || strcmp(name + length - cut, suffix))
        return json_object_set_new(object, name, column_json(statement, column));
    snprintf(key, sizeof(key), "%.*s", (int)(length - 3), name); /* without "_ns" */
    if (sqlite3_column_type(statement, column) == SQLITE_NULL)
        return json_object_set_new(object, key, json_null());
    nm_clock_format_utc((uint64_t)sqlite3_column_int64(statement, column), utc);
    return json_object_set_new(object, key, json_string(utc));
}

static json_t *row_json(sqlite3_stmt *statement)
{
    json_t *object = json_object();

    for (int i = 0; object && i < sqlite3_column_count(statement); i++)
        if (set_column(object, statement, i) < 0) {
            json_decref(object);
            return NULL;
        }
    return object;
}

/* The words apply to what the objects have under the same name. */
static bool wanted(const struct nm_select *select, const json_t *object)
{
    static const struct {
        enum nm_select_key key;
        const char *name;
    } keys[] = {
        {NM_SELECT_NAS, "nas"},
        {NM_SELECT_FIRMWARE, "firmware"},
        {NM_SELECT_RUN, "run"},
    };
    json_int_t campaign = json_integer_value(json_object_get(object, "campaign"));
    char text[24];

    for (size_t i = 0; select && i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *value = json_string_value(json_object_get(object, keys[i].name));

        if (value && !nm_select_fits(select, keys[i].key, value))
            return false;
    }
    snprintf(text, sizeof(text), "%lld", (long long)campaign);
    return !select || !campaign || nm_select_fits(select, NM_SELECT_CAMPAIGN, text);
}

/* Rows of a bound statement into an array. */
static int collect(struct nm_store *store, sqlite3_stmt *statement, const struct nm_select *select,
                   json_t **ret, struct nm_error *err)
{
    json_t *array = json_array();
    int r = array ? 0 : no_memory(err);

    while (r == 0 && (r = nm_sql_step(store, statement, err)) == 1) {
        json_t *object = row_json(statement);

        r = object ? 0 : no_memory(err);
        if (object && !wanted(select, object))
            json_decref(object);
        else if (object && json_array_append_new(array, object) < 0)
            r = no_memory(err);
    }
    sqlite3_reset(statement);
    if (r < 0)
        json_decref(array);
    else
        *ret = array;
    return r;
}

static int check_words(const struct nm_select *select, const char *what, const char *known,
                       struct nm_error *err)
{
    static const char *const others[] = {"volume",   "kind",  "protocol",
                                         "workload", "phase", "source"};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (nm_select_get(select, others[i]))
            return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                                "%s= does not narrow %s; it takes %s", others[i], what, known);
    return 0;
}

int nm_browse_runs(struct nm_store *store, const struct nm_select *select, json_t **ret,
                   struct nm_error *err)
{
    sqlite3_stmt *statement;
    int r = check_words(select, "runs", "nas firmware run campaign since", err);

    if (r == 0)
        r = nm_sql_query(
            store,
            "SELECT s.run AS run, n.name AS nas, f.version AS firmware, s.campaign_id AS campaign,"
            " s.start_utc_ns AS start_utc_ns, s.end_utc_ns AS end_utc_ns,"
            " coalesce(s.outcome, 'unfinished') AS outcome, s.run_order AS \"order\","
            " (SELECT count(*) FROM trial t WHERE t.session_id=s.id) AS trials,"
            " (SELECT count(*) FROM trial t WHERE t.session_id=s.id AND t.status='failed'"
            "  AND t.void_why IS NULL) AS failed,"
            " (SELECT count(*) FROM trial t WHERE t.session_id=s.id AND t.void_why IS NOT NULL)"
            "  AS void,"
            " (SELECT count(*) FROM note o WHERE o.session_id=s.id) AS notes"
            " FROM session s JOIN campaign a ON a.id=s.campaign_id"
            " JOIN firmware f ON f.id=a.firmware_id JOIN nas n ON n.id=f.nas_id"
            " WHERE s.start_utc_ns >= ?1 ORDER BY s.start_utc_ns, s.id",
            &statement, err, "u", select->since_utc_ns);
    return r < 0 ? r : collect(store, statement, select, ret, err);
}

int nm_browse_nas(struct nm_store *store, const struct nm_select *select, json_t **ret,
                  struct nm_error *err)
{
    sqlite3_stmt *statement;
    int r = check_words(select, "the list of NAS", "nas firmware", err);

    if (r == 0)
        r = nm_sql_query(
            store,
            "SELECT n.name AS nas, n.vendor AS vendor, n.model AS model, n.disks AS disks,"
            " n.ram_bytes AS ram_bytes, f.version AS firmware, f.date AS firmware_date,"
            " f.first_run_utc_ns AS first_run_utc_ns,"
            " (SELECT count(*) FROM volume v WHERE v.firmware_id=f.id) AS volumes,"
            " (SELECT count(*) FROM campaign a WHERE a.firmware_id=f.id) AS campaigns,"
            " (SELECT count(*) FROM session s JOIN campaign a ON a.id=s.campaign_id"
            "  WHERE a.firmware_id=f.id) AS runs"
            " FROM nas n JOIN firmware f ON f.nas_id=n.id ORDER BY n.name, "
            " " NM_SQL_FIRMWARE_ORDER,
            &statement, err, "");
    return r < 0 ? r : collect(store, statement, select, ret, err);
}

/* 6 digits are enough for a list; the exact numbers are in `table --json` and `export`. */
static json_t *rate_json(double bytes_per_s)
{
    return bytes_per_s > 0 ? json_real(bytes_per_s) : json_null();
}

int nm_browse_cells(struct nm_store *store, const struct nm_select *select, json_t **ret,
                    struct nm_error *err)
{
    struct nm_cells *cells;
    json_t *array;
    int r = nm_select_cells(store, select, &cells, err);

    if (r < 0)
        return r;
    array = json_array();
    for (size_t i = 0; array && i < cells->count; i++) {
        const struct nm_cell *cell = &cells->items[i];

        json_array_append_new(
            array,
            json_pack(
                "{s:o, s:o, s:I, s:i, s:o, s:o, s:o, s:o, s:o, s:s, s:i, s:i, s:o, s:o, s:s,"
                " s:s}",
                "nas", nm_escape_json(cell->nas), "firmware", nm_escape_json(cell->firmware),
                "campaign", (json_int_t)cell->campaign_id, "round", (int)cell->round, "volume",
                nm_escape_json(cell->volume), "kind", nm_escape_json(cell->kind), "protocol",
                nm_escape_json(cell->protocol), "workload", nm_escape_json(cell->workload), "phase",
                nm_escape_json(cell->phase), "status", nm_cell_status_name(cell->status), "n",
                (int)cell->n_ok, "n_failed", (int)cell->n_failed, "bytes_per_s",
                rate_json(cell->bytes_per_s), "flags", nm_flags_json(cell->flags), "source",
                cell->imported ? "imported" : "measured", "conditions", cell->conditions_hash));
    }
    nm_cells_free(cells);
    if (!array)
        return no_memory(err);
    *ret = array;
    return 0;
}

/* Members of a run that are lists. */
static int add_lists(struct nm_store *store, const char *run, json_t *object, struct nm_error *err)
{
    json_t *notes = NULL, *trials = NULL;
    sqlite3_stmt *statement;
    int r = nm_sql_query(store,
                         "SELECT o.utc_ns AS at_utc_ns, o.text AS text FROM note o"
                         " JOIN session s ON s.id=o.session_id WHERE s.run=? ORDER BY o.id",
                         &statement, err, "t", run);

    if (r == 0)
        r = collect(store, statement, NULL, &notes, err);
    if (r == 0 && json_object_set_new(object, "notes", notes) < 0)
        r = no_memory(err);
    if (r == 0)
        r = nm_sql_query(
            store,
            "SELECT t.id AS trial, v.name AS volume, c.protocol AS protocol, w.key AS workload,"
            " p.name AS phase, c.round AS round, t.pass AS pass,"
            " iif(t.void_why IS NULL, t.status, 'void') AS status,"
            " t.bytes AS bytes, t.duration_ns AS duration_ns,"
            " iif(t.status='ok', t.bytes * 1e9 / t.duration_ns, NULL) AS bytes_per_s,"
            " t.reason AS reason, coalesce(t.void_why, t.message) AS message"
            " FROM trial t JOIN session s ON s.id=t.session_id JOIN cell c ON c.id=t.cell_id"
            " JOIN volume v ON v.id=c.volume_id JOIN phase p ON p.id=c.phase_id"
            " JOIN workload w ON w.id=p.workload_id WHERE s.run=? ORDER BY t.id",
            &statement, err, "t", run);
    if (r == 0)
        r = collect(store, statement, NULL, &trials, err);
    if (r == 0 && json_object_set_new(object, "trials", trials) < 0)
        r = no_memory(err);
    return r;
}

/* -ENOENT (err untouched) when there is no such run. */
static int show_run(struct nm_store *store, const char *run, json_t **ret, struct nm_error *err)
{
    sqlite3_stmt *statement;
    json_t *array;
    int r = nm_sql_query(
        store,
        "SELECT s.run AS run, n.name AS nas, f.version AS firmware, s.campaign_id AS campaign,"
        " s.start_utc_ns AS start_utc_ns, s.end_utc_ns AS end_utc_ns,"
        " coalesce(s.outcome, 'unfinished') AS outcome, s.run_order AS \"order\", s.seed AS seed,"
        " s.program AS program, s.client AS client, s.plan AS plan"
        " FROM session s JOIN campaign a ON a.id=s.campaign_id"
        " JOIN firmware f ON f.id=a.firmware_id JOIN nas n ON n.id=f.nas_id WHERE s.run=?",
        &statement, err, "t", run);

    if (r == 0)
        r = collect(store, statement, NULL, &array, err);
    if (r < 0)
        return r;
    r = json_array_size(array) ? add_lists(store, run, json_array_get(array, 0), err) : -ENOENT;
    if (r < 0)
        json_decref(array);
    else
        *ret = array;
    return r;
}

static json_t *latency_json(const struct nm_trial_record *trial)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < trial->n_histograms; i++) {
        const struct nm_histogram *h = trial->histograms[i].histogram;
        json_t *object =
            json_pack("{s:o, s:I}", "operation", nm_escape_json(trial->histograms[i].operation),
                      "count", (json_int_t)h->count);
        static const struct {
            const char *key;
            double fraction;
        } points[] = {{"min_ns", 0},    {"p50_ns", 0.5},    {"p90_ns", 0.9},
                      {"p99_ns", 0.99}, {"p999_ns", 0.999}, {"max_ns", 1}};

        for (size_t k = 0; h->count && k < sizeof(points) / sizeof(points[0]); k++)
            json_object_set_new(
                object, points[k].key,
                json_integer((json_int_t)nm_histogram_percentile(h, points[k].fraction)));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *bins_json(const struct nm_trial_record *trial)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < trial->n_bins; i++)
        json_array_append_new(array, json_integer((json_int_t)trial->bins_bytes[i]));
    return array;
}

static json_t *nonzero(uint64_t value)
{
    return value ? json_integer((json_int_t)value) : json_null();
}

static json_t *trial_json(const struct nm_document *document, int64_t id)
{
    const struct nm_trial_record *t = &document->trial;
    bool took_place = t->status != NM_STATUS_NA && t->status != NM_STATUS_UNSUPPORTED &&
                      t->status != NM_STATUS_MISSING;
    char start[24] = "";
    json_t *object = json_object();
    const struct {
        const char *key;
        json_t *value;
    } members[] = {
        {"trial", json_integer((json_int_t)id)},
        {"run", nm_escape_json(document->session.run)},
        {"nas", nm_escape_json(document->nas.name)},
        {"firmware", nm_escape_json(document->nas.firmware)},
        {"volume", nm_escape_json(document->volume.name)},
        {"kind", nm_escape_json(document->volume.kind)},
        {"protocol", nm_escape_json(t->protocol)},
        {"target", nm_escape_json(t->target)},
        {"workload", nm_escape_json(t->workload)},
        {"phase", nm_escape_json(t->phase)},
        {"round", json_integer(t->round)},
        {"pass", json_integer(t->pass)},
        {"group_order", json_integer(t->group_order)},
        {"status", json_string(nm_status_name(t->status))},
        {"reason", nm_escape_json(t->reason ? nm_reason_name(t->reason) : NULL)},
        {"raw", nm_escape_json(t->raw)},
        {"message", nm_escape_json(t->message)},
        {"start_utc", t->start_utc_ns
                          ? (nm_clock_format_utc(t->start_utc_ns, start), json_string(start))
                          : json_null()},
        {"bytes", took_place ? json_integer((json_int_t)t->bytes) : json_null()},
        {"duration_ns", nonzero(t->duration_ns)},
        {"bytes_per_s", t->status == NM_STATUS_OK && t->duration_ns
                            ? json_real((double)t->bytes * 1e9 / (double)t->duration_ns)
                            : json_null()},
        {"files", nonzero(t->files)},
        {"operations", nonzero(t->operations)},
        {"streams", nonzero(t->streams)},
        {"cpu_ns", nonzero(t->cpu_ns)},
        {"generator_cpu_ns", nonzero(t->generator_cpu_ns)},
        {"flags", nm_flags_json(t->flags)},
        {"source", nm_escape_json(t->source)},
        {"source_text", nm_escape_json(t->source_text)},
        {"metrics", nm_metrics_json(t->metrics)},
        {"latency", latency_json(t)},
        {"conditions", nm_conditions_json(t->conditions)},
        {"bin_ns", nonzero(t->bin_ns)},
        {"bins_bytes", bins_json(t)},
        {"points", nm_document_points_json(t)},
    };

    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        if (json_object_set_new(object, members[i].key, members[i].value) < 0) {
            json_decref(object);
            object = NULL;
        }
    return object;
}

static int show_trial(struct nm_store *store, int64_t id, json_t **ret, struct nm_error *err)
{
    struct nm_stored_document *stored;
    json_t *object;
    int r = nm_stored_document_read(store, id, true, &stored, err);

    if (r < 0)
        return r;
    object = trial_json(&stored->document, id);
    nm_stored_document_free(stored);
    *ret = object ? json_pack("[o]", object) : NULL;
    return *ret ? 0 : no_memory(err);
}

int nm_browse_show(struct nm_store *store, const char *id, json_t **ret, struct nm_error *err)
{
    uint64_t trial;
    int r = show_run(store, id, ret, err);

    if (r != -ENOENT)
        return r;
    if (nm_units_parse_u64(id, &trial, NULL) < 0 || trial > INT64_MAX)
        return nm_error_set(err, -ENOENT, NM_REASON_NOT_FOUND,
                            "there is no run %s; `nasmark list runs` shows them", id);
    return show_trial(store, (int64_t)trial, ret, err);
}
