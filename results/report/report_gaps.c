/* Section "gaps": every cell without a full number, and every trial that failed or was taken back,
 * with its reason (report_page.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "report_page.h"

#include <string.h>

#define ROWS_MAX 200

enum { DEVICE, PLACE, WORKLOAD, PHASE, STATE, WHY, COLUMNS };

/* Phases of one place and workload that lack a number for the same reason are one row. */
struct gap {
    const struct nm_cell *first, *last; /* NULL = none yet */
    size_t n_phases;
    char state[NM_WORDS], why[NM_WORDS];
};

struct gaps {
    struct nm_report *report;
    struct gap open; /* not written yet */
    size_t n;        /* rows so far, also those that are not shown */
};

static void begin(struct gaps *gaps)
{
    const struct nm_language *language = gaps->report->language;
    const char *const heads[COLUMNS] = {
        [DEVICE] = "NAS",
        [PLACE] = nm_tr(language, "Volume, protocol"),
        [WORKLOAD] = nm_tr(language, "Workload"),
        [PHASE] = nm_tr(language, "Phase"),
        [STATE] = nm_tr(language, "State"),
        [WHY] = nm_tr(language, "Why"),
    };

    fputs("<div class=\"words\">\n", gaps->report->out);
    nm_report_table_begin(gaps->report, nm_tr(language, "Cells and trials without a number"), heads,
                          COLUMNS);
}

static void flush(struct gaps *gaps)
{
    const struct gap *gap = &gaps->open;
    const struct nm_cell *cell = gap->first;
    char place[NM_WORDS], title[NM_WORDS], device[NM_WORDS], phases[NM_WORDS];
    const struct nm_grid names = {.names = cell};

    if (!cell)
        return;
    snprintf(phases, sizeof(phases), "%s", nm_words_phase(&gaps->report->doc, cell->phase));
    if (gap->n_phases > 1) {
        size_t used = strlen(phases);

        snprintf(phases + used, sizeof(phases) - used, "%s%s (%zu)",
                 gap->n_phases > 2 ? " \u2026 " : ", ",
                 nm_words_phase(&gaps->report->doc, gap->last->phase), gap->n_phases);
    }
    const char *texts[COLUMNS] = {
        [DEVICE] = nm_words_device(&gaps->report->doc, &names, device),
        [PLACE] = nm_report_place(gaps->report, cell, place),
        [WORKLOAD] = nm_report_title(gaps->report, cell, title),
        [PHASE] = phases,
        [STATE] = gap->state,
        [WHY] = gap->why,
    };

    if (!gaps->n++)
        begin(gaps);
    if (gaps->n <= ROWS_MAX)
        nm_report_table_row(gaps->report, texts, COLUMNS);
    gaps->open = (struct gap){0};
}

static bool same_place(const struct nm_cell *a, const struct nm_cell *b)
{
    return a->campaign_id == b->campaign_id && a->imported == b->imported &&
           !strcmp(a->volume, b->volume) && !strcmp(a->protocol, b->protocol) &&
           !strcmp(a->workload, b->workload);
}

static void row(struct gaps *gaps, const struct nm_cell *cell, const char *state, const char *why)
{
    struct gap *gap = &gaps->open;

    why = why ? why : "";
    if (!gap->first || !same_place(gap->first, cell) || strcmp(gap->state, state) ||
        strcmp(gap->why, why)) {
        flush(gaps);
        gap->first = cell;
        snprintf(gap->state, sizeof(gap->state), "%s", state);
        snprintf(gap->why, sizeof(gap->why), "%s", why);
    }
    gap->last = cell;
    gap->n_phases++;
}

/* "failed (timeout), pass 2" */
static void trial_row(struct gaps *gaps, const struct nm_cell *cell, const struct nm_trial *trial)
{
    const struct nm_language *language = gaps->report->language;
    char state[NM_WORDS], why[NM_WORDS];

    if (trial->status == NM_STATUS_VOID)
        snprintf(state, sizeof(state), nm_tr(language, "void, pass %u"), trial->pass);
    else
        snprintf(state, sizeof(state), nm_tr(language, "failed (%s), pass %u"),
                 nm_words_reason(language, trial->reason), trial->pass);
    snprintf(why, sizeof(why), "%.300s%s%.100s%s", trial->message ? trial->message : "",
             trial->raw ? " [" : "", trial->raw ? trial->raw : "", trial->raw ? "]" : "");
    row(gaps, cell, state, why);
}

static void cell_rows(struct gaps *gaps, const struct nm_cell *cell)
{
    const char *message = NULL;
    char text[NM_WORDS];
    size_t n = 0;

    for (size_t i = 0; i < cell->n_trials; i++) {
        const struct nm_trial *trial = &cell->trials[i];

        if (trial->status == NM_STATUS_VOID || trial->status == NM_STATUS_FAILED) {
            trial_row(gaps, cell, trial);
            n++;
        } else if (trial->message) {
            message = trial->message;
        }
    }
    if (!n && cell->status != NM_CELL_OK)
        row(gaps, cell, nm_words_value(&gaps->report->doc, cell, text), message);
}

static int write(struct nm_report *report, struct nm_error *err)
{
    const struct nm_cells *cells = report->input->cells;
    struct gaps gaps = {.report = report};

    (void)err;
    for (size_t i = 0; i < cells->count; i++)
        cell_rows(&gaps, &cells->items[i]);
    flush(&gaps);
    if (!gaps.n)
        return 0;
    nm_report_table_end(report);
    if (gaps.n > ROWS_MAX)
        nm_report_format(
            report, "<p>", "</p>\n",
            nm_tr(report->language, "%zu more; `nasmark show RUN` lists every trial of a run."),
            gaps.n - ROWS_MAX);
    fputs("</div>\n", report->out);
    return 0;
}

const struct nm_report_section nm_report_gaps = {
    .id = "gaps",
    .title = NM_N("Gaps"),
    .write = write,
};
