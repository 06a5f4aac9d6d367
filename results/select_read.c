/* From the store to cells: the SQL of reading (select.h).
 *
 * Names are matched here and not in SQL: there are few cells, and globs are the shell's. Trials are
 * read cell by cell over their index; bins and histograms only when asked for.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "select_words.h"
#include "store_sql.h"

#include "../workloads/steps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct nm_store *store;
    const struct nm_select *select;
    struct nm_pool *pool;
    struct nm_cell_rows rows;
    struct nm_trial *trials; /* scratch for one cell */
    size_t room;
    /* conditions read last: neighbours often share them */
    int64_t conditions_id;
    const struct nm_conditions *conditions;
};

static const struct nm_metrics no_metrics;
static const struct nm_conditions no_conditions;

static int no_memory(struct nm_error *err)
{
    return nm_error_errno(err, -ENOMEM, "reading the store: out of memory");
}

/* Column as a string of the pool, NULL for NULL. */
static const char *text(struct reader *reader, sqlite3_stmt *statement, int column, bool *ok)
{
    const char *value = (const char *)sqlite3_column_text(statement, column);
    const char *copy = nm_pool_text(reader->pool, value);

    if (value && !copy)
        *ok = false;
    return copy;
}

static uint64_t u64(sqlite3_stmt *statement, int column)
{
    return (uint64_t)sqlite3_column_int64(statement, column);
}

static bool wanted(const struct nm_select *select, const struct nm_cell *cell)
{
    static const char copy[] = "copy:";
    char campaign[24];

    snprintf(campaign, sizeof(campaign), "%" PRId64, cell->campaign_id);
    return nm_select_fits(select, NM_SELECT_NAS, cell->nas) &&
           nm_select_fits(select, NM_SELECT_FIRMWARE, cell->firmware) &&
           nm_select_fits(select, NM_SELECT_VOLUME, cell->volume) &&
           nm_select_fits(select, NM_SELECT_KIND, cell->kind) &&
           nm_select_fits(select, NM_SELECT_PROTOCOL, cell->protocol) &&
           nm_select_fits(select, NM_SELECT_PHASE, cell->phase) &&
           nm_select_fits(select, NM_SELECT_CAMPAIGN, campaign) &&
           nm_select_fits(select, NM_SELECT_SOURCE, cell->imported ? "imported" : "measured") &&
           (nm_select_fits(select, NM_SELECT_WORKLOAD, cell->workload) ||
            /* "1x2GB" is "copy:1x2GB" */
            (!strncmp(cell->workload, copy, sizeof(copy) - 1) &&
             nm_select_fits(select, NM_SELECT_WORKLOAD, cell->workload + sizeof(copy) - 1)));
}

static bool read_row(struct reader *reader, sqlite3_stmt *s, struct nm_cell_row *row)
{
    struct nm_cell *cell = &row->cell;
    bool ok = true;

    row->id = sqlite3_column_int64(s, 0);
    cell->nas = text(reader, s, 1, &ok);
    cell->firmware = text(reader, s, 2, &ok);
    cell->firmware_date = text(reader, s, 3, &ok);
    cell->firmware_utc_ns = u64(s, 4);
    cell->campaign_id = sqlite3_column_int64(s, 5);
    row->campaign_utc_ns = u64(s, 6);
    cell->volume = text(reader, s, 7, &ok);
    cell->kind = text(reader, s, 8, &ok);
    cell->label = text(reader, s, 9, &ok);
    cell->interface = text(reader, s, 10, &ok);
    cell->volume_position = sqlite3_column_int(s, 11);
    cell->protocol = text(reader, s, 12, &ok);
    cell->workload = text(reader, s, 13, &ok);
    cell->phase = text(reader, s, 14, &ok);
    cell->phase_index = sqlite3_column_int(s, 15);
    cell->phase_writes = sqlite3_column_int(s, 16);
    cell->conditions_hash = text(reader, s, 17, &ok);
    row->key_text = text(reader, s, 18, &ok);
    cell->round = (uint32_t)sqlite3_column_int64(s, 19);
    cell->imported = sqlite3_column_int(s, 20);
    return ok;
}

