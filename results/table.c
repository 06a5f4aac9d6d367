/* Tables in every format: the table of formats and what is the same before any of them (table.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "table_grid.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct nm_table_format *const formats[] = {
    &nm_format_text, &nm_format_md,   &nm_format_csv,
    &nm_format_json, &nm_format_html, &nm_format_tex,
};

#define N_FORMATS (sizeof(formats) / sizeof(formats[0]))

static const char *const by_names[] = {
    [NM_TABLE_BY_VOLUME] = "volume",
    [NM_TABLE_BY_PROTOCOL] = "protocol",
    [NM_TABLE_BY_FIRMWARE] = "firmware",
};

int nm_table_by_parse(const char *name)
{
    for (size_t i = 0; i < sizeof(by_names) / sizeof(by_names[0]); i++)
        if (!strcmp(by_names[i], name))
            return (int)i;
    return -1;
}

static const struct nm_table_format *find_format(const char *name, struct nm_error *err)
{
    for (size_t i = 0; i < N_FORMATS; i++)
        if (!strcmp(formats[i]->name, name))
            return formats[i];
    nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                 "table: there is no format '%s'; formats: text md csv json html tex", name);
    return NULL;
}

static const struct nm_language *find_language(const struct nm_table_format *format,
                                               const char *name, struct nm_error *err)
{
    const struct nm_language *language;

    if (!name)
        return format->for_people ? nm_language_of_user() : nm_language_find("en");
    language = nm_language_find(name);
    if (!language)
        nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                     "there is no language '%s'; languages: en pl ru ja", name);
    return language;
}

int nm_grids_finished(const struct nm_cells *cells, const struct nm_table_style *style,
                      const struct nm_language *language, bool steps, struct nm_grids **ret_grids,
                      struct nm_error *err)
{
    struct nm_table_doc doc = {.style = style, .language = language};
    struct nm_grids *grids = NULL;
    int r = nm_grids_new(cells, style->by, steps, &grids, err);

    doc.grids = grids;
    for (size_t i = 0; r == 0 && i < grids->count; i++) {
        r = nm_words_find_best(&grids->items[i], grids->pool, err);
        if (r == 0)
            r = nm_fields_list(&doc, &grids->items[i], grids->pool, err);
        if (r == 0)
            r = nm_notes_collect(&doc, &grids->items[i], grids->pool, err);
    }
    if (r < 0)
        nm_grids_free(grids);
    else
        *ret_grids = grids;
    return r;
}

int nm_table_write(const struct nm_cells *cells, const char *format_name,
                   const struct nm_table_style *style, FILE *out, struct nm_error *err)
{
    const struct nm_table_format *format = find_format(format_name, err);
    struct nm_table_doc doc = {.style = style};
    struct nm_grids *grids = NULL;
    int r;

    if (!format)
        return -EINVAL;
    doc.language = find_language(format, style->language, err);
    if (!doc.language)
        return -EINVAL;
    r = nm_grids_finished(cells, style, doc.language, format->for_people, &grids, err);
    if (r < 0)
        return r;
    doc.grids = grids;
    r = format->write(&doc, out, err);
    errno = 0;
    if (r == 0 && (fflush(out) || ferror(out)))
        r = nm_error_errno(err, errno ? -errno : -EIO, "writing the table: %s",
                           strerror(errno ? errno : EIO));
    nm_grids_free(grids);
    return r;
}
