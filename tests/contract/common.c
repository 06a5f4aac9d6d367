/* Checks that hold for files and blocks alike.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "common.h"

#include "clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void describe(struct session *s, struct nm_target_info *info, struct nm_conditions *set)
{
    struct nm_error err = {0};
    int r;

    memset(info, 0xff, sizeof(*info));
    memset(set, 0, sizeof(*set));
    r = s->suite->ops->describe(s->nm, info, set, &err);
    CHECK(!r, "describe: %d [%s] %s", r, nm_reason_name(err.reason), err.text);
    CHECK(info->block_bytes && !(info->block_bytes & (info->block_bytes - 1)),
          "block_bytes %u is no power of two", info->block_bytes);
    CHECK(memchr(info->identity, '\0', sizeof(info->identity)) && info->identity[0], "no identity");
    CHECK(info->free_bytes == UINT64_MAX || info->free_bytes <= info->total_bytes,
          "free %llu of total %llu", (unsigned long long)info->free_bytes,
          (unsigned long long)info->total_bytes);
    for (uint32_t i = 0; i < set->count; i++) {
        const struct nm_condition *item = &set->items[i];

        CHECK(nm_condition_find(item->name), "condition '%s' = '%s' is not declared", item->name,
              item->value);
        CHECK(item->value[0], "condition '%s' is empty", item->name);
    }
    CHECK(!nm_conditions_get(set, "conditions.overflow"), "too many conditions");
}

void describe_twice(struct session *s)
{
    static struct nm_conditions first, second;
    struct nm_target_info info, again;

    describe(s, &info, &first);
    for (uint32_t i = 0; i < first.count; i++)
        printf("    %s = %s\n", first.items[i].name, first.items[i].value);
    printf("    identity %s, total %llu, free %llu, block %u, writable %d\n", info.identity,
           (unsigned long long)info.total_bytes, (unsigned long long)info.free_bytes,
           info.block_bytes, info.writable);
    CHECK(info.writable, "the target is said not to be writable");
    session_disconnect(s);
    session_connect(s, false);
    describe(s, &again, &second);
    CHECK(!strcmp(info.identity, again.identity), "identity was %s, is %s", info.identity,
          again.identity);
    CHECK(first.count == second.count, "%u conditions, then %u", first.count, second.count);
}

void protected_before_claim(struct session *s)
{
    struct nm_error err = {0};
    bool files = s->suite->ops->supports & NM_OP_MASK(NM_OP_CREATE);

    if (!s->suite->ops->claim)
        check_skipped("nothing to claim");
    if (s->suite->shared->claimed)
        check_skipped("claimed already");
    if (files) {
        must_fail(s, (struct nm_op){.kind = NM_OP_CREATE, .path = path_of(s, "early")}, 0,
                  NM_REASON_PROTECTED);
    } else {
        struct nm_file *file = NULL;
        struct nm_op op = {
            .kind = NM_OP_OPEN, .path = "", .open_flags = NM_OPEN_READ | NM_OPEN_WRITE};

        CHECK(!run(s, &op), "open: %s", op.err.text);
        file = op.file;
        must_fail(
            s,
            (struct nm_op){.kind = NM_OP_WRITE, .file = file, .length_bytes = s->how.block_bytes},
            0, NM_REASON_PROTECTED);
        must_close(s, file);
    }
    CHECK(!nm_backend_claim(s->nm, NULL, &err), "claim: %d [%s] %s", err.code,
          nm_reason_name(err.reason), err.text);
    s->suite->shared->claimed = true;
}

void unsupported_kinds(struct session *s)
{
    for (int kind = 0; kind < NM_OP_KINDS; kind++)
        if (!(s->suite->ops->supports & NM_OP_MASK(kind)))
            must_fail(s, (struct nm_op){.kind = kind, .path = ""}, -EOPNOTSUPP,
                      NM_REASON_UNSUPPORTED);
}

void disconnect_null(struct session *s)
{
    s->suite->ops->disconnect(NULL);
}

static void shell(const char *command)
{
    int r = system(command); /* NOLINT: the tester's own command */

    CHECK(r == 0, "'%s' ended with %d", command, r);
}

/* A server that does not answer: operations end with -ETIMEDOUT at the time that was set, and
 * the session can be left. */
void frozen_server(struct session *s)
{
    bool files = s->suite->ops->supports & NM_OP_MASK(NM_OP_CREATE);
    struct nm_file *file = NULL;
    struct nm_op open = {.kind = NM_OP_OPEN, .path = "", .open_flags = NM_OPEN_READ};
    uint64_t start_ns, took_ns;

    if (files) {
        file = must_create(s, "frozen", 0);
    } else {
        CHECK(!run(s, &open), "open: %s", open.err.text);
        file = open.file;
    }
    shell(s->suite->freeze);
    start_ns = nm_clock_now_ns();
    struct nm_op op = {
        .kind = files ? NM_OP_WRITE : NM_OP_READ, .file = file, .length_bytes = s->how.block_bytes};
    int64_t r = run(s, &op);

    took_ns = nm_clock_now_ns() - start_ns;
    session_disconnect(s);
    shell(s->suite->thaw);
    CHECK(r == -ETIMEDOUT && op.err.reason == NM_REASON_TIMEOUT, "result %lld [%s] %s",
          (long long)r, nm_reason_name(op.err.reason), op.err.text);
    CHECK(took_ns < s->suite->how.timeout_ns * 3 / 2 + NM_NS_PER_S, "took %.1f s",
          (double)took_ns / NM_NS_PER_S);
    session_connect(s, false);
}
