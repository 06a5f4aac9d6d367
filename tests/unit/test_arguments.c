/* The command line: what it gives to a command, what it refuses, and that help, man page and
 * completion hold every row of the tables. The table of commands is a fake of this file.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command.h"
#include "plan.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct nm_arg args[] = {
    {.name = "trials",
     .alias = "passes",
     .type = NM_ARG_VALUE,
     .metavar = "N",
     .help = "how often"},
    {.name = "volume", .type = NM_ARG_VALUES, .metavar = "V", .help = "which"},
    {.name = "again", .type = NM_ARG_FLAG, .help = "once more"},
    {.name = "output", .short_name = 'o', .type = NM_ARG_VALUE, .metavar = "FILE", .help = "where"},
    {.name = "format", .type = NM_ARG_VALUE, .metavar = "text|md", .help = "how"},
};

static const struct nm_command command_run = {
    .name = "run",
    .syntax = "PLAN",
    .help = "executes",
    .details = "All about it.",
    .args = args,
    .n_args = sizeof(args) / sizeof(args[0]),
    .min_words = 1,
    .max_words = 1,
};
static const struct nm_command command_list = {
    .name = "list",
    .syntax = "runs|nas [SELECT]",
    .help = "lists",
    .max_words = SIZE_MAX,
    .prints_data = true,
};

const struct nm_command *const nm_command_table[] = {&command_run, &command_list, NULL};

#define ARGV(...)  ((const char *[]){"nasmark", __VA_ARGS__, NULL})
#define PARSE(...) parse((int)(sizeof(ARGV(__VA_ARGS__)) / sizeof(char *)) - 1, ARGV(__VA_ARGS__))

static struct nm_arguments got;
static struct nm_error err;
static enum nm_wish wish;

static int parse(int argc, const char **argv)
{
    return nm_arguments_parse(argc, (char **)argv, &got, &wish, &err);
}

static void test_arguments_reach_the_command(void **state)
{
    const char *const *volumes;
    size_t n;

    (void)state;
    assert_int_equal(PARSE("--db", "x.db", "run", "--trials=3", "--volume", "a", "p.ini",
                           "--passes", "5", "--volume=", "-oout", "--quiet"),
                     0);
    assert_int_equal(wish, NM_WISH_RUN);
    assert_ptr_equal(got.command, &command_run);
    assert_string_equal(got.db, "x.db");
    assert_true(got.quiet);
    assert_false(got.json);
    assert_int_equal(got.n_words, 1);
    assert_string_equal(got.words[0], "p.ini");
    assert_string_equal(nm_arguments_get(&got, "trials"), "5"); /* the last one */
    assert_string_equal(nm_arguments_get(&got, "output"), "out");
    assert_null(nm_arguments_get(&got, "again"));
    volumes = nm_arguments_all(&got, "volume", &n);
    assert_int_equal(n, 2);
    assert_string_equal(volumes[0], "a");
    assert_string_equal(volumes[1], "");
    assert_null(volumes[2]);
    nm_arguments_done(&got);

    assert_int_equal(PARSE("run", "--again", "--", "--trials"), 0); /* a file of that name */
    assert_string_equal(got.words[0], "--trials");
    assert_non_null(nm_arguments_get(&got, "again"));
    assert_null(nm_arguments_get(&got, "trials"));
    nm_arguments_done(&got);
    assert_int_equal(PARSE("run", "-", "-o", "-"), 0);
    assert_string_equal(got.words[0], "-");
    assert_string_equal(nm_arguments_get(&got, "output"), "-");
    nm_arguments_done(&got);
    assert_int_equal(PARSE("list", "--json"), 0);
    assert_true(got.json);
    nm_arguments_done(&got);
}

static void test_arguments_help_and_version_come_first(void **state)
{
    (void)state;
    assert_int_equal(PARSE("run", "--help"), 0); /* although PLAN is missing */
    assert_int_equal(wish, NM_WISH_HELP);
    assert_ptr_equal(got.command, &command_run);
    nm_arguments_done(&got);
    assert_int_equal(PARSE("-h"), 0);
    assert_int_equal(wish, NM_WISH_HELP);
    assert_null(got.command);
    nm_arguments_done(&got);
    assert_int_equal(PARSE("--version"), 0);
    assert_int_equal(wish, NM_WISH_VERSION);
    nm_arguments_done(&got);
}

static void test_arguments_color(void **state)
{
    (void)state;
    assert_int_equal(PARSE("list", "--color=always"), 0);
    assert_true(got.color);
    nm_arguments_done(&got);
    assert_int_equal(PARSE("list", "--color=never"), 0);
    assert_false(got.color);
    nm_arguments_done(&got);
}

