/* drive: places, what is timed, and that what is written is what was read, without any storage.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "clock.h"
#include "workload_sim.h"

#include <stdlib.h>

enum { READ_PHASE = 1, ACCESS_PHASE, WRITE_PHASE };

static struct nm_workload *make(const char *arguments, const char *samples)
{
    const struct nm_workload_ops *ops = nm_workload_find("drive");
    void *options = calloc(1, ops->options->size);
    struct nm_workload *workload;

    assert_int_equal(nm_options_init(ops->options, options, NULL), 0);
    if (samples)
        assert_int_equal(nm_options_set(ops->options, options, "samples", samples, NULL), 0);
    if (ops->parse(arguments, options, &workload, NULL) < 0)
        workload = NULL;
    nm_options_done(ops->options, options);
    free(options);
    return workload;
}

static struct nm_points points;

static struct nm_workload_context context_for(const struct nm_workload *workload, size_t phase,
                                              uint64_t capacity_bytes)
{
    struct nm_workload_context context = {.streams = 4,
                                          .depth = 16,
                                          .block_bytes = 1 << 20,
                                          .unit_bytes = 512,
                                          .on_blocks = true,
                                          .capacity_bytes = capacity_bytes,
                                          .directory = "",
                                          .points = &points};

    points.count = 0;
    workload->ops->shape(workload, phase, &context);
    assert_int_equal(context.depth, 1); /* what was read must still be in the buffer */
    assert_int_equal(context.streams, 1);
    return context;
}

static double value(const struct nm_metrics *metrics, const char *name)
{
    const struct nm_metric *metric = nm_metrics_get(metrics, name);

    if (!metric)
        fail_msg("no metric %s", name);
    return metric->value;
}

static void test_samples_are_spread_over_the_whole_device(void **state)
{
    static const uint64_t sizes[] = {UINT64_C(1000204886016), UINT64_C(18000207937536),
                                     UINT64_C(1) << 30, 8000001 * UINT64_C(512), 409600};
    struct nm_workload *workload = make(NULL, NULL);
    const struct nm_phase *phases;

    (void)state;
    assert_int_equal(workload->ops->phases(workload, &phases), 3);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct nm_workload_context context = context_for(workload, READ_PHASE, sizes[i]);
        struct nm_metrics metrics = {0};
        struct world world = {.step_ns = 100 * NM_NS_PER_MS, .metrics = &metrics};
        uint64_t bytes, files, end = 0;

        assert_int_equal(sim_run(workload, &context, READ_PHASE, 0, &world, &bytes, &files), 0);
        assert_int_equal(bytes, 0);
        assert_int_equal(world.writes, 0);
        assert_int_equal(world.reads, 200); /* each with one that moves the head */
        assert_int_equal(points.count, 100);
        assert_true(points.items[0].offset_bytes == 0);
        for (unsigned k = 0; k < 100; k++) {
            const struct nm_curve_point *point = &points.items[k];

            assert_true(point->offset_bytes % 4096 == 0);
            assert_true(point->offset_bytes >= end); /* no overlap */
            assert_true(point->offset_bytes <= (sizes[i] / 100 + 1) * k);
            assert_true(point->offset_bytes + 4096 * 100 + sizes[i] / 100 >= sizes[i] / 100 * k);
            end = point->offset_bytes + point->length_bytes;
            assert_true(point->duration_ns == 100 * NM_NS_PER_MS);
        }
        assert_true(end <= sizes[i]);
        assert_true(value(&metrics, "average_rate") == (double)context.block_bytes * 10);
        assert_true(value(&metrics, "min_rate") == value(&metrics, "max_rate"));
        if (sizes[i] > UINT64_C(2) << 30)
            assert_int_equal(context.block_bytes, 10 << 20);
    }
    workload->ops->free(workload);
}

static void test_access_reads_the_same_random_pages_every_time(void **state)
{
    struct nm_workload *workload = make(NULL, NULL);
    static struct nm_points first;
    struct nm_workload_context context = context_for(workload, ACCESS_PHASE, UINT64_C(1) << 40);
    struct nm_metrics metrics = {0};
    struct world world = {.step_ns = 12 * NM_NS_PER_MS, .metrics = &metrics};
    uint64_t bytes, files;

    (void)state;
    assert_int_equal(sim_run(workload, &context, ACCESS_PHASE, 0, &world, &bytes, &files), 0);
    assert_int_equal(world.reads, 1000);
    assert_int_equal(world.bytes, 1000 * 4096);
    assert_true(value(&metrics, "average_access") == 12e6);
    first = points;
    context = context_for(workload, ACCESS_PHASE, UINT64_C(1) << 40);
    context.seed = 99; /* of another run */
    assert_int_equal(sim_run(workload, &context, ACCESS_PHASE, 0, &world, &bytes, &files), 0);
    assert_memory_equal(&first, &points, sizeof(points));
    workload->ops->free(workload);
}

