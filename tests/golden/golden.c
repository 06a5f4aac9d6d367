/* The golden program: makes a database with everything a table can show, and prints tables of it.
 *
 *   golden make DB
 *   golden tools DB                       what bonnie, meta and dd print
 *   golden many DB FIRMWARES VOLUMES      20 cells of 10 trials with 100 bins per firmware and
 * volume golden table DB FORMAT LANGUAGE [BY] [UNIT] [DIGITS] [SELECT...]     LANGUAGE - = none
 * named
 *
 * The first device has the figures of a published review (rates as printed there, three trials
 * around them), the second one names that break tables, the third one imported numbers.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "clock.h"
#include "steps.h"
#include "table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 2026-01-10T08:00:00Z */
#define START_NS (UINT64_C(1768032000) * NM_NS_PER_S)

struct maker {
    struct nm_store *store;
    struct nm_error err;
    int64_t campaign_id, session_id, volume_id;
    unsigned n_trials; /* so far; gives each its time */
    size_t n_bins;
    int phase_index; /* -1 = upload, download */
    const char *dialect, *source, *source_text;
    const struct nm_metrics *metrics; /* of the next trial; NULL = the usual ones */
};

static void check(struct maker *maker, int r)
{
    if (r < 0) {
        fprintf(stderr, "golden: %s\n", maker->err.text);
        exit(1);
    }
}

static void device(struct maker *maker, const char *name, const char *firmware, const char *run)
{
    const struct nm_nas_record nas = {
        .name = name, .firmware = firmware, .firmware_date = "2013-08-20"};
    char run_id[16];

    check(maker, nm_store_campaign(maker->store, &nas, run, &maker->campaign_id, &maker->err));
    check(maker, nm_store_session_begin(maker->store, maker->campaign_id, 1, "passes", "", NULL,
                                        &maker->session_id, run_id, &maker->err));
}

static void volume(struct maker *maker, const char *name, const char *kind, const char *label,
                   int position)
{
    const struct nm_volume_record record = {
        .name = name, .kind = kind, .label = label, .position = position};

    check(maker, nm_store_volume(maker->store, maker->campaign_id, &record, &maker->volume_id,
                                 &maker->err));
}

struct cell {
    const char *protocol, *workload, *phase;
    uint64_t bytes, files;
};

static void trial(struct maker *maker, const struct cell *cell, uint32_t pass, double mb_per_s,
                  enum nm_status status, enum nm_reason reason, const char *flags)
{
    bool upload = !strcmp(cell->phase, "upload") || strstr(cell->phase, "write");
    struct nm_conditions conditions = {0};
    struct nm_metrics metrics = {0};
    struct nm_step step;
    static uint64_t bins[100];
    struct nm_trial_record record = {
        .session_id = maker->session_id,
        .campaign_id = maker->campaign_id,
        .volume_id = maker->volume_id,
        .protocol = cell->protocol,
        .target = "smb://nas/share",
        .workload = cell->workload,
        .phase = cell->phase,
        .phase_index = maker->phase_index < 0 ? !upload : maker->phase_index,
        .phase_writes = upload,
        .pass = pass,
        .status = status,
        .reason = reason,
        .raw = reason ? "EXAMPLE_CODE" : NULL,
        .message = reason ? "something <b>went</b> | wrong, \"really\"" : NULL,
        .start_utc_ns = START_NS + maker->n_trials++ * 60 * NM_NS_PER_S,
        .bytes = cell->bytes,
        .files = cell->files,
        .duration_ns =
            mb_per_s > 0 ? (uint64_t)llround((double)cell->bytes / mb_per_s * 1e3) : NM_NS_PER_S,
        .cpu_ns = 123456789,
        .conditions = &conditions,
        .metrics = maker->metrics ? maker->metrics : &metrics,
        .flags = flags,
        .bins_bytes = bins,
        .n_bins = maker->n_bins,
        .bin_ns = 100 * NM_NS_PER_MS,
        .source = maker->source ? maker->source : "measured",
        .source_text = maker->source_text,
    };

    for (size_t i = 0; i < maker->n_bins; i++)
        bins[i] = 4000000 + i * 12345 % 777777;
    nm_conditions_set(&conditions, "data", "random");
    nm_conditions_set(&conditions, "flush", !strcmp(cell->protocol, "smb") ? "ack" : "end");
    if (nm_step_parse(cell->phase, &step, NULL) == 0)
        nm_conditions_set(&conditions, "block_bytes", "%u", step.block_bytes);
    if (maker->dialect)
        nm_conditions_set(&conditions, "smb.dialect", "%s", maker->dialect);
    if (status == NM_STATUS_OK && cell->files)
        nm_metrics_add(&metrics, "latency_p99", "ns", NM_BETTER_LOWER, NM_SUMMARY_MEDIAN,
                       1e6 * pass);
    check(maker, nm_store_trial(maker->store, &record, NULL, &maker->err));
}

