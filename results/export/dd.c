/* export --format dd: what `time dd` would have printed, one run after the other, from the bytes
 * and seconds that were measured. `import dd` reads it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "export.h"

#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* "4.3 GB", "67 MB"; "60.8 MB/s", "248 MB/s": GNU dd prints one decimal of an amount below ten and
 * of a rate below a hundred. */
static const char *human(double value, double base, double decimal_below, const char *const *units,
                         char *out, size_t size)
{
    size_t unit = 0;

    while (value >= base && units[unit + 1]) {
        value /= base;
        unit++;
    }
    if (unit && value < decimal_below - 0.05)
        snprintf(out, size, "%.1f %s", value, units[unit]);
    else
        snprintf(out, size, "%.0f %s", value, units[unit]);
    return out;
}

static void write_amount(uint64_t bytes, FILE *out)
{
    static const char *const si[] = {"bytes", "kB", "MB", "GB", "TB", "PB", NULL};
    static const char *const iec[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", NULL};
    char text[48];

    fprintf(out, "%" PRIu64 " byte%s", bytes, bytes == 1 ? "" : "s");
    if (bytes >= 1000)
        fprintf(out, " (%s", human((double)bytes, 1000, 10, si, text, sizeof(text)));
    if (bytes >= 1024)
        fprintf(out, ", %s", human((double)bytes, 1024, 10, iec, text, sizeof(text)));
    fputs(bytes >= 1000 ? ") copied, " : " copied, ", out);
}

static void write_time(const struct nm_trial *trial, const char *metric, const char *word,
                       FILE *out)
{
    const struct nm_metric *found = nm_metrics_get(trial->metrics, metric);
    double minutes;

    if (!found)
        return;
    minutes = floor(found->value / 60);
    fprintf(out, "%s\t%.0fm%.3fs\n", word, minutes, found->value - 60 * minutes);
}

static void write_run(const struct nm_cell *cell, const struct nm_trial *trial, FILE *out)
{
    static const char *const rates[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", NULL};
    const char *text = nm_conditions_get(cell->conditions, "block_bytes");
    double seconds = (double)trial->duration_ns / 1e9;
    uint64_t block = 0;
    char rate[48], time[48];

    if (text && nm_units_parse_u64(text, &block, NULL) == 0 && block)
        fprintf(out, "%" PRIu64 "+%d records in\n%" PRIu64 "+%d records out\n",
                trial->bytes / block, trial->bytes % block != 0, trial->bytes / block,
                trial->bytes % block != 0);
    write_amount(trial->bytes, out);
    fprintf(out, "%s s, %s\n", nm_units_format_double(seconds, 6, time, sizeof(time)),
            human((double)trial->bytes / seconds, 1000, 100, rates, rate, sizeof(rate)));
    write_time(trial, "real_s", "\nreal", out);
    write_time(trial, "user_s", "user", out);
    write_time(trial, "sys_s", "sys", out);
}

static int write_dd(struct nm_store *store, const struct nm_cells *cells, FILE *out,
                    struct nm_error *err)
{
    size_t n = 0;

    (void)store;
    for (size_t i = 0; i < cells->count; i++)
        for (size_t k = 0; nm_cell_is_of(&cells->items[i], "dd") && k < cells->items[i].n_trials;
             k++) {
            const struct nm_trial *trial = &cells->items[i].trials[k];

            if (trial->status != NM_STATUS_OK || !trial->duration_ns || !trial->bytes)
                continue;
            if (n++)
                putc('\n', out);
            write_run(&cells->items[i], trial, out);
        }
    if (!n)
        return nm_error_set(err, -ENOENT, NM_REASON_NOT_FOUND,
                            "export: no run of the workload dd is among what was selected");
    return 0;
}

const struct nm_export_format nm_export_dd = {
    .name = "dd",
    .help = "the lines that GNU dd and time print, for each run",
    .write = write_dd,
};
