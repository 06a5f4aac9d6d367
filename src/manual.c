/* The man page, from the tables of commands, sections, workloads, profiles and backends, and from
 * the prose of manual_text.c (command.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command.h"
#include "manual_text.h"
#include "plan.h"

#include <string.h>

/* Text with what roff would take for itself escaped. */
static void put_text(FILE *out, const char *text)
{
    for (const char *at = text; *at; at++) {
        if ((*at == '.' || *at == '\'') && (at == text || at[-1] == '\n'))
            fputs("\\&", out);
        if (*at == '\\')
            fputs("\\e", out);
        else if (*at == '-')
            fputs("\\-", out);
        else
            putc(*at, out);
    }
}

static void put_macro(FILE *out, const char *macro, const char *text)
{
    fprintf(out, ".%s ", macro);
    put_text(out, text);
    putc('\n', out);
}

static void put_paragraph(FILE *out, const char *text)
{
    fputs(".PP\n", out);
    if (*text == ' ')
        fputs(".nf\n", out);
    put_text(out, text);
    putc('\n', out);
    if (*text == ' ')
        fputs(".fi\n", out);
}

static void put_definition(FILE *out, const char *term, const char *text)
{
    fputs(".TP\n.B ", out);
    put_text(out, term);
    putc('\n', out);
    put_text(out, text);
    putc('\n', out);
}

static void put_blocks(FILE *out, const struct nm_manual_block *block)
{
    for (; block->text; block++) {
        if (block->heading)
            fprintf(out, ".SH %s\n", block->heading);
        if (block->term)
            put_definition(out, block->term, block->text);
        else
            put_paragraph(out, block->text);
    }
}

/* Those rows whose of_data is as wanted. */
static void put_options(FILE *out, const struct nm_arg *args, size_t n, bool of_data)
{
    for (size_t i = 0; i < n; i++) {
        if (args[i].of_data != of_data)
            continue;
        fputs(".TP\n", out);
        if (args[i].short_name)
            fprintf(out, "\\fB\\-%c\\fR, ", args[i].short_name);
        fputs("\\fB\\-\\-", out);
        put_text(out, args[i].name);
        fputs("\\fR", out);
        if (args[i].alias) {
            fputs(", \\fB\\-\\-", out);
            put_text(out, args[i].alias);
            fputs("\\fR", out);
        }
        if (args[i].metavar) {
            fputs(" \\fI", out);
            put_text(out, args[i].metavar);
            fputs("\\fR", out);
        }
        putc('\n', out);
        put_text(out, args[i].help);
        putc('\n', out);
    }
}

static void put_commands(FILE *out)
{
    fputs(".SH COMMANDS\n", out);
    for (size_t i = 0; nm_command_table[i]; i++) {
        const struct nm_command *command = nm_command_table[i];

        fprintf(out, ".SS nasmark %s ", command->name);
        if (command->syntax)
            put_text(out, command->syntax);
        putc('\n', out);
        put_paragraph(out, command->help);
        if (command->details)
            put_paragraph(out, command->details);
        put_options(out, command->args, command->n_args, false);
    }
    fputs(".SS Options of every command\n", out);
    put_options(out, nm_common_args, nm_n_common_args, false);
    fputs(".SS Option of commands that print data\n", out);
    put_options(out, nm_common_args, nm_n_common_args, true);
    fputs(".PP\nCommands that print data:\n", out);
    for (size_t i = 0, n = 0; nm_command_table[i]; i++)
        if (nm_command_table[i]->prints_data)
            fprintf(out, "%s%s", n++ ? ", " : "", nm_command_table[i]->name);
    fputs(".\n", out);
}

static void put_key(FILE *out, const struct nm_option *option)
{
    char type[200];

    fputs(".TP\n\\fB", out);
    put_text(out, option->name);
    fputs("\\fR = \\fI", out);
    put_text(out, nm_options_type_help(option, type, sizeof(type)));
    fputs("\\fR", out);
    if (option->preset && *option->preset) {
        fputs(" (", out);
        put_text(out, option->preset);
        putc(')', out);
    } else if (option->required) {
        fputs(" (required)", out);
    }
    putc('\n', out);
    put_text(out, option->help);
    putc('\n', out);
}

static void put_plan(FILE *out)
{
    fputs(".SH PLAN FILE\n", out);
    put_paragraph(out,
                  "A plan is an INI file: sections in brackets, KEY = VALUE lines, comments behind "
                  "\";\". `nasmark plan` prints one with every key. An unknown section, key or "
                  "value is an error with its line, and nothing runs. In parentheses: the value of "
                  "a key that is left out.");
    for (const struct nm_option_section *const *s = nm_plan_sections(); *s; s++) {
        put_macro(out, "SS", (*s)->name);
        put_paragraph(out, (*s)->help);
        for (size_t i = 0; i < (*s)->n_options; i++)
            put_key(out, &(*s)->options[i]);
    }
}

static void put_tables(FILE *out)
{
    fputs(".SH WORKLOADS\n", out);
    for (size_t i = 0; nm_workload_table[i]; i++) {
        const struct nm_workload_ops *ops = nm_workload_table[i];

        put_definition(out, ops->syntax ? ops->syntax : ops->name, ops->help);
    }
    fputs(".SH PROFILES\n", out);
    put_paragraph(out, "A profile is a workload with other values in its section; [profile NAME] "
                       "of a plan makes more of them. `nasmark list profiles` prints the values.");
    for (size_t i = 0; nm_profile_table[i]; i++)
        put_definition(out, nm_profile_table[i]->name, nm_profile_table[i]->help);
    fputs(".SH BACKENDS\n", out);
    for (size_t i = 0; nm_backend_table[i]; i++)
        put_definition(out, nm_backend_table[i]->name, nm_backend_table[i]->help);
}

void nm_manual_print(FILE *out)
{
    fputs(".\\\" Made by docs/man/update from the tables of the program; do not edit.\n"
          ".TH NASMARK 1 \"\" \"nasmark " NM_VERSION "\"\n"
          ".nh\n.ad l\n"
          ".SH NAME\n"
          "nasmark \\- measure network storage over SMB, NFS, iSCSI and local paths\n"
          ".SH SYNOPSIS\n"
          "\\fBnasmark\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR] ...\n",
          out);
    put_blocks(out, nm_manual_before);
    put_commands(out);
    put_plan(out);
    put_tables(out);
    put_blocks(out, nm_manual_after);
}
