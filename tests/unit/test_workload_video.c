/* Players and the search of video against a simulated target of a set rate; no storage, no waiting.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bitrate.h"
#include "clock.h"
#include "player.h"
#include "workload_sim.h"

#include <stdlib.h>

static void test_bitrates_are_bits_and_decimal(void **state)
{
    static const char *const wrong[] = {"", "8", "8M", "8MB", "x", "0Mbit", "1bit", "8Mbit/h"};
    char text[NM_BITRATE_TEXT];
    uint64_t rate;

    (void)state;
    assert_int_equal(nm_bitrate_parse("8Mbit", &rate, NULL), 0);
    assert_int_equal(rate, 8000000);
    assert_int_equal(nm_bitrate_parse("25.5Mbit/s", &rate, NULL), 0);
    assert_int_equal(rate, 25500000);
    assert_string_equal(nm_bitrate_format(rate, text), "25.5Mbit");
    assert_string_equal(nm_bitrate_format(400000, text), "400kbit");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_true(nm_bitrate_parse(wrong[i], &rate, NULL) < 0);
    assert_int_equal(nm_bitrate_block(8000000), 65536 * 1);
    assert_int_equal(nm_bitrate_block(200000000), 1 << 20);
}

/* 1 MB/s, blocks of 100 ms, a buffer of 5. */
static struct nm_player player(void)
{
    struct nm_player player = {.part_bytes = 1000000};

    nm_player_shape(&player, 100000, 8000000, 500 * NM_NS_PER_MS);
    assert_int_equal(player.block_ns, 100 * NM_NS_PER_MS);
    assert_int_equal(player.buffer_blocks, 5);
    nm_player_begin(&player, NM_NS_PER_S, 0);
    return player;
}

static void test_a_player_fills_its_buffer_then_reads_when_there_is_room(void **state)
{
    struct nm_player p = player();
    struct nm_op op = {0};
    uint64_t now_ns = NM_NS_PER_S;

    (void)state;
    for (int i = 0; i < 5; i++) { /* as fast as it can */
        assert_int_equal(nm_player_wants_ns(&p), NM_NS_PER_S);
        nm_player_read(&p, &op);
        assert_int_equal(op.offset_bytes, 100000 * i);
        assert_true(nm_player_wants_ns(&p) == UINT64_MAX);
        now_ns += 10 * NM_NS_PER_MS;
        nm_player_done(&p, now_ns);
    }
    assert_int_equal(p.play_ns, now_ns);
    assert_int_equal(nm_player_wants_ns(&p), now_ns + 100 * NM_NS_PER_MS); /* block 0 was played */
    nm_player_read(&p, &op);
    nm_player_done(&p, now_ns + 300 * NM_NS_PER_MS); /* needed at 500 */
    assert_int_equal(p.underruns, 0);
    assert_int_equal(p.slack_ns, 200 * NM_NS_PER_MS);
}

static void test_a_late_block_is_an_underrun_and_play_goes_on_later(void **state)
{
    struct nm_player p = player();
    struct nm_op op = {0};
    uint64_t play_ns = 2 * NM_NS_PER_S;

    (void)state;
    for (int i = 0; i < 5; i++) {
        nm_player_read(&p, &op);
        nm_player_done(&p, play_ns);
    }
    nm_player_read(&p, &op);
    nm_player_done(&p, play_ns + 570 * NM_NS_PER_MS); /* 70 ms too late */
    assert_int_equal(p.underruns, 1);
    assert_int_equal(p.worst_late_ns, 70 * NM_NS_PER_MS);
    assert_int_equal(p.play_ns, play_ns + 70 * NM_NS_PER_MS);
    nm_player_read(&p, &op);
    nm_player_done(&p, play_ns + 660 * NM_NS_PER_MS); /* needed at 670 now */
    assert_int_equal(p.underruns, 1);
    for (int i = 0; i < 3; i++) { /* the part begins again */
        nm_player_read(&p, &op);
        nm_player_done(&p, play_ns + 660 * NM_NS_PER_MS);
    }
    nm_player_read(&p, &op);
    assert_int_equal(op.offset_bytes, 0);
}

/* One phase on a target that serves one request after the other at rate_bytes_per_s. */
static void run_at_rate(const struct nm_workload *workload, double rate_bytes_per_s,
                        struct nm_metrics *metrics)
{
    static struct nm_op ops[SIM_DEPTH_MAX];
    struct nm_workload_context context = {
        .streams = 1, .unit_bytes = 1, .capacity_bytes = UINT64_MAX, .directory = "d", .seed = 7};
    unsigned first = 0, n = 0;
    uint64_t now_ns = NM_NS_PER_S, free_ns = now_ns, begin_ns = now_ns, bytes, files;
    static struct nm_file file;
    bool done = false;
    void *state;

