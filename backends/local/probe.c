/* What a file system can do, found out before the first measurement: direct I/O and its alignment,
 * and whether reads can be kept from coming out of this machine's memory.
 *
 * It is tried, not looked up: on an unnamed file (O_TMPFILE) that nobody else ever sees, a direct
 * block is written and read back, and mincore() says whether it stayed in the page cache (tmpfs
 * takes O_DIRECT since Linux 6.6 and is memory all the same). Read-only sessions and file systems
 * without unnamed files (FUSE, NFS, CIFS) are taken at their word; what they refuse later fails
 * then, visibly.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "local.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define XFS_MAGIC  0x58465342 /* not in linux/magic.h */
#define FUSE_MAGIC 0x65735546

#define TRIES 3

static const struct {
    long magic;
    bool memory;      /* is the page cache */
    bool daemon;      /* a process in between may cache */
    bool preallocate; /* see files.c; not on copy-on-write file systems, where it changes the layout
                       */
} kinds[] = {
    {.magic = TMPFS_MAGIC, .memory = true},           {.magic = RAMFS_MAGIC, .memory = true},
    {.magic = HUGETLBFS_MAGIC, .memory = true},       {.magic = FUSE_MAGIC, .daemon = true},
    {.magic = EXT4_SUPER_MAGIC, .preallocate = true}, {.magic = XFS_MAGIC, .preallocate = true},
};

const char *local_cached_name(enum local_cached cached)
{
    static const char *const names[] = {
        [LOCAL_CACHED_NO] = "no",
        [LOCAL_CACHED_DROPPED] = "dropped",
        [LOCAL_CACHED_UNKNOWN] = "unknown",
        [LOCAL_CACHED_YES] = "yes",
    };

    return names[cached];
}

/* Whether the first page of the file is in the page cache. */
static bool is_resident(int fd)
{
    unsigned char state = 0;
    void *map = mmap(NULL, LOCAL_PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0);

    if (map == MAP_FAILED)
        return false;
    if (mincore(map, LOCAL_PAGE_BYTES, &state) < 0)
        state = 0;
    munmap(map, LOCAL_PAGE_BYTES);
    return state & 1;
}

/* Alignment that the kernel asks for (STATX_DIOALIGN, Linux 6.1); 0 = it does not say, -EOPNOTSUPP
 * = it says that direct I/O is impossible. */
static int asked_alignment(int fd)
{
#ifdef STATX_DIOALIGN
    struct statx st;

    if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &st) == 0 && (st.stx_mask & STATX_DIOALIGN))
        return st.stx_dio_offset_align ? (int)st.stx_dio_offset_align : -EOPNOTSUPP;
#endif
    (void)fd;
    return 0;
}

/* Alignment where the kernel does not say. btrfs (Linux 6.18) takes requests below its 4 KiB and
 * carries them through the page cache: only what was read back tells. */
static int seen_alignment(int fd, void *page)
{
    bool fine = pwrite(fd, page, 512, 512) == 512 && pread(fd, page, 512, 512) == 512;

    return fine && !is_resident(fd) ? 512 : (int)LOCAL_PAGE_BYTES;
}

/* Writes and reads one page directly. btrfs (Linux 6.18) writes data with checksums through the
 * page cache and empties it afterwards, which does not always succeed on a busy machine: data are
 * kept in memory where they stay every time. */
static int try_direct(int fd, void *page, struct local_ability *ret)
{
    int align = asked_alignment(fd);
    bool kept = true;

    if (align < 0)
        return align;
    for (int i = 0; i < TRIES && kept; i++) {
        if (pwrite(fd, page, LOCAL_PAGE_BYTES, 0) < 0 || pread(fd, page, LOCAL_PAGE_BYTES, 0) < 0)
            return -errno;
        kept = is_resident(fd);
    }
    ret->align_bytes = (uint32_t)(align ? align : seen_alignment(fd, page));
    ret->direct = true;
    if (kept) {
        ret->direct = false;
        ret->cached = LOCAL_CACHED_YES;
        snprintf(ret->reason, sizeof(ret->reason), "the file system keeps direct data in memory");
    }
    return 0;
}

static void probe_direct(int dir_fd, void *page, struct local_ability *ret)
{
    int fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600);
    int r;

    if (fd < 0) { /* no unnamed files here, or no direct I/O: can one be had without the other? */
        r = -errno;
        fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (fd < 0)
            return; /* nothing can be tried */
    } else {
        r = try_direct(fd, page, ret);
    }
    close(fd);
    if (r < 0 && r != -ENOSPC && r != -EDQUOT) {
        ret->direct = false;
        snprintf(ret->reason, sizeof(ret->reason), "the file system refuses it (%s)",
                 strerrorname_np(-r));
    }
}

