/* Every built-in profile, in the order of `list profiles` (workload.h). A new one is one row.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload.h"

const struct nm_profile *const nm_profile_table[] = {
    NULL,
};
