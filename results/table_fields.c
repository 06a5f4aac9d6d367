/* What stands in the columns of a table (table_grid.h).
 *
 * A phase has one column, its rate. In a table of steps it has those of the tool that the steps
 * come from: rate and IO/s like ATTO where a step runs once, and the card of CrystalDiskMark (best,
 * median, IO/s of the best, lowest mean latency) where it runs several times. A mix also has a
 * column for each of its streams.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "table_grid.h"

#include "steps.h"
#include "units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PARTS_MAX   4
#define STREAMS_MAX 16 /* of a kind, as many as a table is wide */

static double metric_of(const struct nm_cell *cell, const char *name)
{
    struct nm_metrics metrics;
    const struct nm_metric *metric;

    if (!cell || !cell->n_ok)
        return NAN;
    nm_cell_metrics(cell, &metrics);
    metric = nm_metrics_get(&metrics, name);
    return metric ? metric->value : NAN;
}

/* Rates of streams; a mix moves no bytes of its own. */
static bool is_mix_table(const struct nm_grid *grid)
{
    for (size_t row = 0; row < grid->n_rows; row++)
        for (size_t k = 0; k < grid->n_columns; k++) {
            const struct nm_cell *cell = nm_grid_cell(grid, row, k);

            if (cell && !isfinite(cell->bytes_per_s) && isfinite(metric_of(cell, "writer1_rate")))
                return true;
        }
    return false;
}

/* Several runs in a trial, or a card of that very tool. */
static bool is_card(const struct nm_grid *grid)
{
    for (size_t row = 0; row < grid->n_rows; row++)
        for (size_t k = 0; k < grid->n_columns; k++) {
            const struct nm_cell *cell = nm_grid_cell(grid, row, k);

            if (isfinite(metric_of(cell, "run2_rate")) ||
                (cell && cell->imported && isfinite(metric_of(cell, "mean_latency"))))
                return true;
        }
    return false;
}

static double best_rate(const struct nm_cell *cell)
{
    double best = metric_of(cell, "best_rate");

    return isfinite(best) ? best : cell->max_bytes_per_s;
}

/* Of the rate that stands beside it; of an imported card as printed there. */
static double io_per_s(const struct nm_grid *grid, const struct nm_cell *cell)
{
    struct nm_step step;

    if (cell->imported)
        return metric_of(cell, "iops");
    if (nm_step_parse(cell->phase, &step, NULL) < 0)
        return NAN;
    return (grid->is_card ? best_rate(cell) : cell->bytes_per_s) / step.block_bytes;
}

/* "reader2_rate" */
static double stream_rate(const struct nm_cell *cell, const struct nm_field *field)
{
    char name[32];

    snprintf(name, sizeof(name), "%s%u_rate", field->part == NM_FIELD_READER ? "reader" : "writer",
             field->stream);
    return metric_of(cell, name);
}

double nm_field_number(const struct nm_table_doc *doc, const struct nm_grid *grid, size_t row,
                       size_t field)
{
    const struct nm_cell *cell = nm_grid_cell(grid, row, grid->fields[field].column);
    double unit = doc->style->mebi ? 1048576.0 : 1e6;

    if (!cell || !cell->n_ok)
        return NAN;
    switch (grid->fields[field].part) {
    case NM_FIELD_READER:
    case NM_FIELD_WRITER: return stream_rate(cell, &grid->fields[field]) / unit;
    case NM_FIELD_UNDERRUNS: return metric_of(cell, "underruns");
    default: break;
    }
    if (!isfinite(cell->bytes_per_s))
        return NAN;
    switch (grid->fields[field].part) {
    case NM_FIELD_RATE: return cell->bytes_per_s / unit;
    case NM_FIELD_BEST: return best_rate(cell) / unit;
    case NM_FIELD_MEDIAN: return metric_of(cell, "median_rate") / unit;
    case NM_FIELD_IOPS: return io_per_s(grid, cell);
    case NM_FIELD_LATENCY: return metric_of(cell, "mean_latency") / 1e3;
    default: return NAN;
    }
}

/* ---- which there are */

static bool has_numbers(const struct nm_table_doc *doc, const struct nm_grid *grid, size_t field)
{
    for (size_t row = 0; row < grid->n_rows; row++)
        if (isfinite(nm_field_number(doc, grid, row, field)))
            return true;
    return false;
}

/* Streams of a mix: readers with their underruns, writers where there are several. */
static void list_streams(const struct nm_table_doc *doc, struct nm_grid *grid, size_t column)
{
    static const enum nm_field_part parts[] = {NM_FIELD_READER, NM_FIELD_UNDERRUNS,
                                               NM_FIELD_WRITER};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        size_t first = grid->n_fields;

        for (unsigned stream = 1; stream <= STREAMS_MAX; stream++) {
            grid->fields[grid->n_fields] =
                (struct nm_field){.column = column, .part = parts[i], .stream = stream};
            if (!has_numbers(doc, grid, grid->n_fields) ||
                (parts[i] == NM_FIELD_UNDERRUNS && stream > 1))
                break;
            grid->n_fields++;
        }
        if (parts[i] == NM_FIELD_WRITER && grid->n_fields == first + 1)
            grid->n_fields = first; /* the phase itself says it */
    }
}

int nm_fields_list(const struct nm_table_doc *doc, struct nm_grid *grid, struct nm_pool *pool,
                   struct nm_error *err)
{
    static const enum nm_field_part plain[] = {NM_FIELD_RATE},
                                    once[] = {NM_FIELD_RATE, NM_FIELD_IOPS},
                                    card[] = {NM_FIELD_BEST, NM_FIELD_MEDIAN, NM_FIELD_IOPS,
                                              NM_FIELD_LATENCY};
    const enum nm_field_part *parts = plain;
    char common[NM_WORDS];
    size_t n = 1, room;
    bool has_streams;

