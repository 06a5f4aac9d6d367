/* Reader of INI text (ini.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "ini.h"

#include "text.h"

#include <errno.h>
#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static struct nm_slice trim(const char *first, const char *end)
{
    while (first < end && is_blank(*first))
        first++;
    while (end > first && is_blank(end[-1]))
        end--;
    return (struct nm_slice){first, (size_t)(end - first)};
}

/* The line without its comment. */
static struct nm_slice strip(struct nm_slice line, unsigned flags)
{
    if (line.length && (*line.text == ';' || *line.text == '#'))
        return (struct nm_slice){line.text, 0};
    for (size_t i = 1; flags & NM_INI_INLINE_COMMENTS && i < line.length; i++)
        if (line.text[i] == ';' && is_blank(line.text[i - 1]))
            return trim(line.text, line.text + i);
    return line;
}

static int malformed(struct nm_error *err, const char *problem)
{
    return nm_error_set(err, -EINVAL, NM_REASON_NONE, "%s", problem);
}

/* Splits one stripped line; item->section is the current one and changes at a heading. */
static int split(struct nm_slice line, struct nm_ini_item *item, struct nm_error *err)
{
    const char *end = line.text + line.length, *separator = line.text;

    for (size_t i = 0; i < line.length; i++)
        if (!is_blank(line.text[i]) && !nm_text_is_printable(line.text + i, 1))
            return malformed(err, "contains a control character; a plan is plain text");
    if (*line.text == '[') {
        if (end[-1] != ']')
            return malformed(err, "a section is written [NAME], alone on its line");
        item->section = trim(line.text + 1, end - 1);
        item->key = item->value = (struct nm_slice){NULL, 0};
        return item->section.length ? 0 : malformed(err, "the section has no name");
    }
    while (separator < end && *separator != '=' && *separator != ':')
        separator++;
    if (separator == end)
        return malformed(err, "is neither [SECTION] nor KEY = VALUE; a comment begins with \";\"");
    if (!item->section.text)
        return malformed(err, "stands before the first [SECTION]");
    item->key = trim(line.text, separator);
    item->value = trim(separator + 1, end);
    return item->key.length ? 0 : malformed(err, "the key before \"=\" is missing");
}

int nm_ini_parse(const char *name, const char *text, size_t length, unsigned flags,
                 int (*handler)(void *context, const struct nm_ini_item *item,
                                struct nm_error *err),
                 void *context, struct nm_error *err)
{
    const char *at = text, *end = text + length;
    struct nm_ini_item item = {.line = 0};

    if (length >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
        at += 3;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = newline ? newline : end;
        struct nm_slice line;
        int r = 0;

        if (line_end > at && line_end[-1] == '\r')
            line_end--;
        line = strip(trim(at, line_end), flags);
        item.line++;
        if (line.length)
            r = split(line, &item, err);
        if (line.length && !r)
            r = handler(context, &item, err);
        if (r < 0) {
            nm_error_prefix(err, "%s:%u", name, item.line);
            return r;
        }
        at = newline ? newline + 1 : end;
    }
    return 0;
}
