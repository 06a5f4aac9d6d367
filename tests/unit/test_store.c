/* The store as a file: what is refused and left untouched, what survives a kill, two writers, a
 * busy file.
 *
 * statfs() is ours, so that the file system can be made to look like a network one.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_fixture.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>

static long fs_magic = 0xef53;

int statfs(const char *path, struct statfs *buf)
{
    (void)path;
    memset(buf, 0, sizeof(*buf));
    buf->f_type = (__typeof__(buf->f_type))fs_magic;
    return 0;
}

static char *slurp(const char *path, size_t *ret_size)
{
    FILE *in = fopen(path, "re");
    char *data = NULL;
    FILE *out = open_memstream(&data, ret_size);
    int c;

    assert_non_null(in);
    assert_non_null(out);
    while ((c = getc(in)) != EOF)
        putc(c, out);
    fclose(in);
    fclose(out);
    return data;
}

/* Runs SQL on the file behind the store's back. */
static void raw_sql(const char *path, const char *sql)
{
    sqlite3 *db;
    char *message = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s", message);
    sqlite3_close(db);
}

static void assert_refused_untouched(const char *path, enum nm_store_mode mode, const char *says)
{
    struct nm_store *store = NULL;
    struct nm_error err = {0};
    size_t before_size, after_size;
    char *before = slurp(path, &before_size), *after;

    assert_true(nm_store_open(path, mode, &store, &err) < 0);
    assert_null(store);
    if (!strstr(err.text, says))
        fail_msg("'%s' does not say '%s'", err.text, says);
    after = slurp(path, &after_size);
    assert_int_equal(before_size, after_size);
    assert_memory_equal(before, after, before_size);
    free(before);
    free(after);
}

static void test_store_refuses_foreign_files_untouched(void **state)
{
    struct place *place = *state;
    FILE *out = fopen(place->db, "we");

    for (int i = 0; i < 3000; i++)
        fputs("some precious text\n", out);
    fclose(out);
    assert_refused_untouched(place->db, NM_STORE_WRITE, "not a nasmark database");
    assert_refused_untouched(place->db, NM_STORE_READ, "not a nasmark database");
    unlink(place->db);
    raw_sql(place->db, "CREATE TABLE holiday(photo)");
    assert_refused_untouched(place->db, NM_STORE_WRITE, "not a nasmark database");
    raw_sql(place->db, "PRAGMA application_id=77; PRAGMA journal_mode=WAL");
    assert_refused_untouched(place->db, NM_STORE_WRITE, "not a nasmark database");
    assert_refused_untouched(place->db, NM_STORE_READ, "not a nasmark database");
}

static void test_store_refuses_newer_schema_untouched(void **state)
{
    struct place *place = *state;
    char versions[64];

    nm_store_close(open_store(place->db));
    raw_sql(place->db, "ALTER TABLE trial ADD COLUMN future TEXT; PRAGMA user_version=99");
    snprintf(versions, sizeof(versions), "schema 99, this program knows %d", nm_schema_newest());
    assert_refused_untouched(place->db, NM_STORE_WRITE, versions);
    assert_refused_untouched(place->db, NM_STORE_READ, versions);
    raw_sql(place->db, "PRAGMA journal_mode=DELETE");
    assert_refused_untouched(place->db, NM_STORE_WRITE, versions);
}

