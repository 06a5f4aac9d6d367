/* One group in one pass (group.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "group.h"

#include "client.h"
#include "clock.h"
#include "hook.h"
#include "localset.h"
#include "trial.h"
#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A flush of the page cache may have a good part of the memory to write. */
#define BUFFERED_TIMEOUTS 20

/* The state of one group while it runs. */
struct scene {
    struct nm_run *run;
    const struct nm_group *group;
    struct nm_group_place place;
    const struct nm_backend_ops *backend;
    const struct nm_phase *phases;
    size_t n_phases;
    struct nm_job job; /* template for the phases */
    char directory[96];
    bool entered, on_blocks;
    double written_per_s; /* by the phase before, 0 = it read, or says nothing (trial.h) */
};

const struct nm_backend_ops *nm_group_backend(const struct nm_plan *plan,
                                              const struct nm_group *group, struct nm_error *err)
{
    const struct nm_workload *workload = group->workload->workload;
    const struct nm_url *url = plan->volumes[group->target->volume].urls[group->target->protocol];
    const struct nm_phase *phases;
    size_t n = workload->ops->phases(workload, &phases);
    const char *fs = nm_url_arg(url, "fs");
    unsigned needs = 0, trait = workload->ops->trait;

    for (size_t i = 0; i < n; i++)
        needs |= phases[i].needs;
    if (!trait && fs &&
        strcmp(fs, "raw")) /* a block workload on a LUN is raw unless the URL asks for files */
        trait = NM_TRAIT_FILES;
    if (!trait && nm_backend_select(url, 0, NM_TRAIT_BLOCKS, NULL)) {
        trait = NM_TRAIT_BLOCKS;
        needs &= NM_OP_MASK_BLOCK;
    }
    return nm_backend_select(url, needs, trait, err);
}

void nm_group_context(const struct nm_plan *plan, const struct nm_group *group,
                      const struct nm_backend_ops *backend, size_t phase,
                      struct nm_workload_context *context)
{
    const struct nm_target *target = group->target;
    bool on_blocks = !(backend->traits & NM_TRAIT_FILES);
    struct nm_job job;

    nm_target_job(target, plan, NM_JOB_PHASE, backend, &job);
    *context = job.context;
    context->streams = plan->run.streams;
    context->flush_each_file = plan->run.flush == NM_FLUSH_FILE;
    context->verify_full = plan->run.verify == NM_VERIFY_FULL;
    context->on_blocks = on_blocks;
    context->prefill = on_blocks && target->info.prefill && target->claim == NM_CLAIM_RAW;
    context->capacity_bytes = on_blocks ? target->info.total_bytes : target->info.free_bytes;
    context->unit_bytes = on_blocks && target->info.block_bytes ? target->info.block_bytes : 1;
    context->source = plan->run.source;
    context->destination = plan->run.destination;
    context->nas_ram_bytes = plan->nas.ram_bytes;
    context->client_ram_bytes = nm_client_ram_bytes();
    context->page_cache = backend->traits & NM_TRAIT_PAGE_CACHE;
    context->data = plan->run.data;
    context->files_per_directory = plan->run.files_per_directory;
    if (group->workload->workload->ops->shape)
        group->workload->workload->ops->shape(group->workload->workload, phase, context);
}

static bool writes_anything(const struct scene *scene)
{
    for (size_t i = 0; i < scene->n_phases; i++)
        if (scene->phases[i].needs & NM_OP_MASK(NM_OP_WRITE))
            return true;
    return false;
}

static bool fills_anything(const struct scene *scene)
{
    for (size_t i = 0; i < scene->n_phases; i++)
        if (scene->phases[i].fills)
            return true;
    return false;
}

/* The job of one phase. */
static struct nm_job phase_job(const struct scene *scene, size_t phase)
{
    struct nm_job job = scene->job;

    nm_group_context(scene->run->plan, scene->group, scene->backend, phase, &job.context);
    job.context.seed = scene->run->origin ^ job.group;
    job.phase = job.setup_from = phase;
    return job;
}

static void warn(struct nm_run *run, const char *fmt, ...) NM_PRINTF(2, 3);
static void warn(struct nm_run *run, const char *fmt, ...)
{
    char text[700];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    run->on_warning(run->context, text);
}

/* ---- preparing the target ---- */

