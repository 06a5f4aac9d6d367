/* Calls in flight: connections, deadlines, answers that say "try later", death.
 *
 * A call is one NFS procedure on one connection. libnfs's callbacks only queue what has arrived;
 * the steps that follow run from nm_nfs_calls_turn(), outside the library.
 *
 * A session dies as a whole: a request over NFS has no way back, so one that was not answered in
 * time means that connection, server or volume hangs. All connections are closed first, then every
 * operation in flight is completed with the reason.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "nfs_internal.h"

#include "clock.h"

#include <errno.h>
#include <poll.h>

#define RETRY_FIRST_NS (100 * NM_NS_PER_MS) /* after a try-later answer; doubles ... */
#define RETRY_MOST_NS  (5 * NM_NS_PER_S)    /* ... up to this */
#define IDLE_NS        (5 * NM_NS_PER_S)    /* then connections are looked at before use */

/* -------- sending and arriving */

static struct nm_nfs_link *least_loaded(struct nm_nfs_session *s)
{
    struct nm_nfs_link *best = &s->links[0];

    for (unsigned i = 1; i < s->n_links; i++)
        if (s->links[i].outstanding < best->outstanding)
            best = &s->links[i];
    return best;
}

static void queue_arrived(struct nm_nfs_session *s, struct nm_nfs_call *call)
{
    call->next = NULL;
    if (s->arrived_last)
        s->arrived_last->next = call;
    else
        s->arrived_first = call;
    s->arrived_last = call;
}

static void transmit(struct nm_nfs_session *s, struct nm_nfs_call *call)
{
    call->status = s->dead                                   ? NM_NFS_LOST
                   : call->request && call->request->aborted ? NM_NFS_ABORTED
                                                             : 0;
    if (!call->status) {
        call->link = least_loaded(s);
        if (s->proto->send(call) < 0)
            call->status = NM_NFS_UNSENT;
    }
    if (call->status) {
        queue_arrived(s, call);
        return;
    }
    call->link->outstanding++;
    call->link->queued = true;
}

void nm_nfs_call_send(struct nm_nfs_session *s, struct nm_nfs_call *call)
{
    if (call->request)
        call->request->outstanding++;
    transmit(s, call);
}

bool nm_nfs_call_arrived(struct nm_nfs_call *call, int rpc_status, void *data)
{
    struct nm_nfs_session *s = call->session;

    call->link->outstanding--;
    queue_arrived(s, call);
    if (rpc_status == RPC_STATUS_SUCCESS && data)
        return true;
    call->status = rpc_status == RPC_STATUS_ERROR ? NM_NFS_REJECTED : NM_NFS_LOST;
    call->rejection = rpc_status == RPC_STATUS_ERROR ? data : NULL;
    return false;
}

/* JUKEBOX, DELAY and GRACE: again after a pause that doubles, until the operation's deadline. */
static void delay(struct nm_nfs_session *s, struct nm_nfs_call *call)
{
    uint64_t pause_ns = call->tries < 6 ? RETRY_FIRST_NS << call->tries : RETRY_MOST_NS;

    if (pause_ns > RETRY_MOST_NS)
        pause_ns = RETRY_MOST_NS;
    call->tries++;
    call->not_before_ns = nm_clock_now_ns() + pause_ns;
    call->next = s->delayed;
    s->delayed = call;
    s->delays++;
    s->delayed_ns += pause_ns;
    if (call->request)
        call->request->delayed++;
}

static void settle(struct nm_nfs_session *s, struct nm_nfs_call *call)
{
    struct nm_nfs_request *rq = call->request;

    if (nm_nfs_status_try_later(call->status) && !(rq && rq->expired)) {
        delay(s, call);
        return;
    }
    if (!rq) {
        call->done = true;
        return;
    }
    rq->outstanding--;
    call->then(s, rq, call);
    nm_nfs_call_free(s, call);
}

static void resend_delayed(struct nm_nfs_session *s, uint64_t now_ns)
{
    struct nm_nfs_call **link = &s->delayed, *call;

    while ((call = *link)) {
        struct nm_nfs_request *rq = call->request;

        if (call->not_before_ns > now_ns && !(rq && (rq->aborted || rq->expired))) {
            link = &call->next;
            continue;
        }
        *link = call->next;
        if (rq)
            rq->delayed--;
        if (rq && rq->expired)
            queue_arrived(s, call);
        else
            transmit(s, call);
    }
}

/* -------- death */

static void session_die(struct nm_nfs_session *s, const struct nm_error *why)
{
    if (s->dead)
        return;
    s->dead = true;
    s->death = *why;
}

/* Not from inside a callback of libnfs. Closing the connections cancels every call, which queues it
 * as arrived; after that nothing refers to the requests any more. */
static void bury(struct nm_nfs_session *s)
{
    struct nm_nfs_request *rq;

    for (unsigned i = 0; i < s->n_links; i++)
        nm_nfs_link_close(&s->links[i]);
    s->n_links = 0;
    nm_nfs_calls_drop(s);
    while ((rq = s->in_flight.next) != &s->in_flight) {
        enum nm_op_kind kind = rq->op->kind;

        rq->op->err = s->death;
        nm_error_prefix(&rq->op->err, "%s", nm_op_kind_name(kind));
        if (kind == NM_OP_CLOSE)
            nm_nfs_file_free(s, rq->file);
        nm_nfs_request_done(s, rq, s->death.code);
    }
}

