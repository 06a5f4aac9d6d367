/* Checks of names: directories, listings, renaming, odd and long names.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "common.h"
#include "contract.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void make_directory(struct session *s)
{
    struct nm_op op = op_on(s, NM_OP_MKDIR, "");

    must(s, op);
    must_fail(s, op, -EEXIST, NM_REASON_NONE);
    CHECK(stat_of(s, "").is_directory, "%s is not a directory", s->path);

    struct nm_stat stat = {0};

    must(s, (struct nm_op){.kind = NM_OP_STAT, .path = "", .stat = &stat});
    CHECK(stat.is_directory, "the target itself is not a directory");
}

void directories(struct session *s)
{
    must(s, op_on(s, NM_OP_MKDIR, "dir"));
    must(s, op_on(s, NM_OP_MKDIR, "dir/inner"));
    must_fail(s, op_on(s, NM_OP_RMDIR, "dir"), 0, NM_REASON_NONE);
    put_file(s, "dir/file", 10);
    must(s, op_on(s, NM_OP_RMDIR, "dir/inner"));
    must_fail(s, op_on(s, NM_OP_RMDIR, "dir"), 0, NM_REASON_NONE);
    must_have_size(s, "dir/file", 10);
    must_fail(s, op_on(s, NM_OP_RMDIR, "dir/file"), 0, NM_REASON_NONE);
    must_fail(s, op_on(s, NM_OP_UNLINK, "dir"), 0, NM_REASON_NONE);
    must_fail(s, op_on(s, NM_OP_MKDIR, "dir/file"), -EEXIST, NM_REASON_NONE);
    must(s, op_on(s, NM_OP_UNLINK, "dir/file"));
    must(s, op_on(s, NM_OP_RMDIR, "dir"));
    must_be_missing(s, "dir");
}

void missing_names(struct session *s)
{
    static const enum nm_op_kind kinds[] = {NM_OP_RMDIR, NM_OP_OPEN, NM_OP_LIST, NM_OP_UNLINK};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct nm_op op = op_on(s, kinds[i], "missing");

        op.open_flags = NM_OPEN_READ;
        must_fail(s, op, -ENOENT, NM_REASON_NOT_FOUND);
    }
    must_be_missing(s, "missing");
    must_fail(s, op_on(s, NM_OP_CREATE, "missing/file"), -ENOENT, NM_REASON_NOT_FOUND);
    must_fail(s, op_on(s, NM_OP_MKDIR, "missing/dir"), -ENOENT, NM_REASON_NOT_FOUND);
    must_be_missing(s, "missing");
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

void listing(struct session *s)
{
    struct listing found = {0};
    char name[64];

    must(s, op_on(s, NM_OP_MKDIR, "list"));
    must(s, op_on(s, NM_OP_MKDIR, "list/sub"));
    for (unsigned i = 0; i < 300; i++) {
        snprintf(name, sizeof(name), "list/entry-%u", i);
        struct nm_file *file = must_create(s, name, 0);

        if (i % 3)
            must(s, (struct nm_op){.kind = NM_OP_WRITE, .file = file, .length_bytes = i % 3});
        must_close(s, file);
    }
    struct nm_op op = op_on(s, NM_OP_LIST, "list");

    op.list_entry = count_entry;
    op.list_context = &found;
    must(s, op);
    CHECK(found.files == 300 && found.directories == 1 && !found.wrong,
          "listed %u of 300 files, %u of 1 directories, %u wrong", found.files, found.directories,
          found.wrong);
    for (unsigned i = 0; i < 300; i++) {
        snprintf(name, sizeof(name), "list/entry-%u", i);
        must(s, op_on(s, NM_OP_UNLINK, name));
    }
    must(s, op_on(s, NM_OP_RMDIR, "list/sub"));
    must(s, op_on(s, NM_OP_RMDIR, "list"));
}

int64_t rename_to(struct session *s, const char *from, const char *to, struct nm_op *op)
{
    char target[1100];

    snprintf(target, sizeof(target), "%s", path_of(s, to));
    *op = op_on(s, NM_OP_RENAME, from);
    op->new_path = target;
    return run(s, op);
}

void renaming(struct session *s)
{
    struct nm_op op;

    must(s, op_on(s, NM_OP_MKDIR, "rename"));
    put_file(s, "rename-a", 100);
    put_file(s, "rename-b", 200);
    CHECK(rename_to(s, "rename-a", "rename-b", &op) == -EEXIST,
          "rename onto an existing file: %lld, expected -EEXIST", (long long)op.result);
    must_have_size(s, "rename-a", 100);
    must_have_size(s, "rename-b", 200);
    CHECK(!rename_to(s, "rename-a", "rename/a", &op), "rename: %s", op.err.text);
    must_be_missing(s, "rename-a");
    get_file(s, "rename/a", "rename-a", 100);
    CHECK(rename_to(s, "rename-a", "rename-c", &op) == -ENOENT,
          "rename of a missing name: %lld, expected -ENOENT", (long long)op.result);
    CHECK(!rename_to(s, "rename", "renamed", &op), "rename of a directory: %s", op.err.text);
    get_file(s, "renamed/a", "rename-a", 100);
}

void names(struct session *s)
{
    char long_name[257];
    const char *const list[] = {"with space",  "100% #1 ?", "Łódź-東京-é", "a,b=c;d@e",
                                "UPPER.lower", "~tilde$",   long_name};

    memset(long_name, 'n', sizeof(long_name) - 1);
    long_name[255] = '\0';
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        if (strchr(list[i], '?') && s->suite->ops->protocol == NM_PROTOCOL_SMB)
            continue; /* not a character of an SMB name */
        put_file(s, list[i], 3000);
        get_file(s, list[i], list[i], 3000);
        must(s, op_on(s, NM_OP_UNLINK, list[i]));
        must_be_missing(s, list[i]);
    }
    long_name[255] = 'n';
    long_name[256] = '\0';
    must_fail(s, op_on(s, NM_OP_CREATE, long_name), -ENAMETOOLONG, NM_REASON_NONE);
    must_fail(s, op_on(s, NM_OP_MKDIR, long_name), -ENAMETOOLONG, NM_REASON_NONE);
}

void deep_directory(struct session *s)
{
    char path[600] = "deep";

    for (unsigned level = 0; level < 20; level++) {
        must(s, op_on(s, NM_OP_MKDIR, path));
        snprintf(path + strlen(path), sizeof(path) - strlen(path), "/level-%02u-with-a-name",
                 level);
    }
    put_file(s, path, 5000);
    get_file(s, path, path, 5000);
    must(s, op_on(s, NM_OP_UNLINK, path));
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

void remove_everything(struct session *s)
{
    struct nm_stat stat;

    remove_tree(s, s->suite->directory);
    must_fail(s, (struct nm_op){.kind = NM_OP_STAT, .path = s->suite->directory, .stat = &stat},
              -ENOENT, NM_REASON_NOT_FOUND);
}
