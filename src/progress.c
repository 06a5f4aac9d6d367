/* Progress of a run (progress.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "progress.h"

#include "clock.h"
#include "progress_line.h"
#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LINE_EVERY_NS   (10 * NM_NS_PER_S)
#define REDRAW_EVERY_NS (200 * NM_NS_PER_MS)

struct nm_progress {
    const struct nm_plan *plan;
    bool quiet, color, terminal;
    bool drawn; /* a bar is on the line */
    uint64_t begin_ns, last_ns;
    size_t groups_done, groups_total;
    const struct nm_group *group;
    const char *volume;
    uint32_t pass;
    size_t phase;
    struct nm_progress_recent recent;
};

static void clear_line(struct nm_progress *p)
{
    if (p->drawn)
        fputs("\r\033[K", stderr);
    p->drawn = false;
}

static const char *clock_text(uint64_t ns, char *out, size_t size)
{
    uint64_t s = ns / NM_NS_PER_S;

    if (s >= 3600)
        snprintf(out, size, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, size, "%" PRIu64 ":%02" PRIu64, s / 60, s % 60);
    return out;
}

static const char *rate_text(double bytes_per_s, char *out, size_t size)
{
    char number[32];

    snprintf(out, size, "%s MB/s",
             nm_units_format_rate(bytes_per_s / 1e6, -1, '.', number, sizeof(number)));
    return out;
}

static void on_begin(void *context, const char *run_id, size_t groups, size_t trials)
{
    struct nm_progress *p = context;

    p->begin_ns = nm_clock_now_ns();
    p->groups_total = trials;
    if (!p->quiet)
        fprintf(stderr, "run %s: %zu targets and workloads, %zu to run\n", run_id, groups, trials);
}

static void on_group(void *context, const struct nm_group *group, const struct nm_volume *volume,
                     uint32_t pass, size_t done, size_t total)
{
    struct nm_progress *p = context;

    p->group = group;
    p->volume = volume->name;
    p->pass = pass;
    p->groups_done = done;
    p->groups_total = total;
    p->phase = SIZE_MAX;
}

static const struct nm_phase *phase_of(const struct nm_job *job)
{
    const struct nm_phase *phases;

    if (job->kind != NM_JOB_PHASE || !job->workload)
        return NULL;
    job->workload->ops->phases(job->workload, &phases);
    return &phases[job->phase];
}

static const char *job_name(const struct nm_job *job)
{
    const struct nm_phase *phase = phase_of(job);

    switch (job->kind) {
    case NM_JOB_PROBE: return "connecting";
    case NM_JOB_CLAIM: return "checking that the device is blank";
    case NM_JOB_ENTER: return "preparing";
    case NM_JOB_SURVEY: return "reading the partition table";
    case NM_JOB_SWEEP:
    case NM_JOB_LEAVE:
    case NM_JOB_RETIRE:
    case NM_JOB_RELEASE: return "cleaning up";
    case NM_JOB_PHASE: break;
    }
    return !phase                          ? ""
           : job->measured                 ? phase->name
           : phase->role == NM_PHASE_CHECK ? "checking"
                                           : "evicting";
}

static double recent_rate(struct nm_progress *p, const struct nm_job_progress *now)
{
    if (p->phase != now->job->phase)
        p->recent.n = 0;
    p->phase = now->job->phase;
    return nm_progress_rate(&p->recent, now->elapsed_ns, now->bytes);
}

static struct nm_workload_size expected_size(const struct nm_job *job)
{
    if (job->kind != NM_JOB_PHASE || !job->measured)
        return (struct nm_workload_size){0};
    return job->workload->ops->size(job->workload, &job->context, job->phase);
}

/* How much of the phase is done, by bytes or by time; negative = unknown. */
static double fraction_done(const struct nm_job_progress *now)
{
    struct nm_workload_size size = expected_size(now->job);
    double fraction = size.bytes         ? (double)now->bytes / (double)size.bytes
                      : size.duration_ns ? (double)now->elapsed_ns / (double)size.duration_ns
                                         : -1;

    return fraction > 1 ? 1 : fraction;
}

/* Time left for the whole run: what the executed groups took on average. */
static void eta_text(const struct nm_progress *p, char *out, size_t size)
{
    char text[24];
    uint64_t spent_ns = nm_clock_now_ns() - p->begin_ns;

    if (!p->groups_done) {
        snprintf(out, size, "?");
        return;
    }
    snprintf(out, size, "%s",
             clock_text(spent_ns / p->groups_done * (p->groups_total - p->groups_done), text,
                        sizeof(text)));
}

