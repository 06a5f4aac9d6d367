/* Notes of a table: marks in the fields with a legend, and sentences about all of it
 * (table_grid.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "table_grid.h"

#include "flags.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *flag_text(const struct nm_language *language, const char *flag)
{
    const char *legend = nm_flag_legend(flag);

    return legend ? nm_tr(language, legend)
                  : flag; /* a word of another version stands for itself */
}

/* Number of trials that most of the table's numbers have: the largest. */
static size_t usual_n(const struct nm_grid *grid)
{
    size_t n = 0;

    for (size_t i = 0; i < grid->n_rows; i++)
        for (size_t k = 0; k < grid->n_columns; k++) {
            const struct nm_cell *cell = nm_grid_cell(grid, i, k);

            if (cell && cell->n_ok > n)
                n = cell->n_ok;
        }
    return n;
}

/* A step that was to move so many bytes ran out of time. */
static bool ended_by_time(const struct nm_cell *cell)
{
    struct nm_metrics metrics;
    const struct nm_metric *metric;

    nm_cell_metrics(cell, &metrics);
    metric = nm_metrics_get(&metrics, "ended_by_time");
    return metric && metric->value > 0;
}

/* Why a cell has no number, in the words of its newest trial that failed. */
static bool newest_failure(const struct nm_cell *cell, char out[NM_WORDS])
{
    const char *message = NULL;

    for (size_t i = 0; i < cell->n_trials; i++)
        if (cell->trials[i].status == NM_STATUS_FAILED)
            message = cell->trials[i].message;
    snprintf(out, NM_WORDS, "%s", message ? message : "");
    return *out;
}

/* The index-th note of a cell, NULL after the last. */
static const char *note_of(const struct nm_table_doc *doc, const struct nm_grid *grid,
                           const struct nm_cell *cell, size_t index, char out[NM_WORDS])
{
    enum nm_reason reason = NM_REASON_NONE;
    char copy[sizeof(cell->flags)], *rest = copy, *word;

    if (!cell)
        return NULL;
    memcpy(copy, cell->flags, sizeof(copy));
    while ((word = strsep(&rest, " ")))
        if (*word && !index--) {
            snprintf(out, NM_WORDS, "%s", flag_text(doc->language, word));
            return out;
        }
    if (grid->by_step && !grid->is_card && ended_by_time(cell) && !index--) {
        snprintf(out, NM_WORDS, "%s", nm_tr(doc->language, NM_N("ended by time")));
        return out;
    }
    for (size_t i = 0; i < cell->n_trials; i++)
        if (cell->trials[i].status == NM_STATUS_FAILED)
            reason = cell->trials[i].reason;
    if (cell->status == NM_CELL_FAILED && newest_failure(cell, out) && !index--)
        return out;
    if ((cell->status == NM_CELL_PARTIAL || (cell->n_ok && cell->n_failed)) && !index--) {
        int used = cell->n_failed
                       ? snprintf(out, NM_WORDS, nm_tr(doc->language, "n = %zu, failed: %zu"),
                                  cell->n_ok, cell->n_failed)
                       : snprintf(out, NM_WORDS, nm_tr(doc->language, "n = %zu of %zu"), cell->n_ok,
                                  cell->n_trials);

        if (reason != NM_REASON_NONE)
            snprintf(out + used, NM_WORDS - (size_t)used, " (%s)",
                     nm_words_reason(doc->language, reason));
        return out;
    }
    if (cell->status == NM_CELL_OK && !cell->n_failed && cell->n_ok != grid->usual_n && !index--) {
        snprintf(out, NM_WORDS, "n = %zu", cell->n_ok);
        return out;
    }
    return NULL;
}

static size_t find_note(const struct nm_grid *grid, const char *note)
{
    for (size_t i = 0; i < grid->n_notes; i++)
        if (!strcmp(grid->notes[i], note))
            return i;
    return grid->n_notes;
}

int nm_notes_collect(const struct nm_table_doc *doc, struct nm_grid *grid, struct nm_pool *pool,
                     struct nm_error *err)
{
    char text[NM_WORDS];
    const char *note;

