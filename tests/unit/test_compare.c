/* Pairing of two selections, conditions, exit codes and what is printed, on hand-made cells.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "compare.h"

#include "command.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_CELLS = 24, MAX_TRIALS = 8 };

static const struct nm_metrics no_metrics;

/* A side under construction. */
struct side {
    struct nm_cells cells;
    struct nm_cell items[MAX_CELLS];
    struct nm_trial trials[MAX_CELLS][MAX_TRIALS];
    struct nm_conditions conditions[MAX_CELLS];
    struct nm_metrics metrics[MAX_CELLS][MAX_TRIALS];
};

static struct side a, b;

static int reset(void **state)
{
    (void)state;
    memset(&a, 0, sizeof(a));
    memset(&b, 0, sizeof(b));
    a.cells.items = a.items;
    b.cells.items = b.items;
    return 0;
}

static struct nm_cell *add(struct side *side, const char *firmware, const char *volume,
                           const char *phase, size_t n, const double *mb_per_s)
{
    static int64_t id;
    size_t at = side->cells.count++;
    struct nm_cell *cell = &side->items[at];

    *cell = (struct nm_cell){.nas = "rn104",
                             .firmware = firmware,
                             .volume = volume,
                             .kind = "other",
                             .protocol = "smb",
                             .workload = "copy:1x2GB",
                             .phase = phase,
                             .campaign_id = 1,
                             .conditions_hash = "",
                             .conditions = &side->conditions[at],
                             .trials = side->trials[at],
                             .n_trials = n,
                             .status = n ? NM_CELL_OK : NM_CELL_MISSING};
    for (size_t i = 0; i < n; i++)
        cell->trials[i] = (struct nm_trial){.id = ++id,
                                            .run = "00000001",
                                            .pass = (uint32_t)i + 1,
                                            .status = NM_STATUS_OK,
                                            .bytes = (uint64_t)(mb_per_s[i] * 1e6),
                                            .duration_ns = 1000000000,
                                            .metrics = &no_metrics,
                                            .source = "measured"};
    return cell;
}

static void condition(struct side *side, const struct nm_cell *cell, const char *name,
                      const char *value)
{
    nm_conditions_set(&side->conditions[cell - side->items], name, "%s", value);
}

static const double fast[] = {100, 101, 99, 100}, slow[] = {80, 81, 79, 80};

static struct nm_compare *compare(unsigned keys, const char *const *allowed)
{
    struct nm_compare_options options = {
        .keys = keys, .allowed = allowed, .margin = .05, .tau = NM_STATS_DEFAULT_TAU};
    struct nm_compare *result = NULL;
    struct nm_error err = {0};

    if (nm_compare_new(&a.cells, &b.cells, &options, &result, &err) < 0)
        fail_msg("%s", err.text);
    return result;
}

static int compare_fails(unsigned keys, struct nm_error *err)
{
    struct nm_compare_options options = {.keys = keys, .margin = .05};
    struct nm_compare *result = NULL;
    int r = nm_compare_new(&a.cells, &b.cells, &options, &result, err);

    assert_null(result);
    return r;
}

static void test_compare_pairs_by_what_is_not_compared(void **state)
{
    struct nm_compare *result;

    (void)state;
    add(&a, "1", "single", "upload", 3, fast);
    add(&a, "1", "single", "download", 3, fast);
    add(&a, "1", "raid1", "upload", 3, fast);
    add(&b, "2", "raid1", "upload", 3, slow);
    add(&b, "2", "single", "download", 3, fast);
    add(&b, "2", "single", "upload", 3, fast);
    result = compare(NM_COMPARE_FIRMWARE, NULL);
    assert_int_equal(result->n_rows, 3);
    assert_ptr_equal(result->rows[0].b, &b.items[2]);
    assert_ptr_equal(result->rows[1].b, &b.items[1]);
    assert_ptr_equal(result->rows[2].b, &b.items[0]);
    assert_null(result->rows[0].firmware);
    assert_string_equal(result->rows[2].volume, "raid1");
    assert_int_equal(result->rows[2].stats.verdict, NM_VERDICT_REGRESSED);
    assert_int_equal(result->rows[0].stats.verdict, NM_VERDICT_SAME);
    assert_int_equal(nm_compare_exit(result, true), NM_EXIT_FAILED);
    nm_compare_free(result);
}

