/* export --format xlsx: a workbook with a sheet and a native chart for every upload/download table,
 * and a sheet with all trials.
 *
 * Names from outside are text cells in the number format "text": neither opening nor editing the
 * file makes a formula of them, and charts refer to the cells instead of holding the names.
 * libxlsxwriter 1.1.4 writes to a named file only and wants to seek in it, so the workbook is made
 * in memory and copied.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "export.h"

#include "../escape.h"
#include "../table_grid.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xlsxwriter.h>

#define DIGITS_MAX 10
#define LABEL_MAX  64 /* width of a column in characters */

struct book {
    lxw_workbook *workbook;
    lxw_format *text, *heading, *title;
    lxw_format *numbers[DIGITS_MAX][2]; /* by decimals; bold for the best */
    lxw_error error;                    /* the first one */
};

static void keep(struct book *book, lxw_error error)
{
    if (!book->error)
        book->error = error;
}

/* Text as one line of valid UTF-8: a control character would break the XML of a chart. */
static void put_text(struct book *book, lxw_worksheet *sheet, lxw_row_t row, lxw_col_t column,
                     const char *text, lxw_format *format)
{
    json_t *valid = nm_escape_json(text ? text : "");
    char *line = valid ? strdup(json_string_value(valid)) : NULL;

    json_decref(valid);
    if (!line) {
        keep(book, LXW_ERROR_MEMORY_MALLOC_FAILED);
        return;
    }
    for (char *p = line; *p; p++)
        if ((unsigned char)*p < ' ' || *p == '\177')
            *p = ' ';
    keep(book, worksheet_write_string(sheet, row, column, line, format));
    free(line);
}

static void put_number(struct book *book, lxw_worksheet *sheet, lxw_row_t row, lxw_col_t column,
                       double number, lxw_format *format)
{
    keep(book, worksheet_write_number(sheet, row, column, number, format));
}

/* Format for as many decimals as the number has when it is printed. */
static lxw_format *number_format(struct book *book, const char *printed, bool best)
{
    const char *point = strchr(printed, '.');
    size_t digits = point ? strlen(point + 1) : 0;
    char format[DIGITS_MAX + 4] = "0.";
    lxw_format **slot;

    if (digits >= DIGITS_MAX)
        digits = DIGITS_MAX - 1;
    slot = &book->numbers[digits][best];
    if (*slot != NULL)
        return *slot;
    *slot = workbook_add_format(book->workbook);
    memset(format + 2, '0', digits);
    format[digits ? digits + 2 : 1] = '\0';
    format_set_num_format(*slot, format);
    if (best)
        format_set_bold(*slot);
    return *slot;
}

static lxw_format *text_format(struct book *book, bool bold, double size)
{
    lxw_format *format = workbook_add_format(book->workbook);

    format_set_num_format_index(format, 49); /* "text" */
    if (bold)
        format_set_bold(format);
    if (size > 0)
        format_set_font_size(format, size);
    return format;
}

