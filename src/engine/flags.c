/* Blame (flags.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "flags.h"

#include "clock.h"
#include "language.h"
#include "steady.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Thresholds; docs/METRICS.md explains each. */
#define BUSY_CPU    0.90
#define FULL_LINK   0.95
#define ABOVE_LINK  1.03 /* clocks and headers are not that inexact */
#define SHORT_NS    (NM_NS_PER_S / 2)
#define UNSTABLE_CV 0.30
#define RAM_FACTOR  2
#define SPEEDUP     1.5 /* of reading the same again */
#define ASYMMETRY   3.0
#define LARGE_BYTES (256 << 10)
/* Preamble and start 8, gap 12, checksum 4, header 14; IPv4 20, TCP 20 + 12 time stamp. */
#define FRAME_BYTES  38.0
#define HEADER_BYTES 52.0

enum flag {
    FLAG_SHORT,
    FLAG_CLIENT_CPU,
    FLAG_LINK,
    FLAG_CACHED,
    FLAG_SERVER_CACHED,
    FLAG_ASYMMETRIC,
    FLAG_BUFFERED,
    FLAG_UNFLUSHED,
    FLAG_COMPRESSIBLE,
    FLAG_BURST,
    FLAG_UNSTABLE,
    FLAG_SYSTEM_DISK,
    FLAG_SHARED_LOAD,
    FLAG_NOT_PREFILLED,
    FLAG_AT_LEAST,
    FLAGS
};

static const struct {
    const char *word, *legend;
} table[FLAGS] = {
    [FLAG_SHORT] =
        {"short",
         NM_N("measured for less than half a second; more files or a larger size say more")},
    [FLAG_CLIENT_CPU] =
        {"client-cpu",
         NM_N("a client process used over 90 percent of a core: this machine may be the limit")},
    [FLAG_LINK] =
        {"link",
         NM_N("at least 95 percent of what the network link carries: the link is the limit")},
    [FLAG_CACHED] =
        {"cached",
         NM_N("faster than the link, or read back from less than twice the memory of the NAS, or "
              "much faster when read again: may come from a cache")},
    [FLAG_SERVER_CACHED] = {"server-cached",
                            NM_N("ends when the server acknowledged, the data may still be in its "
                                 "memory; use a set of more than twice the memory of the NAS")},
    [FLAG_ASYMMETRIC] = {"asymmetric",
                         NM_N("more than three times as fast in one direction as in the other: a "
                              "switch or cable that loses packets one way, or a cache")},
    [FLAG_BUFFERED] = {"buffered", NM_N("went through this machine's page cache")},
    [FLAG_UNFLUSHED] = {"unflushed", NM_N("ended before the data were flushed: some may still be "
                                          "in memory")},
    [FLAG_COMPRESSIBLE] = {"compressible",
                           NM_N("the data can be compressed (zeros, wholly or in part)")},
    [FLAG_BURST] = {"burst", NM_N("started faster than it went on: see burst and sustained rates")},
    [FLAG_UNSTABLE] = {"unstable", NM_N("the rate varied strongly within the trial")},
    [FLAG_SYSTEM_DISK] = {"system-disk", NM_N("the target is on the same device as /")},
    [FLAG_SHARED_LOAD] = {"shared-load", NM_N("another run was active on the target")},
    [FLAG_NOT_PREFILLED] = {"not-prefilled", NM_N("a thin LUN was read as it was found: blocks "
                                                  "that were never written come from no disk")},
    [FLAG_AT_LEAST] = {"at-least", NM_N("the search ended at the largest number it was allowed to "
                                        "try: more may be possible")},
};

const char *nm_flag_legend(const char *word)
{
    for (int i = 0; i < FLAGS; i++)
        if (!strcmp(table[i].word, word))
            return table[i].legend;
    return NULL;
}

double nm_link_payload_per_s(double mbit, double mtu_bytes)
{
    return mbit * 1e6 / 8 * (mtu_bytes - HEADER_BYTES) / (mtu_bytes + FRAME_BYTES);
}

