/* Checks of targets with names and files (NM_TRAIT_FILES), in the order in which they run. The
 * first makes the directory, the last removes it; what those between leave behind lies in it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "contract.h"

#include "clock.h"
#include "common.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)

/* One operation on a name of the suite's directory. */
static struct nm_op on(struct session *s, enum nm_op_kind kind, const char *name)
{
    return (struct nm_op){.kind = kind, .path = path_of(s, name)};
}

static struct nm_stat stat_of(struct session *s, const char *name)
{
    struct nm_stat stat = {.size_bytes = UINT64_MAX, .is_symlink = true};
    struct nm_op op = on(s, NM_OP_STAT, name);

    op.stat = &stat;
    must(s, op);
    CHECK(!stat.is_symlink, "%s is said to be a symbolic link", name);
    return stat;
}

static void must_have_size(struct session *s, const char *name, uint64_t size_bytes)
{
    struct nm_stat stat = stat_of(s, name);

    CHECK(!stat.is_directory, "%s is said to be a directory", name);
    CHECK(stat.size_bytes == size_bytes, "%s has %llu bytes, expected %llu", name,
          (unsigned long long)stat.size_bytes, (unsigned long long)size_bytes);
}

static void must_be_missing(struct session *s, const char *name)
{
    struct nm_stat stat;
    struct nm_op op = on(s, NM_OP_STAT, name);

    op.stat = &stat;
    must_fail(s, op, -ENOENT, NM_REASON_NOT_FOUND);
}

static void put(struct session *s, const char *name, uint64_t size_bytes)
{
    struct nm_file *file = must_create(s, name, size_bytes);

    transfer(s, file, NM_OP_WRITE, 0, size_bytes, position_of(name));
    must(s, (struct nm_op){.kind = NM_OP_FLUSH, .file = file});
    must_close(s, file);
}

/* The whole file, whose data were written as those of `origin`. */
static void get(struct session *s, const char *name, const char *origin, uint64_t size_bytes)
{
    struct nm_file *file = must_open(s, name, NM_OPEN_READ);

    CHECK(file->size_bytes == size_bytes, "open of %s says %llu bytes, expected %llu", name,
          (unsigned long long)file->size_bytes, (unsigned long long)size_bytes);
    transfer(s, file, NM_OP_READ, 0, size_bytes, position_of(origin));
    must_close(s, file);
}

static void make_directory(struct session *s)
{
    struct nm_op op = on(s, NM_OP_MKDIR, "");

    must(s, op);
    must_fail(s, op, -EEXIST, NM_REASON_NONE);
    CHECK(stat_of(s, "").is_directory, "%s is not a directory", s->path);

    struct nm_stat stat = {0};

    must(s, (struct nm_op){.kind = NM_OP_STAT, .path = "", .stat = &stat});
    CHECK(stat.is_directory, "the target itself is not a directory");
}

static void directories(struct session *s)
{
    must(s, on(s, NM_OP_MKDIR, "dir"));
    must(s, on(s, NM_OP_MKDIR, "dir/inner"));
    must_fail(s, on(s, NM_OP_RMDIR, "dir"), 0, NM_REASON_NONE);
    put(s, "dir/file", 10);
    must(s, on(s, NM_OP_RMDIR, "dir/inner"));
    must_fail(s, on(s, NM_OP_RMDIR, "dir"), 0, NM_REASON_NONE);
    must_have_size(s, "dir/file", 10);
    must_fail(s, on(s, NM_OP_RMDIR, "dir/file"), 0, NM_REASON_NONE);
    must_fail(s, on(s, NM_OP_UNLINK, "dir"), 0, NM_REASON_NONE);
    must_fail(s, on(s, NM_OP_MKDIR, "dir/file"), -EEXIST, NM_REASON_NONE);
    must(s, on(s, NM_OP_UNLINK, "dir/file"));
    must(s, on(s, NM_OP_RMDIR, "dir"));
    must_be_missing(s, "dir");
}

static void missing_names(struct session *s)
{
    static const enum nm_op_kind kinds[] = {NM_OP_RMDIR, NM_OP_OPEN, NM_OP_LIST, NM_OP_UNLINK};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct nm_op op = on(s, kinds[i], "missing");

        op.open_flags = NM_OPEN_READ;
        must_fail(s, op, -ENOENT, NM_REASON_NOT_FOUND);
    }
    must_be_missing(s, "missing");
    must_fail(s, on(s, NM_OP_CREATE, "missing/file"), -ENOENT, NM_REASON_NOT_FOUND);
    must_fail(s, on(s, NM_OP_MKDIR, "missing/dir"), -ENOENT, NM_REASON_NOT_FOUND);
    must_be_missing(s, "missing");
}

