/* Every backend, in the order of `list backends`. A new backend is one row here.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "backend.h"

extern const struct nm_backend_ops nm_backend_null, nm_backend_null_blocks, nm_backend_nfs, nm_backend_iscsi;

const struct nm_backend_ops *const nm_backend_table[] = {
    &nm_backend_null,
    &nm_backend_null_blocks,
    &nm_backend_nfs,
    &nm_backend_iscsi,
    NULL,
};
