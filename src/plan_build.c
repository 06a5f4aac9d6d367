/* Settings to a plan: structures, volumes with their URLs, protocols (plan_internal.h). Nothing is
 * half valid: the first error ends it, with its place.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan_internal.h"

#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 128
#define ROWS_MAX  64

/* What is under construction. */
struct building {
    struct nm_plan *plan;
    const struct nm_plan_text *text;
    struct nm_vault *vault;
    FILE *warnings;
};

/* --- sections of backends and workloads: one structure per row --- */

static size_t backend_sections(const struct nm_option_section **list)
{
    size_t n = 0;

    for (; n < ROWS_MAX && nm_backend_table[n]; n++)
        list[n] = nm_backend_table[n]->options;
    return n;
}

static size_t workload_sections(const struct nm_option_section **list)
{
    size_t n = 0;

    for (; n < ROWS_MAX && nm_workload_table[n]; n++)
        list[n] = nm_workload_table[n]->options;
    return n;
}

static int init_rows(void ***ret_values, const struct nm_option_section *const *sections, size_t n,
                     struct nm_error *err)
{
    void **values = *ret_values = calloc(n + 1, sizeof(*values));
    int r = values ? 0 : nm_error_no_memory(err);

    for (size_t i = 0; i < n && !r; i++) {
        if (!sections[i])
            continue;
        values[i] = calloc(1, sections[i]->size);
        r = values[i] ? nm_options_init(sections[i], values[i], err) : nm_error_no_memory(err);
    }
    return r;
}

static void free_rows(void **values, const struct nm_option_section *const *sections, size_t n)
{
    for (size_t i = 0; values && i < n; i++) {
        if (sections[i])
            nm_options_done(sections[i], values[i]);
        free(values[i]);
    }
    free(values);
}

/* Rows may share a section. */
static int set_rows(void **values, const struct nm_option_section *const *sections, size_t n,
                    const struct nm_option_section *section, const struct nm_plan_entry *entry,
                    struct nm_error *err)
{
    int r = 0;

    for (size_t i = 0; i < n && !r; i++)
        if (sections[i] == section)
            r = nm_options_set(section, values[i], entry->key, entry->value, err);
    return r;
}

static int plan_new(struct nm_plan **ret_plan, struct nm_error *err)
{
    const struct nm_option_section *sections[ROWS_MAX];
    struct nm_plan *plan = calloc(1, sizeof(*plan));
    int r;

    if (!plan)
        return nm_error_no_memory(err);
    *ret_plan = plan;
    r = init_rows(&plan->backend_options, sections, backend_sections(sections), err);
    if (!r)
        r = init_rows(&plan->workload_options, sections, workload_sections(sections), err);
    if (!r)
        r = nm_options_init(&nm_plan_nas_section, &plan->nas, err);
    if (!r)
        r = nm_options_init(&nm_plan_client_section, &plan->client, err);
    if (!r)
        r = nm_options_init(&nm_plan_run_section, &plan->run, err);
    return r;
}

void nm_plan_free(struct nm_plan *plan)
{
    const struct nm_option_section *sections[ROWS_MAX];

    if (!plan)
        return;
    nm_plan_free_workloads(plan);
    free_rows(plan->backend_options, sections, backend_sections(sections));
    free_rows(plan->workload_options, sections, workload_sections(sections));
    nm_options_done(&nm_plan_nas_section, &plan->nas);
    nm_options_done(&nm_plan_client_section, &plan->client);
    nm_options_done(&nm_plan_run_section, &plan->run);
    for (size_t i = 0; i < plan->n_volumes; i++) {
        nm_options_done(&nm_plan_volume_section, &plan->volumes[i].options);
        for (int k = 0; k < NM_PROTOCOLS; k++)
            nm_url_free(plan->volumes[i].urls[k]);
        free(plan->volumes[i].name);
    }
    free(plan->volumes);
    free(plan->path);
    free(plan);
}

/* --- volumes --- */

