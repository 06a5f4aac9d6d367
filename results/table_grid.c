/* Cells laid out as tables (table_grid.h).
 *
 * A table holds what may be compared by looking at it: one device, one campaign, one workload, and
 * key conditions that agree within every column but for what the rows are about. What disagrees
 * goes to a table of its own, its twin.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "table_order.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static const unsigned factors[] = {
    [NM_TABLE_BY_VOLUME] = NM_FACTOR_VOLUME,
    [NM_TABLE_BY_PROTOCOL] = NM_FACTOR_PROTOCOL,
    [NM_TABLE_BY_FIRMWARE] = NM_FACTOR_FIRMWARE,
};

/* Conditions in which the phases of one group differ by their nature. */
static const char *const of_the_phase[] = {"direct",        "buffered", "flush",       "io_engine",
                                           "depth",         "streams",  "block_bytes", "smb.lanes",
                                           "workload.size", NULL};
/* The same in each column where a phase is a step: the step itself says them. */
static const char *const of_the_step[] = {"direct",    "buffered",    "flush",
                                          "io_engine", "block_bytes", "depth",
                                          "streams",   "smb.lanes",   NULL};

struct builder {
    enum nm_table_by by;
    bool steps; /* what is placed now has a row per step */
    struct nm_grids *grids;
    size_t room;
    size_t first_twin; /* grids from here on have the names of the current cells */
};

/* ---- filling a table */

static int no_memory(struct nm_error *err)
{
    return nm_error_errno(err, -ENOMEM, "table: out of memory");
}

static bool same_row(const struct builder *b, const struct nm_grid *grid, const struct nm_cell *x,
                     const struct nm_cell *y)
{
    size_t length = nm_grid_step(x->phase);

    return grid->by_step ? length == nm_grid_step(y->phase) && !strncmp(x->phase, y->phase, length)
                         : !nm_order_row(b->by, x, y);
}

/* Row of a cell, n_rows when it has none yet; neighbours come one after the other. */
static size_t find_row(const struct builder *b, const struct nm_grid *grid,
                       const struct nm_cell *cell)
{
    for (size_t i = grid->n_rows; i-- > 0;)
        if (same_row(b, grid, grid->rows[i], cell))
            return i;
    return grid->n_rows;
}

static size_t find_column(const struct nm_grid *grid, const struct nm_cell *cell)
{
    const char *name = cell->phase + (grid->by_step ? nm_grid_step(cell->phase) : 0);

    for (size_t i = 0; i < grid->n_columns; i++) {
        const char *there = grid->columns[i]->phase;

        if (!strcmp(there + (grid->by_step ? nm_grid_step(there) : 0), name))
            return i;
    }
    return grid->n_columns;
}

static int make_room(struct builder *b, struct nm_grid *grid, struct nm_error *err)
{
    size_t n_rows = grid->row_room, n_columns = grid->column_room;
    struct nm_pool *pool = b->grids->pool;
    struct nm_grid larger = *grid;

    if (grid->n_rows < n_rows && grid->n_columns < n_columns)
        return 0;
    larger.row_room = grid->n_rows < n_rows ? n_rows : 2 * n_rows + 8;
    larger.column_room = grid->n_columns < n_columns ? n_columns : 2 * n_columns + 2;
    larger.rows = nm_pool_alloc(pool, larger.row_room * sizeof(*larger.rows));
    larger.columns = nm_pool_alloc(pool, larger.column_room * sizeof(*larger.columns));
    larger.numbers = nm_pool_alloc(pool, larger.column_room * sizeof(*larger.numbers));
    larger.cells =
        nm_pool_alloc(pool, larger.row_room * larger.column_room * sizeof(*larger.cells));
    if (!larger.rows || !larger.columns || !larger.numbers || !larger.cells)
        return no_memory(err);
    for (size_t k = 0; k < grid->n_columns; k++) {
        larger.columns[k] = grid->columns[k];
        larger.numbers[k] = grid->numbers[k];
    }
    for (size_t i = 0; i < grid->n_rows; i++) {
        larger.rows[i] = grid->rows[i];
        for (size_t k = 0; k < grid->n_columns; k++)
            larger.cells[i * larger.column_room + k] = nm_grid_cell(grid, i, k);
    }
    *grid = larger;
    return 0;
}

