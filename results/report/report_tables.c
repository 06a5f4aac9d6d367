/* Sections made of what other parts of the program draw: tables, bars, curves, courses, history
 * (report_page.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "report_page.h"

/* More of a sort than that nobody looks at on one page. */
#define BARS_MAX    40
#define CURVES_MAX  30
#define COURSES_MAX 24
#define HISTORY_MAX 12

static int write_tables(struct nm_report *report, struct nm_error *err)
{
    const struct nm_table_style style = {
        .digits = -1, .fragment = true, .language = nm_language_code(report->language)};
    int r;

    fputs("<div class=\"tables\">\n", report->out);
    r = nm_table_write(report->input->cells, "html", &style, report->out, err);
    fputs("</div>\n", report->out);
    return r;
}

static int write_bars(struct nm_report *report, struct nm_error *err)
{
    return nm_report_chart(report, "bars", report->input->cells, BARS_MAX, err);
}

static int write_sizes(struct nm_report *report, struct nm_error *err)
{
    return nm_report_chart(report, "atto", report->input->cells, CURVES_MAX, err);
}

static int write_drives(struct nm_report *report, struct nm_error *err)
{
    return nm_report_chart(report, "curve", report->input->cells, CURVES_MAX, err);
}

static int write_courses(struct nm_report *report, struct nm_error *err)
{
    return nm_report_chart(report, "series", report->input->cells, COURSES_MAX, err);
}

static int write_history(struct nm_report *report, struct nm_error *err)
{
    return nm_report_chart(report, "history", report->input->versions, HISTORY_MAX, err);
}

const struct nm_report_section nm_report_tables = {
    .id = "tables",
    .title = NM_N("Tables"),
    .write = write_tables,
};

const struct nm_report_section nm_report_bars = {
    .id = "bars",
    .title = NM_N("Volumes and protocols side by side"),
    .write = write_bars,
};

const struct nm_report_section nm_report_sizes = {
    .id = "sizes",
    .title = NM_N("Rate by block size"),
    .write = write_sizes,
};

const struct nm_report_section nm_report_drives = {
    .id = "drives",
    .title = NM_N("Drives from start to end"),
    .write = write_drives,
};

const struct nm_report_section nm_report_courses = {
    .id = "courses",
    .title = NM_N("Course of the trials"),
    .write = write_courses,
};

const struct nm_report_section nm_report_history = {
    .id = "history",
    .title = NM_N("Firmware history"),
    .write = write_history,
};
