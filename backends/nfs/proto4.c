/* A call as one NFSv4.0 COMPOUND, and back.
 *
 * Compounds are built here and not by libnfs's NFSv4 functions: those of 4.0.0 cannot encode a
 * WRITE of 4 KiB, open new files for reading only, mix up the sequence of parallel opens and never
 * renew a lease. Every open file has an open owner of its own (nm_nfs_file), so OPEN, OPEN_CONFIRM
 * and CLOSE of one owner follow each other and nothing else has to wait.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "attr4.h"

#include "clock.h"

#include <stdio.h>
#include <string.h>

#define FILE_MODE      0644
#define DIRECTORY_MODE 0755
#define READDIR_BYTES  (32u << 10)
#define OPS_MAX        6

/* -------- sending */

struct compound {
    unsigned n;
    nfs_argop4 ops[OPS_MAX];
    char word[4]; /* an attribute value */
    char owner[24];
};

static void on_reply(struct rpc_context *rpc, int status, void *data, void *private);

static nfs_argop4 *add(struct compound *c, nfs_opnum4 op)
{
    c->ops[c->n] = (nfs_argop4){.argop = op};
    return &c->ops[c->n++];
}

static void add_handle(struct compound *c, const struct nm_nfs_fh *fh)
{
    add(c, OP_PUTFH)->nfs_argop4_u.opputfh.object =
        (nfs_fh4){.nfs_fh4_len = fh->length, .nfs_fh4_val = (char *)fh->data};
}

static void add_getattr(struct compound *c, bitmap4 wanted)
{
    add(c, OP_GETATTR)->nfs_argop4_u.opgetattr.attr_request = wanted;
}

static void add_result(struct compound *c)
{
    add(c, OP_GETFH);
    add_getattr(c, nm_nfs4_attr_of_file());
}

static component4 component(const char *name)
{
    return (component4){.utf8string_len = (u_int)strlen(name), .utf8string_val = (char *)name};
}

static stateid4 stateid(const struct nm_nfs_file *file)
{
    stateid4 id = {.seqid = file->state_seqid};

    memcpy(id.other, file->state_other, sizeof(id.other));
    return id;
}

/* REMOVE of NFSv4 takes files and empty directories alike: look at the type first, in the same
 * compound. */
static void add_remove(struct compound *c, const struct nm_nfs_call *call)
{
    fattr4 directory = nm_nfs4_attr_directory(c->word);

    add_handle(c, call->fh);
    add(c, OP_LOOKUP)->nfs_argop4_u.oplookup.objname = component(call->name);
    if (call->kind == NM_NFS_RMDIR)
        add(c, OP_VERIFY)->nfs_argop4_u.opverify.obj_attributes = directory;
    else
        add(c, OP_NVERIFY)->nfs_argop4_u.opnverify.obj_attributes = directory;
    add_handle(c, call->fh);
    add(c, OP_REMOVE)->nfs_argop4_u.opremove.target = component(call->name);
}

static void add_open(struct compound *c, const struct nm_nfs_call *call)
{
    struct nm_nfs_file *file = call->file;
    OPEN4args *args;

    add_handle(c, call->fh);
    args = &add(c, OP_OPEN)->nfs_argop4_u.opopen;
    snprintf(c->owner, sizeof(c->owner), "o%llu", (unsigned long long)file->owner);
    args->seqid = file->seqid;
    args->share_access = call->open_flags;
    args->share_deny = OPEN4_SHARE_DENY_NONE;
    args->owner.clientid = call->session->clientid;
    args->owner.owner.owner_val = c->owner;
    args->owner.owner.owner_len = (u_int)strlen(c->owner);
    args->openhow.opentype = OPEN4_NOCREATE;
    if (call->kind == NM_NFS_CREATE) {
        createhow4 *how = &args->openhow.openflag4_u.how;

        args->openhow.opentype = OPEN4_CREATE;
        how->mode = GUARDED4; /* an existing name is an error */
        how->createhow4_u.createattrs = nm_nfs4_attr_mode(c->word, FILE_MODE);
    }
    args->claim.claim = CLAIM_NULL;
    args->claim.open_claim4_u.file = component(call->name);
    add_result(c);
}

static void add_data(struct compound *c, const struct nm_nfs_call *call)
{
    add_handle(c, &call->file->fh);
    if (call->kind == NM_NFS_READ) {
        add(c, OP_READ)->nfs_argop4_u.opread = (READ4args){.stateid = stateid(call->file),
                                                           .offset = call->offset_bytes,
                                                           .count = call->length_bytes};
    } else if (call->kind == NM_NFS_WRITE) {
        add(c, OP_WRITE)->nfs_argop4_u.opwrite =
            (WRITE4args){.stateid = stateid(call->file),
                         .offset = call->offset_bytes,
                         .stable = UNSTABLE4,
                         .data = {.data_len = call->length_bytes, .data_val = call->buf}};
    } else {
        add(c, OP_COMMIT); /* 0 to 0 = all of it */
    }
}