/* Sizes around the edges of blocks and pages; none but one is a multiple of the block. */
static void sizes(struct session *s)
{
    const uint64_t list[] = {0,    1,    511,     512,         2000,      4095,
                             4096, 4097, MIB + 1, 3 * MIB - 1, 5000 * KIB};

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        char name[64];

        snprintf(name, sizeof(name), "size-%llu", (unsigned long long)list[i]);
        put(s, name, list[i]);
        must_have_size(s, name, list[i]);
        get(s, name, name, list[i]);
    }
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        char name[64];

        snprintf(name, sizeof(name), "size-%llu", (unsigned long long)list[i]);
        must(s, on(s, NM_OP_UNLINK, name));
        must_be_missing(s, name);
    }
}

static void large_file(struct session *s)
{
    put(s, "large", 64 * MIB);
    must_have_size(s, "large", 64 * MIB);
    get(s, "large", "large", 64 * MIB);
    must(s, on(s, NM_OP_UNLINK, "large"));
}

/* Requests smaller than the block, and a final size that was not announced. */
static void unannounced_size(struct session *s)
{
    struct nm_file *file = must_create(s, "grown", 0);

    s->how.block_bytes = 64 * KIB;
    transfer(s, file, NM_OP_WRITE, 0, 2 * MIB + 100, position_of("grown"));
    must(s, (struct nm_op){.kind = NM_OP_FLUSH, .file = file});
    must_close(s, file);
    s->how.block_bytes = s->suite->how.block_bytes;
    must_have_size(s, "grown", 2 * MIB + 100);
    get(s, "grown", "grown", 2 * MIB + 100);

    file = must_create(s, "shorter", 8 * MIB); /* announced more than comes */
    transfer(s, file, NM_OP_WRITE, 0, MIB + 5, position_of("shorter"));
    must_close(s, file);
    must_have_size(s, "shorter", MIB + 5);
    get(s, "shorter", "shorter", MIB + 5);
}

static void create_is_exclusive(struct session *s)
{
    put(s, "exclusive", 5000);
    must_fail(s, on(s, NM_OP_CREATE, "exclusive"), -EEXIST, NM_REASON_NONE);
    get(s, "exclusive", "exclusive", 5000);
}

/* A created file can be read through the same handle, also before any flush. */
static void created_file_is_readable(struct session *s)
{
    struct nm_file *file = must_create(s, "readable", MIB + 10);

    transfer(s, file, NM_OP_WRITE, 0, MIB + 10, position_of("readable"));
    transfer(s, file, NM_OP_READ, 0, MIB + 10, position_of("readable"));
    must_close(s, file);
}

static void reads_end_at_the_end(struct session *s)
{
    const uint64_t size = 10000;
    size_t wrong;

    put(s, "end", size);
    struct nm_file *file = must_open(s, "end", NM_OPEN_READ);
    struct nm_op op = {.kind = NM_OP_READ,
                       .file = file,
                       .offset_bytes = 8192,
                       .length_bytes = 4096,
                       .buf = buffer_of(s, 0)};
    int64_t r = must(s, op);

    CHECK(r == 1808, "read across the end gave %lld bytes, expected 1808", (long long)r);
    CHECK(!nm_pattern_check(&s->suite->data, position_of("end") + 8192, op.buf, 1808, &wrong, NULL),
          "wrong byte at %zu", 8192 + wrong);
    op.offset_bytes = 12288;
    CHECK(must(s, op) == 0, "read behind the end gave bytes");
    op.offset_bytes = 64 * MIB;
    CHECK(must(s, op) == 0, "read far behind the end gave bytes");
    op.offset_bytes = 0;
    op.length_bytes = 0;
    CHECK(must(s, op) == 0, "read of nothing gave bytes");
    must_close(s, file);
}

static void write_of_nothing(struct session *s)
{
    struct nm_file *file = must_create(s, "nothing", 0);

    CHECK(must(s, (struct nm_op){.kind = NM_OP_WRITE, .file = file}) == 0, "wrote something");
    must(s, (struct nm_op){.kind = NM_OP_FLUSH, .file = file});
    must_close(s, file);
    must_have_size(s, "nothing", 0);
}

