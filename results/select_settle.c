/* Which cells are shown and what they show: newest firmware, campaign and round, trials without a
 * number, means (select.h). Works on memory alone.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "select_words.h"

#include "url.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const cell_status_names[] = {
    [NM_CELL_OK] = "ok",
    [NM_CELL_PARTIAL] = "partial",
    [NM_CELL_FAILED] = "failed",
    [NM_CELL_NA] = "na",
    [NM_CELL_UNSUPPORTED] = "unsupported",
    [NM_CELL_MISSING] = "missing",
    [NM_CELL_TOO_SHORT] = "too_short",
    [NM_CELL_ABORTED] = "aborted",
};

const char *nm_cell_status_name(enum nm_cell_status status)
{
    return (unsigned)status <= NM_CELL_ABORTED ? cell_status_names[status] : "?";
}

bool nm_cell_is_of(const struct nm_cell *cell, const char *workload)
{
    const char *of = nm_conditions_get(cell->conditions, "workload.of");

    return of ? !strcmp(of, workload) : nm_workload_key_is(cell->workload, workload);
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* Cells with the same return 0; newer firmware and campaigns come first. */
static int by_firmware(const void *pa, const void *pb)
{
    const struct nm_cell_row *a = pa, *b = pb;
    int r = strcmp(a->cell.nas, b->cell.nas);

    if (!r)
        r = COMPARE(b->cell.firmware_utc_ns, a->cell.firmware_utc_ns);
    if (!r)
        r = strcmp(b->cell.firmware, a->cell.firmware);
    if (!r)
        r = COMPARE(b->campaign_utc_ns, a->campaign_utc_ns);
    return r ? r : COMPARE(b->cell.campaign_id, a->cell.campaign_id);
}

void nm_rows_keep_newest(struct nm_cell_rows *rows, const struct nm_select *select)
{
    bool campaign =
             nm_select_has(select, NM_SELECT_CAMPAIGN) || nm_select_has(select, NM_SELECT_RUN),
         firmware = campaign || nm_select_has(select, NM_SELECT_FIRMWARE);
    const struct nm_cell_row *newest = NULL;
    size_t kept = 0;

    if (campaign || !rows->count)
        return;
    qsort(rows->items, rows->count, sizeof(*rows->items), by_firmware);
    for (size_t i = 0; i < rows->count; i++) {
        const struct nm_cell_row *row = &rows->items[i];
        bool same_nas = newest && !strcmp(newest->cell.nas, row->cell.nas);
        bool same_firmware = same_nas && !strcmp(newest->cell.firmware, row->cell.firmware);

        if (same_firmware ? newest->cell.campaign_id != row->cell.campaign_id
                          : same_nas && !firmware)
            continue;
        rows->items[kept] = *row;
        newest = &rows->items[kept++];
    }
    rows->count = kept;
}

/* smb, iscsi, nfs ...; what this version does not know comes last. */
static int protocol_rank(const char *name)
{
    int protocol = nm_protocol_parse(name);

    return protocol < 0 ? NM_PROTOCOLS : protocol;
}

/* Names of a cell, in display order. Workloads by natural order: 1x2GB, 1000x2MB, 10000x2KB. */
static int by_name(const struct nm_cell_row *a, const struct nm_cell_row *b)
{
    int r = strcmp(a->cell.nas, b->cell.nas);

    if (!r)
        r = COMPARE(a->cell.firmware_utc_ns, b->cell.firmware_utc_ns);
    if (!r)
        r = strcmp(a->cell.firmware, b->cell.firmware);
    if (!r)
        r = COMPARE(a->cell.campaign_id, b->cell.campaign_id);
    if (!r)
        r = strverscmp(a->cell.workload, b->cell.workload);
    if (!r)
        r = COMPARE(protocol_rank(a->cell.protocol), protocol_rank(b->cell.protocol));
    if (!r)
        r = strcmp(a->cell.protocol, b->cell.protocol);
    if (!r)
        r = COMPARE(a->cell.volume_position, b->cell.volume_position);
    if (!r)
        r = strcmp(a->cell.volume, b->cell.volume);
    if (!r)
        r = COMPARE(a->cell.phase_index, b->cell.phase_index);
    return r ? r : strcmp(a->cell.phase, b->cell.phase);
}

