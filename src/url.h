/* Targets as URLs: one parser for all protocols (grammar: docs/man/nasmark.1 and README).
 *
 *   smb://[[domain;]user@]host[:port]/share[/path]
 *   nfs://host[:port]/export/path[?version=3|4&uid=&gid=&mountport=]
 *   iscsi://[user@]host[:port]/iqn/lun[?fs=ext4|raw]
 *   local:/path   or   /path
 *   http(s)://[user@]host[:port]/path
 *   null:[name][?rate=&latency=&...]          the harness itself, for tests
 *
 * Everything is percent-decoded once; the client libraries get the plain parts, never our URL.
 * Slashes are normalised ("/a//b/" = "/a/b"), the scheme and the host name fold to lower case, so
 * one target has one canonical spelling.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_URL_H
#define NM_URL_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nm_protocol {
    NM_PROTOCOL_SMB,
    NM_PROTOCOL_ISCSI,
    NM_PROTOCOL_NFS,
    NM_PROTOCOL_LOCAL,
    NM_PROTOCOL_HTTP,
    NM_PROTOCOL_NULL,
    NM_PROTOCOLS
};

struct nm_url_arg {
    char *name, *value; /* decoded */
};

struct nm_url {
    enum nm_protocol protocol;
    bool tls;      /* https */
    char *domain;  /* smb; NULL when absent */
    char *user;    /* NULL when absent */
    char *host;    /* no brackets; an IPv6 zone is kept as "%zone"; NULL for local and null */
    uint16_t port; /* 0 = the protocol's own */
    char *share;   /* smb: share; iscsi: target name (IQN, eui., naa.); else NULL */
    char *path;    /* smb: below the share, no slash at either end, "" = root of the share;
                      nfs, http: absolute, "/" at least, no slash at the end unless "/";
                      local: absolute path; null: name, may be ""; iscsi: "" */
    unsigned lun;  /* iscsi, 0..16383 */
    struct nm_url_arg *args;
    size_t n_args;
};

/* Parses text. Unknown scheme, argument or character out of place = -EINVAL with cause and remedy.
 * A password in the URL is moved to *ret_password (heap, caller wipes and frees; NULL when absent)
 * and never appears in err. */
int nm_url_parse(const char *text, struct nm_url **ret_url, char **ret_password,
                 struct nm_error *err) NM_MUST_CHECK;
void nm_url_free(struct nm_url *url);

/* Canonical text without any secret; parses back to an equal URL. Heap; NULL when out of memory. */
char *nm_url_format(const struct nm_url *url);

/* Value of an argument, NULL when absent. */
const char *nm_url_arg(const struct nm_url *url, const char *name);

/* Host in the form that goes into messages and sockets: "[::1]:445", "nas", "nas:8445". */
char *nm_url_host_port(const struct nm_url *url);

/* Last part of share, export, IQN or directory: the volume name of `bench URL`. */
const char *nm_url_volume_name(const struct nm_url *url);

const char *nm_protocol_name(enum nm_protocol protocol); /* "smb", "iscsi", ... */
int nm_protocol_parse(const char *name);                 /* enum value or -1 */

#endif