/* Makes room for one more item; false when out of memory. */
static bool grow(void **items, size_t count, size_t *room, size_t size)
{
    size_t more = *room ? 2 * *room : 64;
    void *larger;

    if (count < *room)
        return true;
    larger = reallocarray(*items, more, size);
    if (!larger)
        return false;
    *items = larger;
    *room = more;
    return true;
}

/* Every cell with at least one trial that fits run= and since=. */
static int read_rows(struct reader *reader, struct nm_error *err)
{
    const char *run = nm_select_get(reader->select, "run");
    struct nm_cell_rows *rows = &reader->rows;
    sqlite3_stmt *statement;
    int r = nm_sql_query(
        reader->store,
        "SELECT c.id, n.name, f.version, f.date,"
        " " NM_SQL_FIRMWARE_ORDER ","
        " c.campaign_id, (SELECT max(start_utc_ns) FROM session WHERE campaign_id=c.campaign_id),"
        " v.name, v.kind, v.label, v.interface, v.position, c.protocol, w.key, p.name, p.position,"
        " p.writes, k.hash, k.text, c.round, c.imported"
        " FROM cell c JOIN campaign a ON a.id=c.campaign_id JOIN firmware f ON f.id=a.firmware_id"
        " JOIN nas n ON n.id=f.nas_id JOIN volume v ON v.id=c.volume_id"
        " JOIN phase p ON p.id=c.phase_id JOIN workload w ON w.id=p.workload_id"
        " JOIN key_conditions k ON k.id=c.key_id"
        " WHERE (?1 IS NULL AND ?2=0) OR EXISTS(SELECT 1 FROM trial t"
        "  JOIN session s ON s.id=t.session_id WHERE t.cell_id=c.id AND (?1 IS NULL OR s.run GLOB "
        "?1)"
        "  AND coalesce(t.start_utc_ns, s.start_utc_ns) >= ?2)",
        &statement, err, "tu", run, reader->select->since_utc_ns);

    if (r < 0)
        return r;
    while ((r = nm_sql_step(reader->store, statement, err)) == 1) {
        struct nm_cell_row row = {0};

        if (!grow((void **)&rows->items, rows->count, &rows->room, sizeof(row)) ||
            !read_row(reader, statement, &row)) {
            r = no_memory(err);
            break;
        }
        if (wanted(reader->select, &row.cell))
            rows->items[rows->count++] = row;
    }
    sqlite3_reset(statement);
    return r;
}

static int read_metrics(struct reader *reader, struct nm_trial *trial, struct nm_error *err)
{
    static const size_t head = offsetof(struct nm_metrics, items);
    struct nm_metrics set = {0}, *copy;
    sqlite3_stmt *s;
    int r = nm_sql_query(reader->store,
                         "SELECT name, unit, better, summary, value FROM metric WHERE trial_id=?"
                         " AND value IS NOT NULL ORDER BY position",
                         &s, err, "i", trial->id);

    if (r < 0)
        return r;
    while ((r = nm_sql_step(reader->store, s, err)) == 1) {
        int better = nm_better_parse(nm_sql_text(s, 2)), how = nm_summary_parse(nm_sql_text(s, 3));

        nm_metrics_add(&set, nm_sql_text(s, 0), nm_sql_text(s, 1),
                       better < 0 ? NM_BETTER_NONE : (enum nm_better)better,
                       how < 0 ? NM_SUMMARY_MEAN : (enum nm_summary)how,
                       sqlite3_column_double(s, 4));
    }
    if (r < 0 || !set.count)
        return r;
    copy = nm_pool_alloc(reader->pool, head + set.count * sizeof(set.items[0]));
    if (!copy)
        return no_memory(err);
    memcpy(copy, &set, head + set.count * sizeof(set.items[0]));
    trial->metrics = copy;
    return 0;
}

