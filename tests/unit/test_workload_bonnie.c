/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "../../workloads/bonnie_data.h"

#include "clock.h"
#include "workload_sim.h"

#include <stdlib.h>

#define MIB (UINT64_C(1) << 20)

static const struct nm_bonnie_options usual = {.chunk_bytes = 8192,
                                               .file_bytes = MIB,
                                               .char_bytes = 20000,
                                               .seeks = 103,
                                               .seekers = 5,
                                               .files = 1};

static struct nm_workload *parse(const char *arguments, const struct nm_bonnie_options *options)
{
    struct nm_workload *workload = NULL;
    struct nm_error err = {0};
    const struct nm_workload_ops *ops = nm_workload_find("bonnie");

    assert_non_null(ops);
    return ops->parse(arguments, options, &workload, &err) < 0 ? NULL : workload;
}

static size_t phase_of(const struct nm_workload *workload, const char *name)
{
    const struct nm_phase *phases;
    size_t n = workload->ops->phases(workload, &phases);

    for (size_t i = 0; i < n; i++)
        if (!strcmp(phases[i].name, name))
            return i;
    return SIZE_MAX;
}

/* One stream of a phase on 2.5 MiB in files of 1 MiB. */
static struct world run(const char *name, bool page_cache, unsigned stream, uint64_t *ret_bytes,
                        uint64_t *ret_files)
{
    static struct nm_metrics metrics;
    struct nm_workload_context context = {.streams = 3,
                                          .depth = 16,
                                          .block_bytes = 1 << 20,
                                          .unit_bytes = 1,
                                          .directory = "g",
                                          .seed = 9,
                                          .page_cache = page_cache};
    struct world world = {
        .step_ns = 10, .now_ns = 1, .lowest_offset = UINT64_MAX, .metrics = &metrics};
    struct nm_workload *workload = parse("2560KiB", &usual);
    size_t phase = phase_of(workload, name);

    metrics.count = 0;
    workload->ops->shape(workload, phase, &context);
    assert_int_equal(context.depth, 1);
    assert_int_equal(context.streams, strcmp(name, "seeks") ? 1 : 5);
    assert_int_equal(sim_run(workload, &context, phase, stream, &world, ret_bytes, ret_files), 0);
    assert_int_equal(world.open_files, 0);
    workload->ops->free(workload);
    return world;
}

static void test_bonnie_key_and_limits(void **state)
{
    struct nm_bonnie_options odd = usual;
    struct nm_workload *workload = parse("2048MiB", &usual), *automatic = parse(NULL, &usual);
    char *key = workload->ops->key(workload), *short_key = automatic->ops->key(automatic);

    (void)state;
    assert_string_equal(key, "bonnie:2GiB");
    assert_string_equal(short_key, "bonnie");
    free(key);
    free(short_key);
    workload->ops->free(workload);
    automatic->ops->free(automatic);
    odd.chunk_bytes = 7000;
    assert_null(parse("1MiB", &odd)); /* a chunk would span two files */
    assert_null(parse("4KiB", &usual));
    assert_null(parse("4GiB", &usual)); /* 4096 files */
    assert_null(parse("0", &usual));
}

static void test_bonnie_size_comes_from_the_memory(void **state)
{
    struct nm_workload *workload = parse(NULL, &usual);
    struct nm_workload_context context = {
        .client_ram_bytes = 400 * MIB, .nas_ram_bytes = 1000 * MIB, .page_cache = true};
    size_t phase = phase_of(workload, "write_block");

    (void)state;
    assert_int_equal(workload->ops->size(workload, &context, phase).bytes, 800 * MIB);
    context.page_cache = false;
    assert_int_equal(workload->ops->size(workload, &context, phase).bytes, 2000 * MIB);
    context.nas_ram_bytes = 0;
    assert_int_equal(workload->ops->size(workload, &context, phase).bytes, 800 * MIB);
    context.client_ram_bytes = 500 * MIB + 12345; /* whole MiB */
    assert_int_equal(workload->ops->size(workload, &context, phase).bytes, 1000 * MIB);
    context.client_ram_bytes = MIB;
    assert_int_equal(workload->ops->size(workload, &context, phase).bytes, 300 * MIB);
    workload->ops->free(workload);
}

static void test_bonnie_block_phases_use_files_that_fit_anywhere(void **state)
{
    uint64_t bytes, files;
    struct world world = run("write_block", true, 0, &bytes, &files);

    (void)state;
    assert_int_equal(bytes, 2560 << 10);
    assert_int_equal(world.writes, 320);
    assert_int_equal(world.creates, 3);
    assert_int_equal(world.most_open, 3);
    assert_int_equal(world.flushes, 3);
    assert_int_equal(world.highest_end, MIB); /* of any file */
    assert_string_equal(world.first_path, "g/f0000000");
    assert_string_equal(world.last_path, "g/f0000002");
    assert_true(nm_metrics_get(world.metrics, "latency_max")->value == 10);
}

