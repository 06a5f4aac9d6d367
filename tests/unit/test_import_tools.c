/* Importers of other programs on text as found in the field.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "import_sink.h"

#include <errno.h>

static const char bonnie_196[] =
    "1.96,1.96,H,1,1329851830,8096M,,838,98,110033,7,48154,4,3609,79,134153,4,228.2,1,256,,,,,"
    "30301,79,+++++,+++,2525,2,31290,79,+++++,+++,1558,1,9829us,226ms,1759ms,112ms,160ms,2016ms,"
    "300ms,458us,6094ms,309ms,17us,6206ms\n";
static const char bonnie_198[] =
    "1.98,2.00a,H,1,1731170067,63G,,8192,5,6,6,51776,6,22717,6,6,7,40308,4,8475,109,16,,,,,793,6,"
    "1765,7,1574,7,827,6,1945,8,1416,6,1445ms,17524us,9356us,1284ms,5950us,408ms,15088us,15053us,"
    "18784us,11317us,3377us,12653us\n";
static const char bonnie_103[] =
    "H,8G,,,65284,18,39589,8,,,96293,8,7510.9,6,16,+++++,+++,+++++,+++,+++++,+++,+++++,+++,+++++,"
    "+++,+++++,+++\n";

static void test_import_bonnie_196(void **state)
{
    const struct kept *k;

    (void)state;
    parse_text("bonnie", bonnie_196);
    assert_int_equal(n_kept, 12);
    k = find_kept("H", "bonnie", "write_block");
    near(rate_of(k), 110033 * 1024.0, 0); /* K/sec are KiB/s */
    assert_string_equal(k->source_text, "110033 K/sec");
    assert_true(k->trial.phase_writes);
    near(metric_of(k, "cpu_percent"), 7, 0);
    near(metric_of(k, "latency_max"), 226e6, 0);
    assert_string_equal(condition_of(k, "import.size"), "8096M");
    assert_string_equal(condition_of(k, "import.files"), "256");
    near(rate_of(find_kept("H", "bonnie", "read_block")), 134153 * 1024.0, 0);
    k = find_kept("H", "bonnie", "seeks");
    near(metric_of(k, "seeks_per_s"), 228.2, 0);
    assert_int_equal(k->trial.bytes, 0);
    near(metric_of(k, "latency_max"), 2016e6, 0);
    k = find_kept("H", "bonnie", "create_sequential");
    near(metric_of(k, "files_per_s"), 30301, 0);
    near(metric_of(k, "latency_max"), 300e6, 0);
    k = find_kept("H", "bonnie", "stat_random");
    assert_int_equal(k->trial.status, NM_STATUS_TOO_SHORT);
    assert_int_equal(k->trial.files, 0);
    near(metric_of(k, "latency_max"), 17e3, 0);
    assert_string_equal(k->source_text, "+++++");
    near(metric_of(find_kept("H", "bonnie", "delete_random"), "files_per_s"), 1558, 0);
}

static void test_import_bonnie_198_has_two_columns_more(void **state)
{
    const struct kept *k;

    (void)state;
    parse_text("bonnie", bonnie_198);
    assert_int_equal(n_kept, 12);
    near(rate_of(find_kept("H", "bonnie", "write_char")), 6 * 1024.0, 0);
    near(rate_of(find_kept("H", "bonnie", "write_block")), 51776 * 1024.0, 0);
    near(metric_of(find_kept("H", "bonnie", "seeks"), "seeks_per_s"), 8475, 0);
    near(metric_of(find_kept("H", "bonnie", "create_sequential"), "files_per_s"), 793, 0);
    k = find_kept("H", "bonnie", "delete_random");
    near(metric_of(k, "files_per_s"), 1416, 0);
    near(metric_of(k, "latency_max"), 12653e3, 0);
    assert_string_equal(condition_of(k, "import.size"), "63G");
}

static void test_import_bonnie_103_skips_what_was_not_run(void **state)
{
    (void)state;
    parse_text("bonnie", bonnie_103);
    assert_int_equal(n_kept, 10); /* per-char write and read are empty */
    near(rate_of(find_kept("H", "bonnie", "rewrite")), 39589 * 1024.0, 0);
    near(metric_of(find_kept("H", "bonnie", "seeks"), "seeks_per_s"), 7510.9, 0);
    assert_int_equal(find_kept("H", "bonnie", "delete_random")->trial.status, NM_STATUS_TOO_SHORT);
}

