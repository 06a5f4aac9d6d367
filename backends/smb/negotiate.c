/* An SMB2 NEGOTIATE of our own (MS-SMB2 2.2.3, 2.2.4; smb.h).
 *
 * libsmbclient has no call that tells dialect, cipher, signing algorithm or largest request. What
 * the server chooses depends only on what the client offers, so we offer what the library offers,
 * read the answer, and then pin the library to the dialect chosen: it cannot silently be another.
 * The same message gives exact reasons where the library knows EINVAL only, and never mentions
 * SMB1, so that no alarm goes off at a NAS that watches for it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "smb.h"

#include "clock.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEADER_BYTES  64u
#define MESSAGE_MAX   65536u
#define NOT_SUPPORTED 0xC00000BBu

enum { CONTEXT_PREAUTH = 1, CONTEXT_ENCRYPTION = 2, CONTEXT_SIGNING = 8 };
enum { SIGNING_ENABLED = 1, SIGNING_REQUIRED = 2, CAP_LARGE_MTU = 4, CAP_ENCRYPTION = 0x40 };

const char *const nm_smb_dialect_names[] = {
    [NM_SMB_NT1] = "NT1",      [NM_SMB_2_02] = "SMB2_02", [NM_SMB_2_10] = "SMB2_10",
    [NM_SMB_3_00] = "SMB3_00", [NM_SMB_3_02] = "SMB3_02", [NM_SMB_3_11] = "SMB3_11",
    [NM_SMB_DIALECTS] = NULL,
};

static const uint16_t revisions[NM_SMB_DIALECTS] = {
    [NM_SMB_2_02] = 0x0202, [NM_SMB_2_10] = 0x0210, [NM_SMB_3_00] = 0x0300,
    [NM_SMB_3_02] = 0x0302, [NM_SMB_3_11] = 0x0311,
};

/* In the order of preference that libsmbclient 4.17 sends by default. */
static const uint16_t ciphers[] = {2, 1, 4, 3};
static const uint16_t signings[] = {2, 1, 0};

static const char *const cipher_names[] = {"off", "AES-128-CCM", "AES-128-GCM", "AES-256-CCM",
                                           "AES-256-GCM"};
static const char *const signing_names[] = {"HMAC-SHA256", "AES-128-CMAC", "AES-128-GMAC"};

const char *nm_smb_cipher_name(unsigned cipher)
{
    return cipher < sizeof(cipher_names) / sizeof(cipher_names[0]) ? cipher_names[cipher]
                                                                   : "unknown";
}

const char *nm_smb_signing_name(unsigned algorithm)
{
    return algorithm < sizeof(signing_names) / sizeof(signing_names[0]) ? signing_names[algorithm]
                                                                        : "unknown";
}

static void put16(unsigned char *at, unsigned value)
{
    at[0] = (unsigned char)value;
    at[1] = (unsigned char)(value >> 8);
}

static void put32(unsigned char *at, uint32_t value)
{
    put16(at, value & 0xffff);
    put16(at + 2, value >> 16);
}

static unsigned get16(const unsigned char *at)
{
    return at[0] | (unsigned)at[1] << 8;
}

static uint32_t get32(const unsigned char *at)
{
    return get16(at) | (uint32_t)get16(at + 2) << 16;
}

/* ---- request ---- */

static size_t align8(size_t n)
{
    return (n + 7) & ~(size_t)7;
}

/* A negotiate context with a count and a list of 16-bit numbers. */
static size_t put_list(unsigned char *at, unsigned type, const uint16_t *values, unsigned n)
{
    put16(at, type);
    put16(at + 2, 2 + 2 * n);
    put16(at + 8, n);
    for (unsigned i = 0; i < n; i++)
        put16(at + 10 + 2 * (size_t)i, values[i]);
    return 10 + 2 * (size_t)n;
}

static size_t put_preauth(unsigned char *at)
{
    put16(at, CONTEXT_PREAUTH);
    put16(at + 2, 38);
    put16(at + 8, 1);   /* algorithms */
    put16(at + 10, 32); /* bytes of salt */
    put16(at + 12, 1);  /* SHA-512 */
    if (getentropy(at + 14, 32) < 0)
        memset(at + 14, 0x5a, 32); /* only has to be there */
    return 46;
}

