/* Table of importers and what they share (import.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "import.h"

#include "../../src/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct nm_importer nm_importer_bonnie, nm_importer_fio, nm_importer_crystaldiskmark,
    nm_importer_kdiskmark, nm_importer_dd, nm_importer_csv, nm_importer_json, nm_importer_spool;

const struct nm_importer *const nm_importer_table[] = {
    &nm_importer_bonnie,    &nm_importer_fio,   &nm_importer_crystaldiskmark,
    &nm_importer_kdiskmark, &nm_importer_dd,    &nm_importer_csv,
    &nm_importer_json,      &nm_importer_spool, NULL,
};

const struct nm_importer *nm_importer_find(const char *name)
{
    for (const struct nm_importer *const *p = nm_importer_table; *p; p++)
        if (!strcmp((*p)->name, name))
            return *p;
    return NULL;
}

void nm_import_document_init(struct nm_document *document, const struct nm_import_sink *sink,
                             const char *format, struct nm_conditions *conditions,
                             struct nm_metrics *metrics)
{
    const struct nm_import_defaults *defaults = sink->defaults;

    conditions->count = 0;
    metrics->count = 0;
    *document = (struct nm_document){
        .nas = {.name = defaults->nas, .firmware = defaults->firmware},
        .campaign = format,
        .volume = {.name = defaults->volume},
        .trial = {.protocol = defaults->protocol,
                  .target = "",
                  .pass = 1,
                  .streams = 1,
                  .conditions = conditions,
                  .metrics = metrics,
                  .source = format},
    };
}

/* A workload of ours with the options it points to. */
struct parsed {
    struct nm_workload *workload; /* NULL = no workload of ours accepts the text */
    const struct nm_workload_ops *ops;
    void *options;
};

static void parsed_done(struct parsed *parsed)
{
    if (parsed->workload)
        parsed->ops->free(parsed->workload);
    if (parsed->options)
        nm_options_done(parsed->ops->options, parsed->options);
    free(parsed->options);
}

/* "1x2GB", "copy 1x2GB" and "copy:1x2GB" are the same. */
static struct parsed parse_workload(const char *text)
{
    bool bare = nm_text_is_digit(*text);
    const char *arguments = bare ? text : strpbrk(text, ": ");
    struct parsed parsed = {0};
    char name[32];
    size_t length = arguments ? (size_t)(arguments - text) : strlen(text);

    if (length >= sizeof(name))
        return parsed;
    memcpy(name, text, length);
    name[length] = '\0';
    parsed.ops = nm_workload_find(bare ? "copy" : name);
    if (!parsed.ops || parsed.ops->unavailable)
        return parsed;
    if (parsed.ops->options) {
        parsed.options = calloc(1, parsed.ops->options->size);
        if (!parsed.options || nm_options_init(parsed.ops->options, parsed.options, NULL) < 0) {
            free(parsed.options);
            return (struct parsed){0};
        }
    }
    if (parsed.ops->parse(arguments && !bare ? arguments + 1 : arguments, parsed.options,
                          &parsed.workload, NULL) < 0)
        parsed.workload = NULL;
    return parsed;
}

/* Bytes and files of the first measured phase. */
static void amount_of(const struct nm_workload *workload, uint64_t *ret_bytes, uint64_t *ret_files)
{
    static const struct nm_workload_context context = {
        .streams = 1, .depth = 1, .block_bytes = 4096, .capacity_bytes = UINT64_MAX};
    const struct nm_phase *phases;
    size_t n = workload->ops->phases(workload, &phases);

    for (size_t i = 0; i < n; i++)
        if (phases[i].role == NM_PHASE_MEASURED) {
            struct nm_workload_size size = workload->ops->size(workload, &context, i);

            *ret_bytes = size.bytes;
            *ret_files = size.files;
            return;
        }
}

char *nm_import_workload_key(const char *text, uint64_t *ret_bytes, uint64_t *ret_files)
{
    struct parsed parsed = parse_workload(text);
    char *key;

    *ret_bytes = *ret_files = 0;
    if (parsed.workload && !strcmp(parsed.ops->name, "copy"))
        amount_of(parsed.workload, ret_bytes, ret_files);
    key = parsed.workload ? parsed.ops->key(parsed.workload) : strdup(text);
    parsed_done(&parsed);
    return key;
}

void nm_import_phase(const char *workload_key, const char *phase, int *ret_index, bool *ret_writes)
{
    static const char *const writing[] = {"upload", "write", "rewrite", "create"};
    struct parsed parsed = parse_workload(workload_key);
    const struct nm_phase *phases;
    size_t n = parsed.workload ? parsed.ops->phases(parsed.workload, &phases) : 0;

    *ret_writes = false;
    for (size_t i = 0; i < sizeof(writing) / sizeof(writing[0]); i++)
        *ret_writes |= !strncmp(phase, writing[i], strlen(writing[i]));
    *ret_index = *ret_writes ? 0 : 1;
    for (size_t i = 0; i < n; i++)
        if (phases[i].role == NM_PHASE_MEASURED && !strcmp(phases[i].name, phase)) {
            *ret_index = (int)i;
            *ret_writes = phases[i].writes;
        }
    parsed_done(&parsed);
}
