/* SECTION.KEY=VALUE texts (sets.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "sets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int nm_sets_collect(const struct nm_arguments *arguments, const char *const *shorthand,
                    struct nm_sets *ret_sets, struct nm_error *err)
{
    size_t n_given, n_names = 0;
    const char *const *given = nm_arguments_all(arguments, "set", &n_given);

    while (shorthand[n_names])
        n_names++;
    ret_sets->count = 0;
    ret_sets->items = calloc(n_given + n_names + 1, sizeof(*ret_sets->items));
    if (!ret_sets->items)
        return nm_error_no_memory(err);
    for (size_t i = 0; i < n_given + n_names; i++) {
        const char *name = i < n_given ? "set" : shorthand[i - n_given];
        const char *value = i < n_given ? given[i] : nm_arguments_get(arguments, name);
        char **item = &ret_sets->items[ret_sets->count];

        if (!value)
            continue;
        if ((i < n_given ? asprintf(item, "%s", value) : asprintf(item, "run.%s=%s", name, value)) <
            0) {
            *item = NULL;
            return nm_error_no_memory(err);
        }
        ret_sets->count++;
    }
    return 0;
}

void nm_sets_done(struct nm_sets *sets)
{
    for (size_t i = 0; i < sets->count; i++)
        free(sets->items[i]);
    free(sets->items);
    *sets = (struct nm_sets){0};
}
