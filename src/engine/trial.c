/* From the outcome of a phase to the stored trial (trial.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "trial.h"

#include "client.h"
#include "clock.h"
#include "flags.h"
#include "spool.h"
#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static const char *const verify_words[] = {"none", "size", "full"};
static const char *const order_words[] = {"passes", "grouped"};
static const char *const flush_words[] = {"end", "file"};

/* What the plan put in force. The backend's own conditions come on top (flush = ack, direct ...);
 * where it never spoke (described = false), what it may overrule stays unknown. */
static void plan_conditions(const struct nm_plan *plan, const struct nm_workload_context *context,
                            bool described, struct nm_conditions *set)
{
    const struct nm_run_options *run = &plan->run;

    nm_conditions_set(set, "block_bytes", "%" PRIu32, context->block_bytes);
    nm_conditions_set(set, "depth", "%u", context->depth);
    nm_conditions_set(set, "streams", "%u", context->streams);
    nm_conditions_set(set, "order", "%s", order_words[run->order]);
    nm_conditions_set(set, "verify", "%s", verify_words[run->verify]);
    if (described)
        nm_conditions_set(set, "flush", "%s", context->no_flush ? "none" : flush_words[run->flush]);
    nm_conditions_set(set, "evict_bytes", "%" PRIu64, run->evict_bytes);
    if (run->prepare)
        nm_conditions_set(set, "prepare", "%s", run->prepare);
    nm_conditions_set(set, "files_per_directory", "%" PRIu32, run->files_per_directory);
    nm_conditions_set(set, "source", "%s", run->source ? "directory" : "memory");
    nm_conditions_set(set, "destination", "%s", run->destination ? "directory" : "memory");
    switch (context->data.kind) {
    case NM_DATA_RANDOM: nm_conditions_set(set, "data", "random"); break;
    case NM_DATA_ZERO: nm_conditions_set(set, "data", "zero"); break;
    case NM_DATA_COMPRESSIBLE:
        nm_conditions_set(set, "data", "compressible:%" PRIu32 "%%", context->data.zero_percent);
        break;
    }
}

/* What a profile is made of, and options, as text where it fits, else by hash: what matters is
 * whether two are equal. */
static void workload_conditions(const struct nm_plan_workload *workload, struct nm_conditions *set)
{
    const char *of = workload->workload->ops->name;
    size_t length = strlen(workload->settings);

    if (!nm_workload_key_is(workload->key, of))
        nm_conditions_set(set, "workload.of", "%s", of);
    if (length && length < sizeof(set->items[0].value))
        nm_conditions_set(set, "workload.options", "%s", workload->settings);
    else if (length)
        nm_conditions_set(set, "workload.options", "xxh64:%016" PRIx64,
                          (uint64_t)XXH64(workload->settings, length, 0));
}

static void add_latency(struct nm_metrics *metrics, const char *name,
                        const struct nm_histogram *histogram)
{
    static const struct {
        const char *suffix;
        double fraction;
    } points[] = {{"p50", 0.5}, {"p95", 0.95}, {"p99", 0.99}, {"max", 1}};

    if (!histogram->count)
        return;
    for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
        char full[32];

        snprintf(full, sizeof(full), "%s_latency_%s", name, points[i].suffix);
        nm_metrics_add(metrics, full, "ns", NM_BETTER_LOWER, NM_SUMMARY_MEDIAN,
                       (double)nm_histogram_percentile(histogram, points[i].fraction));
    }
}

static void add_cpu(const struct nm_workload_ops *ops, const struct nm_outcome *outcome,
                    struct nm_metrics *metrics)
{
    uint64_t generator_ns = outcome->generator_ns;

    if (ops->tells_cpu && outcome->duration_ns)
        nm_metrics_add(metrics, "cpu_percent", "%", NM_BETTER_LOWER, NM_SUMMARY_MEAN,
                       100 * (double)outcome->cpu_ns / (double)outcome->duration_ns);
    if (!ops->tells_times)
        return;
    nm_metrics_add(metrics, "real_s", "s", NM_BETTER_LOWER, NM_SUMMARY_MEAN,
                   (double)outcome->duration_ns / 1e9);
    if (outcome->helpers) /* whose time is known as a sum only */
        return;
    nm_metrics_add(metrics, "user_s", "s", NM_BETTER_LOWER, NM_SUMMARY_MEAN,
                   outcome->user_ns > generator_ns ? (double)(outcome->user_ns - generator_ns) / 1e9
                                                   : 0);
    nm_metrics_add(metrics, "sys_s", "s", NM_BETTER_LOWER, NM_SUMMARY_MEAN,
                   (double)outcome->system_ns / 1e9);
}

