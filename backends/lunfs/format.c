/* Making the file system: mke2fs runs on a sparse file in memory that has the size of the LUN, and
 * only what it wrote is copied (21 MiB for 2 TiB). Both ends of the LUN are zeroed before, so that
 * no old signature survives.
 *
 * All features are named, and mke2fs reads no configuration of the host, so the file system is the
 * same everywhere. No journal: the client would write everything twice. uninit_bg instead of
 * metadata_csum: the kernel can mount it, and inode tables need not be zeroed.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "lunfs.h"

#include "blank.h"
#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define FEATURES                                                                                   \
    "none,filetype,sparse_super,large_file,huge_file,ext_attr,extent,flex_bg,64bit,dir_nlink,"     \
    "extra_isize,uninit_bg"

_Noreturn static void run_mke2fs(int image, int output)
{
    static const char extended[] =
        "lazy_itable_init=1,packed_meta_blocks=1,nodiscard,root_owner=0:0";
    char path[32];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", image);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    clearenv();
    setenv("PATH", "/usr/sbin:/sbin:/usr/bin:/bin", 1);
    setenv("MKE2FS_CONFIG", "/nonexistent", 1);
    setenv("LC_ALL", "C", 1);
    execlp("mke2fs", "mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-I", "256", "-i", "16384",
           "-m", "0", "-L", "nasmark", "-O", FEATURES, "-E", extended, path, (char *)NULL);
    dprintf(STDERR_FILENO, "cannot run mke2fs (package e2fsprogs): %s", strerror(errno));
    _exit(127);
}

/* Waits for the child with a deadline and keeps the start of what it says. */
static int watch(pid_t pid, int output, uint64_t deadline_ns, char *text, size_t size)
{
    size_t used = 0;
    char spill[256];
    int status;

    for (;;) {
        struct pollfd p = {.fd = output, .events = POLLIN};
        int r = poll(&p, 1, nm_clock_poll_ms(deadline_ns, 1000));
        ssize_t n;

        if (r == 0 && nm_clock_now_ns() >= deadline_ns) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return -ETIMEDOUT;
        }
        if (r <= 0)
            continue;
        n = used + 1 < size ? read(output, text + used, size - used - 1)
                            : read(output, spill, sizeof(spill));
        if (n <= 0)
            break;
        if (used + 1 < size)
            used += (size_t)n;
    }
    text[used] = '\0';
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EIO;
}

static int make_image(struct lunfs *fs, int image, struct nm_error *err)
{
    char text[200] = "";
    int ends[2], r;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return nm_error_errno(err, -errno, "lunfs: no pipe");
    pid = fork();
    if (pid == 0)
        run_mke2fs(image, ends[1]);
    close(ends[1]);
    r = pid < 0 ? -errno
                : watch(pid, ends[0], nm_clock_now_ns() + 60 * NM_NS_PER_S, text, sizeof(text));
    close(ends[0]);
    if (r == -EIO)
        return nm_error_set(err, r, NM_REASON_CLIENT_LIMIT,
                            "lunfs: mke2fs failed for %llu bytes: %s",
                            (unsigned long long)fs->size_bytes, text);
    return r < 0 ? nm_error_errno(err, r, "lunfs: cannot run mke2fs") : 0;
}

static int copy_range(struct lunfs *fs, int image, uint64_t from, uint64_t to, struct nm_error *err)
{
    struct lunfs_stage *stage;
    int r = lunfs_lower_stage(fs, &stage);

    if (r < 0) {
        *err = fs->failure;
        return r;
    }
    while (from < to && !r) {
        uint64_t n = to - from < LUNFS_STAGE_BYTES ? to - from : LUNFS_STAGE_BYTES;

        if (pread(image, stage->data, n, (off_t)from) != (ssize_t)n)
            r = nm_error_errno(err, -EIO, "lunfs: cannot read back what mke2fs wrote");
        else
            r = lunfs_lower_run(fs, NM_OP_WRITE, from, stage->data, (uint32_t)n, err);
        from += n;
    }
    lunfs_lower_unstage(fs, stage);
    return r;
}

static int copy_image(struct lunfs *fs, int image, uint64_t size, struct nm_error *err)
{
    off_t at = 0;
    int r = 0;

    while (!r && (uint64_t)at < size) {
        off_t data = lseek(image, at, SEEK_DATA), hole;

        if (data < 0 && errno == ENXIO)
            break;
        hole = data < 0 ? -1 : lseek(image, data, SEEK_HOLE);
        if (hole < 0)
            return nm_error_errno(err, -errno, "lunfs: cannot tell data from holes");
        r = copy_range(fs, image, (uint64_t)data, (uint64_t)hole, err);
        at = hole;
    }
    return r ? r : lunfs_lower_run(fs, NM_OP_FLUSH, 0, NULL, 0, err);
}

int lunfs_format(struct lunfs *fs, struct nm_error *err)
{
    struct nm_blank blank = {.session = fs->lower,
                             .size_bytes = fs->size_bytes,
                             .block_bytes = fs->unit_bytes,
                             .depth = fs->lower_how.depth,
                             .io_bytes = fs->lower_how.block_bytes,
                             .timeout_ns = fs->timeout_ns};
    uint64_t start_ns = nm_clock_now_ns(), size = fs->size_bytes / LUNFS_PAGE * LUNFS_PAGE;
    int image = memfd_create("nasmark-mke2fs", 0), r;

    if (image < 0 || ftruncate(image, (off_t)size) < 0)
        r = nm_error_errno(err, -errno, "lunfs: no memory for making the file system");
    else
        r = make_image(fs, image, err);
    if (!r)
        r = nm_blank_wipe_ends(&blank, fs->size_bytes, err);
    if (!r)
        r = copy_image(fs, image, size, err);
    if (image >= 0)
        close(image);
    fs->format_ns = nm_clock_now_ns() - start_ns;
    return r;
}
