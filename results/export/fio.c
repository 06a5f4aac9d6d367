/* export --format fio-json: trials in the layout of fio 3, as `import fio` and fio's own scripts
 * read it.
 *
 * A trial is a job in a group of its own; its name is VOLUME/PROTOCOL/WORKLOAD/PHASE, so trials of
 * one cell come back as passes of one cell. Trials that succeeded or failed are written; what was
 * not run is nothing that fio could say. `runtime` has fractions of a millisecond, or rates would
 * not survive.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "export.h"

#include "../../src/clock.h"
#include "../escape.h"
#include "../store_document.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

/* Numbers that fio prints for a kind of failure; the importer's classes come back from them. */
static const int errors[NM_REASONS] = {
    [NM_REASON_AUTH] = EACCES,       [NM_REASON_NOT_FOUND] = ENOENT,
    [NM_REASON_READ_ONLY] = EROFS,   [NM_REASON_NO_SPACE] = ENOSPC,
    [NM_REASON_TIMEOUT] = ETIMEDOUT, [NM_REASON_CONNECTION_LOST] = ECONNRESET,
    [NM_REASON_CORRUPT] = EILSEQ,    [NM_REASON_UNSUPPORTED] = EOPNOTSUPP,
    [NM_REASON_ABORTED] = ECANCELED, [NM_REASON_CLIENT_LIMIT] = ENOMEM,
    [NM_REASON_PROTECTED] = EEXIST,
};

static json_t *latency(const struct nm_histogram *histogram)
{
    static const struct {
        const char *key;
        double fraction;
    } points[] = {
        {"1.000000", 0.01},   {"5.000000", 0.05},    {"10.000000", 0.10}, {"50.000000", 0.50},
        {"90.000000", 0.90},  {"95.000000", 0.95},   {"99.000000", 0.99}, {"99.500000", 0.995},
        {"99.900000", 0.999}, {"99.990000", 0.9999},
    };
    json_t *percentile = json_object();

    for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++)
        json_object_set_new(
            percentile, points[i].key,
            json_integer((json_int_t)nm_histogram_percentile(histogram, points[i].fraction)));
    return json_pack("{s:I, s:I, s:f, s:I, s:o}", "min", (json_int_t)histogram->min_ns, "max",
                     (json_int_t)histogram->max_ns, "mean",
                     (double)histogram->sum_ns / (double)histogram->count, "N",
                     (json_int_t)histogram->count, "percentile", percentile);
}

/* What one direction of a trial moved. */
struct part {
    double bytes, operations;
    const struct nm_histogram *histogram; /* NULL = no latencies */
};

static json_t *part_json(const struct part *part, uint64_t duration_ns)
{
    double seconds = (double)duration_ns / 1e9;
    double bytes_per_s = duration_ns ? part->bytes / seconds : 0;
    json_t *json = json_pack(
        "{s:I, s:I, s:I, s:f, s:f, s:f, s:I}", "io_bytes", (json_int_t)part->bytes, "io_kbytes",
        (json_int_t)(part->bytes / 1024), "bw_bytes", (json_int_t)bytes_per_s, "bw",
        bytes_per_s / 1024, "iops", duration_ns ? part->operations / seconds : 0, "runtime",
        part->bytes > 0 ? (double)duration_ns / 1e6 : 0, "total_ios", (json_int_t)part->operations);

    if (json && part->histogram) {
        json_object_set_new(json, "clat_ns", latency(part->histogram));
        json_object_set_new(json, "lat_ns", latency(part->histogram));
    }
    return json;
}

static const struct nm_histogram *histogram_of(const struct nm_trial_record *trial,
                                               const char *operation)
{
    for (size_t i = 0; i < trial->n_histograms; i++)
        if (!strcmp(trial->histograms[i].operation, operation) &&
            trial->histograms[i].histogram->count)
            return trial->histograms[i].histogram;
    return NULL;
}

/* Bytes are stored as one number. Blocks have one size, so the counts of reads and writes divide
 * it; without them all goes the way of the phase. */
static void split(const struct nm_trial_record *trial, struct part *read, struct part *write)
{
    double reads, writes, share;

    read->histogram = histogram_of(trial, "read");
    write->histogram = histogram_of(trial, "write");
    reads = read->histogram ? (double)read->histogram->count : 0;
    writes = write->histogram ? (double)write->histogram->count : 0;
    share = reads + writes > 0 ? reads / (reads + writes) : !trial->phase_writes;
    read->bytes = round((double)trial->bytes * share);
    write->bytes = (double)trial->bytes - read->bytes;
    read->operations = reads + writes > 0 ? reads : share * (double)trial->operations;
    write->operations = reads + writes > 0 ? writes : (1 - share) * (double)trial->operations;
}

