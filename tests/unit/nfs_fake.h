/* A small NFSv3 and MOUNT server in a thread, for what no real server does on demand: try-later
 * answers, a changed write verifier, replies without optional parts, silence.
 *
 * Loopback, a free port, everything in memory. Independent of libnfs: XDR by hand after RFC 1813.
 * The test changes `fake.script` only while nothing is in flight.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NFS_FAKE_H
#define NFS_FAKE_H

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FAKE_NODES 64
#define FAKE_PEERS 8
#define FAKE_BYTES (4u << 20)

enum fake_proc { /* of NFSv3 */
                 FAKE_GETATTR = 1,
                 FAKE_LOOKUP = 3,
                 FAKE_ACCESS = 4,
                 FAKE_READ = 6,
                 FAKE_WRITE = 7,
                 FAKE_CREATE = 8,
                 FAKE_MKDIR = 9,
                 FAKE_REMOVE = 12,
                 FAKE_RMDIR = 13,
                 FAKE_RENAME = 14,
                 FAKE_READDIR = 16,
                 FAKE_READDIRPLUS = 17,
                 FAKE_FSSTAT = 18,
                 FAKE_FSINFO = 19,
                 FAKE_COMMIT = 21,
                 FAKE_PROCS
};

struct fake_node {
    bool used, directory;
    unsigned parent;
    uint32_t generation;
    char name[256];
    uint32_t size;
    char *data;
};

static struct fake {
    struct {                            /* what goes wrong */
        uint32_t status[FAKE_PROCS];    /* answer this ... */
        uint32_t times[FAKE_PROCS];     /* ... so many times, UINT32_MAX = always */
        bool no_handles, no_attributes; /* leave optional parts out */
        bool no_readdirplus;
        bool silent;         /* never answer again */
        bool hang_up;        /* close the connection at the next call of NFS */
        uint32_t most_bytes; /* of a WRITE or READ that are done, 0 = all */
        uint32_t max_bytes;  /* FSINFO */
        uint64_t free_bytes; /* FSSTAT */
        uint64_t verifier;   /* of WRITE */
        uint64_t commit_verifier;
        const char *exported;  /* the one export */
        uint32_t mount_status; /* for it */
        bool version3_missing;
    } script;
    unsigned calls[FAKE_PROCS], mounts;
    unsigned writes_of_peer[FAKE_PEERS];
    uint32_t largest_write;
    struct fake_node nodes[FAKE_NODES];
    uint16_t port;
    int listener, peers[FAKE_PEERS];
    pthread_t thread;
    bool stop;
} fake;

/* -------- XDR */

struct fake_xdr {
    unsigned char *data;
    size_t at, size;
};

static uint32_t get32(struct fake_xdr *x)
{
    uint32_t v;

    memcpy(&v, x->data + x->at, 4);
    x->at += 4;
    return ntohl(v);
}

static uint64_t get64(struct fake_xdr *x)
{
    uint64_t high = get32(x);

    return high << 32 | get32(x);
}

static void put32(struct fake_xdr *x, uint32_t v)
{
    v = htonl(v);
    memcpy(x->data + x->at, &v, 4);
    x->at += 4;
}

static void put64(struct fake_xdr *x, uint64_t v)
{
    put32(x, (uint32_t)(v >> 32));
    put32(x, (uint32_t)v);
}

static const void *get_bytes(struct fake_xdr *x, uint32_t *length)
{
    const void *p;

    *length = get32(x);
    p = x->data + x->at;
    x->at += (*length + 3) & ~3u;
    return p;
}

static void put_bytes(struct fake_xdr *x, const void *data, uint32_t length)
{
    put32(x, length);
    memcpy(x->data + x->at, data, length);
    memset(x->data + x->at + length, 0, 3);
    x->at += (length + 3) & ~3u;
}

static void get_name(struct fake_xdr *x, char out[256])
{
    uint32_t length;
    const void *p = get_bytes(x, &length);

    memcpy(out, p, length < 255 ? length : 255);
    out[length < 255 ? length : 255] = 0;
}

/* -------- nodes: handle = number and generation */

static void put_handle(struct fake_xdr *x, const struct fake_node *n)
{
    uint32_t words[2] = {(uint32_t)(n - fake.nodes), n->generation};

    put_bytes(x, words, sizeof(words));
}

static struct fake_node *get_handle(struct fake_xdr *x)
{
    uint32_t length, words[2];
    const void *p = get_bytes(x, &length);

