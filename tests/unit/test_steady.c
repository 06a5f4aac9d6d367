/* Burst and sustained, steady state and stability on the reference series.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "steady.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const double series[] = {1102, 1098, 1110, 1095, 1105, 1101, 760, 430, 412, 425,
                                418,  0,    421,  433,  409,  427,  415, 422, 430, 419};
#define N_SERIES 20

static void near(double value, double wanted, double half_digit)
{
    if (!(fabs(value - wanted) <= half_digit))
        fail_msg("%.10g, expected %.10g", value, wanted);
}

static void test_steady_split_reference_series(void **state)
{
    struct nm_steady_split split = nm_steady_split(series, N_SERIES);

    (void)state;
    assert_int_equal(split.at, 7);
    near(split.r_squared, .883176, 5e-7);
    near(split.ratio, 2.704801, 5e-7);
    near(split.cache_units, 4645.85, 5e-3);
    assert_true(split.significant);
}

static void test_steady_split_needs_a_fall(void **state)
{
    static const double rising[] = {100, 100, 100, 100, 400, 400, 400, 400, 400};
    static const double slight[] = {110, 110, 110, 100, 100, 100, 100, 100};
    static const double noisy[] = {150, 10, 300, 80, 250, 20, 110, 180, 5, 90};

    (void)state;
    assert_int_equal(nm_steady_split(rising, 9).at, 4);
    assert_false(nm_steady_split(rising, 9).significant);
    near(nm_steady_split(slight, 8).ratio, 1.1, 1e-12);
    assert_false(nm_steady_split(slight, 8).significant);
    assert_false(nm_steady_split(noisy, 10).significant);
}

static void test_steady_split_knee_of_a_cache(void **state)
{
    double bins[40]; /* 10 s at 400 MB/s, then 80 */

    (void)state;
    for (int i = 0; i < 40; i++)
        bins[i] = i < 10 ? 400e6 : 80e6;
    near(nm_steady_split(bins, 40).burst, 400e6, 1);
    near(nm_steady_split(bins, 40).sustained, 80e6, 1);
    near(nm_steady_split(bins, 40).cache_units, 3200e6, 1);
    assert_true(nm_steady_split(bins, 40).significant);
}

static void test_steady_state_rules(void **state)
{
    static const double flat[] = {1, 100, 101, 99, 100, 100}; /* six: the first does not fit */
    static const double drifting[] = {94, 97, 100, 103, 106};
    static const double jumping[] = {100, 115, 90, 115, 100};

    (void)state;
    assert_true(nm_steady_state(flat, 6).known);
    assert_true(nm_steady_state(flat, 6).steady);
    near(nm_steady_state(drifting, 5).drift, .12, 1e-12); /* range 12 % would pass */
    assert_false(nm_steady_state(drifting, 5).steady);
    near(nm_steady_state(jumping, 5).range, 25 / 104.0, 1e-12);
    near(nm_steady_state(jumping, 5).drift, 0, 1e-12);
    assert_false(nm_steady_state(jumping, 5).steady);
    assert_false(nm_steady_state(series, N_SERIES).steady);
}

static void test_steady_stability_reference_series(void **state)
{
    double scratch[N_SERIES];
    struct nm_stability stability = nm_steady_stability(series, N_SERIES, scratch);

    (void)state;
    assert_true(stability.known);
    near(stability.cv, .555982, 5e-7);
    near(stability.p5, 388.55, 5e-3);
    near(stability.below_half, .05, 1e-12);
    assert_int_equal(stability.stalls, 1);
    assert_int_equal(stability.longest_stall_bins, 1);
}

static void test_steady_stability_counts_runs(void **state)
{
    static const double bins[] = {100, 0, 0, 100, 3, 100, 0, 4, 0, 100, 100, 100, 100, 100, 100};
    double scratch[15];
    struct nm_stability stability = nm_steady_stability(bins, 15, scratch);

    (void)state;
    assert_int_equal(stability.stalls, 3);
    assert_int_equal(stability.longest_stall_bins, 3);
    near(stability.below_half, 6 / 15.0, 1e-12);
}

static void test_steady_rebin_drops_the_incomplete_end(void **state)
{
    uint64_t bins[25];
    double rates[3];

    (void)state;
    for (int i = 0; i < 25; i++)
        bins[i] = (uint64_t)i;
    assert_int_equal(nm_steady_rebin(bins, 25, 100000000, 1000000000, rates, 3), 2);
    near(rates[0], 45, 0);
    near(rates[1], 145, 0);
    assert_int_equal(nm_steady_rebin(bins, 25, 100000000, 1000000000, rates, 1), 1);
    assert_int_equal(nm_steady_rebin(bins, 25, 100000000, 250000000, rates, 3), 0);
    assert_int_equal(nm_steady_rebin(bins, 25, 0, 1000000000, rates, 3), 0);
    assert_int_equal(nm_steady_rebin(bins, 25, 250000000, 500000000, rates, 1), 1);
    near(rates[0], 2, 0);
}

static void test_steady_degenerate_input_is_finite(void **state)
{
    static const double zeroes[16], equal[16] = {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
    static const double ends[16] = {5, 5, 5}; /* then nothing: the target stopped */
    double scratch[16];

    (void)state;
    for (size_t n = 0; n <= 16; n++) {
        assert_int_equal(nm_steady_split(zeroes, n).at, 0);
        assert_int_equal(nm_steady_split(equal, n).at, 0);
        assert_false(nm_steady_state(zeroes, n).known);
        assert_false(nm_steady_stability(zeroes, n, scratch).known);
        assert_true(isfinite(nm_steady_split(ends, n).ratio));
        assert_true(isfinite(nm_steady_stability(ends, n, scratch).cv));
        assert_true(isfinite(nm_steady_state(ends, n).drift));
    }
    assert_true(nm_steady_state(equal, 16).steady);
    near(nm_steady_stability(equal, 16, scratch).cv, 0, 0);
    assert_true(nm_steady_split(ends, 16).significant);
    near(nm_steady_split(ends, 16).ratio, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steady_split_reference_series),
        cmocka_unit_test(test_steady_split_needs_a_fall),
        cmocka_unit_test(test_steady_split_knee_of_a_cache),
        cmocka_unit_test(test_steady_state_rules),
        cmocka_unit_test(test_steady_stability_reference_series),
        cmocka_unit_test(test_steady_stability_counts_runs),
        cmocka_unit_test(test_steady_rebin_drops_the_incomplete_end),
        cmocka_unit_test(test_steady_degenerate_input_is_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
