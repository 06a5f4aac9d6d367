/* The spawner: workers run, their end is reported, a kill arrives, nobody outlives the parent.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "clock.h"
#include "spawner.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static volatile pid_t *pids; /* shared */

static int worker(unsigned slot, void *context)
{
    (void)context;
    pids[slot] = getpid();
    if (slot == 1)
        nm_clock_sleep_until_ns(nm_clock_now_ns() + 60 * NM_NS_PER_S);
    return slot == 2 ? 7 : 0;
}

static uint64_t soon(void)
{
    return nm_clock_now_ns() + 10 * NM_NS_PER_S;
}

static int setup(void **state)
{
    (void)state;
    pids = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return pids == MAP_FAILED;
}

static void test_spawner_reports_exit_and_kill(void **state)
{
    struct nm_spawner *spawner;
    struct nm_error err;
    unsigned slot;
    int status;

    (void)state;
    assert_int_equal(nm_spawner_start(worker, NULL, &spawner, &err), 0);
    assert_int_equal(nm_spawner_spawn(spawner, 2, &err), 0);
    assert_int_equal(nm_spawner_wait(spawner, soon(), &slot, &status, &err), 1);
    assert_int_equal(slot, 2);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);

    assert_int_equal(nm_spawner_spawn(spawner, 1, &err), 0);
    assert_int_equal(nm_spawner_kill(spawner, 1, &err), 0);
    assert_int_equal(nm_spawner_wait(spawner, soon(), &slot, &status, &err), 1);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    nm_spawner_stop(spawner);
}

static void test_spawner_forgets_who_does_not_end(void **state)
{
    struct nm_spawner *spawner;
    struct nm_error err;
    unsigned slot;
    int status, stale;

    (void)state;
    assert_int_equal(nm_spawner_start(worker, NULL, &spawner, &err), 0);
    assert_int_equal(nm_spawner_spawn(spawner, 2, &err), 0);
    usleep(100000); /* its end is reported, but nobody has looked */
    assert_int_equal(nm_spawner_forget(spawner, 2, &err), 0);
    assert_int_equal(nm_spawner_spawn(spawner, 2, &err), 0);
    for (stale = 0; nm_spawner_wait(spawner, soon(), &slot, &status, &err) == 0;)
        stale++;
    assert_int_equal(stale, 1);
    assert_int_equal(slot, 2);
    assert_int_equal(
        nm_spawner_wait(spawner, nm_clock_now_ns() + 50 * NM_NS_PER_MS, &slot, &status, &err), 0);
    nm_spawner_stop(spawner);
}

static void test_spawner_workers_die_with_the_parent(void **state)
{
    uint64_t limit_ns;

    (void)state;
    pids[1] = 0;
    pid_t parent = fork();

    if (!parent) {
        struct nm_spawner *spawner;
        struct nm_error err;

        if (nm_spawner_start(worker, NULL, &spawner, &err) == 0 &&
            nm_spawner_spawn(spawner, 1, &err) == 0)
            for (;;)
                pause();
        _exit(1);
    }
    for (limit_ns = soon(); !pids[1] && nm_clock_now_ns() < limit_ns;)
        usleep(1000);
    assert_true(pids[1]);
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    for (limit_ns = soon(); kill(pids[1], 0) == 0 && nm_clock_now_ns() < limit_ns;)
        usleep(1000);
    assert_int_equal(kill(pids[1], 0), -1);
    assert_int_equal(errno, ESRCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spawner_reports_exit_and_kill),
        cmocka_unit_test(test_spawner_forgets_who_does_not_end),
        cmocka_unit_test(test_spawner_workers_die_with_the_parent),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
