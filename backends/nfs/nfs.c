/* Backend nfs: NFSv3 and NFSv4.0 over libnfs, in userspace; see nfs_internal.h for the design.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "nfs_internal.h"

#include "clock.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP_HEAP_BYTES (1 << 30)
#define ABANDON_NS      (2 * NM_NS_PER_S) /* at most, for closing what an aborted run left open */

static const struct nm_option option_rows[] = {
    {.name = "connections",
     .type = NM_OPTION_UINT,
     .offset = offsetof(struct nm_nfs_options, connections),
     .preset = "1",
     .min = 1,
     .max = NM_NFS_LINKS_MAX,
     .help = "TCP connections of one stream; its requests are spread over them"},
};

static const struct nm_option_section section = {
    .name = "nfs",
    .help = "NFS client (version, uid, gid and mountport are arguments of the URL)",
    .options = option_rows,
    .n_options = NM_OPTION_COUNT(option_rows),
    .size = sizeof(struct nm_nfs_options),
};

static struct nm_nfs_session *of(struct nm_session *session)
{
    return (struct nm_nfs_session *)session;
}

static void session_free(struct nm_nfs_session *s)
{
    for (unsigned i = 0; i < NM_NFS_LINKS_MAX; i++)
        nm_nfs_link_close(&s->links[i]);
    nm_nfs_calls_done(s);
    nm_nfs_peer_done(&s->peer);
    free(s);
}

static int nfs_connect(const struct nm_connect *how, struct nm_session **ret_session,
                       struct nm_error *err)
{
    struct nm_nfs_session *s = calloc(1, sizeof(*s));
    int r;

    if (!s)
        return nm_error_errno(err, -ENOMEM, "nfs: out of memory");
    /* libnfs allocates one buffer per request; giving 1 MiB back to the kernel each time costs a
     * page fault per 4 KiB. */
    (void)mallopt(M_MMAP_THRESHOLD, KEEP_HEAP_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, KEEP_HEAP_BYTES);
    s->how = *how;
    s->options = how->options;
    r = nm_nfs_calls_init(s, err);
    if (!r)
        r = nm_nfs_peer_init(&s->peer, how->url, err);
    if (!r)
        r = nm_nfs_mount(s, err);
    if (r < 0) {
        session_free(s);
        return r;
    }
    s->last_answer_ns = nm_clock_now_ns();
    *ret_session = &s->base;
    return 0;
}

static void nfs_disconnect(struct nm_session *session)
{
    struct nm_nfs_session *s = of(session);
    uint64_t wait_ns, deadline_ns;

    if (!s)
        return;
    wait_ns = s->how.timeout_ns < ABANDON_NS ? s->how.timeout_ns : ABANDON_NS;
    deadline_ns = nm_clock_now_ns() + wait_ns;
    /* A file left open keeps its space on the server until the lease is over. */
    for (struct nm_nfs_file *f = s->open_files.next;
         f != &s->open_files && !s->dead && s->in_flight.next == &s->in_flight; f = f->next)
        nm_nfs_file_abandon(s, f, deadline_ns);
    session_free(s);
}

/* The same number over both versions: servers derive the 64 bits of NFSv3 from the 128 of NFSv4 by
 * exclusive or of halves, in one order or another. */
static uint32_t folded_fsid(const struct nm_nfs_session *s)
{
    uint64_t both = s->root_attr.fsid_major ^ s->root_attr.fsid_minor;

    return (uint32_t)(both >> 32) ^ (uint32_t)both;
}

static void set_conditions(const struct nm_nfs_session *s, struct nm_conditions *conditions)
{
    uint32_t most_bytes = s->read_bytes < s->write_bytes ? s->read_bytes : s->write_bytes;

    nm_conditions_set(conditions, "nfs.version", "%u", s->proto->version);
    if (s->chosen_because[0])
        nm_conditions_set(conditions, "nfs.version_reason", "%s", s->chosen_because);
    nm_conditions_set(conditions, "nfs.rsize", "%u", s->read_bytes);
    nm_conditions_set(conditions, "nfs.wsize", "%u", s->write_bytes);
    nm_conditions_set(conditions, "nfs.block", "%u",
                      s->how.block_bytes && s->how.block_bytes < most_bytes ? s->how.block_bytes
                                                                            : most_bytes);
    nm_conditions_set(conditions, "nfs.connections", "%u", s->n_links);
    nm_conditions_set(conditions, "nfs.export", "%s", s->export_path);
    nm_conditions_set(conditions, "nfs.fsid", "%08x", folded_fsid(s));
    nm_conditions_set(conditions, "nfs.uid", "%u", s->peer.uid);
    nm_conditions_set(conditions, "nfs.gid", "%u", s->peer.gid);
    nm_conditions_set(conditions, "lib.nfs", "%s", NM_NFS_LIBRARY_VERSION);
    if (s->delays)
        nm_conditions_set(conditions, "nfs.delays", "%u answers, %llu ms", s->delays,
                          (unsigned long long)(s->delayed_ns / NM_NS_PER_MS));
    if (s->reconnects)
        nm_conditions_set(conditions, "nfs.reconnects", "%u", s->reconnects);
}

