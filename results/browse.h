/* What is in the store, as JSON: for `nasmark list` and `nasmark show`. Arrays of objects with
 * units in the key names; what is not known is null.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_BROWSE_H
#define NM_BROWSE_H

#include "select.h"

#include <jansson.h>

/* Runs and NAS that fit the words nas= firmware= run= campaign= since= of the selection; other
 * words are -EINVAL. */
int nm_browse_runs(struct nm_store *store, const struct nm_select *select, json_t **ret,
                   struct nm_error *err) NM_MUST_CHECK;
int nm_browse_nas(struct nm_store *store, const struct nm_select *select, json_t **ret,
                  struct nm_error *err) NM_MUST_CHECK;

/* Cells, any selection. */
int nm_browse_cells(struct nm_store *store, const struct nm_select *select, json_t **ret,
                    struct nm_error *err) NM_MUST_CHECK;

/* One run with its remarks and trials, or one trial with everything. An array with one object;
 * -ENOENT when there is neither. */
int nm_browse_show(struct nm_store *store, const char *id, json_t **ret,
                   struct nm_error *err) NM_MUST_CHECK;

#endif
