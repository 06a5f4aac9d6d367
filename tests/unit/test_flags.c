/* Blame and the client's conditions: rules on made-up trials, /sys as a fixture.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "client.h"
#include "clock.h"
#include "flags.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static struct nm_conditions conditions;

static struct nm_flag_input trial(double mb_per_s, double seconds)
{
    memset(&conditions, 0, sizeof(conditions));
    return (struct nm_flag_input){
        .bytes = (uint64_t)(mb_per_s * 1e6 * seconds),
        .duration_ns = (uint64_t)(seconds * 1e9),
        .working_set_bytes = (uint64_t)(mb_per_s * 1e6 * seconds),
        .network = true,
        .conditions = &conditions,
    };
}

static const char *flags_of(const struct nm_flag_input *input)
{
    static char words[128];

    nm_flags_judge(input, words, sizeof(words));
    return words;
}

static void gigabit(void)
{
    nm_conditions_set(&conditions, "client.nic", "eth0");
    nm_conditions_set(&conditions, "client.link_mbit", "1000");
    nm_conditions_set(&conditions, "client.mtu", "1500");
}

static void test_flags_link_is_about_payload(void **state)
{
    struct nm_flag_input input = trial(116.5, 10);

    (void)state;
    gigabit();
    assert_string_equal(flags_of(&input), "link");
    input = trial(100, 10);
    gigabit();
    assert_string_equal(flags_of(&input), "");
    input = trial(400, 10);
    gigabit();
    assert_string_equal(flags_of(&input), "cached");
    /* 1 GbE at MTU 1500 carries 117.7 MB/s of TCP payload */
    assert_true(nm_link_payload_per_s(1000, 1500) > 117.6e6 &&
                nm_link_payload_per_s(1000, 1500) < 117.8e6);
}

static void test_flags_of_a_busy_client_and_a_short_trial(void **state)
{
    struct nm_flag_input input = trial(50, 0.4);

    (void)state;
    input.busiest_cpu_ns = input.duration_ns / 100 * 95;
    assert_string_equal(flags_of(&input), "short client-cpu");
}

static void test_flags_of_memory_of_the_nas(void **state)
{
    struct nm_flag_input input = trial(100, 10); /* 1 GB */

    (void)state;
    input.nas_ram_bytes = UINT64_C(512) << 20;
    assert_string_equal(flags_of(&input), "cached");
    input.working_set_bytes *= 2;
    assert_string_equal(flags_of(&input), "");
    input.writes = input.no_flush = true;
    assert_string_equal(flags_of(&input), "");
    input.nas_ram_bytes = 0; /* nobody knows: say so */
    assert_string_equal(flags_of(&input), "server-cached");
}

static void test_flags_of_reading_the_same_again(void **state)
{
    struct nm_flag_input input = trial(100, 10); /* 1 GB */
    struct nm_metrics metrics = {0};

    (void)state;
    assert_true(nm_flags_repeat_speedup(&metrics) == 0);
    nm_metrics_add(&metrics, "run1_rate", "B/s", NM_BETTER_HIGHER, NM_SUMMARY_MEDIAN, 100e6);
    assert_true(nm_flags_repeat_speedup(&metrics) == 0); /* read once */
    nm_metrics_add(&metrics, "run2_rate", "B/s", NM_BETTER_HIGHER, NM_SUMMARY_MEDIAN, 160e6);
    nm_metrics_add(&metrics, "run3_rate", "B/s", NM_BETTER_HIGHER, NM_SUMMARY_MEDIAN, 90e6);
    input.repeat_speedup = nm_flags_repeat_speedup(&metrics);
    assert_float_equal(input.repeat_speedup, 1.6, 1e-9);
    assert_string_equal(flags_of(&input), "cached"); /* nobody knows the memory of the NAS */
    input.network = false;
    assert_string_equal(flags_of(&input), "cached");
    input.nas_ram_bytes = UINT64_C(256) << 20; /* the set is larger than twice of it */
    assert_string_equal(flags_of(&input), "");
    input.nas_ram_bytes = UINT64_C(512) << 20;
    assert_string_equal(flags_of(&input), "cached");
    input.nas_ram_bytes = 0;
    input.repeat_speedup = 1.5;
    assert_string_equal(flags_of(&input), "");
    input.repeat_speedup = 1.6;
    input.writes = true;
    assert_string_equal(flags_of(&input), "");
}

static void test_flags_of_a_thin_lun_as_it_was_found(void **state)
{
    struct nm_flag_input input = trial(100, 10);

    (void)state;
    input.found_blocks = true;
    nm_conditions_set(&conditions, "iscsi.provisioning", "full");
    assert_string_equal(flags_of(&input), "");
    nm_conditions_set(&conditions, "iscsi.provisioning", "thin");
    assert_string_equal(flags_of(&input), "not-prefilled");
    input.writes = true;
    assert_string_equal(flags_of(&input), "");
    input.writes = input.found_blocks = false;
    assert_string_equal(flags_of(&input), "");
}

static void test_flags_of_a_search_that_was_stopped(void **state)
{
    struct nm_flag_input input = trial(100, 10);

    (void)state;
    assert_string_equal(flags_of(&input), "");
    input.limit_reached = true;
    assert_string_equal(flags_of(&input), "at-least");
}