/* Making the file system lies outside the clock, but somebody may want to know. */
static void add_mkfs(const struct nm_conditions *conditions, struct nm_metrics *metrics)
{
    const char *text = nm_conditions_get(conditions, "lunfs.mkfs_ns");
    uint64_t mkfs_ns;

    if (text && nm_units_parse_u64(text, &mkfs_ns, NULL) == 0)
        nm_metrics_add(metrics, "mkfs", "ns", NM_BETTER_NONE, NM_SUMMARY_MEDIAN, (double)mkfs_ns);
}

static void all_metrics(const struct nm_outcome *outcome, const struct nm_workload_ops *ops,
                        unsigned streams, struct nm_metrics *metrics)
{
    *metrics = outcome->metrics;
    add_cpu(ops, outcome, metrics);
    add_latency(metrics, "write", &outcome->latency[NM_OP_WRITE]);
    add_latency(metrics, "read", &outcome->latency[NM_OP_READ]);
    add_latency(metrics, "file", &outcome->file_latency);
    if (outcome->counts_repeats)
        nm_metrics_add(metrics, "repeats", "1", NM_BETTER_LOWER, NM_SUMMARY_MAX,
                       (double)outcome->repeats);
    if (streams > 1)
        nm_metrics_add(metrics, "first_done", "ns", NM_BETTER_NONE, NM_SUMMARY_MEDIAN,
                       (double)outcome->first_done_ns);
    add_mkfs(&outcome->conditions, metrics);
}

static enum nm_status status_of(const struct nm_workload_ops *ops,
                                const struct nm_trial_result *result)
{
    uint64_t shortest_ns = ops->shortest_ns ? ops->shortest_ns : NM_TRIAL_SHORTEST_NS;

    if (result->forced)
        return result->status;
    if (result->code) {
        switch (result->err.reason) {
        case NM_REASON_UNSUPPORTED: return NM_STATUS_UNSUPPORTED;
        case NM_REASON_ABORTED: return NM_STATUS_ABORTED;
        default: return NM_STATUS_FAILED;
        }
    }
    return result->outcome->duration_ns < shortest_ns ? NM_STATUS_TOO_SHORT : NM_STATUS_OK;
}

/* Histograms that have counts, as records; n of them. */
static size_t list_histograms(const struct nm_outcome *outcome,
                              struct nm_histogram_record list[NM_OP_KINDS + 1])
{
    size_t n = 0;

    for (int kind = 0; kind < NM_OP_KINDS; kind++)
        if (outcome->latency[kind].count)
            list[n++] =
                (struct nm_histogram_record){nm_op_kind_name(kind), &outcome->latency[kind]};
    if (outcome->file_latency.count)
        list[n++] = (struct nm_histogram_record){"file", &outcome->file_latency};
    return n;
}

static void take_outcome(struct nm_trial_record *record, const struct nm_outcome *outcome)
{
    record->start_utc_ns = outcome->start_utc_ns;
    record->duration_ns = outcome->duration_ns;
    record->bytes = outcome->bytes;
    record->files = outcome->files;
    record->operations = outcome->operations;
    record->cpu_ns = outcome->cpu_ns;
    record->generator_cpu_ns = outcome->generator_ns;
    record->bins_bytes = outcome->bins_bytes;
    record->n_bins = outcome->n_bins;
    record->bin_ns = NM_BIN_NS;
    record->points = outcome->points;
    record->n_points = outcome->n_points;
}

static double request_bytes(const struct nm_outcome *outcome, bool writes)
{
    uint64_t n = outcome->latency[writes ? NM_OP_WRITE : NM_OP_READ].count;

    return n ? (double)outcome->bytes / (double)n : 0;
}

