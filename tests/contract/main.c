/* contract URL [options]: runs the checks that fit the target's backend. See README.md.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "contract.h"

#include "clock.h"
#include "url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define LIMIT_SECONDS 180 /* of one check; longer is a hang */

static struct contract suite;

_Noreturn static void usage(const char *fault)
{
    fprintf(stderr,
            "contract: %s\n"
            "usage: contract URL [--backend NAME] [--set SECTION.KEY=VALUE]... [--only CHECK]\n"
            "                [--block BYTES] [--depth N] [--timeout SECONDS]\n"
            "                [--freeze COMMAND --thaw COMMAND]\n"
            "The password of the URL's user comes from NASMARK_TEST_PASSWORD.\n",
            fault);
    exit(2);
}

/* The part of a check that runs in its own process; also the exit status of that process. */
static int child(const struct check *check)
{
    struct session s = {.suite = &suite, .how = suite.how};
    struct nm_error err = {0};

    alarm(LIMIT_SECONDS);
    if (!(check->flags & CHECK_NO_CONNECT)) {
        session_connect(&s, check->flags & CHECK_READ_ONLY);
        suite.shared->connected = true;
        if (!(check->flags & (CHECK_UNCLAIMED | CHECK_READ_ONLY)) && !suite.shared->claimed) {
            CHECK(!nm_backend_claim(s.nm, NULL, &err), "claim: %s", err.text);
            suite.shared->claimed = true;
        }
    }
    check->run(&s);
    session_disconnect(&s);
    return 0;
}

static void run_check(void **state)
{
    const struct check *check = *state;
    int status;
    pid_t pid;

    if ((check->flags & CHECK_FREEZE) && !suite.freeze)
        skip();
    if (!suite.shared->connected &&
        check != (suite.ops->traits & NM_TRAIT_FILES ? file_checks : block_checks))
        fail_msg("not run: the target cannot be reached");
    fflush(NULL);
    pid = fork();
    if (!pid)
        exit(child(check));
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    if (WIFSIGNALED(status))
        fail_msg("%s: killed by signal %d%s", check->name, WTERMSIG(status),
                 WTERMSIG(status) == SIGALRM ? " (hung)" : "");
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int run_checks(const struct check *checks, const char *only)
{
    struct CMUnitTest tests[64];
    size_t n = 0;

    for (size_t i = 0; checks[i].name && n < 64; i++)
        if (!only || i == 0 || strstr(checks[i].name, only) ||
            !strcmp(checks[i].name, "make_directory") ||
            !strcmp(checks[i].name, "remove_everything"))
            tests[n++] = (struct CMUnitTest){.name = checks[i].name,
                                             .test_func = run_check,
                                             .initial_state = (void *)&checks[i]};
    return _cmocka_run_group_tests(suite.ops->name, tests, n, NULL, NULL);
}

/* "iscsi.allow_destroy=..." for the section of the chosen backend. */
static void set_option(void *values, const char *text)
{
    const struct nm_option_section *section = suite.ops->options;
    size_t length = section ? strlen(section->name) : 0;
    struct nm_error err = {0};
    char key[64];
    const char *equals = strchr(text, '=');

    if (!section || strncmp(text, section->name, length) || text[length] != '.' || !equals)
        usage("--set: not SECTION.KEY=VALUE of this backend");
    snprintf(key, sizeof(key), "%.*s", (int)(equals - text - (long)length - 1), text + length + 1);
    if (nm_options_set(section, values, key, equals + 1, &err))
        usage(err.text);
}

static uint64_t number(const char *text)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);

    if (*end || !value)
        usage("not a number above zero");
    return value;
}

int main(int argc, char **argv)
{
    const char *url_text = NULL, *backend = NULL, *only = NULL, *sets[16], *value;
    static struct nm_credentials credentials;
    struct nm_error err = {0};
    struct nm_url *url;
    char *password = NULL, directory[64];
    size_t n_sets = 0;
    uint64_t random;
    void *values = NULL;
    int failed;

    suite.how = (struct nm_connect){
        .volume = "contract", .timeout_ns = 10 * NM_NS_PER_S, .depth = 8, .streams = 1};
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-' && !url_text) {
            url_text = argv[i];
            continue;
        }
        value = argv[++i];
        if (!value)
            usage("an option lacks its value");
        if (!strcmp(argv[i - 1], "--backend"))
            backend = value;
        else if (!strcmp(argv[i - 1], "--set") && n_sets < 16)
            sets[n_sets++] = value;
        else if (!strcmp(argv[i - 1], "--only"))
            only = value;
        else if (!strcmp(argv[i - 1], "--block"))
            suite.how.block_bytes = (uint32_t)number(value);
        else if (!strcmp(argv[i - 1], "--depth"))
            suite.how.depth = (unsigned)number(value);
        else if (!strcmp(argv[i - 1], "--timeout"))
            suite.how.timeout_ns = number(value) * NM_NS_PER_S;
        else if (!strcmp(argv[i - 1], "--freeze"))
            suite.freeze = value;
        else if (!strcmp(argv[i - 1], "--thaw"))
            suite.thaw = value;
        else
            usage("unknown option");
    }
    if (!url_text || !suite.freeze != !suite.thaw)
        usage("a URL is needed, and --freeze and --thaw go together");
    if (nm_backend_table_check(&err) || nm_url_parse(url_text, &url, &password, &err))
        usage(err.text);
    suite.ops = backend ? nm_backend_find(backend) : nm_backend_select(url, 0, 0, &err);
    if (!suite.ops || suite.ops->unavailable) {
        fprintf(stderr, "contract: %s\n",
                suite.ops ? suite.ops->unavailable
                : backend ? "no such backend"
                          : err.text);
        nm_url_free(url);
        free(password);
        return suite.ops ? 1 : 77; /* no row: nothing to check yet */
    }
    value = getenv("NASMARK_TEST_PASSWORD");
    credentials = (struct nm_credentials){
        .user = url->user, .password = password ? password : value, .domain = url->domain};
    if (url->protocol == NM_PROTOCOL_ISCSI) {
        credentials.chap_user = url->user;
        credentials.chap_secret = credentials.password;
    }
    if (suite.ops->options) {
        values = calloc(1, suite.ops->options->size);
        if (!values || nm_options_init(suite.ops->options, values, &err))
            usage(err.text);
        for (size_t i = 0; i < n_sets; i++)
            set_option(values, sets[i]);
    } else if (n_sets) {
        usage("this backend has no options");
    }
    if (!suite.how.block_bytes)
        suite.how.block_bytes = suite.ops->auto_block_bytes ? suite.ops->auto_block_bytes : 1 << 20;
    if (suite.how.block_bytes % 65536)
        usage("--block must be a multiple of 65536");
    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        usage("no random numbers");
    snprintf(directory, sizeof(directory), "nasmark-contract-%08x", (unsigned)random);
    suite.directory = directory;
    suite.how.url = url;
    suite.how.credentials = &credentials;
    suite.how.options = values;
    nm_pattern_init(&suite.data, random, 0, (struct nm_data_kind){.kind = NM_DATA_RANDOM});
    suite.shared = mmap(NULL, sizeof(*suite.shared), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (suite.shared == MAP_FAILED)
        usage("out of memory");
    failed = run_checks(suite.ops->traits & NM_TRAIT_FILES ? file_checks : block_checks, only);
    if (suite.ops->options)
        nm_options_done(suite.ops->options, values);
    free(values);
    free(password);
    nm_url_free(url);
    munmap(suite.shared, sizeof(*suite.shared));
    return failed ? 1 : 0;
}
