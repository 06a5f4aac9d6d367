/* Pairing and judging two selections (compare.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "compare.h"

#include "command.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One name of a cell's identity. */
struct identity {
    enum nm_compare_key key;
    const char *word; /* as in SELECT */
    size_t cell_offset, row_offset;
};

#define IDENTITY(bit, field)                                                                       \
    {                                                                                              \
        .key = bit, .word = #field, .cell_offset = offsetof(struct nm_cell, field),                \
        .row_offset = offsetof(struct nm_compare_row, field)                                       \
    }

static const struct identity identities[] = {
    IDENTITY(NM_COMPARE_NAS, nas),           IDENTITY(NM_COMPARE_FIRMWARE, firmware),
    IDENTITY(NM_COMPARE_VOLUME, volume),     IDENTITY(NM_COMPARE_PROTOCOL, protocol),
    IDENTITY(NM_COMPARE_WORKLOAD, workload), IDENTITY(NM_COMPARE_PHASE, phase),
};
#define N_IDENTITIES (sizeof(identities) / sizeof(identities[0]))

static const char *name_in(const struct nm_cell *cell, const struct identity *identity)
{
    return *(const char *const *)((const char *)cell + identity->cell_offset);
}

static bool named_differently(const struct nm_select *a, const struct nm_select *b, const char *key)
{
    const char *in_a = nm_select_get(a, key), *in_b = nm_select_get(b, key);

    return in_a && in_b ? strcmp(in_a, in_b) != 0 : in_a != in_b;
}

unsigned nm_compare_keys(const struct nm_select *a, const struct nm_select *b)
{
    unsigned keys = 0;

    for (size_t i = 0; i < N_IDENTITIES; i++)
        if (named_differently(a, b, identities[i].word))
            keys |= identities[i].key;
    if (named_differently(a, b, "kind"))
        keys |= NM_COMPARE_VOLUME;
    if (keys & NM_COMPARE_NAS) /* two devices have no firmware in common */
        keys |= NM_COMPARE_FIRMWARE;
    return keys;
}

static unsigned factors_of(unsigned keys)
{
    return (keys & NM_COMPARE_NAS ? NM_FACTOR_NAS : 0u) |
           (keys & NM_COMPARE_FIRMWARE ? NM_FACTOR_FIRMWARE : 0u) |
           (keys & NM_COMPARE_VOLUME ? NM_FACTOR_VOLUME : 0u) |
           (keys & NM_COMPARE_PROTOCOL ? NM_FACTOR_PROTOCOL : 0u);
}

/* The first name that must match and does not; NULL = same identity. */
static const struct identity *mismatch(const struct nm_cell *a, const struct nm_cell *b,
                                       unsigned keys)
{
    for (size_t i = 0; i < N_IDENTITIES; i++)
        if (!(keys & identities[i].key) &&
            strcmp(name_in(a, &identities[i]), name_in(b, &identities[i])) != 0)
            return &identities[i];
    return NULL;
}

/* A side must have one value of what is compared for each row. */
static int check_one_value(const struct nm_cells *cells, unsigned keys, const char *side,
                           struct nm_error *err)
{
    for (size_t i = 0; i < cells->count; i++)
        for (size_t k = i + 1; k < cells->count; k++) {
            const struct nm_cell *one = &cells->items[i], *other = &cells->items[k];
            const struct identity *differs;

            if (mismatch(one, other, keys))
                continue;
            differs = mismatch(one, other, ~keys);
            if (differs)
                return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                                    "SELECT_%s holds several values of %s (%s, %s) for the same "
                                    "cell; name one with %s=",
                                    side, differs->word, name_in(one, differs),
                                    name_in(other, differs), differs->word);
        }
    return 0;
}

static bool waived(const struct nm_compare_options *options, const char *name)
{
    for (const char *const *p = options->allowed; p && *p; p++)
        if (!strcmp(*p, name))
            return true;
    return false;
}

