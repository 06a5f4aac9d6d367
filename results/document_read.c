/* Reading trials from JSON objects (document.h). The input is foreign: every type and range is
 * checked, a wrong one is an error that names the key.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "document.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Reads members of one object and remembers the first that is wrong. */
struct reader {
    const json_t *object;
    const char *place; /* "trial" */
    const char *bad;   /* key */
};

static const char *text(struct reader *reader, const char *key)
{
    const json_t *value = json_object_get(reader->object, key);

    if (!value || json_is_null(value))
        return NULL;
    if (!json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value)) {
        reader->bad = key;
        return NULL;
    }
    return json_string_value(value);
}

static const char *needed(struct reader *reader, const char *key)
{
    const char *value = text(reader, key);

    if (!value || !*value) {
        reader->bad = key;
        return "";
    }
    return value;
}

static uint64_t number(struct reader *reader, const char *key, uint64_t max)
{
    const json_t *value = json_object_get(reader->object, key);
    json_int_t n;

    if (!value || json_is_null(value))
        return 0;
    n = json_integer_value(value);
    if (!json_is_integer(value) || n < 0 || (uint64_t)n > max) {
        reader->bad = key;
        return 0;
    }
    return (uint64_t)n;
}

static int finish(const struct reader *reader, struct nm_error *err)
{
    if (!json_is_object(reader->object))
        return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT, "\"%s\" is missing or no object",
                            reader->place);
    if (reader->bad)
        return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT,
                            "\"%s\" of \"%s\" is missing or has a wrong value", reader->bad,
                            reader->place);
    return 0;
}

static int read_nas(const json_t *json, struct nm_nas_record *nas, struct nm_error *err)
{
    struct reader reader = {.object = json, .place = "nas"};

    nas->name = needed(&reader, "name");
    nas->firmware = needed(&reader, "firmware");
    nas->firmware_date = text(&reader, "firmware_date");
    nas->vendor = text(&reader, "vendor");
    nas->model = text(&reader, "model");
    nas->disks = text(&reader, "disks");
    nas->ram_bytes = number(&reader, "ram_bytes", INT64_MAX);
    return finish(&reader, err);
}

static int read_session(const json_t *json, struct nm_session_record *session, struct nm_error *err)
{
    struct reader reader = {.object = json, .place = "session"};
    const char *seed = text(&reader, "seed");
    char *end = NULL;

    session->run = text(&reader, "run");
    session->order = text(&reader, "order");
    session->plan = text(&reader, "plan");
    session->client = text(&reader, "client");
    session->outcome = text(&reader, "outcome");
    session->start_utc_ns = number(&reader, "start_utc_ns", INT64_MAX);
    session->end_utc_ns = number(&reader, "end_utc_ns", INT64_MAX);
    if (seed) {
        errno = 0;
        session->seed = strtoull(seed, &end, 10);
        if (errno || !*seed || *end || *seed < '0' || *seed > '9')
            reader.bad = "seed";
    }
    return finish(&reader, err);
}

static int read_volume(const json_t *json, struct nm_volume_record *volume, struct nm_error *err)
{
    struct reader reader = {.object = json, .place = "volume"};

    volume->name = needed(&reader, "name");
    volume->kind = needed(&reader, "kind");
    volume->label = text(&reader, "label");
    volume->interface = text(&reader, "interface");
    volume->position = (int)number(&reader, "position", INT32_MAX);
    return finish(&reader, err);
}

static int read_conditions(const json_t *json, struct nm_conditions *set, struct nm_error *err)
{
    const char *key;
    const json_t *value;

    set->count = 0;
    if (!json || json_is_null(json))
        return 0;
    if (!json_is_object(json) || json_object_size(json) > NM_CONDITIONS_MAX)
        return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT,
                            "\"conditions\" is no object or has more than %d members",
                            NM_CONDITIONS_MAX);
    json_object_foreach((json_t *)json, key, value)
    {
        if (!json_is_string(value) || !*key || strlen(key) >= sizeof(set->items[0].name) ||
            json_string_length(value) >= sizeof(set->items[0].value))
            return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT,
                                "condition \"%.40s\" is no text or too long", key);
        nm_conditions_set(set, key, "%s", json_string_value(value));
    }
    return 0;
}

