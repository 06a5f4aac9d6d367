/* Requests to a libsmbclient context, and what their errors mean (smb.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "client.h"

#include "clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOS_DIRECTORY 0x10u
#define DOS_REPARSE   0x400u

/* ---- errors ---- */

static const struct {
    uint32_t status;
    const char *name;
} statuses[] = {
    {0xC0000008, "NT_STATUS_INVALID_HANDLE"},
    {0xC000000D, "NT_STATUS_INVALID_PARAMETER"},
    {0xC0000022, "NT_STATUS_ACCESS_DENIED"},
    {0xC0000033, "NT_STATUS_OBJECT_NAME_INVALID"},
    {0xC0000034, "NT_STATUS_OBJECT_NAME_NOT_FOUND"},
    {0xC0000035, "NT_STATUS_OBJECT_NAME_COLLISION"},
    {0xC000003A, "NT_STATUS_OBJECT_PATH_NOT_FOUND"},
    {0xC0000043, "NT_STATUS_SHARING_VIOLATION"},
    {0xC0000044, "NT_STATUS_QUOTA_EXCEEDED"},
    {0xC000006D, "NT_STATUS_LOGON_FAILURE"},
    {0xC000007F, "NT_STATUS_DISK_FULL"},
    {0xC00000A2, "NT_STATUS_MEDIA_WRITE_PROTECTED"},
    {0xC00000B5, "NT_STATUS_IO_TIMEOUT"},
    {0xC00000BA, "NT_STATUS_FILE_IS_A_DIRECTORY"},
    {0xC00000BB, "NT_STATUS_NOT_SUPPORTED"},
    {0xC00000CC, "NT_STATUS_BAD_NETWORK_NAME"},
    {0xC0000101, "NT_STATUS_DIRECTORY_NOT_EMPTY"},
    {0xC0000103, "NT_STATUS_NOT_A_DIRECTORY"},
    {0xC0000106, "NT_STATUS_NAME_TOO_LONG"},
    {0xC000020C, "NT_STATUS_CONNECTION_DISCONNECTED"},
    {0xC000020D, "NT_STATUS_CONNECTION_RESET"},
};

const char *nm_smb_status_name(uint32_t status, char out[32])
{
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
        if (statuses[i].status == status)
            return statuses[i].name;
    snprintf(out, 32, "NTSTATUS 0x%08X", status);
    return out;
}

static bool is_fatal(int code)
{
    enum nm_reason reason = nm_reason_from_errno(code);

    return reason == NM_REASON_CONNECTION_LOST || reason == NM_REASON_TIMEOUT;
}

static bool changes(const struct nm_smb_request *request)
{
    switch (request->kind) {
    case NM_OP_MKDIR:
    case NM_OP_RMDIR:
    case NM_OP_CREATE:
    case NM_OP_WRITE:
    case NM_OP_UNLINK:
    case NM_OP_RENAME: return true;
    case NM_OP_OPEN:
    case NM_SMB_REOPEN: return request->open_flags & NM_OPEN_WRITE;
    default: return false;
    }
}

static const char *verb(const struct nm_smb_request *request)
{
    return request->kind == NM_SMB_REOPEN ? "open in a further lane"
           : request->kind == NM_SMB_INFO ? "query"
                                          : nm_op_kind_name(request->kind);
}

/* The result of a request that failed with errno. EACCES after a login that was accepted is a
 * matter of rights; EINVAL for a long name is what Samba makes of a limit in its file system. */
static void fail(struct nm_smb_client *client, struct nm_smb_request *request, int code)
{
    struct nm_error *err = &request->err;
    const char *path = *request->path ? request->path : ".";
    char raw[32];

    request->result = -code;
    request->fatal = client->broken = is_fatal(code);
    if (code == EACCES && changes(request))
        nm_error_set(err, -code, NM_REASON_READ_ONLY,
                     "%s \"%s\": logged in, but not allowed to write there; is the share or the "
                     "directory read-only for this user?",
                     verb(request), path);
    else if (code == EACCES)
        nm_error_set(err, -code, NM_REASON_AUTH, "%s \"%s\": logged in, but access is denied",
                     verb(request), path);
    else if (code == ETIMEDOUT)
        nm_error_errno(err, -code,
                       "%s \"%s\": no answer within %llu ms; is the server stuck or the network "
                       "down?",
                       verb(request), path,
                       (unsigned long long)(client->target->how.timeout_ns / NM_NS_PER_MS));
    else if (request->fatal)
        nm_error_errno(err, -code, "%s \"%s\": the connection broke (%s)", verb(request), path,
                       strerror(code));
    else if (code == EBADF)
        nm_error_set(err, -code, NM_REASON_CONNECTION_LOST,
                     "%s: the server no longer knows the open file", verb(request));
    else if (code == ENOSPC || code == EDQUOT)
        nm_error_errno(err, -code, "%s \"%s\": the volume is full or the quota is reached",
                       verb(request), path);
    else
        nm_error_errno(err, -code, "%s \"%s\": %s", verb(request), path, strerror(code));
    if (client->status)
        nm_error_raw(err, "%s", nm_smb_status_name(client->status, raw));
    else
        nm_error_raw(err, "%s", strerrorname_np(code) ? strerrorname_np(code) : "errno");
}

