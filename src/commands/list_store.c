/* nasmark list runs|nas|cells: what is in the database.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "list.h"

#include "../../results/browse.h"
#include "stored.h"

static int list(const struct nm_arguments *arguments,
                int (*browse)(struct nm_store *, const struct nm_select *, json_t **,
                              struct nm_error *))
{
    struct nm_select *select = NULL;
    struct nm_store *store = NULL;
    struct nm_error err = {0};
    json_t *rows = NULL;
    int r = nm_select_parse(arguments->words + 1, arguments->n_words - 1, &select, &err);

    if (r == 0)
        r = nm_stored_open(arguments, NM_STORE_READ, &store, &err);
    if (r == 0)
        r = browse(store, select, &rows, &err);
    if (r == 0)
        r = nm_stored_print_rows(arguments, rows, &err);
    json_decref(rows);
    nm_select_free(select);
    nm_store_close(store);
    return r < 0 ? nm_stored_fail(&err) : NM_EXIT_OK;
}

int nm_list_runs(const struct nm_arguments *arguments)
{
    return list(arguments, nm_browse_runs);
}

int nm_list_nas(const struct nm_arguments *arguments)
{
    return list(arguments, nm_browse_nas);
}

int nm_list_cells(const struct nm_arguments *arguments)
{
    return list(arguments, nm_browse_cells);
}
