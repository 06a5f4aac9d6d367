/* --dry-run: what a run would do (measure.h). Touches no target; reads the store, if there is one,
 * for how long the same cells took before.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "measure.h"

#include "preview.h"
#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A change that a comparison shall see, as `compare` has it when nobody says otherwise. */
#define MARGIN 0.05

/* Where nothing is known: a gigabit link, and a small file every 5 ms. */
#define ASSUMED_BYTES_PER_S 100e6
#define ASSUMED_FILES_PER_S 200.0

struct row {
    const struct nm_group *group;
    const struct nm_volume *volume;
    const struct nm_phase *phase;
    uint32_t trials, left;        /* wanted, and still to run */
    struct nm_workload_size size; /* of one trial */
    double seconds;               /* of one trial */
    bool timed;                   /* the plan says how long it takes */
    const struct nm_cell *before; /* with trials that succeeded; NULL = never measured */
    bool applicable;
    const char *unsupported; /* reason, NULL = can run */
    struct nm_error err;
};

/* NULL = there is none yet. */
static struct nm_store *earlier_store(const struct nm_arguments *arguments)
{
    struct nm_store *store = NULL;
    struct nm_error ignored;

    return nm_store_open(arguments->db, NM_STORE_READ, &store, &ignored) < 0 ? NULL : store;
}

static struct nm_cells *earlier_cells(struct nm_store *store, const struct nm_plan *plan)
{
    struct nm_select *select = NULL;
    struct nm_cells *cells = NULL;
    struct nm_error ignored;
    char *word = NULL;

    if (store && asprintf(&word, "nas=%s", plan->nas.name) > 0) {
        const char *words[] = {word};

        if (nm_select_parse(words, 1, &select, &ignored) == 0 &&
            nm_select_cells(store, select, &cells, &ignored) < 0)
            cells = NULL;
    }
    nm_select_free(select);
    free(word);
    return cells;
}

static const struct nm_cell *find_before(const struct row *row, const struct nm_cells *cells)
{
    const char *protocol = nm_protocol_name(row->group->target->protocol);

    for (size_t i = 0; cells && i < cells->count; i++) {
        const struct nm_cell *cell = &cells->items[i];

        if (cell->n_ok && !cell->imported && !strcmp(cell->volume, row->volume->name) &&
            !strcmp(cell->protocol, protocol) &&
            !strcmp(cell->workload, row->group->workload->key) &&
            !strcmp(cell->phase, row->phase->name) && cell->bytes_per_s > 0)
            return cell;
    }
    return NULL;
}

static void estimate(struct row *row, const struct nm_cells *cells)
{
    row->before = find_before(row, cells);
    row->timed = row->size.duration_ns != 0;
    if (row->timed)
        row->seconds = (double)row->size.duration_ns / 1e9;
    else if (row->before)
        row->seconds = (double)row->size.bytes / row->before->bytes_per_s;
    else
        row->seconds = (double)row->size.bytes / ASSUMED_BYTES_PER_S +
                       (double)row->size.files / ASSUMED_FILES_PER_S;
}

static size_t make_rows(const struct nm_campaign *campaign, const struct nm_plan *plan,
                        struct nm_store *store, const struct nm_cells *cells, struct row *rows)
{
    size_t n_groups, n = 0;
    const struct nm_group *groups = nm_campaign_groups(campaign, &n_groups);

