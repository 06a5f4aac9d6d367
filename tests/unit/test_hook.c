/* The command of `prepare`: what it gets, how it fails, and that nobody waits for it for ever.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "hook.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char *const nothing[][2] = {{NULL, NULL}};

static void test_hook_gets_the_environment_and_tells_how_it_ended(void **state)
{
    const char *const environment[][2] = {{"NASMARK_VOLUME", "raid 5"}, {NULL, NULL}};
    struct nm_error err = {0};

    (void)state;
    assert_int_equal(nm_hook_run("test \"$NASMARK_VOLUME\" = \"raid 5\"", environment,
                                 NM_HOOK_LIMIT_NS, NULL, &err),
                     0);
    assert_int_equal(nm_hook_run("exit 3", nothing, NM_HOOK_LIMIT_NS, NULL, &err), -EINVAL);
    assert_non_null(strstr(err.text, "exit status 3"));
}

static void test_hook_has_a_limit(void **state)
{
    volatile sig_atomic_t interrupted = 1;
    struct nm_error err = {0};

    (void)state;
    assert_int_equal(nm_hook_run("sleep 60 & sleep 60", nothing, 50 * NM_NS_PER_MS, NULL, &err),
                     -ETIMEDOUT);
    assert_int_equal(err.reason, NM_REASON_TIMEOUT);
    assert_non_null(strstr(err.text, "did not end within 50.0 ms and was killed"));
    assert_int_equal(nm_hook_run("sleep 60", nothing, NM_HOOK_LIMIT_NS, &interrupted, &err),
                     -ECANCELED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hook_gets_the_environment_and_tells_how_it_ended),
        cmocka_unit_test(test_hook_has_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