static void describe(struct nm_progress *p, const struct nm_job_progress *now, size_t width,
                     char *out, size_t size)
{
    char name[256] = "", now_rate[40], mean_rate[40], eta[24] = "?", run_eta[24];
    double fraction = fraction_done(now);
    double mean = now->elapsed_ns ? (double)now->bytes * 1e9 / (double)now->elapsed_ns : 0;
    double current = recent_rate(p, now);
    struct nm_progress_line line = {
        .index = p->groups_done + 1,
        .total = p->groups_total,
        .pass = p->pass,
        .name = p->group ? name : job_name(now->job),
        .fraction = now->running ? fraction : -1,
        .rate = rate_text(current, now_rate, sizeof(now_rate)),
        .mean = rate_text(mean, mean_rate, sizeof(mean_rate)),
        .eta = eta,
        .run_eta = run_eta,
    };

    if (p->group)
        snprintf(name, sizeof(name), "%s/%s/%s %s", p->volume ? p->volume : "",
                 nm_protocol_name(p->group->target->protocol), p->group->workload->key,
                 job_name(now->job));
    else
        line.total = 0;
    eta_text(p, run_eta, sizeof(run_eta));
    if (line.fraction < 0)
        clock_text(now->elapsed_ns, eta, sizeof(eta));
    else if (fraction > 0)
        clock_text((uint64_t)((double)now->elapsed_ns * (1 - fraction) / fraction), eta,
                   sizeof(eta));
    nm_progress_line(&line, width, out, size);
}

static void on_progress(void *context, const struct nm_job_progress *now)
{
    struct nm_progress *p = context;
    uint64_t at_ns = nm_clock_now_ns();
    char text[512];

    if (p->quiet || at_ns - p->last_ns < (p->terminal ? REDRAW_EVERY_NS : LINE_EVERY_NS))
        return;
    p->last_ns = at_ns;
    if (!p->terminal) {
        describe(p, now, SIZE_MAX, text, sizeof(text));
        fprintf(stderr, "%s\n", text);
        return;
    }
    struct winsize window = {0};
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 20;

    describe(p, now, known ? window.ws_col - 1u : 79, text, sizeof(text));
    fprintf(stderr, "\r\033[K%s", text);
    fflush(stderr);
    p->drawn = true;
}

static const char *metric_text(const struct nm_metric *metric, char *out, size_t size)
{
    char number[40];

    if (!strcmp(metric->unit, "B/s"))
        return rate_text(metric->value, out, size);
    if (!strcmp(metric->unit, "ns"))
        return nm_units_format_duration((uint64_t)metric->value, out, size);
    nm_units_format_double(metric->value, 4, number, sizeof(number));
    snprintf(out, size, "%s%s", number, strcmp(metric->unit, "1/s") ? "" : "/s");
    return out;
}

/* "47.3 MB/s"; where bytes are not the result, its first metric: "players 12", "access 8.1 ms". */
static const char *result_text(const struct nm_trial_record *trial, char *out, size_t size)
{
    const struct nm_metric *first = trial->metrics ? trial->metrics->items : NULL;
    char value[48];

    if (trial->bytes || !first || !trial->metrics->count)
        return rate_text((double)trial->bytes * 1e9 / (double)trial->duration_ns, out, size);
    snprintf(out, size, "%s %s", first->name, metric_text(first, value, sizeof(value)));
    return out;
}

static void on_trial(void *context, const struct nm_trial_record *trial,
                     const struct nm_volume *volume)
{
    struct nm_progress *p = context;
    char result[80], time[24];

    if (p->quiet && trial->status != NM_STATUS_FAILED)
        return;
    clear_line(p);
    p->last_ns = nm_clock_now_ns();
    fprintf(stderr, "%s %s %s %s, pass %" PRIu32 ": ", volume->name, trial->protocol,
            trial->workload, trial->phase, trial->pass);
    if (trial->status == NM_STATUS_OK)
        fprintf(stderr, "%s in %s\n", result_text(trial, result, sizeof(result)),
                nm_units_format_duration(trial->duration_ns, time, sizeof(time)));
    else if (trial->status == NM_STATUS_NA)
        fputs("not applicable, the volume has no URL for it\n", stderr);
    else
        fprintf(stderr, "%s%s%s%s%s\n",
                p->color && trial->status == NM_STATUS_FAILED ? "\033[31m" : "",
                nm_status_name(trial->status),
                p->color && trial->status == NM_STATUS_FAILED ? "\033[0m" : "",
                trial->message ? ": " : "", trial->message ? trial->message : "");
}

static void on_warning(void *context, const char *text)
{
    struct nm_progress *p = context;

    clear_line(p);
    fprintf(stderr, "nasmark: warning: %s\n", text);
}

int nm_progress_new(const struct nm_plan *plan, bool quiet, bool color, struct nm_progress **ret,
                    struct nm_error *err)
{
    struct nm_progress *progress = calloc(1, sizeof(*progress));

    if (!progress)
        return nm_error_no_memory(err);
    progress->plan = plan;
    progress->quiet = quiet;
    progress->color = color;
    progress->terminal = isatty(STDERR_FILENO);
    progress->last_ns = nm_clock_now_ns();
    *ret = progress;
    return 0;
}

void nm_progress_free(struct nm_progress *progress)
{
    if (!progress)
        return;
    clear_line(progress);
    free(progress);
}

struct nm_campaign_view nm_progress_view(struct nm_progress *progress)
{
    return (struct nm_campaign_view){
        .on_begin = on_begin,
        .on_group = on_group,
        .on_trial = on_trial,
        .on_warning = on_warning,
        .on_progress = on_progress,
        .context = progress,
    };
}
