/* Quantities as text: sizes, durations, rates.
 *
 * Parsing follows one rule everywhere: `B`; `kB KB MB GB TB` = powers of 1000; `KiB MiB GiB TiB`
 * and bare `k K m M g G t T` = powers of 1024; no suffix = bytes. Printing always names the unit.
 * Nothing here depends on the locale: the decimal sign is the point, unless the caller of a print
 * function asks for another one.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_UNITS_H
#define NM_UNITS_H

#include "error.h"

#include <stddef.h>
#include <stdint.h>

/* "2GB" -> 2000000000. Fractions are allowed when the result is a whole number of bytes ("1.5k").
 */
int nm_units_parse_bytes(const char *text, uint64_t *ret_bytes, struct nm_error *err) NM_MUST_CHECK;

/* "30s", "500ms", "20us", "100ns", "5m", "2h"; no suffix = seconds. */
int nm_units_parse_duration(const char *text, uint64_t *ret_ns, struct nm_error *err) NM_MUST_CHECK;

/* "50%" or "0.5" -> 0.5. */
int nm_units_parse_fraction(const char *text, double *ret_fraction,
                            struct nm_error *err) NM_MUST_CHECK;

/* Plain unsigned number, whole text, no sign; the locale does not matter. */
int nm_units_parse_u64(const char *text, uint64_t *ret_value, struct nm_error *err) NM_MUST_CHECK;

/* Plain real number, "." as decimal sign, whole text, finite. */
int nm_units_parse_double(const char *text, double *ret_value, struct nm_error *err) NM_MUST_CHECK;

/* Shortest exact spelling that parses back: 2000000000 -> "2GB", 1048576 -> "1MiB", 1000 -> "1KB",
 * 1234567 -> "1234567B". Powers of 1000 are preferred when both fit. */
const char *nm_units_format_bytes(uint64_t bytes, char *out, size_t size);

/* For people: "1.23 GB", three significant digits, powers of 1000. */
const char *nm_units_format_bytes_human(uint64_t bytes, char *out, size_t size);

/* "1.5 s", "230 ms", "12.3 us", three significant digits. */
const char *nm_units_format_duration(uint64_t ns, char *out, size_t size);

/* Digits of a rate (cli.md): >= 5 one decimal, below two decimals, below 0.1 two significant
 * digits; digits >= 0 fixes the number of decimals. decimal_sign is '.' or ','. The unit is not
 * printed. */
const char *nm_units_format_rate(double mb_per_s, int digits, char decimal_sign, char *out,
                                 size_t size);

/* Locale-proof "%.*g" of a finite value with '.'; significant 0 = as few digits as parse back to
 * the same value. */
const char *nm_units_format_double(double value, int significant, char *out, size_t size);

#endif
