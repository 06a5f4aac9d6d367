/* What is done with a parsed URL: canonical text, names, copies (url.h). Parsing: url_parse.c.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "url.h"

#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const protocol_names[NM_PROTOCOLS] = {
    [NM_PROTOCOL_SMB] = "smb",     [NM_PROTOCOL_ISCSI] = "iscsi", [NM_PROTOCOL_NFS] = "nfs",
    [NM_PROTOCOL_LOCAL] = "local", [NM_PROTOCOL_HTTP] = "http",   [NM_PROTOCOL_NULL] = "null",
};

const char *nm_protocol_name(enum nm_protocol protocol)
{
    return (unsigned)protocol < NM_PROTOCOLS ? protocol_names[protocol] : "?";
}

int nm_protocol_parse(const char *name)
{
    for (int i = 0; i < NM_PROTOCOLS; i++)
        if (!strcmp(name, protocol_names[i]))
            return i;
    return -1;
}

void nm_url_free(struct nm_url *url)
{
    if (!url)
        return;
    for (size_t i = 0; i < url->n_args; i++) {
        free(url->args[i].name);
        free(url->args[i].value);
    }
    free(url->args);
    free(url->domain);
    free(url->user);
    free(url->host);
    free(url->share);
    free(url->path);
    free(url);
}

/* Percent-encodes everything but unreserved characters and those in `plain`. */
static void put_encoded(FILE *out, const char *text, const char *plain)
{
    for (; *text; text++)
        if (nm_text_is_alnum(*text) || strchr("-._~", *text) || strchr(plain, *text))
            putc(*text, out);
        else
            fprintf(out, "%%%02X", (unsigned char)*text);
}

/* zone: text between the address and an IPv6 zone, "%25" in a URL and "%" elsewhere. */
static void put_host_port(FILE *out, const struct nm_url *url, const char *zone)
{
    if (strchr(url->host, ':')) {
        size_t address = strcspn(url->host, "%");

        fprintf(out, "[%.*s", (int)address, url->host);
        if (url->host[address])
            fprintf(out, "%s%s", zone, url->host + address + 1);
        putc(']', out);
    } else {
        fputs(url->host, out);
    }
    if (url->port)
        fprintf(out, ":%u", (unsigned)url->port);
}

static void put_authority(FILE *out, const struct nm_url *url)
{
    if (url->domain) {
        put_encoded(out, url->domain, "");
        putc(';', out);
    }
    if (url->user) {
        put_encoded(out, url->user, "");
        putc('@', out);
    }
    put_host_port(out, url, "%25");
}

static void put_url(FILE *out, const struct nm_url *url)
{
    static const char in_path[] = "/:@!$&'()*+,;=", in_args[] = "/:@!$'()*,;";

    fprintf(out, "%s%s:", nm_protocol_name(url->protocol), url->tls ? "s" : "");
    if (url->host) {
        fputs("//", out);
        put_authority(out, url);
    }
    if (url->share) {
        putc('/', out);
        put_encoded(out, url->share, in_path + 1);
    }
    if (url->protocol == NM_PROTOCOL_ISCSI)
        fprintf(out, "/%u", url->lun);
    if (url->protocol == NM_PROTOCOL_SMB && url->path[0])
        putc('/', out);
    put_encoded(out, url->path, in_path);
    for (size_t i = 0; i < url->n_args; i++) {
        putc(i ? '&' : '?', out);
        put_encoded(out, url->args[i].name, in_args);
        putc('=', out);
        put_encoded(out, url->args[i].value, in_args);
    }
}

char *nm_url_format(const struct nm_url *url)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    put_url(out, url);
    if (fclose(out) < 0) {
        free(text);
        return NULL;
    }
    return text;
}

char *nm_url_host_port(const struct nm_url *url)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    if (url->host)
        put_host_port(out, url, "%");
    if (fclose(out) < 0) {
        free(text);
        return NULL;
    }
    return text;
}

const char *nm_url_arg(const struct nm_url *url, const char *name)
{
    for (size_t i = 0; i < url->n_args; i++)
        if (!strcmp(url->args[i].name, name))
            return url->args[i].value;
    return NULL;
}

const char *nm_url_volume_name(const struct nm_url *url)
{
    const char *whole = url->path, *last;

    if (url->protocol == NM_PROTOCOL_ISCSI || !*whole)
        whole = url->share ? url->share : nm_protocol_name(url->protocol);
    last = strrchr(whole, url->protocol == NM_PROTOCOL_ISCSI ? ':' : '/');
    last = last ? last + 1 : whole;
    if (*last)
        return last;
    return url->host ? url->host : nm_protocol_name(url->protocol);
}
