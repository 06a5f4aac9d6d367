/* What dd prints: GNU old and new, BusyBox, BSD, in any language; also the lines of `time` below.
 *
 *   1073741824 bytes (1.1 GB, 1.0 GiB) copied, 17.6713 s, 60.8 MB/s
 *   104857600 bytes (100.0MB) copied, 0.054862 seconds, 1.8GB/s                BusyBox (MiB)
 *   1073741824 bytes transferred in 17.671300 secs (60761900 bytes/sec)        BSD
 *
 * A line counts when it begins with a whole number of bytes and ends with a time and a rate: the
 * words between are of no interest. The rate is always computed from bytes and seconds; the printed
 * one is only kept as text. Several runs in one file are passes of one cell.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "import.h"
#include "scan.h"

#include "../../src/text.h"
#include "../../src/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* One run while its lines are read. */
struct dd_run {
    bool seen; /* the line with the bytes was there */
    bool failed;
    uint64_t bytes, blocks;
    double seconds;
    char rate[40];
    double real_s, user_s, sys_s; /* of `time`; negative = not printed */
    enum nm_reason reason;
    char message[160];
};

struct state {
    const struct nm_import_sink *sink;
    struct dd_run run;
    uint64_t blocks;     /* of the last records line */
    bool records_needed; /* the file has records lines, so a bytes line without is progress */
    uint32_t passes;
};

static void clear(struct dd_run *run)
{
    *run = (struct dd_run){.real_s = -1, .user_s = -1, .sys_s = -1};
}

static void add_times(const struct dd_run *run, struct nm_metrics *metrics)
{
    if (run->real_s >= 0)
        nm_metrics_add(metrics, "real_s", "s", NM_BETTER_LOWER, NM_SUMMARY_MEAN, run->real_s);
    if (run->user_s >= 0)
        nm_metrics_add(metrics, "user_s", "s", NM_BETTER_LOWER, NM_SUMMARY_MEAN, run->user_s);
    if (run->sys_s >= 0)
        nm_metrics_add(metrics, "sys_s", "s", NM_BETTER_LOWER, NM_SUMMARY_MEAN, run->sys_s);
}

static void workload_of(const struct dd_run *run, char *out, size_t size)
{
    char block[32], whole[32];

    nm_units_format_bytes(run->bytes, whole, sizeof(whole));
    if (run->blocks && run->bytes % run->blocks == 0)
        snprintf(out, size, "dd:%s,%s", whole,
                 nm_units_format_bytes(run->bytes / run->blocks, block, sizeof(block)));
    else
        snprintf(out, size, "dd:%s", whole);
}

static bool fill(struct nm_trial_record *trial, const struct dd_run *run)
{
    double cpu_s = run->user_s >= 0 && run->sys_s >= 0 ? run->user_s + run->sys_s : 0;

    if (run->failed) {
        trial->status = NM_STATUS_FAILED;
        trial->reason = run->reason;
        trial->message = run->message;
        return true;
    }
    trial->status = NM_STATUS_OK;
    trial->bytes = run->bytes;
    if (!nm_scan_scaled(run->seconds, 1e9, &trial->duration_ns) ||
        !nm_scan_scaled(cpu_s, 1e9, &trial->cpu_ns))
        return false;
    if (!trial->duration_ns || !trial->bytes) {
        trial->status = NM_STATUS_TOO_SHORT;
        trial->bytes = trial->duration_ns = 0;
    }
    return true;
}

