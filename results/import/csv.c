/* Tables with a header line (csv.h): the trial layout of our own export and of people who measured
 * by hand, and the layouts of published tables (csv_published.c).
 *
 * Trial layout: nas,firmware,volume,kind,protocol,workload,phase,pass,trial,bytes,duration_ns. More
 * columns that are understood: firmware_date, label, interface, status, reason, raw, message,
 * files, operations, cpu_ns, start_utc_ns, round, streams, flags, source_text; origin and run are
 * of the exporting database and left aside. Every other column is a condition: of ours when it has
 * that name, else it goes into import.columns, which must be equal to compare. An apostrophe in
 * front of a formula sign (the export puts it there for spreadsheets) is taken off.
 *
 * Lines that begin with '#' are remarks of the author and are kept with the run.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "csv.h"

#include "../../src/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct nm_csv_layout *const layouts[] = {
    &nm_csv_trials, &nm_csv_copies, &nm_csv_bonnie, &nm_csv_drives, &nm_csv_dd,
};
#define N_LAYOUTS (sizeof(layouts) / sizeof(layouts[0]))

static bool has_column(const struct nm_csv *csv, const char *column)
{
    for (size_t i = 0; i < csv->n_columns; i++)
        if (nm_slice_is(csv->columns[i], column))
            return true;
    return false;
}

struct nm_slice nm_csv_field(const struct nm_csv *csv, const char *column)
{
    for (size_t i = 0; i < csv->n_columns; i++)
        if (nm_slice_is(csv->columns[i], column))
            return nm_slice_trim(csv->fields[i]);
    return (struct nm_slice){.at = "", .length = 0};
}

int nm_csv_fault(const struct nm_csv *csv, const char *column, const char *what,
                 struct nm_error *err)
{
    char shown[64];

    return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT, "%s \"%s\": %s", column,
                        nm_slice_copy(nm_csv_field(csv, column), shown, sizeof(shown)), what);
}

/* The export puts it in front of what a spreadsheet would run as a formula. */
static struct nm_slice without_apostrophe(struct nm_slice field)
{
    bool guarded = field.length > 1 && field.at[0] == '\'' && strchr("=+-@\t\r", field.at[1]);

    return guarded && field.at[1] ? nm_slice_from(field, 1) : field;
}

int nm_csv_text(const struct nm_csv *csv, const char *column, char *out, size_t size,
                struct nm_error *err)
{
    struct nm_slice field = without_apostrophe(nm_csv_field(csv, column));

    if (field.length >= size)
        return nm_csv_fault(csv, column, "too long", err);
    nm_slice_copy(field, out, size);
    return field.length ? 0 : 1;
}

int nm_csv_number(const struct nm_csv *csv, const char *column, uint64_t max, uint64_t *ret_value,
                  struct nm_error *err)
{
    struct nm_slice field = nm_csv_field(csv, column);
    uint64_t value = 0;

    if (field.length && (!nm_slice_u64(field, &value) || value > max))
        return nm_csv_fault(csv, column, "not a whole number in range", err);
    *ret_value = value;
    return 0;
}

int nm_csv_check_kind(const struct nm_csv *csv, const char *column, const char *kind,
                      struct nm_error *err)
{
    size_t n = 0;
    const char *nearest;
    char what[96];

    for (; nm_volume_kinds[n]; n++)
        if (!strcmp(nm_volume_kinds[n], kind))
            return 0;
    nearest = nm_options_nearest(kind, nm_volume_kinds, n);
    snprintf(what, sizeof(what), "no kind of volume%s%s%s", nearest ? "; did you mean " : "",
             nearest ? nearest : "", nearest ? "?" : "");
    return nm_csv_fault(csv, column, what, err);
}

/* Text of one row of the trial layout. */
struct trial_text {
    char nas[128], firmware[128], volume[128], kind[32], label[128], interface[64], protocol[32];
    char workload[256], phase[64], status[32], reason[32], raw[64], message[512], flags[128];
    char source_text[96], firmware_date[32];
    char *key;
};

