/* Options for the suite until src/options.c exists: whole numbers and strings.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int nm_options_set(const struct nm_option_section *section, void *out, const char *key,
                   const char *value, struct nm_error *err)
{
    for (size_t i = 0; i < section->n_options; i++) {
        const struct nm_option *o = &section->options[i];
        char *field = (char *)out + o->offset;
        uint64_t number = strtoull(value, NULL, 10);

        if (strcmp(o->name, key) != 0)
            continue;
        switch (o->type) {
        case NM_OPTION_BOOL: *(bool *)(void *)field = !strcmp(value, "yes"); return 0;
        case NM_OPTION_UINT: *(uint32_t *)(void *)field = (uint32_t)number; return 0;
        case NM_OPTION_SIZE: *(uint64_t *)(void *)field = number; return 0;
        case NM_OPTION_DURATION: *(uint64_t *)(void *)field = number * 1000000000; return 0;
        case NM_OPTION_ENUM:
            for (int k = 0; o->values[k]; k++)
                if (!strcmp(o->values[k], value))
                    *(int *)(void *)field = k;
            return 0;
        case NM_OPTION_STRING:
        case NM_OPTION_LIST: *(char **)(void *)field = *value ? strdup(value) : NULL; return 0;
        default: return nm_error_errno(err, -EINVAL, "option type");
        }
    }
    return nm_error_errno(err, -EINVAL, "unknown key %s", key);
}

int nm_options_init(const struct nm_option_section *section, void *out, struct nm_error *err)
{
    memset(out, 0, section->size);
    for (size_t i = 0; i < section->n_options; i++) {
        const struct nm_option *o = &section->options[i];
        int r = o->preset ? nm_options_set(section, out, o->name, o->preset, err) : 0;

        if (r)
            return r;
    }
    return 0;
}

void nm_options_done(const struct nm_option_section *section, void *out)
{
    (void)section;
    (void)out;
}