/* Three trials whose geometric mean is mb_per_s; < 0: not applicable. */
static void three(struct maker *maker, const struct cell *cell, double mb_per_s, const char *flags)
{
    static const double around[] = {1.008, 1, 1 / 1.008};

    if (mb_per_s < 0) {
        trial(maker, cell, 1, 0, NM_STATUS_NA, NM_REASON_NONE, NULL);
        return;
    }
    for (uint32_t pass = 0; pass < 3; pass++)
        trial(maker, cell, pass + 1, mb_per_s * around[pass], NM_STATUS_OK, NM_REASON_NONE, flags);
}

static void review(struct maker *maker)
{
    static const char *const names[] = {"single",     "raid0",     "raid1", "raid5",
                                        "compressed", "encrypted", "usb"};
    static const struct {
        const char *protocol, *workload;
        uint64_t bytes, files;
        double rates[7][2];
    } tables[] = {
        {"smb",
         "copy:1x2GB",
         2000000000,
         1,
         {{47.3, 78.0},
          {52.9, 83.4},
          {51.1, 82.5},
          {50.3, 81.8},
          {38.2, 59.5},
          {12.4, 15.6},
          {38.2, 71.5}}},
        {"iscsi",
         "copy:1x2GB",
         2000000000,
         1,
         {{51.8, 79.5},
          {50.5, 77.7},
          {54.8, 72.5},
          {41.8, 72.5},
          {51.7, 66.7},
          {16.0, 14.1},
          {-1, -1}}},
        {"smb",
         "copy:1000x2MB",
         2000000000,
         1000,
         {{25.9, 53.0},
          {28.9, 53.1},
          {25.8, 53.9},
          {27.7, 52.4},
          {21.5, 46.8},
          {9.5, 10.8},
          {26.8, 34.4}}},
        {"smb",
         "copy:10000x2KB",
         20000000,
         10000,
         {{0.11, 0.24},
          {0.12, 0.24},
          {0.12, 0.45},
          {0.11, 0.31},
          {0.14, 0.21},
          {0.09, 0.11},
          {0.14, 0.20}}},
    };

    device(maker, "readynas-104", "6.1.2", "trials = 3");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        volume(maker, names[i], names[i], NULL, (int)i);
        for (size_t k = 0; k < sizeof(tables) / sizeof(tables[0]); k++)
            for (int phase = 0; phase < 2; phase++) {
                const struct cell cell = {tables[k].protocol, tables[k].workload,
                                          phase ? "download" : "upload", tables[k].bytes,
                                          tables[k].files};

                three(maker, &cell, tables[k].rates[i][phase], NULL);
            }
    }
}

/* Every state a field can be in; names from a bad dream. */
static void hostile(struct maker *maker)
{
    const struct cell up = {"smb", "copy:1x2GB,50x2MB", "upload", 2100000000, 51};
    const struct cell down = {"smb", "copy:1x2GB,50x2MB", "download", 2100000000, 51};
    const struct cell seek = {"smb", "access", "seek", 0, 0};

    device(maker, "A|B, \"C\" <b>", "=1+1", "trials = 2");
    maker->dialect = "3.1.1";
    volume(maker, "plain", "other", NULL, 0);
    three(maker, &up, 101.06, "link");
    three(maker, &down, 99.95, "cached link");
    volume(maker, "cols", "raid5", "@SUM(A1)|x,\"y\"\ttab", 1);
    three(maker, &up, 0.004, NULL);
    trial(maker, &down, 1, 0, NM_STATUS_FAILED, NM_REASON_TIMEOUT, NULL);
    volume(maker, "lines", "raid6", "two\nlines \033[31m<i>", 2);
    trial(maker, &up, 1, 4.996, NM_STATUS_OK, NM_REASON_NONE, "client-cpu");
    trial(maker, &up, 2, 0, NM_STATUS_FAILED, NM_REASON_NO_SPACE, NULL);
    trial(maker, &up, 3, 5.004, NM_STATUS_OK, NM_REASON_NONE, NULL);
    trial(maker, &down, 1, 0, NM_STATUS_UNSUPPORTED, NM_REASON_UNSUPPORTED, NULL);
    volume(maker, "tex", "raid10", "50% & _x_ {y} \\z ^~#$ *b* `c`", 3);
    trial(maker, &up, 1, 50, NM_STATUS_TOO_SHORT, NM_REASON_NONE, NULL);
    trial(maker, &down, 1, 0, NM_STATUS_ABORTED, NM_REASON_ABORTED, NULL);
    volume(maker, "wide", "usb", "\u65e5\u672c\u8a9e e\u0301 \U0001f600", 4);
    trial(maker, &up, 1, 0, NM_STATUS_MISSING, NM_REASON_CONNECTION_LOST, NULL);
    trial(maker, &down, 1, 12.34, NM_STATUS_OK, NM_REASON_NONE, "a-new-flag");
    volume(maker, "twin-a", "single", NULL, 5);
    three(maker, &up, 75, NULL);
    volume(maker, "twin-b", "single", NULL, 6);
    three(maker, &up, 75, NULL);
    trial(maker, &seek, 1, 0, NM_STATUS_NA, NM_REASON_NONE, NULL);
    maker->dialect = "2.1"; /* never pooled: a table of its own */
    three(maker, &up, 40, NULL);
    three(maker, &down, 60, NULL);
    maker->dialect = NULL;
}

