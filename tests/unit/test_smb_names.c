/* SMB: URLs for the library, names that SMB cannot carry, paths known to be files, the private
 * home directory.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "smb/smb.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

static void test_smb_encode_leaves_nothing_to_be_parsed(void **state)
{
    char out[64], small[8];

    (void)state;
    assert_int_equal(nm_smb_encode("a@b;c", false, out, sizeof(out)), 9);
    assert_string_equal(out, "a%40b%3Bc");
    assert_true(nm_smb_encode("my share \xc3\xa9?%", false, out, sizeof(out)));
    assert_string_equal(out, "my%20share%20%C3%A9%3F%25");
    assert_true(nm_smb_encode("d/e f", true, out, sizeof(out)));
    assert_string_equal(out, "d/e%20f");
    assert_true(nm_smb_encode("d/e", false, out, sizeof(out)));
    assert_string_equal(out, "d%2Fe");
    assert_int_equal(nm_smb_encode("abcd", false, small, sizeof(small)), 4);
    assert_int_equal(nm_smb_encode("ab d", false, small, sizeof(small)), 6);
    assert_int_equal(nm_smb_encode("a  d", false, small, sizeof(small)), 0);
    assert_int_equal(nm_smb_encode("abcdefgh", false, small, sizeof(small)), 0);
}

static void check_url(const char *text, const char *whole, const char *root)
{
    struct nm_url *url = NULL;
    char *password = NULL, *built;

    assert_int_equal(nm_url_parse(text, &url, &password, NULL), 0);
    built = nm_smb_target_url(url, true);
    assert_string_equal(built, whole);
    free(built);
    built = nm_smb_target_url(url, false);
    assert_string_equal(built, root);
    free(built);
    free(password);
    nm_url_free(url);
}

static void test_smb_target_url_has_port_and_no_user(void **state)
{
    (void)state;
    check_url("smb://dom;me:geheim@NAS/share/d%20e/f", "smb://nas:445/share/d%20e/f",
              "smb://nas:445/share");
    check_url("smb://[::1]:8445/hid$/", "smb://%3A%3A1:8445/hid%24", "smb://%3A%3A1:8445/hid%24");
    check_url("smb://nas/a@b;c/d", "smb://nas:445/a%40b%3Bc/d", "smb://nas:445/a%40b%3Bc");
}

static void check_path(const char *path, int code)
{
    struct nm_error err = {0};

    assert_int_equal(nm_smb_check_path(path, &err), code);
    if (!code)
        return;
    assert_int_equal(err.reason, NM_REASON_UNSUPPORTED);
    assert_true(*err.text);
}

static void test_smb_check_path_refuses_what_the_protocol_cannot_carry(void **state)
{
    char name[300], path[4200];

    (void)state;
    check_path("", 0);
    check_path("dir/file @;%$&.txt", 0);
    check_path("dir/a:b", -EINVAL);
    check_path("dir\\file", -EINVAL);
    check_path("*", -EINVAL);
    check_path("a/b?/c", -EINVAL);
    check_path("a\nb", -EINVAL);

    memset(name, 'n', sizeof(name));
    name[255] = '\0';
    check_path(name, 0);
    name[255] = 'n';
    name[256] = '\0';
    check_path(name, -ENAMETOOLONG);
    for (int i = 0; i < 128; i++)
        memcpy(name + 2 * i, "\xc3\xa9", 2);
    check_path(name, -ENAMETOOLONG);
    name[254] = '\0';
    check_path(name, 0);

    for (size_t i = 0; i < sizeof(path); i++)
        path[i] = i % 100 == 99 ? '/' : 'd';
    path[4100] = '\0';
    check_path(path, -ENAMETOOLONG);
    path[4095] = '\0';
    check_path(path, 0);
}

static void test_smb_names_are_known_by_either_spelling(void **state)
{
    struct nm_smb_names *names = calloc(1, sizeof(*names));

    (void)state;
    assert_false(nm_smb_names_has(names, "d/f"));
    nm_smb_names_add(names, "d", "f");
    assert_true(nm_smb_names_has(names, "d/f"));
    assert_false(nm_smb_names_has(names, "d"));
    nm_smb_names_forget(names, "d/g");
    assert_true(nm_smb_names_has(names, "d/f"));
    nm_smb_names_forget(names, "d/f");
    assert_false(nm_smb_names_has(names, "d/f"));
    nm_smb_names_add(names, "", "root");
    assert_true(nm_smb_names_has(names, "root"));
    nm_smb_names_add(names, "whole/path", NULL);
    assert_true(nm_smb_names_has(names, "whole/path"));
    free(names);
}

static void test_smb_home_is_private_and_goes_away(void **state)
{
    struct nm_smb_options options = {.signing = NM_SMB_REQUIRED};
    struct nm_smb_home home;
    char path[128], text[2048] = "";
    struct stat st;
    FILE *file;

    (void)state;
    assert_int_equal(nm_smb_home_create(&home, &options, NM_SMB_3_02, NM_SMB_3_02, NULL), 0);
    assert_int_equal(stat(home.path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    snprintf(path, sizeof(path), "%s/.smb/smb.conf", home.path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    assert_non_null(strstr(text, "client min protocol = SMB3_02\n"));
    assert_non_null(strstr(text, "client max protocol = SMB3_02\n"));
    assert_non_null(strstr(text, "client signing = required\n"));
    snprintf(path, sizeof(path), "%s", home.path);
    nm_smb_home_remove(&home);
    assert_int_equal(access(path, F_OK), -1);
    nm_smb_home_remove(&home);
}

static void make(const char *base, const char *name, bool stale, const char *extra)
{
    struct timeval old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", base, name);
    assert_int_equal(mkdir(path, 0700), 0);
    if (extra) {
        snprintf(path, sizeof(path), "%s/%s/%s", base, name, extra);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    snprintf(path, sizeof(path), "%s/%s", base, name);
    if (stale)
        assert_int_equal(utimes(path, old), 0);
}

static bool is_there(const char *base, const char *name)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", base, name);
    return access(path, F_OK) == 0;
}

static void test_smb_home_clears_what_killed_processes_left(void **state)
{
    struct nm_smb_options options = {0};
    struct nm_smb_home home;
    char base[] = "/tmp/nm-home-XXXXXX", command[64];

    (void)state;
    assert_non_null(mkdtemp(base));
    make(base, "nasmark-smb-old", true, ".smb");
    make(base, "nasmark-smb-young", false, ".smb");
    make(base, "nasmark-smb-other", true, "precious");
    make(base, "somebody-else", true, NULL);
    setenv("TMPDIR", base, 1);
    assert_int_equal(nm_smb_home_create(&home, &options, NM_SMB_2_02, NM_SMB_2_02, NULL), 0);
    assert_memory_equal(home.path, base, strlen(base));
    nm_smb_home_remove(&home);
    unsetenv("TMPDIR");
    assert_false(is_there(base, "nasmark-smb-old"));
    assert_true(is_there(base, "nasmark-smb-young"));
    assert_true(is_there(base, "nasmark-smb-other/precious"));
    assert_true(is_there(base, "somebody-else"));
    snprintf(command, sizeof(command), "rm -r %s", base);
    assert_int_equal(system(command), 0); /* NOLINT: our own directory */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_smb_encode_leaves_nothing_to_be_parsed),
        cmocka_unit_test(test_smb_target_url_has_port_and_no_user),
        cmocka_unit_test(test_smb_check_path_refuses_what_the_protocol_cannot_carry),
        cmocka_unit_test(test_smb_names_are_known_by_either_spelling),
        cmocka_unit_test(test_smb_home_is_private_and_goes_away),
        cmocka_unit_test(test_smb_home_clears_what_killed_processes_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
