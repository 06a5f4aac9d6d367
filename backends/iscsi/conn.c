/* One iSCSI session: address, login with CHAP, redirection, discovery, single commands (session.h).
 *
 * libiscsi is used through its asynchronous calls and a wait of our own, because its synchronous
 * ones have no deadline finer than a second and do not tell why a login failed. Its error text is
 * read in one place only, inside the login callback, where it was written just before; elsewhere
 * it may belong to an older failure.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "session.h"

#include "clock.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#define REDIRECTS_MAX 3
#define ADDRESSES_MAX 8
#define LOGOUT_NS     (500 * NM_NS_PER_MS)
#define TARGETS_MAX   64

/* Result of an asynchronous call; lives on the caller's stack, so the connection is closed or the
 * call has ended before it goes away. */
struct answer {
    bool done;
    int status;
    char text[160]; /* of a failed login */
};

/* Waits until *done or deadline_ns; 0, -ETIMEDOUT or -ECONNRESET. */
static int wait_for(struct nm_iscsi_conn *conn, const bool *done, uint64_t deadline_ns)
{
    while (!*done && !conn->lost) {
        struct pollfd p = {.fd = iscsi_get_fd(conn->context)};
        int events = iscsi_which_events(conn->context);

        if (nm_clock_now_ns() >= deadline_ns)
            return -ETIMEDOUT;
        p.events = (short)events;
        /* No events: libiscsi wants to be asked again later. */
        if (poll(&p, events ? 1 : 0, nm_clock_poll_ms(deadline_ns, events ? 1000 : 100)) < 0)
            p.revents = 0;
        if (iscsi_service(conn->context, p.revents) < 0)
            conn->lost = true;
    }
    return *done ? 0 : -ECONNRESET;
}

static void on_answer(struct iscsi_context *context, int status, void *data, void *private_data)
{
    struct answer *answer = private_data;

    (void)data;
    answer->done = true;
    answer->status = status;
    snprintf(answer->text, sizeof(answer->text), "%s", iscsi_get_error(context));
}

/* libiscsi 1.19 has no call for what the login negotiated, but reports each key to the log function
 * (level 6), which gets no context: one login at a time per process. */
static struct nm_iscsi_negotiated *negotiating;

static void on_log(int level, const char *message)
{
    static const char mark[] = "TargetLoginReply: ";
    const char *key = strstr(message, mark);
    unsigned value;

    (void)level;
    if (!key || !negotiating)
        return;
    key += sizeof(mark) - 1;
    if (!negotiating->segment_bytes)
        negotiating->segment_bytes = 8192; /* what silence means: RFC 7143, 13.12 */
    if (sscanf(key, "MaxRecvDataSegmentLength=%u", &value) == 1)
        negotiating->segment_bytes = value;
    else if (!strncmp(key, "HeaderDigest=CRC32C", 19))
        negotiating->header_digest = true;
}

static void destroy(struct nm_iscsi_conn *conn)
{
    if (conn->context)
        iscsi_destroy_context(conn->context);
    conn->context = NULL;
    while (conn->retired) {
        struct scsi_task *next = scsi_get_task_private_ptr(conn->retired);

        scsi_free_scsi_task(conn->retired);
        conn->retired = next;
    }
}

/* The number at the end of a fresh message of the library; 0 = none. */
static unsigned number_in_parentheses(const char *text)
{
    const char *open = strrchr(text, '(');

    return open ? (unsigned)strtoul(open + 1, NULL, 10) : 0;
}

/* The user's CHAP name and secret; NULL = none. */
static const char *chap_user(const struct nm_iscsi_session *session, const char **ret_secret)
{
    const struct nm_credentials *c = session->credentials;
    const char *user = c->chap_user ? c->chap_user : c->user;

    *ret_secret = c->chap_user ? c->chap_secret : c->password;
    return *ret_secret ? user : NULL;
}

const char *nm_iscsi_chap(const struct nm_iscsi_session *session)
{
    const struct nm_credentials *c = session->credentials;
    const char *secret;

    if (!chap_user(session, &secret))
        return "none";
    return c->chap_target_user && c->chap_target_secret ? "mutual" : "one-way";
}

