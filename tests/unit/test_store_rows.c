/* What the store keeps: campaigns, volumes, identities, trials, counts, batches.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_fixture.h"

#include <errno.h>

static void test_store_finds_what_it_made(void **state)
{
    struct place *place = *state;
    struct nm_store *store = open_store(place->db);
    struct nm_nas_record sparse = {.name = "bench", .firmware = "1.0"};
    struct nm_volume_record volume = {.name = "single", .kind = "single", .label = "L"};
    struct nm_error err = {0};
    struct run first, second;
    int64_t id, last;
    char *text;

    begin_run(store, &first);
    begin_run(store, &second);
    assert_int_equal(first.campaign, second.campaign);
    assert_int_equal(first.volume, second.volume);
    assert_string_not_equal(first.id, second.id);
    assert_int_equal(strlen(first.id), 8);
    assert_int_equal(nm_store_campaign(store, &sparse, "trials = 5", &id, &err), 0);
    assert_true(id != first.campaign);
    assert_int_equal(number(store, "SELECT count(*) FROM nas WHERE vendor='V'"), 1);
    assert_int_equal(number(store, "SELECT count(*) FROM firmware WHERE date='2013-08-20'"), 1);
    assert_int_equal(nm_store_last_campaign(store, "bench", "1.0", &last, &text, &err), 0);
    assert_int_equal(last, first.campaign); /* the other never ran */
    assert_string_equal(text, "trials = 3");
    free(text);
    assert_int_equal(nm_store_last_campaign(store, "bench", "9", &last, &text, &err), 0);
    assert_int_equal(last, 0);
    assert_null(text);

    assert_int_equal(nm_store_volume(store, id, &volume, &last, &err), 0);
    assert_int_equal(last, first.volume);
    assert_int_equal(number(store, "SELECT count(*) FROM volume WHERE label='L'"), 1);
    volume.kind = "raid1";
    assert_int_equal(nm_store_volume(store, id, &volume, &last, &err), -EEXIST);
    assert_non_null(strstr(err.text, "kind single"));

    assert_int_equal(nm_store_check_identity(store, first.volume, "smb", "share A", &err), 0);
    assert_int_equal(nm_store_check_identity(store, first.volume, "smb", "share A", &err), 0);
    assert_int_equal(nm_store_check_identity(store, first.volume, "nfs", "fsid 1", &err), 0);
    assert_int_equal(nm_store_check_identity(store, first.volume, "smb", "share B", &err), -EEXIST);
    assert_int_equal(err.reason, NM_REASON_PROTECTED);
    assert_non_null(strstr(err.text, "share A"));
    assert_non_null(strstr(err.text, "share B"));
    assert_int_equal(nm_store_session_end(store, first.session, "done", &err), 0);
    assert_int_equal(number(store, "SELECT count(*) FROM session WHERE outcome='done'"), 1);
    nm_store_close(store);
}

/* Passes 1..n of the cell that need no more trial, as digits. */
static const char *passes(struct nm_store *store, const struct run *run, uint32_t n)
{
    static char text[16];
    bool done[8];
    struct nm_error err = {0};

    if (nm_store_passes(store, run->campaign, 0, run->volume, "smb", "smb://h/s", "copy:1x2GB",
                        "upload", done, n, &err) < 0)
        fail_msg("%s", err.text);
    for (uint32_t i = 0; i < n; i++)
        text[i] = done[i] ? '1' : '0';
    text[n] = '\0';
    return text;
}

