/* What lies behind a local path, asked once and without waiting for ever (local.h).
 *
 * The parent has to know it, to choose between the rows `local` and `device`; but a mounted file
 * system whose server is dead blocks whoever looks, for good. So a child looks, and the answer is
 * kept: workers inherit it, and later questions do not touch the file system again.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "local.h"

#include "clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_NS (3 * NM_NS_PER_S)

struct known {
    struct known *next;
    bool device;
    char path[];
};

static struct known *known; /* of this process */

/* What a child is to say: 'd' device or image, 'o' other, 'n' nothing there (yet). */
static char look(const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return 'n';
    return S_ISBLK(st.st_mode) || S_ISREG(st.st_mode) ? 'd' : 'o';
}

/* The child's answer; 'o' when there is none in time: the worker that connects will say why. */
static char ask(const char *path)
{
    uint64_t deadline_ns = nm_clock_now_ns() + ANSWER_NS;
    int answer[2], wait_ms;
    char kind = 'o';
    pid_t pid;

    if (pipe2(answer, 0) < 0)
        return look(path);
    pid = fork();
    if (pid == 0) {
        kind = look(path);
        _exit(write(answer[1], &kind, 1) == 1 ? 0 : 1);
    }
    close(answer[1]);
    if (pid < 0) {
        close(answer[0]);
        return look(path);
    }
    struct pollfd fd = {.fd = answer[0], .events = POLLIN};

    do {
        wait_ms = nm_clock_poll_ms(deadline_ns, 1000);
    } while (poll(&fd, 1, wait_ms) <= 0 && wait_ms > 0);
    if (fd.revents && read(answer[0], &kind, 1) == 1) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    } else {
        kill(pid, SIGKILL); /* nobody waits for it: it may never end */
    }
    close(answer[0]);
    return kind;
}

bool local_is_device(const char *path)
{
    struct known *one;

    for (one = known; one; one = one->next)
        if (!strcmp(one->path, path))
            return one->device;
    char kind = ask(path);

    one = kind == 'n' ? NULL : malloc(sizeof(*one) + strlen(path) + 1);
    if (one) {
        one->device = kind == 'd';
        memcpy(one->path, path, strlen(path) + 1);
        one->next = known;
        known = one;
    }
    return kind == 'd';
}
