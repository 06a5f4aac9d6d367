/* Sections "method" and "glossary": what stands behind every number, in a page
 * (report_page.h). docs/METRICS.md has all of it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "report_page.h"

static const char *const method[] = {
    NM_N("A trial is one measured execution. Its clock starts when every client process has its "
         "session and reports ready, and stops when the last file is closed and flushed; where a "
         "protocol has no flush, with the acknowledgement of the server. The rate is bytes moved "
         "by that time. MB/s is 10^6 bytes per second."),
    NM_N("The clients are the program's own: no mount and no page cache of this machine stand "
         "between the number and the device, unless a flag says so. Data are random and cannot be "
         "compressed, unless the conditions say so."),
    NM_N("The number of a cell is the geometric mean of its trials. Trials of a cell lie in "
         "different passes over all cells. Failed trials never count, and nothing is ever 0 "
         "because it is missing."),
    NM_N("Letters behind numbers are flags: what the number may be limited by. They do not change "
         "it."),
    NM_N("A comparison is a t interval on the logarithms of the trial rates; the noise of all "
         "cells can only widen it. With many cells the error probabilities are adjusted (Benjamini "
         "and Hochberg). SAME: the 90 % range lies inside the margin. REGRESSED, IMPROVED: "
         "q at most 0.05 and at least the margin. UNCLEAR: the noise hides more than the margin. "
         "INSUFFICIENT: fewer than three trials. NOT-COMPARABLE: key conditions differ."),
};

static const struct {
    const char *term, *text;
} glossary[] = {
    {NM_N("Volume"),
     NM_N("One storage configuration of the device: single disk, RAID5, encrypted.")},
    {NM_N("Workload"),
     NM_N("What is done, like copying one file of 2 GB; it has phases, like upload "
          "and download.")},
    {NM_N("Upload, download"), NM_N("To the device, from the device.")},
    {NM_N("Cell"), NM_N("Volume, protocol, workload and phase: one number of a table.")},
    {NM_N("Pass"), NM_N("One round over all cells; every cell gets one trial in it.")},
    {NM_N("Whisker"), NM_N("The line from the slowest to the fastest trial of a bar.")},
    {NM_N("Burst, sustained"), NM_N("The two levels of a trial that starts faster than it goes on, "
                                    "for example because a cache fills up.")},
    {NM_N("n/a, not run, failed, too short"),
     NM_N(
         "The volume has no such protocol; nobody tried; it was tried without success; it was over "
         "before it could be timed.")},
    {NM_N("Imported"), NM_N("Read from a file of another program or a publication, not measured by "
                            "this one.")},
};

static int write_method(struct nm_report *report, struct nm_error *err)
{
    (void)err;
    for (size_t i = 0; i < sizeof(method) / sizeof(method[0]); i++)
        nm_report_element(report, "<p>", nm_tr(report->language, method[i]), "</p>\n");
    return 0;
}

static int write_glossary(struct nm_report *report, struct nm_error *err)
{
    (void)err;
    fputs("<dl class=\"glossary\">\n", report->out);
    for (size_t i = 0; i < sizeof(glossary) / sizeof(glossary[0]); i++) {
        nm_report_element(report, "<dt>", nm_tr(report->language, glossary[i].term), "</dt>");
        nm_report_element(report, "<dd>", nm_tr(report->language, glossary[i].text), "</dd>\n");
    }
    fputs("</dl>\n", report->out);
    return 0;
}

const struct nm_report_section nm_report_method = {
    .id = "method",
    .title = NM_N("Method"),
    .write = write_method,
};

const struct nm_report_section nm_report_glossary = {
    .id = "glossary",
    .title = NM_N("Glossary"),
    .write = write_glossary,
};
