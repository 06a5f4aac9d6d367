/* Blame: short words on a trial that say what its number may be limited by, and the course of a
 * trial (burst, sustained, stability) as metrics.
 *
 * One table of flags: word and legend. Rules are pure functions of what was measured and its
 * conditions.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_FLAGS_H
#define NM_FLAGS_H

#include "conditions.h"
#include "workload.h"

struct nm_flag_input {
    uint64_t bytes, duration_ns;
    uint64_t busiest_cpu_ns; /* of the worker that used most */
    const uint64_t *bins_bytes;
    size_t n_bins;
    uint64_t bin_ns;
    uint64_t working_set_bytes; /* of the group on the target */
    uint64_t nas_ram_bytes;     /* 0 = unknown */
    bool writes, no_flush;      /* the phase writes; the protocol library cannot flush */
    bool found_blocks;          /* reads a device as it was found, nothing was written first */
    bool network;               /* not local, not simulated */
    bool limit_reached;         /* a search ended where it was told to end */
    double repeat_speedup;      /* nm_flags_repeat_speedup(), 0 = unknown */
    double request_bytes;       /* mean of the READ or WRITE operations */
    double opposite_per_s; /* rate at which the same files were moved the other way just before,
                              in large requests as well; 0 = they were not */
    const struct nm_conditions *conditions;
};

/* Words separated by blanks into out ("" when none). */
void nm_flags_judge(const struct nm_flag_input *input, char *out, size_t size);

/* Whether a rate says something about a direction: large requests, long enough. */
bool nm_flags_shows_direction(const struct nm_flag_input *input);

/* Best of the later runs over the first one, from the metrics run1_rate, run2_rate ...; 0 = the
 * same data were not read several times. */
double nm_flags_repeat_speedup(const struct nm_metrics *metrics);

/* Metrics burst_rate, sustained_rate, burst_bytes (estimated cache), rate_cv, rate_p5,
 * rate_below_half, stalls, longest_stall: from bins of one second where there are enough, else of
 * 100 ms. */
void nm_flags_course(const struct nm_flag_input *input, struct nm_metrics *metrics);

/* Legend of a flag for below a table; NULL = unknown word. */
const char *nm_flag_legend(const char *word);

/* Payload that a link of mbit carries over TCP at this MTU, bytes per second: Ethernet preamble,
 * gap and checksum, IPv4 and TCP headers with time stamps. */
double nm_link_payload_per_s(double mbit, double mtu_bytes);
/* The same for the link that the conditions name; 0 = unknown (virtual interface, local target). */
double nm_link_rate(const struct nm_conditions *conditions);

#endif
