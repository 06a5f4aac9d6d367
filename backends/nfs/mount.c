/* Finds what a URL names: the server's port, a version it speaks, the export, the directory in it.
 *
 * NFSv3: the port of the URL, else 2049, else what the portmapper says; MOUNT likewise, and on the
 * NFS port itself where there is no portmapper. The whole path is tried as an export first, then
 * shorter ones, so that the innermost of nested exports wins. NFSv4: a walk from the pseudo root.
 * Without ?version= NFSv3 is used; NFSv4 where NFSv3 is not served or does not know the path, and
 * the session says so. Synchronous; every answer is awaited for at most the operation's timeout.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "nfs_internal.h"

#include "clock.h"

#include <errno.h>
#include <nfsc/libnfs-raw-mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NFS_PROGRAM_NUMBER 100003
#define NFS_PORT           2049
#define PORTMAPPER_PORT    111
#define PORTMAPPER_NS      (5 * NM_NS_PER_S) /* firewalls swallow its packets more often than not */
#define FALLBACK_BYTES     (32u << 10)       /* where the server does not tell its request size */
#define AUTH_SYS           1

static uint64_t soon(const struct nm_nfs_session *s)
{
    return nm_clock_now_ns() + s->how.timeout_ns;
}

static uint64_t portmapper_soon(const struct nm_nfs_session *s)
{
    uint64_t wait_ns = s->how.timeout_ns < PORTMAPPER_NS ? s->how.timeout_ns : PORTMAPPER_NS;

    return nm_clock_now_ns() + wait_ns;
}

/* -------- portmapper and MOUNT: one answer each, into this */

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

/* Adds a name to a list for a message: "a, b, ..." */
static void list_name(char *list, size_t size, const char *name)
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
        list_name(reply->names, sizeof(reply->names), copy.ex_dir);
        if (!strncmp(reply->wanted, copy.ex_dir, length) &&
            (!reply->wanted[length] || reply->wanted[length] == '/'))
            reply->exported = true;
    }
}

/* Port of a program by the portmapper; 0 = not registered. */
static int ask_portmapper(struct nm_nfs_session *s, int program, int version, uint16_t *ret_port,
                          struct nm_error *err)
{
    uint64_t deadline_ns = portmapper_soon(s);
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

/* -------- NFSv3 */

/* A connection to NFS that answers as this version. *ret_absent: it is not served here. */
static int open_server(struct nm_nfs_session *s, int version, bool *ret_absent,
                       struct nm_error *err)
{
    struct nm_nfs_link *link = &s->links[0];
    struct nm_error ignored = {0};
    uint16_t given = s->how.url->port, registered = 0;
    int r;