/* ---- requests ---- */

static bool set_url(struct nm_smb_client *client, char *url, const char *path)
{
    url[client->base] = '\0';
    if (!*path)
        return true;
    url[client->base] = '/';
    return nm_smb_encode(path, true, url + client->base + 1, NM_SMB_URL_MAX - client->base - 1);
}

static int remember(struct nm_smb_client *client, uint32_t handle, SMBCFILE *file)
{
    if (handle >= client->n_files) {
        uint32_t n = (handle + 64) & ~63u;
        SMBCFILE **files = realloc(client->files, n * sizeof(*files));

        if (!files)
            return -ENOMEM;
        memset(files + client->n_files, 0, (n - client->n_files) * sizeof(*files));
        client->files = files;
        client->n_files = n;
    }
    client->files[handle] = file;
    return 0;
}

static SMBCFILE *file_of(const struct nm_smb_client *client, uint32_t handle)
{
    return handle < client->n_files ? client->files[handle] : NULL;
}

static int do_open(struct nm_smb_client *client, struct nm_smb_request *request)
{
    int flags = request->kind == NM_OP_CREATE            ? O_RDWR | O_CREAT | O_EXCL
                : !(request->open_flags & NM_OPEN_WRITE) ? O_RDONLY
                                                         : O_RDWR;
    SMBCFILE *file = client->open(client->context, client->url, flags, 0644);
    struct stat st = {0};

    if (!file)
        return -1;
    if (remember(client, request->handle, file) < 0) {
        client->close(client->context, file);
        errno = ENOMEM;
        return -1;
    }
    request->size_bytes = 0;
    if (request->kind != NM_OP_OPEN)
        return 0;
    /* The server told the size when it opened the file, the library dropped it: another round
     * trip, spared when the caller knows. */
    if (!request->expected_bytes && client->fstat(client->context, file, &st) < 0) {
        int code = nm_smb_last_errno();

        client->files[request->handle] = NULL;
        client->close(client->context, file);
        errno = code;
        return -1;
    }
    request->size_bytes = request->expected_bytes ? request->expected_bytes : (uint64_t)st.st_size;
    return 0;
}

static int do_close(struct nm_smb_client *client, struct nm_smb_request *request)
{
    SMBCFILE *file = file_of(client, request->handle);

    if (!file) {
        errno = EBADF;
        return -1;
    }
    client->files[request->handle] = NULL;
    return client->close(client->context, file);
}

static int do_transfer(struct nm_smb_client *client, struct nm_smb_request *request)
{
    SMBCFILE *file = file_of(client, request->handle);
    size_t done = 0;

    if (!file) {
        errno = EBADF;
        return -1;
    }
    if (client->lseek(client->context, file, (off_t)request->offset_bytes, SEEK_SET) < 0)
        return -1;
    while (done < request->length_bytes) {
        size_t left = request->length_bytes - done;
        size_t piece = left < NM_SMB_CALL_BYTES ? left : NM_SMB_CALL_BYTES;
        char *at = (char *)request->buf + done;
        ssize_t n = request->kind == NM_OP_READ ? client->read(client->context, file, at, piece)
                                                : client->write(client->context, file, at, piece);

        if (n < 0)
            return -1;
        done += (size_t)n;
        if ((size_t)n < piece) /* cli_pull() is short at the end of the file only */
            break;
    }
    request->result = (int64_t)done;
    return 0;
}

static int do_stat(struct nm_smb_client *client, struct nm_smb_request *request)
{
    struct stat st = {0};

    if (client->stat(client->context, client->url, &st) < 0)
        return -1;
    request->stat = (struct nm_stat){
        .size_bytes = (uint64_t)st.st_size,
        .allocated_bytes = UINT64_MAX,
        .is_directory = S_ISDIR(st.st_mode),
        .is_symlink = S_ISLNK(st.st_mode),
    };
    return 0;
}