static void test_compare_shows_what_one_side_lacks(void **state)
{
    struct nm_compare *result;
    struct nm_cell *cell;

    (void)state;
    add(&a, "1", "single", "upload", 3, fast);
    add(&a, "1", "usb", "upload", 0, NULL)->status = NM_CELL_NA;
    add(&a, "1", "raid5", "upload", 3, fast);
    add(&b, "2", "single", "upload", 3, fast);
    add(&b, "2", "raid6", "upload", 3, fast);
    add(&b, "2", "usb", "upload", 0, NULL)->status = NM_CELL_NA;
    cell = add(&b, "2", "raid5", "upload", 3, fast);
    cell->status = NM_CELL_FAILED;
    for (int i = 0; i < 3; i++) {
        cell->trials[i].status = NM_STATUS_FAILED;
        cell->trials[i].reason = NM_REASON_NO_SPACE;
    }
    result = compare(NM_COMPARE_FIRMWARE, NULL);
    assert_int_equal(result->n_rows, 3); /* n/a on both sides is not a row */
    assert_int_equal(result->rows[1].stats.verdict, NM_VERDICT_INSUFFICIENT);
    assert_string_equal(result->rows[1].note, "B failed: no_space");
    assert_false(result->rows[1].has_b);
    assert_string_equal(result->rows[2].note, "not in A");
    assert_string_equal(result->rows[2].volume, "raid6");
    assert_int_equal(nm_compare_exit(result, false), NM_EXIT_OK);
    assert_int_equal(nm_compare_exit(result, true), NM_EXIT_UNPROVEN);
    nm_compare_free(result);
}

static void test_compare_partial_cells_count_what_succeeded(void **state)
{
    struct nm_compare *result;
    struct nm_cell *cell;

    (void)state;
    add(&a, "1", "single", "upload", 4, fast);
    cell = add(&b, "2", "single", "upload", 4, slow);
    cell->status = NM_CELL_PARTIAL;
    cell->trials[3].status = NM_STATUS_FAILED;
    cell->trials[3].reason = NM_REASON_TIMEOUT;
    result = compare(NM_COMPARE_FIRMWARE, NULL);
    assert_int_equal(result->rows[0].stats.b.n, 3);
    assert_string_equal(result->rows[0].note, "B partial: timeout");
    nm_compare_free(result);
}

static void test_compare_names_flags_of_one_side(void **state)
{
    struct nm_compare *result;

    (void)state;
    strncpy(add(&a, "1", "single", "upload", 3, fast)->flags, "link", 8);
    strncpy(add(&a, "1", "raid1", "upload", 3, fast)->flags, "link", 8);
    add(&b, "2", "single", "upload", 3, fast);
    strncpy(add(&b, "2", "raid1", "upload", 3, fast)->flags, "link", 8);
    result = compare(NM_COMPARE_FIRMWARE, NULL);
    assert_string_equal(result->rows[0].note, "flags A: link, B: none");
    assert_string_equal(result->rows[1].note, "");
    nm_compare_free(result);
}

static void test_compare_conditions_forbid_unless_implied_or_allowed(void **state)
{
    static const char *const allowed[] = {"block_bytes", NULL};
    struct nm_compare *result;
    struct nm_cell *cell;

    (void)state;
    cell = add(&a, "1", "single", "upload", 3, fast);
    condition(&a, cell, "block_bytes", "4096");
    condition(&a, cell, "server.identity", "1");
    condition(&a, cell, "client.load", "0.1");
    cell = add(&b, "1", "raid1", "upload", 3, slow);
    condition(&b, cell, "block_bytes", "8192");
    condition(&b, cell, "server.identity", "2");
    condition(&b, cell, "client.load", "0.9");
    result = compare(NM_COMPARE_VOLUME, NULL);
    assert_int_equal(result->rows[0].stats.verdict, NM_VERDICT_NOT_COMPARABLE);
    assert_string_equal(result->rows[0].note, "block_bytes 4096 / 8192");
    assert_int_equal(nm_compare_exit(result, false), NM_EXIT_NOT_COMPARABLE);
    nm_compare_free(result);
    result = compare(NM_COMPARE_VOLUME, allowed);
    assert_int_equal(result->rows[0].stats.verdict, NM_VERDICT_REGRESSED);
    nm_compare_free(result);
}

