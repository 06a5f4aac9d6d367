/* Bonnie++ CSV lines: 27 columns (1.03), 48 (1.96, 1.97) and 50 (1.98, two columns more).
 *
 * Rates are KiB/s although they are printed as K/sec. What stands around the lines (the program's
 * table, a shell prompt) is kept as warning.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bonnie.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FIELDS = 50, MAX_LINE = 4096 };

enum unit { UNIT_KIB, UNIT_SEEKS, UNIT_FILES };

static const struct {
    const char *name;
    bool writes;
    enum unit unit;
} phases[NM_BONNIE_PHASES] = {
    [NM_BONNIE_WRITE_CHAR] = {"write_char", true, UNIT_KIB},
    [NM_BONNIE_WRITE_BLOCK] = {"write_block", true, UNIT_KIB},
    [NM_BONNIE_REWRITE] = {"rewrite", true, UNIT_KIB},
    [NM_BONNIE_READ_CHAR] = {"read_char", false, UNIT_KIB},
    [NM_BONNIE_READ_BLOCK] = {"read_block", false, UNIT_KIB},
    [NM_BONNIE_SEEKS] = {"seeks", false, UNIT_SEEKS},
    [NM_BONNIE_CREATE_SEQUENTIAL] = {"create_sequential", true, UNIT_FILES},
    [NM_BONNIE_STAT_SEQUENTIAL] = {"stat_sequential", false, UNIT_FILES},
    [NM_BONNIE_DELETE_SEQUENTIAL] = {"delete_sequential", true, UNIT_FILES},
    [NM_BONNIE_CREATE_RANDOM] = {"create_random", true, UNIT_FILES},
    [NM_BONNIE_STAT_RANDOM] = {"stat_random", false, UNIT_FILES},
    [NM_BONNIE_DELETE_RANDOM] = {"delete_random", true, UNIT_FILES},
};

/* Where a generation keeps its columns. */
struct layout {
    size_t columns;
    size_t name, size, chunk, concurrency; /* SIZE_MAX = has none */
    size_t io;                             /* per-char write; the others follow, CPU between */
    size_t files, file_rates;
    size_t io_latency, file_latency;
};

#define NONE SIZE_MAX

static const struct layout layouts[] = {
    {.columns = 50,
     .name = 2,
     .size = 5,
     .chunk = 6,
     .concurrency = 3,
     .io = 9,
     .files = 21,
     .file_rates = 26,
     .io_latency = 38,
     .file_latency = 44},
    {.columns = 48,
     .name = 2,
     .size = 5,
     .chunk = 6,
     .concurrency = 3,
     .io = 7,
     .files = 19,
     .file_rates = 24,
     .io_latency = 36,
     .file_latency = 42},
    {.columns = 27,
     .name = 0,
     .size = 1,
     .chunk = NONE,
     .concurrency = NONE,
     .io = 2,
     .files = 14,
     .file_rates = 15,
     .io_latency = NONE,
     .file_latency = NONE},
};

/* "9829us", "226ms", "100s" -> ns; false when there is none. */
static bool latency_ns(struct nm_slice text, double *ret_ns)
{
    double value;
    size_t length;

    text = nm_slice_trim(text);
    length = nm_scan_number(text, &value);
    if (!length)
        return false;
    text = nm_slice_from(text, length);
    *ret_ns = value * (nm_slice_is(text, "us") ? 1e3 : nm_slice_is(text, "ms") ? 1e6 : 1e9);
    return nm_slice_is(text, "us") || nm_slice_is(text, "ms") || nm_slice_is(text, "s");
}

static bool too_fast(struct nm_slice rate)
{
    for (size_t i = 0; i < rate.length; i++)
        if (rate.at[i] != '+')
            return false;
    return rate.length > 0;
}

/* The amount of one second. */
static bool set_amount(struct nm_trial_record *trial, enum unit unit, double value,
                       struct nm_metrics *metrics)
{
    trial->bytes = trial->files = trial->operations = 0;
    trial->duration_ns = 1000000000;
    switch (unit) {
    case UNIT_KIB: return nm_scan_scaled(value, 1024, &trial->bytes);
    case UNIT_SEEKS:
        nm_metrics_add(metrics, "seeks_per_s", "1/s", NM_BETTER_HIGHER, NM_SUMMARY_GEOMEAN, value);
        return nm_scan_scaled(value, 1, &trial->operations);
    case UNIT_FILES:
        nm_metrics_add(metrics, "files_per_s", "1/s", NM_BETTER_HIGHER, NM_SUMMARY_GEOMEAN, value);
        return nm_scan_scaled(value, 1, &trial->files);
    }
    return false;
}

static void no_number(struct nm_trial_record *trial, enum nm_status status, const char *message)
{
    trial->status = status;
    trial->message = message;
    trial->bytes = trial->files = trial->operations = trial->duration_ns = 0;
}

int nm_bonnie_phase(const struct nm_import_sink *sink, struct nm_document *document,
                    enum nm_bonnie_phase phase, struct nm_slice rate, struct nm_slice cpu,
                    struct nm_slice latency, struct nm_metrics *metrics, struct nm_error *err)
{
    static const char *const units[] = {
        [UNIT_KIB] = "K/sec", [UNIT_SEEKS] = "/sec", [UNIT_FILES] = "/sec"};
    struct nm_trial_record *trial = &document->trial;
    char printed[32], source_text[48];
    double value = 0, percent, ns;

