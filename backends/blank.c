/* Blank or not (blank.h). Names come from libblkid, which gets the ends of the target as a sparse
 * file of the target's size in memory, so that superblocks at the end (md, GPT backup header) lie
 * where it looks for them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "blank.h"

#include "clock.h"

#include <blkid/blkid.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HEAD_BYTES  (4u << 20) /* VMFS has its superblock at 2 MiB, btrfs at 64 KiB */
#define TAIL_BYTES  (1u << 20)
#define CHUNK_BYTES (1u << 20)
#define DEPTH_MAX   8

/* Where a target does not tell what is mapped it may do so later on: tgt 1.0.85 counts blocks in 32
 * bits and says 0 when 2 TiB remain. */
#define ASK_AGAIN_BYTES (UINT64_C(1) << 30)

static bool all_zero(const unsigned char *data, size_t length)
{
    return !length || (!data[0] && !memcmp(data, data + 1, length - 1));
}

static size_t first_nonzero(const unsigned char *data, size_t length)
{
    size_t at = 0;

    while (at < length && !data[at])
        at++;
    return at;
}

/* The reads in flight: a ring of buffers, in order of offset. */
struct scan {
    const struct nm_blank *blank;
    struct nm_file *file;
    struct nm_op ops[DEPTH_MAX];
    bool busy[DEPTH_MAX];
    unsigned depth;
    uint32_t chunk_bytes;
    unsigned char *buffers;
    int memory; /* the ends, for libblkid */
};

static int scan_open(struct scan *scan, const struct nm_blank *blank, unsigned open_flags,
                     struct nm_error *err)
{
    struct nm_op op = {.kind = NM_OP_OPEN, .path = "", .open_flags = open_flags};

