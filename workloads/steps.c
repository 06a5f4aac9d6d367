/* Steps of block access (steps.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "steps.h"

#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_MAX   (64u << 20)
#define DEPTH_MAX   1024u
#define THREADS_MAX 64u

static int bad(const char *text, const char *what, struct nm_error *err)
{
    return nm_error_set(
        err, -EINVAL, NM_REASON_INTERNAL,
        "step '%.60s': %s; a step is seq or rnd, a block size, -qN and tN, and -read, -write or "
        "-mixPERCENT, as in rnd4KiB-q32t1-read",
        text, what);
}

/* "q8t1", "q32", "t4" */
static int parse_queue(const char *text, const char *word, size_t length, struct nm_step *step,
                       struct nm_error *err)
{
    const char *end = word + length;

    while (word < end) {
        char kind = *word++, *stop;
        unsigned long value = strtoul(word, &stop, 10);

        if (stop == word || stop > end || !value || (kind != 'q' && kind != 't'))
            return bad(text, "queue and threads are written q8t1", err);
        if (value > (kind == 'q' ? DEPTH_MAX : THREADS_MAX))
            return bad(text, "at most q1024 and t64", err);
        *(kind == 'q' ? &step->depth : &step->threads) = (uint32_t)value;
        word = stop;
    }
    return 0;
}

static int parse_direction(const char *text, const char *word, struct nm_step *step,
                           struct nm_error *err)
{
    uint64_t percent;

    if (!strcmp(word, "read"))
        step->read_percent = 100;
    else if (!strcmp(word, "write"))
        step->read_percent = 0;
    else if (!strncmp(word, "mix", 3) && nm_units_parse_u64(word + 3, &percent, NULL) == 0 &&
             percent > 0 && percent < 100)
        step->read_percent = (uint32_t)percent;
    else
        return bad(text, "the direction is read, write or mix1..mix99", err);
    return 0;
}

static void name_step(struct nm_step *step)
{
    char block[24], queue[24] = "", direction[16];
    size_t used = 0;

    if (step->depth)
        used = (size_t)snprintf(queue, sizeof(queue), "-q%" PRIu32, step->depth);
    if (step->threads)
        snprintf(queue + used, sizeof(queue) - used, "%st%" PRIu32, used ? "" : "-", step->threads);
    if (step->read_percent > 0 && step->read_percent < 100)
        snprintf(direction, sizeof(direction), "mix%" PRIu32, step->read_percent);
    else
        snprintf(direction, sizeof(direction), "%s", step->read_percent ? "read" : "write");
    snprintf(step->name, sizeof(step->name), "%s%s%s-%s", step->random ? "rnd" : "seq",
             nm_units_format_bytes(step->block_bytes, block, sizeof(block)), queue, direction);
}

int nm_step_parse(const char *text, struct nm_step *ret, struct nm_error *err)
{
    struct nm_step step = {0};
    char size[24];
    uint64_t block;
    int r;

    if (!strncmp(text, "rnd", 3))
        step.random = true;
    else if (strncmp(text, "seq", 3))
        return bad(text, "it begins with seq or rnd", err);
    size_t length = strcspn(text + 3, "-");
    const char *last = strrchr(text, '-'), *middle = text + 3 + length;

    if (!length || length >= sizeof(size) || !last)
        return bad(text, "block size or direction is missing", err);
    snprintf(size, sizeof(size), "%.*s", (int)length, text + 3);
    r = nm_units_parse_bytes(size, &block, err);
    if (r < 0)
        return r;
    if (!block || block > BLOCK_MAX)
        return bad(text, "the block is 1 B to 64 MiB", err);
    step.block_bytes = (uint32_t)block;
    if (middle < last)
        r = parse_queue(text, middle + 1, (size_t)(last - middle - 1), &step, err);
    if (!r)
        r = parse_direction(text, last + 1, &step, err);
    if (r < 0)
        return r;
    name_step(&step);
    *ret = step;
    return 0;
}

int nm_steps_parse(const char *text, struct nm_step steps[NM_STEPS_MAX], struct nm_error *err)
{
    int n = 0;

    for (const char *at = text + strspn(text, " "); *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        char word[64];

        if (n == NM_STEPS_MAX)
            return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL, "at most %d steps", NM_STEPS_MAX);
        if (length >= sizeof(word))
            return bad(at, "too long", err);
        snprintf(word, sizeof(word), "%.*s", (int)length, at);
        at += length;
        int r = nm_step_parse(word, &steps[n], err);

        if (r < 0)
            return r;
        for (int i = 0; i < n; i++)
            if (!strcmp(steps[i].name, steps[n].name))
                return bad(word, "it stands twice", err);
        n++;
    }
    if (!n)
        return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                            "no steps; give at least one, as in steps = seq1MiB-q8t1-read");
    return n;
}
