/* A call as NFSv3: arguments to libnfs's raw procedures, results back into the call.
 *
 * Owns nothing. libnfs copies the arguments while it encodes, so they live on the stack; results
 * are valid inside the callback only and are copied out (the one copy of a READ).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "nfs_internal.h"

#include <nfsc/libnfs-raw-nfs.h>
#include <string.h>

#define FILE_MODE       0644
#define DIRECTORY_MODE  0755
#define READDIR_BYTES   (32u << 10)
#define READDIR_ENTRIES (8u << 10) /* READDIRPLUS: bytes of names and cookies alone */

/* The callback that every call of this file goes through. */
static void on_reply(struct rpc_context *rpc, int status, void *data, void *private);

static nfs_fh3 handle(const struct nm_nfs_fh *fh)
{
    return (nfs_fh3){.data = {.data_len = fh->length, .data_val = (char *)fh->data}};
}

static diropargs3 entry(const struct nm_nfs_fh *fh, const char *name)
{
    return (diropargs3){.dir = handle(fh), .name = (char *)name};
}

static sattr3 mode(uint32_t bits)
{
    return (sattr3){.mode = {.set_it = 1, .set_mode3_u = {.mode = bits}}};
}

static int send_name(struct rpc_context *rpc, struct nm_nfs_call *call)
{
    switch (call->kind) {
    case NM_NFS_MKDIR: {
        MKDIR3args args = {.where = entry(call->fh, call->name),
                           .attributes = mode(DIRECTORY_MODE)};
        return rpc_nfs3_mkdir_async(rpc, on_reply, &args, call);
    }
    case NM_NFS_CREATE: {
        /* GUARDED fails on an existing name; nfs_creat() is UNCHECKED and leaves old data in. */
        CREATE3args args = {.where = entry(call->fh, call->name), .how = {.mode = GUARDED}};

        args.how.createhow3_u.g_obj_attributes = mode(FILE_MODE);
        return rpc_nfs3_create_async(rpc, on_reply, &args, call);
    }
    case NM_NFS_REMOVE: {
        REMOVE3args args = {.object = entry(call->fh, call->name)};
        return rpc_nfs3_remove_async(rpc, on_reply, &args, call);
    }
    case NM_NFS_RMDIR: {
        RMDIR3args args = {.object = entry(call->fh, call->name)};
        return rpc_nfs3_rmdir_async(rpc, on_reply, &args, call);
    }
    case NM_NFS_RENAME: {
        RENAME3args args = {.from = entry(call->fh, call->name),
                            .to = entry(call->fh2, call->name2)};
        return rpc_nfs3_rename_async(rpc, on_reply, &args, call);
    }
    default: {
        LOOKUP3args args = {.what = entry(call->fh, call->name)};
        return rpc_nfs3_lookup_async(rpc, on_reply, &args, call);
    }
    }
}

static int send_data(struct rpc_context *rpc, struct nm_nfs_call *call)
{
    nfs_fh3 file = handle(&call->file->fh);

    if (call->kind == NM_NFS_READ) {
        READ3args args = {.file = file, .offset = call->offset_bytes, .count = call->length_bytes};
        return rpc_nfs3_read_async(rpc, on_reply, &args, call);
    }
    if (call->kind == NM_NFS_WRITE) {
        WRITE3args args = {.file = file,
                           .offset = call->offset_bytes,
                           .count = call->length_bytes,
                           .stable = UNSTABLE,
                           .data = {.data_len = call->length_bytes, .data_val = call->buf}};
        return rpc_nfs3_write_async(rpc, on_reply, &args, call);
    }
    COMMIT3args args = {.file = file}; /* 0 to 0 = all of it */
    return rpc_nfs3_commit_async(rpc, on_reply, &args, call);
}

