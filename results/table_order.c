/* The order of cells in tables: device, then table, then row (table_order.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "table_order.h"

#include "url.h"

#include <string.h>

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* More columns than that are turned into rows, where the phases allow it. */
#define COLUMNS_MANY 6

static int by_protocol(const struct nm_cell *x, const struct nm_cell *y)
{
    int r =
        COMPARE((unsigned)nm_protocol_parse(x->protocol), (unsigned)nm_protocol_parse(y->protocol));

    return r ? r : strcmp(x->protocol, y->protocol);
}

int nm_order_volume(const struct nm_cell *x, const struct nm_cell *y)
{
    int r = COMPARE(x->volume_position, y->volume_position);

    return r ? r : strcmp(x->volume, y->volume);
}

static int by_firmware(const struct nm_cell *x, const struct nm_cell *y)
{
    int r = COMPARE(x->firmware_utc_ns, y->firmware_utc_ns);

    return r ? r : strcmp(x->firmware, y->firmware);
}

int nm_order_row(enum nm_table_by by, const struct nm_cell *x, const struct nm_cell *y)
{
    switch (by) {
    case NM_TABLE_BY_PROTOCOL: return by_protocol(x, y);
    case NM_TABLE_BY_FIRMWARE: return by_firmware(x, y);
    default: return nm_order_volume(x, y);
    }
}

int nm_order_device(enum nm_table_by by, const struct nm_cell *x, const struct nm_cell *y)
{
    int r = strcmp(x->nas, y->nas);

    if (!r && by != NM_TABLE_BY_FIRMWARE)
        r = by_firmware(x, y);
    if (!r && by != NM_TABLE_BY_FIRMWARE)
        r = COMPARE(x->campaign_id, y->campaign_id);
    return r ? r : COMPARE(x->imported, y->imported);
}

int nm_order_table(enum nm_table_by by, const struct nm_cell *x, const struct nm_cell *y)
{
    int r = nm_order_device(by, x, y);

    if (!r)
        r = strverscmp(x->workload, y->workload);
    if (!r && by != NM_TABLE_BY_PROTOCOL)
        r = by_protocol(x, y);
    if (!r && by == NM_TABLE_BY_PROTOCOL)
        r = nm_order_volume(x, y);
    if (!r && by == NM_TABLE_BY_FIRMWARE) /* plans may have been reordered between versions */
        r = strcmp(x->volume, y->volume);
    return r;
}

int nm_order_cells(const void *px, const void *py, void *context)
{
    const struct nm_cell *x = *(const struct nm_cell *const *)px,
                         *y = *(const struct nm_cell *const *)py;
    enum nm_table_by by = *(const enum nm_table_by *)context;
    int r = nm_order_table(by, x, y);

    /* Numbers first: what has none joins the table that is there. */
    if (!r)
        r = COMPARE(!x->n_ok, !y->n_ok);
    if (!r)
        r = nm_order_row(by, x, y);
    if (!r)
        r = COMPARE(x->phase_index, y->phase_index);
    return r ? r : COMPARE(x, y); /* as they were selected */
}

size_t nm_grid_step(const char *phase)
{
    const char *dash = strrchr(phase, '-');

    if (!dash || (strcmp(dash, "-read") && strcmp(dash, "-write") && strncmp(dash, "-mix", 4)))
        return 0;
    return (size_t)(dash - phase);
}

bool nm_order_are_steps(const struct nm_cell *const *cells, size_t n)
{
    int first = cells[0]->phase_index, last = first;

    for (size_t i = 0; i < n; i++) {
        if (!nm_grid_step(cells[i]->phase))
            return false;
        first = cells[i]->phase_index < first ? cells[i]->phase_index : first;
        last = cells[i]->phase_index > last ? cells[i]->phase_index : last;
    }
    return last - first >= COLUMNS_MANY;
}

int nm_order_steps(const void *px, const void *py)
{
    const struct nm_cell *x = *(const struct nm_cell *const *)px,
                         *y = *(const struct nm_cell *const *)py;
    int r = nm_order_volume(x, y);

    if (!r)
        r = COMPARE(!x->n_ok, !y->n_ok);
    if (!r)
        r = COMPARE(x->phase_index, y->phase_index);
    return r ? r : COMPARE(x, y);
}
