/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload_sim.h"

#include <stdlib.h>

struct meta_options { /* as in meta.c */
    uint32_t listings;
};

static struct nm_workload *parse(const char *arguments)
{
    static const struct meta_options options = {.listings = 3};
    struct nm_workload *workload = NULL;
    struct nm_error err = {0};
    const struct nm_workload_ops *ops = nm_workload_find("meta");

    assert_non_null(ops);
    if (ops->parse(arguments, &options, &workload, &err) < 0)
        return NULL;
    return workload;
}

static size_t phase_of(const struct nm_workload *workload, const char *name)
{
    const struct nm_phase *phases;
    size_t n = workload->ops->phases(workload, &phases);

    for (size_t i = 0; i < n; i++)
        if (!strcmp(phases[i].name, name))
            return i;
    fail_msg("no phase %s", name);
    return 0;
}

static struct world run(const char *phase, unsigned listed, int expect, uint64_t *ret_files)
{
    struct nm_workload_context context = {.streams = 1,
                                          .depth = 4,
                                          .block_bytes = 4096,
                                          .unit_bytes = 1,
                                          .directory = "g",
                                          .seed = 7};
    static struct nm_metrics metrics;
    struct world world = {.listed = listed, .step_ns = 10, .now_ns = 1, .metrics = &metrics};
    struct nm_workload *workload = parse("50");
    uint64_t bytes;

    metrics.count = 0;
    assert_non_null(workload);
    workload->ops->shape(workload, phase_of(workload, phase), &context);
    assert_int_equal(context.depth, 1);
    int r = sim_run(workload, &context, phase_of(workload, phase), 0, &world, &bytes, ret_files);

    assert_int_equal(r, expect);
    assert_int_equal(bytes, 0);
    workload->ops->free(workload);
    return world;
}

static void test_meta_key_is_canonical(void **state)
{
    struct nm_workload *workload = parse(NULL);
    char *key = workload->ops->key(workload);

    (void)state;
    assert_string_equal(key, "meta:1000");
    free(key);
    workload->ops->free(workload);
    assert_null(parse("0"));
    assert_null(parse("1000001"));
    assert_null(parse("5x"));
}

static void test_meta_creates_in_order_and_closes(void **state)
{
    uint64_t files;
    struct world world = run("create_sequential", 0, 0, &files);

    (void)state;
    assert_int_equal(world.creates, 50);
    assert_int_equal(world.closes, 50);
    assert_int_equal(world.most_open, 1);
    assert_int_equal(files, 50);
    assert_string_equal(world.first_path, "g/d0000000/f0000000");
    assert_string_equal(world.last_path, "g/d0000000/f0000049");
    const struct nm_metric *latency = nm_metrics_get(world.metrics, "latency_max");

    assert_non_null(latency);
    assert_true(latency->value == 20); /* create and close */
    assert_string_equal(world.metrics->items[0].name, "files_per_s");
}

static void test_meta_random_order_is_a_permutation(void **state)
{
    uint64_t files;
    struct world world = run("delete_random", 0, 0, &files);

    (void)state;
    assert_int_equal(world.unlinks, 50);
    assert_true(strcmp(world.first_path, "g/d0000001/f5000000") != 0);
    assert_int_equal(strncmp(world.first_path, "g/d0000001/f50000", 17), 0);
}

static void test_meta_renames_to_names_that_can_be_cleaned_up(void **state)
{
    uint64_t files;
    struct world world = run("rename_dirs_sequential", 0, 0, &files);

    (void)state;
    assert_int_equal(world.renames, 50);
    assert_string_equal(world.last_path, "g/d0000000/d0000049");
    assert_string_equal(world.last_new_path, "g/d0000000/d5000049");
    assert_true(nm_workload_owns_name(strrchr(world.last_new_path, '/') + 1));
}

static void test_meta_list_counts_every_name(void **state)
{
    uint64_t files;
    struct world world = run("list_sequential", 50, 0, &files);

    (void)state;
    assert_int_equal(world.lists, 3);
    assert_int_equal(files, 150);
    run("list_sequential", 49, -EIO, &files); /* one is missing */
}

static void test_meta_stat_notices_what_is_no_directory(void **state)
{
    uint64_t files;

    (void)state;
    assert_int_equal(run("stat_dirs_sequential", 0, 0, &files).stats, 50);
    run("stat_dirs_random", 0, -EIO, &files); /* the simulation has files there */
}

static void test_meta_streams_have_directories_of_their_own(void **state)
{
    struct nm_workload_context context = {
        .streams = 3, .depth = 1, .block_bytes = 4096, .unit_bytes = 1, .directory = "g"};
    struct nm_workload *workload = parse("5");
    char seen[6][192];
    size_t n = 0;

    (void)state;
    for (unsigned stream = 0; stream < 3; stream++)
        for (int random = 0; random < 2; random++) {
            const struct nm_phase *phases;
            size_t phase = random ? workload->ops->phases(workload, &phases) / 2 : 0;
            struct world world = {.step_ns = 1};
            uint64_t bytes, files;

            assert_int_equal(sim_run(workload, &context, phase, stream, &world, &bytes, &files), 0);
            assert_int_equal(world.mkdirs, 1);
            for (size_t i = 0; i < n; i++)
                assert_string_not_equal(seen[i], world.last_path);
            memcpy(seen[n++], world.last_path, sizeof(world.last_path));
        }
    workload->ops->free(workload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meta_key_is_canonical),
        cmocka_unit_test(test_meta_creates_in_order_and_closes),
        cmocka_unit_test(test_meta_random_order_is_a_permutation),
        cmocka_unit_test(test_meta_renames_to_names_that_can_be_cleaned_up),
        cmocka_unit_test(test_meta_list_counts_every_name),
        cmocka_unit_test(test_meta_stat_notices_what_is_no_directory),
        cmocka_unit_test(test_meta_streams_have_directories_of_their_own),
    };

    return cmocka_run_group_tests_name("workload_meta", tests, NULL, NULL);
}
