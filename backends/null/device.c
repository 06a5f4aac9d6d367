/* What outlives a session of the null backend: its tree of files and the clock of its rate, below
 * /dev/shm, so that all workers and all phases of a run see the same target. Files have sizes but
 * no contents (unless store=yes). Owner: whoever has it open; the last one to leave removes it when
 * it is empty, so a run that cleans up leaves nothing.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "null.h"

#include "clock.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BASE "/dev/shm"

/* "nasmark-null-UID-HASH-name" with odd characters replaced; the hash keeps names apart. */
static void directory_name(const char *name, char *out, size_t size)
{
    uint64_t hash = 1469598103934665603u; /* FNV-1a */
    int n;

    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    n = snprintf(out, size, "nasmark-null-%u-%016llx-%.40s", (unsigned)geteuid(),
                 (unsigned long long)hash, name);
    for (int i = 0; i < n && out[i]; i++)
        if (!isalnum((unsigned char)out[i]) && out[i] != '-' && out[i] != '.')
            out[i] = '_';
}

/* Our directory, made when it is not there, locked against removal. */
static int open_root(struct null_device *device)
{
    struct stat st;
    int fd;

    for (int attempt = 0; attempt < 100; attempt++) {
        if (mkdirat(device->base_fd, device->name, 0700) < 0 && errno != EEXIST)
            return -errno;
        fd = openat(device->base_fd, device->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT)
            continue;
        if (fd < 0)
            return -errno;
        if (flock(fd, LOCK_SH) < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid()) {
            close(fd);
            return -EPERM;
        }
        if (st.st_nlink) {
            device->root_fd = fd;
            return 0;
        }
        close(fd); /* removed between opening and locking */
    }
    return -EBUSY;
}

static int open_parts(struct null_device *device)
{
    uint64_t none = 0;
    int fd;

    if (mkdirat(device->root_fd, "files", 0700) < 0 && errno != EEXIST)
        return -errno;
    device->files_fd = openat(device->root_fd, "files", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (device->files_fd < 0)
        return -errno;
    fd = openat(device->root_fd, "state", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    if (ftruncate(fd, sizeof(*device->shared)) < 0) {
        int r = -errno;

        close(fd);
        return r;
    }
    device->shared = mmap(NULL, sizeof(*device->shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (device->shared == MAP_FAILED) {
        device->shared = NULL;
        return -ENOMEM;
    }
    atomic_compare_exchange_strong(&device->shared->epoch_ns, &none, nm_clock_now_ns());
    return 0;
}

int null_device_open(struct null_device *device, const struct nm_url *url, struct nm_error *err)
{
    int r;

    *device = NULL_DEVICE_CLOSED;
    directory_name(url->path, device->name, sizeof(device->name));
    device->base_fd = open(BASE, O_PATH | O_DIRECTORY | O_CLOEXEC);
    r = device->base_fd < 0 ? -errno : open_root(device);
    if (r == 0)
        r = open_parts(device);
    if (r < 0)
        return nm_error_set(err, r, NM_REASON_CLIENT_LIMIT,
                            "null: cannot keep its files in " BASE "/%s: %s", device->name,
                            strerror(-r));
    return 0;
}

void null_device_close(struct null_device *device)
{
    bool keep;

    keep = !device->shared || atomic_load(&device->shared->keep);
    if (device->shared)
        munmap(device->shared, sizeof(*device->shared));
    if (device->files_fd >= 0)
        close(device->files_fd);
    if (device->root_fd >= 0) {
        if (!keep && flock(device->root_fd, LOCK_EX | LOCK_NB) == 0 &&
            unlinkat(device->root_fd, "files", AT_REMOVEDIR) == 0) {
            unlinkat(device->root_fd, "device", 0);
            unlinkat(device->root_fd, "state", 0);
            unlinkat(device->base_fd, device->name, AT_REMOVEDIR);
        }
        close(device->root_fd);
    }
    if (device->base_fd >= 0)
        close(device->base_fd);
}

/* A token bucket without a bucket: transfers queue one behind the other, whoever sends them. The
 * 1/1024 ns keep the sum of the roundings below 10^-6 at a million operations per second. */
uint64_t null_device_transfer(struct null_device *device, uint64_t now_ns, uint64_t bytes,
                              uint64_t bytes_per_s)
{
    uint64_t epoch_ns = atomic_load(&device->shared->epoch_ns);
    uint64_t now = now_ns > epoch_ns ? (now_ns - epoch_ns) << 10 : 0;
    uint64_t cost = (uint64_t)(((unsigned __int128)bytes * NM_NS_PER_S << 10) / bytes_per_s);
    uint64_t busy = atomic_load(&device->shared->busy_until), end;

    do {
        end = (busy > now ? busy : now) + cost;
    } while (!atomic_compare_exchange_weak(&device->shared->busy_until, &busy, end));
    return epoch_ns + (end >> 10);
}
