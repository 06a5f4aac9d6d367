/* nasmark help: the texts that are made from the tables.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command.h"

static const struct nm_arg args[] = {
    {.name = "man", .type = NM_ARG_FLAG, .help = "print the man page (roff)"},
    {.name = "completion", .type = NM_ARG_FLAG, .help = "print the completion for bash"},
};

static int run(const struct nm_arguments *arguments)
{
    const struct nm_command *command = NULL;

    if (arguments->n_words) {
        command = nm_command_find(arguments->words[0]);
        if (!command) {
            nm_complain("unknown command \"%.40s\"; see `nasmark --help`", arguments->words[0]);
            return NM_EXIT_USAGE;
        }
    }
    if (nm_arguments_get(arguments, "man"))
        nm_manual_print(stdout);
    else if (nm_arguments_get(arguments, "completion"))
        nm_completion_print(stdout);
    else
        nm_help_print(command, stdout);
    return NM_EXIT_OK;
}

const struct nm_command nm_command_help = {
    .name = "help",
    .syntax = "[COMMAND]",
    .help = "explain the program or a command",
    .args = args,
    .n_args = sizeof(args) / sizeof(args[0]),
    .max_words = 1,
    .run = run,
};
