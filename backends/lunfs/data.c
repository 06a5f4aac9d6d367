/* Contents of files (lunfs.h): from op->buf to the allocated blocks and back, at queue depth.
 *
 * An operation is cut at extents only. What does not fit into whole blocks of the LUN goes through
 * the page cache, as do files of up to 64 KiB, which a desktop also collects before it writes them.
 * The pages of op->buf belong to the operation, so its last block may be padded there.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "lunfs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GROW_MIN_BYTES (UINT64_C(1) << 20) /* steps of a file whose final size is unknown */
#define GROW_MAX_BYTES (UINT64_C(64) << 20)

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

int lunfs_data_open(struct lunfs *fs, unsigned depth, struct nm_error *err)
{
    fs->n_ios = depth ? depth : 1;
    fs->ios = calloc(fs->n_ios, sizeof(*fs->ios));
    if (!fs->ios)
        return nm_error_errno(err, -ENOMEM, "lunfs: no memory for a queue of %u", depth);
    for (unsigned i = 0; i < fs->n_ios; i++) {
        fs->ios[i].next = fs->free_ios;
        fs->free_ios = &fs->ios[i];
    }
    return 0;
}

void lunfs_data_close(struct lunfs *fs)
{
    free(fs->ios);
}

static void complete(struct lunfs *fs, struct lunfs_io *io)
{
    struct nm_op *op = io->op;

    fs->writes -= op->kind == NM_OP_WRITE;
    if (!io->failed)
        op->result = (int64_t)(io->end - op->offset_bytes);
    io->op = NULL;
    io->next = fs->free_ios;
    fs->free_ios = io;
    nm_session_complete(&fs->base, op);
}

static void fail(struct lunfs_io *io, const struct nm_error *err)
{
    if (io->failed)
        return;
    io->failed = true;
    io->op->err = *err;
    io->op->result = err->code;
}

static void on_part(struct lunfs *fs, struct nm_op *op, void *context)
{
    struct lunfs_io *io = context;

    fs->direct_writes -= op->kind == NM_OP_WRITE;
    if (op->result < 0)
        fail(io, &op->err);
    if (!--io->parts && !io->in_line)
        complete(fs, io);
}

/* ---- through the cache ---- */

/* Whether bytes of this block other than [from, to) were written before. */
static bool has_other_bytes(const struct lunfs_node *node, uint64_t from, uint64_t to)
{
    uint64_t start = from - from % LUNFS_PAGE;
    struct lunfs_span span;

    if (lunfs_span_from(node, start, &span) && span.start < from)
        return true;
    return lunfs_span_from(node, to, &span) && span.start < start + LUNFS_PAGE;
}

static int write_in_page(struct lunfs *fs, struct lunfs_node *node, uint64_t offset_bytes,
                         const void *data, uint64_t length)
{
    uint64_t run, number = lunfs_node_map(node, offset_bytes, &run) / LUNFS_PAGE;
    unsigned char *page;
    bool fresh = false;
    int r;

    if (!lunfs_cache_peek(fs, number)) {
        fresh = !has_other_bytes(node, offset_bytes, offset_bytes + length);
        while (!fresh && fs->direct_writes) { /* one of them may be to this block */
            r = lunfs_lower_wait(fs);
            if (r < 0)
                return r;
        }
    }
    r = lunfs_cache_get(fs, number, fresh, &page);
    if (r < 0)
        return r;
    if (data)
        memcpy(page + offset_bytes % LUNFS_PAGE, data, length);
    else
        memset(page + offset_bytes % LUNFS_PAGE, 0, length);
    lunfs_cache_dirty(fs, number, true);
    return 0;
}

int lunfs_data_write(struct lunfs *fs, struct lunfs_node *node, uint64_t offset_bytes,
                     const void *data, uint64_t length, struct nm_error *err)
{
    const char *from = data;
    int r = 0;

    while (length && !r) {
        uint64_t n = LUNFS_PAGE - offset_bytes % LUNFS_PAGE;

        n = n < length ? n : length;
        r = write_in_page(fs, node, offset_bytes, from, n);
        if (!r && fs->cache.n_dirty > LUNFS_DIRTY_PAGES)
            r = lunfs_cache_start_write_back(fs);
        from = from ? from + n : NULL;
        offset_bytes += n;
        length -= n;
    }
    return r < 0 ? lunfs_volume_error(fs, r, err, "write", "file") : 0;
}

