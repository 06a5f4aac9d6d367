/* The null backend as the target of the engine's tests: its faults, its order in time, its rate and
 * its space. (That it keeps the contract is checked by the contract suite.)
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "backend.h"
#include "clock.h"
#include "null/null.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define DEPTH 8
#define BLOCK 4096

struct target {
    struct nm_url *url;
    struct nm_session *session;
    struct nm_file *file;
    struct nm_op queue[DEPTH];
    unsigned char buffers[DEPTH][BLOCK];
    char directory[192]; /* of the shared state */
};

static struct target t;

static int connect_to(const char *arguments, uint64_t timeout_ns, struct nm_error *err)
{
    static struct nm_connect how;
    char text[256], *password;

    snprintf(text, sizeof(text), "null:test-%d%s%s", (int)getpid(), *arguments ? "?" : "",
             arguments);
    assert_int_equal(nm_url_parse(text, &t.url, &password, err), 0);
    how = (struct nm_connect){
        .url = t.url, .timeout_ns = timeout_ns, .depth = DEPTH, .block_bytes = BLOCK, .streams = 1};
    const struct nm_backend_ops *ops = nm_backend_select(t.url, 0, 0, err);

    assert_non_null(ops);
    return nm_backend_connect(ops, &how, &t.session, err);
}

static void disconnect(void)
{
    t.session->ops->disconnect(t.session);
    nm_url_free(t.url);
}

static void must_connect(const char *arguments, uint64_t timeout_ns)
{
    struct nm_target_info info;
    struct nm_conditions conditions = {0};
    struct nm_error err;
    struct nm_op op = {.kind = NM_OP_CREATE, .path = "file"};

    assert_int_equal(connect_to(arguments, timeout_ns, &err), 0);
    assert_int_equal(t.session->ops->describe(t.session, &info, &conditions, &err), 0);
    snprintf(t.directory, sizeof(t.directory), "/dev/shm/%s", info.identity);
    assert_int_equal(nm_session_run(t.session, &op, NM_NS_PER_S), 0);
    t.file = op.file;
}

/* After every test: the file goes, and with it everything in /dev/shm. */
static int clean(void **state)
{
    struct nm_op op = {.kind = NM_OP_UNLINK, .path = "file"};
    struct nm_error err;

    (void)state;
    if (t.session) {
        disconnect();
        assert_int_equal(connect_to("", NM_NS_PER_S, &err), 0);
        assert_int_equal(nm_session_run(t.session, &op, NM_NS_PER_S), 0);
        disconnect();
        assert_int_not_equal(access(t.directory, F_OK), 0);
    }
    memset(&t, 0, sizeof(t));
    return 0;
}

static struct nm_op *submit(unsigned slot, enum nm_op_kind kind)
{
    struct nm_op *op = &t.queue[slot];

    *op = (struct nm_op){.kind = kind,
                         .file = t.file,
                         .offset_bytes = (uint64_t)slot * BLOCK,
                         .length_bytes = BLOCK,
                         .slot = slot,
                         .buf = t.buffers[slot]};
    nm_session_submit(t.session, op);
    return op;
}

static struct nm_op *reap(void)
{
    struct nm_error err;

    return nm_session_reap(t.session, nm_clock_now_ns() + 10 * NM_NS_PER_S, &err);
}

static void write_all(void)
{
    for (unsigned i = 0; i < DEPTH; i++)
        submit(i, NM_OP_WRITE);
    for (unsigned i = 0; i < DEPTH; i++)
        assert_int_equal(reap()->result, BLOCK);
}

static void test_null_faults_hit_their_operation(void **state)
{
    static const struct {
        const char *fault;
        enum nm_op_kind kind;
        int64_t result;
        enum nm_reason reason;
    } cases[] = {
        {"fault=eio@12", NM_OP_READ, -EIO, NM_REASON_INTERNAL},
        {"fault=enospc@12", NM_OP_WRITE, -ENOSPC, NM_REASON_NO_SPACE},
        {"fault=short@12", NM_OP_READ, BLOCK / 2, NM_REASON_NONE},
        {"fault=short.read@4", NM_OP_READ, BLOCK / 2, NM_REASON_NONE},
        {"fault=timeout@12", NM_OP_READ, -ETIMEDOUT, NM_REASON_TIMEOUT},
        {"fault=enospc@100,eio@12", NM_OP_READ, -EIO, NM_REASON_INTERNAL},
        {"fault=eio.flush@4", NM_OP_FLUSH, -EIO, NM_REASON_INTERNAL},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        must_connect(cases[i].fault, 20 * NM_NS_PER_MS);
        write_all(); /* operations 1 to 8 */
        for (unsigned n = 9; n < 17; n++) {
            struct nm_op *op = submit(n - 9, cases[i].kind);

            assert_ptr_equal(reap(), op);
            if (n == 12) {
                assert_int_equal(op->result, cases[i].result);
                if (op->result < 0)
                    assert_int_equal(op->err.reason, cases[i].reason);
            } else {
                assert_int_equal(op->result, cases[i].kind == NM_OP_FLUSH ? 0 : BLOCK);
            }
        }
        clean(state);
    }
}