double nm_link_rate(const struct nm_conditions *conditions)
{
    const char *speed = nm_conditions_get(conditions, "client.link_mbit");
    const char *mtu = nm_conditions_get(conditions, "client.mtu");
    const char *nic = nm_conditions_get(conditions, "client.nic");
    double mbit = speed && isdigit((unsigned char)*speed) ? strtod(speed, NULL) : 0;
    double bytes = mtu && isdigit((unsigned char)*mtu) ? strtod(mtu, NULL) : 1500;

    if (mbit <= 0 || (nic && !strcmp(nic, "lo")))
        return 0;
    return nm_link_payload_per_s(mbit, bytes);
}

static bool has(const struct nm_conditions *conditions, const char *name, const char *value)
{
    const char *have = nm_conditions_get(conditions, name);

    return have && !strcmp(have, value);
}

/* Rates in the longest bins that leave enough of them; heap, *ret_bin_ns their length. */
static double *rates_of(const struct nm_flag_input *input, size_t *ret_n, uint64_t *ret_bin_ns)
{
    uint64_t target_ns = input->duration_ns >= 8 * NM_NS_PER_S ? NM_NS_PER_S : input->bin_ns;
    /* Where bytes are not the result, neither is their rate. */
    bool counts = input->n_bins && input->bytes;
    double *rates = counts ? calloc(input->n_bins, sizeof(*rates)) : NULL;

    *ret_n = 0;
    *ret_bin_ns = target_ns;
    if (rates && input->bin_ns)
        *ret_n = nm_steady_rebin(input->bins_bytes, input->n_bins, input->bin_ns, target_ns, rates,
                                 input->n_bins);
    /* The last bin ends with the trial, not with its interval. */
    if (target_ns == input->bin_ns && *ret_n && input->duration_ns % input->bin_ns)
        --*ret_n;
    return rates;
}

bool nm_flags_shows_direction(const struct nm_flag_input *input)
{
    return input->request_bytes >= LARGE_BYTES && input->duration_ns >= SHORT_NS;
}

double nm_flags_repeat_speedup(const struct nm_metrics *metrics)
{
    const struct nm_metric *first = nm_metrics_get(metrics, "run1_rate"), *run;
    double best = 0;
    char name[32];

    for (unsigned i = 2;; i++) {
        snprintf(name, sizeof(name), "run%u_rate", i);
        run = nm_metrics_get(metrics, name);
        if (!run)
            break;
        if (run->value > best)
            best = run->value;
    }
    return first && first->value > 0 ? best / first->value : 0;
}

static bool asymmetric(const struct nm_flag_input *input, double rate)
{
    double other = input->opposite_per_s;

    return other > 0 && rate > 0 && nm_flags_shows_direction(input) &&
           (rate > ASYMMETRY * other || other > ASYMMETRY * rate);
}

static void judge_course(const struct nm_flag_input *input, bool on[FLAGS])
{
    uint64_t bin_ns;
    size_t n;
    double *rates = rates_of(input, &n, &bin_ns), *scratch = n ? calloc(n, sizeof(*scratch)) : NULL;

    /* Below a second per bin requests and files are too coarse to call a rate unstable. */
    if (scratch && bin_ns == NM_NS_PER_S) {
        struct nm_stability stability = nm_steady_stability(rates, n, scratch);

        on[FLAG_BURST] = nm_steady_split(rates, n).significant;
        on[FLAG_UNSTABLE] = stability.known && stability.cv > UNSTABLE_CV;
    }
    free(rates);
    free(scratch);
}