static int send_directory(struct rpc_context *rpc, struct nm_nfs_call *call)
{
    const struct nm_nfs_page *page = call->page;

    if (call->kind == NM_NFS_READDIRPLUS) {
        READDIRPLUS3args args = {.dir = handle(call->fh),
                                 .cookie = page->cookie,
                                 .dircount = READDIR_ENTRIES,
                                 .maxcount = READDIR_BYTES};
        memcpy(args.cookieverf, page->verifier, sizeof(args.cookieverf));
        return rpc_nfs3_readdirplus_async(rpc, on_reply, &args, call);
    }
    READDIR3args args = {.dir = handle(call->fh), .cookie = page->cookie, .count = READDIR_ENTRIES};
    memcpy(args.cookieverf, page->verifier, sizeof(args.cookieverf));
    return rpc_nfs3_readdir_async(rpc, on_reply, &args, call);
}

static int proto3_send(struct nm_nfs_call *call)
{
    struct rpc_context *rpc = call->link->rpc;

    switch (call->kind) {
    case NM_NFS_GETATTR: {
        GETATTR3args args = {.object = handle(call->fh)};
        return rpc_nfs3_getattr_async(rpc, on_reply, &args, call);
    }
    case NM_NFS_ACCESS: {
        ACCESS3args args = {.object = handle(call->fh),
                            .access = ACCESS3_MODIFY | ACCESS3_EXTEND | ACCESS3_DELETE};
        return rpc_nfs3_access_async(rpc, on_reply, &args, call);
    }
    case NM_NFS_FSSTAT: {
        FSSTAT3args args = {.fsroot = handle(call->fh)};
        return rpc_nfs3_fsstat_async(rpc, on_reply, &args, call);
    }
    case NM_NFS_FSINFO: {
        FSINFO3args args = {.fsroot = handle(call->fh)};
        return rpc_nfs3_fsinfo_async(rpc, on_reply, &args, call);
    }
    case NM_NFS_READ:
    case NM_NFS_WRITE:
    case NM_NFS_COMMIT: return send_data(rpc, call);
    case NM_NFS_READDIR:
    case NM_NFS_READDIRPLUS: return send_directory(rpc, call);
    default: return send_name(rpc, call);
    }
}

static void take_attr(struct nm_nfs_attr *out, const fattr3 *in)
{
    *out = (struct nm_nfs_attr){.valid = true,
                                .type = in->type,
                                .size_bytes = in->size,
                                .used_bytes = in->used,
                                .fsid_major = in->fsid,
                                .fileid = in->fileid};
}

static void take_post_op(struct nm_nfs_attr *out, const post_op_attr *in)
{
    if (in->attributes_follow)
        take_attr(out, &in->post_op_attr_u.attributes);
}

static void take_handle(struct nm_nfs_call *call, const nfs_fh3 *in)
{
    if (in->data.data_len > NM_NFS_FH_BYTES)
        return;
    call->has_fh = true;
    call->result_fh.length = in->data.data_len;
    memcpy(call->result_fh.data, in->data.data_val, in->data.data_len);
}

static void take_new(struct nm_nfs_call *call, const post_op_fh3 *fh, const post_op_attr *attr)
{
    if (fh->handle_follows)
        take_handle(call, &fh->post_op_fh3_u.handle);
    take_post_op(&call->attr, attr);
}

static void take_read(struct nm_nfs_call *call, const READ3resok *ok)
{
    call->count = ok->data.data_len < call->length_bytes ? ok->data.data_len : call->length_bytes;
    call->eof = ok->eof;
    if (call->count)
        memcpy(call->buf, ok->data.data_val, call->count);
}

static void take_write(struct nm_nfs_call *call, const WRITE3resok *ok)
{
    call->count = ok->count;
    call->unstable = ok->committed == UNSTABLE;
    memcpy(&call->verifier, ok->verf, sizeof(call->verifier));
}