    memcpy(words, p, sizeof(words));
    return words[0] < FAKE_NODES && fake.nodes[words[0]].used &&
                   fake.nodes[words[0]].generation == words[1]
               ? &fake.nodes[words[0]]
               : NULL;
}

static struct fake_node *fake_find(const struct fake_node *directory, const char *name)
{
    for (unsigned i = 1; i < FAKE_NODES; i++)
        if (fake.nodes[i].used && fake.nodes[i].parent == directory - fake.nodes &&
            !strcmp(fake.nodes[i].name, name))
            return &fake.nodes[i];
    return NULL;
}

static struct fake_node *fake_make(const struct fake_node *directory, const char *name, bool is_dir)
{
    unsigned i = 1;

    while (fake.nodes[i].used)
        i++;
    fake.nodes[i].used = true;
    fake.nodes[i].directory = is_dir;
    fake.nodes[i].parent = (unsigned)(directory - fake.nodes);
    fake.nodes[i].generation++;
    fake.nodes[i].size = 0;
    memcpy(fake.nodes[i].name, name, strlen(name) + 1);
    if (!fake.nodes[i].data)
        fake.nodes[i].data = calloc(1, FAKE_BYTES);
    return &fake.nodes[i];
}

static void put_fattr(struct fake_xdr *x, const struct fake_node *n)
{
    put32(x, n->directory ? 2 : 1);
    put32(x, 0755);
    put32(x, 1);
    put32(x, 0);
    put32(x, 0);
    put64(x, n->size);
    put64(x, n->size);
    put64(x, 0);
    put64(x, 0x1234);
    put64(x, (uint64_t)(n - fake.nodes) + 1);
    for (int i = 0; i < 6; i++)
        put32(x, 0);
}

static void put_attributes(struct fake_xdr *x, const struct fake_node *n)
{
    bool follow = n && !fake.script.no_attributes;

    put32(x, follow);
    if (follow)
        put_fattr(x, n);
}

static void put_wcc(struct fake_xdr *x)
{
    put32(x, 0);
    put32(x, 0);
}

/* -------- procedures; each writes what follows the status */

static uint32_t fake_create(struct fake_xdr *in, struct fake_xdr *out, struct fake_node *directory,
                            bool is_dir)
{
    struct fake_node *node;
    char name[256];

    get_name(in, name);
    if (fake_find(directory, name))
        return 17;
    if (!is_dir && get32(in) != 1) /* GUARDED */
        return 22;
    node = fake_make(directory, name, is_dir);
    put32(out, !fake.script.no_handles);
    if (!fake.script.no_handles)
        put_handle(out, node);
    put_attributes(out, node);
    put_wcc(out);
    return 0;
}

static uint32_t fake_write(struct fake_xdr *in, struct fake_xdr *out, struct fake_node *file)
{
    uint64_t offset = get64(in);
    uint32_t count = get32(in), length;
    const void *data;

    (void)get32(in);
    data = get_bytes(in, &length);
    if (count > fake.largest_write)
        fake.largest_write = count;
    if (fake.script.most_bytes && count > fake.script.most_bytes)
        count = fake.script.most_bytes;
    memcpy(file->data + offset, data, count);
    if (offset + count > file->size)
        file->size = (uint32_t)(offset + count);
    put_wcc(out);
    put32(out, count);
    put32(out, 0); /* UNSTABLE */
    put64(out, fake.script.verifier);
    return 0;
}

static uint32_t fake_read(struct fake_xdr *in, struct fake_xdr *out, const struct fake_node *file)
{
    uint64_t offset = get64(in);
    uint32_t count = get32(in);

    if (fake.script.most_bytes && count > fake.script.most_bytes)
        count = fake.script.most_bytes;
    if (offset >= file->size)
        count = 0;
    else if (offset + count > file->size)
        count = (uint32_t)(file->size - offset);
    put_attributes(out, file);
    put32(out, count);
    put32(out, offset + count >= file->size);
    put_bytes(out, file->data + offset, count);
    return 0;
}

static uint32_t fake_readdir(struct fake_xdr *in, struct fake_xdr *out,
                             const struct fake_node *directory, bool plus)
{
    uint64_t cookie = get64(in);
    unsigned sent = 0, i;

    if (plus && fake.script.no_readdirplus)
        return 10004;
    put_attributes(out, directory);
    put64(out, 0);
    for (i = (unsigned)cookie + 1; i < FAKE_NODES && sent < 3; i++) { /* three a page */
        const struct fake_node *n = &fake.nodes[i];

        if (!n->used || n->parent != directory - fake.nodes)
            continue;
        put32(out, 1);
        put64(out, i + 1);
        put_bytes(out, n->name, (uint32_t)strlen(n->name));
        put64(out, i);
        if (plus) {
            put_attributes(out, n);
            put32(out, 0);
        }
        sent++;
    }
    put32(out, 0);
    put32(out, i == FAKE_NODES);
    return 0;
}

