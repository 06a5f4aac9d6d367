/* Sessions and operations for the checks (contract.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "contract.h"

#include "clock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void check_failed(const char *file, int line, const char *what, const char *fmt, ...)
{
    const char *base = strrchr(file, '/');
    va_list ap;

    fprintf(stderr, "%s:%d: (%s) is false: ", base ? base + 1 : file, line, what);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    _exit(1);
}

void check_skipped(const char *why)
{
    fprintf(stderr, "skipped: %s\n", why);
    _exit(77);
}

void session_connect(struct session *s, bool read_only)
{
    struct nm_error err = {0};
    size_t size = (size_t)s->suite->how.depth * s->suite->how.block_bytes;
    int r;

    s->how = s->suite->how;
    s->how.read_only = read_only;
    s->how.claimed = s->suite->shared->claimed;
    s->how.buffers_bytes = size;
    s->how.buffers = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(s->how.buffers != MAP_FAILED, "no memory for %zu bytes of buffers", size);
    s->queue = calloc(s->how.depth, sizeof(*s->queue));
    CHECK(s->queue, "out of memory");
    r = nm_backend_connect(s->suite->ops, &s->how, &s->nm, &err);
    CHECK(!r, "connect: %s [%s] raw '%s'", err.text, nm_reason_name(err.reason), err.raw);
    CHECK(s->nm, "connect said 0 without a session");
    CHECK(!s->nm->in_flight, "%u operations in flight after connect", s->nm->in_flight);
}

void session_disconnect(struct session *s)
{
    uint64_t start_ns = nm_clock_now_ns(), took_ns;

    if (s->nm)
        s->suite->ops->disconnect(s->nm);
    s->nm = NULL;
    took_ns = nm_clock_now_ns() - start_ns;
    CHECK(took_ns < s->suite->how.timeout_ns + NM_NS_PER_S, "disconnect took %.1f s",
          (double)took_ns / NM_NS_PER_S);
    if (s->how.buffers)
        munmap(s->how.buffers, s->how.buffers_bytes);
    s->how.buffers = NULL;
    free(s->queue);
    s->queue = NULL;
}

const char *path_of(struct session *s, const char *name)
{
    snprintf(s->path, sizeof(s->path), "%s%s%s", s->suite->directory, *name ? "/" : "", name);
    return s->path;
}

void *buffer_of(const struct session *s, unsigned slot)
{
    return (char *)s->how.buffers + (size_t)slot * s->how.block_bytes;
}

static void check_error(const struct nm_op *op)
{
    const char *kind = nm_op_kind_name(op->kind), *path = op->path ? op->path : "";

    CHECK(op->err.reason != NM_REASON_NONE, "%s %s: %lld without a reason", kind, path,
          (long long)op->result);
    CHECK(op->err.text[0], "%s %s: %lld without a text", kind, path, (long long)op->result);
    CHECK(op->err.code == op->result, "%s %s: result %lld but err.code %d", kind, path,
          (long long)op->result, op->err.code);
}

int64_t run(struct session *s, struct nm_op *op)
{
    if (!op->buf)
        op->buf = buffer_of(s, op->slot);
    memset(&op->err, 0, sizeof(op->err));
    nm_session_run(s->nm, op, s->how.timeout_ns + 2 * NM_NS_PER_S);
    if (op->result < 0)
        check_error(op);
    CHECK(!s->nm->in_flight, "%u operations in flight after %s", s->nm->in_flight,
          nm_op_kind_name(op->kind));
    CHECK(op->done_ns >= op->submit_ns && op->submit_ns, "%s: no time stamps",
          nm_op_kind_name(op->kind));
    return op->result;
}

int64_t must(struct session *s, struct nm_op op)
{
    int64_t r = run(s, &op);

    CHECK(r >= 0, "%s '%.200s': %lld [%s] raw '%s': %s", nm_op_kind_name(op.kind),
          op.path ? op.path : "", (long long)r, nm_reason_name(op.err.reason), op.err.raw,
          op.err.text);
    return r;
}

void must_fail(struct session *s, struct nm_op op, int code, enum nm_reason reason)
{
    const char *kind = nm_op_kind_name(op.kind), *path = op.path ? op.path : "";
    int64_t r = run(s, &op);

    CHECK(r < 0, "%s '%.200s' succeeded (%lld) and should not", kind, path, (long long)r);
    CHECK(!code || r == code, "%s '%.200s': %lld, expected %d (%s)", kind, path, (long long)r, code,
          op.err.text);
    CHECK(!reason || op.err.reason == reason, "%s '%.200s': reason %s, expected %s (%s)", kind,
          path, nm_reason_name(op.err.reason), nm_reason_name(reason), op.err.text);
}

static struct nm_file *must_get(struct session *s, struct nm_op op)
{
    int64_t r = run(s, &op);

    CHECK(r >= 0, "%s '%.200s': %lld [%s] raw '%s': %s", nm_op_kind_name(op.kind), op.path,
          (long long)r, nm_reason_name(op.err.reason), op.err.raw, op.err.text);
    CHECK(op.file && op.file->session == s->nm, "%s '%.200s' gave no file of this session",
          nm_op_kind_name(op.kind), op.path);
    return op.file;
}

struct nm_file *must_open(struct session *s, const char *name, unsigned flags)
{
    return must_get(
        s, (struct nm_op){.kind = NM_OP_OPEN, .path = path_of(s, name), .open_flags = flags});
}

struct nm_file *must_create(struct session *s, const char *name, uint64_t expected_bytes)
{
    return must_get(s, (struct nm_op){.kind = NM_OP_CREATE,
                                      .path = path_of(s, name),
                                      .expected_bytes = expected_bytes});
}

void must_close(struct session *s, struct nm_file *file)
{
    must(s, (struct nm_op){.kind = NM_OP_CLOSE, .file = file});
}

uint64_t position_of(const char *name)
{
    uint64_t hash = 1469598103934665603u; /* FNV-1a */

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 1099511628211u;
    return (hash >> 50) << 30; /* 2^14 places of 1 GiB, all of a group */
}

