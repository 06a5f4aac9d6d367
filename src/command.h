/* Commands of the program: one const row each in src/commands.c, one file each in src/commands/.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_COMMAND_H
#define NM_COMMAND_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum nm_exit {
    NM_EXIT_OK = 0,
    NM_EXIT_FAILED = 1, /* a trial failed, or a comparison regressed */
    NM_EXIT_USAGE = 2,  /* usage, plan or database error */
    NM_EXIT_UNPROVEN = 3,
    NM_EXIT_NOT_COMPARABLE = 4,
    NM_EXIT_SIGINT = 130,
    NM_EXIT_SIGTERM = 143,
};

enum nm_arg_type {
    NM_ARG_FLAG,   /* --again */
    NM_ARG_VALUE,  /* --trials N */
    NM_ARG_VALUES, /* may be repeated: --volume V */
};

/* One option of a command; --help, the man page and completion come from these rows. */
struct nm_arg {
    const char *name;  /* "trials" */
    char short_name;   /* 'o' for -o, 0 = none */
    const char *alias; /* "passes", NULL = none */
    enum nm_arg_type type;
    const char *metavar; /* "N" */
    const char *help;
    bool of_data; /* common, but only of commands that print data */
};

#define NM_ARGS_MAX 32 /* options of one command */

/* What stood on the command line, after the common options were taken out. */
struct nm_arguments {
    const struct nm_command *command;
    const char *const *words; /* positional */
    size_t n_words;
    const char *const *values[NM_ARGS_MAX]; /* parallel to command->args: values given,
                                               NULL-terminated list */
    size_t n_values[NM_ARGS_MAX];
    /* common to every command */
    const char *db;          /* --db, NULL = default */
    const char *credentials; /* --credentials FILE */
    bool json, quiet;
    bool color; /* resolved from --color, NO_COLOR and the terminal */
};

struct nm_command {
    const char *name;    /* "table" */
    const char *syntax;  /* positional words: "PLAN", "[SELECT]"; NULL = none */
    const char *help;    /* one line */
    const char *details; /* paragraphs for --help and the man page, or NULL */
    const struct nm_arg *args;
    size_t n_args;
    size_t min_words, max_words; /* positional; max 0 with min 0 = none; SIZE_MAX = any number */
    bool prints_data;            /* --json is meaningful */
    int (*run)(const struct nm_arguments *arguments); /* returns an exit code */
};

extern const struct nm_command *const nm_command_table[]; /* NULL-terminated */

/* Options of every command. */
extern const struct nm_arg nm_common_args[];
extern const size_t nm_n_common_args;

/* What the command line asks for besides running its command. */
enum nm_wish { NM_WISH_RUN, NM_WISH_HELP, NM_WISH_VERSION };

/* Fills *ret from argv, whose texts must outlive it. ret->command is NULL for a wish without a
 * command. Common options may stand before the command. */
int nm_arguments_parse(int argc, char **argv, struct nm_arguments *ret, enum nm_wish *ret_wish,
                       struct nm_error *err) NM_MUST_CHECK;
void nm_arguments_done(struct nm_arguments *arguments);

/* The row of a command, NULL = unknown. */
const struct nm_command *nm_command_find(const char *name);

/* --help: of one command, or (NULL) of the program. */
void nm_help_print(const struct nm_command *command, FILE *out);

/* Text folded at blanks, the following lines indented; the first begins at column `at`. */
void nm_help_fold(FILE *out, const char *text, size_t indent, size_t at);

/* The man page (roff) and the completion of bash, made from the tables of commands, plan sections,
 * workloads, profiles and backends. */
void nm_manual_print(FILE *out);
void nm_completion_print(FILE *out);

/* Value of an option, NULL when absent (the last one given wins); flags give "". */
const char *nm_arguments_get(const struct nm_arguments *arguments, const char *name);
const char *const *nm_arguments_all(const struct nm_arguments *arguments, const char *name,
                                    size_t *ret_n);

/* "nasmark: warning: LINE" on stderr for each line of text; NULL = none. */
void nm_warn(const char *lines);

/* "nasmark: TEXT" on stderr. */
void nm_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