/* Hands over the run that was being read, if there is one. */
static int finish(struct state *state, struct nm_error *err)
{
    struct dd_run *run = &state->run;
    struct nm_conditions conditions;
    struct nm_metrics metrics;
    struct nm_document document;
    char workload[96];
    int r;

    if (!run->seen && !run->failed)
        return 0;
    nm_import_document_init(&document, state->sink, "imported:dd", &conditions, &metrics);
    workload_of(run, workload, sizeof(workload));
    if (run->blocks && run->bytes % run->blocks == 0)
        nm_conditions_set(&conditions, "block_bytes", "%" PRIu64, run->bytes / run->blocks);
    document.trial.workload = run->bytes ? workload : "dd";
    document.trial.phase = "write";
    document.trial.phase_writes = true;
    document.trial.pass = ++state->passes;
    document.trial.source_text = *run->rate ? run->rate : NULL;
    if (!fill(&document.trial, run))
        return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT, "%g s is out of range", run->seconds);
    add_times(run, &metrics);
    r = state->sink->trial(state->sink->context, &document, err);
    clear(run);
    return r;
}

/* "32768+0 records in", whatever the language calls it. */
static bool parse_records(struct nm_slice line, struct state *state)
{
    uint64_t whole, part;
    size_t length = 0, more;

    while (length < line.length && !nm_text_is_digit(line.at[length]))
        length++; /* Chinese puts words in front */
    line = nm_slice_from(line, length);
    length = nm_scan_u64(line, &whole);
    if (!length || length >= line.length || line.at[length] != '+')
        return false;
    more = nm_scan_u64(nm_slice_from(line, length + 1), &part);
    if (!more)
        return false;
    state->blocks = part ? 0 : whole; /* with a partial block the block size cannot be told */
    state->records_needed = true;
    return true;
}

/* "60.8 MB/s": a number, a unit, a slash. */
static bool is_rate(struct nm_slice text)
{
    ptrdiff_t slash = nm_slice_find(text, "/");

    return slash > 0 && text.at[slash - 1] != ' ' && !nm_text_is_digit(text.at[slash - 1]);
}

/* The last two numbers of the line: seconds and rate. */
static bool parse_tail(struct nm_slice line, double *ret_seconds, struct nm_slice *ret_rate)
{
    double value, last = -1, before = -1;
    size_t at = 0, last_at = 0;

    while (at < line.length) {
        size_t length = nm_scan_number(nm_slice_from(line, at), &value);

        if (length) {
            before = last;
            last = value;
            last_at = at;
        }
        at += length ? length : 1;
    }
    *ret_rate = nm_slice_from(line, last_at);
    *ret_seconds = before;
    return before >= 0 && is_rate(*ret_rate);
}

static void keep_rate(struct nm_slice rate, struct dd_run *run)
{
    char text[40];
    double value;
    size_t digits;
    struct nm_slice unit;

    if (rate.length && rate.at[rate.length - 1] == ')')
        rate.length--;
    digits = nm_scan_number(rate, &value);
    unit = nm_slice_trim(nm_slice_from(rate, digits));
    nm_slice_copy((struct nm_slice){.at = rate.at, .length = digits}, text, sizeof(text));
    for (char *p = text; *p; p++)
        if (*p == ',')
            *p = '.';
    snprintf(run->rate, sizeof(run->rate), "%.20s %.*s", text,
             (int)(unit.length < 16 ? unit.length : 16), unit.at);
    nm_slice_copy(nm_slice_of(run->rate), text, sizeof(text)); /* no broken letters */
    memcpy(run->rate, text, sizeof(text));
}

/* The line that ends a run. */
static bool parse_bytes(struct nm_slice line, struct state *state)
{
    uint64_t bytes;
    double seconds;
    struct nm_slice rate;
    size_t length = nm_scan_u64(line, &bytes);

    if (!length || memchr(line.at, '\r', line.length))
        return false; /* status=progress overwrites its line */
    if (!parse_tail(nm_slice_from(line, length), &seconds, &rate))
        return false;
    if (state->records_needed && state->blocks == UINT64_MAX)
        return false;
    state->run.seen = true;
    state->run.bytes = bytes;
    state->run.seconds = seconds;
    state->run.blocks = state->records_needed ? state->blocks : 0;
    keep_rate(rate, &state->run);
    state->blocks = UINT64_MAX;
    return true;
}

