/* The command line against the tables of commands and options (command.h).
 *
 * Long options are written in full; a value follows "=" or is the next word; "--" ends the options.
 * Process: runs once, in the parent, before anything else. Messages do not quote values, which may
 * hold secrets.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command.h"

#include "options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum common { DB, CREDENTIALS, JSON, QUIET, COLOR, HELP, VERSION, COMMON };

const struct nm_arg nm_common_args[] = {
    [DB] = {.name = "db",
            .type = NM_ARG_VALUE,
            .metavar = "FILE",
            .help = "database (default: $NASMARK_DB, else $XDG_DATA_HOME/nasmark/nasmark.db)"},
    [CREDENTIALS] = {.name = "credentials",
                     .type = NM_ARG_VALUE,
                     .metavar = "FILE",
                     .help = "users and passwords, mode 0600"},
    [JSON] = {.name = "json",
              .type = NM_ARG_FLAG,
              .help = "print one JSON document instead of text",
              .of_data = true},
    [QUIET] = {.name = "quiet",
               .short_name = 'q',
               .type = NM_ARG_FLAG,
               .help = "no progress and no remarks, only what failed"},
    [COLOR] = {.name = "color",
               .type = NM_ARG_VALUE,
               .metavar = "auto|always|never",
               .help = "colours; auto: on a terminal, unless NO_COLOR is set"},
    [HELP] = {.name = "help", .short_name = 'h', .type = NM_ARG_FLAG, .help = "this text"},
    [VERSION] = {.name = "version", .type = NM_ARG_FLAG, .help = "version of the program"},
};
const size_t nm_n_common_args = COMMON;

/* The command line while it is read. */
struct parser {
    struct nm_arguments *out;
    const char **words;
    const char *common[COMMON]; /* value, "" for a flag, NULL = absent */
    char **argv;
    int argc, at;
};

void nm_complain(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fputs("nasmark: ", stderr);
    vfprintf(stderr, fmt, ap);
    putc('\n', stderr);
    va_end(ap);
}

void nm_warn(const char *lines)
{
    while (lines && *lines) {
        size_t length = strcspn(lines, "\n");

        nm_complain("warning: %.*s", (int)length, lines);
        lines += length + !!lines[length];
    }
}

const struct nm_command *nm_command_find(const char *name)
{
    for (size_t i = 0; nm_command_table[i]; i++)
        if (!strcmp(nm_command_table[i]->name, name))
            return nm_command_table[i];
    return NULL;
}

static int usage(struct nm_error *err, const struct nm_command *command, const char *fmt, ...)
    NM_PRINTF(3, 4);

static int usage(struct nm_error *err, const struct nm_command *command, const char *fmt, ...)
{
    char text[300];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return nm_error_set(err, -EINVAL, NM_REASON_NONE, "%s; see `nasmark %s%s--help`", text,
                        command ? command->name : "", command ? " " : "");
}

static int unknown_command(const char *word, struct nm_error *err)
{
    const char *names[64];
    size_t n = 0;

    for (; n < NM_OPTION_COUNT(names) && nm_command_table[n]; n++)
        names[n] = nm_command_table[n]->name;
    nm_error_set(err, -EINVAL, NM_REASON_NONE, "unknown command \"%.40s\"", word);
    nm_options_suggest(err, word, names, n);
    return -EINVAL;
}

static int unknown_option(const struct nm_command *command, const char *name, size_t length,
                          struct nm_error *err)
{
    const char *names[NM_ARGS_MAX + COMMON];
    char dashed[NM_ARGS_MAX + COMMON][32], word[40];
    size_t n = 0;

