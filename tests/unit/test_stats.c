/* Comparison of trials: the reference rows of the method, every printed digit.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* value printed with as many decimals as expected has must read the same (sign included). */
static void same_digits(const char *what, double value, const char *expected)
{
    const char *dot = strchr(expected, '.'), *exponent = strchr(expected, 'e');
    double unit = 1, wanted = strtod(expected, NULL);

    if (dot)
        for (const char *p = dot + 1; p != exponent && *p; p++)
            unit /= 10;
    if (exponent)
        unit *= pow(10, strtod(exponent + 1, NULL));
    if (!(fabs(value - wanted) <= 0.5000001 * unit))
        fail_msg("%s: %.12g, expected %s", what, value, expected);
}
#define SAME_DIGITS(value, expected) same_digits(#value, value, expected)

/* p of the first and seventh row and the tau case: checked against an independent integration of
 * the density in double precision; three of the figures in circulation are off in their last
 * digits. */
struct reference {
    double a[3], b[3];
    const char *delta, *se, *p, *bh, *holm, *low, *high, *welch_p;
    enum nm_verdict verdict;
};

static const struct reference rows9[] = {
    {{1084, 1092, 1077},
     {968, 981, 974},
     "-10.1444",
     ".005708",
     "8.3403e-6",
     ".0000751",
     ".0000751",
     "-11.4553",
     "-8.8141",
     ".000043",
     NM_VERDICT_REGRESSED},
    {{1121, 1118, 1124},
     {1119, 1125, 1117},
     "-0.0597",
     ".003662",
     ".876900",
     ".886888",
     "1",
     "-0.9976",
     "0.8871",
     ".833363",
     NM_VERDICT_SAME},
    {{212, 226, 205},
     {208, 199, 221},
     "-2.3430",
     ".041737",
     ".594684",
     ".847702",
     "1",
     "-12.2929",
     "8.7357",
     ".600474",
     NM_VERDICT_UNCLEAR},
    {{88.1, 95.6, 79.2},
     {112.4, 101.9, 121.0},
     "27.6015",
     ".073788",
     ".021567",
     ".038820",
     ".107834",
     "5.5233",
     "54.2989",
     ".030206",
     NM_VERDICT_IMPROVED},
    {{654.1, 651.0, 655.8},
     {649.7, 655.2, 652.3},
     "-0.1888",
     ".004035",
     ".659324",
     ".847702",
     "1",
     "-1.2204",
     "0.8536",
     ".592375",
     NM_VERDICT_SAME},
    {{430, 433, 428},
     {421, 418, 424},
     "-2.1694",
     ".005529",
     ".010780",
     ".030945",
     ".075462",
     "-3.5521",
     "-0.7669",
     ".015755",
     NM_VERDICT_SAME},
    {{301, 322, 296},
     {266, 281, 259},
     "-12.2882",
     ".035186",
     ".013753",
     ".030945",
     ".082521",
     "-19.8849",
     "-3.9712",
     ".020537",
     NM_VERDICT_REGRESSED},
    {{540, 551, 546},
     {579, 588, 571},
     "6.1658",
     ".010285",
     ".002157",
     ".009705",
     ".017254",
     "3.3914",
     "9.0147",
     ".006256",
     NM_VERDICT_IMPROVED},
    {{745, 752, 749},
     {748, 741, 755},
     "-0.0912",
     ".006097",
     ".886888",
     ".886888",
     "1",
     "-1.6474",
     "1.4896",
     ".889718",
     NM_VERDICT_SAME},
};
#define N9 (sizeof(rows9) / sizeof(rows9[0]))

static void fill(struct nm_stats_row *rows, size_t n, double tau)
{
    memset(rows, 0, n * sizeof(*rows));
    for (size_t i = 0; i < n; i++) {
        rows[i].a = nm_stats_side(rows9[i].a, 3);
        rows[i].b = nm_stats_side(rows9[i].b, 3);
        rows[i].tau = tau;
    }
}

static void compare(struct nm_stats_row *rows, size_t n, enum nm_adjust adjust,
                    struct nm_stats_prior *prior, struct nm_stats_overall *all)
{
    assert_int_equal(nm_stats_compare(rows, n, 0.05, adjust, prior, all, NULL), 0);
}

