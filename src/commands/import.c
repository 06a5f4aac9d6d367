/* nasmark import: results of other tools, published tables, other databases.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "../../results/import/import.h"

#include "command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct nm_arg args[] = {
    {.name = "nas",
     .type = NM_ARG_VALUE,
     .metavar = "NAME",
     .help = "NAS that the results belong to (default: as in the file, else the file's name)"},
    {.name = "firmware",
     .type = NM_ARG_VALUE,
     .metavar = "V",
     .help = "its firmware (default: as in the file, else unknown)"},
    {.name = "volume",
     .type = NM_ARG_VALUE,
     .metavar = "NAME",
     .help = "volume, for files of one volume (default: as in the file, else the file's name)"},
    {.name = "protocol",
     .type = NM_ARG_VALUE,
     .metavar = "P",
     .help = "protocol, for files of one protocol (default: as in the file, else local)"},
};

static void warn(void *context, const char *text)
{
    const struct nm_arguments *arguments = context;

    if (!arguments->quiet)
        nm_complain("kept as note: %s", text);
}

static int unknown_format(const char *name, struct nm_error *err)
{
    char known[200] = "";

    for (const struct nm_importer *const *p = nm_importer_table; *p; p++) {
        size_t used = strlen(known);

        snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "", (*p)->name);
    }
    return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                        "import: unknown format \"%.40s\"; it is one of %s", name, known);
}

static void print(const struct nm_arguments *arguments, const struct nm_import_result *result)
{
    const char *file = arguments->words[1];

    if (result->again)
        printf("%s: imported before%s%s; nothing changed\n", file,
               *result->run_id ? " as run " : "", result->run_id);
    else
        printf("%s: %zu trials stored%s%s\n", file, result->n_trials,
               *result->run_id ? " as run " : "", result->run_id);
    if (result->n_failed)
        printf("%zu of them failed where they were measured\n", result->n_failed);
    if (result->n_known)
        printf("%zu were stored before and left out\n", result->n_known);
}

static int print_json(const struct nm_import_result *result, struct nm_error *err)
{
    json_t *document =
        json_pack("{s:i, s:b, s:o, s:I, s:I, s:I, s:I}", "schema", 1, "again", result->again, "run",
                  *result->run_id ? json_string(result->run_id) : json_null(), "trials",
                  (json_int_t)result->n_trials, "failed", (json_int_t)result->n_failed, "known",
                  (json_int_t)result->n_known, "warnings", (json_int_t)result->n_warnings);
    int r = document ? json_dumpf(document, stdout, JSON_INDENT(1)) : -1;

    json_decref(document);
    putchar('\n');
    return r < 0 ? nm_error_errno(err, -EIO, "writing the result failed") : 0;
}

static int run(const struct nm_arguments *arguments)
{
    const struct nm_importer *importer = nm_importer_find(arguments->words[0]);
    const struct nm_import_options options = {
        .nas = nm_arguments_get(arguments, "nas"),
        .firmware = nm_arguments_get(arguments, "firmware"),
        .volume = nm_arguments_get(arguments, "volume"),
        .protocol = nm_arguments_get(arguments, "protocol"),
    };
    struct nm_import_result result;
    struct nm_store *store = NULL;
    struct nm_error err = {0};
    int r = importer ? 0 : unknown_format(arguments->words[0], &err);

    if (r == 0)
        r = nm_store_open(arguments->db, NM_STORE_WRITE, &store, &err);
    if (r == 0 && nm_store_warning(store))
        nm_complain("warning: %s", nm_store_warning(store));
    if (r == 0)
        r = nm_import_run(store, importer, arguments->words[1], &options, warn, (void *)arguments,
                          &result, &err);
    if (r == 0 && arguments->json)
        r = print_json(&result, &err);
    else if (r == 0)
        print(arguments, &result);
    if (r < 0)
        nm_complain("%s", err.text);
    nm_store_close(store);
    return r < 0 ? NM_EXIT_USAGE : NM_EXIT_OK;
}

const struct nm_command nm_command_import = {
    .name = "import",
    .syntax = "FORMAT FILE",
    .help = "take over results of other tools, published tables and other databases",
    .details =
        "FORMAT is bonnie, fio, crystaldiskmark, kdiskmark, dd, csv, json or spool; FILE may "
        "be - for standard input. All of a file is stored or nothing; the same file again "
        "changes nothing. Imported figures keep the digits that were printed, are compared "
        "with measured ones only when asked (compare --allow source), and a single "
        "published figure never gives a verdict.",
    .args = args,
    .n_args = sizeof(args) / sizeof(args[0]),
    .min_words = 2,
    .max_words = 2,
    .prints_data = true,
    .run = run,
};