static void test_import_bonnie_text_around_and_zero(void **state)
{
    struct nm_error err;
    char text[2048];

    (void)state;
    snprintf(text, sizeof(text), "Writing a byte at a time...done\n%s%s", bonnie_196, bonnie_198);
    parse_text("bonnie", text);
    assert_int_equal(n_kept, 24);
    assert_int_equal(n_warnings, 1);
    assert_int_equal(kept[23].trial.pass, 2);
    parse_text("bonnie", "H,8G,0,0,65284,18,39589,8,,,96293,8,7510.9,6,16,,,,,,,,,,,,\n");
    assert_int_equal(kept[0].trial.status, NM_STATUS_MISSING); /* never 0 by accident */
    assert_int_equal(parse_with("bonnie", "a,b,c\n", &err), -EBADMSG);
    assert_int_equal(
        parse_with("bonnie", "H,8G,,,fast,18,39589,8,,,96293,8,7510.9,6,16,,,,,,,,,,,,\n", &err),
        -EBADMSG);
    assert_non_null(strstr(err.text, "line 1: write_block: \"fast\" is not a rate"));
}

/* Members that matter of fio 3.1. */
#define FIO_31                                                                                     \
    "{\"fio version\":\"fio-3.1\",\"timestamp\":1520000000,\"jobs\":[{\"jobname\":\"seqread\","    \
    "\"groupid\":0,\"error\":0,\"read\":{\"io_bytes\":1625501696,\"bw\":26456,\"iops\":6614.0,"    \
    "\"runtime\":60001,\"total_ios\":396851,\"clat_ns\":{\"min\":18446744073709551615,\"max\":5,"  \
    "\"percentile\":{\"1.000000\":10,\"99.000000\":142336,\"0.00\":0,\"0.00\":0,\"0.00\":0}},"     \
    "\"lat_ns\":{\"mean\":150000.5}},\"write\":{\"io_bytes\":0,\"runtime\":0}}]}"

static void test_import_fio_3(void **state)
{
    (void)state;
    parse_text("fio", FIO_31);
    assert_int_equal(n_kept, 1);
    assert_string_equal(kept[0].workload, "fio:seqread");
    assert_string_equal(kept[0].phase, "read");
    near(rate_of(&kept[0]), 27.09e6, .005e6);
    near(metric_of(&kept[0], "read_latency_p99"), 142336, 0);
    near(metric_of(&kept[0], "mean_latency"), 150000.5, 1e-6);
    near(metric_of(&kept[0], "iops"), 396851 / 60.001, 1e-6);
    assert_true(kept[0].trial.start_utc_ns == UINT64_C(1520000000000000000));
}

static void test_import_fio_2_counts_kib_and_us(void **state)
{
    (void)state;
    parse_text("fio", "{\"fio version\":\"fio-2.2.10\",\"jobs\":[{\"jobname\":\"w\",\"groupid\":0,"
                      "\"error\":0,\"write\":{\"io_bytes\":7116,\"bw\":275,\"iops\":68.98,"
                      "\"runtime\":25788,\"clat\":{\"max\":900,\"percentile\":{\"99.000000\":500}},"
                      "\"lat\":{\"mean\":250.5}}}]}");
    assert_int_equal(n_kept, 1);
    assert_int_equal(kept[0].trial.bytes, 7116 * 1024);
    assert_true(kept[0].trial.duration_ns == UINT64_C(25788000000));
    near(metric_of(&kept[0], "write_latency_p99"), 500e3, 0);
    near(metric_of(&kept[0], "write_latency_max"), 900e3, 0);
    near(metric_of(&kept[0], "mean_latency"), 250.5e3, 1e-6);
    near(metric_of(&kept[0], "iops"), 68.98, 1e-6);
}

static void test_import_fio_text_in_front(void **state)
{
    char text[4096] = "";
    struct nm_error err;

    (void)state;
    for (int i = 0; i < 20; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text),
                 "fio: pid=1%d, err=28/file:filesetup.c:150, func=write, error=No space\n", i);
    snprintf(text + strlen(text), sizeof(text) - strlen(text), "  %s", FIO_31);
    parse_text("fio", text);
    assert_int_equal(n_kept, 1);
    assert_int_equal(n_warnings, 20);
    assert_int_equal(parse_with("fio", "fio: nothing\n", &err), -EBADMSG);
    assert_int_equal(parse_with("fio", "{\"jobs\":[", &err), -EBADMSG);
    assert_int_equal(parse_with("fio", "{\"jobs\":[]}", &err), -EBADMSG);
}

