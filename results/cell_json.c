/* Cells and trials as JSON (cell_json.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cell_json.h"

#include "clock.h"
#include "escape.h"

#include <math.h>
#include <string.h>

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* 0 = not known. */
static json_t *count(uint64_t value)
{
    return value ? json_integer((json_int_t)value) : json_null();
}

json_t *nm_flags_json(const char *flags)
{
    json_t *json = json_array();

    while (json && flags && *(flags += strspn(flags, " "))) {
        size_t length = strcspn(flags, " ");

        json_array_append_new(json, json_stringn(flags, length));
        flags += length;
    }
    return json;
}

json_t *nm_metrics_json(const struct nm_metrics *metrics)
{
    json_t *json = json_array();

    for (uint32_t i = 0; json && i < metrics->count; i++) {
        const struct nm_metric *metric = &metrics->items[i];

        json_array_append_new(
            json,
            json_pack("{s:o, s:o, s:s, s:s, s:o}", "name", nm_escape_json(metric->name), "unit",
                      nm_escape_json(metric->unit), "better", nm_better_name(metric->better),
                      "summary", nm_summary_name(metric->summary), "value", real(metric->value)));
    }
    return json;
}

json_t *nm_conditions_json(const struct nm_conditions *conditions)
{
    json_t *json = json_object();

    for (uint32_t i = 0; json && i < conditions->count; i++)
        json_object_set_new(json, conditions->items[i].name,
                            nm_escape_json(conditions->items[i].value));
    return json;
}

static json_t *trial_json(const struct nm_trial *trial)
{
    bool took_place = trial->status != NM_STATUS_NA && trial->status != NM_STATUS_UNSUPPORTED &&
                      trial->status != NM_STATUS_MISSING;
    char start[24] = "";

    if (trial->start_utc_ns)
        nm_clock_format_utc(trial->start_utc_ns, start);
    return json_pack(
        "{s:I, s:o, s:i, s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:o}",
        "id", (json_int_t)trial->id, "run", nm_escape_json(trial->run), "round", (int)trial->round,
        "pass", (int)trial->pass, "status", nm_status_name(trial->status), "reason",
        nm_escape_json(trial->reason ? nm_reason_name(trial->reason) : NULL), "raw",
        nm_escape_json(trial->raw), "message", nm_escape_json(trial->message), "start_utc",
        nm_escape_json(*start ? start : NULL), "bytes",
        took_place ? json_integer((json_int_t)trial->bytes) : json_null(), "duration_ns",
        count(trial->duration_ns), "files", count(trial->files), "operations",
        count(trial->operations), "cpu_ns", count(trial->cpu_ns), "flags",
        nm_flags_json(trial->flags), "source", nm_escape_json(trial->source), "source_text",
        nm_escape_json(trial->source_text), "metrics", nm_metrics_json(trial->metrics));
}

json_t *nm_cell_json(const struct nm_cell *cell)
{
    static const struct nm_cell never = {
        .status = NM_CELL_MISSING,
        .bytes_per_s = NAN,
        .min_bytes_per_s = NAN,
        .max_bytes_per_s = NAN,
        .files_per_s = NAN,
    };
    struct nm_metrics metrics;
    json_t *trials = json_array();

    if (!cell)
        cell = &never;
    nm_cell_metrics(cell, &metrics);
    for (size_t i = 0; trials && i < cell->n_trials; i++)
        json_array_append_new(trials, trial_json(&cell->trials[i]));
    return json_pack("{s:s, s:o, s:o, s:o, s:i, s:i, s:o, s:o, s:o, s:o}", "status",
                     nm_cell_status_name(cell->status), "bytes_per_s", real(cell->bytes_per_s),
                     "min", real(cell->min_bytes_per_s), "max", real(cell->max_bytes_per_s), "n",
                     (int)cell->n_ok, "n_failed", (int)cell->n_failed, "files_per_s",
                     real(cell->files_per_s), "metrics", nm_metrics_json(&metrics), "flags",
                     nm_flags_json(cell->flags), "trials", trials);
}
