/* Languages of tables and reports: texts and decimal sign.
 *
 * The catalogues (po/CODE.po) are compiled into the program as they come from msgfmt. The language
 * is an argument, never the locale of the process: any language works on any system, and nothing
 * that a machine reads can change with the environment. English texts are the keys.
 *
 * Texts to translate are marked for xgettext: nm_tr(language, "text"), and NM_N("text") in tables.
 * `po/update` collects them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_LANGUAGE_H
#define NM_LANGUAGE_H

struct nm_language; /* one row of a const table */

#define NM_N(text) text

/* "en", "pl", "ru", "ja"; NULL = unknown. */
const struct nm_language *nm_language_find(const char *code);

/* Language of the user: LC_ALL, LC_MESSAGES, LANG as everywhere; English when it is none of ours.
 */
const struct nm_language *nm_language_of_user(void);

const char *nm_language_code(const struct nm_language *language);
char nm_language_decimal_sign(const struct nm_language *language);

/* The text in that language, itself where there is no translation. */
const char *nm_tr(const struct nm_language *language, const char *text)
    __attribute__((format_arg(2)));

#endif
