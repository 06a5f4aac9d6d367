/* Completion for bash, from the tables (command.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command.h"

#include <string.h>

static void put_words(FILE *out, const struct nm_arg *args, size_t n, bool prints_data)
{
    for (size_t i = 0; i < n; i++)
        if (prints_data || !args[i].of_data)
            fprintf(out, " --%s", args[i].name);
}

/* The length of "auto|always|never" at the start of text, 0 when it is something else. */
static size_t choices(const char *text)
{
    size_t length = text ? strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789.-|") : 0;

    if (!length || !memchr(text, '|', length) || (text[length] && text[length] != ' '))
        return 0;
    return length;
}

static void put_choices(FILE *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        putc(text[i] == '|' ? ' ' : text[i], out);
}

/* A line of `case $command $prev`: what may follow an option that takes a value. */
static void put_values(FILE *out, const char *command, const struct nm_arg *args, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t length = choices(args[i].metavar);

        if (args[i].type == NM_ARG_FLAG)
            continue;
        fprintf(out, "    %s\\ --%s)", command, args[i].name);
        if (length) {
            fputs(" words='", out);
            put_choices(out, args[i].metavar, length);
            fputs("' ;;\n", out);
        } else {
            fputs(" return ;; # files\n", out);
        }
    }
}

void nm_completion_print(FILE *out)
{
    fputs("# Completion of nasmark for bash; made by `nasmark help --completion`.\n"
          "_nasmark()\n"
          "{\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
          "    local command= words= i\n"
          "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
          "        case ${COMP_WORDS[i]} in\n"
          "        -*) ;;\n"
          "        *) command=${COMP_WORDS[i]}; break ;;\n"
          "        esac\n"
          "    done\n"
          "    case $command in\n"
          "    '') words='",
          out);
    for (size_t i = 0; nm_command_table[i]; i++)
        fprintf(out, "%s%s", i ? " " : "", nm_command_table[i]->name);
    fputs(" --help --version' ;;\n", out);
    for (size_t i = 0; nm_command_table[i]; i++) {
        const struct nm_command *command = nm_command_table[i];

        fprintf(out, "    %s) words='", command->name);
        if (command->syntax)
            put_choices(out, command->syntax, choices(command->syntax));
        put_words(out, command->args, command->n_args, command->prints_data);
        put_words(out, nm_common_args, nm_n_common_args, command->prints_data);
        fputs("' ;;\n", out);
    }
    fputs("    esac\n"
          "    case \"$command $previous\" in\n",
          out);
    for (size_t i = 0; nm_command_table[i]; i++)
        put_values(out, nm_command_table[i]->name, nm_command_table[i]->args,
                   nm_command_table[i]->n_args);
    put_values(out, "*", nm_common_args, nm_n_common_args);
    fputs("    esac\n"
          "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
          "}\n"
          "complete -o default -F _nasmark nasmark\n",
          out);
}