size_t nm_smb_negotiate_build(int min, int max, unsigned char out[256])
{
    unsigned char *body = out + HEADER_BYTES;
    size_t at = HEADER_BYTES + 36;
    unsigned n = 0;

    memset(out, 0, 256);
    memcpy(out, "\xfeSMB", 4);
    put16(out + 4, HEADER_BYTES);
    put16(out + 14, 1); /* one credit, please */
    put16(body, 36);
    put16(body + 4, SIGNING_ENABLED);
    if (max >= NM_SMB_3_00)
        put32(body + 8, CAP_LARGE_MTU | CAP_ENCRYPTION);
    for (int d = min > NM_SMB_2_02 ? min : NM_SMB_2_02; d <= max; d++, n++, at += 2)
        put16(out + at, revisions[d]);
    put16(body + 2, n);
    if (max >= NM_SMB_2_10 && getentropy(body + 12, 16) < 0)
        memset(body + 12, 0x5a, 16); /* identity of this client */
    if (max < NM_SMB_3_11)
        return at;

    at = align8(at);
    put32(body + 28, (uint32_t)at);
    put16(body + 32, 3);
    at = align8(at + put_preauth(out + at));
    at = align8(at + put_list(out + at, CONTEXT_ENCRYPTION, ciphers, 4));
    return at + put_list(out + at, CONTEXT_SIGNING, signings, 3);
}

/* ---- answer ---- */

static int malformed(struct nm_error *err)
{
    return nm_error_set(err, -EPROTO, NM_REASON_UNSUPPORTED,
                        "the answer to the SMB negotiation makes no sense; is it an SMB server?");
}

static int refused(uint32_t status, int min, int max, struct nm_error *err)
{
    char raw[32];

    nm_error_set(err, -EPROTONOSUPPORT, NM_REASON_UNSUPPORTED,
                 "the server refuses the protocol versions %s to %s; change smb.protocol_min and "
                 "smb.protocol_max",
                 nm_smb_dialect_names[min > NM_SMB_2_02 ? min : NM_SMB_2_02],
                 nm_smb_dialect_names[max]);
    nm_error_raw(err, "%s", nm_smb_status_name(status, raw));
    return -EPROTONOSUPPORT;
}

static int parse_contexts(const unsigned char *message, size_t length, struct nm_smb_server *server)
{
    unsigned n = get16(message + HEADER_BYTES + 6);
    size_t at = get32(message + HEADER_BYTES + 60);

    for (; n; n--) {
        const unsigned char *context = message + at;
        size_t bytes;

        if (at > length || length - at < 8)
            return -EPROTO;
        bytes = get16(context + 2);
        if (length - at - 8 < bytes)
            return -EPROTO;
        if (bytes >= 4 && get16(context) == CONTEXT_ENCRYPTION)
            server->cipher = (uint16_t)get16(context + 10);
        if (bytes >= 4 && get16(context) == CONTEXT_SIGNING)
            server->signing_algorithm = (uint16_t)get16(context + 10);
        at = align8(at + 8 + bytes);
    }
    return 0;
}

static int64_t clock_skew_ms(const unsigned char *at, uint64_t utc_ns)
{
    const int64_t to_1970_s = INT64_C(11644473600);
    uint64_t since_1601_100ns = get32(at) | (uint64_t)get32(at + 4) << 32;

    if (!since_1601_100ns || since_1601_100ns > (uint64_t)INT64_MAX)
        return INT64_MIN;
    return (int64_t)(since_1601_100ns / 10000) - to_1970_s * 1000 -
           (int64_t)(utc_ns / NM_NS_PER_MS);
}

int nm_smb_negotiate_parse(const unsigned char *message, size_t length, int min, int max,
                           uint64_t utc_ns, struct nm_smb_server *ret, struct nm_error *err)
{
    const unsigned char *body = message + HEADER_BYTES;
    struct nm_smb_server server = {.dialect = -1};
    unsigned revision;

    if (length < HEADER_BYTES + 9 || memcmp(message, "\xfeSMB", 4) || get16(message + 12))
        return malformed(err);
    if (get32(message + 8))
        return refused(get32(message + 8), min, max, err);
    if (length < HEADER_BYTES + 64 || get16(body) != 65)
        return malformed(err);
    revision = get16(body + 4);
    for (int d = min > NM_SMB_2_02 ? min : NM_SMB_2_02; d <= max; d++)
        if (revisions[d] == revision)
            server.dialect = d;
    if (server.dialect < 0)
        return refused(NOT_SUPPORTED, min, max, err);

    server.signing_required = get16(body + 2) & SIGNING_REQUIRED;
    memcpy(server.guid, body + 8, sizeof(server.guid));
    server.max_read_bytes = get32(body + 32);
    server.max_write_bytes = get32(body + 36);
    server.clock_skew_ms = clock_skew_ms(body + 40, utc_ns);
    server.signing_algorithm = server.dialect >= NM_SMB_3_00;
    if (server.dialect == NM_SMB_3_11) {
        if (parse_contexts(message, length, &server) < 0)
            return malformed(err);
    } else if (server.dialect >= NM_SMB_3_00 && get32(body + 24) & CAP_ENCRYPTION) {
        server.cipher = 1;
    }
    *ret = server;
    return 0;
}

/* ---- transport ---- */

