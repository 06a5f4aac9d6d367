/* Small questions about text from outside (text.h); nothing here depends on the locale.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "text.h"

#include <stdint.h>

/* Length of the sequence that starts at bytes, 0 when it is malformed. */
static size_t utf8_sequence(const unsigned char *bytes, size_t length)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = bytes[0];
    size_t size = lead < 0x80       ? 1
                  : lead >> 5 == 6  ? 2
                  : lead >> 4 == 14 ? 3
                  : lead >> 3 == 30 ? 4
                                    : 0;
    uint32_t code;

    if (size <= 1)
        return size;
    if (size > length)
        return 0;
    code = lead & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if (bytes[i] >> 6 != 2)
            return 0;
        code = code << 6 | (bytes[i] & 0x3f);
    }
    if (code < smallest[size] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    return size;
}

bool nm_text_is_utf8(const char *bytes, size_t length)
{
    for (size_t at = 0, size; at < length; at += size) {
        size = utf8_sequence((const unsigned char *)bytes + at, length - at);
        if (!size)
            return false;
    }
    return true;
}

bool nm_text_is_printable(const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)bytes[i] < ' ' || bytes[i] == 0x7f)
            return false;
    return true;
}

bool nm_text_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool nm_text_is_alnum(char c)
{
    return nm_text_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

char nm_text_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}
