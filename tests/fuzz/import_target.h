/* Body of the fuzz targets of the importers: any text is read or refused with words, and what is
 * handed over may be stored: UTF-8, declared conditions, a duration beside every ok.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IMPORT_TARGET_H
#define IMPORT_TARGET_H

#include "import/import.h"
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static inline void require(int holds)
{
    if (!holds)
        abort();
}

static inline void check_text(const char *text, int needed)
{
    require(text ? nm_text_is_utf8(text, strlen(text)) : !needed);
    require(!needed || *text);
}

static inline int check_trial(void *context, const struct nm_document *document,
                              struct nm_error *err)
{
    const struct nm_trial_record *trial = &document->trial;

    (void)context, (void)err;
    check_text(document->nas.name, 1);
    check_text(document->nas.firmware, 1);
    check_text(document->campaign, 0);
    check_text(document->volume.name, 1);
    check_text(document->volume.label, 0);
    check_text(trial->protocol, 1);
    check_text(trial->workload, 1);
    check_text(trial->phase, 1);
    check_text(trial->source, 1);
    check_text(trial->source_text, 0);
    check_text(trial->message, 0);
    check_text(trial->raw, 0);
    require((unsigned)trial->status < NM_STATUSES && (unsigned)trial->reason < NM_REASONS);
    require(trial->status != NM_STATUS_OK || trial->duration_ns > 0);
    require(trial->bytes <= INT64_MAX && trial->duration_ns <= INT64_MAX);
    require(trial->metrics->count <= NM_METRICS_MAX);
    for (uint32_t i = 0; i < trial->conditions->count; i++)
        check_text(trial->conditions->items[i].value, 0);
    return 0;
}

static inline void check_remark(void *context, const char *text)
{
    (void)context;
    check_text(text, 1);
}

static inline int fuzz_importer(const char *name, const uint8_t *data, size_t size)
{
    static const struct nm_import_defaults defaults = {
        .nas = "n", .firmware = "1", .volume = "v", .protocol = "local"};
    static const struct nm_import_sink sink = {
        .defaults = &defaults, .trial = check_trial, .warning = check_remark, .note = check_remark};
    struct nm_error err = {0};

    if (nm_importer_find(name)->parse((const char *)data, size, &sink, &err) < 0) {
        check_text(err.text, 1);
        require(err.code < 0);
    }
    return 0;
}

#define FUZZ_IMPORTER(name)                                                                        \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);                                  \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)                                   \
    {                                                                                              \
        return fuzz_importer(name, data, size);                                                    \
    }

#endif