/* OPEN for writing keeps the contents, and writes replace exactly their range. */
static void overwrite_in_place(struct session *s)
{
    put(s, "over", 3 * MIB);
    struct nm_file *file = must_open(s, "over", NM_OPEN_READ | NM_OPEN_WRITE);

    CHECK(file->size_bytes == 3 * MIB, "opening changed the size");
    transfer(s, file, NM_OP_WRITE, MIB, 64 * KIB, position_of("other"));
    must(s, (struct nm_op){.kind = NM_OP_FLUSH, .file = file});
    transfer(s, file, NM_OP_READ, 0, MIB, position_of("over"));
    transfer(s, file, NM_OP_READ, MIB, 64 * KIB, position_of("other"));
    transfer(s, file, NM_OP_READ, MIB + 64 * KIB, 2 * MIB - 64 * KIB, position_of("over"));
    must_close(s, file);
    must_have_size(s, "over", 3 * MIB);
}

static void several_files_at_once(struct session *s)
{
    struct nm_file *files[8];
    char name[8][16];

    for (unsigned i = 0; i < 8; i++) {
        snprintf(name[i], sizeof(name[i]), "open-%u", i);
        files[i] = must_create(s, name[i], 100000 + i);
    }
    for (unsigned i = 0; i < 8; i++)
        transfer(s, files[i], NM_OP_WRITE, 0, 100000 + i, position_of(name[i]));
    must(s, (struct nm_op){.kind = NM_OP_FLUSH}); /* everything of this session */
    for (unsigned i = 8; i--;)
        must_close(s, files[i]);
    must(s, (struct nm_op){.kind = NM_OP_FLUSH}); /* nothing is open */
    for (unsigned i = 0; i < 8; i++)
        get(s, name[i], name[i], 100000 + i);
}

/* Creates, and then closes, at full depth. */
static void names_at_depth(struct session *s)
{
    char paths[64][1100];
    unsigned n = s->how.depth < 64 ? s->how.depth : 64;
    struct nm_error err;

    for (int closing = 0; closing < 2; closing++) {
        for (unsigned i = 0; i < n; i++) {
            struct nm_op *op = &s->queue[i];
            struct nm_file *file = op->file;
            char name[32];

            snprintf(name, sizeof(name), "depth-%u", i);
            snprintf(paths[i], sizeof(paths[i]), "%s", path_of(s, name));
            *op = (struct nm_op){.kind = closing ? NM_OP_CLOSE : NM_OP_CREATE,
                                 .file = closing ? file : NULL,
                                 .path = closing ? NULL : paths[i],
                                 .slot = i,
                                 .buf = buffer_of(s, i)};
            nm_session_submit(s->nm, op);
        }
        while (s->nm->in_flight) {
            struct nm_op *op =
                nm_session_reap(s->nm, nm_clock_now_ns() + s->how.timeout_ns + NM_NS_PER_S, &err);

            CHECK(op, "nothing completed in time: %s", err.text);
            CHECK(op->result == 0, "%s: %s", nm_op_kind_name(op->kind), op->err.text);
        }
    }
    for (unsigned i = 0; i < n; i++)
        must(s, (struct nm_op){.kind = NM_OP_UNLINK, .path = paths[i]});
}

struct listing {
    unsigned files, directories, wrong;
    char seen[300];
};

static void count_entry(void *context, const char *name, const struct nm_stat *stat)
{
    struct listing *found = context;
    unsigned number;

    if (!strcmp(name, "sub")) {
        found->directories += stat->is_directory;
    } else if (sscanf(name, "entry-%u", &number) == 1 && number < 300 && !found->seen[number]) {
        found->seen[number] = 1;
        found->files++;
        found->wrong += stat->is_directory || stat->size_bytes != number % 3;
    } else {
        fprintf(stderr, "unexpected entry '%s'\n", name);
        found->wrong++;
    }
}

static void listing(struct session *s)
{
    struct listing found = {0};
    char name[64];

    must(s, on(s, NM_OP_MKDIR, "list"));
    must(s, on(s, NM_OP_MKDIR, "list/sub"));
    for (unsigned i = 0; i < 300; i++) {
        snprintf(name, sizeof(name), "list/entry-%u", i);
        struct nm_file *file = must_create(s, name, 0);

        if (i % 3)
            must(s, (struct nm_op){.kind = NM_OP_WRITE, .file = file, .length_bytes = i % 3});
        must_close(s, file);
    }
    struct nm_op op = on(s, NM_OP_LIST, "list");

    op.list_entry = count_entry;
    op.list_context = &found;
    must(s, op);
    CHECK(found.files == 300 && found.directories == 1 && !found.wrong,
          "listed %u of 300 files, %u of 1 directories, %u wrong", found.files, found.directories,
          found.wrong);
    for (unsigned i = 0; i < 300; i++) {
        snprintf(name, sizeof(name), "list/entry-%u", i);
        must(s, on(s, NM_OP_UNLINK, name));
    }
    must(s, on(s, NM_OP_RMDIR, "list/sub"));
    must(s, on(s, NM_OP_RMDIR, "list"));
}