static int nfs_describe(struct nm_session *session, struct nm_target_info *info,
                        struct nm_conditions *conditions, struct nm_error *err)
{
    static const enum nm_nfs_call_kind kinds[] = {NM_NFS_FSSTAT, NM_NFS_ACCESS};
    struct nm_nfs_session *s = of(session);
    struct nm_nfs_call calls[2];
    bool told;

    nm_nfs_session_revive(s);
    for (int i = 0; i < 2; i++) {
        int status;

        nm_nfs_call_init(&calls[i], s, kinds[i]);
        calls[i].fh = &s->root;
        status = nm_nfs_call_wait(s, &calls[i], nm_nfs_deadline_ns(s));
        if (status)
            return nm_nfs_status_error(s, status, calls[i].rejection, err, "describe %s",
                                       s->peer.name);
    }
    told = calls[0].limits.total_bytes > 0;
    *info = (struct nm_target_info){
        .total_bytes = told ? calls[0].limits.total_bytes : UINT64_MAX,
        .free_bytes = told ? calls[0].limits.avail_bytes : UINT64_MAX,
        .block_bytes = 1,
        .writable = calls[1].access != 0,
    };
    snprintf(info->identity, sizeof(info->identity), "fsid=%08x fileid=%llx", folded_fsid(s),
             (unsigned long long)s->root_attr.fileid);
    set_conditions(s, conditions);
    return 0;
}

static void refuse(struct nm_nfs_session *s, struct nm_op *op, const struct nm_error *why)
{
    op->err = *why;
    op->result = why->code;
    if (op->kind == NM_OP_CLOSE)
        nm_nfs_file_free(s, (struct nm_nfs_file *)op->file);
    nm_session_complete(&s->base, op);
}

static void nfs_submit(struct nm_session *session, struct nm_op *op)
{
    struct nm_nfs_session *s = of(session);
    struct nm_error err = {0};
    struct nm_nfs_request *rq;
    int r = 0;

    nm_nfs_session_revive(s);
    if (!s->dead)
        r = nm_nfs4_client_keep(s, &err);
    if (s->dead || r < 0) {
        refuse(s, op, s->dead ? &s->death : &err);
        return;
    }
    rq = nm_nfs_request_new(s, op);
    if (!rq) {
        nm_error_errno(&err, -ENOMEM, "nfs: out of memory");
        refuse(s, op, &err);
        return;
    }
    nm_nfs_op_start(s, rq);
    nm_nfs_calls_kick(s); /* what breaks here is reported by the next reap */
}

static int nfs_reap(struct nm_session *session, uint64_t deadline_ns, struct nm_error *err)
{
    struct nm_nfs_session *s = of(session);

    do {
        nm_nfs_calls_turn(s, deadline_ns);
        if (s->dead) {
            if (err)
                *err = s->death;
            return s->death.code;
        }
    } while (!session->done_first && nm_clock_now_ns() < deadline_ns);
    return 0;
}

static void nfs_cancel(struct nm_session *session)
{
    struct nm_nfs_session *s = of(session);

    /* What is on the wire is answered soon, or its deadline ends it; nothing more is sent. */
    for (struct nm_nfs_request *rq = s->in_flight.next; rq != &s->in_flight; rq = rq->next)
        if (rq->op->kind != NM_OP_CLOSE)
            rq->aborted = true;
}

static uint64_t repeats(struct nm_session *base)
{
    return ((struct nm_nfs_session *)base)->delays;
}

const struct nm_backend_ops nm_backend_nfs = {
    .name = "nfs",
    .help = "NFS version 3 or 4.0 with libnfs",
    .protocol = NM_PROTOCOL_NFS,
    .supports = NM_OP_MASK_ALL,
    .traits = NM_TRAIT_FILES | NM_TRAIT_ASYNC,
    .options = &section,
    .connect = nfs_connect,
    .disconnect = nfs_disconnect,
    .describe = nfs_describe,
    .submit = nfs_submit,
    .reap = nfs_reap,
    .cancel = nfs_cancel,
    .repeats = repeats,
};
