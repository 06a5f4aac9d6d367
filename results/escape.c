/* Escaping for every output format (escape.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "escape.h"

#include "text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool is_control(char c)
{
    return (unsigned char)c < ' ' || c == 0x7f;
}

void nm_escape_plain(FILE *out, const char *text)
{
    for (; *text; text++)
        putc(is_control(*text) ? ' ' : *text, out);
}

/* Code point at text and its length in bytes; a bad byte is U+FFFD of length 1. */
static uint32_t decode(const char *text, size_t *ret_length)
{
    unsigned char first = (unsigned char)*text;
    size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    uint32_t value = first & (0xff >> (length == 1 ? 0 : length + 1));

    *ret_length = 1;
    if (strnlen(text, length) < length || !nm_text_is_utf8(text, length))
        return 0xfffd;
    for (size_t i = 1; i < length; i++)
        value = value << 6 | ((unsigned char)text[i] & 0x3f);
    *ret_length = length;
    return value;
}

struct range {
    uint32_t first, last;
};

static bool in(const struct range *ranges, size_t n, uint32_t value)
{
    for (size_t i = 0; i < n; i++)
        if (value >= ranges[i].first && value <= ranges[i].last)
            return true;
    return false;
}

size_t nm_escape_width(const char *text)
{
    static const struct range wide[] = {
        {0x1100, 0x115f},   {0x2e80, 0x303e}, {0x3041, 0x4dbf},   {0x4e00, 0xa4cf},
        {0xa960, 0xa97f},   {0xac00, 0xd7a3}, {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
        {0xff00, 0xff60},   {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff},
        {0x20000, 0x3fffd},
    };
    static const struct range none[] = {
        {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x0610, 0x061a}, {0x064b, 0x065f},
        {0x200b, 0x200f}, {0x202a, 0x202e}, {0x2060, 0x2064}, {0x20d0, 0x20ff}, {0x3099, 0x309a},
        {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff},
    };
    size_t width = 0, length;

    for (; *text; text += length) {
        uint32_t value = decode(text, &length);

        if (!in(none, sizeof(none) / sizeof(none[0]), value))
            width += in(wide, sizeof(wide) / sizeof(wide[0]), value) ? 2 : 1;
    }
    return width;
}

struct escape {
    char c;
    const char *text;
};

/* Writes text with the characters of `escapes` (ends with c = 0) replaced, controls as blanks. */
static void replace(FILE *out, const char *text, const struct escape *escapes)
{
    for (; *text; text++) {
        const struct escape *e = escapes;

        while (e->c && e->c != *text)
            e++;
        if (e->c)
            fputs(e->text, out);
        else
            putc(is_control(*text) ? ' ' : *text, out);
    }
}

void nm_escape_html(FILE *out, const char *text)
{
    static const struct escape escapes[] = {
        {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}, {0, NULL},
    };

    replace(out, text, escapes);
}

/* Entities where a backslash is not understood by every Markdown. A closing bracket alone is text;
 * in front of ( [ : it would make a link. */
void nm_escape_md(FILE *out, const char *text)
{
    static const struct escape escapes[] = {
        {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'|', "\\|"},    {'\\', "\\\\"},
        {'*', "\\*"},   {'_', "\\_"},  {'`', "\\`"},  {'~', "&#126;"}, {0, NULL},
    };
    char one[2] = "";

    for (; *text; text++) {
        one[0] = *text;
        if (*text == ']' && text[1] && strchr("([:", text[1]))
            fputs("\\]", out);
        else
            replace(out, one, escapes);
    }
}

void nm_escape_tex(FILE *out, const char *text)
{
    static const struct escape escapes[] = {
        {'\\', "\\textbackslash{}"},
        {'{', "\\{"},
        {'}', "\\}"},
        {'$', "\\$"},
        {'&', "\\&"},
        {'#', "\\#"},
        {'%', "\\%"},
        {'_', "\\_"},
        {'^', "\\textasciicircum{}"},
        {'~', "\\textasciitilde{}"},
        {'|', "\\textbar{}"},
        {'<', "\\textless{}"},
        {'>', "\\textgreater{}"},
        {'"', "\\char34{}"}, /* babel makes " active in several languages */
        {0, NULL},
    };

    replace(out, text, escapes);
}

void nm_escape_csv(FILE *out, const char *text)
{
    bool formula = *text && strchr("=+-@\t\r", *text), quote = strpbrk(text, ",\"\r\n") != NULL;

    if (quote)
        putc('"', out);
    if (formula)
        putc('\'', out);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', out);
        putc(*text, out);
    }
    if (quote)
        putc('"', out);
}

json_t *nm_escape_json(const char *text)
{
    char *clean = NULL;
    size_t size, length;
    FILE *out;
    json_t *json;

    if (!text)
        return json_null();
    json = json_string(text);
    if (json)
        return json;
    out = open_memstream(&clean, &size);
    if (!out)
        return NULL;
    for (; *text; text += length) {
        if (decode(text, &length) == 0xfffd && length == 1)
            fputs("\ufffd", out);
        else
            fwrite(text, 1, length, out);
    }
    json = fclose(out) ? NULL : json_string(clean);
    free(clean);
    return json;
}
