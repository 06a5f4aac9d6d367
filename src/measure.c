/* A run from the command's point of view (measure.h).
 *
 * Order matters: credentials and plan first, then the spawner is forked, then database and
 * terminal.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "measure.h"

#include "progress.h"
#include "select.h"
#include "table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t signals_seen, last_signal;

static void on_signal(int number)
{
    last_signal = number;
    signals_seen++;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: waits end early */

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

int nm_measure_fail(const struct nm_error *err)
{
    nm_complain("%s", err->text);
    return NM_EXIT_USAGE;
}

static int exit_code(const struct nm_campaign_result *result)
{
    if (result->interrupted)
        return last_signal == SIGTERM ? NM_EXIT_SIGTERM : NM_EXIT_SIGINT;
    if (result->n_status[NM_STATUS_FAILED] || result->n_status[NM_STATUS_ABORTED])
        return NM_EXIT_FAILED;
    return NM_EXIT_OK;
}

/* The tables of the whole campaign, earlier sessions included; of `bench`, which has no plan that
 * other cells would belong to, of this run. */
static int print_tables(const struct nm_arguments *arguments, struct nm_store *store,
                        const struct nm_campaign_result *result, bool single, struct nm_error *err)
{
    struct nm_table_style style = {
        .digits = -1, .color = arguments->color, .run_id = result->run_id};
    struct nm_select *select = NULL;
    struct nm_cells *cells = NULL;
    char word[32];
    const char *words[] = {word};

    if (single)
        snprintf(word, sizeof(word), "run=%s", result->run_id);
    else
        snprintf(word, sizeof(word), "campaign=%" PRId64, result->campaign_id);
    int r = nm_select_parse(words, 1, &select, err);

    if (!r)
        r = nm_select_cells(store, select, &cells, err);
    if (!r)
        r = nm_table_write(cells, arguments->json ? "json" : "text", &style, stdout, err);
    nm_cells_free(cells);
    nm_select_free(select);
    return r;
}

/* --resume: an unfinished campaign of exactly this plan must be there. */
static int check_resume(struct nm_store *store, const struct nm_plan *plan, struct nm_error *err)
{
    char *now = nm_plan_canonical_run(plan), *then = NULL;
    int64_t campaign_id;
    int r = now ? nm_store_last_campaign(store, plan->nas.name, plan->nas.firmware, &campaign_id,
                                         &then, err)
                : nm_error_no_memory(err);

    if (!r && !then)
        r = nm_error_set(
            err, -ENOENT, NM_REASON_NOT_FOUND,
            "nothing to resume: no campaign of %s, firmware %s, in the database; run without "
            "--resume",
            plan->nas.name, plan->nas.firmware);
    if (!r && strcmp(now, then)) {
        /* Both are "key = value" lines in the same order: show the first pair that differs. */
        const char *a = then, *b = now;

        while (*a && *b && strcspn(a, "\n") == strcspn(b, "\n") &&
               !strncmp(a, b, strcspn(a, "\n"))) {
            a += strcspn(a, "\n") + (a[strcspn(a, "\n")] == '\n');
            b += strcspn(b, "\n") + (b[strcspn(b, "\n")] == '\n');
        }
        r = nm_error_set(
            err, -EINVAL, NM_REASON_PROTECTED,
            "the plan has changed since the campaign was started: '%.*s' is now '%.*s'; restore "
            "it, or run without --resume to start another campaign",
            (int)strcspn(a, "\n"), a, (int)strcspn(b, "\n"), b);
    }
    free(now);
    free(then);
    return r;
}

static int open_store(const struct nm_arguments *arguments, struct nm_store **ret_store,
                      struct nm_error *err)
{
    int r = nm_store_open(arguments->db, NM_STORE_WRITE, ret_store, err);

    if (!r && nm_store_warning(*ret_store))
        nm_complain("warning: %s", nm_store_warning(*ret_store));
    return r;
}

/* Everything after the spawner was forked. */
static int measure(const struct nm_arguments *arguments, const struct nm_plan *plan,
                   struct nm_campaign *campaign, const struct nm_runner *runner,
                   const struct nm_campaign_options *options, int *ret_exit, struct nm_error *err)
{
    struct nm_progress *progress = NULL;
    struct nm_store *store = NULL;
    struct nm_campaign_result result = {0};
    int r = open_store(arguments, &store, err);

    if (!r && options->resume)
        r = check_resume(store, plan, err);
    if (!r)
        r = nm_progress_new(plan, arguments->quiet, arguments->color, &progress, err);
    if (!r) {
        struct nm_campaign_view view = nm_progress_view(progress);

        r = nm_campaign_run(campaign, store, runner, &view, &result, err);
    }
    nm_progress_free(progress);
    if (!r) {
        *ret_exit = exit_code(&result);
        if (!arguments->json)
            printf("run %s\n", result.run_id);
        r = print_tables(arguments, store, &result, options->single, err);
        if (!r && !result.n_planned && !result.interrupted && !arguments->quiet)
            fprintf(stderr,
                    "nasmark: every cell has its trials already; --again measures another round\n");
    }
    nm_store_close(store);
    return r;
}

int nm_measure(const struct nm_arguments *arguments, struct nm_plan *plan, struct nm_vault *vault,
               const struct nm_campaign_options *options, bool dry_run)
{
    struct nm_campaign *campaign = NULL;
    struct nm_runner runner = {0};
    struct nm_error err = {0};
    int code = NM_EXIT_USAGE;
    int r = nm_campaign_new(plan, options, &campaign, &err);

    if (!r && dry_run) {
        r = nm_measure_preview(arguments, campaign, plan, &err);
        code = NM_EXIT_OK;
        goto out;
    }
    if (!r)
        r = nm_runner_open(plan, vault, &runner, &err);
    if (!r) {
        catch_signals();
        runner.interrupted = &signals_seen;
        r = measure(arguments, plan, campaign, &runner, options, &code, &err);
    }

out:
    nm_runner_close(&runner);
    nm_campaign_free(campaign);
    return r < 0 ? nm_measure_fail(&err) : code;
}
