/* SECTION.KEY=VALUE texts of a command line.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_SETS_H
#define NM_SETS_H

#include "command.h"

struct nm_sets {
    char **items;
    size_t count;
};

/* The values of --set, then one for each option of the NULL-terminated list `shorthand` that is
 * given: --NAME VALUE is run.NAME=VALUE. Free with nm_sets_done(), also after a failure. */
int nm_sets_collect(const struct nm_arguments *arguments, const char *const *shorthand,
                    struct nm_sets *ret_sets, struct nm_error *err) NM_MUST_CHECK;
void nm_sets_done(struct nm_sets *sets);

#endif
