/* Removing a run directory from a server that hides what is in it. The server is a fake: one
 * directory with a marker, which goes only when nothing hidden keeps it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "directory.h"

#include "clock.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MARKER "{\"program\":\"nasmark\",\"directory\":\"nasmark-1-1-smb\"}\n"

static struct server {
    char marker[256]; /* "" = there is none */
    bool directory;
    int rmdir_error;
} server;

static void execute(struct nm_session *session, struct nm_op *op)
{
    static struct nm_file file;

    op->result = 0;
    switch (op->kind) {
    case NM_OP_LIST:
        if (*server.marker)
            op->list_entry(op->list_context, NM_OWNER_FILE, &(struct nm_stat){.size_bytes = 1});
        break;
    case NM_OP_OPEN:
    case NM_OP_CREATE:
        file.session = session;
        op->file = &file;
        break;
    case NM_OP_READ:
        op->result = (int64_t)strlen(server.marker);
        memcpy(op->buf, server.marker, strlen(server.marker));
        break;
    case NM_OP_WRITE:
        snprintf(server.marker, sizeof(server.marker), "%.*s", (int)op->length_bytes,
                 (const char *)op->buf);
        op->result = op->length_bytes;
        break;
    case NM_OP_UNLINK: server.marker[0] = '\0'; break;
    case NM_OP_RMDIR:
        if (server.rmdir_error)
            op->result = nm_error_set(&op->err, server.rmdir_error, NM_REASON_NONE, "no");
        else
            server.directory = false;
        break;
    default: break;
    }
}

static const struct nm_backend_ops fake = {
    .name = "fake", .supports = UINT_MAX, .execute = execute};

static int remove_it(int rmdir_error, uint64_t *ret_foreign, struct nm_error *err)
{
    struct nm_session session = {.ops = &fake};
    static char buffer[4096];
    _Atomic uint64_t heartbeat_ns = 0;

    server = (struct server){.marker = MARKER, .directory = true, .rmdir_error = rmdir_error};
    *ret_foreign = 0;
    return nm_directory_remove(&session, "nasmark-1-1-smb", NM_NS_PER_S, buffer, sizeof(buffer),
                               &heartbeat_ns, ret_foreign, err);
}

static void test_directory_goes_with_its_marker(void **state)
{
    struct nm_error err = {0};
    uint64_t foreign;

    (void)state;
    assert_int_equal(remove_it(0, &foreign, &err), 0);
    assert_int_equal(foreign, 0);
    assert_false(server.directory);
    assert_string_equal(server.marker, "");
}

static void test_directory_that_stays_keeps_its_marker(void **state)
{
    struct nm_error err = {0};
    uint64_t foreign;

    (void)state;
    assert_int_equal(remove_it(-ENOTEMPTY, &foreign, &err), 0);
    assert_int_equal(foreign, 1);
    assert_string_equal(server.marker, MARKER);
    assert_int_equal(remove_it(-EACCES, &foreign, &err), -EACCES);
    assert_string_equal(err.text, "cannot remove nasmark-1-1-smb: no");
    assert_string_equal(server.marker, MARKER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_directory_goes_with_its_marker),
        cmocka_unit_test(test_directory_that_stays_keeps_its_marker),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
