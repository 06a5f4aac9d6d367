/* Bit rates of films (bitrate.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bitrate.h"

#include "units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define LEAST_BITS_PER_S 1e4
#define MOST_BITS_PER_S  1e11

static const struct {
    const char *name;
    uint64_t bits;
} units[] = {{"Gbit", 1000000000}, {"Mbit", 1000000}, {"kbit", 1000}, {"bit", 1}};

int nm_bitrate_parse(const char *text, uint64_t *ret_bits_per_s, struct nm_error *err)
{
    size_t length = strspn(text, "0123456789.");
    char number[24];
    double value;

    if (length && length < sizeof(number)) {
        snprintf(number, sizeof(number), "%.*s", (int)length, text);
        for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
            size_t n = strlen(units[i].name);
            const char *end = text + length + n;

            if (strncmp(text + length, units[i].name, n) || (*end && strcmp(end, "/s")) ||
                nm_units_parse_double(number, &value, NULL) < 0)
                continue;
            value = round(value * (double)units[i].bits);
            if (value < LEAST_BITS_PER_S || value > MOST_BITS_PER_S)
                break;
            *ret_bits_per_s = (uint64_t)value;
            return 0;
        }
    }
    return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                        "'%.40s' is no bit rate between 10kbit and 100Gbit; write it 8Mbit", text);
}

const char *nm_bitrate_format(uint64_t bits_per_s, char out[NM_BITRATE_TEXT])
{
    size_t i = 0;
    char number[32];

    while (bits_per_s < units[i].bits)
        i++;
    snprintf(out, NM_BITRATE_TEXT, "%.14s%s",
             nm_units_format_double((double)bits_per_s / (double)units[i].bits, 12, number,
                                    sizeof(number)),
             units[i].name);
    return out;
}

uint32_t nm_bitrate_block(uint64_t bits_per_s)
{
    uint32_t block = 65536;

    while (block < 1 << 20 && (uint64_t)block * 2 * 8 * 16 <= bits_per_s)
        block *= 2;
    return block;
}
