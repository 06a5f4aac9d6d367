/* --help, from the tables (command.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command.h"

#include <string.h>

#define INDENT 26
#define WIDTH  96

void nm_help_fold(FILE *out, const char *text, size_t indent, size_t at)
{
    while (*text) {
        size_t word = strcspn(text, " ");

        if (at > indent && at + 1 + word > WIDTH) {
            fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (at > indent) {
            putc(' ', out);
            at++;
        }
        fprintf(out, "%.*s", (int)word, text);
        at += word;
        text += word;
        text += strspn(text, " ");
    }
    putc('\n', out);
}

static void put_entry(FILE *out, const char *left, const char *help)
{
    size_t length = strlen(left);

    if (length + 2 > INDENT)
        fprintf(out, "%s\n%*s", left, INDENT, "");
    else
        fprintf(out, "%-*s", INDENT, left);
    nm_help_fold(out, help, INDENT, INDENT);
}

/* Those rows whose of_data is as wanted. */
static void put_options(FILE *out, const struct nm_arg *args, size_t n, bool of_data)
{
    char left[80], short_name[8] = "";

    for (size_t i = 0; i < n; i++) {
        if (args[i].of_data != of_data)
            continue;
        short_name[0] = '\0';
        if (args[i].short_name)
            snprintf(short_name, sizeof(short_name), "-%c, ", args[i].short_name);
        snprintf(left, sizeof(left), "  %s--%s%s%s%s%s", short_name, args[i].name,
                 args[i].alias ? ", --" : "", args[i].alias ? args[i].alias : "",
                 args[i].metavar ? " " : "", args[i].metavar ? args[i].metavar : "");
        put_entry(out, left, args[i].help);
    }
}

static void put_common(FILE *out, bool prints_data)
{
    fputs("\nOptions of every command:\n", out);
    put_options(out, nm_common_args, nm_n_common_args, false);
    if (!prints_data)
        return;
    fputs("\nOption of commands that print data:\n", out);
    put_options(out, nm_common_args, nm_n_common_args, true);
}

static void put_program(FILE *out)
{
    char left[40];

    fputs("Usage: nasmark COMMAND [OPTIONS]\n\n"
          "Measures how fast files go to and come from network storage over SMB, NFS, iSCSI and\n"
          "local paths.\n\n"
          "Commands:\n",
          out);
    for (size_t i = 0; nm_command_table[i]; i++) {
        snprintf(left, sizeof(left), "  %s", nm_command_table[i]->name);
        put_entry(out, left, nm_command_table[i]->help);
    }
    put_common(out, true);
    fputs("\n`nasmark COMMAND --help` explains one command, `man nasmark` all of it.\n", out);
}

void nm_help_print(const struct nm_command *command, FILE *out)
{
    if (!command) {
        put_program(out);
        return;
    }
    fprintf(out, "Usage: nasmark %s%s%s%s\n\n", command->name, command->syntax ? " " : "",
            command->syntax ? command->syntax : "", command->n_args ? " [OPTIONS]" : "");
    nm_help_fold(out, command->help, 0, 0);
    if (command->details) {
        putc('\n', out);
        nm_help_fold(out, command->details, 0, 0);
    }
    if (command->n_args) {
        fputs("\nOptions:\n", out);
        put_options(out, command->args, command->n_args, false);
    }
    put_common(out, command->prints_data);
}
