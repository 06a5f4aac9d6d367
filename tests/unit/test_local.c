/* The local backend where the contract suite cannot look: what it refuses, what it says about the
 * page cache, and a kernel that changes its mind. (Everything ordinary is in the contract suite;
 * what needs mounts and loop devices in tests/integration/test_local.py.)
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "backend.h"
#include "clock.h"
#include "local/local.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#define DEPTH 4
#define BLOCK 65536

/* The C library's, for everything linked into this program; see refuse_direct_reads. */
static bool refuse_direct_reads;

ssize_t pread(int fd, void *buf, size_t length, off_t offset)
{
    if (refuse_direct_reads && (fcntl(fd, F_GETFL) & O_DIRECT)) {
        errno = EINVAL;
        return -1;
    }
    return syscall(SYS_pread64, fd, buf, length, offset);
}

/* So many answers of the kernel are that the data are in the page cache. */
static int resident_answers;

int mincore(void *address, size_t length, unsigned char *vec)
{
    if (resident_answers > 0) {
        resident_answers--;
        memset(vec, 1, (length + LOCAL_PAGE_BYTES - 1) / LOCAL_PAGE_BYTES);
        return 0;
    }
    return (int)syscall(SYS_mincore, address, length, vec);
}

static struct {
    char directory[4096], path[4160];
    struct nm_url *url;
    struct nm_session *session;
    struct local_options options;
    struct nm_connect how;
    struct nm_conditions conditions;
    struct nm_error err;
} t;

static int make_directory(void **state)
{
    (void)state;
    memset(&t, 0, sizeof(t));
    assert_non_null(getcwd(t.directory, sizeof(t.directory) - 32));
    strncat(t.directory, "/local-test-XXXXXX", 32);
    assert_non_null(mkdtemp(t.directory));
    assert_int_equal(nm_options_init(&local_options_section, &t.options, &t.err), 0);
    return 0;
}

static void disconnect(void)
{
    if (t.session)
        t.session->ops->disconnect(t.session);
    t.session = NULL;
    nm_url_free(t.url);
    t.url = NULL;
}

static int remove_directory(void **state)
{
    char command[4200];

    (void)state;
    refuse_direct_reads = false;
    resident_answers = 0;
    disconnect();
    nm_options_done(&local_options_section, &t.options);
    if (t.how.buffers)
        munmap(t.how.buffers, t.how.buffers_bytes);
    snprintf(command, sizeof(command), "rm -rf '%s'", t.directory);
    return system(command);
}

static const char *path_of(const char *name)
{
    snprintf(t.path, sizeof(t.path), "%s/%s", t.directory, name);
    return t.path;
}

