/* Asking for a secret on the terminal (credentials.h).
 *
 * Echo is off only while this function runs: signals stay pending until the terminal is as before,
 * so that an interrupt or a stop never leaves it silent.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#define PATIENCE_MS (5 * 60 * 1000)

/* One line without its end, byte by byte: nothing is left in a buffer of ours or of stdio. */
static int read_line(int tty, int signals, char *out, size_t size, struct nm_error *err)
{
    struct pollfd fds[] = {{.fd = tty, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    size_t used = 0;

    for (;;) {
        char c;
        int n = poll(fds, 2, PATIENCE_MS);

        if (n < 0)
            return nm_error_errno(err, -errno, "waiting for the terminal failed");
        if (!n)
            return nm_error_set(err, -ETIMEDOUT, NM_REASON_TIMEOUT,
                                "no password was typed within 5 minutes");
        if (fds[1].revents) /* stays pending: it strikes when the mask is restored */
            return nm_error_set(err, -EINTR, NM_REASON_ABORTED, "interrupted at the password");
        if (read(tty, &c, 1) != 1 || (c == 4 && !used))
            return nm_error_set(err, -ECANCELED, NM_REASON_ABORTED, "no password was typed");
        if (c == '\n' || c == '\r')
            break;
        if (used + 1 == size)
            return nm_error_set(err, -E2BIG, NM_REASON_NONE,
                                "the password is longer than %zu bytes", size - 1);
        out[used++] = c;
    }
    out[used] = '\0';
    return 0;
}

/* Whole text, or nobody would see what is asked. */
static int show(int tty, const char *text, struct nm_error *err)
{
    size_t length = strlen(text);

    if (write(tty, text, length) != (ssize_t)length)
        return nm_error_errno(err, -EIO, "the terminal cannot be written");
    return 0;
}

int nm_secrets_prompt(const char *question, char *out, size_t size, struct nm_error *err)
{
    struct termios before, silent;
    sigset_t block, old;
    int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY), signals = -1, r;

    if (tty < 0)
        return nm_error_set(err, -ENOTTY, NM_REASON_AUTH, "there is no terminal to ask on");
    sigemptyset(&block);
    for (const int *s = (const int[]){SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, 0}; *s; s++)
        sigaddset(&block, *s);
    sigprocmask(SIG_BLOCK, &block, &old);
    signals = signalfd(-1, &block, SFD_CLOEXEC);
    if (signals < 0 || tcgetattr(tty, &before) < 0) {
        r = nm_error_errno(err, -errno, "the terminal cannot be prepared");
        goto out;
    }
    silent = before;
    silent.c_lflag &= ~(tcflag_t)(ECHO | ECHOE | ECHOK | ECHONL);
    if (tcsetattr(tty, TCSAFLUSH, &silent) < 0) {
        r = nm_error_errno(err, -errno, "the terminal cannot be made silent");
        goto out;
    }
    r = show(tty, question, err);
    if (!r)
        r = read_line(tty, signals, out, size, err);
    if (r < 0)
        nm_secrets_wipe(out, size);
    tcsetattr(tty, TCSAFLUSH, &before);
    if (show(tty, "\n", NULL) < 0 && !r)
        r = nm_error_errno(err, -EIO, "the terminal cannot be written");
out:
    if (signals >= 0)
        close(signals);
    close(tty);
    sigprocmask(SIG_SETMASK, &old, NULL);
    return r;
}
