/* Percent-decoding, and what stands behind the host of a URL (url_scheme.h): names between slashes,
 * normalised, so that one target has one spelling.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "url_scheme.h"

#include "credentials.h"
#include "text.h"
#include "units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PATH_MAX_BYTES 4096
#define IQN_MAX_BYTES  223
#define LUN_MAX        16383

static int hex_digit(char c)
{
    c = nm_text_lower(c);
    return nm_text_is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int nm_url_decode(const char *text, size_t length, char **ret)
{
    char *out = malloc(length + 1);
    size_t used = 0;
    int r = 0;

    if (!out)
        return -ENOMEM;
    for (size_t i = 0; i < length && !r; i++) {
        int high = -1, low = -1;

        if (text[i] != '%') {
            out[used++] = text[i];
            continue;
        }
        if (length - i > 2) {
            high = hex_digit(text[i + 1]);
            low = hex_digit(text[i + 2]);
        }
        if (high < 0 || low < 0)
            r = -EILSEQ;
        else
            out[used++] = (char)(high << 4 | low);
        i += 2;
    }
    out[used] = '\0';
    if (!r && !nm_text_is_printable(out, used))
        r = -EINVAL;
    if (r) {
        nm_secrets_wipe(out, used);
        free(out);
        return r;
    }
    *ret = out;
    return 0;
}

int nm_url_decode_name(const struct nm_url_scheme *scheme, const char *what, const char *text,
                       size_t length, char **ret, struct nm_error *err)
{
    char *name;
    int r = nm_url_decode(text, length, &name);

    if (r == -EILSEQ)
        return nm_url_refuse(err, scheme,
                             "a \"%%\" in the %s stands before two hexadecimal digits (\"%%\" "
                             "itself is %%25)",
                             what);
    if (r == -EINVAL)
        return nm_url_refuse(err, scheme, "the %s contains a control character", what);
    if (r < 0)
        return nm_error_no_memory(err);
    if (!scheme->any_bytes && !nm_text_is_utf8(name, strlen(name))) {
        free(name);
        return nm_url_refuse(err, scheme, "the %s is not UTF-8", what);
    }
    *ret = name;
    return 0;
}

/* Appends one decoded name behind a slash; drops "" and ".". */
static int append_name(const struct nm_url_scheme *scheme, const char *name, char *path,
                       size_t *used, struct nm_error *err)
{
    size_t bytes = strlen(name);

    if (!bytes || !strcmp(name, "."))
        return 0;
    if (!strcmp(name, ".."))
        return nm_url_refuse(err, scheme, "the path contains \"..\" (name the directory itself)");
    if (strchr(name, '/'))
        return nm_url_refuse(err, scheme, "a name in the path contains an encoded \"/\"");
    if (*used + 1 + bytes > PATH_MAX_BYTES)
        return nm_url_refuse(err, scheme, "the path is longer than %d bytes", PATH_MAX_BYTES);
    path[(*used)++] = '/';
    memcpy(path + *used, name, bytes);
    *used += bytes;
    return 0;
}

/* The names between slashes, decoded (escapes) and joined again: "/a//b%20c/." -> "/a/b c"; "/"
 * when there is none. */
static int parse_names(const struct nm_url_scheme *scheme, const char *text, size_t length,
                       bool escapes, char **ret_path, struct nm_error *err)
{
    char *path = malloc(length + 2);
    size_t used = 0;
    int r = path ? 0 : nm_error_no_memory(err);

    for (const char *at = text, *end = text + length; at < end && !r;) {
        const char *slash = memchr(at, '/', (size_t)(end - at));
        size_t bytes = (size_t)((slash ? slash : end) - at);
        char *name = NULL;

        if (escapes)
            r = nm_url_decode_name(scheme, "path", at, bytes, &name, err);
        else
            r = (name = strndup(at, bytes)) ? 0 : nm_error_no_memory(err);
        if (!r)
            r = append_name(scheme, name, path, &used, err);
        free(name);
        at += bytes + 1;
    }
    if (r < 0) {
        free(path);
        return r;
    }
    if (!used)
        path[used++] = '/';
    path[used] = '\0';
    *ret_path = path;
    return 0;
}