static int in_display_order(const void *pa, const void *pb)
{
    const struct nm_cell_row *a = pa, *b = pb;
    int r = by_name(a, b);

    if (!r)
        r = COMPARE(a->cell.imported, b->cell.imported);
    /* Cells with numbers first: the others are joined to them. */
    if (!r)
        r = COMPARE(!a->cell.n_ok, !b->cell.n_ok);
    return r ? r : COMPARE(a->id, b->id);
}

/* Something happened in it: not only "was not run". */
static bool took_place(const struct nm_cell *cell)
{
    for (size_t i = 0; i < cell->n_trials; i++)
        if (cell->trials[i].status != NM_STATUS_MISSING && cell->trials[i].status != NM_STATUS_VOID)
            return true;
    return false;
}

/* Of n rows with the same names: keeps those of the newest round in which something happened (of
 * the newest one when nothing ever did), at the front. */
static size_t keep_newest_round(struct nm_cell_row *rows, size_t n)
{
    uint32_t round = 0;
    bool any = false;
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        bool here = took_place(&rows[i].cell);

        if (here > any || (here == any && rows[i].cell.round > round))
            round = rows[i].cell.round;
        any |= here;
    }
    for (size_t i = 0; i < n; i++)
        if (rows[i].cell.round == round)
            rows[kept++] = rows[i];
    return kept;
}

/* Neither text has a line "name=value" whose value the other contradicts. */
static bool compatible(const char *a, const char *b)
{
    for (; *a; a += strcspn(a, "\n"), a += *a == '\n') {
        size_t line = strcspn(a, "\n"), name = strcspn(a, "=\n") + 1;

        for (const char *p = b; *p; p += strcspn(p, "\n"), p += *p == '\n')
            if (!strncmp(p, a, name) && (strcspn(p, "\n") != line || strncmp(p, a, line)))
                return false;
    }
    return true;
}

static int by_id(const void *pa, const void *pb)
{
    const struct nm_trial *a = pa, *b = pb;

    return COMPARE(a->id, b->id);
}

static int join(struct nm_cell_row *to, const struct nm_cell_row *from, struct nm_pool *pool,
                struct nm_error *err)
{
    size_t n = to->cell.n_trials + from->cell.n_trials;
    struct nm_trial *trials = nm_pool_alloc(pool, n * sizeof(*trials));

    if (!trials)
        return nm_error_errno(err, -ENOMEM, "reading the store: out of memory");
    memcpy(trials, to->cell.trials, to->cell.n_trials * sizeof(*trials));
    memcpy(trials + to->cell.n_trials, from->cell.trials, from->cell.n_trials * sizeof(*trials));
    qsort(trials, n, sizeof(*trials), by_id);
    to->cell.trials = trials;
    to->cell.n_trials = n;
    if (!to->conditions_id)
        to->conditions_id = from->conditions_id;
    return 0;
}

/* Of n rows with the same names: trials without a number (the target did not answer, so nobody
 * knows its dialect) go to the cell whose conditions they do not contradict. Returns how many stay.
 */
static int join_rows(struct nm_cell_row *rows, size_t n, struct nm_pool *pool, size_t *ret_kept,
                     struct nm_error *err)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        struct nm_cell_row *home = NULL;

        for (size_t k = kept; k-- > 0 && !home && !rows[i].cell.n_ok;)
            if (rows[k].cell.imported == rows[i].cell.imported &&
                compatible(rows[k].key_text, rows[i].key_text))
                home = &rows[k];
        if (home) {
            int r = join(home, &rows[i], pool, err);

            if (r < 0)
                return r;
        } else {
            rows[kept++] = rows[i];
        }
    }
    *ret_kept = kept;
    return 0;
}

static void add_flags(struct nm_cell *cell, const char *words)
{
    while (words && *(words += strspn(words, " "))) {
        size_t length = strcspn(words, " "), used = strlen(cell->flags);
        char padded[sizeof(cell->flags) + 2], word[sizeof(cell->flags)];

        snprintf(padded, sizeof(padded), " %s ", cell->flags);
        snprintf(word, sizeof(word), " %.*s ", (int)length, words);
        if (!strstr(padded, word) && used + length + 2 < sizeof(cell->flags))
            snprintf(cell->flags + used, sizeof(cell->flags) - used, "%s%.*s", used ? " " : "",
                     (int)length, words);
        words += length;
    }
}

