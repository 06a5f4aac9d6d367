/* Errors: the text that a user reads (src/error.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "error.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_error_text_is_one_line_of_utf8(void **state)
{
    struct nm_error err;

    (void)state;
    assert_int_equal(nm_error_set(&err, -EINVAL, NM_REASON_CORRUPT, "a\nb\t\x7f é 日本 😀"),
                     -EINVAL);
    assert_string_equal(err.text, "a b   é 日本 😀");
    nm_error_set(&err, -EINVAL, NM_REASON_CORRUPT, "\xff %.2s|%.3s|\xc0\x80|\xed\xa0\x80", "日",
                 "😀");
    assert_string_equal(err.text, "? ??|???|??|???");
    nm_error_set(&err, -EINVAL, NM_REASON_CORRUPT, "end \xe6\x97");
    assert_string_equal(err.text, "end ??");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_error_text_is_one_line_of_utf8)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