static int put_row(struct builder *b, struct nm_grid *grid, const struct nm_cell *cell,
                   size_t *ret_row, struct nm_error *err)
{
    int r;

    *ret_row = find_row(b, grid, cell);
    if (*ret_row < grid->n_rows)
        return 0;
    r = make_room(b, grid, err);
    if (r == 0)
        grid->rows[grid->n_rows++] = cell;
    return r;
}

static int put(struct builder *b, struct nm_grid *grid, const struct nm_cell *cell,
               struct nm_error *err)
{
    size_t column = find_column(grid, cell), row;
    int r = put_row(b, grid, cell, &row, err);

    if (r == 0 && column == grid->n_columns) {
        r = make_room(b, grid, err);
        if (r == 0)
            grid->columns[grid->n_columns++] = cell;
    }
    if (r < 0)
        return r;
    grid->cells[row * grid->column_room + column] = cell;
    if (grid->by_step && cell->phase_index < grid->rows[row]->phase_index)
        grid->rows[row] = cell; /* rows are sorted by their first step */
    if (cell->n_ok && !grid->numbers[column])
        grid->numbers[column] = cell;
    return 0;
}

/* Numbers may stand side by side. What is implied at all is implied by every sort of row, so equal
 * key conditions are enough. */
static bool agree(const struct builder *b, const struct nm_cell *x, const struct nm_cell *y,
                  const char *const *allowed)
{
    size_t from = 0;

    return !strcmp(x->conditions_hash, y->conditions_hash) ||
           !nm_conditions_conflict(x->conditions, y->conditions, factors[b->by], allowed, &from);
}

static bool fits(const struct builder *b, const struct nm_grid *grid, const struct nm_cell *cell)
{
    size_t row = find_row(b, grid, cell), column = find_column(grid, cell);

    if (row < grid->n_rows && column < grid->n_columns && nm_grid_cell(grid, row, column))
        return false;
    if (!cell->n_ok)
        return true;
    if (column < grid->n_columns && grid->numbers[column])
        return agree(b, grid->numbers[column], cell, grid->by_step ? of_the_step : NULL);
    for (size_t k = 0; k < grid->n_columns; k++)
        if (grid->numbers[k])
            return agree(b, grid->numbers[k], cell, of_the_phase);
    return true;
}

static int place(struct builder *b, const struct nm_cell *cell, struct nm_error *err)
{
    struct nm_grids *grids = b->grids;

    for (size_t i = b->first_twin; i < grids->count; i++)
        if (fits(b, &grids->items[i], cell))
            return put(b, &grids->items[i], cell, err);
    if (grids->count == b->room) {
        size_t room = b->room ? 2 * b->room : 16;
        struct nm_grid *items = reallocarray(grids->items, room, sizeof(*items));

        if (!items)
            return no_memory(err);
        grids->items = items;
        b->room = room;
    }
    grids->items[grids->count] = (struct nm_grid){.names = cell, .by_step = b->steps};
    return put(b, &grids->items[grids->count++], cell, err);
}

/* ---- finishing */

/* Of the same names; conditions differ. */
static bool are_twins(const struct builder *b, const struct nm_grid *x, const struct nm_grid *y)
{
    return !nm_order_table(b->by, x->names, y->names) &&
           (!x->by_step || !nm_order_volume(x->names, y->names));
}

