/* Catalogues in the form of msgfmt (GNU gettext manual, "The Format of GNU MO Files"), little
 * endian: magic, revision, number of texts, offsets of two tables of (length, offset); originals
 * sorted.
 *
 * The catalogues come from our own build, so they are not checked here at run time.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "language.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern const unsigned char nm_catalogue_pl[], nm_catalogue_ru[], nm_catalogue_ja[];

struct nm_language {
    const char *code;
    char decimal_sign;
    const unsigned char *catalogue; /* NULL = the keys themselves */
};

static const struct nm_language languages[] = {
    {.code = "en", .decimal_sign = '.'},
    {.code = "pl", .decimal_sign = ',', .catalogue = nm_catalogue_pl},
    {.code = "ru", .decimal_sign = ',', .catalogue = nm_catalogue_ru},
    {.code = "ja", .decimal_sign = '.', .catalogue = nm_catalogue_ja},
};

#define N_LANGUAGES (sizeof(languages) / sizeof(languages[0]))

static const struct nm_language *find(const char *code, size_t length)
{
    for (size_t i = 0; i < N_LANGUAGES; i++)
        if (strlen(languages[i].code) == length && !strncmp(languages[i].code, code, length))
            return &languages[i];
    return NULL;
}

const struct nm_language *nm_language_find(const char *code)
{
    return find(code, strlen(code));
}

const struct nm_language *nm_language_of_user(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_MESSAGES", "LANG"};

    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *locale = getenv(variables[i]);
        const struct nm_language *language;

        if (!locale || !*locale)
            continue;
        language = find(locale, strcspn(locale, "_.@"));
        return language ? language : &languages[0];
    }
    return &languages[0];
}

const char *nm_language_code(const struct nm_language *language)
{
    return language->code;
}

char nm_language_decimal_sign(const struct nm_language *language)
{
    return language->decimal_sign;
}

static uint32_t le32(const unsigned char *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

const char *nm_tr(const struct nm_language *language, const char *text)
{
    const unsigned char *mo = language->catalogue;
    uint32_t low = 0, high = mo ? le32(mo + 8) : 0;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const char *key = (const char *)mo + le32(mo + le32(mo + 12) + 8 * middle + 4);
        int order = strcmp(text, key);

        if (!order)
            return (const char *)mo + le32(mo + le32(mo + 16) + 8 * middle + 4);
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return text;
}
