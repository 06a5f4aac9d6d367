/* export --format bonnie: CSV lines in the layout of Bonnie++ 1.98, as its bon_csv2html and
 * bon_csv2txt read them; one line per pass of a bonnie on a volume.
 *
 * What took less than half a second is +++++, what did not run is empty. K/sec are KiB/s. A name
 * with "bonnie-like" is a result over a network, whose per-character phases move chunks. Those
 * programs know no quoting and copy names into HTML as they are, so such characters become '_'.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "export.h"

#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT_VERSION  "1.98"
#define PROGRAM_VERSION "2.00"
#define DEFAULT_CHUNK   8192
#define FILES_UNIT      1024

enum unit { KIB, SEEKS, FILES };

static const struct {
    const char *name;
    enum unit unit;
} phases[] = {
    {"write_char", KIB},          {"write_block", KIB},       {"rewrite", KIB},
    {"read_char", KIB},           {"read_block", KIB},        {"seeks", SEEKS},
    {"create_sequential", FILES}, {"stat_sequential", FILES}, {"delete_sequential", FILES},
    {"create_random", FILES},     {"stat_random", FILES},     {"delete_random", FILES},
};
enum { IO_PHASES = 6, PHASES = sizeof(phases) / sizeof(phases[0]) };

/* One line: the trial of each phase, NULL = none. */
struct line {
    const struct nm_cell *cells[PHASES];
    const struct nm_trial *trials[PHASES];
};

static bool same_line(const struct nm_cell *x, const struct nm_cell *y)
{
    return x->campaign_id == y->campaign_id && x->round == y->round && x->imported == y->imported &&
           !strcmp(x->volume, y->volume) && !strcmp(x->protocol, y->protocol) &&
           !strcmp(x->workload, y->workload);
}

static bool tells(const struct nm_trial *trial)
{
    return trial->status == NM_STATUS_OK || trial->status == NM_STATUS_TOO_SHORT;
}

static void collect(const struct nm_cells *cells, const struct nm_cell *like, uint32_t pass,
                    struct line *line)
{
    memset(line, 0, sizeof(*line));
    for (size_t i = 0; i < cells->count; i++) {
        const struct nm_cell *cell = &cells->items[i];
        size_t phase = 0;

        while (phase < PHASES && strcmp(phases[phase].name, cell->phase))
            phase++;
        if (phase == PHASES || !same_line(cell, like))
            continue;
        for (size_t k = 0; k < cell->n_trials; k++)
            if (cell->trials[k].pass == pass && tells(&cell->trials[k])) {
                line->cells[phase] = cell;
                line->trials[phase] = &cell->trials[k];
            }
    }
}

/* ---- fields */

static double metric(const struct nm_trial *trial, const char *name)
{
    const struct nm_metric *found = trial ? nm_metrics_get(trial->metrics, name) : NULL;

    return found ? found->value : NAN;
}

static const char *condition(const struct nm_cell *cell, const char *name)
{
    return cell ? nm_conditions_get(cell->conditions, name) : NULL;
}

static void put_number(FILE *out, double value, int significant)
{
    char text[48];

    if (significant)
        nm_units_format_double(value, significant, text, sizeof(text));
    else
        snprintf(text, sizeof(text), "%.0f", value);
    fputs(text, out);
}

static double rate_of(const struct nm_trial *trial, enum unit unit)
{
    double seconds = (double)trial->duration_ns / 1e9, value;

    switch (unit) {
    case KIB: return (double)trial->bytes / 1024 / seconds;
    case SEEKS: return metric(trial, "seeks_per_s");
    case FILES: value = metric(trial, "files_per_s"); return value;
    }
    return NAN;
}

/* ",RATE,CPU" */
static void put_rate(FILE *out, const struct nm_trial *trial, enum unit unit)
{
    double rate = trial && trial->status == NM_STATUS_OK ? rate_of(trial, unit) : NAN;
    double cpu = metric(trial, "cpu_percent");

    if (trial && trial->status == NM_STATUS_TOO_SHORT) {
        fputs(",+++++,+++", out);
        return;
    }
    putc(',', out);
    if (isfinite(rate)) /* seeks have one decimal, the others none */
        fprintf(out, "%.*f", unit == SEEKS, rate);
    putc(',', out);
    if (isfinite(rate) && isfinite(cpu))
        put_number(out, cpu, 0);
}

static void put_latency(FILE *out, const struct nm_trial *trial)
{
    double ns = metric(trial, "latency_max");

    putc(',', out);
    if (!isfinite(ns) || ns <= 0)
        return;
    if (ns >= 100e9)
        fprintf(out, "%.0fs", ns / 1e9);
    else if (ns >= 0.1e9)
        fprintf(out, "%.0fms", ns / 1e6);
    else
        fprintf(out, "%.0fus", ns / 1e3);
}

static void put_name(FILE *out, const struct nm_cell *cell)
{
    char name[200];

    if (!cell->imported && strcmp(cell->protocol, "local"))
        snprintf(name, sizeof(name), "%s %s bonnie-like", cell->volume, cell->protocol);
    else
        snprintf(name, sizeof(name), "%s", cell->volume);
    for (char *p = name; *p; p++)
        putc((unsigned char)*p < ' ' || strchr(",<>&\"'", *p) ? '_' : *p, out);
}