/* Puts what forbids the comparison into note; returns how many conditions do. */
static size_t conflicts(const struct nm_cell *a, const struct nm_cell *b,
                        const struct nm_compare_options *options, char *note, size_t size)
{
    size_t from = 0, n = 0, used = 0;
    const struct nm_condition_def *def;

    note[0] = '\0';
    if (a->imported != b->imported && !waived(options, "source")) {
        snprintf(note, size, "measured against imported (--allow source)");
        return 1;
    }
    while ((def = nm_conditions_conflict(a->conditions, b->conditions, factors_of(options->keys),
                                         options->allowed, &from))) {
        if (n++ < 3 && used < size)
            used += (size_t)snprintf(note + used, size - used, "%s%s %s / %s", n > 1 ? ", " : "",
                                     def->name, nm_conditions_get(a->conditions, def->name),
                                     nm_conditions_get(b->conditions, def->name));
    }
    if (n > 3 && used < size)
        snprintf(note + used, size - used, ", %zu more", n - 3);
    return n;
}

/* The free cell of b that goes with a: without conflict before with, newest campaign first. */
static const struct nm_cell *partner(const struct nm_cell *a, const struct nm_cells *b,
                                     const bool *taken, const struct nm_compare_options *options,
                                     size_t *ret_at)
{
    const struct nm_cell *best = NULL;
    bool best_clean = false;
    char note[200];

    for (size_t i = 0; i < b->count; i++) {
        const struct nm_cell *cell = &b->items[i];
        bool clean;

        if (taken[i] || mismatch(a, cell, options->keys))
            continue;
        clean = !conflicts(a, cell, options, note, sizeof(note));
        if (best &&
            (best_clean > clean || (best_clean == clean && best->campaign_id >= cell->campaign_id)))
            continue;
        best = cell;
        best_clean = clean;
        *ret_at = i;
    }
    return best;
}

static void add_row(struct nm_compare *compare, const struct nm_cell *a, const struct nm_cell *b)
{
    struct nm_compare_row *row = &compare->rows[compare->n_rows++];
    const struct nm_cell *any = a ? a : b;

    row->a = a;
    row->b = b;
    for (size_t i = 0; i < N_IDENTITIES; i++)
        if (!(compare->options.keys & identities[i].key))
            *(const char **)((char *)row + identities[i].row_offset) = name_in(any, &identities[i]);
    row->metric = compare->options.metric;
    if (!row->metric && a)
        row->metric = nm_metric_default(a);
    if (!row->metric && b)
        row->metric = nm_metric_default(b);
}

/* Of the trials that would be compared with themselves. */
static bool share_a_trial(const struct nm_cell *a, const struct nm_cell *b)
{
    for (size_t i = 0; i < a->n_trials; i++)
        for (size_t k = 0; k < b->n_trials; k++)
            if (a->trials[i].id == b->trials[k].id)
                return true;
    return false;
}

static int check_apart(const struct nm_compare *compare, struct nm_error *err)
{
    for (size_t i = 0; i < compare->n_rows; i++) {
        const struct nm_cell *a = compare->rows[i].a, *b = compare->rows[i].b;

        if (a && b && share_a_trial(a, b))
            return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                                "SELECT_A and SELECT_B hold the same trials (%s firmware %s, %s); "
                                "name in both what is to be compared",
                                a->nas, a->firmware, a->volume);
    }
    return 0;
}

/* Nothing was ever to be measured there. */
static bool not_applicable(const struct nm_cell *cell)
{
    return !cell || cell->status == NM_CELL_NA || cell->status == NM_CELL_UNSUPPORTED;
}

static int pair(struct nm_compare *compare, const struct nm_cells *a, const struct nm_cells *b,
                struct nm_error *err)
{
    bool *taken = calloc(b->count + 1, sizeof(*taken));

    compare->rows = calloc(a->count + b->count + 1, sizeof(*compare->rows));
    if (!taken || !compare->rows) {
        free(taken);
        return nm_error_errno(err, -ENOMEM, "comparing %zu cells: out of memory", a->count);
    }
    for (size_t i = 0; i < a->count; i++) {
        size_t at = 0;
        const struct nm_cell *other = partner(&a->items[i], b, taken, &compare->options, &at);

        if (other)
            taken[at] = true;
        if (!not_applicable(&a->items[i]) || !not_applicable(other))
            add_row(compare, &a->items[i], other);
    }
    for (size_t i = 0; i < b->count; i++)
        if (!taken[i] && !not_applicable(&b->items[i]))
            add_row(compare, NULL, &b->items[i]);
    free(taken);
    return 0;
}