    s->port = given ? given : NFS_PORT;
    r = nm_nfs_link_open(link, &s->peer, s->port, soon(s), err);
    if (r == -ECONNREFUSED && !given && version == 3 &&
        !ask_portmapper(s, NFS_PROGRAM_NUMBER, version, &registered, &ignored) && registered) {
        s->port = registered;
        r = nm_nfs_link_open(link, &s->peer, s->port, soon(s), err);
    }
    if (r < 0) {
        *ret_absent = r == -ECONNREFUSED && !given;
        return r;
    }
    s->n_links = 1;
    r = nm_nfs_link_ping(link, NFS_PROGRAM_NUMBER, version, soon(s));
    if (r == -EPROTONOSUPPORT) {
        *ret_absent = true;
        return nm_error_set(err, r, NM_REASON_UNSUPPORTED,
                            "nfs: %s, port %u, does not serve NFSv%d; use ?version=%d",
                            s->peer.name, s->port, version, version == 3 ? 4 : 3);
    }
    if (r < 0)
        return nm_error_errno(err, r,
                              "nfs: %s, port %u, takes connections but does not answer as an NFS "
                              "server; is the port right?",
                              s->peer.name, s->port);
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
    if (!text && (ask_portmapper(s, MOUNT_PROGRAM, MOUNT_V3, &port, &why) < 0 || !port))
        port = s->port; /* some servers answer MOUNT there */
    r = nm_nfs_link_open(link, &s->peer, port, soon(s), err);
    if (!r)
        r = nm_nfs_link_ping(link, MOUNT_PROGRAM, MOUNT_V3, soon(s));
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
    return await(mountd, reply, soon(s));
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
        await(mountd, &exports, soon(s)) < 0)
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

/* -------- both versions */

/* Names in the directory that the walk has reached, for a message. */
static void list_directory(struct nm_nfs_session *s, char *out, size_t size)
{
    struct nm_nfs_page *page = calloc(1, sizeof(*page));
    struct nm_nfs_call call;

    out[0] = 0;
    if (!page)
        return;
    nm_nfs_call_init(&call, s, NM_NFS_READDIR);
    call.fh = &s->root;
    call.page = page;
    if (!nm_nfs_call_wait(s, &call, soon(s)))
        for (unsigned i = 0; i < page->n; i++)
            if (strcmp(page->entries[i].name, ".") != 0 && strcmp(page->entries[i].name, "..") != 0)
                list_name(out, size, page->entries[i].name);
    free(page);
}

static int no_directory(struct nm_nfs_session *s, int status, const char *rejection,
                        const char *reached, bool *ret_absent, struct nm_error *err)
{
    char names[160];

    if (status != NM_NFS_NOENT)
        return nm_nfs_status_error(s, status, rejection, err, "enter %s", s->how.url->path);
    *ret_absent = true;
    list_directory(s, names, sizeof(names));
    nm_error_set(err, -ENOENT, NM_REASON_NOT_FOUND,
                 "nfs: %s (NFSv%u): %s does not exist; %s has: %s%s", s->peer.name,
                 s->proto->version, s->how.url->path, *reached ? reached : "/",
                 names[0] ? names : "nothing",
                 s->proto->version == 4 && !*reached && !s->links[0].low_port
                     ? " (exports that want a client port below 1024 are hidden)"
                     : "");
    nm_error_raw(err, "%sNOENT", s->proto->status_prefix);
    return -ENOENT;
}

/* NFSv4 has no MOUNT that names the export: it is where another file system begins. */
static void note_export(struct nm_nfs_session *s, size_t length)
{
    if (s->proto->version == 4 && length < sizeof(s->export_path)) {
        memcpy(s->export_path, s->how.url->path, length);
        s->export_path[length] = 0;
    }
}

/* From s->root, which stands for the first `done` bytes of the URL's path, to the whole of it. */
static int descend(struct nm_nfs_session *s, size_t done, bool *ret_absent, struct nm_error *err)
{
    const char *path = s->how.url->path;
    struct nm_nfs_call call;
    int status;

    while (path[done]) {
        char reached[256], name[NM_NFS_NAME_BYTES];
        size_t skip = strspn(path + done, "/"), length = strcspn(path + done + skip, "/");

        if (!length)
            break;
        if (length >= sizeof(name))
            return nm_error_set(err, -ENAMETOOLONG, NM_REASON_UNSUPPORTED,
                                "nfs: a name in the path of the URL is longer than %zu bytes",
                                sizeof(name) - 1);
        snprintf(reached, sizeof(reached), "%.*s", (int)(done < 255 ? done : 255), path);
        memcpy(name, path + done + skip, length);
        name[length] = 0;
        nm_nfs_call_init(&call, s, NM_NFS_LOOKUP);
        call.fh = &s->root;
        call.name = name;
        status = nm_nfs_call_wait(s, &call, soon(s));
        if (status || !call.has_fh)
            return no_directory(s, status ? status : NM_NFS_SERVERFAULT, call.rejection, reached,
                                ret_absent, err);
        s->root = call.result_fh;
        done += skip + length;
        if (call.attr.fsid_major != s->root_attr.fsid_major ||
            call.attr.fsid_minor != s->root_attr.fsid_minor)
            note_export(s, done);
        s->root_attr = call.attr;
    }
    nm_nfs_call_init(&call, s, NM_NFS_GETATTR);
    call.fh = &s->root;
    status = nm_nfs_call_wait(s, &call, soon(s));
    if (!status && call.attr.type != NM_NFS_TYPE_DIRECTORY)
        status = NM_NFS_NOTDIR;
    if (status)
        return nm_nfs_status_error(s, status, call.rejection, err, "enter %s of %s", path,
                                   s->peer.name);
    s->root_attr = call.attr;
    return 0;
}

static uint32_t request_bytes(uint64_t most_bytes)
{
    if (!most_bytes)
        return FALLBACK_BYTES;
    return most_bytes < NM_NFS_TRANSFER_BYTES ? (uint32_t)most_bytes : NM_NFS_TRANSFER_BYTES;
}

static int learn_limits(struct nm_nfs_session *s, struct nm_error *err)
{
    struct nm_nfs_call call;
    int status;

    nm_nfs_call_init(&call, s, NM_NFS_FSINFO);
    call.fh = &s->root;
    status = nm_nfs_call_wait(s, &call, soon(s));
    if (status)
        return nm_nfs_status_error(s, status, call.rejection, err, "ask %s for its limits",
                                   s->peer.name);
    s->read_bytes = request_bytes(call.limits.read_bytes);
    s->write_bytes = request_bytes(call.limits.write_bytes);
    s->lease_ns = (call.limits.lease_s ? call.limits.lease_s : 60) * NM_NS_PER_S;
    return 0;
}

static int mount3(struct nm_nfs_session *s, bool *ret_absent, struct nm_error *err)
{
    struct nm_nfs_link mountd = {0};
    int r;

    s->proto = &nm_nfs_proto3;
    r = open_server(s, 3, ret_absent, err);
    if (!r)
        r = open_mountd(s, &mountd, ret_absent, err);
    if (!r)
        r = mount_export(s, &mountd, ret_absent, err);
    nm_nfs_link_close(&mountd);
    if (!r)
        r = descend(s, strlen(s->export_path), ret_absent, err);
    return r ? r : learn_limits(s, err);
}

static int mount4(struct nm_nfs_session *s, struct nm_error *err)
{
    bool absent = false;
    struct nm_nfs_call call;
    int status, r;

    s->proto = &nm_nfs_proto4;
    r = open_server(s, 4, &absent, err);
    if (!r)
        r = nm_nfs4_client_begin(s, err);
    if (r)
        return r;
    nm_nfs_call_init(&call, s, NM_NFS_ROOT);
    status = nm_nfs_call_wait(s, &call, soon(s));
    if (status || !call.has_fh)
        return nm_nfs_status_error(s, status ? status : NM_NFS_SERVERFAULT, call.rejection, err,
                                   "enter the root of %s", s->peer.name);
    s->root = call.result_fh;
    s->root_attr = call.attr;
    snprintf(s->export_path, sizeof(s->export_path), "/");
    r = descend(s, 0, &absent, err);
    return r ? r : learn_limits(s, err);
}

static void close_links(struct nm_nfs_session *s)
{
    for (unsigned i = 0; i < s->n_links; i++)
        nm_nfs_link_close(&s->links[i]);
    s->n_links = 0;
}

static int mount_auto(struct nm_nfs_session *s, struct nm_error *err)
{
    struct nm_error why3 = {0}, why4 = {0};
    bool absent = false;
    int r = mount3(s, &absent, &why3);

    if (r < 0 && absent) {
        close_links(s);
        if (!mount4(s, &why4)) {
            snprintf(s->chosen_because, sizeof(s->chosen_because), "%.*s",
                     (int)strcspn(why3.text + strlen("nfs: "), ";"), why3.text + strlen("nfs: "));
            return 0;
        }
        if (why3.reason == NM_REASON_UNSUPPORTED) /* no NFSv3: what NFSv4 says is what matters */
            why3 = why4;
    }
    if (r < 0 && err)
        *err = why3;
    return r < 0 ? why3.code : 0;
}

int nm_nfs_mount(struct nm_nfs_session *s, struct nm_error *err)
{
    const char *version = nm_url_arg(s->how.url, "version");
    bool absent;
    int r;

    if (version && strcmp(version, "3") != 0 && strcmp(version, "4") != 0)
        return nm_error_set(err, -EINVAL, NM_REASON_UNSUPPORTED,
                            "nfs: version=%s is not supported; 3 and 4 (NFSv4.0) are", version);
    r = !version ? mount_auto(s, err) : *version == '3' ? mount3(s, &absent, err) : mount4(s, err);
    for (unsigned i = 1; !r && i < s->options->connections && i < NM_NFS_LINKS_MAX; i++) {
        r = nm_nfs_link_open(&s->links[i], &s->peer, s->port, soon(s), err);
        if (!r)
            s->n_links = i + 1;
    }
    return r;
}