static uint32_t fake_remove(struct fake_xdr *in, struct fake_xdr *out, struct fake_node *directory)
{
    struct fake_node *node;
    char name[256];

    get_name(in, name);
    node = fake_find(directory, name);
    if (!node)
        return 2;
    node->used = false;
    put_wcc(out);
    return 0;
}

static uint32_t fake_rename(struct fake_xdr *in, struct fake_xdr *out, struct fake_node *from)
{
    struct fake_node *node, *to;
    char name[256], new_name[256];

    get_name(in, name);
    to = get_handle(in);
    get_name(in, new_name);
    node = fake_find(from, name);
    if (!node)
        return 2;
    memcpy(node->name, new_name, sizeof(new_name));
    node->parent = (unsigned)(to - fake.nodes);
    put_wcc(out);
    put_wcc(out);
    return 0;
}

static uint32_t fake_lookup(struct fake_xdr *in, struct fake_xdr *out,
                            const struct fake_node *directory)
{
    const struct fake_node *node;
    char name[256];

    get_name(in, name);
    node = fake_find(directory, name);
    if (!node)
        return 2;
    put_handle(out, node);
    put_attributes(out, node);
    put_attributes(out, NULL);
    return 0;
}

static void fake_fsinfo(struct fake_xdr *out)
{
    put_attributes(out, NULL);
    for (int i = 0; i < 7; i++)
        put32(out, i == 2 || i == 5 ? 512 : fake.script.max_bytes);
    put64(out, UINT64_MAX >> 1);
    put64(out, 1);
    put32(out, 0);
}

static void fake_fsstat(struct fake_xdr *out)
{
    put_attributes(out, NULL);
    put64(out, 1 << 30);
    put64(out, fake.script.free_bytes);
    put64(out, fake.script.free_bytes);
    for (int i = 0; i < 3; i++)
        put64(out, 1000);
    put32(out, 0);
}

static uint32_t fake_nfs(uint32_t proc, struct fake_xdr *in, struct fake_xdr *out)
{
    struct fake_node *node = get_handle(in);

    if (!node)
        return 70;
    switch (proc) {
    case FAKE_GETATTR: put_fattr(out, node); return 0;
    case FAKE_LOOKUP: return fake_lookup(in, out, node);
    case FAKE_ACCESS:
        put_attributes(out, NULL);
        put32(out, 0x1f);
        return 0;
    case FAKE_READ: return fake_read(in, out, node);
    case FAKE_WRITE: return fake_write(in, out, node);
    case FAKE_CREATE:
    case FAKE_MKDIR: return fake_create(in, out, node, proc == FAKE_MKDIR);
    case FAKE_REMOVE:
    case FAKE_RMDIR: return fake_remove(in, out, node);
    case FAKE_RENAME: return fake_rename(in, out, node);
    case FAKE_READDIR:
    case FAKE_READDIRPLUS: return fake_readdir(in, out, node, proc == FAKE_READDIRPLUS);
    case FAKE_FSSTAT: fake_fsstat(out); return 0;
    case FAKE_FSINFO: fake_fsinfo(out); return 0;
    case FAKE_COMMIT:
        put_wcc(out);
        put64(out, fake.script.commit_verifier);
        return 0;
    default: return 10004;
    }
}

static void fake_mount(uint32_t proc, struct fake_xdr *in, struct fake_xdr *out)
{
    char path[256];
    bool known;

    if (proc == 5) { /* EXPORT */
        put32(out, 1);
        put_bytes(out, fake.script.exported, (uint32_t)strlen(fake.script.exported));
        put32(out, 0);
        put32(out, 0);
        return;
    }
    get_name(in, path);
    fake.mounts++;
    known = !strcmp(path, fake.script.exported);
    put32(out, known ? fake.script.mount_status : 2);
    if (!known || fake.script.mount_status)
        return;
    put_handle(out, &fake.nodes[0]);
    put32(out, 1);
    put32(out, 1); /* AUTH_SYS */
}

/* -------- RPC */

static bool fake_io(int fd, void *data, size_t size, bool write)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = write ? send(fd, (char *)data + done, size - done, MSG_NOSIGNAL)
                          : recv(fd, (char *)data + done, size - done, 0);

        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

