/* fio JSON, 2.x and 3.x.
 *
 * 2.x counts io_bytes in KiB and latencies in us, 3.x in bytes and ns; which is which is taken from
 * the members (clat_ns, io_kbytes), because versions in between lie. Entries of one group with one
 * job name are the processes of one job (numjobs without group_reporting): streams of one trial,
 * never replicates. Jobs of different names in one group ran at the same time and get the flag
 * shared-load. Lines in front of the JSON (fio prints errors there) are kept as warnings.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "import.h"
#include "scan.h"

#include "../../src/units.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ENTRIES = 4096 };

enum direction { READ, WRITE, TRIM, DIRECTIONS };

static const char *const direction_names[] = {[READ] = "read", [WRITE] = "write", [TRIM] = "trim"};

/* Sum over the entries of one job in one direction. */
struct sum {
    double bytes, ios, iops, runtime_ns, latency_ns; /* latency weighted by ios */
    double points_ns[4];                             /* largest of the entries */
    bool has_point[4], has_latency;
};

static const struct {
    const char *suffix, *key; /* of our metric; in "percentile", NULL = max */
} points[4] = {{"p50", "50.000000"}, {"p95", "95.000000"}, {"p99", "99.000000"}, {"max", NULL}};

struct job {
    const json_t *first; /* entry */
    const char *name;
    double group;
    uint32_t entries;
    int error;
    double cpu_ns;
    struct sum sums[DIRECTIONS];
    uint32_t pass; /* among the jobs of this name */
    bool shared;   /* its group holds jobs of other names */
};

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* Of the job, else of the whole file. */
static const char *option(const json_t *root, const json_t *job, const char *key)
{
    const char *value = text_of(json_object_get(job, "job options"), key);

    return value ? value : text_of(json_object_get(root, "global options"), key);
}

/* Latency object in ns; *ret_scale = what its values count. */
static const json_t *latency(const json_t *part, const char *name, double *ret_scale)
{
    char key[16];
    const json_t *object;

    snprintf(key, sizeof(key), "%s_ns", name);
    object = json_object_get(part, key);
    *ret_scale = object ? 1 : 1000;
    return object ? object : json_object_get(part, name);
}

static void add_points(struct sum *sum, const json_t *part)
{
    double scale;
    const json_t *completion = latency(part, "clat", &scale);
    const json_t *percentiles = json_object_get(completion, "percentile");

    for (int i = 0; i < 4; i++) {
        const json_t *value = points[i].key ? json_object_get(percentiles, points[i].key)
                                            : json_object_get(completion, "max");

        if (!json_is_number(value))
            continue;
        sum->has_point[i] = true;
        sum->points_ns[i] = fmax(sum->points_ns[i], scale * json_number_value(value));
    }
}

static void add_part(struct sum *sum, const json_t *part)
{
    bool in_bytes = json_object_get(part, "io_kbytes") || json_object_get(part, "clat_ns") ||
                    json_object_get(part, "bw_bytes");
    double runtime_ns = 1e6 * number(part, "runtime"), ios = number(part, "total_ios"), scale;
    double bytes = number(part, "io_bytes") * (in_bytes ? 1 : 1024);
    const json_t *whole = latency(part, "lat", &scale);

    if (!(bytes > 0) || !(runtime_ns >= 0))
        return;
    if (!(ios > 0))
        ios = number(part, "iops") * runtime_ns / 1e9;
    sum->bytes += bytes;
    sum->ios += ios;
    sum->runtime_ns = fmax(sum->runtime_ns, runtime_ns);
    if (json_is_object(whole)) {
        sum->has_latency = true;
        sum->latency_ns += scale * number(whole, "mean") * ios;
    }
    add_points(sum, part);
}

static void add_metrics(struct nm_metrics *metrics, const struct sum *sum, const char *direction)
{
    char name[32];

    if (sum->ios > 0 && sum->runtime_ns > 0)
        nm_metrics_add(metrics, "iops", "1/s", NM_BETTER_HIGHER, NM_SUMMARY_GEOMEAN,
                       sum->ios * 1e9 / sum->runtime_ns);
    if (sum->has_latency && sum->ios > 0)
        nm_metrics_add(metrics, "mean_latency", "ns", NM_BETTER_LOWER, NM_SUMMARY_MEDIAN,
                       sum->latency_ns / sum->ios);
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "%s_latency_%s", direction, points[i].suffix);
        if (sum->has_point[i])
            nm_metrics_add(metrics, name, "ns", NM_BETTER_LOWER, NM_SUMMARY_MEDIAN,
                           sum->points_ns[i]);
    }
}