static int do_list(struct nm_smb_client *client, nm_smb_entry_fn *entry, void *context)
{
    SMBCFILE *dir = smbc_getFunctionOpendir(client->context)(client->context, client->url);
    const struct libsmb_file_info *info;

    if (!dir)
        return -1;
    while ((info = smbc_getFunctionReaddirPlus(client->context)(client->context, dir))) {
        struct nm_stat st = {
            .size_bytes = info->size,
            .allocated_bytes = UINT64_MAX,
            .is_directory = info->attrs & DOS_DIRECTORY,
            .is_symlink = info->attrs & DOS_REPARSE,
        };

        if (strcmp(info->name, ".") && strcmp(info->name, ".."))
            entry(context, info->name, &st);
    }
    return smbc_getFunctionClosedir(client->context)(client->context, dir);
}

/* See names.c. */
static int do_unlink(struct nm_smb_client *client, const struct nm_smb_request *request)
{
    SMBCFILE *file;

    if (!request->known_file) {
        file = client->open(client->context, client->url, O_RDONLY, 0);
        if (!file || client->close(client->context, file) < 0)
            return -1;
    }
    return smbc_getFunctionUnlink(client->context)(client->context, client->url);
}

/* smbc_rename() would unlink what stands under the new name. Two clients that rename to one name
 * at the same moment can still meet; the suite renames inside its own directories only. */
static int do_rename(struct nm_smb_client *client)
{
    struct stat st;

    if (client->stat(client->context, client->new_url, &st) == 0) {
        errno = EEXIST;
        return -1;
    }
    if (errno != ENOENT)
        return -1;
    client->status = 0;
    return smbc_getFunctionRename(client->context)(client->context, client->url, client->context,
                                                   client->new_url);
}

static int do_info(struct nm_smb_client *client, struct nm_smb_request *request)
{
    char name[] = "smb_encrypt_on";
    struct statvfs fs = {0};
    struct stat root = {0};

    if (smbc_getFunctionStatVFS(client->context)(client->context, client->url, &fs) < 0)
        return -1;
    /* Of the share, not of the target directory: that may be made anew. */
    if (client->stat(client->context, client->target->root_url, &root) == 0)
        request->info.root_id = (uint64_t)root.st_ino;
    else if (is_fatal(nm_smb_last_errno()))
        return -1;
    else
        request->info.root_id = 0;
    request->info.encrypted = smbc_option_get(client->context, name);
    request->info.read_only = fs.f_flag & SMBC_VFS_FEATURE_RDONLY;
    request->info.login = *client->target->user ? "user" : *client->user ? "guest" : "anonymous";
    request->info.total_bytes = request->info.free_bytes = UINT64_MAX;
    if (fs.f_blocks) {
        /* f_bsize is a sector, f_frsize the sectors of a cluster; 0 over SMB1's Unix extensions */
        uint64_t unit_bytes = (uint64_t)fs.f_bsize * (fs.f_frsize ? fs.f_frsize : 1);

        request->info.total_bytes = unit_bytes * fs.f_blocks;
        request->info.free_bytes = unit_bytes * fs.f_bavail;
    }
    return 0;
}

static int dispatch(struct nm_smb_client *client, struct nm_smb_request *request,
                    nm_smb_entry_fn *entry, void *entry_context)
{
    SMBCCTX *context = client->context;

    switch (request->kind) {
    case NM_OP_MKDIR: return smbc_getFunctionMkdir(context)(context, client->url, 0755);
    case NM_OP_RMDIR: return smbc_getFunctionRmdir(context)(context, client->url);
    case NM_OP_UNLINK: return do_unlink(client, request);
    case NM_OP_RENAME: return do_rename(client);
    case NM_OP_OPEN:
    case NM_OP_CREATE:
    case NM_SMB_REOPEN: return do_open(client, request);
    case NM_OP_READ:
    case NM_OP_WRITE: return do_transfer(client, request);
    case NM_OP_CLOSE: return do_close(client, request);
    case NM_OP_STAT: return do_stat(client, request);
    case NM_OP_LIST: return do_list(client, entry, entry_context);
    case NM_SMB_INFO: return do_info(client, request);
    default: errno = EOPNOTSUPP; return -1;
    }
}

void nm_smb_client_execute(struct nm_smb_client *client, struct nm_smb_request *request,
                           nm_smb_entry_fn *entry, void *entry_context)
{
    request->result = 0;
    request->fatal = false;
    client->status = 0;
    if (client->broken) {
        fail(client, request, ECONNABORTED);
        return;
    }
    if (!set_url(client, client->url, request->path) ||
        (request->kind == NM_OP_RENAME && !set_url(client, client->new_url, request->new_path))) {
        fail(client, request, ENAMETOOLONG);
        return;
    }
    errno = 0;
    if (dispatch(client, request, entry, entry_context) < 0)
        fail(client, request, nm_smb_last_errno());
}
