/* From the bytes of a file to the text that importers read (decode.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "decode.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static uint32_t unit(const char *at, bool big_endian)
{
    unsigned char first = (unsigned char)at[0], second = (unsigned char)at[1];

    return big_endian ? (uint32_t)first << 8 | second : (uint32_t)second << 8 | first;
}

/* The letter at text, two or four bytes; half of a pair is U+FFFD. */
static uint32_t letter(const char *text, size_t length, bool big_endian, size_t *ret_taken)
{
    uint32_t value = unit(text, big_endian), low;

    *ret_taken = 2;
    if (value < 0xd800 || value > 0xdfff)
        return value;
    if (value > 0xdbff || length < 4)
        return 0xfffd;
    low = unit(text + 2, big_endian);
    if (low < 0xdc00 || low > 0xdfff)
        return 0xfffd;
    *ret_taken = 4;
    return 0x10000 + ((value - 0xd800) << 10) + (low - 0xdc00);
}

static char *put(char *out, uint32_t value)
{
    int more = value < 0x80 ? 0 : value < 0x800 ? 1 : value < 0x10000 ? 2 : 3;

    *out++ = (char)(more ? (0xf00 >> (more + 1) & 0xff) | value >> 6 * more : value);
    for (; more > 0; more--)
        *out++ = (char)(0x80 | (value >> 6 * (more - 1) & 0x3f));
    return out;
}

static int from_utf16(char **text, size_t *length, struct nm_error *err)
{
    bool big_endian = (*text)[0] == '\xfe';
    char *utf8 = malloc(*length / 2 * 3 + 1),
         *out = utf8; /* a letter of two bytes has up to three */

    if (!utf8)
        return nm_error_errno(err, -ENOMEM, "reading it: out of memory");
    for (size_t at = 2, taken; at + 1 < *length; at += taken)
        out = put(out, letter(*text + at, *length - at, big_endian, &taken));
    free(*text);
    *text = utf8;
    *length = (size_t)(out - utf8);
    return 0;
}

int nm_import_decode(char **text, size_t *length, struct nm_error *err)
{
    int r = 0;

    if (*length >= 2 && (!memcmp(*text, "\xff\xfe", 2) || !memcmp(*text, "\xfe\xff", 2)))
        r = from_utf16(text, length, err);
    if (r == 0 && *length >= 16 && !memcmp(*text, "SQLite format 3", 16))
        return nm_error_set(
            err, -EBADMSG, NM_REASON_CORRUPT,
            "a database; `nasmark export --format json --db FILE` writes what can be "
            "imported");
    if (r == 0 && memchr(*text, '\0', *length))
        r = nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT,
                         "binary data; text in UTF-8, or UTF-16 with its mark, is read");
    return r;
}
