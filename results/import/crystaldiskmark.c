/* Text saved by CrystalDiskMark 3 to 9 and by KDiskMark.
 *
 *   "           Sequential Read :   505.825 MB/s"                            3: 1 MiB
 *   "    Random Read 4KB (QD=1) :    25.206 MB/s [  6153.8 IOPS]"            3
 *   "   Sequential Read (Q= 32,T= 1) :    91.559 MB/s"                       5, 6: 128 KiB
 *   "  SEQ    1MiB (Q=  8, T= 1):   384.064 MB/s [    366.3 IOPS] < 21765.43 us>"  7 to 9
 *   "    Random   4 KiB (Q= 32, T= 1): 354.657 MB/s [88664.6 IOPS] <352.37 us>"    KDiskMark
 *
 * Direction stands in the line or in a heading [Read], [Write], [Mix]. KDiskMark's MB/s are KiB/s
 * (older: MiB/s) divided by a power of 1000; figures are kept as printed and the unit is named in
 * the condition import.unit, so that they are not compared with true MB/s by mistake.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "import.h"
#include "scan.h"

#include "../../src/units.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum direction { NOWHERE, READ, WRITE, MIX };

/* Lines below the figures that are kept with each of them. */
static const struct {
    const char *key, *condition;
} remarks[] = {
    {"Profile", "import.profile"}, {"Date", "import.date"}, {"OS", "import.system"},
    {"Comment", "import.note"},    {"Test", "import.size"},
};
#define N_REMARKS (sizeof(remarks) / sizeof(remarks[0]))

struct report {
    char program[64];
    char remarks[N_REMARKS][100], loops[16];
    enum direction section;
    uint64_t mix_percent; /* of reads, in the section [Mix] */
    bool is_kdiskmark;
    int figures; /* handed over so far: the order of the phases */
};

struct figure {
    bool random;
    enum direction direction;
    uint64_t block_bytes, depth, threads;
    double mb_per_s, iops, latency_us; /* 0 = not printed */
    char printed[32];
};

/* Number behind "Q=", "QD=", "T=" and blanks; fallback when absent. */
static uint64_t parameter(struct nm_slice text, const char *const *names, uint64_t fallback)
{
    for (; *names; names++) {
        ptrdiff_t at = nm_slice_find(text, *names);
        uint64_t value;

        if (at >= 0 &&
            nm_scan_u64(nm_slice_trim(nm_slice_from(text, (size_t)at + strlen(*names))), &value))
            return value;
    }
    return fallback;
}

/* "4KiB", "4 KiB", "512KB" (a block of 512 KiB), in front of the parenthesis; 0 = none. */
static uint64_t block_of(struct nm_slice name)
{
    const char *parenthesis = memchr(name.at, '(', name.length);

    if (parenthesis)
        name.length = (size_t)(parenthesis - name.at);
    for (size_t i = 0; i < name.length; i++) {
        uint64_t value;
        size_t digits = nm_scan_u64(nm_slice_from(name, i), &value);
        struct nm_slice unit = nm_slice_trim(nm_slice_from(name, i + digits));

        if (!digits || value > 1 << 20)
            continue;
        if (nm_slice_starts(unit, "K"))
            return value << 10;
        return nm_slice_starts(unit, "M") ? value << 20 : value;
    }
    return 0;
}

static bool parse_name(struct nm_slice name, const struct report *report, struct figure *figure)
{
    static const char *const depth[] = {"QD=", "Q=", "QD", NULL}, *const threads[] = {"T=", NULL};
    bool sequential = nm_slice_find(name, "seq") >= 0;

    figure->random = nm_slice_find(name, "rnd") >= 0 || nm_slice_find(name, "random") >= 0;
    if (!figure->random && !sequential)
        return false;
    figure->direction = report->section;
    if (nm_slice_find(name, "read") >= 0)
        figure->direction = READ;
    else if (nm_slice_find(name, "write") >= 0)
        figure->direction = WRITE;
    figure->depth = parameter(name, depth, 1);
    figure->threads = parameter(name, threads, 1);
    figure->block_bytes = block_of(name);
    if (!figure->block_bytes && sequential) /* 5 and 6 with a queue: 128 KiB; alone and 3: 1 MiB */
        figure->block_bytes = nm_slice_find(name, "(Q") >= 0 ? 128 << 10 : 1 << 20;
    return figure->direction != NOWHERE && figure->block_bytes && figure->depth &&
           figure->depth <= 65536 && figure->threads && figure->threads <= 65536;
}

/* Number in front of a word, behind a bracket: "[   366.3 IOPS]". */
static double bracketed(struct nm_slice text, char open, const char *unit)
{
    const char *at = memchr(text.at, open, text.length);
    double value;
    struct nm_slice inside;
    size_t length;

    if (!at)
        return 0;
    inside = nm_slice_trim(nm_slice_from(text, (size_t)(at - text.at) + 1));
    length = nm_scan_number(inside, &value);
    inside = nm_slice_trim(nm_slice_from(inside, length));
    return length && nm_slice_find(inside, unit) == 0 ? value : 0;
}

