/* Time: one monotonic clock for everything that is measured, UTC only for labels.
 *
 * All values are nanoseconds in uint64_t. No duration is ever computed from wall-clock time.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_CLOCK_H
#define NM_CLOCK_H

#include <stdint.h>

#define NM_NS_PER_US UINT64_C(1000)
#define NM_NS_PER_MS UINT64_C(1000000)
#define NM_NS_PER_S  UINT64_C(1000000000)
#define NM_NEVER_NS  UINT64_MAX

uint64_t nm_clock_now_ns(void);        /* CLOCK_MONOTONIC */
uint64_t nm_clock_utc_ns(void);        /* CLOCK_REALTIME, since 1970; for labels only */
uint64_t nm_clock_thread_cpu_ns(void); /* CPU time of the calling thread */
uint64_t nm_clock_process_cpu_ns(void);

/* How long this machine has been suspended since it was booted, to about a millisecond. */
uint64_t nm_clock_suspended_ns(void);

/* Sleeps until the monotonic clock shows at least until_ns; survives signals. */
void nm_clock_sleep_until_ns(uint64_t until_ns);

/* Milliseconds from now to deadline_ns for poll(): 0 when it has passed, at most cap_ms. */
int nm_clock_poll_ms(uint64_t deadline_ns, int cap_ms);

/* "2026-01-31T12:00:00Z"; out holds at least 24 bytes. */
void nm_clock_format_utc(uint64_t utc_ns, char out[24]);

#endif