/* Without direct I/O: does the page cache give up what was flushed? */
static void probe_dropping(int dir_fd, const void *page, struct local_ability *ret)
{
    int fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    ret->cached = LOCAL_CACHED_UNKNOWN;
    if (fd < 0)
        return;
    if (pwrite(fd, page, LOCAL_PAGE_BYTES, 0) == LOCAL_PAGE_BYTES && fsync(fd) == 0 &&
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0)
        ret->cached = is_resident(fd) ? LOCAL_CACHED_YES : LOCAL_CACHED_DROPPED;
    close(fd);
}

/* What was asked for, and what the type of the file system says; true = nothing is left to try. */
static bool decided(int fd, const struct nm_connect *how, struct local_ability *ret)
{
    const struct local_options *options = how->options;
    struct statfs fs;
    struct stat st;

    *ret = (struct local_ability){.direct = true, .align_bytes = 512};
    if (how->buffered || options->direct == LOCAL_DIRECT_NO) {
        ret->direct = false;
        snprintf(ret->reason, sizeof(ret->reason), "%s",
                 how->buffered ? "the workload goes through the page cache" : "local.direct = no");
    }
    if (how->buffered) /* such workloads take files larger than the memory */
        ret->cached = LOCAL_CACHED_UNKNOWN;
    if (fstat(fd, &st) < 0 || S_ISBLK(st.st_mode) || fstatfs(fd, &fs) < 0)
        return how->buffered; /* the node of a device lies in a devtmpfs, its data do not */
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (fs.f_type != kinds[i].magic)
            continue;
        ret->preallocate = kinds[i].preallocate;
        if (kinds[i].daemon)
            ret->cached = LOCAL_CACHED_UNKNOWN;
        if (kinds[i].memory) {
            ret->direct = false;
            ret->cached = LOCAL_CACHED_YES;
            snprintf(ret->reason, sizeof(ret->reason), "the file system is memory");
            return true;
        }
    }
    return how->buffered;
}

static int insist(const struct nm_connect *how, const struct local_ability *can,
                  struct nm_error *err)
{
    const struct local_options *options = how->options;

    if (options->direct != LOCAL_DIRECT_YES || can->direct || how->buffered)
        return 0;
    return nm_error_set(err, -EOPNOTSUPP, NM_REASON_UNSUPPORTED,
                        "%s: no direct I/O: %s; take local.direct = auto to measure through the "
                        "page cache",
                        how->url->path, can->reason);
}

static void *new_page(void)
{
    void *page = aligned_alloc(LOCAL_PAGE_BYTES, LOCAL_PAGE_BYTES);

    if (page)
        memset(page, 0xa5, LOCAL_PAGE_BYTES);
    return page;
}

int local_probe_directory(int dir_fd, const struct nm_connect *how, struct local_ability *ret,
                          struct nm_error *err)
{
    void *page = new_page();

    if (!page)
        return nm_error_errno(err, -ENOMEM, "local: out of memory");
    if (!decided(dir_fd, how, ret)) {
        if (ret->direct)
            probe_direct(dir_fd, page, ret);
        if (!ret->direct && ret->cached == LOCAL_CACHED_NO)
            probe_dropping(dir_fd, page, ret);
    }
    free(page);
    return insist(how, ret, err);
}

int local_probe_device(int fd, const struct nm_connect *how, struct local_ability *ret,
                       struct nm_error *err)
{
    char name[32];
    void *page = new_page();
    int direct_fd, align;

    if (!page)
        return nm_error_errno(err, -ENOMEM, "local: out of memory");
    if (!decided(fd, how, ret) && ret->direct) {
        snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
        direct_fd = open(name, O_RDONLY | O_DIRECT | O_CLOEXEC);
        align = direct_fd < 0 ? -errno : asked_alignment(direct_fd);
        if (align == 0)
            align = pread(direct_fd, page, LOCAL_PAGE_BYTES, 0) < 0 ? -errno
                    : pread(direct_fd, page, 512, 512) < 0          ? (int)LOCAL_PAGE_BYTES
                                                                    : 512;
        if (align > 0) {
            ret->align_bytes = (uint32_t)align;
        } else {
            ret->direct = false;
            snprintf(ret->reason, sizeof(ret->reason), "it is refused (%s)",
                     strerrorname_np(-align));
        }
        if (direct_fd >= 0)
            close(direct_fd);
    }
    if (!ret->direct && ret->cached == LOCAL_CACHED_NO)
        ret->cached = LOCAL_CACHED_DROPPED;
    free(page);
    return insist(how, ret, err);
}
