/* The nfs backend against a server that misbehaves on demand (nfs_fake.h): what it costs in round
 * trips, what it makes of odd answers, and how it ends. (Real servers: contract and integration.)
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "backend.h"
#include "clock.h"
#include "nfs/nfs_internal.h"
#include "nfs_fake.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define DEPTH     8
#define BLOCK     (1u << 20)
#define JUKEBOX   10008
#define PATIENT   (10 * NM_NS_PER_S)
#define IMPATIENT (300 * NM_NS_PER_MS)

static struct nm_session *session;
static struct nm_url *url;
static struct nm_op queue[DEPTH];
static unsigned char buffers[DEPTH][BLOCK];

static int try_connect(const char *path, uint64_t timeout_ns, uint32_t connections,
                       struct nm_error *err)
{
    static struct nm_nfs_options options;
    static struct nm_connect how;
    char text[256], *password;

    nm_url_free(url);
    snprintf(text, sizeof(text), "nfs://127.0.0.1:%u%s%cmountport=%u", fake.port, path,
             strchr(path, '?') ? '&' : '?', fake.port);
    assert_int_equal(nm_url_parse(text, &url, &password, err), 0);
    options.connections = connections;
    how = (struct nm_connect){.url = url,
                              .options = &options,
                              .timeout_ns = timeout_ns,
                              .depth = DEPTH,
                              .block_bytes = BLOCK,
                              .streams = 1};
    return nm_backend_connect(nm_backend_find("nfs"), &how, &session, err);
}

static void must_connect(uint64_t timeout_ns, uint32_t connections)
{
    struct nm_error err = {0};
    int r = try_connect("/export", timeout_ns, connections, &err);

    if (r)
        fail_msg("%s", err.text);
    memset(fake.calls, 0, sizeof(fake.calls));
}

/* Of the operations from now on; connecting may take its time on a busy machine. */
static void set_timeout(uint64_t timeout_ns)
{
    ((struct nm_nfs_session *)session)->how.timeout_ns = timeout_ns;
}

static int setup(void **state)
{
    (void)state;
    return fake_start();
}

static int teardown(void **state)
{
    (void)state;
    if (session)
        session->ops->disconnect(session);
    session = NULL;
    nm_url_free(url);
    url = NULL;
    fake_end();
    return 0;
}

static struct nm_op run(struct nm_op op)
{
    if (!op.buf)
        op.buf = buffers[0];
    nm_session_run(session, &op, PATIENT);
    if (op.result < 0)
        assert_int_equal(op.err.code, op.result);
    return op;
}

static struct nm_op must(struct nm_op op)
{
    op = run(op);
    if (op.result < 0)
        fail_msg("%s: %s", nm_op_kind_name(op.kind), op.err.text);
    return op;
}

static void must_fail(struct nm_op op, int code, enum nm_reason reason)
{
    op = run(op);
    assert_int_equal(op.result, code);
    assert_int_equal(op.err.reason, reason);
}

static struct nm_op create_op(const char *path)
{
    return (struct nm_op){.kind = NM_OP_CREATE, .path = path};
}

static struct nm_op write_op(struct nm_file *file, uint32_t length_bytes)
{
    return (struct nm_op){.kind = NM_OP_WRITE, .file = file, .length_bytes = length_bytes};
}

static struct nm_op file_op(enum nm_op_kind kind, struct nm_file *file)
{
    return (struct nm_op){.kind = kind, .file = file};
}

static struct nm_file *must_create(const char *path)
{
    return must(create_op(path)).file;
}

static const struct fake_node *node(const char *name)
{
    for (unsigned i = 1; i < FAKE_NODES; i++)
        if (fake.nodes[i].used && !strcmp(fake.nodes[i].name, name))
            return &fake.nodes[i];
    fail_msg("%s is not on the server", name);
    return NULL;
}

static void fill(void)
{
    for (size_t i = 0; i < BLOCK; i++)
        buffers[0][i] = (unsigned char)(i * 31 + (i >> 8));
}

static void answer(enum fake_proc proc, uint32_t status, uint32_t times)
{
    fake.script.status[proc] = status;
    fake.script.times[proc] = times;
}

static const char *condition(struct nm_conditions *set, const char *name)
{
    struct nm_target_info info;
    struct nm_error err;

    memset(set, 0, sizeof(*set));
    assert_int_equal(session->ops->describe(session, &info, set, &err), 0);
    return nm_conditions_get(set, name);
}

