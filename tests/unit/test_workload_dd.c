/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload_sim.h"

#include <stdlib.h>

struct dd_options { /* as in dd.c */
    int input;
    bool fdatasync;
    uint32_t runs;
};

static struct nm_workload *parse(const char *arguments, const struct dd_options *options)
{
    struct nm_workload *workload = NULL;
    struct nm_error err = {0};
    const struct nm_workload_ops *ops = nm_workload_find("dd");

    assert_non_null(ops);
    return ops->parse(arguments, options, &workload, &err) < 0 ? NULL : workload;
}

static const struct dd_options usual = {.fdatasync = true, .runs = 5};

static void test_dd_key_is_that_of_an_import(void **state)
{
    struct nm_workload *workload = parse("4096MiB,131072", &usual);
    char *key = workload->ops->key(workload);

    (void)state;
    assert_string_equal(key, "dd:4GiB,128KiB");
    assert_int_equal(workload->ops->trials(workload), 5);
    free(key);
    workload->ops->free(workload);
    assert_null(parse("1000,128KiB", &usual)); /* smaller than a block */
    assert_null(parse("129KiB,128KiB", &usual));
    assert_null(parse("128KiB,0", &usual));
    assert_null(parse("4GiB,128KiB,7", &usual));
}

static struct world run(const struct dd_options *options, struct nm_workload_context *context)
{
    struct world world = {.step_ns = 10, .now_ns = 1, .lowest_offset = UINT64_MAX};
    struct nm_workload *workload = parse("1MiB,128KiB", options);
    uint64_t bytes, files;

    *context = (struct nm_workload_context){.streams = 4,
                                            .depth = 16,
                                            .block_bytes = 1 << 20,
                                            .unit_bytes = 1,
                                            .directory = "g",
                                            .data.kind = NM_DATA_COMPRESSIBLE};
    workload->ops->shape(workload, 0, context);
    assert_int_equal(sim_run(workload, context, 0, 0, &world, &bytes, &files), 0);
    assert_int_equal(bytes, 1 << 20);
    assert_int_equal(world.writes, 8);
    assert_int_equal(world.highest_end, 1 << 20);
    assert_int_equal(world.open_files, 0);
    workload->ops->free(workload);
    return world;
}

static void test_dd_writes_zeros_block_by_block_and_flushes(void **state)
{
    struct nm_workload_context context;

    (void)state;
    assert_int_equal(run(&usual, &context).flushes, 1);
    assert_int_equal(context.depth, 1);
    assert_int_equal(context.streams, 1);
    assert_int_equal(context.block_bytes, 128 << 10);
    assert_int_equal(context.data.kind, NM_DATA_ZERO);
    assert_false(context.no_flush);
}

static void test_dd_without_fdatasync_says_so(void **state)
{
    const struct dd_options options = {.input = 1, .fdatasync = false, .runs = 1};
    struct nm_workload_context context;

    (void)state;
    assert_int_equal(run(&options, &context).flushes, 0);
    assert_true(context.no_flush);
    assert_int_equal(context.data.kind, NM_DATA_RANDOM);
}

static void test_dd_on_a_device_takes_its_blocks_only(void **state)
{
    struct nm_workload_context context = {.on_blocks = true,
                                          .unit_bytes = 4096,
                                          .capacity_bytes = 1 << 20,
                                          .streams = 1,
                                          .depth = 1,
                                          .directory = ""};
    struct nm_workload *odd = parse("1536,512", &usual), *large = parse("2MiB,4KiB", &usual);
    struct nm_error err = {0};
    void *stream;

    (void)state;
    assert_int_equal(odd->ops->start(odd, &context, 0, 0, &stream, &err), -EOPNOTSUPP);
    assert_int_equal(err.reason, NM_REASON_UNSUPPORTED);
    assert_int_equal(large->ops->start(large, &context, 0, 0, &stream, &err), -ENOSPC);
    odd->ops->free(odd);
    large->ops->free(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dd_key_is_that_of_an_import),
        cmocka_unit_test(test_dd_writes_zeros_block_by_block_and_flushes),
        cmocka_unit_test(test_dd_without_fdatasync_says_so),
        cmocka_unit_test(test_dd_on_a_device_takes_its_blocks_only),
    };

    return cmocka_run_group_tests_name("workload_dd", tests, NULL, NULL);
}
