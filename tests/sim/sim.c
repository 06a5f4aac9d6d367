/* sim [CAMPAIGNS]: how often the verdicts are wrong, on simulated campaigns whose truth is known.
 *
 * Three trials each side, every trial with noise of its own (2 %, drawn anew for each cell around
 * that) and with that of its pass (2 %, a session's worth: network, room, background jobs), all
 * log-normal. Prints, and fails beyond the limits:
 *   - no change: share of campaigns in which any cell is REGRESSED or IMPROVED (at most 6 %), the
 *     same for three trials back to back in one session without and with the allowance tau,
 *   - one cell 10 % slower: share of campaigns in which that cell is REGRESSED (at least 65 %),
 *   - histories of eight versions without change, 5 % noise: share with a change point (at most
 *     5 %).
 *
 * The seed is fixed: the figures are the same everywhere.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "history.h"
#include "stats.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 42, FEW_CELLS = 8, TRIALS = 3, VERSIONS = 8 };

#define TRIAL_NOISE   0.02
#define SESSION_NOISE 0.02
#define SLOWER        0.90

struct setting {
    size_t cells;
    double spread; /* of the trial noise over the cells, log-sd */
    bool grouped;  /* all trials of a side in one session, instead of one per pass */
    double tau;    /* allowance for that */
    double effect; /* of cell 0 on side B */
};

/* Trial rates of one side. Session noise is one draw per session and cell: what changes from day
 * to day does not hit all workloads alike. */
static struct nm_stats_side draw(gsl_rng *rng, bool grouped, double noise, double centre)
{
    double rates[TRIALS], session = 0;

    for (int i = 0; i < TRIALS; i++) {
        if (i == 0 || !grouped)
            session = gsl_ran_gaussian(rng, SESSION_NOISE);
        rates[i] = centre * exp(session + gsl_ran_gaussian(rng, noise));
    }
    return nm_stats_side(rates, TRIALS);
}

/* Verdicts of one campaign; counts those that are not the truth, and whether cell 0 was found. */
static void campaign(gsl_rng *rng, const struct setting *setting, size_t *alarms, bool *found)
{
    struct nm_stats_row rows[CELLS] = {0};
    struct nm_stats_prior prior;
    struct nm_stats_overall overall;
    struct nm_error err;

    for (size_t i = 0; i < setting->cells; i++) {
        double noise = TRIAL_NOISE * exp(gsl_ran_gaussian(rng, setting->spread));

        rows[i].a = draw(rng, setting->grouped, noise, 100);
        rows[i].b = draw(rng, setting->grouped, noise, 100 * (i ? 1 : setting->effect));
        rows[i].tau = setting->tau;
    }
    if (nm_stats_compare(rows, setting->cells, 0.05, NM_ADJUST_BH, &prior, &overall, &err) < 0)
        exit(2);
    *alarms = 0;
    for (size_t i = setting->effect < 1; i < setting->cells; i++)
        *alarms +=
            rows[i].verdict == NM_VERDICT_REGRESSED || rows[i].verdict == NM_VERDICT_IMPROVED;
    *found = rows[0].verdict == NM_VERDICT_REGRESSED;
}

static double share(gsl_rng *rng, struct setting setting, int campaigns)
{
    int hits = 0;

    for (int i = 0; i < campaigns; i++) {
        size_t alarms;
        bool found;

        campaign(rng, &setting, &alarms, &found);
        hits += setting.effect < 1 ? found : alarms > 0;
    }
    return (double)hits / campaigns;
}

static double history_alarms(gsl_rng *rng, int series)
{
    int hits = 0;

    for (int i = 0; i < series; i++) {
        double y[VERSIONS];
        struct nm_history_change changes[VERSIONS];

        for (int k = 0; k < VERSIONS; k++)
            y[k] = log(100) + gsl_ran_gaussian(rng, 0.05);
        hits += nm_history_changes(y, VERSIONS, 0.05, changes) > 0;
    }
    return (double)hits / series;
}

static int report(const char *what, double value, double low, double high)
{
    bool good = value >= low && value <= high;

    printf("%-58s %5.1f %%", what, 100 * value);
    if (low > 0)
        printf("  (at least %.0f %%)", 100 * low);
    if (high < 1)
        printf("  (at most %.0f %%)", 100 * high);
    printf("%s\n", good ? "" : "  WRONG");
    return !good;
}

int main(int argc, char **argv)
{
    int campaigns = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 2000, wrong = 0;
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

    if (!rng || campaigns < 1)
        return 2;
    gsl_rng_set(rng, 20131104);
    const struct setting passes = {.cells = CELLS, .spread = 0.3, .effect = 1};
    struct setting even = passes, uneven = passes, few = passes, slower = passes, together = passes;
    struct setting allowed;

    even.spread = 0;
    uneven.spread = 0.7;
    few.cells = FEW_CELLS;
    slower.effect = SLOWER;
    together.grouped = true;
    allowed = together;
    allowed.tau = SESSION_NOISE;
    wrong |= report("no change, three passes: any false verdict", share(rng, passes, campaigns), 0,
                    0.06);
    wrong |= report("the same, all cells equally noisy", share(rng, even, campaigns), 0, 0.06);
    wrong |=
        report("the same, noise of the cells differs much", share(rng, uneven, campaigns), 0, 0.06);
    wrong |= report("the same, 8 cells", share(rng, few, campaigns), 0, 0.06);
    wrong |=
        report("one cell 10 % slower, three passes: found", share(rng, slower, campaigns), 0.65, 1);
    wrong |=
        report("no change, back to back: any false verdict", share(rng, together, campaigns), 0, 1);
    wrong |= report("no change, back to back, tau allowed for: any false verdict",
                    share(rng, allowed, campaigns), 0, 0.06);
    wrong |= report("no change, 8 versions, 5 % noise: any change point",
                    history_alarms(rng, campaigns), 0, 0.05);
    gsl_rng_free(rng);
    return wrong;
}
