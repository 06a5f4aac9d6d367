/* Kinds of `nasmark list`: one row each in src/commands/list.c.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_COMMANDS_LIST_H
#define NM_COMMANDS_LIST_H

#include "command.h"

struct nm_list_kind {
    const char *name;
    const char *help;
    /* Prints text, or with arguments->json one array of objects. Returns an exit code. */
    int (*print)(const struct nm_arguments *arguments);
};

/* Workloads, profiles and backends (list_tables.c). */
int nm_list_workloads(const struct nm_arguments *arguments);
int nm_list_profiles(const struct nm_arguments *arguments);
int nm_list_backends(const struct nm_arguments *arguments);

/* Runs, NAS and cells of the database (list_store.c). */
int nm_list_runs(const struct nm_arguments *arguments);
int nm_list_nas(const struct nm_arguments *arguments);
int nm_list_cells(const struct nm_arguments *arguments);

#endif
