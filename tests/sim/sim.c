/* sim [CAMPAIGNS]: how often the verdicts are wrong, on simulated campaigns whose truth is known.
 *
 * 42 cells, three trials each side, every trial with noise of its own and with that of its pass
 * (a session's worth: network, room, background jobs), log-normal. Noise differs between cells.
 * Prints, and fails beyond the limits:
 *   - no change: share of campaigns in which any cell is REGRESSED or IMPROVED (at most 6 %),
 *     the same for three trials back to back in one session without and with the allowance tau,
 *   - one cell 10 % slower: share of campaigns in which that cell is REGRESSED: at least 65 % when
 *     its trials scatter by 2.5 % in all, at least 50 % by 2.8 %,
 *   - histories of eight versions without change, 5 % noise: share with a change point (at most 5
 * %).
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

enum { CELLS = 42, TRIALS = 3, VERSIONS = 8 };

#define SESSION_NOISE 0.02
#define SLOWER        0.90

struct setting {
    double noise;  /* between trials of a cell, typical */
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

    for (int i = 0; i < CELLS; i++) {
        double noise = setting->noise * exp(gsl_ran_gaussian(rng, 0.3));

        rows[i].a = draw(rng, setting->grouped, noise, 100);
        rows[i].b = draw(rng, setting->grouped, noise, 100 * (i ? 1 : setting->effect));
        rows[i].tau = setting->tau;
    }
    if (nm_stats_compare(rows, CELLS, 0.05, NM_ADJUST_BH, &prior, &overall, &err) < 0)
        exit(2);
    *alarms = 0;
    for (int i = setting->effect < 1; i < CELLS; i++)
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
    struct setting quiet = {.noise = 0.015, .effect = 1}, noisy = {.noise = 0.02, .effect = 1};
    struct setting together = noisy, allowed;

    together.grouped = true;
    allowed = together;
    allowed.tau = SESSION_NOISE;
    wrong |= report("no change, three passes, 1.5 % noise: any false verdict",
                    share(rng, quiet, campaigns), 0, 0.06);
    wrong |= report("no change, three passes, 2 % noise: any false verdict",
                    share(rng, noisy, campaigns), 0, 0.06);
    quiet.effect = noisy.effect = SLOWER;
    wrong |=
        report("one cell 10 % slower, 1.5 % noise: found", share(rng, quiet, campaigns), 0.65, 1);
    wrong |=
        report("one cell 10 % slower, 2 % noise: found", share(rng, noisy, campaigns), 0.50, 1);
    wrong |=
        report("no change, back to back: any false verdict", share(rng, together, campaigns), 0, 1);
    wrong |= report("no change, back to back, tau allowed for: any false verdict",
                    share(rng, allowed, campaigns), 0, 0.06);
    wrong |= report("no change, 8 versions, 5 % noise: any change point",
                    history_alarms(rng, campaigns), 0, 0.05);
    gsl_rng_free(rng);
    return wrong;
}
