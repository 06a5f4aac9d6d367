/* Status codes of NFSv3 and NFSv4 as our reason classes, with what to do about them.
 *
 * The numbers are the same in both versions, so one table serves. libnfs's own translation is not
 * used: it folds a full volume, a quota and a stale handle into the same few errno values.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "nfs_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct row {
    int status;
    const char *name; /* without prefix */
    int code;
    enum nm_reason reason;
    const char *text;
};

#define ROW(number, suffix, errno_value, class, meaning)                                           \
    {                                                                                              \
        .status = number, .name = suffix, .code = errno_value, .reason = NM_REASON_##class,        \
        .text = meaning,                                                                           \
    }

static const struct row rows[] = {
    ROW(1, "PERM", -EPERM, AUTH, "not permitted"),
    ROW(2, "NOENT", -ENOENT, NOT_FOUND, "does not exist"),
    ROW(5, "IO", -EIO, INTERNAL, "the server reports an I/O error; see its log"),
    ROW(6, "NXIO", -ENXIO, NOT_FOUND, "no such device on the server"),
    ROW(13, "ACCES", -EACCES, AUTH, "permission denied"),
    ROW(17, "EXIST", -EEXIST, PROTECTED, "exists already"),
    ROW(18, "XDEV", -EXDEV, UNSUPPORTED, "crosses file systems of the server"),
    ROW(19, "NODEV", -ENODEV, NOT_FOUND, "no such device on the server"),
    ROW(20, "NOTDIR", -ENOTDIR, NOT_FOUND, "is not a directory"),
    ROW(21, "ISDIR", -EISDIR, UNSUPPORTED, "is a directory"),
    ROW(22, "INVAL", -EINVAL, UNSUPPORTED, "the server calls the request invalid"),
    ROW(27, "FBIG", -EFBIG, NO_SPACE, "larger than the server's file system allows"),
    ROW(28, "NOSPC", -ENOSPC, NO_SPACE, "no space left on the volume"),
    ROW(30, "ROFS", -EROFS, READ_ONLY, "the export is read-only"),
    ROW(31, "MLINK", -EMLINK, UNSUPPORTED, "too many links"),
    ROW(63, "NAMETOOLONG", -ENAMETOOLONG, UNSUPPORTED,
        "name too long for the server's file system"),
    ROW(66, "NOTEMPTY", -ENOTEMPTY, PROTECTED, "directory is not empty"),
    ROW(69, "DQUOT", -EDQUOT, NO_SPACE, "quota reached"),
    ROW(70, "STALE", -ESTALE, NOT_FOUND,
        "file handle is stale: removed, or the export changed meanwhile"),
    ROW(10001, "BADHANDLE", -ESTALE, NOT_FOUND, "the server does not know its own handle"),
    ROW(10004, "NOTSUPP", -EOPNOTSUPP, UNSUPPORTED, "the server does not support this"),
    ROW(10005, "TOOSMALL", -EIO, INTERNAL, "request too small for the server"),
    ROW(10006, "SERVERFAULT", -EREMOTEIO, INTERNAL,
        "the server failed without giving a reason; see its log"),
    ROW(10008, "JUKEBOX", -ETIMEDOUT, TIMEOUT, "the server kept answering \"try again later\""),
    ROW(10011, "EXPIRED", -ESTALE, CONNECTION_LOST, "the server dropped our lease"),
    ROW(10013, "GRACE", -ETIMEDOUT, TIMEOUT,
        "the server is in its grace period after a restart; wait about 90 s"),
    ROW(10014, "FHEXPIRED", -ESTALE, NOT_FOUND, "file handle expired"),
    ROW(10015, "SHARE_DENIED", -EBUSY, PROTECTED, "in use by another client"),
    ROW(10016, "WRONGSEC", -EACCES, AUTH,
        "the export wants another security flavour; only sec=sys is supported"),
    ROW(10017, "CLID_INUSE", -EBUSY, INTERNAL, "client identity in use"),
    ROW(10018, "RESOURCE", -EREMOTEIO, INTERNAL, "the server is out of resources"),
    ROW(10019, "MOVED", -EREMOTE, NOT_FOUND, "the file system moved to another server"),
    ROW(10021, "MINOR_VERS_MISMATCH", -EPROTONOSUPPORT, UNSUPPORTED,
        "the server does not speak NFSv4.0, the only NFSv4 of this client; use ?version=3"),
    ROW(10022, "STALE_CLIENTID", -ESTALE, CONNECTION_LOST,
        "the server was restarted and forgot this client"),
    ROW(10023, "STALE_STATEID", -ESTALE, CONNECTION_LOST,
        "the server was restarted and forgot that the file is open"),
    ROW(10024, "OLD_STATEID", -EREMOTEIO, INTERNAL, "open state out of date"),
    ROW(10025, "BAD_STATEID", -ESTALE, CONNECTION_LOST,
        "the server does not know that the file is open"),
    ROW(10026, "BAD_SEQID", -EREMOTEIO, INTERNAL, "sequence of opens out of step"),
    ROW(10027, "NOT_SAME", -ENOTDIR, NOT_FOUND, "is not a directory"), /* VERIFY type */
    ROW(10009, "SAME", -EISDIR, UNSUPPORTED, "is a directory"),        /* NVERIFY type */
    ROW(10029, "SYMLINK", -ELOOP, UNSUPPORTED, "is a symbolic link"),
    ROW(10038, "OPENMODE", -EBADF, INTERNAL, "file is not open for this"),
    ROW(10040, "BADCHAR", -EILSEQ, UNSUPPORTED, "the server rejects a character in the name"),
    ROW(10041, "BADNAME", -EINVAL, UNSUPPORTED, "the server rejects the name"),
    ROW(10047, "ADMIN_REVOKED", -ESTALE, CONNECTION_LOST, "the server revoked our state"),
};

