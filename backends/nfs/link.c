/* One TCP connection to a server and the libnfs context that speaks over it.
 *
 * The socket is ours: libnfs tries only the first address of a name, drops the zone of an IPv6
 * address, leaves Nagle's algorithm on and has no deadline for connecting. It is handed over by
 * rpc_set_fd(), after which rpc_service() finds it connected. Reconnecting is off: a connection
 * that breaks while requests are in flight ends the session.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "nfs_internal.h"

#include "clock.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOW_PORT_FIRST 665 /* as the kernel's client: below are ports of well-known services */
#define LOW_PORT_LAST  1023

static int parse_id(const struct nm_url *url, const char *name, uint32_t *out, struct nm_error *err)
{
    const char *text = nm_url_arg(url, name);
    char *end;
    unsigned long long value;

    if (!text)
        return 0;
    errno = 0;
    value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno || value > UINT32_MAX)
        return nm_error_set(err, -EINVAL, NM_REASON_UNSUPPORTED,
                            "nfs: %s=%s is not a number from 0 to 4294967295", name, text);
    *out = (uint32_t)value;
    return 1;
}

/* Who we say we are (AUTH_SYS): the user of this process with its groups, or what the URL says. */
static int identity(struct nm_nfs_peer *peer, const struct nm_url *url, struct nm_error *err)
{
    gid_t groups[256];
    int n, given;

    peer->uid = geteuid();
    peer->gid = getegid();
    given = parse_id(url, "uid", &peer->uid, err);
    if (given >= 0) {
        int r = parse_id(url, "gid", &peer->gid, err);

        given = r < 0 ? r : given + r;
    }
    if (given != 0)
        return given < 0 ? given : 0;
    n = getgroups(256, groups);
    for (int i = 0; i < n && peer->n_groups < 16; i++)
        peer->groups[peer->n_groups++] = groups[i];
    return 0;
}

int nm_nfs_peer_init(struct nm_nfs_peer *peer, const struct nm_url *url, struct nm_error *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    const struct addrinfo any = {.ai_socktype = SOCK_STREAM};
    int r = identity(peer, url, err);

    if (r < 0)
        return r;
    peer->name = url->host;
    r = getaddrinfo(url->host, NULL, &hints, &peer->addresses);
    if (r) /* AI_ADDRCONFIG hides ::1 where loopback is the only interface with IPv6 */
        r = getaddrinfo(url->host, NULL, &any, &peer->addresses);
    if (r == EAI_AGAIN)
        return nm_error_set(err, -EHOSTUNREACH, NM_REASON_NOT_FOUND,
                            "nfs: the name %s cannot be resolved now; check the name server",
                            url->host);
    if (r)
        return nm_error_set(err, -ENOENT, NM_REASON_NOT_FOUND, "nfs: host %s: %s; check the name",
                            url->host, gai_strerror(r));
    return 0;
}

void nm_nfs_peer_done(struct nm_nfs_peer *peer)
{
    if (peer->addresses)
        freeaddrinfo(peer->addresses);
    *peer = (struct nm_nfs_peer){0};
}

static void set_port(struct sockaddr_storage *address, uint16_t port)
{
    if (address->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)address)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)address)->sin_port = htons(port);
}

/* Servers with the option "secure" want a port below 1024; take one where we are allowed to. */
static bool bind_low_port(int fd, int family, socklen_t length)
{
    static unsigned last;
    const unsigned span = LOW_PORT_LAST - LOW_PORT_FIRST + 1;

    if (!last)
        last = (unsigned)getpid();
    for (unsigned i = 0; i < span; i++) {
        struct sockaddr_storage local = {.ss_family = (sa_family_t)family};

        set_port(&local, (uint16_t)(LOW_PORT_FIRST + ++last % span));
        if (!bind(fd, (struct sockaddr *)&local, length))
            return true;
        if (errno != EADDRINUSE)
            return false;
    }
    return false;
}

static int connect_one(const struct addrinfo *ai, uint16_t port, uint64_t deadline_ns, int *ret_fd,
                       bool *ret_low_port)
{
    const struct linger no_linger = {.l_onoff = 1};
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof(int);
    struct pollfd p = {.events = POLLOUT};
    int one = 1, r = 0;

    memcpy(&address, ai->ai_addr, ai->ai_addrlen);
    set_port(&address, port);
    p.fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (p.fd < 0)
        return -errno;
    (void)setsockopt(p.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    /* Closing must not wait, and low ports must not stay in TIME_WAIT: there are 359 of them. */
    (void)setsockopt(p.fd, SOL_SOCKET, SO_LINGER, &no_linger, sizeof(no_linger));
    *ret_low_port = bind_low_port(p.fd, ai->ai_family, ai->ai_addrlen);
    if (connect(p.fd, (struct sockaddr *)&address, ai->ai_addrlen) && errno != EINPROGRESS)
        r = -errno;
    while (!r && poll(&p, 1, nm_clock_poll_ms(deadline_ns, 1000)) <= 0)
        if (nm_clock_now_ns() >= deadline_ns)
            r = -ETIMEDOUT;
    if (!r && (getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &one, &length) || one))
        r = one ? -one : -EIO;
    if (r) {
        close(p.fd);
        return r;
    }
    *ret_fd = p.fd;
    return 0;
}