/* "3 smb copy-10000x2KB": letters that Excel takes, unique by the number, at most 31. */
static lxw_worksheet *add_sheet(struct book *book, const struct nm_grid *grid, size_t number,
                                char name[32])
{
    lxw_worksheet *sheet;

    snprintf(name, 32, "%zu %s %s", number, grid->names->protocol, grid->names->workload);
    for (char *p = name; *p; p++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789. _-", *p))
            *p = '-';
    sheet = workbook_add_worksheet(book->workbook, name);
    if (!sheet)
        keep(book, LXW_ERROR_MEMORY_MALLOC_FAILED);
    return sheet;
}

static void put_field(struct book *book, lxw_worksheet *sheet, const struct nm_table_doc *doc,
                      const struct nm_grid *grid, size_t row, size_t field, lxw_row_t at)
{
    double number = nm_field_number(doc, grid, row, field);
    bool best = nm_field_is_main(grid, field) &&
                nm_words_is_best(doc, grid, row, grid->fields[field].column);
    char text[NM_WORDS];

    nm_field_text(doc, grid, row, field, text);
    if (isfinite(number))
        put_number(book, sheet, at, (lxw_col_t)(field + 1), number,
                   number_format(book, text, best));
    else
        put_text(book, sheet, at, (lxw_col_t)(field + 1), text, book->text);
}

/* Marks of a row: "Upload: a; Download: ab". */
static void put_marks(struct book *book, lxw_worksheet *sheet, const struct nm_table_doc *doc,
                      const struct nm_grid *grid, size_t row, lxw_row_t at)
{
    char line[NM_WORDS] = "", marks[NM_WORDS];

    for (size_t k = 0; k < grid->n_columns; k++) {
        size_t used = strlen(line);

        if (*nm_notes_marks(doc, grid, nm_grid_cell(grid, row, k), marks))
            snprintf(line + used, sizeof(line) - used, "%s%.60s: %.30s", used ? "; " : "",
                     nm_words_column(doc, grid, k), marks);
    }
    if (*line)
        put_text(book, sheet, at, (lxw_col_t)(grid->n_fields + 1), line, book->text);
}

static void put_notes(struct book *book, lxw_worksheet *sheet, const struct nm_table_doc *doc,
                      const struct nm_grid *grid, lxw_row_t at)
{
    char text[NM_WORDS + 8];

    for (size_t i = 0; i < grid->n_notes; i++) {
        snprintf(text, sizeof(text), "(%c) %.500s", (char)('a' + i), grid->notes[i]);
        put_text(book, sheet, at++, 0, text, book->text);
    }
    for (size_t i = 0; nm_notes_sentence(doc, grid, i, text); i++)
        put_text(book, sheet, at++, 0, text, book->text);
}

/* Bars for volumes, lines over steps; everything by reference to the cells. */
static void put_chart(struct book *book, lxw_worksheet *sheet, const char *name,
                      const struct nm_grid *grid, lxw_row_t head)
{
    lxw_row_t first = head + 1, last = head + (lxw_row_t)grid->n_rows;
    lxw_chart *chart =
        workbook_add_chart(book->workbook, grid->by_step ? LXW_CHART_LINE : LXW_CHART_COLUMN);
    lxw_chart_options place = {.x_scale = 1.5, .y_scale = 1.3};

    if (!chart) {
        keep(book, LXW_ERROR_MEMORY_MALLOC_FAILED);
        return;
    }
    for (size_t k = 0; k < grid->n_fields; k++) {
        lxw_col_t column = (lxw_col_t)(k + 1);
        lxw_chart_series *series;

        if (!nm_field_is_main(grid, k))
            continue;
        series = chart_add_series(chart, NULL, NULL);
        chart_series_set_name_range(series, name, head, column);
        chart_series_set_categories(series, name, first, 0, last, 0);
        chart_series_set_values(series, name, first, column, last, column);
    }
    chart_title_set_name_range(chart, name, 1, 0);
    chart_axis_set_name(chart->y_axis, "MB/s");
    keep(book,
         worksheet_insert_chart_opt(sheet, head, (lxw_col_t)(grid->n_fields + 3), chart, &place));
}

static bool has_rate(const struct nm_table_doc *doc, const struct nm_grid *grid)
{
    for (size_t row = 0; row < grid->n_rows; row++)
        for (size_t k = 0; k < grid->n_fields; k++)
            if (nm_field_is_main(grid, k) && isfinite(nm_field_number(doc, grid, row, k)))
                return true;
    return false;
}

static void put_table(struct book *book, const struct nm_table_doc *doc, const struct nm_grid *grid,
                      size_t number)
{
    char name[32], text[NM_WORDS];
    lxw_worksheet *sheet = add_sheet(book, grid, number, name);
    lxw_row_t head = 5, at = head + 1;
    size_t width = 10;

    if (!sheet)
        return;
    put_text(book, sheet, 0, 0, nm_words_device(doc, grid, text), book->heading);
    put_text(book, sheet, 1, 0, nm_words_title(doc, grid, text), book->title);
    put_text(book, sheet, 2, 0, nm_words_subtitle(doc, grid, text), book->text);
    if (grid->variant)
        put_text(book, sheet, 3, 0, grid->variant, book->text);
    put_text(book, sheet, head, 0, nm_words_rows(doc, grid), book->heading);
    for (size_t k = 0; k < grid->n_fields; k++)
        put_text(book, sheet, head, (lxw_col_t)(k + 1), nm_field_title(doc, grid, k, text),
                 book->heading);
    for (size_t row = 0; row < grid->n_rows; row++, at++) {
        nm_words_row(doc, grid, row, text);
        width = nm_escape_width(text) > width ? nm_escape_width(text) : width;
        put_text(book, sheet, at, 0, text, book->text);
        for (size_t k = 0; k < grid->n_fields; k++)
            put_field(book, sheet, doc, grid, row, k, at);
        put_marks(book, sheet, doc, grid, row, at);
    }
    put_notes(book, sheet, doc, grid, at + 1);
    keep(book, worksheet_set_column(sheet, 0, 0,
                                    (double)(width < LABEL_MAX ? width : LABEL_MAX) + 2, NULL));
    keep(book, worksheet_set_column(sheet, 1, (lxw_col_t)grid->n_fields, 14, NULL));
    if (has_rate(doc, grid))
        put_chart(book, sheet, name, grid, head);
}

static void put_trial(struct book *book, lxw_worksheet *sheet, const struct nm_cell *cell,
                      const struct nm_trial *trial, lxw_row_t row)
{
    const char *texts[] = {cell->nas,
                           cell->firmware,
                           cell->volume,
                           cell->kind,
                           cell->protocol,
                           cell->workload,
                           cell->phase,
                           trial->run,
                           nm_status_name(trial->status),
                           trial->reason ? nm_reason_name(trial->reason) : "",
                           trial->flags};
    lxw_col_t column = 0;
    bool moved = trial->status == NM_STATUS_OK && trial->duration_ns;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++, column++)
        put_text(book, sheet, row, column, texts[i], book->text);
    put_number(book, sheet, row, column++, trial->pass, NULL);
    if (!moved)
        return;
    put_number(book, sheet, row, column++, (double)trial->bytes, NULL);
    put_number(book, sheet, row, column++, (double)trial->duration_ns / 1e9, NULL);
    if (trial->bytes)
        put_number(book, sheet, row, column,
                   (double)trial->bytes * 1e3 / (double)trial->duration_ns, NULL);
}

