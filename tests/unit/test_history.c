/* Change points over firmware versions: the reference series.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "history.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const double series1[] = {1012, 1005, 1021, 998, 1009, 1015, 941, 932, 948, 937};
static const double series2[] = {1012, 1005, 1021, 998,  1009, 941,  932,
                                 948,  937,  945,  1030, 1041, 1022, 1035};
static const double spike[] = {1012, 1005, 1021, 998, 880, 1009, 1015, 1003};

static struct nm_history_change changes[NM_HISTORY_MAX_VERSIONS];
static double y[NM_HISTORY_MAX_VERSIONS + 1];

static size_t find(const double *values, size_t n, double margin)
{
    for (size_t i = 0; i < n; i++)
        y[i] = log(values[i]);
    return nm_history_changes(y, n, margin, changes);
}

static void near(double value, double wanted, double half_digit)
{
    if (!(fabs(value - wanted) <= half_digit))
        fail_msg("%.10g, expected %.10g", value, wanted);
}

static void test_history_one_step(void **state)
{
    (void)state;
    assert_int_equal(find(series1, 10, .05), 1);
    assert_int_equal(changes[0].index, 6);
    near(fabs(changes[0].t), 14.63727, 5e-6);
    near(changes[0].df, 8, 0);
    assert_int_equal(changes[0].arcs, 22);
    near(changes[0].p, 1.02477e-5, 5e-11);
    near(100 * changes[0].step, -6.980, 5e-4);
    assert_true(changes[0].t < 0);
}

static void test_history_there_and_back(void **state)
{
    (void)state;
    assert_int_equal(find(series2, 14, .05), 2);
    assert_int_equal(changes[0].index, 5);
    assert_int_equal(changes[1].index, 10);
    near(changes[0].t, -11.81071, 5e-6);
    near(changes[0].p, 3.23236e-6, 5e-12);
    assert_true(changes[0].step < -.05 && changes[1].step > .05 && changes[1].t > 0);
}

static void test_history_recurses_on_both_sides(void **state)
{
    static const double stairs[] = {100, 101, 100, 101, 150, 151, 150, 151, 200, 201, 200, 201};

    (void)state;
    assert_int_equal(find(stairs, 12, .05), 2);
    assert_int_equal(changes[0].index, 4);
    assert_int_equal(changes[1].index, 8);
    near(changes[0].step, .4977, 5e-4);
    near(changes[1].step, .3322, 5e-4);
}

static void test_history_margin_and_spike(void **state)
{
    (void)state;
    assert_int_equal(find(spike, 8, .05), 0);
    assert_int_equal(find(series1, 10, .10), 0); /* a step of 7 % does not matter then */
    assert_int_equal(find(series1, 3, .05), 0);
}

static void test_history_newest_version(void **state)
{
    struct nm_history_newest newest;

    (void)state;
    find(series1, 7, .05);
    newest = nm_history_newest(y, 7, NULL, 0);
    assert_true(newest.known && newest.provisional);
    assert_int_equal(newest.k, 6);
    near(newest.t, -8.2626, 5e-5);
    near(newest.df, 5, 0);
    near(newest.p, .000424, 5e-7);
    near(exp(newest.low), 975.705, 5e-4);
    near(exp(newest.high), 1045.446, 5e-4);

    newest = nm_history_newest(y, 6, NULL, 0); /* 1015 is nothing special */
    assert_true(newest.known && !newest.provisional);
}

static void test_history_newest_counts_from_the_last_change(void **state)
{
    size_t n = find(series1, 10, .05);
    struct nm_history_newest newest = nm_history_newest(y, 10, changes, n);

    (void)state;
    assert_true(newest.known && !newest.provisional);
    assert_int_equal(newest.k, 3);
    assert_false(nm_history_newest(y, 9, changes, n).known);
}

static void test_history_degenerate_input_is_finite(void **state)
{
    (void)state;
    for (size_t n = 0; n <= 12; n++) {
        struct nm_history_newest newest;

        for (size_t i = 0; i < n; i++)
            y[i] = 3;
        assert_int_equal(nm_history_changes(y, n, .05, changes), 0);
        newest = nm_history_newest(y, n, NULL, 0);
        assert_int_equal(newest.known, n >= 4);
        assert_true(isfinite(newest.t) && isfinite(newest.p) && isfinite(newest.low));
        assert_false(newest.provisional);
    }
    for (size_t i = 0; i < 12; i++) /* equal on both sides of a step, and beyond any range */
        y[i] = i < 6 ? -700 : 700;
    assert_int_equal(nm_history_changes(y, 12, .05, changes), 1);
    assert_true(isfinite(changes[0].step) && isfinite(changes[0].t) && isfinite(changes[0].p));
    assert_int_equal(nm_history_changes(y, NM_HISTORY_MAX_VERSIONS + 1, .05, changes), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_history_one_step),
        cmocka_unit_test(test_history_there_and_back),
        cmocka_unit_test(test_history_recurses_on_both_sides),
        cmocka_unit_test(test_history_margin_and_spike),
        cmocka_unit_test(test_history_newest_version),
        cmocka_unit_test(test_history_newest_counts_from_the_last_change),
        cmocka_unit_test(test_history_degenerate_input_is_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
