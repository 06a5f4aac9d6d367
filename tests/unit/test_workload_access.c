/* Steps of block access and what access, random and mixed make of them, without any storage.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "clock.h"
#include "steps.h"
#include "workload_sim.h"

#include <stdlib.h>

static void test_step_names_are_canonical(void **state)
{
    struct nm_step step;

    (void)state;
    assert_int_equal(nm_step_parse("seq1m-q8t1-read", &step, NULL), 0);
    assert_string_equal(step.name, "seq1MiB-q8t1-read");
    assert_int_equal(nm_step_parse("rnd4k-q32-write", &step, NULL), 0);
    assert_string_equal(step.name, "rnd4KiB-q32-write");
    assert_int_equal(nm_step_parse("rnd4096-mix70", &step, NULL), 0);
    assert_string_equal(step.name, "rnd4KiB-mix70");
    assert_int_equal(step.read_percent, 70);
    static const char *const wrong[] = {
        "",           "4k-read",       "rnd-read",      "rnd4k",
        "rnd4k-mix0", "rnd4k-mix100",  "rnd4k-x8-read", "rnd4k-q0-read",
        "rnd0-read",  "rnd1TiB-write", "rnd4k-q-read",  "rnd4k-q9999-read"};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_true(nm_step_parse(wrong[i], &step, NULL) < 0);
}

static struct nm_workload *make(const char *name, const char *const (*settings)[2])
{
    const struct nm_workload_ops *ops = nm_workload_find(name);
    struct nm_workload *workload;
    void *options = calloc(1, ops->options->size);

    assert_int_equal(nm_options_init(ops->options, options, NULL), 0);
    for (; settings && (*settings)[0]; settings++)
        assert_int_equal(
            nm_options_set(ops->options, options, (*settings)[0], (*settings)[1], NULL), 0);
    assert_int_equal(ops->parse(NULL, options, &workload, NULL), 0);
    nm_options_done(ops->options, options);
    free(options);
    return workload;
}

static size_t find_phase(const struct nm_workload *workload, const char *name)
{
    const struct nm_phase *phases;
    size_t n = workload->ops->phases(workload, &phases);

    for (size_t i = 0; i < n; i++)
        if (!strcmp(phases[i].name, name))
            return i;
    fail_msg("no phase %s", name);
    return 0;
}

static struct nm_workload_context context_for(const struct nm_workload *workload, size_t phase)
{
    struct nm_workload_context context = {.streams = 1,
                                          .depth = 4,
                                          .block_bytes = 1 << 20,
                                          .unit_bytes = 1,
                                          .capacity_bytes = UINT64_MAX,
                                          .seed = 42,
                                          .directory = "d"};

    workload->ops->shape(workload, phase, &context);
    return context;
}

static void test_access_ends_by_length_and_stays_inside(void **state)
{
    static const char *const settings[][2] = {{"steps", "rnd4k-q8t2-write seq64k-read"},
                                              {"size", "1MiB"},
                                              {"length", "4MiB"},
                                              {NULL, NULL}};
    struct nm_workload *workload = make("access", settings);
    struct world world = {.step_ns = 1000, .lowest_offset = UINT64_MAX};
    size_t phase = find_phase(workload, "rnd4KiB-q8t2-write");
    struct nm_workload_context context = context_for(workload, phase);
    uint64_t bytes, files;

    (void)state;
    assert_int_equal(context.depth, 8);
    assert_int_equal(context.streams, 2);
    assert_int_equal(context.block_bytes, 4096);
    for (unsigned stream = 0; stream < 2; stream++) {
        assert_int_equal(sim_run(workload, &context, phase, stream, &world, &bytes, &files), 0);
        assert_int_equal(bytes, 2 << 20);
    }
    assert_true(world.highest_end <= 1 << 20);
    assert_int_equal(world.reads, 0);
    assert_int_equal(world.flushes, 2);
    assert_int_equal(world.open_files, 0);
    workload->ops->free(workload);
}

static void end_by_time(const char *length, bool short_of_length)
{
    const char *const settings[][2] = {{"steps", "rnd4k-q4t1-mix70"},
                                       {"size", "1MiB"},
                                       {"length", length},
                                       {"time", "1s"},
                                       {"runs", "3"},
                                       {NULL, NULL}};
    struct nm_workload *workload = make("access", settings);
    static struct nm_metrics metrics;
    struct world world = {
        .step_ns = NM_NS_PER_MS, .lowest_offset = UINT64_MAX, .metrics = &metrics, .now_ns = 1};
    size_t phase = find_phase(workload, "rnd4KiB-q4t1-mix70");
    struct nm_workload_context context = context_for(workload, phase);
    uint64_t bytes, files;

    memset(&metrics, 0, sizeof(metrics));
    assert_int_equal(sim_run(workload, &context, phase, 0, &world, &bytes, &files), 0);
    assert_in_range(world.reads + world.writes, 3000, 3015);
    assert_in_range(100 * world.reads / (world.reads + world.writes), 66, 74);
    assert_true(nm_metrics_get(&metrics, "best_rate")->value > 4.09e6);
    assert_true(nm_metrics_get(&metrics, "median_rate")->value <=
                nm_metrics_get(&metrics, "best_rate")->value);
    assert_true(nm_metrics_get(&metrics, "ended_by_time")->value == short_of_length);
    assert_non_null(nm_metrics_get(&metrics, "run3_iops"));

    /* two threads together: rates add up, latency does not */
    struct nm_metrics both[2] = {metrics, metrics}, sum = {0};

    nm_metrics_combine(workload->ops, both, 2, &sum);
    assert_true(nm_metrics_get(&sum, "best_rate")->value ==
                2 * nm_metrics_get(&metrics, "best_rate")->value);
    assert_true(nm_metrics_get(&sum, "mean_latency")->value ==
                nm_metrics_get(&metrics, "mean_latency")->value);
    workload->ops->free(workload);
}

