/* Opening, selecting and printing for the commands that read the store (stored.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "stored.h"

#include "../../results/escape.h"
#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 32

int nm_stored_open(const struct nm_arguments *arguments, enum nm_store_mode mode,
                   struct nm_store **ret_store, struct nm_error *err)
{
    int r = nm_store_open(arguments->db, mode, ret_store, err);

    if (r == 0 && nm_store_warning(*ret_store) && !arguments->quiet)
        nm_complain("warning: %s", nm_store_warning(*ret_store));
    return r;
}

static int read_cells(const struct nm_arguments *arguments, const struct nm_select *select,
                      struct nm_store **ret_store, struct nm_cells **ret_cells,
                      struct nm_error *err)
{
    struct nm_store *store = NULL;
    struct nm_cells *cells = NULL;
    int r = nm_stored_open(arguments, NM_STORE_READ, &store, err);

    if (r == 0)
        r = nm_select_cells(store, select, &cells, err);
    if (r == 0 && !cells->count)
        r = nm_error_set(err, -ENODATA, NM_REASON_NOT_FOUND,
                         "nothing in the database fits this selection; `nasmark list cells "
                         "campaign=*` shows what there is");
    if (r < 0) {
        nm_cells_free(cells);
        nm_store_close(store);
        return r;
    }
    *ret_store = store;
    *ret_cells = cells;
    return 0;
}

int nm_stored_cells(const struct nm_arguments *arguments, bool metrics, struct nm_store **ret_store,
                    struct nm_cells **ret_cells, struct nm_error *err)
{
    struct nm_select *select = NULL;
    int r = nm_select_parse(arguments->words, arguments->n_words, &select, err);

    if (r == 0 && !metrics)
        nm_select_skip_metrics(select);
    if (r == 0)
        r = read_cells(arguments, select, ret_store, ret_cells, err);
    nm_select_free(select);
    return r;
}

static bool names_versions(const struct nm_arguments *arguments)
{
    static const char *const keys[] = {"firmware=", "campaign=", "run="};

    for (size_t i = 0; i < arguments->n_words; i++)
        for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
            if (!strncmp(arguments->words[i], keys[k], strlen(keys[k])))
                return true;
    return false;
}

/* The words of the command line and one for all versions, unless some are named. */
static int select_versions(const struct nm_arguments *arguments, struct nm_select **ret_select,
                           struct nm_error *err)
{
    const char **words = calloc(arguments->n_words + 1, sizeof(*words));
    size_t n = 0;
    int r;

    if (!words)
        return nm_error_errno(err, -ENOMEM, "reading the store: out of memory");
    for (; n < arguments->n_words; n++)
        words[n] = arguments->words[n];
    if (!names_versions(arguments))
        words[n++] = "firmware=*";
    r = nm_select_parse(words, n, ret_select, err);
    free(words);
    return r;
}

int nm_stored_more_versions(const struct nm_arguments *arguments, struct nm_store *store,
                            struct nm_cells **ret_cells, struct nm_error *err)
{
    struct nm_select *select = NULL;
    int r = select_versions(arguments, &select, err);

    if (r == 0) {
        nm_select_skip_metrics(select);
        r = nm_select_cells(store, select, ret_cells, err);
    }
    nm_select_free(select);
    return r;
}

int nm_stored_versions(const struct nm_arguments *arguments, struct nm_store **ret_store,
                       struct nm_cells **ret_cells, struct nm_error *err)
{
    struct nm_select *select = NULL;
    int r = select_versions(arguments, &select, err);

    if (r == 0)
        r = read_cells(arguments, select, ret_store, ret_cells, err);
    nm_select_free(select);
    return r;
}

int nm_stored_language(const struct nm_arguments *arguments, const struct nm_language **ret,
                       struct nm_error *err)
{
    const char *name = nm_arguments_get(arguments, "lang");
    const struct nm_language *language = name ? nm_language_find(name) : nm_language_of_user();

    if (!language)
        return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                            "there is no language '%s'; languages: en pl ru ja", name);
    *ret = language;
    return 0;
}

int nm_stored_fail(const struct nm_error *err)
{
    nm_complain("%s", err->text);
    return NM_EXIT_USAGE;
}

static int print_json(const json_t *json, struct nm_error *err)
{
    if (json_dumpf(json, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(15)) < 0 ||
        putchar('\n') == EOF || fflush(stdout))
        return nm_error_errno(err, -EIO, "writing to standard output failed");
    return 0;
}