static void test_compare_takes_the_cell_with_equal_conditions(void **state)
{
    struct nm_compare *result;

    (void)state;
    condition(&a, add(&a, "1", "single", "upload", 3, fast), "block_bytes", "4096");
    condition(&b, add(&b, "2", "single", "upload", 3, slow), "block_bytes", "8192");
    condition(&b, add(&b, "2", "single", "upload", 3, fast), "block_bytes", "4096");
    result = compare(NM_COMPARE_FIRMWARE, NULL);
    assert_int_equal(result->n_rows, 2);
    assert_ptr_equal(result->rows[0].b, &b.items[1]);
    assert_int_equal(result->rows[0].stats.verdict, NM_VERDICT_SAME);
    assert_string_equal(result->rows[1].note, "not in A");
    nm_compare_free(result);
}

static void test_compare_measured_with_imported_needs_leave(void **state)
{
    static const char *const allowed[] = {"source", NULL};
    struct nm_compare *result;
    struct nm_cell *cell = add(&a, "1", "single", "upload", 3, fast);

    (void)state;
    cell->imported = true;
    condition(&b, add(&b, "2", "single", "upload", 3, fast), "block_bytes", "4096");
    result = compare(NM_COMPARE_FIRMWARE, NULL);
    assert_int_equal(result->rows[0].stats.verdict, NM_VERDICT_NOT_COMPARABLE);
    assert_non_null(strstr(result->rows[0].note, "--allow source"));
    nm_compare_free(result);
    result = compare(NM_COMPARE_FIRMWARE, allowed);
    assert_int_equal(result->rows[0].stats.verdict, NM_VERDICT_SAME);
    nm_compare_free(result);
    b.items[0].imported = true; /* imported with imported: nothing needed but equal conditions */
    memset(b.conditions, 0, sizeof(b.conditions));
    result = compare(NM_COMPARE_FIRMWARE, NULL);
    assert_int_equal(result->rows[0].stats.verdict, NM_VERDICT_SAME);
    nm_compare_free(result);
}

static void test_compare_single_figure_gives_no_verdict(void **state)
{
    struct nm_compare *result;

    (void)state;
    add(&a, "1", "single", "upload", 1, fast)->imported = true;
    add(&b, "2", "single", "upload", 1, slow)->imported = true;
    result = compare(NM_COMPARE_FIRMWARE, NULL);
    assert_int_equal(result->rows[0].stats.verdict, NM_VERDICT_INSUFFICIENT);
    assert_true(result->rows[0].stats.has_delta);
    nm_compare_free(result);
}

