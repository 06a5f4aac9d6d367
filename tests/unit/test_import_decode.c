/* Files in UTF-16, and files that are no text.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "import/decode.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* In memory of its own, so that a reader beyond the end is found out. */
static int decode(const char *bytes, size_t length, char **ret_text, size_t *ret_length)
{
    struct nm_error err = {0};

    *ret_text = malloc(length ? length : 1);
    assert_non_null(*ret_text);
    memcpy(*ret_text, bytes, length);
    *ret_length = length;
    return nm_import_decode(ret_text, ret_length, &err);
}

static void becomes(const char *bytes, size_t length, const char *expected)
{
    char *text;
    size_t n;

    assert_int_equal(decode(bytes, length, &text, &n), 0);
    assert_int_equal(n, strlen(expected));
    assert_memory_equal(text, expected, n);
    free(text);
}
#define BECOMES(bytes, expected) becomes(bytes, sizeof(bytes) - 1, expected)

static void test_decode_utf16_of_both_orders(void **state)
{
    (void)state;
    BECOMES("\xff\xfe", "");
    BECOMES("\xff\xfe"
            "a\0\x31\x04\xac\x20\x3d\xd8\x00\xde",
            "a\u0431\u20ac\U0001f600");
    BECOMES("\xfe\xff"
            "\0a\x04\x31\x20\xac\xd8\x3d\xde\x00",
            "a\u0431\u20ac\U0001f600");
}

static void test_decode_broken_utf16(void **state)
{
    (void)state;
    BECOMES("\xff\xfe"
            "a",
            ""); /* half a letter */
    BECOMES("\xff\xfe\x3d\xd8", "\ufffd");
    BECOMES("\xff\xfe\x3d\xd8"
            "a\0",
            "\ufffd"
            "a");
    BECOMES("\xff\xfe\x00\xde"
            "a\0",
            "\ufffd"
            "a");
}

static void test_decode_leaves_other_text(void **state)
{
    (void)state;
    BECOMES("", "");
    BECOMES("a\xe9\r\n", "a\xe9\r\n");
    BECOMES("\xef\xbb\xbf\xd0\xb1", "\xef\xbb\xbf\xd0\xb1");
}

static void test_decode_refuses_binary_data(void **state)
{
    char *text;
    size_t length;

    (void)state;
    assert_int_equal(decode("dd: \0\n", 6, &text, &length), -EBADMSG);
    free(text);
    assert_int_equal(decode("SQLite format 3\0", 16, &text, &length), -EBADMSG);
    free(text);
    assert_int_equal(decode("\xff\xfe\0\0", 4, &text, &length), -EBADMSG);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode_utf16_of_both_orders),
        cmocka_unit_test(test_decode_broken_utf16),
        cmocka_unit_test(test_decode_leaves_other_text),
        cmocka_unit_test(test_decode_refuses_binary_data),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
