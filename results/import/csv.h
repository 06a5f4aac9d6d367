/* Tables with a header line: private to csv*.c.
 *
 * A layout is recognised by its columns; it reads one row at a time.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_IMPORT_CSV_H
#define NM_IMPORT_CSV_H

#include "import.h"
#include "scan.h"

enum { NM_CSV_COLUMNS = 128, NM_CSV_LINE = 16384 };

struct nm_csv {
    const struct nm_import_sink *sink;
    char header[NM_CSV_LINE + 1];
    struct nm_slice columns[NM_CSV_COLUMNS]; /* names */
    size_t n_columns;
    char scratch[NM_CSV_LINE + 1];
    struct nm_slice fields[NM_CSV_COLUMNS]; /* of the row */
    uint32_t row;                           /* from 1, without the header */
    /* of the trial that the row becomes */
    struct nm_conditions conditions;
    struct nm_metrics metrics;
};

struct nm_csv_layout {
    const char *const *columns; /* that it needs; NULL-terminated */
    int (*row)(struct nm_csv *csv, struct nm_error *err);
};

extern const struct nm_csv_layout nm_csv_trials, nm_csv_copies, nm_csv_bonnie, nm_csv_drives,
    nm_csv_dd;

/* Field of the row, trimmed; empty when there is no such column. */
struct nm_slice nm_csv_field(const struct nm_csv *csv, const char *column);

/* The same as text; -EBADMSG when it does not fit. Returns 0 or 1 = it is empty. */
int nm_csv_text(const struct nm_csv *csv, const char *column, char *out, size_t size,
                struct nm_error *err) NM_MUST_CHECK;
/* -EBADMSG when it is neither empty (0) nor a whole number up to max. */
int nm_csv_number(const struct nm_csv *csv, const char *column, uint64_t max, uint64_t *ret_value,
                  struct nm_error *err) NM_MUST_CHECK;

/* -EBADMSG, "COLUMN \"VALUE\": WHAT". */
int nm_csv_fault(const struct nm_csv *csv, const char *column, const char *what,
                 struct nm_error *err);

/* NULL-terminated list of known kinds holds kind, else an error. */
int nm_csv_check_kind(const struct nm_csv *csv, const char *column, const char *kind,
                      struct nm_error *err) NM_MUST_CHECK;

#endif
