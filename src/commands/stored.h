/* What the commands that only read the store have in common.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_COMMANDS_STORED_H
#define NM_COMMANDS_STORED_H

#include "../../results/select.h"
#include "command.h"
#include "language.h"

#include <jansson.h>
#include <stdio.h>

/* Opens the database of --db and says on standard error what the user should know about it. */
int nm_stored_open(const struct nm_arguments *arguments, enum nm_store_mode mode,
                   struct nm_store **ret_store, struct nm_error *err) NM_MUST_CHECK;

/* Cells that the words select; complains when there is none. The store stays open. */
int nm_stored_cells(const struct nm_arguments *arguments, bool metrics, struct nm_store **ret_store,
                    struct nm_cells **ret_cells, struct nm_error *err) NM_MUST_CHECK;

/* The same with metrics, of every firmware version unless some are named. */
int nm_stored_versions(const struct nm_arguments *arguments, struct nm_store **ret_store,
                       struct nm_cells **ret_cells, struct nm_error *err) NM_MUST_CHECK;
/* Every version from a store that is open already, for rates alone. */
int nm_stored_more_versions(const struct nm_arguments *arguments, struct nm_store *store,
                            struct nm_cells **ret_cells, struct nm_error *err) NM_MUST_CHECK;

/* Language of --lang, else of the user. */
int nm_stored_language(const struct nm_arguments *arguments, const struct nm_language **ret,
                       struct nm_error *err) NM_MUST_CHECK;

/* Complains and returns the exit code for an error. */
int nm_stored_fail(const struct nm_error *err);

/* An array of objects: as JSON with --json, else as an aligned table whose head are the keys. */
int nm_stored_print_rows(const struct nm_arguments *arguments, const json_t *rows,
                         struct nm_error *err) NM_MUST_CHECK;

/* An array of objects, each as a page of "key: value" lines. */
int nm_stored_print_pages(const struct nm_arguments *arguments, const json_t *pages,
                          struct nm_error *err) NM_MUST_CHECK;

#endif
