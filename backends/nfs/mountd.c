/* The services beside an NFSv3 server: the portmapper, which knows their ports, and MOUNT, which
 * turns the path of an export into its file handle.
 *
 * MOUNT's port is the one of ?mountport=, else what the portmapper says; on the NFS port itself
 * where there is no portmapper. The whole path is tried as an export first, then shorter ones, so
 * that the innermost of nested exports wins. Synchronous; every answer is awaited for at most the
 * operation's timeout.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "nfs_internal.h"

#include "clock.h"

#include <errno.h>
#include <nfsc/libnfs-raw-mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORTMAPPER_PORT 111
#define PORTMAPPER_NS   (5 * NM_NS_PER_S) /* firewalls swallow its packets more often than not */
#define AUTH_SYS        1

static uint64_t portmapper_deadline_ns(const struct nm_nfs_session *s)
{
    uint64_t wait_ns = s->how.timeout_ns < PORTMAPPER_NS ? s->how.timeout_ns : PORTMAPPER_NS;

    return nm_clock_now_ns() + wait_ns;
}

/* What one answer of either service says. */
struct reply {
    bool done;
    int rpc_status;
    uint32_t port; /* GETPORT */
    int status;    /* MNT */
    struct nm_nfs_fh fh;
    bool no_auth_sys;   /* the export wants only other security flavours */
    const char *wanted; /* EXPORT: is this path, or one above it, exported? */
    bool exported;
    char names[160];
};

static int await(struct nm_nfs_link *link, struct reply *reply, uint64_t deadline_ns)
{
    int r = nm_nfs_link_wait(link, &reply->done, deadline_ns);

    if (!reply->done)
        nm_nfs_link_close(link); /* cancels, while reply is still there */
    if (r < 0)
        return r;
    return reply->rpc_status == RPC_STATUS_SUCCESS ? 0 : -EPROTONOSUPPORT;
}

static struct reply *answered(void *private, int rpc_status, const void *data)
{
    struct reply *reply = private;

    reply->done = true;
    reply->rpc_status = rpc_status;
    return rpc_status == RPC_STATUS_SUCCESS && data ? reply : NULL;
}

static void on_port(struct rpc_context *rpc, int status, void *data, void *private)
{
    struct reply *reply = answered(private, status, data);

    (void)rpc;
    if (reply)
        reply->port = *(const uint32_t *)data;
}

static void on_mount(struct rpc_context *rpc, int status, void *data, void *private)
{
    struct reply *reply = answered(private, status, data);
    const mountres3 *res = data;
    const mountres3_ok *ok = &res->mountres3_u.mountinfo;

    (void)rpc;
    if (!reply)
        return;
    reply->status = (int)res->fhs_status;
    if (reply->status)
        return;
    if (ok->fhandle.fhandle3_len > NM_NFS_FH_BYTES) {
        reply->status = NM_NFS_SERVERFAULT;
        return;
    }
    reply->fh.length = ok->fhandle.fhandle3_len;
    memcpy(reply->fh.data, ok->fhandle.fhandle3_val, reply->fh.length);
    reply->no_auth_sys = ok->auth_flavors.auth_flavors_len > 0;
    for (unsigned i = 0; i < ok->auth_flavors.auth_flavors_len; i++)
        if (ok->auth_flavors.auth_flavors_val[i] == AUTH_SYS)
            reply->no_auth_sys = false;
}

void nm_nfs_list_name(char *list, size_t size, const char *name)
{
    size_t used = strlen(list), length = strlen(name);

    if (used + length + 8 < size)
        snprintf(list + used, size - used, "%s%s", used ? ", " : "", name);
    else if (used + 6 < size && (used < 3 || strcmp(list + used - 3, "...") != 0))
        snprintf(list + used, size - used, ", ...");
}

static void on_exports(struct rpc_context *rpc, int status, void *data, void *private)
{
    struct reply *reply = answered(private, status, data);
    exportnode copy;

    (void)rpc;
    if (!reply)
        return;
    for (const exportnode *e = *(exportnode **)data; e; e = copy.ex_next) {
        size_t length;

        memcpy(&copy, e, sizeof(copy)); /* aligned to 4 bytes only */
        length = strlen(copy.ex_dir);
        nm_nfs_list_name(reply->names, sizeof(reply->names), copy.ex_dir);
        if (!strncmp(reply->wanted, copy.ex_dir, length) &&
            (!reply->wanted[length] || reply->wanted[length] == '/'))
            reply->exported = true;
    }
}

int nm_nfs_portmapper_ask(struct nm_nfs_session *s, int program, int version, uint16_t *ret_port,
                          struct nm_error *err)
{
    uint64_t deadline_ns = portmapper_deadline_ns(s);
    struct nm_nfs_link link = {0};
    struct reply reply = {0};
    int r = nm_nfs_link_open(&link, &s->peer, PORTMAPPER_PORT, deadline_ns, err);

    if (r < 0)
        return r;
    if (rpc_pmap2_getport_async(link.rpc, program, version, IPPROTO_TCP, on_port, &reply) < 0)
        r = -ENOMEM;
    else
        r = await(&link, &reply, deadline_ns);
    nm_nfs_link_close(&link);
    if (r < 0)
        return nm_error_errno(err, r, "nfs: the portmapper of %s does not answer", s->peer.name);
    *ret_port = (uint16_t)reply.port;
    return 0;
}

