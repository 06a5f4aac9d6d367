/* Histories built from cells: order of versions, conditions, what is printed.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "series.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX = 16 };

static struct nm_cell items[MAX];
static struct nm_trial trials[MAX];
static struct nm_conditions conditions[MAX];
static const struct nm_metrics none;
static struct nm_cells cells;

static int reset(void **state)
{
    (void)state;
    memset(conditions, 0, sizeof(conditions));
    cells = (struct nm_cells){.items = items};
    return 0;
}

static struct nm_cell *add(const char *firmware, uint64_t when, double mb_per_s)
{
    size_t at = cells.count++;

    trials[at] = (struct nm_trial){.status = NM_STATUS_OK,
                                   .bytes = (uint64_t)(mb_per_s * 1e6),
                                   .duration_ns = 1000000000,
                                   .metrics = &none};
    items[at] = (struct nm_cell){.nas = "rn104",
                                 .firmware = firmware,
                                 .firmware_utc_ns = when,
                                 .volume = "single",
                                 .protocol = "smb",
                                 .workload = "copy:1x2GB",
                                 .phase = "upload",
                                 .conditions_hash = "h",
                                 .conditions = &conditions[at],
                                 .trials = &trials[at],
                                 .n_trials = 1,
                                 .status = NM_CELL_OK};
    return &items[at];
}

static const double rates[] = {1012, 1005, 1021, 998, 1009, 1015, 941, 932, 948, 937};
static const char *const names[] = {"6.1.0", "6.1.1", "6.1.2", "6.1.3", "6.1.4",
                                    "6.1.5", "6.1.6", "6.1.7", "6.1.8", "6.1.10"};

static struct nm_series_set *build(void)
{
    struct nm_series_set *set = NULL;

    assert_int_equal(nm_series_new(&cells, NULL, .05, &set, NULL), 0);
    return set;
}

static char *text_of(const struct nm_series_set *set)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_int_equal(nm_series_write_text(set, out, NULL), 0);
    fclose(out);
    return text;
}

static void test_series_orders_versions_and_finds_the_step(void **state)
{
    struct nm_series_set *set;
    json_t *document, *first;
    char *text;

    (void)state;
    for (int i = 9; i >= 0; i--) /* newest first: the order must come from the dates */
        add(names[i], 1000 + (uint64_t)i, rates[i]);
    set = build();
    assert_int_equal(set->count, 1);
    assert_int_equal(set->items[0].n, 10);
    assert_string_equal(set->items[0].points[9].cell->firmware, "6.1.10");
    assert_int_equal(set->items[0].n_changes, 1);
    assert_int_equal(set->items[0].changes[0].index, 6);
    assert_string_equal(nm_series_verdict(&set->items[0]), "ok");

    text = text_of(set);
    assert_non_null(strstr(text, "rn104 single smb copy:1x2GB upload  "));
    assert_non_null(strstr(text, "1012.0 MB/s  n 1"));
    assert_non_null(strstr(text, "changed by -7.0 % (t -14.6, p 1.0e-05)"));
    assert_non_null(strstr(text, "█"));
    free(text);

    document = nm_series_json(set);
    first = json_array_get(json_object_get(document, "series"), 0);
    assert_string_equal(json_string_value(json_array_get(json_object_get(first, "versions"), 9)),
                        "6.1.10");
    assert_true(
        fabs(json_real_value(json_array_get(json_object_get(first, "centers"), 0)) - 1012e6) < 1);
    first = json_array_get(json_object_get(first, "changes"), 0);
    assert_int_equal(json_integer_value(json_object_get(first, "index")), 6);
    assert_true(fabs(json_real_value(json_object_get(first, "step")) + .0698) < .00005);
    json_decref(document);
    nm_series_free(set);
}

/* No mountains out of what is the same in print, or in the noise of the trials. */
static void test_series_draws_noise_flat(void **state)
{
    struct nm_series_set *set;
    char *text;

    (void)state;
    add("1", 1, 99.81);
    add("2", 2, 99.84);
    add("3", 3, 99.79);
    set = build();
    text = text_of(set);
    assert_non_null(strstr(text, "  ▄▄▄\n"));
    free(text);
    nm_series_free(set);

    cells.count = 0;
    add("1", 1, 99.1);
    add("2", 2, 99.8);
    set = build();
    text = text_of(set);
    assert_non_null(strstr(text, "  ▁█\n")); /* one trial each: nothing says that it is noise */
    free(text);
    nm_series_free(set);

    cells.count = 0;
    for (size_t i = 0; i < 2; i++) { /* 98 and 101; 97 and 100 */
        struct nm_cell *cell = add(i ? "2" : "1", i, 98.0 - (double)i);

        trials[8 + 2 * i] = trials[8 + 2 * i + 1] = trials[i];
        trials[8 + 2 * i + 1].bytes = (uint64_t)(101e6 - 1e6 * (double)i);
        cell->trials = &trials[8 + 2 * i];
        cell->n_trials = 2;
    }
    set = build();
    text = text_of(set);
    assert_non_null(strstr(text, "  ▄▄\n"));
    free(text);
    nm_series_free(set);
}

static void test_series_keeps_conditions_apart(void **state)
{
    struct nm_series_set *set;
    struct nm_cell *cell;
    char *text;

    (void)state;
    cell = add("1", 1, 100);
    nm_conditions_set((struct nm_conditions *)cell->conditions, "smb.signing", "off");
    cell = add("2", 2, 60);
    cell->conditions_hash = "other";
    nm_conditions_set((struct nm_conditions *)cell->conditions, "smb.signing", "required");
    set = build();
    assert_int_equal(set->count, 2);
    text = text_of(set);
    assert_non_null(strstr(text, "other conditions than above: smb.signing required, not off"));
    free(text);
    nm_series_free(set);
}

static void test_series_leaves_out_what_has_no_number(void **state)
{
    struct nm_series_set *set;

    (void)state;
    add("1", 1, 100);
    add("2", 2, 100)->trials[0].status = NM_STATUS_FAILED;
    add("3", 3, 100);
    add("4", 4, 100)->phase = "download";
    items[3].trials[0].status = NM_STATUS_FAILED;
    set = build();
    assert_int_equal(set->count, 1);
    assert_int_equal(set->items[0].n, 2);
    assert_string_equal(nm_series_verdict(&set->items[0]), "insufficient");
    nm_series_free(set);
}

static void test_series_marks_an_odd_newest_version(void **state)
{
    struct nm_series_set *set;
    json_t *document;

    (void)state;
    for (int i = 0; i < 7; i++)
        add(names[i], (uint64_t)i, rates[i]);
    set = build();
    assert_string_equal(nm_series_verdict(&set->items[0]), "provisional");
    document = nm_series_json(set);
    assert_string_equal(
        json_string_value(json_object_get(
            json_object_get(json_array_get(json_object_get(document, "series"), 0), "newest"),
            "verdict")),
        "provisional");
    json_decref(document);
    nm_series_free(set);
}

static void test_series_of_no_cells_is_empty(void **state)
{
    struct nm_series_set *set = build();

    (void)state;
    assert_int_equal(set->count, 0);
    nm_series_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_series_orders_versions_and_finds_the_step, reset),
        cmocka_unit_test_setup(test_series_draws_noise_flat, reset),
        cmocka_unit_test_setup(test_series_keeps_conditions_apart, reset),
        cmocka_unit_test_setup(test_series_leaves_out_what_has_no_number, reset),
        cmocka_unit_test_setup(test_series_marks_an_odd_newest_version, reset),
        cmocka_unit_test_setup(test_series_of_no_cells_is_empty, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