static void test_compare_adds_session_noise_to_back_to_back_sides(void **state)
{
    static const struct {
        const char *order_a, *order_b;
        bool two_sessions, expected;
    } rows[] = {
        {"grouped", "grouped", false, true},
        {"passes", "passes", false, false},
        {"grouped", "grouped", true, false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct nm_compare *result;
        struct nm_cell *cell;

        reset(state);
        condition(&a, add(&a, "1", "single", "upload", 3, fast), "order", rows[i].order_a);
        cell = add(&b, "2", "single", "upload", 3, fast);
        condition(&b, cell, "order", rows[i].order_b);
        if (rows[i].two_sessions)
            cell->trials[2].run = "00000002";
        result = compare(NM_COMPARE_FIRMWARE, NULL);
        assert_int_equal(result->tau_used, rows[i].expected);
        assert_int_equal(result->rows[0].stats.se > .014, rows[i].expected);
        nm_compare_free(result);
    }
}

static void test_compare_refuses_an_ambiguous_side(void **state)
{
    struct nm_error err;

    (void)state;
    add(&a, "1", "single", "upload", 3, fast);
    add(&b, "2", "single", "upload", 3, fast);
    add(&b, "3", "single", "upload", 3, fast);
    assert_int_equal(compare_fails(NM_COMPARE_FIRMWARE, &err), -EINVAL);
    assert_non_null(strstr(err.text, "SELECT_B holds several values of firmware (2, 3)"));
}

static void test_compare_refuses_the_same_trials_twice(void **state)
{
    struct nm_error err;

    (void)state;
    add(&a, "1", "single", "upload", 3, fast);
    add(&a, "1", "single", "download", 3, fast);
    add(&b, "1", "single", "upload", 3, slow);
    add(&b, "1", "single", "download", 3, slow);
    b.trials[1][2].id = a.trials[1][0].id;
    assert_int_equal(compare_fails(0, &err), -EINVAL);
    assert_non_null(strstr(err.text, "hold the same trials (rn104 firmware 1, single)"));
}

static void test_compare_says_why_nothing_fits(void **state)
{
    struct nm_error err;

    (void)state;
    add(&a, "1", "single", "upload", 3, fast);
    assert_int_equal(compare_fails(NM_COMPARE_FIRMWARE, &err), -ENOENT);
    assert_non_null(strstr(err.text, "SELECT_B selects nothing"));
    add(&b, "2", "raid1", "upload", 3, fast);
    assert_int_equal(compare_fails(NM_COMPARE_FIRMWARE, &err), -ENOENT);
    assert_non_null(strstr(err.text, "name volume= in both"));
}

static void latency(struct side *side, struct nm_cell *cell, double ns)
{
    size_t at = (size_t)(cell - side->items);

    for (size_t i = 0; i < cell->n_trials; i++) {
        struct nm_metrics *metrics = &side->metrics[at][i];

        metrics->count = 2;
        metrics->items[0] =
            (struct nm_metric){.name = "seek", .unit = "mm", .better = NM_BETTER_NONE, .value = 1};
        metrics->items[1] = (struct nm_metric){
            .name = "access", .unit = "ns", .better = NM_BETTER_LOWER, .value = ns + (double)i};
        cell->trials[i].metrics = metrics;
        cell->trials[i].bytes = 0;
    }
}

static void test_compare_lower_is_better(void **state)
{
    struct nm_compare *result;

    (void)state;
    latency(&a, add(&a, "1", "single", "seek", 3, fast), 8000);
    latency(&b, add(&b, "2", "single", "seek", 3, fast), 12000);
    result = compare(NM_COMPARE_FIRMWARE, NULL);
    assert_string_equal(result->rows[0].metric, "access");
    assert_string_equal(result->rows[0].unit, "ns");
    assert_int_equal(result->rows[0].stats.verdict, NM_VERDICT_REGRESSED);
    nm_compare_free(result);
}

static void test_compare_exit_precedence(void **state)
{
    struct nm_compare *result;
    struct nm_cell *cell;

    (void)state;
    add(&a, "1", "single", "upload", 3, fast);
    add(&b, "2", "single", "upload", 3, slow);
    add(&a, "1", "raid1", "upload", 2, fast);
    add(&b, "2", "raid1", "upload", 2, fast);
    result = compare(NM_COMPARE_FIRMWARE, NULL);
    assert_int_equal(nm_compare_exit(result, true), NM_EXIT_FAILED);
    nm_compare_free(result);
    cell = add(&a, "1", "raid5", "upload", 3, fast);
    condition(&a, cell, "block_bytes", "1");
    condition(&b, add(&b, "2", "raid5", "upload", 3, fast), "block_bytes", "2");
    result = compare(NM_COMPARE_FIRMWARE, NULL);
    assert_int_equal(nm_compare_exit(result, true), NM_EXIT_NOT_COMPARABLE);
    nm_compare_free(result);
}

static char *text_of(const struct nm_compare *result)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    assert_int_equal(nm_compare_write_text(result, false, out, NULL), 0);
    fclose(out);
    return text;
}

static void test_compare_text_has_every_part(void **state)
{
    static const double wild[] = {60, 100, 140};
    static const char *const parts[] = {
        "rn104\nA: firmware 1\nB: firmware 2\n",
        "cell",
        "95 % CI",
        "single smb copy:1x2GB upload  100.0 MB/s",
        "-20.0 %",
        "REGRESSED",
        "not in B",
        "needs more than 10 trials a side; sees ",
        "geometric mean of 2",
        "noise: ",
        "INSUFFICIENT    1  fewer than 3 trials on a side\n",
        "REGRESSED       1  q <= 0.05 and at least 5 % worse\n",
    };
    struct nm_compare *result;
    char *text;

    (void)state;
    add(&a, "1", "single", "upload", 3, fast);
    add(&a, "1", "raid1", "upload", 3, wild);
    add(&a, "1", "raid5", "upload", 3, fast);
    add(&b, "2", "single", "upload", 3, slow);
    add(&b, "2", "raid1", "upload", 3, fast);
    result = compare(NM_COMPARE_FIRMWARE, NULL);
    text = text_of(result);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (!strstr(text, parts[i]))
            fail_msg("\"%s\" is not in:\n%s", parts[i], text);
    free(text);
    nm_compare_free(result);
}