/* Sizes of the workload: payload and what it needs on the target. */
static uint64_t space_needed(const struct scene *scene)
{
    const struct nm_workload *workload = scene->group->workload->workload;
    uint64_t most = 0;

    for (size_t i = 0; i < scene->n_phases; i++) {
        struct nm_job job = phase_job(scene, i);
        uint64_t space = workload->ops->size(workload, &job.context, i).space_bytes;

        if (space > most)
            most = space;
    }
    return most;
}

static int check_space(const struct scene *scene, struct nm_error *err)
{
    const struct nm_target_info *info = &scene->group->target->info;
    uint64_t space = space_needed(scene) + scene->run->plan->run.evict_bytes, have;
    char need[32], is[32];

    have = scene->on_blocks ? info->total_bytes : info->free_bytes;
    if (scene->backend->traits & NM_TRAIT_FILES && scene->backend->claim)
        have = info->total_bytes; /* a LUN that gets a file system of its own */
    if (have == UINT64_MAX || !have || space <= have || !scene->run->plan->run.preflight)
        return 0;
    return nm_error_set(err, -ENOSPC, NM_REASON_NO_SPACE,
                        "%s needs %s and there are %s %s; free some space or lower the workload",
                        scene->group->workload->key,
                        nm_units_format_bytes_human(space, need, sizeof(need)),
                        nm_units_format_bytes_human(have, is, sizeof(is)),
                        scene->on_blocks ? "on the device" : "free");
}

static void note_raw_writes(struct scene *scene)
{
    uint64_t end = space_needed(scene);

    if (end > scene->group->target->raw_end_bytes)
        scene->group->target->raw_end_bytes = end;
}

static void say_shared(const struct scene *scene)
{
    struct nm_target *target = scene->group->target;

    if (target->shared && !target->shared_said)
        warn(scene->run, "%s: another run is active there; its load is in these figures",
             target->url);
    target->shared_said |= target->shared;
}

/* Makes a device ours. Files on one need that even for reading: they are made first. What is only
 * read raw is written before where that is allowed, else read as it was found. */
static int claim(struct scene *scene, struct nm_error *err)
{
    struct nm_target *target = scene->group->target;
    bool files = scene->backend->traits & NM_TRAIT_FILES;
    bool must = writes_anything(scene) || (files && scene->backend->claim);
    struct nm_error refused = {0};
    int r;

    if (!must && !(scene->on_blocks && target->info.prefill && fills_anything(scene)))
        return 0;
    r = nm_target_claim(target, scene->run->runner, scene->backend,
                        files ? NM_CLAIM_FILES : NM_CLAIM_RAW, &refused);
    if (!r && scene->on_blocks)
        note_raw_writes(scene);
    if (!r ||
        (!must && (refused.reason == NM_REASON_PROTECTED || refused.reason == NM_REASON_READ_ONLY)))
        return 0;
    *err = refused;
    return r;
}

/* Consent, space, directories: everything before the first phase. */
static int prepare(struct scene *scene, struct nm_error *err)
{
    struct nm_target *target = scene->group->target;
    struct nm_runner *runner = scene->run->runner;
    bool files = scene->backend->traits & NM_TRAIT_FILES;
    int r = check_space(scene, err);

    if (!r)
        r = claim(scene, err);
    if (!r && files) {
        r = nm_target_enter(target, runner, scene->backend, scene->directory, err);
        scene->entered = !r;
        if (!r)
            say_shared(scene);
    }
    scene->job.claimed = target->claim != NM_CLAIM_NONE;
    return r;
}

/* Reads other data so that what was written is no longer in the server's cache. */
static int evict(struct scene *scene, struct nm_error *err)
{
    struct nm_target *target = scene->group->target;
    struct nm_outcome *outcome;
    struct nm_job job = phase_job(scene, 0);
    int r;

    outcome = calloc(1, sizeof(*outcome));
    if (!outcome)
        return nm_error_no_memory(err);
    job.workload = scene->run->evict;
    job.phase = 1;
    job.setup_from = target->evict_filled ? 1 : 0;
    job.measured = false;
    job.workers = 1;
    job.context.streams = 1;
    job.context.depth = job.plan_depth; /* not the first phase's shape */
    job.context.block_bytes = job.plan_block_bytes;
    job.context.data = scene->run->plan->run.data;
    job.context.verify_full = false;
    snprintf(job.directory, sizeof(job.directory), "%s",
             scene->on_blocks ? "" : target->run_directory);
    job.group = UINT32_MAX; /* data of its own */
    scene->run->runner->arena->job = job;
    r = nm_runner_run(scene->run->runner, false, outcome, err);
    if (!r)
        target->evict_filled = true;
    else
        nm_error_prefix(err, "evict");
    nm_outcome_done(outcome);
    free(outcome);
    return r;
}

