/* The fields of a table: number or the word for why there is none, spread, the best of a column
 * (table_grid.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "table_grid.h"

#include "units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *unit_of(const struct nm_table_doc *doc)
{
    return doc->style->mebi ? "MiB/s" : "MB/s";
}

/* What a cell is judged by: bytes per second where bytes moved, else its first metric that has a
 * direction. */
struct headline {
    bool is_rate, lower_is_better;
    double value; /* NAN = none */
    char unit[16];
};

static struct headline headline_of(const struct nm_cell *cell)
{
    struct headline headline = {.value = NAN};
    struct nm_metrics metrics;

    if (!cell || !cell->n_ok)
        return headline;
    if (isfinite(cell->bytes_per_s)) {
        headline.is_rate = true;
        headline.value = cell->bytes_per_s;
        return headline;
    }
    nm_cell_metrics(cell, &metrics);
    for (uint32_t i = 0; i < metrics.count; i++)
        if (metrics.items[i].better != NM_BETTER_NONE) {
            headline.value = metrics.items[i].value;
            headline.lower_is_better = metrics.items[i].better == NM_BETTER_LOWER;
            headline.is_rate = !strcmp(metrics.items[i].unit, "B/s");
            memcpy(headline.unit, metrics.items[i].unit, sizeof(headline.unit));
            break;
        }
    return headline;
}

bool nm_words_is_number(const struct nm_cell *cell)
{
    return isfinite(headline_of(cell).value);
}

double nm_words_merit(const struct nm_cell *cell)
{
    struct headline headline = headline_of(cell);

    return headline.lower_is_better ? -headline.value : headline.value;
}

bool nm_words_is_rate(const struct nm_cell *cell)
{
    return headline_of(cell).is_rate;
}

/* "47.3 MB/s" as an imported table printed it -> "47.3"; false when that is not the unit asked for,
 * or there is more than one trial to speak for. */
static bool as_printed(const struct nm_table_doc *doc, const struct nm_cell *cell,
                       char out[NM_WORDS])
{
    const char *text = NULL;
    size_t length;
    char *point;

    for (size_t i = 0; i < cell->n_trials && cell->n_ok == 1; i++)
        if (cell->trials[i].status == NM_STATUS_OK)
            text = cell->trials[i].source_text;
    if (!text || doc->style->digits >= 0)
        return false;
    length = strspn(text, "0123456789.");
    if (!length || text[length] != ' ' || strcmp(text + length + 1, unit_of(doc)))
        return false;
    snprintf(out, NM_WORDS, "%.*s", (int)length, text);
    point = strchr(out, '.');
    if (point)
        *point = nm_language_decimal_sign(doc->language);
    return true;
}

static const char *metric_text(const struct nm_table_doc *doc, const struct headline *headline,
                               char out[NM_WORDS])
{
    char sign = nm_language_decimal_sign(doc->language), *point;

    if (!strcmp(headline->unit, "ns")) {
        nm_units_format_duration((uint64_t)llround(headline->value), out, NM_WORDS);
        point = strchr(out, '.');
        if (point)
            *point = sign;
        return out;
    }
    if (!strchr(headline->unit, '/') && headline->value == floor(headline->value))
        snprintf(out, NM_WORDS, "%.0f", headline->value); /* something counted */
    else
        nm_units_format_rate(headline->value, doc->style->digits, sign, out, NM_WORDS);
    if (!strcmp(headline->unit, "1/s"))
        snprintf(out + strlen(out), NM_WORDS - strlen(out), "/s");
    else if (*headline->unit && strcmp(headline->unit, "1") != 0)
        snprintf(out + strlen(out), NM_WORDS - strlen(out), " %s", headline->unit);
    return out;
}

