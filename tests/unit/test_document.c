/* Trials as JSON: nothing is lost on the way there and back, and foreign input is checked.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "document.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct nm_conditions conditions;
static struct nm_metrics metrics;
static struct nm_histogram histogram;
static const uint64_t bins[] = {5, 0, 9007199254740993}; /* more than a double holds */

static struct nm_document example(void)
{
    static const struct nm_curve_point points[] = {{0, 10485760, 103456789},
                                                   {1ull << 43, 4096, 11234}};
    static const struct nm_histogram_record record = {.operation = "write",
                                                      .histogram = &histogram};

    memset(&conditions, 0, sizeof(conditions));
    memset(&metrics, 0, sizeof(metrics));
    memset(&histogram, 0, sizeof(histogram));
    nm_conditions_set(&conditions, "block_bytes", "1048576");
    nm_metrics_add(&metrics, "latency_p99", "ns", NM_BETTER_LOWER, NM_SUMMARY_MEDIAN, 1.5e6);
    nm_metrics_add(&metrics, "nothing", "", NM_BETTER_NONE, NM_SUMMARY_MEAN, NAN);
    nm_histogram_add(&histogram, 1000);
    return (struct nm_document){
        .nas = {.name = "A|B, \"C\" <b>", .firmware = "6.1.2", .ram_bytes = 512 << 20},
        .campaign = "workloads = copy:1x2GB\ntrials = 3\n",
        .session = {.run = "0123abcd",
                    .seed = UINT64_MAX,
                    .order = "passes",
                    .start_utc_ns = 1700000000000000001},
        .volume = {.name = "sińgle", .kind = "single", .position = 3},
        .trial = {.protocol = "smb",
                  .target = "smb://nas/single/bench",
                  .workload = "copy:1x2GB",
                  .phase = "upload",
                  .phase_writes = true,
                  .round = 1,
                  .pass = 2,
                  .group_order = 4,
                  .status = NM_STATUS_FAILED,
                  .reason = NM_REASON_NO_SPACE,
                  .raw = "NT_STATUS_DISK_FULL",
                  .message = "disk full",
                  .start_utc_ns = 1700000000000000002,
                  .duration_ns = 42283298097,
                  .bytes = 2000000000,
                  .files = 1,
                  .operations = 1908,
                  .cpu_ns = 7,
                  .generator_cpu_ns = 8,
                  .streams = 1,
                  .conditions = &conditions,
                  .metrics = &metrics,
                  .histograms = &record,
                  .n_histograms = 1,
                  .bins_bytes = bins,
                  .n_bins = 3,
                  .bin_ns = 100000000,
                  .points = points,
                  .n_points = 2,
                  .flags = "link",
                  .source = "imported:csv",
                  .source_text = "47.3 MB/s"},
    };
}

static void test_document_comes_back_whole(void **state)
{
    static struct nm_document_holder holder;
    struct nm_document in = example();
    const struct nm_document *out = &holder.document;
    json_t *json = nm_document_json(&in), *again;

    (void)state;
    assert_non_null(json);
    json_incref(json);
    assert_int_equal(nm_document_read(json, &holder, NULL), 0);
    again = nm_document_json(out); /* compares every member at once */
    assert_true(json_equal(json, again));
    json_decref(again);
    json_decref(json);
    assert_true(out->session.seed == UINT64_MAX);
    assert_string_equal(out->volume.name, "sińgle");
    assert_true(out->trial.bins_bytes[2] == 9007199254740993);
    assert_int_equal(out->trial.n_points, 2);
    assert_true(out->trial.points[1].offset_bytes == 1ull << 43);
    assert_int_equal(out->trial.status, NM_STATUS_FAILED);
    assert_int_equal(out->trial.reason, NM_REASON_NO_SPACE);
    assert_true(out->trial.phase_writes);
    assert_true(isnan(out->trial.metrics->items[1].value));
    assert_int_equal(out->trial.histograms[0].histogram->count, 1);
    assert_null(out->nas.vendor);
    nm_document_done(&holder);
}

static void test_document_refuses_what_is_not_utf8(void **state)
{
    struct nm_document in = example();

    (void)state;
    in.trial.message = "\xff";
    assert_null(nm_document_json(&in));
}

/* Replaces one member of the example and reads it. */
static int read_with(const char *group, const char *key, json_t *value, struct nm_error *err)
{
    static struct nm_document_holder holder;
    struct nm_document in = example();
    json_t *json = nm_document_json(&in);
    int r;

    json_object_set_new(group ? json_object_get(json, group) : json, key, value);
    r = nm_document_read(json, &holder, err);
    nm_document_done(&holder);
    return r;
}

static void test_document_names_what_is_wrong(void **state)
{
    struct {
        const char *group, *key;
        json_t *value;
    } rows[] = {
        {NULL, "schema", json_integer(2)},
        {NULL, "nas", json_string("x")},
        {"nas", "name", json_null()},
        {"nas", "ram_bytes", json_integer(-1)},
        {"session", "seed", json_string("-1")},
        {"session", "seed", json_string("99999999999999999999")},
        {"volume", "kind", json_integer(1)},
        {"trial", "status", json_string("fine")},
        {"trial", "reason", json_string("because")},
        {"trial", "duration_ns", json_real(1.5)},
        {"trial", "pass", json_integer(1LL << 33)},
        {"trial", "conditions", json_pack("{s:i}", "block_bytes", 1)},
        {"trial", "metrics", json_pack("[{s:s}]", "name", "x")},
        {"trial", "histograms", json_pack("[{s:s, s:s}]", "operation", "w", "text", "junk")},
        {"trial", "bins", json_pack("{s:i, s:[i]}", "bin_ns", 1, "bytes", -1)},
        {"trial", "bins", json_pack("{s:i, s:[i]}", "bin_ns", 0, "bytes", 1)},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct nm_error err = {0};

        if (read_with(rows[i].group, rows[i].key, rows[i].value, &err) >= 0)
            fail_msg("row %zu (%s) was read", i, rows[i].key);
        assert_true(*err.text);
    }
    assert_int_equal(read_with("trial", "future", json_true(), NULL), 0);
}

static void test_document_ok_without_duration_is_refused(void **state)
{
    static struct nm_document_holder holder;
    struct nm_document in = example();

    (void)state;
    in.trial.status = NM_STATUS_OK;
    in.trial.duration_ns = 0;
    assert_int_equal(nm_document_read(nm_document_json(&in), &holder, NULL), -EBADMSG);
    nm_document_done(&holder);
}

static void test_document_spool_appends_lines(void **state)
{
    char path[] = "/tmp/nasmark-spool.XXXXXX", line[8192];
    struct nm_document in = example();
    int fd = mkstemp(path), lines = 0;
    FILE *file;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(nm_document_spool(path, &in, NULL), 0);
    assert_int_equal(nm_document_spool(path, &in, NULL), 0);
    file = fdopen(fd, "r");
    while (fgets(line, sizeof(line), file)) {
        json_t *json = json_loads(line, 0, NULL);

        assert_non_null(json);
        json_decref(json);
        lines++;
    }
    assert_int_equal(lines, 2);
    fclose(file);
    unlink(path);
    assert_int_equal(nm_document_spool("/nonexistent/spool", &in, NULL), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_document_comes_back_whole),
        cmocka_unit_test(test_document_refuses_what_is_not_utf8),
        cmocka_unit_test(test_document_names_what_is_wrong),
        cmocka_unit_test(test_document_ok_without_duration_is_refused),
        cmocka_unit_test(test_document_spool_appends_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