/* Some twin of this table has the row. */
static bool twin_has_row(const struct builder *b, const struct nm_grid *grid,
                         const struct nm_cell *cell)
{
    const struct nm_grid *end = b->grids->items + b->grids->count;

    for (const struct nm_grid *twin = grid + 1; twin < end && twin->is_twin; twin++)
        if (find_row(b, twin, cell) < twin->n_rows)
            return true;
    return false;
}

/* Every first table of [first, last) gets the rows of all of them, except those that its twins
 * have: what was not run is said, not left out. */
static int share_rows(struct builder *b, size_t first, size_t last, struct nm_error *err)
{
    struct nm_grid all = {0};
    size_t row;
    int r = 0;

    for (size_t i = first; i < last && r == 0; i++)
        for (size_t k = 0; k < b->grids->items[i].n_rows && r == 0; k++)
            if (!b->grids->items[i].by_step)
                r = put_row(b, &all, b->grids->items[i].rows[k], &row, err);
    for (size_t i = first; i < last && r == 0; i++) {
        struct nm_grid *grid = &b->grids->items[i];

        if (grid->by_step || grid->is_twin)
            continue; /* a twin shows what it has */
        for (size_t k = 0; k < all.n_rows && r == 0; k++)
            if (!twin_has_row(b, grid, all.rows[k]))
                r = put_row(b, grid, all.rows[k], &row, err);
    }
    return r;
}

static void swap(const struct nm_cell **x, const struct nm_cell **y)
{
    const struct nm_cell *keep = *x;

    *x = *y;
    *y = keep;
}

static int row_order(const struct builder *b, const struct nm_grid *grid, const struct nm_cell *x,
                     const struct nm_cell *y)
{
    return grid->by_step ? COMPARE(x->phase_index, y->phase_index) : nm_order_row(b->by, x, y);
}

/* Tables are small and come nearly sorted. */
static void sort(const struct builder *b, struct nm_grid *grid)
{
    size_t stride = grid->column_room;

    for (size_t i = 1; i < grid->n_rows; i++)
        for (size_t k = i; k > 0 && row_order(b, grid, grid->rows[k - 1], grid->rows[k]) > 0; k--) {
            swap(&grid->rows[k - 1], &grid->rows[k]);
            for (size_t c = 0; c < grid->n_columns; c++)
                swap(&grid->cells[(k - 1) * stride + c], &grid->cells[k * stride + c]);
        }
    for (size_t i = 1; i < grid->n_columns; i++)
        for (size_t k = i;
             k > 0 && grid->columns[k - 1]->phase_index > grid->columns[k]->phase_index; k--) {
            swap(&grid->columns[k - 1], &grid->columns[k]);
            swap(&grid->numbers[k - 1], &grid->numbers[k]);
            for (size_t row = 0; row < grid->n_rows; row++)
                swap(&grid->cells[row * stride + k - 1], &grid->cells[row * stride + k]);
        }
}

static const struct nm_cell *any_number(const struct nm_grid *grid)
{
    for (size_t k = 0; k < grid->n_columns; k++)
        if (grid->numbers[k])
            return grid->numbers[k];
    return grid->names;
}

static bool differs_from_a_twin(const struct builder *b, size_t at, size_t first, size_t last,
                                size_t condition)
{
    const struct nm_grid *grids = b->grids->items;
    const struct nm_conditions *own = any_number(&grids[at])->conditions;

    for (size_t i = first; i < last; i++) {
        size_t from = condition;

        if (i != at &&
            nm_conditions_conflict(own, any_number(&grids[i])->conditions, factors[b->by],
                                   of_the_phase, &from) == &nm_condition_table[condition])
            return true;
    }
    return false;
}

