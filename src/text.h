/* Small questions about text from outside.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_TEXT_H
#define NM_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Well-formed UTF-8 (no overlong forms, surrogates or values beyond U+10FFFF). */
bool nm_text_is_utf8(const char *bytes, size_t length);

/* No control character: none below blank, no DEL. Bytes of 0x80 and more are fine. */
bool nm_text_is_printable(const char *bytes, size_t length);

/* ASCII only, whatever the locale. */
bool nm_text_is_digit(char c);
bool nm_text_is_alnum(char c);
char nm_text_lower(char c);

#endif