static void test_import_fio_failed_job(void **state)
{
    (void)state;
    parse_text("fio", "{\"fio version\":\"fio-3.33\",\"jobs\":[{\"jobname\":\"full\",\"groupid\":0,"
                      "\"error\":28,\"job options\":{\"rw\":\"randwrite\",\"bs\":\"4k\"},"
                      "\"read\":{\"io_bytes\":0,\"io_kbytes\":0,\"runtime\":0},"
                      "\"write\":{\"io_bytes\":0,\"io_kbytes\":0,\"runtime\":0}}]}");
    assert_int_equal(n_kept, 1);
    assert_int_equal(kept[0].trial.status, NM_STATUS_FAILED);
    assert_int_equal(kept[0].trial.reason, NM_REASON_NO_SPACE);
    assert_string_equal(kept[0].raw, "fio error 28");
    assert_string_equal(kept[0].phase, "write");
    assert_string_equal(condition_of(&kept[0], "block_bytes"), "4096");
}

static void test_import_fio_groups(void **state)
{
#define PART "\"read\":{\"io_bytes\":1000000,\"io_kbytes\":976,\"runtime\":%d,\"total_ios\":10}"
    static const char format[] =
        "{\"fio version\":\"fio-3.33\",\"jobs\":["
        "{\"jobname\":\"a\",\"groupid\":0,\"error\":0," PART "},"
        "{\"jobname\":\"a\",\"groupid\":0,\"error\":0," PART "},"
        "{\"jobname\":\"a\",\"groupid\":1,\"error\":0," PART "},"
        "{\"jobname\":\"b\",\"groupid\":1,\"error\":0," PART "},"
        "{\"jobname\":\"All clients\",\"groupid\":1,\"error\":0," PART "}]}";
    char text[2048];

    (void)state;
    snprintf(text, sizeof(text), format, 1000, 2000, 500, 500, 500);
    parse_text("fio", text);
    assert_int_equal(n_kept, 3);
    assert_int_equal(kept[0].trial.streams, 2); /* two processes are one trial */
    assert_int_equal(kept[0].trial.bytes, 2000000);
    assert_true(kept[0].trial.duration_ns == 2000000000);
    assert_string_equal(kept[0].flags, "");
    assert_int_equal(kept[1].trial.pass, 2); /* the same job again, in another group */
    assert_string_equal(kept[1].flags, "shared-load");
    assert_string_equal(kept[2].workload, "fio:b");
}

static void test_import_crystaldiskmark_8(void **state)
{
    static const char text[] =
        "------------------------------------------------------------------------------\n"
        "CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo\r\n"
        "* MB/s = 1,000,000 bytes/s [SATA/600 = 600,000,000 bytes/s]\r\n"
        "\r\n"
        "[Read]\r\n"
        "  SEQ    1MiB (Q=  8, T= 1):   384.064 MB/s [    366.3 IOPS] < 21765.43 us>\r\n"
        "  RND    4KiB (Q= 32, T=16):     1.500 MB/s [    366.2 IOPS] <   380.48 us>\r\n"
        "[Write]\r\n"
        "  SEQ  128KiB (Q= 32, T= 1):     0.000 MB/s [      0.0 IOPS] <     0.00 us>\r\n"
        "  RND    4KiB (Q=  1, T= 1):     2.000 MB/s [    488.3 IOPS] <  2000.00 us>\r\n"
        "[Mix] Read 70%/Write 30%\r\n"
        "  SEQ    1MiB (Q=  1, T= 1):   200.000 MB/s [    190.7 IOPS] <  5000.00 us>\r\n"
        "Profile: Default\r\n"
        "   Test: 1 GiB (x5) [C: 46% (217/476GiB)]\r\n"
        "   Date: 2021/11/05 10:33:53\r\n"
        "     OS: Windows 10 Professional [10.0 Build 19043] (x64)\r\n";

    (void)state;
    parse_text("crystaldiskmark", text);
    assert_int_equal(n_kept, 4);
    assert_int_equal(n_warnings, 1); /* 0.000 was not run */
    assert_string_equal(kept[0].workload, "crystaldiskmark");
    assert_string_equal(kept[0].phase, "seq1MiB-q8t1-read");
    near(rate_of(&kept[0]), 384.064e6, 0);
    assert_string_equal(kept[0].source_text, "384.064 MB/s");
    near(metric_of(&kept[0], "iops"), 366.3, 0);
    near(metric_of(&kept[0], "mean_latency"), 21765430, 1);
    assert_string_equal(condition_of(&kept[0], "block_bytes"), "1048576");
    assert_string_equal(condition_of(&kept[0], "depth"), "8");
    assert_string_equal(condition_of(&kept[0], "import.profile"), "Default");
    assert_string_equal(condition_of(&kept[0], "import.size"), "1 GiB");
    assert_string_equal(condition_of(&kept[0], "import.loops"), "5");
    assert_string_equal(condition_of(&kept[0], "import.date"), "2021/11/05 10:33:53");
    assert_string_equal(kept[1].phase, "rnd4KiB-q32t16-read");
    assert_string_equal(condition_of(&kept[1], "streams"), "16");
    assert_string_equal(kept[2].phase, "rnd4KiB-q1t1-write");
    assert_true(kept[2].trial.phase_writes);
    assert_string_equal(kept[3].phase, "seq1MiB-q1t1-mix70");
}

