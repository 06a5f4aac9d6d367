/* A sink for tests of importers: keeps what it is given.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IMPORT_SINK_H
#define IMPORT_SINK_H

#include "import/import.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { KEPT_MAX = 128 };

struct kept {
    char nas[64], firmware[64], firmware_date[32], volume[64], kind[32], protocol[32], workload[96],
        phase[32];
    char source_text[64], raw[64], message[160], flags[64];
    struct nm_trial_record trial; /* numbers only: its pointers are gone */
    struct nm_conditions conditions;
    struct nm_metrics metrics;
};

static struct kept kept[KEPT_MAX];
static size_t n_kept, n_warnings, n_notes;
static char last_warning[256];

static inline void keep_text(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text ? text : "");
}
#define KEEP(field, text) keep_text(k->field, sizeof(k->field), text)

static inline int keep(void *context, const struct nm_document *document, struct nm_error *err)
{
    const struct nm_trial_record *t = &document->trial;
    struct kept *k = &kept[n_kept++];

    (void)context, (void)err;
    assert_true(n_kept <= KEPT_MAX);
    KEEP(nas, document->nas.name);
    KEEP(firmware, document->nas.firmware);
    KEEP(firmware_date, document->nas.firmware_date);
    KEEP(volume, document->volume.name);
    KEEP(kind, document->volume.kind);
    KEEP(protocol, t->protocol);
    KEEP(workload, t->workload);
    KEEP(phase, t->phase);
    KEEP(source_text, t->source_text);
    KEEP(raw, t->raw);
    KEEP(message, t->message);
    KEEP(flags, t->flags);
    k->trial = *t;
    k->conditions = *t->conditions;
    k->metrics = *t->metrics;
    for (uint32_t i = 0; i < t->conditions->count; i++)
        assert_non_null(nm_condition_find(t->conditions->items[i].name));
    return 0;
}

static inline void keep_warning(void *context, const char *text)
{
    (void)context;
    n_warnings++;
    snprintf(last_warning, sizeof(last_warning), "%s", text);
}

static inline void keep_note(void *context, const char *text)
{
    (void)context, (void)text;
    n_notes++;
}

static const struct nm_import_defaults kept_defaults = {
    .nas = "box", .firmware = "1.0", .volume = "vol", .protocol = "local"};

static const struct nm_import_sink kept_sink = {
    .defaults = &kept_defaults, .trial = keep, .warning = keep_warning, .note = keep_note};

/* The text is copied without its terminator, so that a reader beyond the end is found out. */
static inline int parse_with(const char *format, const char *text, struct nm_error *err)
{
    size_t length = strlen(text);
    char *copy = malloc(length ? length : 1);
    int r;

    assert_non_null(copy);
    memcpy(copy, text, length);
    n_kept = n_warnings = n_notes = 0;
    r = nm_importer_find(format)->parse(copy, length, &kept_sink, err);
    free(copy);
    return r;
}

static inline void parse_text(const char *format, const char *text)
{
    struct nm_error err = {0};

    if (parse_with(format, text, &err) < 0)
        fail_msg("%s", err.text);
}

static inline double rate_of(const struct kept *k)
{
    return (double)k->trial.bytes * 1e9 / (double)k->trial.duration_ns;
}

static inline double metric_of(const struct kept *k, const char *name)
{
    const struct nm_metric *metric = nm_metrics_get(&k->metrics, name);

    return metric ? metric->value : NAN;
}

static inline const char *condition_of(const struct kept *k, const char *name)
{
    const char *value = nm_conditions_get(&k->conditions, name);

    return value ? value : "";
}

static inline const struct kept *find_kept(const char *volume, const char *workload,
                                           const char *phase)
{
    for (size_t i = 0; i < n_kept; i++)
        if ((!volume || !strcmp(kept[i].volume, volume)) &&
            (!workload || !strcmp(kept[i].workload, workload)) && !strcmp(kept[i].phase, phase))
            return &kept[i];
    fail_msg("no trial %s %s %s", volume ? volume : "*", workload ? workload : "*", phase);
    return NULL;
}

static inline void near(double value, double wanted, double distance)
{
    if (!(fabs(value - wanted) <= distance))
        fail_msg("%.10g, expected %.10g", value, wanted);
}

#endif