/* -------- round trips */

static void test_nfs_small_file_costs_three_calls(void **state)
{
    struct nm_file *file;

    (void)state;
    must_connect(PATIENT, 1);
    must((struct nm_op){.kind = NM_OP_MKDIR, .path = "d"});
    file = must_create("d/a");
    must(write_op(file, 2000));
    must(file_op(NM_OP_CLOSE, file));
    assert_int_equal(fake.calls[FAKE_LOOKUP], 0); /* MKDIR gave the handle of d */
    assert_int_equal(fake.calls[FAKE_CREATE], 1);
    assert_int_equal(fake.calls[FAKE_WRITE], 1);
    assert_int_equal(fake.calls[FAKE_COMMIT], 1);
    assert_int_equal(fake.calls[FAKE_GETATTR], 0);

    file = must((struct nm_op){.kind = NM_OP_OPEN, .path = "d/a", .open_flags = NM_OPEN_READ}).file;
    assert_int_equal(file->size_bytes, 2000);
    must((struct nm_op){.kind = NM_OP_READ, .file = file, .length_bytes = 2000});
    must(file_op(NM_OP_CLOSE, file));
    assert_int_equal(fake.calls[FAKE_LOOKUP], 1);
    assert_int_equal(fake.calls[FAKE_READ], 1);
    assert_int_equal(fake.calls[FAKE_GETATTR], 0);
    assert_int_equal(fake.calls[FAKE_COMMIT], 1);
}

static void test_nfs_commits_once(void **state)
{
    struct nm_file *file;

    (void)state;
    must_connect(PATIENT, 1);
    file = must_create("a");
    must(write_op(file, 10));
    must(file_op(NM_OP_FLUSH, file));
    must(file_op(NM_OP_FLUSH, NULL));
    must(file_op(NM_OP_CLOSE, file));
    assert_int_equal(fake.calls[FAKE_COMMIT], 1);
}

static void test_nfs_request_is_cut_to_wsize(void **state)
{
    struct nm_conditions set;
    struct nm_file *file;

    (void)state;
    fake.script.max_bytes = 8192;
    must_connect(PATIENT, 1);
    assert_string_equal(condition(&set, "nfs.wsize"), "8192");
    assert_string_equal(condition(&set, "nfs.block"), "8192");
    fill();
    file = must_create("a");
    assert_int_equal(must(write_op(file, BLOCK)).result, BLOCK);
    assert_int_equal(fake.calls[FAKE_WRITE], BLOCK / 8192);
    assert_int_equal(fake.largest_write, 8192);
    assert_memory_equal(node("a")->data, buffers[0], BLOCK);
}

static void test_nfs_requests_spread_over_connections(void **state)
{
    struct nm_file *file;

    (void)state;
    fake.script.max_bytes = 8192;
    must_connect(PATIENT, 4);
    file = must_create("a");
    must(write_op(file, BLOCK));
    unsigned used = 0;

    for (unsigned i = 0; i < FAKE_PEERS; i++)
        used += fake.writes_of_peer[i] > 0;
    assert_int_equal(used, 4);
}

/* -------- odd answers */

static void test_nfs_try_later_is_repeated_and_counted(void **state)
{
    struct nm_conditions set;
    struct nm_file *file;

    (void)state;
    must_connect(PATIENT, 1);
    answer(FAKE_CREATE, JUKEBOX, 2);
    file = must_create("a");
    assert_int_equal(fake.calls[FAKE_CREATE], 3);
    assert_string_equal(condition(&set, "nfs.delays"), "2 answers, 300 ms");
    must(file_op(NM_OP_CLOSE, file));
}

static void test_nfs_try_later_ends_at_the_deadline(void **state)
{
    (void)state;
    must_connect(PATIENT, 1);
    set_timeout(1400 * NM_NS_PER_MS); /* after pauses of 100, 200 and 400 ms, in the fourth */
    answer(FAKE_CREATE, JUKEBOX, UINT32_MAX);
    must_fail(create_op("a"), -ETIMEDOUT, NM_REASON_TIMEOUT);
    set_timeout(PATIENT);
    answer(FAKE_CREATE, 0, 0);
    must(create_op("a")); /* the session lives on */
}

