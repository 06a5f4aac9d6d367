/* The texts of a table: titles, labels, numbers (table_grid.h).
 *
 * Names from outside (labels, volumes, firmware) are passed through as they are: escaping is the
 * format's business.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "table_grid.h"

#include "units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct word {
    const char *name, *text;
};

static const struct word kinds[] = {
    {"single", NM_N("Single volume")},
    {"raid0", "RAID0"},
    {"raid1", "RAID1"},
    {"raid5", "RAID5"},
    {"raid6", "RAID6"},
    {"raid10", "RAID10"},
    {"compressed", NM_N("RAID 0 (compressed folder)")},
    {"encrypted", NM_N("Single (encrypted volume)")},
    {"usb", NM_N("USB 3.0 disk")},
    {NULL, NULL},
};

static const struct word protocols[] = {
    {"smb", "SMB"},           {"iscsi", "iSCSI"}, {"nfs", "NFS"},
    {"local", NM_N("local")}, {"http", "HTTP"},   {NULL, NULL},
};

static const struct word phases[] = {
    {"upload", NM_N("Upload")},
    {"download", NM_N("Download")},
    {"write", NM_N("Write")},
    {"read", NM_N("Read")},
    {"write_char", NM_N("Write, per character")},
    {"write_block", NM_N("Write, block")},
    {"rewrite", NM_N("Rewrite")},
    {"read_char", NM_N("Read, per character")},
    {"read_block", NM_N("Read, block")},
    {"seeks", NM_N("Seeks")},
    {NULL, NULL},
};

static const struct word reasons[] = {
    {"auth", NM_N("authentication")},
    {"not_found", NM_N("not found")},
    {"read_only", NM_N("read-only")},
    {"no_space", NM_N("no space")},
    {"timeout", NM_N("timeout")},
    {"connection_lost", NM_N("connection lost")},
    {"unsupported", NM_N("unsupported")},
    {"corrupt", NM_N("data damaged")},
    {"protected", NM_N("protected")},
    {"client_limit", NM_N("limit of the client")},
    {"aborted", NM_N("aborted")},
    {"internal", NM_N("internal error")},
    {NULL, NULL},
};

/* Translated word for a name, the name itself when there is none. */
static const char *word_for(const struct nm_language *language, const struct word *words,
                            const char *name)
{
    for (; words->name; words++)
        if (!strcmp(words->name, name))
            return nm_tr(language, words->text);
    return name;
}

const char *nm_words_reason(const struct nm_language *language, enum nm_reason reason)
{
    return word_for(language, reasons, nm_reason_name(reason));
}

const char *nm_words_protocol(const struct nm_language *language, const char *protocol)
{
    return word_for(language, protocols, protocol);
}

const char *nm_words_phase(const struct nm_table_doc *doc, const char *phase)
{
    return word_for(doc->language, phases, phase);
}

const char *nm_words_column(const struct nm_table_doc *doc, const struct nm_grid *grid,
                            size_t column)
{
    const char *phase = grid->columns[column]->phase;

    return nm_words_phase(doc, phase + (grid->by_step ? nm_grid_step(phase) + 1 : 0));
}

const char *nm_words_label(const struct nm_language *language, const struct nm_cell *cell,
                           char out[NM_WORDS])
{
    const char *interface = cell->interface ? cell->interface : "";

    if (cell->label && *cell->label)
        return cell->label;
    if (!strcmp(cell->kind, "other"))
        return cell->volume;
    if (strcmp(cell->kind, "usb") || strncmp(interface, "USB", 3))
        return word_for(language, kinds, cell->kind);
    snprintf(out, NM_WORDS, nm_tr(language, "%s disk"), interface);
    return out;
}

static const char *unit_of(const struct nm_table_doc *doc)
{
    return doc->style->mebi ? "MiB/s" : "MB/s";
}

bool nm_words_same_device(const struct nm_table_doc *doc, const struct nm_grid *a,
                          const struct nm_grid *b)
{
    const struct nm_cell *x = a->names, *y = b->names;

    return !strcmp(x->nas, y->nas) && x->imported == y->imported &&
           (doc->style->by == NM_TABLE_BY_FIRMWARE ||
            (!strcmp(x->firmware, y->firmware) && x->campaign_id == y->campaign_id));
}

const char *nm_words_device(const struct nm_table_doc *doc, const struct nm_grid *grid,
                            char out[NM_WORDS])
{
    if (doc->style->by == NM_TABLE_BY_FIRMWARE)
        snprintf(out, NM_WORDS, "%s", grid->names->nas);
    else
        snprintf(out, NM_WORDS, nm_tr(doc->language, "%s, firmware %s"), grid->names->nas,
                 grid->names->firmware);
    return out;
}

