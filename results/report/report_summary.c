/* Section "summary": what was measured, the fastest of each workload, and what the numbers do not
 * say (report_page.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "report_page.h"

#include "../browse.h"
#include "clock.h"
#include "flags.h"
#include "units.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FLAGS_MAX 16

/* ---- facts */

static void fact(struct nm_report *report, const char *name, const char *text)
{
    if (!text || !*text)
        return;
    nm_report_element(report, "<dt>", nm_tr(report->language, name), "</dt>");
    nm_report_element(report, "<dd>", text, "</dd>\n");
}

static bool of_device(const struct nm_cell *device, const struct nm_cell *cell)
{
    return nm_report_same_device(device, cell);
}

/* "Single volume, RAID1": every volume, or protocol, of the device once. */
static void list_names(struct nm_report *report, const struct nm_cell *device, bool protocols)
{
    const struct nm_cells *cells = report->input->cells;
    char *list = NULL, text[NM_WORDS];
    size_t size, n = 0;
    FILE *out = open_memstream(&list, &size);

    for (size_t i = 0; out && i < cells->count; i++) {
        const struct nm_cell *cell = &cells->items[i];
        size_t k = 0;

        if (!of_device(device, cell))
            continue;
        for (; k < i; k++)
            if (of_device(device, &cells->items[k]) &&
                !strcmp(protocols ? cells->items[k].protocol : cells->items[k].volume,
                        protocols ? cell->protocol : cell->volume))
                break;
        if (k == i)
            fprintf(out, "%s%s", n++ ? ", " : "",
                    protocols ? nm_words_protocol(report->language, cell->protocol)
                              : nm_words_label(report->language, cell, text));
    }
    if (out && !fclose(out))
        fact(report, protocols ? NM_N("Protocols") : NM_N("Volumes"), list);
    free(list);
}

/* First and last day of its trials. */
static void period(struct nm_report *report, const struct nm_cell *device)
{
    const struct nm_cells *cells = report->input->cells;
    uint64_t first_ns = UINT64_MAX, last_ns = 0;
    char first[24], last[24];

    for (size_t i = 0; i < cells->count; i++)
        for (size_t k = 0; of_device(device, &cells->items[i]) && k < cells->items[i].n_trials;
             k++) {
            uint64_t at_ns = cells->items[i].trials[k].start_utc_ns;

            first_ns = at_ns && at_ns < first_ns ? at_ns : first_ns;
            last_ns = at_ns > last_ns ? at_ns : last_ns;
        }
    if (!last_ns || device->imported)
        return;
    nm_clock_format_utc(first_ns, first);
    nm_clock_format_utc(last_ns, last);
    first[10] = last[10] = '\0'; /* the day */
    nm_report_element(report, "<dt>", nm_tr(report->language, "Measured on"), "</dt>");
    nm_report_format(report, "<dd>", "</dd>\n", "%s%s%s (UTC)", first,
                     strcmp(first, last) ? " \u2013 " : "", strcmp(first, last) ? last : "");
}

static void client(struct nm_report *report, const struct nm_cell *device)
{
    static const char *const names[] = {"client.cpu", "client.os", "client.kernel"};
    char text[NM_WORDS] = "";

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = nm_conditions_get(device->conditions, names[i]);
        size_t used = strlen(text);

        if (value)
            snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "", value);
    }
    fact(report, NM_N("Client"), text);
}

/* What the store knows of the device itself. */
static int device_facts(struct nm_report *report, const struct nm_cell *device,
                        struct nm_error *err)
{
    const char *word = NULL;
    struct nm_select *select = NULL;
    json_t *rows = NULL, *row;
    char text[NM_WORDS], bytes[32];
    size_t i;
    char *nas = NULL;
    int r;

