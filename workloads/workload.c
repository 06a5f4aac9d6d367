/* What all workloads share: metric sets and the check of the table (workload.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void nm_metrics_add(struct nm_metrics *set, const char *name, const char *unit,
                    enum nm_better better, enum nm_summary summary, double value)
{
    struct nm_metric *metric;

    if (!set || set->count == NM_METRICS_MAX)
        return;
    metric = &set->items[set->count++];
    snprintf(metric->name, sizeof(metric->name), "%s", name);
    snprintf(metric->unit, sizeof(metric->unit), "%s", unit);
    metric->better = better;
    metric->summary = summary;
    metric->value = value;
}

void nm_metrics_combine(const struct nm_workload_ops *ops, const struct nm_metrics *each, size_t n,
                        struct nm_metrics *ret)
{
    *ret = (struct nm_metrics){0};
    if (!n)
        return;
    if (n > 1 && ops->combine) {
        ops->combine(each, n, ret);
        return;
    }
    *ret = each[0];
    for (size_t i = 1; i < n; i++)
        for (uint32_t k = 0; k < ret->count && k < each[i].count; k++) {
            struct nm_metric *sum = &ret->items[k];
            const char *unit = strrchr(sum->unit, '/');
            double value = each[i].items[k].value;

            if (unit && !strcmp(unit, "/s"))
                sum->value += value;
            else if (value > sum->value)
                sum->value = value;
        }
}

void nm_points_add(struct nm_points *points, uint64_t offset_bytes, uint64_t length_bytes,
                   uint64_t duration_ns)
{
    if (points && points->count < NM_POINTS_MAX)
        points->items[points->count++] = (struct nm_curve_point){
            .offset_bytes = offset_bytes, .length_bytes = length_bytes, .duration_ns = duration_ns};
}

const struct nm_metric *nm_metrics_get(const struct nm_metrics *set, const char *name)
{
    for (uint32_t i = 0; i < set->count; i++)
        if (!strcmp(set->items[i].name, name))
            return &set->items[i];
    return NULL;
}

void nm_workload_file_name(uint64_t index, uint32_t files_per_directory,
                           char out[NM_FILE_NAME_BYTES])
{
    if (files_per_directory)
        snprintf(out, NM_FILE_NAME_BYTES, "d%04" PRIu64 "/f%07" PRIu64, index / files_per_directory,
                 index);
    else
        snprintf(out, NM_FILE_NAME_BYTES, "f%07" PRIu64, index);
}

void nm_workload_path(const struct nm_workload_context *context, uint64_t index,
                      uint32_t files_per_directory, char *out, size_t size)
{
    char name[NM_FILE_NAME_BYTES];

    if (context->on_blocks) {
        *out = '\0';
        return;
    }
    nm_workload_file_name(index, files_per_directory, name);
    snprintf(out, size, "%s/%s", context->directory, name);
}

bool nm_workload_reads_as_found(const struct nm_workload_context *context, bool writes)
{
    return context->on_blocks && !writes && !context->prefill;
}

bool nm_workload_key_is(const char *key, const char *name)
{
    size_t length = strlen(name);

    return !strncmp(key, name, length) && (!key[length] || key[length] == ':');
}

int nm_workload_check_length(const struct nm_op *op, const char *what, struct nm_error *err)
{
    if (op->result == (int64_t)op->length_bytes)
        return 0;
    return nm_error_set(err, -EIO, NM_REASON_CORRUPT,
                        "%s at byte %" PRIu64 " gave %" PRId64 " of %" PRIu32 " bytes: %s",
                        nm_op_kind_name(op->kind), op->offset_bytes, op->result, op->length_bytes,
                        what);
}

void nm_workload_free(struct nm_workload *workload)
{
    free(workload);
}

bool nm_workload_owns_name(const char *name)
{
    return (*name == 'f' || *name == 'd') && name[1] && !name[1 + strspn(name + 1, "0123456789")];
}

const struct nm_workload_ops *nm_workload_find(const char *name)
{
    for (size_t i = 0; nm_workload_table[i]; i++)
        if (!strcmp(nm_workload_table[i]->name, name))
            return nm_workload_table[i];
    return NULL;
}

const struct nm_profile *nm_profile_find(const char *name)
{
    for (size_t i = 0; nm_profile_table[i]; i++)
        if (!strcmp(nm_profile_table[i]->name, name))
            return nm_profile_table[i];
    return NULL;
}

int nm_workload_table_check(struct nm_error *err)
{
    for (size_t i = 0; nm_workload_table[i]; i++) {
        const struct nm_workload_ops *ops = nm_workload_table[i];

        if (ops->unavailable)
            continue;
        if (!ops->parse || !ops->free || !ops->key || !ops->phases || !ops->size || !ops->start ||
            !ops->next_op || !ops->done_op || !ops->finish)
            return nm_error_set(
                err, -EINVAL, NM_REASON_INTERNAL,
                "workload table: %s: a hook that every workload must have is missing", ops->name);
        for (size_t k = 0; k < i; k++)
            if (!strcmp(nm_workload_table[k]->name, ops->name))
                return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                                    "workload table: %s: name is not unique", ops->name);
    }
    return 0;
}
