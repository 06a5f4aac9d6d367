/* nasmark probe URL: connects, writes and removes one probe directory with one file, prints the
 * conditions; nothing is timed. A raw device is only described.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "clock.h"
#include "measure.h"
#include "units.h"
#include "visit.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const struct nm_arg args[] = {
    {.name = "set",
     .type = NM_ARG_VALUES,
     .metavar = "SECTION.KEY=VALUE",
     .help = "sets a value as in a plan file; may be repeated"},
};

static void print_text(const struct nm_target *target)
{
    char total[32], free_space[32];

    printf("target = %s\n", target->url);
    printf("identity = %s\n", target->info.identity);
    if (target->info.total_bytes != UINT64_MAX)
        printf("size = %s\n",
               nm_units_format_bytes_human(target->info.total_bytes, total, sizeof(total)));
    if (target->info.free_bytes != UINT64_MAX)
        printf("free = %s\n", nm_units_format_bytes_human(target->info.free_bytes, free_space,
                                                          sizeof(free_space)));
    for (uint32_t i = 0; i < target->conditions.count; i++) {
        const struct nm_condition *condition = &target->conditions.items[i];
        const struct nm_condition_def *def = nm_condition_find(condition->name);

        printf("%s = %s%s%s\n", condition->name, condition->value, def && *def->unit ? " " : "",
               def ? def->unit : "");
    }
}

static void set_size(json_t *document, const char *name, uint64_t bytes)
{
    json_object_set_new(document, name,
                        bytes == UINT64_MAX ? json_null() : json_integer((json_int_t)bytes));
}

static int print_json(const struct nm_target *target, const char *written, struct nm_error *err)
{
    json_t *conditions = json_object(), *document = json_object();
    int r = 0;

    for (uint32_t i = 0; i < target->conditions.count; i++)
        json_object_set_new(conditions, target->conditions.items[i].name,
                            json_string(target->conditions.items[i].value));
    json_object_set_new(document, "schema", json_integer(1));
    json_object_set_new(document, "target", json_string(target->url));
    json_object_set_new(document, "identity", json_string(target->info.identity));
    set_size(document, "total_bytes", target->info.total_bytes);
    set_size(document, "free_bytes", target->info.free_bytes);
    json_object_set_new(document, "write", json_string(written));
    json_object_set_new(document, "conditions", conditions);
    if (json_dumpf(document, stdout, JSON_INDENT(2)) < 0)
        r = nm_error_errno(err, -EIO, "cannot write the result");
    putchar('\n');
    json_decref(document);
    return r;
}

/* Connect, describe, then write and remove; *ret_written says what was done. */
static int probe(struct nm_runner *runner, struct nm_target *target, const char **ret_written,
                 struct nm_error *err)
{
    const struct nm_url *url = runner->plan->volumes[0].urls[target->protocol];
    const struct nm_backend_ops *backend;
    uint64_t foreign = 0;
    int r = nm_target_probe(target, runner, err);

    if (!r && target->probe_result < 0) {
        *err = target->probe_error;
        r = target->probe_result;
    }
    if (r < 0)
        return r;
    backend = nm_backend_select(url, 0, NM_TRAIT_FILES, NULL);
    if (!backend || backend->claim) {
        *ret_written = "not tried: a raw device";
        return 0;
    }
    r = nm_target_enter(target, runner, backend, "", err);
    if (!r)
        r = nm_target_retire(target, runner, &foreign, err);
    *ret_written = "ok";
    return r;
}

static int run(const struct nm_arguments *arguments)
{
    struct nm_target target = {0};
    struct nm_error err = {0};
    const char *written = "no";
    struct nm_visit visit;
    char id[16];
    int r = nm_visit_open(arguments, arguments->words[0], &visit, &err);

    if (r < 0)
        return nm_measure_fail(&err);
    snprintf(id, sizeof(id), "%08" PRIx32,
             (uint32_t)(nm_clock_utc_ns() ^ (uint64_t)getpid() << 20));
    r = nm_target_init(&target, visit.plan, 0, visit.plan->protocols[0], id, &err);
    if (!r)
        r = probe(&visit.runner, &target, &written, &err);
    if (!r && nm_conditions_get(&target.conditions, "server.warning"))
        nm_complain("warning: %s", nm_conditions_get(&target.conditions, "server.warning"));
    if (!r && arguments->json)
        r = print_json(&target, written, &err);
    else if (!r)
        print_text(&target);
    nm_target_done(&target);
    nm_visit_close(&visit);
    if (!r)
        return NM_EXIT_OK;
    nm_complain("%s: %s", nm_reason_name(err.reason), err.text);
    return NM_EXIT_FAILED;
}

const struct nm_command nm_command_probe = {
    .name = "probe",
    .syntax = "URL",
    .help = "connect, write and remove one probe file, print the conditions; nothing is timed",
    .args = args,
    .n_args = sizeof(args) / sizeof(args[0]),
    .min_words = 1,
    .max_words = 1,
    .prints_data = true,
    .run = run,
};