/* Reads less than whole blocks: waits. */
static int read_bounced(struct lunfs *fs, uint64_t place, void *to, uint64_t length,
                        struct nm_error *err)
{
    uint64_t first = place - place % fs->unit_bytes;
    uint64_t bytes = round_up(place + length, fs->unit_bytes) - first;
    struct lunfs_stage *stage;
    int r = lunfs_lower_stage(fs, &stage);

    if (r < 0) {
        *err = fs->failure;
        return r;
    }
    r = lunfs_lower_run(fs, NM_OP_READ, first, stage->data, (uint32_t)bytes, err);
    if (!r)
        memcpy(to, stage->data + (place - first), length);
    lunfs_lower_unstage(fs, stage);
    return r;
}

/* ---- directly ---- */

static void start_part(struct lunfs *fs, struct lunfs_io *io, uint64_t place, uint64_t length)
{
    char *buf = (char *)io->op->buf + (io->position - io->op->offset_bytes);

    io->parts++;
    fs->direct_writes += io->op->kind == NM_OP_WRITE;
    if (lunfs_lower_start(fs, io->op->kind, place, buf, (uint32_t)length, io->op->discard, on_part,
                          io) < 0) {
        io->parts--;
        fs->direct_writes -= io->op->kind == NM_OP_WRITE;
        fail(io, &fs->failure);
    }
}

static bool is_cached(struct lunfs *fs, uint64_t place)
{
    return fs->cache.n_data && lunfs_cache_peek(fs, place / LUNFS_PAGE);
}

/* Whether nothing was written between `end` and the next multiple of unit. */
static bool tail_is_free(const struct lunfs_node *node, uint64_t end, uint64_t unit)
{
    struct lunfs_span span;

    return !lunfs_span_from(node, end, &span) || span.start >= round_up(end, unit);
}

/* How many bytes of a WRITE from io->position on (length of them up to the end of the operation or
 * extent) can go directly, after padding; 0 = the first page must go through the cache. The last
 * block is padded to its end only at the announced end of the file: elsewhere a neighbour may be on
 * its way. */
static uint64_t direct_bytes(struct lunfs *fs, const struct lunfs_io *io,
                             const struct lunfs_node *node, uint64_t place, uint64_t length)
{
    uint64_t end = io->position + length, offset = io->op->offset_bytes;
    bool last = end == node->expected_bytes && offset % LUNFS_PAGE == 0;
    uint64_t pad_to = last ? LUNFS_PAGE : fs->unit_bytes;
    bool cached = end % LUNFS_PAGE && is_cached(fs, place + length - end % LUNFS_PAGE);

    if (io->position % LUNFS_PAGE && is_cached(fs, place))
        return 0;
    if (!cached && tail_is_free(node, end, pad_to)) {
        uint64_t padding = round_up(end, pad_to) - end;

        memset((char *)io->op->buf + (end - offset), 0, padding);
        return length + padding;
    }
    if (cached || end % fs->unit_bytes)
        return length > end % LUNFS_PAGE ? length - end % LUNFS_PAGE : 0;
    return length;
}

static void write_next(struct lunfs *fs, struct lunfs_io *io, struct lunfs_node *node)
{
    uint64_t run, place = lunfs_node_map(node, io->position, &run), length = io->end - io->position;
    struct nm_error err;
    uint64_t bytes;

    length = length < run ? length : run;
    bytes = direct_bytes(fs, io, node, place, length);
    if (!bytes) {
        uint64_t in_page = LUNFS_PAGE - io->position % LUNFS_PAGE;

        length = length < in_page ? length : in_page;
        if (lunfs_data_write(fs, node, io->position,
                             (char *)io->op->buf + (io->position - io->op->offset_bytes), length,
                             &err) < 0)
            fail(io, &err);
        io->position += length;
        return;
    }
    length = length < bytes ? length : bytes;
    if (fs->cache.n_data &&
        lunfs_cache_discard(fs, place / LUNFS_PAGE, round_up(bytes, LUNFS_PAGE) / LUNFS_PAGE) < 0)
        fail(io, &fs->failure);
    else
        start_part(fs, io, place, bytes);
    io->position += length;
}