/* False: this line is no figure. */
static bool parse_figure(struct nm_slice line, const struct report *report, struct figure *figure)
{
    ptrdiff_t unit = nm_slice_find(line, "MB/s");
    struct nm_slice left, value;
    size_t colon;

    *figure = (struct figure){0};
    if (unit < 0)
        return false;
    left = (struct nm_slice){.at = line.at, .length = (size_t)unit};
    for (colon = left.length; colon > 0 && left.at[colon - 1] != ':'; colon--)
        ;
    if (!colon)
        return false;
    value = nm_slice_trim(nm_slice_from(left, colon));
    left.length = colon - 1;
    if (!nm_slice_number(value, &figure->mb_per_s) || !parse_name(left, report, figure))
        return false;
    nm_slice_copy(value, figure->printed, sizeof(figure->printed));
    line = nm_slice_from(line, (size_t)unit);
    figure->iops = bracketed(line, '[', "IOPS");
    figure->latency_us = bracketed(line, '<', "us");
    return true;
}

static void parse_section(struct nm_slice line, struct report *report)
{
    if (nm_slice_starts(line, "[Read]"))
        report->section = READ;
    else if (nm_slice_starts(line, "[Write]"))
        report->section = WRITE;
    else if (nm_slice_starts(line, "[Mix]")) { /* "[Mix] Read 70%/Write 30%" */
        ptrdiff_t at = nm_slice_find(line, "Read ");

        report->section = MIX;
        if (at < 0 || !nm_scan_u64(nm_slice_from(line, (size_t)at + 5), &report->mix_percent) ||
            report->mix_percent > 99)
            report->mix_percent = 70;
    }
}

/* Title and the lines of the foot. */
static void parse_remark(struct nm_slice line, struct report *report)
{
    ptrdiff_t colon = nm_slice_find(line, ":"), loops;
    struct nm_slice value;
    uint64_t n;

    if (!*report->program && (nm_slice_find(line, "DiskMark") >= 0)) {
        nm_slice_copy(line, report->program, sizeof(report->program));
        report->is_kdiskmark = nm_slice_find(line, "KDiskMark") >= 0;
        return;
    }
    if (colon < 0)
        return;
    value = nm_slice_trim(nm_slice_from(line, (size_t)colon + 1));
    line = nm_slice_trim((struct nm_slice){.at = line.at, .length = (size_t)colon});
    for (size_t i = 0; i < N_REMARKS; i++)
        if (nm_slice_is(line, remarks[i].key))
            nm_slice_copy(value, report->remarks[i], sizeof(report->remarks[i]));
    loops = nm_slice_find(value, "(x");
    if (nm_slice_is(line, "Test") && loops >= 0 &&
        nm_scan_u64(nm_slice_from(value, (size_t)loops + 2), &n))
        snprintf(report->loops, sizeof(report->loops), "%" PRIu64, n);
}

/* "1 GiB (x5) [C: 46% (217/476GiB)]" and "1024 MiB [C: ...] (x5)" -> what stands first. */
static void cut_size(char *size)
{
    size_t length = strcspn(size, "([");

    while (length && size[length - 1] == ' ')
        length--;
    size[length] = '\0';
}

static const char true_unit[] = "1000000 B/s";

/* What a printed MB/s is, seen from IOPS x block. */
static const char *unit_of(const struct figure *figure, const struct report *report)
{
    double ratio = figure->iops * (double)figure->block_bytes / (figure->mb_per_s * 1e6);

    if (!report->is_kdiskmark || (figure->iops >= 100 && fabs(ratio - 1) < 0.004))
        return true_unit;
    return figure->iops >= 100 && fabs(ratio - 1.048576) < 0.004 ? "1 MiB/s" : "1000 KiB/s";
}

static void put_conditions(const struct report *report, const struct figure *figure,
                           struct nm_conditions *conditions)
{
    nm_conditions_set(conditions, "block_bytes", "%" PRIu64, figure->block_bytes);
    nm_conditions_set(conditions, "depth", "%" PRIu64, figure->depth);
    nm_conditions_set(conditions, "streams", "%" PRIu64, figure->threads);
    if (*report->program)
        nm_conditions_set(conditions, "import.program", "%s", report->program);
    nm_conditions_set(conditions, "import.unit", "%s", unit_of(figure, report));
    for (size_t i = 0; i < N_REMARKS; i++)
        if (*report->remarks[i])
            nm_conditions_set(conditions, remarks[i].condition, "%s", report->remarks[i]);
    if (*report->loops)
        nm_conditions_set(conditions, "import.loops", "%s", report->loops);
}

