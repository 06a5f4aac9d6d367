/* Quantities as text (units.h).
 *
 * Sizes and durations are exact integers: "0.1GB" is 100000000 bytes and "0.3B" is refused, so no
 * value changes on its way through a plan, the database and back. Real numbers go through the C
 * locale explicitly, whatever the process or a library has set.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "units.h"

#include "clock.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    const char *suffix;
    uint64_t factor;
};

#define KIBI (UINT64_C(1) << 10)
#define MEBI (UINT64_C(1) << 20)
#define GIBI (UINT64_C(1) << 30)
#define TEBI (UINT64_C(1) << 40)

static const struct unit byte_units[] = {
    {"", 1},     {"B", 1},    {"kB", 1000},  {"KB", 1000},
    {"k", KIBI}, {"K", KIBI}, {"KiB", KIBI}, {"MB", 1000000},
    {"m", MEBI}, {"M", MEBI}, {"MiB", MEBI}, {"GB", 1000000000},
    {"g", GIBI}, {"G", GIBI}, {"GiB", GIBI}, {"TB", 1000000000000},
    {"t", TEBI}, {"T", TEBI}, {"TiB", TEBI}, {NULL, 0},
};

static const struct unit duration_units[] = {
    {"", NM_NS_PER_S},         {"ns", 1},          {"us", NM_NS_PER_US},
    {"ms", NM_NS_PER_MS},      {"s", NM_NS_PER_S}, {"m", 60 * NM_NS_PER_S},
    {"h", 3600 * NM_NS_PER_S}, {NULL, 0},
};

static const struct unit count_units[] = {{"", 1}, {NULL, 0}};

/* A sort of quantity that is a whole number of its smallest unit. */
struct quantity {
    const char *what, *examples;
    const struct unit *units;
    bool decimals; /* "1.5" makes sense */
};

static const struct quantity bytes_quantity = {
    .what = "size",
    .examples = "2GB (10^9), 512MiB or 512m (2^20)",
    .units = byte_units,
    .decimals = true,
};

static const struct quantity duration_quantity = {
    .what = "duration",
    .examples = "30s, 500ms, 20us, 5m or 2h",
    .units = duration_units,
    .decimals = true,
};

static const struct quantity count_quantity = {
    .what = "whole number",
    .examples = "16",
    .units = count_units,
};

static locale_t c_locale(void)
{
    static locale_t locale;

    if (!locale)
        locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return locale;
}

/* Digits as a number; -ERANGE when they do not fit. */
static int scan_digits(const char *first, const char *end, uint64_t *ret)
{
    uint64_t value = 0;

    for (; first < end; first++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*first - '0'), &value))
            return -ERANGE;
    *ret = value;
    return 0;
}

static const char *skip_digits(const char *text)
{
    while (nm_text_is_digit(*text))
        text++;
    return text;
}

/* whole + fraction / scale, times factor, exactly. */
static int scale_exactly(uint64_t whole, uint64_t fraction, uint64_t scale, uint64_t factor,
                         uint64_t *ret)
{
    unsigned __int128 part = (unsigned __int128)fraction * factor;
    uint64_t value;

    if (part % scale)
        return -EDOM;
    if (__builtin_mul_overflow(whole, factor, &value) ||
        __builtin_add_overflow(value, (uint64_t)(part / scale), &value))
        return -ERANGE;
    *ret = value;
    return 0;
}

static const struct unit *find_unit(const struct unit *units, const char *suffix)
{
    for (; units->suffix; units++)
        if (!strcmp(suffix, units->suffix))
            return units;
    return NULL;
}

static int parse_quantity(const struct quantity *quantity, const char *text, uint64_t *ret,
                          struct nm_error *err)
{
    const char *point = skip_digits(text), *fraction_end = point, *rest = point;
    uint64_t whole = 0, fraction = 0, scale = 1;
    const struct unit *unit;
    int r;

    if (quantity->decimals && *point == '.') {
        rest = fraction_end = skip_digits(point + 1);
        while (fraction_end > point + 1 && fraction_end[-1] == '0')
            fraction_end--;
    }
    if (point == text || rest == point + 1)
        return nm_error_set(err, -EINVAL, NM_REASON_NONE, "\"%.60s\" is not a %s; write it like %s",
                            text, quantity->what, quantity->examples);
    if (rest[0] == ' ' && rest[1])
        rest++;
    unit = find_unit(quantity->units, rest);
    if (!unit)
        return nm_error_set(err, -EINVAL, NM_REASON_NONE,
                            "\"%.60s\" is not a %s (\"%.20s\" is no unit of it); write it like %s",
                            text, quantity->what, rest, quantity->examples);

    r = scan_digits(text, point, &whole);
    if (!r && fraction_end > point) {
        /* 10^19 is the largest power of ten that fits; no unit divides into finer parts anyway. */
        r = fraction_end - point - 1 > 18 ? -EDOM : scan_digits(point + 1, fraction_end, &fraction);
        for (const char *p = point + 1; !r && p < fraction_end; p++)
            scale *= 10;
    }
    if (!r)
        r = scale_exactly(whole, fraction, scale, unit->factor, ret);
    if (r == -EDOM)
        return nm_error_set(err, -EINVAL, NM_REASON_NONE,
                            "\"%.60s\" has too many decimals for its unit; use a smaller unit",
                            text);
    if (r)
        return nm_error_set(err, -EINVAL, NM_REASON_NONE, "\"%.60s\" is too large for a %s", text,
                            quantity->what);
    return 0;
}

