/* Output files: complete or not at all, never in place of what is no file.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "output.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[64], path[96], other[96];

static int setup(void **state)
{
    (void)state;
    snprintf(directory, sizeof(directory), "/tmp/nasmark-output-XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof(path), "%s/file", directory);
    snprintf(other, sizeof(other), "%s/link", directory);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(path);
    unlink(other);
    return rmdir(directory); /* fails when something was left behind */
}

static void write_to(const char *name, const char *text, int result, int expected)
{
    struct nm_output output;
    struct nm_error err = {0};

    assert_int_equal(nm_output_open(&output, name, &err), 0);
    fputs(text, output.file);
    assert_int_equal(nm_output_close(&output, result, &err), expected);
}

static void assert_holds(const char *name, const char *text)
{
    char got[64] = "";
    FILE *in = fopen(name, "re");

    assert_non_null(in);
    got[fread(got, 1, sizeof(got) - 1, in)] = '\0';
    fclose(in);
    assert_string_equal(got, text);
}

static void test_output_replaces_when_it_is_complete(void **state)
{
    struct stat st;
    mode_t mask = umask(022);

    (void)state;
    write_to(path, "one", 0, 0);
    umask(mask);
    assert_holds(path, "one");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
    write_to(path, "half", -EIO, -EIO);
    assert_holds(path, "one");
    write_to(path, "two", 0, 0);
    assert_holds(path, "two");
}

static void test_output_follows_links(void **state)
{
    struct stat st;

    (void)state;
    write_to(path, "one", 0, 0);
    assert_int_equal(symlink(path, other), 0);
    write_to(other, "two", 0, 0);
    assert_holds(path, "two");
    assert_int_equal(lstat(other, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
}

static void test_output_leaves_devices_what_they_are(void **state)
{
    struct nm_output output;
    struct nm_error err = {0};
    struct stat st;

    (void)state;
    write_to("/dev/full", "x", 0, -ENOSPC);
    write_to("/dev/null", "x", 0, 0);
    assert_int_equal(stat("/dev/full", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    assert_int_equal(nm_output_open(&output, directory, &err), -EISDIR);
    assert_int_equal(nm_output_open(&output, "/no/such/directory/x", &err), -ENOENT);
    assert_non_null(strstr(err.text, "/no/such/directory/x"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_output_replaces_when_it_is_complete),
        TEST(test_output_follows_links),
        TEST(test_output_leaves_devices_what_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