static int prepare(struct nm_iscsi_conn *conn, bool discovery, struct nm_error *err)
{
    const struct nm_credentials *c = conn->session->credentials;
    const char *secret, *user = chap_user(conn->session, &secret);
    uint32_t isid = 0;

    conn->context = iscsi_create_context(conn->session->initiator);
    if (!conn->context)
        return nm_error_errno(err, -ENOMEM, "libiscsi: no memory for a session");
    conn->lost = false;
    iscsi_set_noautoreconnect(conn->context, 1);
    /* Ours come first; this one only ends what a suspended process slept through. */
    iscsi_set_timeout(conn->context, (int)(conn->session->timeout_ns / NM_NS_PER_S) + 5);
    iscsi_set_session_type(conn->context,
                           discovery ? ISCSI_SESSION_DISCOVERY : ISCSI_SESSION_NORMAL);
    if (!discovery)
        iscsi_set_targetname(conn->context, conn->session->url->share);
    /* Two sessions with one ISID throw each other out; libiscsi's rand() may repeat after a fork.
     */
    if (getrandom(&isid, sizeof(isid), 0) == (ssize_t)sizeof(isid))
        iscsi_set_isid_random(conn->context, isid & 0xffffff, isid >> 24);
    if (user)
        iscsi_set_initiator_username_pwd(conn->context, user, secret);
    if (user && c->chap_target_user && c->chap_target_secret)
        iscsi_set_target_username_pwd(conn->context, c->chap_target_user, c->chap_target_secret);
    return 0;
}

/* TCP and login to one portal. -EREMCHG: redirected, the new address is in the context. */
static int login(struct nm_iscsi_conn *conn, bool discovery, struct answer *ret,
                 struct nm_error *err)
{
    uint64_t deadline_ns = nm_clock_now_ns() + conn->session->timeout_ns;
    struct answer connected = {0}, *logged_in = ret;
    const char *step = "connect";
    int r = prepare(conn, discovery, err);

    if (r < 0)
        return r;
    errno = 0;
    if (iscsi_connect_async(conn->context, conn->portal, on_answer, &connected) < 0) {
        r = errno ? -errno : -EIO;
        goto failed;
    }
    r = wait_for(conn, &connected.done, deadline_ns);
    if (r < 0 || connected.status != SCSI_STATUS_GOOD) {
        int code = (int)number_in_parentheses(connected.text); /* "socket error %s(errno)" */

        r = r == -ETIMEDOUT ? r : code > 0 ? -code : -ECONNREFUSED;
        goto failed;
    }
    step = "log in";
    negotiating = &conn->negotiated;
    iscsi_set_log_fn(conn->context, on_log);
    iscsi_set_log_level(conn->context, 6);
    r = iscsi_login_async(conn->context, on_answer, logged_in) < 0
            ? -EIO
            : wait_for(conn, &logged_in->done, deadline_ns);
    iscsi_set_log_level(conn->context, 0);
    negotiating = NULL;
    if (r < 0)
        goto failed;
    if (logged_in->status == SCSI_STATUS_GOOD)
        return 0;
    if (iscsi_get_target_address(conn->context)[0])
        return -EREMCHG;
    return -EACCES; /* the caller reads logged_in->text */

failed:
    destroy(conn);
    return nm_error_errno(err, r,
                          "%s: cannot %s to portal %s: %s; check address, port, firewall "
                          "and that the iSCSI service runs",
                          conn->session->target, step, conn->portal,
                          r == -ETIMEDOUT ? "no answer in time" : strerror(-r));
}

static int login_error(struct nm_iscsi_conn *conn, const struct answer *answer,
                       struct nm_error *err)
{
    struct nm_iscsi_session *session = conn->session;
    const char *secret, *user = chap_user(session, &secret);
    /* "Failed to log in to target. Status: Authentication failure(513)"; without a status the
     * library itself refused (mutual CHAP). */
    unsigned status = strstr(answer->text, "Status:") ? number_in_parentheses(answer->text) : 0;
    char targets[256];
    int r = -EACCES;

