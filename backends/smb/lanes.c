/* Lanes: the worker and child processes of it with one libsmbclient context each (smb.h).
 *
 * A request number goes to a lane through its ring and comes back through one pipe for all
 * children; the request itself and the data stay in shared memory. A pipe for the way back, because
 * the worker has to wait for completions and for the death of a lane at the same time.
 *
 * Lane 0 is the worker, who carries out one of its own requests whenever the engine waits; the
 * children have further requests in their rings meanwhile. Where the library was left in an unknown
 * state (an abandoned context), or another session of this process is lane 0, all lanes are
 * children.
 *
 * Ownership: the worker forks and reaps the lanes; a lane that does not answer is killed, never
 * closed.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "smb.h"

#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CONNECTED      UINT32_C(0x80000000) /* | lane: the number that ends a lane's connecting */
#define LIST_BYTES_MAX (256u << 20)
#define LIST_CHUNK     65536u

/* libsmbclient allows one context per process. */
static bool worker_is_lane;

/* ---- LIST across processes ---- */

struct list_record {
    struct nm_stat stat;
    uint32_t name_bytes;
};

struct list_writer {
    int fd;
    bool full;
    size_t used;
    off_t offset;
    char chunk[LIST_CHUNK];
};

static void flush_list(struct list_writer *writer)
{
    if (writer->offset + (off_t)writer->used > (off_t)LIST_BYTES_MAX ||
        pwrite(writer->fd, writer->chunk, writer->used, writer->offset) != (ssize_t)writer->used)
        writer->full = true;
    writer->offset += (off_t)writer->used;
    writer->used = 0;
}

static void write_entry(void *context, const char *name, const struct nm_stat *stat)
{
    struct list_writer *writer = context;
    struct list_record record = {.stat = *stat, .name_bytes = (uint32_t)strlen(name)};

    if (record.name_bytes > NM_SMB_PATH_MAX)
        return;
    if (writer->used + sizeof(record) + record.name_bytes > LIST_CHUNK)
        flush_list(writer);
    memcpy(writer->chunk + writer->used, &record, sizeof(record));
    memcpy(writer->chunk + writer->used + sizeof(record), name, record.name_bytes);
    writer->used += sizeof(record) + record.name_bytes;
}

int nm_smb_lanes_list(struct nm_smb_lanes *lanes, nm_smb_entry_fn *entry, void *context)
{
    struct list_record record;
    char name[NM_SMB_PATH_MAX + 1];

    for (off_t at = 0; pread(lanes->list_fd, &record, sizeof(record), at) == sizeof(record);) {
        at += (off_t)sizeof(record);
        if (record.name_bytes > NM_SMB_PATH_MAX ||
            pread(lanes->list_fd, name, record.name_bytes, at) != (ssize_t)record.name_bytes)
            return -EIO;
        name[record.name_bytes] = '\0';
        at += record.name_bytes;
        entry(context, name, &record.stat);
    }
    return 0;
}

static void execute_list(struct nm_smb_client *client, struct nm_smb_request *request, int list_fd)
{
    static struct list_writer writer;

    writer.fd = list_fd;
    writer.used = 0;
    writer.offset = 0;
    writer.full = ftruncate(list_fd, 0) < 0;
    nm_smb_client_execute(client, request, write_entry, &writer);
    flush_list(&writer);
    if (writer.full && request->result >= 0)
        request->result = nm_error_set(&request->err, -EFBIG, NM_REASON_CLIENT_LIMIT,
                                       "list: the directory has too many entries");
}

/* ---- in the lane ---- */

static void send_back(const struct nm_smb_lanes *lanes, uint32_t number)
{
    ssize_t n;

    do {
        n = write(lanes->done_fds[1], &number, sizeof(number));
    } while (n < 0 && errno == EINTR);
    if (n != sizeof(number))
        _exit(1);
}

static void execute(const struct nm_smb_lanes *lanes, struct nm_smb_client *client, uint32_t number)
{
    struct nm_smb_request *request = &lanes->shared->requests[number];

    if (request->sequence < atomic_load(&lanes->shared->cancel_before) &&
        request->kind != NM_OP_CLOSE)
        request->result = nm_error_set(&request->err, -ECANCELED, NM_REASON_ABORTED, "canceled");
    else if (request->kind == NM_OP_LIST)
        execute_list(client, request, lanes->list_fd);
    else
        nm_smb_client_execute(client, request, NULL, NULL);
    request->done_ns = nm_clock_now_ns();
}