static void append(char *note, size_t size, const char *text)
{
    size_t used = strlen(note);

    snprintf(note + used, size - used, "%s%s", used ? "; " : "", text);
}

/* Why a side has fewer numbers than trials, in a few words. */
static void note_side(struct nm_compare_row *row, const struct nm_cell *cell, const char *side)
{
    char text[120];
    const char *reason = NULL;

    if (!cell) {
        snprintf(text, sizeof(text), "not in %s", side);
        append(row->note, sizeof(row->note), text);
        return;
    }
    if (cell->status == NM_CELL_OK)
        return;
    for (size_t i = 0; i < cell->n_trials && !reason; i++)
        if (cell->trials[i].status == NM_STATUS_FAILED)
            reason = nm_reason_name(cell->trials[i].reason);
    snprintf(text, sizeof(text), "%s %s%s%s", side, nm_cell_status_name(cell->status),
             reason ? ": " : "", reason ? reason : "");
    append(row->note, sizeof(row->note), text);
}

/* A flag on one side alone (link full, client busy, read from cache) may be the difference. */
static void note_flags(struct nm_compare_row *row)
{
    char text[224];

    if (!row->a || !row->b || !strcmp(row->a->flags, row->b->flags))
        return;
    snprintf(text, sizeof(text), "flags A: %s, B: %s", *row->a->flags ? row->a->flags : "none",
             *row->b->flags ? row->b->flags : "none");
    append(row->note, sizeof(row->note), text);
}

static int measure_side(struct nm_compare_row *row, const struct nm_cell *cell,
                        struct nm_stats_side *ret_side, bool *ret_has, double *ret_centre,
                        struct nm_error *err)
{
    struct nm_metric_values values;
    int rc;

    if (!cell)
        return 0;
    rc = nm_metric_values(cell, row->metric, &values, err);
    if (rc < 0)
        return rc;
    *ret_side = nm_stats_side(values.values, values.n);
    *ret_has = nm_stats_geometric_mean(values.values, values.n, ret_centre);
    row->stats.lower_is_better |= values.lower_is_better;
    if (values.unit[0])
        memcpy(row->unit, values.unit, sizeof(row->unit));
    if (values.n_other)
        append(row->note, sizeof(row->note), "values of 0 or less left out");
    nm_metric_values_done(&values);
    return 0;
}

/* Measured back to back within one session: the trials do not cover the noise between sessions. */
static bool one_session(const struct nm_cell *cell)
{
    const char *order = nm_conditions_get(cell->conditions, "order"), *run = NULL;

    if (!order || strcmp(order, "grouped") != 0 || cell->imported)
        return false;
    for (size_t i = 0; i < cell->n_trials; i++) {
        if (cell->trials[i].status != NM_STATUS_OK)
            continue;
        if (run && strcmp(run, cell->trials[i].run) != 0)
            return false;
        run = cell->trials[i].run;
    }
    return run;
}

static int measure(struct nm_compare *compare, struct nm_compare_row *row, struct nm_error *err)
{
    int rc = measure_side(row, row->a, &row->stats.a, &row->has_a, &row->centre_a, err);

    if (rc == 0)
        rc = measure_side(row, row->b, &row->stats.b, &row->has_b, &row->centre_b, err);
    if (rc < 0)
        return rc;
    if (row->a && row->b && row->has_a && row->has_b) {
        char why[sizeof(row->note)];

        row->stats.not_comparable =
            conflicts(row->a, row->b, &compare->options, why, sizeof(why)) > 0;
        if (row->stats.not_comparable)
            append(row->note, sizeof(row->note), why);
        else if (one_session(row->a) && one_session(row->b)) {
            row->stats.tau = compare->options.tau;
            compare->tau_used = true;
        }
    }
    note_side(row, row->a, "A");
    note_side(row, row->b, "B");
    note_flags(row);
    return 0;
}