    switch (status) {
    case 0x0201:
    case 0x0202:
        if (user)
            nm_error_set(err, r, NM_REASON_AUTH,
                         "%s: authentication failed for CHAP user '%s'; check user and secret%s, "
                         "and that the target admits initiator %s",
                         session->target, user,
                         strlen(secret) < 12 ? " (a CHAP secret has at least 12 characters)" : "",
                         session->initiator);
        else
            nm_error_set(err, r, NM_REASON_AUTH,
                         "%s: authentication failed: the target wants CHAP; put chap_user and "
                         "chap_secret into the credentials file, or admit initiator %s",
                         session->target, session->initiator);
        break;
    case 0x0203:
    case 0x0204:
        r = -ENOENT;
        nm_iscsi_discover(session, targets, sizeof(targets));
        nm_error_set(err, r, NM_REASON_NOT_FOUND,
                     "%s: the portal has no such target%s%s (a target may also hide from initiator "
                     "%s)",
                     session->target, targets[0] ? "; " : ", or does not show any", targets,
                     session->initiator);
        break;
    case 0x0206:
    case 0x0302:
        r = -EBUSY;
        nm_error_set(err, r, NM_REASON_CLIENT_LIMIT,
                     "%s: the target has too many sessions; log others out or lower `sessions`",
                     session->target);
        break;
    case 0x0301:
    case 0x0300:
        r = -ECONNREFUSED;
        nm_error_set(err, r, NM_REASON_CONNECTION_LOST,
                     "%s: the target is not available; check it on the NAS", session->target);
        break;
    case 0:
        nm_error_set(err, r, NM_REASON_AUTH,
                     "%s: authentication failed: the target did not prove that it knows the mutual "
                     "CHAP secret; check chap_target_user and chap_target_secret",
                     session->target);
        nm_error_raw(err, "CHAP");
        return r;
    default:
        r = -EPROTO;
        nm_error_set(err, r, NM_REASON_UNSUPPORTED, "%s: login refused: %s", session->target,
                     answer->text);
    }
    nm_error_raw(err, "LOGIN 0x%04x", status);
    return r;
}

struct portal {
    char text[280];
};

/* Numeric portals of host and port, in the resolver's order. */
static int resolve(struct nm_iscsi_session *session, struct portal *ret, struct nm_error *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    const char *host = session->url->host;
    struct addrinfo *list = NULL;
    int n = 0, r = getaddrinfo(host, NULL, &hints, &list);

    if (r)
        return nm_error_set(err, -EHOSTUNREACH, NM_REASON_NOT_FOUND,
                            "%s: host name '%s' is not known: %s", session->target, host,
                            gai_strerror(r));
    for (struct addrinfo *a = list; a && n < ADDRESSES_MAX; a = a->ai_next) {
        char text[256];

        if (!getnameinfo(a->ai_addr, a->ai_addrlen, text, sizeof(text), NULL, 0, NI_NUMERICHOST))
            snprintf(ret[n++].text, sizeof(ret->text), strchr(text, ':') ? "[%s]:%u" : "%s:%u",
                     text, session->url->port ? session->url->port : 3260u);
    }
    freeaddrinfo(list);
    return n;
}

static int open_portal(struct nm_iscsi_session *session, struct nm_iscsi_conn *conn, bool discovery,
                       struct nm_error *err)
{
    struct portal portals[ADDRESSES_MAX];
    int n = resolve(session, portals, err), r = n;

    for (int i = 0, redirects = 0; i < n; i++) {
        struct answer answer = {0};

        snprintf(conn->portal, sizeof(conn->portal), "%.279s", portals[i].text);
        for (; (r = login(conn, discovery, &answer, err)) == -EREMCHG; redirects++) {
            if (redirects >= REDIRECTS_MAX) {
                destroy(conn);
                return nm_error_set(err, -ELOOP, NM_REASON_NOT_FOUND,
                                    "%s: the portal redirects in a circle, last to %s",
                                    session->target, conn->portal);
            }
            snprintf(conn->portal, sizeof(conn->portal), "%s",
                     iscsi_get_target_address(conn->context));
            conn->portal[strcspn(conn->portal, ",")] = '\0'; /* portal group tag */
            destroy(conn);
            answer = (struct answer){0};
        }
        if (!r)
            return 0;
        if (r == -EACCES && conn->context) { /* an answer, not a dead address */
            destroy(conn);
            return discovery ? r : login_error(conn, &answer, err);
        }
    }
    return r < 0 ? r : -EHOSTUNREACH;
}

int nm_iscsi_conn_open(struct nm_iscsi_session *session, struct nm_iscsi_conn *conn,
                       struct nm_error *err)
{
    conn->session = session;
    return open_portal(session, conn, false, err);
}

void nm_iscsi_conn_close(struct nm_iscsi_conn *conn, bool orderly)
{
    struct answer answer = {0};

    if (!conn->context)
        return;
    if (orderly && !conn->lost && !conn->in_flight &&
        !iscsi_logout_async(conn->context, on_answer, &answer)) {
        uint64_t wait_ns =
            conn->session->timeout_ns < LOGOUT_NS ? conn->session->timeout_ns : LOGOUT_NS;

        /* Whether the target said good-bye or not, the session ends here. */
        if (wait_for(conn, &answer.done, nm_clock_now_ns() + wait_ns) < 0)
            conn->lost = true;
    }
    destroy(conn);
}