/* "2G", "300M", "48K": how the original writes sizes. Of the condition, else of the key. */
static void put_size(FILE *out, const char *text, const char *workload)
{
    const char *colon = strchr(workload, ':');
    uint64_t bytes;

    if ((!text || nm_units_parse_u64(text, &bytes, NULL) < 0) &&
        (!colon || nm_units_parse_bytes(colon + 1, &bytes, NULL) < 0))
        return;
    if (bytes % (UINT64_C(1) << 30) == 0)
        fprintf(out, "%" PRIu64 "G", bytes >> 30);
    else if (bytes % (UINT64_C(1) << 20) == 0)
        fprintf(out, "%" PRIu64 "M", bytes >> 20);
    else
        fprintf(out, "%" PRIu64 "K", bytes >> 10);
}

static const struct nm_cell *any_cell(const struct line *line, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (line->cells[i])
            return line->cells[i];
    return NULL;
}

/* format, version, name, concurrency, seed, size, chunk, seeks, seekers */
static void put_head(FILE *out, const struct line *line)
{
    const struct nm_cell *cell = any_cell(line, 0, PHASES), *io = any_cell(line, 0, IO_PHASES);
    const struct nm_cell *block = any_cell(line, 1, 3);
    const char *size = condition(io, "import.size"), *chunk = condition(io, "import.block");
    const char *concurrency = condition(cell, "import.concurrency");
    const char *streams = condition(line->cells[IO_PHASES - 1], "streams");
    double seeks = metric(line->trials[IO_PHASES - 1], "seeks");
    uint64_t bytes = 0;

    fputs(FORMAT_VERSION "," PROGRAM_VERSION ",", out);
    put_name(out, cell);
    fprintf(out, ",%s,,", concurrency ? concurrency : "1");
    if (size)
        fputs(size, out);
    else
        put_size(out, condition(io, "workload.size"), cell->workload);
    putc(',', out);
    if (chunk)
        fputs(chunk, out);
    else if (condition(block, "block_bytes") &&
             nm_units_parse_u64(condition(block, "block_bytes"), &bytes, NULL) == 0 &&
             bytes != DEFAULT_CHUNK)
        fprintf(out, "%" PRIu64, bytes);
    putc(',', out);
    if (isfinite(seeks))
        put_number(out, seeks, 0);
    fprintf(out, ",%s", isfinite(seeks) && streams ? streams : "");
}

/* number of files in thousands, largest, smallest, directories, chunk */
static void put_files(FILE *out, const struct line *line)
{
    const char *imported = condition(any_cell(line, 0, PHASES), "import.files");
    uint64_t files = 0;

    for (size_t i = IO_PHASES; i < PHASES && !files; i++)
        files = line->trials[i] ? line->trials[i]->files : 0;
    putc(',', out);
    if (imported)
        fputs(imported, out);
    else if (files)
        fprintf(out, "%" PRIu64, files / FILES_UNIT);
    fputs(",,,,", out);
}

static void write_line(const struct line *line, FILE *out)
{
    put_head(out, line);
    for (size_t i = 0; i < PHASES; i++) {
        if (i == IO_PHASES)
            put_files(out, line);
        put_rate(out, line->trials[i], phases[i].unit);
    }
    for (size_t i = 0; i < PHASES; i++)
        put_latency(out, line->trials[i]);
    putc('\n', out);
}

/* ---- lines */

static bool is_first(const struct nm_cells *cells, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (nm_cell_is_of(&cells->items[i], "bonnie") &&
            same_line(&cells->items[i], &cells->items[at]))
            return false;
    return nm_cell_is_of(&cells->items[at], "bonnie");
}

static uint32_t last_pass(const struct nm_cells *cells, const struct nm_cell *like)
{
    uint32_t last = 0;

    for (size_t i = 0; i < cells->count; i++)
        for (size_t k = 0; same_line(&cells->items[i], like) && k < cells->items[i].n_trials; k++)
            if (cells->items[i].trials[k].pass > last)
                last = cells->items[i].trials[k].pass;
    return last;
}

static int write_bonnie(struct nm_store *store, const struct nm_cells *cells, FILE *out,
                        struct nm_error *err)
{
    struct line line;
    size_t n = 0;

    (void)store;
    for (size_t i = 0; i < cells->count; i++) {
        if (!is_first(cells, i))
            continue;
        for (uint32_t pass = 1; pass <= last_pass(cells, &cells->items[i]); pass++) {
            collect(cells, &cells->items[i], pass, &line);
            if (!any_cell(&line, 0, PHASES))
                continue;
            write_line(&line, out);
            n++;
        }
    }
    if (!n)
        return nm_error_set(err, -ENOENT, NM_REASON_NOT_FOUND,
                            "export: nothing of the workload bonnie is among what was selected");
    return 0;
}

const struct nm_export_format nm_export_bonnie = {
    .name = "bonnie",
    .help = "CSV lines for bon_csv2html and bon_csv2txt of Bonnie++, a line per pass",
    .write = write_bonnie,
};
