/* One stream of the workloads access, random and mixed (access.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "access.h"

#include "access_runs.h"
#include "random.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum stage {
    STAGE_OPEN,
    STAGE_OPENING,
    STAGE_RUN,
    STAGE_FLUSH,
    STAGE_FLUSHING,
    STAGE_CLOSE,
    STAGE_CLOSING,
    STAGE_END
};

struct stream {
    const struct nm_access *access;
    const struct nm_step *step; /* NULL: layout or pause */
    struct nm_workload_context context;
    bool layout, idle, warmup;
    enum stage stage;
    char path[128];
    struct nm_file *file;
    uint64_t random; /* state of the generator */
    uint64_t region_bytes, next_bytes;
    uint64_t pause_ns, until_ns;
    /* the current run */
    uint32_t run, runs;
    uint64_t run_begin_ns, run_end_ns, run_issued, run_limit_bytes, run_time_ns;
    unsigned in_flight;
    uint64_t run_bytes, run_operations, run_latency_sum_ns;
    bool run_full;
    /* results */
    uint64_t bytes;
    struct nm_access_runs results;
};

static int check_device(const struct nm_access *access, const struct nm_workload_context *context,
                        struct nm_error *err)
{
    if (context->block_bytes % context->unit_bytes)
        return nm_error_set(err, -EOPNOTSUPP, NM_REASON_UNSUPPORTED,
                            "n/a on blocks of %" PRIu32 " bytes: requests of %" PRIu32
                            " bytes are no multiple",
                            context->unit_bytes, context->block_bytes);
    if (access->options.size_bytes > context->capacity_bytes)
        return nm_error_set(err, -ENOSPC, NM_REASON_NO_SPACE,
                            "the device has %" PRIu64 " bytes, the workload needs %" PRIu64
                            "; lower its size",
                            context->capacity_bytes, access->options.size_bytes);
    return 0;
}

static void begin_run(struct stream *stream)
{
    const struct nm_access_options *options = &stream->access->options;

    stream->run_begin_ns = stream->run_issued = stream->run_bytes = 0;
    stream->run_operations = stream->run_latency_sum_ns = 0;
    stream->run_full = false;
    stream->run_time_ns = stream->layout   ? 0 /* all of it, however long that takes */
                          : stream->warmup ? options->warmup_ns
                                           : options->time_ns;
    stream->run_limit_bytes = stream->layout   ? stream->region_bytes
                              : stream->warmup ? 0
                                               : options->length_bytes / stream->context.streams;
}

int nm_access_start(const struct nm_workload *workload, const struct nm_workload_context *context,
                    size_t phase, unsigned index, void **ret_state, struct nm_error *err)
{
    const struct nm_access *access = (const struct nm_access *)workload;
    const char *name = access->phases[phase].name;
    int r = context->on_blocks ? check_device(access, context, err) : 0;
    struct stream *stream = r ? NULL : calloc(1, sizeof(*stream));

    if (!stream)
        return r ? r : nm_error_no_memory(err);
    stream->access = access;
    stream->context = *context;
    stream->layout = !phase;
    stream->warmup = !strcmp(name, "warm-up");
    stream->step = phase ? nm_access_step(access, phase) : NULL;
    stream->runs = access->phases[phase].role == NM_PHASE_MEASURED ? access->options.runs : 1;
    stream->random =
        context->seed + phase * UINT64_C(0x5851f42d4c957f2d) + index * UINT64_C(0x14057b7ef767814f);
    stream->region_bytes = access->options.size_bytes / context->block_bytes * context->block_bytes;
    if (stream->layout) /* whole file, by one stream */
        stream->region_bytes = access->options.size_bytes;
    if (stream->layout && context->on_blocks)
        stream->region_bytes -= stream->region_bytes % context->unit_bytes;
    stream->idle = stream->layout && (index || nm_workload_reads_as_found(context, access->writes));
    if (!strcmp(name, "pause")) {
        stream->idle = true;
        stream->pause_ns = access->options.pause_ns;
    }
    if (!stream->layout &&
        !stream->step->random) /* threads share the region, each from its own start */
        stream->next_bytes = stream->region_bytes / stream->context.block_bytes * index /
                             context->streams * stream->context.block_bytes;
    if (!context->on_blocks)
        nm_workload_path(context, 0, 0, stream->path, sizeof(stream->path));
    begin_run(stream);
    *ret_state = stream;
    return 0;
}

static bool writing(const struct stream *stream)
{
    return stream->layout || stream->step->read_percent < 100;
}

static enum nm_next open_file(struct stream *stream, struct nm_op *op)
{
    op->path = stream->path;
    op->open_flags = NM_OPEN_READ | (writing(stream) ? NM_OPEN_WRITE : 0);
    op->kind = stream->layout && !stream->context.on_blocks ? NM_OP_CREATE : NM_OP_OPEN;
    op->expected_bytes = stream->layout ? stream->region_bytes : 0;
    stream->stage = STAGE_OPENING;
    return NM_NEXT_OP;
}

static uint64_t next_offset(struct stream *stream, uint32_t length)
{
    uint64_t blocks = stream->region_bytes / stream->context.block_bytes, offset;

    if (!stream->layout && stream->step->random)
        return nm_random_next(&stream->random) % blocks * stream->context.block_bytes;
    offset = stream->next_bytes;
    stream->next_bytes += length;
    if (!stream->layout && stream->next_bytes + stream->context.block_bytes > stream->region_bytes)
        stream->next_bytes = 0;
    return offset;
}