static int wait_for(int fd, short events, uint64_t deadline_ns)
{
    struct pollfd p = {.fd = fd, .events = events};

    for (;;) {
        int ms = nm_clock_poll_ms(deadline_ns, 1000), r = poll(&p, 1, ms);

        if (r > 0)
            return 0;
        if (r == 0 && ms == 0)
            return -ETIMEDOUT;
        if (r < 0 && errno != EINTR)
            return -errno;
    }
}

static int connect_one(const struct addrinfo *address, uint64_t deadline_ns)
{
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int r = 0, code = 0;
    socklen_t size = sizeof(code);

    if (fd < 0)
        return -errno;
    if (connect(fd, address->ai_addr, address->ai_addrlen) < 0) {
        r = errno == EINPROGRESS ? wait_for(fd, POLLOUT, deadline_ns) : -errno;
        if (!r && getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) == 0 && code)
            r = -code;
    }
    if (r < 0)
        close(fd);
    return r < 0 ? r : fd;
}

/* Every address gets an equal share of the time that is left. */
static int connect_any(const char *host, uint16_t port, uint64_t deadline_ns, struct nm_error *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list, *a;
    char service[8];
    unsigned left = 0;
    int r, fd = -1, code = -EHOSTUNREACH;

    snprintf(service, sizeof(service), "%u", port);
    r = getaddrinfo(host, service, &hints, &list);
    if (r) {
        nm_error_set(err, -ENOENT, r == EAI_AGAIN ? NM_REASON_TIMEOUT : NM_REASON_NOT_FOUND,
                     "host name \"%s\" cannot be resolved: %s; check the name or use the address",
                     host, gai_strerror(r));
        nm_error_raw(err, "getaddrinfo %d", r);
        return -ENOENT;
    }
    for (a = list; a; a = a->ai_next)
        left++;
    for (a = list; a && fd < 0; a = a->ai_next, left--) {
        uint64_t now_ns = nm_clock_now_ns();

        fd = connect_one(a, now_ns + (deadline_ns > now_ns ? (deadline_ns - now_ns) / left : 0));
        if (fd < 0 && fd != -ENETUNREACH) /* a family that this client has not got */
            code = fd;
    }
    freeaddrinfo(list);
    if (fd < 0)
        nm_error_errno(err, code, "cannot connect to port %u: %s; %s", port, strerror(-code),
                       code == -ECONNREFUSED ? "no SMB service listens there"
                                             : "is the server on, and no firewall in the way?");
    return fd < 0 ? code : fd;
}

static int receive(int fd, unsigned char *buf, size_t bytes, uint64_t deadline_ns)
{
    for (size_t got = 0; got < bytes;) {
        int r = wait_for(fd, POLLIN, deadline_ns);
        ssize_t n = r < 0 ? r : recv(fd, buf + got, bytes - got, 0);

        if (r < 0)
            return r;
        if (n == 0)
            return -ECONNRESET;
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return -errno;
        if (n > 0)
            got += (size_t)n;
    }
    return 0;
}

/* One message with its transport header (type 0 and 24 bits of length, highest first). */
static int exchange(int fd, int min, int max, unsigned char *answer, uint64_t deadline_ns)
{
    unsigned char request[4 + 256] = {0}, head[4];
    size_t length = nm_smb_negotiate_build(min, max, request + 4);
    int r;

    request[3] = (unsigned char)length;
    if (send(fd, request, 4 + length, MSG_NOSIGNAL) != (ssize_t)(4 + length))
        return -ECONNRESET;
    r = receive(fd, head, sizeof(head), deadline_ns);
    if (r < 0)
        return r;
    length = (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
    if (head[0] || length > MESSAGE_MAX)
        return -EPROTO;
    r = receive(fd, answer, length, deadline_ns);
    return r < 0 ? r : (int)length;
}

int nm_smb_negotiate(const char *host, uint16_t port, int min, int max, uint64_t deadline_ns,
                     struct nm_smb_server *ret, struct nm_error *err)
{
    static unsigned char answer[MESSAGE_MAX];
    int fd = connect_any(host, port, deadline_ns, err), r;

    if (fd < 0)
        return fd;
    r = exchange(fd, min, max, answer, deadline_ns);
    close(fd);
    if (r == -ETIMEDOUT)
        return nm_error_errno(err, r,
                              "the server took the connection but does not answer the SMB "
                              "negotiation; is it stuck, or no SMB server?");
    if (r == -EPROTO)
        return malformed(err);
    if (r < 0)
        return nm_error_set(err, -EPROTONOSUPPORT, NM_REASON_UNSUPPORTED,
                            "the server hung up when SMB2 was asked for: the server offers only "
                            "SMB1, allow it with smb.protocol_min = NT1 (or it is no SMB server, "
                            "or does not serve this client)");
    return nm_smb_negotiate_parse(answer, (size_t)r, min, max, nm_clock_utc_ns(), ret, err);
}
