/* The page: its sections in their order, and what they have in common (report.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "report_page.h"

#include "../escape.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define FIGURE_WIDTH 420.0 /* little more than a phone: text must stay legible there */

/* A workload that wants more than tables and bars (a curve over the device, a card of its own)
 * brings a section: one file, one row here. */
static const struct nm_report_section *const sections[] = {
    &nm_report_summary, &nm_report_tables,     &nm_report_bars,    &nm_report_sizes,
    &nm_report_drives,  &nm_report_courses,    &nm_report_history, &nm_report_compare,
    &nm_report_gaps,    &nm_report_conditions, &nm_report_method,  &nm_report_glossary,
};

#define N_SECTIONS (sizeof(sections) / sizeof(sections[0]))

/* ---- HTML */

void nm_report_element(struct nm_report *report, const char *open, const char *text,
                       const char *close)
{
    fputs(open, report->out);
    nm_escape_html(report->out, text);
    fputs(close, report->out);
}

void nm_report_format(struct nm_report *report, const char *open, const char *close,
                      const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    nm_report_element(report, open, text ? text : "?", close);
    free(text);
}

void nm_report_table_begin(struct nm_report *report, const char *caption, const char *const *heads,
                           size_t n)
{
    nm_report_element(report, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"",
                      caption, "\">\n");
    nm_report_element(report, "<table>\n<caption>", caption, "</caption>\n<thead><tr>");
    for (size_t i = 0; i < n; i++)
        nm_report_element(report, "<th scope=\"col\">", heads[i], "</th>");
    fputs("</tr></thead>\n<tbody>\n", report->out);
}

void nm_report_table_row(struct nm_report *report, const char *const *texts, size_t n)
{
    nm_report_element(report, "<tr><th scope=\"row\">", texts[0], "</th>");
    for (size_t i = 1; i < n; i++)
        nm_report_element(report, "<td>", texts[i], "</td>");
    fputs("</tr>\n", report->out);
}

void nm_report_table_end(struct nm_report *report)
{
    fputs("</tbody>\n</table>\n</div>\n", report->out);
}

static void write_figure(struct nm_report *report, const struct nm_figure *figure)
{
    fputs("<figure>\n", report->out);
    nm_chart_inline(figure, FIGURE_WIDTH, report->out);
    nm_report_element(report, "<details><summary>",
                      nm_tr(report->language, NM_N("The same as a table")), "</summary>\n");
    nm_report_table_begin(report, figure->title, figure->table, figure->n_columns);
    for (size_t i = 1; i <= figure->n_rows; i++)
        nm_report_table_row(report, figure->table + i * figure->n_columns, figure->n_columns);
    nm_report_table_end(report);
    fputs("</details>\n</figure>\n", report->out);
}

int nm_report_chart(struct nm_report *report, const char *kind, const struct nm_cells *cells,
                    size_t max, struct nm_error *err)
{
    const struct nm_chart_input input = {
        .store = report->input->store, .cells = cells, .language = report->language};
    struct nm_chart *chart;
    int r = nm_chart_new(nm_chart_find(kind), &input, max, &chart, err);

    if (r < 0)
        return r;
    if (chart->n_figures)
        fputs("<div class=\"figures\">\n", report->out);
    for (size_t i = 0; i < chart->n_figures; i++)
        write_figure(report, &chart->figures[i]);
    if (chart->n_figures)
        fputs("</div>\n", report->out);
    if (chart->left_out)
        nm_report_format(
            report, "<p>", "</p>\n",
            nm_tr(report->language,
                  "%zu more are not shown here; `nasmark chart --kind %s` draws them."),
            chart->left_out, kind);
    nm_chart_free(chart);
    return 0;
}

/* ---- words */

const char *nm_report_place(struct nm_report *report, const struct nm_cell *cell,
                            char out[NM_WORDS])
{
    char label[NM_WORDS];

    snprintf(out, NM_WORDS, "%.200s, %.40s", nm_words_label(report->language, cell, label),
             nm_words_protocol(report->language, cell->protocol));
    return out;
}

const char *nm_report_title(struct nm_report *report, const struct nm_cell *cell,
                            char out[NM_WORDS])
{
    const struct nm_grid names = {.names = cell};

    return nm_words_title(&report->doc, &names, out);
}

/* ---- devices */

bool nm_report_same_device(const struct nm_cell *a, const struct nm_cell *b)
{
    return !strcmp(a->nas, b->nas) && !strcmp(a->firmware, b->firmware) &&
           a->campaign_id == b->campaign_id && a->imported == b->imported;
}