/* As the phases of our own profiles are called: "seq1MiB-q8t1-read", "rnd4KiB-q1t1-mix70". */
static void phase_name(const struct report *report, const struct figure *figure, char *out,
                       size_t size)
{
    char block[32], mix[16];

    snprintf(mix, sizeof(mix), "mix%" PRIu64, report->mix_percent);
    snprintf(out, size, "%s%s-q%" PRIu64 "t%" PRIu64 "-%s", figure->random ? "rnd" : "seq",
             nm_units_format_bytes(figure->block_bytes, block, sizeof(block)), figure->depth,
             figure->threads,
             figure->direction == READ    ? "read"
             : figure->direction == WRITE ? "write"
                                          : mix);
}

static int emit(struct report *report, const struct figure *figure, const char *format,
                const struct nm_import_sink *sink, struct nm_error *err)
{
    struct nm_conditions conditions;
    struct nm_metrics metrics;
    struct nm_document document;
    char phase[96], source_text[80];
    const char *unit = unit_of(figure, report);

    nm_import_document_init(&document, sink, format, &conditions, &metrics);
    put_conditions(report, figure, &conditions);
    phase_name(report, figure, phase, sizeof(phase));
    document.trial.workload = strchr(format, ':') + 1;
    document.trial.phase = phase;
    document.trial.phase_index = report->figures++;
    document.trial.phase_writes = figure->direction != READ;
    document.trial.streams = (uint32_t)figure->threads;
    document.trial.duration_ns = 1000000000;
    snprintf(source_text, sizeof(source_text), unit == true_unit ? "%s MB/s" : "%s MB/s (of %s)",
             figure->printed, unit);
    document.trial.source_text = source_text;
    document.trial.status = NM_STATUS_OK;
    if (!nm_scan_scaled(figure->mb_per_s, 1e6, &document.trial.bytes) ||
        !nm_scan_scaled(figure->iops, 1, &document.trial.operations))
        return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT, "%s MB/s is out of range",
                            figure->printed);
    if (figure->iops > 0)
        nm_metrics_add(&metrics, "iops", "1/s", NM_BETTER_HIGHER, NM_SUMMARY_GEOMEAN, figure->iops);
    if (figure->latency_us > 0)
        nm_metrics_add(&metrics, "mean_latency", "ns", NM_BETTER_LOWER, NM_SUMMARY_BEST,
                       figure->latency_us * 1e3);
    return sink->trial(sink->context, &document, err);
}

/* The remarks stand below the figures: read once for them, once for the figures. */
static void read_remarks(const char *text, size_t length, struct report *report)
{
    struct nm_lines lines;
    struct nm_slice line;
    struct figure figure;

    nm_lines_init(&lines, text, length);
    while (nm_lines_next(&lines, &line)) {
        parse_section(nm_slice_trim(line), report);
        if (!parse_figure(line, report, &figure))
            parse_remark(nm_slice_trim(line), report);
    }
    for (size_t i = 0; i < N_REMARKS; i++)
        if (!strcmp(remarks[i].condition, "import.size"))
            cut_size(report->remarks[i]);
    report->section = NOWHERE;
}

static int parse_text(const char *text, size_t length, const char *format, bool is_kdiskmark,
                      const struct nm_import_sink *sink, struct nm_error *err)
{
    struct report report = {0};
    struct nm_lines lines;
    struct nm_slice line;
    size_t found = 0;

    read_remarks(text, length, &report);
    report.is_kdiskmark |= is_kdiskmark;
    nm_lines_init(&lines, text, length);
    while (nm_lines_next(&lines, &line)) {
        struct figure figure;
        char shown[120];
        int r = 0;

        parse_section(nm_slice_trim(line), &report);
        if (!parse_figure(line, &report, &figure))
            continue;
        found++;
        if (figure.mb_per_s > 0)
            r = emit(&report, &figure, format, sink, err);
        else if (sink->warning) /* printed for tests that were not run */
            sink->warning(sink->context, nm_slice_copy(nm_slice_trim(line), shown, sizeof(shown)));
        if (r < 0) {
            nm_error_prefix(err, "line %u", lines.number);
            return r;
        }
    }
    if (!found)
        return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT,
                            "no line like \"SEQ 1MiB (Q= 8, T= 1): 384.064 MB/s\" in it");
    return 0;
}

static int parse_crystaldiskmark(const char *text, size_t length, const struct nm_import_sink *sink,
                                 struct nm_error *err)
{
    return parse_text(text, length, "imported:crystaldiskmark", false, sink, err);
}

static int parse_kdiskmark(const char *text, size_t length, const struct nm_import_sink *sink,
                           struct nm_error *err)
{
    return parse_text(text, length, "imported:kdiskmark", true, sink, err);
}

const struct nm_importer nm_importer_crystaldiskmark = {
    .name = "crystaldiskmark",
    .help = "text saved by CrystalDiskMark 3 to 9",
    .parse = parse_crystaldiskmark,
};

const struct nm_importer nm_importer_kdiskmark = {
    .name = "kdiskmark",
    .help = "text saved by KDiskMark",
    .parse = parse_kdiskmark,
};
