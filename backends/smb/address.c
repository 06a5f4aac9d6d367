/* URLs and names as libsmbclient wants them (smb.h).
 *
 * The library parses URLs itself: it cuts at '@', ':', '/' and '?' before it decodes, takes a
 * decoded backslash for a separator and refuses "[::1]". Everything that is not unreserved is
 * therefore percent-encoded, the colons of an IPv6 address too ("%3A%3A1" works in 4.17), and the
 * host carries no brackets. User and secret never enter a URL.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "smb.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES_MAX 255u

static bool unreserved(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' ||
           c == '_' || c == '.' || c == '~';
}

size_t nm_smb_encode(const char *text, bool keep_slash, char *out, size_t size)
{
    static const char hex[] = "0123456789ABCDEF";
    size_t n = 0;

    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        bool plain = unreserved(c) || (keep_slash && c == '/');

        if (n + (plain ? 1 : 3) >= size)
            return 0;
        if (plain) {
            out[n++] = (char)c;
            continue;
        }
        out[n++] = '%';
        out[n++] = hex[c >> 4];
        out[n++] = hex[c & 15];
    }
    out[n] = '\0';
    return n;
}

char *nm_smb_target_url(const struct nm_url *url, bool whole)
{
    size_t room = 3 * (strlen(url->host) + strlen(url->share) + strlen(url->path)) + 64;
    char *out = malloc(room), *at = out;

    if (!out)
        return NULL;
    at += snprintf(at, room, "smb://");
    at += nm_smb_encode(url->host, false, at, room - (size_t)(at - out));
    at += snprintf(at, room - (size_t)(at - out), ":%u/", url->port ? url->port : NM_SMB_PORT);
    at += nm_smb_encode(url->share, false, at, room - (size_t)(at - out));
    if (whole && *url->path) {
        *at++ = '/';
        nm_smb_encode(url->path, true, at, room - (size_t)(at - out));
    }
    return out;
}

/* What no SMB name may hold. Wildcards are among them: SMB1 would unlink everything they match. */
static bool forbidden(unsigned char c)
{
    return c < ' ' || strchr("\\:*?\"<>|", c);
}

int nm_smb_check_path(const char *path, struct nm_error *err)
{
    size_t length = strlen(path);

    if (length >= NM_SMB_PATH_MAX)
        return nm_error_set(err, -ENAMETOOLONG, NM_REASON_UNSUPPORTED,
                            "path of %zu bytes is too long; at most %u can be used", length,
                            NM_SMB_PATH_MAX - 1);
    for (const char *name = path; *name;) {
        size_t bytes = strcspn(name, "/");

        if (bytes > NAME_BYTES_MAX)
            return nm_error_set(err, -ENAMETOOLONG, NM_REASON_UNSUPPORTED,
                                "name too long for the target: \"%.24s...\" has %zu bytes; "
                                "file systems take %u",
                                name, bytes, NAME_BYTES_MAX);
        for (size_t i = 0; i < bytes; i++)
            if (forbidden((unsigned char)name[i]))
                return nm_error_set(err, -EINVAL, NM_REASON_UNSUPPORTED,
                                    "\"%.*s\": SMB cannot carry the character '%c' in a name",
                                    (int)bytes, name, name[i]);
        name += bytes;
        while (*name == '/')
            name++;
    }
    return 0;
}