/* A step through n pieces that meets each once and jumps far. */
static uint64_t coprime_step(uint64_t n)
{
    uint64_t step = n / 2 + n / 8 + 1;

    for (;; step++) {
        uint64_t a = step, b = n;

        while (b) {
            uint64_t rest = a % b;

            a = b;
            b = rest;
        }
        if (a == 1)
            return step;
    }
}

static void finish_one(struct session *s, uint64_t position)
{
    struct nm_error err = {0};
    size_t wrong = 0;
    struct nm_op *op =
        nm_session_reap(s->nm, nm_clock_now_ns() + s->how.timeout_ns + 2 * NM_NS_PER_S, &err);

    CHECK(op, "nothing completed in time: %s", err.text);
    if (op->result < 0)
        check_error(op);
    CHECK(op->result == op->length_bytes, "%s of %u bytes at %llu: %lld: %s",
          nm_op_kind_name(op->kind), op->length_bytes, (unsigned long long)op->offset_bytes,
          (long long)op->result, op->result < 0 ? op->err.text : "short");
    if (op->kind == NM_OP_READ)
        CHECK(!nm_pattern_check(&s->suite->data, position + op->offset_bytes, op->buf,
                                op->length_bytes, &wrong, &err),
              "bytes at %llu: %s", (unsigned long long)op->offset_bytes + wrong, err.text);
    op->user = NULL;
}

void transfer(struct session *s, struct nm_file *file, enum nm_op_kind kind, uint64_t offset,
              uint64_t length, uint64_t position)
{
    uint64_t block = s->how.block_bytes, n = (length + block - 1) / block;
    uint64_t step = n ? coprime_step(n) : 1;

    for (uint64_t k = 0; k < n; k++) {
        uint64_t at = (k * step + n / 2) % n * block;
        unsigned slot = 0;
        struct nm_op *op;

        if (s->nm->in_flight == s->how.depth)
            finish_one(s, position);
        while (s->queue[slot].user)
            slot++;
        op = &s->queue[slot];
        *op = (struct nm_op){.kind = kind,
                             .file = file,
                             .offset_bytes = offset + at,
                             .length_bytes = (uint32_t)(length - at < block ? length - at : block),
                             .slot = slot,
                             .buf = buffer_of(s, slot),
                             .user = op};
        if (kind == NM_OP_WRITE)
            nm_pattern_fill(&s->suite->data, position + op->offset_bytes, op->buf,
                            op->length_bytes);
        else
            memset(op->buf, 0xa5, op->length_bytes);
        nm_session_submit(s->nm, op);
    }
    while (s->nm->in_flight)
        finish_one(s, position);
}

struct nm_op op_on(struct session *s, enum nm_op_kind kind, const char *name)
{
    return (struct nm_op){.kind = kind, .path = path_of(s, name)};
}

struct nm_stat stat_of(struct session *s, const char *name)
{
    struct nm_stat stat = {.size_bytes = UINT64_MAX, .is_symlink = true};
    struct nm_op op = op_on(s, NM_OP_STAT, name);

    op.stat = &stat;
    must(s, op);
    CHECK(!stat.is_symlink, "%s is said to be a symbolic link", name);
    return stat;
}

void must_have_size(struct session *s, const char *name, uint64_t size_bytes)
{
    struct nm_stat stat = stat_of(s, name);

    CHECK(!stat.is_directory, "%s is said to be a directory", name);
    CHECK(stat.size_bytes == size_bytes, "%s has %llu bytes, expected %llu", name,
          (unsigned long long)stat.size_bytes, (unsigned long long)size_bytes);
}

void must_be_missing(struct session *s, const char *name)
{
    struct nm_stat stat;
    struct nm_op op = op_on(s, NM_OP_STAT, name);

    op.stat = &stat;
    must_fail(s, op, -ENOENT, NM_REASON_NOT_FOUND);
}

void put_file(struct session *s, const char *name, uint64_t size_bytes)
{
    struct nm_file *file = must_create(s, name, size_bytes);

    transfer(s, file, NM_OP_WRITE, 0, size_bytes, position_of(name));
    must(s, (struct nm_op){.kind = NM_OP_FLUSH, .file = file});
    must_close(s, file);
}

void get_file(struct session *s, const char *name, const char *origin, uint64_t size_bytes)
{
    struct nm_file *file = must_open(s, name, NM_OPEN_READ);

    CHECK(file->size_bytes == size_bytes, "open of %s says %llu bytes, expected %llu", name,
          (unsigned long long)file->size_bytes, (unsigned long long)size_bytes);
    transfer(s, file, NM_OP_READ, 0, size_bytes, position_of(origin));
    must_close(s, file);
}
