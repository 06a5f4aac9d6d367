/* SELECT: what is parsed, what is newest, what is pooled and what is not, what a cell shows.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_fixture.h"

#include "select.h"

#include <errno.h>
#include <math.h>

/* A trial of `phase` over smb with this status; bytes are 10^9, seconds are s. */
struct step {
    const char *nas, *firmware, *date, *run, *volume, *workload, *block, *flags;
    double s;
    enum nm_status status;
    uint32_t round;
    bool imported, files;
};

static int64_t put(struct nm_store *store, struct step step, char ret_run_id[16])
{
    const struct nm_nas_record device = {.name = step.nas ? step.nas : "bench",
                                         .firmware = step.firmware ? step.firmware : "1.0",
                                         .firmware_date = step.date};
    const struct nm_volume_record volume = {.name = step.volume ? step.volume : "single",
                                            .kind = "single"};
    struct nm_conditions conditions = {0};
    struct nm_trial_record trial;
    struct nm_error err = {0};
    struct run run = {0};
    int64_t id = 0;

    if (nm_store_campaign(store, &device, step.run ? step.run : "r", &run.campaign, &err) < 0 ||
        nm_store_volume(store, run.campaign, &volume, &run.volume, &err) < 0 ||
        nm_store_session_begin(store, run.campaign, 1, "passes", "", NULL, &run.session, run.id,
                               &err) < 0)
        fail_msg("%s", err.text);
    trial = a_trial(&run);
    if (step.workload)
        trial.workload = step.workload;
    if (step.block)
        nm_conditions_set(&conditions, "block_bytes", "%s", step.block);
    nm_conditions_set(&conditions, "client.load", "%g", step.s);
    trial.conditions = &conditions;
    trial.status = step.status;
    trial.round = step.round;
    trial.bytes = 1000000000;
    trial.files = step.files ? 1000 : 0;
    trial.duration_ns = (uint64_t)((step.s > 0 ? step.s : 1) * 1e9);
    trial.flags = step.flags;
    trial.source = step.imported ? "imported:csv" : "measured";
    if (nm_store_trial(store, &trial, &id, &err) < 0)
        fail_msg("%s", err.text);
    if (ret_run_id)
        memcpy(ret_run_id, run.id, sizeof(run.id));
    return id;
}

static struct nm_cells *cells_of(struct nm_store *store, const char *line)
{
    struct nm_select *select = NULL;
    struct nm_cells *cells = NULL;
    struct nm_error err = {0};

    if (nm_select_parse_line(line, &select, &err) < 0 ||
        nm_select_cells(store, select, &cells, &err) < 0)
        fail_msg("%s", err.text);
    nm_select_free(select);
    return cells;
}

static size_t count_of(struct nm_store *store, const char *line)
{
    struct nm_cells *cells = cells_of(store, line);
    size_t n = cells->count;

    nm_cells_free(cells);
    return n;
}

static void test_select_parses_words(void **state)
{
    static const char *const bad[] = {"volume", "volum=x", "since=yesterday", "since=7", "=x"};
    const char *words[] = {"volume=RAID 0", "since=2026-01-31"};
    struct nm_select *select = NULL;
    struct nm_error err = {0};

    (void)state;
    assert_int_equal(nm_select_parse(words, 2, &select, &err), 0);
    assert_string_equal(nm_select_get(select, "volume"), "RAID 0");
    assert_null(nm_select_get(select, "nas"));
    nm_select_free(select);
    assert_int_equal(nm_select_parse_line(" volume='RAID 0'  nas=\"a'b\" kind= ", &select, &err),
                     0);
    assert_string_equal(nm_select_get(select, "volume"), "RAID 0");
    assert_string_equal(nm_select_get(select, "nas"), "a'b");
    assert_string_equal(nm_select_get(select, "kind"), "");
    nm_select_free(select);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        select = NULL;
        assert_int_equal(nm_select_parse(&bad[i], 1, &select, &err), -EINVAL);
        assert_null(select);
        assert_non_null(strstr(err.text, bad[i]));
    }
    assert_int_equal(nm_select_parse(&bad[1], 1, &select, &err), -EINVAL);
    assert_non_null(strstr(err.text, "volume"));
}

