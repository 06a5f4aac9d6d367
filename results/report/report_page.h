/* Private to report*.c: a page as a row of sections.
 *
 * A section is one file and one row of the table in report.c. It writes its contents, headings from
 * <h3> on, or nothing at all: then the page goes without it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_REPORT_PAGE_H
#define NM_REPORT_PAGE_H

#include "../chart/chart.h"
#include "../table_grid.h"
#include "report.h"

struct nm_report {
    const struct nm_report_input *input;
    const struct nm_language *language;
    struct nm_table_doc doc; /* for nm_words_*; doc.grids are all tables of the page */
    FILE *out;               /* of the section */
};

struct nm_report_section {
    const char *id;    /* anchor */
    const char *title; /* NM_N() */
    int (*write)(struct nm_report *report, struct nm_error *err);
};

extern const struct nm_report_section nm_report_summary, nm_report_tables, nm_report_bars,
    nm_report_sizes, nm_report_drives, nm_report_courses, nm_report_history, nm_report_compare,
    nm_report_gaps, nm_report_conditions, nm_report_method, nm_report_glossary;

/* report_style.c */
extern const char nm_report_css[];

/* report.c: text escaped between two pieces of HTML. */
void nm_report_element(struct nm_report *report, const char *open, const char *text,
                       const char *close);
void nm_report_format(struct nm_report *report, const char *open, const char *close,
                      const char *fmt, ...) NM_PRINTF(4, 5);

/* A table in a box that scrolls sideways where the page is narrow. The first column names the
 * rows. */
void nm_report_table_begin(struct nm_report *report, const char *caption, const char *const *heads,
                           size_t n);
void nm_report_table_row(struct nm_report *report, const char *const *texts, size_t n);
void nm_report_table_end(struct nm_report *report);

/* Pictures side by side, each with its table behind it; says how many more there would be. */
int nm_report_chart(struct nm_report *report, const char *kind, const struct nm_cells *cells,
                    size_t max, struct nm_error *err) NM_MUST_CHECK;

/* "RAID1, SMB" */
const char *nm_report_place(struct nm_report *report, const struct nm_cell *cell,
                            char out[NM_WORDS]);
/* "Copying a large file (2 GB)" */
const char *nm_report_title(struct nm_report *report, const struct nm_cell *cell,
                            char out[NM_WORDS]);

/* One device under one firmware: cells of the same NAS, firmware, campaign and source. */
bool nm_report_same_device(const struct nm_cell *a, const struct nm_cell *b);
/* The first cell of the next device after `last` (NULL = of the first one); NULL = no more. */
const struct nm_cell *nm_report_next_device(const struct nm_report *report,
                                            const struct nm_cell *last);
/* <h3> with the name of the device, where there are several. */
void nm_report_device_heading(struct nm_report *report, const struct nm_cell *cell);

#endif