static struct nm_volume *find_volume(const struct nm_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->n_volumes; i++)
        if (!strcmp(plan->volumes[i].name, name))
            return &plan->volumes[i];
    return NULL;
}

const struct nm_volume *nm_plan_volume(const struct nm_plan *plan, const char *name)
{
    return find_volume(plan, name);
}

static int add_volume(struct nm_plan *plan, const char *name, struct nm_error *err)
{
    struct nm_volume *volumes, *volume;
    int r;

    if (!nm_text_is_utf8(name, strlen(name)))
        return nm_error_set(err, -EINVAL, NM_REASON_NONE, "the name of a volume is not UTF-8");
    if (strchr(name, '/'))
        return nm_error_set(err, -EINVAL, NM_REASON_NONE,
                            "the name of a volume cannot contain \"/\"");
    volumes = reallocarray(plan->volumes, plan->n_volumes + 1, sizeof(*volumes));
    if (!volumes)
        return nm_error_no_memory(err);
    plan->volumes = volumes;
    volume = &volumes[plan->n_volumes];
    memset(volume, 0, sizeof(*volume));
    r = nm_options_init(&nm_plan_volume_section, &volume->options, err);
    if (r < 0)
        return r;
    plan->n_volumes++;
    volume->name = strdup(name);
    return volume->name ? 0 : nm_error_no_memory(err);
}

/* A key that is the name of a protocol: its URL, kept without the password. */
static int set_url(struct building *b, struct nm_volume *volume, enum nm_protocol protocol,
                   const char *text, struct nm_error *err)
{
    struct nm_url *url = NULL;
    char *password = NULL;
    int r;

    if (!*text)
        return nm_error_set(err, -EINVAL, NM_REASON_NONE,
                            "the URL is empty; leave the line out when this protocol does not "
                            "apply");
    r = nm_url_parse(text, &url, &password, err);
    if (r < 0)
        return r;
    if (password)
        fprintf(b->warnings,
                "the %s URL of volume \"%s\" holds a password; --credentials FILE or "
                "NASMARK_PASSWORD keep it out of plans and command lines\n",
                nm_protocol_name(protocol), volume->name);
    r = nm_vault_take_password(b->vault, url, password, err);
    if (!r && url->protocol != protocol)
        r = nm_error_set(err, -EINVAL, NM_REASON_NONE, "this is a URL for \"%s\"",
                         nm_protocol_name(url->protocol));
    if (r < 0) {
        nm_url_free(url);
        return r;
    }
    nm_url_free(volume->urls[protocol]);
    volume->urls[protocol] = url;
    free(volume->options.urls[protocol]);
    volume->options.urls[protocol] = nm_url_format(url);
    return volume->options.urls[protocol] ? 0 : nm_error_no_memory(err);
}

static int set_in_volume(struct building *b, const struct nm_plan_entry *entry,
                         struct nm_error *err)
{
    struct nm_volume *volume = find_volume(b->plan, entry->name);
    int protocol = nm_protocol_parse(entry->key), r;

    if (protocol < 0)
        return nm_options_set(&nm_plan_volume_section, &volume->options, entry->key, entry->value,
                              err);
    r = set_url(b, volume, (enum nm_protocol)protocol, entry->value, err);
    if (r < 0)
        nm_error_prefix(err, "%s", entry->key);
    return r;
}

/* --- entries --- */

static int unknown_section(const char *name, struct nm_error *err)
{
    const char *names[NAMES_MAX];
    size_t n = 0;

    if (nm_profile_find(name))
        return nm_error_set(err, -EINVAL, NM_REASON_NONE,
                            "unknown section [%.60s]; a profile is written [profile %.60s]", name,
                            name);
    for (const struct nm_option_section *const *s = nm_plan_sections(); *s && n < NAMES_MAX; s++)
        names[n++] = (*s)->name;
    nm_error_set(err, -EINVAL, NM_REASON_NONE, "unknown section [%.60s]", name);
    nm_options_suggest(err, name, names, n);
    return -EINVAL;
}