static int summarise(struct nm_compare *compare, struct nm_stats_row *stats, struct nm_error *err)
{
    double *scratch = calloc(2 * compare->n_rows + 1, sizeof(*scratch)), variance;
    int rc;

    if (!scratch)
        return nm_error_errno(err, -ENOMEM, "comparing: out of memory");
    rc = nm_stats_compare(stats, compare->n_rows, compare->options.margin, compare->options.adjust,
                          &compare->prior, &compare->overall, err);
    variance = nm_stats_typical_variance(stats, compare->n_rows, scratch);
    free(scratch);
    if (rc < 0)
        return rc;
    compare->typical_noise = sqrt(variance);
    if (variance > 0)
        compare->typical_trials = nm_stats_needed_trials(
            variance, compare->prior.d0,
            compare->tau_used ? compare->options.tau * compare->options.tau : 0,
            log1p(compare->options.margin));
    for (size_t i = 0; i < compare->n_rows; i++) {
        compare->rows[i].stats = stats[i];
        compare->counts[stats[i].verdict]++;
    }
    return 0;
}

/* Says why not a single cell of a meets one of b. */
static int no_pairs(const struct nm_cells *a, const struct nm_cells *b, unsigned keys,
                    struct nm_error *err)
{
    const struct identity *differs;

    if (!a->count || !b->count)
        return nm_error_set(err, -ENOENT, NM_REASON_NOT_FOUND,
                            "SELECT_%s selects nothing; `nasmark list cells` shows what is stored",
                            a->count ? "B" : "A");
    differs = mismatch(&a->items[0], &b->items[0], keys);
    if (!differs)
        return nm_error_set(err, -ENOENT, NM_REASON_NOT_FOUND,
                            "nothing was measured in what both SELECTs have in common");
    return nm_error_set(err, -ENOENT, NM_REASON_NOT_FOUND,
                        "no cell of SELECT_A has its counterpart in SELECT_B: A holds %s %s, B "
                        "holds %s; to compare them name %s= in both",
                        differs->word, name_in(&a->items[0], differs),
                        name_in(&b->items[0], differs), differs->word);
}

static bool any_pair(const struct nm_compare *compare)
{
    for (size_t i = 0; i < compare->n_rows; i++)
        if (compare->rows[i].a && compare->rows[i].b)
            return true;
    return false;
}

int nm_compare_new(const struct nm_cells *a, const struct nm_cells *b,
                   const struct nm_compare_options *options, struct nm_compare **ret,
                   struct nm_error *err)
{
    struct nm_compare *compare = NULL;
    struct nm_stats_row *stats = NULL;
    int rc = check_one_value(a, options->keys, "A", err);

    if (rc == 0)
        rc = check_one_value(b, options->keys, "B", err);
    if (rc < 0)
        return rc;
    compare = calloc(1, sizeof(*compare));
    if (!compare)
        return nm_error_errno(err, -ENOMEM, "comparing: out of memory");
    compare->options = *options;
    rc = pair(compare, a, b, err);
    if (rc == 0 && !any_pair(compare))
        rc = no_pairs(a, b, options->keys, err);
    if (rc == 0)
        rc = check_apart(compare, err);
    if (rc < 0)
        goto out;
    stats = calloc(compare->n_rows, sizeof(*stats));
    if (!stats) {
        rc = nm_error_errno(err, -ENOMEM, "comparing: out of memory");
        goto out;
    }
    for (size_t i = 0; i < compare->n_rows && rc == 0; i++) {
        rc = measure(compare, &compare->rows[i], err);
        stats[i] = compare->rows[i].stats;
    }
    if (rc == 0)
        rc = summarise(compare, stats, err);
out:
    free(stats);
    if (rc < 0) {
        nm_compare_free(compare);
        return rc;
    }
    *ret = compare;
    return 0;
}

void nm_compare_free(struct nm_compare *compare)
{
    if (!compare)
        return;
    free(compare->rows);
    free(compare);
}

int nm_compare_exit(const struct nm_compare *compare, bool require_proof)
{
    if (compare->counts[NM_VERDICT_NOT_COMPARABLE])
        return NM_EXIT_NOT_COMPARABLE;
    if (compare->counts[NM_VERDICT_REGRESSED])
        return NM_EXIT_FAILED;
    if (require_proof &&
        (compare->counts[NM_VERDICT_UNCLEAR] || compare->counts[NM_VERDICT_INSUFFICIENT]))
        return NM_EXIT_UNPROVEN;
    return NM_EXIT_OK;
}