static void add_names(struct compound *c, const struct nm_nfs_call *call)
{
    switch (call->kind) {
    case NM_NFS_ROOT:
        add(c, OP_PUTROOTFH);
        add_result(c);
        break;
    case NM_NFS_MKDIR: {
        CREATE4args *args;

        add_handle(c, call->fh);
        args = &add(c, OP_CREATE)->nfs_argop4_u.opcreate;
        args->objtype.type = NF4DIR;
        args->objname = component(call->name);
        args->createattrs = nm_nfs4_attr_mode(c->word, DIRECTORY_MODE);
        add_result(c);
        break;
    }
    case NM_NFS_RENAME:
        add_handle(c, call->fh);
        add(c, OP_SAVEFH);
        add_handle(c, call->fh2);
        add(c, OP_RENAME)->nfs_argop4_u.oprename =
            (RENAME4args){.oldname = component(call->name), .newname = component(call->name2)};
        break;
    case NM_NFS_READDIR:
    case NM_NFS_READDIRPLUS: {
        READDIR4args *args;

        add_handle(c, call->fh);
        args = &add(c, OP_READDIR)->nfs_argop4_u.opreaddir;
        args->cookie = call->page->cookie;
        memcpy(args->cookieverf, call->page->verifier, sizeof(args->cookieverf));
        args->dircount = READDIR_BYTES / 4;
        args->maxcount = READDIR_BYTES;
        args->attr_request = nm_nfs4_attr_of_entry();
        break;
    }
    default:
        add_handle(c, call->fh);
        add(c, OP_LOOKUP)->nfs_argop4_u.oplookup.objname = component(call->name);
        add_result(c);
    }
}

static void add_client(struct compound *c, const struct nm_nfs_call *call)
{
    struct nm_nfs_session *s = call->session;

    if (call->kind == NM_NFS_RENEW) {
        add(c, OP_RENEW)->nfs_argop4_u.oprenew.clientid = s->clientid;
    } else if (call->kind == NM_NFS_CLIENT_SET) {
        SETCLIENTID4args *args = &add(c, OP_SETCLIENTID)->nfs_argop4_u.opsetclientid;

        memcpy(args->client.verifier, s->client_verifier, sizeof(args->client.verifier));
        args->client.id.id_val = s->client_name;
        args->client.id.id_len = (u_int)strlen(s->client_name);
        /* Nobody listens there: the server then grants no delegations. */
        args->callback = (cb_client4){
            .cb_program = 0x40000000,
            .cb_location = {.r_netid = (char *)"tcp", .r_addr = (char *)"0.0.0.0.0.0"}};
    } else {
        SETCLIENTID_CONFIRM4args *args =
            &add(c, OP_SETCLIENTID_CONFIRM)->nfs_argop4_u.opsetclientid_confirm;

        args->clientid = s->clientid;
        memcpy(args->setclientid_confirm, s->confirm_verifier, sizeof(args->setclientid_confirm));
    }
}

static void build(struct compound *c, const struct nm_nfs_call *call)
{
    switch (call->kind) {
    case NM_NFS_GETATTR:
        add_handle(c, call->fh);
        add_getattr(c, nm_nfs4_attr_of_file());
        break;
    case NM_NFS_ACCESS:
        add_handle(c, call->fh);
        add(c, OP_ACCESS)->nfs_argop4_u.opaccess.access =
            ACCESS4_MODIFY | ACCESS4_EXTEND | ACCESS4_DELETE;
        break;
    case NM_NFS_FSSTAT:
    case NM_NFS_FSINFO:
        add_handle(c, call->fh);
        add_getattr(c, nm_nfs4_attr_of_limits());
        break;
    case NM_NFS_CREATE:
    case NM_NFS_OPEN: add_open(c, call); break;
    case NM_NFS_OPEN_CONFIRM:
        add_handle(c, &call->file->fh);
        add(c, OP_OPEN_CONFIRM)->nfs_argop4_u.opopen_confirm =
            (OPEN_CONFIRM4args){.open_stateid = stateid(call->file), .seqid = call->file->seqid};
        break;
    case NM_NFS_CLOSE:
        add_handle(c, &call->file->fh);
        if (call->commits)
            add(c, OP_COMMIT);
        add(c, OP_CLOSE)->nfs_argop4_u.opclose =
            (CLOSE4args){.seqid = call->file->seqid, .open_stateid = stateid(call->file)};
        break;
    case NM_NFS_READ:
    case NM_NFS_WRITE:
    case NM_NFS_COMMIT: add_data(c, call); break;
    case NM_NFS_REMOVE:
    case NM_NFS_RMDIR: add_remove(c, call); break;
    case NM_NFS_RENEW:
    case NM_NFS_CLIENT_SET:
    case NM_NFS_CLIENT_CONFIRM: add_client(c, call); break;
    default: add_names(c, call);
    }
}

