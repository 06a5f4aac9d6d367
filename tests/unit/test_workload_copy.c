/* copy and its file sets: the operations it asks for, without any storage.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "copyset.h"
#include "workload_sim.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_copyset_notation(void **state)
{
    struct nm_copyset set;
    struct nm_error err;
    char *text;

    (void)state;
    assert_int_equal(nm_copyset_parse("1x2GB,50x2MB,3x512", &set, &err), 0);
    assert_int_equal(set.files, 54);
    assert_int_equal(set.bytes, 2000000000 + 50 * 2000000 + 3 * 512);
    text = nm_copyset_format(&set, "copy:");
    assert_string_equal(text, "copy:1x2GB,50x2MB,3x512B");
    free(text);
    static const char *const wrong[] = {"",       "2GB",   "0x2GB",  "1x",        "x1",
                                        "1x2GB,", "1x2XB", "-1x2GB", "99999999x1"};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        err.text[0] = '\0';
        assert_true(nm_copyset_parse(wrong[i], &set, &err) < 0);
        assert_true(err.text[0]);
    }
}

static void test_copyset_positions_do_not_overlap(void **state)
{
    struct nm_copyset set;
    uint64_t end = 0;

    (void)state;
    assert_int_equal(nm_copyset_parse("3x1000,2x2048,1x0", &set, NULL), 0);
    for (uint64_t i = 0; i < set.files; i++) {
        uint64_t size, position;

        nm_copyset_file(&set, i, &size, &position);
        assert_int_equal(position, end);
        assert_int_equal(position % NM_PATTERN_BLOCK_BYTES, 0);
        end = position + (size + 511) / 512 * 512;
    }
}

static void run_set(const char *arguments, struct nm_workload_context context, struct world *world,
                    uint64_t *ret_bytes, uint64_t *ret_files)
{
    const struct nm_workload_ops *ops = nm_workload_find("copy");
    struct nm_workload *workload;

    context.block_bytes = 1000;
    context.directory = "d";
    assert_int_equal(ops->parse(arguments, NULL, &workload, NULL), 0);
    *ret_bytes = *ret_files = 0;
    for (unsigned stream = 0; stream < context.streams; stream++) {
        uint64_t bytes, files;

        assert_int_equal(sim_run(workload, &context, 1, stream, world, &bytes, &files), 0);
        *ret_bytes += bytes;
        *ret_files += files;
    }
    ops->free(workload);
}

static void test_copy_moves_every_byte_once(void **state)
{
    struct world world = {.step_ns = 1};
    uint64_t bytes, files;

    (void)state;
    run_set("3x2500,2x0,1x1", (struct nm_workload_context){.streams = 1, .depth = 8}, &world,
            &bytes, &files);
    assert_int_equal(bytes, 7501);
    assert_int_equal(world.bytes, 7501);
    assert_int_equal(files, 6);
    assert_int_equal(world.creates, 6);
    assert_int_equal(world.closes, 6);
    assert_int_equal(world.most_open, 1); /* one file at a time */
    assert_int_equal(world.flushes, 0);
    assert_int_equal(world.session_flushes, 1); /* flush = end */
}

static void test_copy_flushes_each_file_on_request(void **state)
{
    struct world world = {.step_ns = 1};
    uint64_t bytes, files;

    (void)state;
    run_set("4x10", (struct nm_workload_context){.streams = 1, .depth = 2, .flush_each_file = true},
            &world, &bytes, &files);
    assert_int_equal(world.flushes, 4);
    assert_int_equal(world.session_flushes, 0);
}

static void test_copy_shares_files_among_streams(void **state)
{
    struct world world = {.step_ns = 1};
    uint64_t bytes, files;

    (void)state;
    run_set("10x100", (struct nm_workload_context){.streams = 3, .depth = 1}, &world, &bytes,
            &files);
    assert_int_equal(files, 10);
    assert_int_equal(world.creates, 10);
}

static void test_copy_fails_on_a_short_write(void **state)
{
    const struct nm_workload_ops *ops = nm_workload_find("copy");
    struct nm_workload_context context = {
        .streams = 1, .depth = 1, .block_bytes = 1000, .directory = "d"};
    struct world world = {.write_result = 999};
    struct nm_workload *workload;
    uint64_t bytes, files;

    (void)state;
    assert_int_equal(ops->parse("1x1000", NULL, &workload, NULL), 0);
    assert_true(sim_run(workload, &context, 1, 0, &world, &bytes, &files) < 0);
    ops->free(workload);
}

/* ---- sizes after the upload ---- */

static void test_copyset_check_finds_lost_and_cut_files(void **state)
{
    struct nm_copyset_check *check;
    struct nm_copyset set;
    struct nm_error err;

    (void)state;
    assert_int_equal(nm_copyset_parse("3x1000", &set, NULL), 0);
    for (int fault = 0; fault < 4; fault++) {
        assert_int_equal(nm_copyset_check_new(&set, &check, &err), 0);
        nm_copyset_check_entry(check, "f0000000", &(struct nm_stat){.size_bytes = 1000});
        nm_copyset_check_entry(check, "f0000001",
                               &(struct nm_stat){.size_bytes = fault == 1 ? 999 : 1000});
        if (fault != 2)
            nm_copyset_check_entry(check, fault == 3 ? "f0000001" : "f0000002",
                                   &(struct nm_stat){.size_bytes = 1000});
        nm_copyset_check_entry(check, "something else", &(struct nm_stat){.size_bytes = 5});
        int r = nm_copyset_check_result(check, &err);

        assert_int_equal(!r, !fault);
        if (fault == 1)
            assert_non_null(strstr(err.text, "f0000001 has 999 bytes"));
        nm_copyset_check_free(check);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copyset_notation),
        cmocka_unit_test(test_copyset_positions_do_not_overlap),
        cmocka_unit_test(test_copy_moves_every_byte_once),
        cmocka_unit_test(test_copy_flushes_each_file_on_request),
        cmocka_unit_test(test_copy_shares_files_among_streams),
        cmocka_unit_test(test_copy_fails_on_a_short_write),
        cmocka_unit_test(test_copyset_check_finds_lost_and_cut_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
