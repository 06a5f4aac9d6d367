/* Devices and image files of this machine as raw targets: capacity, who else uses them, and the
 * rule that nothing is overwritten that was not handed over by name.
 *
 * Reading is always allowed. Before the first write the device must not be mounted, swapped to, or
 * held by another driver (itself and its partitions), and it must be blank: every byte zero; or the
 * user named it in [local] allow_destroy. The first check is made again whenever it is opened for
 * writing. Everything goes through the descriptor of connect, so a name that changes its meaning
 * meanwhile changes nothing.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "local.h"

#include "blank.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

int local_device_connect(struct local_session *s, struct nm_error *err)
{
    uint64_t bytes = 0;
    int sector = 512;
    struct stat st;

    s->root_fd = open(s->path, O_RDONLY | O_CLOEXEC);
    if (s->root_fd < 0 || fstat(s->root_fd, &st) < 0)
        return nm_names_error(err, -errno, false, "open", s->path);
    if (S_ISBLK(st.st_mode)) {
        if (ioctl(s->root_fd, BLKGETSIZE64, &bytes) < 0 ||
            ioctl(s->root_fd, BLKSSZGET, &sector) < 0)
            return nm_names_error(err, -errno, false, "ask for the size of", s->path);
    } else if (S_ISREG(st.st_mode)) {
        bytes = (uint64_t)st.st_size;
    } else {
        return nm_error_set(err, -EOPNOTSUPP, NM_REASON_UNSUPPORTED,
                            "%s is neither a block device nor a file", s->path);
    }
    if (local_probe_device(s->root_fd, s->how, &s->can, err) < 0)
        return err ? err->code : -EOPNOTSUPP;
    s->unit_bytes = (uint32_t)sector;
    if (s->can.direct && s->can.align_bytes > s->unit_bytes)
        s->unit_bytes = s->can.align_bytes;
    s->capacity_bytes = bytes - bytes % s->unit_bytes;
    if (!s->capacity_bytes)
        return nm_error_set(err, -ENXIO, NM_REASON_UNSUPPORTED,
                            "%s holds no block of %u bytes (no medium, or an empty file)", s->path,
                            s->unit_bytes);
    return 0;
}

/* --- who uses it --- */

struct users {
    dev_t disks[64]; /* the device and its partitions */
    size_t count;
    struct stat target;
    char who[PATH_MAX + 64]; /* the answer, "" = nobody */
};

static bool is_one_of(const struct users *users, dev_t device)
{
    for (size_t i = 0; i < users->count; i++)
        if (users->disks[i] == device)
            return true;
    return false;
}

