/* Names of what is stored as a word: trial status, direction and summary of a metric (record.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "record.h"

#include <string.h>

static const char *const statuses[NM_STATUSES] = {
    [NM_STATUS_OK] = "ok",
    [NM_STATUS_FAILED] = "failed",
    [NM_STATUS_UNSUPPORTED] = "unsupported",
    [NM_STATUS_NA] = "na",
    [NM_STATUS_MISSING] = "missing",
    [NM_STATUS_VOID] = "void",
    [NM_STATUS_ABORTED] = "aborted",
    [NM_STATUS_TOO_SHORT] = "too_short",
};

static const char *const betters[] = {
    [NM_BETTER_HIGHER] = "higher",
    [NM_BETTER_LOWER] = "lower",
    [NM_BETTER_NONE] = "none",
};

static const char *const summaries[] = {
    [NM_SUMMARY_GEOMEAN] = "geomean", [NM_SUMMARY_MEDIAN] = "median", [NM_SUMMARY_BEST] = "best",
    [NM_SUMMARY_MAX] = "max",         [NM_SUMMARY_MEAN] = "mean",
};

#define LENGTH(names) (sizeof(names) / sizeof((names)[0]))

static const char *name_of(const char *const *names, size_t n, unsigned value)
{
    return value < n ? names[value] : "?";
}

static int parse(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(names[i], name))
            return (int)i;
    return -1;
}

const char *nm_status_name(enum nm_status status)
{
    return name_of(statuses, LENGTH(statuses), status);
}

int nm_status_parse(const char *name)
{
    return parse(statuses, LENGTH(statuses), name);
}

const char *nm_better_name(enum nm_better better)
{
    return name_of(betters, LENGTH(betters), better);
}

int nm_better_parse(const char *name)
{
    return parse(betters, LENGTH(betters), name);
}

const char *nm_summary_name(enum nm_summary summary)
{
    return name_of(summaries, LENGTH(summaries), summary);
}

int nm_summary_parse(const char *name)
{
    return parse(summaries, LENGTH(summaries), name);
}
