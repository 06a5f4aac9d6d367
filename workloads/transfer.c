/* Moving one file in blocks (transfer.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "transfer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void nm_transfer_upload(struct nm_transfer *transfer, const char *path, uint32_t block_bytes,
                        uint64_t size_bytes)
{
    transfer->local = -1;
    transfer->write = transfer->flush = true;
    transfer->block_bytes = block_bytes;
    transfer->size_bytes = size_bytes;
    snprintf(transfer->path, sizeof(transfer->path), "%s", path);
}

void nm_transfer_begin(struct nm_transfer *transfer, uint64_t now_ns)
{
    transfer->step = NM_TRANSFER_OPEN;
    transfer->next_bytes = 0;
    transfer->in_flight = 0;
    transfer->file = NULL;
    transfer->begin_ns = now_ns;
}

static void open_op(const struct nm_transfer *transfer, struct nm_op *op)
{
    op->path = transfer->path;
    op->open_flags = NM_OPEN_READ | (transfer->write ? NM_OPEN_WRITE : 0);
    op->kind = transfer->device || !transfer->write ? NM_OP_OPEN : NM_OP_CREATE;
    if (!transfer->device)
        op->expected_bytes = transfer->size_bytes;
}

static void data_op(struct nm_transfer *transfer, struct nm_op *op, uint64_t *pattern_bytes)
{
    uint64_t left = transfer->size_bytes - transfer->next_bytes;

    op->kind = transfer->write ? NM_OP_WRITE : NM_OP_READ;
    op->discard = transfer->local < 0;
    op->file = transfer->file;
    op->offset_bytes = transfer->base_bytes + transfer->next_bytes;
    op->length_bytes = left < transfer->block_bytes ? (uint32_t)left : transfer->block_bytes;
    *pattern_bytes = transfer->position_bytes + transfer->next_bytes;
    if (transfer->write && transfer->local >= 0) {
        ssize_t n = pread(transfer->local, op->buf, op->length_bytes, (off_t)transfer->next_bytes);

        if (n != (ssize_t)op->length_bytes)
            transfer->local_error = n < 0 ? -errno : -EIO;
        *pattern_bytes = NM_NO_PATTERN;
    }
    transfer->next_bytes += op->length_bytes;
    transfer->in_flight++;
}

enum nm_next nm_transfer_next(struct nm_transfer *transfer, struct nm_op *op,
                              uint64_t *pattern_bytes)
{
    switch (transfer->step) {
    case NM_TRANSFER_IDLE: return NM_NEXT_DONE;
    case NM_TRANSFER_OPEN:
        open_op(transfer, op);
        transfer->step = NM_TRANSFER_OPENING;
        return NM_NEXT_OP;
    case NM_TRANSFER_DATA:
        if (transfer->next_bytes == transfer->size_bytes)
            return NM_NEXT_WAIT;
        data_op(transfer, op, pattern_bytes);
        return NM_NEXT_OP;
    case NM_TRANSFER_FLUSH:
    case NM_TRANSFER_CLOSE:
        op->kind = transfer->step == NM_TRANSFER_FLUSH ? NM_OP_FLUSH : NM_OP_CLOSE;
        op->file = transfer->file;
        transfer->step =
            transfer->step == NM_TRANSFER_FLUSH ? NM_TRANSFER_FLUSHING : NM_TRANSFER_CLOSING;
        return NM_NEXT_OP;
    case NM_TRANSFER_OPENING:
    case NM_TRANSFER_FLUSHING:
    case NM_TRANSFER_CLOSING: break;
    }
    return NM_NEXT_WAIT;
}

static int failed(const struct nm_transfer *transfer, const struct nm_op *op, struct nm_error *err)
{
    *err = op->err;
    if (*transfer->path)
        nm_error_prefix(err, "%s", transfer->path);
    return (int)op->result;
}

static int check_length(const struct nm_transfer *transfer, const struct nm_op *op,
                        struct nm_error *err)
{
    int r = nm_workload_check_length(op, NM_SHORT_FILE, err);

    if (r < 0)
        nm_error_prefix(err, "%s", transfer->path);
    return r;
}

static int store_locally(const struct nm_transfer *transfer, const struct nm_op *op,
                         struct nm_error *err)
{
    ssize_t n;

    if (transfer->write || transfer->local < 0)
        return 0;
    n = pwrite(transfer->local, op->buf, op->length_bytes,
               (off_t)(op->offset_bytes - transfer->base_bytes));
    if (n == (ssize_t)op->length_bytes)
        return 0;
    return nm_error_set(
        err, n < 0 ? -errno : -ENOSPC, NM_REASON_CLIENT_LIMIT,
        "cannot write the local copy of %s: %s; give `destination` another directory",
        transfer->path, n < 0 ? strerror(errno) : "no space");
}

static void after_data(struct nm_transfer *transfer)
{
    if (!transfer->in_flight && transfer->next_bytes == transfer->size_bytes)
        transfer->step = transfer->write && transfer->flush ? NM_TRANSFER_FLUSH : NM_TRANSFER_CLOSE;
}

int nm_transfer_done(struct nm_transfer *transfer, struct nm_op *op, struct nm_error *err)
{
    int r = 0;

    if (op->kind == NM_OP_READ || op->kind == NM_OP_WRITE)
        transfer->in_flight--;
    if (op->result < 0)
        return failed(transfer, op, err);
    if (transfer->local_error)
        return nm_error_set(err, transfer->local_error, NM_REASON_CLIENT_LIMIT,
                            "the local copy of %s cannot be used: %s; check source and destination",
                            transfer->path, strerror(-transfer->local_error));
    switch (op->kind) {
    case NM_OP_OPEN:
    case NM_OP_CREATE:
        transfer->file = op->file;
        transfer->step = NM_TRANSFER_DATA;
        after_data(transfer); /* an empty file has none */
        return 0;
    case NM_OP_READ:
    case NM_OP_WRITE:
        r = check_length(transfer, op, err);
        if (!r)
            r = store_locally(transfer, op, err);
        if (!r)
            after_data(transfer);
        return r;
    case NM_OP_FLUSH: transfer->step = NM_TRANSFER_CLOSE; return 0;
    default: transfer->step = NM_TRANSFER_IDLE; return 1;
    }
}
