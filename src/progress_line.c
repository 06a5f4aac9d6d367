/* The line of a run in progress (progress_line.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "progress_line.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define BAR_COLUMNS 16
#define NAME_LEAST  12 /* below that, other things go before more of the name does */

/* What stands in the line, from everything to what is never left out. */
static const struct level {
    bool mean, bar, pass, run;
    size_t least; /* columns of the name */
} levels[] = {
    {.mean = true, .bar = true, .pass = true, .run = true, .least = SIZE_MAX},
    {.bar = true, .pass = true, .run = true, .least = SIZE_MAX},
    {.pass = true, .run = true, .least = NAME_LEAST},
    {.run = true, .least = NAME_LEAST},
    {.least = 0},
};
#define N_LEVELS (sizeof(levels) / sizeof(levels[0]))

static bool continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

static size_t columns_of(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += !continues(*text);
    return n;
}

/* The last `columns` of a name: there stand workload and phase. */
static const char *tail_of(const char *name, size_t columns)
{
    size_t skip = columns_of(name);

    for (skip = skip > columns ? skip - columns : 0; skip; skip--)
        for (name++; continues(*name);)
            name++;
    return name;
}

static void put_head(const struct nm_progress_line *line, const struct level *level, char *out,
                     size_t size)
{
    char pass[24] = "";

    if (level->pass)
        snprintf(pass, sizeof(pass), "pass %" PRIu32 " ", line->pass);
    snprintf(out, size, "[%zu/%zu] %s", line->index, line->total, pass);
    if (!line->total)
        *out = '\0';
}

static void put_rest(const struct nm_progress_line *line, const struct level *level, char *out,
                     size_t size)
{
    char bar[BAR_COLUMNS + 4] = "", mean[48] = "", run[40] = "";

    if (line->fraction < 0) {
        snprintf(out, size, ", %s", line->eta);
        return;
    }
    if (level->bar) {
        memcpy(bar, "[................] ", sizeof("[................] "));
        memset(bar + 1, '#', (size_t)(line->fraction * BAR_COLUMNS));
    }
    if (level->mean)
        snprintf(mean, sizeof(mean), " (mean %s)", line->mean);
    if (level->run)
        snprintf(run, sizeof(run), ", run %s", line->run_eta);
    snprintf(out, size, " %s%3.0f %% %s%s ETA %s%s", bar, line->fraction * 100, line->rate, mean,
             line->eta, run);
}

void nm_progress_line(const struct nm_progress_line *line, size_t columns, char *out, size_t size)
{
    size_t name = columns_of(line->name), room = 0;
    char head[64], rest[256];

    for (size_t i = 0; i < N_LEVELS; i++) {
        size_t least = levels[i].least < name ? levels[i].least : name;

        put_head(line, &levels[i], head, sizeof(head));
        put_rest(line, &levels[i], rest, sizeof(rest));
        size_t fixed = columns_of(head) + columns_of(rest);

        room = columns > fixed ? columns - fixed : 0;
        if (room >= least)
            break;
    }
    snprintf(out, size, "%s%s%s", head, tail_of(line->name, room), rest);
    out[columns < size ? columns : size - 1] = '\0'; /* ASCII once nothing is left of the name */
}

double nm_progress_rate(struct nm_progress_recent *recent, uint64_t at_ns, uint64_t bytes)
{
    const unsigned room = sizeof(recent->samples) / sizeof(recent->samples[0]);

    if (recent->n && (at_ns < recent->samples[0].at_ns || bytes < recent->samples[0].bytes))
        recent->n = 0;
    if (recent->n == room)
        recent->n--;
    memmove(&recent->samples[1], &recent->samples[0], recent->n * sizeof(recent->samples[0]));
    recent->samples[0].at_ns = at_ns;
    recent->samples[0].bytes = bytes;
    recent->n++;

    uint64_t span_ns = at_ns - recent->samples[recent->n - 1].at_ns;
    uint64_t moved = bytes - recent->samples[recent->n - 1].bytes;

    if (!span_ns)
        return at_ns ? (double)bytes * 1e9 / (double)at_ns : 0;
    return (double)moved * 1e9 / (double)span_ns;
}
