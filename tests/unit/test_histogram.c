/* Histogram: error bound over the whole range, percentiles, merge and stored form.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "histogram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_histogram_error_is_below_one_percent(void **state)
{
    static struct nm_histogram h;

    (void)state;
    for (double value = 1; value < 1e18; value *= 1.01) {
        memset(&h, 0, sizeof(h));
        nm_histogram_add(&h, 0);
        nm_histogram_add(&h, (uint64_t)value);
        nm_histogram_add(&h, UINT64_MAX);
        double got = (double)nm_histogram_percentile(&h, 0.5), want = (double)(uint64_t)value;

        assert_true(got >= want * 0.99 && got <= want * 1.01);
    }
}

static void test_histogram_percentiles_of_a_ramp(void **state)
{
    static struct nm_histogram h, other, back;
    struct nm_error err;

    (void)state;
    memset(&h, 0, sizeof(h));
    memset(&other, 0, sizeof(other));
    for (uint64_t i = 1; i <= 500; i++) {
        nm_histogram_add(&h, i * 1000);
        nm_histogram_add(&other, (i + 500) * 1000);
    }
    nm_histogram_merge(&h, &other);
    assert_int_equal(h.count, 1000);
    assert_int_equal(h.min_ns, 1000);
    assert_int_equal(nm_histogram_percentile(&h, 1), 1000000);
    assert_in_range(nm_histogram_percentile(&h, 0.99), 980100, 999900);
    assert_in_range(nm_histogram_percentile(&h, 0.5), 495000, 505000);

    char *text = nm_histogram_format(&h);

    assert_non_null(text);
    assert_int_equal(nm_histogram_parse(text, &back, &err), 0);
    assert_memory_equal(&h, &back, sizeof(h));
    free(text);
    assert_true(nm_histogram_parse("sum=1 min=1 max=1 99999:1", &back, &err) < 0);
    assert_true(nm_histogram_parse("nonsense", &back, &err) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_histogram_error_is_below_one_percent),
        cmocka_unit_test(test_histogram_percentiles_of_a_ramp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
