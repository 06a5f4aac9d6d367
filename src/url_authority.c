/* User, host and port of a URL (url_scheme.h).
 *
 * No message quotes anything that stands before an "@", or between a ":" and the end of the host: a
 * password may be there, even in the wrong place.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "url_scheme.h"

#include "text.h"
#include "units.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST_MAX 253

static int raw_character(struct nm_error *err, const struct nm_url_scheme *scheme, char c)
{
    return nm_error_set(err, -EINVAL, NM_REASON_NONE,
                        "%s URL: the user name or password holds a raw \"%c\"; write it as %%%02X, "
                        "or keep the password out of the URL: --credentials FILE or "
                        "NASMARK_PASSWORD",
                        scheme->name, c, (unsigned)c);
}

/* The canonical spelling of what stood in brackets, with its zone. */
static int parse_ip6(const struct nm_url_scheme *scheme, struct nm_url *url, const char *text,
                     size_t length, struct nm_error *err)
{
    char address[64], normal[INET6_ADDRSTRLEN];
    const char *percent = memchr(text, '%', length);
    size_t bare = percent ? (size_t)(percent - text) : length, zone = length - bare;
    struct in6_addr binary;

    if (bare >= sizeof(address))
        return nm_url_refuse(err, scheme, "what stands in brackets is no IPv6 address");
    memcpy(address, text, bare);
    address[bare] = '\0';
    if (inet_pton(AF_INET6, address, &binary) != 1)
        return nm_url_refuse(err, scheme, "what stands in brackets is no IPv6 address");
    inet_ntop(AF_INET6, &binary, normal, sizeof(normal));
    if (!percent) {
        url->host = strdup(normal);
        return url->host ? 0 : nm_error_no_memory(err);
    }
    if (zone < 4 || memcmp(percent, "%25", 3))
        return nm_url_refuse(err, scheme,
                             "the zone of an IPv6 address is written [fe80::1%%25eth0]");
    zone -= 3;
    for (size_t i = 0; i < zone; i++)
        if (!nm_text_is_alnum(percent[3 + i]) && !memchr("-._~", percent[3 + i], 4))
            return nm_url_refuse(err, scheme,
                                 "the zone of an IPv6 address is the name of an interface");
    if (asprintf(&url->host, "%s%%%.*s", normal, (int)zone, percent + 3) < 0) {
        url->host = NULL;
        return nm_error_no_memory(err);
    }
    return 0;
}

static int parse_name(const struct nm_url_scheme *scheme, struct nm_url *url, const char *text,
                      size_t length, struct nm_error *err)
{
    if (!length)
        return nm_url_refuse(err, scheme, "the host name is missing");
    if (length > HOST_MAX)
        return nm_url_refuse(err, scheme, "the host name is longer than %d characters", HOST_MAX);
    for (size_t i = 0; i < length; i++)
        if (!nm_text_is_alnum(text[i]) && !memchr("-._", text[i], 3) && !(text[i] & 0x80))
            return nm_url_refuse(err, scheme, "a host name cannot contain \"%c\"", text[i]);
    if (!nm_text_is_utf8(text, length))
        return nm_url_refuse(err, scheme, "the host name is not UTF-8");
    url->host = strndup(text, length);
    if (!url->host)
        return nm_error_no_memory(err);
    for (char *at = url->host; *at; at++)
        *at = nm_text_lower(*at);
    return 0;
}

/* behind: what follows the authority, to tell a bad port from a password with a raw "/". */
static int parse_port(const struct nm_url_scheme *scheme, struct nm_url *url, const char *text,
                      size_t length, const char *behind, struct nm_error *err)
{
    char digits[8] = "";
    uint64_t port;

    if (length < sizeof(digits))
        memcpy(digits, text, length);
    if (nm_units_parse_u64(digits, &port, NULL) < 0 || port < 1 || port > UINT16_MAX) {
        if (*behind && strchr(behind, '@'))
            return raw_character(err, scheme, *behind);
        return nm_url_refuse(err, scheme, "the port is not a number from 1 to 65535");
    }
    url->port = port == scheme->folded_port ? 0 : (uint16_t)port;
    return 0;
}

static int parse_host_port(const struct nm_url_scheme *scheme, struct nm_url *url, const char *text,
                           const char *end, struct nm_error *err)
{
    const char *host_end, *colon;
    int r;

    if (text < end && *text == '[') {
        host_end = memchr(text, ']', (size_t)(end - text));
        if (!host_end)
            return nm_url_refuse(err, scheme, "the \"]\" of the IPv6 address is missing");
        r = parse_ip6(scheme, url, text + 1, (size_t)(host_end - text - 1), err);
        colon = host_end + 1;
        if (!r && colon < end && *colon != ':')
            return nm_url_refuse(err, scheme, "only \":PORT\" may follow the \"]\"");
    } else {
        host_end = memchr(text, ':', (size_t)(end - text));
        if (!host_end)
            host_end = end;
        colon = host_end;
        if (colon < end && memchr(colon + 1, ':', (size_t)(end - colon - 1)))
            return nm_url_refuse(err, scheme,
                                 "more than one \":\"; an IPv6 address stands in brackets");
        r = parse_name(scheme, url, text, (size_t)(host_end - text), err);
    }
    if (r < 0 || colon == end)
        return r;
    return parse_port(scheme, url, colon + 1, (size_t)(end - colon - 1), end, err);
}

static int parse_user(const struct nm_url_scheme *scheme, struct nm_url *url, const char *text,
                      const char *end, char **ret_password, struct nm_error *err)
{
    const char *colon = memchr(text, ':', (size_t)(end - text));
    const char *user_end = colon ? colon : end;
    const char *semicolon = memchr(text, ';', (size_t)(user_end - text));
    int r;

    if (memchr(text, '@', (size_t)(end - text)))
        return raw_character(err, scheme, '@');
    if (colon && memchr(colon + 1, ':', (size_t)(end - colon - 1)))
        return raw_character(err, scheme, ':');
    if (semicolon && scheme->protocol == NM_PROTOCOL_SMB) {
        r = nm_url_decode_name(scheme, "domain", text, (size_t)(semicolon - text), &url->domain,
                               err);
        if (r < 0)
            return r;
        text = semicolon + 1;
    }
    if (text == user_end)
        return nm_url_refuse(err, scheme, "the user name before \"@\" is missing");
    r = nm_url_decode_name(scheme, "user name", text, (size_t)(user_end - text), &url->user, err);
    if (r < 0 || !colon)
        return r;
    r = nm_url_decode(colon + 1, (size_t)(end - colon - 1), ret_password);
    if (r == -EILSEQ)
        return raw_character(err, scheme, '%');
    if (r == -EINVAL)
        return nm_url_refuse(err, scheme, "the password contains a control character");
    return r < 0 ? nm_error_no_memory(err) : 0;
}

int nm_url_parse_authority(const struct nm_url_scheme *scheme, struct nm_url *url, const char *text,
                           const char *end, char **ret_password, struct nm_error *err)
{
    const char *at = memrchr(text, '@', (size_t)(end - text));
    int r = 0;

    if (at && !scheme->takes_user)
        return nm_url_refuse(err, scheme, "it takes no user name");
    if (at)
        r = parse_user(scheme, url, text, at, ret_password, err);
    return r < 0 ? r : parse_host_port(scheme, url, at ? at + 1 : text, end, err);
}
