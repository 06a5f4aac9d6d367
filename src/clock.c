/* Clocks (clock.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "clock.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

static uint64_t read_ns(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * NM_NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t nm_clock_now_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

uint64_t nm_clock_utc_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}

uint64_t nm_clock_suspended_ns(void)
{
    uint64_t before_ns, boot_ns, after_ns;

    do { /* all three without being interrupted for long */
        before_ns = nm_clock_now_ns();
        boot_ns = read_ns(CLOCK_BOOTTIME);
        after_ns = nm_clock_now_ns();
    } while (after_ns - before_ns > NM_NS_PER_MS);
    return boot_ns > after_ns ? boot_ns - after_ns : 0;
}

uint64_t nm_clock_thread_cpu_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t nm_clock_process_cpu_ns(void)
{
    return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void nm_clock_sleep_until_ns(uint64_t until_ns)
{
    struct timespec t = {.tv_sec = (time_t)(until_ns / NM_NS_PER_S),
                         .tv_nsec = (long)(until_ns % NM_NS_PER_S)};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

int nm_clock_poll_ms(uint64_t deadline_ns, int cap_ms)
{
    uint64_t now = nm_clock_now_ns();

    if (deadline_ns <= now)
        return 0;
    /* Round up: a wait that ends 0.4 ms early would spin until the deadline. */
    uint64_t ms = (deadline_ns - now + NM_NS_PER_MS - 1) / NM_NS_PER_MS;
    return ms > (uint64_t)cap_ms ? cap_ms : (int)ms;
}

void nm_clock_format_utc(uint64_t utc_ns, char out[24])
{
    time_t s = (time_t)(utc_ns / NM_NS_PER_S);
    struct tm tm;

    gmtime_r(&s, &tm);
    strftime(out, 24, "%Y-%m-%dT%H:%M:%SZ", &tm);
}