/* Copies from a cached page; false = the byte at io->position is in none. */
static bool read_cached(struct lunfs *fs, struct lunfs_io *io, uint64_t place, uint64_t length)
{
    unsigned char *page = is_cached(fs, place) ? lunfs_cache_peek(fs, place / LUNFS_PAGE) : NULL;
    uint64_t n = LUNFS_PAGE - place % LUNFS_PAGE;

    if (!page)
        return false;
    n = n < length ? n : length;
    memcpy((char *)io->op->buf + (io->position - io->op->offset_bytes), page + place % LUNFS_PAGE,
           n);
    io->position += n;
    return true;
}

/* Up to the next page that is cached. */
static uint64_t uncached_bytes(struct lunfs *fs, uint64_t place, uint64_t length)
{
    uint64_t n = LUNFS_PAGE - place % LUNFS_PAGE;

    if (!fs->cache.n_data)
        return length;
    while (n < length && !is_cached(fs, place + n))
        n += LUNFS_PAGE;
    return n < length ? n : length;
}

static void read_next(struct lunfs *fs, struct lunfs_io *io, struct lunfs_node *node)
{
    char *to = (char *)io->op->buf + (io->position - io->op->offset_bytes);
    uint64_t run, place, length = io->end - io->position, unit = fs->unit_bytes;
    struct lunfs_span span;
    struct nm_error err;

    if (!lunfs_span_from(node, io->position, &span) || span.start >= io->end)
        span.start = span.end = io->end;
    if (span.start > io->position) { /* never written */
        memset(to, 0, span.start - io->position);
        io->position = span.start;
        return;
    }
    place = lunfs_node_map(node, io->position, &run);
    length = length < run ? length : run;
    length = length < span.end - io->position ? length : span.end - io->position;
    if (read_cached(fs, io, place, length))
        return;
    length = uncached_bytes(fs, place, length);
    if (io->op->offset_bytes % unit == 0 && io->position + length == io->end) {
        start_part(fs, io, place, round_up(length, unit));
    } else if (io->op->offset_bytes % unit == 0 && length >= unit) {
        length -= length % unit;
        start_part(fs, io, place, length);
    } else {
        length = length < LUNFS_STAGE_BYTES / 2 ? length : LUNFS_STAGE_BYTES / 2;
        if (read_bounced(fs, place, to, length, &err) < 0)
            fail(io, &err);
    }
    io->position += length;
}

void lunfs_data_continue(struct lunfs *fs)
{
    while (fs->first_io && fs->free_blocks && !fs->failure.code) {
        struct lunfs_io *io = fs->first_io;
        struct lunfs_node *node = ((struct lunfs_file *)io->op->file)->node;

        if (io->position < io->end && !io->failed) {
            if (io->op->kind == NM_OP_READ)
                read_next(fs, io, node);
            else
                write_next(fs, io, node);
            continue;
        }
        fs->first_io = io->next;
        if (!fs->first_io)
            fs->last_io = NULL;
        io->in_line = false;
        if (!io->parts)
            complete(fs, io);
    }
}

/* Blocks for a WRITE; more than asked for when the final size is unknown. */
static int make_room(struct lunfs *fs, struct lunfs_node *node, uint64_t end, struct nm_error *err)
{
    uint64_t have = lunfs_node_allocated_bytes(node), more = have;

    if (end <= have)
        return 0;
    more = more < GROW_MIN_BYTES ? GROW_MIN_BYTES : more;
    more = more > GROW_MAX_BYTES ? GROW_MAX_BYTES : more;
    if (end > LUNFS_SMALL_BYTES && end < have + more &&
        more / LUNFS_PAGE < ext2fs_free_blocks_count(fs->fs->super) / 2)
        end = have + more;
    return lunfs_node_allocate(fs, node, end, err);
}

