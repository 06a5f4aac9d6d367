/* The arguments of a null: URL, a typed table like any section of the plan.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "null.h"

#include "units.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FIELD(name) offsetof(struct null_arguments, name)

static const struct nm_option rows[] = {
    {.name = "rate",
     .type = NM_OPTION_SIZE,
     .offset = FIELD(rate_bytes_per_s),
     .help = "bytes per second, all sessions on this name together; without it no limit"},
    {.name = "burst",
     .type = NM_OPTION_STRING,
     .offset = FIELD(burst),
     .help = "BYTES:RATE, e.g. 4GB:80MB: after so many written bytes of a session writes go at "
             "RATE per second (a cache that fills up)"},
    {.name = "latency",
     .type = NM_OPTION_DURATION,
     .offset = FIELD(latency_ns),
     .help = "every operation takes at least this"},
    {.name = "capacity",
     .type = NM_OPTION_SIZE,
     .offset = FIELD(capacity_bytes),
     .preset = "1000000000000",
     .min = 4096,
     .help = "size of the volume or device"},
    {.name = "blocks",
     .type = NM_OPTION_BOOL,
     .offset = FIELD(blocks),
     .preset = "no",
     .help = "be a block device"},
    {.name = "unit",
     .type = NM_OPTION_UINT,
     .offset = FIELD(unit_bytes),
     .preset = "512",
     .min = 512,
     .max = 65536,
     .help = "bytes per block of the device"},
    {.name = "store",
     .type = NM_OPTION_BOOL,
     .offset = FIELD(store),
     .preset = "no",
     .help = "keep what is written; otherwise only names and sizes are kept and reading leaves "
             "the buffer alone"},
    {.name = "fault",
     .type = NM_OPTION_STRING,
     .offset = FIELD(fault),
     .help = "KIND[.OPERATION]@N[:TIME],...: the N-th operation of a session fails; kinds: timeout "
             "hang block crash lost enospc eio corrupt short slow"},
};

const struct nm_option_section null_arguments_section = {
    .name = "null",
    .help = "arguments of null: URLs",
    .options = rows,
    .n_options = NM_OPTION_COUNT(rows),
    .size = sizeof(struct null_arguments),
};

void null_arguments_done(struct null_arguments *arguments)
{
    nm_options_done(&null_arguments_section, arguments);
}

static int parse_burst(struct null_arguments *arguments, struct nm_error *err)
{
    char text[64];
    char *colon;
    int r;

    if (!arguments->burst)
        return 0;
    snprintf(text, sizeof(text), "%s", arguments->burst);
    colon = strchr(text, ':');
    if (!colon)
        return nm_error_set(err, -EINVAL, NM_REASON_NONE,
                            "null URL: burst=%s: write it BYTES:RATE, e.g. 4GB:80MB", text);
    *colon++ = '\0';
    r = nm_units_parse_bytes(text, &arguments->burst_bytes, err);
    if (r == 0)
        r = nm_units_parse_bytes(colon, &arguments->after_bytes_per_s, err);
    if (r == 0 && !arguments->after_bytes_per_s)
        r = nm_error_set(err, -EINVAL, NM_REASON_NONE, "null URL: burst: a rate of 0 never ends");
    return r;
}

int null_arguments_parse(const struct nm_url *url, struct null_arguments *ret, struct nm_error *err)
{
    struct null_arguments arguments;
    int r = nm_options_init(&null_arguments_section, &arguments, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < url->n_args && r == 0; i++)
        r = nm_options_set(&null_arguments_section, &arguments, url->args[i].name,
                           url->args[i].value, err);
    if (r == 0)
        r = parse_burst(&arguments, err);
    if (r == 0 && (arguments.unit_bytes & (arguments.unit_bytes - 1)))
        r = nm_error_set(err, -EINVAL, NM_REASON_NONE, "null URL: unit is not a power of two");
    if (r < 0) {
        null_arguments_done(&arguments);
        return r;
    }
    *ret = arguments;
    return 0;
}
