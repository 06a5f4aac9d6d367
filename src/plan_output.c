/* A plan as text: identity of a campaign, the whole plan in force, and the commented template
 * (plan.h). Text only, no floating point: nothing depends on the locale.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum scope { IDENTITY, EVERYTHING };

/* --- settings that are not at their default --- */

static bool is_preset(const struct nm_option *option, const char *text, const void *presets)
{
    char *preset = nm_options_format(option, presets);
    bool same = preset && !strcmp(preset, text);

    free(preset);
    return same;
}

/* "key = value" for every key that is not at its default, below the heading; without any, no
 * heading either. skip: a key that is written elsewhere, or NULL. */
static void put_section(FILE *out, const char *heading, const struct nm_option_section *section,
                        const void *values, enum scope scope, const char *skip)
{
    void *presets = calloc(1, section->size);
    const char *before = "\n", *title = heading;

    if (!presets || nm_options_init(section, presets, NULL) < 0) {
        free(presets);
        return;
    }
    for (size_t i = 0; i < section->n_options; i++) {
        const struct nm_option *option = &section->options[i];
        char *text;

        if ((scope == IDENTITY && option->local) || (skip && !strcmp(option->name, skip)))
            continue;
        text = nm_options_format(option, values);
        if (text && !is_preset(option, text, presets)) {
            if (title)
                fprintf(out, "%s[%s]\n", ftell(out) ? before : "", title);
            title = NULL;
            fprintf(out, "%s = %s\n", option->name, text);
        }
        free(text);
    }
    nm_options_done(section, presets);
    free(presets);
}

char *nm_plan_settings(const struct nm_option_section *section, const void *values)
{
    char *text = NULL, *line;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    put_section(out, NULL, section, values, IDENTITY, NULL);
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    if (size)
        text[size - 1] = '\0';
    for (line = text; (line = strchr(line, '\n'));)
        *line++ = ';';
    return text;
}

static bool uses(const struct nm_plan *plan, const struct nm_workload_ops *ops)
{
    for (size_t i = 0; i < plan->n_workloads; i++)
        if (plan->workloads[i].workload->ops == ops)
            return true;
    return false;
}

static bool uses_profile(const struct nm_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->n_workloads; i++)
        if (!strcmp(plan->workloads[i].key, name))
            return true;
    return false;
}

/* Sections of backends and workloads, and profiles. */
static void put_tables(FILE *out, const struct nm_plan *plan, enum scope scope)
{
    for (size_t i = 0; nm_backend_table[i]; i++) {
        const struct nm_option_section *section = nm_backend_table[i]->options;

        if (section && nm_plan_section_values(plan, section) == plan->backend_options[i])
            put_section(out, section->name, section, plan->backend_options[i], scope, NULL);
    }
    for (size_t i = 0; nm_workload_table[i]; i++) {
        const struct nm_option_section *section = nm_workload_table[i]->options;

        if (section && nm_plan_section_values(plan, section) == plan->workload_options[i] &&
            (scope == EVERYTHING || uses(plan, nm_workload_table[i])))
            put_section(out, section->name, section, plan->workload_options[i], scope, NULL);
    }
    for (size_t i = 0; i < plan->n_profiles; i++) {
        const struct nm_plan_profile *profile = &plan->profiles[i];

        if (scope == IDENTITY && !uses_profile(plan, profile->name))
            continue;
        fprintf(out, "\n[profile %s]\nworkload = %s\n", profile->name, profile->ops->name);
        if (profile->options)
            put_section(out, NULL, profile->ops->options, profile->options, scope, NULL);
    }
}

static char *finish(FILE *out, char **text)
{
    if (fclose(out) == 0)
        return *text;
    free(*text);
    return NULL;
}

char *nm_plan_canonical_run(const struct nm_plan *plan)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    fprintf(out, "[run]\nworkloads =");
    for (size_t i = 0; i < plan->n_workloads; i++)
        fprintf(out, " %s", plan->workloads[i].key);
    putc('\n', out);
    put_section(out, NULL, &nm_plan_run_section, &plan->run, IDENTITY, "workloads");
    put_tables(out, plan, IDENTITY);
    return finish(out, &text);
}

char *nm_plan_format(const struct nm_plan *plan)
{
    char heading[300], *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    put_section(out, "nas", &nm_plan_nas_section, &plan->nas, EVERYTHING, NULL);
    put_section(out, "client", &nm_plan_client_section, &plan->client, EVERYTHING, NULL);
    for (size_t i = 0; i < plan->n_volumes; i++) {
        snprintf(heading, sizeof(heading), "volume %s", plan->volumes[i].name);
        put_section(out, heading, &nm_plan_volume_section, &plan->volumes[i].options, EVERYTHING,
                    NULL);
    }
    put_section(out, "run", &nm_plan_run_section, &plan->run, EVERYTHING, NULL);
    put_tables(out, plan, EVERYTHING);
    return finish(out, &text);
}

/* --- the template --- */

/* "name = value   ; help", as a comment unless the key is required. */
static void put_template_key(FILE *out, const struct nm_option *option)
{
    const char *value = option->preset ? option->preset : option->example ? option->example : "";
    char setting[200], type[160];
    bool list_values =
        option->values || option->type == NM_OPTION_BOOL || option->type == NM_OPTION_DATA;

    snprintf(setting, sizeof(setting), "%s%s = %s", option->required ? "" : ";", option->name,
             value);
    fprintf(out, "%-34s ; %s", setting, option->help);
    if (list_values)
        fprintf(out, " (%s)", nm_options_type_help(option, type, sizeof(type)));
    putc('\n', out);
}

static void put_template_section(FILE *out, const struct nm_option_section *section)
{
    bool profile = section == &nm_plan_profile_section;

    fprintf(out, "\n; %s\n", section->help ? section->help : "");
    if (profile)
        fprintf(out, ";[profile mine]\n");
    else
        fprintf(out, "[%s%s]\n", section->name,
                section == &nm_plan_volume_section ? " single" : "");
    for (size_t i = 0; i < section->n_options; i++) {
        if (profile)
            putc(';', out);
        put_template_key(out, &section->options[i]);
    }
}

char *nm_plan_template(void)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    fprintf(out, "; A plan of nasmark: what is measured, on what, how. Run it with\n"
                 ";     nasmark run PLAN\n"
                 "; A line that begins with \";\" is a comment; a key that is left out has the "
                 "value shown here,\n"
                 "; or none where there is no default.\n");
    for (const struct nm_option_section *const *s = nm_plan_sections(); *s; s++)
        put_template_section(out, *s);
    return finish(out, &text);
}
