/* Targets for the suite until src/url.c parses them: scheme://[user@]host[:port]/a/b and
 * scheme:path with ?name=value&...; no escapes.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "url.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[NM_PROTOCOLS] = {"smb", "iscsi", "nfs", "local", "http", "null"};

const char *nm_protocol_name(enum nm_protocol protocol)
{
    return names[protocol];
}

const char *nm_url_arg(const struct nm_url *url, const char *name)
{
    for (size_t i = 0; i < url->n_args; i++)
        if (!strcmp(url->args[i].name, name))
            return url->args[i].value;
    return NULL;
}

int nm_url_parse(const char *text, struct nm_url **ret_url, char **ret_password,
                 struct nm_error *err)
{
    struct nm_url *url = calloc(1, sizeof(*url));
    char *copy = strdup(text), *rest, *query, *at;

    (void)ret_password;
    if (!url || !copy || !(rest = strchr(copy, ':')))
        return nm_error_errno(err, -EINVAL, "no scheme");
    *rest++ = '\0';
    for (url->protocol = 0; url->protocol < NM_PROTOCOLS; url->protocol++)
        if (!strcmp(copy, names[url->protocol]))
            break;
    query = strchr(rest, '?');
    if (query) {
        char *word, *save = NULL;

        *query++ = '\0';
        url->args = calloc(32, sizeof(*url->args));
        for (word = strtok_r(query, "&", &save); word && url->n_args < 32;
             word = strtok_r(NULL, "&", &save)) {
            char *value = strchr(word, '=');

            if (value)
                *value++ = '\0';
            url->args[url->n_args++] = (struct nm_url_arg){word, value ? value : word};
        }
    }
    if (strncmp(rest, "//", 2) != 0) {
        url->path = rest;
        *ret_url = url;
        return 0;
    }
    rest += 2;
    at = strchr(rest, '@');
    if (at && at < strchr(rest, '/')) {
        *at++ = '\0';
        url->user = rest;
        rest = at;
    }
    url->host = rest;
    rest = strchr(rest, '/');
    if (!rest)
        return nm_error_errno(err, -EINVAL, "no path");
    *rest++ = '\0';
    at = strchr(url->host, ':');
    if (at) {
        *at++ = '\0';
        url->port = (uint16_t)strtoul(at, NULL, 10);
    }
    if (url->protocol == NM_PROTOCOL_NFS || url->protocol == NM_PROTOCOL_HTTP) {
        url->path = malloc(strlen(rest) + 2);
        url->path[0] = '/';
        memcpy(url->path + 1, rest, strlen(rest) + 1);
    } else {
        url->share = rest;
        url->path = strchr(rest, '/');
        if (url->path)
            *url->path++ = '\0';
        else
            url->path = rest + strlen(rest);
        if (url->protocol == NM_PROTOCOL_ISCSI) {
            url->lun = (unsigned)strtoul(url->path, NULL, 10);
            url->path += strlen(url->path);
        }
    }
    *ret_url = url;
    return 0;
}

void nm_url_free(struct nm_url *url)
{
    (void)url; /* one test process */
}