    workload->ops->shape(workload, 1, &context);
    assert_true(context.depth <= SIM_DEPTH_MAX);
    assert_int_equal(workload->ops->start(workload, &context, 1, 0, &state, NULL), 0);
    while (!done) {
        uint64_t position, until_ns = 0;
        enum nm_next next = NM_NEXT_WAIT;

        while (n < context.depth) {
            struct nm_op *op = &ops[(first + n) % SIM_DEPTH_MAX];

            *op = (struct nm_op){0};
            next = workload->ops->next_op(state, now_ns, op, &position, &until_ns);
            if (next != NM_NEXT_OP)
                break;
            free_ns = free_ns > now_ns ? free_ns : now_ns;
            free_ns += (uint64_t)((double)op->length_bytes * 1e9 / rate_bytes_per_s);
            op->done_ns = free_ns;
            op->file = op->kind == NM_OP_OPEN ? &file : op->file;
            op->result = op->length_bytes;
            n++;
        }
        done = next == NM_NEXT_DONE && !n;
        if (n && (next != NM_NEXT_WAIT || !until_ns || ops[first].done_ns <= until_ns)) {
            struct nm_op *op = &ops[first];

            now_ns = op->done_ns > now_ns ? op->done_ns : now_ns;
            first = (first + 1) % SIM_DEPTH_MAX;
            n--;
            assert_int_equal(workload->ops->done_op(state, op, NULL), 0);
        } else if (!done) {
            assert_true(until_ns > now_ns); /* never waits for nothing */
            now_ns = until_ns;
        }
    }
    workload->ops->finish(state, now_ns - begin_ns, metrics, &bytes, &files);
    assert_int_equal(bytes, 0);
}

static struct nm_workload *make(const char *arguments, const char *buffer, const char *time)
{
    const struct nm_workload_ops *ops = nm_workload_find("video");
    void *options = calloc(1, ops->options->size);
    struct nm_workload *workload;
    struct nm_error err;

    assert_int_equal(nm_options_init(ops->options, options, NULL), 0);
    assert_int_equal(nm_options_set(ops->options, options, "most", "64", NULL), 0);
    assert_int_equal(nm_options_set(ops->options, options, "buffer", buffer, NULL), 0);
    assert_int_equal(nm_options_set(ops->options, options, "time", time, NULL), 0);
    if (ops->parse(arguments, options, &workload, &err) < 0)
        workload = NULL;
    nm_options_done(ops->options, options);
    free(options);
    return workload;
}

static double value(const struct nm_metrics *metrics, const char *name)
{
    const struct nm_metric *metric = nm_metrics_get(metrics, name);

    if (!metric)
        fail_msg("no metric %s", name);
    return metric->value;
}

/* The proof: the largest number found is rate / bit rate, at most one off. */
static void test_search_finds_rate_over_bitrate(void **state)
{
    static const double rates[] = {0.7e6, 1.5e6, 10.0e6, 20.0e6, 33.3e6, 47.9e6, 62.5e6, 80e6};

    (void)state;
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        struct nm_workload *workload = make("8Mbit", "1s", "20s");
        struct nm_metrics metrics = {0};
        int want = (int)(rates[i] / 1e6);

        if (want > 64)
            want = 64; /* most */
        run_at_rate(workload, rates[i], &metrics);
        assert_in_range((int)value(&metrics, "players") + 1, want, want + 2);
        assert_true(value(&metrics, "limit_reached") == (value(&metrics, "players") == 64));
        if (want == 64)
            assert_null(nm_metrics_get(&metrics, "underruns"));
        assert_int_equal(!want, !nm_metrics_get(&metrics, "startup"));
        workload->ops->free(workload);
    }
}

static void test_a_number_of_players_is_played_and_counted(void **state)
{
    struct nm_workload *workload = make("10x8Mbit", "1s", "20s");
    struct nm_metrics enough = {0}, too_slow = {0};

    (void)state;
    run_at_rate(workload, 10.5e6, &enough);
    assert_true(value(&enough, "underruns") == 0);
    assert_true(value(&enough, "players_failed") == 0);
    assert_true(value(&enough, "worst_lateness") == 0);
    assert_true(value(&enough, "sustained") == 1);
    run_at_rate(workload, 8e6, &too_slow);
    assert_true(value(&too_slow, "underruns") > 10);
    assert_true(value(&too_slow, "players_failed") == 10);
    assert_true(value(&too_slow, "worst_lateness") > 1e6);
    assert_true(value(&too_slow, "sustained") == 0);
    assert_true(value(&too_slow, "delivered_rate") > 7.9e6);
    assert_true(value(&too_slow, "delivered_rate") < 8.1e6);
    workload->ops->free(workload);
}

static void test_keys_are_canonical_and_nonsense_is_refused(void **state)
{
    static const char *const wrong[] = {"x8Mbit", "0x8Mbit", "2000x8Mbit", "8MB", "8Mbit,3"};
    struct nm_workload *workload = make("012x8000kbit/s", "1s", "20s");
    char *key = workload->ops->key(workload);

    (void)state;
    assert_string_equal(key, "video:12x8Mbit");
    free(key);
    workload->ops->free(workload);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_null(make(wrong[i], "1s", "20s"));
    assert_null(make("8Mbit", "1s", "3s"));    /* the buffer would hide everything */
    assert_null(make("8Mbit", "100ms", "3s")); /* less than four blocks */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bitrates_are_bits_and_decimal),
        cmocka_unit_test(test_a_player_fills_its_buffer_then_reads_when_there_is_room),
        cmocka_unit_test(test_a_late_block_is_an_underrun_and_play_goes_on_later),
        cmocka_unit_test(test_search_finds_rate_over_bitrate),
        cmocka_unit_test(test_a_number_of_players_is_played_and_counted),
        cmocka_unit_test(test_keys_are_canonical_and_nonsense_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
