/* What the tests of the store share: a directory of their own, a run, a trial.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STORE_FIXTURE_H
#define STORE_FIXTURE_H

#include "store_sql.h"

#include "clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct place {
    char directory[64], db[96];
};

static inline int setup(void **state)
{
    struct place *place = calloc(1, sizeof(*place));

    if (!place)
        return -1;
    snprintf(place->directory, sizeof(place->directory), "/tmp/nasmark-store-XXXXXX");
    if (!mkdtemp(place->directory))
        return -1;
    snprintf(place->db, sizeof(place->db), "%s/a.db", place->directory);
    *state = place;
    return 0;
}

static inline int teardown(void **state)
{
    static const char *const names[] = {"a.db", "a.db-wal", "a.db-shm", "a.db-journal", "copy.db"};
    struct place *place = *state;
    char path[128];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", place->directory, names[i]);
        unlink(path);
    }
    rmdir(place->directory);
    free(place);
    return 0;
}

static inline struct nm_store *open_store(const char *path)
{
    struct nm_store *store = NULL;
    struct nm_error err = {0};

    if (nm_store_open(path, NM_STORE_WRITE, &store, &err) < 0)
        fail_msg("%s", err.text);
    return store;
}

static inline int64_t number(struct nm_store *store, const char *sql)
{
    sqlite3_stmt *statement;
    int64_t value = -1;

    assert_int_equal(sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL), SQLITE_OK);
    if (sqlite3_step(statement) == SQLITE_ROW)
        value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

static const struct nm_nas_record nas = {
    .name = "bench", .vendor = "V", .firmware = "1.0", .firmware_date = "2013-08-20"};

struct run {
    int64_t campaign, volume, session;
    char id[16];
};

static inline void begin_run(struct nm_store *store, struct run *run)
{
    static const struct nm_volume_record volume = {.name = "single", .kind = "single"};
    struct nm_error err = {0};

    if (nm_store_campaign(store, &nas, "trials = 3", &run->campaign, &err) < 0 ||
        nm_store_volume(store, run->campaign, &volume, &run->volume, &err) < 0 ||
        nm_store_session_begin(store, run->campaign, UINT64_MAX, "passes", "[nas]", NULL,
                               &run->session, run->id, &err) < 0)
        fail_msg("%s", err.text);
}

static inline struct nm_trial_record a_trial(const struct run *run)
{
    return (struct nm_trial_record){
        .session_id = run->session,
        .campaign_id = run->campaign,
        .volume_id = run->volume,
        .protocol = "smb",
        .target = "smb://h/s",
        .workload = "copy:1x2GB",
        .phase = "upload",
        .phase_writes = true,
        .pass = 1,
        .status = NM_STATUS_OK,
        .bytes = 2000000000,
        .duration_ns = 40 * NM_NS_PER_S,
        .source = "measured",
    };
}

static inline int store_full_trial(struct nm_store *store, const struct run *run, uint32_t pass,
                                   struct nm_error *err)
{
    static struct nm_histogram histogram;
    static uint64_t bins[100];
    struct nm_metrics metrics = {0};
    const struct nm_histogram_record record = {.operation = "write", .histogram = &histogram};
    struct nm_trial_record trial = a_trial(run);

    if (!histogram.count)
        for (unsigned i = 0; i < 100; i++) {
            nm_histogram_add(&histogram, i * 1000);
            bins[i] = i * i * 1000;
        }
    nm_metrics_add(&metrics, "files_per_s", "1/s", NM_BETTER_HIGHER, NM_SUMMARY_GEOMEAN, 0.5);
    nm_metrics_add(&metrics, "latency_p99", "ns", NM_BETTER_LOWER, NM_SUMMARY_MEDIAN, 99000);
    trial.pass = pass;
    trial.metrics = &metrics;
    trial.histograms = &record;
    trial.n_histograms = 1;
    trial.bins_bytes = bins;
    trial.n_bins = 100;
    trial.bin_ns = 100 * NM_NS_PER_MS;
    return nm_store_trial(store, &trial, NULL, err);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
