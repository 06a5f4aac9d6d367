/* Importer csv: the trial layout and the published tables in tests/data/reference, and numbers in
 * any locale.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "import_sink.h"

#include <errno.h>
#include <locale.h>

#define HEADER "nas,firmware,volume,kind,protocol,workload,phase,pass,trial,bytes,duration_ns"

static void parse_file(const char *name)
{
    static char text[65536];
    char path[512];
    FILE *file;
    size_t length;

    snprintf(path, sizeof(path), "%s/data/reference/%s", NM_TEST_DATA, name);
    file = fopen(path, "r");
    assert_non_null(file);
    length = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[length] = '\0';
    parse_text("csv", text);
}

static void test_import_csv_trials(void **state)
{
    const struct kept *k;

    (void)state;
    parse_text("csv",
               "\xef\xbb\xbf# made by hand\n" HEADER ",smb.dialect,jumbo,mtu,firmware_date,source\n"
               "nas1,6.1.2,\"a, \"\"b\"\"\",raid5,smb,1x2GB,upload,2,5,2000000000,"
               "42283298097,3.1.1,yes,9000,2013-08-20,memory\r\n"
               "'=nas1,6.1.2,single,single,nfs,copy 1000x2MB,download,1,1,,,,,,,\n");
    assert_int_equal(n_kept, 2);
    assert_int_equal(n_notes, 1);
    k = &kept[0];
    assert_string_equal(k->nas, "nas1");
    assert_string_equal(k->firmware, "6.1.2");
    assert_string_equal(k->volume, "a, \"b\"");
    assert_string_equal(k->kind, "raid5");
    assert_string_equal(k->workload, "copy:1x2GB");
    assert_true(k->trial.phase_writes);
    assert_int_equal(k->trial.pass, 2);
    assert_int_equal(k->trial.bytes, 2000000000);
    assert_true(k->trial.duration_ns == UINT64_C(42283298097));
    assert_int_equal(k->trial.files, 1);
    assert_string_equal(condition_of(k, "smb.dialect"), "3.1.1");
    assert_string_equal(condition_of(k, "import.columns"), "jumbo=yes mtu=9000");
    assert_string_equal(condition_of(k, "source"), "memory");
    assert_string_equal(k->firmware_date, "2013-08-20");
    k = &kept[1];
    assert_string_equal(k->nas, "=nas1"); /* guarded against spreadsheets */
    assert_string_equal(k->workload, "copy:1000x2MB");
    assert_int_equal(k->trial.status, NM_STATUS_MISSING);
    assert_false(k->trial.phase_writes);
}

static void test_import_csv_status_columns(void **state)
{
    (void)state;
    parse_text("csv", HEADER ",status,reason,raw,message,label,flags\n"
                             "n,1,v,single,smb,1x2GB,upload,1,1,,,failed,no_space,NT_X,full,My "
                             "disk,link\n"
                             "n,1,v,single,smb,1x2GB,upload,2,2,5,0,ok,,,,,\n"
                             "n,1,v,single,smb,1x2GB,upload,3,3,,,na,,,,,\n");
    assert_int_equal(kept[0].trial.status, NM_STATUS_FAILED);
    assert_int_equal(kept[0].trial.reason, NM_REASON_NO_SPACE);
    assert_string_equal(kept[0].raw, "NT_X");
    assert_string_equal(kept[0].flags, "link");
    assert_int_equal(kept[1].trial.status, NM_STATUS_TOO_SHORT);
    assert_int_equal(kept[1].trial.bytes, 0);
    assert_int_equal(kept[2].trial.status, NM_STATUS_NA);
}

static void test_import_csv_quoted_line_ends(void **state)
{
    struct nm_error err;

    (void)state;
    parse_text("csv", HEADER ",message\n"
                             "# a \"remark\" is one line, \"whatever is in it\n"
                             "n,1,\"two\r\nlines\",single,smb,1x2GB,upload,1,1,5,1,\"x\n\"\"\ny\"\n"
                             "n,1,5\" disk,single,smb,1x2GB,upload,1,1,5,1,\n");
    assert_int_equal(n_kept, 2);
    assert_string_equal(kept[0].volume, "two  lines");
    assert_string_equal(kept[0].message, "x \" y");
    assert_string_equal(kept[1].volume, "5\" disk");
    assert_int_equal(parse_with("csv",
                                HEADER "\nn,1,\"v,single,smb,1x2GB,upload,1,1,5,1\n"
                                       "n,1,v,single,smb,1x2GB,upload,1,1,5,1\n",
                                &err),
                     -EBADMSG);
    assert_non_null(strstr(err.text, "line 2: a quote is not closed"));
}

