/* Inside of the plan, shared by the plan_*.c files only.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_PLAN_INTERNAL_H
#define NM_PLAN_INTERNAL_H

#include "plan.h"

/* --- plan_text.c: settings with their place, before they mean anything --- */

enum nm_plan_origin { NM_PLAN_FILE, NM_PLAN_SET, NM_PLAN_IMPLIED };

struct nm_plan_entry {
    char *section; /* "run", "volume" */
    char *name;    /* of a volume or profile, else NULL */
    char *key;     /* NULL: the heading itself */
    char *value;   /* may hold a password */
    enum nm_plan_origin origin;
    unsigned line; /* NM_PLAN_FILE */
};

struct nm_plan_text {
    const char *file; /* in messages */
    struct nm_plan_entry *entries;
    size_t n_entries;
};

int nm_plan_text_parse(struct nm_plan_text *text, const char *bytes, size_t length,
                       struct nm_error *err) NM_MUST_CHECK;

/* Adds a setting or, when override, replaces the one that is there. name may be NULL; key NULL adds
 * a heading. */
int nm_plan_text_put(struct nm_plan_text *text, const char *section, const char *name,
                     const char *key, const char *value, bool override,
                     struct nm_error *err) NM_MUST_CHECK;

/* Applies one "SECTION.KEY=VALUE". */
int nm_plan_text_set(struct nm_plan_text *text, const char *set,
                     struct nm_error *err) NM_MUST_CHECK;

/* Wipes and frees. */
void nm_plan_text_done(struct nm_plan_text *text);

/* The entry of a key, else of the heading of its section; NULL when there is neither. */
const struct nm_plan_entry *nm_plan_text_find(const struct nm_plan_text *text, const char *section,
                                              const char *name, const char *key);

/* Puts "FILE:LINE", or the --set, before an error that is already set; returns err->code. */
int nm_plan_text_locate(const struct nm_plan_text *text, const struct nm_plan_entry *entry,
                        struct nm_error *err);

/* --- plan_sections.c --- */

extern const struct nm_option_section nm_plan_nas_section, nm_plan_client_section,
    nm_plan_volume_section, nm_plan_run_section, nm_plan_profile_section;

/* What [profile NAME] has of its own; the other keys belong to the section of the workload. */
struct nm_plan_profile_head {
    char *workload;
};

/* The structure of `plan` that belongs to a section without a name; NULL = none. */
void *nm_plan_section_values(const struct nm_plan *plan, const struct nm_option_section *section);

/* --- plan_build.c --- */

/* text is not needed afterwards; passwords in URLs go to vault. */
int nm_plan_build(const struct nm_plan_text *text, struct nm_vault *vault,
                  struct nm_plan **ret_plan, char **ret_warnings,
                  struct nm_error *err) NM_MUST_CHECK;

/* --- plan_workloads.c --- */

/* plan_output.c: "key = value;key = value" of what is not at its default, "" when all is. Heap. */
char *nm_plan_settings(const struct nm_option_section *section, const void *values);

/* [profile] sections, then the words of [run] workloads. */
int nm_plan_parse_profiles(struct nm_plan *plan, const struct nm_plan_text *text,
                           struct nm_error *err) NM_MUST_CHECK;
int nm_plan_parse_workloads(struct nm_plan *plan, const struct nm_plan_text *text,
                            struct nm_error *err) NM_MUST_CHECK;
void nm_plan_free_workloads(struct nm_plan *plan);

#endif
