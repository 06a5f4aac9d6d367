/* export --format crystaldiskmark: the text that CrystalDiskMark 8 saves, as `import
 * crystaldiskmark` reads it.
 *
 * One file is one card: one volume over one protocol. What is shown is that tool's choice: MB/s of
 * the best run, the IOPS that follow from it, and the lowest mean latency. A step without a number
 * has the word for it where the number would stand; it is never 0.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "export.h"

#include "../../src/clock.h"
#include "../../src/units.h"
#include "../../workloads/steps.h"
#include "../escape.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LINE "------------------------------------------------------------------------------\n"

struct section {
    const char *title;
    bool (*has)(const struct nm_step *step);
};

static bool is_read(const struct nm_step *step)
{
    return step->read_percent == 100;
}

static bool is_write(const struct nm_step *step)
{
    return step->read_percent == 0;
}

static bool is_mix(const struct nm_step *step)
{
    return !is_read(step) && !is_write(step);
}

static const struct section sections[] = {
    {"[Read]", is_read},
    {"[Write]", is_write},
    {"[Mix]", is_mix},
};

static int same_card(const struct nm_cell *a, const struct nm_cell *b, struct nm_error *err)
{
    const struct {
        const char *key, *a, *b;
    } names[] = {
        {"nas", a->nas, b->nas},
        {"firmware", a->firmware, b->firmware},
        {"volume", a->volume, b->volume},
        {"protocol", a->protocol, b->protocol},
        {"workload", a->workload, b->workload},
        {"source", a->imported ? "imported" : "measured", b->imported ? "imported" : "measured"},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i].a, names[i].b))
            return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                                "a file of CrystalDiskMark holds one card, the selection has more: "
                                "name one of %s=%.80s, %s=%.80s",
                                names[i].key, names[i].a, names[i].key, names[i].b);
    if (!strcmp(a->phase, b->phase))
        return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                            "a file of CrystalDiskMark holds one card, but %.60s was measured "
                            "under different conditions; name a campaign= or run=",
                            a->phase);
    return 0;
}

/* The first step of the selection, which must be one card; NULL with err set when it is not. */
static const struct nm_cell *find_card(const struct nm_cells *cells, struct nm_error *err)
{
    const struct nm_cell *first = NULL, *before = NULL;
    struct nm_step step;

    for (size_t i = 0; i < cells->count; i++) {
        const struct nm_cell *cell = &cells->items[i];

        if (nm_step_parse(cell->phase, &step, NULL) < 0)
            continue;
        if (before && same_card(before, cell, err) < 0)
            return NULL;
        before = cell;
        first = first ? first : cell;
    }
    if (!first)
        nm_error_set(err, -ENODATA, NM_REASON_NOT_FOUND,
                     "nothing in the selection is a step like seq1MiB-q8t1-read; name the "
                     "workload, as in workload=cdm8");
    return first;
}

static double metric_or(const struct nm_metrics *metrics, const char *name, double otherwise)
{
    const struct nm_metric *metric = nm_metrics_get(metrics, name);

    return metric ? metric->value : otherwise;
}

static void write_figure(const struct nm_cell *cell, const struct nm_step *step, FILE *out)
{
    uint32_t block = step->block_bytes;
    struct nm_metrics metrics;
    double rate, iops, latency_ns;

    fprintf(out, "  %s %4u%3s (Q=%3u, T=%2u): ", step->random ? "RND" : "SEQ",
            block >= 1 << 20   ? block >> 20
            : block >= 1 << 10 ? block >> 10
                               : block,
            block >= 1 << 20   ? "MiB"
            : block >= 1 << 10 ? "KiB"
                               : "B",
            step->depth ? step->depth : 1, step->threads ? step->threads : 1);
    if (!cell->n_ok || !isfinite(cell->bytes_per_s)) {
        fprintf(out, "%9s\n",
                cell->status == NM_CELL_UNSUPPORTED || cell->status == NM_CELL_NA
                    ? "n/a"
                    : nm_cell_status_name(cell->status));
        return;
    }
    nm_cell_metrics(cell, &metrics);
    rate = metric_or(&metrics, "best_rate", cell->max_bytes_per_s);
    iops = cell->imported ? metric_or(&metrics, "iops", NAN) : rate / block;
    latency_ns = metric_or(&metrics, "mean_latency", NAN);
    fprintf(out, "%9.3f MB/s", rate / 1e6);
    if (isfinite(iops))
        fprintf(out, " [%9.1f IOPS]", iops);
    if (isfinite(latency_ns))
        fprintf(out, " <%9.2f us>", latency_ns / 1e3);
    putc('\n', out);
}

