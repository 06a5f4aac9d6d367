/* Compact stored forms: bins as LEB128 numbers, condition sets as lines.
 *
 * A bin is a few bytes instead of eight, a zero bin one; ten million bins of a long history stay a
 * few dozen megabytes.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_sql.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEB128_MAX 10 /* bytes of a 64-bit number */

unsigned char *nm_pack_bins(const uint64_t *bins, size_t n, size_t *ret_size)
{
    unsigned char *blob = malloc(n * LEB128_MAX + 1), *p = blob;

    if (!blob)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        uint64_t value = bins[i];

        for (; value >= 0x80; value >>= 7)
            *p++ = (unsigned char)(value | 0x80);
        *p++ = (unsigned char)value;
    }
    *ret_size = (size_t)(p - blob);
    return blob;
}

int nm_pack_read(const unsigned char *blob, size_t size, uint64_t **ret_bins, size_t *ret_n,
                 struct nm_error *err)
{
    uint64_t *bins = malloc((size ? size : 1) * sizeof(*bins)), value = 0;
    unsigned shift = 0;
    size_t n = 0;

    if (!bins)
        return nm_error_errno(err, -ENOMEM, "bins: out of memory");
    for (size_t i = 0; i < size; i++) {
        if (shift > 63 || (shift == 63 && (blob[i] & 0x7e)))
            goto damaged;
        value |= (uint64_t)(blob[i] & 0x7f) << shift;
        shift += 7;
        if (blob[i] & 0x80)
            continue;
        bins[n++] = value;
        value = 0;
        shift = 0;
    }
    if (shift)
        goto damaged;
    *ret_bins = bins;
    *ret_n = n;
    return 0;
damaged:
    free(bins);
    return nm_error_set(err, -EBADMSG, NM_REASON_CORRUPT, "bins: the stored form is damaged");
}

char *nm_pack_conditions(const struct nm_conditions *set)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    for (uint32_t i = 0; set && i < set->count; i++) {
        const struct nm_condition *item = &set->items[i];

        fprintf(out, "%s=", item->name);
        for (const char *p = item->value; *p; p++)
            putc((unsigned char)*p < ' ' ? ' ' : *p, out);
        putc('\n', out);
    }
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}

void nm_pack_read_conditions(const char *text, struct nm_conditions *ret)
{
    ret->count = 0;
    while (*text && ret->count < NM_CONDITIONS_MAX) {
        struct nm_condition *item = &ret->items[ret->count];
        size_t length = strcspn(text, "\n"), name = strcspn(text, "=\n");

        if (name < length) {
            snprintf(item->name, sizeof(item->name), "%.*s", (int)name, text);
            snprintf(item->value, sizeof(item->value), "%.*s", (int)(length - name - 1),
                     text + name + 1);
            ret->count++;
        }
        text += length + (text[length] == '\n');
    }
}
