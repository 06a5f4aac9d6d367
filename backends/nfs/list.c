/* LIST: pages of a directory with attributes, and without where the server gives none.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "nfs_internal.h"

#include <stdlib.h>
#include <string.h>

static void list_more(struct nm_nfs_session *s, struct nm_nfs_request *rq);

static void list_emit(struct nm_nfs_request *rq, const char *name, const struct nm_nfs_attr *attr)
{
    struct nm_stat stat;

    nm_nfs_to_stat(attr, &stat);
    rq->op->list_entry(rq->op->list_context, name, &stat);
}

/* An entry that came without attributes. */
static void list_looked(struct nm_nfs_session *s, struct nm_nfs_request *rq,
                        struct nm_nfs_call *call)
{
    if (call->status && call->status != NM_NFS_NOENT) {
        nm_nfs_request_fail(s, rq, call->status, call->rejection);
        return;
    }
    if (!call->status && !call->attr.valid && call->kind == NM_NFS_LOOKUP && call->has_fh) {
        struct nm_nfs_call *again = nm_nfs_name_call(s, rq, NM_NFS_GETATTR, list_looked);

        rq->from = call->result_fh;
        if (again) {
            again->fh = &rq->from;
            nm_nfs_call_send(s, again);
        }
        return;
    }
    if (!call->status) /* else it was removed meanwhile */
        list_emit(rq, rq->page->entries[rq->page->next].name, &call->attr);
    rq->page->next++;
    list_more(s, rq);
}

static void list_page(struct nm_nfs_session *s, struct nm_nfs_request *rq, struct nm_nfs_call *call)
{
    if (call->status == NM_NFS_NOTSUPP && call->kind == NM_NFS_READDIRPLUS) {
        s->names_only = true; /* an export option of Linux servers */
    } else if (call->status) {
        nm_nfs_request_fail(s, rq, call->status, call->rejection);
        return;
    } else {
        rq->from_cache = false;
        rq->page->next = 0;
    }
    list_more(s, rq);
}

static void list_more(struct nm_nfs_session *s, struct nm_nfs_request *rq)
{
    struct nm_nfs_page *page = rq->page;
    struct nm_nfs_call *call;

    for (; page->next < page->n; page->next++) {
        const struct nm_nfs_entry *entry = &page->entries[page->next];

        if (!strcmp(entry->name, ".") || !strcmp(entry->name, ".."))
            continue;
        if (!entry->attr.valid) {
            call = nm_nfs_name_call(s, rq, NM_NFS_LOOKUP, list_looked);
            if (!call)
                return;
            call->name = entry->name;
            nm_nfs_call_send(s, call);
            return;
        }
        list_emit(rq, entry->name, &entry->attr);
    }
    if (page->eof) {
        nm_nfs_request_done(s, rq, 0);
        return;
    }
    call = nm_nfs_name_call(s, rq, s->names_only ? NM_NFS_READDIR : NM_NFS_READDIRPLUS, list_page);
    if (!call)
        return;
    call->page = page;
    nm_nfs_call_send(s, call);
}

void nm_nfs_list_start(struct nm_nfs_session *s, struct nm_nfs_request *rq)
{
    free(rq->page);
    rq->page = calloc(1, sizeof(*rq->page));
    if (rq->page)
        list_more(s, rq);
    else
        nm_nfs_request_fail(s, rq, NM_NFS_UNSENT, NULL);
}