/* Of a cell without any success: what its newest trial says. */
static enum nm_cell_status status_without_number(const struct nm_cell *cell)
{
    for (size_t i = cell->n_trials; i-- > 0;)
        switch (cell->trials[i].status) {
        case NM_STATUS_FAILED: return NM_CELL_FAILED;
        case NM_STATUS_NA: return NM_CELL_NA;
        case NM_STATUS_UNSUPPORTED: return NM_CELL_UNSUPPORTED;
        case NM_STATUS_TOO_SHORT: return NM_CELL_TOO_SHORT;
        case NM_STATUS_ABORTED: return NM_CELL_ABORTED;
        default: break;
        }
    return NM_CELL_MISSING;
}

/* Measured later in the same pass: it does not fail to be there. */
static bool made_good(const struct nm_cell *cell, size_t index)
{
    for (size_t i = index + 1; i < cell->n_trials; i++)
        if (cell->trials[i].status == NM_STATUS_OK &&
            cell->trials[i].pass == cell->trials[index].pass)
            return true;
    return false;
}

/* Geometric mean, one rate after the other. */
struct mean {
    double logs, min, max;
    size_t n;
};

static void add_rate(struct mean *mean, double rate)
{
    mean->min = mean->n ? fmin(mean->min, rate) : rate;
    mean->max = mean->n ? fmax(mean->max, rate) : rate;
    mean->logs += log(rate);
    mean->n++;
}

/* Between the rates to the last digit: the mean of one trial is that trial. */
static double mean_rate(const struct mean *mean)
{
    return mean->n ? fmin(fmax(exp(mean->logs / (double)mean->n), mean->min), mean->max) : NAN;
}

static void derive(struct nm_cell *cell)
{
    struct mean bytes = {.min = NAN, .max = NAN}, files = bytes;
    size_t n_open = 0;

    cell->n_ok = cell->n_failed = 0;
    for (size_t i = 0; i < cell->n_trials; i++) {
        const struct nm_trial *trial = &cell->trials[i];
        double s = (double)trial->duration_ns / 1e9;

        cell->n_failed += trial->status == NM_STATUS_FAILED;
        n_open += (trial->status == NM_STATUS_FAILED || trial->status == NM_STATUS_TOO_SHORT ||
                   trial->status == NM_STATUS_UNSUPPORTED) &&
                  !made_good(cell, i);
        if (trial->status == NM_STATUS_VOID)
            continue;
        add_flags(cell, trial->flags);
        if (trial->status != NM_STATUS_OK)
            continue;
        cell->n_ok++;
        if (trial->files)
            add_rate(&files, (double)trial->files / s);
        if (trial->bytes)
            add_rate(&bytes, (double)trial->bytes / s);
    }
    cell->bytes_per_s = mean_rate(&bytes);
    cell->min_bytes_per_s = bytes.min;
    cell->max_bytes_per_s = bytes.max;
    cell->files_per_s = mean_rate(&files);
    cell->status = !cell->n_ok ? status_without_number(cell)
                   : n_open    ? NM_CELL_PARTIAL
                               : NM_CELL_OK;
}

int nm_rows_settle(struct nm_cell_rows *rows, const struct nm_select *select, struct nm_pool *pool,
                   struct nm_error *err)
{
    struct nm_cell_row *items = rows->items;
    size_t kept = 0;

    if (rows->count)
        qsort(items, rows->count, sizeof(*items), in_display_order);
    for (size_t i = 0, end; i < rows->count; i = end) {
        size_t n;
        int r;

        for (end = i + 1; end < rows->count && !by_name(&items[i], &items[end]);)
            end++;
        n = nm_select_has(select, NM_SELECT_RUN) ? end - i : keep_newest_round(&items[i], end - i);
        r = join_rows(&items[i], n, pool, &n, err);
        if (r < 0)
            return r;
        memmove(&items[kept], &items[i], n * sizeof(*items));
        kept += n;
    }
    rows->count = kept;
    for (size_t i = 0; i < kept; i++)
        derive(&items[i].cell);
    return 0;
}
