/* Section of the cards: steps of block access as CrystalDiskMark shows them, with the best run, its
 * operations per second and latency, and the median beside it (report_page.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "report_page.h"

#include "units.h"

#include <math.h>
#include <string.h>

static double metric(const struct nm_metrics *metrics, const char *name)
{
    const struct nm_metric *found = nm_metrics_get(metrics, name);

    return found ? found->value : NAN;
}

static const char *rate(const struct nm_report *report, double value, char *out, size_t size)
{
    return nm_units_format_rate(value, -1, nm_language_decimal_sign(report->language), out, size);
}

static void write_field(struct nm_report *report, const struct nm_cell *cell)
{
    struct nm_metrics metrics = {0};
    char text[NM_WORDS], number[48], *point;
    double best, median, iops, latency_ns;

    if (cell)
        nm_cell_metrics(cell, &metrics);
    best = metric(&metrics, "best_rate");
    median = metric(&metrics, "median_rate");
    iops = metric(&metrics, "iops");
    latency_ns = metric(&metrics, "mean_latency");
    if (!isfinite(best)) {
        nm_report_element(report, "<td>", nm_words_value(&report->doc, cell, text), "</td>");
        return;
    }
    nm_report_element(report, "<td><b>", rate(report, best / 1e6, number, sizeof(number)), "</b>");
    if (isfinite(median))
        nm_report_format(report, "<small>", "</small>", nm_tr(report->language, "median %s"),
                         rate(report, median / 1e6, number, sizeof(number)));
    if (isfinite(iops))
        nm_report_format(report, "<small>", "</small>", "%s IOPS",
                         rate(report, iops, number, sizeof(number)));
    if (latency_ns >= 1 && latency_ns < 9e18) {
        nm_units_format_duration((uint64_t)latency_ns, number, sizeof(number));
        point = strchr(number, '.');
        if (point)
            *point = nm_language_decimal_sign(report->language);
        nm_report_element(report, "<small>", number, "</small>");
    }
    fputs("</td>", report->out);
}

static void write_card(struct nm_report *report, const struct nm_grid *grid)
{
    char title[NM_WORDS], place[NM_WORDS], device[NM_WORDS], text[NM_WORDS];

    nm_report_title(report, grid->names, title);
    nm_report_place(report, grid->names, place);
    nm_words_device(&report->doc, grid, device);
    nm_report_element(report, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"",
                      place, "\"><table>\n");
    nm_report_format(report, "<caption>", "</caption>\n", "%s \u00b7 %s [MB/s]%s%s", title, place,
                     grid->variant ? " \u00b7 " : "", grid->variant ? grid->variant : "");
    nm_report_element(report, "<thead><tr><th scope=\"col\">", nm_words_rows(&report->doc, grid),
                      "</th>");
    for (size_t k = 0; k < grid->n_columns; k++)
        nm_report_element(report, "<th scope=\"col\">", nm_words_column(&report->doc, grid, k),
                          "</th>");
    fputs("</tr></thead>\n<tbody>\n", report->out);
    for (size_t row = 0; row < grid->n_rows; row++) {
        nm_report_element(report, "<tr><th scope=\"row\">",
                          nm_words_row(&report->doc, grid, row, text), "</th>");
        for (size_t k = 0; k < grid->n_columns; k++)
            write_field(report, nm_grid_cell(grid, row, k));
        fputs("</tr>\n", report->out);
    }
    fputs("</tbody>\n</table></div>\n", report->out);
}

static int write(struct nm_report *report, struct nm_error *err)
{
    const struct nm_grids *grids = report->doc.grids;
    bool any = false;

    (void)err;
    for (size_t i = 0; i < grids->count; i++) {
        if (!grids->items[i].by_step || nm_chart_is_curve(&grids->items[i]))
            continue;
        if (!any)
            nm_report_element(report, "<p>",
                              nm_tr(report->language,
                                    "Large: the best run. Below it the median of the runs, the "
                                    "operations per second of the best run and the lowest mean "
                                    "latency."),
                              "</p>\n<div class=\"tables\">\n");
        any = true;
        write_card(report, &grids->items[i]);
    }
    if (any)
        fputs("</div>\n", report->out);
    return 0;
}

const struct nm_report_section nm_report_cards = {
    .id = "cards",
    .title = NM_N("Block access"),
    .write = write,
};
