/* Tables from cells made by hand: digits, marks, the best, what is never 0; the golden tests show
 * the whole pages.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "table.h"

#include "clock.h"
#include "escape.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CELLS_MAX 64

static struct nm_cell items[CELLS_MAX];
static struct nm_trial trials[CELLS_MAX];
static struct nm_cells cells = {.items = items};
static const struct nm_metrics no_metrics;
static const struct nm_conditions no_conditions;
static struct nm_table_style style;

static int setup(void **state)
{
    (void)state;
    cells.count = 0;
    style = (struct nm_table_style){.digits = -1, .language = "en"};
    return 0;
}

/* A cell with one trial of this rate; NAN = no number. */
static struct nm_cell *add(const char *volume, const char *phase, double bytes_per_s)
{
    struct nm_cell *cell = &items[cells.count];
    struct nm_trial *trial = &trials[cells.count++];
    bool ok = isfinite(bytes_per_s);

    *trial = (struct nm_trial){.id = (int64_t)cells.count,
                               .run = "00000000",
                               .status = ok ? NM_STATUS_OK : NM_STATUS_MISSING,
                               .bytes = 1000000000,
                               .duration_ns = ok ? (uint64_t)(1e18 / bytes_per_s) : 0,
                               .source = "measured",
                               .metrics = &no_metrics};
    *cell = (struct nm_cell){.nas = "nas",
                             .firmware = "1",
                             .campaign_id = 1,
                             .volume = volume,
                             .kind = "other",
                             .protocol = "smb",
                             .workload = "copy:1x2GB",
                             .phase = phase,
                             .phase_index = strcmp(phase, "upload") != 0,
                             .phase_writes = !strcmp(phase, "upload"),
                             .conditions_hash = "x",
                             .conditions = &no_conditions,
                             .trials = trial,
                             .n_trials = 1,
                             .status = ok ? NM_CELL_OK : NM_CELL_MISSING,
                             .n_ok = ok,
                             .bytes_per_s = bytes_per_s,
                             .min_bytes_per_s = bytes_per_s,
                             .max_bytes_per_s = bytes_per_s,
                             .files_per_s = NAN};
    return cell;
}

static char *print(const char *format)
{
    struct nm_error err = {0};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    if (nm_table_write(&cells, format, &style, out, &err) < 0)
        fail_msg("%s", err.text);
    fclose(out);
    return text;
}

static void assert_prints(const char *format, const char *part)
{
    char *text = print(format);

    if (!strstr(text, part))
        fail_msg("no '%s' in:\n%s", part, text);
    free(text);
}

static void assert_lacks(const char *format, const char *part)
{
    char *text = print(format);

    if (strstr(text, part))
        fail_msg("'%s' in:\n%s", part, text);
    free(text);
}

static void test_table_units_are_powers_of_ten_or_two_by_name(void **state)
{
    (void)state;
    add("v", "upload", 1048576); /* a MiB in a second */
    style.digits = 3;
    assert_prints("text", "[MB/s]");
    assert_prints("text", " 1.049");
    style.mebi = true;
    assert_prints("text", "[MiB/s]");
    assert_prints("text", " 1.000");
    assert_prints("csv", ",1048576,");
}

static void test_table_small_is_not_zero_and_every_format_agrees(void **state)
{
    static const struct {
        double bytes_per_s;
        const char *digits, *polish;
    } rows[] = {
        {4000, "0.0040", "0,0040"}, {96000, "0.096", "0,096"},    {110000, "0.11", "0,11"},
        {4990000, "4.99", "4,99"},  {99950000, "100.0", "100,0"}, {1234567890, "1234.6", "1234,6"},
    };
    char cell[40];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cells.count = 0;
        add("v", "upload", rows[i].bytes_per_s);
        style.language = "en";
        assert_prints("text", rows[i].digits);
        snprintf(cell, sizeof(cell), "| v | %s |", rows[i].digits);
        assert_prints("md", cell);
        snprintf(cell, sizeof(cell), ">%s</td>", rows[i].digits);
        assert_prints("html", cell);
        snprintf(cell, sizeof(cell), "& %s \\\\", rows[i].digits);
        assert_prints("tex", cell);
        style.language = "pl";
        assert_prints("text", rows[i].polish);
        assert_prints("html", rows[i].polish);
    }
}

static void test_table_imported_values_keep_their_digits(void **state)
{
    (void)state;
    add("v", "upload", 47e6)->trials[0].source_text = "47 MB/s";
    add("v", "download", 78e6)->trials[0].source_text = "78.00 MB/s";
    assert_prints("md", "| v | 47 | 78.00 |");
    style.digits = 1;
    assert_prints("md", "| v | 47.0 | 78.0 |");
    style.digits = -1;
    trials[0].source_text = "45898.4 KiB/s"; /* another unit: the rule */
    assert_prints("md", "| v | 47.0 | 78.00 |");
}