static json_t *options_json(const struct nm_trial_record *trial, const struct part *read,
                            const struct part *write)
{
    static const struct {
        const char *option, *condition;
    } pairs[] = {{"bs", "block_bytes"}, {"iodepth", "depth"}, {"ioengine", "io_engine"}};
    const char *direct = nm_conditions_get(trial->conditions, "direct");
    const char *random = strncmp(trial->phase, "rnd", 3) ? "" : "rand";
    json_t *json = json_object();
    char rw[16];

    snprintf(rw, sizeof(rw), "%s%s", random,
             read->bytes > 0 && write->bytes > 0                             ? "rw"
             : write->bytes > 0 || (read->bytes <= 0 && trial->phase_writes) ? "write"
                                                                             : "read");
    json_object_set_new(json, "rw", json_string(rw));
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        const char *value = nm_conditions_get(trial->conditions, pairs[i].condition);

        if (value)
            json_object_set_new(json, pairs[i].option, nm_escape_json(value));
    }
    if (direct)
        json_object_set_new(json, "direct", json_string(strcmp(direct, "yes") ? "0" : "1"));
    return json;
}

static json_t *job_json(const struct nm_document *document, int group)
{
    const struct nm_trial_record *trial = &document->trial;
    int error = trial->status == NM_STATUS_FAILED ? errors[trial->reason] : 0;
    struct part read = {0}, write = {0};
    double cpu_percent = 0;
    char name[640];

    if (trial->status == NM_STATUS_FAILED && !error)
        error = EIO;
    if (!error)
        split(trial, &read, &write);
    if (trial->duration_ns)
        cpu_percent = 100.0 * (double)trial->cpu_ns / (double)trial->duration_ns;
    snprintf(name, sizeof(name), "%.120s/%.20s/%.100s/%.60s", document->volume.name,
             trial->protocol, trial->workload, trial->phase);
    return json_pack(
        "{s:o, s:i, s:i, s:f, s:f, s:f, s:o, s:o, s:o}", "jobname", nm_escape_json(name), "groupid",
        group, "error", error, "job_runtime", (double)trial->duration_ns / 1e6, "usr_cpu",
        cpu_percent, "sys_cpu", 0.0, "job options", options_json(trial, &read, &write), "read",
        part_json(&read, trial->duration_ns), "write", part_json(&write, trial->duration_ns));
}

static int write_job(struct nm_store *store, int64_t trial_id, int group, FILE *out,
                     struct nm_error *err)
{
    struct nm_stored_document *stored;
    int r = nm_stored_document_read(store, trial_id, true, &stored, err);
    json_t *json;

    if (r < 0)
        return r;
    json = job_json(&stored->document, group);
    nm_stored_document_free(stored);
    if (!json)
        return nm_error_no_memory(err);
    fputs(group ? ",\n" : "\n", out);
    if (json_dumpf(json, out, JSON_COMPACT | JSON_REAL_PRECISION(15)) < 0)
        r = nm_error_errno(err, -EIO, "export: writing failed");
    json_decref(json);
    return r;
}

static void write_head(const struct nm_cells *cells, FILE *out)
{
    uint64_t newest_ns = 0;

    for (size_t i = 0; i < cells->count; i++)
        for (size_t k = 0; k < cells->items[i].n_trials; k++)
            if (cells->items[i].trials[k].start_utc_ns > newest_ns)
                newest_ns = cells->items[i].trials[k].start_utc_ns;
    fprintf(out, "{\"fio version\":\"nasmark-" NM_VERSION "\",\"timestamp\":%lld,\"jobs\":[",
            (long long)(newest_ns / NM_NS_PER_S));
}

static int write_fio(struct nm_store *store, const struct nm_cells *cells, FILE *out,
                     struct nm_error *err)
{
    int group = 0, r = 0;

    write_head(cells, out);
    for (size_t i = 0; i < cells->count && r == 0; i++)
        for (size_t k = 0; k < cells->items[i].n_trials && r == 0; k++) {
            const struct nm_trial *trial = &cells->items[i].trials[k];

            if (trial->status == NM_STATUS_FAILED ||
                (trial->status == NM_STATUS_OK && trial->bytes))
                r = write_job(store, trial->id, group++, out, err);
        }
    if (r == 0 && !group)
        return nm_error_set(err, -ENODATA, NM_REASON_NOT_FOUND,
                            "no trial of the selection moved bytes or failed: fio has no words for "
                            "the others");
    fputs("\n]}\n", out);
    return r;
}

const struct nm_export_format nm_export_fio = {
    .name = "fio-json",
    .help = "trials that succeeded or failed as jobs of fio 3, for `import fio`",
    .write = write_fio,
};
