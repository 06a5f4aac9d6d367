/* Every command, in the order of `nasmark --help`. A new command is one file in src/commands/ and
 * one row here.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command.h"

extern const struct nm_command nm_command_run, nm_command_bench, nm_command_tables,
    nm_command_report, nm_command_chart, nm_command_compare, nm_command_history, nm_command_import,
    nm_command_probe, nm_command_clean, nm_command_export, nm_command_list, nm_command_show,
    nm_command_void, nm_command_note, nm_command_plan, nm_command_help, nm_command_align;

/* clang-format off */
const struct nm_command *const nm_command_table[] = {
    &nm_command_run,
    &nm_command_bench,
    &nm_command_tables,
    &nm_command_report,
    &nm_command_chart,
    &nm_command_compare,
    &nm_command_history,
    &nm_command_import,
    &nm_command_probe,
    &nm_command_align,
    &nm_command_clean,
    &nm_command_export,
    &nm_command_list,
    &nm_command_show,
    &nm_command_void,
    &nm_command_note,
    &nm_command_plan,
    &nm_command_help,
    NULL,
};
/* clang-format on */
