/* The local backend: a directory of this machine (row `local`), or a block device or image file as
 * a raw target (row `device`); the NAS may be mounted there by the kernel, or the disk is tested
 * itself. Direct I/O wherever the file system allows it, so that storage is measured and not this
 * machine's memory; where it does not, the conditions say so.
 *
 * One thread, one session per worker. Names are handled at once, data through the queue.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "local.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define FSTAB "/etc/fstab"

static const char *const direct_words[] = {"auto", "yes", "no", NULL};
static const char *const engine_words[] = {"auto", "io_uring", "sync", NULL};

static const struct nm_option option_rows[] = {
    {.name = "direct",
     .type = NM_OPTION_ENUM,
     .offset = offsetof(struct local_options, direct),
     .values = direct_words,
     .preset = "auto",
     .help = "bypass the page cache: auto = where the file system can, yes = or fail, no"},
    {.name = "io_engine",
     .type = NM_OPTION_ENUM,
     .offset = offsetof(struct local_options, io_engine),
     .values = engine_words,
     .preset = "auto",
     .help = "how requests are issued; sync = one at a time, whatever the depth"},
    {.name = "allow_destroy",
     .type = NM_OPTION_LIST,
     .offset = offsetof(struct local_options, allow_destroy),
     .example = "/dev/sdx",
     .local = true,
     .help = "devices and image files that may be overwritten although they are not blank"},
};

const struct nm_option_section local_options_section = {
    .name = "local",
    .help = "directories and devices of this machine",
    .options = option_rows,
    .n_options = NM_OPTION_COUNT(option_rows),
    .size = sizeof(struct local_options),
};

static void local_disconnect(struct nm_session *session)
{
    struct local_session *s = (struct local_session *)session;

    if (!s)
        return;
    local_queue_done(s);
    while (s->files)
        local_file_drop(s, s->files);
    nm_names_done(&s->names);
    if (s->root_fd >= 0)
        close(s->root_fd);
    free(s);
}

static bool is_empty(int dir_fd)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    bool empty = dir != NULL;

    if (!dir && fd >= 0)
        close(fd);
    while (empty && (entry = readdir(dir)))
        empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
    if (dir)
        closedir(dir);
    return empty;
}

static int open_directory(struct local_session *s, struct nm_error *err)
{
    char *real;
    int r;

    s->root_fd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->root_fd < 0) {
        r = nm_names_error(err, -errno, false, "open", s->path);
        if (r == -ENOENT)
            nm_error_set(err, r, NM_REASON_NOT_FOUND,
                         "%s does not exist; make the directory, or mount the volume that it is on",
                         s->path);
        return r;
    }
    r = local_mount_find(s->root_fd, &s->mount, err);
    if (r < 0)
        return r;
    real = realpath(s->path, NULL);
    if (!real)
        return nm_names_error(err, -errno, false, "resolve", s->path);
    r = local_mount_check(real, &s->mount, is_empty(s->root_fd), FSTAB, err);
    free(real);
    if (r == 0)
        r = local_probe_directory(s->root_fd, s->how, &s->can, err);
    return r < 0 ? r : nm_names_init(&s->names, s->root_fd, err);
}

static int connect_to(bool device, const struct nm_connect *how, struct nm_session **ret_session,
                      struct nm_error *err)
{
    struct local_session *s = calloc(1, sizeof(*s));
    int r;

    if (!s)
        return nm_error_errno(err, -ENOMEM, "local: out of memory");
    s->connect = *how;
    s->how = &s->connect;
    s->options = how->options;
    s->path = how->url->path;
    s->is_device = device;
    s->root_fd = s->names.parent_fd = -1;
    r = device ? local_device_connect(s, err) : open_directory(s, err);
    if (r == 0)
        r = local_queue_init(s, err);
    if (r < 0) {
        local_disconnect(&s->base);
        return r;
    }
    *ret_session = &s->base;
    return 0;
}

static int local_connect(const struct nm_connect *how, struct nm_session **ret_session,
                         struct nm_error *err)
{
    return connect_to(false, how, ret_session, err);
}

static int device_connect(const struct nm_connect *how, struct nm_session **ret_session,
                          struct nm_error *err)
{
    return connect_to(true, how, ret_session, err);
}

static void describe_queue(const struct local_session *s, struct nm_conditions *conditions)
{
    nm_conditions_set(conditions, "direct", "%s", s->can.direct ? "yes" : "no");
    if (s->can.reason[0])
        nm_conditions_set(conditions, "local.direct_reason", "%s", s->can.reason);
    nm_conditions_set(conditions, "buffered", "%s", s->how->buffered ? "yes" : "no");
    nm_conditions_set(conditions, "cached", "%s", local_cached_name(s->can.cached));
    nm_conditions_set(conditions, "io_engine", "%s", s->uring ? "io_uring" : "sync");
    if (s->engine_reason[0])
        nm_conditions_set(conditions, "local.engine_reason", "%s", s->engine_reason);
}

static int local_describe(struct nm_session *session, struct nm_target_info *info,
                          struct nm_conditions *conditions, struct nm_error *err)
{
    struct local_session *s = (struct local_session *)session;
    struct statvfs fs;

    if (fstatvfs(s->root_fd, &fs) < 0)
        return nm_names_error(err, -errno, false, "ask for the free space of", s->path);
    *info = (struct nm_target_info){
        .total_bytes = (uint64_t)fs.f_blocks * fs.f_frsize,
        .free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize,
        .block_bytes = 1,
        .writable = !(fs.f_flag & ST_RDONLY) && faccessat(s->root_fd, ".", W_OK, AT_EACCESS) == 0,
    };
    snprintf(info->identity, sizeof(info->identity), "%u:%u fsid %lx %.100s",
             major(s->names.device), minor(s->names.device), fs.f_fsid, s->mount.source);
    describe_queue(s, conditions);
    nm_conditions_set(conditions, "local.fs", "%s", s->mount.fs);
    nm_conditions_set(conditions, "local.mount_source", "%s", s->mount.source);
    nm_conditions_set(conditions, "local.mount_options", "%s", s->mount.options);
    nm_conditions_set(conditions, "local.system_disk", "%s",
                      local_mount_is_system_disk(&s->mount) ? "yes" : "no");
    return 0;
}

static int device_describe(struct nm_session *session, struct nm_target_info *info,
                           struct nm_conditions *conditions, struct nm_error *err)
{
    struct local_session *s = (struct local_session *)session;

    (void)err;
    *info = (struct nm_target_info){
        .total_bytes = s->capacity_bytes,
        .free_bytes = UINT64_MAX,
        .block_bytes = s->unit_bytes,
        .writable = access(s->path, W_OK) == 0,
    };
    local_device_identity(s, info->identity, sizeof(info->identity));
    describe_queue(s, conditions);
    nm_conditions_set(conditions, "local.device", "%s", s->path);
    return 0;
}

static void local_submit(struct nm_session *session, struct nm_op *op)
{
    struct local_session *s = (struct local_session *)session;

    op->result = 0;
    switch (op->kind) {
    case NM_OP_READ:
    case NM_OP_WRITE: local_queue_submit(s, op); return;
    case NM_OP_FLUSH:
        if (op->file) {
            local_queue_submit(s, op);
            return;
        }
        local_flush_all(s, op);
        break;
    case NM_OP_OPEN:
    case NM_OP_CREATE:
        if (s->is_device)
            local_device_open(s, op);
        else
            local_file_open(s, op);
        break;
    case NM_OP_CLOSE: local_file_close(s, op); break;
    default: nm_names_execute(&s->names, op); break;
    }
    nm_session_complete(session, op);
}

static int local_reap(struct nm_session *session, uint64_t deadline_ns, struct nm_error *err)
{
    return local_queue_reap((struct local_session *)session, deadline_ns, err);
}

static void local_cancel(struct nm_session *session)
{
    local_queue_cancel((struct local_session *)session);
}

static bool suits_device(const struct nm_url *url)
{
    return local_is_device(url->path);
}

static bool suits_directory(const struct nm_url *url)
{
    return !local_is_device(url->path);
}

const struct nm_backend_ops nm_backend_local = {
    .name = "local",
    .help = "a directory of this machine: io_uring, direct I/O where possible",
    .protocol = NM_PROTOCOL_LOCAL,
    .supports = NM_OP_MASK_ALL,
    .traits = NM_TRAIT_FILES | NM_TRAIT_ASYNC | NM_TRAIT_PAGE_CACHE,
    .options = &local_options_section,
    .suits = suits_directory,
    .connect = local_connect,
    .disconnect = local_disconnect,
    .describe = local_describe,
    .submit = local_submit,
    .reap = local_reap,
    .cancel = local_cancel,
};

const struct nm_backend_ops nm_backend_device = {
    .name = "device",
    .help = "a block device or image file of this machine, raw",
    .protocol = NM_PROTOCOL_LOCAL,
    .supports = NM_OP_MASK_BLOCK,
    .traits = NM_TRAIT_BLOCKS | NM_TRAIT_ASYNC | NM_TRAIT_PAGE_CACHE,
    .options = &local_options_section,
    .suits = suits_device,
    .connect = device_connect,
    .disconnect = local_disconnect,
    .describe = device_describe,
    .submit = local_submit,
    .reap = local_reap,
    .cancel = local_cancel,
    .claim = local_device_claim,
    .release = local_device_release,
};