static int read_metric(const json_t *json, struct nm_metrics *set, struct nm_error *err)
{
    struct reader reader = {.object = json, .place = "metrics"};
    const char *name = needed(&reader, "name"), *unit = text(&reader, "unit");
    const char *better = needed(&reader, "better"), *summary = needed(&reader, "summary");
    const json_t *value = json_object_get(json, "value");
    int better_at = nm_better_parse(better), summary_at = nm_summary_parse(summary), r;

    if (better_at < 0)
        reader.bad = "better";
    if (summary_at < 0)
        reader.bad = "summary";
    if (strlen(name) >= sizeof(set->items[0].name))
        reader.bad = "name";
    if (unit && strlen(unit) >= sizeof(set->items[0].unit))
        reader.bad = "unit";
    if (!json_is_number(value) && !json_is_null(value))
        reader.bad = "value";
    r = finish(&reader, err);
    if (r < 0)
        return r;
    nm_metrics_add(set, name, unit ? unit : "", (enum nm_better)better_at,
                   (enum nm_summary)summary_at,
                   json_is_null(value) ? NAN : json_number_value(value));
    return 0;
}

static int read_metrics(const json_t *json, struct nm_metrics *set, struct nm_error *err)
{
    set->count = 0;
    if (json_array_size(json) > NM_METRICS_MAX)
        return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT, "more than %d metrics",
                            NM_METRICS_MAX);
    for (size_t i = 0; i < json_array_size(json); i++) {
        int r = read_metric(json_array_get(json, i), set, err);

        if (r < 0)
            return r;
    }
    return 0;
}

static int read_histograms(const json_t *json, struct nm_document_holder *holder,
                           struct nm_error *err)
{
    size_t n = json_array_size(json);

    if (n > NM_DOCUMENT_HISTOGRAMS_MAX)
        return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT, "more than %d histograms",
                            NM_DOCUMENT_HISTOGRAMS_MAX);
    holder->histogram_values = calloc(n ? n : 1, sizeof(*holder->histogram_values));
    if (!holder->histogram_values)
        return nm_error_errno(err, -ENOMEM, "reading histograms: out of memory");
    for (size_t i = 0; i < n; i++) {
        struct reader reader = {.object = json_array_get(json, i), .place = "histograms"};
        const char *values = needed(&reader, "text");
        int r;

        holder->histograms[i].operation = needed(&reader, "operation");
        holder->histograms[i].histogram = &holder->histogram_values[i];
        r = finish(&reader, err);
        if (r == 0)
            r = nm_histogram_parse(values, &holder->histogram_values[i], err);
        if (r < 0)
            return r;
    }
    holder->document.trial.histograms = holder->histograms;
    holder->document.trial.n_histograms = n;
    return 0;
}

static int read_bins(const json_t *json, struct nm_document_holder *holder, struct nm_error *err)
{
    struct reader reader = {.object = json, .place = "bins"};
    struct nm_trial_record *trial = &holder->document.trial;
    const json_t *bytes = json_object_get(json, "bytes");
    size_t n = json_array_size(bytes);

    if (!json || json_is_null(json))
        return 0;
    trial->bin_ns = number(&reader, "bin_ns", INT64_MAX);
    if (!trial->bin_ns)
        reader.bad = "bin_ns";
    holder->bins = calloc(n ? n : 1, sizeof(*holder->bins));
    if (!holder->bins)
        return nm_error_errno(err, -ENOMEM, "reading bins: out of memory");
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_array_get(bytes, i);

        if (!json_is_integer(value) || json_integer_value(value) < 0)
            reader.bad = "bytes";
        holder->bins[i] = (uint64_t)json_integer_value(value);
    }
    trial->bins_bytes = holder->bins;
    trial->n_bins = n;
    return finish(&reader, err);
}

static int read_points(const json_t *parent, struct nm_document_holder *holder,
                       struct nm_error *err)
{
    struct reader reader = {.object = parent, .place = "trial"};
    const json_t *json = json_object_get(parent, "points");
    size_t n = json_array_size(json);

    if (!json || json_is_null(json))
        return 0;
    holder->points = calloc(n ? n : 1, sizeof(*holder->points));
    if (!holder->points)
        return nm_error_errno(err, -ENOMEM, "reading points: out of memory");
    for (size_t i = 0; i < n; i++) {
        struct nm_curve_point *point = &holder->points[i];
        uint64_t *const fields[] = {&point->offset_bytes, &point->length_bytes,
                                    &point->duration_ns};

        for (size_t k = 0; k < 3; k++) {
            const json_t *value = json_array_get(json_array_get(json, i), k);

            if (!json_is_integer(value) || json_integer_value(value) < 0)
                reader.bad = "points";
            *fields[k] = (uint64_t)json_integer_value(value);
        }
    }
    holder->document.trial.points = holder->points;
    holder->document.trial.n_points = n;
    return finish(&reader, err);
}

