/* One trial with everything it belongs to, as a self-contained JSON object: what `export --format
 * json` writes in an array, the spool file one per line, and `import json|spool` reads.
 *
 *   {"schema":1,
 *    "nas":{"name","firmware","firmware_date","vendor","model","disks","ram_bytes"},
 *    "campaign":"canonical run text",
 *    "session":{"run","seed","order","plan","client","start_utc_ns","end_utc_ns","outcome"},
 *    "volume":{"name","kind","label","interface","position"},
 *    "trial":{"protocol","target","workload","phase","phase_index","phase_writes","round","pass",
 *     "group_order","status","reason","raw","message","start_utc_ns","duration_ns","bytes","files",
 *     "operations","cpu_ns","generator_cpu_ns","streams","flags","source","source_text",
 *     "conditions":{NAME:VALUE},"metrics":[{"name","unit","better","summary","value"}],
 *     "histograms":[{"operation","text"}],"bins":{"bin_ns","bytes":[]},
 *     "points":[[offset_bytes,length_bytes,duration_ns]]}}
 *
 * Unknown keys are ignored, missing texts and numbers are NULL and 0. Bytes and nanoseconds are
 * integers; the seed is text, because it has 64 bits.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_DOCUMENT_H
#define NM_DOCUMENT_H

#include "record.h"

#include <jansson.h>

#define NM_DOCUMENT_SCHEMA         1
#define NM_DOCUMENT_HISTOGRAMS_MAX 16

/* Strings are borrowed. The ids in trial are not used. */
struct nm_document {
    struct nm_nas_record nas;
    const char *campaign;
    struct nm_session_record session;
    struct nm_volume_record volume;
    struct nm_trial_record trial;
};

/* NULL when out of memory or when a text is not UTF-8. */
json_t *nm_document_json(const struct nm_document *document);

/* A document that was read and what its pointers point to. */
struct nm_document_holder {
    struct nm_document document;
    json_t *json; /* owns the strings */
    struct nm_conditions conditions;
    struct nm_metrics metrics;
    struct nm_histogram_record histograms[NM_DOCUMENT_HISTOGRAMS_MAX];
    struct nm_histogram *histogram_values;
    uint64_t *bins;
    struct nm_curve_point *points;
};

/* [[offset_bytes, length_bytes, duration_ns], ...]; NULL when out of memory. */
json_t *nm_document_points_json(const struct nm_trial_record *trial);

/* Takes over json in any case. -EBADMSG names what is wrong. holder is empty or left from an
 * earlier call, whose memory is freed. */
int nm_document_read(json_t *json, struct nm_document_holder *holder,
                     struct nm_error *err) NM_MUST_CHECK;
void nm_document_done(struct nm_document_holder *holder);

/* Adds one line to the spool file at path (made with mode 0600), on disk when it returns 0. */
int nm_document_spool(const char *path, const struct nm_document *document,
                      struct nm_error *err) NM_MUST_CHECK;

#endif
