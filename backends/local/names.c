/* Names below one directory (names.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WALK (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static const char *remedy(enum nm_reason reason)
{
    switch (reason) {
    case NM_REASON_NO_SPACE: return "; free some space or take a smaller workload";
    case NM_REASON_READ_ONLY: return "; the user running this needs write access there";
    case NM_REASON_AUTH: return "; the user running this needs access there";
    case NM_REASON_CLIENT_LIMIT: return "; raise the limit (ulimit -n, memory) of this machine";
    default: return "";
    }
}

int nm_names_error(struct nm_error *err, int code, bool changing, const char *verb,
                   const char *path)
{
    enum nm_reason reason = nm_reason_from_errno(code);

    if (changing && (code == -EACCES || code == -EPERM))
        reason = NM_REASON_READ_ONLY;
    nm_error_set(err, code, reason, "%s '%.200s': %s%s", verb, path, strerror(-code),
                 remedy(reason));
    nm_error_raw(err, "%s", strerrorname_np(-code));
    return code;
}

int nm_names_init(struct nm_names *names, int root_fd, struct nm_error *err)
{
    struct stat st;

    if (fstat(root_fd, &st) < 0)
        return nm_names_error(err, -errno, false, "stat", ".");
    names->root_fd = root_fd;
    names->device = st.st_dev;
    names->parent_fd = -1;
    names->parent[0] = '\0';
    return 0;
}

static void forget_parent(struct nm_names *names)
{
    if (names->parent_fd >= 0 && names->parent_fd != names->root_fd)
        close(names->parent_fd);
    names->parent_fd = -1;
}

void nm_names_done(struct nm_names *names)
{
    if (names)
        forget_parent(names);
}

/* Takes the component at *path off; -EPERM for one that could leave the tree. */
static int next_component(const char **path, char component[NAME_MAX + 1])
{
    size_t length = strcspn(*path, "/");

    if (length > NAME_MAX)
        return -ENAMETOOLONG;
    memcpy(component, *path, length);
    component[length] = '\0';
    if (!length || !strcmp(component, ".") || !strcmp(component, ".."))
        return -EPERM;
    *path += length + ((*path)[length] == '/');
    return 0;
}

/* Opens the directory `parent` (length bytes of a path) and keeps it. */
static int walk(struct nm_names *names, const char *path, size_t length)
{
    char component[NAME_MAX + 1];
    const char *rest = names->parent;
    int fd = names->root_fd;
    struct stat st;

    if (length >= sizeof(names->parent))
        return -ENAMETOOLONG;
    forget_parent(names);
    memcpy(names->parent, path, length);
    names->parent[length] = '\0';
    while (*rest) {
        int r = next_component(&rest, component);
        int inner = r < 0 ? r : openat(fd, component, WALK);

        if (r == 0 && inner < 0)
            r = -errno;
        if (fd != names->root_fd)
            close(fd);
        if (r < 0)
            return r;
        fd = inner;
    }
    if (fstat(fd, &st) < 0 || st.st_dev != names->device) {
        if (fd != names->root_fd)
            close(fd);
        return -EXDEV;
    }
    names->parent_fd = fd;
    return 0;
}

/* Splits path: the directory is open in names->parent_fd, base is its last component ("." for the
 * target itself). */
static int locate(struct nm_names *names, const char *path, char base[NAME_MAX + 1])
{
    const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
    size_t length = slash ? (size_t)(slash - path) : 0;

    if (names->parent_fd < 0 || strncmp(names->parent, path, length) != 0 ||
        names->parent[length]) {
        int r = walk(names, path, length);

        if (r < 0)
            return r;
    }
    if (!*path) {
        memcpy(base, ".", 2);
        return 0;
    }
    return next_component(&last, base);
}

static int locate_error(struct nm_error *err, int code, const char *verb, const char *path)
{
    if (code == -EPERM || code == -EXDEV || code == -ELOOP)
        return nm_error_set(err, code, NM_REASON_PROTECTED,
                            "%s '%.200s': refused, the path would leave the target directory", verb,
                            path);
    return nm_names_error(err, code, false, verb, path);
}

int nm_names_open(struct nm_names *names, const char *path, int flags, uint64_t *ret_size_bytes,
                  struct nm_error *err)
{
    bool create = flags & O_CREAT;
    const char *verb = create ? "create" : "open";
    char base[NAME_MAX + 1];
    struct stat st;
    int fd, r = locate(names, path, base);

