/* Targets of a run (target.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "target.h"

#include "client.h"
#include "device_lock.h"
#include "directory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_BLOCK_BYTES (1u << 20)

int nm_target_init(struct nm_target *target, const struct nm_plan *plan, size_t volume,
                   enum nm_protocol protocol, const char *run_id, struct nm_error *err)
{
    const struct nm_url *url = plan->volumes[volume].urls[protocol];

    *target = (struct nm_target){.volume = volume, .protocol = protocol, .applicable = url != NULL};
    target->url = url ? nm_url_format(url) : strdup("");
    if (!target->url)
        return nm_error_no_memory(err);
    snprintf(target->run_directory, sizeof(target->run_directory), "%s%s-%zu-%s",
             NM_RUN_DIRECTORY_PREFIX, run_id, volume, nm_protocol_name(protocol));
    return 0;
}

void nm_target_done(struct nm_target *target)
{
    if (!target)
        return;
    free(target->url);
    target->url = NULL;
    if (target->locked && target->lock_fd >= 0)
        close(target->lock_fd);
    target->locked = false;
}

void nm_target_job(const struct nm_target *target, const struct nm_plan *plan,
                   enum nm_job_kind kind, const struct nm_backend_ops *backend, struct nm_job *job)
{
    uint64_t block = plan->run.block_bytes;

    if (!block)
        block = backend->auto_block_bytes ? backend->auto_block_bytes : DEFAULT_BLOCK_BYTES;
    *job = (struct nm_job){
        .kind = kind,
        .volume = target->volume,
        .protocol = target->protocol,
        .backend = backend,
        .context = {.streams = 1, .depth = plan->run.depth, .block_bytes = (uint32_t)block},
        .timeout_ns = plan->run.timeout_ns,
        .plan_depth = plan->run.depth,
        .plan_block_bytes = (uint32_t)block,
        .claimed = target->claim != NM_CLAIM_NONE,
        .workers = 1,
    };
    snprintf(job->run_directory, sizeof(job->run_directory), "%s", target->run_directory);
}

static int run_simple(struct nm_runner *runner, const struct nm_job *job, bool ignore_interrupt,
                      struct nm_outcome *outcome, struct nm_error *err)
{
    runner->arena->job = *job;
    return nm_runner_run(runner, ignore_interrupt, outcome, err);
}

/* Preflight talks to a device as a device, whatever will be on it. */
static const struct nm_backend_ops *probe_backend(const struct nm_url *url, struct nm_error *err)
{
    const struct nm_backend_ops *backend = nm_backend_select(url, 0, NM_TRAIT_BLOCKS, NULL);

    return backend ? backend : nm_backend_select(url, 0, 0, err);
}

int nm_target_probe(struct nm_target *target, struct nm_runner *runner, struct nm_error *err)
{
    const struct nm_url *url = runner->plan->volumes[target->volume].urls[target->protocol];
    const struct nm_backend_ops *backend = probe_backend(url, &target->probe_error);
    struct nm_outcome *outcome;
    struct nm_job job;

    if (!backend) {
        target->probe_result = target->probe_error.code;
        return 0;
    }
    outcome = calloc(1, sizeof(*outcome));
    if (!outcome)
        return nm_error_no_memory(err);
    nm_target_job(target, runner->plan, NM_JOB_PROBE, backend, &job);
    target->probe_result = run_simple(runner, &job, false, outcome, &target->probe_error);
    target->info = outcome->info;
    target->conditions = outcome->conditions;
    if (!target->probe_result)
        nm_client_describe_link("", url, &target->link);
    nm_outcome_done(outcome);
    free(outcome);
    return 0;
}

/* A job whose outcome is only success or failure. */
static int run_job(struct nm_runner *runner, const struct nm_job *job, bool ignore_interrupt,
                   uint64_t *ret_foreign, struct nm_error *err)
{
    struct nm_outcome *outcome = calloc(1, sizeof(*outcome));
    int r;

    if (!outcome)
        return nm_error_no_memory(err);
    r = run_simple(runner, job, ignore_interrupt, outcome, err);
    if (ret_foreign)
        *ret_foreign += outcome->leftover_files;
    nm_outcome_done(outcome);
    free(outcome);
    return r;
}