static void test_store_knows_which_passes_are_done(void **state)
{
    static const struct {
        enum nm_status status;
        const char *done; /* after it */
    } steps[] = {
        {NM_STATUS_OK, "10000000"},          {NM_STATUS_FAILED, "10000000"},
        {NM_STATUS_NA, "10100000"},          {NM_STATUS_MISSING, "10100000"},
        {NM_STATUS_UNSUPPORTED, "10101000"}, {NM_STATUS_ABORTED, "10101000"},
        {NM_STATUS_TOO_SHORT, "10101010"},   {NM_STATUS_VOID, "10101010"},
    };
    struct place *place = *state;
    struct nm_store *store = open_store(place->db);
    struct nm_error err = {0};
    struct run run;
    int64_t id, first = 0;

    begin_run(store, &run);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct nm_trial_record trial = a_trial(&run);

        trial.pass = (uint32_t)i + 1;
        trial.status = steps[i].status;
        trial.reason = NM_REASON_TIMEOUT;
        trial.message = "because";
        assert_int_equal(nm_store_trial(store, &trial, &id, &err), 0);
        if (!first)
            first = id;
        assert_string_equal(passes(store, &run, 8), steps[i].done);
    }
    assert_int_equal(nm_store_last_trial(store, &id, &err), 0);
    assert_int_equal(id, number(store, "SELECT max(id) FROM trial"));
    assert_string_equal(passes(store, &run, 2), "10"); /* what is beyond n is not of interest */
    /* What did not take place has no numbers; nothing is 0. */
    assert_int_equal(number(store, "SELECT count(*) FROM trial WHERE bytes IS NULL AND duration_ns"
                                   " IS NULL AND status IN ('na', 'missing', 'unsupported')"),
                     3);
    assert_int_equal(number(store, "SELECT count(*) FROM trial WHERE bytes IS NULL"), 3);
    assert_int_equal(number(store, "SELECT count(*) FROM trial WHERE cpu_ns IS NOT NULL"), 0);

    assert_int_equal(nm_store_void_trial(store, first, "cable fell out", &err), 0);
    assert_string_equal(passes(store, &run, 8), "00101010");
    assert_int_equal(nm_store_void_trial(store, first, "again", &err), -EALREADY);
    assert_int_equal(nm_store_void_trial(store, 99, "x", &err), -ENOENT);
    assert_int_equal(nm_store_note(store, run.id, "fan replaced", &err), 0);
    assert_int_equal(nm_store_note(store, "ffffffff0", "x", &err), -ENOENT);
    assert_int_equal(number(store, "SELECT count(*) FROM note"), 1);
    nm_store_close(store);
}

static void test_store_rounds_and_cells(void **state)
{
    struct place *place = *state;
    struct nm_store *store = open_store(place->db);
    struct nm_conditions conditions = {0};
    struct nm_error err = {0};
    struct nm_trial_record trial;
    struct run run;
    uint32_t round;

    begin_run(store, &run);
    assert_int_equal(nm_store_round(store, run.campaign, &round, &err), 0);
    assert_int_equal(round, 0);
    trial = a_trial(&run);
    trial.conditions = &conditions;
    nm_conditions_set(&conditions, "block_bytes", "1048576");
    nm_conditions_set(&conditions, "client.load", "0.1");
    assert_int_equal(nm_store_trial(store, &trial, NULL, &err), 0);
    nm_conditions_set(&conditions, "client.load", "0.2");
    assert_int_equal(nm_store_trial(store, &trial, NULL, &err), 0);
    assert_int_equal(number(store, "SELECT count(*) FROM cell"), 1);
    nm_conditions_set(&conditions, "block_bytes", "65536");
    assert_int_equal(nm_store_trial(store, &trial, NULL, &err), 0);
    assert_int_equal(number(store, "SELECT count(*) FROM cell"), 2);
    trial.round = 3;
    assert_int_equal(nm_store_trial(store, &trial, NULL, &err), 0);
    assert_int_equal(number(store, "SELECT count(*) FROM cell"), 3);
    assert_int_equal(nm_store_round(store, run.campaign, &round, &err), 0);
    assert_int_equal(round, 3);
    assert_string_equal(passes(store, &run, 3), "100");
    nm_store_close(store);
}

/* An upload whose download was cut off is measured again with it: one trial of a cell per pass. */
static void test_store_one_trial_per_pass(void **state)
{
    struct place *place = *state;
    struct nm_store *store = open_store(place->db);
    struct nm_error err = {0};
    struct nm_trial_record trial;
    struct run first, second;

    begin_run(store, &first);
    trial = a_trial(&first);
    assert_int_equal(nm_store_trial(store, &trial, NULL, &err), 0);
    trial.pass = 2;
    assert_int_equal(nm_store_trial(store, &trial, NULL, &err), 0);
    trial.status = NM_STATUS_FAILED;
    trial.reason = NM_REASON_CORRUPT;
    assert_int_equal(nm_store_trial(store, &trial, NULL, &err), 0);

    begin_run(store, &second);
    trial = a_trial(&second);
    trial.pass = 2;
    trial.status = NM_STATUS_FAILED;
    assert_int_equal(nm_store_last_trial(store, &trial.earlier_trials, &err), 0);
    assert_int_equal(nm_store_trial(store, &trial, NULL, &err), 0);
    assert_int_equal(number(store, "SELECT count(*) FROM trial WHERE void_why IS NOT NULL"), 0);
    trial.status = NM_STATUS_OK;
    for (int i = 0; i < 2; i++) /* the second time nothing earlier is left */
        assert_int_equal(nm_store_trial(store, &trial, NULL, &err), 0);
    /* The other pass, what failed, and what this session stored itself stay. */
    assert_int_equal(number(store, "SELECT group_concat(id) FROM trial WHERE void_why IS NOT NULL"
                                   " AND void_utc_ns > 0"),
                     2);
    assert_int_equal(number(store, "SELECT count(*) FROM trial, session WHERE trial.id = 2 AND"
                                   " session.id = 2 AND instr(void_why, run)"),
                     1);
    nm_store_close(store);
}