static void take_names(struct nm_nfs_page *page, const READDIR3resok *ok)
{
    const entry3 *e = ok->reply.entries; /* libnfs aligns decoded structures to 4 bytes only */
    entry3 copy;

    memcpy(page->verifier, ok->cookieverf, sizeof(page->verifier));
    for (page->n = 0; e && page->n < NM_NFS_PAGE_ENTRIES; e = copy.nextentry) {
        memcpy(&copy, e, sizeof(copy));
        (void)nm_nfs_page_add(page, copy.name, strlen(copy.name), copy.cookie);
    }
    page->eof = ok->reply.eof && !e;
}

static void take_entries(struct nm_nfs_page *page, const READDIRPLUS3resok *ok)
{
    const entryplus3 *e = ok->reply.entries;
    entryplus3 copy;

    memcpy(page->verifier, ok->cookieverf, sizeof(page->verifier));
    for (page->n = 0; e && page->n < NM_NFS_PAGE_ENTRIES; e = copy.nextentry) {
        struct nm_nfs_entry *entry;

        memcpy(&copy, e, sizeof(copy));
        entry = nm_nfs_page_add(page, copy.name, strlen(copy.name), copy.cookie);
        if (entry)
            take_post_op(&entry->attr, &copy.name_attributes);
    }
    page->eof = ok->reply.eof && !e;
}

/* The part of a result that follows status 0. */
#define UNION_OF(type) type##3res_u
#define RESOK(type)    (&((const type##3res *)data)->UNION_OF(type).resok)

static void take_info(struct nm_nfs_call *call, void *data)
{
    switch (call->kind) {
    case NM_NFS_GETATTR: take_attr(&call->attr, &RESOK(GETATTR)->obj_attributes); break;
    case NM_NFS_ACCESS: call->access = RESOK(ACCESS)->access; break;
    case NM_NFS_FSSTAT:
        call->limits.total_bytes = RESOK(FSSTAT)->tbytes;
        call->limits.avail_bytes = RESOK(FSSTAT)->abytes;
        break;
    default:
        call->limits.read_bytes = RESOK(FSINFO)->rtmax;
        call->limits.write_bytes = RESOK(FSINFO)->wtmax;
        break;
    }
}

static void take(struct nm_nfs_call *call, void *data)
{
    switch (call->kind) {
    case NM_NFS_LOOKUP:
    case NM_NFS_OPEN:
        take_handle(call, &RESOK(LOOKUP)->object);
        take_post_op(&call->attr, &RESOK(LOOKUP)->obj_attributes);
        break;
    case NM_NFS_MKDIR: take_new(call, &RESOK(MKDIR)->obj, &RESOK(MKDIR)->obj_attributes); break;
    case NM_NFS_CREATE: take_new(call, &RESOK(CREATE)->obj, &RESOK(CREATE)->obj_attributes); break;
    case NM_NFS_READ: take_read(call, RESOK(READ)); break;
    case NM_NFS_WRITE: take_write(call, RESOK(WRITE)); break;
    case NM_NFS_COMMIT: memcpy(&call->verifier, RESOK(COMMIT)->verf, sizeof(call->verifier)); break;
    case NM_NFS_READDIR: take_names(call->page, RESOK(READDIR)); break;
    case NM_NFS_READDIRPLUS: take_entries(call->page, RESOK(READDIRPLUS)); break;
    case NM_NFS_REMOVE:
    case NM_NFS_RMDIR:
    case NM_NFS_RENAME: break;
    default: take_info(call, data);
    }
}

static void on_reply(struct rpc_context *rpc, int status, void *data, void *private)
{
    struct nm_nfs_call *call = private;

    (void)rpc;
    if (!nm_nfs_call_arrived(call, status, data))
        return;
    call->status = *(const nfsstat3 *)data; /* first member of every result */
    if (!call->status)
        take(call, data);
}

const struct nm_nfs_proto nm_nfs_proto3 = {
    .version = 3,
    .status_prefix = "NFS3ERR_",
    .send = proto3_send,
};
