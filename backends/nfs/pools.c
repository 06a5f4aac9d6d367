/* Calls, requests and files: taken from pools that are filled at connect, so that nothing of ours
 * is allocated during a measurement (a pool that runs empty grows). Requests in flight and open
 * files are rings; the first request is the oldest.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "nfs_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void nm_nfs_call_free(struct nm_nfs_session *s, struct nm_nfs_call *call)
{
    if (!call->request)
        return; /* the caller's own */
    call->next = s->free_calls;
    s->free_calls = call;
}

void nm_nfs_call_init(struct nm_nfs_call *call, struct nm_nfs_session *s,
                      enum nm_nfs_call_kind kind)
{
    memset(call, 0, sizeof(*call));
    call->session = s;
    call->kind = kind;
}

struct nm_nfs_call *nm_nfs_call_new(struct nm_nfs_session *s, struct nm_nfs_request *rq,
                                    enum nm_nfs_call_kind kind, nm_nfs_step *then)
{
    struct nm_nfs_call *call = s->free_calls;

    if (call)
        s->free_calls = call->next;
    else
        call = malloc(sizeof(*call));
    if (!call)
        return NULL;
    nm_nfs_call_init(call, s, kind);
    call->request = rq;
    call->then = then;
    return call;
}

struct nm_nfs_request *nm_nfs_request_new(struct nm_nfs_session *s, struct nm_op *op)
{
    struct nm_nfs_request *rq = s->free_requests, *ring = &s->in_flight;

    if (rq)
        s->free_requests = rq->next;
    else
        rq = malloc(sizeof(*rq));
    if (!rq)
        return NULL;
    memset(rq, 0, sizeof(*rq));
    rq->op = op;
    rq->deadline_ns = op->submit_ns + s->how.timeout_ns;
    rq->next = ring;
    rq->previous = ring->previous;
    ring->previous->next = rq;
    ring->previous = rq;
    return rq;
}

void nm_nfs_request_done(struct nm_nfs_session *s, struct nm_nfs_request *rq, int64_t result)
{
    nm_nfs_request_unqueue(s, rq);
    rq->next->previous = rq->previous;
    rq->previous->next = rq->next;
    rq->op->result = result;
    free(rq->page);
    nm_session_complete(&s->base, rq->op);
    rq->next = s->free_requests;
    s->free_requests = rq;
}

void nm_nfs_request_queue(struct nm_nfs_session *s, struct nm_nfs_request *rq)
{
    rq->pending = true;
    rq->pending_next = NULL;
    if (s->pending_last)
        s->pending_last->pending_next = rq;
    else
        s->pending_first = rq;
    s->pending_last = rq;
}

void nm_nfs_request_unqueue(struct nm_nfs_session *s, struct nm_nfs_request *rq)
{
    struct nm_nfs_request *previous = NULL;

    if (!rq->pending)
        return;
    rq->pending = false;
    for (struct nm_nfs_request *p = s->pending_first; p != rq; p = p->pending_next)
        previous = p;
    if (previous)
        previous->pending_next = rq->pending_next;
    else
        s->pending_first = rq->pending_next;
    if (s->pending_last == rq)
        s->pending_last = previous;
}

struct nm_nfs_file *nm_nfs_file_new(struct nm_nfs_session *s, const char *path)
{
    struct nm_nfs_file *file = s->free_files, *ring = &s->open_files;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    uint64_t owner;
    uint32_t seqid;

    if (file)
        s->free_files = file->next;
    else
        file = calloc(1, sizeof(*file));
    if (!file)
        return NULL;
    if (!file->owner)
        file->owner = ++s->next_owner;
    owner = file->owner;
    seqid = file->seqid;
    memset(file, 0, sizeof(*file));
    file->owner = owner;
    file->seqid = seqid;
    file->base.session = &s->base;
    memcpy(file->label, name, strnlen(name, sizeof(file->label) - 1));
    file->next = ring;
    file->previous = ring->previous;
    ring->previous->next = file;
    ring->previous = file;
    return file;
}

void nm_nfs_file_free(struct nm_nfs_session *s, struct nm_nfs_file *file)
{
    if (!file)
        return;
    file->next->previous = file->previous;
    file->previous->next = file->next;
    file->next = s->free_files;
    s->free_files = file;
}

struct nm_nfs_entry *nm_nfs_page_add(struct nm_nfs_page *page, const char *name, size_t length,
                                     uint64_t cookie)
{
    struct nm_nfs_entry *entry = &page->entries[page->n];

    page->cookie = cookie;
    if (!length || length >= sizeof(entry->name) || memchr(name, '/', length) ||
        memchr(name, 0, length))
        return NULL;
    page->n++;
    memset(entry, 0, sizeof(*entry));
    memcpy(entry->name, name, length);
    return entry;
}

int nm_nfs_calls_init(struct nm_nfs_session *s, struct nm_error *err)
{
    unsigned depth = s->how.depth ? s->how.depth : 1;

    s->in_flight.next = s->in_flight.previous = &s->in_flight;
    s->open_files.next = s->open_files.previous = &s->open_files;
    s->data_calls_max = depth > NM_NFS_CALLS_MAX ? depth : NM_NFS_CALLS_MAX;
    for (unsigned i = 0; i < s->data_calls_max + depth; i++) {
        struct nm_nfs_call *call = calloc(1, sizeof(*call));

        if (!call)
            return nm_error_errno(err, -ENOMEM, "nfs: out of memory");
        call->next = s->free_calls;
        s->free_calls = call;
    }
    for (unsigned i = 0; i < depth; i++) {
        struct nm_nfs_request *rq = calloc(1, sizeof(*rq));
        struct nm_nfs_file *file = calloc(1, sizeof(*file));

        if (rq) {
            rq->next = s->free_requests;
            s->free_requests = rq;
        }
        if (file) {
            file->next = s->free_files;
            s->free_files = file;
        }
        if (!rq || !file)
            return nm_error_errno(err, -ENOMEM, "nfs: out of memory");
    }
    return 0;
}

/* After the connections were closed, which queued every call as arrived. */
void nm_nfs_calls_drop(struct nm_nfs_session *s)
{
    struct nm_nfs_call **lists[] = {&s->arrived_first, &s->delayed}, *call;

    for (int i = 0; i < 2; i++)
        while ((call = *lists[i])) {
            *lists[i] = call->next;
            call->status = NM_NFS_LOST;
            call->done = true;
            nm_nfs_call_free(s, call);
        }
    s->arrived_last = NULL;
}

void nm_nfs_calls_done(struct nm_nfs_session *s)
{
    nm_nfs_calls_drop(s);
    for (struct nm_nfs_request *rq = s->in_flight.next, *next; rq && rq != &s->in_flight;
         rq = next) { /* their operations are the engine's and may be gone */
        next = rq->next;
        free(rq->page);
        free(rq);
    }
    while (s->open_files.next && s->open_files.next != &s->open_files)
        nm_nfs_file_free(s, s->open_files.next);
    for (struct nm_nfs_call *call = s->free_calls, *next; call; call = next) {
        next = call->next;
        free(call);
    }
    for (struct nm_nfs_request *rq = s->free_requests, *next; rq; rq = next) {
        next = rq->next;
        free(rq);
    }
    for (struct nm_nfs_file *file = s->free_files, *next; file; file = next) {
        next = file->next;
        free(file);
    }
}