static void test_table_marks_the_best(void **state)
{
    struct nm_cell *fast;

    (void)state;
    add("a", "upload", 50.01e6);
    assert_lacks("md", "**"); /* nothing to be better than */
    add("b", "upload", 50.04e6);
    add("c", "upload", 49e6);
    add("d", "upload", NAN);
    assert_prints("md", "| a | **50.0** |"); /* prints the same as the best */
    assert_prints("md", "| b | **50.0** |");
    assert_prints("md", "| c | 49.0 |");
    assert_prints("md", "| d | not run |");
    assert_prints("html", "<b>50.0</b>");
    assert_prints("tex", "\\textbf{50.0}");
    assert_prints("text", "*50.0");
    style.color = true;
    assert_prints("text", "\033[1m50.0\033[0m");
    assert_lacks("text", "*");

    fast = add("e", "upload", 900e6);
    snprintf(fast->flags, sizeof(fast->flags), "cached");
    assert_prints("md", "| e | 900.0 (a) |"); /* a cache wins nothing */
    assert_prints("md", "| b | **50.0** |");
    snprintf(fast->flags, sizeof(fast->flags), "server-cached");
    assert_prints("md", "| e | **900.0** (a) |");
}

static void test_table_best_of_a_metric_can_be_the_lowest(void **state)
{
    static struct nm_metrics slow, quick;

    (void)state;
    slow.count = quick.count = 0;
    nm_metrics_add(&slow, "access", "ns", NM_BETTER_LOWER, NM_SUMMARY_MEDIAN, 12.5e6);
    nm_metrics_add(&quick, "access", "ns", NM_BETTER_LOWER, NM_SUMMARY_MEDIAN, 8.25e6);
    for (int i = 0; i < 2; i++) {
        struct nm_cell *cell = add(i ? "b" : "a", "access", 1);

        cell->bytes_per_s = NAN;
        trials[i].bytes = 0;
        trials[i].metrics = i ? &quick : &slow;
    }
    assert_prints("md", "| a | 12.5 ms |");
    assert_prints("md", "| b | **8.25 ms** |");
    style.language = "pl";
    assert_prints("md", "| b | **8,25 ms** |");
}

static void test_table_sets_what_disagrees_apart(void **state)
{
    static struct nm_conditions old, new;

    (void)state;
    old.count = new.count = 0;
    nm_conditions_set(&old, "smb.dialect", "2.1");
    nm_conditions_set(&new, "smb.dialect", "3.1.1");
    add("a", "upload", 1e6)->conditions = &new;
    add("b", "upload", 2e6)->conditions = &old;
    add("c", "upload", 3e6)->conditions = &new;
    for (size_t i = 0; i < cells.count; i++)
        items[i].conditions_hash = items[i].conditions == &old ? "old" : "new";
    assert_prints("md", "smb.dialect = 3.1.1\n\n| Volume | Upload |\n|:---|---:|\n| a | 1.00 |\n"
                        "| c | **3.00** |\n"); /* b was run: the next table has it */
    assert_prints("md", "smb.dialect = 2.1\n\n| Volume | Upload |\n|:---|---:|\n| b | 2.00 |\n");
    /* What the rows are about may differ. */
    for (size_t i = 0; i < cells.count; i++)
        items[i].volume = "v";
    items[1].protocol = "nfs";
    cells.count = 2;
    style.by = NM_TABLE_BY_PROTOCOL;
    assert_prints("md", "| SMB | 1.00 |\n| NFS | **2.00** |\n");
}

static void test_table_rows_of_other_publications_are_no_gaps(void **state)
{
    (void)state;
    add("a", "upload", 1e6);
    add("b", "upload", 2e6)->workload = "copy:1000x2MB";
    assert_prints("md", "| a | 1.00 |\n| b | not run |\n"); /* a plan measures both on both */
    items[0].imported = items[1].imported = true;
    assert_lacks("md", "not run");
    items[1].workload = items[0].workload; /* protocols of one table are compared side by side */
    items[1].protocol = "nfs";
    assert_prints("md", "| a | 1.00 |\n| b | not run |\n");
}

static void test_table_counts_what_a_part_is_of(void **state)
{
    static struct nm_trial three[3];
    struct nm_cell *cell;

    (void)state;
    cell = add("a", "upload", 1e6);
    for (size_t i = 0; i < 3; i++)
        three[i] = *cell->trials;
    three[0].status = three[2].status = NM_STATUS_TOO_SHORT;
    cell->trials = three;
    cell->n_trials = 3;
    cell->status = NM_CELL_PARTIAL;
    assert_prints("text", "n = 1 of 3\n");
    cell->n_failed = 1;
    three[0].status = NM_STATUS_FAILED;
    three[0].reason = NM_REASON_TIMEOUT;
    assert_prints("text", "n = 1, failed: 1 (timeout)\n");
}