static int begin_write(struct lunfs *fs, struct lunfs_file *file, struct nm_op *op)
{
    struct lunfs_node *node = file->node;
    uint64_t end = op->offset_bytes + op->length_bytes;
    int r;

    if (!file->writable)
        return nm_error_set(&op->err, -EBADF, NM_REASON_INTERNAL,
                            "write: the file is open for reading only");
    if (end < op->offset_bytes || end > (UINT64_C(1) << 44))
        return nm_error_set(&op->err, -EFBIG, NM_REASON_NO_SPACE,
                            "write: ext4 files end at 16 TiB");
    if (end > node->expected_bytes) {
        /* More than was announced: the padding of its end must not overtake this. */
        r = node->expected_bytes ? lunfs_data_drain(fs, &op->err) : 0;
        if (r < 0)
            return r;
        node->expected_bytes = 0;
    }
    r = lunfs_volume_begin_changes(fs, &op->err);
    if (!r && fs->freed) { /* these data may go where the LUN still has metadata */
        r = lunfs_volume_mark(fs);
        if (r < 0)
            return lunfs_volume_error(fs, r, &op->err, "write", "file");
    }
    if (!r)
        r = make_room(fs, node, end, &op->err);
    if (!r)
        r = lunfs_span_add(fs, node, op->offset_bytes, end, &op->err);
    if (r < 0)
        return r;
    if (end > node->size_bytes)
        node->size_bytes = end;
    node->dirty = true;
    return 0;
}

/* Whether a WRITE is collected in the cache. */
static bool collected(const struct lunfs *fs, const struct lunfs_node *node, const struct nm_op *op)
{
    return (node->small && node->size_bytes <= LUNFS_SMALL_BYTES) ||
           (fs->buffered && op->length_bytes < LUNFS_SMALL_BYTES) ||
           op->offset_bytes % fs->unit_bytes;
}

static int begin(struct lunfs *fs, struct lunfs_file *file, struct nm_op *op, uint64_t *ret_end)
{
    uint64_t end = op->offset_bytes + op->length_bytes, size = file->node->size_bytes;
    int r;

    *ret_end = op->offset_bytes;
    if (!op->length_bytes)
        return 0;
    if (op->kind == NM_OP_READ) {
        if (op->offset_bytes < size)
            *ret_end = end < size ? end : size;
        return 0;
    }
    r = begin_write(fs, file, op);
    if (!r && collected(fs, file->node, op))
        return lunfs_data_write(fs, file->node, op->offset_bytes, op->buf, op->length_bytes,
                                &op->err) < 0
                   ? op->err.code
                   : 1;
    *ret_end = end;
    return r;
}

void lunfs_data_submit(struct lunfs *fs, struct nm_op *op)
{
    struct lunfs_io *io = fs->free_ios;
    uint64_t end;
    int r = begin(fs, (struct lunfs_file *)op->file, op, &end);

    if (!r && end > op->offset_bytes && !io)
        r = nm_error_set(&op->err, -EAGAIN, NM_REASON_INTERNAL,
                         "lunfs: more operations than the depth given at connect");
    if (r || end == op->offset_bytes) {
        op->result = r < 0 ? r : r > 0 ? (int64_t)op->length_bytes : 0;
        nm_session_complete(&fs->base, op);
        return;
    }
    fs->free_ios = io->next;
    *io = (struct lunfs_io){.op = op, .position = op->offset_bytes, .end = end, .in_line = true};
    op->backend_state = io;
    fs->writes += op->kind == NM_OP_WRITE;
    if (fs->last_io)
        fs->last_io->next = io;
    else
        fs->first_io = io;
    fs->last_io = io;
    lunfs_data_continue(fs);
}

int lunfs_data_drain(struct lunfs *fs, struct nm_error *err)
{
    while (fs->writes && !fs->failure.code) {
        lunfs_data_continue(fs);
        if (fs->writes)
            lunfs_lower_wait(fs);
    }
    if (fs->failure.code)
        *err = fs->failure;
    return fs->failure.code;
}

void lunfs_data_bury(struct lunfs *fs)
{
    lunfs_lower_bury(fs); /* gives the parts back */
    fs->first_io = fs->last_io = NULL;
    for (unsigned i = 0; i < fs->n_ios; i++) {
        struct lunfs_io *io = &fs->ios[i];

        if (!io->op)
            continue;
        fail(io, &fs->failure);
        complete(fs, io);
    }
}
