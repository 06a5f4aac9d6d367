/* Reading text that other programs printed (scan.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "scan.h"

#include "../../src/text.h"
#include "../../src/units.h"

#include <math.h>
#include <string.h>

struct nm_slice nm_slice_of(const char *text)
{
    return (struct nm_slice){.at = text, .length = strlen(text)};
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

struct nm_slice nm_slice_trim(struct nm_slice slice)
{
    while (slice.length && is_blank(slice.at[0])) {
        slice.at++;
        slice.length--;
    }
    while (slice.length && is_blank(slice.at[slice.length - 1]))
        slice.length--;
    return slice;
}

bool nm_slice_is(struct nm_slice slice, const char *text)
{
    return slice.length == strlen(text) && !memcmp(slice.at, text, slice.length);
}

bool nm_slice_starts(struct nm_slice slice, const char *text)
{
    size_t length = strlen(text);

    return slice.length >= length && !memcmp(slice.at, text, length);
}

static bool same_letters(const char *a, const char *b, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (nm_text_lower(a[i]) != nm_text_lower(b[i]))
            return false;
    return true;
}

ptrdiff_t nm_slice_find(struct nm_slice slice, const char *text)
{
    size_t length = strlen(text);

    for (size_t i = 0; i + length <= slice.length; i++)
        if (same_letters(slice.at + i, text, length))
            return (ptrdiff_t)i;
    return -1;
}

struct nm_slice nm_slice_from(struct nm_slice slice, size_t offset)
{
    if (offset > slice.length)
        offset = slice.length;
    return (struct nm_slice){.at = slice.at + offset, .length = slice.length - offset};
}

const char *nm_slice_copy(struct nm_slice slice, char *out, size_t size)
{
    size_t length = slice.length < size - 1 ? slice.length : size - 1;
    bool foreign;

    /* do not cut a letter in two; one has at most three bytes behind its first */
    for (int i = 0; i < 3 && length < slice.length && length &&
                    ((unsigned char)slice.at[length] & 0xc0) == 0x80;
         i++)
        length--;
    foreign = !nm_text_is_utf8(slice.at, length);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)slice.at[i];

        out[i] = (char)(c < ' ' || c == 0x7f ? ' ' : foreign && c >= 0x80 ? '?' : c);
    }
    out[length] = '\0';
    return out;
}

void nm_lines_init(struct nm_lines *lines, const char *text, size_t length)
{
    lines->rest = (struct nm_slice){.at = text, .length = length};
    lines->number = 0;
    if (nm_slice_starts(lines->rest, "\xef\xbb\xbf"))
        lines->rest = nm_slice_from(lines->rest, 3);
}

bool nm_lines_next(struct nm_lines *lines, struct nm_slice *ret_line)
{
    const char *end;
    size_t length;

    if (!lines->rest.length)
        return false;
    end = memchr(lines->rest.at, '\n', lines->rest.length);
    length = end ? (size_t)(end - lines->rest.at) : lines->rest.length;
    *ret_line = (struct nm_slice){.at = lines->rest.at, .length = length};
    lines->rest = nm_slice_from(lines->rest, length + 1);
    lines->number++;
    return true;
}

static size_t digits_at(struct nm_slice slice, size_t from)
{
    size_t n = 0;

    while (from + n < slice.length && nm_text_is_digit(slice.at[from + n]))
        n++;
    return n;
}

/* "e-05" behind a number. */
static size_t exponent_at(struct nm_slice slice, size_t from)
{
    size_t sign, n;

    if (from >= slice.length || (slice.at[from] != 'e' && slice.at[from] != 'E'))
        return 0;
    sign = from + 1 < slice.length && (slice.at[from + 1] == '-' || slice.at[from + 1] == '+');
    n = digits_at(slice, from + 1 + sign);
    return n && n <= 3 ? 1 + sign + n : 0;
}

size_t nm_scan_number(struct nm_slice slice, double *ret_value)
{
    char text[64];
    size_t length = digits_at(slice, 0), fraction;

    if (!length)
        return 0;
    if (length < slice.length && (slice.at[length] == '.' || slice.at[length] == ',')) {
        fraction = digits_at(slice, length + 1);
        if (fraction)
            length += 1 + fraction;
    }
    length += exponent_at(slice, length);
    if (length >= sizeof(text))
        return 0;
    memcpy(text, slice.at, length);
    text[length] = '\0';
    for (char *p = text; *p; p++)
        if (*p == ',')
            *p = '.';
    return nm_units_parse_double(text, ret_value, NULL) < 0 ? 0 : length;
}

size_t nm_scan_u64(struct nm_slice slice, uint64_t *ret_value)
{
    char text[24];
    size_t length = digits_at(slice, 0);

    if (!length || length >= sizeof(text))
        return 0;
    memcpy(text, slice.at, length);
    text[length] = '\0';
    return nm_units_parse_u64(text, ret_value, NULL) < 0 || *ret_value > INT64_MAX ? 0 : length;
}

bool nm_slice_number(struct nm_slice slice, double *ret_value)
{
    slice = nm_slice_trim(slice);
    return slice.length && nm_scan_number(slice, ret_value) == slice.length;
}

bool nm_slice_u64(struct nm_slice slice, uint64_t *ret_value)
{
    slice = nm_slice_trim(slice);
    return slice.length && nm_scan_u64(slice, ret_value) == slice.length;
}

/* One field that begins with a quote; returns what was taken from the line. */
static size_t quoted_field(struct nm_slice line, struct nm_slice *ret_field, char **scratch)
{
    size_t at = 1;

    ret_field->at = *scratch;
    for (; at < line.length; at++) {
        if (line.at[at] == '"') {
            if (at + 1 >= line.length || line.at[at + 1] != '"')
                break;
            at++;
        }
        *(*scratch)++ = line.at[at];
    }
    at += at < line.length; /* the closing quote */
    while (at < line.length && line.at[at] != ',')
        *(*scratch)++ = line.at[at++];
    ret_field->length = (size_t)(*scratch - ret_field->at);
    return at;
}

bool nm_scan_csv_is_open(struct nm_slice line)
{
    bool quoted = false, at_start = true;

    for (size_t i = 0; i < line.length; i++) {
        char c = line.at[i];

        if (quoted && c == '"' && i + 1 < line.length && line.at[i + 1] == '"')
            i++;
        else if (c == '"')
            quoted = !quoted && at_start;
        at_start = !quoted && c == ',';
    }
    return quoted;
}

size_t nm_scan_csv(struct nm_slice line, struct nm_slice *fields, size_t max, char *scratch)
{
    size_t n = 0;

    while (line.length && line.at[line.length - 1] == '\r')
        line.length--;
    for (;;) {
        struct nm_slice field;
        size_t taken;

        if (line.length && line.at[0] == '"') {
            taken = quoted_field(line, &field, &scratch);
        } else {
            const char *comma = memchr(line.at, ',', line.length);

            taken = comma ? (size_t)(comma - line.at) : line.length;
            field = (struct nm_slice){.at = line.at, .length = taken};
        }
        if (n < max)
            fields[n] = field;
        n++;
        if (taken >= line.length)
            return n;
        line = nm_slice_from(line, taken + 1);
    }
}

bool nm_scan_scaled(double value, double factor, uint64_t *ret_value)
{
    double scaled = round(value * factor);

    if (!(scaled >= 0) || scaled >= 9.2e18)
        return false;
    *ret_value = (uint64_t)scaled;
    return true;
}
