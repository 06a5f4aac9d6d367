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

/* Sizes around the edges of blocks and pages; none but one is a multiple of the block. */
static void sizes(struct session *s)
{
    const uint64_t list[] = {0,    1,    511,     512,         2000,      4095,
                             4096, 4097, MIB + 1, 3 * MIB - 1, 5000 * KIB};

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        char name[64];

        snprintf(name, sizeof(name), "size-%llu", (unsigned long long)list[i]);
        put_file(s, name, list[i]);
        must_have_size(s, name, list[i]);
        get_file(s, name, name, list[i]);
    }
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        char name[64];

        snprintf(name, sizeof(name), "size-%llu", (unsigned long long)list[i]);
        must(s, op_on(s, NM_OP_UNLINK, name));
        must_be_missing(s, name);
    }
}

static void large_file(struct session *s)
{
    put_file(s, "large", 64 * MIB);
    must_have_size(s, "large", 64 * MIB);
    get_file(s, "large", "large", 64 * MIB);
    must(s, op_on(s, NM_OP_UNLINK, "large"));
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
    get_file(s, "grown", "grown", 2 * MIB + 100);

    file = must_create(s, "shorter", 8 * MIB); /* announced more than comes */
    transfer(s, file, NM_OP_WRITE, 0, MIB + 5, position_of("shorter"));
    must_close(s, file);
    must_have_size(s, "shorter", MIB + 5);
    get_file(s, "shorter", "shorter", MIB + 5);
}

static void create_is_exclusive(struct session *s)
{
    put_file(s, "exclusive", 5000);
    must_fail(s, op_on(s, NM_OP_CREATE, "exclusive"), -EEXIST, NM_REASON_NONE);
    get_file(s, "exclusive", "exclusive", 5000);
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

    put_file(s, "end", size);
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
    put_file(s, "over", 3 * MIB);
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
        get_file(s, name[i], name[i], 100000 + i);
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

/* Leaves "kept" for the read-only check that follows. */
static void second_session_sees_the_files(struct session *s)
{
    put_file(s, "kept", MIB + 1);
    must(s, (struct nm_op){.kind = NM_OP_FLUSH});
    session_disconnect(s);
    session_connect(s, false);
    get_file(s, "kept", "kept", MIB + 1);
    if (s->suite->ops->drop_caches) {
        struct nm_error err = {0};

        CHECK(!s->suite->ops->drop_caches(s->nm, &err), "drop_caches: %s", err.text);
        get_file(s, "kept", "kept", MIB + 1);
    }
}

static void read_only_session(struct session *s)
{
    struct nm_op op;
    struct nm_error err = {0};

    if (s->suite->shared->claimed || !s->suite->ops->claim)
        get_file(s, "kept", "kept", MIB + 1);
    must_fail(s, op_on(s, NM_OP_CREATE, "new"), -EROFS, NM_REASON_READ_ONLY);
    must_fail(s, op_on(s, NM_OP_MKDIR, "new"), -EROFS, NM_REASON_READ_ONLY);
    must_fail(s, op_on(s, NM_OP_UNLINK, "kept"), -EROFS, NM_REASON_READ_ONLY);
    must_fail(s, op_on(s, NM_OP_RMDIR, ""), -EROFS, NM_REASON_READ_ONLY);
    op = op_on(s, NM_OP_OPEN, "kept");
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
    must(s, op_on(s, NM_OP_UNLINK, "in-flight"));
    must(s, op_on(s, NM_OP_UNLINK, "left-open"));
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