static int connect_to(const char *path)
{
    char text[4200], *password;

    snprintf(text, sizeof(text), "local:%s", path);
    assert_int_equal(nm_url_parse(text, &t.url, &password, &t.err), 0);
    t.how.url = t.url;
    t.how.options = &t.options;
    t.how.timeout_ns = t.how.timeout_ns ? t.how.timeout_ns : 10 * NM_NS_PER_S;
    t.how.depth = DEPTH;
    t.how.block_bytes = BLOCK;
    t.how.streams = 1;
    if (!t.how.buffers) {
        t.how.buffers_bytes = (size_t)DEPTH * BLOCK;
        t.how.buffers = mmap(NULL, t.how.buffers_bytes, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true(t.how.buffers != MAP_FAILED);
    }
    const struct nm_backend_ops *ops = nm_backend_select(t.url, 0, 0, &t.err);

    assert_non_null(ops);
    return nm_backend_connect(ops, &t.how, &t.session, &t.err);
}

static const char *condition(const char *name)
{
    struct nm_target_info info;

    memset(&t.conditions, 0, sizeof(t.conditions));
    assert_int_equal(t.session->ops->describe(t.session, &info, &t.conditions, &t.err), 0);
    return nm_conditions_get(&t.conditions, name);
}

static int64_t run(struct nm_op op, struct nm_file **ret_file)
{
    if (!op.buf)
        op.buf = t.how.buffers;
    nm_session_run(t.session, &op, 20 * NM_NS_PER_S);
    t.err = op.err;
    if (ret_file)
        *ret_file = op.file;
    return op.result;
}

static void put_file(const char *name, const char *contents)
{
    FILE *file = fopen(path_of(name), "w");

    assert_non_null(file);
    assert_true(fputs(contents, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void test_local_paths_stay_inside(void **state)
{
    static const char *const bad[] = {"link/secret", "leaf",       "..",          "../x",
                                      "a/../../x",   "/etc/hosts", "inner/loop/x"};
    struct nm_stat stat;

    (void)state;
    assert_int_equal(mkdir(path_of("target"), 0700), 0);
    assert_int_equal(mkdir(path_of("outside"), 0700), 0);
    assert_int_equal(mkdir(path_of("target/inner"), 0700), 0);
    put_file("outside/secret", "secret");
    assert_int_equal(symlink("../outside", path_of("target/link")), 0);
    assert_int_equal(symlink("../outside/secret", path_of("target/leaf")), 0);
    assert_int_equal(symlink("../../outside", path_of("target/inner/loop")), 0);
    assert_int_equal(connect_to(path_of("target")), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_true(run((struct nm_op){.kind = NM_OP_OPEN,
                                       .path = bad[i],
                                       .open_flags = NM_OPEN_READ | NM_OPEN_WRITE},
                        NULL) < 0);
        assert_true(run((struct nm_op){.kind = NM_OP_CREATE, .path = bad[i]}, NULL) < 0);
        assert_true(run((struct nm_op){.kind = NM_OP_RMDIR, .path = bad[i]}, NULL) < 0);
        if (strcmp(bad[i], "leaf") != 0) /* removing the link itself is allowed */
            assert_true(run((struct nm_op){.kind = NM_OP_UNLINK, .path = bad[i]}, NULL) < 0);
    }
    assert_int_equal(run((struct nm_op){.kind = NM_OP_STAT, .path = "leaf", .stat = &stat}, NULL),
                     0);
    assert_true(stat.is_symlink);
    assert_int_equal(access(path_of("outside/secret"), F_OK), 0);
    assert_int_not_equal(access(path_of("outside/x"), F_OK), 0);
}

/* LOC-01 */
static void test_local_missing_mount_is_refused(void **state)
{
    struct local_mount root = {.point = "/", .fs = "ext4"};
    struct local_mount volume = {.fs = "ext4"};
    char point[4160], below[4200], beside[4200], fstab[4160];
    FILE *file;

    (void)state;
    assert_int_equal(mkdir(path_of("nas"), 0700), 0);
    snprintf(point, sizeof(point), "%s", path_of("nas"));
    snprintf(below, sizeof(below), "%s/bench", point);
    snprintf(beside, sizeof(beside), "%s2", point);
    snprintf(volume.point, sizeof(volume.point), "%.4000s", point);
    snprintf(fstab, sizeof(fstab), "%s", path_of("fstab"));
    file = fopen(fstab, "w");
    assert_non_null(file);
    fprintf(file,
            "/dev/sda1 / ext4 defaults 0 1\nnas:/data %s nfs noauto 0 0\nnone none swap sw 0 0\n",
            point);
    assert_int_equal(fclose(file), 0);

    assert_int_equal(local_mount_check(point, &root, false, fstab, &t.err), -ENXIO);
    assert_int_equal(t.err.reason, NM_REASON_PROTECTED);
    assert_non_null(strstr(t.err.text, point));
    assert_int_equal(local_mount_check(below, &root, false, fstab, &t.err), -ENXIO);
    assert_int_equal(local_mount_check(beside, &root, true, fstab, &t.err), 0);
    assert_int_equal(local_mount_check(point, &volume, true, fstab, &t.err), 0);
    assert_int_equal(local_mount_check(below, &volume, true, fstab, &t.err), 0);

    assert_int_equal(local_mount_check("/mnt/nas", &root, true, fstab, &t.err), -ENXIO);
    assert_int_equal(local_mount_check("/mnt", &root, true, fstab, &t.err), -ENXIO);
    assert_int_equal(local_mount_check("/media/me/usb", &root, true, fstab, &t.err), -ENXIO);
    assert_int_equal(local_mount_check("/mnt/nas", &root, false, fstab, &t.err), 0);
    assert_int_equal(local_mount_check("/mnt/nas/bench", &root, true, fstab, &t.err), 0);
    assert_int_equal(local_mount_check("/srv/bench", &root, true, fstab, &t.err), 0);
    assert_int_equal(local_mount_check("/mnt/nas", &root, true, "/nonexistent", &t.err), -ENXIO);
}

/* LOC-02, LOC-05 */
static void test_local_memory_is_not_direct(void **state)
{
    char directory[] = "/dev/shm/local-test-XXXXXX";

    (void)state;
    assert_non_null(mkdtemp(directory));
    assert_int_equal(connect_to(directory), 0);
    assert_string_equal(condition("direct"), "no");
    assert_string_equal(condition("cached"), "yes");
    assert_non_null(condition("local.direct_reason"));
    disconnect();
    t.options.direct = LOCAL_DIRECT_YES;
    assert_int_equal(connect_to(directory), -EOPNOTSUPP);
    assert_int_equal(t.err.reason, NM_REASON_UNSUPPORTED);
    assert_int_equal(rmdir(directory), 0);
}

static void test_local_cache_is_named(void **state)
{
    (void)state;
    t.options.direct = LOCAL_DIRECT_NO;
    assert_int_equal(connect_to(t.directory), 0);
    assert_string_equal(condition("direct"), "no");
    assert_string_not_equal(condition("cached"), "no");
    disconnect();
    t.how.buffered = true;
    assert_int_equal(connect_to(t.directory), 0);
    assert_string_equal(condition("buffered"), "yes");
    assert_string_equal(condition("cached"), "unknown");
}

/* Whether this directory can do direct I/O at all. */
static bool is_direct(void)
{
    return connect_to(t.directory) == 0 && !strcmp(condition("direct"), "yes");
}

/* LOC-03: refused by the probe: buffered, and said so. */
static void test_local_direct_refused_at_probe(void **state)
{
    struct nm_file *file;

    (void)state;
    if (!is_direct())
        skip();
    disconnect();
    refuse_direct_reads = true;
    assert_int_equal(connect_to(t.directory), 0);
    assert_string_equal(condition("direct"), "no");
    assert_non_null(strstr(condition("local.direct_reason"), "EINVAL"));
    assert_int_equal(run((struct nm_op){.kind = NM_OP_CREATE, .path = "x"}, &file), 0);
    assert_int_equal(
        run((struct nm_op){.kind = NM_OP_WRITE, .file = file, .length_bytes = BLOCK}, NULL), BLOCK);
    assert_int_equal(
        run((struct nm_op){.kind = NM_OP_READ, .file = file, .length_bytes = BLOCK}, NULL), BLOCK);
    disconnect();
    t.options.direct = LOCAL_DIRECT_YES;
    assert_int_equal(connect_to(t.directory), -EOPNOTSUPP);
}

/* btrfs on a busy machine now and then leaves in the page cache what it wrote directly. */
static void test_local_page_left_behind_once(void **state)
{
    (void)state;
    if (!is_direct())
        skip();
    disconnect();
    resident_answers = 1;
    assert_int_equal(connect_to(t.directory), 0);
    assert_string_equal(condition("direct"), "yes");
    disconnect();
    resident_answers = 100;
    assert_int_equal(connect_to(t.directory), 0);
    assert_string_equal(condition("direct"), "no");
    assert_string_equal(condition("cached"), "yes");
}

/* LOC-03: refused later: the operation fails and says what to do. */
static void test_local_direct_refused_later(void **state)
{
    struct nm_file *file;

    (void)state;
    t.options.io_engine = LOCAL_ENGINE_SYNC;
    if (!is_direct())
        skip();
    assert_string_equal(condition("io_engine"), "sync");
    assert_int_equal(run((struct nm_op){.kind = NM_OP_CREATE, .path = "x"}, &file), 0);
    assert_int_equal(
        run((struct nm_op){.kind = NM_OP_WRITE, .file = file, .length_bytes = BLOCK}, NULL), BLOCK);
    refuse_direct_reads = true;
    assert_int_equal(
        run((struct nm_op){.kind = NM_OP_READ, .file = file, .length_bytes = BLOCK}, NULL),
        -EINVAL);
    assert_int_equal(t.err.reason, NM_REASON_UNSUPPORTED);
    assert_non_null(strstr(t.err.text, "local.direct = no"));
    assert_string_equal(t.err.raw, "EINVAL");
}

static void test_local_unaligned_offset_is_refused(void **state)
{
    struct nm_file *file;

    (void)state;
    if (!is_direct())
        skip();
    assert_int_equal(run((struct nm_op){.kind = NM_OP_CREATE, .path = "x"}, &file), 0);
    assert_int_equal(run((struct nm_op){.kind = NM_OP_WRITE,
                                        .file = file,
                                        .offset_bytes = 100,
                                        .length_bytes = 4096},
                         NULL),
                     -EINVAL);
    assert_int_equal(t.err.reason, NM_REASON_UNSUPPORTED);
}

/* A request that never comes back: a pipe in place of the file. */
static void test_local_request_times_out(void **state)
{
    struct nm_file *file;
    int ends[2];

    (void)state;
    t.how.timeout_ns = 30 * NM_NS_PER_MS;
    t.options.direct = LOCAL_DIRECT_NO;
    assert_int_equal(connect_to(t.directory), 0);
    if (strcmp(condition("io_engine"), "io_uring") != 0)
        skip();
    assert_int_equal(run((struct nm_op){.kind = NM_OP_CREATE, .path = "x"}, &file), 0);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(dup2(ends[0], ((struct local_file *)file)->fd),
                     ((struct local_file *)file)->fd);
    file->size_bytes = BLOCK;
    assert_int_equal(
        run((struct nm_op){.kind = NM_OP_READ, .file = file, .length_bytes = BLOCK}, NULL),
        -ETIMEDOUT);
    assert_int_equal(t.err.reason, NM_REASON_TIMEOUT);
    assert_int_equal(t.session->in_flight, 0);
    assert_int_equal(
        run((struct nm_op){.kind = NM_OP_READ, .file = file, .length_bytes = BLOCK}, NULL),
        -ETIMEDOUT);
    disconnect();
    close(ends[0]);
    close(ends[1]);
}

static void test_local_image_with_data_is_protected(void **state)
{
    static char before[1 << 20], after[1 << 20];
    struct nm_file *file;
    int fd;

    (void)state;
    fd = open(path_of("image"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, sizeof(before)), 0);
    assert_int_equal(pwrite(fd, "here", 4, 700000), 4);
    assert_int_equal(pread(fd, before, sizeof(before), 0), sizeof(before));

    assert_int_equal(connect_to(path_of("image")), 0);
    assert_string_equal(t.session->ops->name, "device");
    assert_int_equal(nm_backend_claim(t.session, NULL, &t.err), -EPERM);
    assert_int_equal(t.err.reason, NM_REASON_PROTECTED);
    assert_non_null(strstr(t.err.text, "allow_destroy"));
    assert_int_equal(run((struct nm_op){.kind = NM_OP_OPEN,
                                        .path = "",
                                        .open_flags = NM_OPEN_READ | NM_OPEN_WRITE},
                         &file),
                     0);
    memset(t.how.buffers, 0, BLOCK);
    assert_true(
        run((struct nm_op){.kind = NM_OP_WRITE, .file = file, .length_bytes = BLOCK}, NULL) < 0);
    assert_int_equal(t.err.reason, NM_REASON_PROTECTED);
    disconnect();
    assert_int_equal(pread(fd, after, sizeof(after), 0), sizeof(after));
    assert_memory_equal(before, after, sizeof(before));

    /* Another name does not help, its own does, also through a link. */
    assert_int_equal(nm_options_set(&local_options_section, &t.options, "allow_destroy",
                                    "/dev/null /etc/hosts", &t.err),
                     0);
    assert_int_equal(connect_to(path_of("image")), 0);
    assert_int_equal(nm_backend_claim(t.session, NULL, &t.err), -EPERM);
    disconnect();
    assert_int_equal(symlink("image", path_of("link")), 0);
    assert_int_equal(nm_options_set(&local_options_section, &t.options, "allow_destroy",
                                    path_of("link"), &t.err),
                     0);
    assert_int_equal(connect_to(path_of("image")), 0);
    assert_int_equal(nm_backend_claim(t.session, NULL, &t.err), 0);
    close(fd);
}

static void test_local_missing_directory(void **state)
{
    (void)state;
    assert_int_equal(connect_to(path_of("nowhere")), -ENOENT);
    assert_int_equal(t.err.reason, NM_REASON_NOT_FOUND);
}

int main(void)
{
#define LOCAL_TEST(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)
    const struct CMUnitTest tests[] = {
        LOCAL_TEST(test_local_paths_stay_inside),
        LOCAL_TEST(test_local_missing_mount_is_refused),
        LOCAL_TEST(test_local_memory_is_not_direct),
        LOCAL_TEST(test_local_cache_is_named),
        LOCAL_TEST(test_local_direct_refused_at_probe),
        LOCAL_TEST(test_local_page_left_behind_once),
        LOCAL_TEST(test_local_direct_refused_later),
        LOCAL_TEST(test_local_unaligned_offset_is_refused),
        LOCAL_TEST(test_local_request_times_out),
        LOCAL_TEST(test_local_image_with_data_is_protected),
        LOCAL_TEST(test_local_missing_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