#ifdef NM_NFS_HAVE_COMPOUND2
bool nm_nfs4_large_calls(void)
{
    return true;
}

static int queue(struct nm_nfs_call *call, COMPOUND4args *args, size_t hint_bytes)
{
    return rpc_nfs4_compound_async2(call->link->rpc, on_reply, args, call, hint_bytes);
}
#else
/* libnfs 4.0.0 encodes a COMPOUND into a buffer of 4 KiB. It allocates that through its own
 * exported rpc_allocate_pdu(), which this definition takes the place of, to say how much room is
 * needed. nm_nfs4_client_begin() checks that the linker agreed before anything is written. */
static size_t room_bytes;
static bool replaced;

struct rpc_pdu *rpc_allocate_pdu2(struct rpc_context *rpc, int program, int version, int procedure,
                                  rpc_cb cb, void *private_data, zdrproc_t decode, int decode_bytes,
                                  size_t hint_bytes);
struct rpc_pdu *rpc_allocate_pdu(struct rpc_context *rpc, int program, int version, int procedure,
                                 rpc_cb cb, void *private_data, zdrproc_t decode, int decode_bytes);

struct rpc_pdu *rpc_allocate_pdu(struct rpc_context *rpc, int program, int version, int procedure,
                                 rpc_cb cb, void *private_data, zdrproc_t decode, int decode_bytes)
{
    bool ours = program == NFS4_PROGRAM && version == NFS_V4;

    replaced = replaced || ours;
    return rpc_allocate_pdu2(rpc, program, version, procedure, cb, private_data, decode,
                             decode_bytes, ours ? room_bytes : 0);
}

bool nm_nfs4_large_calls(void)
{
    return replaced;
}

static int queue(struct nm_nfs_call *call, COMPOUND4args *args, size_t hint_bytes)
{
    room_bytes = hint_bytes;
    return rpc_nfs4_compound_async(call->link->rpc, on_reply, args, call);
}
#endif

static int proto4_send(struct nm_nfs_call *call)
{
    struct compound c;
    COMPOUND4args args = {.argarray = {.argarray_val = c.ops}};

    c.n = 0;
    build(&c, call);
    args.argarray.argarray_len = c.n;
    return queue(call, &args, call->kind == NM_NFS_WRITE ? call->length_bytes : 0);
}

/* -------- receiving; libnfs allocates what it decodes at multiples of 4 bytes only, so structures
 * inside a result are copied before they are looked at */

/* These leave the owner's sequence where it was (RFC 7530, 9.1.7). */
static bool moves_sequence(int status)
{
    switch (status) {
    case NFS4ERR_STALE_CLIENTID:
    case NFS4ERR_STALE_STATEID:
    case NFS4ERR_BAD_STATEID:
    case NFS4ERR_BAD_SEQID:
    case NFS4ERR_BADZDR:
    case NFS4ERR_RESOURCE:
    case NFS4ERR_NOFILEHANDLE:
    case NFS4ERR_MOVED: return false;
    default: return true;
    }
}

static void take_state(struct nm_nfs_call *call, const stateid4 *id)
{
    call->file->state_seqid = id->seqid;
    memcpy(call->file->state_other, id->other, sizeof(call->file->state_other));
}

static void take_page(struct nm_nfs_page *page, const READDIR4resok *ok)
{
    const entry4 *e = ok->reply.entries;
    struct nm_nfs_limits none;
    entry4 copy;

    memcpy(page->verifier, ok->cookieverf, sizeof(page->verifier));
    for (page->n = 0; e && page->n < NM_NFS_PAGE_ENTRIES; e = copy.nextentry) {
        struct nm_nfs_entry *entry;

        memcpy(&copy, e, sizeof(copy));
        entry =
            nm_nfs_page_add(page, copy.name.utf8string_val, copy.name.utf8string_len, copy.cookie);
        if (entry)
            nm_nfs4_attr_take(&copy.attrs, &entry->attr, &none);
    }
    page->eof = ok->reply.eof && !e;
}

