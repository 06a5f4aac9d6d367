/* Option tables: every type in and out, limits, and the nearest word.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "options.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct sample {
    bool keep;
    uint32_t depth;
    uint64_t seed, block_bytes, pause_ns;
    double mix;
    char *note, *kind, *words;
    int order;
    struct nm_data_kind data;
};

static const char *const orders[] = {"passes", "grouped", NULL};
static const char *const kinds[] = {"single", "raid5", NULL};

#define ROW(field) .offset = offsetof(struct sample, field)

static const struct nm_option rows[] = {
    {.name = "keep", .type = NM_OPTION_BOOL, ROW(keep), .preset = "no"},
    {.name = "depth", .type = NM_OPTION_UINT, ROW(depth), .preset = "16", .min = 1, .max = 256},
    {.name = "seed", .type = NM_OPTION_UINT64, ROW(seed), .zero_word = "random"},
    {.name = "block",
     .type = NM_OPTION_SIZE,
     ROW(block_bytes),
     .preset = "auto",
     .min = 512,
     .max = 64 << 20,
     .zero_word = "auto"},
    {.name = "pause", .type = NM_OPTION_DURATION, ROW(pause_ns), .preset = "5s"},
    {.name = "mix", .type = NM_OPTION_FRACTION, ROW(mix), .preset = "70%"},
    {.name = "note", .type = NM_OPTION_STRING, ROW(note), .zero_word = "none"},
    {.name = "kind", .type = NM_OPTION_STRING, ROW(kind), .values = kinds},
    {.name = "words", .type = NM_OPTION_LIST, ROW(words), .preset = "a b"},
    {.name = "order", .type = NM_OPTION_ENUM, ROW(order), .values = orders, .preset = "passes"},
    {.name = "data", .type = NM_OPTION_DATA, ROW(data), .preset = "random"},
};

static const struct nm_option_section section = {
    .name = "sample",
    .options = rows,
    .n_options = NM_OPTION_COUNT(rows),
    .size = sizeof(struct sample),
};

static void expect_text(const struct sample *sample, const char *key, const char *expected)
{
    char *text = nm_options_format(nm_options_find(&section, key), sample);

    assert_string_equal(text, expected);
    free(text);
}

static void test_options_presets_and_texts_that_parse_back(void **state)
{
    static const char *const settings[][3] = {
        {"keep", "on", "yes"},
        {"depth", "4", "4"},
        {"seed", "18446744073709551615", "18446744073709551615"},
        {"block", "128k", "128KiB"},
        {"block", "auto", "auto"},
        {"block", "0", "auto"},
        {"pause", "0.5", "500ms"},
        {"pause", "90s", "90s"},
        {"pause", "2h", "2h"},
        {"mix", "0.5", "0.5"},
        {"note", "direct cable", "direct cable"},
        {"note", "none", "none"},
        {"note", "", "none"},
        {"kind", "raid5", "raid5"},
        {"words", "  x \t y  z ", "x y z"},
        {"words", "", ""},
        {"order", "grouped", "grouped"},
        {"data", "zero", "zero"},
        {"data", "compressible:0.25", "compressible:25%"},
        {"data", "random", "random"},
    };
    struct sample sample;

    (void)state;
    assert_int_equal(nm_options_init(&section, &sample, NULL), 0);
    assert_int_equal(sample.depth, 16);
    assert_int_equal(sample.block_bytes, 0);
    assert_int_equal(sample.pause_ns, 5000000000);
    assert_null(sample.note);
    expect_text(&sample, "words", "a b");
    expect_text(&sample, "seed", "random");
    expect_text(&sample, "mix", "0.7");
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        for (int again = 0; again < 2; again++) { /* what is printed is accepted */
            assert_int_equal(
                nm_options_set(&section, &sample, settings[i][0], settings[i][again ? 2 : 1], NULL),
                0);
            expect_text(&sample, settings[i][0], settings[i][2]);
        }
    nm_options_done(&section, &sample);
    assert_null(sample.words);
}