/* The newer program was killed: its last transactions are still in the log and stay there. */
static void test_store_leaves_the_log_of_a_newer_schema_alone(void **state)
{
    struct place *place = *state;
    char wal[128];
    struct stat st;
    pid_t pid;
    int status;

    nm_store_close(open_store(place->db));
    pid = fork();
    if (!pid) {
        sqlite3 *db;

        sqlite3_open(place->db, &db);
        sqlite3_exec(db, "PRAGMA user_version=98; PRAGMA wal_autocheckpoint=0;", NULL, NULL, NULL);
        sqlite3_exec(db, "PRAGMA user_version=99", NULL, NULL, NULL);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    snprintf(wal, sizeof(wal), "%s-wal", place->db);
    assert_int_equal(stat(wal, &st), 0);
    assert_true(st.st_size > 0);
    assert_refused_untouched(place->db, NM_STORE_WRITE, "schema 99");
    assert_refused_untouched(place->db, NM_STORE_READ, "schema 99");
}

static void test_store_reading_never_alters(void **state)
{
    struct place *place = *state;
    struct nm_store *store = open_store(place->db);
    struct nm_error err = {0};
    struct run run;
    size_t before_size, after_size;
    char *before, *after;

    begin_run(store, &run);
    assert_int_equal(store_full_trial(store, &run, 1, &err), 0);
    nm_store_close(store);
    before = slurp(place->db, &before_size);
    assert_int_equal(nm_store_open(place->db, NM_STORE_READ, &store, &err), 0);
    assert_int_equal(number(store, "SELECT count(*) FROM trial"), 1);
    assert_int_equal(nm_store_note(store, run.id, "x", &err), -EROFS);
    nm_store_close(store);
    after = slurp(place->db, &after_size);
    assert_int_equal(before_size, after_size);
    assert_memory_equal(before, after, before_size);
    free(before);
    free(after);

    unlink(place->db);
    assert_int_equal(nm_store_open(place->db, NM_STORE_READ, &store, &err), -ENOENT);
    assert_int_equal(access(place->db, F_OK), -1);
    assert_true(nm_store_open(place->directory, NM_STORE_WRITE, &store, &err) < 0);
}

/* A WAL database on a medium where its index cannot be made. */
static void test_store_reads_from_a_read_only_medium(void **state)
{
    struct place *place = *state;
    struct nm_store *store;
    int status;
    pid_t pid;

    nm_store_close(open_store(place->db));
    pid = fork();
    if (!pid) {
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount(place->directory, place->directory, NULL, MS_BIND, NULL) < 0 ||
            mount(NULL, place->directory, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) < 0)
            _exit(77);
        if (nm_store_open(place->db, NM_STORE_READ, &store, NULL) < 0)
            _exit(1);
        _exit(number(store, "SELECT count(*) FROM trial") == 0 ? 0 : 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip(); /* not root */
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* A WAL database of somebody else, in a directory where only they may write. */
static void test_store_reads_from_a_directory_of_others(void **state)
{
    struct place *place = *state;
    struct nm_store *store;
    struct nm_error err = {0};
    char log[128];
    int status;
    pid_t pid;

    nm_store_close(open_store(place->db));
    snprintf(log, sizeof(log), "%s-wal", place->db);
    assert_int_equal(chmod(place->db, 0444), 0);
    assert_int_equal(chmod(place->directory, 0555), 0);
    for (int logged = 0; logged < 2; logged++) {
        if (logged) { /* what is in it must not be left out */
            assert_int_equal(chmod(place->directory, 0755), 0);
            fclose(fopen(log, "we"));
            assert_int_equal(chmod(log, 0), 0);
            assert_int_equal(chmod(place->directory, 0555), 0);
        }
        pid = fork();
        if (!pid) {
            if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
                _exit(77);
            if (nm_store_open(place->db, NM_STORE_READ, &store, &err) < 0)
                _exit(1);
            _exit(number(store, "SELECT count(*) FROM trial") == 0 ? 0 : 2);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), logged);
    }
    assert_int_equal(chmod(place->directory, 0755), 0);
}

static void test_store_uses_wal_on_local_disks_only(void **state)
{
    struct place *place = *state;
    struct nm_store *store = open_store(place->db);
    sqlite3_stmt *statement;

    assert_null(nm_store_warning(store));
    sqlite3_prepare_v2(store->db, "PRAGMA journal_mode", -1, &statement, NULL);
    sqlite3_step(statement);
    assert_string_equal(nm_sql_text(statement, 0), "wal");
    sqlite3_finalize(statement);
    nm_store_close(store);

    fs_magic = 0x6969;
    store = open_store(place->db);
    assert_non_null(strstr(nm_store_warning(store), "NFS"));
    sqlite3_prepare_v2(store->db, "PRAGMA journal_mode", -1, &statement, NULL);
    sqlite3_step(statement);
    assert_string_equal(nm_sql_text(statement, 0), "delete");
    sqlite3_finalize(statement);
    nm_store_close(store);
    assert_null(nm_place_remote_name(0xef53));
    assert_null(nm_place_remote_name(0x01021994)); /* tmpfs */
    assert_string_equal(nm_place_remote_name(0xff534d42), "CIFS");
    assert_string_equal(nm_place_remote_name(0x65735546), "FUSE");
}

static void test_store_default_path(void **state)
{
    char *path;

    (void)state;
    setenv("NASMARK_DB", "/x/y.db", 1);
    path = nm_store_default_path();
    assert_string_equal(path, "/x/y.db");
    free(path);
    unsetenv("NASMARK_DB");
    setenv("XDG_DATA_HOME", "/data", 1);
    path = nm_store_default_path();
    assert_string_equal(path, "/data/nasmark/nasmark.db");
    free(path);
    unsetenv("XDG_DATA_HOME");
    setenv("HOME", "/home/u", 1);
    path = nm_store_default_path();
    assert_string_equal(path, "/home/u/.local/share/nasmark/nasmark.db");
    free(path);
}

/* ------------------------------------------------------------------ several processes */

static void test_store_survives_kill(void **state)
{
    struct place *place = *state;
    struct nm_store *store;
    int pipe_fds[2], status;
    char byte;

    nm_store_close(open_store(place->db));
    for (int journal = 0; journal < 2; journal++) {
        fs_magic = journal ? 0x6969 : 0xef53;
        assert_int_equal(pipe(pipe_fds), 0);
        pid_t pid = fork();

        if (!pid) {
            struct run run;

            store = open_store(place->db);
            begin_run(store, &run);
            for (uint32_t i = 1;; i++)
                if (store_full_trial(store, &run, i, NULL) == 0 && i == 5)
                    (void)!write(pipe_fds[1], "", 1);
        }
        assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        close(pipe_fds[0]);
        close(pipe_fds[1]);

        store = open_store(place->db);
        assert_true(number(store, "SELECT count(*) FROM trial") >= 5 * (journal + 1));
        assert_int_equal(number(store, "SELECT count(*) FROM trial"),
                         number(store, "SELECT count(*) FROM bins"));
        assert_int_equal(2 * number(store, "SELECT count(*) FROM trial"),
                         number(store, "SELECT count(*) FROM metric"));
        assert_int_equal(number(store, "SELECT count(*) FROM pragma_integrity_check"), 1);
        assert_int_equal(number(store, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
        assert_int_equal(number(store, "SELECT count(*) FROM session WHERE end_utc_ns IS NULL"),
                         journal + 1);
        nm_store_close(store);
    }
}

static void test_store_takes_two_writers_from_the_first_moment(void **state)
{
    struct place *place = *state;
    struct nm_store *store;
    pid_t pids[2];
    int status;

    fs_magic = 0xef53;
    for (int i = 0; i < 2; i++) {
        pids[i] = fork();
        if (!pids[i]) {
            struct run run;
            int failed = 0;

            store = open_store(place->db);
            begin_run(store, &run);
            for (uint32_t pass = 1; pass <= 40; pass++)
                failed |= store_full_trial(store, &run, pass, NULL) != 0;
            nm_store_close(store);
            _exit(failed);
        }
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    store = open_store(place->db);
    assert_int_equal(number(store, "SELECT count(*) FROM trial"), 80);
    assert_int_equal(number(store, "SELECT count(*) FROM cell"), 1);
    assert_int_equal(number(store, "SELECT count(*) FROM campaign"), 1);
    assert_int_equal(number(store, "SELECT count(DISTINCT run) FROM session"), 2);
    assert_int_equal(number(store, "SELECT count(*) FROM migration"), nm_schema_newest());
    nm_store_close(store);
}

/* Locks the file in another process until `release` is written to. */
static pid_t hold_lock(const char *path, int *ret_release)
{
    int up[2], down[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe(up), 0);
    assert_int_equal(pipe(down), 0);
    pid = fork();
    if (!pid) {
        sqlite3 *db;

        close(down[1]);
        sqlite3_open(path, &db);
        sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
        (void)!write(up[1], "", 1);
        (void)!read(down[0], &byte, 1);
        _exit(0);
    }
    assert_int_equal(read(up[0], &byte, 1), 1);
    close(up[0]);
    close(up[1]);
    close(down[0]);
    *ret_release = down[1];
    return pid;
}

static void test_store_waits_for_a_lock_then_names_its_holder(void **state)
{
    struct place *place = *state;
    struct nm_store *store;
    struct nm_error err = {0};
    struct run run;
    char who[32];
    int release, status;
    pid_t pid, waker;

    for (int journal = 0; journal < 2; journal++) {
        fs_magic = journal ? 0x6969 : 0xef53;
        store = open_store(place->db);
        begin_run(store, &run);
        nm_store_set_patience(store, 50);
        pid = hold_lock(place->db, &release);
        snprintf(who, sizeof(who), "database busy (pid %d)", (int)pid);
        assert_int_equal(store_full_trial(store, &run, 1, &err), -EBUSY);
        if (!strstr(err.text, who))
            fail_msg("'%s' does not say '%s'", err.text, who);
        assert_int_equal(number(store, "SELECT count(*) FROM trial"), journal);

        nm_store_set_patience(store, 60000);
        waker = fork();
        if (!waker) {
            nm_clock_sleep_until_ns(nm_clock_now_ns() + 300 * NM_NS_PER_MS);
            (void)!write(release, "", 1);
            _exit(0);
        }
        assert_int_equal(store_full_trial(store, &run, 1, &err), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(waitpid(waker, &status, 0), waker);
        close(release);
        nm_store_close(store);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_store_refuses_foreign_files_untouched),
        TEST(test_store_refuses_newer_schema_untouched),
        TEST(test_store_leaves_the_log_of_a_newer_schema_alone),
        TEST(test_store_reading_never_alters),
        TEST(test_store_reads_from_a_read_only_medium),
        TEST(test_store_reads_from_a_directory_of_others),
        TEST(test_store_uses_wal_on_local_disks_only),
        TEST(test_store_default_path),
        TEST(test_store_survives_kill),
        TEST(test_store_takes_two_writers_from_the_first_moment),
        TEST(test_store_waits_for_a_lock_then_names_its_holder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