    grid->is_card = grid->by_step && is_card(grid);
    if (grid->by_step) {
        parts = grid->is_card ? card : once;
        n = grid->is_card ? 4 : 2;
    }
    if (grid->by_step && *nm_words_common_step(grid, common)) {
        char head[NM_WORDS];

        snprintf(head, sizeof(head), nm_tr(doc->language, "Block (%s)"), common);
        grid->head = nm_pool_text(pool, head);
        if (!grid->head)
            return nm_error_errno(err, -ENOMEM, "table: out of memory");
    }
    has_streams = !grid->by_step && is_mix_table(grid);
    room = has_streams ? 2 * STREAMS_MAX + 3 : PARTS_MAX;
    grid->fields = nm_pool_alloc(pool, room * grid->n_columns * sizeof(*grid->fields));
    if (!grid->fields)
        return nm_error_errno(err, -ENOMEM, "table: out of memory");
    for (size_t k = 0; k < grid->n_columns; k++) {
        for (size_t i = 0; i < n; i++) {
            grid->fields[grid->n_fields] = (struct nm_field){.column = k, .part = parts[i]};
            /* an imported card has no median */
            if (!i || has_numbers(doc, grid, grid->n_fields))
                grid->n_fields++;
        }
        if (has_streams)
            list_streams(doc, grid, k);
    }
    return 0;
}

bool nm_field_is_main(const struct nm_grid *grid, size_t field)
{
    return grid->fields[field].part == NM_FIELD_RATE || grid->fields[field].part == NM_FIELD_BEST;
}

/* ---- what they say */

const char *nm_field_title(const struct nm_table_doc *doc, const struct nm_grid *grid, size_t field,
                           char out[NM_WORDS])
{
    const char *column = nm_words_column(doc, grid, grid->fields[field].column);

    switch (grid->fields[field].part) {
    case NM_FIELD_RATE: snprintf(out, NM_WORDS, "%s", column); break;
    case NM_FIELD_BEST:
        snprintf(out, NM_WORDS, "%s: %s", column, nm_tr(doc->language, NM_N("best")));
        break;
    case NM_FIELD_MEDIAN:
        snprintf(out, NM_WORDS, "%s", nm_tr(doc->language, NM_N("median")));
        break;
    case NM_FIELD_IOPS: snprintf(out, NM_WORDS, "%s", nm_tr(doc->language, NM_N("IO/s"))); break;
    case NM_FIELD_LATENCY:
        snprintf(out, NM_WORDS, "%s", nm_tr(doc->language, NM_N("latency [us]")));
        break;
    case NM_FIELD_READER:
        snprintf(out, NM_WORDS, "%s %u", nm_tr(doc->language, NM_N("Player")),
                 grid->fields[field].stream);
        break;
    case NM_FIELD_WRITER:
        snprintf(out, NM_WORDS, "%s %u", nm_tr(doc->language, NM_N("Upload")),
                 grid->fields[field].stream);
        break;
    case NM_FIELD_UNDERRUNS:
        snprintf(out, NM_WORDS, "%s", nm_tr(doc->language, NM_N("Underruns")));
        break;
    }
    return out;
}

/* A block that is no multiple of the device's is not applicable; larger ones of the same direction
 * went. */
static bool is_below_block(const struct nm_grid *grid, const struct nm_cell *cell, size_t column)
{
    return grid->by_step && cell && cell->status == NM_CELL_UNSUPPORTED && grid->numbers[column];
}

static bool is_mix(const char *phase)
{
    struct nm_step step;

    return nm_step_parse(phase, &step, NULL) == 0 && step.read_percent > 0 &&
           step.read_percent < 100;
}

static const char *main_text(const struct nm_table_doc *doc, const struct nm_grid *grid, size_t row,
                             size_t field, char out[NM_WORDS])
{
    size_t column = grid->fields[field].column;
    const struct nm_cell *cell = nm_grid_cell(grid, row, column);

    if (!cell && grid->by_step && is_mix(grid->columns[column]->phase)) {
        out[0] = '\0'; /* few steps are run mixed */
        return out;
    }
    if (is_below_block(grid, cell, column)) {
        snprintf(out, NM_WORDS, "%s", nm_tr(doc->language, NM_N("n/a")));
        return out;
    }
    if (grid->fields[field].part == NM_FIELD_RATE || !nm_words_is_number(cell) || cell->imported)
        return nm_words_value(doc, cell, out);
    return nm_units_format_rate(nm_field_number(doc, grid, row, field), doc->style->digits,
                                nm_language_decimal_sign(doc->language), out, NM_WORDS);
}

const char *nm_field_text(const struct nm_table_doc *doc, const struct nm_grid *grid, size_t row,
                          size_t field, char out[NM_WORDS])
{
    double number;
    int digits;

    if (nm_field_is_main(grid, field))
        return main_text(doc, grid, row, field, out);
    number = nm_field_number(doc, grid, row, field);
    out[0] = '\0';
    if (!isfinite(number))
        return out;
    switch (grid->fields[field].part) {
    case NM_FIELD_MEDIAN:
    case NM_FIELD_READER:
    case NM_FIELD_WRITER: digits = doc->style->digits; break;
    case NM_FIELD_UNDERRUNS: digits = 0; break;
    default: digits = number >= 100 ? 0 : -1; break;
    }
    return nm_units_format_rate(number, digits, nm_language_decimal_sign(doc->language), out,
                                NM_WORDS);
}
