/* Test data: positional, reproducible in any cut, and a wrong block says where it came from.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct nm_data_kind random_data = {.kind = NM_DATA_RANDOM};

static void test_pattern_fill_is_positional(void **state)
{
    static unsigned char whole[8192], cut[8192];
    struct nm_pattern pattern;

    (void)state;
    nm_pattern_init(&pattern, 12345, 7, random_data);
    nm_pattern_fill(&pattern, 0, whole, sizeof(whole));
    for (size_t at = 0, step = 1; at < sizeof(cut); at += step, step = step * 2 + 1) {
        if (step > sizeof(cut) - at)
            step = sizeof(cut) - at;
        nm_pattern_fill(&pattern, at, cut + at, step);
    }
    assert_memory_equal(whole, cut, sizeof(whole));
}

static void test_pattern_check_names_the_kind_of_damage(void **state)
{
    static unsigned char buf[4096];
    struct nm_pattern pattern, other;
    struct nm_error err;
    size_t offset;

    (void)state;
    nm_pattern_init(&pattern, 99, 3, random_data);
    nm_pattern_init(&other, 99, 2, random_data);
    nm_pattern_fill(&pattern, 1 << 20, buf, sizeof(buf));
    assert_int_equal(nm_pattern_check(&pattern, 1 << 20, buf, sizeof(buf), &offset, &err), 0);

    buf[1000] ^= 1;
    assert_true(nm_pattern_check(&pattern, 1 << 20, buf, sizeof(buf), &offset, &err) < 0);
    assert_int_equal(offset, 1000);
    assert_int_equal(err.reason, NM_REASON_CORRUPT);

    nm_pattern_fill(&pattern, 512, buf + 512, 512);
    assert_true(nm_pattern_check(&pattern, 1 << 20, buf, sizeof(buf), &offset, &err) < 0);
    assert_int_equal(offset, 512);
    assert_non_null(strstr(err.text, "swapped: these bytes belong to position 512"));

    nm_pattern_fill(&other, (1 << 20) + 512, buf + 512, 512);
    assert_true(nm_pattern_check(&pattern, 1 << 20, buf, sizeof(buf), &offset, &err) < 0);
    assert_non_null(strstr(err.text, "stale"));

    memset(buf + 512, 0, 512);
    assert_true(nm_pattern_check(&pattern, 1 << 20, buf, sizeof(buf), &offset, &err) < 0);
    assert_non_null(strstr(err.text, "zeroes"));
}

static void test_pattern_compressible_has_the_share_of_zeroes(void **state)
{
    static unsigned char buf[64 * 1024];
    struct nm_pattern pattern;
    size_t zeroes = 0;

    (void)state;
    nm_pattern_init(&pattern, 5, 0,
                    (struct nm_data_kind){.kind = NM_DATA_COMPRESSIBLE, .zero_percent = 50});
    nm_pattern_fill(&pattern, 0, buf, sizeof(buf));
    for (size_t i = 0; i < sizeof(buf); i++)
        zeroes += !buf[i];
    assert_in_range(zeroes, sizeof(buf) / 2, sizeof(buf) / 2 + sizeof(buf) / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pattern_fill_is_positional),
        cmocka_unit_test(test_pattern_check_names_the_kind_of_damage),
        cmocka_unit_test(test_pattern_compressible_has_the_share_of_zeroes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
