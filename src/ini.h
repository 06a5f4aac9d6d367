/* Reader of INI text: plans and credentials.
 *
 * Strict where the packaged inih (55) is not: it cuts section names at 49 bytes and lines at 200,
 * ignores what follows "]", takes an indented line for a continuation, does not report an empty
 * section and gives no line numbers. Nothing is copied: the pieces point into the text, so that the
 * caller decides where secrets live.
 *
 *   [section]            blanks around everything are dropped
 *   key = value          or key: value; the first "=" or ":" separates
 *   ; comment            or # comment, on a line of its own
 *   key = value ; text   only with NM_INI_INLINE_COMMENTS: a blank, then ";"
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_INI_H
#define NM_INI_H

#include "error.h"

#include <stddef.h>

struct nm_slice {
    const char *text;
    size_t length;
};

struct nm_ini_item {
    unsigned line; /* from 1 */
    struct nm_slice section;
    struct nm_slice key; /* text NULL: the section heading itself */
    struct nm_slice value;
};

enum nm_ini_flags { NM_INI_INLINE_COMMENTS = 1 << 0 };

/* Calls handler for each heading and each setting. A negative result of the handler ends it. Errors
 * of both begin with "NAME:LINE: " and never quote the line. */
int nm_ini_parse(const char *name, const char *text, size_t length, unsigned flags,
                 int (*handler)(void *context, const struct nm_ini_item *item,
                                struct nm_error *err),
                 void *context, struct nm_error *err) NM_MUST_CHECK;

#endif
