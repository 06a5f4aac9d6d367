/* Whole files into a store: all or nothing, only once, and joining another database.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_fixture.h"

#include "import/import.h"
#include "select.h"

#include <errno.h>
#include <math.h>

static char *write_file(const struct place *place, const char *name, const char *text)
{
    static char path[128];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", place->directory, name);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

static struct nm_import_result import(struct nm_store *store, const char *format, const char *path,
                                      const struct nm_import_options *options)
{
    static const struct nm_import_options none;
    struct nm_import_result result;
    struct nm_error err = {0};

    if (nm_import_run(store, nm_importer_find(format), path, options ? options : &none, NULL, NULL,
                      &result, &err) < 0)
        fail_msg("%s", err.text);
    return result;
}

static int import_fails(struct nm_store *store, const char *format, const char *path,
                        const struct nm_import_options *options, struct nm_error *err)
{
    static const struct nm_import_options none;
    struct nm_import_result result;

    return nm_import_run(store, nm_importer_find(format), path, options ? options : &none, NULL,
                         NULL, &result, err);
}

static struct nm_cells *cells_of(struct nm_store *store, const char *line)
{
    struct nm_select *select = NULL;
    struct nm_cells *cells = NULL;

    assert_int_equal(nm_select_parse_line(line, &select, NULL), 0);
    assert_int_equal(nm_select_cells(store, select, &cells, NULL), 0);
    nm_select_free(select);
    return cells;
}

static size_t count(struct nm_store *store, const char *line)
{
    struct nm_cells *cells = cells_of(store, line);
    size_t n = 0;

    for (size_t i = 0; i < cells->count; i++)
        n += cells->items[i].n_trials;
    nm_cells_free(cells);
    return n;
}

static void test_import_published_table(void **state)
{
    struct place *place = *state;
    const struct nm_import_options options = {.nas = "rn104", .firmware = "6.1.2"};
    struct nm_store *store = open_store(place->db);
    struct nm_import_result first, second;
    struct nm_cells *cells;

    first = import(store, "csv", NM_TEST_DATA "/data/reference/readynas-104.csv", &options);
    assert_false(first.again);
    assert_int_equal(first.n_trials, 84);
    assert_int_equal(first.n_failed, 0);
    assert_int_equal(strlen(first.run_id), 8);

    cells = cells_of(store, "nas=rn104 firmware=6.1.2 source=imported");
    assert_int_equal(cells->count, 84);
    assert_true(cells->items[0].imported);
    assert_string_equal(cells->items[0].kind, "single");
    assert_string_equal(cells->items[0].workload, "copy:1x2GB");
    nm_cells_free(cells);
    cells = cells_of(store, "protocol=smb workload=copy:1x2GB phase=upload");
    assert_int_equal(cells->count, 7);
    assert_string_equal(cells->items[4].volume, "RAID 0 (compressed folder)"); /* order of file */
    nm_cells_free(cells);

    second = import(store, "csv", NM_TEST_DATA "/data/reference/readynas-104.csv", &options);
    assert_true(second.again);
    assert_string_equal(second.run_id, first.run_id);
    assert_int_equal(count(store, "run=*"), 84);
    nm_store_close(store);
}

static void test_import_is_all_or_nothing(void **state)
{
    static const char header[] =
        "nas,firmware,volume,kind,protocol,workload,phase,pass,trial,bytes,duration_ns\n";
    struct place *place = *state;
    struct nm_store *store = open_store(place->db);
    struct nm_error err;
    char text[512];
    char *path;

    snprintf(text, sizeof(text),
             "%sn,1,v,single,smb,1x2GB,upload,1,1,5,1\nn,1,v,single,smb,1x2GB,upload,2,2,5,x\n",
             header);
    path = write_file(place, "copy.db", text);
    assert_int_equal(import_fails(store, "csv", path, NULL, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "copy.db: line 3: duration_ns \"x\""));
    assert_int_equal(count(store, "run=*"), 0);

    text[strlen(text) - 2] = '1'; /* corrected: now it goes in, and nothing is in the way */
    path = write_file(place, "copy.db", text);
    assert_int_equal(import(store, "csv", path, NULL).n_trials, 2);
    assert_int_equal(count(store, "nas=n"), 2);
    nm_store_close(store);
}

static void test_import_names_given_on_the_command_line(void **state)
{
    static const char two[] = "H,8G,,,65284,18,,,,,,,,,,,,,,,,,,,,,\n"
                              "I,8G,,,65284,18,,,,,,,,,,,,,,,,,,,,,\n";
    const struct nm_import_options options = {
        .nas = "n", .firmware = "2", .volume = "raid1", .protocol = "smb"};
    struct place *place = *state;
    struct nm_store *store = open_store(place->db);
    struct nm_cells *cells;
    struct nm_error err;
    char *path = write_file(place, "copy.db", strchr(two, '\n') + 1);

    import(store, "bonnie", path, &options);
    cells = cells_of(store, "run=*");
    assert_int_equal(cells->count, 1);
    assert_string_equal(cells->items[0].volume, "raid1");
    assert_string_equal(cells->items[0].kind, "raid1"); /* a name that is a kind */
    assert_string_equal(cells->items[0].protocol, "smb");
    nm_cells_free(cells);
    import(store, "bonnie", path, NULL); /* other names: another import */
    cells = cells_of(store, "nas=copy");
    assert_string_equal(cells->items[0].volume, "I");
    assert_string_equal(cells->items[0].firmware, "unknown");
    nm_cells_free(cells);

    path = write_file(place, "copy.db", two);
    assert_int_equal(import_fails(store, "bonnie", path, &options, &err), -EINVAL);
    assert_non_null(strstr(err.text, "more than one volume (H, I)"));
    nm_store_close(store);
}

