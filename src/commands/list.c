/* nasmark list: what there is. A new kind is one row of the table.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "list.h"

#include "options.h"

#include <errno.h>
#include <string.h>

static const struct nm_list_kind kinds[] = {
    {.name = "runs", .help = "invocations of run, bench and import", .print = nm_list_runs},
    {.name = "nas", .help = "devices and their firmware", .print = nm_list_nas},
    {.name = "cells", .help = "what was measured on what, with its rate", .print = nm_list_cells},
    {.name = "workloads", .help = "what can be measured", .print = nm_list_workloads},
    {.name = "profiles", .help = "workloads after known tools", .print = nm_list_profiles},
    {.name = "backends", .help = "over what it can be measured", .print = nm_list_backends},
};

static int run(const struct nm_arguments *arguments)
{
    const char *names[NM_OPTION_COUNT(kinds)], *word = arguments->words[0];
    struct nm_error err;

    for (size_t i = 0; i < NM_OPTION_COUNT(kinds); i++) {
        if (!strcmp(kinds[i].name, word))
            return kinds[i].print(arguments);
        names[i] = kinds[i].name;
    }
    nm_error_set(&err, -EINVAL, NM_REASON_NONE, "cannot list \"%.40s\"", word);
    nm_options_suggest(&err, word, names, NM_OPTION_COUNT(kinds));
    nm_complain("%s", err.text);
    return NM_EXIT_USAGE;
}

const struct nm_command nm_command_list = {
    .name = "list",
    .syntax = "runs|nas|cells|workloads|profiles|backends [SELECT]",
    .help = "list what is stored, and what can be measured over what",
    .details = "A workload or backend that is not built is listed with the reason.",
    .min_words = 1,
    .max_words = SIZE_MAX,
    .prints_data = true,
    .run = run,
};
