/* pause-bench PER_SECOND SECONDS: what it costs this machine to sleep until absolute times, as the
 * null backend with a rate does before each completion. Prints the share of a core in percent; the
 * rest of what a process at that rate needs is its own.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "clock.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    double per_second = argc > 2 ? strtod(argv[1], NULL) : 0;
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 0;
    uint64_t start_ns = nm_clock_now_ns(), cpu_ns = nm_clock_process_cpu_ns();

    if (!(per_second > 0 && seconds > 0)) {
        fprintf(stderr, "usage: pause-bench PER_SECOND SECONDS\n");
        return 2;
    }
    for (double at = 1; at <= per_second * seconds; at++)
        nm_clock_sleep_until_ns(start_ns + (uint64_t)(at / per_second * NM_NS_PER_S));
    printf("%.2f\n", 100.0 * (double)(nm_clock_process_cpu_ns() - cpu_ns) /
                         (double)(nm_clock_now_ns() - start_ns));
    return 0;
}
