/* Secrets: which source wins, what is refused, and that nothing is left lying about.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "credentials.h"
#include "ini.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

/* A vault loaded from text; NULL and *err when it is refused. */
static struct nm_vault *vault_of(const char *text, mode_t mode, struct nm_error *err)
{
    char path[] = "/tmp/nm-credentials-XXXXXX";
    struct nm_vault *vault = NULL;
    int fd = mkstemp(path), r;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
    assert_int_equal(nm_vault_new(&vault, NULL), 0);
    r = nm_vault_load(vault, path, err);
    unlink(path);
    if (r < 0) {
        nm_vault_free(vault);
        return NULL;
    }
    return vault;
}

static struct nm_credentials find(struct nm_vault *vault, const char *text)
{
    struct nm_credentials credentials;
    struct nm_url *url = NULL;
    char *password = NULL;

    assert_int_equal(nm_url_parse(text, &url, &password, NULL), 0);
    assert_int_equal(nm_vault_take_password(vault, url, password, NULL), 0);
    assert_int_equal(nm_vault_find(vault, url, false, &credentials, NULL), 0);
    nm_url_free(url);
    return credentials;
}

static const char sections[] = "; test\n"
                               "[nas]\n"
                               "user = reviewer\n"
                               "password = p@s:s%w/d ;x=#\n"
                               "domain = OFFICE\n"
                               "chap_user = initiator\n"
                               "chap_secret = secretsecret\n"
                               "chap_target_secret = othersecret12\n"
                               "[NAS/Private]\r\n"
                               "password: only here\r\n"
                               "[[::1]:8445]\n"
                               "user = six\n"
                               "password =\n"
                               "[nas/iqn.2026-01.org.example:b]\n"
                               "chap_secret = for b alone..\n";

static void test_credentials_sections_by_host_share_and_user(void **state)
{
    struct nm_vault *vault = vault_of(sections, 0600, NULL);
    struct nm_credentials found;

    (void)state;
    assert_non_null(vault);
    found = find(vault, "smb://nas/data");
    assert_string_equal(found.user, "reviewer");
    assert_string_equal(found.password, "p@s:s%w/d ;x=#"); /* verbatim */
    assert_string_equal(found.domain, "OFFICE");
    assert_null(found.chap_secret);
    found = find(vault, "smb://lab;reviewer@nas/data");
    assert_string_equal(found.password, "p@s:s%w/d ;x=#");
    assert_string_equal(found.domain, "lab");
    found = find(vault, "smb://admin@nas/data"); /* another user's password is not tried */
    assert_string_equal(found.user, "admin");
    assert_null(found.password);
    found = find(vault, "smb://admin@nas/private"); /* share beats host; no user = any user */
    assert_string_equal(found.user, "admin");
    assert_string_equal(found.password, "only here");
    found = find(vault, "http://[::1]:8445/dav");
    assert_string_equal(found.user, "six");
    assert_string_equal(found.password, "");
    found = find(vault, "http://[::1]/dav"); /* the section names a port */
    assert_null(found.user);
    found = find(vault, "smb://other/data"); /* guest */
    assert_null(found.user);
    assert_null(found.password);
    found = find(vault, "nfs://nas/data");
    assert_null(found.user);
    nm_vault_free(vault);
}

static void test_credentials_chap_belongs_to_iscsi(void **state)
{
    struct nm_vault *vault = vault_of(sections, 0600, NULL);
    struct nm_credentials found;

    (void)state;
    found = find(vault, "iscsi://nas/iqn.2026-01.org.example:a/0");
    assert_string_equal(found.chap_user, "initiator");
    assert_string_equal(found.chap_secret, "secretsecret");
    assert_string_equal(found.chap_target_secret, "othersecret12");
    assert_null(found.chap_target_user);
    assert_null(found.password);
    found = find(vault, "iscsi://me@nas/iqn.2026-01.org.example:b/0");
    assert_string_equal(found.chap_user, "me");
    assert_string_equal(found.chap_secret, "for b alone..");
    nm_vault_free(vault);
}

