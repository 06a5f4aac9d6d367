/* SELECT words: parsing and matching (select.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "select_words.h"

#include "clock.h"
#include "options.h"
#include "units.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const key_names[NM_SELECT_KEYS] = {
    [NM_SELECT_NAS] = "nas",           [NM_SELECT_FIRMWARE] = "firmware",
    [NM_SELECT_VOLUME] = "volume",     [NM_SELECT_KIND] = "kind",
    [NM_SELECT_PROTOCOL] = "protocol", [NM_SELECT_WORKLOAD] = "workload",
    [NM_SELECT_PHASE] = "phase",       [NM_SELECT_RUN] = "run",
    [NM_SELECT_CAMPAIGN] = "campaign", [NM_SELECT_SINCE] = "since",
    [NM_SELECT_SOURCE] = "source",
};

/* "7d", "12h": whole text, a positive number and a unit. 0 = it is not an age. */
static uint64_t parse_age(const char *text)
{
    static const struct {
        const char *unit;
        uint64_t s;
    } units[] = {{"m", 60}, {"h", 3600}, {"d", 86400}, {"w", 7 * 86400}};
    unsigned count;
    int used = 0;

    if (sscanf(text, "%6u%n", &count, &used) != 1)
        return 0;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (!strcmp(text + used, units[i].unit))
            return count * units[i].s * NM_NS_PER_S;
    return 0;
}

static bool parse_utc(const char *text, uint64_t *ret_utc_ns)
{
    static const char *const forms[] = {"%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%MZ"};

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct tm tm = {0};
        const char *end = strptime(text, forms[i], &tm);
        time_t s;

        if (!end || *end)
            continue;
        s = timegm(&tm);
        if (s <= 0)
            return false;
        /* The store's clock ends in 2262; what is later is never. */
        *ret_utc_ns = s < INT64_MAX / (int64_t)NM_NS_PER_S ? (uint64_t)s * NM_NS_PER_S : INT64_MAX;
        return true;
    }
    return false;
}

static int parse_since(const char *text, uint64_t *ret_utc_ns, struct nm_error *err)
{
    uint64_t age_ns = parse_age(text), now_ns = nm_clock_utc_ns();

    if (age_ns) {
        *ret_utc_ns = age_ns < now_ns ? now_ns - age_ns : 1;
        return 0;
    }
    if (parse_utc(text, ret_utc_ns))
        return 0;
    return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                        "since=%s: not a time; write a UTC date (2026-01-31, 2026-01-31T12:00:00Z) "
                        "or an age (7d, 12h)",
                        text);
}

static int find_key(const char *word, size_t length, struct nm_error *err)
{
    char name[32];
    const char *near;

    for (int i = 0; i < NM_SELECT_KEYS; i++)
        if (strlen(key_names[i]) == length && !strncmp(word, key_names[i], length))
            return i;
    snprintf(name, sizeof(name), "%.*s", (int)length, word);
    near = nm_options_nearest(name, key_names, NM_SELECT_KEYS);
    return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                        "%s: selection has no key '%s'%s%s%s; keys: nas firmware volume kind "
                        "protocol workload phase run campaign since source",
                        word, name, near ? ", did you mean '" : "", near ? near : "",
                        near ? "'" : "");
}

static int parse_word(struct nm_select *select, const char *word, struct nm_error *err)
{
    const char *equals = strchr(word, '=');
    struct nm_select_word *slot = &select->words[select->n_words];
    int key;

    if (!equals)
        return nm_error_set(
            err, -EINVAL, NM_REASON_INTERNAL,
            "'%s': a selection is made of key=value words, for example volume=raid5", word);
    key = find_key(word, (size_t)(equals - word), err);
    if (key < 0)
        return key;
    if (key == NM_SELECT_SINCE) {
        int r = parse_since(equals + 1, &select->since_utc_ns, err);

        if (r < 0)
            return r;
    }
    slot->key = (enum nm_select_key)key;
    slot->value = strdup(equals + 1);
    if (!slot->value)
        return nm_error_errno(err, -ENOMEM, "selection: out of memory");
    select->n_words++;
    return 0;
}

int nm_select_parse(const char *const *words, size_t n_words, struct nm_select **ret_select,
                    struct nm_error *err)
{
    struct nm_select *select = calloc(1, sizeof(*select));
    int r = 0;

    if (!select || !(select->words = calloc(n_words + 1, sizeof(*select->words))))
        r = nm_error_errno(err, -ENOMEM, "selection: out of memory");
    for (size_t i = 0; i < n_words && r == 0; i++)
        r = parse_word(select, words[i], err);
    if (r < 0)
        nm_select_free(select);
    else
        *ret_select = select;
    return r;
}

/* Next blank-separated word of *at into out (as long as the rest); quotes keep blanks together.
 * False at the end. */
static bool next_word(const char **at, char *out)
{
    const char *p = *at + strspn(*at, " \t\n");
    char quote = '\0';

    if (!*p)
        return false;
    for (; *p && (quote || !strchr(" \t\n", *p)); p++) {
        if (quote ? *p == quote : (*p == '"' || *p == '\''))
            quote = quote ? '\0' : *p;
        else
            *out++ = *p;
    }
    *out = '\0';
    *at = p;
    return true;
}

int nm_select_parse_line(const char *line, struct nm_select **ret_select, struct nm_error *err)
{
    size_t length = strlen(line), n = 0;
    char *text = malloc(2 * length + 2), *to = text;
    const char **words = calloc(length + 1, sizeof(*words)), *at = line;
    int r;

    if (!text || !words) {
        r = nm_error_errno(err, -ENOMEM, "selection: out of memory");
        goto out;
    }
    while (next_word(&at, to)) {
        words[n++] = to;
        to += strlen(to) + 1;
    }
    r = nm_select_parse(words, n, ret_select, err);
out:
    free(text);
    free(words);
    return r;
}

void nm_select_free(struct nm_select *select)
{
    if (!select)
        return;
    for (size_t i = 0; i < select->n_words; i++)
        free(select->words[i].value);
    free(select->words);
    free(select);
}

const char *nm_select_get(const struct nm_select *select, const char *key)
{
    for (size_t i = 0; i < select->n_words; i++)
        if (!strcmp(key_names[select->words[i].key], key))
            return select->words[i].value;
    return NULL;
}

void nm_select_skip_metrics(struct nm_select *select)
{
    select->skip_metrics = true;
}

bool nm_select_has(const struct nm_select *select, enum nm_select_key key)
{
    for (size_t i = 0; i < select->n_words; i++)
        if (select->words[i].key == key)
            return true;
    return false;
}

bool nm_select_fits(const struct nm_select *select, enum nm_select_key key, const char *text)
{
    for (size_t i = 0; i < select->n_words; i++)
        if (select->words[i].key == key && strcmp(select->words[i].value, text) &&
            fnmatch(select->words[i].value, text, FNM_EXTMATCH))
            return false;
    return true;
}