/* Block sizes times directions: a row per step, a table per volume. */
static void steps(struct maker *maker)
{
    static const char *const phases[] = {
        "seq512B-q4-write",  "seq512B-q4-read",  "seq4KiB-q4-write", "seq4KiB-q4-read",
        "seq64KiB-q4-write", "seq64KiB-q4-read", "seq1MiB-q4-write", "seq1MiB-q4-read"};

    device(maker, "steps", "1.0", "trials = 1");
    for (int k = 0; k < 2; k++) {
        volume(maker, k ? "raid1" : "single", k ? "raid1" : "single", NULL, k);
        for (int i = 0; i < 8; i++) {
            const struct cell cell = {"iscsi", "atto", phases[i], 268435456, 0};

            maker->phase_index = i;
            trial(maker, &cell, 1, 10 * i + k + 1,
                  k && i == 1 ? NM_STATUS_UNSUPPORTED : NM_STATUS_OK, NM_REASON_NONE, NULL);
        }
    }
    maker->phase_index = -1;
}

/* A card of CrystalDiskMark: best and median of three runs, rates in MB/s, latencies in us. */
static void card(struct maker *maker)
{
    static const struct {
        const char *phase;
        double best, median, iops, latency_us;
    } rows[] = {
        {"seq1MiB-q8t1-read", 112.5, 111.9, 107.3, 74563.2},
        {"rnd512KiB-q1t1-read", 98.76, 98.7, 188.4, 5307.1},
        {"rnd4KiB-q32t16-read", 45.678, 45.1, 11151.9, 45910.4},
        {"rnd4KiB-q1t1-read", 0.058, 0.055, 14.2, 70621.5},
        {"seq1MiB-q8t1-write", 101.25, 80.5, 96.6, 82800.1},
        {"rnd512KiB-q1t1-write", 60, 59.5, 114.4, 8741.2},
        {"rnd4KiB-q32t16-write", 30.125, 29.9, 7354.7, 69612.3},
        {"rnd4KiB-q1t1-write", 7.25, 7.2, 1770, 564.97},
        {"rnd4KiB-q1t1-mix70", 9.5, 9.25, 2319.3, 431.2},
    };
    struct nm_metrics metrics = {0};

    volume(maker, "card", "single", "=card()", 2);
    for (int i = 0; i < 9; i++) {
        const struct cell cell = {"iscsi", "cdm8", rows[i].phase, 1073741824, 0};

        metrics.count = 0;
        nm_metrics_add(&metrics, "best_rate", "B/s", NM_BETTER_HIGHER, NM_SUMMARY_BEST,
                       rows[i].best * 1e6);
        nm_metrics_add(&metrics, "median_rate", "B/s", NM_BETTER_HIGHER, NM_SUMMARY_MEDIAN,
                       rows[i].median * 1e6);
        nm_metrics_add(&metrics, "iops", "1/s", NM_BETTER_HIGHER, NM_SUMMARY_GEOMEAN, rows[i].iops);
        nm_metrics_add(&metrics, "mean_latency", "ns", NM_BETTER_LOWER, NM_SUMMARY_BEST,
                       rows[i].latency_us * 1e3);
        for (int run = 1; run <= 3; run++) {
            char name[32];

            snprintf(name, sizeof(name), "run%d_rate", run);
            nm_metrics_add(&metrics, name, "B/s", NM_BETTER_HIGHER, NM_SUMMARY_MEDIAN,
                           (run == 2 ? rows[i].best : rows[i].median) * 1e6);
        }
        maker->phase_index = i;
        maker->metrics = &metrics;
        trial(maker, &cell, 1, rows[i].median, i == 1 ? NM_STATUS_FAILED : NM_STATUS_OK,
              i == 1 ? NM_REASON_TIMEOUT : NM_REASON_NONE, NULL);
    }
    maker->metrics = NULL;
    maker->phase_index = -1;
}

