/* A run (campaign.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "campaign_internal.h"

#include "client.h"
#include "clock.h"
#include "random.h"
#include "spool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct state {
    struct nm_campaign *campaign;
    struct nm_run run;
    const struct nm_campaign_view *view;
    const volatile sig_atomic_t *interrupted;
    uint64_t seed;
    size_t *order;           /* indices of groups, shuffled per pass */
    bool *done;              /* per group and pass: all its phases are stored */
    size_t n_planned, n_run; /* group executions */
    bool stop;
    char complained[32]; /* interface whose limits were said */
};

static bool interrupted(const struct state *state)
{
    return state->interrupted && *state->interrupted;
}

static uint64_t random_u64(void)
{
    uint64_t value;

    if (getrandom(&value, sizeof(value), 0) != sizeof(value))
        value = nm_clock_utc_ns() ^ nm_clock_now_ns() << 20;
    return value;
}

static void shuffle(size_t *order, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n; i > 1; i--) {
        size_t k = nm_random_next(&seed) % i, swap = order[i - 1];

        order[i - 1] = order[k];
        order[k] = swap;
    }
}

static int open_campaign(struct state *state, char run_id[16], struct nm_error *err)
{
    const struct nm_plan *plan = state->campaign->plan;
    const struct nm_nas_options *nas = &plan->nas;
    struct nm_run *run = &state->run;
    const char *canonical = state->campaign->canonical_run;
    struct nm_nas_record record = {
        .name = nas->name,
        .vendor = nas->vendor,
        .model = nas->model,
        .firmware = nas->firmware,
        .firmware_date = nas->firmware_date,
        .disks = nas->disks,
        .ram_bytes = nas->ram_bytes,
    };
    int r = nm_store_campaign(run->store, &record, canonical, &run->campaign_id, err);
    if (!r)
        r = nm_store_round(run->store, run->campaign_id, &run->round, err);
    if (!r && state->campaign->options.again)
        run->round++;
    if (!r)
        r = nm_store_last_trial(run->store, &run->earlier_trials, err);
    if (!r)
        r = nm_store_session_begin(run->store, run->campaign_id, state->seed,
                                   plan->run.order == NM_ORDER_GROUPED ? "grouped" : "passes",
                                   canonical, NULL, &run->session_id, run_id, err);
    return r;
}

static int open_targets(struct state *state, const char *run_id, struct nm_error *err)
{
    const struct nm_plan *plan = state->campaign->plan;
    int r = 0;

    for (size_t i = 0; i < state->campaign->n_targets && !r; i++) {
        struct nm_target *target = &state->campaign->targets[i];
        const struct nm_volume *volume = &plan->volumes[target->volume];
        struct nm_volume_record record = {
            .name = volume->name,
            .kind = volume->options.kind,
            .label = volume->options.label,
            .interface = volume->options.interface,
            .position = (int)target->volume,
        };
        enum nm_protocol protocol = target->protocol;
        size_t index = target->volume;

        nm_target_done(target);
        r = nm_target_init(target, plan, index, protocol, run_id, err);
        if (!r)
            r = nm_store_volume(state->run.store, state->run.campaign_id, &record,
                                &target->volume_id, err);
        if (!r && target->applicable)
            r = nm_store_target(state->run.store, target->volume_id, nm_protocol_name(protocol),
                                target->url, err);
    }
    return r;
}

static void describe_client(const struct nm_plan *plan, struct nm_conditions *set)
{
    const struct nm_client_options *client = &plan->client;
    const char *const pairs[][2] = {{"client.note", client->note},
                                    {"client.switch", client->switch_name},
                                    {"client.cable", client->cable}};

    nm_client_describe("", set);
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        if (pairs[i][1])
            nm_conditions_set(set, pairs[i][0], "%s", pairs[i][1]);
}

static bool *passes_of(const struct state *state, size_t index)
{
    return state->done + index * state->campaign->trials;
}

