/* nasmark clean [URL]: lists and removes what earlier runs left behind, only what is provably ours.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "measure.h"
#include "sweep.h"
#include "target.h"
#include "visit.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct nm_arg args[] = {
    {.name = "dry-run", .type = NM_ARG_FLAG, .help = "only list; remove nothing"},
    {.name = "set",
     .type = NM_ARG_VALUES,
     .metavar = "SECTION.KEY=VALUE",
     .help = "sets a value as in a plan file; may be repeated"},
};

struct urls {
    char **items;
    size_t count;
};

static int add_url(void *context, const char *url)
{
    struct urls *urls = context;
    char **items = reallocarray(urls->items, urls->count + 1, sizeof(*items));

    if (!items)
        return -ENOMEM;
    urls->items = items;
    items[urls->count] = strdup(url);
    return items[urls->count] ? (int)(urls->count++, 0) : -ENOMEM;
}

static void urls_done(struct urls *urls)
{
    for (size_t i = 0; i < urls->count; i++)
        free(urls->items[i]);
    free(urls->items);
}

/* Without a URL: every target that the database knows. */
static int urls_from_store(const struct nm_arguments *arguments, struct urls *urls,
                           struct nm_error *err)
{
    struct nm_store *store = NULL;
    int r = nm_store_open(arguments->db, NM_STORE_READ, &store, err);

    if (!r)
        r = nm_store_targets(store, add_url, urls, err);
    nm_store_close(store);
    return r;
}

static void print_entry(const struct nm_target *target, const struct nm_sweep_entry *entry,
                        json_t *rows)
{
    if (rows)
        json_array_append_new(
            rows, json_pack("{s:s, s:s, s:s, s:s}", "target", target->url, "directory", entry->name,
                            "state", nm_sweep_state_name(entry->state), "owner", entry->owner));
    else
        printf("%s %s: %s%s%s%s\n", target->url, entry->name, nm_sweep_state_name(entry->state),
               *entry->owner ? " (" : "", entry->owner, *entry->owner ? ")" : "");
}

/* What went; after the last look also what stays, which every look finds again. 0 clean, 1
 * something of ours stays. */
static int report(const struct nm_target *target, const struct nm_sweep *sweep, bool dry_run,
                  bool last, json_t *rows)
{
    int code = NM_EXIT_OK;

    for (uint32_t i = 0; i < sweep->count; i++) {
        enum nm_sweep_state state = sweep->entries[i].state;

        if (!last && state != NM_SWEEP_REMOVED)
            continue;
        print_entry(target, &sweep->entries[i], rows);
        if (!dry_run && (state == NM_SWEEP_FAILED || state == NM_SWEEP_FOREIGN))
            code = NM_EXIT_FAILED;
    }
    return code;
}

static bool any_removed(const struct nm_sweep *sweep)
{
    for (uint32_t i = 0; i < sweep->count; i++)
        if (sweep->entries[i].state == NM_SWEEP_REMOVED)
            return true;
    return false;
}

/* A look holds so many directories at most: as long as some go, there is room for the rest. */
static int sweep_target(struct nm_visit *visit, bool dry_run, json_t *rows, int *ret_code,
                        struct nm_error *err)
{
    const struct nm_plan *plan = visit->plan;
    const struct nm_url *url = plan->volumes[0].urls[plan->protocols[0]];
    const struct nm_backend_ops *backend = nm_backend_select(url, 0, NM_TRAIT_FILES, err);
    const struct nm_sweep *sweep = &visit->runner.arena->slots[0].sweep;
    struct nm_target target = {0};
    bool more = true;
    int r;

    if (!backend)
        return err->code;
    if (backend->claim) /* a LUN: its file system is made anew by each run */
        return 0;
    r = nm_target_init(&target, plan, 0, plan->protocols[0], "", err);
    while (!r && more) {
        r = nm_target_sweep(&target, &visit->runner, backend, !dry_run, err);
        if (r < 0)
            break;
        more = !dry_run && sweep->skipped && any_removed(sweep);
        *ret_code = report(&target, sweep, dry_run, !more, rows);
    }
    if (!r && sweep->skipped)
        nm_complain("%s: %" PRIu32 " more directories", target.url, sweep->skipped);
    nm_target_done(&target);
    return r;
}

static int clean_url(const struct nm_arguments *arguments, const char *url, json_t *rows,
                     int *ret_code, struct nm_error *err)
{
    struct nm_visit visit;
    int r = nm_visit_open(arguments, url, &visit, err);

    if (r < 0)
        return r;
    r = sweep_target(&visit, nm_arguments_get(arguments, "dry-run"), rows, ret_code, err);
    nm_visit_close(&visit);
    return r;
}

static int run(const struct nm_arguments *arguments)
{
    json_t *rows = arguments->json ? json_array() : NULL;
    struct urls urls = {0};
    struct nm_error err = {0};
    int code = NM_EXIT_OK, r;

    r = arguments->n_words ? add_url(&urls, arguments->words[0])
                           : urls_from_store(arguments, &urls, &err);
    if (r < 0)
        code = nm_measure_fail(&err);
    for (size_t i = 0; i < urls.count && r >= 0; i++) {
        int one = NM_EXIT_OK;

        if (clean_url(arguments, urls.items[i], rows, &one, &err) < 0) {
            nm_complain("%s: %s", urls.items[i], err.text);
            one = NM_EXIT_FAILED;
        }
        code = one > code ? one : code;
    }
    if (rows) {
        json_dumpf(rows, stdout, JSON_INDENT(2));
        putchar('\n');
        json_decref(rows);
    }
    urls_done(&urls);
    return code;
}

const struct nm_command nm_command_clean = {
    .name = "clean",
    .syntax = "[URL]",
    .help = "list and remove what earlier runs left behind, only what is provably ours",
    .details = "Without URL: every target the database knows. Removed are directories named "
               "nasmark-RUN-N-PROTOCOL right "
               "below the target that hold the marker of such a run and whose process is gone; of "
               "another machine only "
               "after a day. Entries in them that are not ours stay.",
    .args = args,
    .n_args = sizeof(args) / sizeof(args[0]),
    .max_words = 1,
    .prints_data = true,
    .run = run,
};