static void test_options_refuse_with_cause_and_remedy(void **state)
{
    static const char *const cases[][3] = {
        {"blok_size", "4k", "unknown key \"blok_size\" in [sample]; did you mean \"block\"?"},
        {"Depth", "4", "unknown key \"Depth\" in [sample]; did you mean \"depth\"?"},
        {"zzz", "4", "valid: keep depth seed"},
        {"keep", "maybe", "keep: \"maybe\" is not a valid value; valid: yes no"},
        {"depth", "0", "depth: \"0\" is below the minimum, 1"},
        {"depth", "257", "depth: \"257\" is above the maximum, 256"},
        {"depth", "4.5", "depth: \"4.5\" is not a whole number"},
        {"block", "100", "block: \"100\" is below the minimum, 512B"},
        {"block", "65m", "block: \"65m\" is above the maximum, 64MiB"},
        {"block", "atuo", ", or \"auto\""},
        {"mix", "120%", "mix: \"120%\" is not a share"},
        {"kind", "raid55", "did you mean \"raid5\"?"},
        {"order", "grouped ", "did you mean \"grouped\"?"},
        {"data", "zeros", "did you mean \"zero\"?"},
        {"data", "compressible:12.5%", "whole percentage"},
        {"data", "compressible:x", "not a share"},
    };
    struct sample sample;
    struct nm_error err;

    (void)state;
    assert_int_equal(nm_options_init(&section, &sample, NULL), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(nm_options_set(&section, &sample, cases[i][0], cases[i][1], &err),
                         -EINVAL);
        if (!strstr(err.text, cases[i][2]))
            fail_msg("\"%s\" instead of \"%s\"", err.text, cases[i][2]);
    }
    assert_int_equal(sample.depth, 16); /* untouched */
    assert_int_equal(sample.data.kind, NM_DATA_RANDOM);
    nm_options_done(&section, &sample);
}

static void test_options_bad_preset_is_found(void **state)
{
    static const struct nm_option bad_rows[] = {
        {.name = "words", .type = NM_OPTION_LIST, ROW(words), .preset = "a"},
        {.name = "depth", .type = NM_OPTION_UINT, ROW(depth), .preset = "many"},
    };
    static const struct nm_option_section bad = {
        .name = "bad", .options = bad_rows, .n_options = 2, .size = sizeof(struct sample)};
    struct sample sample;
    struct nm_error err;

    (void)state;
    assert_int_equal(nm_options_init(&bad, &sample, &err), -EINVAL);
    assert_non_null(strstr(err.text, "default of bad.depth"));
    assert_null(sample.words);
}

static void test_options_nearest(void **state)
{
    static const char *const words[] = {"trials", "streams", "smb", "nfs", "block", "yes"};
    const size_t n = NM_OPTION_COUNT(words);
    char endless[4096];

    (void)state;
    memset(endless, 'a', sizeof(endless) - 1);
    endless[sizeof(endless) - 1] = '\0';
    assert_string_equal(nm_options_nearest("trails", words, n), "trials");
    assert_string_equal(nm_options_nearest("stream", words, n), "streams");
    assert_string_equal(nm_options_nearest("SMB", words, n), "smb");
    assert_string_equal(nm_options_nearest("blok-size", words, n), "block");
    assert_null(nm_options_nearest("volume", words, n));
    assert_null(nm_options_nearest("", words, n));
    assert_null(nm_options_nearest("__", words, n));
    assert_null(nm_options_nearest(endless, words, n));
    assert_null(nm_options_nearest("x", words, 0));
}

/* Names of a server begin alike; that alone makes none of them near. */
static void test_options_nearest_without_shared_parts(void **state)
{
    static const char *const names[] = {"iqn.2013-08.com.example:nas:chap"};

    (void)state;
    assert_null(nm_options_nearest("iqn.2013-08.com.example:nas:nope", names, 1));
    assert_null(nm_options_nearest("iqn.2013-08.com.example:nas:", names, 1));
    assert_string_equal(nm_options_nearest("iqn.2013-08.com.example:nas:chpa", names, 1), names[0]);
    assert_string_equal(nm_options_nearest("iqn.2013-08.com.exmaple:nas:chap", names, 1), names[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_presets_and_texts_that_parse_back),
        cmocka_unit_test(test_options_refuse_with_cause_and_remedy),
        cmocka_unit_test(test_options_bad_preset_is_found),
        cmocka_unit_test(test_options_nearest),
        cmocka_unit_test(test_options_nearest_without_shared_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
