/* Where the database lies and who holds it: file systems without reliable locks, owners of locks.
 *
 * Reads statfs() and /proc/locks only; never opens the database, because closing any descriptor of
 * a file drops every POSIX lock this process has on it, SQLite's included.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_sql.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

/* WAL needs shared memory between all users of the file; none of these gives it between hosts. */
const char *nm_place_remote_name(uint32_t magic)
{
    static const struct {
        uint32_t magic;
        const char *name;
    } rows[] = {
        {0x6969, "NFS"},        {0xff534d42, "CIFS"},     {0xfe534d42, "SMB"},
        {0x517b, "SMB"},        {0x65735546, "FUSE"},     {0x01021997, "9P"},
        {0x00c36400, "Ceph"},   {0x5346414f, "AFS"},      {0x6b414653, "AFS"},
        {0x73757245, "Coda"},   {0x0bd00bd0, "Lustre"},   {0x47504653, "GPFS"},
        {0x7461636f, "OCFS2"},  {0x01161970, "GFS2"},     {0x564c, "NCP"},
        {0x786f4256, "vboxsf"}, {0xaad7aaea, "PanFS"},    {0x19830326, "BeeGFS"},
        {0xbacbacbc, "VMware"}, {0x20030528, "OrangeFS"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].magic == magic)
            return rows[i].name;
    return NULL;
}

/* Directory part of path into out; "." when there is none. */
static void parent_of(const char *path, char *out, size_t size)
{
    const char *slash = strrchr(path, '/');
    int length = slash ? (int)(slash - path) : 0;

    if (!slash)
        snprintf(out, size, ".");
    else
        snprintf(out, size, "%.*s", length ? length : 1, path);
}

const char *nm_place_remote(const char *path)
{
    char parent[4096];
    struct statfs fs;

    if (statfs(path, &fs) < 0) {
        parent_of(path, parent, sizeof(parent));
        if (statfs(parent, &fs) < 0)
            return NULL; /* opening it will say why */
    }
    return nm_place_remote_name((uint32_t)fs.f_type);
}

/* Pid of a lock of the wanted sort ("WRITE", "READ") in a line of /proc/locks, 0 when it is another
 * file, sort or ourselves. Lines: "1: POSIX  ADVISORY  WRITE 8765 fe:00:2719 128 128". */
static int64_t holder_in(const char *line, const char *sort, const struct stat *st)
{
    char kind[16];
    unsigned dev_major, dev_minor;
    int64_t pid;
    uint64_t inode;

    if (sscanf(line, "%*d: POSIX %*s %15s %" SCNd64 " %x:%x:%" SCNu64, kind, &pid, &dev_major,
               &dev_minor, &inode) != 5)
        return 0;
    if (strcmp(kind, sort) || inode != st->st_ino || dev_major != major(st->st_dev) ||
        dev_minor != minor(st->st_dev) || pid == getpid())
        return 0;
    return pid;
}

static int64_t holder_of(const char *path, const char *sort)
{
    FILE *in;
    char line[256];
    struct stat st;
    int64_t pid = 0;

    if (stat(path, &st) < 0)
        return 0;
    in = fopen("/proc/locks", "re");
    if (!in)
        return 0;
    while (!pid && fgets(line, sizeof(line), in))
        pid = holder_in(line, sort, &st);
    fclose(in);
    return pid;
}

int64_t nm_place_lock_holder(const char *path)
{
    char index[4096];
    int64_t pid = holder_of(path, "WRITE");

    if (!pid) {
        snprintf(index, sizeof(index), "%s-shm", path); /* in WAL mode the locks are there */
        pid = holder_of(index, "WRITE");
    }
    return pid ? pid : holder_of(path, "READ");
}

int nm_place_make_parents(const char *path, struct nm_error *err)
{
    char parent[4096];

    parent_of(path, parent, sizeof(parent));
    for (char *p = parent + 1;; p++) {
        char keep = *p;

        if (keep && keep != '/')
            continue;
        *p = '\0';
        if (mkdir(parent, 0700) < 0 && errno != EEXIST)
            return nm_error_errno(err, -errno, "%s: cannot make the directory: %s; use --db",
                                  parent, strerror(errno));
        if (!keep)
            return 0;
        *p = keep;
    }
}