static void test_select_takes_the_newest_firmware_campaign_and_round(void **state)
{
    struct place *place = *state;
    struct nm_store *store = open_store(place->db);
    struct nm_cells *cells;
    char run[16], line[32];

    /* Newest by date, though it was measured first. */
    put(store, (struct step){.firmware = "6.1.3", .date = "2014-01-01", .run = "old"}, NULL);
    put(store, (struct step){.firmware = "6.1.3", .date = "2014-01-01", .run = "new", .s = 2}, run);
    put(store, (struct step){.firmware = "6.1.2", .date = "2013-08-20"}, NULL);
    put(store, (struct step){.nas = "other", .firmware = "a"}, NULL);
    put(store, (struct step){.nas = "other", .firmware = "b"}, NULL); /* no dates: first run */

    cells = cells_of(store, "");
    assert_int_equal(cells->count, 2);
    assert_string_equal(cells->items[0].nas, "bench");
    assert_string_equal(cells->items[0].firmware, "6.1.3");
    assert_float_equal(cells->items[0].bytes_per_s, 5e8, 1);
    assert_string_equal(cells->items[1].nas, "other");
    assert_string_equal(cells->items[1].firmware, "b");
    nm_cells_free(cells);

    /* A date that is none is as good as no date: the first run decides. */
    put(store, (struct step){.nas = "third", .firmware = "c", .date = "2013"}, NULL);
    put(store, (struct step){.nas = "third", .firmware = "d", .date = "soon"}, NULL);
    cells = cells_of(store, "nas=third");
    assert_int_equal(cells->count, 1);
    assert_string_equal(cells->items[0].firmware, "d");
    assert_true(cells->items[0].firmware_utc_ns > UINT64_C(1600000000) * NM_NS_PER_S);
    nm_cells_free(cells);

    assert_int_equal(count_of(store, "firmware=* nas=[bo]*"), 4); /* newest campaign of each */
    assert_int_equal(count_of(store, "campaign=* nas=[bo]*"), 5);
    assert_int_equal(count_of(store, "firmware=6.1.2"), 1);
    assert_int_equal(count_of(store, "nas=o*r"), 1);
    assert_int_equal(count_of(store, "nas=@(bench|other)"), 2);
    assert_int_equal(count_of(store, "nas=bench nas=other"), 0);
    snprintf(line, sizeof(line), "run=%s", run);
    cells = cells_of(store, line);
    assert_int_equal(cells->count, 1);
    assert_string_equal(cells->items[0].trials[0].run, run);
    nm_cells_free(cells);

    /* Rounds: the newest in which the cell was run; "not run" does not hide an older one. */
    put(store, (struct step){.firmware = "6.1.3", .run = "new", .s = 4, .round = 1}, NULL);
    put(store,
        (struct step){.firmware = "6.1.3", .run = "new", .round = 2, .status = NM_STATUS_MISSING},
        NULL);
    put(store, (struct step){.firmware = "6.1.3", .run = "new", .volume = "raid1", .s = 8}, NULL);
    cells = cells_of(store, "nas=bench");
    assert_int_equal(cells->count, 2);
    assert_int_equal(cells->items[0].round, 0); /* raid1 */
    assert_int_equal(cells->items[1].round, 1);
    assert_int_equal(cells->items[1].n_trials, 1);
    assert_float_equal(cells->items[1].bytes_per_s, 2.5e8, 1);
    nm_cells_free(cells);
    nm_store_close(store);
}

static void test_select_filters_by_time_source_and_names(void **state)
{
    struct place *place = *state;
    struct nm_store *store = open_store(place->db);

    put(store, (struct step){.workload = "copy:1x2GB"}, NULL);
    put(store, (struct step){.workload = "copy:10000x2KB"}, NULL);
    put(store, (struct step){.workload = "copy:1000x2MB"}, NULL);
    put(store, (struct step){.imported = true, .workload = "copy:1x2GB", .s = 3}, NULL);
    assert_int_equal(count_of(store, ""), 4); /* imported and measured are never pooled */
    assert_int_equal(count_of(store, "source=imported"), 1);
    assert_int_equal(count_of(store, "source=measured"), 3);
    assert_int_equal(count_of(store, "workload=1x2GB source=measured"), 1);
    assert_int_equal(count_of(store, "workload=copy:1000*"), 2);
    assert_int_equal(count_of(store, "since=1d"), 4);
    assert_int_equal(count_of(store, "since=2999-01-01"), 0);
    assert_int_equal(count_of(store, "phase=download"), 0);
    assert_int_equal(count_of(store, "protocol=smb kind=single volume=s* phase=up*"), 4);

    struct nm_cells *cells = cells_of(store, "source=measured");

    assert_string_equal(cells->items[0].workload, "copy:1x2GB");
    assert_string_equal(cells->items[1].workload, "copy:1000x2MB");
    assert_string_equal(cells->items[2].workload, "copy:10000x2KB");
    nm_cells_free(cells);
    nm_store_close(store);
}