static void test_credentials_order_of_sources(void **state)
{
    char value[] = "NASMARK_PASSWORD=from environment";
    struct nm_vault *vault = vault_of("[nas/a]\npassword = from file\n", 0600, NULL);
    struct nm_credentials found;

    (void)state;
    assert_int_equal(putenv(value), 0);
    assert_int_equal(nm_vault_take_environment(vault, NULL), 0);
    assert_null(getenv("NASMARK_PASSWORD"));
    assert_null(memmem(value, sizeof(value), "from environment", 16)); /* wiped in place */
    found = find(vault, "smb://u@nas/a");
    assert_string_equal(found.password, "from file");
    found = find(vault, "smb://u:from%20url@nas/b");
    assert_string_equal(found.password, "from environment");
    found = find(vault, "smb://nas/b"); /* not for URLs without a user */
    assert_null(found.password);
    nm_vault_free(vault);

    assert_int_equal(nm_vault_new(&vault, NULL), 0);
    found = find(vault, "smb://u:from%20url@nas/b");
    assert_string_equal(found.password, "from url");
    found = find(vault, "smb://u@nas/c"); /* the same login */
    assert_string_equal(found.password, "from url");
    found = find(vault, "smb://v@nas/c");
    assert_null(found.password);
    found = find(vault, "http://u@nas/c");
    assert_null(found.password);
    nm_vault_free(vault);
}

static void test_credentials_files_that_are_refused(void **state)
{
    static const struct {
        const char *text;
        mode_t mode;
        const char *message;
    } cases[] = {
        {"[nas]\npassword = cretXY\n", 0640, "run: chmod 600 /tmp/nm-credentials-"},
        {"[nas]\npassword = cretXY\n", 0604, "can be read by others (mode 0604)"},
        {"password = cretXY\n", 0600, ":1: stands before the first [SECTION]"},
        {"[nas]\n\ncretXY\n", 0600, ":3: is neither [SECTION] nor KEY = VALUE"},
        {"[nas]\ncretXY = 1\n", 0600, ":2: unknown key; valid: user password"},
        {"[nas]\npasword = cretXY\n", 0600, ":2: unknown key; did you mean \"password\"?"},
        {"[nas]\npassword = a\npassword = cretXY\n", 0600, ":3: \"password\" stands here twice"},
        {"[nas]\n[b]\n[NAS]\n", 0600, ":3: this [SECTION] stands here twice"},
        {"[nas]\npassword = cretXY\x01\n", 0600, ":2: contains a control character"},
        {"[nas\n", 0600, ":1: a section is written [NAME]"},
        {"[]\n", 0600, ":1: the section has no name"},
        {"[nas]\n= cretXY\n", 0600, ":2: the key before \"=\" is missing"},
    };
    static char large[40000];
    struct nm_error err;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_null(vault_of(cases[i].text, cases[i].mode, &err));
        if (!strstr(err.text, cases[i].message) || strstr(err.text, "cretXY"))
            fail_msg("\"%s\" instead of \"%s\"", err.text, cases[i].message);
        assert_int_equal(strncmp(err.text, "credentials: /tmp/", 18), 0);
    }
    memset(large, ';', sizeof(large) - 1);
    assert_null(vault_of(large, 0600, &err));
    assert_non_null(strstr(err.text, "larger than"));
    assert_int_equal(nm_vault_open("/nonexistent/file", &(struct nm_vault *){NULL}, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/nonexistent/file: No such file"));
}

static void test_credentials_full_vault_is_an_error(void **state)
{
    struct nm_vault *vault = NULL;
    struct nm_credentials found;
    struct nm_url *url = NULL;
    char *password = NULL;
    struct nm_error err;
    int r = 0;

    (void)state;
    assert_int_equal(nm_vault_new(&vault, NULL), 0);
    assert_int_equal(nm_url_parse("smb://user@nas/data", &url, &password, NULL), 0);
    for (int i = 0; i < 100000 && !r; i++)
        r = nm_vault_find(vault, url, false, &found, &err);
    assert_int_equal(r, -ENOSPC);
    assert_non_null(strstr(err.text, "more logins than fit"));
    nm_url_free(url);
    nm_vault_free(vault);
}

static void test_secrets_scrub_argv(void **state)
{
    char run[] = "nasmark", url[] = "smb://u:p@s:s@h:445/s", guest[] = "smb://h:445/share",
         set[] = "--set=iscsi.chap_secret=abc", plain[] = "run.trials=3", option[] = "--password",
         value[] = "abc";
    char *argv[] = {run, url, guest, set, plain, option, value, NULL};

    (void)state;
    nm_secrets_scrub_argv(7, argv);
    assert_string_equal(url, "smb://u:*****@h:445/s");
    assert_string_equal(guest, "smb://h:445/share");
    assert_string_equal(set, "--set=iscsi.chap_secret=***");
    assert_string_equal(plain, "run.trials=3");
    assert_string_equal(value, "***");
}

/* --- the prompt, on a terminal of its own --- */

static int ask_in_child(const char *slave, struct nm_vault *vault, bool with_terminal)
{
    struct nm_credentials found;
    struct nm_url *url = NULL;
    char *password = NULL;
    struct nm_error err = {0};
    int r;

    setsid();
    if (with_terminal && open(slave, O_RDWR) < 0)
        return 90;
    if (nm_url_parse("smb://reviewer@nas/data", &url, &password, NULL) < 0)
        return 91;
    r = nm_vault_find(vault, url, true, &found, &err);
    if (r < 0)
        r = r == -ENOTTY && strstr(err.text, "--credentials FILE") ? 10 : 11;
    else if (strcmp(found.password, "p w"))
        r = 12;
    else if (nm_vault_find(vault, url, true, &found, &err) < 0 || strcmp(found.password, "p w"))
        r = 13; /* the second question is answered from memory */
    nm_url_free(url);
    return r;
}

static void wait_for_silence(int master, bool silent)
{
    struct termios now;

    for (int i = 0; i < 5000; i++) {
        assert_int_equal(tcgetattr(master, &now), 0);
        if (!(now.c_lflag & ECHO) == silent)
            return;
        usleep(1000);
    }
    fail_msg("the terminal never %s", silent ? "went silent" : "came back");
}

/* typed NULL: sends Ctrl-C instead. Returns the wait status; *ret_shown is what was displayed. */
static int run_prompt(const char *typed, char *ret_shown, size_t size)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY), status;
    struct nm_vault *vault = NULL;
    ssize_t n;
    pid_t child;

    assert_true(master >= 0);
    assert_int_equal(grantpt(master), 0);
    assert_int_equal(unlockpt(master), 0);
    assert_int_equal(nm_vault_new(&vault, NULL), 0);
    child = fork();
    if (!child)
        _exit(ask_in_child(ptsname(master), vault, true));
    wait_for_silence(master, true);
    if (!typed)
        typed = "\x03";
    assert_int_equal(write(master, typed, strlen(typed)), strlen(typed));
    assert_int_equal(waitpid(child, &status, 0), child);
    wait_for_silence(master, false);
    n = read(master, ret_shown, size - 1);
    ret_shown[n > 0 ? n : 0] = '\0';
    close(master);
    nm_vault_free(vault);
    return status;
}

