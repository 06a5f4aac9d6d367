/* The lock is a listening socket in the abstract name space: it needs no file, nobody has to tidy
 * it up, and it tells who holds it (device_lock.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "device_lock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <xxhash.h>

/* Process that listens there; 0 = it has just ended. */
static pid_t holder(const struct sockaddr_un *name)
{
    struct ucred credentials = {0};
    socklen_t size = sizeof(credentials);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return 0;
    if (connect(fd, (const struct sockaddr *)name, sizeof(*name)) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
        credentials.pid = 0;
    close(fd);
    return credentials.pid;
}

int nm_device_lock(const char *identity, const char *url, int *ret_fd, struct nm_error *err)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    const char *who = identity && *identity ? identity : url;
    int r = 0, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pid_t pid;

    *ret_fd = -1;
    if (fd < 0)
        return nm_error_errno(err, -errno, "cannot make a lock for %s: %s", url, strerror(errno));
    snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "nasmark-device-%016" PRIx64,
             (uint64_t)XXH64(who, strlen(who), 0));
    if (bind(fd, (const struct sockaddr *)&name, sizeof(name)) < 0 || listen(fd, 8) < 0)
        r = -errno;
    if (!r) {
        *ret_fd = fd;
        return 0;
    }
    close(fd);
    if (r != -EADDRINUSE)
        return nm_error_errno(err, r, "cannot make a lock for %s: %s", url, strerror(-r));
    pid = holder(&name);
    if (pid == getpid())
        return 0;
    return nm_error_set(err, -EBUSY, NM_REASON_PROTECTED,
                        "%s: another nasmark of this machine (process %ld) is using this device; "
                        "wait until it has ended",
                        url, (long)pid);
}