static void test_import_crystaldiskmark_older(void **state)
{
    static const struct {
        const char *line, *phase;
        double mb_per_s;
    } rows[] = {
        {"   Sequential Read (Q= 32,T= 1) :    91.559 MB/s\n", "seq128KiB-q32t1-read", 91.559},
        {"          Sequential Read (T= 1) :   156.034 MB/s\n", "seq1MiB-q1t1-read", 156.034},
        {"  Random Write 4KiB (Q=  8,T= 8) :     3.173 MB/s [    774.7 IOPS]\n",
         "rnd4KiB-q8t8-write", 3.173},
        {"           Sequential Read :   505.825 MB/s\n", "seq1MiB-q1t1-read", 505.825},
        {"        Random Write 512KB :   190.461 MB/s\n", "rnd512KiB-q1t1-write", 190.461},
        {"   Random Read 4KB (QD=32) :   271.859 MB/s [ 66371.9 IOPS]\n", "rnd4KiB-q32t1-read",
         271.859},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        parse_text("crystaldiskmark", rows[i].line);
        assert_int_equal(n_kept, 1);
        assert_string_equal(kept[0].phase, rows[i].phase);
        near(rate_of(&kept[0]), rows[i].mb_per_s * 1e6, .5);
    }
    parse_text("crystaldiskmark",
               "   Sequential Read (Q= 32,T= 1) :    91.559 MB/s\n\n"
               "  Test : 1024 MiB [C: 46.0% (1/2 GiB)] (x3)  [Interval=5 sec]\n");
    assert_string_equal(condition_of(&kept[0], "import.size"), "1024 MiB");
    assert_string_equal(condition_of(&kept[0], "import.loops"), "3");
}

static void test_import_kdiskmark_names_its_unit(void **state)
{
    static const char line[] = "[Read]\nSequential   1 MiB (Q=  8, T= 1): 20725.404 MB/s "
                               "[  20239.7 IOPS] <   380.48 us>\n";
    static const char old[] = "[Read]\nSequential 1 MiB (Q= 8, T= 1):   528.053 MB/s "
                              "[    528.1 IOPS] < 14449.94 us>\n";

    (void)state;
    parse_text("kdiskmark", line);
    assert_string_equal(kept[0].workload, "kdiskmark");
    near(rate_of(&kept[0]), 20725.404e6, 0); /* as printed */
    near(metric_of(&kept[0], "iops"), 20239.7, 0);
    assert_string_equal(kept[0].source_text, "20725.404 MB/s (of 1000 KiB/s)");
    assert_string_equal(condition_of(&kept[0], "import.unit"), "1000 KiB/s");
    parse_text("kdiskmark", old);
    assert_string_equal(condition_of(&kept[0], "import.unit"), "1 MiB/s");
    parse_text("crystaldiskmark", line);
    assert_string_equal(condition_of(&kept[0], "import.unit"), "1000000 B/s");
}

static void test_import_dd_dialects(void **state)
{
    static const struct {
        const char *text, *source_text;
        double bytes, seconds;
    } rows[] = {
        {"1073741824 bytes (1.1 GB, 1.0 GiB) copied, 17.6713 s, 60.8 MB/s", "60.8 MB/s", 1073741824,
         17.6713},
        {"1073741824 bytes (1.1 GB) copied, 17.6713 s, 60.8 MB/s\r\n", "60.8 MB/s", 1073741824,
         17.6713},
        {"104857600 bytes (100.0MB) copied, 0.054862 seconds, 1.8GB/s", "1.8 GB/s", 104857600,
         .054862},
        {"1073741824 байт (1,1 GB, 1,0 GiB) скопировано, 17,6713 s, 60,8 MB/s", "60.8 MB/s",
         1073741824, 17.6713},
        {"1048576字节(1.0 MB，1.0 MiB)已复制，0.000517593 s，2.0 GB/s", "2.0 GB/s", 1048576,
         .000517593},
        {"1073741824 bytes transferred in 17.671300 secs (60761900 bytes/sec)",
         "60761900 bytes/sec", 1073741824, 17.6713},
        {"512 bytes copied, 9.0718e-05 s, 5.6 MB/s", "5.6 MB/s", 512, 9.0718e-05},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        parse_text("dd", rows[i].text);
        assert_int_equal(n_kept, 1);
        near((double)kept[0].trial.bytes, rows[i].bytes, 0);
        near((double)kept[0].trial.duration_ns, rows[i].seconds * 1e9, 1);
        assert_string_equal(kept[0].source_text, rows[i].source_text);
    }
}

