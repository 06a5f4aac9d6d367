/* Our own documents: `export --format json` (one object with "trials") and the spool (one trial per
 * line). Both hold the same trial objects (document.h); they are read one at a time, so that the
 * size of a database does not matter.
 *
 * Sessions keep their run ids: what is stored already is recognised by run, cell, pass and start.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "import.h"
#include "scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Reads the value at text[*at] and hands it over. */
static int read_trial(const char *text, size_t length, size_t *at,
                      const struct nm_import_sink *sink, struct nm_document_holder *holder,
                      struct nm_error *err)
{
    json_error_t fault;
    json_t *json = json_loadb(text + *at, length - *at, JSON_DISABLE_EOF_CHECK, &fault);
    char why[JSON_ERROR_TEXT_LENGTH];
    int r;

    if (!json)
        return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT, "not JSON: %s",
                            nm_slice_copy(nm_slice_of(fault.text), why, sizeof(why)));
    *at += (size_t)fault.position; /* bytes that were read */
    r = nm_document_read(json, holder, err);
    return r < 0 ? r : sink->trial(sink->context, &holder->document, err);
}

static size_t skip_blanks(const char *text, size_t length, size_t at)
{
    while (at < length && strchr(" \t\r\n", text[at]) && text[at])
        at++;
    return at;
}

/* From behind the '[' to the ']' of "trials". */
static int read_array(const char *text, size_t length, size_t at, const struct nm_import_sink *sink,
                      struct nm_document_holder *holder, struct nm_error *err)
{
    size_t n = 0;

    for (at = skip_blanks(text, length, at); at < length && text[at] != ']';) {
        int r = read_trial(text, length, &at, sink, holder, err);

        n++;
        if (r < 0) {
            nm_error_prefix(err, "trial %zu", n);
            return r;
        }
        at = skip_blanks(text, length, at);
        if (at < length && text[at] == ',')
            at = skip_blanks(text, length, at + 1);
        else if (at < length && text[at] != ']')
            return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT, "no comma behind trial %zu", n);
    }
    if (at >= length)
        return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT,
                            "the file ends within its trials; it is not complete");
    if (!n)
        return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT, "it holds no trial");
    return 0;
}

static int parse_json(const char *text, size_t length, const struct nm_import_sink *sink,
                      struct nm_error *err)
{
    static const char member[] = "\"trials\"";
    const char *found = memmem(text, length, member, sizeof(member) - 1);
    struct nm_document_holder *holder;
    size_t at;
    int r;

    if (!length || text[skip_blanks(text, length, 0) % length] != '{' || !found)
        return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT,
                            "no JSON with \"trials\"; this format reads what `nasmark export "
                            "--format json` wrote");
    at = skip_blanks(text, length, (size_t)(found - text) + sizeof(member) - 1);
    at = skip_blanks(text, length, at + (at < length && text[at] == ':'));
    if (at >= length || text[at] != '[')
        return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT, "\"trials\" is no array");
    holder = calloc(1, sizeof(*holder));
    if (!holder)
        return nm_error_errno(err, -ENOMEM, "reading trials: out of memory");
    r = read_array(text, length, at + 1, sink, holder, err);
    nm_document_done(holder);
    free(holder);
    return r;
}

static int parse_spool(const char *text, size_t length, const struct nm_import_sink *sink,
                       struct nm_error *err)
{
    struct nm_document_holder *holder = calloc(1, sizeof(*holder));
    struct nm_lines lines;
    struct nm_slice line;
    size_t n = 0;
    int r = 0;

    if (!holder)
        return nm_error_errno(err, -ENOMEM, "reading trials: out of memory");
    nm_lines_init(&lines, text, length);
    while (r == 0 && nm_lines_next(&lines, &line)) {
        size_t at = 0;

        line = nm_slice_trim(line);
        if (!line.length)
            continue;
        n++;
        r = read_trial(line.at, line.length, &at, sink, holder, err);
        if (r < 0)
            nm_error_prefix(err, "line %u", lines.number);
    }
    if (r == 0 && !n)
        r = nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT, "no trial in it");
    nm_document_done(holder);
    free(holder);
    return r;
}

const struct nm_importer nm_importer_json = {
    .name = "json",
    .help = "our own export; joins another database",
    .parse = parse_json,
};

const struct nm_importer nm_importer_spool = {
    .name = "spool",
    .help = "trials that were set aside while the database was busy",
    .parse = parse_spool,
};