static const struct nm_option_section *find_section(const char *name)
{
    for (const struct nm_option_section *const *s = nm_plan_sections(); *s; s++)
        if (!strcmp((*s)->name, name))
            return *s;
    return NULL;
}

static int apply_heading(struct building *b, const struct nm_option_section *section,
                         const struct nm_plan_entry *entry, struct nm_error *err)
{
    bool named = section == &nm_plan_volume_section || section == &nm_plan_profile_section;

    if (named && !entry->name)
        return nm_error_set(err, -EINVAL, NM_REASON_NONE, "a name is missing: [%s NAME]",
                            section->name);
    if (!named && entry->name)
        return nm_error_set(err, -EINVAL, NM_REASON_NONE, "[%s] takes no name", section->name);
    return section == &nm_plan_volume_section ? add_volume(b->plan, entry->name, err) : 0;
}

static int apply_key(struct building *b, const struct nm_option_section *section,
                     const struct nm_plan_entry *entry, struct nm_error *err)
{
    const struct nm_option_section *sections[ROWS_MAX];
    struct nm_plan *plan = b->plan;
    int r;

    if (section == &nm_plan_nas_section)
        return nm_options_set(section, &plan->nas, entry->key, entry->value, err);
    if (section == &nm_plan_client_section)
        return nm_options_set(section, &plan->client, entry->key, entry->value, err);
    if (section == &nm_plan_run_section)
        return nm_options_set(section, &plan->run, entry->key, entry->value, err);
    if (section == &nm_plan_volume_section)
        return set_in_volume(b, entry, err);
    if (section == &nm_plan_profile_section)
        return 0; /* nm_plan_parse_profiles() */
    r = set_rows(plan->backend_options, sections, backend_sections(sections), section, entry, err);
    if (!r)
        r = set_rows(plan->workload_options, sections, workload_sections(sections), section, entry,
                     err);
    return r;
}

static int apply(struct building *b, struct nm_error *err)
{
    for (size_t i = 0; i < b->text->n_entries; i++) {
        const struct nm_plan_entry *entry = &b->text->entries[i];
        const struct nm_option_section *section = find_section(entry->section);
        int r;

        if (!section)
            r = unknown_section(entry->section, err);
        else if (entry->key)
            r = apply_key(b, section, entry, err);
        else
            r = apply_heading(b, section, entry, err);
        if (r < 0)
            return nm_plan_text_locate(b->text, entry, err);
    }
    return 0;
}

/* --- what can only be told from the whole --- */

static int check_required(const struct building *b, struct nm_error *err)
{
    const struct nm_option_section *section = &nm_plan_nas_section;

    for (size_t i = 0; i < section->n_options; i++) {
        const struct nm_option *option = &section->options[i];
        const char *value = *(char *const *)((const char *)&b->plan->nas + option->offset);

        if (option->required && !value) {
            nm_error_set(err, -EINVAL, NM_REASON_NONE, "[%s] lacks \"%s\" (%s)", section->name,
                         option->name, option->help);
            return nm_plan_text_locate(
                b->text, nm_plan_text_find(b->text, section->name, NULL, option->name), err);
        }
    }
    return 0;
}

/* YYYY-MM-DD and a day that exists. */
static int check_date(const struct building *b, struct nm_error *err)
{
    static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const char *date = b->plan->nas.firmware_date;
    int year, month, day;
    char rest;
    bool ok;

    if (!date)
        return 0;
    ok = strlen(date) == 10 && strspn(date, "0123456789-") == 10 &&
         sscanf(date, "%4d-%2d-%2d%c", &year, &month, &day, &rest) == 3 && year >= 1980 &&
         month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1] &&
         (month != 2 || day < 29 || (year % 4 == 0 && (year % 100 || year % 400 == 0)));
    if (ok)
        return 0;
    nm_error_set(err, -EINVAL, NM_REASON_NONE,
                 "firmware_date: \"%.40s\" is not a date; write it like 2013-08-20", date);
    return nm_plan_text_locate(b->text, nm_plan_text_find(b->text, "nas", NULL, "firmware_date"),
                               err);
}

