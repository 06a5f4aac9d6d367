/* Profiles and workloads of a plan: words of [run] workloads to parsed workloads
 * (plan_internal.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan_internal.h"

#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX     128
#define WORKLOADS_MAX 256

void nm_plan_free_workloads(struct nm_plan *plan)
{
    for (size_t i = 0; i < plan->n_workloads; i++) {
        if (plan->workloads[i].workload)
            plan->workloads[i].workload->ops->free(plan->workloads[i].workload);
        free(plan->workloads[i].key);
        free(plan->workloads[i].settings);
    }
    for (size_t i = 0; i < plan->n_profiles; i++) {
        struct nm_plan_profile *profile = &plan->profiles[i];

        if (profile->options)
            nm_options_done(profile->ops->options, profile->options);
        free(profile->options);
        free(profile->name);
    }
    free(plan->workloads);
    free(plan->profiles);
}

static const void *options_of(const struct nm_plan *plan, const struct nm_workload_ops *ops)
{
    for (size_t i = 0; nm_workload_table[i]; i++)
        if (nm_workload_table[i] == ops)
            return plan->workload_options[i];
    return NULL;
}

/* Names of workloads and profiles, for "did you mean". */
static size_t known_names(const struct nm_plan *plan, const char **names)
{
    size_t n = 0;

    for (size_t i = 0; nm_workload_table[i] && n < NAMES_MAX; i++)
        names[n++] = nm_workload_table[i]->name;
    for (size_t i = 0; i < plan->n_profiles && n < NAMES_MAX; i++)
        names[n++] = plan->profiles[i].name;
    for (size_t i = 0; nm_profile_table[i] && n < NAMES_MAX; i++)
        names[n++] = nm_profile_table[i]->name;
    return n;
}

static int unknown_workload(const struct nm_plan *plan, const char *name, struct nm_error *err)
{
    const char *names[NAMES_MAX];

    if (nm_text_is_digit(*name))
        return nm_error_set(err, -EINVAL, NM_REASON_NONE,
                            "unknown workload \"%.60s\"; a file set is written copy:%.60s", name,
                            name);
    nm_error_set(err, -EINVAL, NM_REASON_NONE, "unknown workload \"%.60s\"", name);
    nm_options_suggest(err, name, names, known_names(plan, names));
    return -EINVAL;
}

/* --- profiles --- */

static struct nm_plan_profile *find_profile(struct nm_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->n_profiles; i++)
        if (!strcmp(plan->profiles[i].name, name))
            return &plan->profiles[i];
    return NULL;
}

/* Adds a profile with the defaults of its workload. */
static int add_profile(struct nm_plan *plan, const char *name, const char *workload,
                       struct nm_plan_profile **ret, struct nm_error *err)
{
    const struct nm_workload_ops *ops = nm_workload_find(workload);
    struct nm_plan_profile *profiles, *profile;
    int r;

    if (!ops)
        return unknown_workload(plan, workload, err);
    profiles = reallocarray(plan->profiles, plan->n_profiles + 1, sizeof(*profiles));
    if (!profiles)
        return nm_error_no_memory(err);
    plan->profiles = profiles;
    profile = &profiles[plan->n_profiles];
    *profile = (struct nm_plan_profile){.ops = ops, .name = strdup(name)};
    if (!profile->name)
        return nm_error_no_memory(err);
    plan->n_profiles++;
    if (ops->options) {
        profile->options = malloc(ops->options->size);
        if (!profile->options)
            return nm_error_no_memory(err);
        r = nm_options_init(ops->options, profile->options, err);
        if (r < 0) {
            free(profile->options);
            profile->options = NULL;
            return r;
        }
    }
    *ret = profile;
    return 0;
}

static int set_in_profile(struct nm_plan_profile *profile, const char *key, const char *value,
                          struct nm_error *err)
{
    if (!profile->options)
        return nm_error_set(err, -EINVAL, NM_REASON_NONE,
                            "unknown key \"%.60s\": the workload \"%s\" has no options", key,
                            profile->ops->name);
    return nm_options_set(profile->ops->options, profile->options, key, value, err);
}

/* A built-in profile becomes one of the plan when it is used or changed. */
static int use_built_in(struct nm_plan *plan, const char *name, struct nm_plan_profile **ret,
                        struct nm_error *err)
{
    const struct nm_profile *row = nm_profile_find(name);
    int r;

    if (!row)
        return unknown_workload(plan, name, err);
    r = add_profile(plan, row->name, row->workload, ret, err);
    for (size_t i = 0; i < row->n_items && !r; i++)
        r = set_in_profile(*ret, row->items[i].key, row->items[i].value, err);
    return r;
}

