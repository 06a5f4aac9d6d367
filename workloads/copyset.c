/* The set of files that `copy` moves (copyset.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "copyset.h"

#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t padded(uint64_t size_bytes)
{
    return (size_bytes + NM_PATTERN_BLOCK_BYTES - 1) / NM_PATTERN_BLOCK_BYTES *
           NM_PATTERN_BLOCK_BYTES;
}

static int parse_group(const char *text, size_t length, struct nm_copyset_group *ret,
                       struct nm_error *err)
{
    char count[24], size[32];
    const char *x = memchr(text, 'x', length);
    int r;

    if (!x || (size_t)(x - text) >= sizeof(count) ||
        length - (size_t)(x - text) - 1 >= sizeof(size))
        return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                            "'%.*s' is not COUNTxSIZE, as in 1000x2MB",
                            (int)(length < 60 ? length : 60), text);
    snprintf(count, sizeof(count), "%.*s", (int)(x - text), text);
    snprintf(size, sizeof(size), "%.*s", (int)(length - (size_t)(x - text) - 1), x + 1);
    r = nm_units_parse_u64(count, &ret->files, err);
    if (!r)
        r = nm_units_parse_bytes(size, &ret->size_bytes, err);
    if (r < 0)
        return r;
    if (!ret->files || ret->files > NM_COPYSET_FILES_MAX)
        return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL, "'%s' files: give 1 to %u", count,
                            NM_COPYSET_FILES_MAX);
    return 0;
}

int nm_copyset_parse(const char *text, struct nm_copyset *ret, struct nm_error *err)
{
    struct nm_copyset set = {0};

    if (!text || !*text)
        return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                            "copy needs COUNTxSIZE[,COUNTxSIZE...], as in copy:1x2GB");
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        struct nm_copyset_group group;
        uint64_t bytes, space;

        if (set.n_groups == NM_COPYSET_GROUPS)
            return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL,
                                "copy takes at most %d groups of files", NM_COPYSET_GROUPS);
        int r = parse_group(at, length, &group, err);

        if (r < 0)
            return r;
        /* The data space of a group has room for 16 TiB (pattern.h). */
        if (__builtin_mul_overflow(group.files, padded(group.size_bytes), &space) ||
            __builtin_mul_overflow(group.files, group.size_bytes, &bytes) ||
            space > NM_PATTERN_GROUP_WORDS * 8 - set.bytes)
            return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL, "'%s' is more than 16 TiB", text);
        set.groups[set.n_groups++] = group;
        set.files += group.files;
        set.bytes += bytes;
        at += length;
        if (!*at)
            break;
    }
    if (set.files > NM_COPYSET_FILES_MAX)
        return nm_error_set(err, -EINVAL, NM_REASON_INTERNAL, "copy takes at most %u files",
                            NM_COPYSET_FILES_MAX);
    *ret = set;
    return 0;
}

char *nm_copyset_format(const struct nm_copyset *set, const char *prefix)
{
    char *text = NULL, size[32];
    size_t length;
    FILE *out = open_memstream(&text, &length);

    if (!out)
        return NULL;
    fputs(prefix, out);
    for (size_t i = 0; i < set->n_groups; i++)
        fprintf(out, "%s%" PRIu64 "x%s", i ? "," : "", set->groups[i].files,
                nm_units_format_bytes(set->groups[i].size_bytes, size, sizeof(size)));
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}

void nm_copyset_file(const struct nm_copyset *set, uint64_t index, uint64_t *ret_size_bytes,
                     uint64_t *ret_position_bytes)
{
    uint64_t position = 0;

    *ret_size_bytes = 0;
    for (size_t i = 0; i < set->n_groups; i++) {
        const struct nm_copyset_group *group = &set->groups[i];

        if (index < group->files) {
            *ret_size_bytes = group->size_bytes;
            *ret_position_bytes = position + index * padded(group->size_bytes);
            return;
        }
        index -= group->files;
        position += group->files * padded(group->size_bytes);
    }
    *ret_position_bytes = position;
}

/* ---- checking a listing ---- */

struct nm_copyset_check {
    const struct nm_copyset *set;
    uint64_t seen;
    uint64_t wrong_file, wrong_bytes; /* first file with another size */
    bool wrong;
    uint8_t found[]; /* one bit per file */
};

int nm_copyset_check_new(const struct nm_copyset *set, struct nm_copyset_check **ret,
                         struct nm_error *err)
{
    struct nm_copyset_check *check = calloc(1, sizeof(*check) + set->files / 8 + 1);

    if (!check)
        return nm_error_no_memory(err);
    check->set = set;
    *ret = check;
    return 0;
}

void nm_copyset_check_free(struct nm_copyset_check *check)
{
    free(check);
}

void nm_copyset_check_entry(void *context, const char *name, const struct nm_stat *stat)
{
    struct nm_copyset_check *check = context;
    uint64_t index, size, position;

    if (*name != 'f' || stat->is_directory || nm_units_parse_u64(name + 1, &index, NULL) < 0 ||
        index >= check->set->files || check->found[index / 8] & 1u << index % 8)
        return;
    check->found[index / 8] |= (uint8_t)(1u << index % 8);
    check->seen++;
    nm_copyset_file(check->set, index, &size, &position);
    if (stat->size_bytes == size || check->wrong)
        return;
    check->wrong = true;
    check->wrong_file = index;
    check->wrong_bytes = stat->size_bytes;
}

int nm_copyset_check_result(const struct nm_copyset_check *check, struct nm_error *err)
{
    char name[NM_FILE_NAME_BYTES];
    uint64_t size, position;

    if (check->wrong) {
        nm_workload_file_name(check->wrong_file, 0, name);
        nm_copyset_file(check->set, check->wrong_file, &size, &position);
        return nm_error_set(err, -EILSEQ, NM_REASON_CORRUPT,
                            "%s has %" PRIu64 " bytes on the target after an upload of %" PRIu64
                            " bytes: the server lost data",
                            name, check->wrong_bytes, size);
    }
    if (check->seen != check->set->files)
        return nm_error_set(err, -EILSEQ, NM_REASON_CORRUPT,
                            "%" PRIu64 " of %" PRIu64
                            " files are on the target after the upload: the server "
                            "lost files",
                            check->seen, check->set->files);
    return 0;
}
