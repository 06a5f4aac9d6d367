/* WebDAV: URLs are understood and stored, nothing can be measured yet.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "backend.h"

const struct nm_backend_ops nm_backend_http = {
    .name = "http",
    .help = "files over WebDAV",
    .protocol = NM_PROTOCOL_HTTP,
    .traits = NM_TRAIT_FILES,
    .unavailable = "this version has no WebDAV client",
};