static bool read_trial(struct reader *reader, sqlite3_stmt *s, struct nm_trial *trial)
{
    bool ok = true, is_void = sqlite3_column_type(s, 18) != SQLITE_NULL;
    int status = nm_status_parse(nm_sql_text(s, 5)), reason = nm_reason_parse(nm_sql_text(s, 6));

    memset(trial, 0, sizeof(*trial));
    trial->id = sqlite3_column_int64(s, 0);
    trial->run = text(reader, s, 2, &ok);
    trial->pass = (uint32_t)sqlite3_column_int64(s, 3);
    trial->group_order = (uint32_t)sqlite3_column_int64(s, 4);
    trial->status = is_void || status < 0 ? NM_STATUS_VOID : (enum nm_status)status;
    trial->reason = reason < 0 ? NM_REASON_NONE : (enum nm_reason)reason;
    trial->raw = text(reader, s, 7, &ok);
    trial->message = text(reader, s, is_void ? 18 : 8, &ok);
    trial->start_utc_ns = u64(s, 9);
    trial->duration_ns = u64(s, 10);
    trial->bytes = u64(s, 11);
    trial->files = u64(s, 12);
    trial->operations = u64(s, 13);
    trial->cpu_ns = u64(s, 14);
    trial->flags = text(reader, s, 15, &ok);
    trial->source = text(reader, s, 16, &ok);
    trial->source_text = text(reader, s, 17, &ok);
    trial->metrics = &no_metrics;
    return ok;
}

/* Trials of one cell into the scratch array, then into the pool. */
static int read_trials(struct reader *reader, struct nm_cell_row *row, struct nm_error *err)
{
    const char *run = nm_select_get(reader->select, "run");
    struct nm_step step;
    /* best, median and the like of a step stand in tables */
    bool metrics =
        !reader->select->skip_metrics || nm_step_parse(row->cell.phase, &step, NULL) == 0;
    struct nm_trial *trials;
    sqlite3_stmt *statement;
    size_t n = 0;
    int r = nm_sql_query(
        reader->store,
        "SELECT t.id, t.conditions_id, s.run, t.pass, t.group_order, t.status, t.reason, t.raw,"
        " t.message, coalesce(t.start_utc_ns, s.start_utc_ns), t.duration_ns, t.bytes, t.files,"
        " t.operations, t.cpu_ns, t.flags, t.source, t.source_text, t.void_why"
        " FROM trial t JOIN session s ON s.id=t.session_id WHERE t.cell_id=?1"
        " AND (?2 IS NULL OR s.run GLOB ?2) AND coalesce(t.start_utc_ns, s.start_utc_ns) >= ?3"
        " ORDER BY t.id",
        &statement, err, "itu", row->id, run, reader->select->since_utc_ns);

    if (r < 0)
        return r;
    while ((r = nm_sql_step(reader->store, statement, err)) == 1) {
        if (!grow((void **)&reader->trials, n, &reader->room, sizeof(*reader->trials)) ||
            !read_trial(reader, statement, &reader->trials[n])) {
            sqlite3_reset(statement);
            return no_memory(err);
        }
        reader->trials[n].round = row->cell.round;
        /* Conditions are shown of the newest trial that succeeded, else of the newest. */
        if (reader->trials[n].status == NM_STATUS_OK || !row->cell.n_ok)
            row->conditions_id = sqlite3_column_int64(statement, 1);
        row->cell.n_ok += reader->trials[n].status == NM_STATUS_OK;
        n++;
    }
    for (size_t i = 0; i < n && r == 0; i++)
        if (metrics || !reader->trials[i].bytes)
            r = read_metrics(reader, &reader->trials[i], err);
    if (r < 0)
        return r;
    trials = nm_pool_alloc(reader->pool, n * sizeof(*trials));
    if (!trials)
        return no_memory(err);
    if (n)
        memcpy(trials, reader->trials, n * sizeof(*trials));
    row->cell.trials = trials;
    row->cell.n_trials = n;
    return 0;
}