static void imported(struct maker *maker)
{
    const struct cell up = {"smb", "copy:1x2GB", "upload", 2000000000, 1};
    const struct cell down = {"smb", "copy:1x2GB", "download", 2000000000, 1};

    device(maker, "imported", "1.0", "import csv");
    maker->source = "imported:csv";
    volume(maker, "single", "single", NULL, 0);
    maker->source_text = "47 MB/s";
    trial(maker, &up, 1, 47, NM_STATUS_OK, NM_REASON_NONE, NULL);
    maker->source_text = "78.00 MB/s";
    trial(maker, &down, 1, 78, NM_STATUS_OK, NM_REASON_NONE, NULL);
}

/* What bonnie, meta and dd print. */
static void tools(struct maker *maker)
{
    static const struct {
        const char *phase;
        double rate; /* MB/s, or 1/s where no bytes move; 0 = too short */
        double cpu_percent, latency_ms;
        bool names;
    } rows[] = {
        {"write_char", 1.5, 97, 9.829, false},       {"write_block", 118.5, 12.4, 226, false},
        {"rewrite", 47.25, 8, 350.2, false},         {"read_char", 2.5, 99, 0.041, false},
        {"read_block", 127.8, 9.6, 104999, false},   {"seeks", 163.14, 3, 1201, true},
        {"create_sequential", 12345, 40, 0.5, true}, {"stat_sequential", 0, 0, 0.044, true},
        {"delete_sequential", 23456, 51, 1, true},   {"create_random", 11999, 42, 0.6, true},
        {"stat_random", 0, 0, 0.018, true},          {"delete_random", 17000, 45, 99.9, true},
    };
    struct nm_metrics metrics;

    device(maker, "tools", "1.0", "trials = 1");
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
            bool seeks = !strcmp(rows[i].phase, "seeks"), names = rows[i].names;
            const struct cell cell = {k ? "smb" : "local", "bonnie:2GiB", rows[i].phase,
                                      names ? 0 : UINT64_C(2) << 30, names && !seeks ? 16384 : 0};

            volume(maker, "usb", "usb", NULL, 0);
            metrics.count = 0;
            if (names && rows[i].rate > 0)
                nm_metrics_add(&metrics, seeks ? "seeks_per_s" : "files_per_s", "1/s",
                               NM_BETTER_HIGHER, NM_SUMMARY_GEOMEAN, rows[i].rate);
            nm_metrics_add(&metrics, "latency_max", "ns", NM_BETTER_LOWER, NM_SUMMARY_MAX,
                           rows[i].latency_ms * 1e6);
            nm_metrics_add(&metrics, "cpu_percent", "%", NM_BETTER_LOWER, NM_SUMMARY_MEAN,
                           rows[i].cpu_percent);
            if (seeks)
                nm_metrics_add(&metrics, "seeks", "1", NM_BETTER_NONE, NM_SUMMARY_MAX, 8192);
            maker->phase_index = (int)i;
            maker->metrics = &metrics;
            trial(maker, &cell, 1, names ? 0 : rows[i].rate,
                  rows[i].rate > 0 ? NM_STATUS_OK : NM_STATUS_TOO_SHORT, NM_REASON_NONE,
                  k ? NULL : "buffered");
        }
    static const char *const lookups[] = {"create_sequential", "stat_sequential",
                                          "list_sequential"};

    for (int i = 0; i < 3; i++) {
        const struct cell cell = {"smb", "meta:1000", lookups[i], 0, 1000};

        metrics.count = 0;
        nm_metrics_add(&metrics, "files_per_s", "1/s", NM_BETTER_HIGHER, NM_SUMMARY_GEOMEAN,
                       1234.5 * (i + 1));
        maker->phase_index = i;
        trial(maker, &cell, 1, 0, NM_STATUS_OK, NM_REASON_NONE, NULL);
    }
    for (uint32_t pass = 1; pass <= 3; pass++) {
        const struct cell cell = {"local", "dd:4GiB,128KiB", "write", UINT64_C(4) << 30, 0};

        metrics.count = 0;
        nm_metrics_add(&metrics, "real_s", "s", NM_BETTER_LOWER, NM_SUMMARY_MEAN, 70.25 * pass);
        nm_metrics_add(&metrics, "user_s", "s", NM_BETTER_LOWER, NM_SUMMARY_MEAN, 0.052);
        nm_metrics_add(&metrics, "sys_s", "s", NM_BETTER_LOWER, NM_SUMMARY_MEAN, 8.1 + pass);
        trial(maker, &cell, pass, 61.138 / pass, NM_STATUS_OK, NM_REASON_NONE,
              "buffered compressible");
    }
    maker->metrics = NULL;
    maker->phase_index = -1;
}

