/* Private to table_grid.c: in which order cells come, and which of them belong together.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_TABLE_ORDER_H
#define NM_TABLE_ORDER_H

#include "table_grid.h"

/* 0 = the same device, table, row or volume. */
int nm_order_device(enum nm_table_by by, const struct nm_cell *x, const struct nm_cell *y);
int nm_order_table(enum nm_table_by by, const struct nm_cell *x, const struct nm_cell *y);
int nm_order_row(enum nm_table_by by, const struct nm_cell *x, const struct nm_cell *y);
int nm_order_volume(const struct nm_cell *x, const struct nm_cell *y);

/* For qsort_r and qsort over pointers to cells; context: enum nm_table_by. */
int nm_order_cells(const void *px, const void *py, void *context);
int nm_order_steps(const void *px, const void *py);

/* Cells of one table: very many phases, all of them steps. */
bool nm_order_are_steps(const struct nm_cell *const *cells, size_t n);

#endif
