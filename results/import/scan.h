/* Reading text that other programs printed: lines, numbers, comma-separated fields.
 *
 * Works on (pointer, length) slices of one buffer and never reads beyond its end. No locale, no
 * allocation except where said.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_SCAN_H
#define NM_SCAN_H

#include "../../src/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nm_slice {
    const char *at;
    size_t length;
};

struct nm_slice nm_slice_of(const char *text);
struct nm_slice nm_slice_trim(struct nm_slice slice); /* blanks, tabs and CR on both ends */
bool nm_slice_is(struct nm_slice slice, const char *text);
bool nm_slice_starts(struct nm_slice slice, const char *text);
/* Position of text (ASCII letters match in both cases), -1 = absent. */
ptrdiff_t nm_slice_find(struct nm_slice slice, const char *text);
struct nm_slice nm_slice_from(struct nm_slice slice, size_t offset);
/* Copies at most size - 1 bytes and terminates; control characters and what is not UTF-8 become
 * blanks and question marks, so that the text may be stored. Returns out. */
const char *nm_slice_copy(struct nm_slice slice, char *out, size_t size);

/* Next line without its end; false at the end of the text. A byte order mark in front of the text
 * is no part of a line. */
struct nm_lines {
    struct nm_slice rest;
    unsigned number; /* of the line that was returned last, from 1 */
};
void nm_lines_init(struct nm_lines *lines, const char *text, size_t length);
bool nm_lines_next(struct nm_lines *lines, struct nm_slice *ret_line);

/* The unsigned number that the slice begins with: digits, one fraction behind '.' or ',' and an
 * exponent. Returns its length, 0 = there is none. */
size_t nm_scan_number(struct nm_slice slice, double *ret_value);
/* The same for a whole number up to INT64_MAX, which is what the store holds. */
size_t nm_scan_u64(struct nm_slice slice, uint64_t *ret_value);
/* The whole slice (trimmed) is one number. */
bool nm_slice_number(struct nm_slice slice, double *ret_value);
bool nm_slice_u64(struct nm_slice slice, uint64_t *ret_value);

/* The line ends within a quoted field, which goes on in the next one. */
bool nm_scan_csv_is_open(struct nm_slice line);

/* Splits a row at commas (RFC 4180 quotes).
 * Fields are copied to scratch (line.length + 1 bytes) where they carry quotes. Returns the number
 * of fields, which may be more than max. */
size_t nm_scan_csv(struct nm_slice line, struct nm_slice *fields, size_t max, char *scratch);

/* Seconds or a rate as a whole number of ns or bytes; false when out of range. */
bool nm_scan_scaled(double value, double factor, uint64_t *ret_value);

#endif
