/* The texts of a table: titles, labels, numbers (table_grid.h).
 *
 * Names from outside (labels, volumes, firmware) are passed through as they are: escaping is the
 * format's business.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "table_grid.h"

#include "steps.h"
#include "units.h"

#include <inttypes.h>
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
    {"create_sequential", NM_N("Create, in order")},
    {"stat_sequential", NM_N("Stat, in order")},
    {"list_sequential", NM_N("List, in order")},
    {"rename_sequential", NM_N("Rename, in order")},
    {"delete_sequential", NM_N("Delete, in order")},
    {"create_random", NM_N("Create, random")},
    {"stat_random", NM_N("Stat, random")},
    {"list_random", NM_N("List, random")},
    {"rename_random", NM_N("Rename, random")},
    {"delete_random", NM_N("Delete, random")},
    {"create_dirs_sequential", NM_N("Directories: create, in order")},
    {"stat_dirs_sequential", NM_N("Directories: stat, in order")},
    {"rename_dirs_sequential", NM_N("Directories: rename, in order")},
    {"delete_dirs_sequential", NM_N("Directories: delete, in order")},
    {"create_dirs_random", NM_N("Directories: create, random")},
    {"stat_dirs_random", NM_N("Directories: stat, random")},
    {"rename_dirs_random", NM_N("Directories: rename, random")},
    {"delete_dirs_random", NM_N("Directories: delete, random")},
    {"access", NM_N("Access time")},
    {"search", NM_N("Most players")},
    {"play", NM_N("Playback")},
    {"load", NM_N("Upload")},
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

/* Over a network the per-character phases move chunks: that is not what the original measures. */
static bool is_bonnie_like(const struct nm_table_doc *doc, const struct nm_grid *grid)
{
    bool local = !strcmp(grid->names->protocol, "local");

    for (size_t i = 0; doc->style->by == NM_TABLE_BY_PROTOCOL && i < grid->n_rows; i++)
        local &= !strcmp(grid->rows[i]->protocol, "local");
    return nm_cell_is_of(grid->names, "bonnie") && !grid->names->imported && !local;
}

const char *nm_words_title(const struct nm_table_doc *doc, const struct nm_grid *grid,
                           char out[NM_WORDS])
{
    static const char copy[] = "copy:";
    const char *workload = grid->names->workload;

    if (!strncmp(workload, copy, sizeof(copy) - 1))
        return copy_title(doc->language, workload + sizeof(copy) - 1, out);
    if (!is_bonnie_like(doc, grid))
        snprintf(out, NM_WORDS, "%s", workload);
    else if (nm_workload_key_is(workload, "bonnie"))
        snprintf(out, NM_WORDS, "bonnie-like%s", workload + strcspn(workload, ":"));
    else
        snprintf(out, NM_WORDS, "%s (bonnie-like)", workload);
    return out;
}

/* The unit in the head is that of rates. A table of other numbers only, which carry their own, has
 * none. */
static void drop_unit(const struct nm_grid *grid, char *subtitle)
{
    bool other = false;
    char *unit = strrchr(subtitle, '[');

    for (size_t i = 0; i < grid->n_columns; i++) {
        if (nm_words_is_rate(grid->numbers[i]))
            return;
        other |= grid->numbers[i] != NULL;
    }
    if (other && unit && unit > subtitle)
        unit[-1] = '\0';
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
    drop_unit(grid, out);
    return out;
}

/* "SEQ", what stands in the middle, and "Q4T1"; a step that leaves them to the plan has none. */
static void spell_queue(const struct nm_step *step, const char *block, char out[NM_WORDS])
{
    int used = snprintf(out, NM_WORDS, "%s%s%s", step->random ? "RND" : "SEQ", block,
                        step->depth || step->threads ? " " : "");

    if (step->depth)
        used += snprintf(out + used, NM_WORDS - (size_t)used, "Q%" PRIu32, step->depth);
    if (step->threads)
        snprintf(out + used, NM_WORDS - (size_t)used, "T%" PRIu32, step->threads);
}

const char *nm_words_common_step(const struct nm_grid *grid, char out[NM_WORDS])
{
    struct nm_step first, step;

    out[0] = '\0';
    if (nm_step_parse(grid->rows[0]->phase, &first, NULL) < 0)
        return out;
    for (size_t i = 1; i < grid->n_rows; i++)
        if (nm_step_parse(grid->rows[i]->phase, &step, NULL) < 0 || step.random != first.random ||
            step.depth != first.depth || step.threads != first.threads)
            return out;
    spell_queue(&first, "", out);
    return out;
}

const char *nm_words_rows(const struct nm_table_doc *doc, const struct nm_grid *grid)
{
    static const char *const heads[] = {
        [NM_TABLE_BY_VOLUME] = NM_N("Volume"),
        [NM_TABLE_BY_PROTOCOL] = NM_N("Protocol"),
        [NM_TABLE_BY_FIRMWARE] = NM_N("Firmware"),
    };

    if (grid->head)
        return grid->head;
    return nm_tr(doc->language, grid->by_step ? NM_N("Step") : heads[doc->style->by]);
}

/* "4 KiB" under a head that says the rest, else "RND4K Q32T1". */
static void spell_step(const struct nm_grid *grid, const char *phase, char out[NM_WORDS])
{
    static const struct {
        uint32_t bytes;
        const char *unit, *letter;
    } units[] = {{1u << 20, " MiB", "M"}, {1u << 10, " KiB", "K"}, {1, " B", "B"}};
    struct nm_step step;
    char block[24];
    size_t u = 0;
    bool common = *nm_words_common_step(grid, out);

    if (nm_step_parse(phase, &step, NULL) < 0) {
        snprintf(out, NM_WORDS, "%.*s", (int)nm_grid_step(phase), phase);
        return;
    }
    while (step.block_bytes % units[u].bytes)
        u++;
    snprintf(block, sizeof(block), "%" PRIu32 "%s", step.block_bytes / units[u].bytes,
             common ? units[u].unit : units[u].letter);
    if (common)
        snprintf(out, NM_WORDS, "%s", block);
    else
        spell_queue(&step, block, out);
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
        spell_step(grid, cell->phase, out);
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
