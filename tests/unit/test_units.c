/* Quantities: exact in both directions, whatever the locale.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "text.h"
#include "units.h"

#include <errno.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void test_units_parse_bytes_knows_every_suffix(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {
        {"0", 0},
        {"512", 512},
        {"7B", 7},
        {"1kB", 1000},
        {"2KB", 2000},
        {"2MB", 2000000},
        {"2GB", 2000000000},
        {"1TB", 1000000000000},
        {"1KiB", 1024},
        {"512MiB", 536870912},
        {"1GiB", 1073741824},
        {"3TiB", 3298534883328},
        {"128k", 131072},
        {"4K", 4096},
        {"1m", 1048576},
        {"1M", 1048576},
        {"1g", 1073741824},
        {"1G", 1073741824},
        {"1t", 1099511627776},
        {"1T", 1099511627776},
        {"1.5k", 1536},
        {"0.1GB", 100000000},
        {"1.000000000000000000000000KB", 1000},
        {"512 MiB", 536870912},
        {"18446744073709551615", UINT64_MAX},
    };
    uint64_t bytes;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(nm_units_parse_bytes(cases[i].text, &bytes, NULL), 0);
        assert_int_equal(bytes, cases[i].bytes);
    }
}

static void test_units_parse_bytes_refuses_what_it_cannot_keep_exactly(void **state)
{
    static const char *const cases[] = {
        "",
        " ",
        "k",
        "-1",
        "+1",
        "1,5k",
        "1.k",
        ".5k",
        "1e3",
        "0x10",
        "2Gb",
        "2gb",
        "2PB",
        "1.5",
        "0.3B",
        "1.1KiB",
        "2GBx",
        "2 GB ",
        "16777216T",
        "18446744073709551616",
        "1.0000000000000000001KB",
        "1  KB",
        ("\xc2\xa0"
         "1KB"),
    };
    struct nm_error err;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t bytes = 99;

        if (nm_units_parse_bytes(cases[i], &bytes, &err) != -EINVAL)
            fail_msg("accepted \"%s\"", cases[i]);
        assert_int_equal(bytes, 99);
    }
    assert_true(nm_units_parse_bytes("2Gb", &(uint64_t){0}, &err) < 0);
    assert_string_equal(err.text, "\"2Gb\" is not a size (\"Gb\" is no unit of it); write it like "
                                  "2GB (10^9), 512MiB or 512m (2^20)");
}

static void test_units_parse_duration(void **state)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } cases[] = {
        {"5s", 5000000000},    {"30", 30000000000},
        {"500ms", 500000000},  {"20us", 20000},
        {"100ns", 100},        {"5m", 300000000000},
        {"2h", 7200000000000}, {"1.5s", 1500000000},
        {"0.000000001", 1},    {"0", 0},
    };
    uint64_t ns;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(nm_units_parse_duration(cases[i].text, &ns, NULL), 0);
        assert_int_equal(ns, cases[i].ns);
    }
    assert_int_equal(nm_units_parse_duration("1.5ns", &ns, NULL), -EINVAL);
    assert_int_equal(nm_units_parse_duration("10min", &ns, NULL), -EINVAL);
    assert_int_equal(nm_units_parse_duration("6000000h", &ns, NULL), -EINVAL);
}

static void test_units_parse_numbers(void **state)
{
    static const char *const no_u64[] = {"", "-1", "1.0", "1 ", " 1", "1k", "18446744073709551616"};
    static const char *const no_double[] = {"",   "nan", "inf", "0x1p3", " 1", "1,5",
                                            "1.", ".5",  "1e",  "1e999", "1 ", "+1"};
    uint64_t whole;
    double value;

    (void)state;
    assert_int_equal(nm_units_parse_u64("445", &whole, NULL), 0);
    assert_int_equal(whole, 445);
    for (size_t i = 0; i < sizeof(no_u64) / sizeof(no_u64[0]); i++)
        if (nm_units_parse_u64(no_u64[i], &whole, NULL) != -EINVAL)
            fail_msg("accepted \"%s\"", no_u64[i]);
    assert_int_equal(nm_units_parse_double("-12.5e-1", &value, NULL), 0);
    assert_true(value == -1.25);
    for (size_t i = 0; i < sizeof(no_double) / sizeof(no_double[0]); i++)
        if (nm_units_parse_double(no_double[i], &value, NULL) != -EINVAL)
            fail_msg("accepted \"%s\"", no_double[i]);
}

static void test_units_parse_fraction(void **state)
{
    double value;

    (void)state;
    assert_int_equal(nm_units_parse_fraction("5%", &value, NULL), 0);
    assert_true(value == 0.05);
    assert_int_equal(nm_units_parse_fraction("0.5", &value, NULL), 0);
    assert_true(value == 0.5);
    assert_int_equal(nm_units_parse_fraction("101%", &value, NULL), -EINVAL);
    assert_int_equal(nm_units_parse_fraction("-1%", &value, NULL), -EINVAL);
    assert_int_equal(nm_units_parse_fraction("%", &value, NULL), -EINVAL);
    assert_int_equal(nm_units_parse_fraction("5 %", &value, NULL), -EINVAL);
}

static void test_units_format_bytes_is_short_and_parses_back(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0B"},
        {2000000000, "2GB"},
        {1048576, "1MiB"},
        {1000, "1KB"},
        {1024, "1KiB"},
        {65536, "64KiB"},
        {2000000, "2MB"},
        {2048, "2KiB"},
        {128000, "128KB"},
        {1234567, "1234567B"},
        {1048576000, "1000MiB"},
        {UINT64_MAX, "18446744073709551615B"},
    };
    char text[32];
    uint64_t bytes;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(nm_units_format_bytes(cases[i].bytes, text, sizeof(text)),
                            cases[i].text);
        assert_int_equal(nm_units_parse_bytes(text, &bytes, NULL), 0);
        assert_int_equal(bytes, cases[i].bytes);
    }
}

static void test_units_format_for_people(void **state)
{
    char text[32];

    (void)state;
    assert_string_equal(nm_units_format_bytes_human(999, text, sizeof(text)), "999 B");
    assert_string_equal(nm_units_format_bytes_human(1234567890, text, sizeof(text)), "1.23 GB");
    assert_string_equal(nm_units_format_bytes_human(999600000, text, sizeof(text)), "1.00 GB");
    assert_string_equal(nm_units_format_duration(1500000000, text, sizeof(text)), "1.50 s");
    assert_string_equal(nm_units_format_duration(230000000, text, sizeof(text)), "230 ms");
    assert_string_equal(nm_units_format_duration(12345, text, sizeof(text)), "12.3 us");
    assert_string_equal(nm_units_format_duration(999, text, sizeof(text)), "999 ns");
}

static void test_units_format_rate_digits(void **state)
{
    static const struct {
        double rate;
        int digits;
        const char *text;
    } cases[] = {
        {1234.56, -1, "1234.6"}, {5, -1, "5.0"},
        {4.996, -1, "5.00"},     {0.5, -1, "0.50"},
        {0.0996, -1, "0.100"},   {0.004, -1, "0.0040"},
        {0, -1, "0.00"},         {118.5, 0, "118"},
        {1.0485760, 3, "1.049"}, {0.00012345, -1, "0.00012"},
    };
    char text[32];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(
            nm_units_format_rate(cases[i].rate, cases[i].digits, '.', text, sizeof(text)),
            cases[i].text);
    assert_string_equal(nm_units_format_rate(41.25, -1, ',', text, sizeof(text)), "41,2");
}

/* A locale with a decimal comma, made on the spot: not every system has one. */
static bool comma_locale(const char *directory)
{
    char command[512];

    snprintf(command, sizeof(command),
             "cd %s && printf 'LC_NUMERIC\\ndecimal_point \",\"\\nthousands_sep \".\"\\n"
             "grouping 3;3\\nEND LC_NUMERIC\\n' >source && "
             "localedef -c -i source -f ANSI_X3.4-1968 ./comma >/dev/null 2>&1",
             directory);
    /* -c: the status tells of warnings too */
    if (system(command) < 0)
        return false;
    setenv("LOCPATH", directory, 1);
    return setlocale(LC_ALL, "comma") != NULL;
}

