/* Typed option tables (options.h): text to structure and back, and the nearest valid word.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "options.h"

#include "text.h"
#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const yes_words[] = {"yes", "true", "on", "1", NULL};
static const char *const no_words[] = {"no", "false", "off", "0", NULL};
static const char *const data_words[] = {"random", "zero", "compressible:50%"};

static size_t count_words(const char *const *words)
{
    size_t n = 0;

    while (words[n])
        n++;
    return n;
}

static int index_of(const char *word, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (!strcmp(word, words[i]))
            return i;
    return -1;
}

/* --- nearest word --- */

#define WORD_MAX 48

/* Optimal string alignment distance, ignoring ASCII case; words of at most WORD_MAX. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][WORD_MAX + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];

    for (size_t k = 0; k <= b_length; k++)
        last[k] = k;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *oldest = before;

        row[0] = i;
        for (size_t k = 1; k <= b_length; k++) {
            char ca = nm_text_lower(a[i - 1]), cb = nm_text_lower(b[k - 1]);
            size_t best = last[k - 1] + (ca != cb);

            if (last[k] + 1 < best)
                best = last[k] + 1;
            if (row[k - 1] + 1 < best)
                best = row[k - 1] + 1;
            if (i > 1 && k > 1 && ca == nm_text_lower(b[k - 2]) && cb == nm_text_lower(a[i - 2]) &&
                before[k - 2] + 1 < best)
                best = before[k - 2] + 1;
            row[k] = best;
        }
        before = last;
        last = row;
        row = oldest;
    }
    return last[b_length];
}

/* Length of the leading parts ("iqn.2013-08.com.example:") that two words share. They are no sign
 * of nearness: all names of a server may begin with them. */
static size_t shared_parts(const char *a, size_t a_length, const char *b)
{
    size_t shared = 0;

    for (size_t i = 0; i < a_length && nm_text_lower(a[i]) == nm_text_lower(b[i]); i++)
        if (strchr("_-. :", a[i]))
            shared = i + 1;
    return shared;
}

/* One typing error per three letters is near. */
static const char *nearest_to(const char *word, size_t length, const char *const *words, size_t n)
{
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;

    for (size_t i = 0; i < n; i++) {
        size_t shared = shared_parts(word, length, words[i]);
        size_t mine = length - shared, other = strlen(words[i]) - shared;
        size_t longer = mine > other ? mine : other, d;

        if (!length || longer > WORD_MAX)
            continue;
        d = distance(word + shared, mine, words[i] + shared, other);
        if (d <= (longer + 1) / 3 && d < longer && d < best_distance) {
            best = words[i];
            best_distance = d;
        }
    }
    return best;
}

const char *nm_options_nearest(const char *word, const char *const *words, size_t n)
{
    const char *near = nearest_to(word, strlen(word), words, n);

    /* "blok_size" for "block": one part of a compound word. */
    while (!near && *word) {
        size_t length = strcspn(word, "_-. ");

        near = nearest_to(word, length, words, n);
        word += length + !!word[length];
    }
    return near;
}

void nm_options_suggest(struct nm_error *err, const char *word, const char *const *words, size_t n)
{
    const char *near = nm_options_nearest(word, words, n);
    size_t used;

    if (!err)
        return;
    used = strlen(err->text);
    if (near) {
        snprintf(err->text + used, sizeof(err->text) - used, "; did you mean \"%s\"?", near);
        return;
    }
    for (size_t i = 0; i < n && used + 1 < sizeof(err->text); i++) {
        snprintf(err->text + used, sizeof(err->text) - used, "%s%s",
                 i ? " " : "; valid: ", words[i]);
        used += strlen(err->text + used);
    }
}

static int unknown_value(struct nm_error *err, const char *value, const char *const *words,
                         size_t n)
{
    int r = nm_error_set(err, -EINVAL, NM_REASON_NONE, "\"%.60s\" is not a valid value", value);

    nm_options_suggest(err, value, words, n);
    return r;
}

/* --- text to value --- */

static int parse_bool(const char *text, bool *ret, struct nm_error *err)
{
    static const char *const words[] = {"yes", "no"};

    if (index_of(text, yes_words) >= 0)
        *ret = true;
    else if (index_of(text, no_words) >= 0)
        *ret = false;
    else
        return unknown_value(err, text, words, 2);
    return 0;
}