    *scan = (struct scan){.blank = blank, .memory = -1};
    scan->depth = blank->depth < DEPTH_MAX ? blank->depth : DEPTH_MAX;
    scan->chunk_bytes = blank->io_bytes < CHUNK_BYTES ? blank->io_bytes : CHUNK_BYTES;
    scan->chunk_bytes -= scan->chunk_bytes % blank->block_bytes;
    scan->buffers = mmap(NULL, (size_t)scan->depth * CHUNK_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (scan->buffers == MAP_FAILED) {
        scan->buffers = NULL;
        return nm_error_errno(err, -ENOMEM, "no memory for reading the target");
    }
    if (nm_session_run(blank->session, &op, blank->timeout_ns) < 0) {
        if (err)
            *err = op.err;
        return (int)op.result;
    }
    scan->file = op.file;
    return 0;
}

static void scan_close(struct scan *scan)
{
    struct nm_op op = {.kind = NM_OP_CLOSE, .file = scan->file};

    if (scan->file)
        (void)nm_session_run(scan->blank->session, &op, scan->blank->timeout_ns);
    if (scan->buffers)
        munmap(scan->buffers, (size_t)scan->depth * CHUNK_BYTES);
    if (scan->memory >= 0)
        close(scan->memory);
}

/* Waits until the read in this slot is back. */
static int wait_for(struct scan *scan, unsigned slot, struct nm_error *err)
{
    uint64_t deadline_ns = nm_clock_now_ns() + 2 * scan->blank->timeout_ns;

    while (scan->busy[slot]) {
        struct nm_error reaped = {0};
        struct nm_op *op = nm_session_reap(scan->blank->session, deadline_ns, &reaped);

        if (!op)
            return reaped.code ? nm_error_set(err, reaped.code, reaped.reason, "%s", reaped.text)
                               : nm_error_set(err, -ETIMEDOUT, NM_REASON_TIMEOUT,
                                              "reading the target took too long");
        scan->busy[op - scan->ops] = false;
    }
    if (scan->ops[slot].result < 0 && err)
        *err = scan->ops[slot].err;
    return scan->ops[slot].result < 0 ? (int)scan->ops[slot].result : 0;
}

static void start_read(struct scan *scan, unsigned slot, uint64_t from, uint64_t to)
{
    uint64_t length = to - from < scan->chunk_bytes ? to - from : scan->chunk_bytes;

    scan->ops[slot] = (struct nm_op){.kind = NM_OP_READ,
                                     .file = scan->file,
                                     .offset_bytes = from,
                                     .length_bytes = (uint32_t)length,
                                     .buf = scan->buffers + (size_t)slot * CHUNK_BYTES,
                                     .slot = slot};
    scan->busy[slot] = true;
    nm_session_submit(scan->blank->session, &scan->ops[slot]);
}

/* Where the next bytes to read begin, at or behind from; *until: how far that is known to hold. */
static uint64_t skip_unmapped(const struct scan *scan, uint64_t from, uint64_t to, uint64_t *until)
{
    const struct nm_blank *blank = scan->blank;
    uint64_t bytes = 0;

    while (blank->unmapped && from < to && from >= *until) {
        bool skip = blank->unmapped(blank->context, from, &bytes);

        *until = from + (bytes ? bytes : ASK_AGAIN_BYTES);
        if (!skip)
            break;
        from = *until < to ? *until : to;
    }
    return from;
}

/* Called for each piece in order of offset; a return other than 0 ends the walk. */
typedef int (*visit_fn)(struct scan *scan, uint64_t offset_bytes, const unsigned char *data,
                        size_t length, void *context);

/* Reads [from, to) with depth reads in flight, leaving out what is known to be unmapped. */
static int walk(struct scan *scan, uint64_t from, uint64_t to, visit_fn visit, void *context,
                volatile double *done_fraction, struct nm_error *err)
{
    unsigned oldest = 0, reading = 0;
    uint64_t until = 0;
    int r = 0;

    for (;;) {
        while (!r && reading < scan->depth && (from = skip_unmapped(scan, from, to, &until)) < to) {
            unsigned slot = (oldest + reading++) % scan->depth;

            start_read(scan, slot, from, to);
            from += scan->ops[slot].length_bytes;
        }
        if (!reading)
            return r;
        struct nm_op *op = &scan->ops[oldest];
        int waited = wait_for(scan, oldest, r ? NULL : err);

        if (!r)
            r = waited;
        if (!r)
            r = visit(scan, op->offset_bytes, op->buf, op->length_bytes, context);
        if (done_fraction)
            *done_fraction = (double)from / (double)scan->blank->size_bytes;
        oldest = (oldest + 1) % scan->depth;
        reading--;
    }
}

/* First finding that is no name yet. */
struct finding {
    bool found;
    uint64_t offset_bytes;
};

static int keep_end(struct scan *scan, uint64_t offset_bytes, const unsigned char *data,
                    size_t length, void *context)
{
    struct finding *finding = context;

    if (all_zero(data, length))
        return 0;
    if (!finding->found)
        finding->offset_bytes = offset_bytes + first_nonzero(data, length);
    finding->found = true;
    if (pwrite(scan->memory, data, length, (off_t)offset_bytes) != (ssize_t)length)
        return 0; /* the finding stays one, without a name */
    return 0;
}

static int stop_at_data(struct scan *scan, uint64_t offset_bytes, const unsigned char *data,
                        size_t length, void *context)
{
    struct finding *finding = context;

    (void)scan;
    if (all_zero(data, length))
        return 0;
    finding->found = true;
    finding->offset_bytes = offset_bytes + first_nonzero(data, length);
    return 1;
}

static void append(char *out, size_t size, const char *prefix, const char *name, const char *label)
{
    size_t used = strlen(out);

    if (used + 1 < size)
        snprintf(out + used, size - used, "%s%s%s%s%s%s", used ? ", " : "", name, prefix,
                 label ? " '" : "", label ? label : "", label ? "'" : "");
}

bool nm_blank_name(int fd, uint32_t block_bytes, bool tables, char *out, size_t size)
{
    blkid_probe probe = blkid_new_probe();
    const char *name, *label;

    out[0] = '\0';
    if (!probe || blkid_probe_set_device(probe, fd, 0, 0) < 0)
        goto out;
    blkid_probe_set_sectorsize(probe, block_bytes);
    blkid_probe_enable_superblocks(probe, 1);
    blkid_probe_set_superblocks_flags(probe,
                                      BLKID_SUBLKS_TYPE | BLKID_SUBLKS_LABEL | BLKID_SUBLKS_USAGE);
    blkid_probe_enable_partitions(probe, tables);
    /* A backup header at the end counts even where the first sectors are gone. */
    blkid_probe_set_partitions_flags(probe, BLKID_PARTS_FORCE_GPT);
    for (int i = 0; i < 4 && blkid_do_probe(probe) == 0; i++) {
        if (!blkid_probe_lookup_value(probe, "PTTYPE", &name, NULL)) {
            append(out, size, " partition table",
                   !strcmp(name, "gpt")   ? "GPT"
                   : !strcmp(name, "dos") ? "MBR"
                                          : name,
                   NULL);
        } else if (!blkid_probe_lookup_value(probe, "TYPE", &name, NULL)) {
            const char *usage = "";

            if (blkid_probe_lookup_value(probe, "LABEL", &label, NULL))
                label = NULL;
            (void)blkid_probe_lookup_value(probe, "USAGE", &usage, NULL);
            append(out, size, strcmp(usage, "filesystem") ? "" : " file system", name, label);
        }
    }
out:
    blkid_free_probe(probe);
    return out[0] != '\0';
}

static int found(const struct finding *finding, const char *name, char *out, size_t size)
{
    if (name)
        snprintf(out, size, "%s", name);
    else
        snprintf(out, size, "non-zero data at byte %llu",
                 (unsigned long long)finding->offset_bytes);
    return -EPERM;
}

int nm_blank_check(const struct nm_blank *blank, volatile double *done_fraction, char *ret_found,
                   size_t found_size, struct nm_error *err)
{
    uint64_t size = blank->size_bytes;
    uint64_t head = size < HEAD_BYTES ? size : HEAD_BYTES;
    uint64_t tail = size - head < TAIL_BYTES ? head : size - TAIL_BYTES;
    struct finding finding = {0};
    char names[200];
    struct scan scan;
    int r = scan_open(&scan, blank, NM_OPEN_READ, err);

    if (r < 0)
        goto out;
    tail -= tail % blank->block_bytes;
    scan.memory = memfd_create("nasmark-ends", MFD_CLOEXEC);
    if (scan.memory < 0 || ftruncate(scan.memory, (off_t)size) < 0) {
        r = nm_error_errno(err, -errno, "no memory for the ends of the target");
        goto out;
    }
    r = walk(&scan, 0, head, keep_end, &finding, NULL, err);
    if (!r)
        r = walk(&scan, tail, size, keep_end, &finding, NULL, err);
    if (!r && finding.found) {
        bool known = nm_blank_name(scan.memory, blank->block_bytes, true, names, sizeof(names));

        r = found(&finding, known ? names : NULL, ret_found, found_size);
        goto out;
    }
    if (!r)
        r = walk(&scan, head, tail, stop_at_data, &finding, done_fraction, err);
    if (r == 1)
        r = found(&finding, NULL, ret_found, found_size);
    if (!r && done_fraction)
        *done_fraction = 1;
out:
    if (r == -EPERM)
        nm_error_set(err, r, NM_REASON_PROTECTED, "the target holds data: %s", ret_found);
    scan_close(&scan);
    return r;
}

static int write_zeroes(struct scan *scan, uint64_t from, uint64_t to, struct nm_error *err)
{
    for (; from < to; from += scan->ops[0].length_bytes) {
        scan->ops[0] = (struct nm_op){
            .kind = NM_OP_WRITE,
            .file = scan->file,
            .offset_bytes = from,
            .length_bytes =
                (uint32_t)(to - from < scan->chunk_bytes ? to - from : scan->chunk_bytes),
            .buf = scan->buffers};
        if (nm_session_run(scan->blank->session, &scan->ops[0], 2 * scan->blank->timeout_ns) < 0) {
            if (err)
                *err = scan->ops[0].err;
            return (int)scan->ops[0].result;
        }
    }
    return 0;
}

int nm_blank_wipe_ends(const struct nm_blank *blank, uint64_t end_bytes, struct nm_error *err)
{
    struct nm_op flush = {.kind = NM_OP_FLUSH};
    uint64_t end = end_bytes < blank->size_bytes ? end_bytes : blank->size_bytes;
    struct scan scan;
    int r = scan_open(&scan, blank, NM_OPEN_READ | NM_OPEN_WRITE, err);

    end -= end % blank->block_bytes;
    if (!r)
        r = write_zeroes(&scan, 0, end < TAIL_BYTES ? end : TAIL_BYTES, err);
    if (!r && end > TAIL_BYTES)
        r = write_zeroes(&scan, end - TAIL_BYTES, end, err);
    if (!r && nm_session_run(blank->session, &flush, 2 * blank->timeout_ns) < 0) {
        if (err)
            *err = flush.err;
        r = (int)flush.result;
    }
    scan_close(&scan);
    return r;
}
