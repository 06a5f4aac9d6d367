/* Text of a target to its parts (url.h): schemes, arguments and the entry. One table of schemes
 * says what each may carry. User, host and port: url_authority.c; what stands behind them:
 * url_path.c.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "url_scheme.h"

#include "credentials.h"
#include "options.h"
#include "text.h"
#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define URL_MAX_BYTES 8192

int nm_url_refuse(struct nm_error *err, const struct nm_url_scheme *scheme, const char *fmt, ...)
{
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return nm_error_set(err, -EINVAL, NM_REASON_NONE, "%s URL: %s; write it like %s", scheme->name,
                        text, scheme->example);
}

/* --- the table --- */

static const char *const nfs_versions[] = {"3", "4", NULL};
static const char *const lun_contents[] = {"ext4", "raw", NULL};

static const struct nm_url_rule nfs_rules[] = {
    {.name = "version", .values = nfs_versions},
    {.name = "uid", .max = UINT32_MAX},
    {.name = "gid", .max = UINT32_MAX},
    {.name = "mountport", .min = 1, .max = UINT16_MAX},
};

static const struct nm_url_rule iscsi_rules[] = {
    {.name = "fs", .values = lun_contents},
};

/* Port 2049 is not folded for NFS: naming it leaves out the portmapper. */
static const struct nm_url_scheme schemes[] = {
    {
        .name = "smb",
        .protocol = NM_PROTOCOL_SMB,
        .has_host = true,
        .takes_user = true,
        .folded_port = 445,
        .example = "smb://user@nas/share/folder",
        .parse_path = nm_url_parse_smb_path,
    },
    {
        .name = "iscsi",
        .protocol = NM_PROTOCOL_ISCSI,
        .has_host = true,
        .takes_user = true,
        .folded_port = 3260,
        .rules = iscsi_rules,
        .n_rules = NM_OPTION_COUNT(iscsi_rules),
        .example = "iscsi://nas/iqn.1994-11.com.example:lun1/0",
        .parse_path = nm_url_parse_iscsi_path,
    },
    {
        .name = "nfs",
        .protocol = NM_PROTOCOL_NFS,
        .has_host = true,
        .any_bytes = true,
        .rules = nfs_rules,
        .n_rules = NM_OPTION_COUNT(nfs_rules),
        .example = "nfs://nas/export/folder?version=3",
        .parse_path = nm_url_parse_absolute_path,
    },
    {
        .name = "local",
        .protocol = NM_PROTOCOL_LOCAL,
        .any_bytes = true,
        .example = "local:/mnt/disk or /mnt/disk",
        .parse_path = nm_url_parse_local_path,
    },
    {
        .name = "http",
        .protocol = NM_PROTOCOL_HTTP,
        .has_host = true,
        .takes_user = true,
        .folded_port = 80,
        .example = "http://user@nas/folder",
        .parse_path = nm_url_parse_absolute_path,
    },
    {
        .name = "https",
        .protocol = NM_PROTOCOL_HTTP,
        .tls = true,
        .has_host = true,
        .takes_user = true,
        .folded_port = 443,
        .example = "https://user@nas/folder",
        .parse_path = nm_url_parse_absolute_path,
    },
    {
        .name = "null",
        .protocol = NM_PROTOCOL_NULL,
        .any_argument = true,
        .example = "null:name?rate=100MB",
        .parse_path = nm_url_parse_null_path,
    },
};

/* --- arguments --- */

static const struct nm_url_rule *find_rule(const struct nm_url_scheme *scheme, const char *name)
{
    for (size_t i = 0; i < scheme->n_rules; i++)
        if (!strcmp(scheme->rules[i].name, name))
            return &scheme->rules[i];
    return NULL;
}

static int unknown_argument(const struct nm_url_scheme *scheme, const char *name,
                            struct nm_error *err)
{
    const char *names[8];

    for (size_t i = 0; i < scheme->n_rules; i++)
        names[i] = scheme->rules[i].name;
    if (!scheme->n_rules)
        return nm_url_refuse(err, scheme,
                             "it takes no arguments (a \"?\" in a name is written %%3F)");
    nm_error_set(err, -EINVAL, NM_REASON_NONE, "%s URL: unknown argument \"%.40s\"", scheme->name,
                 name);
    nm_options_suggest(err, name, names, scheme->n_rules);
    return -EINVAL;
}

/* Checks the value and brings a number into its one spelling. */
static int check_argument(const struct nm_url_scheme *scheme, const struct nm_url_rule *rule,
                          struct nm_url_arg *arg, struct nm_error *err)
{
    uint64_t number;
    size_t n = 0;

    if (rule->values) {
        for (; rule->values[n]; n++)
            if (!strcmp(rule->values[n], arg->value))
                return 0;
        nm_error_set(err, -EINVAL, NM_REASON_NONE, "%s URL: %s=%.40s is not possible", scheme->name,
                     rule->name, arg->value);
        nm_options_suggest(err, arg->value, rule->values, n);
        return -EINVAL;
    }
    if (nm_units_parse_u64(arg->value, &number, NULL) < 0 || number < rule->min ||
        number > rule->max)
        return nm_url_refuse(err, scheme, "%s is not a number from %" PRIu64 " to %" PRIu64,
                             rule->name, rule->min, rule->max);
    snprintf(arg->value, strlen(arg->value) + 1, "%" PRIu64, number);
    return 0;
}

