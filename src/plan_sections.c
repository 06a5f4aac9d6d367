/* The sections of a plan: tables of keys (plan.h). Sections of backends and workloads stand in
 * their own files; nm_plan_sections() joins them all.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan_internal.h"

#include <string.h>

#define SECTIONS_MAX 64

const char *const nm_volume_kinds[] = {
    "single",     "raid0",     "raid1", "raid5", "raid6", "raid10",
    "compressed", "encrypted", "usb",   "other", NULL,
};

static const char *const orders[] = {
    [NM_ORDER_PASSES] = "passes", [NM_ORDER_GROUPED] = "grouped", NULL};
static const char *const flushes[] = {[NM_FLUSH_END] = "end", [NM_FLUSH_FILE] = "file", NULL};
static const char *const verifies[] = {
    [NM_VERIFY_NONE] = "none", [NM_VERIFY_SIZE] = "size", [NM_VERIFY_FULL] = "full", NULL};
static const char *const on_errors[] = {
    [NM_ON_ERROR_CONTINUE] = "continue", [NM_ON_ERROR_STOP] = "stop", NULL};

#define NAS(field)     .offset = offsetof(struct nm_nas_options, field)
#define CLIENT(field)  .offset = offsetof(struct nm_client_options, field)
#define VOLUME(field)  .offset = offsetof(struct nm_volume_options, field)
#define RUN(field)     .offset = offsetof(struct nm_run_options, field)
#define PROFILE(field) .offset = offsetof(struct nm_plan_profile_head, field)

static const struct nm_option nas_options[] = {
    {
        .name = "name",
        .type = NM_OPTION_STRING,
        NAS(name),
        .required = true,
        .example = "my-nas",
        .help = "groups results",
    },
    {
        .name = "vendor",
        .type = NM_OPTION_STRING,
        NAS(vendor),
        .example = "NETGEAR",
        .help = "who makes it",
    },
    {
        .name = "model",
        .type = NM_OPTION_STRING,
        NAS(model),
        .example = "ReadyNAS 104",
        .help = "what it is called",
    },
    {
        .name = "firmware",
        .type = NM_OPTION_STRING,
        NAS(firmware),
        .required = true,
        .example = "6.1.2",
        .help = "version that is tested",
    },
    {
        .name = "firmware_date",
        .type = NM_OPTION_STRING,
        NAS(firmware_date),
        .example = "2013-08-20",
        .help = "YYYY-MM-DD, orders the history; without it: first run",
    },
    {
        .name = "ram",
        .type = NM_OPTION_SIZE,
        NAS(ram_bytes),
        .zero_word = "unknown",
        .example = "512MiB",
        .help = "lets cached reads be recognised",
    },
    {
        .name = "disks",
        .type = NM_OPTION_STRING,
        NAS(disks),
        .example = "4 x WD20EFRX",
        .help = "what is inside",
    },
};

static const struct nm_option client_options[] = {
    {
        .name = "note",
        .type = NM_OPTION_STRING,
        CLIENT(note),
        .example = "quiet office, nothing else on the switch",
        .help = "anything worth knowing",
    },
    {
        .name = "switch",
        .type = NM_OPTION_STRING,
        CLIENT(switch_name),
        .example = "GSM7212",
        .help = "switch between client and NAS",
    },
    {
        .name = "cable",
        .type = NM_OPTION_STRING,
        CLIENT(cable),
        .example = "direct, Cat 6",
        .help = "cabling",
    },
    {
        .name = "nic",
        .type = NM_OPTION_STRING,
        CLIENT(nic),
        .example = "X550-T2",
        .help = "network card, where the system does not say",
    },
};

static const struct nm_option volume_options[] = {
    {
        .name = "kind",
        .type = NM_OPTION_STRING,
        VOLUME(kind),
        .preset = "other",
        .values = nm_volume_kinds,
        .help = "how the volume is configured",
    },
    {
        .name = "label",
        .type = NM_OPTION_STRING,
        VOLUME(label),
        .example = "Single volume",
        .help = "row in the tables, never translated; without it: the kind",
    },
    {
        .name = "interface",
        .type = NM_OPTION_STRING,
        VOLUME(interface),
        .example = "SATA",
        .help = "how the disks are connected: SATA, USB 3.0 ...",
    },
    {
        .name = "smb",
        .type = NM_OPTION_STRING,
        VOLUME(urls[NM_PROTOCOL_SMB]),
        .example = "smb://reviewer@nas/single/bench",
        .help = "smb://[[DOMAIN;]USER@]HOST[:PORT]/SHARE[/PATH]",
    },
    {
        .name = "iscsi",
        .type = NM_OPTION_STRING,
        VOLUME(urls[NM_PROTOCOL_ISCSI]),
        .example = "iscsi://nas/iqn.1994-11.com.netgear:nas:lun1/0",
        .help = "iscsi://[USER@]HOST[:PORT]/TARGET/LUN[?fs=ext4|raw]",
    },
    {
        .name = "nfs",
        .type = NM_OPTION_STRING,
        VOLUME(urls[NM_PROTOCOL_NFS]),
        .example = "nfs://nas/data/single/bench",
        .help = "nfs://HOST[:PORT]/EXPORT/PATH[?version=3|4&uid=&gid=&mountport=]",
    },
    {
        .name = "local",
        .type = NM_OPTION_STRING,
        VOLUME(urls[NM_PROTOCOL_LOCAL]),
        .example = "/mnt/single",
        .help = "a mounted directory or a block device",
    },
    {
        .name = "http",
        .type = NM_OPTION_STRING,
        VOLUME(urls[NM_PROTOCOL_HTTP]),
        .example = "https://reviewer@nas/dav/single",
        .help = "http[s]://[USER@]HOST[:PORT]/PATH (WebDAV; this version has no client for it)",
    },
    {
        .name = "null",
        .type = NM_OPTION_STRING,
        VOLUME(urls[NM_PROTOCOL_NULL]),
        .example = "null:name?rate=100MB",
        .help = "no storage at all: measures this program",
    },
};

static const struct nm_option run_options[] = {
    {
        .name = "workloads",
        .type = NM_OPTION_LIST,
        RUN(workloads),
        .preset = "copy:1x2GB copy:1000x2MB copy:10000x2KB",
        .help = "what is measured; see `nasmark list workloads` and `profiles`",
    },
    {
        .name = "protocols",
        .type = NM_OPTION_LIST,
        RUN(protocols),
        .example = "smb iscsi nfs local http",
        .help = "over what, in this order; without it: all that a volume has a URL for",
    },
    {
        .name = "trials",
        .type = NM_OPTION_UINT,
        RUN(trials),
        .preset = "3",
        .min = 1,
        .max = 1000,
        .local = true,
        .help = "measured executions of every cell",
    },
    {
        .name = "order",
        .type = NM_OPTION_ENUM,
        RUN(order),
        .preset = "passes",
        .values = orders,
        .help =
            "passes: one trial of every cell, then again; grouped: all trials of a cell at once",
    },
    {
        .name = "streams",
        .type = NM_OPTION_UINT,
        RUN(streams),
        .preset = "1",
        .min = 1,
        .max = 256,
        .help = "files moved at the same time",
    },
    {
        .name = "depth",
        .type = NM_OPTION_UINT,
        RUN(depth),
        .preset = "16",
        .min = 1,
        .max = 1024,
        .help = "requests in flight per stream",
    },
    {
        .name = "block",
        .type = NM_OPTION_SIZE,
        RUN(block_bytes),
        .preset = "auto",
        .min = 512,
        .max = 64 << 20,
        .zero_word = "auto",
        .help = "size of one request; auto: what suits the protocol",
    },
    {
        .name = "flush",
        .type = NM_OPTION_ENUM,
        RUN(flush),
        .preset = "end",
        .values = flushes,
        .help = "when the flush inside the clock happens: after all files, or after each",
    },
    {
        .name = "verify",
        .type = NM_OPTION_ENUM,
        RUN(verify),
        .preset = "size",
        .values = verifies,
        .help = "none; size: sizes of files; full: every byte read is compared",
    },
    {
        .name = "data",
        .type = NM_OPTION_DATA,
        RUN(data),
        .preset = "random",
        .help = "what the bytes look like",
    },
    {
        .name = "source",
        .type = NM_OPTION_STRING,
        RUN(source),
        .preset = "memory",
        .zero_word = "memory",
        .help = "where uploaded files come from: memory, or a local directory",
    },
    {
        .name = "destination",
        .type = NM_OPTION_STRING,
        RUN(destination),
        .preset = "memory",
        .zero_word = "memory",
        .help = "where downloaded files go: memory, or a local directory",
    },
    {
        .name = "files_per_directory",
        .type = NM_OPTION_UINT,
        RUN(files_per_directory),
        .preset = "all",
        .zero_word = "all",
        .help = "files in one directory at most; many slow down some servers",
    },
    {
        .name = "evict",
        .type = NM_OPTION_SIZE,
        RUN(evict_bytes),
        .preset = "0",
        .help = "bytes read between upload and download to push data out of the NAS cache",
    },
    {
        .name = "prepare",
        .type = NM_OPTION_STRING,
        RUN(prepare),
        .help = "command for sh, run on this machine before each phase that reads back, outside "
                "the clock; "
                "for example one that drops the caches of the NAS; killed after 10 minutes, which "
                "fails the trial; stored with the results, so no passwords in it",
    },
    {
        .name = "preflight",
        .type = NM_OPTION_BOOL,
        RUN(preflight),
        .preset = "yes",
        .local = true,
        .help = "check free space before anything is written",
    },
    {
        .name = "keep",
        .type = NM_OPTION_BOOL,
        RUN(keep),
        .preset = "no",
        .local = true,
        .help = "leave the files on the target",
    },
    {
        .name = "on_error",
        .type = NM_OPTION_ENUM,
        RUN(on_error),
        .preset = "continue",
        .values = on_errors,
        .local = true,
        .help = "after a failed trial",
    },
    {
        .name = "pause",
        .type = NM_OPTION_DURATION,
        RUN(pause_ns),
        .preset = "5s",
        .max = 24 * 3600 * UINT64_C(1000000000),
        .local = true,
        .help = "between trials",
    },
    {
        .name = "timeout",
        .type = NM_OPTION_DURATION,
        RUN(timeout_ns),
        .preset = "30s",
        .min = 1000000000,
        .max = 3600 * UINT64_C(1000000000),
        .local = true,
        .help = "longest wait for the answer to one operation",
    },
    {
        .name = "seed",
        .type = NM_OPTION_UINT64,
        RUN(seed),
        .preset = "random",
        .zero_word = "random",
        .local = true,
        .help = "order of the cells and contents of the files; the one used is stored",
    },
};

static const struct nm_option profile_options[] = {
    {
        .name = "workload",
        .type = NM_OPTION_STRING,
        PROFILE(workload),
        .required = true,
        .example = "sequential",
        .help = "whose section the other keys belong to",
    },
};

#define SECTION(title, table, type, text)                                                          \
    {                                                                                              \
        .name = title, .help = text, .options = table, .n_options = NM_OPTION_COUNT(table),        \
        .size = sizeof(type)                                                                       \
    }

const struct nm_option_section nm_plan_nas_section =
    SECTION("nas", nas_options, struct nm_nas_options, "The device under test.");
const struct nm_option_section nm_plan_client_section =
    SECTION("client", client_options, struct nm_client_options,
            "This machine, as far as it cannot be read from the system.");
const struct nm_option_section nm_plan_volume_section =
    SECTION("volume", volume_options, struct nm_volume_options,
            "[volume NAME]: one storage configuration, a row in the tables. A protocol without a "
            "URL is \"n/a\".");
const struct nm_option_section nm_plan_run_section =
    SECTION("run", run_options, struct nm_run_options, "What is measured, and how.");
const struct nm_option_section nm_plan_profile_section =
    SECTION("profile", profile_options, struct nm_plan_profile_head,
            "[profile NAME]: a workload of your own, by other values for the section of an "
            "existing one. The name of a built-in profile changes that one; so does \"--set "
            "cdm8.size=256MiB\".");

static void add(const struct nm_option_section **list, size_t *n,
                const struct nm_option_section *section)
{
    for (size_t i = 0; i < *n; i++)
        if (list[i] == section)
            return;
    if (section && *n < SECTIONS_MAX)
        list[(*n)++] = section;
}

const struct nm_option_section *const *nm_plan_sections(void)
{
    static const struct nm_option_section *sections[SECTIONS_MAX + 1];
    size_t n = 0;

    if (sections[0])
        return sections;
    add(sections, &n, &nm_plan_nas_section);
    add(sections, &n, &nm_plan_client_section);
    add(sections, &n, &nm_plan_volume_section);
    add(sections, &n, &nm_plan_run_section);
    for (size_t i = 0; nm_backend_table[i]; i++)
        add(sections, &n, nm_backend_table[i]->options);
    for (size_t i = 0; nm_workload_table[i]; i++)
        add(sections, &n, nm_workload_table[i]->options);
    add(sections, &n, &nm_plan_profile_section);
    return sections;
}

void *nm_plan_section_values(const struct nm_plan *plan, const struct nm_option_section *section)
{
    struct nm_plan *p = (struct nm_plan *)plan;

    if (section == &nm_plan_nas_section)
        return &p->nas;
    if (section == &nm_plan_client_section)
        return &p->client;
    if (section == &nm_plan_run_section)
        return &p->run;
    for (size_t i = 0; nm_backend_table[i]; i++)
        if (nm_backend_table[i]->options == section)
            return p->backend_options[i];
    for (size_t i = 0; nm_workload_table[i]; i++)
        if (nm_workload_table[i]->options == section)
            return p->workload_options[i];
    return NULL;
}

const void *nm_plan_backend_options(const struct nm_plan *plan, const char *backend)
{
    for (size_t i = 0; nm_backend_table[i]; i++)
        if (!strcmp(nm_backend_table[i]->name, backend))
            return plan->backend_options[i];
    return NULL;
}
