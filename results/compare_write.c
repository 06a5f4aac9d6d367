/* A comparison as text for people and as the JSON document of cli.md (compare.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "compare.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const titles[NM_COMPARE_COLUMNS] = {
    [NM_COMPARE_CELL] = "cell",  [NM_COMPARE_A] = "A",
    [NM_COMPARE_B] = "B",        [NM_COMPARE_DELTA] = "delta",
    [NM_COMPARE_CI] = "95 % CI", [NM_COMPARE_Q] = "q",
    [NM_COMPARE_N] = "n",        [NM_COMPARE_VERDICT] = "verdict",
};

static const bool left_aligned[NM_COMPARE_COLUMNS] = {
    [NM_COMPARE_CELL] = true, [NM_COMPARE_VERDICT] = true, [NM_COMPARE_NOTE] = true};

/* Code points, as far as a terminal of today shows one cell for each. */
static size_t width_of(const char *text)
{
    size_t width = 0;

    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void percent(double fraction, char *out, size_t size)
{
    double value = 100 * fraction;

    if (fabs(value) < 0.05)
        value = 0; /* never "-0.0" */
    snprintf(out, size, fabs(value) >= 1000 ? "%+.3g %%" : "%+.1f %%", value);
}

static void interval(const double ci[2], char *out, size_t size)
{
    char low[32], high[32];

    percent(ci[0], low, sizeof(low));
    percent(ci[1], high, sizeof(high));
    low[strlen(low) - 2] = '\0'; /* one percent sign is enough */
    snprintf(out, size, "%s..%s", low, high);
}

static bool is_rate(const struct nm_compare_row *row)
{
    return row->metric && !strcmp(row->metric, "bytes_per_s");
}

static void centre(const struct nm_compare_row *row, bool has, double value, char *out, size_t size)
{
    if (has)
        nm_metric_format(row->unit, value, out, size);
    else
        snprintf(out, size, "-");
}

/* True when every row has the same name there: it stands in the heading then, not in each row. */
static bool constant(const struct nm_compare *compare,
                     const char *(*name)(const struct nm_compare_row *))
{
    const char *first = name(&compare->rows[0]);

    for (size_t i = 0; i < compare->n_rows; i++) {
        const char *text = name(&compare->rows[i]);

        if (!first || !text || strcmp(first, text) != 0)
            return false;
    }
    return true;
}

static const char *nas_of(const struct nm_compare_row *row)
{
    return row->nas;
}

static const char *firmware_of(const struct nm_compare_row *row)
{
    return row->firmware;
}

static void add_word(char *out, size_t size, const char *word)
{
    size_t used = strlen(out);

    if (word)
        snprintf(out + used, size - used, "%s%s", used ? " " : "", word);
}

static void cell_text(const struct nm_compare *compare, const struct nm_compare_row *row, char *out,
                      size_t size)
{
    out[0] = '\0';
    add_word(out, size, constant(compare, nas_of) ? NULL : row->nas);
    add_word(out, size, constant(compare, firmware_of) ? NULL : row->firmware);
    add_word(out, size, row->volume);
    add_word(out, size, row->protocol);
    add_word(out, size, row->workload);
    add_word(out, size, row->phase);
    add_word(out, size, is_rate(row) ? NULL : row->metric);
}

static void note_text(const struct nm_compare_row *row, char *out, size_t size)
{
    const struct nm_stats_row *stats = &row->stats;
    char effect[32], needed[32];
    size_t used;

    snprintf(out, size, "%s", row->note);
    if (stats->small_but_real)
        add_word(out, size, "real but small");
    if (stats->verdict != NM_VERDICT_UNCLEAR)
        return;
    percent(stats->smallest_effect, effect, sizeof(effect));
    snprintf(needed, sizeof(needed), stats->needed_trials ? "%u" : "more than %u",
             stats->needed_trials ? stats->needed_trials : NM_STATS_MAX_TRIALS);
    used = strlen(out);
    snprintf(out + used, size - used, "%sneeds %s trials a side; sees %s and more now",
             used ? "; " : "", needed, effect + 1);
}

void nm_compare_line(const struct nm_compare *compare, const struct nm_compare_row *row,
                     struct nm_compare_line *line)
{
    const struct nm_stats_row *stats = &row->stats;

    cell_text(compare, row, line->text[NM_COMPARE_CELL], sizeof(line->text[NM_COMPARE_CELL]));
    centre(row, row->has_a, row->centre_a, line->text[NM_COMPARE_A],
           sizeof(line->text[NM_COMPARE_A]));
    centre(row, row->has_b, row->centre_b, line->text[NM_COMPARE_B],
           sizeof(line->text[NM_COMPARE_B]));
    if (stats->has_delta)
        percent(stats->delta, line->text[NM_COMPARE_DELTA], sizeof(line->text[NM_COMPARE_DELTA]));
    if (stats->has_interval)
        interval(stats->ci95, line->text[NM_COMPARE_CI], sizeof(line->text[NM_COMPARE_CI]));
    if (stats->has_interval && stats->verdict != NM_VERDICT_INSUFFICIENT)
        snprintf(line->text[NM_COMPARE_Q], sizeof(line->text[NM_COMPARE_Q]),
                 stats->q < 0.0001 ? "<.0001" : "%.4f", stats->q);
    snprintf(line->text[NM_COMPARE_N], sizeof(line->text[NM_COMPARE_N]), "%zu+%zu", stats->a.n,
             stats->b.n);
    snprintf(line->text[NM_COMPARE_VERDICT], sizeof(line->text[NM_COMPARE_VERDICT]), "%s",
             nm_verdict_name(stats->verdict));
    note_text(row, line->text[NM_COMPARE_NOTE], sizeof(line->text[NM_COMPARE_NOTE]));
}

static void overall_line(const struct nm_compare *compare, struct nm_compare_line *line)
{
    snprintf(line->text[NM_COMPARE_CELL], sizeof(line->text[NM_COMPARE_CELL]),
             "geometric mean of %zu", compare->overall.n_rows);
    percent(compare->overall.ratio - 1, line->text[NM_COMPARE_DELTA],
            sizeof(line->text[NM_COMPARE_DELTA]));
    interval(compare->overall.ci95, line->text[NM_COMPARE_CI], sizeof(line->text[NM_COMPARE_CI]));
}

static const char *color_of(const char *verdict)
{
    if (!strcmp(verdict, nm_verdict_name(NM_VERDICT_REGRESSED)))
        return "\033[31m";
    if (!strcmp(verdict, nm_verdict_name(NM_VERDICT_IMPROVED)))
        return "\033[32m";
    return NULL;
}

static void print_line(const struct nm_compare_line *line, const size_t *widths, bool color,
                       FILE *out)
{
    int last = NM_COMPARE_COLUMNS - 1;

    while (last > 0 && !line->text[last][0])
        last--;
    for (int c = 0; c <= last; c++) {
        const char *text = line->text[c], *paint = NULL;
        int pad = (int)(widths[c] - width_of(text));

        if (color && c == NM_COMPARE_VERDICT)
            paint = color_of(text);
        fprintf(out, "%s%*s%s%s%s", c ? "  " : "", left_aligned[c] ? 0 : pad, "",
                paint ? paint : "", text, paint ? "\033[0m" : "");
        if (c < last && left_aligned[c])
            fprintf(out, "%*s", pad, "");
    }
    fputc('\n', out);
}

static void print_side(const struct nm_compare *compare, const char *side, FILE *out)
{
    const struct nm_cell *cell = NULL;

    for (size_t i = 0; i < compare->n_rows && !cell; i++)
        cell = *side == 'A' ? compare->rows[i].a : compare->rows[i].b;
    fprintf(out, "%s:", side);
    if (compare->options.keys & NM_COMPARE_NAS)
        fprintf(out, " %s", cell->nas);
    if (compare->options.keys & NM_COMPARE_FIRMWARE)
        fprintf(out, " firmware %s", cell->firmware);
    if (compare->options.keys & NM_COMPARE_VOLUME)
        fprintf(out, " volume %s", cell->volume);
    if (compare->options.keys & NM_COMPARE_PROTOCOL)
        fprintf(out, " protocol %s", cell->protocol);
    if (compare->options.keys & NM_COMPARE_WORKLOAD)
        fprintf(out, " workload %s", cell->workload);
    if (compare->options.keys & NM_COMPARE_PHASE)
        fprintf(out, " phase %s", cell->phase);
    if (!compare->options.keys)
        fprintf(out, " run %s", cell->n_trials ? cell->trials[0].run : "-");
    fputc('\n', out);
}

static void print_heading(const struct nm_compare *compare, FILE *out)
{
    if (constant(compare, nas_of))
        fprintf(out, "%s", compare->rows[0].nas);
    if (constant(compare, firmware_of))
        fprintf(out, " firmware %s", compare->rows[0].firmware);
    if (constant(compare, nas_of) || constant(compare, firmware_of))
        fputc('\n', out);
    print_side(compare, "A", out);
    print_side(compare, "B", out);
    fputc('\n', out);
}

static void print_noise(const struct nm_compare *compare, FILE *out)
{
    double margin = 100 * compare->options.margin;

    if (!(compare->typical_noise > 0))
        return;
    fprintf(out, "\nnoise: %.2g %% between trials of a cell (median); ",
            100 * compare->typical_noise);
    if (compare->typical_trials)
        fprintf(out, "to see %.3g %% takes %u trials a side\n", margin, compare->typical_trials);
    else
        fprintf(out, "to see %.3g %% takes more than %d trials a side\n", margin,
                NM_STATS_MAX_TRIALS);
    if (compare->prior.d0 > 0)
        fprintf(out, "       pooled over the rows: d0 %.3g, s0 %.2g %%\n", compare->prior.d0,
                100 * sqrt(compare->prior.s0_squared));
    if (compare->tau_used)
        fprintf(out,
                "       each side was measured back to back in one session: %.2g %% added for "
                "the noise between sessions (%s)\n",
                100 * compare->options.tau,
                compare->options.tau_measured ? "measured"
                                              : "assumed; no repeated sessions stored");
}

static void print_legend(const struct nm_compare *compare, FILE *out)
{
    double margin = 100 * compare->options.margin;
    static const char *const fixed[] = {
        [NM_VERDICT_NOT_COMPARABLE] = "conditions differ beyond what is compared (--allow NAME)",
        [NM_VERDICT_INSUFFICIENT] = "fewer than 3 trials on a side",
        [NM_VERDICT_UNCLEAR] = "neither shown to be the same nor shown to differ",
    };

    fprintf(out, "\nA, B: geometric means of the trials; delta: B against A\n");
    for (int v = 0; v <= NM_VERDICT_UNCLEAR; v++) {
        if (!compare->counts[v])
            continue;
        fprintf(out, "%-15s %zu  ", nm_verdict_name((enum nm_verdict)v), compare->counts[v]);
        if (v == NM_VERDICT_SAME)
            fprintf(out, "90 %% interval inside +-%.3g %%\n", margin);
        else if (v == NM_VERDICT_REGRESSED || v == NM_VERDICT_IMPROVED)
            fprintf(out, "q <= 0.05 and at least %.3g %% %s\n", margin,
                    v == NM_VERDICT_REGRESSED ? "worse" : "better");
        else
            fprintf(out, "%s\n", fixed[v]);
    }
}

int nm_compare_write_text(const struct nm_compare *compare, bool color, FILE *out,
                          struct nm_error *err)
{
    size_t n = compare->n_rows + 2, widths[NM_COMPARE_COLUMNS] = {0};
    struct nm_compare_line *lines = calloc(n, sizeof(*lines));

    if (!lines)
        return nm_error_errno(err, -ENOMEM, "writing the comparison: out of memory");
    for (int c = 0; c < NM_COMPARE_COLUMNS; c++)
        snprintf(lines[0].text[c], sizeof(lines[0].text[c]), "%s", titles[c] ? titles[c] : "");
    for (size_t i = 0; i < compare->n_rows; i++)
        nm_compare_line(compare, &compare->rows[i], &lines[i + 1]);
    if (compare->overall.valid)
        overall_line(compare, &lines[n - 1]);
    for (size_t i = 0; i < n; i++)
        for (int c = 0; c < NM_COMPARE_COLUMNS; c++)
            if (width_of(lines[i].text[c]) > widths[c])
                widths[c] = width_of(lines[i].text[c]);
    print_heading(compare, out);
    for (size_t i = 0; i < n; i++)
        if (lines[i].text[NM_COMPARE_CELL][0])
            print_line(&lines[i], widths, color, out);
    print_noise(compare, out);
    print_legend(compare, out);
    free(lines);
    if (ferror(out))
        return nm_error_errno(err, -EIO, "writing the comparison failed");
    return 0;
}

/* Text may be cut in the middle of a letter: what is not UTF-8 becomes a question mark. */
static json_t *text_or_null(const char *text)
{
    char clean[256];
    json_t *string = text ? json_string(text) : json_null();

    if (string)
        return string;
    snprintf(clean, sizeof(clean), "%s", text);
    for (char *p = clean; *p; p++)
        if ((unsigned char)*p >= 0x80)
            *p = '?';
    return json_string(clean);
}

static json_t *real_or_null(bool has, double value)
{
    return has ? json_real(value) : json_null();
}

static json_t *pair_or_null(bool has, const double pair[2])
{
    return has ? json_pack("[f,f]", pair[0], pair[1]) : json_null();
}

static json_t *row_json(const struct nm_compare_row *row)
{
    const struct nm_stats_row *stats = &row->stats;
    bool judged = stats->has_interval && stats->verdict != NM_VERDICT_INSUFFICIENT;
    char note[256];

    note_text(row, note, sizeof(note));
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o,"
        " s:[i,i], s:s, s:o, s:o, s:o}",
        "nas", text_or_null(row->nas), "firmware", text_or_null(row->firmware), "volume",
        text_or_null(row->volume), "protocol", text_or_null(row->protocol), "workload",
        text_or_null(row->workload), "phase", text_or_null(row->phase), "metric",
        text_or_null(row->metric), "unit", row->unit, "a", real_or_null(row->has_a, row->centre_a),
        "b", real_or_null(row->has_b, row->centre_b), "delta",
        real_or_null(stats->has_delta, stats->delta), "se",
        real_or_null(stats->has_interval, stats->se), "df",
        real_or_null(stats->has_interval, stats->df), "p",
        real_or_null(stats->has_interval, stats->p), "q", real_or_null(judged, stats->q), "ci95",
        pair_or_null(stats->has_interval, stats->ci95), "ci90",
        pair_or_null(stats->has_interval, stats->ci90), "n", (int)stats->a.n, (int)stats->b.n,
        "verdict", nm_verdict_name(stats->verdict), "note", text_or_null(*note ? note : NULL),
        "needed_trials",
        stats->has_interval && stats->needed_trials ? json_integer(stats->needed_trials)
                                                    : json_null(),
        "smallest_effect", real_or_null(stats->has_interval, stats->smallest_effect));
}