/* Columns that become text; needed ones may not be empty. */
static const struct text_column {
    const char *name;
    size_t offset, size;
    bool needed;
} text_columns[] = {
#define TEXT(column, is_needed)                                                                    \
    {                                                                                              \
        .name = #column, .offset = offsetof(struct trial_text, column),                            \
        .size = sizeof(((struct trial_text *)NULL)->column), .needed = is_needed                   \
    }
    TEXT(nas, true),          TEXT(firmware, true),
    TEXT(volume, true),       TEXT(kind, true),
    TEXT(protocol, true),     TEXT(workload, true),
    TEXT(phase, true),        TEXT(label, false),
    TEXT(interface, false),   TEXT(status, false),
    TEXT(reason, false),      TEXT(raw, false),
    TEXT(message, false),     TEXT(flags, false),
    TEXT(source_text, false), TEXT(firmware_date, false),
#undef TEXT
};
#define N_TEXT_COLUMNS (sizeof(text_columns) / sizeof(text_columns[0]))

/* Columns that become 64-bit numbers. */
static const struct number_column {
    const char *name;
    size_t offset;
} number_columns[] = {
    {"bytes", offsetof(struct nm_trial_record, bytes)},
    {"duration_ns", offsetof(struct nm_trial_record, duration_ns)},
    {"files", offsetof(struct nm_trial_record, files)},
    {"operations", offsetof(struct nm_trial_record, operations)},
    {"cpu_ns", offsetof(struct nm_trial_record, cpu_ns)},
    {"start_utc_ns", offsetof(struct nm_trial_record, start_utc_ns)},
};
#define N_NUMBER_COLUMNS (sizeof(number_columns) / sizeof(number_columns[0]))

static const struct small_column {
    const char *name;
    size_t offset;
} small_columns[] = {
    {"pass", offsetof(struct nm_trial_record, pass)},
    {"round", offsetof(struct nm_trial_record, round)},
    {"streams", offsetof(struct nm_trial_record, streams)},
};
#define N_SMALL_COLUMNS (sizeof(small_columns) / sizeof(small_columns[0]))

static int read_texts(const struct nm_csv *csv, struct trial_text *text, struct nm_error *err)
{
    for (size_t i = 0; i < N_TEXT_COLUMNS; i++) {
        const struct text_column *column = &text_columns[i];
        int r = nm_csv_text(csv, column->name, (char *)text + column->offset, column->size, err);

        if (r < 0)
            return r;
        if (r == 1 && column->needed)
            return nm_csv_fault(csv, column->name, "may not be empty", err);
    }
    return nm_csv_check_kind(csv, "kind", text->kind, err);
}

static int read_numbers(const struct nm_csv *csv, struct nm_trial_record *trial,
                        struct nm_error *err)
{
    uint64_t value;
    int r = 0;

    for (size_t i = 0; i < N_NUMBER_COLUMNS && r == 0; i++)
        r = nm_csv_number(csv, number_columns[i].name, INT64_MAX,
                          (uint64_t *)((char *)trial + number_columns[i].offset), err);
    for (size_t i = 0; i < N_SMALL_COLUMNS && r == 0; i++) {
        r = nm_csv_number(csv, small_columns[i].name, UINT32_MAX, &value, err);
        if (r == 0)
            *(uint32_t *)((char *)trial + small_columns[i].offset) = (uint32_t)value;
    }
    if (r == 0 && !trial->pass) { /* the number of the trial serves as well */
        r = nm_csv_number(csv, "trial", UINT32_MAX, &value, err);
        trial->pass = value ? (uint32_t)value : 1;
    }
    return r;
}

static int read_status(const struct nm_csv *csv, const struct trial_text *text,
                       struct nm_trial_record *trial, struct nm_error *err)
{
    int status = *text->status ? nm_status_parse(text->status) : NM_STATUS_OK;
    int reason = *text->reason ? nm_reason_parse(text->reason) : NM_REASON_NONE;

    if (status < 0)
        return nm_csv_fault(csv, "status", "no status of a trial", err);
    if (reason < 0)
        return nm_csv_fault(csv, "reason", "no reason class", err);
    if (!*text->status && !nm_csv_field(csv, "bytes").length)
        status = NM_STATUS_MISSING;
    if (status == NM_STATUS_OK && !nm_csv_field(csv, "duration_ns").length)
        return nm_csv_fault(csv, "duration_ns", "missing beside bytes", err);
    if (status == NM_STATUS_OK && !trial->duration_ns)
        status = NM_STATUS_TOO_SHORT;
    if (status != NM_STATUS_OK && status != NM_STATUS_FAILED && status != NM_STATUS_VOID)
        trial->bytes = trial->duration_ns = 0;
    trial->status = (enum nm_status)status;
    trial->reason = (enum nm_reason)reason;
    return 0;
}