static void test_stats_reference_rows(void **state)
{
    struct nm_stats_row rows[N9];
    struct nm_stats_prior prior;
    struct nm_stats_overall all;

    (void)state;
    fill(rows, N9, 0);
    compare(rows, N9, NM_ADJUST_BH, &prior, &all);
    SAME_DIGITS(prior.mean_e, "-8.415510835");
    SAME_DIGITS(prior.excess_v, "5.165368895");
    SAME_DIGITS(prior.d0, ".973640198");
    SAME_DIGITS(prior.s0_squared, "5.97285598e-5");
    for (size_t i = 0; i < N9; i++) {
        const struct reference *want = &rows9[i];

        SAME_DIGITS(100 * rows[i].delta, want->delta);
        SAME_DIGITS(rows[i].se, want->se);
        SAME_DIGITS(rows[i].p, want->p);
        SAME_DIGITS(rows[i].q, want->bh);
        SAME_DIGITS(100 * rows[i].ci95[0], want->low);
        SAME_DIGITS(100 * rows[i].ci95[1], want->high);
        assert_int_equal(rows[i].verdict, want->verdict);
        assert_int_equal(rows[i].small_but_real, i == 5);
    }
    assert_int_equal(rows[2].needed_trials, 10);
    SAME_DIGITS(100 * rows[5].ci90[0], "-3.2545");
    SAME_DIGITS(100 * rows[5].ci90[1], "-1.0721");
    assert_true(all.valid);
    assert_int_equal(all.n_rows, 9);
    SAME_DIGITS(all.ratio, "1.001830");
    SAME_DIGITS(100 * all.ci95[0], "-2.0738");
    SAME_DIGITS(100 * all.ci95[1], "2.4918");
    SAME_DIGITS(all.df, "10.899");
}

static void test_stats_holm_and_none(void **state)
{
    struct nm_stats_row rows[N9];
    struct nm_stats_prior prior;
    struct nm_stats_overall all;

    (void)state;
    fill(rows, N9, 0);
    compare(rows, N9, NM_ADJUST_HOLM, &prior, &all);
    for (size_t i = 0; i < N9; i++)
        SAME_DIGITS(rows[i].q, rows9[i].holm);
    compare(rows, N9, NM_ADJUST_NONE, &prior, &all);
    for (size_t i = 0; i < N9; i++)
        SAME_DIGITS(rows[i].q, rows9[i].p);
}

static void test_stats_welch_alone_below_eight_rows(void **state)
{
    struct nm_stats_row rows[N9];
    struct nm_stats_prior prior;
    struct nm_stats_overall all;

    (void)state;
    for (size_t i = 0; i < N9; i++) { /* each on its own, then seven together: no prior */
        fill(rows, N9, 0);
        compare(&rows[i], 1, NM_ADJUST_BH, &prior, &all);
        assert_true(prior.d0 == 0);
        SAME_DIGITS(rows[i].p, rows9[i].welch_p);
    }
    fill(rows, N9, 0);
    compare(rows, 7, NM_ADJUST_BH, &prior, &all);
    assert_true(prior.d0 == 0);
    SAME_DIGITS(rows[0].t, "-19.26739");
    SAME_DIGITS(rows[0].df, "3.99485");
    SAME_DIGITS(100 * rows[0].ci95[0], "-11.519");
    SAME_DIGITS(100 * rows[0].ci95[1], "-8.748");
    compare(rows, 8, NM_ADJUST_BH, &prior, &all);
    assert_true(prior.d0 > 0);
}

static void test_stats_prior_of_equally_noisy_rows_counts_forty(void **state)
{
    double variances[8], dfs[8], scratch[8];
    struct nm_stats_prior prior;

    (void)state;
    for (size_t i = 0; i < 8; i++) {
        variances[i] = 4e-4;
        dfs[i] = 4;
    }
    prior = nm_stats_fit_prior(variances, dfs, 8, scratch);
    assert_true(prior.excess_v < 0);
    assert_true(prior.d0 == 40);
    variances[0] = 5e-2; /* one that is noisier than chance: less is known of each */
    prior = nm_stats_fit_prior(variances, dfs, 8, scratch);
    assert_true(prior.excess_v > 0);
    assert_true(prior.d0 > 0 && prior.d0 < 10);
}

static void test_stats_tau_widens(void **state)
{
    struct nm_stats_row rows[N9];
    struct nm_stats_prior prior;
    struct nm_stats_overall all;

    (void)state;
    fill(rows, N9, NM_STATS_DEFAULT_TAU);
    compare(rows, N9, NM_ADJUST_BH, &prior, &all);
    SAME_DIGITS(rows[0].se, ".0152507");
    SAME_DIGITS(rows[0].p, ".000928303");
    SAME_DIGITS(100 * rows[0].ci95[0], "-13.6042");
    SAME_DIGITS(100 * rows[0].ci95[1], "-6.5460");
}

