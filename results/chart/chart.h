/* Charts: cells -> figures -> one picture, or pieces of a page (report.h).
 *
 * A kind of chart is one file and one row of nm_chart_table: it turns cells into figures and knows
 * nothing of drawing. A chart holds several figures when the selection does (one per workload, cell
 * or volume); in a picture they stand one below the other.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_CHART_H
#define NM_CHART_H

#include "../select.h"
#include "../table_grid.h"
#include "figure.h"

/* Figures of one chart at most, unless less is asked for. */
#define NM_CHART_FIGURES_MAX 60

struct nm_chart {
    struct nm_figure *figures;
    size_t n_figures, max;
    size_t left_out; /* figures beyond max */
    struct nm_pool *pool;
    bool out_of_memory;
};

struct nm_chart_input {
    struct nm_store *store; /* for the samples of trials; NULL = there are none */
    const struct nm_cells *cells;
    const struct nm_language *language;
};

struct nm_chart_kind {
    const char *name;  /* as on the command line */
    const char *help;  /* one line */
    bool all_versions; /* of the firmware are read, unless some are named */
    const char *wants; /* of what there is nothing when there is no figure */
    /* Adds figures with nm_chart_add(). Out of memory is not its concern. */
    int (*fill)(const struct nm_chart_input *input, struct nm_chart *chart, struct nm_error *err);
};

extern const struct nm_chart_kind *const nm_chart_table[];   /* NULL-terminated */
const struct nm_chart_kind *nm_chart_find(const char *name); /* NULL = unknown */

/* max 0 = NM_CHART_FIGURES_MAX. No figure at all is no error. */
int nm_chart_new(const struct nm_chart_kind *kind, const struct nm_chart_input *input, size_t max,
                 struct nm_chart **ret, struct nm_error *err) NM_MUST_CHECK;
void nm_chart_free(struct nm_chart *chart);

/* The whole chart as one picture: "svg", "png" or "pdf". */
int nm_chart_write(const struct nm_chart *chart, const char *format, FILE *out,
                   struct nm_error *err) NM_MUST_CHECK;
const char *const *nm_chart_formats(void); /* NULL-terminated */

/* One figure as SVG for a page. */
void nm_chart_inline(const struct nm_figure *figure, double width, FILE *out);

/* ---- for kinds */

/* A new figure, zeroed, NULL when there is no room for it (it is counted) or no memory. */
struct nm_figure *nm_chart_add(struct nm_chart *chart);
/* Memory and texts of the chart; where there is no memory: NULL and "". */
void *nm_chart_alloc(struct nm_chart *chart, size_t n, size_t size);
const char *nm_chart_text(struct nm_chart *chart, const char *fmt, ...) NM_PRINTF(2, 3);

/* Gives the figure a table behind it with these heads; rows are added one by one, at most max. */
void nm_chart_table_begin(struct nm_chart *chart, struct nm_figure *figure,
                          const char *const *heads, size_t n_columns, size_t max_rows);
void nm_chart_table_row(struct nm_figure *figure, const char *const *texts);

/* "47.3" of a rate in B/s, as the tables print it; "" for NAN. */
const char *nm_chart_rate(struct nm_chart *chart, const struct nm_language *language,
                          double bytes_per_s);

/* Block size in the name of a step ("seq4KiB-q8-read"), 0 = it is none. */
uint64_t nm_chart_step_bytes(const char *phase);
/* A rate stands in this column. Without one there is nothing to draw. */
bool nm_chart_has_rate(const struct nm_grid *grid, size_t column);
/* The table has a row per block size: its picture is a curve. */
bool nm_chart_is_curve(const struct nm_grid *grid);

#endif