static bool is_trial_column(struct nm_slice name)
{
    static const char *const others[] = {"trial", "origin", "run",        "target",
                                         "id",    "rate",   "bytes_per_s"};

    for (size_t i = 0; i < N_TEXT_COLUMNS; i++)
        if (nm_slice_is(name, text_columns[i].name))
            return true;
    for (size_t i = 0; i < N_NUMBER_COLUMNS; i++)
        if (nm_slice_is(name, number_columns[i].name))
            return true;
    for (size_t i = 0; i < N_SMALL_COLUMNS; i++)
        if (nm_slice_is(name, small_columns[i].name))
            return true;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (nm_slice_is(name, others[i]))
            return true;
    return false;
}

/* "mtu=9000 jumbo=yes" for columns that are no condition of ours. */
static int add_column(struct nm_csv *csv, const char *name, const char *value, struct nm_error *err)
{
    const char *before = nm_conditions_get(&csv->conditions, "import.columns");
    char all[128];
    int n = snprintf(all, sizeof(all), "%s%s%s=%s", before ? before : "", before ? " " : "", name,
                     value);

    if (n >= (int)sizeof(all))
        return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT,
                            "column %s: more of such columns than fit into the conditions; leave "
                            "some out",
                            name);
    nm_conditions_set(&csv->conditions, "import.columns", "%s", all);
    return 0;
}

static int read_conditions(struct nm_csv *csv, struct nm_error *err)
{
    for (size_t i = 0; i < csv->n_columns; i++) {
        struct nm_slice value = without_apostrophe(nm_slice_trim(csv->fields[i]));
        char name[32], text[128];
        int r = 0;

        if (is_trial_column(csv->columns[i]) || !value.length || !csv->columns[i].length)
            continue;
        if (csv->columns[i].length >= sizeof(name) || value.length >= sizeof(text))
            return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT,
                                "column %zu: too long for a condition", i + 1);
        nm_slice_copy(csv->columns[i], name, sizeof(name));
        nm_slice_copy(value, text, sizeof(text));
        if (nm_condition_find(name))
            nm_conditions_set(&csv->conditions, name, "%s", text);
        else
            r = add_column(csv, name, text, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static const char *or_null(const char *text)
{
    return *text ? text : NULL;
}

static void point_at(struct nm_document *document, const struct trial_text *text)
{
    struct nm_trial_record *trial = &document->trial;

    document->nas.name = text->nas;
    document->nas.firmware = text->firmware;
    document->nas.firmware_date = or_null(text->firmware_date);
    document->nas.firmware_date = or_null(text->firmware_date);
    document->volume.name = text->volume;
    document->volume.kind = text->kind;
    document->volume.label = or_null(text->label);
    document->volume.interface = or_null(text->interface);
    trial->protocol = text->protocol;
    trial->workload = text->key;
    trial->phase = text->phase;
    trial->raw = or_null(text->raw);
    trial->message = or_null(text->message);
    trial->flags = or_null(text->flags);
    trial->source_text = or_null(text->source_text);
}

static int trial_row(struct nm_csv *csv, struct nm_error *err)
{
    struct nm_document document;
    struct trial_text text = {0};
    uint64_t bytes, files;
    int r;

    nm_import_document_init(&document, csv->sink, "imported:csv", &csv->conditions, &csv->metrics);
    document.trial.pass = 0;
    r = read_texts(csv, &text, err);
    if (r == 0)
        r = read_numbers(csv, &document.trial, err);
    if (r == 0)
        r = read_status(csv, &text, &document.trial, err);
    if (r == 0)
        r = read_conditions(csv, err);
    if (r < 0)
        return r;
    text.key = nm_import_workload_key(text.workload, &bytes, &files);
    if (!text.key)
        return nm_error_errno(err, -ENOMEM, "reading the table: out of memory");
    if (document.trial.status == NM_STATUS_OK && document.trial.bytes == bytes &&
        !document.trial.files)
        document.trial.files = files;
    point_at(&document, &text);
    nm_import_phase(text.key, text.phase, &document.trial.phase_index,
                    &document.trial.phase_writes);
    r = csv->sink->trial(csv->sink->context, &document, err);
    free(text.key);
    return r;
}

static const char *const trial_needs[] = {"nas",      "firmware", "volume",      "kind",
                                          "protocol", "workload", "phase",       "pass",
                                          "trial",    "bytes",    "duration_ns", NULL};

const struct nm_csv_layout nm_csv_trials = {.columns = trial_needs, .row = trial_row};

static const struct nm_csv_layout *find_layout(const struct nm_csv *csv)
{
    for (size_t i = 0; i < N_LAYOUTS; i++) {
        const char *const *column = layouts[i]->columns;

        while (*column && has_column(csv, *column))
            column++;
        if (!*column)
            return layouts[i];
    }
    return NULL;
}

static int read_header(struct nm_csv *csv, struct nm_slice line,
                       const struct nm_csv_layout **ret_layout, struct nm_error *err)
{
    csv->n_columns = nm_scan_csv(line, csv->columns, NM_CSV_COLUMNS, csv->header);
    if (csv->n_columns > NM_CSV_COLUMNS)
        return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT, "%zu columns; at most %d are read",
                            csv->n_columns, NM_CSV_COLUMNS);
    for (size_t i = 0; i < csv->n_columns; i++)
        csv->columns[i] = nm_slice_trim(csv->columns[i]);
    *ret_layout = find_layout(csv);
    if (!*ret_layout)
        return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT,
                            "the header is none that is known; results of trials have "
                            "nas,firmware,volume,kind,protocol,workload,phase,pass,trial,bytes,"
                            "duration_ns");
    return 0;
}