static void test_import_dd_five_runs_with_time(void **state)
{
    char text[2048] = "$ for i in 1 2 3; do time dd ...; done\n";

    (void)state;
    for (int i = 0; i < 3; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text),
                 "32768+0 records in\n32768+0 records out\n"
                 "4294967296 bytes (4.3 GB) copied, 39.%d s, 109 MB/s\n\n"
                 "real\t0m40.107s\nuser\t0m0.053s\nsys\t0m8.217s\n",
                 i);
    parse_text("dd", text);
    assert_int_equal(n_kept, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(kept[i].trial.pass, i + 1);
        near(metric_of(&kept[i], "real_s"), 40.107, 0);
        assert_true(kept[i].trial.cpu_ns == UINT64_C(8270000000));
        assert_string_equal(condition_of(&kept[i], "block_bytes"), "131072");
    }
    assert_int_equal(n_warnings, 1);
}

static void test_import_dd_failures_and_progress(void **state)
{
    struct nm_error err;

    (void)state;
    parse_text("dd", "dd: failed to open 'x': Permission denied\n"
                     "dd: error writing 'x': No space left on device\n"
                     "9+0 records in\n8+0 records out\n"
                     "8388608 bytes (8.4 MB, 8.0 MiB) copied, 0.01 s, 800 MB/s\n"
                     "1048576 bytes (1.0 MB) copied, 1 s, 1.0 MB/s\r2097152 bytes (2.1 MB) copied, "
                     "2 s, 1.0 MB/s\n"
                     "2+0 records in\n2+0 records out\n"
                     "2097152 bytes (2.1 MB, 2.0 MiB) copied, 2.1 s, 1.0 MB/s\n");
    assert_int_equal(n_kept, 3);
    assert_int_equal(kept[0].trial.reason, NM_REASON_AUTH);
    assert_int_equal(kept[1].trial.status, NM_STATUS_FAILED);
    assert_int_equal(kept[1].trial.reason, NM_REASON_NO_SPACE);
    assert_int_equal(kept[1].trial.bytes, 0);
    assert_int_equal(kept[2].trial.status, NM_STATUS_OK);
    assert_int_equal(kept[2].trial.bytes, 2097152);
    parse_text("dd", "0 bytes copied, 0.0000 s, Infinity B/s 0.0 kB/s\n");
    assert_int_equal(kept[0].trial.status, NM_STATUS_TOO_SHORT);
    assert_int_equal(parse_with("dd", "nothing here\n", &err), -EBADMSG);
}

static void test_import_empty_and_binary_text(void **state)
{
    static const char junk[] = "\xff\xfe\x01{\"\x80,,,\n:::(Q=\n[Read]\nMB/s\n1 2 3 /\n+++\n";

    (void)state;
    for (const struct nm_importer *const *p = nm_importer_table; *p; p++) {
        struct nm_error err = {0};

        assert_true(parse_with((*p)->name, "", &err) < 0);
        assert_true(*err.text);
        assert_true(parse_with((*p)->name, junk, &err) < 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_import_bonnie_196),
        cmocka_unit_test(test_import_bonnie_198_has_two_columns_more),
        cmocka_unit_test(test_import_bonnie_103_skips_what_was_not_run),
        cmocka_unit_test(test_import_bonnie_text_around_and_zero),
        cmocka_unit_test(test_import_fio_3),
        cmocka_unit_test(test_import_fio_2_counts_kib_and_us),
        cmocka_unit_test(test_import_fio_text_in_front),
        cmocka_unit_test(test_import_fio_failed_job),
        cmocka_unit_test(test_import_fio_groups),
        cmocka_unit_test(test_import_crystaldiskmark_8),
        cmocka_unit_test(test_import_crystaldiskmark_older),
        cmocka_unit_test(test_import_kdiskmark_names_its_unit),
        cmocka_unit_test(test_import_dd_dialects),
        cmocka_unit_test(test_import_dd_five_runs_with_time),
        cmocka_unit_test(test_import_dd_failures_and_progress),
        cmocka_unit_test(test_import_empty_and_binary_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