    rate = nm_slice_trim(rate);
    if (!rate.length)
        return 0;
    metrics->count = 0;
    trial->phase = phases[phase].name;
    trial->phase_writes = phases[phase].writes;
    trial->phase_index = (int)phase;
    trial->status = NM_STATUS_OK;
    snprintf(source_text, sizeof(source_text), "%s %s",
             nm_slice_copy(rate, printed, sizeof(printed)), units[phases[phase].unit]);
    trial->source_text = source_text;
    trial->message = NULL;
    if (too_fast(rate)) {
        no_number(trial, NM_STATUS_TOO_SHORT, NULL);
        trial->source_text = printed;
    } else if (nm_slice_number(rate, &value) && value <= 0) {
        no_number(trial, NM_STATUS_MISSING, "printed as 0: less than the program resolves");
    } else if (!nm_slice_number(rate, &value) ||
               !set_amount(trial, phases[phase].unit, value, metrics)) {
        return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT, "%s: \"%s\" is not a rate",
                            phases[phase].name, printed);
    }
    if (nm_slice_number(cpu, &percent))
        nm_metrics_add(metrics, "cpu_percent", "%", NM_BETTER_LOWER, NM_SUMMARY_MEAN, percent);
    if (latency_ns(latency, &ns))
        nm_metrics_add(metrics, "latency_max", "ns", NM_BETTER_LOWER, NM_SUMMARY_MAX, ns);
    return sink->trial(sink->context, document, err);
}

static struct nm_slice field(const struct nm_slice *fields, size_t at)
{
    return at == NONE ? (struct nm_slice){.at = "", .length = 0} : fields[at];
}

static void put_condition(struct nm_conditions *conditions, const char *name, struct nm_slice value)
{
    char text[64];

    value = nm_slice_trim(value);
    if (value.length)
        nm_conditions_set(conditions, name, "%s", nm_slice_copy(value, text, sizeof(text)));
}

static int parse_line(const struct layout *layout, const struct nm_slice *fields,
                      const struct nm_import_sink *sink, uint32_t pass, struct nm_error *err)
{
    struct nm_conditions conditions;
    struct nm_metrics metrics;
    struct nm_document document;
    char name[96];
    int r = 0;

    nm_import_document_init(&document, sink, "imported:bonnie", &conditions, &metrics);
    if (nm_slice_trim(fields[layout->name]).length)
        document.volume.name =
            nm_slice_copy(nm_slice_trim(fields[layout->name]), name, sizeof(name));
    document.trial.workload = "bonnie";
    document.trial.pass = pass;
    put_condition(&conditions, "import.size", fields[layout->size]);
    put_condition(&conditions, "import.files", fields[layout->files]);
    if (layout->chunk != NONE)
        put_condition(&conditions, "import.block", fields[layout->chunk]);
    if (layout->concurrency != NONE)
        put_condition(&conditions, "import.concurrency", fields[layout->concurrency]);
    for (int phase = 0; phase < NM_BONNIE_PHASES && r == 0; phase++) {
        bool io = phase <= NM_BONNIE_SEEKS;
        size_t nth = (size_t)(io ? phase : phase - NM_BONNIE_SEEKS - 1);
        size_t at = (io ? layout->io : layout->file_rates) + 2 * nth;
        size_t latency = io ? layout->io_latency : layout->file_latency;

        r = nm_bonnie_phase(sink, &document, (enum nm_bonnie_phase)phase, fields[at],
                            fields[at + 1], field(fields, latency == NONE ? NONE : latency + nth),
                            &metrics, err);
    }
    return r;
}

static const struct layout *layout_of(size_t columns)
{
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
        if (layouts[i].columns == columns)
            return &layouts[i];
    return NULL;
}

static int parse(const char *text, size_t length, const struct nm_import_sink *sink,
                 struct nm_error *err)
{
    struct nm_lines lines;
    struct nm_slice line, fields[MAX_FIELDS];
    char scratch[MAX_LINE + 1], shown[160];
    uint32_t found = 0;

    nm_lines_init(&lines, text, length);
    while (nm_lines_next(&lines, &line)) {
        const struct layout *layout = NULL;
        int r;

        if (!nm_slice_trim(line).length)
            continue;
        if (line.length <= MAX_LINE)
            layout = layout_of(nm_scan_csv(line, fields, MAX_FIELDS, scratch));
        if (!layout) {
            if (sink->warning)
                sink->warning(sink->context,
                              nm_slice_copy(nm_slice_trim(line), shown, sizeof(shown)));
            continue;
        }
        r = parse_line(layout, fields, sink, ++found, err);
        if (r < 0) {
            nm_error_prefix(err, "line %u", lines.number);
            return r;
        }
    }
    if (!found)
        return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT,
                            "no Bonnie++ CSV line (27, 48 or 50 columns) in it");
    return 0;
}

const struct nm_importer nm_importer_bonnie = {
    .name = "bonnie",
    .help = "Bonnie++ CSV lines of 1.03, 1.96, 1.97, 1.98 and 2.00",
    .parse = parse,
};