    grid->usual_n = usual_n(grid);
    for (size_t i = 0; i < grid->n_rows; i++)
        for (size_t k = 0; k < grid->n_columns; k++)
            for (size_t n = 0;
                 (note = note_of(doc, grid, nm_grid_cell(grid, i, k), n, text)) != NULL; n++) {
                if (find_note(grid, note) < grid->n_notes || grid->n_notes == NM_NOTES_MAX)
                    continue;
                note = nm_pool_text(pool, note);
                if (!note)
                    return nm_error_errno(err, -ENOMEM, "table: out of memory");
                grid->notes[grid->n_notes++] = note;
            }
    return 0;
}

const char *nm_notes_marks(const struct nm_table_doc *doc, const struct nm_grid *grid,
                           const struct nm_cell *cell, char out[NM_WORDS])
{
    bool has[NM_NOTES_MAX] = {false};
    char text[NM_WORDS];
    const char *note;
    size_t used = 0;

    for (size_t n = 0; (note = note_of(doc, grid, cell, n, text)) != NULL; n++) {
        size_t at = find_note(grid, note);

        if (at < grid->n_notes)
            has[at] = true;
    }
    for (size_t i = 0; i < grid->n_notes; i++)
        if (has[i])
            out[used++] = (char)('a' + i);
    out[used] = '\0';
    return out;
}

static bool mean_sentence(const struct nm_table_doc *doc, const struct nm_grid *grid,
                          char out[NM_WORDS])
{
    size_t n = grid->usual_n;
    double widest = NAN;
    char spread[NM_WORDS];

    for (size_t i = 0; i < grid->n_rows; i++)
        for (size_t k = 0; k < grid->n_columns; k++)
            widest = fmax(widest, nm_words_half_range(nm_grid_cell(grid, i, k)));
    if (n == 1 && grid->names->imported)
        return false; /* nobody knows of how many trials it is the mean */
    if (n == 1)
        snprintf(out, NM_WORDS, "%s", nm_tr(doc->language, "One trial."));
    else if (n && isfinite(widest) && !grid->is_card)
        snprintf(out, NM_WORDS,
                 nm_tr(doc->language, "Geometric mean, n = %zu; half of the range at most %s."), n,
                 nm_words_percent(doc->language, widest, spread));
    else if (n)
        snprintf(out, NM_WORDS, nm_tr(doc->language, "n = %zu."), n);
    return n > 0;
}

static bool card_sentence(const struct nm_table_doc *doc, const struct nm_grid *grid,
                          char out[NM_WORDS])
{
    if (!grid->is_card)
        return false;
    snprintf(out, NM_WORDS, "%s",
             nm_tr(doc->language,
                   NM_N("best: the fastest run; median: of the runs of a trial; IO/s: of the best; "
                        "latency: the lowest mean of a run.")));
    return true;
}

/* An upload without a flush ends at the server's word; the reader has to know. */
static bool flush_sentence(const struct nm_table_doc *doc, const struct nm_grid *grid,
                           char out[NM_WORDS])
{
    for (size_t i = 0; i < grid->n_rows; i++)
        for (size_t k = 0; k < grid->n_columns; k++) {
            const struct nm_cell *cell = nm_grid_cell(grid, i, k);
            const char *flush = cell ? nm_conditions_get(cell->conditions, "flush") : NULL;

            if (!flush || strcmp(flush, "ack") || !cell->phase_writes || !cell->n_ok)
                continue;
            snprintf(out, NM_WORDS,
                     nm_tr(doc->language,
                           "%s, %s: flush = ack: the clock stops when the server has acknowledged "
                           "the data, not when they are on its disks."),
                     nm_words_column(doc, grid, k),
                     nm_words_protocol(doc->language, cell->protocol));
            return true;
        }
    return false;
}

static bool import_sentence(const struct nm_table_doc *doc, const struct nm_grid *grid,
                            char out[NM_WORDS])
{
    if (!grid->names->imported)
        return false;
    snprintf(out, NM_WORDS, "%s",
             nm_tr(doc->language, "Imported numbers, not measured by this program."));
    return true;
}

const char *nm_notes_sentence(const struct nm_table_doc *doc, const struct nm_grid *grid,
                              size_t index, char out[NM_WORDS])
{
    static bool (*const sentences[])(const struct nm_table_doc *, const struct nm_grid *,
                                     char[NM_WORDS]) = {
        mean_sentence,
        card_sentence,
        flush_sentence,
        import_sentence,
    };

    for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++)
        if (sentences[i](doc, grid, out) && !index--)
            return out;
    return NULL;
}