static int connect_any(struct nm_nfs_peer *peer, uint16_t port, uint64_t deadline_ns, int *ret_fd,
                       bool *ret_low_port, struct nm_error *err)
{
    int r = -EHOSTUNREACH;

    for (struct addrinfo *ai = peer->answered ? peer->answered : peer->addresses; ai;
         ai = peer->answered ? NULL : ai->ai_next) {
        if (ai->ai_family != AF_INET && ai->ai_family != AF_INET6)
            continue;
        r = connect_one(ai, port, deadline_ns, ret_fd, ret_low_port);
        if (!r) {
            peer->answered = ai;
            return 0;
        }
    }
    return nm_error_set(err, r, r == -ETIMEDOUT ? NM_REASON_TIMEOUT : NM_REASON_CONNECTION_LOST,
                        "nfs: %s, TCP port %u: %s", peer->name, port,
                        r == -ECONNREFUSED ? "nothing listens there"
                        : r == -ETIMEDOUT  ? "no answer; check address and firewall"
                                           : strerror(-r));
}

int nm_nfs_link_open(struct nm_nfs_link *link, struct nm_nfs_peer *peer, uint16_t port,
                     uint64_t deadline_ns, struct nm_error *err)
{
    char machine[64] = "";
    struct AUTH *auth;
    bool low_port = false;
    int fd = -1, r = connect_any(peer, port, deadline_ns, &fd, &low_port, err);

    if (r < 0)
        return r;
    *link = (struct nm_nfs_link){.rpc = rpc_init_context(), .low_port = low_port};
    (void)gethostname(machine, sizeof(machine) - 1);
    auth = libnfs_authunix_create(machine, peer->uid, peer->gid, peer->n_groups, peer->groups);
    if (!link->rpc || !auth) {
        close(fd);
        nm_nfs_link_close(link);
        if (auth)
            libnfs_auth_destroy(auth);
        return nm_error_errno(err, -ENOMEM, "nfs: out of memory");
    }
    rpc_set_auth(link->rpc, auth);
    rpc_set_fd(link->rpc, fd);
    (void)rpc_service(link->rpc, POLLOUT); /* notices that the socket is connected */
    return 0;
}

void nm_nfs_link_close(struct nm_nfs_link *link)
{
    if (link->rpc)
        rpc_destroy_context(link->rpc); /* closes the socket, cancels what is outstanding */
    *link = (struct nm_nfs_link){0};
}

int nm_nfs_link_wait(struct nm_nfs_link *link, const bool *done, uint64_t deadline_ns)
{
    while (!*done) {
        struct pollfd p = {.fd = rpc_get_fd(link->rpc),
                           .events = (short)rpc_which_events(link->rpc)};
        int n = poll(&p, 1, nm_clock_poll_ms(deadline_ns, 1000));

        if (n > 0 && rpc_service(link->rpc, p.revents) < 0)
            return *done ? 0 : -ECONNRESET;
        if (!*done && nm_clock_now_ns() >= deadline_ns)
            return -ETIMEDOUT;
    }
    return 0;
}

struct pong {
    bool done;
    int status;
};

static void on_pong(struct rpc_context *rpc, int status, void *data, void *private)
{
    struct pong *pong = private;

    (void)rpc;
    (void)data;
    pong->done = true;
    pong->status = status;
}

int nm_nfs_link_ping(struct nm_nfs_link *link, int program, int version, uint64_t deadline_ns)
{
    struct pong pong = {0};
    int r;

    if (rpc_null_async(link->rpc, program, version, on_pong, &pong) < 0)
        return -ENOMEM;
    r = nm_nfs_link_wait(link, &pong.done, deadline_ns);
    if (!pong.done) {
        nm_nfs_link_close(link); /* while pong is still there to take the cancellation */
        return r;
    }
    if (r < 0)
        return r;
    if (pong.status == RPC_STATUS_SUCCESS)
        return 0;
    /* A server of something else hangs up on what it does not understand. */
    return nm_nfs_link_hung_up(link) ? -ECONNRESET : -EPROTONOSUPPORT;
}

bool nm_nfs_link_hung_up(struct nm_nfs_link *link)
{
    char byte;
    ssize_t n = recv(rpc_get_fd(link->rpc), &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}
