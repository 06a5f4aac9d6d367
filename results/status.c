/* Names of trial statuses (record.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "record.h"

#include <string.h>

static const char *const names[NM_STATUSES] = {
    [NM_STATUS_OK] = "ok",
    [NM_STATUS_FAILED] = "failed",
    [NM_STATUS_UNSUPPORTED] = "unsupported",
    [NM_STATUS_NA] = "na",
    [NM_STATUS_MISSING] = "missing",
    [NM_STATUS_VOID] = "void",
    [NM_STATUS_ABORTED] = "aborted",
    [NM_STATUS_TOO_SHORT] = "too_short",
};

const char *nm_status_name(enum nm_status status)
{
    return (unsigned)status < NM_STATUSES ? names[status] : "?";
}

int nm_status_parse(const char *name)
{
    for (int i = 0; i < NM_STATUSES; i++)
        if (!strcmp(names[i], name))
            return i;
    return -1;
}