/* Answers one call; false: the connection is to be closed. */
static bool fake_serve(unsigned peer)
{
    static unsigned char request[FAKE_BYTES], answer[FAKE_BYTES];
    struct fake_xdr in = {.data = request}, out = {.data = answer, .at = 4};
    uint32_t mark, xid, program, version, proc, length, status;
    size_t status_at;

    if (!fake_io(fake.peers[peer], &mark, 4, false))
        return false;
    in.size = ntohl(mark) & 0x7fffffff;
    if (in.size > sizeof(request) || !fake_io(fake.peers[peer], request, in.size, false))
        return false;
    xid = get32(&in);
    in.at += 8;
    program = get32(&in);
    version = get32(&in);
    proc = get32(&in);
    for (int i = 0; i < 2; i++) { /* credentials, verifier */
        (void)get32(&in);
        (void)get_bytes(&in, &length);
    }
    if (fake.script.silent)
        return true;
    put32(&out, xid);
    put32(&out, 1);
    put32(&out, 0);
    put64(&out, 0);
    if (version != 3 || (program == 100003 && fake.script.version3_missing)) {
        put32(&out, 2); /* PROG_MISMATCH */
        put64(&out, 0);
    } else {
        put32(&out, 0);
        if (program == 100005 && proc) {
            fake_mount(proc, &in, &out);
        } else if (proc && proc < FAKE_PROCS) {
            if (fake.script.hang_up)
                return false;
            fake.calls[proc]++;
            if (proc == FAKE_WRITE)
                fake.writes_of_peer[peer]++;
            status_at = out.at;
            put32(&out, 0);
            status = fake.script.times[proc] ? fake.script.status[proc] : fake_nfs(proc, &in, &out);
            if (fake.script.times[proc] && fake.script.times[proc] != UINT32_MAX)
                fake.script.times[proc]--;
            if (status)
                out.at = status_at;
            if (status) {
                put32(&out, status);
                put64(&out, 0); /* the most that any failure carries: no attributes, twice */
                put64(&out, 0);
            }
        }
    }
    mark = htonl((uint32_t)(out.at - 4) | 0x80000000u);
    memcpy(answer, &mark, 4);
    return fake_io(fake.peers[peer], answer, out.at, true);
}

static void *fake_run(void *unused)
{
    (void)unused;
    while (!__atomic_load_n(&fake.stop, __ATOMIC_RELAXED)) {
        struct pollfd polls[FAKE_PEERS + 1];

        for (unsigned i = 0; i < FAKE_PEERS; i++)
            polls[i] = (struct pollfd){.fd = fake.peers[i], .events = POLLIN};
        polls[FAKE_PEERS] = (struct pollfd){.fd = fake.listener, .events = POLLIN};
        if (poll(polls, FAKE_PEERS + 1, 20) <= 0)
            continue;
        for (unsigned i = 0; i < FAKE_PEERS; i++)
            if (polls[i].revents && !fake_serve(i)) {
                close(fake.peers[i]);
                fake.peers[i] = -1;
            }
        for (unsigned i = 0; polls[FAKE_PEERS].revents && i < FAKE_PEERS; i++)
            if (fake.peers[i] < 0) {
                fake.peers[i] = accept(fake.listener, NULL, NULL);
                break;
            }
    }
    return NULL;
}

static int fake_start(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);

    memset(&fake, 0, sizeof(fake));
    fake.script.max_bytes = 1 << 20;
    fake.script.free_bytes = 1 << 29;
    fake.script.exported = "/export";
    fake.nodes[0].used = fake.nodes[0].directory = true;
    for (unsigned i = 0; i < FAKE_PEERS; i++)
        fake.peers[i] = -1;
    fake.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fake.listener < 0 || bind(fake.listener, (struct sockaddr *)&address, length) ||
        listen(fake.listener, 16) ||
        getsockname(fake.listener, (struct sockaddr *)&address, &length))
        return -1;
    fake.port = ntohs(address.sin_port);
    return pthread_create(&fake.thread, NULL, fake_run, NULL);
}

static void fake_end(void)
{
    __atomic_store_n(&fake.stop, true, __ATOMIC_RELAXED);
    pthread_join(fake.thread, NULL);
    close(fake.listener);
    for (unsigned i = 0; i < FAKE_PEERS; i++)
        if (fake.peers[i] >= 0)
            close(fake.peers[i]);
    for (unsigned i = 0; i < FAKE_NODES; i++)
        free(fake.nodes[i].data);
}

#endif