static void take_open(struct nm_nfs_call *call, const OPEN4res *res)
{
    if (moves_sequence((int)res->status))
        call->file->seqid++;
    if (res->status)
        return;
    take_state(call, &res->OPEN4res_u.resok4.stateid);
    call->confirm = res->OPEN4res_u.resok4.rflags & OPEN4_RESULT_CONFIRM;
}

static void take_state_op(struct nm_nfs_call *call, const nfs_resop4 *op)
{
    const OPEN_CONFIRM4res *confirm = &op->nfs_resop4_u.opopen_confirm;
    const CLOSE4res *closed = &op->nfs_resop4_u.opclose;
    int status = (int)(op->resop == OP_CLOSE ? closed->status : confirm->status);

    if (moves_sequence(status))
        call->file->seqid++;
    call->closed = !status && op->resop == OP_CLOSE;
    if (!status && op->resop == OP_OPEN_CONFIRM)
        take_state(call, &confirm->OPEN_CONFIRM4res_u.resok4.open_stateid);
}

static void take_read(struct nm_nfs_call *call, const READ4resok *ok)
{
    call->count = ok->data.data_len < call->length_bytes ? ok->data.data_len : call->length_bytes;
    call->eof = ok->eof;
    if (call->count)
        memcpy(call->buf, ok->data.data_val, call->count);
}

static void take_handle(struct nm_nfs_call *call, const nfs_fh4 *fh)
{
    if (fh->nfs_fh4_len > NM_NFS_FH_BYTES)
        return;
    call->has_fh = true;
    call->result_fh.length = fh->nfs_fh4_len;
    memcpy(call->result_fh.data, fh->nfs_fh4_val, fh->nfs_fh4_len);
}

static void take_client(struct nm_nfs_session *s, const SETCLIENTID4resok *ok)
{
    s->clientid = ok->clientid;
    memcpy(s->confirm_verifier, ok->setclientid_confirm, sizeof(s->confirm_verifier));
}

/* One operation of the compound that succeeded. */
static void take(struct nm_nfs_call *call, const nfs_resop4 *op)
{
    switch (op->resop) {
    case OP_GETFH: take_handle(call, &op->nfs_resop4_u.opgetfh.GETFH4res_u.resok4.object); break;
    case OP_GETATTR:
        nm_nfs4_attr_take(&op->nfs_resop4_u.opgetattr.GETATTR4res_u.resok4.obj_attributes,
                          &call->attr, &call->limits);
        break;
    case OP_ACCESS: call->access = op->nfs_resop4_u.opaccess.ACCESS4res_u.resok4.access; break;
    case OP_READ: take_read(call, &op->nfs_resop4_u.opread.READ4res_u.resok4); break;
    case OP_WRITE: {
        const WRITE4resok *ok = &op->nfs_resop4_u.opwrite.WRITE4res_u.resok4;

        call->count = ok->count;
        call->unstable = ok->committed == UNSTABLE4;
        memcpy(&call->verifier, ok->writeverf, sizeof(call->verifier));
        break;
    }
    case OP_COMMIT:
        memcpy(&call->verifier, op->nfs_resop4_u.opcommit.COMMIT4res_u.resok4.writeverf,
               sizeof(call->verifier));
        break;
    case OP_READDIR: take_page(call->page, &op->nfs_resop4_u.opreaddir.READDIR4res_u.resok4); break;
    case OP_SETCLIENTID:
        take_client(call->session, &op->nfs_resop4_u.opsetclientid.SETCLIENTID4res_u.resok4);
        break;
    default: break;
    }
}

static void on_reply(struct rpc_context *rpc, int status, void *data, void *private)
{
    struct nm_nfs_call *call = private;
    const COMPOUND4res *res = data;

    (void)rpc;
    if (!nm_nfs_call_arrived(call, status, data))
        return;
    call->status = (int)res->status;
    for (unsigned i = 0; i < res->resarray.resarray_len; i++) {
        bool failed = call->status && i + 1 == res->resarray.resarray_len;
        nfs_resop4 op;

        memcpy(&op, &res->resarray.resarray_val[i], sizeof(op));
        if (op.resop == OP_OPEN)
            take_open(call, &op.nfs_resop4_u.opopen);
        else if (op.resop == OP_OPEN_CONFIRM || op.resop == OP_CLOSE)
            take_state_op(call, &op);
        else if (!failed)
            take(call, &op);
    }
    if (call->file && !call->status && call->kind != NM_NFS_COMMIT) /* carries our state */
        call->session->renewed_ns = nm_clock_now_ns();
}

const struct nm_nfs_proto nm_nfs_proto4 = {
    .version = 4,
    .has_opens = true,
    .status_prefix = "NFS4ERR_",
    .send = proto4_send,
};