static void test_arguments_refuse_with_remedy(void **state)
{
    static const struct {
        const char *argv[6];
        const char *message;
    } cases[] = {
        {{"rum"}, "unknown command \"rum\"; did you mean \"run\"?"},
        {{"frobnicate"}, "unknown command \"frobnicate\"; valid: run list"},
        {{"--quiet"}, "the command is missing; see `nasmark --help`"},
        {{"--trials", "3", "run"}, "unknown option --trials"}, /* of a command, before it */
        {{"run", "p", "--trails", "3"},
         "unknown option --trails of run; did you mean \"--trials\"?"},
        {{"run", "p", "--trial", "3"}, "did you mean \"--trials\"?"}, /* no abbreviations */
        {{"run", "p", "-x"}, "unknown option -x; see `nasmark run --help`"},
        {{"run", "p", "--trials"}, "--trials needs a value, N; see `nasmark run --help`"},
        {{"run", "p", "-o"}, "--output needs a value, FILE"},
        {{"run", "p", "--again=yes"}, "--again takes no value"},
        {{"run"}, "what to work on is missing: nasmark run PLAN; see"},
        {{"run", "p", "q"}, "\"q\" is one word too many: nasmark run PLAN"},
        {{"run", "p", "--json"}, "--json: `nasmark run` prints no data"},
        {{"run", "p", "--color", "blue"}, "--color is auto, always or never"},
        {{"run", "p", "--password=cretXY"}, "use --credentials FILE or NASMARK_PASSWORD"},
        {{"run", "p", "--pasword=cretXY"}, "unknown option --pasword of run"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *argv[8] = {"nasmark"};
        int argc = 1;

        for (; cases[i].argv[argc - 1]; argc++)
            argv[argc] = cases[i].argv[argc - 1];
        assert_int_equal(parse(argc, argv), -EINVAL);
        if (!strstr(err.text, cases[i].message) || strstr(err.text, "cretXY"))
            fail_msg("\"%s\" instead of \"%s\"", err.text, cases[i].message);
    }
}

static char *printed(void (*print)(FILE *out))
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    print(out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void help_of_run(FILE *out)
{
    nm_help_print(&command_run, out);
}

static void help_of_all(FILE *out)
{
    nm_help_print(NULL, out);
}

static int count(const char *text, const char *word)
{
    int n = 0;

    while ((text = strstr(text, word))) {
        text += strlen(word);
        n++;
    }
    return n;
}

static void test_help_holds_every_row(void **state)
{
    char *run = printed(help_of_run), *all = printed(help_of_all);

    (void)state;
    assert_non_null(
        strstr(run, "Usage: nasmark run PLAN [OPTIONS]\n\nexecutes\n\nAll about it.\n"));
    assert_non_null(strstr(run, "  --trials, --passes N    how often\n"));
    assert_non_null(strstr(run, "  -o, --output FILE       where\n"));
    assert_non_null(strstr(run, "--credentials FILE"));
    assert_null(strstr(run, "--json"));
    assert_non_null(strstr(all, "  list                    lists\n"));
    assert_non_null(strstr(all, "Option of commands that print data:\n  --json"));
    assert_int_equal(count(all, "--json"), 1);
    free(run);
    free(all);
}

static void test_manual_holds_every_row(void **state)
{
    char *text = printed(nm_manual_print);

    (void)state;
    assert_non_null(strstr(text, ".SS nasmark run PLAN\n"));
    assert_non_null(strstr(text, "\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIFILE\\fR\nwhere\n"));
    assert_non_null(strstr(text, "data\n.TP\n\\fB\\-\\-json\\fR\n"));
    assert_non_null(strstr(text, "Commands that print data:\nlist.\n"));
    for (const struct nm_option_section *const *s = nm_plan_sections(); *s; s++)
        for (size_t i = 0; i < (*s)->n_options; i++) {
            char key[80];

            snprintf(key, sizeof(key), "\\fB%s\\fR = ", (*s)->options[i].name);
            if (!strstr(text, key))
                fail_msg("%s.%s is missing", (*s)->name, (*s)->options[i].name);
        }
    for (const char *line = text; line; line = strchr(line + 1, '\n'))
        if (line[0] == '\n' && line[1] == '\'')
            fail_msg("roff takes a line for a request: %.40s", line + 1);
    free(text);
}

static void test_completion_holds_every_row(void **state)
{
    char *text = printed(nm_completion_print);

    (void)state;
    assert_non_null(strstr(text, "'') words='run list --help --version'"));
    assert_non_null(strstr(text, "run) words=' --trials --volume --again --output --format --db"));
    assert_non_null(strstr(text, "list) words='runs nas --db"));
    assert_non_null(strstr(text, "--credentials --quiet")); /* run prints no data */
    assert_non_null(strstr(text, "--credentials --json --quiet"));
    assert_non_null(strstr(text, "run\\ --format) words='text md'"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments_reach_the_command),
        cmocka_unit_test(test_arguments_help_and_version_come_first),
        cmocka_unit_test(test_arguments_color),
        cmocka_unit_test(test_arguments_refuse_with_remedy),
        cmocka_unit_test(test_help_holds_every_row),
        cmocka_unit_test(test_manual_holds_every_row),
        cmocka_unit_test(test_completion_holds_every_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
