/* Conditions for the suite until src/conditions.c declares them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "conditions.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void nm_conditions_set(struct nm_conditions *set, const char *name, const char *fmt, ...)
{
    struct nm_condition *item = &set->items[set->count++];
    va_list ap;

    snprintf(item->name, sizeof(item->name), "%s", name);
    va_start(ap, fmt);
    vsnprintf(item->value, sizeof(item->value), fmt, ap);
    va_end(ap);
}

const char *nm_conditions_get(const struct nm_conditions *set, const char *name)
{
    for (uint32_t i = 0; i < set->count; i++)
        if (!strcmp(set->items[i].name, name))
            return set->items[i].value;
    return NULL;
}

const struct nm_condition_def *nm_condition_find(const char *name)
{
    static const struct nm_condition_def any = {.name = "any"};

    return *name ? &any : NULL;
}