static void test_access_ends_by_time_and_reports_best_and_median(void **state)
{
    (void)state;
    end_by_time("0", false); /* no length to miss */
    end_by_time("1GiB", true);
}

static void test_access_lays_out_the_file_once(void **state)
{
    static const char *const settings[][2] = {
        {"steps", "seq64k-read"}, {"size", "67MiB"}, {"time", "1s"}, {NULL, NULL}};
    struct nm_workload *workload = make("access", settings);
    /* Each write takes as long as a whole step may: that is no matter of the layout. */
    struct world world = {.step_ns = NM_NS_PER_S, .lowest_offset = UINT64_MAX, .now_ns = 1};
    struct nm_workload_context context = context_for(workload, 0);
    uint64_t bytes, files;

    (void)state;
    assert_int_equal(context.block_bytes, 1 << 20); /* in the plan's blocks, not the step's */
    assert_int_equal(sim_run(workload, &context, 0, 0, &world, &bytes, &files), 0);
    assert_int_equal(world.bytes, 67 << 20);
    assert_int_equal(world.highest_end, 67 << 20);
    assert_int_equal(sim_run(workload, &context, 0, 1, &world, &bytes, &files),
                     0); /* other threads: nothing */
    assert_int_equal(world.bytes, 67 << 20);
    workload->ops->free(workload);
}

static void test_access_takes_whole_blocks_of_a_device(void **state)
{
    static const char *const settings[][2] = {
        {"steps", "rnd4k-write"}, {"size", "20MB"}, {NULL, NULL}};
    struct nm_workload *workload = make("access", settings);
    struct world world = {.step_ns = 1000, .lowest_offset = UINT64_MAX};
    struct nm_workload_context context = context_for(workload, 0);
    uint64_t bytes, files;

    (void)state;
    context.on_blocks = true;
    context.unit_bytes = 512;
    context.capacity_bytes = 1 << 30;
    assert_int_equal(sim_run(workload, &context, 0, 0, &world, &bytes, &files), 0);
    assert_int_equal(world.highest_end, 20000000 / 512 * 512);
    workload->ops->free(workload);
}

static void test_access_is_not_applicable_below_the_block(void **state)
{
    static const char *const settings[][2] = {
        {"steps", "rnd512-read"}, {"size", "1MiB"}, {NULL, NULL}};
    struct nm_workload *workload = make("access", settings);
    size_t phase = find_phase(workload, "rnd512B-read");
    struct nm_workload_context context = context_for(workload, phase);
    struct nm_error err;
    void *stream;

    (void)state;
    context.on_blocks = true;
    context.unit_bytes = 4096;
    assert_true(workload->ops->start(workload, &context, phase, 0, &stream, &err) < 0);
    assert_int_equal(err.reason, NM_REASON_UNSUPPORTED);
    workload->ops->free(workload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_step_names_are_canonical),
        cmocka_unit_test(test_access_ends_by_length_and_stays_inside),
        cmocka_unit_test(test_access_ends_by_time_and_reports_best_and_median),
        cmocka_unit_test(test_access_lays_out_the_file_once),
        cmocka_unit_test(test_access_takes_whole_blocks_of_a_device),
        cmocka_unit_test(test_access_is_not_applicable_below_the_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