static int64_t rename_to(struct session *s, const char *from, const char *to, struct nm_op *op)
{
    char target[1100];

    snprintf(target, sizeof(target), "%s", path_of(s, to));
    *op = on(s, NM_OP_RENAME, from);
    op->new_path = target;
    return run(s, op);
}

static void renaming(struct session *s)
{
    struct nm_op op;

    must(s, on(s, NM_OP_MKDIR, "rename"));
    put(s, "rename-a", 100);
    put(s, "rename-b", 200);
    CHECK(rename_to(s, "rename-a", "rename-b", &op) == -EEXIST,
          "rename onto an existing file: %lld, expected -EEXIST", (long long)op.result);
    must_have_size(s, "rename-a", 100);
    must_have_size(s, "rename-b", 200);
    CHECK(!rename_to(s, "rename-a", "rename/a", &op), "rename: %s", op.err.text);
    must_be_missing(s, "rename-a");
    get(s, "rename/a", "rename-a", 100);
    CHECK(rename_to(s, "rename-a", "rename-c", &op) == -ENOENT,
          "rename of a missing name: %lld, expected -ENOENT", (long long)op.result);
    CHECK(!rename_to(s, "rename", "renamed", &op), "rename of a directory: %s", op.err.text);
    get(s, "renamed/a", "rename-a", 100);
}

static void names(struct session *s)
{
    char long_name[257];
    const char *const list[] = {"with space",  "100% #1 ?", "Łódź-東京-é", "a,b=c;d@e",
                                "UPPER.lower", "~tilde$",   long_name};

    memset(long_name, 'n', sizeof(long_name) - 1);
    long_name[255] = '\0';
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        if (strchr(list[i], '?') && s->suite->ops->protocol == NM_PROTOCOL_SMB)
            continue; /* not a character of an SMB name */
        put(s, list[i], 3000);
        get(s, list[i], list[i], 3000);
        must(s, on(s, NM_OP_UNLINK, list[i]));
        must_be_missing(s, list[i]);
    }
    long_name[255] = 'n';
    long_name[256] = '\0';
    must_fail(s, on(s, NM_OP_CREATE, long_name), -ENAMETOOLONG, NM_REASON_NONE);
    must_fail(s, on(s, NM_OP_MKDIR, long_name), -ENAMETOOLONG, NM_REASON_NONE);
}

static void deep_directory(struct session *s)
{
    char path[600] = "deep";

    for (unsigned level = 0; level < 20; level++) {
        must(s, on(s, NM_OP_MKDIR, path));
        snprintf(path + strlen(path), sizeof(path) - strlen(path), "/level-%02u-with-a-name",
                 level);
    }
    put(s, path, 5000);
    get(s, path, path, 5000);
    must(s, on(s, NM_OP_UNLINK, path));
}

/* Leaves "kept" for the read-only check that follows. */
static void second_session_sees_the_files(struct session *s)
{
    put(s, "kept", MIB + 1);
    must(s, (struct nm_op){.kind = NM_OP_FLUSH});
    session_disconnect(s);
    session_connect(s, false);
    get(s, "kept", "kept", MIB + 1);
    if (s->suite->ops->drop_caches) {
        struct nm_error err = {0};

        CHECK(!s->suite->ops->drop_caches(s->nm, &err), "drop_caches: %s", err.text);
        get(s, "kept", "kept", MIB + 1);
    }
}

static void read_only_session(struct session *s)
{
    struct nm_op op;
    struct nm_error err = {0};

    if (s->suite->shared->claimed || !s->suite->ops->claim)
        get(s, "kept", "kept", MIB + 1);
    must_fail(s, on(s, NM_OP_CREATE, "new"), -EROFS, NM_REASON_READ_ONLY);
    must_fail(s, on(s, NM_OP_MKDIR, "new"), -EROFS, NM_REASON_READ_ONLY);
    must_fail(s, on(s, NM_OP_UNLINK, "kept"), -EROFS, NM_REASON_READ_ONLY);
    must_fail(s, on(s, NM_OP_RMDIR, ""), -EROFS, NM_REASON_READ_ONLY);
    op = on(s, NM_OP_OPEN, "kept");
    op.open_flags = NM_OPEN_WRITE;
    must_fail(s, op, -EROFS, NM_REASON_READ_ONLY);
    CHECK(rename_to(s, "kept", "new", &op) == -EROFS, "renamed in a read-only session");
    if (s->suite->ops->claim)
        CHECK(nm_backend_claim(s->nm, NULL, &err) < 0, "claimed in a read-only session");
    must_be_missing(s, "new");
}