/* "1000x2MB" -> "1000x2 MB", "1x2GB" alone -> "2 GB". Returns the size of one file, 0 = unreadable.
 */
static uint64_t spell_group(const char *group, size_t length, bool alone, unsigned *ret_count,
                            char *out, size_t size)
{
    char text[64];
    unsigned count = 0;
    int at = 0;
    size_t digits;
    uint64_t bytes = 0;

    snprintf(text, sizeof(text), "%.*s", (int)length, group);
    if (sscanf(text, "%9ux%n", &count, &at) != 1 || !at ||
        nm_units_parse_bytes(text + at, &bytes, NULL) < 0) {
        snprintf(out, size, "%s", text);
        return 0;
    }
    digits = strspn(text + at, "0123456789.");
    if (alone && count == 1)
        snprintf(out, size, "%.*s %s", (int)digits, text + at, text + at + digits);
    else
        snprintf(out, size, "%ux%.*s %s", count, (int)digits, text + at, text + at + digits);
    *ret_count = count;
    return bytes;
}

static const char *copy_title(const struct nm_language *language, const char *groups,
                              char out[NM_WORDS])
{
    static const uint64_t large_bytes = 100 * UINT64_C(1000000);
    char list[NM_WORDS / 2] = "";
    bool alone = !strchr(groups, ',');
    uint64_t bytes = 0;
    unsigned count = 0;
    const char *form;

    while (*groups) {
        size_t length = strcspn(groups, ","), used = strlen(list);

        if (used)
            used += (size_t)snprintf(list + used, sizeof(list) - used, ", ");
        bytes = spell_group(groups, length, alone, &count, list + used, sizeof(list) - used);
        groups += length + (groups[length] == ',');
        if (strlen(list) + 80 > sizeof(list))
            break;
    }
    form = NM_N("Copying files (%s)");
    if (alone && count == 1)
        form =
            bytes >= large_bytes ? NM_N("Copying a large file (%s)") : NM_N("Copying a file (%s)");
    else if (alone && bytes && bytes < large_bytes)
        form = NM_N("Copying small files (%s)");
        /* Every form has one %s; catalogues are checked for that when they are built. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(out, NM_WORDS, nm_tr(language, form), list);
#pragma GCC diagnostic pop
    return out;
}

const char *nm_words_title(const struct nm_table_doc *doc, const struct nm_grid *grid,
                           char out[NM_WORDS])
{
    static const char copy[] = "copy:";
    const char *workload = grid->names->workload;

    if (!strncmp(workload, copy, sizeof(copy) - 1))
        return copy_title(doc->language, workload + sizeof(copy) - 1, out);
    snprintf(out, NM_WORDS, "%s", workload);
    return out;
}

const char *nm_words_subtitle(const struct nm_table_doc *doc, const struct nm_grid *grid,
                              char out[NM_WORDS])
{
    const struct nm_language *language = doc->language;
    const char *protocol = nm_words_protocol(language, grid->names->protocol);
    char buffer[NM_WORDS];
    const char *label = nm_words_label(language, grid->names, buffer);

    switch (grid->by_step ? NM_TABLE_BY_FIRMWARE : doc->style->by) {
    case NM_TABLE_BY_VOLUME:
        snprintf(out, NM_WORDS, nm_tr(language, "Protocol: %s [%s]"), protocol, unit_of(doc));
        break;
    case NM_TABLE_BY_PROTOCOL:
        snprintf(out, NM_WORDS, nm_tr(language, "Volume: %s [%s]"), label, unit_of(doc));
        break;
    case NM_TABLE_BY_FIRMWARE:
        snprintf(out, NM_WORDS, nm_tr(language, "Volume: %s, protocol: %s [%s]"), label, protocol,
                 unit_of(doc));
        break;
    }
    return out;
}

const char *nm_words_rows(const struct nm_table_doc *doc, const struct nm_grid *grid)
{
    static const char *const heads[] = {
        [NM_TABLE_BY_VOLUME] = NM_N("Volume"),
        [NM_TABLE_BY_PROTOCOL] = NM_N("Protocol"),
        [NM_TABLE_BY_FIRMWARE] = NM_N("Firmware"),
    };

    return nm_tr(doc->language, grid->by_step ? NM_N("Step") : heads[doc->style->by]);
}

/* Another volume of the device goes by the same label. The first table of a device that has a row
 * per volume, and its twins, have them all. */
static bool label_is_taken(const struct nm_table_doc *doc, const struct nm_grid *grid,
                           const struct nm_cell *cell, const char *label)
{
    const struct nm_grid *first = grid, *end = doc->grids->items + doc->grids->count;
    char other[NM_WORDS];

    while (first > doc->grids->items && nm_words_same_device(doc, first - 1, grid))
        first--;
    while (first->by_step)
        first++;
    do {
        for (size_t i = 0; i < first->n_rows; i++)
            if (strcmp(first->rows[i]->volume, cell->volume) &&
                !strcmp(nm_words_label(doc->language, first->rows[i], other), label))
                return true;
    } while (++first < end && first->is_twin);
    return false;
}

const char *nm_words_row(const struct nm_table_doc *doc, const struct nm_grid *grid, size_t row,
                         char out[NM_WORDS])
{
    const struct nm_cell *cell = grid->rows[row];
    char buffer[NM_WORDS];
    const char *label;

    if (grid->by_step) {
        snprintf(out, NM_WORDS, "%.*s", (int)nm_grid_step(cell->phase), cell->phase);
        return out;
    }
    switch (doc->style->by) {
    case NM_TABLE_BY_PROTOCOL:
        snprintf(out, NM_WORDS, "%s", nm_words_protocol(doc->language, cell->protocol));
        break;
    case NM_TABLE_BY_FIRMWARE: snprintf(out, NM_WORDS, "%s", cell->firmware); break;
    case NM_TABLE_BY_VOLUME:
        label = nm_words_label(doc->language, cell, buffer);
        if (label_is_taken(doc, grid, cell, label))
            snprintf(out, NM_WORDS, "%s (%s)", label, cell->volume);
        else
            snprintf(out, NM_WORDS, "%s", label);
        break;
    }
    return out;
}

/* What a cell is judged by: bytes per second where bytes moved, else its first metric that has a
 * direction. */
struct headline {
    bool is_rate, lower_is_better;
    double value; /* NAN = none */
    char unit[16];
};

static struct headline headline_of(const struct nm_cell *cell)
{
    struct headline headline = {.value = NAN};
    struct nm_metrics metrics;

    if (!cell || !cell->n_ok)
        return headline;
    if (isfinite(cell->bytes_per_s)) {
        headline.is_rate = true;
        headline.value = cell->bytes_per_s;
        return headline;
    }
    nm_cell_metrics(cell, &metrics);
    for (uint32_t i = 0; i < metrics.count; i++)
        if (metrics.items[i].better != NM_BETTER_NONE) {
            headline.value = metrics.items[i].value;
            headline.lower_is_better = metrics.items[i].better == NM_BETTER_LOWER;
            memcpy(headline.unit, metrics.items[i].unit, sizeof(headline.unit));
            break;
        }
    return headline;
}

bool nm_words_is_number(const struct nm_cell *cell)
{
    return isfinite(headline_of(cell).value);
}

/* "47.3 MB/s" as an imported table printed it -> "47.3"; false when that is not the unit asked for,
 * or there is more than one trial to speak for. */
static bool as_printed(const struct nm_table_doc *doc, const struct nm_cell *cell,
                       char out[NM_WORDS])
{
    const char *text = NULL;
    size_t length;
    char *point;

    for (size_t i = 0; i < cell->n_trials && cell->n_ok == 1; i++)
        if (cell->trials[i].status == NM_STATUS_OK)
            text = cell->trials[i].source_text;
    if (!text || doc->style->digits >= 0)
        return false;
    length = strspn(text, "0123456789.");
    if (!length || text[length] != ' ' || strcmp(text + length + 1, unit_of(doc)))
        return false;
    snprintf(out, NM_WORDS, "%.*s", (int)length, text);
    point = strchr(out, '.');
    if (point)
        *point = nm_language_decimal_sign(doc->language);
    return true;
}

static const char *metric_text(const struct nm_table_doc *doc, const struct headline *headline,
                               char out[NM_WORDS])
{
    char sign = nm_language_decimal_sign(doc->language), *point;

    if (!strcmp(headline->unit, "ns")) {
        nm_units_format_duration((uint64_t)llround(headline->value), out, NM_WORDS);
        point = strchr(out, '.');
        if (point)
            *point = sign;
        return out;
    }
    nm_units_format_rate(headline->value, doc->style->digits, sign, out, NM_WORDS);
    if (!strcmp(headline->unit, "1/s"))
        snprintf(out + strlen(out), NM_WORDS - strlen(out), "/s");
    else if (*headline->unit)
        snprintf(out + strlen(out), NM_WORDS - strlen(out), " %s", headline->unit);
    return out;
}

static const char *status_text(const struct nm_table_doc *doc, const struct nm_cell *cell,
                               char out[NM_WORDS])
{
    static const char *const texts[] = {
        [NM_CELL_FAILED] = NM_N("failed"),           [NM_CELL_NA] = NM_N("n/a"),
        [NM_CELL_UNSUPPORTED] = NM_N("unsupported"), [NM_CELL_MISSING] = NM_N("not run"),
        [NM_CELL_TOO_SHORT] = NM_N("too short"),     [NM_CELL_ABORTED] = NM_N("aborted"),
    };
    enum nm_cell_status status = cell ? cell->status : NM_CELL_MISSING;
    enum nm_reason reason = NM_REASON_NONE;

    if (status == NM_CELL_OK || status == NM_CELL_PARTIAL) {
        snprintf(out, NM_WORDS, "?"); /* succeeded, but has no number that could be shown */
        return out;
    }
    for (size_t i = 0; status == NM_CELL_FAILED && i < cell->n_trials; i++)
        if (cell->trials[i].status == NM_STATUS_FAILED)
            reason = cell->trials[i].reason;
    if (reason != NM_REASON_NONE)
        snprintf(out, NM_WORDS, "%s (%s)", nm_tr(doc->language, texts[status]),
                 nm_words_reason(doc->language, reason));
    else
        snprintf(out, NM_WORDS, "%s", nm_tr(doc->language, texts[status]));
    return out;
}

const char *nm_words_value(const struct nm_table_doc *doc, const struct nm_cell *cell,
                           char out[NM_WORDS])
{
    struct headline headline = headline_of(cell);

    if (!isfinite(headline.value))
        return status_text(doc, cell, out);
    if (!headline.is_rate)
        return metric_text(doc, &headline, out);
    if (as_printed(doc, cell, out))
        return out;
    return nm_units_format_rate(headline.value / (doc->style->mebi ? 1048576.0 : 1e6),
                                doc->style->digits, nm_language_decimal_sign(doc->language), out,
                                NM_WORDS);
}

double nm_words_half_range(const struct nm_cell *cell)
{
    if (!cell || cell->n_ok < 2 || !isfinite(cell->bytes_per_s))
        return NAN;
    return (cell->max_bytes_per_s - cell->min_bytes_per_s) / 2 / cell->bytes_per_s;
}

const char *nm_words_percent(const struct nm_language *language, double fraction,
                             char out[NM_WORDS])
{
    char number[40];

    nm_units_format_rate(100 * fraction, 1, nm_language_decimal_sign(language), number,
                         sizeof(number));
    snprintf(out, NM_WORDS, "\u00b1%s%%", number);
    return out;
}

const char *nm_words_spread(const struct nm_table_doc *doc, const struct nm_cell *cell,
                            char out[NM_WORDS])
{
    double half = nm_words_half_range(cell);

    out[0] = '\0';
    return isfinite(half) ? nm_words_percent(doc->language, half, out) : out;
}

/* A number that came from a cache does not win over one that did not. */
static bool is_cached(const struct nm_cell *cell)
{
    static const char word[] = "cached";
    const char *at = cell->flags;

    while ((at = strstr(at, word))) {
        const char *end = at + sizeof(word) - 1;

        if ((at == cell->flags || at[-1] == ' ') && (!*end || *end == ' '))
            return true;
        at = end;
    }
    return false;
}

static bool is_better(const struct nm_cell *cell, const struct nm_cell *than)
{
    struct headline own = headline_of(cell), best = headline_of(than);

    if (!isfinite(best.value) || is_cached(cell) != is_cached(than))
        return !isfinite(best.value) || is_cached(than);
    return own.lower_is_better ? own.value < best.value : own.value > best.value;
}

int nm_words_find_best(struct nm_grid *grid, struct nm_pool *pool, struct nm_error *err)
{
    grid->best = nm_pool_alloc(pool, grid->n_columns * sizeof(*grid->best));
    if (!grid->best)
        return nm_error_errno(err, -ENOMEM, "table: out of memory");
    for (size_t column = 0; column < grid->n_columns; column++) {
        const struct nm_cell *best = NULL;
        size_t n = 0;

        for (size_t row = 0; row < grid->n_rows; row++) {
            const struct nm_cell *cell = nm_grid_cell(grid, row, column);

            if (!nm_words_is_number(cell))
                continue;
            n++;
            if (!best || is_better(cell, best))
                best = cell;
        }
        /* Of steps the largest block wins; that says nothing. */
        grid->best[column] = n > 1 && !grid->by_step ? best : NULL;
    }
    return 0;
}

bool nm_words_is_best(const struct nm_table_doc *doc, const struct nm_grid *grid, size_t row,
                      size_t column)
{
    const struct nm_cell *cell = nm_grid_cell(grid, row, column), *best = grid->best[column];
    char text[NM_WORDS], best_text[NM_WORDS];

    return best && nm_words_is_number(cell) && is_cached(cell) == is_cached(best) &&
           !strcmp(nm_words_value(doc, cell, text), nm_words_value(doc, best, best_text));
}
