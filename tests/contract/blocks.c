/* Checks of raw devices (NM_TRAIT_BLOCKS). The contents are overwritten: only for targets made for
 * this.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "contract.h"

#include "clock.h"
#include "common.h"

#include <errno.h>
#include <string.h>

#define MIB UINT64_C(1048576)

static struct nm_file *open_device(struct session *s, unsigned flags)
{
    struct nm_op op = {.kind = NM_OP_OPEN, .path = "", .open_flags = flags};
    int64_t r = run(s, &op);

    CHECK(r == 0, "open: %lld [%s] %s", (long long)r, nm_reason_name(op.err.reason), op.err.text);
    CHECK(op.file && op.file->session == s->nm, "no file of this session");
    return op.file;
}

static struct nm_target_info info_of(struct session *s)
{
    static struct nm_conditions set;
    struct nm_target_info info;
    struct nm_error err = {0};

    memset(&set, 0, sizeof(set));
    CHECK(!s->suite->ops->describe(s->nm, &info, &set, &err), "describe: %s", err.text);
    return info;
}

static void capacity(struct session *s)
{
    struct nm_target_info info = info_of(s);
    struct nm_file *file = open_device(s, NM_OPEN_READ);

    CHECK(info.block_bytes >= 512, "block of %u bytes", info.block_bytes);
    CHECK(file->size_bytes && file->size_bytes % info.block_bytes == 0,
          "capacity %llu with blocks of %u", (unsigned long long)file->size_bytes,
          info.block_bytes);
    CHECK(file->size_bytes == info.total_bytes, "open says %llu bytes, describe %llu",
          (unsigned long long)file->size_bytes, (unsigned long long)info.total_bytes);
    must_close(s, file);
}

static void only_the_empty_path_opens(struct session *s)
{
    must_fail(s, (struct nm_op){.kind = NM_OP_OPEN, .path = "x", .open_flags = NM_OPEN_READ}, 0,
              NM_REASON_NONE);
}

/* Start, middle and end of the device. */
static void write_flush_read(struct session *s)
{
    struct nm_file *file = open_device(s, NM_OPEN_READ | NM_OPEN_WRITE);
    uint64_t size = file->size_bytes, piece = size / 4 < 16 * MIB ? size / 4 : 16 * MIB;
    uint32_t block = info_of(s).block_bytes;

    piece -= piece % block;
    const uint64_t places[] = {0, size / 2 / block * block, size - piece};

    for (int i = 0; i < 3; i++)
        transfer(s, file, NM_OP_WRITE, places[i], piece, position_of("device"));
    must(s, (struct nm_op){.kind = NM_OP_FLUSH, .file = file});
    must(s, (struct nm_op){.kind = NM_OP_FLUSH});
    for (int i = 0; i < 3; i++)
        transfer(s, file, NM_OP_READ, places[i], piece, position_of("device"));
    must_close(s, file);
}

static void contents_stay(struct session *s)
{
    struct nm_file *file = open_device(s, NM_OPEN_READ);

    if (s->suite->ops->drop_caches) {
        struct nm_error err = {0};

        CHECK(!s->suite->ops->drop_caches(s->nm, &err), "drop_caches: %s", err.text);
    }
    transfer(s, file, NM_OP_READ, 0, info_of(s).block_bytes, position_of("device"));
    must_close(s, file);
}

static void smallest_request(struct session *s)
{
    struct nm_file *file = open_device(s, NM_OPEN_READ | NM_OPEN_WRITE);
    uint32_t block = info_of(s).block_bytes;

    s->how.block_bytes = block; /* one block per request */
    transfer(s, file, NM_OP_WRITE, 0, 16 * block, position_of("small"));
    s->how.block_bytes = s->suite->how.block_bytes;
    transfer(s, file, NM_OP_READ, 0, 16 * block, position_of("small"));
    must_close(s, file);
}