static struct nm_flag_input flag_input(const struct nm_run *run, const struct nm_group *group,
                                       const struct nm_workload_context *context, size_t phase,
                                       bool writes, const struct nm_trial_result *result,
                                       const struct nm_conditions *conditions)
{
    const struct nm_workload *workload = group->workload->workload;
    enum nm_protocol protocol = group->target->protocol;
    const char *flush = nm_conditions_get(conditions, "flush");
    const struct nm_outcome *outcome = result->outcome;
    const struct nm_metric *limit = nm_metrics_get(&outcome->metrics, "limit_reached");
    uint64_t space_bytes = workload->ops->size(workload, context, phase).space_bytes;

    return (struct nm_flag_input){
        .bytes = outcome->bytes,
        .duration_ns = outcome->duration_ns,
        .busiest_cpu_ns = outcome->busiest_cpu_ns,
        .bins_bytes = outcome->bins_bytes,
        .n_bins = outcome->n_bins,
        .bin_ns = NM_BIN_NS,
        .working_set_bytes = space_bytes + run->plan->run.evict_bytes,
        .nas_ram_bytes = run->plan->nas.ram_bytes,
        .writes = writes,
        .found_blocks = context->on_blocks && !space_bytes,
        .no_flush = flush && !strcmp(flush, "ack"),
        .network = protocol != NM_PROTOCOL_LOCAL && protocol != NM_PROTOCOL_NULL,
        .limit_reached = limit && limit->value > 0,
        .repeat_speedup = nm_flags_repeat_speedup(&outcome->metrics),
        .request_bytes = request_bytes(outcome, writes),
        .opposite_per_s = result->opposite_per_s,
        .conditions = conditions,
    };
}

double nm_trial_direction_per_s(const struct nm_outcome *outcome, bool writes)
{
    struct nm_flag_input input = {.duration_ns = outcome->duration_ns,
                                  .request_bytes = request_bytes(outcome, writes)};

    return nm_flags_shows_direction(&input)
               ? (double)outcome->bytes * 1e9 / (double)outcome->duration_ns
               : 0;
}

int nm_trial_store(struct nm_run *run, const struct nm_group *group, struct nm_group_place place,
                   const struct nm_workload_context *context, size_t phase,
                   const struct nm_trial_result *result, struct nm_error *err)
{
    const struct nm_workload *workload = group->workload->workload;
    struct nm_conditions *conditions = calloc(1, sizeof(*conditions));
    struct nm_metrics *metrics = calloc(1, sizeof(*metrics));
    struct nm_histogram_record histograms[NM_OP_KINDS + 1];
    const struct nm_phase *phases;
    struct nm_error busy;
    char flags[128] = "";
    int64_t trial_id;
    int r;

    if (!conditions || !metrics) {
        r = nm_error_no_memory(err);
        goto out;
    }
    workload->ops->phases(workload, &phases);
    struct nm_trial_record record = {
        .session_id = run->session_id,
        .campaign_id = run->campaign_id,
        .volume_id = group->target->volume_id,
        .protocol = nm_protocol_name(group->target->protocol),
        .target = group->target->url,
        .workload = group->workload->key,
        .phase = phases[phase].name,
        .phase_index = (int)phase,
        .phase_writes = phases[phase].writes,
        .round = run->round,
        .pass = place.pass,
        .group_order = place.order,
        .earlier_trials = run->earlier_trials,
        .status = status_of(workload->ops, result),
        .start_utc_ns = nm_clock_utc_ns(),
        .streams = context ? context->streams : 1,
        .conditions = conditions,
        .metrics = metrics,
        .histograms = histograms,
        .source = "measured",
    };
    if (result->code || result->err.text[0]) {
        record.reason = result->err.reason;
        record.raw = result->err.raw[0] ? result->err.raw : NULL;
        record.message = result->err.text;
    }
    nm_conditions_merge(conditions, &run->client);
    nm_conditions_merge(conditions, &group->target->link);
    nm_client_describe_now("", conditions);
    workload_conditions(group->workload, conditions);
    if (group->target->shared)
        nm_conditions_set(conditions, "server.load", "shared");
    if (context)
        plan_conditions(run->plan, context, result->outcome && result->outcome->conditions.count,
                        conditions);
    if (context && workload->ops->describe)
        workload->ops->describe(workload, context, phase, conditions);
    if (result->outcome) {
        take_outcome(&record, result->outcome);
        nm_conditions_merge(conditions, &result->outcome->conditions);
        if (!result->code) {
            all_metrics(result->outcome, workload->ops, record.streams, metrics);
            record.n_histograms = list_histograms(result->outcome, histograms);
            struct nm_flag_input input =
                flag_input(run, group, context, phase, record.phase_writes, result, conditions);

            nm_flags_judge(&input, flags, sizeof(flags));
            nm_flags_course(&input, metrics);
            record.flags = *flags ? flags : NULL;
        }
    }
    r = nm_store_trial(run->store, &record, &trial_id, &busy);
    if (nm_spool_helps(r))
        r = nm_spool_trial(run, group->target, &record, &busy, err);
    else if (r < 0 && err)
        *err = busy;
    if (!r) {
        run->n_status[record.status]++;
        run->on_trial(run->context, &record, &run->plan->volumes[group->target->volume]);
    }

out:
    free(conditions);
    free(metrics);
    return r;
}