static void test_nfs_cancel_ends_what_waits(void **state)
{
    struct nm_op op = create_op("a");
    struct nm_error err;

    (void)state;
    must_connect(PATIENT, 1);
    answer(FAKE_CREATE, JUKEBOX, UINT32_MAX);
    nm_session_submit(session, &op);
    assert_null(nm_session_reap(session, nm_clock_now_ns() + 50 * NM_NS_PER_MS, &err));
    session->ops->cancel(session);
    assert_ptr_equal(nm_session_reap(session, nm_clock_now_ns() + PATIENT, &err), &op);
    assert_int_equal(op.result, -ECANCELED);
    assert_int_equal(op.err.reason, NM_REASON_ABORTED);
}

static void test_nfs_changed_verifier_is_lost_data(void **state)
{
    struct nm_file *file;

    (void)state;
    must_connect(PATIENT, 1);
    file = must_create("a");
    must(write_op(file, 10));
    fake.script.commit_verifier = 7; /* restarted before COMMIT */
    must_fail(file_op(NM_OP_FLUSH, file), -EIO, NM_REASON_CONNECTION_LOST);
    fake.script.verifier = 7;
    must(write_op(file, 10));
    must(file_op(NM_OP_CLOSE, file));

    file = must_create("b");
    must(write_op(file, 10));
    fake.script.verifier = 8; /* restarted between two writes */
    must(write_op(file, 10));
    must_fail(file_op(NM_OP_CLOSE, file), -EIO, NM_REASON_CONNECTION_LOST);
}

static void test_nfs_full_volume_is_no_space(void **state)
{
    struct nm_file *file;

    (void)state;
    must_connect(PATIENT, 1);
    file = must_create("a");
    answer(FAKE_WRITE, 28, 1);
    must_fail(write_op(file, 10), -ENOSPC, NM_REASON_NO_SPACE);
    answer(FAKE_WRITE, 69, 1);
    must_fail(write_op(file, 10), -EDQUOT, NM_REASON_NO_SPACE);
    fake.script.free_bytes = 4096; /* a server that only says "I/O error" */
    answer(FAKE_WRITE, 5, 1);
    must_fail(write_op(file, 10), -ENOSPC, NM_REASON_NO_SPACE);
    answer(FAKE_CREATE, 10006, 1);
    must_fail(create_op("b"), -ENOSPC, NM_REASON_NO_SPACE);
    fake.script.free_bytes = 1 << 29;
    answer(FAKE_WRITE, 5, 1);
    must_fail(write_op(file, 10), -EIO, NM_REASON_INTERNAL);
}

static void test_nfs_refuses_writes_that_libnfs_cannot_encode(void **state)
{
    struct nm_file *file;

    (void)state;
    must_connect(PATIENT, 1);
    file = must_create("a");
    ((struct nm_nfs_session *)session)->cannot_write = true; /* what NFSv4 finds out at connect */
    must_fail(write_op(file, 10), -EOPNOTSUPP, NM_REASON_UNSUPPORTED);
    assert_int_equal(fake.calls[FAKE_WRITE], 0);
}

static void test_nfs_short_transfers_are_continued(void **state)
{
    struct nm_file *file;

    (void)state;
    fake.script.most_bytes = 1000;
    must_connect(PATIENT, 1);
    fill();
    file = must_create("a");
    assert_int_equal(must(write_op(file, 4500)).result, 4500);
    assert_memory_equal(node("a")->data, buffers[0], 4500);
    memset(buffers[0], 0, 5000);
    struct nm_op op = {.kind = NM_OP_READ, .file = file, .length_bytes = 5000};

    assert_int_equal(must(op).result, 4500);
    assert_memory_equal(node("a")->data, buffers[0], 4500);
    fake.script.most_bytes = 0;
}

static void test_nfs_optional_parts_may_be_missing(void **state)
{
    struct nm_stat stat = {0};
    struct nm_file *file;

    (void)state;
    must_connect(PATIENT, 1);
    fake.script.no_handles = fake.script.no_attributes = true;
    must((struct nm_op){.kind = NM_OP_MKDIR, .path = "d"});
    file = must_create("d/a");
    must(write_op(file, 100));
    must(file_op(NM_OP_CLOSE, file));
    assert_int_equal(node("a")->size, 100);
    must((struct nm_op){.kind = NM_OP_STAT, .path = "d/a", .stat = &stat});
    assert_int_equal(stat.size_bytes, 100);
    file = must((struct nm_op){.kind = NM_OP_OPEN, .path = "d/a"}).file;
    assert_int_equal(file->size_bytes, 100);
    must_fail((struct nm_op){.kind = NM_OP_OPEN, .path = "d"}, -EISDIR, NM_REASON_UNSUPPORTED);
}

