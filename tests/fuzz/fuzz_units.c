/* Quantities from anybody: what is accepted is printed as something that is accepted again, with
 * the same value.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "units.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size), out[400];
    uint64_t value, again;
    double real, same;

    if (nm_units_parse_bytes(text, &value, NULL) == 0) {
        nm_units_format_bytes(value, out, sizeof(out));
        require(nm_units_parse_bytes(out, &again, NULL) == 0 && again == value);
        nm_units_format_bytes_human(value, out, sizeof(out));
    }
    if (nm_units_parse_duration(text, &value, NULL) == 0)
        nm_units_format_duration(value, out, sizeof(out));
    if (nm_units_parse_u64(text, &value, NULL) == 0)
        require(nm_units_parse_double(text, &real, NULL) == 0);
    if (nm_units_parse_double(text, &real, NULL) == 0) {
        nm_units_format_double(real, 0, out, sizeof(out));
        require(nm_units_parse_double(out, &same, NULL) == 0 && same == real);
        nm_units_format_rate(real, -1, ',', out, sizeof(out));
    }
    if (nm_units_parse_fraction(text, &real, NULL) == 0)
        require(real >= 0 && real <= 1);
    free(text);
    return 0;
}