static void test_null_corrupt_flips_one_byte(void **state)
{
    unsigned differing = 0;

    (void)state;
    must_connect("store=yes&fault=corrupt@3", NM_NS_PER_S);
    for (unsigned i = 0; i < DEPTH; i++)
        memset(t.buffers[i], (int)i, BLOCK);
    write_all();
    for (unsigned i = 0; i < DEPTH; i++) {
        memset(t.buffers[i], 0xee, BLOCK);
        submit(i, NM_OP_READ);
        assert_int_equal(reap()->result, BLOCK);
        for (unsigned k = 0; k < BLOCK; k++)
            if (t.buffers[i][k] != i) {
                assert_int_equal(i, 2);
                differing++;
            }
    }
    assert_int_equal(differing, 1);
}

static void test_null_lost_ends_everything(void **state)
{
    struct nm_error err;

    (void)state;
    must_connect("fault=slow@1:1h,slow@2:1h,slow@3:1h,lost@4", 2 * 3600 * NM_NS_PER_S);
    for (unsigned i = 0; i < 4; i++)
        submit(i, NM_OP_WRITE);
    for (unsigned i = 0; i < 4; i++) {
        struct nm_op *op = reap();

        assert_non_null(op);
        assert_int_equal(op->result, -ECONNRESET);
        assert_int_equal(op->err.reason, NM_REASON_CONNECTION_LOST);
    }
    assert_int_equal(submit(0, NM_OP_WRITE)->result, -ECONNRESET);
    assert_non_null(reap());
    assert_true(t.session->ops->reap(t.session, NM_NEVER_NS, &err) < 0);
    assert_int_equal(err.reason, NM_REASON_CONNECTION_LOST);
}

static void test_null_hang_never_completes(void **state)
{
    struct nm_op *op = &t.queue[0];

    (void)state;
    must_connect("fault=hang@1", NM_NS_PER_MS);
    *op = (struct nm_op){
        .kind = NM_OP_WRITE, .file = t.file, .length_bytes = BLOCK, .buf = t.buffers[0]};
    assert_int_equal(nm_session_run(t.session, op, 5 * NM_NS_PER_MS), -ETIMEDOUT);
    assert_int_equal(t.session->in_flight, 1);
}

static void test_null_completes_in_the_order_of_time(void **state)
{
    struct nm_op *slow;

    (void)state;
    must_connect("latency=1ms&fault=slow@1:30ms", NM_NS_PER_S);
    slow = submit(0, NM_OP_WRITE);
    for (unsigned i = 1; i < DEPTH; i++)
        submit(i, NM_OP_WRITE);
    for (unsigned i = 1; i < DEPTH; i++)
        assert_ptr_equal(reap(), &t.queue[i]);
    assert_ptr_equal(reap(), slow);
    assert_true(slow->done_ns - slow->submit_ns >= 31 * NM_NS_PER_MS);
}

static void test_null_latency_beyond_the_timeout_is_a_timeout(void **state)
{
    (void)state;
    must_connect("", NM_NS_PER_S);
    disconnect();
    struct nm_error err;
    struct nm_op op = {.kind = NM_OP_STAT, .path = "file", .stat = &(struct nm_stat){0}};

    assert_int_equal(connect_to("latency=1h", 5 * NM_NS_PER_MS, &err), 0);
    assert_int_equal(nm_session_run(t.session, &op, NM_NS_PER_S), -ETIMEDOUT);
}

static void test_null_cancel_ends_operations(void **state)
{
    (void)state;
    must_connect("fault=hang@1", NM_NS_PER_S);
    struct nm_op *op = submit(0, NM_OP_WRITE);

    t.session->ops->cancel(t.session);
    assert_ptr_equal(reap(), op);
    assert_int_equal(op->result, -ECANCELED);
    assert_int_equal(op->err.reason, NM_REASON_ABORTED);
}

static void test_null_capacity_is_shared_and_comes_back(void **state)
{
    struct nm_target_info info;
    struct nm_conditions conditions = {0};
    struct nm_op *op;

    (void)state;
    must_connect("capacity=16k", NM_NS_PER_S);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(submit(i, NM_OP_WRITE)->result, BLOCK);
    op = submit(4, NM_OP_WRITE);
    assert_int_equal(op->result, -ENOSPC);
    assert_int_equal(op->err.reason, NM_REASON_NO_SPACE);
    assert_int_equal(t.session->ops->describe(t.session, &info, &conditions, NULL), 0);
    assert_int_equal(info.free_bytes, 0);
    for (unsigned i = 0; i < 5; i++)
        reap();
    op = &t.queue[0];
    *op = (struct nm_op){.kind = NM_OP_CLOSE, .file = t.file};
    assert_int_equal(nm_session_run(t.session, op, NM_NS_PER_S), 0);
    *op = (struct nm_op){.kind = NM_OP_UNLINK, .path = "file"};
    assert_int_equal(nm_session_run(t.session, op, NM_NS_PER_S), 0);
    assert_int_equal(t.session->ops->describe(t.session, &info, &conditions, NULL), 0);
    assert_int_equal(info.free_bytes, 16384);
    *op = (struct nm_op){.kind = NM_OP_CREATE, .path = "file"};
    assert_int_equal(nm_session_run(t.session, op, NM_NS_PER_S), 0);
}