/* [run] prepare, with what a script may want to know in its environment. */
static int run_hook(const struct scene *scene, size_t phase, struct nm_error *err)
{
    const struct nm_target *target = scene->group->target;
    const struct nm_plan *plan = scene->run->plan;
    const char *const environment[][2] = {
        {"NASMARK_VOLUME", plan->volumes[target->volume].name},
        {"NASMARK_PROTOCOL", nm_protocol_name(target->protocol)},
        {"NASMARK_WORKLOAD", scene->group->workload->key},
        {"NASMARK_PHASE", scene->phases[phase].name},
        {NULL, NULL},
    };

    return nm_hook_run(plan->run.prepare, environment, NM_HOOK_LIMIT_NS,
                       scene->run->runner->interrupted, err);
}

/* ---- phases ---- */

static unsigned workers_for(const struct scene *scene, const struct nm_job *job)
{
    return scene->backend->traits & NM_TRAIT_SINGLE_PROCESS ? 1 : job->context.streams;
}

static int run_phase(struct scene *scene, size_t phase, struct nm_outcome *outcome,
                     struct nm_error *err)
{
    struct nm_job job = phase_job(scene, phase);
    bool check = scene->phases[phase].role == NM_PHASE_CHECK;

    while (!check && job.setup_from && scene->phases[job.setup_from - 1].role == NM_PHASE_SETUP)
        job.setup_from--;
    job.measured = !check;
    job.buffered = scene->phases[phase].buffered;
    if (job.buffered && scene->backend->traits & NM_TRAIT_PAGE_CACHE)
        job.timeout_ns *= BUFFERED_TIMEOUTS;
    job.workers = check ? 1 : workers_for(scene, &job);
    if (check)
        job.context.streams = 1;
    scene->run->runner->arena->job = job;
    return nm_runner_run(scene->run->runner, false, outcome, err);
}

static int run_checks(struct scene *scene, size_t after, struct nm_error *err)
{
    int r = 0;

    if (scene->run->plan->run.verify == NM_VERIFY_NONE)
        return 0;
    for (size_t i = after + 1; i < scene->n_phases && !r; i++) {
        if (scene->phases[i].role != NM_PHASE_CHECK)
            break;
        struct nm_outcome *outcome = calloc(1, sizeof(*outcome));

        if (!outcome)
            return nm_error_no_memory(err);
        r = run_phase(scene, i, outcome, err);
        nm_outcome_done(outcome);
        free(outcome);
    }
    return r;
}

static int store(struct scene *scene, size_t phase, const struct nm_trial_result *result,
                 struct nm_error *err)
{
    struct nm_job job = phase_job(scene, phase);

    return nm_trial_store(scene->run, scene->group, scene->place, &job.context, phase, result, err);
}

/* One measured phase with its eviction and checks; *ret_failed is kept for the phases after it. */
static int measure(struct scene *scene, size_t phase, struct nm_error *ret_failed,
                   struct nm_error *err)
{
    struct nm_outcome *outcome = calloc(1, sizeof(*outcome));
    bool writes = scene->phases[phase].writes;
    struct nm_trial_result result = {.outcome = outcome};
    int r;

    if (!outcome)
        return nm_error_no_memory(err);
    if (scene->phases[phase].drop_caches && scene->run->evict)
        result.code = evict(scene, &result.err);
    if (!result.code && scene->phases[phase].drop_caches && scene->run->plan->run.prepare)
        result.code = run_hook(scene, phase, &result.err);
    if (!result.code)
        result.code = run_phase(scene, phase, outcome, &result.err);
    if (!result.code)
        result.code = run_checks(scene, phase, &result.err);
    result.opposite_per_s = writes ? 0 : scene->written_per_s;
    scene->written_per_s = writes && !result.code ? nm_trial_direction_per_s(outcome, writes) : 0;
    /* What cannot be done here does not keep the other phases from being done. */
    if (result.code && result.err.reason != NM_REASON_UNSUPPORTED)
        *ret_failed = result.err;
    r = store(scene, phase, &result, err);
    nm_outcome_done(outcome);
    free(outcome);
    return r;
}