static void test_flags_of_one_slow_direction(void **state)
{
    struct nm_flag_input input = trial(100, 10);

    (void)state;
    input.request_bytes = 1 << 20;
    assert_string_equal(flags_of(&input), ""); /* nothing went the other way */
    input.opposite_per_s = 301e6;
    assert_string_equal(flags_of(&input), "asymmetric");
    input.opposite_per_s = 299e6;
    assert_string_equal(flags_of(&input), "");
    input.opposite_per_s = 33e6;
    assert_string_equal(flags_of(&input), "asymmetric");
    input.request_bytes = 4096; /* small requests differ for other reasons */
    assert_string_equal(flags_of(&input), "");
    input.request_bytes = 1 << 20;
    input.duration_ns = NM_NS_PER_S / 4;
    assert_string_equal(flags_of(&input), "short");
}

static void test_flags_course_finds_the_knee(void **state)
{
    static uint64_t bins[300];
    static struct nm_metrics metrics;
    struct nm_flag_input input = trial(180, 30);

    (void)state;
    for (size_t i = 0; i < 300; i++)
        bins[i] = i < 100 ? 40000000 : 8000000; /* 400, then 80 MB/s */
    input.bins_bytes = bins;
    input.n_bins = 300;
    input.bin_ns = 100 * NM_NS_PER_MS;
    assert_string_equal(flags_of(&input), "burst unstable");
    nm_flags_course(&input, &metrics);
    assert_true(nm_metrics_get(&metrics, "burst_rate")->value == 400e6);
    assert_true(nm_metrics_get(&metrics, "sustained_rate")->value == 80e6);
    assert_true(nm_metrics_get(&metrics, "steady")->value == 0);
    assert_true(nm_metrics_get(&metrics, "rate_below_half")->value == 0);
    for (size_t i = 0; i < 300; i++)
        bins[i] = i < 60 ? 3000000 : 8000000; /* a fifth of the time below half of the median */
    metrics.count = 0;
    nm_flags_course(&input, &metrics);
    assert_true(nm_metrics_get(&metrics, "rate_below_half")->value == 0.2);
    for (size_t i = 0; i < 300; i++)
        bins[i] = 8000000;
    metrics.count = 0;
    nm_flags_course(&input, &metrics);
    assert_true(nm_metrics_get(&metrics, "steady")->value == 1);
}

static void test_flags_have_legends(void **state)
{
    (void)state;
    assert_non_null(nm_flag_legend("server-cached"));
    assert_null(nm_flag_legend("nonsense"));
}

/* ---- client ---- */

static void put(const char *root, const char *path, const char *text)
{
    char name[512];
    FILE *out;

    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(name, sizeof(name), "%s%.*s", root, (int)(slash - path), path);
        mkdir(name, 0700);
    }
    snprintf(name, sizeof(name), "%s%s", root, path);
    out = fopen(name, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static unsigned complaints;
static char complaint[256];

static void hear(void *context, const char *text)
{
    (void)context;
    complaints++;
    snprintf(complaint, sizeof(complaint), "%s", text);
}

static void test_client_reads_a_slow_half_duplex_link(void **state)
{
    char root[] = "/tmp/nasmark-client-XXXXXX", command[64];

    (void)state;
    assert_non_null(mkdtemp(root));
    put(root, "/sys/class/net/eth0/speed", "100\n");
    put(root, "/sys/class/net/eth0/duplex", "half\n");
    put(root, "/sys/class/net/eth0/mtu", "9000\n");
    put(root, "/sys/class/net/bond0/bonding/mode", "802.3ad 4\n");
    put(root, "/sys/class/net/bond0/bonding/slaves", "eth0 eth1\n");
    put(root, "/sys/class/net/bond0/speed", "-1\n");

    memset(&conditions, 0, sizeof(conditions));
    nm_client_describe_interface(root, "eth0", &conditions);
    assert_string_equal(nm_conditions_get(&conditions, "client.link_mbit"), "100");
    assert_string_equal(nm_conditions_get(&conditions, "client.mtu"), "9000");
    assert_string_equal(nm_conditions_get(&conditions, "client.wifi"), "no");
    complaints = 0;
    nm_client_complain(&conditions, hear, NULL);
    assert_int_equal(complaints, 2);

    memset(&conditions, 0, sizeof(conditions));
    nm_client_describe_interface(root, "bond0", &conditions);
    assert_string_equal(nm_conditions_get(&conditions, "client.link_mbit"), "unknown");
    assert_string_equal(nm_conditions_get(&conditions, "client.bond_mode"), "802.3ad");
    assert_string_equal(nm_conditions_get(&conditions, "client.bond_slaves"),
                        "eth0 100, eth1 unknown");
    /* an empty machine: unknown, no crash */
    memset(&conditions, 0, sizeof(conditions));
    nm_client_describe(root, &conditions);
    assert_string_equal(nm_conditions_get(&conditions, "client.cpu"), "unknown");
    assert_string_equal(nm_conditions_get(&conditions, "client.governor"), "unknown");
    snprintf(command, sizeof(command), "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flags_link_is_about_payload),
        cmocka_unit_test(test_flags_of_a_busy_client_and_a_short_trial),
        cmocka_unit_test(test_flags_of_memory_of_the_nas),
        cmocka_unit_test(test_flags_of_reading_the_same_again),
        cmocka_unit_test(test_flags_of_a_thin_lun_as_it_was_found),
        cmocka_unit_test(test_flags_of_a_search_that_was_stopped),
        cmocka_unit_test(test_flags_of_one_slow_direction),
        cmocka_unit_test(test_flags_course_finds_the_knee),
        cmocka_unit_test(test_flags_have_legends),
        cmocka_unit_test(test_client_reads_a_slow_half_duplex_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
