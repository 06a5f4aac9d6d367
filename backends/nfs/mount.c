/* Finds what a URL names: the server's port, a version it speaks, the export, the directory in it.
 *
 * NFSv3: the port of the URL, else 2049, else what the portmapper says; then MOUNT (mountd.c) and a
 * walk from the export. NFSv4: a walk from the pseudo root. Without ?version= NFSv3 is used; NFSv4
 * where NFSv3 is not served or does not know the path, and the session says so. Synchronous; every
 * answer is awaited for at most the operation's timeout.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "nfs_internal.h"

#include "clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NFS_PROGRAM_NUMBER 100003
#define NFS_PORT           2049
#define FALLBACK_BYTES     (32u << 10) /* where the server does not tell its request size */

/* A connection to NFS that answers as this version. *ret_absent: it is not served here. */
static int open_server(struct nm_nfs_session *s, int version, bool *ret_absent,
                       struct nm_error *err)
{
    struct nm_nfs_link *link = &s->links[0];
    struct nm_error ignored = {0};
    uint16_t given = s->how.url->port, registered = 0;
    int r;

    s->port = given ? given : NFS_PORT;
    r = nm_nfs_link_open(link, &s->peer, s->port, nm_nfs_deadline_ns(s), err);
    if (r == -ECONNREFUSED && !given && version == 3 &&
        !nm_nfs_portmapper_ask(s, NFS_PROGRAM_NUMBER, version, &registered, &ignored) &&
        registered) {
        s->port = registered;
        r = nm_nfs_link_open(link, &s->peer, s->port, nm_nfs_deadline_ns(s), err);
    }
    if (r < 0) {
        *ret_absent = r == -ECONNREFUSED && !given;
        return r;
    }
    s->n_links = 1;
    r = nm_nfs_link_ping(link, NFS_PROGRAM_NUMBER, version, nm_nfs_deadline_ns(s));
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
    if (!nm_nfs_call_wait(s, &call, nm_nfs_deadline_ns(s)))
        for (unsigned i = 0; i < page->n; i++)
            if (strcmp(page->entries[i].name, ".") != 0 && strcmp(page->entries[i].name, "..") != 0)
                nm_nfs_list_name(out, size, page->entries[i].name);
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
        status = nm_nfs_call_wait(s, &call, nm_nfs_deadline_ns(s));
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
    status = nm_nfs_call_wait(s, &call, nm_nfs_deadline_ns(s));
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
    status = nm_nfs_call_wait(s, &call, nm_nfs_deadline_ns(s));
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
    int r;

    s->proto = &nm_nfs_proto3;
    r = open_server(s, 3, ret_absent, err);
    if (!r)
        r = nm_nfs_mountd_export(s, ret_absent, err);
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
    status = nm_nfs_call_wait(s, &call, nm_nfs_deadline_ns(s));
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
        r = nm_nfs_link_open(&s->links[i], &s->peer, s->port, nm_nfs_deadline_ns(s), err);
        if (!r)
            s->n_links = i + 1;
    }
    return r;
}