/* Passes of a group that are still to run. */
static uint32_t passes_left(const struct state *state, size_t index)
{
    uint32_t trials = state->campaign->trials, left = 0;

    for (uint32_t pass = 0; pass < trials; pass++)
        left += !passes_of(state, index)[pass];
    return left;
}

/* Those beyond the trials of a group are as good as done. */
static int find_done(struct state *state, size_t index, bool *scratch, struct nm_error *err)
{
    const struct nm_group *group = &state->campaign->groups[index];
    bool *done = passes_of(state, index);

    memset(done, true, state->campaign->trials * sizeof(*done));
    return nm_campaign_done(state->campaign->plan, group, state->run.store, state->run.campaign_id,
                            state->run.round, group->target->volume_id, done, scratch, err);
}

static int find_all_done(struct state *state, struct nm_error *err)
{
    bool *scratch = calloc(state->campaign->trials, sizeof(*scratch));
    int r = scratch ? 0 : nm_error_no_memory(err);

    for (size_t i = 0; i < state->campaign->n_groups && !r; i++) {
        r = find_done(state, i, scratch, err);
        /* A cell without URL is stated once, not once per pass. */
        if (!r && state->campaign->groups[i].target->applicable)
            state->n_planned += passes_left(state, i);
    }
    free(scratch);
    return r;
}

static bool target_needed(const struct state *state, const struct nm_target *target)
{
    for (size_t i = 0; i < state->campaign->n_groups; i++)
        if (state->campaign->groups[i].target == target && passes_left(state, i))
            return true;
    return false;
}

static void say(void *context, const char *text)
{
    const struct state *state = context;

    state->view->on_warning(state->view->context, text);
}

/* What will limit the result, before it is measured. Said once for targets that share the
 * interface. */
static void complain(struct state *state, const struct nm_target *target)
{
    const char *nic = nm_conditions_get(&target->link, "client.nic");
    struct nm_conditions both = state->run.client;

    if (!nic || !strcmp(nic, state->complained))
        return;
    snprintf(state->complained, sizeof(state->complained), "%s", nic);
    nm_conditions_merge(&both, &target->link);
    nm_client_complain(&both, say, state);
}

/* What the backend has to say about the session it got. */
static void warn_of_session(struct state *state, const struct nm_target *target)
{
    const char *warning = nm_conditions_get(&target->conditions, "server.warning");
    char text[512];

    if (!warning)
        return;
    snprintf(text, sizeof(text), "%s: %s", target->url, warning);
    say(state, text);
}

/* Connects to every target that something will run on, and compares what is behind it with last
 * time. */