static void read_names(struct reader *reader, struct nm_trial_record *t)
{
    const char *status = needed(reader, "status"), *reason = text(reader, "reason");
    const char *target = text(reader, "target"), *source = text(reader, "source");
    int status_at = nm_status_parse(status);
    int reason_at = reason ? nm_reason_parse(reason) : NM_REASON_NONE;

    if (status_at < 0)
        reader->bad = "status";
    if (reason_at < 0)
        reader->bad = "reason";
    t->status = status_at < 0 ? NM_STATUS_FAILED : (enum nm_status)status_at;
    t->reason = reason_at < 0 ? NM_REASON_INTERNAL : (enum nm_reason)reason_at;
    t->protocol = needed(reader, "protocol");
    t->target = target ? target : "";
    t->workload = needed(reader, "workload");
    t->phase = needed(reader, "phase");
    t->raw = text(reader, "raw");
    t->message = text(reader, "message");
    t->flags = text(reader, "flags");
    t->source = source ? source : "imported:json";
    t->source_text = text(reader, "source_text");
}

static int read_trial(const json_t *json, struct nm_document_holder *holder, struct nm_error *err)
{
    struct reader reader = {.object = json, .place = "trial"};
    struct nm_trial_record *t = &holder->document.trial;
    int r;

    read_names(&reader, t);
    t->phase_index = (int)number(&reader, "phase_index", INT32_MAX);
    t->phase_writes = json_is_true(json_object_get(json, "phase_writes"));
    t->round = (uint32_t)number(&reader, "round", UINT32_MAX);
    t->pass = (uint32_t)number(&reader, "pass", UINT32_MAX);
    t->group_order = (uint32_t)number(&reader, "group_order", UINT32_MAX);
    t->start_utc_ns = number(&reader, "start_utc_ns", INT64_MAX);
    t->duration_ns = number(&reader, "duration_ns", INT64_MAX);
    t->bytes = number(&reader, "bytes", INT64_MAX);
    t->files = number(&reader, "files", INT64_MAX);
    t->operations = number(&reader, "operations", INT64_MAX);
    t->cpu_ns = number(&reader, "cpu_ns", INT64_MAX);
    t->generator_cpu_ns = number(&reader, "generator_cpu_ns", INT64_MAX);
    t->streams = (uint32_t)number(&reader, "streams", UINT32_MAX);
    if (t->status == NM_STATUS_OK && !t->duration_ns)
        reader.bad = "duration_ns";
    r = finish(&reader, err);
    if (r == 0)
        r = read_conditions(json_object_get(json, "conditions"), &holder->conditions, err);
    if (r == 0)
        r = read_metrics(json_object_get(json, "metrics"), &holder->metrics, err);
    if (r == 0)
        r = read_histograms(json_object_get(json, "histograms"), holder, err);
    if (r == 0)
        r = read_bins(json_object_get(json, "bins"), holder, err);
    if (r == 0)
        r = read_points(json, holder, err);
    t->conditions = &holder->conditions;
    t->metrics = &holder->metrics;
    return r;
}

static int check_schema(const json_t *json, struct nm_error *err)
{
    json_int_t schema = json_integer_value(json_object_get(json, "schema"));

    if (schema == NM_DOCUMENT_SCHEMA)
        return 0;
    return nm_error_set(err, -EBADMSG, NM_REASON_UNSUPPORTED,
                        "no trial of schema %d (it says %" JSON_INTEGER_FORMAT
                        "); a newer nasmark may have written it",
                        NM_DOCUMENT_SCHEMA, schema);
}

int nm_document_read(json_t *json, struct nm_document_holder *holder, struct nm_error *err)
{
    struct nm_document *document = &holder->document;
    struct reader reader = {.object = json, .place = "document"};
    int r;

    nm_document_done(holder);
    holder->json = json;
    r = check_schema(json, err);
    if (r == 0)
        r = read_nas(json_object_get(json, "nas"), &document->nas, err);
    if (r == 0)
        r = read_session(json_object_get(json, "session"), &document->session, err);
    if (r == 0)
        r = read_volume(json_object_get(json, "volume"), &document->volume, err);
    if (r == 0)
        r = read_trial(json_object_get(json, "trial"), holder, err);
    if (r == 0) {
        document->campaign = text(&reader, "campaign");
        if (!document->campaign)
            reader.bad = "campaign";
        r = finish(&reader, err);
    }
    return r;
}

void nm_document_done(struct nm_document_holder *holder)
{
    json_decref(holder->json);
    free(holder->histogram_values);
    free(holder->bins);
    free(holder->points);
    holder->json = NULL;
    holder->histogram_values = NULL;
    holder->bins = NULL;
    holder->points = NULL;
    memset(&holder->document, 0, sizeof(holder->document));
}
