/* Operations on names (namework.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "namework.h"

#include "random.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int nm_namework_init(struct nm_namework *work, uint64_t seed, struct nm_error *err)
{
    if (!work->random)
        return 0;
    work->order = calloc(work->count ? work->count : 1, sizeof(*work->order));
    if (!work->order)
        return nm_error_no_memory(err);
    for (uint32_t i = 0; i < work->count; i++) {
        uint32_t other = (uint32_t)(nm_random_next(&seed) % (i + 1));

        work->order[i] = work->order[other];
        work->order[other] = i;
    }
    return 0;
}

void nm_namework_done(struct nm_namework *work)
{
    free(work->order);
    work->order = NULL;
}

static void name_of(const struct nm_namework *work, bool renamed, char *out, size_t size)
{
    uint32_t number = work->order ? work->order[work->at] : work->at;

    snprintf(out, size, "%s/%c%07" PRIu32, work->directory, work->directories ? 'd' : 'f',
             number + (renamed ? NM_NAMEWORK_RENAMED : 0));
}

static void count_entry(void *context, const char *name, const struct nm_stat *stat)
{
    struct nm_namework *work = context;

    (void)name;
    (void)stat;
    work->listed++;
}

static bool all_done(const struct nm_namework *work)
{
    switch (work->kind) {
    case NM_NAMEWORK_DIRECTORY: return work->at == 1;
    case NM_NAMEWORK_LIST: return work->at == work->listings;
    default: return work->at == work->count;
    }
}

enum nm_next nm_namework_next(struct nm_namework *work, struct nm_op *op)
{
    if (work->closing) {
        op->kind = NM_OP_CLOSE;
        op->file = work->file;
        return NM_NEXT_OP;
    }
    if (all_done(work))
        return NM_NEXT_DONE;
    op->path = work->path;
    if (work->kind == NM_NAMEWORK_DIRECTORY || work->kind == NM_NAMEWORK_LIST)
        snprintf(work->path, sizeof(work->path), "%s", work->directory);
    else
        name_of(work, work->renamed, work->path, sizeof(work->path));
    switch (work->kind) {
    case NM_NAMEWORK_DIRECTORY: op->kind = NM_OP_MKDIR; break;
    case NM_NAMEWORK_CREATE:
        op->kind = work->directories ? NM_OP_MKDIR : NM_OP_CREATE;
        op->open_flags = NM_OPEN_READ | NM_OPEN_WRITE;
        break;
    case NM_NAMEWORK_STAT:
        op->kind = NM_OP_STAT;
        op->stat = &work->stat;
        break;
    case NM_NAMEWORK_LIST:
        op->kind = NM_OP_LIST;
        op->list_entry = count_entry;
        op->list_context = work;
        work->listed = 0;
        break;
    case NM_NAMEWORK_RENAME:
        op->kind = NM_OP_RENAME;
        name_of(work, true, work->new_path, sizeof(work->new_path));
        op->new_path = work->new_path;
        break;
    case NM_NAMEWORK_DELETE: op->kind = work->directories ? NM_OP_RMDIR : NM_OP_UNLINK; break;
    }
    return NM_NEXT_OP;
}

/* What the target says must be what was put there. */
static int check(const struct nm_namework *work, struct nm_error *err)
{
    if (work->kind == NM_NAMEWORK_STAT && work->stat.is_directory != work->directories)
        return nm_error_set(err, -EIO, NM_REASON_CORRUPT, "%s is no %s any more", work->path,
                            work->directories ? "directory" : "file");
    if (work->kind == NM_NAMEWORK_LIST && work->listed != work->count)
        return nm_error_set(err, -EIO, NM_REASON_CORRUPT,
                            "%s: %" PRIu32 " names were listed, %" PRIu32 " are there", work->path,
                            work->listed, work->count);
    return 0;
}

int nm_namework_take(struct nm_namework *work, const struct nm_op *op, struct nm_error *err)
{
    int r;

    if (op->result < 0) {
        *err = op->err;
        nm_error_prefix(err, "%s", work->path);
        return (int)op->result;
    }
    if (!work->closing)
        work->begin_ns = op->submit_ns;
    work->closing = op->kind == NM_OP_CREATE;
    if (work->closing) {
        work->file = op->file;
        return 0;
    }
    r = check(work, err);
    if (r < 0)
        return r;
    uint64_t took_ns = op->done_ns - work->begin_ns;

    if (took_ns > work->longest_ns)
        work->longest_ns = took_ns;
    if (work->latency)
        nm_histogram_add(work->latency, took_ns);
    work->done += work->kind == NM_NAMEWORK_LIST ? work->count : 1;
    work->at++;
    return 0;
}

uint64_t nm_namework_count(const struct nm_namework *work)
{
    return work->kind == NM_NAMEWORK_DIRECTORY ? 0 : work->done;
}

void nm_namework_metrics(const struct nm_namework *work, uint64_t elapsed_ns,
                         struct nm_metrics *metrics)
{
    if (!elapsed_ns || !work->done)
        return;
    nm_metrics_add(metrics, "files_per_s", "1/s", NM_BETTER_HIGHER, NM_SUMMARY_GEOMEAN,
                   (double)work->done * 1e9 / (double)elapsed_ns);
    nm_metrics_add(metrics, "latency_max", "ns", NM_BETTER_LOWER, NM_SUMMARY_MAX,
                   (double)work->longest_ns);
}