    if (length == 8 && !memcmp(name, "password", 8))
        return nm_error_set(err, -EINVAL, NM_REASON_NONE,
                            "a password on the command line is seen by everybody; use "
                            "--credentials FILE or NASMARK_PASSWORD");
    for (size_t i = 0; command && i < command->n_args; i++)
        names[n++] = command->args[i].name;
    for (size_t i = 0; i < COMMON; i++)
        names[n++] = nm_common_args[i].name;
    for (size_t i = 0; i < n; i++) {
        snprintf(dashed[i], sizeof(dashed[i]), "--%s", names[i]);
        names[i] = dashed[i];
    }
    snprintf(word, sizeof(word), "--%.*s", (int)(length < 36 ? length : 36), name);
    nm_error_set(err, -EINVAL, NM_REASON_NONE, "unknown option %s%s%s", word, command ? " of " : "",
                 command ? command->name : "");
    nm_options_suggest(err, word, names, n);
    return -EINVAL;
}

/* --- values --- */

static int add_value(struct nm_arguments *out, size_t index, const char *value,
                     struct nm_error *err)
{
    const char **list = (const char **)out->values[index];

    list = reallocarray(list, out->n_values[index] + 2, sizeof(*list));
    if (!list)
        return nm_error_no_memory(err);
    out->values[index] = list;
    list[out->n_values[index]++] = value;
    list[out->n_values[index]] = NULL;
    return 0;
}

/* value: what followed "=" or -o, NULL = nothing did. */
static int take(struct parser *p, const struct nm_arg *row, const char *value, struct nm_error *err)
{
    const struct nm_command *command = p->out->command;

    if (row->type == NM_ARG_FLAG && value)
        return usage(err, command, "--%s takes no value", row->name);
    if (row->type == NM_ARG_FLAG)
        value = "";
    else if (!value && p->at + 1 < p->argc)
        value = p->argv[++p->at];
    if (!value)
        return usage(err, command, "--%s needs a value, %s", row->name, row->metavar);
    if (row >= nm_common_args && row < nm_common_args + COMMON) {
        p->common[row - nm_common_args] = value;
        return 0;
    }
    return add_value(p->out, (size_t)(row - command->args), value, err);
}

static const struct nm_arg *find_long(const struct nm_command *command, const char *name,
                                      size_t length)
{
    for (size_t i = 0; command && i < command->n_args; i++) {
        const struct nm_arg *row = &command->args[i];

        if ((strlen(row->name) == length && !memcmp(row->name, name, length)) ||
            (row->alias && strlen(row->alias) == length && !memcmp(row->alias, name, length)))
            return row;
    }
    for (size_t i = 0; i < COMMON; i++)
        if (strlen(nm_common_args[i].name) == length &&
            !memcmp(nm_common_args[i].name, name, length))
            return &nm_common_args[i];
    return NULL;
}

static const struct nm_arg *find_short(const struct nm_command *command, char name)
{
    for (size_t i = 0; command && i < command->n_args; i++)
        if (command->args[i].short_name == name)
            return &command->args[i];
    for (size_t i = 0; i < COMMON; i++)
        if (nm_common_args[i].short_name == name)
            return &nm_common_args[i];
    return NULL;
}

static int take_option(struct parser *p, const char *text, struct nm_error *err)
{
    const struct nm_command *command = p->out->command;
    const struct nm_arg *row;

    if (text[1] == '-') {
        size_t length = strcspn(text + 2, "=");

        row = find_long(command, text + 2, length);
        if (!row)
            return unknown_option(command, text + 2, length, err);
        return take(p, row, text[2 + length] ? text + 2 + length + 1 : NULL, err);
    }
    row = find_short(command, text[1]);
    if (!row)
        return usage(err, command, "unknown option -%c", text[1]);
    return take(p, row, text[2] ? text + 2 : NULL, err);
}

static int take_word(struct parser *p, const char *text, struct nm_error *err)
{
    struct nm_arguments *out = p->out;

    if (out->command) {
        p->words[out->n_words++] = text;
        return 0;
    }
    out->command = nm_command_find(text);
    return out->command ? 0 : unknown_command(text, err);
}