static void test_select_shows_geometric_mean_and_what_failed(void **state)
{
    struct place *place = *state;
    struct nm_store *store = open_store(place->db);
    struct nm_error err = {0};
    struct nm_cells *cells;
    int64_t id;

    /* statistics.md: arithmetic 962.319, geometric 954.481, harmonic 946.372. */
    put(store, (struct step){.s = 46.0 / 50, .flags = "link client-cpu", .files = true}, NULL);
    put(store, (struct step){.s = 50.0 / 50, .flags = "client-cpu"}, NULL);
    put(store, (struct step){.s = 62.5 / 50, .flags = "cached"}, NULL);
    cells = cells_of(store, "");
    assert_int_equal(cells->count, 1);
    assert_int_equal(cells->items[0].status, NM_CELL_OK);
    assert_int_equal(cells->items[0].n_ok, 3);
    assert_float_equal(cells->items[0].bytes_per_s, 954.481e6, 500);
    assert_float_equal(cells->items[0].min_bytes_per_s, 800e6, 1);
    assert_float_equal(cells->items[0].max_bytes_per_s, 1e9 / 0.92, 1);
    assert_float_equal(cells->items[0].files_per_s, 1000 / 0.92, 1e-6);
    assert_string_equal(cells->items[0].flags, "link client-cpu cached");
    nm_cells_free(cells);

    put(store, (struct step){.status = NM_STATUS_ABORTED}, NULL);
    put(store, (struct step){.status = NM_STATUS_MISSING}, NULL);
    cells = cells_of(store, "");
    assert_int_equal(cells->items[0].status, NM_CELL_OK);
    nm_cells_free(cells);

    id = put(store, (struct step){.status = NM_STATUS_FAILED, .flags = "never"}, NULL);
    cells = cells_of(store, "");
    assert_int_equal(cells->count, 1);
    assert_int_equal(cells->items[0].status, NM_CELL_PARTIAL);
    assert_int_equal(cells->items[0].n_ok, 3);
    assert_int_equal(cells->items[0].n_failed, 1);
    assert_int_equal(cells->items[0].n_trials, 6);
    assert_float_equal(cells->items[0].bytes_per_s, 954.481e6, 500);
    nm_cells_free(cells);

    assert_int_equal(nm_store_void_trial(store, id, "wrong cable", &err), 0);
    cells = cells_of(store, "");
    assert_int_equal(cells->items[0].status, NM_CELL_OK);
    assert_int_equal(cells->items[0].n_failed, 0);
    assert_int_equal(cells->items[0].trials[5].status, NM_STATUS_VOID);
    assert_string_equal(cells->items[0].trials[5].message, "wrong cable");
    assert_string_equal(cells->items[0].flags, "link client-cpu cached");
    nm_cells_free(cells);
    nm_store_close(store);
}

/* To the last digit: whoever reads the csv compares texts. */
static void test_select_mean_of_one_trial_is_that_trial(void **state)
{
    struct place *place = *state;
    struct nm_store *store = open_store(place->db);
    char volumes[20][8];
    struct nm_cells *cells;

    for (int i = 0; i < 20; i++) {
        snprintf(volumes[i], sizeof(volumes[i]), "v%d", i);
        put(store, (struct step){.volume = volumes[i], .s = 1.0 / 3 + i, .files = true}, NULL);
    }
    cells = cells_of(store, "nas=bench");
    assert_int_equal(cells->count, 20);
    for (size_t i = 0; i < cells->count; i++) {
        const struct nm_cell *cell = &cells->items[i];

        assert_true(cell->bytes_per_s == cell->min_bytes_per_s);
        assert_true(cell->bytes_per_s == cell->max_bytes_per_s);
        assert_true(cell->files_per_s == 1000 / ((double)cell->trials[0].duration_ns / 1e9));
    }
    nm_cells_free(cells);
    nm_store_close(store);
}

static void test_select_a_pass_measured_later_is_not_missing(void **state)
{
    struct place *place = *state;
    struct nm_store *store = open_store(place->db);
    struct nm_cells *cells;

    put(store, (struct step){.status = NM_STATUS_FAILED}, NULL);
    put(store, (struct step){0}, NULL);
    cells = cells_of(store, "");
    assert_int_equal(cells->items[0].status, NM_CELL_OK);
    assert_int_equal(cells->items[0].n_ok, 1);
    assert_int_equal(cells->items[0].n_failed, 1); /* it is said nevertheless */
    nm_cells_free(cells);
    put(store, (struct step){.status = NM_STATUS_FAILED}, NULL);
    cells = cells_of(store, "");
    assert_int_equal(cells->items[0].status, NM_CELL_PARTIAL);
    nm_cells_free(cells);
    nm_store_close(store);
}