int nm_url_parse_absolute_path(const struct nm_url_scheme *scheme, struct nm_url *url,
                               const char *text, size_t length, struct nm_error *err)
{
    if (!length || *text != '/')
        return nm_url_refuse(err, scheme, "the path, which begins with \"/\", is missing");
    return parse_names(scheme, text, length, true, &url->path, err);
}

/* "/first/rest" -> share "first", path "rest". */
static int parse_share(const struct nm_url_scheme *scheme, struct nm_url *url, const char *text,
                       size_t length, const char *what, struct nm_error *err)
{
    char *path;
    size_t first;
    int r = parse_names(scheme, text, length, true, &path, err);

    if (r < 0)
        return r;
    first = strcspn(path + 1, "/");
    url->share = strndup(path + 1, first);
    url->path = strdup(path + 1 + first + !!path[1 + first]);
    free(path);
    if (!url->share || !url->path)
        return nm_error_no_memory(err);
    return first ? 0 : nm_url_refuse(err, scheme, "the %s is missing", what);
}

int nm_url_parse_smb_path(const struct nm_url_scheme *scheme, struct nm_url *url, const char *text,
                          size_t length, struct nm_error *err)
{
    return parse_share(scheme, url, text, length, "share", err);
}

int nm_url_parse_iscsi_path(const struct nm_url_scheme *scheme, struct nm_url *url,
                            const char *text, size_t length, struct nm_error *err)
{
    uint64_t lun;
    int r = parse_share(scheme, url, text, length, "name of the target", err);

    if (r < 0)
        return r;
    if (strlen(url->share) > IQN_MAX_BYTES)
        return nm_url_refuse(err, scheme, "the name of the target is longer than %d bytes",
                             IQN_MAX_BYTES);
    if (!url->path[0])
        return nm_url_refuse(err, scheme, "the LUN is missing");
    if (nm_units_parse_u64(url->path, &lun, NULL) < 0 || lun > LUN_MAX)
        return nm_url_refuse(err, scheme, "the LUN is not a number from 0 to %d", LUN_MAX);
    url->lun = (unsigned)lun;
    url->path[0] = '\0';
    return 0;
}

/* The name of a null target is any text. */
int nm_url_parse_null_path(const struct nm_url_scheme *scheme, struct nm_url *url, const char *text,
                           size_t length, struct nm_error *err)
{
    return nm_url_decode_name(scheme, "name", text, length, &url->path, err);
}

/* A share that the desktop mounted: what would be measured is its FUSE daemon and cache. */
static int refuse_gvfs(const char *path, struct nm_error *err)
{
    static const char smb[] = "/smb-share:server=", share[] = ",share=";
    static const char problem[] = "this directory is a share mounted by the desktop (gvfs), which "
                                  "would be measured instead of the NAS; use smb://";
    const char *rest, *comma;

    if (strncmp(path, "/run/user/", 10))
        return 0;
    rest = path + 10 + strspn(path + 10, "0123456789");
    if (strncmp(rest, "/gvfs", 5) || (rest[5] && rest[5] != '/'))
        return 0;
    rest += 5;
    comma = strstr(rest, share);
    if (strncmp(rest, smb, strlen(smb)) || !comma)
        return nm_error_set(err, -EINVAL, NM_REASON_UNSUPPORTED, "%sSERVER/SHARE", problem);
    rest += strlen(smb);
    comma += strlen(share);
    return nm_error_set(err, -EINVAL, NM_REASON_UNSUPPORTED, "%s%.*s/%.*s", problem,
                        (int)strcspn(rest, ","), rest, (int)strcspn(comma, ",/"), comma);
}

int nm_url_parse_local_path(const struct nm_url_scheme *scheme, struct nm_url *url,
                            const char *text, size_t length, struct nm_error *err)
{
    int r = nm_url_parse_absolute_path(scheme, url, text, length, err);

    return r < 0 ? r : refuse_gvfs(url->path, err);
}

int nm_url_parse_bare_path(const struct nm_url_scheme *scheme, struct nm_url *url, const char *text,
                           struct nm_error *err)
{
    int r;

    url->protocol = NM_PROTOCOL_LOCAL;
    r = parse_names(scheme, text, strlen(text), false, &url->path, err);
    return r < 0 ? r : refuse_gvfs(url->path, err);
}