/* Files open and operations in flight: the session still ends in time. */
static void disconnect_with_operations_in_flight(struct session *s)
{
    struct nm_file *file = must_create(s, "in-flight", 0);

    must_create(s, "left-open", 0);
    for (unsigned i = 0; i < s->how.depth; i++) {
        s->queue[i] = (struct nm_op){.kind = NM_OP_WRITE,
                                     .file = file,
                                     .offset_bytes = (uint64_t)i * s->how.block_bytes,
                                     .length_bytes = s->how.block_bytes,
                                     .slot = i,
                                     .buf = buffer_of(s, i)};
        nm_session_submit(s->nm, &s->queue[i]);
    }
    session_disconnect(s);
    session_connect(s, false);
    must(s, on(s, NM_OP_UNLINK, "in-flight"));
    must(s, on(s, NM_OP_UNLINK, "left-open"));
}

struct names {
    char (*list)[512];
    bool *directory;
    size_t count, size;
};

static void keep_name(void *context, const char *name, const struct nm_stat *stat)
{
    struct names *found = context;

    if (found->count < found->size && strlen(name) < sizeof(found->list[0])) {
        snprintf(found->list[found->count], sizeof(found->list[0]), "%s", name);
        found->directory[found->count++] = stat->is_directory;
    }
}

static void remove_tree(struct session *s, const char *path)
{
    struct names found = {.size = 1000};
    char inner[1600];

    found.list = calloc(found.size, sizeof(*found.list));
    found.directory = calloc(found.size, sizeof(*found.directory));
    CHECK(found.list && found.directory, "out of memory");
    must(s, (struct nm_op){
                .kind = NM_OP_LIST, .path = path, .list_entry = keep_name, .list_context = &found});
    for (size_t i = 0; i < found.count; i++) {
        snprintf(inner, sizeof(inner), "%s/%s", path, found.list[i]);
        if (found.directory[i])
            remove_tree(s, inner);
        else
            must(s, (struct nm_op){.kind = NM_OP_UNLINK, .path = inner});
    }
    free(found.list);
    free(found.directory);
    must(s, (struct nm_op){.kind = NM_OP_RMDIR, .path = path});
}

static void remove_everything(struct session *s)
{
    struct nm_stat stat;

    remove_tree(s, s->suite->directory);
    must_fail(s, (struct nm_op){.kind = NM_OP_STAT, .path = s->suite->directory, .stat = &stat},
              -ENOENT, NM_REASON_NOT_FOUND);
}

const struct check file_checks[] = {
    {"connect_describe", describe_twice, CHECK_UNCLAIMED},
    {"protected_before_claim", protected_before_claim, CHECK_UNCLAIMED},
    {"make_directory", make_directory, 0},
    {"directories", directories, 0},
    {"missing_names", missing_names, 0},
    {"sizes", sizes, 0},
    {"large_file", large_file, 0},
    {"unannounced_size", unannounced_size, 0},
    {"create_is_exclusive", create_is_exclusive, 0},
    {"created_file_is_readable", created_file_is_readable, 0},
    {"reads_end_at_the_end", reads_end_at_the_end, 0},
    {"write_of_nothing", write_of_nothing, 0},
    {"overwrite_in_place", overwrite_in_place, 0},
    {"several_files_at_once", several_files_at_once, 0},
    {"names_at_depth", names_at_depth, 0},
    {"listing", listing, 0},
    {"renaming", renaming, 0},
    {"names", names, 0},
    {"deep_directory", deep_directory, 0},
    {"second_session_sees_the_files", second_session_sees_the_files, 0},
    {"read_only_session", read_only_session, CHECK_READ_ONLY},
    {"unsupported_kinds", unsupported_kinds, 0},
    {"disconnect_with_operations_in_flight", disconnect_with_operations_in_flight, 0},
    {"disconnect_null", disconnect_null, CHECK_NO_CONNECT},
    {"timeout", frozen_server, CHECK_FREEZE},
    {"remove_everything", remove_everything, 0},
    {0},
};