static int check_volumes(const struct building *b, struct nm_error *err)
{
    if (!b->plan->n_volumes) {
        nm_error_set(err, -EINVAL, NM_REASON_NONE,
                     "there is no volume; add [volume NAME] with a URL");
        return nm_plan_text_locate(b->text, NULL, err);
    }
    for (size_t i = 0; i < b->plan->n_volumes; i++) {
        const struct nm_volume *volume = &b->plan->volumes[i];
        bool any = false;

        for (int k = 0; k < NM_PROTOCOLS; k++)
            any = any || volume->urls[k];
        if (!any) {
            nm_error_set(err, -EINVAL, NM_REASON_NONE,
                         "[volume %.60s] has no URL; add a line like \"smb = "
                         "smb://user@nas/share\"",
                         volume->name);
            return nm_plan_text_locate(
                b->text, nm_plan_text_find(b->text, "volume", volume->name, NULL), err);
        }
    }
    return 0;
}

static int add_protocol(struct nm_plan *plan, const char *word, struct nm_error *err)
{
    const char *names[NM_PROTOCOLS];
    int protocol = nm_protocol_parse(word);

    for (int i = 0; i < NM_PROTOCOLS; i++)
        names[i] = nm_protocol_name((enum nm_protocol)i);
    if (protocol < 0) {
        nm_error_set(err, -EINVAL, NM_REASON_NONE, "protocols: unknown protocol \"%.40s\"", word);
        nm_options_suggest(err, word, names, NM_PROTOCOLS);
        return -EINVAL;
    }
    for (size_t i = 0; i < plan->n_protocols; i++)
        if ((int)plan->protocols[i] == protocol)
            return nm_error_set(err, -EINVAL, NM_REASON_NONE, "protocols: \"%s\" stands twice",
                                word);
    plan->protocols[plan->n_protocols++] = (enum nm_protocol)protocol;
    return 0;
}

static int parse_protocols(const struct building *b, struct nm_error *err)
{
    struct nm_plan *plan = b->plan;
    char *words, *rest, *word;
    int r = 0;

    if (!plan->run.protocols) {
        for (int k = 0; k < NM_PROTOCOLS; k++)
            for (size_t i = 0; i < plan->n_volumes; i++)
                if (plan->volumes[i].urls[k]) {
                    plan->protocols[plan->n_protocols++] = (enum nm_protocol)k;
                    break;
                }
        return 0;
    }
    words = rest = strdup(plan->run.protocols);
    if (!words)
        return nm_error_no_memory(err);
    while (!r && (word = strsep(&rest, " ")))
        r = add_protocol(plan, word, err);
    free(words);
    if (r < 0)
        nm_plan_text_locate(b->text, nm_plan_text_find(b->text, "run", NULL, "protocols"), err);
    return r;
}

int nm_plan_build(const struct nm_plan_text *text, struct nm_vault *vault,
                  struct nm_plan **ret_plan, char **ret_warnings, struct nm_error *err)
{
    struct building b = {.text = text, .vault = vault};
    char *warnings = NULL;
    size_t size;
    int r;

    b.warnings = open_memstream(&warnings, &size);
    if (!b.warnings)
        return nm_error_no_memory(err);
    r = plan_new(&b.plan, err);
    if (!r)
        r = apply(&b, err);
    if (!r)
        r = check_required(&b, err);
    if (!r)
        r = check_date(&b, err);
    if (!r)
        r = check_volumes(&b, err);
    if (!r)
        r = parse_protocols(&b, err);
    if (!r)
        r = nm_plan_parse_profiles(b.plan, text, err);
    if (!r)
        r = nm_plan_parse_workloads(b.plan, text, err);
    if (fclose(b.warnings) < 0 && !r)
        r = nm_error_no_memory(err);
    if (r < 0 || !size) {
        free(warnings);
        warnings = NULL;
    }
    if (r < 0) {
        nm_plan_free(b.plan);
        return r;
    }
    *ret_plan = b.plan;
    *ret_warnings = warnings;
    return 0;
}
