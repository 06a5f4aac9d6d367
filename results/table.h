/* Upload/download tables: one per workload and protocol, rows = volumes, columns = phases.
 *
 * The same digits in every format; numbers come from cells (select.h), nothing is computed twice. A
 * new format is one file and one row of nm_table_formats.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_TABLE_H
#define NM_TABLE_H

#include "select.h"

#include <stdio.h>

enum nm_table_by { NM_TABLE_BY_VOLUME, NM_TABLE_BY_PROTOCOL, NM_TABLE_BY_FIRMWARE };

struct nm_table_style {
    enum nm_table_by by;
    bool mebi;  /* MiB/s instead of MB/s */
    int digits; /* -1 = rule of nm_units_format_rate */
    const char
        *language; /* "en", "pl", "ru", "ja"; NULL = the user's for people, "en" for machines */
    bool fragment; /* html: tables without a page around them */
    bool color;    /* text on a terminal */
    const char *run_id; /* JSON "run", NULL = null */
};

/* Writes every table of cells in the named format (text md csv json html tex). */
int nm_table_write(const struct nm_cells *cells, const char *format,
                   const struct nm_table_style *style, FILE *out,
                   struct nm_error *err) NM_MUST_CHECK;

/* "volume", "protocol", "firmware" -> nm_table_by; -1 = unknown. */
int nm_table_by_parse(const char *name);

#endif