static void count(void *context, const char *name, const struct nm_stat *stat)
{
    unsigned *n = context;

    assert_true(name[0] == 'f');
    assert_int_equal(stat->size_bytes, 3);
    ++*n;
}

static void test_nfs_lists_in_pages_with_and_without_readdirplus(void **state)
{
    char name[16];

    (void)state;
    must_connect(PATIENT, 1);
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        struct nm_file *file = must_create(name);

        must(write_op(file, 3));
        must(file_op(NM_OP_CLOSE, file));
    }
    for (int kind = 0; kind < 3; kind++) {
        unsigned n = 0;
        struct nm_op op = {.kind = NM_OP_LIST, .path = "", .list_entry = count, .list_context = &n};

        fake.script.no_attributes = kind == 1;
        fake.script.no_readdirplus = kind == 2;
        must(op);
        assert_int_equal(n, 8);
    }
}

static void test_nfs_replaced_directory_is_found_again(void **state)
{
    (void)state;
    must_connect(PATIENT, 1);
    must((struct nm_op){.kind = NM_OP_MKDIR, .path = "d"});
    must(create_op("d/a"));
    for (unsigned i = 1; i < FAKE_NODES; i++) /* somebody else removes and makes it */
        if (!strcmp(fake.nodes[i].name, "d"))
            fake.nodes[i].generation++;
    must(create_op("d/b"));
    assert_int_equal(fake.calls[FAKE_LOOKUP], 1);
}

static void test_nfs_refuses_names_without_asking(void **state)
{
    char name[300];

    (void)state;
    must_connect(PATIENT, 1);
    memset(name, 'n', 256);
    name[256] = 0;
    must_fail(create_op(name), -ENAMETOOLONG, NM_REASON_UNSUPPORTED);
    must_fail(create_op("d/../x"), -EINVAL, NM_REASON_UNSUPPORTED);
    must_fail(create_op("./x"), -EINVAL, NM_REASON_UNSUPPORTED);
    must_fail(create_op("a//x"), -EINVAL, NM_REASON_UNSUPPORTED);
    for (int i = 0; i < FAKE_PROCS; i++)
        assert_int_equal(fake.calls[i], 0);
}

static void test_nfs_rename_does_not_replace(void **state)
{
    struct nm_op op = {.kind = NM_OP_RENAME, .path = "a", .new_path = "b"};

    (void)state;
    must_connect(PATIENT, 1);
    must(create_op("a"));
    must(create_op("b"));
    must_fail(op, -EEXIST, NM_REASON_PROTECTED);
    assert_int_equal(fake.calls[FAKE_RENAME], 0);
}

/* -------- ends */

static void submit_writes(struct nm_file *file)
{
    for (unsigned i = 0; i < DEPTH; i++) {
        queue[i] = write_op(file, 4096);
        queue[i].buf = buffers[i];
        nm_session_submit(session, &queue[i]);
    }
}

static void all_must_end(enum nm_reason reason)
{
    struct nm_error err = {0};

    for (unsigned i = 0; i < DEPTH; i++) {
        const struct nm_op *op = nm_session_reap(session, nm_clock_now_ns() + PATIENT, &err);

        assert_non_null(op);
        assert_true(op->result < 0);
        assert_int_equal(op->err.reason, reason);
    }
    assert_int_equal(session->in_flight, 0);
    must_fail(create_op("later"), (int)queue[0].result, reason);
}

static void test_nfs_silent_server_times_out(void **state)
{
    struct nm_file *file;

    (void)state;
    must_connect(PATIENT, 2);
    file = must_create("a");
    set_timeout(IMPATIENT);
    fake.script.silent = true;
    submit_writes(file);
    all_must_end(NM_REASON_TIMEOUT);
    must_fail(file_op(NM_OP_CLOSE, file), -ETIMEDOUT, NM_REASON_TIMEOUT);
}

static void test_nfs_closed_connection_ends_everything(void **state)
{
    struct nm_file *file;

    (void)state;
    must_connect(PATIENT, 2);
    file = must_create("a");
    fake.script.hang_up = true;
    submit_writes(file);
    all_must_end(NM_REASON_CONNECTION_LOST);
}

