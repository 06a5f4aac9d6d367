/* Results into a file or onto standard output.
 *
 * A file is written beside its place and renamed when it is complete: what was there before stays
 * until then, and a failed command leaves no half document behind. A device or a pipe is written as
 * it is, a link is followed.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_OUTPUT_H
#define NM_OUTPUT_H

#include "error.h"

#include <stdio.h>

struct nm_output {
    FILE *file; /* write here */
    char *path, *temporary;
};

/* path NULL or "-" = standard output. */
int nm_output_open(struct nm_output *output, const char *path, struct nm_error *err) NM_MUST_CHECK;

/* With r = 0 everything is put in place (the result can still be an error: disk full); with r < 0
 * the file is thrown away and r returned. */
int nm_output_close(struct nm_output *output, int r, struct nm_error *err) NM_MUST_CHECK;

#endif
