/* Data phases of bonnie (bonnie_data.h): all files are opened, worked through one request at a
 * time, flushed where something was written, and closed.
 *
 * What is rewritten has a place of its own in the data space, so it differs from what was there and
 * reads can be verified afterwards.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bonnie_data.h"

#include "random.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define WRITE_BACK_EVERY 10 /* of the seeks, as the original */

int nm_bonnie_data_init(struct nm_bonnie_data *data, struct nm_error *err)
{
    data->n_files = (uint32_t)((data->size_bytes + data->file_bytes - 1) / data->file_bytes);
    data->files = calloc(data->n_files ? data->n_files : 1, sizeof(struct nm_file *));
    return data->files ? 0 : nm_error_no_memory(err);
}

void nm_bonnie_data_done(struct nm_bonnie_data *data)
{
    free(data->files);
    data->files = NULL;
}

static void open_op(struct nm_bonnie_data *data, struct nm_op *op)
{
    uint64_t begin = data->at * data->file_bytes, left = data->size_bytes - begin;
    char name[NM_FILE_NAME_BYTES];

    nm_workload_file_name(data->first_file + data->at, 0, name);
    snprintf(data->path, sizeof(data->path), "%s/%s", data->directory, name);
    op->path = data->path;
    op->kind = data->access == NM_BONNIE_DATA_WRITE ? NM_OP_CREATE : NM_OP_OPEN;
    op->open_flags = NM_OPEN_READ | (data->access == NM_BONNIE_DATA_READ ? 0 : NM_OPEN_WRITE);
    op->expected_bytes = left < data->file_bytes ? left : data->file_bytes;
}

static uint64_t choose_chunk(struct nm_bonnie_data *data)
{
    uint64_t chunks = data->size_bytes / data->chunk_bytes;

    if (data->access == NM_BONNIE_DATA_SEEK)
        return nm_random_next(&data->random) % chunks * data->chunk_bytes;
    return data->next_bytes;
}

static bool all_data_done(const struct nm_bonnie_data *data)
{
    return data->access == NM_BONNIE_DATA_SEEK ? data->sought == data->seeks
                                               : data->next_bytes >= data->size_bytes;
}

/* A chunk never spans two files: file and chunk sizes are checked for that. */
static void data_op(struct nm_bonnie_data *data, struct nm_op *op, uint64_t *pattern_bytes)
{
    bool write = data->access == NM_BONNIE_DATA_WRITE || data->write_back;
    uint64_t left;

    if (!data->write_back)
        data->offset_bytes = choose_chunk(data);
    left = data->size_bytes - data->offset_bytes;
    op->kind = write ? NM_OP_WRITE : NM_OP_READ;
    op->file = data->files[data->offset_bytes / data->file_bytes];
    op->offset_bytes = data->offset_bytes % data->file_bytes;
    op->length_bytes = left < data->chunk_bytes ? (uint32_t)left : data->chunk_bytes;
    op->discard = true;
    *pattern_bytes = data->offset_bytes + (write && data->access == NM_BONNIE_DATA_REWRITE
                                               ? data->rewritten_bytes
                                               : data->position_bytes);
}

enum nm_next nm_bonnie_data_next(struct nm_bonnie_data *data, struct nm_op *op,
                                 uint64_t *pattern_bytes)
{
    if (data->stage == NM_BONNIE_STAGE_OPEN && data->at == data->n_files)
        data->stage = NM_BONNIE_STAGE_DATA;
    if (data->stage == NM_BONNIE_STAGE_DATA && !data->write_back && all_data_done(data)) {
        data->stage = data->wrote ? NM_BONNIE_STAGE_FLUSH : NM_BONNIE_STAGE_CLOSE;
        data->at = 0;
    }
    if (data->stage == NM_BONNIE_STAGE_FLUSH && data->at == data->n_files) {
        data->stage = NM_BONNIE_STAGE_CLOSE;
        data->at = 0;
    }
    if (data->stage == NM_BONNIE_STAGE_CLOSE && data->at == data->n_files)
        data->stage = NM_BONNIE_STAGE_END;
    switch (data->stage) {
    case NM_BONNIE_STAGE_OPEN: open_op(data, op); break;
    case NM_BONNIE_STAGE_DATA: data_op(data, op, pattern_bytes); break;
    case NM_BONNIE_STAGE_FLUSH:
    case NM_BONNIE_STAGE_CLOSE:
        op->kind = data->stage == NM_BONNIE_STAGE_FLUSH ? NM_OP_FLUSH : NM_OP_CLOSE;
        op->file = data->files[data->at];
        break;
    case NM_BONNIE_STAGE_END: return NM_NEXT_DONE;
    }
    return NM_NEXT_OP;
}

/* Whether the chunk just read is written as well. */
static bool goes_back(const struct nm_bonnie_data *data)
{
    return data->access == NM_BONNIE_DATA_REWRITE ||
           (data->access == NM_BONNIE_DATA_SEEK && data->sought % WRITE_BACK_EVERY == 0);
}

static int take_data(struct nm_bonnie_data *data, const struct nm_op *op, struct nm_error *err)
{
    bool second = data->write_back;

    if (nm_workload_check_length(op, NM_SHORT_FILE, err) < 0)
        return err->code;
    data->wrote |= op->kind == NM_OP_WRITE;
    if (!second)
        data->begin_ns = op->submit_ns;
    data->write_back = op->kind == NM_OP_READ && goes_back(data);
    if (data->write_back)
        return 0;
    if (op->done_ns - data->begin_ns > data->longest_ns)
        data->longest_ns = op->done_ns - data->begin_ns;
    data->next_bytes += op->length_bytes;
    data->done_bytes += op->length_bytes;
    data->sought++;
    return 0;
}

int nm_bonnie_data_take(struct nm_bonnie_data *data, const struct nm_op *op, struct nm_error *err)
{
    if (op->result < 0) {
        *err = op->err;
        return (int)op->result;
    }
    switch (op->kind) {
    case NM_OP_READ:
    case NM_OP_WRITE: return take_data(data, op, err);
    case NM_OP_OPEN:
    case NM_OP_CREATE: data->files[data->at++] = op->file; return 0;
    default: data->at++; return 0;
    }
}
