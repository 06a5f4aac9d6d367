/* Opening and closing the store (store.h).
 *
 * Before anything may write, a read-only connection looks at the file: SQLite finishes transactions
 * of a crashed process as soon as a writable connection reads, and a file that is not ours or that
 * a newer version made must stay as it is, byte for byte.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_sql.h"

#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATIENCE_MS 10000

char *nm_store_default_path(void)
{
    const char *set = getenv("NASMARK_DB"), *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    char *path = NULL;
    int n;

    if (set && *set)
        return strdup(set);
    if (data && *data == '/')
        n = asprintf(&path, "%s/nasmark/nasmark.db", data);
    else
        n = asprintf(&path, "%s/.local/share/nasmark/nasmark.db", home && *home ? home : ".");
    return n < 0 ? NULL : path;
}

static int foreign(const char *path, struct nm_error *err)
{
    return nm_error_set(err, -EEXIST, NM_REASON_PROTECTED,
                        "%s: not a nasmark database; it was left as it is, name another file with "
                        "--db",
                        path);
}

static int check_version(const char *path, int64_t version, enum nm_store_mode mode,
                         struct nm_error *err)
{
    if (version > nm_schema_newest())
        return nm_error_set(err, -EPROTO, NM_REASON_UNSUPPORTED,
                            "%s: made by a newer nasmark (schema %lld, this program knows %d); it "
                            "was left as it is: update nasmark, or name another file with --db",
                            path, (long long)version, nm_schema_newest());
    if (version < nm_schema_newest() && mode == NM_STORE_READ)
        return nm_error_set(err, -EPROTO, NM_REASON_UNSUPPORTED,
                            "%s: schema %lld, this program reads %d; a command that writes (run, "
                            "note) brings it up to date",
                            path, (long long)version, nm_schema_newest());
    return 0;
}

/* A writer was killed on a file system without WAL: only a writable connection can undo its half
 * transaction. The header says whether the file is ours. */
static int check_header(const char *path, enum nm_store_mode mode, struct nm_error *err)
{
    unsigned char header[72];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : pread(fd, header, sizeof(header), 0);
    int64_t version, id;

    if (fd >= 0)
        close(fd);
    if (n != sizeof(header))
        return foreign(path, err);
    version = header[60] << 24 | header[61] << 16 | header[62] << 8 | header[63];
    id = header[68] << 24 | header[69] << 16 | header[70] << 8 | header[71];
    if (id != NM_STORE_APPLICATION_ID)
        return foreign(path, err);
    if (mode == NM_STORE_READ)
        return nm_error_set(
            err, -EROFS, NM_REASON_READ_ONLY,
            "%s: the last write was interrupted and reading must not repair it; run "
            "a command that writes (run, note) once",
            path);
    return check_version(path, version, mode, err);
}

/* Ours, of a version we know? An empty database is as good as none. */
static int check_contents(struct nm_store *store, enum nm_store_mode mode, struct nm_error *err)
{
    int64_t id = 0, version = 0, objects = 0;
    int r = nm_sql_int(store, "PRAGMA application_id", &id, err, "");

    if (r < 0 && sqlite3_extended_errcode(store->db) == SQLITE_READONLY_ROLLBACK)
        return check_header(store->path, mode, err);
    if (r == 0)
        r = nm_sql_int(store, "PRAGMA user_version", &version, err, "");
    if (r == 0)
        r = nm_sql_int(store, "SELECT count(*) FROM sqlite_schema", &objects, err, "");
    if (r < 0)
        return r == -EBADMSG && sqlite3_errcode(store->db) == SQLITE_NOTADB
                   ? foreign(store->path, err)
                   : r;
    if (!id && !objects && !version)
        return mode == NM_STORE_WRITE
                   ? 0
                   : nm_error_set(err, -ENODATA, NM_REASON_NOT_FOUND,
                                  "%s: the database is empty; run or import something first",
                                  store->path);
    if (id != NM_STORE_APPLICATION_ID)
        return foreign(store->path, err);
    return check_version(store->path, version, mode, err);
}

static void finalize(struct nm_store *store)
{
    for (size_t i = 0; i < store->n_cached; i++)
        sqlite3_finalize(store->cache[i].statement);
    store->n_cached = 0;
    sqlite3_close(store->db);
    store->db = NULL;
}

/* "file:PATH?OPTIONS" with the characters that mean something in a URI escaped. Heap. */
static char *uri_of(const char *path, const char *options)
{
    char *uri = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&uri, &size);

    if (!out)
        return NULL;
    fputs("file:", out);
    for (; *path; path++)
        fprintf(out, strchr("?#%", *path) ? "%%%02x" : "%c", (unsigned char)*path);
    fprintf(out, "?%s", options);
    if (fclose(out)) {
        free(uri);
        return NULL;
    }
    return uri;
}

