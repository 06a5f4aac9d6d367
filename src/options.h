/* Typed option tables: the sections of the plan, --set, --help, the man page and the commented plan
 * all come from them.
 *
 * A section describes how its keys fill one plain C structure. A row is one key: type, where it
 * goes, default as text (parsed by the same code as user input), limits, help. Adding a key =
 * adding a row.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_OPTIONS_H
#define NM_OPTIONS_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nm_option_type {
    NM_OPTION_BOOL,     /* bool; yes no true false on off 1 0 */
    NM_OPTION_UINT,     /* uint32_t */
    NM_OPTION_UINT64,   /* uint64_t */
    NM_OPTION_SIZE,     /* uint64_t bytes */
    NM_OPTION_DURATION, /* uint64_t nanoseconds */
    NM_OPTION_FRACTION, /* double; "50%" or "0.5" */
    NM_OPTION_STRING,   /* char *, heap, NULL when empty */
    NM_OPTION_ENUM,     /* int, index into values */
    NM_OPTION_LIST,     /* char *, heap, words separated by one blank, NULL when empty */
    NM_OPTION_DATA,     /* struct nm_data_kind: random | zero | compressible:50% */
};

/* What the written bytes look like. */
struct nm_data_kind {
    enum { NM_DATA_RANDOM, NM_DATA_ZERO, NM_DATA_COMPRESSIBLE } kind;
    uint32_t zero_percent; /* COMPRESSIBLE: share of every 4 KiB that is zero */
};

struct nm_option {
    const char *name;
    enum nm_option_type type;
    size_t offset;             /* of the field in the section's structure */
    const char *preset;        /* default as text; NULL = zero/NULL */
    const char *const *values; /* ENUM, and STRING with a closed set: NULL-terminated words */
    uint64_t min, max;         /* UINT, UINT64, SIZE, DURATION; max 0 = no limit */
    const char *zero_word;     /* word that stands for 0 or NULL, e.g. "auto"; NULL = none */
    const char *example;       /* for the commented plan where there is no default; may be NULL */
    bool required;
    bool local; /* true: not part of the identity of a campaign (keep, pause, on_error ...) */
    const char *help;
};

struct nm_option_section {
    const char *name; /* as in the plan: "run", "smb"; "volume" takes a name: [volume NAME] */
    const char *help;
    const struct nm_option *options;
    size_t n_options;
    size_t size; /* of the structure */
};

#define NM_OPTION_COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Fills out (section->size bytes, contents ignored) with the defaults. */
int nm_options_init(const struct nm_option_section *section, void *out,
                    struct nm_error *err) NM_MUST_CHECK;

/* Frees heap values inside out; NULL-safe. */
void nm_options_done(const struct nm_option_section *section, void *out);

/* Sets one key from text. -EINVAL with the nearest valid word for an unknown key or value. */
int nm_options_set(const struct nm_option_section *section, void *out, const char *key,
                   const char *value, struct nm_error *err) NM_MUST_CHECK;

/* Text of one value as nm_options_set() takes it, "" for an absent one. Heap; NULL when out of
 * memory. */
char *nm_options_format(const struct nm_option *option, const void *values);

/* The row of a key, NULL when there is none. */
const struct nm_option *nm_options_find(const struct nm_option_section *section, const char *key);

/* What the type takes, for people: "size", "yes | no", "random | zero | compressible:PERCENT". */
const char *nm_options_type_help(const struct nm_option *option, char *out, size_t size);

/* Puts "; did you mean "X"?", or all n words when none is near, behind an error that is already
 * set. */
void nm_options_suggest(struct nm_error *err, const char *word, const char *const *words, size_t n);

/* Closest of n words to word by edit distance (Damerau), NULL when nothing is near. */
const char *nm_options_nearest(const char *word, const char *const *words, size_t n);

#endif
