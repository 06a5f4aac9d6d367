/* Layouts of published tables (csv.h): copy rates of volumes, Bonnie++ of file systems, averages of
 * the drive benchmark, dd runs.
 *
 * One figure per cell: enough for a table, never for a verdict. A copy rate is turned into the
 * bytes of its set and their time; a rate without an amount into the bytes of one second. An empty
 * field is "not applicable".
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bonnie.h"
#include "csv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes and time of a rate in MB/s; the field as printed becomes the source text. */
static int set_rate(struct nm_csv *csv, const char *column, uint64_t bytes,
                    struct nm_trial_record *trial, char *source_text, size_t size,
                    struct nm_error *err)
{
    struct nm_slice field = nm_csv_field(csv, column);
    char printed[32];
    double rate;
    bool fits;

    if (!nm_slice_number(field, &rate) || !(rate > 0))
        return nm_csv_fault(csv, column, "not a rate", err);
    if (bytes) {
        trial->bytes = bytes;
        fits = nm_scan_scaled((double)bytes / (rate * 1e6), 1e9, &trial->duration_ns) &&
               trial->duration_ns;
    } else {
        trial->duration_ns = 1000000000;
        fits = nm_scan_scaled(rate, 1e6, &trial->bytes) && trial->bytes;
    }
    if (!fits)
        return nm_csv_fault(csv, column, "out of range", err);
    snprintf(source_text, size, "%s MB/s", nm_slice_copy(field, printed, sizeof(printed)));
    trial->status = NM_STATUS_OK;
    trial->source_text = source_text;
    return 0;
}

static int copy_phase(struct nm_csv *csv, struct nm_document *document, const char *column,
                      const char *phase, uint64_t bytes, uint64_t files, struct nm_error *err)
{
    struct nm_trial_record *trial = &document->trial;
    char source_text[48];
    int r;

    trial->phase = phase;
    nm_import_phase(trial->workload, phase, &trial->phase_index, &trial->phase_writes);
    trial->bytes = trial->duration_ns = trial->files = 0;
    trial->source_text = NULL;
    trial->status = NM_STATUS_NA;
    if (nm_csv_field(csv, column).length) {
        r = set_rate(csv, column, bytes, trial, source_text, sizeof(source_text), err);
        if (r < 0)
            return r;
        trial->files = files;
    }
    return csv->sink->trial(csv->sink->context, document, err);
}

/* protocol,workload,volume,volume_kind,upload_mb_s,download_mb_s */
static int copies_row(struct nm_csv *csv, struct nm_error *err)
{
    static const char *const names[] = {"protocol", "workload", "volume", "volume_kind"};
    char texts[4][128];
    struct nm_document document;
    uint64_t bytes, files;
    char *key;
    int r = 0;

    for (int i = 0; i < 4; i++) {
        r = nm_csv_text(csv, names[i], texts[i], sizeof(texts[i]), err);
        if (r)
            return r < 0 ? r : nm_csv_fault(csv, names[i], "may not be empty", err);
    }
    r = nm_csv_check_kind(csv, "volume_kind", texts[3], err);
    if (r < 0)
        return r;
    key = nm_import_workload_key(texts[1], &bytes, &files);
    if (!key)
        return nm_error_errno(err, -ENOMEM, "reading the table: out of memory");
    nm_import_document_init(&document, csv->sink, "imported:csv", &csv->conditions, &csv->metrics);
    document.trial.protocol = texts[0];
    document.trial.workload = key;
    document.volume.name = texts[2];
    document.volume.kind = texts[3];
    r = copy_phase(csv, &document, "upload_mb_s", "upload", bytes, files, err);
    if (r == 0)
        r = copy_phase(csv, &document, "download_mb_s", "download", bytes, files, err);
    free(key);
    return r;
}

static const char *const copies_needs[] = {"protocol",    "workload",      "volume", "volume_kind",
                                           "upload_mb_s", "download_mb_s", NULL};

const struct nm_csv_layout nm_csv_copies = {.columns = copies_needs, .row = copies_row};

/* filesystem,size,out_chr_k_s,out_chr_cpu,... ,lat_out_chr,... */
static int bonnie_row(struct nm_csv *csv, struct nm_error *err)
{
    static const struct {
        const char *rate, *cpu, *latency;
    } columns[] = {
        [NM_BONNIE_WRITE_CHAR] = {"out_chr_k_s", "out_chr_cpu", "lat_out_chr"},
        [NM_BONNIE_WRITE_BLOCK] = {"out_block_k_s", "out_block_cpu", "lat_out_block"},
        [NM_BONNIE_REWRITE] = {"rewrite_k_s", "rewrite_cpu", "lat_rewrite"},
        [NM_BONNIE_READ_CHAR] = {"in_chr_k_s", "in_chr_cpu", "lat_in_chr"},
        [NM_BONNIE_READ_BLOCK] = {"in_block_k_s", "in_block_cpu", "lat_in_block"},
        [NM_BONNIE_SEEKS] = {"seeks_s", "seeks_cpu", "lat_seeks"},
    };
    struct nm_document document;
    char volume[128], size[64];
    int r = nm_csv_text(csv, "filesystem", volume, sizeof(volume), err);

    if (r)
        return r < 0 ? r : nm_csv_fault(csv, "filesystem", "may not be empty", err);
    r = nm_csv_text(csv, "size", size, sizeof(size), err);
    if (r < 0)
        return r;
    nm_import_document_init(&document, csv->sink, "imported:csv", &csv->conditions, &csv->metrics);
    if (*size)
        nm_conditions_set(&csv->conditions, "import.size", "%s", size);
    document.volume.name = volume;
    document.trial.workload = "bonnie";
    r = 0;
    for (int phase = 0; phase <= NM_BONNIE_SEEKS && r == 0; phase++)
        r = nm_bonnie_phase(csv->sink, &document, (enum nm_bonnie_phase)phase,
                            nm_csv_field(csv, columns[phase].rate),
                            nm_csv_field(csv, columns[phase].cpu),
                            nm_csv_field(csv, columns[phase].latency), &csv->metrics, err);
    return r;
}

