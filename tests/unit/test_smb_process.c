/* SMB: the ring between processes, helper processes and their deadlines.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "smb/smb.h"

#include "clock.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NUMBERS 50000u

static void test_smb_ring_keeps_order_across_processes(void **state)
{
    struct nm_smb_ring *ring = nm_smb_shared_alloc(sizeof(*ring));
    int status = -1;
    pid_t pid;

    (void)state;
    assert_non_null(ring);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        for (uint32_t i = 0; i < NUMBERS; i++)
            if (nm_smb_ring_pop(ring) != i)
                _exit(1);
        _exit(nm_smb_ring_pop(ring) == NM_SMB_RING_QUIT ? 0 : 2);
    }
    for (uint32_t i = 0; i < NUMBERS; i++)
        while (nm_smb_ring_push(ring, i) < 0)
            usleep(10);
    while (nm_smb_ring_push(ring, NM_SMB_RING_QUIT) < 0)
        usleep(10);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    nm_smb_shared_free(ring, sizeof(*ring));
}

static void test_smb_ring_says_when_it_is_full_and_empty(void **state)
{
    struct nm_smb_ring *ring = nm_smb_shared_alloc(sizeof(*ring));
    uint32_t value;

    (void)state;
    assert_false(nm_smb_ring_try_pop(ring, &value));
    for (uint32_t i = 0; i < NM_SMB_RING_SLOTS; i++)
        assert_int_equal(nm_smb_ring_push(ring, i), 0);
    assert_int_equal(nm_smb_ring_push(ring, 1), -EAGAIN);
    assert_true(nm_smb_ring_try_pop(ring, &value));
    assert_int_equal(value, 0);
    assert_int_equal(nm_smb_ring_push(ring, 1), 0);
    nm_smb_shared_free(ring, sizeof(*ring));
}

struct shared {
    int answer;
};

static void answer(void *memory)
{
    ((struct shared *)memory)->answer = 42;
}

static void never_end(void *memory)
{
    (void)memory;
    for (;;)
        pause();
}

static void crash(void *memory)
{
    (void)memory;
    _exit(3);
}

static void test_smb_help_brings_the_answer_back(void **state)
{
    struct shared *shared = nm_smb_shared_alloc(sizeof(*shared));
    struct nm_error err = {0};

    (void)state;
    assert_int_equal(nm_smb_help(answer, shared, nm_clock_now_ns() + 60 * NM_NS_PER_S, "x", &err),
                     0);
    assert_int_equal(shared->answer, 42);
    assert_int_equal(nm_smb_help(crash, shared, nm_clock_now_ns() + 60 * NM_NS_PER_S, "x", &err),
                     -ECHILD);
    assert_int_equal(err.reason, NM_REASON_INTERNAL);
    nm_smb_shared_free(shared, sizeof(*shared));
}

static void test_smb_help_kills_at_the_deadline(void **state)
{
    struct nm_error err = {0};

    (void)state;
    assert_int_equal(
        nm_smb_help(never_end, NULL, nm_clock_now_ns() + NM_NS_PER_S / 20, "the server", &err),
        -ETIMEDOUT);
    assert_int_equal(err.reason, NM_REASON_TIMEOUT);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left */
    assert_int_equal(errno, ECHILD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_smb_ring_keeps_order_across_processes),
        cmocka_unit_test(test_smb_ring_says_when_it_is_full_and_empty),
        cmocka_unit_test(test_smb_help_brings_the_answer_back),
        cmocka_unit_test(test_smb_help_kills_at_the_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
