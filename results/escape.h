/* Text from outside (names of devices, volumes, firmware, remarks) made safe for a format.
 *
 * Whatever stands in a name, the number of columns, the document and the terminal stay whole, and
 * the text survives.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_ESCAPE_H
#define NM_ESCAPE_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

/* Terminal: control characters become blanks. */
void nm_escape_plain(FILE *out, const char *text);

/* Columns the text takes on a terminal: wide characters count two, combining ones none. */
size_t nm_escape_width(const char *text);

/* HTML and XML, contents and attributes. */
void nm_escape_html(FILE *out, const char *text);

/* Field of a Markdown table. */
void nm_escape_md(FILE *out, const char *text);

/* LaTeX, whatever the font encoding and babel language. */
void nm_escape_tex(FILE *out, const char *text);

/* Field of a CSV file (RFC 4180), quoted where needed. A text that a spreadsheet would run as a
 * formula (= + - @ tab return in front) gets an apostrophe before it. */
void nm_escape_csv(FILE *out, const char *text);

/* JSON string; bytes that are not UTF-8 become U+FFFD. NULL becomes null. */
json_t *nm_escape_json(const char *text);

#endif