    for (size_t g = 0; g < n_groups; g++) {
        const struct nm_workload *workload = groups[g].workload->workload;
        const struct nm_phase *phases;
        size_t n_phases = workload->ops->phases(workload, &phases);
        uint32_t trials = nm_campaign_trials(plan, &groups[g]), left = trials;
        struct nm_error ignored; /* nothing known is nothing done */

        if (store && nm_campaign_left(campaign, &groups[g], store, &left, &ignored) < 0)
            left = trials;
        for (size_t p = 0; p < n_phases; p++) {
            struct row *row = &rows[n];
            const struct nm_backend_ops *backend;
            struct nm_workload_context context;

            if (phases[p].role != NM_PHASE_MEASURED)
                continue;
            n++;
            *row = (struct row){.group = &groups[g],
                                .trials = trials,
                                .left = left,
                                .volume = &plan->volumes[groups[g].target->volume],
                                .phase = &phases[p],
                                .applicable = groups[g].target->applicable};
            if (!row->applicable)
                continue;
            backend = nm_group_backend(plan, &groups[g], &row->err);
            if (!backend) {
                row->unsupported = row->err.text;
                continue;
            }
            nm_group_context(plan, &groups[g], backend, p, &context);
            row->size = workload->ops->size(workload, &context, p);
            estimate(row, cells);
        }
    }
    return n;
}

struct totals {
    uint64_t bytes, space_bytes;
    double seconds;
    unsigned cells, trials;
    bool all_known;
};

static struct totals add_up(const struct row *rows, size_t n)
{
    struct totals totals = {.all_known = true};

    for (size_t i = 0; i < n; i++) {
        if (!rows[i].applicable || rows[i].unsupported || !rows[i].left)
            continue;
        totals.cells++;
        totals.trials += rows[i].left;
        totals.bytes += rows[i].size.bytes * rows[i].left;
        totals.seconds += rows[i].seconds * rows[i].left;
        totals.all_known &= rows[i].timed || rows[i].before;
        if (rows[i].size.space_bytes > totals.space_bytes)
            totals.space_bytes = rows[i].size.space_bytes; /* groups run one after the other */
    }
    return totals;
}

static void print_text(const struct row *rows, size_t n, const struct totals *totals)
{
    char bytes[32], space[32], time[32];

    for (size_t i = 0; i < n; i++) {
        printf("%s/%s/%s %s: ", rows[i].volume->name,
               nm_protocol_name(rows[i].group->target->protocol), rows[i].group->workload->key,
               rows[i].phase->name);
        if (!rows[i].applicable)
            printf("n/a, no URL\n");
        else if (rows[i].unsupported)
            printf("unsupported: %s\n", rows[i].unsupported);
        else if (!rows[i].left)
            printf("complete, %" PRIu32 " trials are stored\n", rows[i].trials);
        else if (rows[i].timed)
            printf("%" PRIu32 " x %s\n", rows[i].left,
                   nm_units_format_duration(rows[i].size.duration_ns, time, sizeof(time)));
        else
            printf("%" PRIu32 " x %s, about %s each%s\n", rows[i].left,
                   nm_units_format_bytes_human(rows[i].size.bytes, bytes, sizeof(bytes)),
                   nm_units_format_duration((uint64_t)(rows[i].seconds * 1e9), time, sizeof(time)),
                   rows[i].before ? " (as measured before)" : "");
    }
    printf("%u cells, %u trials: %s to move, about %s%s, %s free on each target\n", totals->cells,
           totals->trials, nm_units_format_bytes_human(totals->bytes, bytes, sizeof(bytes)),
           nm_units_format_duration((uint64_t)(totals->seconds * 1e9), time, sizeof(time)),
           totals->all_known ? ""
                             : " (assuming 100 MB/s and 200 files/s where nothing was measured)",
           nm_units_format_bytes_human(totals->space_bytes, space, sizeof(space)));
}

static void print_noise(const struct nm_preview_noise *noise, uint32_t trials)
{
    if (!noise->n_cells)
        return;
    printf("noise seen: %.2g %% between trials of a cell (median of %zu); to see %.3g %% takes ",
           100 * noise->noise, noise->n_cells, 100 * noise->margin);
    if (!noise->needed_trials)
        printf("more than %d trials", NM_STATS_MAX_TRIALS);
    else
        printf("%u trials", noise->needed_trials);
    printf(" a cell, the plan has %" PRIu32 "\n", trials);
}