static int parse_argument(const struct nm_url_scheme *scheme, struct nm_url *url, const char *text,
                          size_t length, struct nm_error *err)
{
    const char *equals = memchr(text, '=', length);
    struct nm_url_arg *arg = &url->args[url->n_args];
    const struct nm_url_rule *rule;
    int r;

    if (!equals || equals == text)
        return nm_url_refuse(err, scheme, "an argument is NAME=VALUE");
    url->n_args++;
    r = nm_url_decode_name(scheme, "arguments", text, (size_t)(equals - text), &arg->name, err);
    if (!r)
        r = nm_url_decode_name(scheme, "arguments", equals + 1,
                               (size_t)(text + length - equals - 1), &arg->value, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i + 1 < url->n_args; i++)
        if (!strcmp(url->args[i].name, arg->name))
            return nm_url_refuse(err, scheme, "the argument \"%.40s\" is given twice", arg->name);
    rule = find_rule(scheme, arg->name);
    if (rule)
        return check_argument(scheme, rule, arg, err);
    return scheme->any_argument ? 0 : unknown_argument(scheme, arg->name, err);
}

static int compare_arguments(const void *a, const void *b)
{
    return strcmp(((const struct nm_url_arg *)a)->name, ((const struct nm_url_arg *)b)->name);
}

static int parse_arguments(const struct nm_url_scheme *scheme, struct nm_url *url, const char *text,
                           struct nm_error *err)
{
    size_t most = 1;
    int r = 0;

    if (!*text)
        return 0;
    for (const char *at = text; *at; at++)
        most += *at == '&';
    url->args = calloc(most, sizeof(*url->args));
    if (!url->args)
        return nm_error_no_memory(err);
    for (const char *at = text; !r;) {
        size_t length = strcspn(at, "&");

        r = parse_argument(scheme, url, at, length, err);
        if (!at[length])
            break;
        at += length + 1;
    }
    if (!r)
        qsort(url->args, url->n_args, sizeof(*url->args), compare_arguments);
    return r;
}

/* --- entry --- */

/* Text without a scheme that is no absolute path either. */
static int refuse_bare(const char *text, struct nm_error *err)
{
    if (!strncmp(text, "//", 2) || !strncmp(text, "\\\\", 2))
        return nm_error_set(err, -EINVAL, NM_REASON_NONE,
                            "a share is named by a URL: smb://SERVER/SHARE (a local directory "
                            "begins with one \"/\")");
    return nm_error_set(err, -EINVAL, NM_REASON_NONE,
                        "neither a URL nor an absolute path; write smb://, nfs://, iscsi://, "
                        "http:// or the full path from \"/\"");
}

static const struct nm_url_scheme *find_scheme(const char *text, size_t length)
{
    for (size_t i = 0; i < NM_OPTION_COUNT(schemes); i++)
        if (strlen(schemes[i].name) == length && !strncasecmp(schemes[i].name, text, length))
            return &schemes[i];
    return NULL;
}

static int unknown_scheme(const char *text, size_t length, struct nm_error *err)
{
    const char *names[NM_OPTION_COUNT(schemes)];
    char name[24];

    for (size_t i = 0; i < NM_OPTION_COUNT(schemes); i++)
        names[i] = schemes[i].name;
    snprintf(name, sizeof(name), "%.*s", (int)(length < 20 ? length : 20), text);
    if (text[length + 1] == '/' && text[length + 2] != '/')
        return nm_error_set(err, -EINVAL, NM_REASON_NONE,
                            "\"%s\" is no protocol; an NFS export is written nfs://%s/...", name,
                            name);
    nm_error_set(err, -EINVAL, NM_REASON_NONE, "unknown protocol \"%s\"", name);
    nm_options_suggest(err, name, names, NM_OPTION_COUNT(schemes));
    return -EINVAL;
}

static int parse(struct nm_url *url, const char *text, char **ret_password, struct nm_error *err)
{
    size_t length =
        strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");
    const struct nm_url_scheme *scheme;
    const char *rest, *question;
    int r;

    if (text[0] == '/' && text[1] != '/')
        return nm_url_parse_bare_path(find_scheme("local", 5), url, text, err);
    if (!length || text[length] != ':')
        return refuse_bare(text, err);
    scheme = find_scheme(text, length);
    if (!scheme)
        return unknown_scheme(text, length, err);
    url->protocol = scheme->protocol;
    url->tls = scheme->tls;
    rest = text + length + 1;
    if (scheme->has_host) {
        const char *authority = rest + 2;

        if (strncmp(rest, "//", 2))
            return nm_url_refuse(err, scheme, "\"//\" is missing behind the protocol");
        rest = authority + strcspn(authority, "/?");
        r = nm_url_parse_authority(scheme, url, authority, rest, ret_password, err);
        if (r < 0)
            return r;
    }
    question = rest + strcspn(rest, "?");
    r = scheme->parse_path(scheme, url, rest, (size_t)(question - rest), err);
    return r < 0 || !*question ? r : parse_arguments(scheme, url, question + 1, err);
}

int nm_url_parse(const char *text, struct nm_url **ret_url, char **ret_password,
                 struct nm_error *err)
{
    struct nm_url *url;
    char *password = NULL;
    size_t length = strlen(text);
    int r;

    if (length > URL_MAX_BYTES)
        return nm_error_set(err, -EINVAL, NM_REASON_NONE, "a URL of more than %d bytes is refused",
                            URL_MAX_BYTES);
    if (!nm_text_is_printable(text, length))
        return nm_error_set(err, -EINVAL, NM_REASON_NONE,
                            "the URL contains a control character (a line end or tab?)");
    url = calloc(1, sizeof(*url));
    if (!url)
        return nm_error_no_memory(err);
    r = parse(url, text, &password, err);
    if (r < 0) {
        nm_url_free(url);
        if (password)
            nm_secrets_wipe(password, strlen(password));
        free(password);
        return r;
    }
    *ret_url = url;
    *ret_password = password;
    return 0;
}
