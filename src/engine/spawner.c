/* The spawner process (spawner.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "spawner.h"

#include "arena.h"
#include "clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum request_kind { REQUEST_SPAWN, REQUEST_KILL, REQUEST_FORGET };

struct request {
    enum request_kind kind;
    unsigned slot;
    uint32_t serial; /* SPAWN: of this worker */
};

struct report {
    unsigned slot;
    uint32_t serial;
    int status; /* wait status; meaningless when error != 0 */
    int error;  /* errno of a failed fork */
};

struct nm_spawner {
    pid_t pid;
    int socket;
    uint32_t serials[NM_WORKERS_MAX]; /* of the worker in each slot; 0 = none */
    uint32_t last_serial;
};

void nm_process_die_with(int parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
}

/* ---- the spawner process ---- */

struct service {
    int socket, signals;
    pid_t workers[NM_WORKERS_MAX]; /* 0 = none */
    uint32_t serials[NM_WORKERS_MAX];
    int (*worker)(unsigned slot, void *context);
    void *context;
};

static void send_report(const struct service *service, struct report report)
{
    if (send(service->socket, &report, sizeof(report), MSG_NOSIGNAL) < 0)
        _exit(1); /* the parent is gone; the workers follow us */
}

static void spawn(struct service *service, unsigned slot, uint32_t serial)
{
    pid_t self = getpid(), pid = fork();

    if (pid < 0) {
        send_report(service, (struct report){.slot = slot, .serial = serial, .error = errno});
        return;
    }
    if (pid > 0) {
        service->workers[slot] = pid;
        service->serials[slot] = serial;
        return;
    }
    nm_process_die_with(self);
    close(service->socket);
    close(service->signals);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    exit(service->worker(slot, service->context));
}

static void reap(struct service *service)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        for (unsigned slot = 0; slot < NM_WORKERS_MAX; slot++)
            if (service->workers[slot] == pid) {
                service->workers[slot] = 0;
                send_report(service, (struct report){.slot = slot,
                                                     .serial = service->serials[slot],
                                                     .status = status});
            }
}

/* All of them, but not for ever: a system call that never returns (a dead FUSE or kernel mount)
 * keeps even a killed process. */
static void end_all(struct service *service)
{
    uint64_t until_ns = nm_clock_now_ns() + NM_SPAWNER_END_NS;

    for (unsigned slot = 0; slot < NM_WORKERS_MAX; slot++)
        if (service->workers[slot])
            kill(service->workers[slot], SIGKILL);
    for (;;) {
        pid_t pid = waitpid(-1, NULL, WNOHANG);

        if (pid < 0 || nm_clock_now_ns() >= until_ns)
            return;
        if (pid == 0)
            nm_clock_sleep_until_ns(nm_clock_now_ns() + NM_NS_PER_MS);
    }
}

static void serve(struct service *service)
{
    struct pollfd fds[2] = {{.fd = service->socket, .events = POLLIN},
                            {.fd = service->signals, .events = POLLIN}};

    for (;;) {
        struct signalfd_siginfo info;
        struct request request;

        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            _exit(1);
        if (fds[1].revents) {
            if (read(service->signals, &info, sizeof(info)) < 0 && errno != EAGAIN)
                _exit(1);
            reap(service);
        }
        if (!fds[0].revents)
            continue;
        ssize_t n = recv(service->socket, &request, sizeof(request), 0);

        if (n != sizeof(request) || request.slot >= NM_WORKERS_MAX)
            break; /* end of file: the parent wants us to go */
        if (request.kind == REQUEST_SPAWN)
            spawn(service, request.slot, request.serial);
        else if (service->workers[request.slot])
            kill(service->workers[request.slot], SIGKILL);
        if (request.kind == REQUEST_FORGET)
            service->workers[request.slot] = 0;
    }
    end_all(service);
    _exit(0);
}

static void run_service(pid_t parent, int socket, int (*worker)(unsigned, void *), void *context)
{
    struct service service = {.socket = socket, .worker = worker, .context = context};
    sigset_t mask;

    nm_process_die_with(parent);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    service.signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (service.signals < 0)
        _exit(1);
    serve(&service);
}

/* ---- the parent's side ---- */

int nm_spawner_start(int (*worker)(unsigned, void *), void *context,
                     struct nm_spawner **ret_spawner, struct nm_error *err)
{
    struct nm_spawner *spawner = calloc(1, sizeof(*spawner));
    pid_t parent = getpid();
    int pair[2];

    if (!spawner)
        return nm_error_no_memory(err);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        int r = nm_error_errno(err, -errno, "cannot make a socket pair: %s", strerror(errno));

        free(spawner);
        return r;
    }
    spawner->pid = fork();
    if (spawner->pid < 0) {
        int r = nm_error_set(err, -errno, NM_REASON_CLIENT_LIMIT,
                             "cannot fork: %s; raise the process limit", strerror(errno));

        close(pair[0]);
        close(pair[1]);
        free(spawner);
        return r;
    }
    if (!spawner->pid) {
        close(pair[0]);
        run_service(parent, pair[1], worker, context);
    }
    close(pair[1]);
    spawner->socket = pair[0];
    *ret_spawner = spawner;
    return 0;
}

void nm_spawner_stop(struct nm_spawner *spawner)
{
    if (!spawner)
        return;
    close(spawner->socket);
    while (waitpid(spawner->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    free(spawner);
}

static int ask(struct nm_spawner *spawner, struct request request, struct nm_error *err)
{
    if (send(spawner->socket, &request, sizeof(request), MSG_NOSIGNAL) < 0)
        return nm_error_set(err, -EPIPE, NM_REASON_INTERNAL,
                            "the process that starts the workers has gone");
    return 0;
}

int nm_spawner_spawn(struct nm_spawner *spawner, unsigned slot, struct nm_error *err)
{
    spawner->serials[slot] = ++spawner->last_serial;
    return ask(spawner, (struct request){REQUEST_SPAWN, slot, spawner->last_serial}, err);
}

int nm_spawner_kill(struct nm_spawner *spawner, unsigned slot, struct nm_error *err)
{
    return ask(spawner, (struct request){.kind = REQUEST_KILL, .slot = slot}, err);
}

int nm_spawner_forget(struct nm_spawner *spawner, unsigned slot, struct nm_error *err)
{
    spawner->serials[slot] = 0;
    return ask(spawner, (struct request){.kind = REQUEST_FORGET, .slot = slot}, err);
}

int nm_spawner_wait(struct nm_spawner *spawner, uint64_t deadline_ns, unsigned *ret_slot,
                    int *ret_status, struct nm_error *err)
{
    struct pollfd fd = {.fd = spawner->socket, .events = POLLIN};
    struct report report;

    int ready = poll(&fd, 1, nm_clock_poll_ms(deadline_ns, 1000));

    if (ready <= 0) /* deadline, or a signal that the caller wants to see */
        return 0;
    if (recv(spawner->socket, &report, sizeof(report), 0) != sizeof(report))
        return nm_error_set(err, -EPIPE, NM_REASON_INTERNAL,
                            "the process that starts the workers has gone");
    if (report.slot >= NM_WORKERS_MAX || report.serial != spawner->serials[report.slot])
        return 0; /* of one that was forgotten */
    *ret_slot = report.slot;
    *ret_status = report.error ? -report.error : report.status;
    return 1;
}