/* A million odd transfers: the sum of the roundings stays below a microsecond. */
static void test_null_rate_is_exact_in_the_long_run(void **state)
{
    struct null_shared shared = {.epoch_ns = 1000};
    struct null_device device = {.shared = &shared};
    uint64_t end_ns = 0;

    (void)state;
    for (int i = 0; i < 1000000; i++)
        end_ns = null_device_transfer(&device, 1000, 4097, 117000000);
    /* 4097 * 10^6 / 117 * 10^6 s = 35.017094017... s */
    assert_in_range(end_ns - 1000, 35017094017 - 1000, 35017094017);

    /* Idle time is not saved up. */
    end_ns = null_device_transfer(&device, 100 * NM_NS_PER_S, 117, 117000000);
    assert_int_equal(end_ns, 100 * NM_NS_PER_S + 1000);
}

/* 100 MB/s for the first two blocks, then 1 MB/s: the clock moves 41 us, then 4096 us a block. */
static void test_null_burst_slows_down_writes(void **state)
{
    (void)state;
    must_connect("rate=100MB&burst=8192:1MB", 10 * NM_NS_PER_S);
    for (unsigned i = 0; i < DEPTH; i++)
        submit(i, NM_OP_WRITE);
    for (unsigned i = 0; i < DEPTH; i++) {
        struct nm_op *op = reap();

        assert_ptr_equal(op, &t.queue[i]);
    }
    /* From the first submission: a completion may be seen late, but is never early. */
    assert_true(t.queue[DEPTH - 1].done_ns - t.queue[0].submit_ns >
                (uint64_t)(DEPTH - 2) * 4096 * NM_NS_PER_US);
}

static void test_null_arguments_are_checked(void **state)
{
    static const struct {
        const char *arguments, *text;
    } cases[] = {
        {"rat=5", "rate"},         {"rate=fast", "fast"},     {"fault=eio", "KIND@N"},
        {"fault=oops@1", "oops"},  {"fault=eio@0", "from 1"}, {"fault=eio.jump@1", "jump"},
        {"burst=5", "BYTES:RATE"}, {"burst=5:0", "rate"},     {"unit=513&blocks=no", "power"},
    };
    struct nm_error err;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        memset(&err, 0, sizeof(err));
        assert_int_equal(connect_to(cases[i].arguments, NM_NS_PER_S, &err), -EINVAL);
        if (!strstr(err.text, cases[i].text))
            fail_msg("%s: '%s' does not say '%s'", cases[i].arguments, err.text, cases[i].text);
        nm_url_free(t.url);
    }
}

static void test_null_url_chooses_files_or_blocks(void **state)
{
    struct nm_error err;
    struct nm_url *url;
    char *password;

    (void)state;
    assert_int_equal(nm_backend_table_check(&err), 0);
    assert_int_equal(nm_url_parse("null:x?blocks=yes", &url, &password, &err), 0);
    assert_string_equal(nm_backend_select(url, 0, 0, &err)->name, "null-blocks");
    assert_null(nm_backend_select(url, 0, NM_TRAIT_FILES, &err));
    assert_int_equal(err.reason, NM_REASON_UNSUPPORTED);
    nm_url_free(url);
    assert_int_equal(nm_url_parse("null:x?blocks=no", &url, &password, &err), 0);
    assert_string_equal(nm_backend_select(url, 0, 0, &err)->name, "null");
    nm_url_free(url);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_null_faults_hit_their_operation, clean),
        cmocka_unit_test_teardown(test_null_corrupt_flips_one_byte, clean),
        cmocka_unit_test_teardown(test_null_lost_ends_everything, clean),
        cmocka_unit_test_teardown(test_null_hang_never_completes, clean),
        cmocka_unit_test_teardown(test_null_completes_in_the_order_of_time, clean),
        cmocka_unit_test_teardown(test_null_latency_beyond_the_timeout_is_a_timeout, clean),
        cmocka_unit_test_teardown(test_null_cancel_ends_operations, clean),
        cmocka_unit_test_teardown(test_null_capacity_is_shared_and_comes_back, clean),
        cmocka_unit_test(test_null_rate_is_exact_in_the_long_run),
        cmocka_unit_test_teardown(test_null_burst_slows_down_writes, clean),
        cmocka_unit_test(test_null_arguments_are_checked),
        cmocka_unit_test(test_null_url_chooses_files_or_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