static void test_units_ignore_the_locale(void **state)
{
    char directory[] = "/tmp/nm-locale-XXXXXX", text[64];
    double value;
    uint64_t ns;
    bool have;

    (void)state;
    assert_non_null(mkdtemp(directory));
    have = comma_locale(directory);
    if (have) {
        snprintf(text, sizeof(text), "%.1f", 1.5);
        assert_string_equal(text, "1,5"); /* the test really runs under a comma */
        assert_int_equal(nm_units_parse_double("1.5", &value, NULL), 0);
        assert_true(value == 1.5);
        assert_int_equal(nm_units_parse_double("1,5", &value, NULL), -EINVAL);
        assert_int_equal(nm_units_parse_duration("1.5s", &ns, NULL), 0);
        assert_string_equal(nm_units_format_double(0.25, 17, text, sizeof(text)), "0.25");
        assert_string_equal(nm_units_format_double(0.1, 0, text, sizeof(text)), "0.1");
        assert_string_equal(nm_units_format_rate(41.25, 2, '.', text, sizeof(text)), "41.25");
        assert_string_equal(nm_units_format_duration(1500000000, text, sizeof(text)), "1.50 s");
        snprintf(text, sizeof(text), "%.1f", 1.5);
        assert_string_equal(text, "1,5"); /* and leaves the caller's locale alone */
    }
    setlocale(LC_ALL, "C");
    snprintf(text, sizeof(text), "rm -rf %s", directory);
    assert_int_equal(system(text), 0);
    if (!have)
        skip();
}

static void test_text_utf8(void **state)
{
    static const char *const good[] = {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    static const char *const bad[] = {"\xe9",
                                      "\xc3",
                                      "\xc0\x80",
                                      "\xe0\x80\x80",
                                      "\xed\xa0\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xf4\x90\x80\x80",
                                      "\x80",
                                      "\xc3\xc3"};

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_true(nm_text_is_utf8(good[i], strlen(good[i])));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(nm_text_is_utf8(bad[i], strlen(bad[i])));
    assert_false(nm_text_is_printable("a\tb", 3));
    assert_false(nm_text_is_printable("a\x7f", 2));
    assert_true(nm_text_is_printable("\xc3\xa9 ", 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units_parse_bytes_knows_every_suffix),
        cmocka_unit_test(test_units_parse_bytes_refuses_what_it_cannot_keep_exactly),
        cmocka_unit_test(test_units_parse_duration),
        cmocka_unit_test(test_units_parse_numbers),
        cmocka_unit_test(test_units_parse_fraction),
        cmocka_unit_test(test_units_format_bytes_is_short_and_parses_back),
        cmocka_unit_test(test_units_format_for_people),
        cmocka_unit_test(test_units_format_rate_digits),
        cmocka_unit_test(test_units_ignore_the_locale),
        cmocka_unit_test(test_text_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