    if (asprintf(&nas, "nas=%s", device->nas) < 0)
        return nm_error_errno(err, -ENOMEM, "report: out of memory");
    word = nas;
    r = nm_select_parse(&word, 1, &select, err);
    if (r == 0)
        r = nm_browse_nas(report->input->store, select, &rows, err);
    json_array_foreach(rows, i, row)
    {
        const char *vendor = json_string_value(json_object_get(row, "vendor"));
        const char *model = json_string_value(json_object_get(row, "model"));
        uint64_t ram = (uint64_t)json_integer_value(json_object_get(row, "ram_bytes"));
        const char *date = json_string_value(json_object_get(row, "firmware_date"));

        if (strcmp(json_string_value(json_object_get(row, "firmware")), device->firmware))
            continue;
        snprintf(text, sizeof(text), "%s%s%s", vendor ? vendor : "", vendor && model ? " " : "",
                 model ? model : "");
        fact(report, NM_N("Model"), text);
        snprintf(text, sizeof(text), "%s%s%s%s", device->firmware, date ? " (" : "",
                 date ? date : "", date ? ")" : "");
        fact(report, NM_N("Firmware"), text);
        fact(report, NM_N("Disks"), json_string_value(json_object_get(row, "disks")));
        if (ram)
            fact(report, NM_N("Memory"), nm_units_format_bytes(ram, bytes, sizeof(bytes)));
    }
    json_decref(rows);
    nm_select_free(select);
    free(nas);
    return r;
}

/* ---- the fastest */

static bool has_flag(const struct nm_cell *cell, const char *flag)
{
    char padded[sizeof(cell->flags) + 2], word[40];

    snprintf(padded, sizeof(padded), " %s ", cell->flags);
    snprintf(word, sizeof(word), " %s ", flag);
    return strstr(padded, word);
}

static bool counts(const struct nm_cell *device, const struct nm_cell *like,
                   const struct nm_cell *cell)
{
    return of_device(device, cell) && !strcmp(like->workload, cell->workload) &&
           !strcmp(like->phase, cell->phase) && isfinite(cell->bytes_per_s) &&
           !has_flag(cell, "cached");
}

/* Of the cells of this workload and phase the fastest one, without `but`. */
static const struct nm_cell *fastest(const struct nm_report *report, const struct nm_cell *device,
                                     const struct nm_cell *like, const struct nm_cell *but)
{
    const struct nm_cells *cells = report->input->cells;
    const struct nm_cell *best = NULL;

    for (size_t i = 0; i < cells->count; i++)
        if (&cells->items[i] != but && counts(device, like, &cells->items[i]) &&
            (!best || cells->items[i].bytes_per_s > best->bytes_per_s))
            best = &cells->items[i];
    return best;
}

static void say_fastest(struct nm_report *report, const struct nm_cell *device,
                        const struct nm_cell *like)
{
    const struct nm_cell *best = fastest(report, device, like, NULL);
    const struct nm_cell *next = best ? fastest(report, device, like, best) : NULL;
    char title[NM_WORDS], value[NM_WORDS], place[NM_WORDS], other[NM_WORDS];
    const char *phase = nm_words_phase(&report->doc, like->phase);

    if (!best)
        return;
    nm_report_title(report, best, title);
    nm_words_value(&report->doc, best, value);
    nm_report_place(report, best, place);
    if (next)
        nm_report_format(report, "<li>", "",
                         nm_tr(report->language, "%s, %s: fastest %s MB/s (%s)."), title, phase,
                         value, place);
    else
        nm_report_format(report, "<li>", "", nm_tr(report->language, "%s, %s: %s MB/s (%s)."),
                         title, phase, value, place);
    if (*best->flags)
        nm_report_format(report, " ", "", nm_tr(report->language, "Flags: %s."), best->flags);
    if (next && best->n_ok > 1 && next->n_ok > 1 && next->max_bytes_per_s >= best->min_bytes_per_s)
        nm_report_format(report, " ", "",
                         nm_tr(report->language, "Not clearly ahead of %s: their trials overlap."),
                         nm_report_place(report, next, other));
    fputs("</li>\n", report->out);
}

