/* Values of one metric over a cell (metric.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "metric.h"

#include "units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char bytes_per_s[] = "bytes_per_s", files_per_s[] = "files_per_s";

const char *nm_metric_default(const struct nm_cell *cell)
{
    for (size_t i = 0; i < cell->n_trials; i++)
        if (cell->trials[i].status == NM_STATUS_OK && cell->trials[i].bytes)
            return bytes_per_s;
    for (size_t i = 0; i < cell->n_trials; i++) {
        const struct nm_trial *trial = &cell->trials[i];

        for (size_t k = 0; trial->status == NM_STATUS_OK && k < trial->metrics->count; k++)
            if (trial->metrics->items[k].better != NM_BETTER_NONE)
                return trial->metrics->items[k].name;
    }
    return NULL;
}

/* False when the trial has no such number. */
static bool value_of(const struct nm_trial *trial, const char *name, double *ret_value,
                     struct nm_metric_values *values)
{
    const struct nm_metric *metric;
    bool bytes = !strcmp(name, bytes_per_s);

    if (bytes || !strcmp(name, files_per_s)) {
        uint64_t amount = bytes ? trial->bytes : trial->files;

        snprintf(values->unit, sizeof(values->unit), "%s", bytes ? "B/s" : "1/s");
        *ret_value = (double)amount * 1e9 / (double)trial->duration_ns;
        return amount && trial->duration_ns;
    }
    metric = nm_metrics_get(trial->metrics, name);
    if (!metric)
        return false;
    snprintf(values->unit, sizeof(values->unit), "%s", metric->unit);
    values->lower_is_better = metric->better == NM_BETTER_LOWER;
    *ret_value = metric->value;
    return true;
}

int nm_metric_values(const struct nm_cell *cell, const char *name, struct nm_metric_values *ret,
                     struct nm_error *err)
{
    struct nm_metric_values values = {0};

    values.values = calloc(cell->n_trials + 1, sizeof(*values.values));
    if (!values.values)
        return nm_error_errno(err, -ENOMEM, "reading %zu trials: out of memory", cell->n_trials);
    for (size_t i = 0; name && i < cell->n_trials; i++) {
        double value;

        if (cell->trials[i].status != NM_STATUS_OK ||
            !value_of(&cell->trials[i], name, &value, &values))
            continue;
        if (isfinite(value) && value > 0)
            values.values[values.n++] = value;
        else
            values.n_other++;
    }
    *ret = values;
    return 0;
}

void nm_metric_values_done(struct nm_metric_values *values)
{
    free(values->values);
    memset(values, 0, sizeof(*values));
}

const char *nm_metric_format(const char *unit, double value, char *out, size_t size)
{
    char number[48];

    if (!strcmp(unit, "B/s"))
        snprintf(out, size, "%s MB/s",
                 nm_units_format_rate(value / 1e6, -1, '.', number, sizeof(number)));
    else if (!strcmp(unit, "ns") && value >= 1 && value < 9e18)
        nm_units_format_duration((uint64_t)value, out, size);
    else
        snprintf(out, size, "%s%s%s", nm_units_format_double(value, 4, number, sizeof(number)),
                 *unit ? " " : "", unit);
    return out;
}