/* Whether the current run may issue no more. */
static bool run_is_full(struct stream *stream, uint64_t now_ns)
{
    if (!stream->run_begin_ns)
        stream->run_begin_ns = now_ns;
    if (stream->run_limit_bytes && stream->run_issued >= stream->run_limit_bytes)
        stream->run_full = true;
    else if (stream->run_time_ns && now_ns - stream->run_begin_ns >= stream->run_time_ns) {
        stream->run_full = true;
        stream->results.by_time |= stream->run_limit_bytes > 0; /* else time is all there was */
    }
    return stream->run_full;
}

/* The last operation of a run is back. */
static void end_run(struct stream *stream)
{
    uint64_t elapsed_ns = stream->run_end_ns - stream->run_begin_ns;

    nm_access_runs_add(&stream->results, stream->run_bytes, stream->run_operations,
                       stream->run_latency_sum_ns, elapsed_ns);
    stream->run++;
    if (stream->run < stream->runs) {
        begin_run(stream);
        return;
    }
    stream->stage = writing(stream) ? STAGE_FLUSH : STAGE_CLOSE;
}

static enum nm_next issue(struct stream *stream, struct nm_op *op, uint64_t *pattern_bytes)
{
    uint32_t length = stream->context.block_bytes;
    bool read;

    if (stream->run_full)
        return NM_NEXT_WAIT;
    if (stream->layout && stream->region_bytes - stream->run_issued < length)
        length = (uint32_t)(stream->region_bytes - stream->run_issued);
    read =
        !stream->layout && (stream->step->read_percent == 100 ||
                            (stream->step->read_percent &&
                             nm_random_next(&stream->random) % 100 < stream->step->read_percent));
    op->kind = read ? NM_OP_READ : NM_OP_WRITE;
    op->discard = true;
    op->file = stream->file;
    op->offset_bytes = next_offset(stream, length);
    op->length_bytes = length;
    /* The same offset always holds the same data, so reads can be verified whatever was written
     * last; a device that is read as it was found holds nobody knows what. */
    *pattern_bytes = read && nm_workload_reads_as_found(&stream->context, stream->access->writes)
                         ? NM_NO_PATTERN
                         : op->offset_bytes;
    stream->run_issued += length;
    stream->in_flight++;
    return NM_NEXT_OP;
}

enum nm_next nm_access_next_op(void *state, uint64_t now_ns, struct nm_op *op,
                               uint64_t *pattern_bytes, uint64_t *wait_until_ns)
{
    struct stream *stream = state;

    *wait_until_ns = 0;
    if (stream->idle) {
        if (!stream->until_ns)
            stream->until_ns = now_ns + stream->pause_ns;
        *wait_until_ns = stream->until_ns;
        return now_ns < stream->until_ns ? NM_NEXT_WAIT : NM_NEXT_DONE;
    }
    switch (stream->stage) {
    case STAGE_OPEN: return open_file(stream, op);
    case STAGE_RUN:
        if (run_is_full(stream, now_ns) && !stream->in_flight) {
            end_run(stream); /* by time, with everything back already */
            return nm_access_next_op(state, now_ns, op, pattern_bytes, wait_until_ns);
        }
        return issue(stream, op, pattern_bytes);
    case STAGE_FLUSH:
    case STAGE_CLOSE:
        op->kind = stream->stage == STAGE_FLUSH ? NM_OP_FLUSH : NM_OP_CLOSE;
        op->file = stream->file;
        stream->stage++;
        return NM_NEXT_OP;
    case STAGE_END: return NM_NEXT_DONE;
    default: return NM_NEXT_WAIT;
    }
}

static int done_data(struct stream *stream, const struct nm_op *op, struct nm_error *err)
{
    stream->in_flight--;
    if (nm_workload_check_length(op, NM_SHORT_LAYOUT, err) < 0)
        return err->code;
    stream->bytes += op->length_bytes;
    stream->run_bytes += op->length_bytes;
    stream->run_operations++;
    stream->run_latency_sum_ns += op->done_ns - op->submit_ns;
    stream->run_end_ns = op->done_ns;
    if (stream->run_limit_bytes && stream->run_issued >= stream->run_limit_bytes)
        stream->run_full = true;
    if (stream->run_full && !stream->in_flight)
        end_run(stream);
    return 0;
}

int nm_access_done_op(void *state, struct nm_op *op, struct nm_error *err)
{
    struct stream *stream = state;

    if (op->result < 0) {
        *err = op->err;
        return (int)op->result;
    }
    switch (op->kind) {
    case NM_OP_READ:
    case NM_OP_WRITE: return done_data(stream, op, err);
    case NM_OP_OPEN:
    case NM_OP_CREATE:
        stream->file = op->file;
        stream->stage = STAGE_RUN;
        return 0;
    default: stream->stage++; return 0;
    }
}

void nm_access_finish(void *state, uint64_t elapsed_ns, struct nm_metrics *metrics,
                      uint64_t *ret_bytes, uint64_t *ret_files)
{
    struct stream *stream = state;

    (void)elapsed_ns;
    if (metrics && !stream->idle)
        nm_access_runs_metrics(&stream->results, metrics);
    *ret_bytes = stream->bytes;
    *ret_files = 0;
    free(stream);
}