static void test_store_refuses_impossible_trials_whole(void **state)
{
    struct place *place = *state;
    struct nm_store *store = open_store(place->db);
    struct nm_error err = {0};
    struct nm_trial_record trial;
    struct run run;

    begin_run(store, &run);
    trial = a_trial(&run);
    trial.workload = "new";
    trial.duration_ns = 0;
    assert_true(nm_store_trial(store, &trial, NULL, &err) < 0);
    trial.duration_ns = UINT64_MAX;
    assert_int_equal(nm_store_trial(store, &trial, NULL, &err), -ERANGE);
    trial.duration_ns = 1;
    trial.session_id = 12345;
    assert_true(nm_store_trial(store, &trial, NULL, &err) < 0);
    assert_int_equal(number(store, "SELECT count(*) FROM trial"), 0);
    assert_int_equal(number(store, "SELECT count(*) FROM workload"), 0);
    nm_store_close(store);
}

static void test_store_batch_is_all_or_nothing(void **state)
{
    struct place *place = *state;
    struct nm_store *store = open_store(place->db);
    struct nm_error err = {0};
    struct nm_trial_record bad;
    struct run run;

    begin_run(store, &run);
    assert_int_equal(nm_store_batch_begin(store, &err), 0);
    assert_int_equal(store_full_trial(store, &run, 1, &err), 0);
    assert_int_equal(nm_store_batch_end(store, false, &err), 0);
    assert_int_equal(number(store, "SELECT count(*) FROM trial"), 0);

    assert_int_equal(nm_store_batch_begin(store, &err), 0);
    assert_int_equal(store_full_trial(store, &run, 1, &err), 0);
    bad = a_trial(&run);
    bad.workload = "bad";
    bad.duration_ns = 0;
    assert_true(nm_store_trial(store, &bad, NULL, &err) < 0); /* undoes only itself */
    assert_int_equal(store_full_trial(store, &run, 2, &err), 0);
    assert_int_equal(nm_store_batch_end(store, true, &err), 0);
    assert_int_equal(number(store, "SELECT count(*) FROM trial"), 2);
    assert_int_equal(number(store, "SELECT count(*) FROM workload"), 1);
    nm_store_close(store);
}

static void test_store_packs_bins(void **state)
{
    static const uint64_t bins[] = {0, 1, 127, 128, 300000, 0, UINT64_MAX, 16384};
    static const unsigned char half[] = {0x80};
    static const unsigned char big[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
    struct nm_conditions set = {0}, back;
    struct nm_error err;
    uint64_t *got;
    size_t size, n, count = sizeof(bins) / sizeof(bins[0]);
    unsigned char *blob = nm_pack_bins(bins, count, &size);
    char *text;

    (void)state;
    assert_non_null(blob);
    assert_int_equal(nm_pack_read(blob, size, &got, &n, &err), 0);
    assert_int_equal(n, count);
    assert_memory_equal(got, bins, sizeof(bins));
    free(got);
    free(blob);
    assert_int_equal(nm_pack_read(half, sizeof(half), &got, &n, &err), -EBADMSG);
    assert_int_equal(nm_pack_read(big, sizeof(big), &got, &n, &err), -EBADMSG);

    nm_conditions_set(&set, "client.note", "%s", "a=b\nc");
    nm_conditions_set(&set, "empty", "%s", "");
    text = nm_pack_conditions(&set);
    assert_string_equal(text, "client.note=a=b c\nempty=\n");
    nm_pack_read_conditions(text, &back);
    assert_int_equal(back.count, 2);
    assert_string_equal(nm_conditions_get(&back, "client.note"), "a=b c");
    assert_string_equal(nm_conditions_get(&back, "empty"), "");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_store_finds_what_it_made),
        TEST(test_store_knows_which_passes_are_done),
        TEST(test_store_one_trial_per_pass),
        TEST(test_store_rounds_and_cells),
        TEST(test_store_refuses_impossible_trials_whole),
        TEST(test_store_batch_is_all_or_nothing),
        TEST(test_store_packs_bins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