/* "real 0m39.241s", "real 39.24", "0m0.053s user" are all in use; the first two are read. */
static bool parse_time(struct nm_slice line, struct dd_run *run)
{
    static const char *const names[] = {"real", "user", "sys"};
    double *const places[] = {&run->real_s, &run->user_s, &run->sys_s};

    for (int i = 0; i < 3; i++) {
        struct nm_slice rest;
        double minutes = 0, seconds;
        size_t length;

        if (!nm_slice_starts(line, names[i]))
            continue;
        rest = nm_slice_trim(nm_slice_from(line, strlen(names[i])));
        length = nm_scan_number(rest, &seconds);
        if (length && length < rest.length && rest.at[length] == 'm') {
            minutes = seconds;
            rest = nm_slice_from(rest, length + 1);
            length = nm_scan_number(rest, &seconds);
        }
        if (length)
            *places[i] = 60 * minutes + seconds;
        return length > 0;
    }
    return false;
}

/* "dd: error writing 'x': No space left on device" */
static bool parse_failure(struct nm_slice line, struct dd_run *run)
{
    static const struct {
        const char *text;
        enum nm_reason reason;
    } rows[] = {
        {"No space left", NM_REASON_NO_SPACE},     {"quota", NM_REASON_NO_SPACE},
        {"File too large", NM_REASON_NO_SPACE},    {"Permission denied", NM_REASON_AUTH},
        {"Read-only", NM_REASON_READ_ONLY},        {"No such file", NM_REASON_NOT_FOUND},
        {"timed out", NM_REASON_TIMEOUT},          {"Input/output error", NM_REASON_INTERNAL},
        {"Stale file", NM_REASON_CONNECTION_LOST},
    };

    if (!nm_slice_starts(line, "dd: ") || nm_slice_find(line, "warning") >= 0)
        return false;
    run->failed = true;
    run->reason = NM_REASON_INTERNAL;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (nm_slice_find(line, rows[i].text) >= 0)
            run->reason = rows[i].reason;
    nm_slice_copy(line, run->message, sizeof(run->message));
    return true;
}

static int parse_line(struct nm_slice line, struct state *state, struct nm_error *err)
{
    char shown[160];
    int r = 0;

    if (parse_time(line, &state->run))
        return 0;
    /* the next run begins with its records, its failure or its bytes */
    if (state->run.seen)
        r = finish(state, err);
    if (r < 0)
        return r;
    if (parse_failure(line, &state->run)) /* what could not be opened has no records */
        return nm_slice_find(line, "open") >= 0 ? finish(state, err) : 0;
    if (parse_records(line, state))
        return 0;
    if (parse_bytes(line, state) || !state->sink->warning)
        return 0;
    state->sink->warning(state->sink->context, nm_slice_copy(line, shown, sizeof(shown)));
    return 0;
}

static int parse(const char *text, size_t length, const struct nm_import_sink *sink,
                 struct nm_error *err)
{
    struct state state = {.sink = sink, .blocks = UINT64_MAX};
    struct nm_lines lines;
    struct nm_slice line;
    int r = 0;

    clear(&state.run);
    nm_lines_init(&lines, text, length);
    while (r == 0 && nm_lines_next(&lines, &line)) {
        line = nm_slice_trim(line);
        if (line.length)
            r = parse_line(line, &state, err);
        if (r < 0)
            nm_error_prefix(err, "line %u", lines.number);
    }
    if (r == 0)
        r = finish(&state, err);
    if (r == 0 && !state.passes)
        return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT,
                            "no line like \"1073741824 bytes (1.1 GB) copied, 17.6713 s, 60.8 "
                            "MB/s\" in it");
    return r;
}

const struct nm_importer nm_importer_dd = {
    .name = "dd",
    .help = "what dd prints (GNU, BusyBox, BSD; any language), with `time` below",
    .parse = parse,
};