    if (r < 0)
        return locate_error(err, r, verb, path);
    if (!*path)
        return nm_names_error(err, -EISDIR, false, verb, path);
    if (create)
        flags |= O_EXCL;
    fd = openat(names->parent_fd, base, flags | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) {
        r = -errno;
        if (r == -ELOOP)
            return locate_error(err, r, verb, path);
        return nm_names_error(err, r, create || (flags & O_ACCMODE) != O_RDONLY, verb, path);
    }
    r = fstat(fd, &st) < 0           ? -errno
        : S_ISDIR(st.st_mode)        ? -EISDIR
        : !S_ISREG(st.st_mode)       ? -EOPNOTSUPP
        : st.st_dev != names->device ? -EXDEV
                                     : 0;
    if (r < 0) {
        close(fd);
        return locate_error(err, r, verb, path);
    }
    *ret_size_bytes = (uint64_t)st.st_size;
    return fd;
}

static void fill_stat(struct nm_stat *out, const struct stat *st)
{
    out->size_bytes = (uint64_t)st->st_size;
    out->allocated_bytes = (uint64_t)st->st_blocks * 512;
    out->is_directory = S_ISDIR(st->st_mode);
    out->is_symlink = S_ISLNK(st->st_mode);
}

static int stat_name(const struct nm_names *names, const char *base, struct nm_stat *out)
{
    struct stat st;

    if (fstatat(names->parent_fd, base, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    fill_stat(out, &st);
    return 0;
}

static int list_names(const struct nm_names *names, const char *base, struct nm_op *op)
{
    int fd = openat(names->parent_fd, base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct dirent *entry;
    struct nm_stat out;
    struct stat st;
    int r = 0;
    DIR *dir;

    if (fd < 0)
        return -errno;
    dir = fdopendir(fd);
    if (!dir) {
        r = -errno;
        close(fd);
        return r;
    }
    for (errno = 0; (entry = readdir(dir)); errno = 0) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
            if (errno == ENOENT)
                continue; /* removed by somebody meanwhile */
            break;
        }
        fill_stat(&out, &st);
        op->list_entry(op->list_context, entry->d_name, &out);
    }
    r = -errno;
    closedir(dir);
    return r;
}

static int rename_name(struct nm_names *names, const char *base, const char *new_path)
{
    char new_base[NAME_MAX + 1];
    int fd = dup(names->parent_fd); /* locate() may replace it */
    int r;

    if (fd < 0)
        return -errno;
    r = locate(names, new_path, new_base);
    if (r == 0 && renameat2(fd, base, names->parent_fd, new_base, RENAME_NOREPLACE) < 0)
        r = -errno;
    if (r == -EINVAL) /* FUSE (ntfs-3g 2022.10) cannot do it in one step */
        r = faccessat(names->parent_fd, new_base, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? -EEXIST
            : renameat(fd, base, names->parent_fd, new_base) < 0                  ? -errno
                                                                                  : 0;
    close(fd);
    return r;
}

/* Removing or renaming the target itself is refused; making it is pointless. */
static int root_operation(enum nm_op_kind kind)
{
    switch (kind) {
    case NM_OP_STAT:
    case NM_OP_LIST: return 0;
    case NM_OP_MKDIR: return -EEXIST;
    case NM_OP_UNLINK: return -EISDIR;
    default: return -EBUSY;
    }
}

void nm_names_execute(struct nm_names *names, struct nm_op *op)
{
    char base[NAME_MAX + 1];
    int r = locate(names, op->path, base);
    const char *verb = nm_op_kind_name(op->kind);

    if (r < 0) {
        op->result = locate_error(&op->err, r, verb, op->path);
        return;
    }
    if (!*op->path)
        r = root_operation(op->kind);
    if (r == 0) {
        switch (op->kind) {
        case NM_OP_MKDIR: r = mkdirat(names->parent_fd, base, 0777) < 0 ? -errno : 0; break;
        case NM_OP_RMDIR:
            r = unlinkat(names->parent_fd, base, AT_REMOVEDIR) < 0 ? -errno : 0;
            break;
        case NM_OP_UNLINK: r = unlinkat(names->parent_fd, base, 0) < 0 ? -errno : 0; break;
        case NM_OP_STAT: r = stat_name(names, base, op->stat); break;
        case NM_OP_LIST: r = list_names(names, base, op); break;
        case NM_OP_RENAME: r = rename_name(names, base, op->new_path); break;
        default: r = -EOPNOTSUPP; break;
        }
    }
    op->result = r;
    if (r < 0)
        nm_names_error(&op->err, r, op->kind != NM_OP_STAT && op->kind != NM_OP_LIST, verb,
                       op->path);
}