/* Names of a discovery, for messages. */
struct targets {
    struct answer answer; /* first */
    char *names[TARGETS_MAX];
    size_t count;
};

static void on_targets(struct iscsi_context *context, int status, void *data, void *private_data)
{
    struct targets *targets = private_data;

    (void)context;
    targets->answer.done = true;
    targets->answer.status = status;
    if (status != SCSI_STATUS_GOOD)
        return;
    for (const struct iscsi_discovery_address *a = data; a && targets->count < TARGETS_MAX;
         a = a->next)
        if ((targets->names[targets->count] = strdup(a->target_name)))
            targets->count++;
}

void nm_iscsi_discover(struct nm_iscsi_session *session, char *out, size_t size)
{
    struct nm_iscsi_conn conn = {.session = session};
    struct targets targets = {0};
    const char *near;
    size_t used = 0;

    out[0] = '\0';
    if (open_portal(session, &conn, true, NULL) < 0)
        return;
    if (iscsi_discovery_async(conn.context, on_targets, &targets) >= 0 &&
        wait_for(&conn, &targets.answer.done, nm_clock_now_ns() + session->timeout_ns) < 0)
        conn.lost = true;
    nm_iscsi_conn_close(&conn, targets.answer.done);
    near =
        nm_options_nearest(session->url->share, (const char *const *)targets.names, targets.count);
    if (near)
        used = (size_t)snprintf(out, size, "did you mean %s? ", near);
    for (size_t i = 0; i < targets.count; i++) {
        if (used + strlen(targets.names[i]) + 8 < size)
            used += (size_t)snprintf(out + used, size - used, "%s%s",
                                     i ? ", " : "it offers: ", targets.names[i]);
        else if (used + 5 < size && (used < 4 || strcmp(out + used - 4, " ...") != 0))
            used += (size_t)snprintf(out + used, size - used, " ...");
    }
    for (size_t i = 0; i < targets.count; i++)
        free(targets.names[i]);
}

static void on_command(struct iscsi_context *context, int status, void *data, void *private_data)
{
    struct answer *answer = private_data;

    (void)context;
    (void)data;
    answer->done = true;
    answer->status = status;
}

int nm_iscsi_conn_command(struct nm_iscsi_conn *conn, struct scsi_task *(*make)(const void *),
                          const void *arguments, void *data, size_t *length, const char *what,
                          struct nm_error *err)
{
    struct nm_iscsi_session *session = conn->session;
    uint64_t deadline_ns = nm_clock_now_ns() + session->timeout_ns;
    struct nm_scsi_status status = {0};
    char where[400];

    snprintf(where, sizeof(where), "%s: %s", session->target, what);
    for (int tries = 0;; tries++) {
        struct answer answer = {0};
        struct scsi_task *task = make(arguments);
        enum nm_scsi_verdict verdict;
        size_t n;
        int r;

        if (!task || iscsi_scsi_command_async(conn->context, session->lun, task, on_command, NULL,
                                              &answer) < 0) {
            if (task)
                scsi_free_scsi_task(task);
            conn->lost = true;
            return nm_error_set(err, -ECONNRESET, NM_REASON_CONNECTION_LOST,
                                "%s: the connection to the target was lost", where);
        }
        r = wait_for(conn, &answer.done, deadline_ns);
        if (r < 0) { /* destroy() ends the command before the answer goes out of scope */
            destroy(conn);
            scsi_free_scsi_task(task);
            conn->lost = true;
            return nm_error_errno(err, r, "%s: %s", where,
                                  r == -ETIMEDOUT ? "no answer from the target in time"
                                                  : "the connection to the target was lost");
        }
        status = (struct nm_scsi_status){answer.status, (int)task->sense.key, task->sense.ascq};
        n = task->datain.size > 0 ? (size_t)task->datain.size : 0;
        verdict = nm_scsi_judge(&status);
        if (verdict == NM_SCSI_GOOD && length) {
            *length = n < *length ? n : *length;
            if (*length)
                memcpy(data, task->datain.data, *length);
        }
        scsi_free_scsi_task(task);
        if (verdict == NM_SCSI_GOOD)
            return 0;
        if (verdict == NM_SCSI_LOST)
            conn->lost = true;
        if (verdict >= NM_SCSI_FAILED || tries == NM_ISCSI_RETRIES)
            return nm_scsi_error(err, &status, false, where);
        session->retries++;
        if (verdict == NM_SCSI_BUSY)
            nm_clock_sleep_until_ns(nm_clock_now_ns() + NM_ISCSI_BUSY_PAUSE_NS);
    }
}