static void test_secrets_prompt_reads_without_echo(void **state)
{
    char shown[512];

    (void)state;
    assert_int_equal(run_prompt("p w\n", shown, sizeof(shown)), 0);
    assert_non_null(strstr(shown, "Password for reviewer at nas (smb): "));
    assert_null(strstr(shown, "p w"));
}

static void test_secrets_prompt_interrupted_leaves_the_terminal_as_it_was(void **state)
{
    char shown[512];
    int status = run_prompt(NULL, shown, sizeof(shown));

    (void)state;
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGINT);
}

static void test_secrets_prompt_without_a_terminal_names_the_other_ways(void **state)
{
    struct nm_vault *vault = NULL;
    int status;
    pid_t child;

    (void)state;
    assert_int_equal(nm_vault_new(&vault, NULL), 0);
    child = fork();
    if (!child)
        _exit(ask_in_child(NULL, vault, false));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 10);
    nm_vault_free(vault);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_credentials_sections_by_host_share_and_user),
        cmocka_unit_test(test_credentials_chap_belongs_to_iscsi),
        cmocka_unit_test(test_credentials_order_of_sources),
        cmocka_unit_test(test_credentials_files_that_are_refused),
        cmocka_unit_test(test_credentials_full_vault_is_an_error),
        cmocka_unit_test(test_secrets_scrub_argv),
        cmocka_unit_test(test_secrets_prompt_reads_without_echo),
        cmocka_unit_test(test_secrets_prompt_interrupted_leaves_the_terminal_as_it_was),
        cmocka_unit_test(test_secrets_prompt_without_a_terminal_names_the_other_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
