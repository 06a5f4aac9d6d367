/* export --format csv: every trial in the layout that `import csv` reads.
 *
 * The fixed columns come first, then one column per condition that any of the trials has, under its
 * own name (`source` is one of them, so where the number comes from is `origin`). What was not
 * measured is an empty field. A line is a trial: line breaks in texts become blanks. Names that a
 * spreadsheet would run as formulas get an apostrophe in front, which the import takes off again.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "export.h"

#include "../escape.h"
#include "../store_document.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void write_last(FILE *out, const char *text)
{
    char line[1024];

    snprintf(line, sizeof(line), "%s", text ? text : "");
    for (char *p = line; *p; p++)
        if (*p == '\n' || *p == '\r')
            *p = ' ';
    nm_escape_csv(out, line);
}

static void write_text(FILE *out, const char *text)
{
    write_last(out, text);
    putc(',', out);
}

static void write_number(FILE *out, uint64_t value, bool known)
{
    if (known)
        fprintf(out, "%" PRIu64, value);
    putc(',', out);
}

/* used: by place in nm_condition_table, whether any trial has the condition. */
static void write_head(const bool *used, FILE *out)
{
    fputs("nas,firmware,volume,kind,protocol,workload,phase,pass,trial,bytes,duration_ns,status,"
          "reason,raw,message,files,operations,cpu_ns,streams,flags,origin,source_text,run,round,"
          "start_utc_ns,firmware_date,label,interface",
          out);
    for (size_t i = 0; i < nm_condition_table_length; i++)
        if (used[i])
            fprintf(out, ",%s", nm_condition_table[i].name);
    putc('\n', out);
}

static void write_line(const bool *used, const struct nm_document *document, int64_t trial_id,
                       FILE *out)
{
    const struct nm_trial_record *t = &document->trial;
    bool took_place = t->status != NM_STATUS_NA && t->status != NM_STATUS_UNSUPPORTED &&
                      t->status != NM_STATUS_MISSING;

    write_text(out, document->nas.name);
    write_text(out, document->nas.firmware);
    write_text(out, document->volume.name);
    write_text(out, document->volume.kind);
    write_text(out, t->protocol);
    write_text(out, t->workload);
    write_text(out, t->phase);
    write_number(out, t->pass, true);
    write_number(out, (uint64_t)trial_id, true);
    write_number(out, t->bytes, took_place);
    write_number(out, t->duration_ns, t->duration_ns > 0);
    write_text(out, nm_status_name(t->status));
    write_text(out, t->reason ? nm_reason_name(t->reason) : NULL);
    write_text(out, t->raw);
    write_text(out, t->message);
    write_number(out, t->files, t->files > 0);
    write_number(out, t->operations, t->operations > 0);
    write_number(out, t->cpu_ns, t->cpu_ns > 0);
    write_number(out, t->streams, t->streams > 0);
    write_text(out, t->flags);
    write_text(out, t->source);
    write_text(out, t->source_text);
    write_text(out, document->session.run);
    write_number(out, t->round, true);
    write_number(out, t->start_utc_ns, t->start_utc_ns > 0);
    write_text(out, document->nas.firmware_date);
    write_text(out, document->volume.label);
    write_last(out, document->volume.interface);
    for (size_t i = 0; i < nm_condition_table_length; i++)
        if (used[i]) {
            putc(',', out);
            write_last(out, nm_conditions_get(t->conditions, nm_condition_table[i].name));
        }
    putc('\n', out);
}

static int find_used(struct nm_store *store, const struct nm_cells *cells, bool *used,
                     struct nm_error *err)
{
    struct nm_conditions conditions;
    int64_t set_id = 0;

    for (size_t i = 0; i < cells->count; i++)
        for (size_t k = 0; k < cells->items[i].n_trials; k++) {
            int r = nm_stored_conditions_read(store, cells->items[i].trials[k].id, &set_id,
                                              &conditions, err);

            if (r < 0)
                return r;
            for (size_t d = 0; r == 1 && d < nm_condition_table_length; d++)
                used[d] |= nm_conditions_get(&conditions, nm_condition_table[d].name) != NULL;
        }
    return 0;
}

static int write_csv(struct nm_store *store, const struct nm_cells *cells, FILE *out,
                     struct nm_error *err)
{
    bool *used = calloc(nm_condition_table_length, sizeof(*used));
    int r = used ? find_used(store, cells, used, err)
                 : nm_error_errno(err, -ENOMEM, "export: out of memory");

    if (r == 0)
        write_head(used, out);
    for (size_t i = 0; i < cells->count && r == 0; i++)
        for (size_t k = 0; k < cells->items[i].n_trials && r == 0; k++) {
            int64_t id = cells->items[i].trials[k].id;
            struct nm_stored_document *stored = NULL;

            r = nm_stored_document_read(store, id, false, &stored, err);
            if (r == 0)
                write_line(used, &stored->document, id, out);
            nm_stored_document_free(stored);
        }
    free(used);
    return r;
}

const struct nm_export_format nm_export_csv = {
    .name = "csv",
    .help = "every trial with its conditions, in the layout that `import csv` reads",
    .write = write_csv,
};
