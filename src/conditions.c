/* Sets of conditions and what forbids a comparison (conditions.h); the table of all names is
 * conditions_table.c.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "conditions.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OVERFLOW_NAME "conditions.overflow"

static struct nm_condition *find_item(struct nm_conditions *set, const char *name)
{
    for (uint32_t i = 0; i < set->count; i++)
        if (!strncmp(set->items[i].name, name, sizeof(set->items[i].name) - 1))
            return &set->items[i];
    return NULL;
}

static void put(struct nm_conditions *set, const char *name, const char *value)
{
    struct nm_condition *item = find_item(set, name);

    if (!item && set->count < NM_CONDITIONS_MAX)
        item = &set->items[set->count++];
    if (!item) {
        item = &set->items[NM_CONDITIONS_MAX - 1];
        value = name;
        name = OVERFLOW_NAME;
    }
    snprintf(item->value, sizeof(item->value), "%s", value);
    if (item->name != name)
        snprintf(item->name, sizeof(item->name), "%s", name);
}

void nm_conditions_set(struct nm_conditions *set, const char *name, const char *fmt, ...)
{
    char value[sizeof(set->items[0].value)];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(value, sizeof(value), fmt, ap);
    va_end(ap);
    put(set, name, value);
}

const char *nm_conditions_get(const struct nm_conditions *set, const char *name)
{
    const struct nm_condition *item = find_item((struct nm_conditions *)set, name);

    return item ? item->value : NULL;
}

void nm_conditions_merge(struct nm_conditions *set, const struct nm_conditions *other)
{
    for (uint32_t i = 0; i < other->count; i++)
        put(set, other->items[i].name, other->items[i].value);
}

const struct nm_condition_def *nm_condition_find(const char *name)
{
    for (size_t i = 0; i < nm_condition_table_length; i++)
        if (!strcmp(nm_condition_table[i].name, name))
            return &nm_condition_table[i];
    return NULL;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(const struct nm_condition *const *)a)->name,
                  (*(const struct nm_condition *const *)b)->name);
}

char *nm_conditions_key_text(const struct nm_conditions *set)
{
    const struct nm_condition *keys[NM_CONDITIONS_MAX];
    char *text = NULL;
    size_t n = 0, size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    for (uint32_t i = 0; i < set->count; i++) {
        const struct nm_condition_def *def = nm_condition_find(set->items[i].name);

        if (def && def->class == NM_CONDITION_KEY)
            keys[n++] = &set->items[i];
    }
    qsort(keys, n, sizeof(keys[0]), compare_names);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s=%s\n", keys[i]->name, keys[i]->value);
    if (fclose(out) < 0) {
        free(text);
        return NULL;
    }
    return text;
}

static bool is_listed(const char *name, const char *const *names)
{
    for (; names && *names; names++)
        if (!strcmp(*names, name))
            return true;
    return false;
}

const struct nm_condition_def *nm_conditions_conflict(const struct nm_conditions *a,
                                                      const struct nm_conditions *b,
                                                      unsigned factors, const char *const *allowed,
                                                      size_t *from)
{
    while (*from < nm_condition_table_length) {
        const struct nm_condition_def *def = &nm_condition_table[(*from)++];
        const char *left = nm_conditions_get(a, def->name);
        const char *right = nm_conditions_get(b, def->name);

        if (def->class != NM_CONDITION_INFO && !(def->implied_by & factors) && left && right &&
            strcmp(left, right) && !is_listed(def->name, allowed))
            return def;
    }
    return NULL;
}
