/* The file system on a block target, on an image file: what is never written reads as zero, what
 * is fragmented stays whole, what is full says so, and what a dead session leaves is either the
 * last flush or known to be neither. (Everything ordinary is in the contract suite.)
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "backend.h"
#include "clock.h"
#include "iscsi/options_iscsi.h"
#include "pattern.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define DEPTH      8
#define BLOCK      (1u << 20)
#define MIB        (UINT64_C(1) << 20)
#define IMAGE      (64 * MIB)
#define TIMEOUT_NS (10 * NM_NS_PER_S)

static struct {
    char path[4200], url_text[4300];
    struct nm_url *url;
    struct nm_connect how;
    struct nm_iscsi_options options;
    struct nm_session *session;
    struct nm_pattern pattern;
    struct nm_error err;
} t;

/* An image full of old data, given to us: what was there must never show. */
static int make_image(void **state)
{
    static unsigned char old[1 << 16];
    char directory[4096];
    char *password = NULL;
    int fd;

    (void)state;
    memset(&t, 0, sizeof(t));
    memset(old, 0xee, sizeof(old));
    assert_non_null(getcwd(directory, sizeof(directory)));
    snprintf(t.path, sizeof(t.path), "%s/lunfs-test-XXXXXX", directory);
    fd = mkstemp(t.path);
    assert_true(fd >= 0);
    for (uint64_t at = 0; at < IMAGE; at += sizeof(old))
        assert_int_equal(pwrite(fd, old, sizeof(old), (off_t)at), sizeof(old));
    close(fd);
    snprintf(t.url_text, sizeof(t.url_text), "local:%s", t.path);
    assert_int_equal(nm_url_parse(t.url_text, &t.url, &password, &t.err), 0);
    assert_int_equal(nm_options_init(&nm_iscsi_section, &t.options, &t.err), 0);
    nm_pattern_init(&t.pattern, 7, 0, (struct nm_data_kind){.kind = NM_DATA_RANDOM});
    t.how = (struct nm_connect){.url = t.url,
                                .options = &t.options,
                                .volume = "test",
                                .timeout_ns = TIMEOUT_NS,
                                .depth = DEPTH,
                                .block_bytes = BLOCK,
                                .streams = 1,
                                .claimed = true,
                                .buffers_bytes = DEPTH * BLOCK};
    t.how.buffers =
        mmap(NULL, t.how.buffers_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(t.how.buffers != MAP_FAILED);
    return 0;
}

static int remove_image(void **state)
{
    (void)state;
    unlink(t.path);
    nm_url_free(t.url);
    nm_options_done(&nm_iscsi_section, &t.options);
    munmap(t.how.buffers, t.how.buffers_bytes);
    return 0;
}

static void connect_to_it(void)
{
    if (nm_backend_connect(nm_backend_find("lunfs"), &t.how, &t.session, &t.err) < 0)
        fail_msg("connect: %s", t.err.text);
}

static void leave(void)
{
    t.session->ops->disconnect(t.session);
    t.session = NULL;
}

static void leave_and_check(void)
{
    char command[4400];

    leave();
    snprintf(command, sizeof(command), "PATH=$PATH:/usr/sbin:/sbin e2fsck -fn '%s' >/dev/null 2>&1",
             t.path);
    assert_int_equal(system(command), 0); /* NOLINT: a path of our own */
}

static int64_t run(struct nm_op *op)
{
    return nm_session_run(t.session, op, 2 * TIMEOUT_NS);
}

static int64_t named(enum nm_op_kind kind, const char *path)
{
    struct nm_op op = {.kind = kind, .path = path};
    int64_t r = run(&op);

    t.err = op.err;
    if (r < 0 && r != -ENOENT)
        print_message("%s: %s\n", path, op.err.text);
    return r;
}

static struct nm_file *create(const char *path, uint64_t expected_bytes)
{
    struct nm_op op = {.kind = NM_OP_CREATE, .path = path, .expected_bytes = expected_bytes};

    if (run(&op) < 0)
        fail_msg("create: %s", op.err.text);
    return op.file;
}

static struct nm_file *open_it(const char *path)
{
    struct nm_op op = {
        .kind = NM_OP_OPEN, .path = path, .open_flags = NM_OPEN_READ | NM_OPEN_WRITE};

    if (run(&op) < 0)
        fail_msg("open: %s", op.err.text);
    return op.file;
}

static void close_it(struct nm_file *file)
{
    struct nm_op op = {.kind = NM_OP_CLOSE, .file = file};

    if (run(&op) < 0)
        fail_msg("close: %s", op.err.text);
}

/* Bytes of the file are those of the pattern at the same position, in the space of `seed`. */
static int64_t write_at(struct nm_file *file, uint64_t offset, uint32_t length, uint64_t seed)
{
    struct nm_op op = {.kind = NM_OP_WRITE,
                       .file = file,
                       .offset_bytes = offset,
                       .length_bytes = length,
                       .buf = t.how.buffers};
    int64_t r;

    nm_pattern_fill(&t.pattern, (seed << 32) + offset, op.buf, length);
    r = run(&op);
    t.err = op.err;
    return r;
}

static const unsigned char *read_at(struct nm_file *file, uint64_t offset, uint32_t length)
{
    struct nm_op op = {.kind = NM_OP_READ,
                       .file = file,
                       .offset_bytes = offset,
                       .length_bytes = length,
                       .buf = t.how.buffers};

    memset(op.buf, 0xa5, length);
    if (run(&op) != length)
        fail_msg("read of %u at %llu: %lld %s", length, (unsigned long long)offset,
                 (long long)op.result, op.err.text);
    return op.buf;
}

static void expect_pattern(struct nm_file *file, uint64_t offset, uint32_t length, uint64_t seed)
{
    const unsigned char *data = read_at(file, offset, length);
    size_t wrong;

    if (nm_pattern_check(&t.pattern, (seed << 32) + offset, data, length, &wrong, &t.err) < 0)
        fail_msg("byte %llu: %s", (unsigned long long)(offset + wrong), t.err.text);
}

static void expect_zeroes(struct nm_file *file, uint64_t offset, uint32_t length)
{
    const unsigned char *data = read_at(file, offset, length);

    for (uint32_t i = 0; i < length; i++)
        if (data[i])
            fail_msg("byte %llu is %02x", (unsigned long long)offset + i, data[i]);
}

static uint64_t free_bytes(void)
{
    static struct nm_conditions conditions;
    struct nm_target_info info;

    memset(&conditions, 0, sizeof(conditions));
    assert_int_equal(t.session->ops->describe(t.session, &info, &conditions, &t.err), 0);
    return info.free_bytes;
}

static void test_lunfs_gaps_read_as_zero(void **state)
{
    struct nm_file *file;

    (void)state;
    connect_to_it();
    file = create("gaps", 0);
    assert_int_equal(write_at(file, 3 * MIB, 4096, 1), 4096);
    assert_int_equal(write_at(file, MIB + 101, 5000, 1), 5000);
    assert_int_equal(write_at(file, 10, 20, 1), 20);
    for (int again = 0; again < 2; again++) {
        expect_zeroes(file, 0, 10);
        expect_pattern(file, 10, 20, 1);
        expect_zeroes(file, 30, MIB - 30);
        expect_zeroes(file, MIB, 101);
        expect_pattern(file, MIB + 101, 5000, 1);
        expect_zeroes(file, MIB + 5101, MIB - 5101);
        expect_zeroes(file, 2 * MIB, MIB);
        expect_pattern(file, 3 * MIB, 4096, 1);
        close_it(file);
        leave_and_check(); /* the second time what the LUN holds is read */
        connect_to_it();
        file = open_it("gaps");
        assert_int_equal(file->size_bytes, 3 * MIB + 4096);
    }
    close_it(file);
    leave();
}

static void test_lunfs_many_gaps(void **state)
{
    struct nm_file *file;

    (void)state;
    connect_to_it();
    file = create("many", 4 * MIB);
    for (uint64_t at = 4 * MIB; at; at -= 16384)
        assert_int_equal(write_at(file, at - 16384, 4096 + 512, 2), 4096 + 512);
    close_it(file);
    leave_and_check();
    connect_to_it();
    file = open_it("many");
    for (uint64_t at = 0; at + 16384 < 4 * MIB; at += 16384) {
        expect_pattern(file, at, 4096 + 512, 2);
        expect_zeroes(file, at + 4096 + 512, 16384 - 4096 - 512);
    }
    close_it(file);
    leave();
}

static void test_lunfs_small_requests_at_depth(void **state)
{
    struct nm_file *file;
    struct nm_op ops[DEPTH];

    (void)state;
    connect_to_it();
    file = create("requests", 0);
    /* 512 bytes each, several on their way to one block of the file system. */
    for (unsigned round = 0; round < 64; round++) {
        for (unsigned i = 0; i < DEPTH; i++) {
            uint64_t at = (round * DEPTH + (i * 3) % DEPTH) * 512;

            ops[i] = (struct nm_op){.kind = NM_OP_WRITE,
                                    .file = file,
                                    .offset_bytes = at,
                                    .length_bytes = 512,
                                    .slot = i,
                                    .buf = (char *)t.how.buffers + (size_t)i * BLOCK};
            nm_pattern_fill(&t.pattern, (UINT64_C(3) << 32) + at, ops[i].buf, 512);
            nm_session_submit(t.session, &ops[i]);
        }
        while (t.session->in_flight)
            assert_non_null(nm_session_reap(t.session, nm_clock_now_ns() + TIMEOUT_NS, &t.err));
    }
    expect_pattern(file, 0, 64 * DEPTH * 512, 3);
    close_it(file);
    leave_and_check();
}

/* More was announced and allocated than came; it was flushed meanwhile. */
static void test_lunfs_flushed_before_it_was_whole(void **state)
{
    struct nm_file *file;
    struct nm_op flush = {.kind = NM_OP_FLUSH};
    uint64_t start;

    (void)state;
    connect_to_it();
    start = free_bytes();
    file = create("closed", 8 * MIB);
    assert_int_equal(write_at(file, MIB, 1000, 13), 1000);
    flush.file = file;
    assert_int_equal(run(&flush), 0);
    close_it(file);
    file = create("left open", 8 * MIB);
    assert_int_equal(write_at(file, MIB, 1000, 13), 1000);
    flush.file = NULL;
    assert_int_equal(run(&flush), 0);
    leave_and_check();
    connect_to_it();
    assert_int_equal(free_bytes(), start - 2 * (MIB + 4096));
    for (int i = 0; i < 2; i++) {
        file = open_it(i ? "left open" : "closed");
        expect_zeroes(file, 0, MIB);
        expect_pattern(file, MIB, 1000, 13);
        close_it(file);
    }
    leave();
}

/* What the image holds behind the bytes that were written to this file last. */
static unsigned char byte_behind(uint32_t length, uint64_t seed)
{
    unsigned char *image, wanted[512], found;
    int fd = open(t.path, O_RDONLY);

    nm_pattern_fill(&t.pattern, seed << 32, wanted, sizeof(wanted));
    image = mmap(NULL, IMAGE, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(image != MAP_FAILED);
    unsigned char *place = memmem(image, IMAGE, wanted, sizeof(wanted));
    assert_non_null(place);
    found = place[length];
    munmap(image, IMAGE);
    close(fd);
    return found;
}

/* Elsewhere a neighbour could be on its way, and the padding would overtake it. */
static void test_lunfs_pads_only_the_announced_end(void **state)
{
    struct nm_file *file;

    (void)state;
    connect_to_it();
    file = create("unknown", 0);
    assert_int_equal(write_at(file, 0, 1024, 11), 1024);
    assert_int_equal(byte_behind(1024, 11), 0xee);
    close_it(file);
    file = create("known", 100000);
    assert_int_equal(write_at(file, 0, 100000, 12), 100000);
    assert_int_equal(byte_behind(100000, 12), 0);
    close_it(file);
    leave_and_check();
}

/* Holes of one block everywhere: a file gets hundreds of extents, so a tree. */
static void test_lunfs_fragmented_files(void **state)
{
    char path[32];
    struct nm_file *file;
    uint64_t start, room;

    (void)state;
    connect_to_it();
    assert_int_equal(named(NM_OP_MKDIR, "d"), 0);
    start = free_bytes();
    for (unsigned i = 0; i < 600; i++) {
        snprintf(path, sizeof(path), "d/small%u", i);
        file = create(path, 4096);
        assert_int_equal(write_at(file, 0, 4096, i), 4096);
        close_it(file);
    }
    room = free_bytes() / MIB * MIB - 2 * MIB;
    file = create("d/filler", room);
    close_it(file); /* shrinks to nothing: only the direction of allocation moves on */
    for (unsigned i = 0; i < 600; i += 2) {
        snprintf(path, sizeof(path), "d/small%u", i);
        assert_int_equal(named(NM_OP_UNLINK, path), 0);
    }
    room = free_bytes() / MIB * MIB;
    file = create("d/large", room);
    for (uint64_t at = 0; at < room; at += BLOCK)
        assert_int_equal(write_at(file, at, BLOCK, 9), BLOCK);
    close_it(file);
    leave_and_check();
    connect_to_it();
    file = open_it("d/large");
    for (uint64_t at = 0; at < room; at += BLOCK)
        expect_pattern(file, at, BLOCK, 9);
    close_it(file);
    for (unsigned i = 1; i < 600; i += 2) {
        snprintf(path, sizeof(path), "d/small%u", i);
        file = open_it(path);
        expect_pattern(file, 0, 4096, i);
        close_it(file);
        assert_int_equal(named(NM_OP_UNLINK, path), 0);
    }
    assert_int_equal(named(NM_OP_UNLINK, "d/large"), 0);
    assert_int_equal(named(NM_OP_UNLINK, "d/filler"), 0);
    leave_and_check();
    connect_to_it();
    assert_in_range(free_bytes(), start - MIB, start); /* the directory grew */
    leave();
}

static void test_lunfs_full(void **state)
{
    struct nm_file *file;
    struct nm_op op = {.kind = NM_OP_CREATE, .path = "large", .expected_bytes = 2 * IMAGE};
    uint64_t start, at = 0;
    struct nm_stat stat;

    (void)state;
    connect_to_it();
    start = free_bytes();
    assert_int_equal(run(&op), -ENOSPC);
    assert_int_equal(op.err.reason, NM_REASON_NO_SPACE);
    op = (struct nm_op){.kind = NM_OP_STAT, .path = "large", .stat = &stat};
    assert_int_equal(run(&op), -ENOENT);
    file = create("grows", 0);
    while (write_at(file, at, BLOCK, 4) > 0)
        at += BLOCK;
    assert_int_equal(t.err.code, -ENOSPC);
    assert_int_equal(t.err.reason, NM_REASON_NO_SPACE);
    assert_true(at > start - 3 * MIB);
    for (uint64_t k = 0; k < at; k += 8 * BLOCK)
        expect_pattern(file, k, BLOCK, 4);
    close_it(file);
    assert_int_equal(named(NM_OP_UNLINK, "grows"), 0);
    assert_int_equal(free_bytes(), start);
    leave_and_check();
}

static void count(void *context, const char *name, const struct nm_stat *stat)
{
    unsigned *counts = context;

    counts[0]++;
    counts[1] += stat->is_directory;
    counts[2] += name[0] == 'n';
}

static void test_lunfs_names_come_and_go(void **state)
{
    unsigned counts[3] = {0};
    char path[64];
    struct nm_op op = {
        .kind = NM_OP_LIST, .path = "d", .list_entry = count, .list_context = counts};

    (void)state;
    connect_to_it();
    assert_int_equal(named(NM_OP_MKDIR, "d"), 0);
    for (unsigned i = 0; i < 3000; i++) {
        snprintf(path, sizeof(path), "d/name-%u%.*s", i, (int)(i % 40), "a tail of another length");
        close_it(create(path, 0));
    }
    for (unsigned i = 0; i < 3000; i += 3) {
        snprintf(path, sizeof(path), "d/name-%u%.*s", i, (int)(i % 40), "a tail of another length");
        assert_int_equal(named(NM_OP_UNLINK, path), 0);
        snprintf(path, sizeof(path), "d/n%u", i);
        close_it(create(path, 0));
    }
    for (unsigned i = 0; i < 100; i++) { /* more directories than are kept in memory */
        snprintf(path, sizeof(path), "d/sub%u", i);
        assert_int_equal(named(NM_OP_MKDIR, path), 0);
        snprintf(path, sizeof(path), "d/sub%u/inner", i);
        close_it(create(path, 0));
    }
    leave_and_check();
    connect_to_it();
    assert_int_equal(run(&op), 0);
    assert_int_equal(counts[0], 3100);
    assert_int_equal(counts[1], 100);
    assert_int_equal(counts[2], 3000);
    for (unsigned i = 0; i < 3000; i += 3) {
        snprintf(path, sizeof(path), "d/n%u", i);
        assert_int_equal(named(NM_OP_UNLINK, path), 0);
    }
    assert_int_equal(named(NM_OP_UNLINK, "d/name-1a"), 0);
    assert_int_equal(named(NM_OP_UNLINK, "d/name-3"), -ENOENT);
    leave_and_check();
}

/* A session that ends without disconnect, in a process of its own. */
static void die_after(void (*work)(void))
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (!pid) {
        connect_to_it();
        work();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
}

static void flush_then_more(void)
{
    struct nm_op flush = {.kind = NM_OP_FLUSH};

    named(NM_OP_MKDIR, "kept");
    run(&flush);
    named(NM_OP_MKDIR, "lost");
}

static void half_way(void)
{
    struct nm_file *file = create("half", 2000);
    struct nm_op flush = {.kind = NM_OP_FLUSH, .file = file};

    write_at(file, 0, 2000, 5);
    run(&flush); /* its data, inode and name, but not the bitmaps */
}

static void test_lunfs_dead_session(void **state)
{
    struct nm_stat stat;
    struct nm_op op = {.kind = NM_OP_STAT, .path = "kept", .stat = &stat};

    (void)state;
    die_after(flush_then_more);
    connect_to_it(); /* what was flushed, in one piece */
    assert_int_equal(run(&op), 0);
    op.path = "lost";
    assert_int_equal(run(&op), -ENOENT);
    leave_and_check();

    die_after(half_way);
    t.how.read_only = true; /* neither the old nor the new state: not trusted */
    assert_int_equal(nm_backend_connect(nm_backend_find("lunfs"), &t.how, &t.session, &t.err),
                     -ENODATA);
    t.how.read_only = false;
    connect_to_it(); /* made again */
    op.path = "kept";
    assert_int_equal(run(&op), -ENOENT);
    leave_and_check();
}

static void test_lunfs_needs_a_claim(void **state)
{
    struct nm_op op = {.kind = NM_OP_MKDIR, .path = "d"};

    (void)state;
    t.how.claimed = false;
    connect_to_it();
    assert_int_equal(run(&op), -EPERM);
    assert_int_equal(op.err.reason, NM_REASON_PROTECTED);
    assert_int_equal(nm_backend_claim(t.session, NULL, &t.err), -EPERM); /* old data */
    assert_int_equal(t.err.reason, NM_REASON_PROTECTED);
    assert_int_equal(run(&op), -EPERM);
    leave();
    int fd = open(t.path, O_RDONLY);
    unsigned char byte = 0;

    for (uint64_t at = 0; at < IMAGE; at += 999983) {
        assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
        assert_int_equal(byte, 0xee);
    }
    close(fd);
}

int main(void)
{
#define LUNFS_TEST(name) cmocka_unit_test_setup_teardown(name, make_image, remove_image)
    const struct CMUnitTest tests[] = {
        LUNFS_TEST(test_lunfs_needs_a_claim),
        LUNFS_TEST(test_lunfs_gaps_read_as_zero),
        LUNFS_TEST(test_lunfs_many_gaps),
        LUNFS_TEST(test_lunfs_small_requests_at_depth),
        LUNFS_TEST(test_lunfs_pads_only_the_announced_end),
        LUNFS_TEST(test_lunfs_flushed_before_it_was_whole),
        LUNFS_TEST(test_lunfs_fragmented_files),
        LUNFS_TEST(test_lunfs_full),
        LUNFS_TEST(test_lunfs_names_come_and_go),
        LUNFS_TEST(test_lunfs_dead_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
