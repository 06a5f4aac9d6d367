/* A plan as text: settings with file and line, duplicates refused, --set applied
 * (plan_internal.h). URLs may hold passwords, so everything is wiped when it is freed.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan_internal.h"

#include "ini.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES_MAX    4096
#define NAME_MAX_BYTES 255

static void free_secret(char *text)
{
    if (text)
        nm_secrets_wipe(text, strlen(text));
    free(text);
}

static void free_entry(struct nm_plan_entry *entry)
{
    free(entry->section);
    free(entry->name);
    free(entry->key);
    free_secret(entry->value);
}

void nm_plan_text_done(struct nm_plan_text *text)
{
    for (size_t i = 0; i < text->n_entries; i++)
        free_entry(&text->entries[i]);
    free(text->entries);
    text->entries = NULL;
    text->n_entries = 0;
}

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static struct nm_plan_entry *find_exact(const struct nm_plan_text *text, const char *section,
                                        const char *name, const char *key)
{
    for (size_t i = 0; i < text->n_entries; i++)
        if (same(text->entries[i].section, section) && same(text->entries[i].name, name) &&
            same(text->entries[i].key, key))
            return &text->entries[i];
    return NULL;
}

const struct nm_plan_entry *nm_plan_text_find(const struct nm_plan_text *text, const char *section,
                                              const char *name, const char *key)
{
    const struct nm_plan_entry *entry = find_exact(text, section, name, key);

    return entry ? entry : find_exact(text, section, name, NULL);
}

int nm_plan_text_locate(const struct nm_plan_text *text, const struct nm_plan_entry *entry,
                        struct nm_error *err)
{
    struct nm_error unused = {.code = -EINVAL};

    if (!err)
        err = &unused;
    if (entry && entry->origin == NM_PLAN_FILE)
        nm_error_prefix(err, "%s:%u", text->file, entry->line);
    else if (entry && entry->origin == NM_PLAN_SET)
        nm_error_prefix(err, "--set %s%s%s.%s", entry->section, entry->name ? " " : "",
                        entry->name ? entry->name : "", entry->key);
    else if (!entry && text->file)
        nm_error_prefix(err, "%s", text->file);
    return err->code;
}

/* A new entry at the end; takes over the strings, which may be NULL when out of memory. */
static int append(struct nm_plan_text *text, struct nm_plan_entry entry, bool complete,
                  struct nm_error *err)
{
    struct nm_plan_entry *entries = NULL;
    int r = 0;

    if (text->n_entries == ENTRIES_MAX)
        r = nm_error_set(err, -E2BIG, NM_REASON_NONE, "more than %d settings", ENTRIES_MAX);
    else if (complete)
        entries = reallocarray(text->entries, text->n_entries + 1, sizeof(*entries));
    if (!r && !entries)
        r = nm_error_no_memory(err);
    if (r < 0) {
        free_entry(&entry);
        return r;
    }
    text->entries = entries;
    text->entries[text->n_entries++] = entry;
    return 0;
}

int nm_plan_text_put(struct nm_plan_text *text, const char *section, const char *name,
                     const char *key, const char *value, bool override, struct nm_error *err)
{
    struct nm_plan_entry *old = find_exact(text, section, name, key), entry;

    if (old && override) {
        char *copy = strdup(value);

        if (!copy)
            return nm_error_no_memory(err);
        free_secret(old->value);
        old->value = copy;
        old->origin = NM_PLAN_SET;
        return 0;
    }
    entry = (struct nm_plan_entry){
        .section = strdup(section),
        .name = name ? strdup(name) : NULL,
        .key = key ? strdup(key) : NULL,
        .value = value ? strdup(value) : NULL,
        .origin = override ? NM_PLAN_SET : NM_PLAN_IMPLIED,
    };
    return append(text, entry,
                  entry.section && (!name || entry.name) && (!key || entry.key) &&
                      (!value || entry.value),
                  err);
}

/* --- file --- */

/* "volume my disk" -> section "volume", name "my disk". */
static int split_heading(struct nm_slice heading, char **ret_section, char **ret_name,
                         struct nm_error *err)
{
    size_t word = 0, rest;

    if (!nm_text_is_utf8(heading.text, heading.length))
        return nm_error_set(err, -EINVAL, NM_REASON_NONE, "the section is not UTF-8");
    while (word < heading.length && heading.text[word] != ' ' && heading.text[word] != '\t')
        word++;
    rest = word;
    while (rest < heading.length && (heading.text[rest] == ' ' || heading.text[rest] == '\t'))
        rest++;
    if (heading.length - rest > NAME_MAX_BYTES)
        return nm_error_set(err, -EINVAL, NM_REASON_NONE, "the name is longer than %d bytes",
                            NAME_MAX_BYTES);
    *ret_section = strndup(heading.text, word);
    *ret_name = rest < heading.length ? strndup(heading.text + rest, heading.length - rest) : NULL;
    if (!*ret_section || (rest < heading.length && !*ret_name))
        return nm_error_no_memory(err);
    return 0;
}

