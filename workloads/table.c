/* Every workload, in the order of `list workloads`. A new workload is one row here.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload.h"

extern const struct nm_workload_ops nm_workload_copy, nm_workload_sequential, nm_workload_access,
    nm_workload_random, nm_workload_mixed, nm_workload_video, nm_workload_bonnie, nm_workload_meta,
    nm_workload_dd, nm_workload_drive, nm_workload_mix;

/* clang-format off */
const struct nm_workload_ops *const nm_workload_table[] = {
    &nm_workload_copy,
    &nm_workload_sequential,
    &nm_workload_random,
    &nm_workload_mixed,
    &nm_workload_access,
    &nm_workload_video,
    &nm_workload_bonnie,
    &nm_workload_meta,
    &nm_workload_dd,
    &nm_workload_drive,
    &nm_workload_mix,
    NULL,
};
/* clang-format on */
