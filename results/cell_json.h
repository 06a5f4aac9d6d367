/* Cells and trials as JSON, the same wherever they appear (table, show, export).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_CELL_JSON_H
#define NM_CELL_JSON_H

#include "select.h"

#include <jansson.h>

/* A new reference; NULL when out of memory. cell NULL = was never run. Numbers that are not there
 * are null. */
json_t *nm_cell_json(const struct nm_cell *cell);
json_t *nm_metrics_json(const struct nm_metrics *metrics);
json_t *nm_flags_json(const char *flags);
json_t *nm_conditions_json(const struct nm_conditions *conditions);

#endif