static void say_all_fastest(struct nm_report *report, const struct nm_cell *device)
{
    const struct nm_cells *cells = report->input->cells;

    fputs("<ul>\n", report->out);
    for (size_t i = 0; i < cells->count; i++) {
        const struct nm_cell *cell = &cells->items[i];
        size_t k = 0;

        if (!of_device(device, cell) || nm_grid_step(cell->phase))
            continue;
        while (k < i && (!of_device(device, &cells->items[k]) ||
                         strcmp(cells->items[k].workload, cell->workload) ||
                         strcmp(cells->items[k].phase, cell->phase)))
            k++;
        if (k == i)
            say_fastest(report, device, cell);
    }
    fputs("</ul>\n", report->out);
}

/* ---- limits */

struct census {
    size_t n_numbers, n_min, n_max; /* cells with a number, trials of one */
    size_t by_status[NM_CELL_ABORTED + 1];
    size_t n_void;
    double widest; /* half range, fraction */
    const struct nm_cell *widest_cell;
    const char *run;
    bool several_runs, imported;
    struct {
        char word[40];
        size_t n;
    } flags[FLAGS_MAX];
    size_t n_flags;
};

static void count_flags(struct census *census, const struct nm_cell *cell)
{
    char copy[sizeof(cell->flags)], *rest = copy, *word;

    memcpy(copy, cell->flags, sizeof(copy));
    while ((word = strsep(&rest, " "))) {
        size_t i = 0;

        if (!*word)
            continue;
        while (i < census->n_flags && strcmp(census->flags[i].word, word))
            i++;
        if (i == FLAGS_MAX)
            continue;
        if (i == census->n_flags)
            snprintf(census->flags[census->n_flags++].word, sizeof(census->flags[0].word), "%s",
                     word);
        census->flags[i].n++;
    }
}

static void count_cell(struct census *census, const struct nm_cell *cell)
{
    double half = nm_words_half_range(cell);

    census->by_status[cell->status]++;
    for (size_t i = 0; i < cell->n_trials; i++) {
        census->n_void += cell->trials[i].status == NM_STATUS_VOID;
        if (cell->trials[i].status != NM_STATUS_OK)
            continue;
        census->several_runs |= census->run && strcmp(census->run, cell->trials[i].run) != 0;
        census->run = cell->trials[i].run;
    }
    if (!cell->n_ok)
        return;
    census->n_min = !census->n_numbers || cell->n_ok < census->n_min ? cell->n_ok : census->n_min;
    census->n_max = cell->n_ok > census->n_max ? cell->n_ok : census->n_max;
    census->n_numbers++;
    if (isfinite(half) && !(half <= census->widest)) {
        census->widest = half;
        census->widest_cell = cell;
    }
    count_flags(census, cell);
}

static void say_trials(struct nm_report *report, const struct census *census)
{
    const struct nm_language *language = report->language;
    char spread[NM_WORDS], title[NM_WORDS], place[NM_WORDS];

    if (census->n_max == 1)
        nm_report_element(report, "<li>",
                          nm_tr(language, "One trial for each number: how much they scatter is not "
                                          "known, and no difference is proven."),
                          "</li>\n");
    else if (census->n_min < 3)
        nm_report_format(report, "<li>", "</li>\n",
                         nm_tr(language, "%zu to %zu trials for each number; of fewer than three "
                                         "nothing can be proven."),
                         census->n_min, census->n_max);
    else if (census->n_min < census->n_max)
        nm_report_format(report, "<li>", "</li>\n",
                         nm_tr(language, "%zu to %zu trials for each number, one in each pass."),
                         census->n_min, census->n_max);
    else
        nm_report_format(report, "<li>", "</li>\n",
                         nm_tr(language, "%zu trials for each number, one in each pass."),
                         census->n_max);
    if (census->widest_cell)
        nm_report_format(report, "<li>", "</li>\n",
                         nm_tr(language, "Widest scatter: half of the range is %s (%s, %s, %s)."),
                         nm_words_percent(language, census->widest, spread),
                         nm_report_title(report, census->widest_cell, title),
                         nm_words_phase(&report->doc, census->widest_cell->phase),
                         nm_report_place(report, census->widest_cell, place));
    if (!census->several_runs && !census->imported)
        nm_report_element(report, "<li>",
                          nm_tr(language, "All of it was measured in one run: what changes from "
                                          "one day to the next is not in these numbers."),
                          "</li>\n");
}