static int print_json(const struct row *rows, size_t n, const struct totals *totals,
                      const struct nm_preview_noise *noise)
{
    json_t *cells = json_array();

    for (size_t i = 0; i < n; i++) {
        const char *status = !rows[i].applicable   ? "na"
                             : rows[i].unsupported ? "unsupported"
                                                   : "planned";

        json_array_append_new(
            cells,
            json_pack("{s:s, s:s, s:s, s:s, s:s, s:s?, s:I, s:I, s:I, s:I, s:f}", "volume",
                      rows[i].volume->name, "protocol",
                      nm_protocol_name(rows[i].group->target->protocol), "workload",
                      rows[i].group->workload->key, "phase", rows[i].phase->name, "status", status,
                      "reason", rows[i].unsupported, "trials", (json_int_t)rows[i].trials, "left",
                      (json_int_t)rows[i].left, "bytes", (json_int_t)rows[i].size.bytes, "files",
                      (json_int_t)rows[i].size.files, "estimated_s", rows[i].seconds));
    }
    json_t *document = json_pack("{s:i, s:n, s:o, s:I, s:I, s:f}", "schema", 1, "run", "dry_run",
                                 cells, "bytes", (json_int_t)totals->bytes, "space_bytes",
                                 (json_int_t)totals->space_bytes, "estimated_s", totals->seconds);
    if (document && noise->n_cells)
        json_object_set_new(
            document, "noise",
            json_pack("{s:f, s:I, s:f, s:o}", "between_trials", noise->noise, "cells",
                      (json_int_t)noise->n_cells, "margin", noise->margin, "needed_trials",
                      noise->needed_trials ? json_integer(noise->needed_trials) : json_null()));
    int r = document ? json_dumpf(document, stdout, JSON_INDENT(2)) : -1;

    putchar('\n');
    json_decref(document);
    return r;
}

/* Measured phases of all groups. */
static size_t count_rows(const struct nm_campaign *campaign)
{
    size_t n_groups, n = 0;
    const struct nm_group *groups = nm_campaign_groups(campaign, &n_groups);

    for (size_t g = 0; g < n_groups; g++) {
        const struct nm_workload *workload = groups[g].workload->workload;
        const struct nm_phase *phases;
        size_t n_phases = workload->ops->phases(workload, &phases);

        for (size_t p = 0; p < n_phases; p++)
            n += phases[p].role == NM_PHASE_MEASURED;
    }
    return n;
}

static int read_noise(const struct row *rows, size_t n, struct nm_preview_noise *ret,
                      struct nm_error *err)
{
    const struct nm_cell **before = calloc(n + 1, sizeof(*before));
    int r;

    if (!before)
        return nm_error_no_memory(err);
    for (size_t i = 0; i < n; i++)
        before[i] = rows[i].before;
    r = nm_preview_noise(before, n, MARGIN, ret, err);
    free(before);
    return r;
}

int nm_measure_preview(const struct nm_arguments *arguments, const struct nm_campaign *campaign,
                       const struct nm_plan *plan, struct nm_error *err)
{
    struct row *rows = calloc(count_rows(campaign) + 1, sizeof(*rows));

    if (!rows)
        return nm_error_no_memory(err);
    struct nm_store *store = earlier_store(arguments);
    struct nm_cells *cells = earlier_cells(store, plan);
    size_t n = make_rows(campaign, plan, store, cells, rows);
    struct totals totals = add_up(rows, n);
    struct nm_preview_noise noise;
    int r = read_noise(rows, n, &noise, err);

    if (r == 0 && !arguments->json) {
        print_text(rows, n, &totals);
        print_noise(&noise, plan->run.trials);
    } else if (r == 0 && print_json(rows, n, &totals, &noise) < 0) {
        r = nm_error_errno(err, -EIO, "cannot write the result");
    }
    nm_cells_free(cells);
    nm_store_close(store);
    free(rows);
    return r;
}
