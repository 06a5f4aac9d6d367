/* Conditions: the table is sound, sets keep what they are given, and comparisons are refused for
 * the right reason.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "conditions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_conditions_table_is_sound(void **state)
{
    (void)state;
    for (size_t i = 0; i < nm_condition_table_length; i++) {
        const struct nm_condition_def *def = &nm_condition_table[i];

        assert_true(strlen(def->name) < sizeof(((struct nm_condition *)0)->name));
        assert_non_null(def->unit);
        assert_true(def->help && *def->help);
        assert_ptr_equal(nm_condition_find(def->name), def); /* unique */
        assert_true(def->class != NM_CONDITION_IMPLIED || def->implied_by);
        assert_true(def->class != NM_CONDITION_INFO || !def->implied_by);
    }
    assert_null(nm_condition_find("smb"));
}

static void test_conditions_set_get_merge(void **state)
{
    static struct nm_conditions set, other;
    char long_value[400];

    (void)state;
    set.count = other.count = 0;
    nm_conditions_set(&set, "depth", "%u", 16);
    nm_conditions_set(&set, "data", "random");
    nm_conditions_set(&set, "depth", "%u", 4);
    assert_int_equal(set.count, 2);
    assert_string_equal(nm_conditions_get(&set, "depth"), "4");
    assert_null(nm_conditions_get(&set, "streams"));
    nm_conditions_set(&other, "data", "zero");
    nm_conditions_set(&other, "order", "passes");
    nm_conditions_merge(&set, &other);
    assert_int_equal(set.count, 3);
    assert_string_equal(nm_conditions_get(&set, "data"), "zero");
    memset(long_value, 'x', sizeof(long_value) - 1);
    long_value[sizeof(long_value) - 1] = '\0';
    nm_conditions_set(&set, "client.note", "%s", long_value);
    assert_int_equal(strlen(nm_conditions_get(&set, "client.note")),
                     sizeof(set.items[0].value) - 1);
}

static void test_conditions_full_set_says_so(void **state)
{
    static struct nm_conditions set;
    char name[32];

    (void)state;
    set.count = 0;
    for (unsigned i = 0; i < NM_CONDITIONS_MAX + 2; i++) {
        snprintf(name, sizeof(name), "name%u", i);
        nm_conditions_set(&set, name, "%u", i);
    }
    assert_int_equal(set.count, NM_CONDITIONS_MAX);
    assert_string_equal(nm_conditions_get(&set, "name0"), "0");
    snprintf(name, sizeof(name), "name%u", NM_CONDITIONS_MAX + 1);
    assert_string_equal(nm_conditions_get(&set, "conditions.overflow"), name);
    assert_non_null(nm_condition_find("conditions.overflow"));
}

static void test_conditions_key_text_is_sorted_and_holds_keys_only(void **state)
{
    static struct nm_conditions set;
    char *text;

    (void)state;
    set.count = 0;
    nm_conditions_set(&set, "streams", "1");
    nm_conditions_set(&set, "client.kernel", "6.1.0");
    nm_conditions_set(&set, "server.version", "Samba 4.17");
    nm_conditions_set(&set, "depth", "16");
    nm_conditions_set(&set, "made.up", "1");
    text = nm_conditions_key_text(&set);
    assert_string_equal(text, "depth=16\nstreams=1\n");
    free(text);
}

static void test_conditions_conflict_by_class_and_factor(void **state)
{
    static struct nm_conditions a, b;
    static const char *const allowed[] = {"depth", "server.version", NULL};
    size_t from = 0;

    (void)state;
    a.count = b.count = 0;
    nm_conditions_set(&a, "depth", "16");
    nm_conditions_set(&b, "depth", "4");
    nm_conditions_set(&a, "smb.dialect", "3.1.1");
    nm_conditions_set(&b, "smb.dialect", "2.1");
    nm_conditions_set(&a, "server.version", "6.1.2");
    nm_conditions_set(&b, "server.version", "6.1.3");
    nm_conditions_set(&a, "client.kernel", "5");
    nm_conditions_set(&b, "client.kernel", "6");
    nm_conditions_set(&a, "nfs.rsize", "8192"); /* unknown to b */
    nm_conditions_set(&a, "verify", "size");
    nm_conditions_set(&b, "verify", "size");

    assert_string_equal(nm_conditions_conflict(&a, &b, 0, NULL, &from)->name, "depth");
    assert_string_equal(nm_conditions_conflict(&a, &b, 0, NULL, &from)->name, "server.version");
    assert_string_equal(nm_conditions_conflict(&a, &b, 0, NULL, &from)->name, "smb.dialect");
    assert_null(nm_conditions_conflict(&a, &b, 0, NULL, &from));

    from = 0; /* a firmware explains its version, not what was negotiated */
    assert_string_equal(nm_conditions_conflict(&a, &b, NM_FACTOR_FIRMWARE, allowed, &from)->name,
                        "smb.dialect");
    assert_null(nm_conditions_conflict(&a, &b, NM_FACTOR_FIRMWARE, allowed, &from));
    from = 0;
    assert_string_equal(nm_conditions_conflict(&a, &b, NM_FACTOR_PROTOCOL, NULL, &from)->name,
                        "depth");
    assert_null(nm_conditions_conflict(&a, &b, NM_FACTOR_PROTOCOL, NULL, &from));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conditions_table_is_sound),
        cmocka_unit_test(test_conditions_set_get_merge),
        cmocka_unit_test(test_conditions_full_set_says_so),
        cmocka_unit_test(test_conditions_key_text_is_sorted_and_holds_keys_only),
        cmocka_unit_test(test_conditions_conflict_by_class_and_factor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