static void limits(struct session *s)
{
    struct nm_file *file = open_device(s, NM_OPEN_READ | NM_OPEN_WRITE);
    uint32_t block = info_of(s).block_bytes;
    uint64_t size = file->size_bytes;
    const struct {
        uint64_t offset;
        uint32_t length;
    } bad[] = {
        {size, block},         {size - block, 2 * block},
        {size + block, block}, {UINT64_MAX - block + 1, block},
        {0, block - 1},        {1, block},
        {0, block / 2},        {block / 2, block},
    };

    transfer(s, file, NM_OP_WRITE, size - block, block, position_of("limit"));
    transfer(s, file, NM_OP_WRITE, 0, 2 * block, position_of("limit"));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        for (int write = 0; write < 2; write++)
            must_fail(s,
                      (struct nm_op){.kind = write ? NM_OP_WRITE : NM_OP_READ,
                                     .file = file,
                                     .offset_bytes = bad[i].offset,
                                     .length_bytes = bad[i].length},
                      0, NM_REASON_NONE);
    transfer(s, file, NM_OP_READ, size - block, block, position_of("limit"));
    transfer(s, file, NM_OP_READ, 0, 2 * block, position_of("limit"));
    must_close(s, file);
}

static void read_only_session(struct session *s)
{
    struct nm_file *file = open_device(s, NM_OPEN_READ);
    struct nm_error err = {0};

    must_fail(
        s,
        (struct nm_op){.kind = NM_OP_WRITE, .file = file, .length_bytes = info_of(s).block_bytes},
        -EROFS, NM_REASON_READ_ONLY);
    must_fail(s, (struct nm_op){.kind = NM_OP_OPEN, .path = "", .open_flags = NM_OPEN_WRITE},
              -EROFS, NM_REASON_READ_ONLY);
    CHECK(nm_backend_claim(s->nm, NULL, &err) < 0, "claimed in a read-only session");
    must_close(s, file);
}

static void disconnect_with_operations_in_flight(struct session *s)
{
    struct nm_file *file = open_device(s, NM_OPEN_READ);

    for (unsigned i = 0; i < s->how.depth; i++) {
        s->queue[i] = (struct nm_op){.kind = NM_OP_READ,
                                     .file = file,
                                     .offset_bytes = 0,
                                     .length_bytes = s->how.block_bytes,
                                     .slot = i,
                                     .buf = buffer_of(s, i)};
        nm_session_submit(s->nm, &s->queue[i]);
    }
    session_disconnect(s);
    session_connect(s, false);
}

static void release_zeroes_the_ends(struct session *s)
{
    struct nm_file *file = open_device(s, NM_OPEN_READ | NM_OPEN_WRITE);
    uint32_t block = info_of(s).block_bytes;
    uint64_t end = file->size_bytes / 2 / block * block;
    struct nm_error err = {0};

    if (!s->suite->ops->release)
        check_skipped("no release");
    transfer(s, file, NM_OP_WRITE, 0, block, position_of("release"));
    transfer(s, file, NM_OP_WRITE, end - block, 2 * block, position_of("release"));
    CHECK(!s->suite->ops->release(s->nm, end, &err), "release: %s", err.text);
    const uint64_t places[] = {0, end - block};

    for (int i = 0; i < 2; i++) {
        struct nm_op op = {.kind = NM_OP_READ,
                           .file = file,
                           .offset_bytes = places[i],
                           .length_bytes = block,
                           .buf = buffer_of(s, 0)};
        const unsigned char *bytes = op.buf;

        CHECK(must(s, op) == block, "short read");
        for (uint32_t k = 0; k < block; k++)
            CHECK(!bytes[k], "byte %llu is not zero", (unsigned long long)places[i] + k);
    }
    transfer(s, file, NM_OP_READ, end, block, position_of("release"));
    must_close(s, file);
}

const struct check block_checks[] = {
    {"connect_describe", describe_twice, CHECK_UNCLAIMED},
    {"capacity", capacity, CHECK_UNCLAIMED},
    {"protected_before_claim", protected_before_claim, CHECK_UNCLAIMED},
    {"only_the_empty_path_opens", only_the_empty_path_opens, 0},
    {"write_flush_read", write_flush_read, 0},
    {"contents_stay", contents_stay, 0},
    {"smallest_request", smallest_request, 0},
    {"limits", limits, 0},
    {"read_only_session", read_only_session, CHECK_READ_ONLY},
    {"unsupported_kinds", unsupported_kinds, 0},
    {"disconnect_with_operations_in_flight", disconnect_with_operations_in_flight, 0},
    {"disconnect_null", disconnect_null, CHECK_NO_CONNECT},
    {"timeout", frozen_server, CHECK_FREEZE},
    {"release_zeroes_the_ends", release_zeroes_the_ends, 0},
    {0},
};