const struct nm_cell *nm_report_next_device(const struct nm_report *report,
                                            const struct nm_cell *last)
{
    const struct nm_cells *cells = report->input->cells;

    for (size_t i = last ? (size_t)(last - cells->items) + 1 : 0; i < cells->count; i++) {
        size_t k = 0;

        while (k < i && !nm_report_same_device(&cells->items[k], &cells->items[i]))
            k++;
        if (k == i)
            return &cells->items[i];
    }
    return NULL;
}

static bool several_devices(const struct nm_report *report)
{
    const struct nm_cell *first = nm_report_next_device(report, NULL);

    return first && nm_report_next_device(report, first);
}

void nm_report_device_heading(struct nm_report *report, const struct nm_cell *cell)
{
    const struct nm_grid names = {.names = cell};
    char text[NM_WORDS];

    if (several_devices(report))
        nm_report_element(report, "<h3>", nm_words_device(&report->doc, &names, text), "</h3>\n");
}

/* ---- the page */

/* Contents of every section; heap, "" = the page goes without it. */
static int write_sections(struct nm_report *report, char *contents[N_SECTIONS],
                          struct nm_error *err)
{
    int r = 0;

    for (size_t i = 0; i < N_SECTIONS && r == 0; i++) {
        size_t size;

        report->out = open_memstream(&contents[i], &size);
        if (!report->out)
            return nm_error_errno(err, -ENOMEM, "report: out of memory");
        r = sections[i]->write(report, err);
        if (fclose(report->out) && r == 0)
            r = nm_error_errno(err, -ENOMEM, "report: out of memory");
    }
    return r;
}

static void write_page(struct nm_report *report, char *const contents[N_SECTIONS])
{
    const struct nm_cell *first = nm_report_next_device(report, NULL);
    const struct nm_grid names = {.names = first};
    char text[NM_WORDS];
    const char *title = several_devices(report) ? nm_tr(report->language, "Several devices")
                                                : nm_words_device(&report->doc, &names, text);

    fprintf(report->out,
            "<!DOCTYPE html>\n<html lang=\"%s\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta name=\"color-scheme\" content=\"light dark\">\n",
            nm_language_code(report->language));
    nm_report_element(report, "<title>", title, " \u00b7 nasmark</title>\n<style>\n");
    fputs(nm_report_css, report->out);
    fputs("@media screen and (prefers-color-scheme: dark) {\n", report->out);
    nm_canvas_svg_style(report->out, "  ");
    fputs("}\n</style>\n</head>\n<body>\n<header>\n", report->out);
    nm_report_element(report, "<h1>", title, "</h1>\n");
    nm_report_element(report, "<nav aria-label=\"", nm_tr(report->language, "Contents"),
                      "\"><ul>\n");
    for (size_t i = 0; i < N_SECTIONS; i++)
        if (*contents[i]) {
            fprintf(report->out, "<li><a href=\"#%s\">", sections[i]->id);
            nm_report_element(report, "", nm_tr(report->language, sections[i]->title),
                              "</a></li>\n");
        }
    fputs("</ul></nav>\n</header>\n<main>\n", report->out);
    for (size_t i = 0; i < N_SECTIONS; i++)
        if (*contents[i]) {
            fprintf(report->out, "<section id=\"%s\">\n", sections[i]->id);
            nm_report_element(report, "<h2>", nm_tr(report->language, sections[i]->title),
                              "</h2>\n");
            fputs(contents[i], report->out);
            fputs("</section>\n", report->out);
        }
    fputs("</main>\n", report->out);
    if (report->input->made)
        nm_report_element(report, "<footer><p>", report->input->made, "</p></footer>\n");
    fputs("</body>\n</html>\n", report->out);
}

int nm_report_write(const struct nm_report_input *input, FILE *out, struct nm_error *err)
{
    const struct nm_table_style style = {.digits = -1};
    struct nm_report report = {.input = input, .language = input->language};
    char *contents[N_SECTIONS] = {NULL};
    struct nm_grids *grids = NULL;
    int r = nm_grids_new(input->cells, NM_TABLE_BY_VOLUME, true, &grids, err);

    if (r < 0)
        return r;
    report.doc =
        (struct nm_table_doc){.grids = grids, .style = &style, .language = input->language};
    r = write_sections(&report, contents, err);
    if (r == 0) {
        report.out = out;
        write_page(&report, contents);
        if (fflush(out) || ferror(out))
            r = nm_error_errno(err, errno ? -errno : -EIO, "writing the report: %s",
                               strerror(errno ? errno : EIO));
    }
    for (size_t i = 0; i < N_SECTIONS; i++)
        free(contents[i]);
    nm_grids_free(grids);
    return r;
}