static int add_item(void *context, const struct nm_ini_item *item, struct nm_error *err)
{
    struct nm_plan_text *text = context;
    struct nm_plan_entry entry = {.origin = NM_PLAN_FILE, .line = item->line}, *other;
    int r = split_heading(item->section, &entry.section, &entry.name, err);

    if (!r && item->key.text) {
        entry.key = strndup(item->key.text, item->key.length);
        entry.value = strndup(item->value.text, item->value.length);
        if (!entry.key || !entry.value)
            r = nm_error_no_memory(err);
        else if (!nm_text_is_utf8(entry.key, item->key.length) ||
                 !nm_text_is_utf8(entry.value, item->value.length))
            r = nm_error_set(err, -EINVAL, NM_REASON_NONE, "the line is not UTF-8");
    }
    other = r < 0 ? NULL : find_exact(text, entry.section, entry.name, entry.key);
    if (other && entry.key)
        r = nm_error_set(err, -EINVAL, NM_REASON_NONE, "\"%.60s\" stands at line %u already",
                         entry.key, other->line);
    else if (other)
        r = nm_error_set(err, -EINVAL, NM_REASON_NONE, "[%.*s] begins at line %u already",
                         (int)item->section.length, item->section.text, other->line);
    if (r < 0) {
        free_entry(&entry);
        return r;
    }
    return append(text, entry, true, err);
}

int nm_plan_text_parse(struct nm_plan_text *text, const char *bytes, size_t length,
                       struct nm_error *err)
{
    return nm_ini_parse(text->file, bytes, length, NM_INI_INLINE_COMMENTS, add_item, text, err);
}

/* --- --set --- */

static size_t count_volumes(const struct nm_plan_text *text, const char **ret_first)
{
    size_t n = 0;

    for (size_t i = 0; i < text->n_entries; i++)
        if (!text->entries[i].key && !strcmp(text->entries[i].section, "volume")) {
            if (!n++)
                *ret_first = text->entries[i].name;
        }
    return n;
}

static bool is_section(const char *name)
{
    for (const struct nm_option_section *const *s = nm_plan_sections(); *s; s++)
        if (!strcmp((*s)->name, name))
            return true;
    return false;
}

/* What stands before the last dot: "run", "volume NAME", "profile NAME", the bare name of a volume
 * or profile, or "volume" when there is only one. */
static int resolve_target(struct nm_plan_text *text, char *target, const char **ret_section,
                          const char **ret_name, struct nm_error *err)
{
    char *blank = strchr(target, ' ');
    const char *only = NULL;

    *ret_section = target;
    *ret_name = NULL;
    if (blank) {
        *blank = '\0';
        *ret_name = blank + 1;
    } else if (!strcmp(target, "volume") && count_volumes(text, &only) == 1) {
        *ret_name = only;
    } else if (!is_section(target) && find_exact(text, "volume", target, NULL)) {
        *ret_section = "volume";
        *ret_name = target;
    } else if (!is_section(target) &&
               (find_exact(text, "profile", target, NULL) || nm_profile_find(target))) {
        *ret_section = "profile";
        *ret_name = target;
    }
    if (*ret_name && !strcmp(*ret_section, "profile") && nm_profile_find(*ret_name) &&
        !find_exact(text, "profile", *ret_name, NULL))
        return nm_plan_text_put(text, "profile", *ret_name, NULL, NULL, true, err);
    if (*ret_name && !find_exact(text, *ret_section, *ret_name, NULL))
        return nm_error_set(err, -EINVAL, NM_REASON_NONE, "the plan has no [%s %.60s]",
                            *ret_section, *ret_name);
    return 0;
}

int nm_plan_text_set(struct nm_plan_text *text, const char *set, struct nm_error *err)
{
    const char *equals = strchr(set, '='), *section, *name;
    char *target = equals ? strndup(set, (size_t)(equals - set)) : NULL;
    char *dot = target ? strrchr(target, '.') : NULL;
    int r;

    if (!nm_text_is_printable(set, strlen(set)) || !nm_text_is_utf8(set, strlen(set)))
        r = nm_error_set(err, -EINVAL, NM_REASON_NONE, "--set: the text is not plain UTF-8");
    else if (!dot || dot == target || !dot[1])
        r = nm_error_set(err, -EINVAL, NM_REASON_NONE,
                         "--set takes SECTION.KEY=VALUE, like --set run.trials=5");
    else {
        *dot = '\0';
        r = resolve_target(text, target, &section, &name, err);
        if (r < 0)
            nm_error_prefix(err, "--set");
        else
            r = nm_plan_text_put(text, section, name, dot + 1, equals + 1, true, err);
    }
    free(target);
    return r;
}