static void put_option(struct nm_conditions *conditions, const char *name, const char *value,
                       bool is_size)
{
    uint64_t bytes;

    if (!value)
        return;
    if (is_size && nm_units_parse_bytes(value, &bytes, NULL) == 0)
        nm_conditions_set(conditions, name, "%" PRIu64, bytes);
    else
        nm_conditions_set(conditions, name, "%.100s", value);
}

static void put_conditions(struct nm_conditions *conditions, const json_t *root,
                           const struct job *job)
{
    const char *direct = option(root, job->first, "direct"), *size, *depth, *version;

    size = option(root, job->first, "size");
    depth = option(root, job->first, "iodepth");
    version = text_of(root, "fio version");
    put_option(conditions, "block_bytes", option(root, job->first, "bs"), true);
    put_option(conditions, "depth", depth, false);
    put_option(conditions, "import.size", size, false);
    put_option(conditions, "import.profile", option(root, job->first, "rw"), false);
    put_option(conditions, "import.program", version, false);
    put_option(conditions, "import.date", text_of(root, "time"), false);
    put_option(conditions, "io_engine", option(root, job->first, "ioengine"), false);
    if (direct)
        nm_conditions_set(conditions, "direct", "%s", strcmp(direct, "1") ? "no" : "yes");
}

/* What a failed job was to do: its option rw, else write. */
static enum direction intended(const json_t *root, const struct job *job)
{
    const char *rw = option(root, job->first, "rw");

    if (!rw)
        rw = option(root, job->first, "readwrite");
    if (!rw)
        return WRITE;
    return strstr(rw, "trim") ? TRIM : strstr(rw, "read") ? READ : WRITE;
}

static bool fill_trial(struct nm_trial_record *trial, const struct sum *sum, const struct job *job)
{
    if (!nm_scan_scaled(sum->bytes, 1, &trial->bytes) ||
        !nm_scan_scaled(sum->ios, 1, &trial->operations) ||
        !nm_scan_scaled(sum->runtime_ns, 1, &trial->duration_ns) ||
        !nm_scan_scaled(job->cpu_ns, 1, &trial->cpu_ns))
        return false;
    trial->status = NM_STATUS_OK;
    if (job->error) {
        trial->status = NM_STATUS_FAILED;
    } else if (!trial->duration_ns) {
        trial->status = NM_STATUS_TOO_SHORT;
        trial->bytes = 0;
    }
    return true;
}

static int emit(const json_t *root, const struct job *job, enum direction direction,
                const struct nm_import_sink *sink, struct nm_error *err)
{
    const struct sum *sum = &job->sums[direction];
    struct nm_conditions conditions;
    struct nm_metrics metrics;
    struct nm_document document;
    char workload[160], raw[32], message[96], source_text[64];
    const char *phase = direction_names[direction];

    nm_import_document_init(&document, sink, "imported:fio", &conditions, &metrics);
    snprintf(workload, sizeof(workload), "fio:%.120s", job->name);
    put_conditions(&conditions, root, job);
    document.trial.workload = workload;
    document.trial.phase = phase;
    document.trial.phase_index = (int)direction;
    document.trial.phase_writes = direction == WRITE;
    document.trial.pass = job->pass;
    document.trial.streams = job->entries;
    document.trial.flags = job->shared ? "shared-load" : NULL;
    nm_scan_scaled(number(root, "timestamp"), 1e9, &document.trial.start_utc_ns);
    if (!fill_trial(&document.trial, sum, job))
        return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT, "job \"%.60s\": numbers out of range",
                            job->name);
    if (job->error) {
        snprintf(raw, sizeof(raw), "fio error %d", job->error);
        snprintf(message, sizeof(message), "fio ended with error %d (%s)", job->error,
                 strerror(job->error));
        document.trial.reason = nm_reason_from_errno(-job->error);
        document.trial.raw = raw;
        document.trial.message = message;
    } else {
        add_metrics(&metrics, sum, phase);
        snprintf(source_text, sizeof(source_text), "%" PRIu64 " B in %.0f ms", document.trial.bytes,
                 sum->runtime_ns / 1e6);
        document.trial.source_text = source_text;
    }
    return sink->trial(sink->context, &document, err);
}

static void add_entry(struct job *job, const json_t *entry)
{
    double runtime_ms = number(entry, "job_runtime");
    double percent = number(entry, "usr_cpu") + number(entry, "sys_cpu");

    job->entries++;
    if (!job->error)
        job->error = abs((int)fmax(fmin(number(entry, "error"), 4095), -4095));
    if (percent >= 0 && runtime_ms >= 0)
        job->cpu_ns += percent / 100 * runtime_ms * 1e6;
    for (int d = 0; d < DIRECTIONS; d++)
        add_part(&job->sums[d], json_object_get(entry, direction_names[d]));
}