static int read_row(struct nm_csv *csv, const struct nm_csv_layout *layout, struct nm_slice line,
                    struct nm_error *err)
{
    size_t n = nm_scan_csv(line, csv->fields, NM_CSV_COLUMNS, csv->scratch);

    if (n != csv->n_columns)
        return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT, "%zu fields, the header has %zu", n,
                            csv->n_columns);
    csv->row++;
    return layout->row(csv, err);
}

static int read_line(struct nm_csv *csv, const struct nm_csv_layout **layout, struct nm_slice line,
                     struct nm_error *err)
{
    struct nm_slice trimmed = nm_slice_trim(line);
    char shown[240];

    if (!trimmed.length)
        return 0;
    if (nm_slice_starts(trimmed, "#")) {
        trimmed = nm_slice_trim(nm_slice_from(trimmed, 1));
        if (csv->sink->note && trimmed.length)
            csv->sink->note(csv->sink->context, nm_slice_copy(trimmed, shown, sizeof(shown)));
        return 0;
    }
    if (nm_scan_csv_is_open(line))
        return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT, "a quote is not closed");
    if (line.length > NM_CSV_LINE)
        return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT, "longer than %d bytes", NM_CSV_LINE);
    return *layout ? read_row(csv, *layout, line, err) : read_header(csv, line, layout, err);
}

/* A row is a line, or several where a quoted field holds line ends. */
static bool next_row(struct nm_lines *lines, struct nm_slice *ret_row, unsigned *ret_number)
{
    struct nm_slice more;

    if (!nm_lines_next(lines, ret_row))
        return false;
    *ret_number = lines->number;
    while (!nm_slice_starts(nm_slice_trim(*ret_row), "#") && ret_row->length <= NM_CSV_LINE &&
           nm_scan_csv_is_open(*ret_row) && nm_lines_next(lines, &more))
        ret_row->length = (size_t)(more.at + more.length - ret_row->at);
    return true;
}

static int parse(const char *text, size_t length, const struct nm_import_sink *sink,
                 struct nm_error *err)
{
    const struct nm_csv_layout *layout = NULL;
    struct nm_csv *csv = calloc(1, sizeof(*csv));
    struct nm_lines lines;
    struct nm_slice row;
    unsigned number;
    int r = 0;

    if (!csv)
        return nm_error_errno(err, -ENOMEM, "reading the table: out of memory");
    csv->sink = sink;
    nm_lines_init(&lines, text, length);
    while (r == 0 && next_row(&lines, &row, &number)) {
        r = read_line(csv, &layout, row, err);
        if (r < 0)
            nm_error_prefix(err, "line %u", number);
    }
    if (r == 0 && !csv->row)
        r = nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT, "no row below the header");
    free(csv);
    return r;
}

const struct nm_importer nm_importer_csv = {
    .name = "csv",
    .help = "tables of trials (as exported) or of published results, recognised by their header",
    .parse = parse,
};