static void test_import_keeps_a_measured_volume_as_it_is(void **state)
{
    static const char line[] = "single,8G,,,65284,18,,,,,,,,,,,,,,,,,,,,,\n";
    const struct nm_import_options options = {.nas = "n", .firmware = "1"};
    const struct nm_nas_record box = {.name = "n", .firmware = "1"};
    const struct nm_volume_record volume = {.name = "single", .kind = "raid5", .label = "Mine"};
    struct place *place = *state;
    struct nm_store *store = open_store(place->db);
    struct nm_cells *cells;
    int64_t campaign, id;

    assert_int_equal(nm_store_campaign(store, &box, "plan", &campaign, NULL), 0);
    assert_int_equal(nm_store_volume(store, campaign, &volume, &id, NULL), 0);
    import(store, "bonnie", write_file(place, "copy.db", line), &options);
    cells = cells_of(store, "run=*");
    assert_string_equal(cells->items[0].kind, "raid5");
    assert_string_equal(cells->items[0].label, "Mine");
    nm_cells_free(cells);
    nm_store_close(store);
}

/* One trial of a run elsewhere. */
static json_t *trial_json(const char *run, uint32_t pass, const char *status)
{
    static const struct nm_metrics metrics;
    static struct nm_conditions conditions;
    const struct nm_document document = {
        .nas = {.name = "n", .firmware = "1"},
        .campaign = "plan",
        .session = {.run = run, .seed = 7, .order = "grouped", .start_utc_ns = 5},
        .volume = {.name = "v", .kind = "single"},
        .trial = {.protocol = "smb",
                  .workload = "copy:1x2GB",
                  .phase = "upload",
                  .target = "smb://x/y",
                  .pass = pass,
                  .status = (enum nm_status)nm_status_parse(status),
                  .bytes = 1000,
                  .duration_ns = 10,
                  .start_utc_ns = 100 + pass,
                  .conditions = &conditions,
                  .metrics = &metrics,
                  .source = "measured"}};

    return nm_document_json(&document);
}

static char *write_export(const struct place *place, unsigned from, unsigned to)
{
    json_t *trials = json_array(), *root;
    char *text, *path;

    for (unsigned i = from; i < to; i++)
        json_array_append_new(trials, trial_json("0123abcd", i, i == 3 ? "void" : "ok"));
    root = json_pack("{s:i, s:o}", "schema", 1, "trials", trials);
    text = json_dumps(root, JSON_INDENT(2));
    path = write_file(place, "copy.db", text);
    free(text);
    json_decref(root);
    return path;
}

static void test_import_joins_another_database(void **state)
{
    struct place *place = *state;
    struct nm_store *store = open_store(place->db);
    struct nm_import_result result;
    struct nm_cells *cells;

    result = import(store, "json", write_export(place, 1, 4), NULL);
    assert_int_equal(result.n_trials, 3);
    assert_string_equal(result.run_id, "");
    result = import(store, "json", write_export(place, 2, 6), NULL); /* overlaps */
    assert_int_equal(result.n_trials, 2);
    assert_int_equal(result.n_known, 2);
    cells = cells_of(store, "run=0123abcd");
    assert_int_equal(cells->count, 1);
    assert_int_equal(cells->items[0].n_trials, 5);
    assert_int_equal(cells->items[0].n_ok, 4);
    assert_false(cells->items[0].imported); /* measured, wherever it was */
    assert_string_equal(cells->items[0].trials[0].run, "0123abcd");
    nm_cells_free(cells);
    nm_store_close(store);
}

static void test_import_spool_goes_on_with_its_run(void **state)
{
    struct place *place = *state;
    struct nm_store *store = open_store(place->db);
    char *one, *two, text[4096];
    json_t *first = trial_json("0123abcd", 4, "ok"), *second = trial_json("0123abcd", 5, "ok");
    struct nm_import_result result;

    import(store, "json", write_export(place, 1, 4), NULL);
    one = json_dumps(first, JSON_COMPACT);
    two = json_dumps(second, JSON_COMPACT);
    snprintf(text, sizeof(text), "%s\n%s\n", one, two);
    result = import(store, "spool", write_file(place, "copy.db", text), NULL);
    assert_int_equal(result.n_trials, 2);
    assert_int_equal(count(store, "run=0123abcd"), 5);
    free(one);
    free(two);
    json_decref(first);
    json_decref(second);
    nm_store_close(store);
}

static void test_import_damaged_json_changes_nothing(void **state)
{
    struct place *place = *state;
    struct nm_store *store = open_store(place->db);
    char text[8192] = {0};
    struct nm_error err;
    FILE *file = fopen(write_export(place, 1, 4), "r");

    assert_true(fread(text, 1, sizeof(text) - 1, file) > 100);
    fclose(file);
    text[strlen(text) - 100] = '\0'; /* cut off */
    assert_int_equal(import_fails(store, "json", write_file(place, "copy.db", text), NULL, &err),
                     -EBADMSG);
    assert_int_equal(count(store, "run=*"), 0);
    assert_int_equal(import_fails(store, "json", "/nonexistent", NULL, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/nonexistent: No such file"));
    nm_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_import_published_table, setup, teardown),
        cmocka_unit_test_setup_teardown(test_import_is_all_or_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_import_names_given_on_the_command_line, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_import_keeps_a_measured_volume_as_it_is, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_import_joins_another_database, setup, teardown),
        cmocka_unit_test_setup_teardown(test_import_spool_goes_on_with_its_run, setup, teardown),
        cmocka_unit_test_setup_teardown(test_import_damaged_json_changes_nothing, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