static void test_table_names_volumes(void **state)
{
    struct nm_cell *cell;

    (void)state;
    add("a", "upload", 1e6)->kind = "single";
    assert_prints("md", "| Single volume |");
    cell = add("b", "upload", 2e6);
    cell->kind = "single";
    assert_prints("md", "| Single volume (a) | 1.00 |");
    assert_prints("md", "| Single volume (b) | **2.00** |");
    cell->label = "Mine";
    assert_prints("md", "| Single volume | 1.00 |");
    assert_prints("md", "| Mine |");
    cell->label = NULL;
    cell->kind = "usb";
    assert_prints("md", "| USB 3.0 disk |");
    cell->interface = "USB 2.0";
    style.language = "pl";
    assert_prints("md", "| dysk USB 2.0 |");
    assert_prints("md", "| Pojedynczy wolumin |");
}

static void test_table_titles_of_the_copy_procedure(void **state)
{
    static const struct {
        const char *workload, *title;
    } rows[] = {
        {"copy:1x2GB", "Kopiowanie dużego pliku (2 GB)"},
        {"copy:1000x2MB", "Kopiowanie małych plików (1000x2 MB)"},
        {"copy:10000x2KB", "Kopiowanie małych plików (10000x2 KB)"},
        {"copy:1x64KiB", "Kopiowanie pliku (64 KiB)"},
        {"copy:5x1GiB", "Kopiowanie plików (5x1 GiB)"},
        {"copy:1x2GB,50x2MB", "Kopiowanie plików (1x2 GB, 50x2 MB)"},
        {"copy:odd", "Kopiowanie plików (odd)"},
        {"bonnie:2GiB", "bonnie-like:2GiB"}, /* over a network */
    };

    (void)state;
    style.language = "pl";
    add("v", "upload", 1e6);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char line[120];

        items[0].workload = rows[i].workload;
        snprintf(line, sizeof(line), "\n%s\nProtokół: SMB [MB/s]\n", rows[i].title);
        assert_prints("text", line);
    }
}

static void test_table_survives_a_great_many_notes_and_columns(void **state)
{
    static char names[CELLS_MAX][16];

    (void)state;
    for (int i = 0; i < CELLS_MAX; i++) {
        struct nm_cell *cell;

        snprintf(names[i], sizeof(names[i]), "phase%02d", i);
        cell = add("v", names[i], 1e6 * (i + 1));
        cell->phase_index = i;
        snprintf(cell->flags, sizeof(cell->flags), "flag%d", i);
    }
    assert_prints("text", "(x) flag23\n"); /* as many as there are letters for */
    assert_lacks("text", "flag24");
    assert_prints("csv", "phase63,ok,1,0,64000000,");
    assert_prints("md", "phase63");
}

static void test_table_of_nothing(void **state)
{
    struct nm_error err;
    char *text = print("text");

    (void)state;
    assert_string_equal(text, "");
    free(text);
    assert_prints("json", "\"tables\": []");
    assert_prints("html", "</html>");
    assert_int_equal(nm_table_write(&cells, "pdf", &style, stdout, &err), -EINVAL);
    style.language = "xx";
    assert_int_equal(nm_table_write(&cells, "text", &style, stdout, &err), -EINVAL);
    assert_int_equal(nm_table_by_parse("volume"), NM_TABLE_BY_VOLUME);
    assert_int_equal(nm_table_by_parse("colour"), -1);
}

static void test_table_width_of_texts(void **state)
{
    (void)state;
    assert_int_equal(nm_escape_width("abc"), 3);
    assert_int_equal(nm_escape_width("\u65e5\u672c"), 4);
    assert_int_equal(nm_escape_width("e\u0301"), 1);
    assert_int_equal(nm_escape_width("\u0142\u00f3d\u017a"), 4);
    assert_int_equal(nm_escape_width("a\xff"), 2); /* not UTF-8: still counted, never overrun */
    assert_int_equal(nm_escape_width("\xe6\x97"), 2);
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_table_units_are_powers_of_ten_or_two_by_name),
        TEST(test_table_small_is_not_zero_and_every_format_agrees),
        TEST(test_table_imported_values_keep_their_digits),
        TEST(test_table_marks_the_best),
        TEST(test_table_best_of_a_metric_can_be_the_lowest),
        TEST(test_table_sets_what_disagrees_apart),
        TEST(test_table_rows_of_other_publications_are_no_gaps),
        TEST(test_table_counts_what_a_part_is_of),
        TEST(test_table_names_volumes),
        TEST(test_table_titles_of_the_copy_procedure),
        TEST(test_table_survives_a_great_many_notes_and_columns),
        TEST(test_table_of_nothing),
        TEST(test_table_width_of_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