static void test_select_has_no_number_without_a_success(void **state)
{
    static const struct {
        enum nm_status trial;
        enum nm_cell_status cell;
    } rows[] = {
        {NM_STATUS_FAILED, NM_CELL_FAILED},
        {NM_STATUS_UNSUPPORTED, NM_CELL_UNSUPPORTED},
        {NM_STATUS_NA, NM_CELL_NA},
        {NM_STATUS_TOO_SHORT, NM_CELL_TOO_SHORT},
        {NM_STATUS_ABORTED, NM_CELL_ABORTED},
        {NM_STATUS_MISSING, NM_CELL_ABORTED}, /* does not hide what happened before */
        {NM_STATUS_VOID, NM_CELL_ABORTED},
    };
    struct place *place = *state;
    struct nm_store *store = open_store(place->db);

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct nm_cells *cells;

        put(store, (struct step){.status = rows[i].trial}, NULL);
        cells = cells_of(store, "");
        assert_int_equal(cells->count, 1);
        assert_int_equal(cells->items[0].status, rows[i].cell);
        assert_true(isnan(cells->items[0].bytes_per_s));
        assert_true(isnan(cells->items[0].min_bytes_per_s));
        assert_true(isnan(cells->items[0].files_per_s));
        nm_cells_free(cells);
    }
    nm_store_close(store);
}

static void test_select_never_pools_other_conditions(void **state)
{
    struct place *place = *state;
    struct nm_store *store = open_store(place->db);
    struct nm_cells *cells;

    put(store, (struct step){.block = "65536", .s = 1}, NULL);
    put(store, (struct step){.block = "1048576", .s = 2}, NULL);
    put(store, (struct step){.block = "1048576", .s = 3}, NULL);
    put(store, (struct step){.block = "4096", .status = NM_STATUS_FAILED}, NULL);
    /* Did not even connect: belongs to the newest it does not contradict. */
    put(store, (struct step){.status = NM_STATUS_FAILED}, NULL);
    cells = cells_of(store, "");
    assert_int_equal(cells->count, 3);
    assert_int_equal(cells->items[0].n_trials, 1);
    assert_string_equal(nm_conditions_get(cells->items[0].conditions, "block_bytes"), "65536");
    assert_int_equal(cells->items[0].status, NM_CELL_OK);
    assert_string_equal(nm_conditions_get(cells->items[1].conditions, "block_bytes"), "1048576");
    assert_string_equal(nm_conditions_get(cells->items[1].conditions, "client.load"), "3");
    assert_int_equal(cells->items[1].n_ok, 2);
    assert_int_equal(cells->items[2].n_ok, 0);
    assert_int_equal(cells->items[2].n_trials, 2);
    assert_string_not_equal(cells->items[0].conditions_hash, cells->items[1].conditions_hash);
    nm_cells_free(cells);
    nm_store_close(store);
}

static void test_select_reads_metrics_and_bins(void **state)
{
    struct place *place = *state;
    struct nm_store *store = open_store(place->db);
    struct nm_error err = {0};
    struct nm_select *select = NULL;
    struct nm_cells *cells;
    struct run run;
    uint64_t *bins, bin_ns;
    size_t n;

    begin_run(store, &run);
    assert_int_equal(store_full_trial(store, &run, 1, &err), 0);
    cells = cells_of(store, "");
    assert_int_equal(cells->items[0].trials[0].metrics->count, 2);
    assert_float_equal(nm_metrics_get(cells->items[0].trials[0].metrics, "latency_p99")->value,
                       99000, 0);
    assert_int_equal(nm_metrics_get(cells->items[0].trials[0].metrics, "latency_p99")->summary,
                     NM_SUMMARY_MEDIAN);
    assert_int_equal(nm_select_bins(store, cells->items[0].trials[0].id, &bins, &n, &bin_ns, &err),
                     0);
    assert_int_equal(n, 100);
    assert_int_equal(bins[99], 99 * 99 * 1000);
    assert_int_equal(bin_ns, 100 * NM_NS_PER_MS);
    free(bins);
    nm_cells_free(cells);
    assert_int_equal(nm_select_bins(store, 99, &bins, &n, &bin_ns, &err), -ENOENT);

    assert_int_equal(nm_select_parse(NULL, 0, &select, &err), 0);
    nm_select_skip_metrics(select);
    assert_int_equal(nm_select_cells(store, select, &cells, &err), 0);
    assert_int_equal(cells->items[0].trials[0].metrics->count, 0);
    nm_cells_free(cells);
    nm_select_free(select);
    nm_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_select_parses_words),
        TEST(test_select_takes_the_newest_firmware_campaign_and_round),
        TEST(test_select_filters_by_time_source_and_names),
        TEST(test_select_shows_geometric_mean_and_what_failed),
        TEST(test_select_mean_of_one_trial_is_that_trial),
        TEST(test_select_a_pass_measured_later_is_not_missing),
        TEST(test_select_has_no_number_without_a_success),
        TEST(test_select_never_pools_other_conditions),
        TEST(test_select_reads_metrics_and_bins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