int nm_units_parse_bytes(const char *text, uint64_t *ret_bytes, struct nm_error *err)
{
    return parse_quantity(&bytes_quantity, text, ret_bytes, err);
}

int nm_units_parse_duration(const char *text, uint64_t *ret_ns, struct nm_error *err)
{
    return parse_quantity(&duration_quantity, text, ret_ns, err);
}

int nm_units_parse_u64(const char *text, uint64_t *ret_value, struct nm_error *err)
{
    return parse_quantity(&count_quantity, text, ret_value, err);
}

/* The grammar strtod() would accept is wider: blanks, "inf", "nan", hexadecimal. */
static bool is_plain_real(const char *text)
{
    const char *at = text + (*text == '-'), *end = skip_digits(at);

    if (end == at)
        return false;
    if (*end == '.') {
        at = end + 1;
        end = skip_digits(at);
        if (end == at)
            return false;
    }
    if (*end == 'e' || *end == 'E') {
        at = end + 1 + (end[1] == '-' || end[1] == '+');
        end = skip_digits(at);
        if (end == at)
            return false;
    }
    return !*end;
}

int nm_units_parse_double(const char *text, double *ret_value, struct nm_error *err)
{
    double value;

    if (!is_plain_real(text))
        return nm_error_set(err, -EINVAL, NM_REASON_NONE,
                            "\"%.60s\" is not a number; write it like 12.5 (decimal point)", text);
    value = strtod_l(text, NULL, c_locale());
    if (!isfinite(value))
        return nm_error_set(err, -EINVAL, NM_REASON_NONE, "\"%.60s\" is too large for a number",
                            text);
    *ret_value = value;
    return 0;
}

int nm_units_parse_fraction(const char *text, double *ret_fraction, struct nm_error *err)
{
    size_t length = strlen(text);
    bool percent = length && text[length - 1] == '%';
    char number[64];
    double value;

    if (length - percent >= sizeof(number))
        goto refused;
    memcpy(number, text, length - percent);
    number[length - percent] = '\0';
    if (nm_units_parse_double(number, &value, NULL) < 0)
        goto refused;
    if (percent)
        value /= 100;
    if (!(value >= 0 && value <= 1))
        goto refused;
    *ret_fraction = value;
    return 0;
refused:
    return nm_error_set(err, -EINVAL, NM_REASON_NONE,
                        "\"%.60s\" is not a share; write 0%% to 100%%, or 0 to 1", text);
}

/* Spelling with the largest unit of a family that divides bytes. */
static void spell(uint64_t bytes, uint64_t step, const char *const *suffixes, char *out,
                  size_t size)
{
    unsigned power = 0;

    while (bytes && power < 4 && bytes % step == 0) {
        bytes /= step;
        power++;
    }
    snprintf(out, size, "%" PRIu64 "%s", bytes, suffixes[power]);
}

const char *nm_units_format_bytes(uint64_t bytes, char *out, size_t size)
{
    static const char *const decimal[] = {"B", "KB", "MB", "GB", "TB"};
    static const char *const binary[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    char thousands[32], kibis[32];
    spell(bytes, 1000, decimal, thousands, sizeof(thousands));
    spell(bytes, KIBI, binary, kibis, sizeof(kibis));
    snprintf(out, size, "%s", strlen(kibis) < strlen(thousands) ? kibis : thousands);
    return out;
}

/* Three significant digits with the unit that keeps the number below 1000, as far as units go. */
static const char *format_human(double value, double step, const char *const *suffixes, char *out,
                                size_t size)
{
    locale_t old = uselocale(c_locale());

    while (value >= 999.5 && suffixes[1]) {
        value /= step;
        suffixes++;
    }
    snprintf(out, size, "%.*f %s", value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2, value, suffixes[0]);
    uselocale(old);
    return out;
}

const char *nm_units_format_bytes_human(uint64_t bytes, char *out, size_t size)
{
    static const char *const suffixes[] = {"B", "KB", "MB", "GB", "TB", NULL};

    if (bytes < 1000) {
        snprintf(out, size, "%" PRIu64 " B", bytes);
        return out;
    }
    return format_human((double)bytes, 1000, suffixes, out, size);
}

const char *nm_units_format_duration(uint64_t ns, char *out, size_t size)
{
    static const char *const suffixes[] = {"ns", "us", "ms", "s", NULL};

    if (ns < 1000) {
        snprintf(out, size, "%" PRIu64 " ns", ns);
        return out;
    }
    return format_human((double)ns, 1000, suffixes, out, size);
}

const char *nm_units_format_rate(double mb_per_s, int digits, char decimal_sign, char *out,
                                 size_t size)
{
    locale_t old = uselocale(c_locale());
    double magnitude = fabs(mb_per_s);
    char *point;

    if (digits < 0) {
        digits = magnitude >= 5 ? 1 : 2;
        /* Two significant digits, however small: 0.004 must not become 0.00. */
        if (magnitude > 0 && magnitude < 0.1)
            digits = 1 - (int)floor(log10(magnitude));
    }
    snprintf(out, size, "%.*f", digits > 12 ? 12 : digits, mb_per_s);
    uselocale(old);
    point = strchr(out, '.');
    if (point)
        *point = decimal_sign;
    return out;
}

const char *nm_units_format_double(double value, int significant, char *out, size_t size)
{
    locale_t old = uselocale(c_locale());
    int digits = significant > 0 ? significant : 1;

    do
        snprintf(out, size, "%.*g", digits, value);
    while (significant <= 0 && digits++ < 17 && strtod(out, NULL) != value);
    uselocale(old);
    return out;
}