static void test_stats_unequal_counts_keep_the_wider_error(void **state)
{
    /* B is the noisy side and has fewer trials: Welch is wider, and its df goes with it. */
    static const double a[] = {100, 100.1, 99.9, 100.05, 99.95}, b[] = {100, 110, 91};
    struct nm_stats_row rows[N9 + 1], alone;
    struct nm_stats_prior prior;
    struct nm_stats_overall all;

    (void)state;
    fill(rows, N9, 0);
    memset(&rows[N9], 0, sizeof(rows[N9]));
    rows[N9].a = nm_stats_side(a, 5);
    rows[N9].b = nm_stats_side(b, 3);
    alone = rows[N9];
    compare(rows, N9 + 1, NM_ADJUST_BH, &prior, &all);
    compare(&alone, 1, NM_ADJUST_BH, &prior, &all);
    assert_true(fabs(rows[N9].se - alone.se) < 1e-12);
    assert_true(fabs(rows[N9].df - alone.df) < 1e-12);
    assert_true(alone.df < 2.01);
}

static void test_stats_adjust_vectors(void **state)
{
    static const double p[] = {.001, .008, .039, .041, .042, .06, .074, .205, .212, .216};
    static const char *const holm[] = {".01",  ".072", ".312", ".312", ".312",
                                       ".312", ".312", ".615", ".615", ".615"};
    static const char *const bh[] = {".01", ".04",     ".084", ".084", ".084",
                                     ".1",  ".105714", ".216", ".216", ".216"};
    double q[10], backwards[10];

    (void)state;
    for (int i = 0; i < 10; i++)
        backwards[i] = p[9 - i];
    assert_int_equal(nm_stats_adjust(backwards, q, 10, NM_ADJUST_HOLM, NULL), 0);
    for (int i = 0; i < 10; i++)
        SAME_DIGITS(q[9 - i], holm[i]);
    assert_int_equal(nm_stats_adjust(p, q, 10, NM_ADJUST_BH, NULL), 0);
    for (int i = 0; i < 10; i++)
        SAME_DIGITS(q[i], bh[i]);
    assert_int_equal(nm_stats_adjust(p, q, 10, NM_ADJUST_NONE, NULL), 0);
    assert_memory_equal(p, q, sizeof(p));
    assert_int_equal(nm_stats_adjust(p, q, 0, NM_ADJUST_BH, NULL), 0);
}

static void test_stats_inverse_trigamma_inverts(void **state)
{
    (void)state;
    /* psi1(1) = pi^2/6, psi1(1/2) = pi^2/2, psi1(2) = pi^2/6 - 1 */
    SAME_DIGITS(nm_stats_inverse_trigamma(M_PI * M_PI / 6), "1.0000000000");
    SAME_DIGITS(nm_stats_inverse_trigamma(M_PI * M_PI / 2), "0.5000000000");
    SAME_DIGITS(nm_stats_inverse_trigamma(M_PI * M_PI / 6 - 1), "2.0000000000");
    assert_true(isfinite(nm_stats_inverse_trigamma(1e-12)));
    assert_true(isfinite(nm_stats_inverse_trigamma(1e12)));
}

static void test_stats_centre_is_geometric(void **state)
{
    static const double rates[] = {50000 / 46.0, 50000 / 50.0, 50000 / 62.5};
    double mean = -1;

    (void)state;
    assert_true(nm_stats_geometric_mean(rates, 3, &mean));
    SAME_DIGITS(mean, "954.481");
}

static void all_finite(const struct nm_stats_row *row)
{
    assert_true(isfinite(row->delta_log) && isfinite(row->delta) && isfinite(row->se));
    assert_true(isfinite(row->df) && isfinite(row->t) && isfinite(row->p) && isfinite(row->q));
    assert_true(isfinite(row->ci95[0]) && isfinite(row->ci95[1]));
    assert_true(isfinite(row->ci90[0]) && isfinite(row->ci90[1]));
    assert_true(isfinite(row->smallest_effect));
    assert_true(row->p >= 0 && row->p <= 1 && row->q >= 0 && row->q <= 1);
}