/* One [profile NAME], from its heading. The name of a built-in one changes that one. */
static int parse_profile(struct nm_plan *plan, const struct nm_plan_text *text,
                         const struct nm_plan_entry *heading, struct nm_error *err)
{
    const struct nm_plan_entry *workload =
        nm_plan_text_find(text, "profile", heading->name, "workload");
    struct nm_plan_profile *profile;
    int r;

    if (!workload->key && nm_profile_find(heading->name))
        r = use_built_in(plan, heading->name, &profile, err);
    else if (!workload->key)
        r = nm_error_set(err, -EINVAL, NM_REASON_NONE,
                         "[profile %.60s] lacks \"workload\" (the workload it is made of)",
                         heading->name);
    else if (nm_workload_find(heading->name))
        r = nm_error_set(err, -EINVAL, NM_REASON_NONE,
                         "\"%s\" is the name of a workload; give the profile another one",
                         heading->name);
    else
        r = add_profile(plan, heading->name, workload->value, &profile, err);
    if (r < 0)
        return nm_plan_text_locate(text, workload, err);
    for (size_t i = 0; i < text->n_entries; i++) {
        const struct nm_plan_entry *entry = &text->entries[i];

        if (!entry->key || entry == workload || strcmp(entry->section, "profile") ||
            strcmp(entry->name, heading->name))
            continue;
        r = set_in_profile(profile, entry->key, entry->value, err);
        if (r < 0)
            return nm_plan_text_locate(text, entry, err);
    }
    return 0;
}

int nm_plan_parse_profiles(struct nm_plan *plan, const struct nm_plan_text *text,
                           struct nm_error *err)
{
    int r = 0;

    for (size_t i = 0; i < text->n_entries && !r; i++)
        if (!text->entries[i].key && !strcmp(text->entries[i].section, "profile"))
            r = parse_profile(plan, text, &text->entries[i], err);
    return r;
}

/* --- workloads --- */

static int parse_with(struct nm_plan *plan, const struct nm_workload_ops *ops,
                      const char *arguments, const void *options, const char *profile,
                      struct nm_error *err)
{
    struct nm_plan_workload *added = &plan->workloads[plan->n_workloads];
    int r;

    if (ops->unavailable)
        return nm_error_set(err, -EOPNOTSUPP, NM_REASON_UNSUPPORTED, "not built: %s",
                            ops->unavailable);
    r = ops->parse(arguments, options, &added->workload, err);
    if (r < 0)
        return r;
    plan->n_workloads++;
    added->key = profile ? strdup(profile) : ops->key(added->workload);
    added->settings = ops->options ? nm_plan_settings(ops->options, options) : strdup("");
    if (!added->key || !added->settings)
        return nm_error_no_memory(err);
    for (size_t i = 0; i + 1 < plan->n_workloads; i++)
        if (!strcmp(plan->workloads[i].key, added->key))
            return nm_error_set(err, -EINVAL, NM_REASON_NONE, "stands twice in the list");
    return 0;
}

static int parse_word(struct nm_plan *plan, const char *word, struct nm_error *err)
{
    size_t length = strcspn(word, ":");
    const char *arguments = word[length] ? word + length + 1 : NULL;
    char *name = strndup(word, length);
    const struct nm_workload_ops *ops;
    struct nm_plan_profile *profile;
    int r = 0;

    if (!name)
        return nm_error_no_memory(err);
    ops = nm_workload_find(name);
    if (ops) {
        r = parse_with(plan, ops, arguments, options_of(plan, ops), NULL, err);
    } else {
        profile = find_profile(plan, name);
        if (!profile)
            r = use_built_in(plan, name, &profile, err);
        if (!r && arguments)
            r = nm_error_set(err, -EINVAL, NM_REASON_NONE,
                             "a profile takes no arguments; write [profile NAME] to change it");
        if (!r)
            r = parse_with(plan, profile->ops, NULL, profile->options, profile->name, err);
    }
    if (r < 0 && (ops || arguments))
        nm_error_prefix(err, "%.120s", word);
    free(name);
    return r;
}

int nm_plan_parse_workloads(struct nm_plan *plan, const struct nm_plan_text *text,
                            struct nm_error *err)
{
    const struct nm_plan_entry *entry = nm_plan_text_find(text, "run", NULL, "workloads");
    char *words = strdup(plan->run.workloads ? plan->run.workloads : ""), *rest = words, *word;
    size_t n = 0;
    int r = 0;

    plan->workloads = calloc(WORKLOADS_MAX, sizeof(*plan->workloads));
    if (!words || !plan->workloads)
        r = nm_error_no_memory(err);
    else if (!*words)
        r = nm_error_set(err, -EINVAL, NM_REASON_NONE, "workloads: the list is empty");
    while (!r && (word = strsep(&rest, " "))) {
        if (n++ == WORKLOADS_MAX)
            r = nm_error_set(err, -E2BIG, NM_REASON_NONE, "more than %d workloads", WORKLOADS_MAX);
        else
            r = parse_word(plan, word, err);
        if (r < 0)
            nm_error_prefix(err, "workloads");
    }
    free(words);
    return r < 0 ? nm_plan_text_locate(text, entry, err) : 0;
}