static void put_trials(struct book *book, const struct nm_cells *cells)
{
    static const char *const heads[] = {"nas",      "firmware", "volume", "kind",    "protocol",
                                        "workload", "phase",    "run",    "status",  "reason",
                                        "flags",    "pass",     "bytes",  "seconds", "MB/s"};
    lxw_worksheet *sheet = workbook_add_worksheet(book->workbook, "Trials");
    lxw_row_t row = 1;

    if (!sheet) {
        keep(book, LXW_ERROR_MEMORY_MALLOC_FAILED);
        return;
    }
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        put_text(book, sheet, 0, (lxw_col_t)i, heads[i], book->heading);
    for (size_t i = 0; i < cells->count; i++)
        for (size_t k = 0; k < cells->items[i].n_trials; k++)
            put_trial(book, sheet, &cells->items[i], &cells->items[i].trials[k], row++);
    worksheet_freeze_panes(sheet, 1, 0);
    keep(book, worksheet_set_column(sheet, 0, 14, 14, NULL));
}

/* Fills the workbook and writes it to path. */
static int make_book(const struct nm_cells *cells, const struct nm_table_doc *doc, const char *path,
                     struct nm_error *err)
{
    struct book book = {.workbook = workbook_new(path)};
    lxw_error closed;

    if (!book.workbook)
        return nm_error_no_memory(err);
    book.text = text_format(&book, false, 0);
    book.heading = text_format(&book, true, 0);
    book.title = text_format(&book, true, 14);
    for (size_t i = 0; i < doc->grids->count; i++)
        put_table(&book, doc, &doc->grids->items[i], i + 1);
    put_trials(&book, cells);
    closed = workbook_close(book.workbook);
    keep(&book, closed);
    if (book.error)
        return nm_error_set(err, -EIO, NM_REASON_INTERNAL, "making the workbook: %s",
                            lxw_strerror(book.error));
    return 0;
}

static int copy(int fd, FILE *out, struct nm_error *err)
{
    char buffer[65536];
    ssize_t n;

    while ((n = read(fd, buffer, sizeof(buffer))) > 0)
        if (fwrite(buffer, 1, (size_t)n, out) != (size_t)n)
            return nm_error_errno(err, errno ? -errno : -EIO, "export: writing failed");
    return n < 0 ? nm_error_errno(err, -errno, "export: reading the workbook failed") : 0;
}

static int write_xlsx(struct nm_store *store, const struct nm_cells *cells, FILE *out,
                      struct nm_error *err)
{
    const struct nm_table_style style = {.by = NM_TABLE_BY_VOLUME, .digits = -1};
    struct nm_table_doc doc = {.style = &style, .language = nm_language_find("en")};
    struct nm_grids *grids = NULL;
    char path[32];
    int fd = memfd_create("workbook.xlsx", MFD_CLOEXEC), r;

    (void)store;
    if (fd < 0)
        return nm_error_errno(err, -errno, "export: no memory for a workbook");
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    r = nm_grids_finished(cells, &style, doc.language, true, &grids, err);
    doc.grids = grids;
    if (r == 0)
        r = make_book(cells, &doc, path, err);
    if (r == 0)
        r = copy(fd, out, err);
    nm_grids_free(grids);
    close(fd);
    return r;
}

const struct nm_export_format nm_export_xlsx = {
    .name = "xlsx",
    .help = "workbook: a sheet with a chart for every table, and all trials",
    .binary = true,
    .write = write_xlsx,
};
