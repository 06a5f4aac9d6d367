/* Every backend, in the order of `list backends`. A new backend is one row here.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "backend.h"

extern const struct nm_backend_ops nm_backend_null;
extern const struct nm_backend_ops nm_backend_null_blocks;
extern const struct nm_backend_ops nm_backend_smb;
extern const struct nm_backend_ops nm_backend_nfs;
extern const struct nm_backend_ops nm_backend_lunfs;
extern const struct nm_backend_ops nm_backend_iscsi;
extern const struct nm_backend_ops nm_backend_http;
extern const struct nm_backend_ops nm_backend_local;
extern const struct nm_backend_ops nm_backend_device;

/* clang-format off */
const struct nm_backend_ops *const nm_backend_table[] = {
    &nm_backend_null,
    &nm_backend_null_blocks,
    &nm_backend_smb,
    &nm_backend_nfs,
    &nm_backend_lunfs,
    &nm_backend_iscsi,
    &nm_backend_local,
    &nm_backend_device,
    &nm_backend_http,
    NULL,
};
/* clang-format on */