static const char *const bonnie_needs[] = {
    "filesystem", "out_chr_k_s", "out_block_k_s", "rewrite_k_s", "in_block_k_s", "seeks_s", NULL};

const struct nm_csv_layout nm_csv_bonnie = {.columns = bonnie_needs, .row = bonnie_row};

/* device,part,average_read_mb_s,note */
static int drives_row(struct nm_csv *csv, struct nm_error *err)
{
    struct nm_document document;
    char device[96], part[64], note[120], volume[168], source_text[48];
    int r = nm_csv_text(csv, "device", device, sizeof(device), err);

    if (r)
        return r < 0 ? r : nm_csv_fault(csv, "device", "may not be empty", err);
    r = nm_csv_text(csv, "part", part, sizeof(part), err);
    if (r >= 0)
        r = nm_csv_text(csv, "note", note, sizeof(note), err);
    if (r < 0)
        return r;
    nm_import_document_init(&document, csv->sink, "imported:csv", &csv->conditions, &csv->metrics);
    if (*note)
        nm_conditions_set(&csv->conditions, "import.note", "%s", note);
    snprintf(volume, sizeof(volume), "%s%s%s", device, *part ? " " : "", part);
    document.volume.name = volume;
    document.trial.workload = "drive";
    document.trial.phase = "read";
    r = set_rate(csv, "average_read_mb_s", 0, &document.trial, source_text, sizeof(source_text),
                 err);
    return r < 0 ? r : csv->sink->trial(csv->sink->context, &document, err);
}

static const char *const drives_needs[] = {"device", "part", "average_read_mb_s", NULL};

const struct nm_csv_layout nm_csv_drives = {.columns = drives_needs, .row = drives_row};

/* Of `dd bs=128k count=32768`. */
#define DD_WORKLOAD "dd:4GiB,128KiB"
#define DD_BYTES    UINT64_C(4294967296)

static int seconds_of(struct nm_csv *csv, const char *column, double *ret_seconds,
                      struct nm_error *err)
{
    struct nm_slice field = nm_csv_field(csv, column);

    *ret_seconds = -1;
    if (field.length && !nm_slice_number(field, ret_seconds))
        return nm_csv_fault(csv, column, "not a number of seconds", err);
    return 0;
}

static int dd_times(struct nm_csv *csv, struct nm_trial_record *trial, struct nm_error *err)
{
    static const char *const names[] = {"real_s", "user_s", "sys_s"};
    double seconds[3];

    for (int i = 0; i < 3; i++) {
        int r = seconds_of(csv, names[i], &seconds[i], err);

        if (r < 0)
            return r;
        if (seconds[i] >= 0)
            nm_metrics_add(&csv->metrics, names[i], "s", NM_BETTER_LOWER, NM_SUMMARY_MEAN,
                           seconds[i]);
    }
    if (seconds[1] >= 0 && seconds[2] >= 0 &&
        !nm_scan_scaled(seconds[1] + seconds[2], 1e9, &trial->cpu_ns))
        return nm_csv_fault(csv, "user_s", "out of range", err);
    return 0;
}

/* layout,start_sector,run,seconds,mb_s,real_s,user_s,sys_s */
static int dd_row(struct nm_csv *csv, struct nm_error *err)
{
    struct nm_document document;
    struct nm_trial_record *trial = &document.trial;
    char volume[128], sector[32], printed[32], source_text[48];
    uint64_t run;
    double seconds;
    int r = nm_csv_text(csv, "layout", volume, sizeof(volume), err);

    if (r)
        return r < 0 ? r : nm_csv_fault(csv, "layout", "may not be empty", err);
    nm_import_document_init(&document, csv->sink, "imported:csv", &csv->conditions, &csv->metrics);
    r = nm_csv_text(csv, "start_sector", sector, sizeof(sector), err);
    if (r >= 0)
        r = nm_csv_number(csv, "run", UINT32_MAX, &run, err);
    if (r == 0)
        r = seconds_of(csv, "seconds", &seconds, err);
    if (r == 0)
        r = dd_times(csv, trial, err);
    if (r < 0)
        return r;
    if (!(seconds > 0) || !nm_scan_scaled(seconds, 1e9, &trial->duration_ns) || !trial->duration_ns)
        return nm_csv_fault(csv, "seconds", "not a time", err);
    if (*sector)
        nm_conditions_set(&csv->conditions, "import.note", "start sector %s", sector);
    nm_conditions_set(&csv->conditions, "block_bytes", "%d", 131072);
    snprintf(source_text, sizeof(source_text), "%s MB/s",
             nm_slice_copy(nm_csv_field(csv, "mb_s"), printed, sizeof(printed)));
    document.volume.name = volume;
    trial->workload = DD_WORKLOAD;
    trial->phase = "write";
    trial->phase_writes = true;
    trial->pass = run ? (uint32_t)run : 1;
    trial->bytes = DD_BYTES;
    trial->source_text = *printed ? source_text : NULL;
    return csv->sink->trial(csv->sink->context, &document, err);
}

static const char *const dd_needs[] = {"layout", "start_sector", "run", "seconds", "mb_s", NULL};

const struct nm_csv_layout nm_csv_dd = {.columns = dd_needs, .row = dd_row};