static const char *status_text(const struct nm_table_doc *doc, const struct nm_cell *cell,
                               char out[NM_WORDS])
{
    static const char *const texts[] = {
        [NM_CELL_FAILED] = NM_N("failed"),           [NM_CELL_NA] = NM_N("n/a"),
        [NM_CELL_UNSUPPORTED] = NM_N("unsupported"), [NM_CELL_MISSING] = NM_N("not run"),
        [NM_CELL_TOO_SHORT] = NM_N("too short"),     [NM_CELL_ABORTED] = NM_N("aborted"),
    };
    enum nm_cell_status status = cell ? cell->status : NM_CELL_MISSING;
    enum nm_reason reason = NM_REASON_NONE;

    if (status == NM_CELL_TOO_SHORT && nm_cell_is_of(cell, "bonnie")) {
        snprintf(out, NM_WORDS, "+++++"); /* as the original prints it */
        return out;
    }
    if (status == NM_CELL_OK || status == NM_CELL_PARTIAL) {
        snprintf(out, NM_WORDS, "?"); /* succeeded, but has no number that could be shown */
        return out;
    }
    for (size_t i = 0; status == NM_CELL_FAILED && i < cell->n_trials; i++)
        if (cell->trials[i].status == NM_STATUS_FAILED)
            reason = cell->trials[i].reason;
    if (reason != NM_REASON_NONE)
        snprintf(out, NM_WORDS, "%s (%s)", nm_tr(doc->language, texts[status]),
                 nm_words_reason(doc->language, reason));
    else
        snprintf(out, NM_WORDS, "%s", nm_tr(doc->language, texts[status]));
    return out;
}

const char *nm_words_value(const struct nm_table_doc *doc, const struct nm_cell *cell,
                           char out[NM_WORDS])
{
    struct headline headline = headline_of(cell);

    if (!isfinite(headline.value))
        return status_text(doc, cell, out);
    if (!headline.is_rate)
        return metric_text(doc, &headline, out);
    if (as_printed(doc, cell, out))
        return out;
    return nm_units_format_rate(headline.value / (doc->style->mebi ? 1048576.0 : 1e6),
                                doc->style->digits, nm_language_decimal_sign(doc->language), out,
                                NM_WORDS);
}

double nm_words_half_range(const struct nm_cell *cell)
{
    if (!cell || cell->n_ok < 2 || !isfinite(cell->bytes_per_s))
        return NAN;
    return (cell->max_bytes_per_s - cell->min_bytes_per_s) / 2 / cell->bytes_per_s;
}

const char *nm_words_percent(const struct nm_language *language, double fraction,
                             char out[NM_WORDS])
{
    char number[40];

    nm_units_format_rate(100 * fraction, 1, nm_language_decimal_sign(language), number,
                         sizeof(number));
    snprintf(out, NM_WORDS, "\u00b1%s%%", number);
    return out;
}

const char *nm_words_spread(const struct nm_table_doc *doc, const struct nm_cell *cell,
                            char out[NM_WORDS])
{
    double half = nm_words_half_range(cell);

    out[0] = '\0';
    return isfinite(half) ? nm_words_percent(doc->language, half, out) : out;
}

/* A number that came from a cache does not win over one that did not. */
static bool is_cached(const struct nm_cell *cell)
{
    static const char word[] = "cached";
    const char *at = cell->flags;

    while ((at = strstr(at, word))) {
        const char *end = at + sizeof(word) - 1;

        if ((at == cell->flags || at[-1] == ' ') && (!*end || *end == ' '))
            return true;
        at = end;
    }
    return false;
}

static bool is_better(const struct nm_cell *cell, const struct nm_cell *than)
{
    struct headline own = headline_of(cell), best = headline_of(than);

    if (!isfinite(best.value) || is_cached(cell) != is_cached(than))
        return !isfinite(best.value) || is_cached(than);
    return own.lower_is_better ? own.value < best.value : own.value > best.value;
}

int nm_words_find_best(struct nm_grid *grid, struct nm_pool *pool, struct nm_error *err)
{
    grid->best = nm_pool_alloc(pool, grid->n_columns * sizeof(*grid->best));
    if (!grid->best)
        return nm_error_errno(err, -ENOMEM, "table: out of memory");
    for (size_t column = 0; column < grid->n_columns; column++) {
        const struct nm_cell *best = NULL;
        size_t n = 0;

        for (size_t row = 0; row < grid->n_rows; row++) {
            const struct nm_cell *cell = nm_grid_cell(grid, row, column);

            if (!nm_words_is_number(cell))
                continue;
            n++;
            if (!best || is_better(cell, best))
                best = cell;
        }
        /* Of steps the largest block wins; that says nothing. */
        grid->best[column] = n > 1 && !grid->by_step ? best : NULL;
    }
    return 0;
}

bool nm_words_is_best(const struct nm_table_doc *doc, const struct nm_grid *grid, size_t row,
                      size_t column)
{
    const struct nm_cell *cell = nm_grid_cell(grid, row, column), *best = grid->best[column];
    char text[NM_WORDS], best_text[NM_WORDS];

    return best && nm_words_is_number(cell) && is_cached(cell) == is_cached(best) &&
           !strcmp(nm_words_value(doc, cell, text), nm_words_value(doc, best, best_text));
}
