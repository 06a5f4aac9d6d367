/* What went wrong, in the product's own words.
 *
 * Every failing function returns 0 or a negative errno value; the human part goes into a
 * struct nm_error passed as last parameter (may be NULL). The structure is plain data of
 * fixed size, so that it can live in memory shared between processes.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_ERROR_H
#define NM_ERROR_H

#define NM_MUST_CHECK   __attribute__((warn_unused_result))
#define NM_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* Reason classes, the same over all backends; stored by name. */
enum nm_reason {
    NM_REASON_NONE = 0,
    NM_REASON_AUTH,            /* who we are was not accepted */
    NM_REASON_NOT_FOUND,       /* host name, share, export, target, LUN, file */
    NM_REASON_READ_ONLY,       /* reading works, writing is not allowed */
    NM_REASON_NO_SPACE,        /* volume full or quota reached */
    NM_REASON_TIMEOUT,         /* no answer before the deadline */
    NM_REASON_CONNECTION_LOST, /* refused, reset, closed, unreachable */
    NM_REASON_UNSUPPORTED,     /* this backend, library, server or target cannot do it */
    NM_REASON_CORRUPT,         /* bytes read differ from bytes written */
    NM_REASON_PROTECTED,       /* refused by us: data that are not ours are in the way */
    NM_REASON_CLIENT_LIMIT,    /* memory, descriptors, processes of this machine */
    NM_REASON_ABORTED,         /* interrupted by the user, or by an earlier failure */
    NM_REASON_INTERNAL,        /* a defect of this program, or nobody knows */
    NM_REASONS
};

struct nm_error {
    enum nm_reason reason;
    int code;     /* negative errno value */
    char raw[48]; /* code of the library or server, e.g. "NT_STATUS_ACCESS_DENIED", "NFS3ERR_IO" */
    char text[480]; /* what happened, to what, what to do; one line, no secret */
};

/* Fills err (when not NULL) and returns code, so that callers can write `return nm_error_set()`. */
int nm_error_set(struct nm_error *err, int code, enum nm_reason reason, const char *fmt, ...)
    NM_PRINTF(4, 5);

/* The same, with the class that fits the errno value (nm_reason_from_errno). */
int nm_error_errno(struct nm_error *err, int code, const char *fmt, ...) NM_PRINTF(3, 4);

/* -ENOMEM with the usual text. */
int nm_error_no_memory(struct nm_error *err);

/* Keeps the library's or server's own code beside an error that is already set. */
void nm_error_raw(struct nm_error *err, const char *fmt, ...) NM_PRINTF(2, 3);

/* Puts "PREFIX: " before the text of an error that is already set. */
void nm_error_prefix(struct nm_error *err, const char *fmt, ...) NM_PRINTF(2, 3);

/* Class for a negative errno value. EACCES is AUTH; EROFS is READ_ONLY; backends refine it. */
enum nm_reason nm_reason_from_errno(int code);

/* "auth", "not_found", ...; never NULL. */
const char *nm_reason_name(enum nm_reason reason);

/* Inverse of nm_reason_name; -1 when unknown. */
int nm_reason_parse(const char *name);

#endif
