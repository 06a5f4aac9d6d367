/* nasmark align DEVICE|IMAGE|URL: the partition table and whether each partition begins where the
 * blocks of the disk begin. Reads only.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "align.h"

#include "measure.h"
#include "target.h"
#include "units.h"
#include "visit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a disk that does not tell: since about 2011 disks have it. */
#define PHYSICAL_ASSUMED 4096u

static const struct nm_arg args[] = {
    {.name = "physical",
     .type = NM_ARG_VALUE,
     .metavar = "SIZE",
     .help = "physical block of the disk, whatever it tells"},
    {.name = "sector",
     .type = NM_ARG_VALUE,
     .metavar = "SIZE",
     .help = "logical sector of the disk that an image is of"},
    {.name = "set",
     .type = NM_ARG_VALUES,
     .metavar = "SECTION.KEY=VALUE",
     .help = "sets a value as in a plan file; may be repeated"},
};

static int size_option(const struct nm_arguments *arguments, const char *name, uint64_t most,
                       uint32_t *ret, struct nm_error *err)
{
    const char *text = nm_arguments_get(arguments, name);
    uint64_t value = 0;
    int r = text ? nm_units_parse_bytes(text, &value, err) : 0;

    if (r < 0)
        return r;
    if (text && (value < 512 || value > most || value & (value - 1)))
        return nm_error_set(err, -EINVAL, NM_REASON_NONE,
                            "--%s %s: it must be a power of two from 512 to %llu bytes", name, text,
                            (unsigned long long)most);
    *ret = (uint32_t)value;
    return 0;
}

/* A LUN, or whatever else a URL leads to as a block device. */
static int read_remote(const struct nm_arguments *arguments, struct nm_align_subject *subject,
                       struct nm_error *err)
{
    struct nm_target target = {0};
    struct nm_visit visit;
    int r = nm_visit_open(arguments, arguments->words[0], &visit, err);

    if (r < 0)
        return r;
    r = nm_target_init(&target, visit.plan, 0, visit.plan->protocols[0], "00000000", err);
    if (!r)
        r = nm_target_survey(&target, &visit.runner, err);
    if (!r) {
        const struct nm_slot *slot = &visit.runner.arena->slots[0];

        snprintf(subject->name, sizeof(subject->name), "%s", target.url);
        subject->table = slot->partitions;
        subject->shape.size_bytes = slot->info.total_bytes;
        subject->shape.sector_bytes = slot->info.block_bytes;
        if (!subject->shape.physical_bytes)
            subject->shape.physical_bytes = slot->info.physical_bytes;
        subject->shape.offset_bytes = slot->info.offset_bytes;
    }
    nm_target_done(&target);
    nm_visit_close(&visit);
    return r;
}

static int read_subject(const struct nm_arguments *arguments, struct nm_align_subject *subject,
                        struct nm_error *err)
{
    struct nm_url *url = NULL;
    char *password = NULL;
    int r = size_option(arguments, "physical", 16 << 20, &subject->shape.physical_bytes, err);

    if (!r)
        r = size_option(arguments, "sector", 4096, &subject->shape.sector_bytes, err);
    if (!r)
        r = nm_url_parse(arguments->words[0], &url, &password, err);
    if (r < 0)
        return r;
    if (password)
        explicit_bzero(password, strlen(password)); /* read again, from the same place, by visit */
    free(password);
    r = url->protocol == NM_PROTOCOL_LOCAL ? nm_align_read_local(url->path, subject, err)
                                           : read_remote(arguments, subject, err);
    nm_url_free(url);
    if (!r && !subject->shape.physical_bytes) {
        subject->shape.physical_bytes = PHYSICAL_ASSUMED;
        subject->shape.assumed = true;
    }
    return r;
}

static bool is_fine(const struct nm_align_subject *subject)
{
    for (uint32_t i = 0; i < subject->table.count; i++) {
        struct nm_alignment_verdict verdict;

        nm_alignment_judge(&subject->shape, &subject->table.items[i], &verdict);
        if (verdict.alignment == NM_ALIGNMENT_WRONG)
            return false;
    }
    return !subject->table.damaged;
}

static int run(const struct nm_arguments *arguments)
{
    struct nm_align_subject *subject = calloc(1, sizeof(*subject));
    struct nm_error err = {0};
    int code = NM_EXIT_USAGE, r;

    r = subject ? read_subject(arguments, subject, &err) : nm_error_no_memory(&err);
    if (!r && arguments->json)
        r = nm_align_print_json(subject, &err);
    else if (!r)
        nm_align_print_text(subject);
    if (!r)
        code = is_fine(subject) ? NM_EXIT_OK : NM_EXIT_FAILED;
    else
        nm_measure_fail(&err);
    free(subject);
    return code;
}

const struct nm_command nm_command_align = {
    .name = "align",
    .syntax = "DEVICE|IMAGE|URL",
    .help = "partition table, and whether its partitions are aligned to the blocks of the disk",
    .details =
        "Looks at a block device, an image file or a LUN (an iscsi: URL), reads only. A partition "
        "is aligned when it begins at a multiple of the grain: the physical block, or the minimum "
        "I/O size where that is larger. An image does not tell its physical block; 4096 bytes are "
        "assumed. Exit status: 0 when every partition is aligned, 1 when one is not or the table "
        "is damaged, 2 when it cannot be read.",
    .args = args,
    .n_args = sizeof(args) / sizeof(args[0]),
    .min_words = 1,
    .max_words = 1,
    .prints_data = true,
    .run = run,
};
