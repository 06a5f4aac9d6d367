/* The line of a run in progress on terminals of every width.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "progress_line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct nm_progress_line line = {
    .index = 3,
    .total = 12,
    .pass = 1,
    .name = "szybki-dysk-\xc5\xbc\xc3\xb3\xc5\x82w/smb/copy:1000x2MB upload",
    .fraction = 0.5,
    .rate = "112.3 MB/s",
    .mean = "110.0 MB/s",
    .eta = "0:12",
    .run_eta = "1:02:03",
};

static const char *at(size_t columns)
{
    static char text[512];

    nm_progress_line(&line, columns, text, sizeof(text));
    return text;
}

static size_t width_of(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static void test_progress_line_whole(void **state)
{
    (void)state;
    assert_string_equal(
        at(SIZE_MAX),
        "[3/12] pass 1 szybki-dysk-\xc5\xbc\xc3\xb3\xc5\x82w/smb/copy:1000x2MB upload "
        "[########........]  50 % 112.3 MB/s (mean 110.0 MB/s) ETA 0:12, run 1:02:03");
}

static void test_progress_line_keeps_what_is_dear(void **state)
{
    (void)state;
    assert_string_equal(
        at(79), "[3/12] pass 1 w/smb/copy:1000x2MB upload  50 % 112.3 MB/s ETA 0:12, run 1:02:03");
    assert_string_equal(at(39), "[3/12] upload  50 % 112.3 MB/s ETA 0:12");
    for (size_t columns = 28; columns < 160; columns++) {
        const char *text = at(columns);

        assert_true(width_of(text) <= columns);
        if (columns < 34)
            continue;
        assert_non_null(strstr(text, " 50 % 112.3 MB/s"));
        assert_non_null(strstr(text, "ETA 0:12"));
    }
    assert_null(strstr(at(120), "mean"));
    assert_non_null(strstr(at(120), "####"));
    assert_non_null(strstr(at(90), " pass 1 "));
    assert_null(strstr(at(90), "####"));
}

static void test_progress_line_of_unknown_length(void **state)
{
    struct nm_progress_line unknown = line;
    char text[512];

    (void)state;
    unknown.fraction = -1;
    unknown.total = 0;
    unknown.name = "connecting";
    nm_progress_line(&unknown, 79, text, sizeof(text));
    assert_string_equal(text, "connecting, 0:12");
}

static void test_progress_rate_begins_anew_with_the_clock(void **state)
{
    struct nm_progress_recent recent = {0};

    (void)state;
    assert_true(nm_progress_rate(&recent, 900000000, 0) == 0); /* preparing */
    assert_true(nm_progress_rate(&recent, 200000000, 20) == 100);
    for (unsigned i = 3; i < 30; i++)
        assert_true(nm_progress_rate(&recent, 100000000 * i, 20 + 5 * (i - 2)) == 50);
    assert_true(nm_progress_rate(&recent, 3000000000, 10) == 10 / 3.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_progress_rate_begins_anew_with_the_clock),
        cmocka_unit_test(test_progress_line_whole),
        cmocka_unit_test(test_progress_line_keeps_what_is_dear),
        cmocka_unit_test(test_progress_line_of_unknown_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