static void die_of_timeout(struct nm_nfs_session *s, const char *what)
{
    struct nm_error why = {0};

    nm_error_set(&why, -ETIMEDOUT, NM_REASON_TIMEOUT,
                 "nfs: %s did not answer (%s) within %.3g s; the server or its volume hangs, or "
                 "it needs longer: raise run.timeout",
                 s->peer.name, what, (double)s->how.timeout_ns / 1e9);
    nm_error_raw(&why, "no answer");
    session_die(s, &why);
}

static void die_of_break(struct nm_nfs_session *s, const struct nm_nfs_link *link)
{
    const char *text = rpc_get_error(link->rpc);
    struct nm_error why = {0};

    nm_error_set(&why, -ECONNRESET, NM_REASON_CONNECTION_LOST,
                 "nfs: the connection to %s broke: the server died or closed it", s->peer.name);
    nm_error_raw(&why, "%.47s", text ? text : "");
    session_die(s, &why);
}

/* The oldest operation has the earliest deadline. One that only waits to be sent again fails alone;
 * one that waits for the server takes the session with it. */
static void expire(struct nm_nfs_session *s, uint64_t now_ns)
{
    for (struct nm_nfs_request *rq = s->in_flight.next, *next;
         rq != &s->in_flight && now_ns >= rq->deadline_ns; rq = next) {
        next = rq->next;
        if (rq->outstanding > rq->delayed) {
            die_of_timeout(s, nm_op_kind_name(rq->op->kind));
            return;
        }
        rq->expired = true;
        if (!rq->outstanding) /* still in the queue behind others that wait */
            nm_nfs_request_fail(s, rq, NM_NFS_JUKEBOX, NULL);
    }
}

/* -------- one turn */

static uint64_t wake_at(const struct nm_nfs_session *s, uint64_t wake_ns)
{
    const struct nm_nfs_request *oldest = s->in_flight.next;

    if (oldest != &s->in_flight && oldest->deadline_ns < wake_ns)
        wake_ns = oldest->deadline_ns;
    for (const struct nm_nfs_call *call = s->delayed; call; call = call->next)
        if (call->not_before_ns < wake_ns)
            wake_ns = call->not_before_ns;
    return wake_ns;
}

static void service(struct nm_nfs_session *s, uint64_t wake_ns)
{
    struct pollfd polls[NM_NFS_LINKS_MAX];
    int ready;

    for (unsigned i = 0; i < s->n_links; i++)
        polls[i] = (struct pollfd){.fd = rpc_get_fd(s->links[i].rpc),
                                   .events = (short)rpc_which_events(s->links[i].rpc)};
    ready = poll(polls, s->n_links, nm_clock_poll_ms(wake_at(s, wake_ns), 1000));
    for (unsigned i = 0; ready > 0 && i < s->n_links; i++) {
        short revents = polls[i].revents;
        int r = revents ? rpc_service(s->links[i].rpc, revents) : 0;

        /* libnfs takes the record mark alone on a socket that it did not open: once more for the
         * reply behind it. */
        if (!r && (revents & POLLIN))
            r = rpc_service(s->links[i].rpc, POLLIN);
        if (r < 0)
            die_of_break(s, &s->links[i]);
    }
}

void nm_nfs_calls_kick(struct nm_nfs_session *s)
{
    for (unsigned i = 0; i < s->n_links; i++) {
        struct nm_nfs_link *link = &s->links[i];

        if (link->queued && rpc_service(link->rpc, POLLOUT) < 0)
            die_of_break(s, link);
        link->queued = false;
    }
}

void nm_nfs_calls_turn(struct nm_nfs_session *s, uint64_t wake_ns)
{
    struct nm_nfs_call *call;

    resend_delayed(s, nm_clock_now_ns());
    nm_nfs_parts_send(s);
    nm_nfs_calls_kick(s);
    if (!s->dead && !s->arrived_first)
        service(s, wake_ns);
    if (s->arrived_first)
        s->last_answer_ns = nm_clock_now_ns();
    while (!s->dead && (call = s->arrived_first)) {
        s->arrived_first = call->next;
        if (!s->arrived_first)
            s->arrived_last = NULL;
        settle(s, call);
    }
    expire(s, nm_clock_now_ns());
    if (s->dead)
        bury(s);
}

uint64_t nm_nfs_deadline_ns(const struct nm_nfs_session *s)
{
    return nm_clock_now_ns() + s->how.timeout_ns;
}

int nm_nfs_call_wait(struct nm_nfs_session *s, struct nm_nfs_call *call, uint64_t deadline_ns)
{
    struct nm_nfs_call **link = &s->delayed;

    transmit(s, call);
    for (;;) {
        nm_nfs_calls_turn(s, deadline_ns);
        if (call->done)
            return call->status;
        if (nm_clock_now_ns() >= deadline_ns)
            break;
    }
    while (*link && *link != call)
        link = &(*link)->next;
    if (*link) {
        *link = call->next;
        return call->status; /* try later, to the end */
    }
    die_of_timeout(s, "set-up");
    bury(s);
    return call->status;
}

void nm_nfs_session_revive(struct nm_nfs_session *s)
{
    uint64_t now_ns = nm_clock_now_ns();

    if (s->in_flight.next != &s->in_flight || now_ns - s->last_answer_ns < IDLE_NS)
        return;
    s->last_answer_ns = now_ns;
    for (unsigned i = 0; i < s->n_links && !s->dead; i++) {
        struct nm_error err = {0};

        if (!nm_nfs_link_hung_up(&s->links[i]))
            continue;
        nm_nfs_link_close(&s->links[i]);
        if (nm_nfs_link_open(&s->links[i], &s->peer, s->port, now_ns + s->how.timeout_ns, &err) < 0)
            session_die(s, &err);
        s->reconnects++;
    }
}
