/* A command of the user between phases (hook.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "hook.h"

#include "clock.h"
#include "spawner.h"
#include "units.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define POLL_NS     (5 * NM_NS_PER_MS)
#define PATIENCE_NS (2 * NM_NS_PER_S)

/* In the child. A group of its own, so that what it starts ends with it. */
static void become(pid_t parent, const char *command, const char *const (*environment)[2])
{
    int null = open("/dev/null", O_RDONLY);

    nm_process_die_with(parent);
    setpgid(0, 0);
    if (null >= 0)
        dup2(null, STDIN_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    for (; (*environment)[0]; environment++)
        setenv((*environment)[0], (*environment)[1], 1);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

/* A process that hangs in the kernel (a dead mount) outlives its kill. */
static void end(pid_t pid)
{
    uint64_t deadline_ns = nm_clock_now_ns() + PATIENCE_NS;

    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, WNOHANG) == 0 && nm_clock_now_ns() < deadline_ns)
        nm_clock_sleep_until_ns(nm_clock_now_ns() + POLL_NS);
}

int nm_hook_run(const char *command, const char *const (*environment)[2], uint64_t limit_ns,
                const volatile sig_atomic_t *interrupted, struct nm_error *err)
{
    uint64_t deadline_ns = nm_clock_now_ns() + limit_ns;
    pid_t parent = getpid(), pid = fork();
    char limit[24];
    int status;

    if (pid < 0)
        return nm_error_set(err, -errno, NM_REASON_CLIENT_LIMIT,
                            "cannot start the command of prepare: %s", strerror(errno));
    if (!pid)
        become(parent, command, environment);
    while (waitpid(pid, &status, WNOHANG) == 0) {
        bool stop = interrupted && *interrupted;

        if (!stop && nm_clock_now_ns() < deadline_ns) {
            nm_clock_sleep_until_ns(nm_clock_now_ns() + POLL_NS);
            continue;
        }
        end(pid);
        return stop ? nm_error_set(err, -ECANCELED, NM_REASON_ABORTED, "stopped before the end")
                    : nm_error_set(err, -ETIMEDOUT, NM_REASON_TIMEOUT,
                                   "the command of prepare did not end within %s and was killed",
                                   nm_units_format_duration(limit_ns, limit, sizeof(limit)));
    }
    if (WIFEXITED(status) && !WEXITSTATUS(status))
        return 0;
    return nm_error_set(err, -EINVAL, NM_REASON_CLIENT_LIMIT,
                        "the command of prepare failed (%s %d): %.200s; run it by hand to see why",
                        WIFEXITED(status) ? "exit status" : "signal",
                        WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), command);
}