static int open_mountd(struct nm_nfs_session *s, struct nm_nfs_link *link, bool *ret_absent,
                       struct nm_error *err)
{
    const char *text = nm_url_arg(s->how.url, "mountport");
    unsigned long given = text ? strtoul(text, NULL, 10) : 0;
    uint16_t port = (uint16_t)given;
    struct nm_error why = {0};
    int r = 0;

    if (text && (given < 1 || given > 65535))
        return nm_error_set(err, -EINVAL, NM_REASON_UNSUPPORTED,
                            "nfs: mountport=%s is not a port (1 to 65535)", text);
    if (!text && (nm_nfs_portmapper_ask(s, MOUNT_PROGRAM, MOUNT_V3, &port, &why) < 0 || !port))
        port = s->port; /* some servers answer MOUNT there */
    r = nm_nfs_link_open(link, &s->peer, port, nm_nfs_deadline_ns(s), err);
    if (!r)
        r = nm_nfs_link_ping(link, MOUNT_PROGRAM, MOUNT_V3, nm_nfs_deadline_ns(s));
    if (!r)
        return 0;
    *ret_absent = !text && (r == -EPROTONOSUPPORT || r == -ECONNREFUSED);
    if (text)
        return nm_error_set(err, r, nm_reason_from_errno(r),
                            "nfs: %s: no MOUNT service at the given mountport %u", s->peer.name,
                            port);
    return nm_error_set(err, r, nm_reason_from_errno(r),
                        "nfs: %s serves NFSv3 but no MOUNT service was found (%s); name its port "
                        "with ?mountport=, or use ?version=4",
                        s->peer.name,
                        why.code          ? why.text
                        : r == -ETIMEDOUT ? "its port does not answer"
                                          : "not registered");
}

static int mnt(struct nm_nfs_session *s, struct nm_nfs_link *mountd, const char *path,
               struct reply *reply)
{
    *reply = (struct reply){0};
    if (rpc_mount3_mnt_async(mountd->rpc, on_mount, (char *)path, reply) < 0)
        return -ENOMEM;
    return await(mountd, reply, nm_nfs_deadline_ns(s));
}

/* No export takes the path: say which there are. */
static int no_export(struct nm_nfs_session *s, struct nm_nfs_link *mountd,
                     const struct reply *mount, bool *ret_absent, struct nm_error *err)
{
    const char *path = s->how.url->path;
    struct reply exports = {.wanted = path};
    bool refused = mount->status == NM_NFS_ACCES || mount->status == NM_NFS_PERM;
    int r = 0;

    if (rpc_mount3_export_async(mountd->rpc, on_exports, &exports) < 0 ||
        await(mountd, &exports, nm_nfs_deadline_ns(s)) < 0)
        exports.names[0] = 0;
    if (refused && (exports.exported || !exports.names[0])) {
        r = nm_error_set(err, -EACCES, NM_REASON_AUTH,
                         "nfs: %s refuses to let this client mount %s; check the hosts that the "
                         "export allows%s",
                         s->peer.name, path,
                         mountd->low_port
                             ? ""
                             : ", and whether it wants a client port below 1024 (run "
                               "as root, setcap cap_net_bind_service, or \"insecure\")");
    } else {
        *ret_absent = true;
        r = nm_error_set(err, -ENOENT, NM_REASON_NOT_FOUND,
                         "nfs: %s exports nothing that holds %s; it exports: %s", s->peer.name,
                         path, exports.names[0] ? exports.names : "(no list to be had)");
    }
    nm_error_raw(err, "MNT3ERR %d", mount->status);
    return r;
}

/* Tries path and what is above it; the export goes to s->export_path. */
static int mount_export(struct nm_nfs_session *s, struct nm_nfs_link *mountd, bool *ret_absent,
                        struct nm_error *err)
{
    const char *path = s->how.url->path;
    size_t length = strlen(path);
    struct reply first = {0}, reply;

    if (length >= sizeof(s->export_path))
        return nm_error_set(err, -ENAMETOOLONG, NM_REASON_UNSUPPORTED,
                            "nfs: the path of the URL is longer than %zu bytes",
                            sizeof(s->export_path) - 1);
    memcpy(s->export_path, path, length + 1);
    for (;;) {
        int r = mnt(s, mountd, s->export_path, &reply);

        if (r < 0)
            return nm_error_errno(err, r, "nfs: MOUNT service of %s, asked for %s", s->peer.name,
                                  s->export_path);
        if (!reply.status)
            break;
        if (!first.status)
            first = reply;
        if (length <= 1)
            return no_export(s, mountd, &first, ret_absent, err);
        while (length > 1 && s->export_path[length - 1] != '/')
            length--;
        if (length > 1)
            length--;
        s->export_path[length] = 0;
    }
    if (reply.no_auth_sys)
        return nm_error_set(err, -EACCES, NM_REASON_AUTH,
                            "nfs: export %s of %s wants Kerberos; only sec=sys is supported",
                            s->export_path, s->peer.name);
    s->root = reply.fh;
    return 0;
}

int nm_nfs_mountd_export(struct nm_nfs_session *s, bool *ret_absent, struct nm_error *err)
{
    struct nm_nfs_link mountd = {0};
    int r = open_mountd(s, &mountd, ret_absent, err);

    if (!r)
        r = mount_export(s, &mountd, ret_absent, err);
    nm_nfs_link_close(&mountd);
    return r;
}