static void write_section(const struct nm_cells *cells, const struct section *section, FILE *out)
{
    uint32_t mix_percent = 0;
    struct nm_step step;
    bool begun = false;

    for (size_t i = 0; i < cells->count; i++) {
        const struct nm_cell *cell = &cells->items[i];

        if (nm_step_parse(cell->phase, &step, NULL) < 0 || !section->has(&step))
            continue;
        if (!begun || (section->has == is_mix && step.read_percent != mix_percent)) {
            fprintf(out, "\n%s", section->title);
            if (section->has == is_mix)
                fprintf(out, " Read %u%%/Write %u%%", step.read_percent, 100 - step.read_percent);
            putc('\n', out);
        }
        begun = true;
        mix_percent = step.read_percent;
        write_figure(cell, &step, out);
    }
}

static void write_remark(const char *name, const char *text, FILE *out)
{
    if (!text)
        return;
    fprintf(out, "%7s: ", name);
    nm_escape_plain(out, text);
    putc('\n', out);
}

static const char *first_condition(const struct nm_cell *cell, const char *name)
{
    return nm_conditions_get(cell->conditions, name);
}

/* "1 GiB", "64 MiB"; NULL = not known. */
static const char *size_of(const struct nm_cell *card, char *out, size_t room)
{
    const char *stored = first_condition(card, "workload.size");
    unsigned long long bytes = stored ? strtoull(stored, NULL, 10) : 0;

    if (!bytes)
        return NULL;
    if (bytes % (1 << 30) == 0)
        snprintf(out, room, "%llu GiB", bytes >> 30);
    else
        snprintf(out, room, "%.6g MiB", (double)bytes / (1 << 20));
    return out;
}

/* Size as printed there, "1 GiB (x5)": the figures of an imported card, else what the runs say. */
static void write_foot(const struct nm_cell *card, FILE *out)
{
    const struct nm_trial *trial = &card->trials[card->n_trials - 1];
    const char *size = first_condition(card, "import.size");
    const char *loops = first_condition(card, "import.loops"),
               *date = first_condition(card, "import.date");
    char text[160], runs[24], measured[40];
    time_t seconds = (time_t)(trial->start_utc_ns / NM_NS_PER_S);
    struct tm tm;
    uint32_t n = 0;

    while (n < 99 && (snprintf(runs, sizeof(runs), "run%u_rate", n + 1),
                      nm_metrics_get(trial->metrics, runs)))
        n++;
    if (!loops && n) {
        snprintf(runs, sizeof(runs), "%u", n);
        loops = runs;
    }
    if (!size)
        size = size_of(card, measured, sizeof(measured));
    putc('\n', out);
    write_remark("Profile",
                 card->imported ? first_condition(card, "import.profile") : card->workload, out);
    if (size || loops) {
        snprintf(text, sizeof(text), "%s%s(x%s)", size ? size : "", size ? " " : "",
                 loops ? loops : "1");
        write_remark("Test", text, out);
    }
    if (!date && trial->start_utc_ns && gmtime_r(&seconds, &tm)) {
        strftime(text, sizeof(text), "%Y/%m/%d %H:%M:%S UTC", &tm);
        date = text;
    }
    write_remark("Date", date, out);
    write_remark("OS", first_condition(card, card->imported ? "import.system" : "client.os"), out);
    snprintf(text, sizeof(text), "%.60s %.30s, %.40s over %.20s", card->nas, card->firmware,
             card->label && *card->label ? card->label : card->volume, card->protocol);
    write_remark("Comment", card->imported ? first_condition(card, "import.note") : text, out);
}

static int write_card(struct nm_store *store, const struct nm_cells *cells, FILE *out,
                      struct nm_error *err)
{
    const struct nm_cell *card = find_card(cells, err);

    (void)store;
    if (!card)
        return -EINVAL;
    fputs(LINE "nasmark " NM_VERSION ", in the layout of CrystalDiskMark 8\n" LINE
               "* MB/s = 1,000,000 bytes/s\n"
               "* KB = 1000 bytes, KiB = 1024 bytes\n",
          out);
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
        write_section(cells, &sections[i], out);
    write_foot(card, out);
    return 0;
}

const struct nm_export_format nm_export_crystaldiskmark = {
    .name = "crystaldiskmark",
    .help = "one card as CrystalDiskMark saves it (best run), for `import crystaldiskmark`",
    .write = write_card,
};
