/* Inside of the URL parser, shared by url_parse.c, url_authority.c and url_path.c only.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_URL_SCHEME_H
#define NM_URL_SCHEME_H

#include "url.h"

/* An argument behind "?": one of a closed set of words, or a number. */
struct nm_url_rule {
    const char *name;
    const char *const *values; /* NULL-terminated; NULL = number */
    uint64_t min, max;
};

/* What a scheme may carry; one row each. */
struct nm_url_scheme {
    const char *name;
    enum nm_protocol protocol;
    bool tls, has_host, takes_user, any_argument;
    bool any_bytes;       /* names need not be UTF-8 */
    uint16_t folded_port; /* the protocol's own port, where naming it changes nothing */
    const struct nm_url_rule *rules;
    size_t n_rules;
    const char *example;
    int (*parse_path)(const struct nm_url_scheme *scheme, struct nm_url *url, const char *text,
                      size_t length, struct nm_error *err);
};

/* "SCHEME URL: PROBLEM; write it like EXAMPLE"; returns -EINVAL. */
int nm_url_refuse(struct nm_error *err, const struct nm_url_scheme *scheme, const char *fmt, ...)
    NM_PRINTF(3, 4);

/* Percent-decoding into a new string. -EILSEQ: a "%" that starts no escape; -EINVAL: a control
 * character; -ENOMEM. Wipes what it leaves behind. */
int nm_url_decode(const char *text, size_t length, char **ret) NM_MUST_CHECK;

/* The same with a message; `what` names the part. */
int nm_url_decode_name(const struct nm_url_scheme *scheme, const char *what, const char *text,
                       size_t length, char **ret, struct nm_error *err) NM_MUST_CHECK;

/* [[domain;]user[:password]@]host[:port] between text and end; end lies inside the whole URL. */
int nm_url_parse_authority(const struct nm_url_scheme *scheme, struct nm_url *url, const char *text,
                           const char *end, char **ret_password,
                           struct nm_error *err) NM_MUST_CHECK;

/* What stands behind the host: share and path, target and LUN, ... */
int nm_url_parse_smb_path(const struct nm_url_scheme *scheme, struct nm_url *url, const char *text,
                          size_t length, struct nm_error *err) NM_MUST_CHECK;
int nm_url_parse_iscsi_path(const struct nm_url_scheme *scheme, struct nm_url *url,
                            const char *text, size_t length, struct nm_error *err) NM_MUST_CHECK;
int nm_url_parse_absolute_path(const struct nm_url_scheme *scheme, struct nm_url *url,
                               const char *text, size_t length, struct nm_error *err) NM_MUST_CHECK;
int nm_url_parse_local_path(const struct nm_url_scheme *scheme, struct nm_url *url,
                            const char *text, size_t length, struct nm_error *err) NM_MUST_CHECK;
int nm_url_parse_null_path(const struct nm_url_scheme *scheme, struct nm_url *url, const char *text,
                           size_t length, struct nm_error *err) NM_MUST_CHECK;

/* "/path" as typed: no escapes, no arguments. */
int nm_url_parse_bare_path(const struct nm_url_scheme *scheme, struct nm_url *url, const char *text,
                           struct nm_error *err) NM_MUST_CHECK;

#endif