static int connect_db(struct nm_store *store, int flags, const char *options, struct nm_error *err)
{
    char *uri = uri_of(store->path, options);
    int rc;

    if (!uri)
        return nm_error_errno(err, -ENOMEM, "store: out of memory");
    rc = sqlite3_open_v2(uri, &store->db, flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    free(uri);
    if (rc == SQLITE_OK)
        rc = sqlite3_busy_timeout(store->db, PATIENCE_MS); /* before the first pragma */
    if (rc == SQLITE_OK)
        rc = sqlite3_extended_result_codes(store->db, 1);
    return rc == SQLITE_OK ? 0 : nm_sql_error(store, rc, "opening", err);
}

/* A WAL database needs its index beside it, even for reading. Where neither can be made (a medium
 * or a directory that we may not write), SQLite says that it cannot open the file, or that it is
 * read-only. Only without a log is everything in the file itself. */
static bool wants_index(struct nm_store *store)
{
    int code = sqlite3_extended_errcode(store->db);
    char *log = NULL;
    bool logged;

    if (((code & 0xff) != SQLITE_CANTOPEN && (code & 0xff) != SQLITE_READONLY) ||
        code == SQLITE_READONLY_ROLLBACK || access(store->path, R_OK) < 0)
        return false;
    logged = asprintf(&log, "%s-wal", store->path) < 0 || access(log, F_OK) == 0;
    free(log);
    return !logged;
}

/* The read-only connection; it is the store itself in read mode. */
static int connect_read(struct nm_store *store, enum nm_store_mode mode, struct nm_error *err)
{
    int r = connect_db(store, SQLITE_OPEN_READONLY, "mode=ro", err);

    if (r == 0)
        r = check_contents(store, mode, err);
    if (r < 0 && wants_index(store)) {
        finalize(store);
        r = connect_db(store, SQLITE_OPEN_READONLY, "mode=ro&immutable=1", err);
        if (r == 0)
            r = check_contents(store, mode, err);
    }
    return r;
}

/* WAL where it is safe. SQLite does not wait for the lock of this switch by itself. */
static int set_journal(struct nm_store *store, struct nm_error *err)
{
    const char *remote = nm_place_remote(store->path);
    const char *sql = remote ? "PRAGMA journal_mode=DELETE" : "PRAGMA journal_mode=WAL";
    uint64_t deadline_ns = nm_clock_now_ns() + PATIENCE_MS * NM_NS_PER_MS;
    int rc;

    if (remote)
        snprintf(store->warning, sizeof(store->warning),
                 "the database %.200s lies on a network or FUSE file system (%s), whose locks may "
                 "not hold; keep it on a local disk (--db)",
                 store->path, remote);
    for (;;) {
        rc = sqlite3_exec(store->db, sql, NULL, NULL, NULL);
        if ((rc & 0xff) != SQLITE_BUSY || nm_clock_now_ns() > deadline_ns)
            break;
        nm_clock_sleep_until_ns(nm_clock_now_ns() + 20 * NM_NS_PER_MS);
    }
    return rc == SQLITE_OK ? 0 : nm_sql_error(store, rc, "setting the journal mode", err);
}

static int connect_write(struct nm_store *store, struct nm_error *err)
{
    int rc, r = connect_db(store, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "mode=rwc", err);

    if (r < 0)
        return r;
    rc = sqlite3_exec(store->db, "PRAGMA foreign_keys=ON; PRAGMA synchronous=FULL", NULL, NULL,
                      NULL);
    if (rc != SQLITE_OK)
        return nm_sql_error(store, rc, "opening", err);
    r = nm_schema_migrate(store, err);
    return r < 0 ? r : set_journal(store, err);
}

/* Directories are ours to make only where we chose the place. */
static int prepare_place(const char *path, struct nm_error *err)
{
    char *place = nm_store_default_path();
    int r = 0;

    if (!place)
        return nm_error_errno(err, -ENOMEM, "store: out of memory");
    if (!strcmp(path, place))
        r = nm_place_make_parents(path, err);
    free(place);
    return r;
}

int nm_store_open(const char *path, enum nm_store_mode mode, struct nm_store **ret_store,
                  struct nm_error *err)
{
    struct nm_store *store = calloc(1, sizeof(*store));
    struct stat st;
    int r;

    if (!store || !(store->path = path ? strdup(path) : nm_store_default_path())) {
        r = nm_error_errno(err, -ENOMEM, "store: out of memory");
        goto out;
    }
    path = store->path;
    store->mode = mode;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        r = nm_error_set(err, -EINVAL, NM_REASON_PROTECTED,
                         "%s: not a regular file; name a file with --db", path);
        goto out;
    }
    if (stat(path, &st) < 0 && mode == NM_STORE_READ) {
        r = nm_error_errno(err, -errno,
                           "%s: no database there (%s); run or import something first, or name "
                           "another file with --db",
                           path, strerror(errno));
        goto out;
    }
    r = mode == NM_STORE_WRITE ? prepare_place(path, err) : 0;
    if (r == 0 && (mode == NM_STORE_READ || (stat(path, &st) == 0 && st.st_size > 0)))
        r = connect_read(store, mode, err);
    if (r == 0 && mode == NM_STORE_WRITE) {
        finalize(store);
        r = connect_write(store, err);
    }
out:
    if (r < 0)
        nm_store_close(store);
    else
        *ret_store = store;
    return r;
}

void nm_store_close(struct nm_store *store)
{
    if (!store)
        return;
    finalize(store);
    free(store->path);
    free(store);
}

const char *nm_store_warning(const struct nm_store *store)
{
    return store->warning[0] ? store->warning : NULL;
}

void nm_store_set_patience(struct nm_store *store, int ms)
{
    sqlite3_busy_timeout(store->db, ms);
}

int nm_store_batch_begin(struct nm_store *store, struct nm_error *err)
{
    int r = nm_sql_begin(store, err);

    store->in_batch = r == 0;
    return r;
}

const char *nm_store_path(const struct nm_store *store)
{
    return store->path;
}

int nm_store_batch_end(struct nm_store *store, bool commit, struct nm_error *err)
{
    int r;

    store->in_batch = false;
    r = nm_sql_end(store, commit ? 0 : -ECANCELED, err);
    return !commit && r == -ECANCELED ? 0 : r;
}