static void test_import_csv_names_line_and_column(void **state)
{
    static const struct {
        const char *row, *says;
    } rows[] = {
        {"n,1,v,single,smb,1x2GB,upload,1,1,2e9,1", "line 2: bytes \"2e9\""},
        {"n,1,v,single,smb,1x2GB,upload,1,1,-5,1", "line 2: bytes \"-5\""},
        {"n,1,v,single,smb,1x2GB,upload,1,1,5", "line 2: 10 fields, the header has 11"},
        {"n,1,v,raid55,smb,1x2GB,upload,1,1,5,1", "did you mean raid5?"},
        {",1,v,single,smb,1x2GB,upload,1,1,5,1", "nas \"\": may not be empty"},
        {"n,1,v,single,smb,1x2GB,upload,1,1,5,", "duration_ns \"\": missing beside bytes"},
        {"n,1,v,single,smb,1x2GB,upload,1,1,5,99999999999999999999", "duration_ns"},
    };
    struct nm_error err;
    char text[512];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        snprintf(text, sizeof(text), HEADER "\n%s\n", rows[i].row);
        assert_int_equal(parse_with("csv", text, &err), -EBADMSG);
        if (!strstr(err.text, rows[i].says))
            fail_msg("\"%s\" does not say \"%s\"", err.text, rows[i].says);
    }
    assert_int_equal(parse_with("csv", "a,b,c\n1,2,3\n", &err), -EBADMSG);
    assert_non_null(strstr(err.text, "header is none that is known"));
    assert_int_equal(parse_with("csv", HEADER "\n", &err), -EBADMSG);
}

static void test_import_csv_published_copies(void **state)
{
    const struct kept *k;

    (void)state;
    parse_file("readynas-104.csv");
    assert_int_equal(n_kept, 84);
    assert_int_equal(n_notes, 4);
    k = &kept[0];
    assert_string_equal(k->nas, "box");
    assert_string_equal(k->volume, "Single volume");
    assert_string_equal(k->kind, "single");
    assert_string_equal(k->workload, "copy:1x2GB");
    assert_string_equal(k->source_text, "47.3 MB/s");
    assert_int_equal(k->trial.bytes, 2000000000);
    near(rate_of(k), 47.3e6, 1e-3);
    assert_string_equal(kept[1].source_text, "78.0 MB/s");
    k = find_kept("USB 3.0 disk", "copy:10000x2KB", "download");
    assert_string_equal(k->source_text, "0.20 MB/s");
    assert_int_equal(k->trial.files, 10000);
    for (size_t i = 0; i < n_kept; i++)
        if (!strcmp(kept[i].volume, "USB 3.0 disk") && !strcmp(kept[i].protocol, "iscsi"))
            assert_int_equal(kept[i].trial.status, NM_STATUS_NA);
        else
            assert_int_equal(kept[i].trial.status, NM_STATUS_OK);
}

static void test_import_csv_published_bonnie(void **state)
{
    const struct kept *k;

    (void)state;
    parse_file("usb3-filesystems-bonnie.csv");
    assert_int_equal(n_kept, 18);
    k = find_kept("EXT-4", "bonnie", "read_block");
    near(rate_of(k), 118.5e6, .05e6); /* 113 MiB/s */
    near(rate_of(k) / 1048576, 113, .05);
    near(metric_of(k, "latency_max"), 149e6, 0);
    near(metric_of(find_kept("NTFS", "bonnie", "seeks"), "seeks_per_s"), 83.4, 0);
    near(rate_of(find_kept("NTFS", "bonnie", "write_char")), 10240, 0);
}

static void test_import_csv_published_drives_and_dd(void **state)
{
    const struct kept *k;

    (void)state;
    parse_file("usb3-disks.csv");
    assert_int_equal(n_kept, 5);
    assert_string_equal(kept[4].volume, "Seagate ST1000DM003 USB 2.0 whole disk");
    assert_string_equal(kept[4].source_text, "30 MB/s");
    assert_string_equal(condition_of(&kept[3], "import.note"), "spread 200 down to 50");
    parse_file("dd-alignment.csv");
    assert_int_equal(n_kept, 10);
    k = &kept[1];
    assert_string_equal(k->volume, "misaligned");
    assert_int_equal(k->trial.pass, 2);
    near(rate_of(k), 4294967296 / 133.031, 1);
    assert_string_equal(k->source_text, "32.3 MB/s");
    near(metric_of(k, "real_s"), 139.676, 0);
    assert_string_equal(condition_of(k, "import.note"), "start sector 63");
}

static void test_import_csv_locale_does_not_matter(void **state)
{
    static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "pl_PL.UTF-8"};
    static struct kept plain[KEPT_MAX];
    bool any = false;

    (void)state;
    parse_file("readynas-104.csv");
    memcpy(plain, kept, sizeof(kept));
    for (size_t i = 0; i < sizeof(locales) / sizeof(locales[0]); i++) {
        if (!setlocale(LC_ALL, locales[i]))
            continue;
        any = true;
        memset(kept, 0, sizeof(kept));
        parse_file("readynas-104.csv");
        for (size_t k = 0; k < n_kept; k++) {
            assert_int_equal(kept[k].trial.bytes, plain[k].trial.bytes);
            assert_int_equal(kept[k].trial.duration_ns, plain[k].trial.duration_ns);
            assert_string_equal(kept[k].source_text, plain[k].source_text);
        }
    }
    setlocale(LC_ALL, "C");
    if (!any)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_import_csv_trials),
        cmocka_unit_test(test_import_csv_status_columns),
        cmocka_unit_test(test_import_csv_quoted_line_ends),
        cmocka_unit_test(test_import_csv_names_line_and_column),
        cmocka_unit_test(test_import_csv_published_copies),
        cmocka_unit_test(test_import_csv_published_bonnie),
        cmocka_unit_test(test_import_csv_published_drives_and_dd),
        cmocka_unit_test(test_import_csv_locale_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