static void say_flags(struct nm_report *report, const struct census *census)
{
    for (size_t i = 0; i < census->n_flags; i++) {
        const char *legend = nm_flag_legend(census->flags[i].word);

        nm_report_format(report, "<li>", "</li>\n",
                         nm_tr(report->language, "%zu of %zu numbers: %s."), census->flags[i].n,
                         census->n_numbers,
                         legend ? nm_tr(report->language, legend) : census->flags[i].word);
    }
}

static void say_gaps(struct nm_report *report, const struct census *census)
{
    static const struct {
        enum nm_cell_status status;
        const char *text;
    } gaps[] = {
        {NM_CELL_FAILED, NM_N("failed")},   {NM_CELL_PARTIAL, NM_N("failed in part")},
        {NM_CELL_ABORTED, NM_N("aborted")}, {NM_CELL_TOO_SHORT, NM_N("too short")},
        {NM_CELL_MISSING, NM_N("not run")}, {NM_CELL_UNSUPPORTED, NM_N("unsupported")},
        {NM_CELL_NA, NM_N("n/a")},
    };
    char list[NM_WORDS] = "";

    for (size_t i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++) {
        size_t n = census->by_status[gaps[i].status], used = strlen(list);

        if (n)
            snprintf(list + used, sizeof(list) - used, "%s%s %zu", used ? ", " : "",
                     nm_tr(report->language, gaps[i].text), n);
    }
    if (*list)
        nm_report_format(report, "<li>", "</li>\n",
                         nm_tr(report->language, "Without a full number: %s; see \u201c%s\u201d."),
                         list, nm_tr(report->language, nm_report_gaps.title));
    else
        nm_report_element(report, "<li>",
                          nm_tr(report->language, "Every cell that was planned has a number."),
                          "</li>\n");
    if (census->n_void)
        nm_report_format(report, "<li>", "</li>\n",
                         nm_tr(report->language, "%zu trials were declared void by hand."),
                         census->n_void);
}

static void say_imported(struct nm_report *report, const struct census *census)
{
    nm_report_format(report, "<li>", "</li>\n",
                     nm_tr(report->language, "All %zu numbers were imported: this program measured "
                                             "none of them and does not know their conditions."),
                     census->n_numbers);
    if (census->n_max == 1)
        nm_report_element(report, "<li>",
                          nm_tr(report->language,
                                "One figure for each: of how many trials it is the mean, and how "
                                "much they scatter, is not known."),
                          "</li>\n");
    else
        say_trials(report, census);
}

static void say_limits(struct nm_report *report, const struct nm_cell *device)
{
    const struct nm_cells *cells = report->input->cells;
    struct census census = {.widest = -1, .imported = device->imported};

    for (size_t i = 0; i < cells->count; i++)
        if (of_device(device, &cells->items[i]))
            count_cell(&census, &cells->items[i]);
    nm_report_element(report, "<p>", nm_tr(report->language, "What these numbers do not say:"),
                      "</p>\n<ul class=\"limits\">\n");
    if (device->imported)
        say_imported(report, &census);
    else if (census.n_numbers)
        say_trials(report, &census);
    say_flags(report, &census);
    say_gaps(report, &census);
    fputs("</ul>\n", report->out);
}

static int write(struct nm_report *report, struct nm_error *err)
{
    const struct nm_cell *device = NULL;
    int r = 0;

    while (r == 0 && (device = nm_report_next_device(report, device))) {
        nm_report_device_heading(report, device);
        fputs("<dl class=\"facts\">\n", report->out);
        r = device_facts(report, device, err);
        list_names(report, device, false);
        list_names(report, device, true);
        period(report, device);
        client(report, device);
        fputs("</dl>\n", report->out);
        say_all_fastest(report, device);
        say_limits(report, device);
    }
    return r;
}

const struct nm_report_section nm_report_summary = {
    .id = "summary",
    .title = NM_N("Summary"),
    .write = write,
};
