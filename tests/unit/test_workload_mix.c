/* mix: what a reader and a writer do in the given time, without any storage.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "clock.h"
#include "workload_sim.h"

#include <stdlib.h>

static struct nm_workload *make(const char *arguments)
{
    static const char *const settings[][2] = {{"time", "10s"},
                                              {"buffer", "1s"},
                                              {"size", "8MiB"},
                                              {"file", "10MiB"},
                                              {"upload", "40MiB"}};
    const struct nm_workload_ops *ops = nm_workload_find("mix");
    void *options = calloc(1, ops->options->size);
    struct nm_workload *workload;

    assert_int_equal(nm_options_init(ops->options, options, NULL), 0);
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        assert_int_equal(
            nm_options_set(ops->options, options, settings[i][0], settings[i][1], NULL), 0);
    if (ops->parse(arguments, options, &workload, NULL) < 0)
        workload = NULL;
    nm_options_done(ops->options, options);
    free(options);
    return workload;
}

static struct nm_workload_context context_for(const struct nm_workload *workload, size_t phase)
{
    struct nm_workload_context context = {.streams = 1,
                                          .depth = 4,
                                          .block_bytes = 1 << 20,
                                          .unit_bytes = 1,
                                          .capacity_bytes = UINT64_MAX,
                                          .directory = "d"};

    workload->ops->shape(workload, phase, &context);
    assert_int_equal(context.streams, 3);
    return context;
}

static double value(const struct nm_metrics *metrics, const char *name)
{
    const struct nm_metric *metric = nm_metrics_get(metrics, name);

    if (!metric)
        fail_msg("no metric %s", name);
    return metric->value;
}

static void test_streams_are_reported_one_by_one(void **state)
{
    struct nm_workload *workload = make("2x8Mbit,1");
    struct nm_workload_context context = context_for(workload, 1);
    struct nm_metrics each[3] = {0}, all = {0};
    uint64_t bytes, files;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct world world = {.now_ns = NM_NS_PER_S,
                              .step_ns = i < 2 ? NM_NS_PER_MS : 20 * NM_NS_PER_MS,
                              .lowest_offset = UINT64_MAX,
                              .metrics = &each[i]};

        assert_int_equal(sim_run(workload, &context, 1, i, &world, &bytes, &files), 0);
        assert_int_equal(bytes, 0);
        assert_int_equal(world.open_files, 0);
        if (i < 2) { /* 1 MB/s for 10 s, and the buffer of 1 s that was never played */
            assert_int_equal(world.writes, 0);
            assert_in_range(world.bytes, 10500000, 11100000);
            assert_true(world.highest_end <= 8 << 20); /* the film begins again */
        } else { /* 50 MiB/s: ten blocks, then a flush and a new file */
            assert_int_equal(world.reads, 0);
            assert_in_range(world.bytes, (uint64_t)350 << 20, (uint64_t)500 << 20);
            assert_int_equal(world.creates, world.closes);
            assert_int_equal(world.creates, world.flushes);
            assert_in_range(world.creates, 35, 50);
            assert_int_equal(world.unlinks, world.creates - 4); /* never more than 40 MiB */
        }
    }
    nm_metrics_combine(workload->ops, each, 3, &all);
    assert_string_equal(all.items[0].name, "write_rate");
    assert_true(value(&all, "write_rate") == value(&all, "writer1_rate"));
    assert_true(value(&all, "writer1_rate") > 35e6);
    assert_true(value(&all, "read_rate") ==
                value(&all, "reader1_rate") + value(&all, "reader2_rate"));
    assert_true(value(&all, "underruns") == 0);
    assert_true(value(&all, "reader2_lateness") == 0);
    workload->ops->free(workload);
}