static int parse_data(const char *text, struct nm_data_kind *ret, struct nm_error *err)
{
    struct nm_data_kind data = {.kind = NM_DATA_RANDOM};
    double share;

    if (!strcmp(text, "zero")) {
        data.kind = NM_DATA_ZERO;
    } else if (!strncmp(text, "compressible:", 13)) {
        if (nm_units_parse_fraction(text + 13, &share, err) < 0)
            return -EINVAL;
        data.kind = NM_DATA_COMPRESSIBLE;
        data.zero_percent = (uint32_t)(share * 100 + 0.5);
        if (fabs(share * 100 - data.zero_percent) > 1e-6)
            return nm_error_set(err, -EINVAL, NM_REASON_NONE,
                                "\"%.60s\": the share must be a whole percentage", text);
    } else if (strcmp(text, "random")) {
        return unknown_value(err, text, data_words, NM_OPTION_COUNT(data_words));
    }
    *ret = data;
    return 0;
}

static const char *format_number(const struct nm_option *option, uint64_t value, char *out,
                                 size_t size)
{
    if (option->type == NM_OPTION_SIZE)
        return nm_units_format_bytes(value, out, size);
    if (option->type == NM_OPTION_DURATION) {
        static const struct {
            const char *suffix;
            uint64_t ns;
        } units[] = {{"h", 3600000000000}, {"m", 60000000000}, {"s", 1000000000},
                     {"ms", 1000000},      {"us", 1000},       {"ns", 1}};
        size_t i = 0;

        if (!value)
            return snprintf(out, size, "0s"), out;
        while (value % units[i].ns)
            i++;
        snprintf(out, size, "%" PRIu64 "%s", value / units[i].ns, units[i].suffix);
        return out;
    }
    snprintf(out, size, "%" PRIu64, value);
    return out;
}

static int parse_number(const struct nm_option *option, const char *text, uint64_t *ret,
                        struct nm_error *err)
{
    uint64_t value, max = option->max;
    char limit[32];
    int r;

    if (option->zero_word && !strcmp(text, option->zero_word)) {
        *ret = 0;
        return 0;
    }
    if (option->type == NM_OPTION_SIZE)
        r = nm_units_parse_bytes(text, &value, err);
    else if (option->type == NM_OPTION_DURATION)
        r = nm_units_parse_duration(text, &value, err);
    else
        r = nm_units_parse_u64(text, &value, err);
    if (r < 0) {
        if (option->zero_word && err) {
            size_t used = strlen(err->text);

            snprintf(err->text + used, sizeof(err->text) - used, ", or \"%s\"", option->zero_word);
        }
        return r;
    }
    if (option->type == NM_OPTION_UINT && (!max || max > UINT32_MAX))
        max = UINT32_MAX;
    if (max && value > max)
        return nm_error_set(err, -EINVAL, NM_REASON_NONE, "\"%.60s\" is above the maximum, %s",
                            text, format_number(option, max, limit, sizeof(limit)));
    if (value < option->min && !(option->zero_word && !value))
        return nm_error_set(err, -EINVAL, NM_REASON_NONE, "\"%.60s\" is below the minimum, %s",
                            text, format_number(option, option->min, limit, sizeof(limit)));
    *ret = value;
    return 0;
}

/* Copy of text, blanks between words folded for lists; *ret is NULL for an empty one. */
static int copy_text(const struct nm_option *option, const char *text, char **ret,
                     struct nm_error *err)
{
    size_t used = 0;
    char *copy = NULL;

    if (!*text || (option->zero_word && !strcmp(text, option->zero_word)))
        goto out;
    if (option->values && index_of(text, option->values) < 0)
        return unknown_value(err, text, option->values, count_words(option->values));
    copy = strdup(text);
    if (!copy)
        return nm_error_no_memory(err);
    if (option->type == NM_OPTION_LIST) {
        for (const char *at = text; *at; at++)
            if (*at != ' ' && *at != '\t')
                copy[used++] = *at;
            else if (used && copy[used - 1] != ' ')
                copy[used++] = ' ';
        while (used && copy[used - 1] == ' ')
            used--;
        copy[used] = '\0';
    }
out:
    free(*ret);
    *ret = copy;
    return 0;
}

static int set_option(const struct nm_option *option, void *out, const char *text,
                      struct nm_error *err)
{
    void *field = (char *)out + option->offset;
    uint64_t number;
    int r;

    switch (option->type) {
    case NM_OPTION_BOOL: return parse_bool(text, field, err);
    case NM_OPTION_DATA: return parse_data(text, field, err);
    case NM_OPTION_FRACTION: return nm_units_parse_fraction(text, field, err);
    case NM_OPTION_STRING:
    case NM_OPTION_LIST: return copy_text(option, text, field, err);
    case NM_OPTION_ENUM:
        r = index_of(text, option->values);
        if (r < 0)
            return unknown_value(err, text, option->values, count_words(option->values));
        *(int *)field = r;
        return 0;
    case NM_OPTION_UINT:
        r = parse_number(option, text, &number, err);
        if (!r)
            *(uint32_t *)field = (uint32_t)number;
        return r;
    case NM_OPTION_UINT64:
    case NM_OPTION_SIZE:
    case NM_OPTION_DURATION: return parse_number(option, text, field, err);
    }
    return -EINVAL;
}

