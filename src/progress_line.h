/* The line that is redrawn while a run goes on, made to fit a terminal. Pure text.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_PROGRESS_LINE_H
#define NM_PROGRESS_LINE_H

#include <stddef.h>
#include <stdint.h>

struct nm_progress_line {
    size_t index, total; /* total 0 = not part of a run */
    uint32_t pass;
    const char *name; /* "single/smb/copy:1x2GB upload" */
    double fraction;  /* negative = unknown: eta is the time so far, and there are no rates */
    const char *rate, *mean, *eta, *run_eta;
};

/* At most `columns` wide (SIZE_MAX = no limit). What is dear stays longest: first go the mean and
 * the bar, then the name is cut in front, then go pass and end of the run; percentage, rate and end
 * of the phase stay. */
void nm_progress_line(const struct nm_progress_line *line, size_t columns, char *out, size_t size);

/* Samples of the last second or so, newest first; n = 0 begins anew. */
struct nm_progress_recent {
    struct {
        uint64_t at_ns, bytes;
    } samples[10];
    unsigned n;
};

/* Takes a sample; the rate over those that are held in bytes per second, with one the mean so far.
 * Time or bytes that run backwards (the clock of the phase has started) begin anew. */
double nm_progress_rate(struct nm_progress_recent *recent, uint64_t at_ns, uint64_t bytes);

#endif
