/* What `nasmark align` prints (align.h): every size in bytes and in sectors, with the unit.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "align.h"

#include "escape.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const char *const scheme_texts[] = {
    [NM_SCHEME_NONE] = "no partition table",
    [NM_SCHEME_MBR] = "MBR",
    [NM_SCHEME_GPT] = "GPT",
    [NM_SCHEME_HYBRID] = "GPT with a hybrid MBR",
};

/* Every sector is counted in the unit of the table. */
static uint64_t sectors(const struct nm_align_subject *subject, uint64_t bytes)
{
    return bytes / subject->table.sector_bytes;
}

static void verdict_text(const struct nm_align_subject *subject,
                         const struct nm_alignment_verdict *v, char *out, size_t size)
{
    const char *say = "";

    switch (v->alignment) {
    case NM_ALIGNMENT_NONE: snprintf(out, size, "extended, holds the logical partitions"); return;
    case NM_ALIGNMENT_OK:
        snprintf(out, size, "aligned%s", v->on_mib ? "" : " (not to 1 MiB)");
        return;
    case NM_ALIGNMENT_WRONG: break;
    case NM_ALIGNMENT_WRONG_ON_4K: say = "fine for this disk, wrong for 4K media: "; break;
    case NM_ALIGNMENT_UNKNOWN: say = "misaligned if the media is 4K (unknown): "; break;
    }
    snprintf(out, size,
             "%s%s by %" PRIu64 " bytes (%" PRIu64 " sector%s) to blocks of %" PRIu64
             " bytes; begin at sector %" PRIu64 " (byte %" PRIu64 ")",
             say, *say ? "off" : "misaligned", v->off_bytes, sectors(subject, v->off_bytes),
             sectors(subject, v->off_bytes) == 1 ? "" : "s", v->grain_bytes,
             sectors(subject, v->better_bytes), v->better_bytes);
}

static void print_disk(const struct nm_align_subject *subject)
{
    const struct nm_disk_shape *shape = &subject->shape;

    printf("%s: %s\n", subject->name, scheme_texts[subject->table.scheme]);
    printf("size: %" PRIu64 " bytes (%" PRIu64 " sectors of %" PRIu32 " bytes)\n",
           shape->size_bytes, sectors(subject, shape->size_bytes), subject->table.sector_bytes);
    printf("physical block: %" PRIu32 " bytes%s", shape->physical_bytes,
           shape->assumed ? " (assumed; --physical says otherwise)" : "");
    if (shape->minimum_io_bytes > shape->physical_bytes)
        printf(", minimum I/O: %" PRIu32 " bytes", shape->minimum_io_bytes);
    if (shape->offset_bytes)
        printf(", first block at byte %" PRIu32, shape->offset_bytes);
    putchar('\n');
    if (subject->table.scheme == NM_SCHEME_NONE)
        printf("contents: %s\n",
               *subject->table.contents ? subject->table.contents : "nothing that is known");
}

void nm_align_print_text(const struct nm_align_subject *subject)
{
    const struct nm_partition_table *table = &subject->table;
    bool wrong = false;

    print_disk(subject);
    for (uint32_t i = 0; i < table->count; i++) {
        const struct nm_partition *p = &table->items[i];
        struct nm_alignment_verdict verdict;
        char text[240];

        nm_alignment_judge(&subject->shape, p, &verdict);
        verdict_text(subject, &verdict, text, sizeof(text));
        wrong |= verdict.alignment > NM_ALIGNMENT_OK;
        printf("%" PRIu32 ": start sector %" PRIu64 " (byte %" PRIu64 "), %" PRIu64
               " sectors (%" PRIu64 " bytes), %s%s%s: %s\n",
               p->number, sectors(subject, p->start_bytes), p->start_bytes,
               sectors(subject, p->size_bytes), p->size_bytes, p->type, *p->name ? " " : "",
               p->name, text);
    }
    for (uint32_t i = 0; i < table->n_warnings; i++)
        printf("warning: %s\n", table->warnings[i]);
    if (wrong)
        puts("A partition is moved by making it anew: back its data up first.");
}

static json_t *partition_json(const struct nm_align_subject *subject, const struct nm_partition *p)
{
    struct nm_alignment_verdict v;
    char text[240];
    json_t *object;

    nm_alignment_judge(&subject->shape, p, &v);
    verdict_text(subject, &v, text, sizeof(text));
    object = json_pack(
        "{s:i, s:I, s:I, s:I, s:I, s:s, s:b, s:b, s:s, s:I, s:I, s:b, s:s}", "number",
        (int)p->number, "start_bytes", (json_int_t)p->start_bytes, "start_sectors",
        (json_int_t)sectors(subject, p->start_bytes), "size_bytes", (json_int_t)p->size_bytes,
        "size_sectors", (json_int_t)sectors(subject, p->size_bytes), "type", p->type, "container",
        p->container, "logical", p->logical, "verdict", nm_alignment_name(v.alignment),
        "grain_bytes", (json_int_t)v.grain_bytes, "off_bytes", (json_int_t)v.off_bytes,
        "aligned_to_1_mib", v.on_mib, "text", text);
    json_object_set_new(object, "name", *p->name ? nm_escape_json(p->name) : json_null());
    json_object_set_new(object, "better_start_bytes",
                        v.off_bytes && !p->container ? json_integer((json_int_t)v.better_bytes)
                                                     : json_null());
    return object;
}

int nm_align_print_json(const struct nm_align_subject *subject, struct nm_error *err)
{
    const struct nm_partition_table *table = &subject->table;
    const struct nm_disk_shape *shape = &subject->shape;
    json_t *partitions = json_array(), *warnings = json_array(), *document;
    int r = 0;

    for (uint32_t i = 0; i < table->count; i++)
        json_array_append_new(partitions, partition_json(subject, &table->items[i]));
    for (uint32_t i = 0; i < table->n_warnings; i++)
        json_array_append_new(warnings, json_string(table->warnings[i]));
    document =
        json_pack("[{s:o, s:s, s:I, s:I, s:I, s:b, s:I, s:I, s:I, s:b, s:b, s:o, s:o}]", "target",
                  nm_escape_json(subject->name), "table", nm_partition_scheme_name(table->scheme),
                  "size_bytes", (json_int_t)shape->size_bytes, "sector_bytes",
                  (json_int_t)table->sector_bytes, "physical_block_bytes",
                  (json_int_t)shape->physical_bytes, "physical_block_assumed", shape->assumed,
                  "minimum_io_bytes", (json_int_t)shape->minimum_io_bytes, "optimal_io_bytes",
                  (json_int_t)shape->optimal_io_bytes, "alignment_offset_bytes",
                  (json_int_t)shape->offset_bytes, "backup_used", table->backup_used, "damaged",
                  table->damaged, "partitions", partitions, "warnings", warnings);
    if (document)
        json_object_set_new(json_array_get(document, 0), "contents",
                            *table->contents ? nm_escape_json(table->contents) : json_null());
    if (!document || json_dumpf(document, stdout, JSON_INDENT(2)) < 0)
        r = nm_error_errno(err, -EIO, "cannot write the result");
    putchar('\n');
    json_decref(document);
    return r;
}