int nm_target_claim(struct nm_target *target, struct nm_runner *runner,
                    const struct nm_backend_ops *backend, enum nm_claim want, struct nm_error *err)
{
    struct nm_job job;
    int r;

    if (!backend->claim || target->claim == want)
        return 0;
    if (!target->locked) {
        r = nm_device_lock(target->info.identity, target->url, &target->lock_fd, err);
        if (r < 0)
            return r;
        target->locked = true;
    }
    nm_target_job(target, runner->plan, NM_JOB_CLAIM, backend, &job);
    r = run_job(runner, &job, false, NULL, err);
    if (r < 0)
        return r;
    target->claim = want;
    target->entered = target->evict_filled = false; /* whatever file system was there is gone */
    return 0;
}

/* Directories of this very run (other volumes on the same share) do not count. */
static void note_other_runs(struct nm_target *target, const struct nm_sweep *sweep)
{
    size_t own = strlen(NM_RUN_DIRECTORY_PREFIX) + 8;

    for (uint32_t i = 0; i < sweep->count; i++)
        if ((sweep->entries[i].state == NM_SWEEP_IN_USE ||
             sweep->entries[i].state == NM_SWEEP_RECENT) &&
            strncmp(sweep->entries[i].name, target->run_directory, own))
            target->shared = true;
}

int nm_target_enter(struct nm_target *target, struct nm_runner *runner,
                    const struct nm_backend_ops *backend, const char *directory,
                    struct nm_error *err)
{
    struct nm_job job;
    int r;

    nm_target_job(target, runner->plan, NM_JOB_ENTER, backend, &job);
    snprintf(job.directory, sizeof(job.directory), "%s", directory);
    job.fresh = !target->entered;
    r = run_job(runner, &job, false, NULL, err);
    target->lost = false;
    if (job.fresh)
        note_other_runs(target, &runner->arena->slots[0].sweep);
    /* Half an entry may be there too; only a directory that was somebody else's is not ours. */
    if (!r || err->code != -EEXIST)
        target->entered = true;
    return r;
}

int nm_target_leave(struct nm_target *target, struct nm_runner *runner,
                    const struct nm_backend_ops *backend, const char *directory,
                    uint64_t *ret_foreign, struct nm_error *err)
{
    struct nm_job job;
    int r;

    nm_target_job(target, runner->plan, NM_JOB_LEAVE, backend, &job);
    snprintf(job.directory, sizeof(job.directory), "%s", directory);
    r = run_job(runner, &job, true, ret_foreign, err);
    note_other_runs(target, &runner->arena->slots[0].sweep);
    target->lost =
        r < 0 && (err->reason == NM_REASON_TIMEOUT || err->reason == NM_REASON_CONNECTION_LOST);
    return r;
}

int nm_target_sweep(struct nm_target *target, struct nm_runner *runner,
                    const struct nm_backend_ops *backend, bool remove, struct nm_error *err)
{
    struct nm_job job;

    nm_target_job(target, runner->plan, NM_JOB_SWEEP, backend, &job);
    job.remove = remove;
    return run_job(runner, &job, false, NULL, err);
}

int nm_target_survey(struct nm_target *target, struct nm_runner *runner, struct nm_error *err)
{
    const struct nm_url *url = runner->plan->volumes[target->volume].urls[target->protocol];
    const struct nm_backend_ops *backend = nm_backend_select(url, 0, NM_TRAIT_BLOCKS, err);
    struct nm_job job;

    if (!backend)
        return err->code;
    nm_target_job(target, runner->plan, NM_JOB_SURVEY, backend, &job);
    return run_job(runner, &job, false, NULL, err);
}

int nm_target_retire(struct nm_target *target, struct nm_runner *runner, uint64_t *ret_foreign,
                     struct nm_error *err)
{
    const struct nm_url *url = runner->plan->volumes[target->volume].urls[target->protocol];
    const struct nm_backend_ops *backend;
    struct nm_job job;
    int r = 0;

    if (target->claim == NM_CLAIM_RAW && target->raw_end_bytes) {
        backend = nm_backend_select(url, 0, NM_TRAIT_BLOCKS, err);
        if (!backend)
            return err->code;
        nm_target_job(target, runner->plan, NM_JOB_RELEASE, backend, &job);
        job.end_bytes = target->raw_end_bytes;
        r = run_job(runner, &job, true, NULL, err);
        if (!r)
            target->raw_end_bytes = 0;
        return r;
    }
    if (!target->entered)
        return 0;
    if (target->lost)
        return nm_error_set(err, -ETIMEDOUT, NM_REASON_TIMEOUT, "the server no longer answers");
    backend = nm_backend_select(url, 0, NM_TRAIT_FILES, err);
    if (!backend)
        return err->code;
    nm_target_job(target, runner->plan, NM_JOB_RETIRE, backend, &job);
    r = run_job(runner, &job, true, ret_foreign, err);
    if (!r)
        target->entered = false;
    return r;
}