/* "smb.dialect = 3.1.1; block_bytes = 1048576 B": in what a table differs from its twins. */
static int name_variant(struct builder *b, size_t at, size_t first, size_t last,
                        struct nm_error *err)
{
    struct nm_grid *grid = &b->grids->items[at];
    char *text = NULL;
    size_t size = 0, n = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return no_memory(err);
    for (size_t d = 0; d < nm_condition_table_length; d++) {
        const struct nm_condition_def *def = &nm_condition_table[d];

        if (differs_from_a_twin(b, at, first, last, d))
            fprintf(out, "%s%s = %s%s%s", n++ ? "; " : "", def->name,
                    nm_conditions_get(any_number(grid)->conditions, def->name),
                    *def->unit ? " " : "", def->unit);
    }
    if (fclose(out)) {
        free(text);
        return no_memory(err);
    }
    if (n)
        grid->variant = nm_pool_text(b->grids->pool, text);
    free(text);
    return n && !grid->variant ? no_memory(err) : 0;
}

/* Tables that go together are neighbours. A plan measures every volume with every workload; what
 * was imported comes from several publications that know nothing of each other. */
static bool share(const struct builder *b, const struct nm_grid *x, const struct nm_grid *y)
{
    return !nm_order_device(b->by, x->names, y->names) &&
           (!x->names->imported || !strcmp(x->names->workload, y->names->workload));
}

static int finish(struct builder *b, struct nm_error *err)
{
    struct nm_grid *grids = b->grids->items;
    size_t count = b->grids->count;
    int r = 0;

    for (size_t i = 1; i < count; i++)
        grids[i].is_twin = are_twins(b, &grids[i - 1], &grids[i]);
    for (size_t i = 0, end; i < count && r == 0; i = end) {
        for (end = i + 1; end < count && share(b, &grids[i], &grids[end]);)
            end++;
        r = share_rows(b, i, end, err);
    }
    for (size_t i = 0, end; i < count && r == 0; i = end) {
        for (end = i + 1; end < count && grids[end].is_twin;)
            end++;
        for (size_t k = i; k < end && r == 0; k++) {
            sort(b, &grids[k]);
            r = end - i > 1 ? name_variant(b, k, i, end, err) : 0;
        }
    }
    return r;
}

/* Cells of the same table, in order. */
static int place_table(struct builder *b, const struct nm_cell **cells, size_t n, bool steps,
                       struct nm_error *err)
{
    int r = 0;

    b->steps = steps && b->by == NM_TABLE_BY_VOLUME && nm_order_are_steps(cells, n);
    if (b->steps)
        qsort(cells, n, sizeof(*cells), nm_order_steps);
    for (size_t i = 0; i < n && r == 0; i++) {
        if (!i || (b->steps && nm_order_volume(cells[i - 1], cells[i])))
            b->first_twin = b->grids->count;
        r = place(b, cells[i], err);
    }
    return r;
}

int nm_grids_new(const struct nm_cells *cells, enum nm_table_by by, bool steps,
                 struct nm_grids **ret_grids, struct nm_error *err)
{
    const struct nm_cell **order = calloc(cells->count + 1, sizeof(*order));
    struct builder b = {.by = by, .grids = calloc(1, sizeof(*b.grids))};
    int r = 0;

    if (!order || !b.grids || !(b.grids->pool = nm_pool_new()))
        r = no_memory(err);
    if (r == 0) {
        for (size_t i = 0; i < cells->count; i++)
            order[i] = &cells->items[i];
        qsort_r(order, cells->count, sizeof(*order), nm_order_cells, &by);
    }
    for (size_t i = 0, end; i < cells->count && r == 0; i = end) {
        for (end = i + 1; end < cells->count && !nm_order_table(by, order[i], order[end]);)
            end++;
        r = place_table(&b, &order[i], end - i, steps, err);
    }
    if (r == 0)
        r = finish(&b, err);
    free(order);
    if (r < 0)
        nm_grids_free(b.grids);
    else
        *ret_grids = b.grids;
    return r;
}

void nm_grids_free(struct nm_grids *grids)
{
    if (!grids)
        return;
    nm_pool_free(grids->pool);
    free(grids->items);
    free(grids);
}