static _Noreturn void lane_main(const struct nm_smb_lanes *lanes, unsigned index)
{
    struct nm_smb_shared *shared = lanes->shared;
    struct nm_smb_client *client = NULL;
    struct nm_error err = {0};
    bool logged_in = false;
    uint32_t number;

    if (nm_smb_client_open(lanes->target, &client, &logged_in, &err) < 0)
        shared->connect_err[index] = err;
    if (index == 0)
        shared->logged_in = logged_in;
    send_back(lanes, CONNECTED | index);
    while (client && (number = nm_smb_ring_pop(&shared->rings[index])) != NM_SMB_RING_QUIT) {
        execute(lanes, client, number);
        send_back(lanes, number);
    }
    nm_smb_client_close(client);
    _exit(0);
}

/* ---- in the worker ---- */

static int connect_worker(struct nm_smb_lanes *lanes, struct nm_error *err)
{
    bool logged_in = false;
    int r = nm_smb_client_open(lanes->target, &lanes->self, &logged_in, err);

    lanes->shared->logged_in = logged_in;
    return r;
}

static int fork_lanes(struct nm_smb_lanes *lanes, struct nm_error *err)
{
    for (unsigned i = lanes->in_worker; i < lanes->count; i++) {
        struct nm_smb_lane *lane = &lanes->lane[i];
        char name[32];
        pid_t pid;
        int r;

        snprintf(name, sizeof(name), "nasmark-smb%u", i);
        r = nm_smb_fork(name, &pid, &lane->life_fd, err);
        if (r < 0)
            return r;
        if (pid == 0)
            lane_main(lanes, i);
        lane->pid = pid;
    }
    return 0;
}

static int wait_connected(struct nm_smb_lanes *lanes, uint64_t deadline_ns, struct nm_error *err)
{
    unsigned connected = lanes->in_worker;
    uint32_t number;

    while (connected < lanes->count) {
        int n = nm_smb_lanes_reap(lanes, &number, 1, deadline_ns);

        if (n == 0)
            return nm_error_set(err, -ETIMEDOUT, NM_REASON_TIMEOUT,
                                "the server does not answer the login in time");
        if (n < 0)
            return nm_error_set(err, n, NM_REASON_INTERNAL, "a lane process died while connecting");
        number &= ~CONNECTED;
        if (number < lanes->count && lanes->shared->connect_err[number].code) {
            if (err)
                *err = lanes->shared->connect_err[number];
            return lanes->shared->connect_err[number].code;
        }
        connected++;
    }
    return 0;
}

int nm_smb_lanes_start(struct nm_smb_lanes *lanes, const struct nm_smb_target *target,
                       unsigned count, uint32_t n_requests, uint64_t deadline_ns,
                       struct nm_error *err)
{
    int r;

    *lanes = (struct nm_smb_lanes){
        .target = target, .count = count, .done_fds = {-1, -1}, .list_fd = -1};
    lanes->shared_bytes = sizeof(*lanes->shared) + n_requests * sizeof(lanes->shared->requests[0]);
    lanes->shared = nm_smb_shared_alloc(lanes->shared_bytes);
    if (!lanes->shared)
        return nm_error_set(err, -ENOMEM, NM_REASON_CLIENT_LIMIT, "no memory for requests");
    lanes->list_fd = memfd_create("nasmark-smb-list", MFD_CLOEXEC);
    if (lanes->list_fd < 0 || pipe2(lanes->done_fds, O_CLOEXEC) < 0 ||
        fcntl(lanes->done_fds[0], F_SETFL, O_NONBLOCK) < 0)
        return nm_error_errno(err, -errno, "smb: no descriptors for lanes: %s", strerror(errno));
    if (!worker_is_lane && !nm_smb_client_tainted())
        worker_is_lane = lanes->in_worker = true;
    r = fork_lanes(lanes, err); /* before this process touches the library */
    if (r == 0 && lanes->in_worker)
        r = connect_worker(lanes, err);
    return r < 0 ? r : wait_connected(lanes, deadline_ns, err);
}

