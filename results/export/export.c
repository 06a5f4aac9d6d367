/* Table of export formats (export.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "export.h"

#include <string.h>

extern const struct nm_export_format nm_export_csv, nm_export_json, nm_export_xlsx, nm_export_tex,
    nm_export_fio, nm_export_crystaldiskmark, nm_export_bonnie, nm_export_dd;

const struct nm_export_format *const nm_export_table[] = {
    &nm_export_csv,    &nm_export_json, &nm_export_xlsx,
    &nm_export_tex,    &nm_export_fio,  &nm_export_crystaldiskmark,
    &nm_export_bonnie, &nm_export_dd,   NULL,
};

const struct nm_export_format *nm_export_find(const char *name)
{
    for (size_t i = 0; nm_export_table[i]; i++)
        if (!strcmp(nm_export_table[i]->name, name))
            return nm_export_table[i];
    return NULL;
}
