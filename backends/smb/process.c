/* Helper processes and shared memory (smb.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "smb.h"

#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

void *nm_smb_shared_alloc(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

void nm_smb_shared_free(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes);
}

/* ---- processes ---- */

/* The library writes to standard output and standard error; both belong to the user. Signals of
 * the terminal reach the whole process group, but the engine decides what ends when. */
static void become_child(const char *name, pid_t parent)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent || null < 0)
        _exit(1);
    prctl(PR_SET_NAME, name);
    prctl(PR_SET_DUMPABLE, 0); /* the library keeps copies of the password */
    for (int fd = 0; fd <= 2; fd++)
        dup2(null, fd);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
}

int nm_smb_fork(const char *name, pid_t *ret_pid, int *ret_life_fd, struct nm_error *err)
{
    pid_t parent = getpid(), pid = -1;
    int life[2] = {-1, -1};

    if (pipe2(life, O_CLOEXEC) == 0)
        pid = fork();
    if (pid < 0) {
        int code = -errno;

        close(life[0]);
        close(life[1]);
        return nm_error_set(err, code, NM_REASON_CLIENT_LIMIT,
                            "smb: cannot start a process: %s; is the limit of processes or open "
                            "files reached?",
                            strerror(-code));
    }
    close(life[pid == 0 ? 0 : 1]);
    if (pid == 0) {
        become_child(name, parent);
        return *ret_pid = 0;
    }
    *ret_pid = pid;
    *ret_life_fd = life[0];
    return 0;
}

int nm_smb_wait(pid_t pid, int life_fd, uint64_t deadline_ns, uint64_t *cpu_ns)
{
    struct pollfd ended = {.fd = life_fd, .events = POLLIN};
    struct rusage usage = {0};
    int result = 0, status = 0, wait_ms;

    do {
        wait_ms = nm_clock_poll_ms(deadline_ns, 1000);
    } while (poll(&ended, 1, wait_ms) <= 0 && wait_ms > 0);
    if (!ended.revents) {
        kill(pid, SIGKILL);
        result = -ETIMEDOUT;
    }
    while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR)
        ;
    close(life_fd);
    if (cpu_ns)
        *cpu_ns +=
            ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * NM_NS_PER_S +
            ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * NM_NS_PER_US;
    return result ? result : WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -ECHILD;
}

int nm_smb_help(void (*work)(void *shared), void *shared, uint64_t deadline_ns, const char *what,
                struct nm_error *err)
{
    pid_t pid;
    int life_fd = -1, r = nm_smb_fork("nasmark-smb", &pid, &life_fd, err);

    if (r < 0)
        return r;
    if (pid == 0) {
        work(shared);
        _exit(0);
    }
    r = nm_smb_wait(pid, life_fd, deadline_ns, NULL);
    if (r == -ETIMEDOUT)
        nm_error_set(err, r, NM_REASON_TIMEOUT,
                     "%s: no answer in time; is the server stuck, or a firewall in the way?", what);
    else if (r < 0)
        nm_error_set(err, r, NM_REASON_INTERNAL, "%s: the helper process died", what);
    return r;
}
