/* nasmark list workloads|profiles|backends: the tables of the program as text and JSON.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "../../backends/backend.h"
#include "../../workloads/workload.h"
#include "list.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* Prints the array when JSON is wanted, and frees it. */
static int finish(const struct nm_arguments *arguments, json_t *array)
{
    int r = arguments->json ? json_dumpf(array, stdout, JSON_INDENT(2)) : 0;

    json_decref(array);
    if (r < 0) {
        nm_complain("the list cannot be written");
        return NM_EXIT_USAGE;
    }
    if (arguments->json)
        putchar('\n');
    return NM_EXIT_OK;
}

static void print_row(const char *name, const char *help, const char *unavailable)
{
    printf("%-14s %s%s\n", name, unavailable ? "not built: " : "",
           unavailable ? unavailable : help);
}

/* What every kind has: name, help, and whether it is there. */
static json_t *describe(const char *name, const char *help, const char *unavailable)
{
    json_t *object = json_object();

    json_object_set_new(object, "name", json_string(name));
    json_object_set_new(object, "help", json_string(help));
    json_object_set_new(object, "available", json_boolean(!unavailable));
    json_object_set_new(object, "reason", unavailable ? json_string(unavailable) : json_null());
    return object;
}

int nm_list_workloads(const struct nm_arguments *arguments)
{
    json_t *array = json_array();

    for (size_t i = 0; nm_workload_table[i]; i++) {
        const struct nm_workload_ops *ops = nm_workload_table[i];
        json_t *object = describe(ops->name, ops->help, ops->unavailable);

        json_object_set_new(object, "syntax", json_string(ops->syntax));
        json_array_append_new(array, object);
        if (arguments->json)
            continue;
        print_row(ops->name, ops->help, ops->unavailable);
        if (ops->syntax && strcmp(ops->syntax, ops->name))
            printf("%-14s %s\n", "", ops->syntax);
    }
    return finish(arguments, array);
}

int nm_list_profiles(const struct nm_arguments *arguments)
{
    json_t *array = json_array();

    for (size_t i = 0; nm_profile_table[i]; i++) {
        const struct nm_profile *profile = nm_profile_table[i];
        const struct nm_workload_ops *ops = nm_workload_find(profile->workload);
        const char *unavailable = ops ? ops->unavailable : "its workload does not exist";
        json_t *object = describe(profile->name, profile->help, unavailable);
        json_t *settings = json_object();

        for (size_t k = 0; k < profile->n_items; k++)
            json_object_set_new(settings, profile->items[k].key,
                                json_string(profile->items[k].value));
        json_object_set_new(object, "workload", json_string(profile->workload));
        json_object_set_new(object, "settings", settings);
        json_array_append_new(array, object);
        if (arguments->json)
            continue;
        print_row(profile->name, profile->help, unavailable);
        printf("%-14s workload = %s\n", "", profile->workload);
        for (size_t k = 0; k < profile->n_items; k++) {
            int width = printf("%-14s %s = ", "", profile->items[k].key);

            nm_help_fold(stdout, profile->items[k].value, (size_t)width, (size_t)width);
        }
    }
    return finish(arguments, array);
}

int nm_list_backends(const struct nm_arguments *arguments)
{
    json_t *array = json_array();

    for (size_t i = 0; nm_backend_table[i]; i++) {
        const struct nm_backend_ops *ops = nm_backend_table[i];
        json_t *object = describe(ops->name, ops->help, ops->unavailable);
        json_t *operations = json_array();

        for (int kind = 0; kind < NM_OP_KINDS; kind++)
            if (ops->supports & NM_OP_MASK(kind))
                json_array_append_new(operations,
                                      json_string(nm_op_kind_name((enum nm_op_kind)kind)));
        json_object_set_new(object, "protocol", json_string(nm_protocol_name(ops->protocol)));
        json_object_set_new(object, "operations", operations);
        json_object_set_new(object, "files", json_boolean(ops->traits & NM_TRAIT_FILES));
        json_object_set_new(object, "blocks", json_boolean(ops->traits & NM_TRAIT_BLOCKS));
        json_array_append_new(array, object);
        if (!arguments->json)
            print_row(ops->name, ops->help, ops->unavailable);
    }
    return finish(arguments, array);
}