/* --- sections --- */

const struct nm_option *nm_options_find(const struct nm_option_section *section, const char *key)
{
    for (size_t i = 0; i < section->n_options; i++)
        if (!strcmp(section->options[i].name, key))
            return &section->options[i];
    return NULL;
}

static int unknown_key(const struct nm_option_section *section, const char *key,
                       struct nm_error *err)
{
    const char *names[64];
    size_t n = 0;

    for (; n < section->n_options && n < NM_OPTION_COUNT(names); n++)
        names[n] = section->options[n].name;
    nm_error_set(err, -EINVAL, NM_REASON_NONE, "unknown key \"%.60s\" in [%s]", key, section->name);
    nm_options_suggest(err, key, names, n);
    return -EINVAL;
}

int nm_options_set(const struct nm_option_section *section, void *out, const char *key,
                   const char *value, struct nm_error *err)
{
    const struct nm_option *option = nm_options_find(section, key);
    int r;

    if (!option)
        return unknown_key(section, key, err);
    r = set_option(option, out, value, err);
    if (r < 0)
        nm_error_prefix(err, "%s", key);
    return r;
}

int nm_options_init(const struct nm_option_section *section, void *out, struct nm_error *err)
{
    memset(out, 0, section->size);
    for (size_t i = 0; i < section->n_options; i++) {
        const struct nm_option *option = &section->options[i];
        int r = option->preset ? set_option(option, out, option->preset, err) : 0;

        if (r < 0) {
            nm_error_prefix(err, "default of %s.%s", section->name, option->name);
            nm_options_done(section, out);
            return r;
        }
    }
    return 0;
}

void nm_options_done(const struct nm_option_section *section, void *out)
{
    if (!out)
        return;
    for (size_t i = 0; i < section->n_options; i++) {
        const struct nm_option *option = &section->options[i];

        if (option->type == NM_OPTION_STRING || option->type == NM_OPTION_LIST) {
            char **field = (char **)((char *)out + option->offset);

            free(*field);
            *field = NULL;
        }
    }
}

/* --- value to text --- */

static const char *format_data(const struct nm_data_kind *data, char *out, size_t size)
{
    if (data->kind == NM_DATA_COMPRESSIBLE)
        snprintf(out, size, "compressible:%" PRIu32 "%%", data->zero_percent);
    else
        snprintf(out, size, "%s", data_words[data->kind]);
    return out;
}

char *nm_options_format(const struct nm_option *option, const void *values)
{
    const void *field = (const char *)values + option->offset;
    char number[64];
    uint64_t value = 0;

    switch (option->type) {
    case NM_OPTION_BOOL: return strdup(*(const bool *)field ? "yes" : "no");
    case NM_OPTION_ENUM: return strdup(option->values[*(const int *)field]);
    case NM_OPTION_DATA: return strdup(format_data(field, number, sizeof(number)));
    case NM_OPTION_FRACTION:
        nm_units_format_double(*(const double *)field, 0, number, sizeof(number));
        return strdup(number);
    case NM_OPTION_STRING:
    case NM_OPTION_LIST: {
        const char *text = *(char *const *)field;

        return strdup(text ? text : option->zero_word ? option->zero_word : "");
    }
    case NM_OPTION_UINT: value = *(const uint32_t *)field; break;
    case NM_OPTION_UINT64:
    case NM_OPTION_SIZE:
    case NM_OPTION_DURATION: value = *(const uint64_t *)field; break;
    }
    if (!value && option->zero_word)
        return strdup(option->zero_word);
    return strdup(format_number(option, value, number, sizeof(number)));
}

static const char *join(const char *const *words, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; words[i] && used + 1 < size; i++) {
        snprintf(out + used, size - used, "%s%s", i ? " | " : "", words[i]);
        used += strlen(out + used);
    }
    return out;
}

const char *nm_options_type_help(const struct nm_option *option, char *out, size_t size)
{
    static const char *const names[] = {
        [NM_OPTION_BOOL] = "yes | no",
        [NM_OPTION_UINT] = "number",
        [NM_OPTION_UINT64] = "number",
        [NM_OPTION_SIZE] = "size",
        [NM_OPTION_DURATION] = "duration",
        [NM_OPTION_FRACTION] = "share",
        [NM_OPTION_STRING] = "text",
        [NM_OPTION_ENUM] = "word",
        [NM_OPTION_LIST] = "words",
        [NM_OPTION_DATA] = "random | zero | compressible:PERCENT",
    };

    if (option->values)
        return join(option->values, out, size);
    snprintf(out, size, "%s%s%s", names[option->type], option->zero_word ? " | " : "",
             option->zero_word ? option->zero_word : "");
    return out;
}
