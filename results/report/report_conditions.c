/* Section "conditions": what was in force. One row per condition; where cells differ, each value
 * with the protocols that had it (report_page.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "report_page.h"

#include "url.h"

#include <stdlib.h>
#include <string.h>

#define VALUES_MAX 6

/* They tell whose machines these are or where their files lie, nothing about the number, and a
 * report is there to be published. `nasmark show` has them. */
static const char *const private_names[] = {
    "client.host",  "server.identity",     "smb.server",   "nfs.export",
    "nfs.fsid",     "iscsi.identity",      "iscsi.portal", "local.mount_source",
    "local.device", "local.mount_options", "source",       "destination",
    "prepare",
};

static bool is_private(const char *name)
{
    for (size_t i = 0; i < sizeof(private_names) / sizeof(private_names[0]); i++)
        if (!strcmp(private_names[i], name))
            return true;
    return false;
}

struct values {
    const char *text[VALUES_MAX];
    unsigned protocols[VALUES_MAX]; /* mask */
    size_t n, n_more;
};

static unsigned protocol_bit(const struct nm_cell *cell)
{
    int protocol = nm_protocol_parse(cell->protocol);

    return protocol < 0 ? 0 : 1u << protocol;
}

static void add_value(struct values *values, const char *text, unsigned protocol)
{
    for (size_t i = 0; i < values->n; i++)
        if (!strcmp(values->text[i], text)) {
            values->protocols[i] |= protocol;
            return;
        }
    if (values->n == VALUES_MAX) {
        values->n_more++;
        return;
    }
    values->text[values->n] = text;
    values->protocols[values->n++] = protocol;
}

/* Every protocol of the device, and the values of one condition. */
static unsigned collect(const struct nm_report *report, const struct nm_cell *device,
                        const char *name, struct values *ret)
{
    const struct nm_cells *cells = report->input->cells;
    unsigned all = 0;

    *ret = (struct values){0};
    for (size_t i = 0; i < cells->count; i++) {
        const struct nm_cell *cell = &cells->items[i];
        const char *value = nm_conditions_get(cell->conditions, name);

        if (!nm_report_same_device(device, cell) || !cell->n_ok)
            continue;
        all |= protocol_bit(cell);
        if (value)
            add_value(ret, value, protocol_bit(cell));
    }
    return all;
}

/* "3.1.1 (SMB); end (NFS, iSCSI)" */
static char *spell(const struct nm_report *report, const struct nm_condition_def *def,
                   const struct values *values, unsigned all)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    for (size_t i = 0; i < values->n; i++) {
        fprintf(out, "%s%s%s%s", i ? "; " : "", values->text[i], *def->unit ? " " : "", def->unit);
        if (values->protocols[i] == all || values->n_more)
            continue;
        for (int p = 0, n = 0; p < NM_PROTOCOLS; p++)
            if (values->protocols[i] & 1u << p)
                fprintf(out, "%s%s", n++ ? ", " : " (",
                        nm_words_protocol(report->language, nm_protocol_name((enum nm_protocol)p)));
        fputs(values->protocols[i] ? ")" : "", out);
    }
    if (values->n_more)
        fputs("; \u2026", out);
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}

static void write_class(struct nm_report *report, const struct nm_cell *device,
                        enum nm_condition_class class, const char *caption)
{
    const char *const heads[] = {nm_tr(report->language, "Condition"),
                                 nm_tr(report->language, "Value"),
                                 nm_tr(report->language, "Meaning")};
    bool any = false;

    for (size_t i = 0; i < nm_condition_table_length; i++) {
        const struct nm_condition_def *def = &nm_condition_table[i];
        struct values values;
        unsigned all = collect(report, device, def->name, &values);
        char *text;

        if (!values.n || def->class != class || is_private(def->name))
            continue;
        if (!any)
            nm_report_table_begin(report, caption, heads, 3);
        any = true;
        text = spell(report, def, &values, all);
        nm_report_table_row(report, (const char *const[]){def->name, text ? text : "?", def->help},
                            3);
        free(text);
    }
    if (any)
        nm_report_table_end(report);
}

static int write(struct nm_report *report, struct nm_error *err)
{
    const struct nm_language *language = report->language;
    const struct nm_cell *device = NULL;

    (void)err;
    nm_report_element(report, "<p>",
                      nm_tr(language, "Numbers under different key conditions are never pooled; a "
                                      "comparison names what differs."),
                      "</p>\n<div class=\"words\">\n");
    while ((device = nm_report_next_device(report, device))) {
        nm_report_device_heading(report, device);
        write_class(report, device, NM_CONDITION_KEY, nm_tr(language, "Key conditions"));
        nm_report_element(report, "<details><summary>", nm_tr(language, "More conditions"),
                          "</summary>\n");
        write_class(report, device, NM_CONDITION_IMPLIED,
                    nm_tr(language, "Belongs to the device, the volume or the client"));
        write_class(report, device, NM_CONDITION_INFO, nm_tr(language, "For information"));
        fputs("</details>\n", report->out);
    }
    fputs("</div>\n", report->out);
    return 0;
}

const struct nm_report_section nm_report_conditions = {
    .id = "conditions",
    .title = NM_N("Conditions"),
    .write = write,
};