/* Text of a scalar, or of an array of texts; "-" for null. Heap, NULL when out of memory. */
static char *value_text(const json_t *value)
{
    char *text = NULL, number[40];
    size_t size, i;
    FILE *out = open_memstream(&text, &size);
    json_t *item;

    if (!out)
        return NULL;
    switch (json_typeof(value)) {
    case JSON_STRING: nm_escape_plain(out, json_string_value(value)); break;
    case JSON_INTEGER: fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value)); break;
    case JSON_REAL:
        if (fabs(json_real_value(value)) >= 1e6) /* no exponents for people */
            fprintf(out, "%.0f", json_real_value(value));
        else
            fputs(nm_units_format_double(json_real_value(value), 6, number, sizeof(number)), out);
        break;
    case JSON_ARRAY:
        json_array_foreach(value, i, item)
        {
            if (i)
                putc(' ', out);
            if (json_is_string(item))
                nm_escape_plain(out, json_string_value(item));
            else if (json_is_integer(item))
                fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(item));
        }
        break;
    default: putc('-', out); break;
    }
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}

static void pad(FILE *out, const char *text, size_t width)
{
    for (size_t have = nm_escape_width(text); have < width; have++)
        putc(' ', out);
}

struct column {
    const char *key;
    size_t width;
    bool number;
};

static size_t find_columns(const json_t *rows, struct column columns[COLUMNS_MAX])
{
    json_t *first = json_array_get(rows, 0), *value, *row;
    const char *key;
    size_t n = 0, i;

    json_object_foreach(first, key, value)
    {
        if (n < COLUMNS_MAX)
            columns[n++] = (struct column){.key = key, .width = strlen(key)};
    }
    json_array_foreach(rows, i, row)
    {
        for (size_t k = 0; k < n; k++) {
            json_t *cell = json_object_get(row, columns[k].key);
            char *text = value_text(cell);
            size_t width = text ? nm_escape_width(text) : 0;

            columns[k].width = width > columns[k].width ? width : columns[k].width;
            columns[k].number |= json_is_number(cell);
            free(text);
        }
    }
    return n;
}

static void print_field(const struct column *column, const char *text, bool last)
{
    if (column->number)
        pad(stdout, text, column->width);
    fputs(text, stdout);
    if (!column->number && !last)
        pad(stdout, text, column->width);
    fputs(last ? "\n" : "  ", stdout);
}

static void print_table(const json_t *rows)
{
    struct column columns[COLUMNS_MAX];
    size_t n = find_columns(rows, columns), i;
    json_t *row;

    for (size_t k = 0; k < n; k++)
        print_field(&columns[k], columns[k].key, k + 1 == n);
    json_array_foreach(rows, i, row)
    {
        for (size_t k = 0; k < n; k++) {
            char *text = value_text(json_object_get(row, columns[k].key));

            print_field(&columns[k], text ? text : "?", k + 1 == n);
            free(text);
        }
    }
}

int nm_stored_print_rows(const struct nm_arguments *arguments, const json_t *rows,
                         struct nm_error *err)
{
    if (arguments->json)
        return print_json(rows, err);
    print_table(rows);
    return fflush(stdout) ? nm_error_errno(err, -EIO, "writing to standard output failed") : 0;
}

/* A text of several lines (the plan) below its key. */
static void print_lines(const char *key, const char *text)
{
    printf("\n%s:\n", key);
    while (*text) {
        char *line = strndup(text, strcspn(text, "\n"));

        fputs("  ", stdout);
        nm_escape_plain(stdout, line ? line : "?");
        putchar('\n');
        text += strcspn(text, "\n");
        text += *text == '\n';
        free(line);
    }
}

static void print_member(const char *key, const json_t *value, const char *indent)
{
    char *text;

    if (json_is_object(json_array_get(value, 0))) {
        printf("\n%s:\n", key);
        print_table(value);
        return;
    }
    if (json_is_object(value)) {
        const char *name;
        json_t *member;

        printf("\n%s:\n", key);
        json_object_foreach((json_t *)value, name, member) print_member(name, member, "  ");
        return;
    }
    if (json_is_null(value) || (json_is_array(value) && !json_array_size(value)))
        return; /* what is not known needs no line */
    if (json_is_string(value) && strchr(json_string_value(value), '\n')) {
        print_lines(key, json_string_value(value));
        return;
    }
    text = value_text(value);
    printf("%s%s: %s\n", indent, key, text ? text : "?");
    free(text);
}

int nm_stored_print_pages(const struct nm_arguments *arguments, const json_t *pages,
                          struct nm_error *err)
{
    json_t *page, *value;
    const char *key;
    size_t i;

    if (arguments->json)
        return print_json(pages, err);
    json_array_foreach(pages, i, page)
    {
        json_object_foreach(page, key, value) print_member(key, value, "");
    }
    return fflush(stdout) ? nm_error_errno(err, -EIO, "writing to standard output failed") : 0;
}