static int store_skipped(struct scene *scene, size_t phase, const struct nm_error *cause,
                         struct nm_error *err)
{
    struct nm_trial_result result = {.code = -ECANCELED, .err = *cause};

    /* The same reason class: what stopped the first phase is what keeps this one from running. */
    nm_error_prefix(&result.err, "not run, an earlier step failed");
    return store(scene, phase, &result, err);
}

static int run_phases(struct scene *scene, const struct nm_error *prepare_failed,
                      struct nm_error *err)
{
    struct nm_error failed = *prepare_failed;
    int r = 0;

    for (size_t i = 0; i < scene->n_phases && !r; i++) {
        if (scene->phases[i].role != NM_PHASE_MEASURED)
            continue;
        if (prepare_failed->code) {
            struct nm_trial_result result = {.code = prepare_failed->code, .err = *prepare_failed};

            r = store(scene, i, &result, err);
        } else if (failed.code) {
            r = store_skipped(scene, i, &failed, err);
        } else {
            r = measure(scene, i, &failed, err);
        }
    }
    return r;
}

/* ---- cleaning up ---- */

static void clean_up(struct scene *scene)
{
    struct nm_run *run = scene->run;
    const char *locals[] = {run->plan->run.source, run->plan->run.destination};
    uint64_t foreign = 0;
    struct nm_error err;

    for (size_t i = 0; i < 2; i++)
        if (locals[i] && nm_localset_remove(locals[i], scene->directory, &err) < 0)
            warn(run, "%s", err.text);
    if (run->plan->run.keep || !scene->entered) /* it is about the target */
        return;
    if (nm_target_leave(scene->group->target, run->runner, scene->backend, scene->directory,
                        &foreign, &err) < 0)
        warn(run, "%s: test files in %s were left behind: %s", scene->group->target->url,
             scene->directory, err.text);
    else if (foreign)
        warn(run, "%s: %" PRIu64 " entries in %s are not ours and stay", scene->group->target->url,
             foreign, scene->directory);
    say_shared(scene);
}

static void open_scene(struct scene *scene)
{
    const struct nm_workload *workload = scene->group->workload->workload;
    struct nm_run *run = scene->run;

    scene->n_phases = workload->ops->phases(workload, &scene->phases);
    scene->on_blocks = !(scene->backend->traits & NM_TRAIT_FILES);
    nm_target_job(scene->group->target, run->plan, NM_JOB_PHASE, scene->backend, &scene->job);
    scene->job.workload = workload;
    scene->job.origin = run->origin;
    scene->job.group = run->next_group++;
    snprintf(scene->directory, sizeof(scene->directory), "%s/g%" PRIu64,
             scene->group->target->run_directory, scene->job.group);
    snprintf(scene->job.directory, sizeof(scene->job.directory), "%s",
             scene->on_blocks ? "" : scene->directory);
}

int nm_group_run(struct nm_run *run, const struct nm_group *group, struct nm_group_place place,
                 struct nm_error *err)
{
    struct scene scene = {.run = run, .group = group, .place = place};
    struct nm_error failed = {0};
    int r;

    scene.backend = nm_group_backend(run->plan, group, &failed);
    if (!scene.backend)
        return nm_group_store_unrun(run, group, place, NM_STATUS_UNSUPPORTED, &failed, err);
    open_scene(&scene);
    if (prepare(&scene, &failed) < 0 && !failed.code)
        failed.code = -EIO;
    r = run_phases(&scene, &failed, err);
    clean_up(&scene);
    return r;
}

int nm_group_store_unrun(struct nm_run *run, const struct nm_group *group,
                         struct nm_group_place place, enum nm_status status,
                         const struct nm_error *why, struct nm_error *err)
{
    const struct nm_workload *workload = group->workload->workload;
    const struct nm_phase *phases;
    size_t n = workload->ops->phases(workload, &phases);
    int r = 0;

    for (size_t i = 0; i < n && !r; i++) {
        struct nm_trial_result result = {.forced = true, .status = status};

        if (phases[i].role != NM_PHASE_MEASURED)
            continue;
        if (why)
            result.err = *why;
        r = nm_trial_store(run, group, place, NULL, i, &result, err);
    }
    return r;
}