/* A database of nothing but `fill`. */
static int make_only(const char *path, void (*fill)(struct maker *))
{
    struct maker maker = {.phase_index = -1};

    check(&maker, nm_store_open(path, NM_STORE_WRITE, &maker.store, &maker.err));
    fill(&maker);
    nm_store_close(maker.store);
    return 0;
}

static int make(const char *path)
{
    struct maker maker = {.phase_index = -1};

    check(&maker, nm_store_open(path, NM_STORE_WRITE, &maker.store, &maker.err));
    check(&maker, nm_store_batch_begin(maker.store, &maker.err));
    review(&maker);
    hostile(&maker);
    steps(&maker);
    card(&maker);
    imported(&maker);
    check(&maker, nm_store_batch_end(maker.store, true, &maker.err));
    nm_store_close(maker.store);
    return 0;
}

/* A long history, to see how reading scales. */
static int many(const char *path, int n_firmwares, int n_volumes)
{
    static const char *const protocols[] = {"smb", "nfs"}, *const phases[] = {"upload", "download"},
                             *const workloads[] = {"copy:1x2GB", "copy:1000x2MB", "copy:10000x2KB",
                                                   "copy:1x1GB", "copy:100x1MB"};
    struct maker maker = {.n_bins = 100, .phase_index = -1};
    char name[32];

    check(&maker, nm_store_open(path, NM_STORE_WRITE, &maker.store, &maker.err));
    check(&maker, nm_store_batch_begin(maker.store, &maker.err));
    for (int firmware = 0; firmware < n_firmwares; firmware++) {
        snprintf(name, sizeof(name), "1.%d", firmware);
        device(&maker, "many", name, "trials = 10");
        for (int k = 0; k < n_volumes * 20; k++) {
            const struct cell cell = {protocols[k / 10 % 2], workloads[k / 2 % 5], phases[k % 2],
                                      2000000000, 1};

            snprintf(name, sizeof(name), "volume%d", k / 20);
            volume(&maker, name, "single", name, k / 20);
            for (uint32_t pass = 1; pass <= 10; pass++)
                trial(&maker, &cell, pass, 40 + pass + k % 7, NM_STATUS_OK, NM_REASON_NONE, NULL);
        }
    }
    check(&maker, nm_store_batch_end(maker.store, true, &maker.err));
    nm_store_close(maker.store);
    return 0;
}

static int table(int argc, char **argv)
{
    struct nm_table_style style = {
        .by = (enum nm_table_by)nm_table_by_parse(argc > 5 ? argv[5] : "volume"),
        .mebi = argc > 6 && !strcmp(argv[6], "MiB/s"),
        .digits = argc > 7 ? (int)strtol(argv[7], NULL, 10) : -1,
        .language = strcmp(argv[4], "-") ? argv[4] : NULL,
    };
    struct nm_select *select = NULL;
    struct nm_cells *cells = NULL;
    struct nm_store *store = NULL;
    struct nm_error err = {0};
    int r = nm_store_open(argv[2], NM_STORE_READ, &store, &err);

    if (r == 0)
        r = nm_select_parse((const char *const *)argv + 8, argc > 8 ? (size_t)argc - 8 : 0, &select,
                            &err);
    if (r == 0)
        r = nm_select_cells(store, select, &cells, &err);
    if (r == 0)
        r = nm_table_write(cells, argv[3], &style, stdout, &err);
    if (r < 0)
        fprintf(stderr, "golden: %s\n", err.text);
    nm_cells_free(cells);
    nm_select_free(select);
    nm_store_close(store);
    return r < 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "make"))
        return make(argv[2]);
    if (argc == 3 && !strcmp(argv[1], "tools"))
        return make_only(argv[2], tools);
    if (argc == 5 && !strcmp(argv[1], "many"))
        return many(argv[2], (int)strtol(argv[3], NULL, 10), (int)strtol(argv[4], NULL, 10));
    if (argc >= 5 && !strcmp(argv[1], "table"))
        return table(argc, argv);
    fputs("usage: golden make|tools DB | golden many DB FIRMWARES VOLUMES | golden table DB FORMAT "
          "LANGUAGE [BY UNIT DIGITS SELECT...]\n",
          stderr);
    return 2;
}