static void test_bonnie_rewrite_reads_and_writes_every_chunk(void **state)
{
    uint64_t bytes, files;
    struct world world = run("rewrite", true, 0, &bytes, &files);

    (void)state;
    assert_int_equal(world.reads, 320);
    assert_int_equal(world.writes, 320);
    assert_int_equal(bytes, 2560 << 10); /* each counts once */
    assert_int_equal(world.flushes, 3);
    assert_true(nm_metrics_get(world.metrics, "latency_max")->value == 20);
}

static void test_bonnie_characters_are_bytes_only_where_that_costs_no_round_trip(void **state)
{
    uint64_t bytes, files;
    struct world local = run("write_char", true, 0, &bytes, &files);

    (void)state;
    assert_int_equal(bytes, 20000);
    assert_int_equal(local.writes, 20000);
    assert_string_equal(local.first_path, "g/f0000003"); /* behind the others */
    assert_int_equal(run("write_char", false, 0, &bytes, &files).writes, 3);
    assert_int_equal(bytes, 20000);
    assert_int_equal(run("read_char", false, 0, &bytes, &files).flushes, 0);
}

static void test_bonnie_seekers_share_the_seeks_and_write_a_tenth(void **state)
{
    uint64_t bytes, files;
    unsigned reads = 0, writes = 0;

    (void)state;
    for (unsigned stream = 0; stream < 5; stream++) {
        struct world world = run("seeks", true, stream, &bytes, &files);

        reads += world.reads;
        writes += world.writes;
        assert_int_equal(bytes, 0); /* what counts is the number */
        assert_string_equal(world.metrics->items[0].name, "seeks_per_s");
    }
    assert_int_equal(reads, 103);
    assert_int_equal(writes, 13); /* of 21: three, of 20: two */
}

static void test_bonnie_seekers_together_are_as_fast_as_the_slowest_allows(void **state)
{
    const struct nm_workload_ops *ops = nm_workload_find("bonnie");
    struct nm_metrics each[2] = {0}, both = {0};

    (void)state;
    for (int i = 0; i < 2; i++) {
        nm_metrics_add(&each[i], "seeks_per_s", "1/s", NM_BETTER_HIGHER, NM_SUMMARY_GEOMEAN,
                       i ? 50 : 100);
        nm_metrics_add(&each[i], "latency_max", "ns", NM_BETTER_LOWER, NM_SUMMARY_MAX, 7 + i);
        nm_metrics_add(&each[i], "seeks", "1", NM_BETTER_NONE, NM_SUMMARY_MAX, 1000);
    }
    nm_metrics_combine(ops, each, 2, &both);
    assert_true(nm_metrics_get(&both, "seeks_per_s")->value == 100); /* 2000 in 20 s */
    assert_true(nm_metrics_get(&both, "latency_max")->value == 8);
    assert_true(nm_metrics_get(&both, "seeks")->value == 2000);
}

static void test_bonnie_files_are_made_in_a_directory_of_their_own(void **state)
{
    uint64_t bytes, files;
    struct world world = run("create_sequential", true, 0, &bytes, &files);

    (void)state;
    assert_int_equal(files, 1024);
    assert_string_equal(world.last_path, "g/d0000000/f0001023");
    world = run("delete_random", true, 0, &bytes, &files);
    assert_int_equal(world.unlinks, 1024);
    assert_int_equal(strncmp(world.last_path, "g/d0000001/f", 12), 0);
}

static void test_bonnie_leaves_out_what_is_not_asked_for(void **state)
{
    struct nm_bonnie_options few = usual;
    struct nm_workload *workload;
    const struct nm_phase *phases;

    (void)state;
    few.files = 0;
    few.char_bytes = 0;
    workload = parse("1MiB", &few);
    assert_int_equal(workload->ops->phases(workload, &phases), 4);
    assert_int_equal(phase_of(workload, "read_char"), SIZE_MAX);
    assert_int_equal(workload->ops->shortest_ns, NM_NS_PER_S / 2);
    workload->ops->free(workload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bonnie_key_and_limits),
        cmocka_unit_test(test_bonnie_size_comes_from_the_memory),
        cmocka_unit_test(test_bonnie_block_phases_use_files_that_fit_anywhere),
        cmocka_unit_test(test_bonnie_rewrite_reads_and_writes_every_chunk),
        cmocka_unit_test(test_bonnie_characters_are_bytes_only_where_that_costs_no_round_trip),
        cmocka_unit_test(test_bonnie_seekers_share_the_seeks_and_write_a_tenth),
        cmocka_unit_test(test_bonnie_seekers_together_are_as_fast_as_the_slowest_allows),
        cmocka_unit_test(test_bonnie_files_are_made_in_a_directory_of_their_own),
        cmocka_unit_test(test_bonnie_leaves_out_what_is_not_asked_for),
    };

    return cmocka_run_group_tests_name("workload_bonnie", tests, NULL, NULL);
}
