/* Faults by countdown: "KIND[.OPERATION]@N[:TIME]", several separated by commas. The N-th operation
 * of a session (counted from 1, of the kinds that the fault is about) is hit once.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "null.h"

#include "clock.h"
#include "units.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DATA (NM_OP_MASK(NM_OP_READ) | NM_OP_MASK(NM_OP_WRITE))

static const struct {
    const char *name;
    unsigned ops;
} kinds[NULL_FAULT_KINDS] = {
    [NULL_FAULT_TIMEOUT] = {"timeout", DATA},
    [NULL_FAULT_HANG] = {"hang", DATA},
    [NULL_FAULT_BLOCK] = {"block", DATA},
    [NULL_FAULT_CRASH] = {"crash", DATA},
    [NULL_FAULT_LOST] = {"lost", DATA},
    [NULL_FAULT_ENOSPC] = {"enospc", NM_OP_MASK(NM_OP_WRITE)},
    [NULL_FAULT_EIO] = {"eio", DATA},
    [NULL_FAULT_CORRUPT] = {"corrupt", NM_OP_MASK(NM_OP_READ)},
    [NULL_FAULT_SHORT] = {"short", DATA},
    [NULL_FAULT_SLOW] = {"slow", DATA},
};

static int parse_one(char *text, struct null_fault *ret, struct nm_error *err)
{
    char *at = strchr(text, '@'), *time, *op;
    int kind = 0, r;

    if (!at)
        return nm_error_set(err, -EINVAL, NM_REASON_NONE,
                            "null URL: fault=%s: write it KIND@N, e.g. eio@100", text);
    *at++ = '\0';
    time = strchr(at, ':');
    if (time)
        *time++ = '\0';
    op = strchr(text, '.');
    if (op)
        *op++ = '\0';
    while (kind < NULL_FAULT_KINDS && strcmp(kinds[kind].name, text) != 0)
        kind++;
    if (kind == NULL_FAULT_KINDS)
        return nm_error_set(err, -EINVAL, NM_REASON_NONE,
                            "null URL: unknown fault '%s'; there are timeout hang block crash lost "
                            "enospc eio corrupt short slow",
                            text);
    *ret = (struct null_fault){.kind = kind, .ops = kinds[kind].ops, .slow_ns = NM_NS_PER_S};
    if (op) {
        ret->ops = 0;
        for (int k = 0; k < NM_OP_KINDS; k++)
            if (!strcmp(nm_op_kind_name(k), op))
                ret->ops = NM_OP_MASK(k);
        if (!ret->ops)
            return nm_error_set(err, -EINVAL, NM_REASON_NONE,
                                "null URL: fault=%s.%s: no such operation", text, op);
    }
    r = nm_units_parse_u64(at, &ret->left, err);
    if (r == 0 && time)
        r = nm_units_parse_duration(time, &ret->slow_ns, err);
    if (r == 0 && !ret->left)
        r = nm_error_set(err, -EINVAL, NM_REASON_NONE, "null URL: fault=%s: counts from 1", text);
    return r;
}

int null_faults_parse(const char *text, struct null_faults *ret, struct nm_error *err)
{
    char copy[256];
    char *save = NULL;

    ret->count = 0;
    if (!text)
        return 0;
    if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
        return nm_error_set(err, -EINVAL, NM_REASON_NONE, "null URL: fault: too long");
    for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
        int r;

        if (ret->count == NULL_FAULTS_MAX)
            return nm_error_set(err, -EINVAL, NM_REASON_NONE, "null URL: more than %d faults",
                                NULL_FAULTS_MAX);
        r = parse_one(word, &ret->items[ret->count++], err);
        if (r < 0)
            return r;
    }
    return 0;
}

const struct null_fault *null_faults_next(struct null_faults *faults, enum nm_op_kind kind)
{
    const struct null_fault *hit = NULL;

    for (size_t i = 0; i < faults->count; i++) {
        struct null_fault *fault = &faults->items[i];

        if ((fault->ops & NM_OP_MASK(kind)) && fault->left && !--fault->left)
            hit = fault;
    }
    return hit;
}