static void test_compare_json_keys_and_nulls(void **state)
{
    struct nm_compare *result;
    json_t *document, *row;

    (void)state;
    add(&a, "1", "single", "upload", 3, fast);
    add(&b, "2", "single", "upload", 3, slow);
    add(&a, "1", "raid5", "upload", 3, fast);
    result = compare(NM_COMPARE_FIRMWARE, NULL);
    snprintf(result->rows[1].note, sizeof(result->rows[1].note), "cut \xc3"); /* half a letter */
    document = nm_compare_json(result);
    assert_non_null(document);
    assert_int_equal(json_integer_value(json_object_get(document, "schema")), 1);
    assert_int_equal(json_integer_value(json_object_get(document, "regressed")), 1);
    row = json_array_get(json_object_get(document, "rows"), 0);
    assert_string_equal(json_string_value(json_object_get(row, "verdict")), "REGRESSED");
    assert_true(json_is_null(json_object_get(row, "firmware")));
    assert_true(json_is_null(json_object_get(row, "note")));
    assert_true(fabs(json_real_value(json_object_get(row, "delta")) + .2) < .001);
    assert_int_equal(json_array_size(json_object_get(row, "ci90")), 2);
    row = json_array_get(json_object_get(document, "rows"), 1);
    assert_true(json_is_null(json_object_get(row, "b")));
    assert_true(json_is_null(json_object_get(row, "p")));
    assert_true(json_is_null(json_object_get(row, "ci95")));
    assert_int_equal(json_integer_value(json_array_get(json_object_get(row, "n"), 0)), 3);
    assert_true(json_is_null(json_object_get(json_object_get(document, "prior"), "d0")));
    json_decref(document);
    nm_compare_free(result);
}

static void test_compare_session_noise_from_repeated_sessions(void **state)
{
    static const double day1[] = {100, 101, 99}, day2[] = {104, 105, 103};
    double tau = -1;

    (void)state;
    add(&a, "1", "single", "upload", 3, day1);
    condition(&a, &a.items[0], "order", "grouped");
    assert_false(nm_compare_session_noise(&a.cells, &tau));
    for (int i = 0; i < 11; i++) { /* ten cells more, each in two rounds on two days */
        static const char *const names[] = {"v0", "v1", "v2", "v3", "v4", "v5",
                                            "v6", "v7", "v8", "v9", "va"};

        condition(&a, add(&a, "1", names[i], "upload", 3, day1), "order", "grouped");
        condition(&a, add(&a, "1", names[i], "upload", 3, day2), "order", "grouped");
        for (int k = 0; k < 3; k++)
            a.items[a.cells.count - 1].trials[k].run = "00000002";
    }
    assert_true(nm_compare_session_noise(&a.cells, &tau));
    /* difference of two sessions ln(104/100) = 3.92 %: tau^2 = .0392^2/2 - s^2/3, s about 1 % */
    assert_true(fabs(tau - .0271) < .0005);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_compare_pairs_by_what_is_not_compared, reset),
        cmocka_unit_test_setup(test_compare_shows_what_one_side_lacks, reset),
        cmocka_unit_test_setup(test_compare_partial_cells_count_what_succeeded, reset),
        cmocka_unit_test_setup(test_compare_names_flags_of_one_side, reset),
        cmocka_unit_test_setup(test_compare_conditions_forbid_unless_implied_or_allowed, reset),
        cmocka_unit_test_setup(test_compare_takes_the_cell_with_equal_conditions, reset),
        cmocka_unit_test_setup(test_compare_measured_with_imported_needs_leave, reset),
        cmocka_unit_test_setup(test_compare_single_figure_gives_no_verdict, reset),
        cmocka_unit_test_setup(test_compare_adds_session_noise_to_back_to_back_sides, reset),
        cmocka_unit_test_setup(test_compare_refuses_an_ambiguous_side, reset),
        cmocka_unit_test_setup(test_compare_refuses_the_same_trials_twice, reset),
        cmocka_unit_test_setup(test_compare_says_why_nothing_fits, reset),
        cmocka_unit_test_setup(test_compare_lower_is_better, reset),
        cmocka_unit_test_setup(test_compare_exit_precedence, reset),
        cmocka_unit_test_setup(test_compare_text_has_every_part, reset),
        cmocka_unit_test_setup(test_compare_json_keys_and_nulls, reset),
        cmocka_unit_test_setup(test_compare_session_noise_from_repeated_sessions, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