/* Every write is of the buffer and the place that were read just before, as they are. */
static void test_write_puts_back_what_it_read(void **state)
{
    struct nm_workload *workload = make("write", NULL);
    struct nm_workload_context context = context_for(workload, WRITE_PHASE, UINT64_C(1) << 34);
    struct nm_op op = {0}, last = {0};
    struct nm_file file;
    unsigned writes = 0, flushes = 0;
    uint64_t position, until, bytes, files, now_ns = 1;
    void *stream;

    (void)state;
    assert_int_equal(workload->ops->size(workload, &context, WRITE_PHASE).space_bytes, 0);
    assert_int_equal(workload->ops->start(workload, &context, WRITE_PHASE, 0, &stream, NULL), 0);
    for (;;) {
        op = (struct nm_op){0};
        position = NM_NO_PATTERN;
        if (workload->ops->next_op(stream, now_ns, &op, &position, &until) != NM_NEXT_OP)
            break;
        assert_true(position == NM_NO_PATTERN); /* the engine leaves the buffer alone */
        if (op.kind == NM_OP_READ)
            assert_false(op.discard);
        if (op.kind == NM_OP_WRITE) {
            assert_int_equal(last.kind, NM_OP_READ);
            assert_true(op.offset_bytes == last.offset_bytes);
            assert_int_equal(op.length_bytes, last.length_bytes);
            writes++;
        }
        flushes += op.kind == NM_OP_FLUSH;
        last = op;
        op.file = &file;
        op.submit_ns = now_ns;
        now_ns += 5 * NM_NS_PER_MS;
        op.done_ns = now_ns;
        op.result = op.length_bytes;
        assert_int_equal(workload->ops->done_op(stream, &op, NULL), 0);
    }
    workload->ops->finish(stream, now_ns, NULL, &bytes, &files);
    assert_int_equal(writes, 100);
    assert_int_equal(flushes, 100);
    assert_int_equal(points.count, 100);
    assert_true(points.items[7].duration_ns == 10 * NM_NS_PER_MS); /* write and flush */
    workload->ops->free(workload);
}

/* A read that fails or is short must never be followed by a write. */
static void test_nothing_is_written_after_a_short_read(void **state)
{
    struct nm_workload *workload = make("write", NULL);
    struct nm_workload_context context = context_for(workload, WRITE_PHASE, UINT64_C(1) << 34);
    uint64_t position, until, bytes, files;
    struct nm_file file;
    struct nm_error err;
    void *stream;

    (void)state;
    assert_int_equal(workload->ops->start(workload, &context, WRITE_PHASE, 0, &stream, NULL), 0);
    for (int i = 0;; i++) {
        struct nm_op op = {0};
        int r;

        assert_int_equal(workload->ops->next_op(stream, 1, &op, &position, &until), NM_NEXT_OP);
        assert_int_not_equal(op.kind, NM_OP_WRITE);
        op.file = &file;
        op.result = i == 2 ? 512 : op.length_bytes;
        r = workload->ops->done_op(stream, &op, &err);
        assert_int_equal(r, i == 2 ? -EIO : 0);
        if (r < 0)
            break;
    }
    workload->ops->finish(stream, 1, NULL, &bytes, &files);
    workload->ops->free(workload);
}

static void test_what_is_too_small_or_odd_is_refused(void **state)
{
    struct nm_workload *workload = make(NULL, NULL);
    struct nm_workload_context context = context_for(workload, READ_PHASE, 4096 * 99);
    struct nm_error err;
    void *stream;

    (void)state;
    assert_int_equal(workload->ops->start(workload, &context, READ_PHASE, 0, &stream, &err),
                     -EOPNOTSUPP);
    assert_int_equal(err.reason, NM_REASON_UNSUPPORTED);
    workload->ops->free(workload);
    assert_null(make("erase", NULL));
    assert_null(make("write,read", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples_are_spread_over_the_whole_device),
        cmocka_unit_test(test_access_reads_the_same_random_pages_every_time),
        cmocka_unit_test(test_write_puts_back_what_it_read),
        cmocka_unit_test(test_nothing_is_written_after_a_short_read),
        cmocka_unit_test(test_what_is_too_small_or_odd_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