/* --- the whole --- */

static bool resolve_color(const char *wish)
{
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");

    if (wish && strcmp(wish, "auto"))
        return !strcmp(wish, "always");
    return !(no_color && *no_color) && !(terminal && !strcmp(terminal, "dumb")) &&
           isatty(STDOUT_FILENO);
}

static int check(const struct parser *p, struct nm_error *err)
{
    const struct nm_command *command = p->out->command;
    const char *color = p->common[COLOR];
    size_t n = p->out->n_words;

    if (color && strcmp(color, "auto") && strcmp(color, "always") && strcmp(color, "never"))
        return usage(err, command, "--color is auto, always or never");
    if (p->common[JSON] && !command->prints_data)
        return usage(err, command, "--json: `nasmark %s` prints no data", command->name);
    if (n < command->min_words)
        return usage(err, command, "%s is missing: nasmark %s %s", n ? "a word" : "what to work on",
                     command->name, command->syntax);
    if (n > command->max_words)
        return usage(err, command, "\"%.40s\" is one word too many: nasmark %s %s%s",
                     p->words[command->max_words], command->name,
                     command->syntax ? command->syntax : "",
                     command->syntax && strchr(command->syntax, '\'')
                         ? "; what belongs together stands in quotes"
                         : "");
    return 0;
}

int nm_arguments_parse(int argc, char **argv, struct nm_arguments *ret, enum nm_wish *ret_wish,
                       struct nm_error *err)
{
    struct parser p = {.out = ret, .argc = argc, .argv = argv, .at = 1};
    bool options = true;
    int r = 0;

    memset(ret, 0, sizeof(*ret));
    p.words = calloc((size_t)argc + 1, sizeof(*p.words));
    if (!p.words)
        return nm_error_no_memory(err);
    ret->words = p.words;
    for (; p.at < argc && !r; p.at++) {
        const char *text = argv[p.at];

        if (options && !strcmp(text, "--"))
            options = false;
        else if (options && text[0] == '-' && text[1])
            r = take_option(&p, text, err);
        else
            r = take_word(&p, text, err);
    }
    ret->db = p.common[DB];
    ret->credentials = p.common[CREDENTIALS];
    ret->json = p.common[JSON];
    ret->quiet = p.common[QUIET];
    ret->color = resolve_color(p.common[COLOR]);
    *ret_wish = p.common[HELP] ? NM_WISH_HELP : p.common[VERSION] ? NM_WISH_VERSION : NM_WISH_RUN;
    if (!r && *ret_wish == NM_WISH_RUN)
        r = ret->command ? check(&p, err)
                         : usage(err, NULL, "nasmark COMMAND: the command is missing");
    if (r < 0)
        nm_arguments_done(ret);
    return r;
}

void nm_arguments_done(struct nm_arguments *arguments)
{
    for (size_t i = 0; i < NM_ARGS_MAX; i++)
        free((void *)arguments->values[i]);
    free((void *)arguments->words);
    memset(arguments, 0, sizeof(*arguments));
}

/* The row of an option of the command; asking for one that it does not have is a defect. */
static size_t index_of(const struct nm_arguments *arguments, const char *name)
{
    const struct nm_command *command = arguments->command;

    for (size_t i = 0; i < command->n_args; i++)
        if (!strcmp(command->args[i].name, name))
            return i;
    nm_complain("internal: %s has no option --%s", command->name, name);
    abort();
}

const char *nm_arguments_get(const struct nm_arguments *arguments, const char *name)
{
    size_t i = index_of(arguments, name), n = arguments->n_values[i];

    return n ? arguments->values[i][n - 1] : NULL;
}

const char *const *nm_arguments_all(const struct nm_arguments *arguments, const char *name,
                                    size_t *ret_n)
{
    size_t i = index_of(arguments, name);

    *ret_n = arguments->n_values[i];
    return arguments->values[i];
}
