/* A target that only counts, for unit tests of workloads: runs one phase of one stream without any
 * storage.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_WORKLOAD_SIM_H
#define NM_WORKLOAD_SIM_H

#include "workload.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SIM_DEPTH_MAX 64

struct world {
    unsigned open_files, most_open, creates, closes, flushes, session_flushes, mkdirs;
    unsigned reads, writes;
    unsigned stats, lists, renames, unlinks, rmdirs;
    unsigned listed; /* names that LIST finds */
    char first_path[192], last_path[192], last_new_path[192];
    uint64_t bytes;
    uint64_t now_ns, step_ns; /* simulated clock: one operation takes step_ns */
    uint64_t lowest_offset, highest_end;
    int64_t write_result;       /* 0 = success */
    struct nm_metrics *metrics; /* may be NULL */
};

static inline void sim_note_path(struct world *world, const struct nm_op *op)
{
    if (!op->path)
        return;
    if (!world->first_path[0])
        snprintf(world->first_path, sizeof(world->first_path), "%s", op->path);
    snprintf(world->last_path, sizeof(world->last_path), "%s", op->path);
    if (op->new_path)
        snprintf(world->last_new_path, sizeof(world->last_new_path), "%s", op->new_path);
}

static inline int64_t sim_answer(struct world *world, struct nm_op *op)
{
    static const struct nm_stat nothing = {0};
    static struct nm_file file;

    sim_note_path(world, op);
    switch (op->kind) {
    case NM_OP_CREATE:
    case NM_OP_OPEN:
        world->creates++;
        world->open_files++;
        if (world->open_files > world->most_open)
            world->most_open = world->open_files;
        op->file = &file;
        return 0;
    case NM_OP_CLOSE:
        world->open_files--;
        world->closes++;
        return 0;
    case NM_OP_FLUSH: *(op->file ? &world->flushes : &world->session_flushes) += 1; return 0;
    case NM_OP_MKDIR: world->mkdirs++; return 0;
    case NM_OP_RMDIR: world->rmdirs++; return 0;
    case NM_OP_UNLINK: world->unlinks++; return 0;
    case NM_OP_RENAME: world->renames++; return 0;
    case NM_OP_STAT:
        world->stats++;
        *op->stat = (struct nm_stat){.is_directory = strstr(op->path, "/d0000000/d") != NULL};
        return 0;
    case NM_OP_LIST:
        world->lists++;
        for (unsigned i = 0; i < world->listed; i++)
            op->list_entry(op->list_context, "f0000000", &nothing);
        return 0;
    case NM_OP_READ:
    case NM_OP_WRITE:
        if (world->write_result)
            return world->write_result;
        *(op->kind == NM_OP_READ ? &world->reads : &world->writes) += 1;
        if (op->offset_bytes + op->length_bytes > world->highest_end)
            world->highest_end = op->offset_bytes + op->length_bytes;
        if (op->offset_bytes < world->lowest_offset)
            world->lowest_offset = op->offset_bytes;
        world->bytes += op->length_bytes;
        return op->length_bytes;
    default: fail(); return -EIO;
    }
}

/* Completions come in reverse order of submission. */
static inline int sim_run(const struct nm_workload *workload,
                          const struct nm_workload_context *context, size_t phase, unsigned stream,
                          struct world *world, uint64_t *ret_bytes, uint64_t *ret_files)
{
    struct nm_op ops[SIM_DEPTH_MAX];
    unsigned n = 0;
    void *state;
    int r = 0;

    assert_true(context->depth <= SIM_DEPTH_MAX);
    assert_int_equal(workload->ops->start(workload, context, phase, stream, &state, NULL), 0);
    for (;;) {
        uint64_t position = NM_NO_PATTERN, until;
        enum nm_next next = NM_NEXT_WAIT;

        while (n < context->depth) {
            memset(&ops[n], 0, sizeof(ops[n]));
            next = workload->ops->next_op(state, world->now_ns, &ops[n], &position, &until);
            if (next != NM_NEXT_OP)
                break;
            n++;
        }
        if (!n) {
            if (next == NM_NEXT_WAIT && until > world->now_ns) {
                world->now_ns = until;
                continue;
            }
            assert_int_equal(next, NM_NEXT_DONE);
            break;
        }
        struct nm_op *op = &ops[--n];
        struct nm_error err = {0};

        op->submit_ns = world->now_ns;
        world->now_ns += world->step_ns;
        op->done_ns = world->now_ns;

        op->result = sim_answer(world, op);
        r = workload->ops->done_op(state, op, &err);
        if (r < 0)
            break;
    }
    workload->ops->finish(state, 1000, world->metrics, ret_bytes, ret_files);
    return r;
}

#endif