/* 1.4 s per file: the last one would end 0.8 s late. */
static void test_the_last_upload_is_cut_short(void **state)
{
    struct nm_workload *workload = make("2x8Mbit,1");
    struct nm_workload_context context = context_for(workload, 1);
    struct world world = {
        .now_ns = NM_NS_PER_S, .step_ns = 100 * NM_NS_PER_MS, .lowest_offset = UINT64_MAX};
    uint64_t bytes, files;

    (void)state;
    assert_int_equal(sim_run(workload, &context, 1, 2, &world, &bytes, &files), 0);
    assert_true(world.now_ns >= 11 * NM_NS_PER_S);
    assert_true(world.now_ns <=
                11 * NM_NS_PER_S + 700 * NM_NS_PER_MS); /* in flight, flush, close */
    assert_true(world.bytes % (10 << 20));
    assert_int_equal(world.open_files, 0);
    workload->ops->free(workload);
}

static void test_a_slow_target_gives_underruns_to_those_who_have_them(void **state)
{
    struct nm_workload *workload = make("2x8Mbit,1");
    struct nm_workload_context context = context_for(workload, 1);
    struct nm_metrics each[3] = {0}, all = {0};
    uint64_t bytes, files;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct world world = {.now_ns = NM_NS_PER_S,
                              .step_ns = i == 1 ? 100 * NM_NS_PER_MS : NM_NS_PER_MS,
                              .lowest_offset = UINT64_MAX,
                              .metrics = &each[i]};

        assert_int_equal(sim_run(workload, &context, 1, i, &world, &bytes, &files), 0);
    }
    nm_metrics_combine(workload->ops, each, 3, &all);
    assert_true(value(&all, "reader1_underruns") == 0);
    assert_true(value(&all, "reader2_underruns") > 10);
    assert_true(value(&all, "reader2_lateness") > 0);
    assert_true(value(&all, "underruns") == value(&all, "reader2_underruns"));
    workload->ops->free(workload);
}

static void test_every_reader_has_its_own_film(void **state)
{
    struct nm_workload *workload = make("2x8Mbit,1");
    struct nm_workload_context context = context_for(workload, 0);
    uint64_t bytes, files;

    (void)state;
    assert_int_equal(workload->ops->size(workload, &context, 1).space_bytes, (2 * 8 + 40) << 20);
    for (unsigned i = 0; i < 3; i++) {
        struct world world = {.step_ns = 1000, .lowest_offset = UINT64_MAX};

        assert_int_equal(sim_run(workload, &context, 0, i, &world, &bytes, &files), 0);
        assert_int_equal(world.bytes, i < 2 ? 8 << 20 : 0);
    }
    context.on_blocks = true;
    context.unit_bytes = 512;
    context.capacity_bytes = 56 << 20;
    for (unsigned phase = 0; phase < 2; phase++)
        for (unsigned i = 0; i < 3; i++) { /* regions do not overlap */
            struct world world = {
                .step_ns = NM_NS_PER_MS, .now_ns = 1, .lowest_offset = UINT64_MAX};

            assert_int_equal(sim_run(workload, &context, phase, i, &world, &bytes, &files), 0);
            if (!phase && i == 2)
                continue;
            assert_int_equal(world.lowest_offset, (i * 8) << 20);
            assert_true(world.highest_end <= (i < 2 ? (i + 1) * 8 : 56) << 20);
            assert_int_equal(world.unlinks, 0);
        }
    context.capacity_bytes--;
    struct nm_error err;
    void *stream;

    assert_int_equal(workload->ops->start(workload, &context, 1, 0, &stream, &err), -ENOSPC);
    workload->ops->free(workload);
}

static void test_keys_are_canonical_and_nonsense_is_refused(void **state)
{
    static const char *const wrong[] = {"2x8Mbit",   "2x8Mbit,0", "0x8Mbit,1",
                                        "9x8Mbit,1", "2x8Mbit,9", "2x8MB,1",
                                        "x,1",       ",",         "2,1x8Mbit"};
    struct nm_workload *workload = make("02x8000kbit/s,1");
    char *key = workload->ops->key(workload);

    (void)state;
    assert_string_equal(key, "mix:2x8Mbit,1");
    free(key);
    workload->ops->free(workload);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_null(make(wrong[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams_are_reported_one_by_one),
        cmocka_unit_test(test_the_last_upload_is_cut_short),
        cmocka_unit_test(test_a_slow_target_gives_underruns_to_those_who_have_them),
        cmocka_unit_test(test_every_reader_has_its_own_film),
        cmocka_unit_test(test_keys_are_canonical_and_nonsense_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