static int preflight(struct state *state, struct nm_error *err)
{
    for (size_t i = 0; i < state->campaign->n_targets; i++) {
        struct nm_target *target = &state->campaign->targets[i];
        int r;

        if (!target->applicable || !target_needed(state, target) || interrupted(state))
            continue;
        r = nm_target_probe(target, state->run.runner, err);
        if (r < 0)
            return r;
        complain(state, target);
        if (target->probe_result < 0 || !target->info.identity[0])
            continue;
        warn_of_session(state, target);
        r = nm_store_check_identity(state->run.store, target->volume_id,
                                    nm_protocol_name(target->protocol), target->info.identity, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static bool something_answers(const struct state *state)
{
    for (size_t i = 0; i < state->campaign->n_targets; i++) {
        const struct nm_target *target = &state->campaign->targets[i];

        /* A target that is complete answered before and was not asked today. */
        if (target->applicable && (!target_needed(state, target) || !target->probe_result))
            return true;
    }
    return false;
}

/* A volume that is not there today, in a plan with others that are, is missing; wrong credentials,
 * or nothing that answers at all, is a failure. */
static enum nm_status unreachable_status(const struct state *state, const struct nm_target *target)
{
    const struct nm_campaign_options *options = &state->campaign->options;

    switch (target->probe_error.reason) {
    case NM_REASON_ABORTED: return NM_STATUS_ABORTED;
    case NM_REASON_UNSUPPORTED: return NM_STATUS_UNSUPPORTED;
    case NM_REASON_NOT_FOUND:
    case NM_REASON_CONNECTION_LOST:
    case NM_REASON_TIMEOUT:
        return !options->single && !options->n_volumes && something_answers(state)
                   ? NM_STATUS_MISSING
                   : NM_STATUS_FAILED;
    default: return NM_STATUS_FAILED;
    }
}

static void pause_between(const struct state *state)
{
    uint64_t until_ns = nm_clock_now_ns() + state->campaign->plan->run.pause_ns;

    while (nm_clock_now_ns() < until_ns && !interrupted(state)) {
        uint64_t step_ns = nm_clock_now_ns() + 100 * NM_NS_PER_MS;

        nm_clock_sleep_until_ns(step_ns < until_ns ? step_ns : until_ns);
    }
}

/* One group in one pass. */
static int step(struct state *state, size_t index, struct nm_group_place place,
                struct nm_error *err)
{
    const struct nm_group *group = &state->campaign->groups[index];
    struct nm_target *target = group->target;
    const struct nm_plan *plan = state->campaign->plan;
    unsigned bad = state->run.n_status[NM_STATUS_FAILED];
    int r;

    if (!target->applicable)
        return place.pass > 1
                   ? 0
                   : nm_group_store_unrun(&state->run, group, place, NM_STATUS_NA, NULL, err);
    if (target->probe_result < 0) {
        for (uint32_t pass = 1; pass < place.pass; pass++)
            if (!passes_of(state, index)[pass - 1])
                return 0; /* said once per session is enough */
        r = nm_group_store_unrun(&state->run, group, place, unreachable_status(state, target),
                                 &target->probe_error, err);
    } else {
        if (state->n_run)
            pause_between(state);
        if (interrupted(state))
            return 0;
        state->view->on_group(state->view->context, group, &plan->volumes[target->volume],
                              place.pass, state->n_run, state->n_planned);
        r = nm_group_run(&state->run, group, place, err);
        state->n_run++;
    }
    if (!r && plan->run.on_error == NM_ON_ERROR_STOP && state->run.n_status[NM_STATUS_FAILED] > bad)
        state->stop = true;
    return r;
}

static int run_passes(struct state *state, struct nm_error *err)
{
    const struct nm_campaign *campaign = state->campaign;
    bool grouped = campaign->plan->run.order == NM_ORDER_GROUPED;
    uint32_t trials = campaign->trials;
    size_t outer = grouped ? campaign->n_groups : trials,
           inner = grouped ? trials : campaign->n_groups;
    int r = 0;

    if (grouped)
        shuffle(state->order, campaign->n_groups, state->seed);
    for (size_t a = 0; a < outer && !r; a++) {
        if (!grouped)
            shuffle(state->order, campaign->n_groups, state->seed + a);
        for (size_t b = 0; b < inner && !r && !interrupted(state) && !state->stop; b++) {
            size_t at = grouped ? a : b, index = state->order[at];
            uint32_t pass = (uint32_t)(grouped ? b : a) + 1;

            if (!passes_of(state, index)[pass - 1])
                r = step(state, index, (struct nm_group_place){.pass = pass, .order = (uint32_t)at},
                         err);
        }
    }
    return r;
}

/* Written as a device, not yet released. */
static bool has_raw_data(const struct nm_target *target)
{
    return target->claim == NM_CLAIM_RAW && target->raw_end_bytes;
}

/* Which trace of the run stays on a target, and what becomes of it. */
static void say_left_behind(const struct state *state, const struct nm_target *target,
                            const struct nm_error *why)
{
    char text[800];

    if (has_raw_data(target))
        snprintf(
            text, sizeof(text),
            "%s: test data stay in its first and last MiB (%s); they may look like a partition "
            "table or file system",
            target->url, why->text);
    else
        snprintf(text, sizeof(text), "%s: %s was left behind (%s); %s", target->url,
                 target->run_directory, why->text,
                 target->claim == NM_CLAIM_NONE
                     ? "`nasmark clean` removes what is ours"
                     : "the next run that may overwrite this target makes it anew");
    state->view->on_warning(state->view->context, text);
}

static void retire_targets(struct state *state)
{
    const struct nm_plan *plan = state->campaign->plan;

    for (size_t i = 0; i < state->campaign->n_targets; i++) {
        struct nm_target *target = &state->campaign->targets[i];
        uint64_t foreign = 0;
        struct nm_error err;

        if (plan->run.keep || !target->applicable)
            continue;
        if (state->interrupted && *state->interrupted > 1) {
            if (!target->entered && !has_raw_data(target))
                continue;
            nm_error_set(&err, -ECANCELED, NM_REASON_ABORTED, "interrupted twice");
        } else if (nm_target_retire(target, state->run.runner, &foreign, &err) == 0) {
            if (!foreign)
                continue;
            nm_error_set(&err, -EEXIST, NM_REASON_PROTECTED,
                         "%" PRIu64 " entries there are not ours", foreign);
        }
        say_left_behind(state, target, &err);
    }
}

static int execute(struct state *state, struct nm_campaign_result *result, struct nm_error *err)
{
    int r = open_campaign(state, result->run_id, err);

    state->run.run_id = result->run_id;
    state->run.seed = state->seed;
    if (!r)
        r = open_targets(state, result->run_id, err);
    if (!r)
        r = find_all_done(state, err);
    if (r < 0)
        return r;
    state->view->on_begin(state->view->context, result->run_id, state->campaign->n_groups,
                          state->n_planned);
    r = preflight(state, err);
    if (!r)
        r = run_passes(state, err);
    retire_targets(state);
    if (state->run.session_id) {
        struct nm_error ignored;
        const char *outcome = r < 0 ? "failed" : interrupted(state) ? "interrupted" : "complete";
        int end = nm_store_session_end(state->run.store, state->run.session_id, outcome,
                                       r ? &ignored : err);

        if (!r && !(state->run.n_spooled && nm_spool_helps(end)))
            r = end;
    }
    return r;
}

int nm_campaign_run(struct nm_campaign *campaign, struct nm_store *store,
                    const struct nm_runner *given, const struct nm_campaign_view *view,
                    struct nm_campaign_result *ret, struct nm_error *err)
{
    struct nm_runner runner = *given;
    struct state state = {
        .campaign = campaign,
        .view = view,
        .interrupted = given->interrupted,
        .seed = campaign->plan->run.seed ? campaign->plan->run.seed : random_u64() >> 1,
        .order = calloc(campaign->n_groups, sizeof(size_t)),
        .done = calloc((size_t)campaign->n_groups * campaign->trials, sizeof(bool)),
        .run = {.plan = campaign->plan,
                .runner = &runner,
                .store = store,
                .origin = random_u64(),
                .evict = campaign->evict,
                .on_trial = view->on_trial,
                .on_warning = view->on_warning,
                .context = view->context},
    };
    struct nm_campaign_result result = {0};
    int r;

    runner.on_progress = view->on_progress;
    runner.progress_context = view->context;
    describe_client(campaign->plan, &state.run.client);
    if (state.order && state.done)
        r = execute(&state, &result, err);
    else
        r = nm_error_no_memory(err);
    memcpy(result.n_status, state.run.n_status, sizeof(result.n_status));
    result.campaign_id = state.run.campaign_id;
    result.n_planned = state.n_planned;
    result.n_run = state.n_run;
    result.interrupted = interrupted(&state);
    *ret = result;
    free(state.order);
    free(state.done);
    return r;
}