json_t *nm_compare_json(const struct nm_compare *compare)
{
    static const char *const adjusts[] = {
        [NM_ADJUST_BH] = "bh", [NM_ADJUST_HOLM] = "holm", [NM_ADJUST_NONE] = "none"};
    bool prior = compare->prior.d0 > 0, overall = compare->overall.valid;
    json_t *rows = json_array();

    for (size_t i = 0; i < compare->n_rows; i++)
        if (json_array_append_new(rows, row_json(&compare->rows[i])) < 0) {
            json_decref(rows);
            return NULL;
        }
    return json_pack("{s:i, s:o, s:{s:o, s:o}, s:{s:o, s:o}, s:I, s:f, s:s, s:o}", "schema", 1,
                     "rows", rows, "prior", "d0", real_or_null(prior, compare->prior.d0),
                     "s0_squared", real_or_null(prior, compare->prior.s0_squared), "geomean",
                     "ratio", real_or_null(overall, compare->overall.ratio), "ci95",
                     pair_or_null(overall, compare->overall.ci95), "regressed",
                     (json_int_t)compare->counts[NM_VERDICT_REGRESSED], "margin",
                     compare->options.margin, "adjust", adjusts[compare->options.adjust], "tau",
                     real_or_null(compare->tau_used, compare->options.tau));
}
