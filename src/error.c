/* Errors and reason classes (error.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "error.h"

#include "text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const reason_names[NM_REASONS] = {
    [NM_REASON_NONE] = "none",
    [NM_REASON_AUTH] = "auth",
    [NM_REASON_NOT_FOUND] = "not_found",
    [NM_REASON_READ_ONLY] = "read_only",
    [NM_REASON_NO_SPACE] = "no_space",
    [NM_REASON_TIMEOUT] = "timeout",
    [NM_REASON_CONNECTION_LOST] = "connection_lost",
    [NM_REASON_UNSUPPORTED] = "unsupported",
    [NM_REASON_CORRUPT] = "corrupt",
    [NM_REASON_PROTECTED] = "protected",
    [NM_REASON_CLIENT_LIMIT] = "client_limit",
    [NM_REASON_ABORTED] = "aborted",
    [NM_REASON_INTERNAL] = "internal",
};

/* Length of the UTF-8 sequence of several bytes at text, 0 when there is none. */
static size_t sequence(const char *text)
{
    for (size_t length = 2; length <= 4 && text[length - 1]; length++)
        if (nm_text_is_utf8(text, length))
            return length;
    return 0;
}

/* One line of UTF-8, whatever a library put into its message and wherever "%.40s" cut a name. */
static void flatten(char *text)
{
    while (*text) {
        size_t length = *text & 0x80 ? sequence(text) : 1;

        if (!length)
            *text = '?';
        else if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = ' ';
        text += length ? length : 1;
    }
}

static void set(struct nm_error *err, int code, enum nm_reason reason, const char *fmt, va_list ap)
    NM_PRINTF(4, 0);

static void set(struct nm_error *err, int code, enum nm_reason reason, const char *fmt, va_list ap)
{
    if (!err)
        return;
    err->reason = reason;
    err->code = code;
    err->raw[0] = '\0';
    vsnprintf(err->text, sizeof(err->text), fmt, ap);
    flatten(err->text);
}

int nm_error_set(struct nm_error *err, int code, enum nm_reason reason, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    set(err, code, reason, fmt, ap);
    va_end(ap);
    return code;
}

int nm_error_errno(struct nm_error *err, int code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    set(err, code, nm_reason_from_errno(code), fmt, ap);
    va_end(ap);
    return code;
}

int nm_error_no_memory(struct nm_error *err)
{
    return nm_error_set(err, -ENOMEM, NM_REASON_CLIENT_LIMIT, "this machine is out of memory");
}

void nm_error_raw(struct nm_error *err, const char *fmt, ...)
{
    va_list ap;

    if (!err)
        return;
    va_start(ap, fmt);
    vsnprintf(err->raw, sizeof(err->raw), fmt, ap);
    va_end(ap);
    flatten(err->raw);
}

void nm_error_prefix(struct nm_error *err, const char *fmt, ...)
{
    char prefix[sizeof(err->text)], whole[2 * sizeof(err->text) + 2];
    va_list ap;

    if (!err)
        return;
    va_start(ap, fmt);
    vsnprintf(prefix, sizeof(prefix), fmt, ap);
    va_end(ap);
    snprintf(whole, sizeof(whole), "%s: %s", prefix, err->text);
    memcpy(err->text, whole, sizeof(err->text) - 1);
    err->text[sizeof(err->text) - 1] = '\0';
    flatten(err->text);
}

enum nm_reason nm_reason_from_errno(int code)
{
    switch (code < 0 ? -code : code) {
    case 0: return NM_REASON_NONE;
    case EACCES:
    case EPERM: return NM_REASON_AUTH;
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case ENOTDIR: return NM_REASON_NOT_FOUND;
    case EROFS: return NM_REASON_READ_ONLY;
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return NM_REASON_NO_SPACE;
    case ETIMEDOUT: return NM_REASON_TIMEOUT;
    case ECONNREFUSED:
    case ECONNRESET:
    case ECONNABORTED:
    case ENOTCONN:
    case EPIPE:
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
    case ENETRESET:
    case EHOSTDOWN:
    case ESHUTDOWN: return NM_REASON_CONNECTION_LOST;
    case EOPNOTSUPP:
    case ENOSYS:
    case EPROTONOSUPPORT: return NM_REASON_UNSUPPORTED;
    case EILSEQ:
    case EBADMSG: return NM_REASON_CORRUPT;
    case EEXIST:
    case EBUSY:
    case ENOTEMPTY: return NM_REASON_PROTECTED;
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case EAGAIN: return NM_REASON_CLIENT_LIMIT;
    case ECANCELED:
    case EINTR: return NM_REASON_ABORTED;
    default: return NM_REASON_INTERNAL;
    }
}

const char *nm_reason_name(enum nm_reason reason)
{
    return (unsigned)reason < NM_REASONS ? reason_names[reason] : "internal";
}

int nm_reason_parse(const char *name)
{
    for (int i = 0; i < NM_REASONS; i++)
        if (!strcmp(name, reason_names[i]))
            return i;
    return -1;
}
