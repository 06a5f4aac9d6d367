/* The plan: what is measured, on what, how. Read from an INI file, from a URL (`bench`), plus
 * --set.
 *
 * The plan is complete before the spawner is forked; workers see it as inherited memory. Nothing
 * here touches a network. Backends' and workloads' sections are filled through their own option
 * tables.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_PLAN_H
#define NM_PLAN_H

#include "../backends/backend.h"
#include "../workloads/workload.h"
#include "credentials.h"
#include "error.h"
#include "options.h"
#include "url.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nm_nas_options {
    char *name, *vendor, *model, *firmware, *firmware_date, *disks;
    uint64_t ram_bytes; /* 0 = unknown */
};

struct nm_client_options {
    char *note, *switch_name, *cable, *nic;
};

enum nm_order { NM_ORDER_PASSES, NM_ORDER_GROUPED };
enum nm_flush { NM_FLUSH_END, NM_FLUSH_FILE };
enum nm_verify { NM_VERIFY_NONE, NM_VERIFY_SIZE, NM_VERIFY_FULL };
enum nm_on_error { NM_ON_ERROR_CONTINUE, NM_ON_ERROR_STOP };

struct nm_run_options {
    char *workloads; /* words */
    char *protocols; /* words */
    uint32_t trials;
    int order, flush, verify, on_error; /* enums above */
    uint32_t streams, depth;
    uint64_t block_bytes; /* 0 = auto */
    struct nm_data_kind data;
    char *source, *destination; /* NULL = memory */
    uint64_t evict_bytes;
    char *prepare; /* command before phases that read back, NULL = none */
    bool keep, preflight;
    uint64_t pause_ns, timeout_ns;
    uint32_t files_per_directory; /* 0 = one directory */
    uint64_t seed;                /* 0 = drawn */
};

struct nm_volume_options {
    char *kind, *label, *interface;
    char *urls[NM_PROTOCOLS]; /* text as given, password removed; NULL = not applicable */
};

struct nm_volume {
    char *name;
    struct nm_volume_options options;
    struct nm_url *urls[NM_PROTOCOLS];
    struct nm_credentials credentials[NM_PROTOCOLS]; /* resolved by nm_plan_resolve_credentials() */
};

/* A workload of the plan, parsed. */
struct nm_plan_workload {
    struct nm_workload *workload;
    char *key;      /* canonical: of the workload, or the name of a profile */
    char *settings; /* options that are not at their default, "key = value;...", "" = none */
};

/* [profile NAME]: the section of a workload with other values, under a name of its own. */
struct nm_plan_profile {
    char *name;
    const struct nm_workload_ops *ops; /* [profile] workload */
    void *options;                     /* ops->options filled in; NULL when it has none */
};

struct nm_plan {
    char *path; /* file it came from, NULL for bench */
    struct nm_nas_options nas;
    struct nm_client_options client;
    struct nm_run_options run;
    void **backend_options;  /* parallel to nm_backend_table; NULL entries where a backend has no
                                section */
    void **workload_options; /* parallel to nm_workload_table */
    struct nm_volume *volumes;
    size_t n_volumes;
    struct nm_plan_profile *profiles; /* of the plan, and built-in ones that it uses */
    size_t n_profiles;
    struct nm_plan_workload *workloads;
    size_t n_workloads;
    enum nm_protocol protocols[NM_PROTOCOLS]; /* in the order of the plan; without [run] protocols:
                                                 all that some volume has a URL for */
    size_t n_protocols;
};

/* Reads a plan file, then applies n_sets texts "SECTION.KEY=VALUE" (section of a volume: "volume
 * NAME.smb" or "NAME.smb"; "volume.smb" when there is one volume). Every unknown section, key or
 * value is an error with file, line and the nearest valid word. Passwords found in URLs go to
 * vault; *ret_warnings is text for people, one line each, heap, NULL when there is none. */
int nm_plan_load(const char *path, const char *const *sets, size_t n_sets, struct nm_vault *vault,
                 struct nm_plan **ret_plan, char **ret_warnings,
                 struct nm_error *err) NM_MUST_CHECK;

/* The same from memory, for tests and fuzzing; name appears in messages. */
int nm_plan_parse(const char *name, const char *text, size_t length, const char *const *sets,
                  size_t n_sets, struct nm_vault *vault, struct nm_plan **ret_plan,
                  char **ret_warnings, struct nm_error *err) NM_MUST_CHECK;

/* Plan of `bench URL`: one volume of kind other; volume = its name, NULL = after the URL; nas.name
 * = host, firmware = unknown unless set; workloads NULL or n = 0: the copy procedure. */
int nm_plan_from_url(const char *url, const char *volume, const char *const *workloads,
                     size_t n_workloads, const char *const *sets, size_t n_sets,
                     struct nm_vault *vault, struct nm_plan **ret_plan, char **ret_warnings,
                     struct nm_error *err) NM_MUST_CHECK;

void nm_plan_free(struct nm_plan *plan);

/* Credentials of every URL, prompting where allowed. Must happen before the spawner is forked. */
int nm_plan_resolve_credentials(struct nm_plan *plan, struct nm_vault *vault, bool may_prompt,
                                struct nm_error *err) NM_MUST_CHECK;

/* The identity of a campaign together with NAS name and firmware: workloads, and every key of
 * [run], of the backends, and of the workloads and profiles in use that is not at its default. Keys
 * marked local are left out. Heap. */
char *nm_plan_canonical_run(const struct nm_plan *plan);

/* The whole plan as it is in force, as text of a plan: every key that is not at its default, URLs
 * without secrets. Heap. */
char *nm_plan_format(const struct nm_plan *plan);

const struct nm_volume *nm_plan_volume(const struct nm_plan *plan, const char *name);
const void *nm_plan_backend_options(const struct nm_plan *plan, const char *backend);

/* Every section of the plan file in documentation order, NULL-terminated; for --help, the man page,
 * `plan template` and the tests. */
const struct nm_option_section *const *nm_plan_sections(void);

/* A commented plan with every key and its default. Heap. */
char *nm_plan_template(void);

/* Known volume kinds, NULL-terminated, in display order. */
extern const char *const nm_volume_kinds[];

#endif
