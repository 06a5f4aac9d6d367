/* Every workload, in the order of `list workloads`. A new workload is one row here.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload.h"

const struct nm_workload_ops *const nm_workload_table[] = {
    NULL,
};