/* Ends the connections of a session with two; an answer over each shows that the server took it. */
static void hang_up(void)
{
    struct nm_stat stats[2];
    struct nm_error err;

    for (unsigned i = 0; i < 2; i++) {
        queue[i] = (struct nm_op){.kind = NM_OP_STAT, .path = "", .stat = &stats[i]};
        nm_session_submit(session, &queue[i]);
    }
    for (unsigned i = 0; i < 2; i++)
        assert_non_null(nm_session_reap(session, nm_clock_now_ns() + PATIENT, &err));
    for (unsigned i = 0; i < FAKE_PEERS; i++)
        if (fake.peers[i] >= 0)
            shutdown(fake.peers[i], SHUT_RDWR);
    for (unsigned i = 0; i < 2; i++) {
        struct rpc_context *rpc = ((struct nm_nfs_session *)session)->links[i].rpc;
        struct pollfd p = {.fd = rpc_get_fd(rpc), .events = POLLIN};

        assert_int_equal(poll(&p, 1, 10000), 1); /* the news has arrived */
    }
}

static void test_nfs_idle_connection_is_reopened_and_counted(void **state)
{
    struct nm_conditions set;

    (void)state;
    must_connect(PATIENT, 2);
    hang_up();
    ((struct nm_nfs_session *)session)->last_answer_ns = 0; /* long ago */
    must(create_op("a"));
    assert_string_equal(condition(&set, "nfs.reconnects"), "2");
}

/* -------- mounting */

static void test_nfs_finds_the_export_above_the_path(void **state)
{
    struct nm_conditions set;
    struct nm_error err;

    (void)state;
    must_connect(PATIENT, 1);
    must((struct nm_op){.kind = NM_OP_MKDIR, .path = "d"});
    session->ops->disconnect(session);
    fake.mounts = 0;
    assert_int_equal(try_connect("/export/d", PATIENT, 1, &err), 0);
    assert_int_equal(fake.mounts, 2);
    assert_string_equal(condition(&set, "nfs.export"), "/export");
    must(create_op("a"));
    assert_int_equal(node("a")->parent, node("d") - fake.nodes);
}

static void expect_refusal(const char *path, enum nm_reason reason, const char *word)
{
    struct nm_error err = {0};

    assert_true(try_connect(path, PATIENT, 1, &err) < 0);
    if (err.reason != reason || !strstr(err.text, word))
        fail_msg("%s: [%s] %s", path, nm_reason_name(err.reason), err.text);
    assert_null(session);
}

static void test_nfs_says_what_is_exported(void **state)
{
    (void)state;
    expect_refusal("/other", NM_REASON_NOT_FOUND, "it exports: /export");
    expect_refusal("/export/missing", NM_REASON_NOT_FOUND, "does not exist");
    fake.script.mount_status = 13;
    expect_refusal("/export?version=3", NM_REASON_AUTH, "refuses to let this client mount");
}

static void test_nfs_says_which_version_is_missing(void **state)
{
    (void)state;
    expect_refusal("/export?version=4", NM_REASON_UNSUPPORTED, "does not serve NFSv4");
    fake.script.version3_missing = true;
    expect_refusal("/export?version=3", NM_REASON_UNSUPPORTED, "does not serve NFSv3");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_nfs_##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(small_file_costs_three_calls),
        TEST(commits_once),
        TEST(request_is_cut_to_wsize),
        TEST(requests_spread_over_connections),
        TEST(try_later_is_repeated_and_counted),
        TEST(try_later_ends_at_the_deadline),
        TEST(cancel_ends_what_waits),
        TEST(changed_verifier_is_lost_data),
        TEST(full_volume_is_no_space),
        TEST(refuses_writes_that_libnfs_cannot_encode),
        TEST(short_transfers_are_continued),
        TEST(optional_parts_may_be_missing),
        TEST(lists_in_pages_with_and_without_readdirplus),
        TEST(replaced_directory_is_found_again),
        TEST(refuses_names_without_asking),
        TEST(rename_does_not_replace),
        TEST(silent_server_times_out),
        TEST(closed_connection_ends_everything),
        TEST(idle_connection_is_reopened_and_counted),
        TEST(finds_the_export_above_the_path),
        TEST(says_what_is_exported),
        TEST(says_which_version_is_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