void nm_smb_lanes_stop(struct nm_smb_lanes *lanes, uint64_t deadline_ns)
{
    if (lanes->in_worker) {
        if (deadline_ns)
            nm_smb_client_close(lanes->self);
        else
            nm_smb_client_abandon(lanes->self);
        lanes->self = NULL;
        worker_is_lane = lanes->in_worker = false;
    }
    for (unsigned i = 0; i < lanes->count; i++)
        if (lanes->lane[i].pid)
            (void)nm_smb_ring_push(&lanes->shared->rings[i], NM_SMB_RING_QUIT);
    for (unsigned i = 0; i < lanes->count; i++) {
        struct nm_smb_lane *lane = &lanes->lane[i];

        if (lane->pid)
            nm_smb_wait(lane->pid, lane->life_fd, deadline_ns, &lanes->cpu_ns);
        lane->pid = 0;
    }
}

void nm_smb_lanes_done(struct nm_smb_lanes *lanes)
{
    if (!lanes->shared)
        return;
    nm_smb_shared_free(lanes->shared, lanes->shared_bytes);
    lanes->shared = NULL;
    for (int i = 0; i < 2; i++)
        if (lanes->done_fds[i] >= 0)
            close(lanes->done_fds[i]);
    if (lanes->list_fd >= 0)
        close(lanes->list_fd);
}

void nm_smb_lanes_submit(struct nm_smb_lanes *lanes, unsigned lane, uint32_t request)
{
    /* There are fewer requests than slots in the ring. */
    (void)nm_smb_ring_push(&lanes->shared->rings[lane], request);
}

/* Waits for the pipe and for the end of any lane. 0 = look again, 1 = deadline, -ECHILD. */
static int wait_children(const struct nm_smb_lanes *lanes, uint64_t deadline_ns)
{
    struct pollfd fds[NM_SMB_LANES_MAX + 1];
    int wait_ms = nm_clock_poll_ms(deadline_ns, 1000);
    unsigned n = 1;

    fds[0] = (struct pollfd){.fd = lanes->done_fds[0], .events = POLLIN};
    for (unsigned i = 0; i < lanes->count; i++)
        if (lanes->lane[i].pid)
            fds[n++] = (struct pollfd){.fd = lanes->lane[i].life_fd, .events = POLLIN};
    if (poll(fds, n, wait_ms) <= 0)
        return !wait_ms;
    if (fds[0].revents & POLLIN) /* first what a lane had done before it died */
        return 0;
    for (unsigned i = 1; i < n; i++)
        if (fds[i].revents)
            return -ECHILD;
    return 0;
}

int nm_smb_lanes_reap(struct nm_smb_lanes *lanes, uint32_t *ret_requests, unsigned max,
                      uint64_t deadline_ns)
{
    unsigned n = 0;
    int r = 0;

    if (lanes->lost)
        return -ECHILD;
    if (lanes->self && nm_smb_ring_try_pop(&lanes->shared->rings[0], ret_requests)) {
        execute(lanes, lanes->self, *ret_requests);
        n = 1;
        deadline_ns = 0; /* only look at the others */
    }
    while (!r && lanes->count > lanes->in_worker && n < max) {
        ssize_t got = read(lanes->done_fds[0], ret_requests + n, (max - n) * sizeof(*ret_requests));

        if (got > 0)
            return (int)(n + (size_t)got / sizeof(*ret_requests));
        r = wait_children(lanes, deadline_ns);
    }
    lanes->lost = r < 0;
    return lanes->lost && !n ? -ECHILD : (int)n;
}

uint64_t nm_smb_lanes_cpu_ns(const struct nm_smb_lanes *lanes)
{
    uint64_t sum_ns = lanes->cpu_ns;

    for (unsigned i = 0; i < lanes->count; i++) {
        struct timespec used;
        clockid_t clock;

        if (lanes->lane[i].pid && clock_getcpuclockid(lanes->lane[i].pid, &clock) == 0 &&
            clock_gettime(clock, &used) == 0)
            sum_ns += (uint64_t)used.tv_sec * NM_NS_PER_S + (uint64_t)used.tv_nsec;
    }
    return sum_ns;
}