static int read_conditions(struct reader *reader, struct nm_cell_row *row, struct nm_error *err)
{
    static const size_t head = offsetof(struct nm_conditions, items);
    struct nm_conditions set, *copy;
    sqlite3_stmt *statement;
    size_t size;
    int r;

    row->cell.conditions = &no_conditions;
    if (!row->conditions_id)
        return 0;
    if (reader->conditions_id == row->conditions_id) {
        row->cell.conditions = reader->conditions;
        return 0;
    }
    r = nm_sql_query(reader->store, "SELECT text FROM conditions WHERE id=?", &statement, err, "i",
                     row->conditions_id);
    if (r == 0)
        r = nm_sql_step(reader->store, statement, err);
    if (r <= 0)
        return r;
    nm_pack_read_conditions(nm_sql_text(statement, 0), &set);
    sqlite3_reset(statement);
    size = head + set.count * sizeof(set.items[0]);
    copy = nm_pool_alloc(reader->pool, size);
    if (!copy)
        return no_memory(err);
    memcpy(copy, &set, size);
    row->cell.conditions = reader->conditions = copy;
    reader->conditions_id = row->conditions_id;
    return 0;
}

/* Hands the settled rows over as cells. */
static int finish(struct reader *reader, struct nm_cells **ret_cells, struct nm_error *err)
{
    struct nm_cells *cells = calloc(1, sizeof(*cells));

    if (!cells || !(cells->items = calloc(reader->rows.count + 1, sizeof(*cells->items)))) {
        free(cells);
        return no_memory(err);
    }
    for (size_t i = 0; i < reader->rows.count; i++)
        cells->items[cells->count++] = reader->rows.items[i].cell;
    cells->arena = reader->pool;
    reader->pool = NULL;
    *ret_cells = cells;
    return 0;
}

int nm_select_cells(struct nm_store *store, const struct nm_select *select,
                    struct nm_cells **ret_cells, struct nm_error *err)
{
    struct reader reader = {.store = store, .select = select, .pool = nm_pool_new()};
    int r;

    if (!reader.pool)
        return no_memory(err);
    /* One read transaction: a run that is going on cannot show half of itself. */
    r = nm_sql_run(store, "SAVEPOINT reading", err, "");
    if (r < 0)
        goto out;
    r = read_rows(&reader, err);
    if (r == 0)
        nm_rows_keep_newest(&reader.rows, select);
    for (size_t i = 0; i < reader.rows.count && r == 0; i++)
        r = read_trials(&reader, &reader.rows.items[i], err);
    if (r == 0)
        r = nm_rows_settle(&reader.rows, select, reader.pool, err);
    for (size_t i = 0; i < reader.rows.count && r == 0; i++)
        r = read_conditions(&reader, &reader.rows.items[i], err);
    if (nm_sql_run(store, "RELEASE reading", r < 0 ? NULL : err, "") < 0 && r == 0)
        r = -EIO;
    if (r == 0)
        r = finish(&reader, ret_cells, err);
out:
    nm_pool_free(reader.pool);
    free(reader.rows.items);
    free(reader.trials);
    return r;
}

void nm_cells_free(struct nm_cells *cells)
{
    if (!cells)
        return;
    nm_pool_free(cells->arena);
    free(cells->items);
    free(cells);
}

int nm_select_bins(struct nm_store *store, int64_t trial_id, uint64_t **ret_bins, size_t *ret_n,
                   uint64_t *ret_bin_ns, struct nm_error *err)
{
    sqlite3_stmt *statement;
    int r = nm_sql_query(store, "SELECT bin_ns, data FROM bins WHERE trial_id=?", &statement, err,
                         "i", trial_id);

    if (r == 0)
        r = nm_sql_step(store, statement, err);
    if (r == 0)
        return nm_error_set(err, -ENOENT, NM_REASON_NOT_FOUND,
                            "trial %" PRId64 " has no samples over time", trial_id);
    if (r < 0)
        return r;
    r = nm_pack_read(sqlite3_column_blob(statement, 1), (size_t)sqlite3_column_bytes(statement, 1),
                     ret_bins, ret_n, err);
    if (r == 0)
        *ret_bin_ns = u64(statement, 0);
    sqlite3_reset(statement);
    return r;
}
