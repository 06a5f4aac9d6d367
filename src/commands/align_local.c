/* The disk of `nasmark align` on this machine (align.h): opened for reading only.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "align.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static int read_fd(void *context, uint64_t offset_bytes, void *buf, uint32_t length_bytes,
                   struct nm_error *err)
{
    const int *fd = context;

    for (uint32_t done = 0; done < length_bytes;) {
        ssize_t n =
            pread(*fd, (char *)buf + done, length_bytes - done, (off_t)(offset_bytes + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return nm_error_errno(err, n < 0 ? -errno : -EIO, "reading at byte %llu: %s",
                                  (unsigned long long)(offset_bytes + done),
                                  n < 0 ? strerror(errno) : "it ends there");
        done += (uint32_t)n;
    }
    return 0;
}

/* /dev/sda1 -> /dev/sda: the table lies on the whole disk. */
static void find_disk(const char *path, char out[512])
{
    char link[64], target[PATH_MAX], *slash;
    struct stat st;

    snprintf(out, 512, "%s", path);
    if (stat(path, &st) < 0 || !S_ISBLK(st.st_mode))
        return;
    snprintf(link, sizeof(link), "/sys/dev/block/%u:%u/partition", major(st.st_rdev),
             minor(st.st_rdev));
    if (access(link, F_OK) < 0)
        return;
    link[strlen(link) - strlen("/partition")] = '\0';
    if (!realpath(link, target)) /* .../block/sda/sda1 */
        return;
    for (int i = 0; i < 2; i++) {
        slash = strrchr(target, '/');
        if (!slash)
            return;
        if (i)
            snprintf(out, 512, "/dev/%.500s", slash + 1);
        *slash = '\0';
    }
}

static int ask_device(int fd, struct nm_disk_shape *shape, struct nm_error *err)
{
    unsigned int physical = 0, minimum = 0, optimal = 0;
    int sector = 0, offset = 0;

    if (ioctl(fd, BLKGETSIZE64, &shape->size_bytes) < 0 || ioctl(fd, BLKSSZGET, &sector) < 0 ||
        ioctl(fd, BLKPBSZGET, &physical) < 0 || ioctl(fd, BLKIOMIN, &minimum) < 0 ||
        ioctl(fd, BLKIOOPT, &optimal) < 0 || ioctl(fd, BLKALIGNOFF, &offset) < 0)
        return nm_error_errno(err, -errno, "asking for its blocks: %s", strerror(errno));
    shape->sector_bytes = (uint32_t)sector;
    if (!shape->physical_bytes)
        shape->physical_bytes = physical;
    shape->minimum_io_bytes = minimum;
    shape->optimal_io_bytes = optimal;
    shape->offset_bytes = offset > 0 ? (uint32_t)offset : 0; /* -1 = the kernel cannot tell */
    return 0;
}

int nm_align_read_local(const char *path, struct nm_align_subject *subject, struct nm_error *err)
{
    struct nm_disk disk = {.read = read_fd};
    struct stat st;
    int fd, r = 0;

    find_disk(path, subject->name);
    fd = open(subject->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0)
        r = nm_error_errno(err, -errno, "%s", strerror(errno));
    else if (S_ISBLK(st.st_mode))
        r = ask_device(fd, &subject->shape, err);
    else if (S_ISREG(st.st_mode))
        subject->shape.size_bytes = (uint64_t)st.st_size;
    else
        r = nm_error_set(err, -EINVAL, NM_REASON_UNSUPPORTED,
                         "neither a block device nor an image; name the device itself");
    if (!r) {
        disk.context = &fd;
        disk.size_bytes = subject->shape.size_bytes;
        disk.sector_bytes = subject->shape.sector_bytes;
        r = nm_partition_read(&disk, &subject->table, err);
    }
    if (fd >= 0)
        close(fd);
    if (r < 0)
        nm_error_prefix(err, "%s", subject->name);
    return r;
}
