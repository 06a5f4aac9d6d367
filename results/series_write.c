/* Histories as text with a sparkline and as the JSON document of cli.md (series.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "series.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static bool is_rate(const struct nm_series *series)
{
    return !strcmp(series->metric, "bytes_per_s");
}

/* A line that is stretched over its whole height would make mountains of noise: flat is what the
 * digits below cannot tell apart, and what every version reached in one trial or another. */
static bool is_flat(const struct nm_series *series, double low, double high)
{
    double top_of_lowest = INFINITY, bottom_of_highest = 0;
    char low_text[48], high_text[48];

    nm_metric_format(series->unit, low, low_text, sizeof(low_text));
    nm_metric_format(series->unit, high, high_text, sizeof(high_text));
    for (size_t i = 0; i < series->n; i++) {
        top_of_lowest = fmin(top_of_lowest, series->points[i].max);
        bottom_of_highest = fmax(bottom_of_highest, series->points[i].min);
    }
    return !strcmp(low_text, high_text) || (!series->n_changes && !series->newest.provisional &&
                                            bottom_of_highest <= top_of_lowest);
}

static void write_sparkline(const struct nm_series *series, FILE *out)
{
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double low = series->points[0].centre, high = low;
    bool flat;

    for (size_t i = 0; i < series->n; i++) {
        low = fmin(low, series->points[i].centre);
        high = fmax(high, series->points[i].centre);
    }
    flat = is_flat(series, low, high);
    for (size_t i = 0; i < series->n; i++) {
        double share = flat ? 0.5 : (series->points[i].centre - low) / (high - low);

        fputs(bars[(int)(share * 7.999)], out);
    }
}

/* What tells this series from an earlier one of the same cell. */
static void write_difference(const struct nm_series *series, FILE *out)
{
    const struct nm_cell *cell = series->first, *other = series->above;
    const struct nm_condition_def *def;
    size_t from = 0;

    if (!other)
        return;
    def = nm_conditions_conflict(other->conditions, cell->conditions, NM_FACTOR_FIRMWARE, NULL,
                                 &from);
    if (def)
        fprintf(out, "  other conditions than above: %s %s, not %s\n", def->name,
                nm_conditions_get(cell->conditions, def->name),
                nm_conditions_get(other->conditions, def->name));
    else
        fprintf(out, "  other conditions than above%s\n", cell->imported ? " (imported)" : "");
}

static const struct nm_history_change *change_at(const struct nm_series *series, size_t at)
{
    for (size_t i = 0; i < series->n_changes; i++)
        if (series->changes[i].index == at)
            return &series->changes[i];
    return NULL;
}

static void write_points(const struct nm_series *series, FILE *out)
{
    int width = 0;
    char number[48];

    for (size_t i = 0; i < series->n; i++) {
        int length = (int)strlen(series->points[i].cell->firmware);

        width = length > width ? length : width;
    }
    for (size_t i = 0; i < series->n; i++) {
        const struct nm_series_point *point = &series->points[i];
        const struct nm_history_change *change = change_at(series, i);

        fprintf(out, "  %-*s  %10s  %12s  n %zu", width, point->cell->firmware,
                point->cell->firmware_date ? point->cell->firmware_date : "",
                nm_metric_format(series->unit, point->centre, number, sizeof(number)), point->n);
        if (change)
            fprintf(out, "  changed by %+.1f %% (t %.1f, p %.1e)", 100 * change->step, change->t,
                    change->p);
        fputc('\n', out);
    }
}

static void write_newest(const struct nm_series *series, FILE *out)
{
    const struct nm_history_newest *newest = &series->newest;
    char low[48], high[48];

    if (series->n < NM_HISTORY_MIN_VERSIONS)
        fprintf(out, "  %zu version%s; a change is looked for from %d on\n", series->n,
                series->n == 1 ? "" : "s", NM_HISTORY_MIN_VERSIONS);
    if (!newest->known)
        return;
    fprintf(out, "  newest: %s the 99 %% range %s..%s of the %zu versions before it (t %.1f)%s\n",
            newest->provisional ? "outside" : "inside",
            nm_metric_format(series->unit, exp(newest->low), low, sizeof(low)),
            nm_metric_format(series->unit, exp(newest->high), high, sizeof(high)), newest->k,
            newest->t, newest->provisional ? ": provisional, rerun" : "");
}

int nm_series_write_text(const struct nm_series_set *set, FILE *out, struct nm_error *err)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct nm_series *series = &set->items[i];
        const struct nm_cell *cell = series->first;

        fprintf(out, "%s%s %s %s %s %s%s%s  ", i ? "\n" : "", cell->nas, cell->volume,
                cell->protocol, cell->workload, cell->phase, is_rate(series) ? "" : " ",
                is_rate(series) ? "" : series->metric);
        write_sparkline(series, out);
        fputc('\n', out);
        write_difference(series, out);
        if (series->n_cut)
            fprintf(out, "  the oldest %zu versions are left out\n", series->n_cut);
        write_points(series, out);
        write_newest(series, out);
    }
    if (ferror(out))
        return nm_error_errno(err, -EIO, "writing the history failed");
    return 0;
}

static json_t *changes_json(const struct nm_series *series)
{
    json_t *array = json_array();

    for (size_t i = 0; i < series->n_changes; i++) {
        const struct nm_history_change *change = &series->changes[i];

        if (json_array_append_new(array, json_pack("{s:I, s:f, s:f, s:f}", "index",
                                                   (json_int_t)change->index, "t", change->t, "p",
                                                   change->p, "step", change->step)) < 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *points_json(const struct nm_series *series, bool centres)
{
    json_t *array = json_array();

    for (size_t i = 0; i < series->n; i++) {
        const struct nm_series_point *point = &series->points[i];
        json_t *item = centres ? json_real(point->centre) : json_string(point->cell->firmware);

        if (json_array_append_new(array, item) < 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *series_json(const struct nm_series *series)
{
    const struct nm_cell *cell = series->first;
    bool known = series->newest.known;

    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:{s:o, s:o, s:s}}", "nas", cell->nas,
        "volume", cell->volume, "protocol", cell->protocol, "workload", cell->workload, "phase",
        cell->phase, "metric", series->metric, "unit", series->unit, "versions",
        points_json(series, false), "centers", points_json(series, true), "changes",
        changes_json(series), "newest", "t", known ? json_real(series->newest.t) : json_null(), "p",
        known ? json_real(series->newest.p) : json_null(), "verdict", nm_series_verdict(series));
}

json_t *nm_series_json(const struct nm_series_set *set)
{
    json_t *array = json_array();

    for (size_t i = 0; i < set->count; i++)
        if (json_array_append_new(array, series_json(&set->items[i])) < 0) {
            json_decref(array);
            return NULL;
        }
    return json_pack("{s:i, s:o}", "schema", 1, "series", array);
}
