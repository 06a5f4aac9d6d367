/* What --dry-run says about the noise seen before.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "preview.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define NS 1000000000.0

/* A cell with these rates in MB/s, and a failed trial that counts for nothing. */
static struct nm_cell a_cell(struct nm_trial trials[4], const double rates[3])
{
    for (int i = 0; i < 3; i++)
        trials[i] = (struct nm_trial){.status = NM_STATUS_OK,
                                      .bytes = 1000000000,
                                      .duration_ns = (uint64_t)llround(NS * 1000 / rates[i])};
    trials[3] = (struct nm_trial){.status = NM_STATUS_FAILED, .bytes = 5, .duration_ns = 1};
    return (struct nm_cell){.trials = trials, .n_trials = 4, .n_ok = 3};
}

static void test_preview_needs_what_compare_needs(void **state)
{
    static const double quiet[] = {100, 101, 99}, loud[] = {88.1, 95.6, 79.2};
    struct nm_trial trials[2][4];
    struct nm_cell cells[] = {a_cell(trials[0], quiet), a_cell(trials[1], loud)};
    struct nm_preview_noise noise;
    double variance = nm_stats_side(quiet, 3).variance;

    (void)state;
    assert_int_equal(
        nm_preview_noise((const struct nm_cell *[]){NULL, &cells[0]}, 2, 0.05, &noise, NULL), 0);
    assert_int_equal(noise.n_cells, 1);
    assert_true(fabs(noise.noise / sqrt(variance) - 1) < 1e-6);
    assert_int_equal(noise.needed_trials, nm_stats_needed_trials(variance, 0, 0, log(1.05)));
    assert_int_equal(noise.needed_trials, 3);
    assert_int_equal(nm_preview_noise((const struct nm_cell *[]){&cells[1]}, 1, 0.05, &noise, NULL),
                     0);
    assert_int_equal(noise.needed_trials, 0); /* more than ten */
}

static void test_preview_knows_nothing_of_what_was_not_measured(void **state)
{
    static const double rates[] = {100, 101, 99};
    struct nm_trial trials[4];
    struct nm_cell one = a_cell(trials, rates);
    struct nm_preview_noise noise;

    (void)state;
    one.n_trials = 1;
    assert_int_equal(
        nm_preview_noise((const struct nm_cell *[]){NULL, &one}, 2, 0.05, &noise, NULL), 0);
    assert_int_equal(noise.n_cells, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_preview_needs_what_compare_needs),
        cmocka_unit_test(test_preview_knows_nothing_of_what_was_not_measured),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
