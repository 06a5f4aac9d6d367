/* Section "compare": the newest firmware of each device against the one before it
 * (report_page.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "report_page.h"

#include "../compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN 0.05

static int select_version(struct nm_report *report, const struct nm_cell *version,
                          struct nm_cells **ret, struct nm_error *err)
{
    const char *words[3] = {NULL};
    char *nas = NULL, *firmware = NULL;
    struct nm_select *select = NULL;
    int r = 0;

    if (asprintf(&nas, "nas=%s", version->nas) < 0)
        nas = NULL;
    if (asprintf(&firmware, "firmware=%s", version->firmware) < 0)
        firmware = NULL;
    if (!nas || !firmware)
        r = nm_error_errno(err, -ENOMEM, "report: out of memory");
    words[0] = nas;
    words[1] = firmware;
    words[2] = "source=measured";
    if (r == 0)
        r = nm_select_parse(words, 3, &select, err);
    if (r == 0) {
        nm_select_skip_metrics(select);
        r = nm_select_cells(report->input->store, select, ret, err);
    }
    nm_select_free(select);
    free(nas);
    free(firmware);
    return r;
}

/* In the order of the history: by date, then by name. */
static bool is_older(const struct nm_cell *cell, const struct nm_cell *than)
{
    if (cell->firmware_utc_ns != than->firmware_utc_ns)
        return cell->firmware_utc_ns < than->firmware_utc_ns;
    return strcmp(cell->firmware, than->firmware) < 0;
}

/* Of the versions of a NAS the newest one that is older than `than` (NULL = the newest). */
static const struct nm_cell *version_before(const struct nm_cells *cells, const char *nas,
                                            const struct nm_cell *than)
{
    const struct nm_cell *best = NULL;

    for (size_t i = 0; i < cells->count; i++) {
        const struct nm_cell *cell = &cells->items[i];

        if (strcmp(cell->nas, nas) || cell->imported || !cell->n_ok ||
            (than && !is_older(cell, than)))
            continue;
        if (!best || is_older(best, cell))
            best = cell;
    }
    return best;
}

/* Returns how many cells are in one version only: they get no row. */
static size_t write_rows(struct nm_report *report, const struct nm_compare *compare)
{
    char title[NM_WORDS], place[NM_WORDS];
    size_t n_alone = 0;

    for (size_t i = 0; i < compare->n_rows; i++) {
        const struct nm_compare_row *row = &compare->rows[i];
        const struct nm_cell *any = row->a ? row->a : row->b;
        struct nm_compare_line line = {0};

        if (!row->a || !row->b) {
            n_alone++;
            continue;
        }
        nm_compare_line(compare, row, &line);
        nm_report_format(report, "<tr><th scope=\"row\">", "</th>", "%s, %s: %s",
                         nm_report_title(report, any, title),
                         nm_words_phase(&report->doc, any->phase),
                         nm_report_place(report, any, place));
        for (int c = NM_COMPARE_A; c < NM_COMPARE_COLUMNS; c++) {
            if (c == NM_COMPARE_VERDICT)
                fprintf(report->out, "<td class=\"%s\">", line.text[c]);
            else
                fputs("<td>", report->out);
            nm_report_element(report, "", line.text[c], "</td>");
        }
        fputs("</tr>\n", report->out);
    }
    return n_alone;
}

static void write_table(struct nm_report *report, const struct nm_compare *compare,
                        const struct nm_cell *older, const struct nm_cell *newer)
{
    const struct nm_language *language = report->language;
    const char *const heads[NM_COMPARE_COLUMNS] = {
        [NM_COMPARE_CELL] = nm_tr(language, "Cell"),
        [NM_COMPARE_A] = older->firmware,
        [NM_COMPARE_B] = newer->firmware,
        [NM_COMPARE_DELTA] = nm_tr(language, "Difference"),
        [NM_COMPARE_CI] = nm_tr(language, "95 % range"),
        [NM_COMPARE_Q] = "q",
        [NM_COMPARE_N] = "n",
        [NM_COMPARE_VERDICT] = nm_tr(language, "Verdict"),
        [NM_COMPARE_NOTE] = nm_tr(language, "Note"),
    };
    char caption[NM_WORDS];
    size_t n_alone;

    snprintf(caption, sizeof(caption), nm_tr(language, "%.100s: firmware %.80s against %.80s"),
             newer->nas, newer->firmware, older->firmware);
    fputs("<div class=\"compare\">\n", report->out);
    nm_report_table_begin(report, caption, heads, NM_COMPARE_COLUMNS);
    n_alone = write_rows(report, compare);
    nm_report_table_end(report);
    fputs("</div>\n", report->out);
    nm_report_format(report, "<p>", "</p>\n",
                     nm_tr(language, "Of %zu cells %zu regressed, %zu improved, %zu are the same, "
                                     "%zu unclear; margin 5 %%."),
                     compare->n_rows - n_alone, compare->counts[NM_VERDICT_REGRESSED],
                     compare->counts[NM_VERDICT_IMPROVED], compare->counts[NM_VERDICT_SAME],
                     compare->counts[NM_VERDICT_UNCLEAR]);
    if (n_alone)
        nm_report_format(report, "<p>", "</p>\n",
                         nm_tr(language, "%zu cells were measured in one of them only."), n_alone);
}

static int write_nas(struct nm_report *report, const struct nm_cell *older,
                     const struct nm_cell *newer, struct nm_error *err)
{
    const struct nm_compare_options options = {
        .keys = NM_COMPARE_FIRMWARE, .margin = MARGIN, .tau = NM_STATS_DEFAULT_TAU};
    struct nm_cells *a = NULL, *b = NULL;
    struct nm_compare *compare = NULL;
    struct nm_error why = {0};
    int r = select_version(report, older, &a, err);

    if (r == 0)
        r = select_version(report, newer, &b, err);
    if (r == 0) {
        r = nm_compare_new(a, b, &options, &compare, &why);
        if (r == 0)
            write_table(report, compare, older, newer);
        else if (r == -ENOMEM)
            *err = why;
        else
            nm_report_format(report, "<p>", "</p>\n", "%s: %s", newer->nas, why.text);
        r = r == -ENOMEM ? r : 0;
    }
    nm_compare_free(compare);
    nm_cells_free(a);
    nm_cells_free(b);
    return r;
}

static int write(struct nm_report *report, struct nm_error *err)
{
    const struct nm_cells *cells = report->input->versions;
    const char *last = NULL; /* cells are in the order of the NAS */
    int r = 0;

    for (size_t i = 0; i < cells->count && r == 0; i++) {
        const struct nm_cell *newer, *older;

        if (last && !strcmp(last, cells->items[i].nas))
            continue;
        last = cells->items[i].nas;
        newer = version_before(cells, last, NULL);
        older = newer ? version_before(cells, last, newer) : NULL;
        if (older)
            r = write_nas(report, older, newer, err);
    }
    return r;
}

const struct nm_report_section nm_report_compare = {
    .id = "compare",
    .title = NM_N("Newest firmware against the one before"),
    .write = write,
};
