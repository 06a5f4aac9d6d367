/* Writing trials as JSON objects (document.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "document.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The ways a member gets its value; NULL texts, 0 and NAN are left out. */
static int put_text(json_t *object, const char *key, const char *text)
{
    return text ? json_object_set_new_nocheck(object, key, json_string(text)) : 0;
}

static int put_number(json_t *object, const char *key, uint64_t value)
{
    if (value > INT64_MAX)
        return -1;
    return value ? json_object_set_new_nocheck(object, key, json_integer((json_int_t)value)) : 0;
}

static json_t *nas_json(const struct nm_nas_record *nas)
{
    json_t *object = json_object();
    int bad = put_text(object, "name", nas->name) | put_text(object, "firmware", nas->firmware) |
              put_text(object, "firmware_date", nas->firmware_date) |
              put_text(object, "vendor", nas->vendor) | put_text(object, "model", nas->model) |
              put_text(object, "disks", nas->disks) |
              put_number(object, "ram_bytes", nas->ram_bytes);

    if (!bad)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *session_json(const struct nm_session_record *session)
{
    json_t *object = json_object();
    char seed[24];
    int bad;

    snprintf(seed, sizeof(seed), "%" PRIu64, session->seed);
    bad = put_text(object, "run", session->run) | put_text(object, "seed", seed) |
          put_text(object, "order", session->order) | put_text(object, "plan", session->plan) |
          put_text(object, "client", session->client) |
          put_number(object, "start_utc_ns", session->start_utc_ns) |
          put_number(object, "end_utc_ns", session->end_utc_ns) |
          put_text(object, "outcome", session->outcome);
    if (!bad)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *volume_json(const struct nm_volume_record *volume)
{
    json_t *object = json_object();
    int bad = put_text(object, "name", volume->name) | put_text(object, "kind", volume->kind) |
              put_text(object, "label", volume->label) |
              put_text(object, "interface", volume->interface) |
              json_object_set_new(object, "position", json_integer(volume->position));

    if (!bad)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *conditions_json(const struct nm_conditions *set)
{
    json_t *object = json_object();

    for (uint32_t i = 0; set && i < set->count; i++)
        if (put_text(object, set->items[i].name, set->items[i].value) < 0) {
            json_decref(object);
            return NULL;
        }
    return object;
}

static json_t *metrics_json(const struct nm_metrics *set)
{
    json_t *array = json_array();

    for (uint32_t i = 0; set && i < set->count; i++) {
        const struct nm_metric *metric = &set->items[i];
        json_t *value = isfinite(metric->value) ? json_real(metric->value) : json_null();
        json_t *object = json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", metric->name, "unit",
                                   metric->unit, "better", nm_better_name(metric->better),
                                   "summary", nm_summary_name(metric->summary), "value", value);

        if (json_array_append_new(array, object) < 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *histograms_json(const struct nm_trial_record *trial)
{
    json_t *array = json_array();

    for (size_t i = 0; i < trial->n_histograms; i++) {
        char *text = nm_histogram_format(trial->histograms[i].histogram);
        json_t *object = text ? json_pack("{s:s, s:s}", "operation", trial->histograms[i].operation,
                                          "text", text)
                              : NULL;

        free(text);
        if (json_array_append_new(array, object) < 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *bins_json(const struct nm_trial_record *trial)
{
    json_t *bytes = json_array();

    for (size_t i = 0; i < trial->n_bins; i++)
        if (json_array_append_new(bytes, json_integer((json_int_t)trial->bins_bytes[i])) < 0) {
            json_decref(bytes);
            return NULL;
        }
    return json_pack("{s:I, s:o}", "bin_ns", (json_int_t)trial->bin_ns, "bytes", bytes);
}

json_t *nm_document_points_json(const struct nm_trial_record *trial)
{
    json_t *array = json_array();

    for (size_t i = 0; i < trial->n_points; i++) {
        const struct nm_curve_point *point = &trial->points[i];

        if (json_array_append_new(array, json_pack("[I, I, I]", (json_int_t)point->offset_bytes,
                                                   (json_int_t)point->length_bytes,
                                                   (json_int_t)point->duration_ns)) < 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static int put_numbers(json_t *object, const struct nm_trial_record *t)
{
    return put_number(object, "phase_index", (uint64_t)t->phase_index) |
           json_object_set_new(object, "phase_writes", json_boolean(t->phase_writes)) |
           put_number(object, "round", t->round) | put_number(object, "pass", t->pass) |
           put_number(object, "group_order", t->group_order) |
           put_number(object, "start_utc_ns", t->start_utc_ns) |
           put_number(object, "duration_ns", t->duration_ns) |
           put_number(object, "bytes", t->bytes) | put_number(object, "files", t->files) |
           put_number(object, "operations", t->operations) |
           put_number(object, "cpu_ns", t->cpu_ns) |
           put_number(object, "generator_cpu_ns", t->generator_cpu_ns) |
           put_number(object, "streams", t->streams);
}

static int put_parts(json_t *object, const struct nm_trial_record *t)
{
    int bad = json_object_set_new(object, "conditions", conditions_json(t->conditions));

    if (t->metrics && t->metrics->count)
        bad |= json_object_set_new(object, "metrics", metrics_json(t->metrics));
    if (t->n_histograms)
        bad |= json_object_set_new(object, "histograms", histograms_json(t));
    if (t->n_bins)
        bad |= json_object_set_new(object, "bins", bins_json(t));
    if (t->n_points)
        bad |= json_object_set_new(object, "points", nm_document_points_json(t));
    return bad;
}

static json_t *trial_json(const struct nm_trial_record *t)
{
    json_t *object = json_object();
    const char *reason = t->reason == NM_REASON_NONE ? NULL : nm_reason_name(t->reason);
    int bad = put_text(object, "protocol", t->protocol) | put_text(object, "target", t->target) |
              put_text(object, "workload", t->workload) | put_text(object, "phase", t->phase) |
              put_text(object, "status", nm_status_name(t->status)) |
              put_text(object, "reason", reason) | put_text(object, "raw", t->raw) |
              put_text(object, "message", t->message) | put_text(object, "flags", t->flags) |
              put_text(object, "source", t->source) |
              put_text(object, "source_text", t->source_text) | put_numbers(object, t) |
              put_parts(object, t);

    if (!bad)
        return object;
    json_decref(object);
    return NULL;
}

json_t *nm_document_json(const struct nm_document *document)
{
    return json_pack("{s:i, s:o, s:s, s:o, s:o, s:o}", "schema", NM_DOCUMENT_SCHEMA, "nas",
                     nas_json(&document->nas), "campaign",
                     document->campaign ? document->campaign : "", "session",
                     session_json(&document->session), "volume", volume_json(&document->volume),
                     "trial", trial_json(&document->trial));
}

/* The whole line in one write, so that two writers do not mix. */
static int write_line(int fd, const char *line, size_t length)
{
    ssize_t done;

    do
        done = write(fd, line, length);
    while (done < 0 && errno == EINTR);
    if (done < 0)
        return -errno;
    if ((size_t)done != length)
        return -ENOSPC;
    return fsync(fd) < 0 ? -errno : 0;
}

int nm_document_spool(const char *path, const struct nm_document *document, struct nm_error *err)
{
    json_t *json = nm_document_json(document);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL, *line = NULL;
    size_t length;
    int fd = -1, r = -ENOMEM;

    json_decref(json);
    if (!text)
        goto out;
    length = strlen(text);
    line = malloc(length + 2);
    if (!line)
        goto out;
    memcpy(line, text, length);
    memcpy(line + length, "\n", 2);
    fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    r = fd < 0 ? -errno : write_line(fd, line, length + 1);
out:
    if (fd >= 0)
        close(fd);
    free(line);
    free(text);
    if (r < 0)
        return nm_error_errno(err, r,
                              "writing the result to %s failed: %s; free space or name "
                              "another database with --db",
                              path, strerror(-r));
    return 0;
}