/* Gathers the entries into jobs; returns their number. */
static int gather(const json_t *entries, struct job *jobs, size_t *ret_n, struct nm_error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *entry = json_array_get(entries, i);
        const char *name = text_of(entry, "jobname");
        size_t at = 0;

        if (!name)
            return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT, "job %zu has no \"jobname\"", i);
        if (!strcmp(name, "All clients")) /* the sum that fio --client adds */
            continue;
        while (at < n &&
               (strcmp(jobs[at].name, name) != 0 || jobs[at].group != number(entry, "groupid")))
            at++;
        if (at == n)
            jobs[n++] = (struct job){
                .first = entry, .name = name, .group = number(entry, "groupid"), .pass = 1};
        add_entry(&jobs[at], entry);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            bool same_name = !strcmp(jobs[i].name, jobs[k].name);

            jobs[i].pass += k < i && same_name;
            jobs[i].shared |= !same_name && jobs[i].group == jobs[k].group;
        }
    *ret_n = n;
    return 0;
}

static int emit_job(const json_t *root, const struct job *job, const struct nm_import_sink *sink,
                    struct nm_error *err)
{
    char text[160];
    bool any = false;

    for (int d = 0; d < DIRECTIONS; d++)
        if (job->sums[d].bytes > 0) {
            int r = emit(root, job, (enum direction)d, sink, err);

            if (r < 0)
                return r;
            any = true;
        }
    if (!any && job->error)
        return emit(root, job, intended(root, job), sink, err);
    snprintf(text, sizeof(text), "job \"%.100s\" moved nothing: left out", job->name);
    if (!any && sink->warning)
        sink->warning(sink->context, text);
    return 0;
}

static int parse_jobs(const json_t *root, const struct nm_import_sink *sink, struct nm_error *err)
{
    const json_t *entries = json_object_get(root, "jobs");
    struct job *jobs;
    size_t n = 0;
    int r;

    if (!entries)
        entries = json_object_get(root, "client_stats");
    if (!json_array_size(entries) || json_array_size(entries) > MAX_ENTRIES)
        return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT,
                            "the JSON holds no \"jobs\", or more than %d; was it fio with "
                            "--output-format=json?",
                            MAX_ENTRIES);
    jobs = calloc(json_array_size(entries), sizeof(*jobs));
    if (!jobs)
        return nm_error_errno(err, -ENOMEM, "reading jobs: out of memory");
    r = gather(entries, jobs, &n, err);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = emit_job(root, &jobs[i], sink, err);
    free(jobs);
    return r;
}

/* Offset of the line that begins with '{'; lines before it go to the sink. */
static size_t skip_preface(const char *text, size_t length, const struct nm_import_sink *sink)
{
    struct nm_lines lines;
    struct nm_slice line;
    char shown[200];

    nm_lines_init(&lines, text, length);
    while (nm_lines_next(&lines, &line)) {
        struct nm_slice trimmed = nm_slice_trim(line);

        if (nm_slice_starts(trimmed, "{"))
            return (size_t)(trimmed.at - text);
        if (trimmed.length && sink->warning)
            sink->warning(sink->context, nm_slice_copy(trimmed, shown, sizeof(shown)));
    }
    return length;
}

static int parse(const char *text, size_t length, const struct nm_import_sink *sink,
                 struct nm_error *err)
{
    size_t start = skip_preface(text, length, sink);
    char why[JSON_ERROR_TEXT_LENGTH];
    json_error_t fault;
    json_t *root;
    int r;

    if (start == length)
        return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT, "no JSON in it");
    /* Integers as reals: an unused minimum is printed as 2^64 - 1, which no JSON integer holds. */
    root = json_loadb(text + start, length - start,
                      JSON_DECODE_INT_AS_REAL | JSON_DISABLE_EOF_CHECK, &fault);
    if (!root)
        return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT,
                            "not JSON, %d lines below its first \"{\": %s", fault.line - 1,
                            nm_slice_copy(nm_slice_of(fault.text), why, sizeof(why)));
    r = parse_jobs(root, sink, err);
    json_decref(root);
    return r;
}

const struct nm_importer nm_importer_fio = {
    .name = "fio",
    .help = "fio JSON (--output-format=json) of 2.x and 3.x",
    .parse = parse,
};