/* Calls each() with every name in a directory of sysfs. */
static void each_entry(const char *directory, struct users *users,
                       void (*each)(struct users *users, const char *directory, const char *name))
{
    DIR *dir = opendir(directory);
    struct dirent *entry;

    if (!dir)
        return;
    while ((entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            each(users, directory, entry->d_name);
    closedir(dir);
}

static void add_holder(struct users *users, const char *directory, const char *name)
{
    (void)directory;
    snprintf(users->who, sizeof(users->who), "it is part of %.200s", name);
}

/* A sub-directory of a disk with a file `partition` is one. */
static void add_partition(struct users *users, const char *directory, const char *name)
{
    unsigned device_major, device_minor;
    char path[PATH_MAX];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s/partition", directory, name);
    if (access(path, F_OK) != 0 || users->count == sizeof(users->disks) / sizeof(users->disks[0]))
        return;
    snprintf(path, sizeof(path), "%s/%s/dev", directory, name);
    file = fopen(path, "re");
    if (file && fscanf(file, "%u:%u", &device_major, &device_minor) == 2)
        users->disks[users->count++] = makedev(device_major, device_minor);
    if (file)
        fclose(file);
    snprintf(path, sizeof(path), "%s/%s/holders", directory, name);
    each_entry(path, users, add_holder);
}

static bool is_mounted_from(void *context, const struct local_mount *mount)
{
    struct users *users = context;
    struct stat st;

    /* btrfs and others have a device number of their own: ask for the source's. */
    if (!is_one_of(users, mount->device) &&
        !(mount->source[0] == '/' && stat(mount->source, &st) == 0 && S_ISBLK(st.st_mode) &&
          is_one_of(users, st.st_rdev)))
        return false;
    snprintf(users->who, sizeof(users->who), "it is mounted on %s", mount->point);
    return true;
}

/* Swap areas, devices and files alike. */
static bool is_swap(struct users *users)
{
    char line[PATH_MAX], path[PATH_MAX];
    FILE *file = fopen("/proc/swaps", "re");
    bool found = false;
    struct stat st;

    while (file && !found && fgets(line, sizeof(line), file))
        found = sscanf(line, "%4095s", path) == 1 && path[0] == '/' && stat(path, &st) == 0 &&
                (S_ISBLK(st.st_mode)
                     ? is_one_of(users, st.st_rdev)
                     : st.st_dev == users->target.st_dev && st.st_ino == users->target.st_ino);
    if (file)
        fclose(file);
    if (found)
        snprintf(users->who, sizeof(users->who), "it is swap space");
    return found;
}

static void find_loop(struct users *users, const char *directory, const char *name)
{
    char path[PATH_MAX], backing[PATH_MAX];
    FILE *file;
    struct stat st;

    snprintf(path, sizeof(path), "%s/%s/loop/backing_file", directory, name);
    file = strncmp(name, "loop", 4) ? NULL : fopen(path, "re");
    if (!file)
        return;
    if (fgets(backing, sizeof(backing), file)) {
        backing[strcspn(backing, "\n")] = '\0';
        if (stat(backing, &st) == 0 && st.st_dev == users->target.st_dev &&
            st.st_ino == users->target.st_ino)
            snprintf(users->who, sizeof(users->who), "it is attached to /dev/%.32s; name that",
                     name);
    }
    fclose(file);
}

/* Refuses a target that somebody else uses. */
static int refuse_used(struct local_session *s, struct nm_error *err)
{
    struct users users = {0};
    char path[64];

    if (fstat(s->root_fd, &users.target) < 0)
        return nm_names_error(err, -errno, false, "stat", s->path);
    if (S_ISBLK(users.target.st_mode)) {
        unsigned device_major = major(users.target.st_rdev),
                 device_minor = minor(users.target.st_rdev);

        users.disks[users.count++] = users.target.st_rdev;
        snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/holders", device_major, device_minor);
        each_entry(path, &users, add_holder);
        snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", device_major, device_minor);
        each_entry(path, &users, add_partition);
        if (!users.who[0])
            local_mount_each(is_mounted_from, &users);
    } else {
        each_entry("/sys/block", &users, find_loop);
    }
    if (!users.who[0])
        is_swap(&users);
    if (!users.who[0] && S_ISBLK(users.target.st_mode)) {
        /* Whoever else claimed it: the kernel knows. Held only for a moment, since the streams of
         * one run all open the device. */
        int fd;

        snprintf(path, sizeof(path), "/proc/self/fd/%d", s->root_fd);
        fd = open(path, O_RDONLY | O_EXCL | O_CLOEXEC);
        if (fd >= 0)
            close(fd);
        else if (errno == EBUSY)
            snprintf(users.who, sizeof(users.who), "another program or driver holds it");
    }
    if (!users.who[0])
        return 0;
    return nm_error_set(err, -EBUSY, NM_REASON_PROTECTED,
                        "%s: refused to write: %s; take it out of use first", s->path, users.who);
}

/* --- hooks --- */

void local_device_open(struct local_session *s, struct nm_op *op)
{
    if (*op->path)
        op->result = nm_error_set(&op->err, -ENOENT, NM_REASON_NOT_FOUND,
                                  "%s is a device: there are no names in it", s->path);
    else if (op->open_flags & NM_OPEN_WRITE)
        op->result = refuse_used(s, &op->err);
    if (op->result == 0)
        local_file_open_device(s, op);
}

/* Does the word of allow_destroy mean this target? */
static bool names_target(const struct local_session *s, const char *word)
{
    struct stat st, named;

    return word[0] == '/' && fstat(s->root_fd, &st) == 0 && stat(word, &named) == 0 &&
           (S_ISBLK(st.st_mode) ? S_ISBLK(named.st_mode) && named.st_rdev == st.st_rdev
                                : named.st_dev == st.st_dev && named.st_ino == st.st_ino);
}

static bool may_destroy(const struct local_session *s)
{
    const char *at = s->options->allow_destroy;
    char word[PATH_MAX];

    while (at && *at) {
        size_t length = strcspn(at, " ");

        snprintf(word, sizeof(word), "%.*s", (int)length, at);
        if (names_target(s, word))
            return true;
        at += length + strspn(at + length, " ");
    }
    return false;
}

/* Holes of an image need not be read. */
static bool is_hole(void *context, uint64_t offset_bytes, uint64_t *ret_bytes)
{
    const struct local_session *s = context;
    off_t data = lseek(s->root_fd, (off_t)offset_bytes, SEEK_DATA), hole;

    if (data < 0)
        data = errno == ENXIO ? (off_t)s->capacity_bytes : (off_t)offset_bytes;
    hole = (uint64_t)data > offset_bytes ? data : lseek(s->root_fd, data, SEEK_HOLE);
    *ret_bytes = hole < 0 ? 0 : (uint64_t)hole - offset_bytes;
    return (uint64_t)data > offset_bytes;
}

static struct nm_blank blank_of(struct local_session *s)
{
    return (struct nm_blank){
        .session = &s->base,
        .size_bytes = s->capacity_bytes,
        .block_bytes = s->unit_bytes,
        .depth = s->how->depth,
        .io_bytes = s->how->block_bytes,
        .timeout_ns = s->how->timeout_ns,
        .unmapped = is_hole,
        .context = s,
    };
}

int local_device_claim(struct nm_session *session, volatile double *done_fraction,
                       struct nm_error *err)
{
    struct local_session *s = (struct local_session *)session;
    struct nm_blank blank = blank_of(s);
    char found[160];
    int r = refuse_used(s, err);

    if (r < 0 || may_destroy(s))
        return r;
    r = nm_blank_check(&blank, done_fraction, found, sizeof(found), err);
    if (r != -EPERM)
        return r;
    return nm_error_set(err, r, NM_REASON_PROTECTED,
                        "%s: refused to write: it is not blank (%s); to destroy what is there, say "
                        "local.allow_destroy = %s",
                        s->path, found, s->path);
}

int local_device_release(struct nm_session *session, uint64_t end_bytes, struct nm_error *err)
{
    struct nm_blank blank = blank_of((struct local_session *)session);

    return nm_blank_wipe_ends(&blank, end_bytes, err);
}

/* Serial number or WWID where there is one; the size tells a replaced medium. */
void local_device_identity(const struct local_session *s, char *out, size_t size)
{
    static const char *const files[] = {"device/wwid", "device/serial", "wwid", "serial"};
    char path[96], line[96] = "";
    struct stat st = {0};

    if (fstat(s->root_fd, &st) == 0 && S_ISBLK(st.st_mode)) {
        for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !line[0]; i++) {
            FILE *file;

            snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s", major(st.st_rdev),
                     minor(st.st_rdev), files[i]);
            file = fopen(path, "re");
            if (file && fgets(line, sizeof(line), file))
                line[strcspn(line, "\n")] = '\0';
            if (file)
                fclose(file);
        }
        snprintf(out, size, "device %u:%u %llu bytes %s", major(st.st_rdev), minor(st.st_rdev),
                 (unsigned long long)s->capacity_bytes, line);
    } else {
        snprintf(out, size, "file %u:%u inode %llu %llu bytes", major(st.st_dev), minor(st.st_dev),
                 (unsigned long long)st.st_ino, (unsigned long long)s->capacity_bytes);
    }
}