void nm_flags_judge(const struct nm_flag_input *input, char *out, size_t size)
{
    double rate = input->duration_ns ? (double)input->bytes * 1e9 / (double)input->duration_ns : 0;
    double link = input->network ? nm_link_rate(input->conditions) : 0;
    bool small =
        input->nas_ram_bytes && input->working_set_bytes < RAM_FACTOR * input->nas_ram_bytes;
    /* A command that drops the caches of the NAS is what `prepare` is for. */
    bool prepared = nm_conditions_get(input->conditions, "prepare");
    const char *data = nm_conditions_get(input->conditions, "data");
    bool on[FLAGS] = {false};

    on[FLAG_SHORT] = input->duration_ns < SHORT_NS;
    on[FLAG_CLIENT_CPU] =
        input->network && (double)input->busiest_cpu_ns > BUSY_CPU * (double)input->duration_ns;
    on[FLAG_LINK] = link > 0 && rate >= FULL_LINK * link && rate <= ABOVE_LINK * link;
    on[FLAG_CACHED] =
        (link > 0 && rate > ABOVE_LINK * link) ||
        (!input->writes && input->network && small && !prepared) ||
        (!input->writes && input->repeat_speedup > SPEEDUP && (small || !input->nas_ram_bytes)) ||
        has(input->conditions, "cached", "yes");
    on[FLAG_SERVER_CACHED] = input->writes && input->no_flush && (small || !input->nas_ram_bytes);
    on[FLAG_ASYMMETRIC] = asymmetric(input, rate);
    on[FLAG_BUFFERED] =
        has(input->conditions, "direct", "no") || has(input->conditions, "buffered", "yes");
    on[FLAG_UNFLUSHED] = input->writes && has(input->conditions, "flush", "none");
    on[FLAG_COMPRESSIBLE] = input->bytes && data && strcmp(data, "random") != 0;
    on[FLAG_SYSTEM_DISK] = has(input->conditions, "local.system_disk", "yes");
    on[FLAG_SHARED_LOAD] = has(input->conditions, "server.load", "shared");
    on[FLAG_NOT_PREFILLED] = !input->writes && input->found_blocks &&
                             has(input->conditions, "iscsi.provisioning", "thin");
    on[FLAG_AT_LEAST] = input->limit_reached;
    judge_course(input, on);
    *out = '\0';
    for (int i = 0; i < FLAGS; i++)
        if (on[i]) {
            size_t used = strlen(out);

            snprintf(out + used, size - used, "%s%s", used ? " " : "", table[i].word);
        }
}

void nm_flags_course(const struct nm_flag_input *input, struct nm_metrics *metrics)
{
    uint64_t bin_ns;
    size_t n;
    double *rates = rates_of(input, &n, &bin_ns), *scratch = n ? calloc(n, sizeof(*scratch)) : NULL;

    if (scratch) {
        struct nm_steady_split split = nm_steady_split(rates, n);
        struct nm_stability stability = nm_steady_stability(rates, n, scratch);
        struct nm_steady_state state = nm_steady_state(rates, n);

        if (state.known && bin_ns == NM_NS_PER_S)
            nm_metrics_add(metrics, "steady", "1", NM_BETTER_HIGHER, NM_SUMMARY_MEAN, state.steady);
        if (split.significant && bin_ns == NM_NS_PER_S) {
            nm_metrics_add(metrics, "burst_rate", "B/s", NM_BETTER_HIGHER, NM_SUMMARY_GEOMEAN,
                           split.burst);
            nm_metrics_add(metrics, "sustained_rate", "B/s", NM_BETTER_HIGHER, NM_SUMMARY_GEOMEAN,
                           split.sustained);
            nm_metrics_add(metrics, "burst_bytes", "B", NM_BETTER_NONE, NM_SUMMARY_MEDIAN,
                           split.cache_units);
        }
        if (stability.known) {
            nm_metrics_add(metrics, "rate_cv", "1", NM_BETTER_LOWER, NM_SUMMARY_MEDIAN,
                           stability.cv);
            nm_metrics_add(metrics, "rate_p5", "B/s", NM_BETTER_HIGHER, NM_SUMMARY_MEDIAN,
                           stability.p5);
            nm_metrics_add(metrics, "rate_below_half", "1", NM_BETTER_LOWER, NM_SUMMARY_MEDIAN,
                           stability.below_half);
            nm_metrics_add(metrics, "stalls", "1", NM_BETTER_LOWER, NM_SUMMARY_MAX,
                           (double)stability.stalls);
            nm_metrics_add(metrics, "longest_stall", "ns", NM_BETTER_LOWER, NM_SUMMARY_MAX,
                           (double)(stability.longest_stall_bins * bin_ns));
        }
    }
    free(rates);
    free(scratch);
}