static const struct row lost =
    ROW(NM_NFS_LOST, "connection lost", -ECONNRESET, CONNECTION_LOST, "the connection broke");
static const struct row rejected = {NM_NFS_REJECTED, "RPC rejected", -EACCES, NM_REASON_AUTH,
                                    "the server refused the call"};
static const struct row unsent = {NM_NFS_UNSENT, "not encoded", -ENOBUFS, NM_REASON_CLIENT_LIMIT,
                                  "libnfs could not encode the call"};
static const struct row aborted =
    ROW(NM_NFS_ABORTED, "cancelled", -ECANCELED, ABORTED, "cancelled");
static const struct row restarted =
    ROW(NM_NFS_RESTARTED, "write verifier changed", -EIO, CONNECTION_LOST,
        "the server restarted before the data were on disk and may have lost them; repeat the "
        "trial");
static const struct row unknown = ROW(0, "?", -EREMOTEIO, INTERNAL, "unknown status");

static const struct row *find(int status)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].status == status)
            return &rows[i];
    return status == NM_NFS_LOST        ? &lost
           : status == NM_NFS_REJECTED  ? &rejected
           : status == NM_NFS_UNSENT    ? &unsent
           : status == NM_NFS_ABORTED   ? &aborted
           : status == NM_NFS_RESTARTED ? &restarted
                                        : &unknown;
}

bool nm_nfs_status_try_later(int status)
{
    return status == NM_NFS_JUKEBOX || status == NM_NFS_GRACE;
}

void nm_nfs_status_name(const struct nm_nfs_session *s, int status, char *out, size_t size)
{
    const struct row *row = find(status);

    if (row == &unknown)
        snprintf(out, size, "%s%d", s->proto->status_prefix, status);
    else if (status < 0)
        snprintf(out, size, "%s", row->name);
    else
        snprintf(out, size, "%s%s", s->proto->status_prefix,
                 s->proto->version == 3     ? row->name
                 : status == NM_NFS_JUKEBOX ? "DELAY"
                 : status == NM_NFS_ACCES   ? "ACCESS"
                                            : row->name);
}

/* Who was refused, and what usually helps. */
static void add_remedy(const struct nm_nfs_session *s, const struct row *row, char *out,
                       size_t size)
{
    size_t used = strlen(out);
    bool low_port = s->n_links && s->links[0].low_port;

    if (row->reason != NM_REASON_AUTH || used >= size)
        return;
    out += used;
    size -= used;
    if (row == &rejected || row->status == NM_NFS_PERM)
        snprintf(out, size, "%s",
                 low_port ? ""
                          : "; it may want a client port below 1024: run as root, give the program "
                            "cap_net_bind_service (setcap), or set the export to \"insecure\"");
    else if (row->status == NM_NFS_ACCES && s->peer.uid == 0)
        snprintf(out, size,
                 "; uid 0 is usually squashed to nobody: name the owner of the directory with "
                 "?uid=N&gid=N, or open the directory on the server");
    else if (row->status == NM_NFS_ACCES)
        snprintf(out, size, "; asked as uid %u, gid %u: give others with ?uid=N&gid=N", s->peer.uid,
                 s->peer.gid);
}

int nm_nfs_status_error(const struct nm_nfs_session *s, int status, const char *rejection,
                        struct nm_error *err, const char *what_fmt, ...)
{
    const struct row *row = find(status);
    char what[200], name[48], text[440];
    va_list args;

    va_start(args, what_fmt);
    vsnprintf(what, sizeof(what), what_fmt, args);
    va_end(args);
    if (status == NM_NFS_LOST && s->dead && err) {
        *err = s->death;
        nm_error_prefix(err, "%s", what);
        return err->code;
    }
    nm_nfs_status_name(s, status, name, sizeof(name));
    snprintf(text, sizeof(text), "nfs: %s: %s (%s)", what, row->text,
             rejection && row == &rejected ? rejection : name);
    add_remedy(s, row, text, sizeof(text));
    nm_error_set(err, row->code, row->reason, "%s", text);
    nm_error_raw(err, "%s", name);
    return row->code;
}