static void test_stats_degenerate_input_stays_finite(void **state)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, 0, -3, 1e-300, 1e300, 5, 5, 5, 7, 7, 7};
    const size_t n_odd = sizeof(odd) / sizeof(odd[0]);
    struct nm_stats_row rows[400];
    struct nm_stats_prior prior;
    struct nm_stats_overall all;
    size_t n = 0;
    double mean = 42;

    (void)state;
    assert_false(nm_stats_geometric_mean(NULL, 0, &mean));
    assert_false(nm_stats_geometric_mean(odd, 5, &mean));
    assert_true(mean == 42);
    for (size_t from = 0; from < n_odd; from++)
        for (size_t len = 0; len <= 4 && from + len <= n_odd; len++)
            for (size_t other = 0; other + 3 <= n_odd; other += 2) {
                if (n == 400)
                    break;
                memset(&rows[n], 0, sizeof(rows[n]));
                rows[n].a = nm_stats_side(odd + from, len);
                rows[n++].b = nm_stats_side(odd + other, 3);
            }
    assert_int_equal(nm_stats_compare(NULL, 0, .05, NM_ADJUST_BH, &prior, &all, NULL), 0);
    assert_false(all.valid);
    for (size_t i = 0; i < n; i++) {
        compare(&rows[i], 1, NM_ADJUST_BH, &prior, &all);
        all_finite(&rows[i]);
    }
    compare(rows, n, NM_ADJUST_BH, &prior, &all);
    for (size_t i = 0; i < n; i++)
        all_finite(&rows[i]);
    assert_true(isfinite(prior.d0) && isfinite(prior.s0_squared));
    assert_true(all.valid && isfinite(all.ratio) && isfinite(all.df));
    assert_true(isfinite(all.ci95[0]) && isfinite(all.ci95[1]));
}

static void test_stats_equal_values(void **state)
{
    static const double five[] = {5, 5, 5}, seven[] = {7, 7, 7};
    struct nm_stats_row row = {0};
    struct nm_stats_prior prior;
    struct nm_stats_overall all;

    (void)state;
    row.a = row.b = nm_stats_side(five, 3);
    compare(&row, 1, NM_ADJUST_BH, &prior, &all);
    assert_int_equal(row.verdict, NM_VERDICT_SAME);
    assert_true(row.delta == 0 && row.p == 1 && !row.small_but_real);
    row.b = nm_stats_side(seven, 3);
    compare(&row, 1, NM_ADJUST_BH, &prior, &all);
    assert_int_equal(row.verdict, NM_VERDICT_IMPROVED);
    row.lower_is_better = true;
    compare(&row, 1, NM_ADJUST_BH, &prior, &all);
    assert_int_equal(row.verdict, NM_VERDICT_REGRESSED);
}

static void test_stats_too_few_trials_give_no_verdict(void **state)
{
    static const double a[] = {10, 10.1, 9.9}, b[] = {5, 5.1};
    struct nm_stats_row row = {0};
    struct nm_stats_prior prior;
    struct nm_stats_overall all;

    (void)state;
    row.a = nm_stats_side(a, 3);
    row.b = nm_stats_side(b, 2);
    compare(&row, 1, NM_ADJUST_BH, &prior, &all);
    assert_int_equal(row.verdict, NM_VERDICT_INSUFFICIENT);
    assert_true(row.has_interval);
    row.b = nm_stats_side(b, 1);
    compare(&row, 1, NM_ADJUST_BH, &prior, &all);
    assert_int_equal(row.verdict, NM_VERDICT_INSUFFICIENT);
    assert_true(row.has_delta && !row.has_interval);
    row.b = nm_stats_side(b, 0);
    compare(&row, 1, NM_ADJUST_BH, &prior, &all);
    assert_false(row.has_delta);
    row.not_comparable = true;
    row.b = row.a;
    compare(&row, 1, NM_ADJUST_BH, &prior, &all);
    assert_int_equal(row.verdict, NM_VERDICT_NOT_COMPARABLE);
    assert_false(row.has_delta);
    assert_false(all.valid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stats_reference_rows),
        cmocka_unit_test(test_stats_holm_and_none),
        cmocka_unit_test(test_stats_welch_alone_below_eight_rows),
        cmocka_unit_test(test_stats_prior_of_equally_noisy_rows_counts_forty),
        cmocka_unit_test(test_stats_tau_widens),
        cmocka_unit_test(test_stats_unequal_counts_keep_the_wider_error),
        cmocka_unit_test(test_stats_adjust_vectors),
        cmocka_unit_test(test_stats_inverse_trigamma_inverts),
        cmocka_unit_test(test_stats_centre_is_geometric),
        cmocka_unit_test(test_stats_degenerate_input_stays_finite),
        cmocka_unit_test(test_stats_equal_values),
        cmocka_unit_test(test_stats_too_few_trials_give_no_verdict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
