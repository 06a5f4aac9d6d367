/* Reading a partition table over a session (survey.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "survey.h"

#include "clock.h"

#include <errno.h>
#include <string.h>

struct survey {
    struct nm_session *session;
    struct nm_file *file;
    uint64_t timeout_ns;
    char *buffer;
    uint32_t io_bytes;
    _Atomic uint64_t *heartbeat_ns;
};

static int run_op(struct survey *survey, struct nm_op *op, struct nm_error *err)
{
    int64_t result = nm_session_run(survey->session, op, survey->timeout_ns);

    atomic_store(survey->heartbeat_ns, nm_clock_now_ns());
    if (result < 0 && err)
        *err = op->err;
    return result < 0 ? (int)result : 0;
}

static int read_part(void *context, uint64_t offset_bytes, void *buf, uint32_t length_bytes,
                     struct nm_error *err)
{
    struct survey *survey = context;

    for (uint32_t done = 0; done < length_bytes;) {
        uint32_t left = length_bytes - done;
        struct nm_op op = {.kind = NM_OP_READ,
                           .file = survey->file,
                           .offset_bytes = offset_bytes + done,
                           .length_bytes = left < survey->io_bytes ? left : survey->io_bytes,
                           .buf = survey->buffer};
        int r = run_op(survey, &op, err);

        if (r < 0)
            return r;
        if (op.result != (int64_t)op.length_bytes)
            return nm_error_set(
                err, -EIO, NM_REASON_CORRUPT, "reading at byte %llu gave %lld of %u bytes",
                (unsigned long long)op.offset_bytes, (long long)op.result, op.length_bytes);
        memcpy((char *)buf + done, survey->buffer, op.length_bytes);
        done += op.length_bytes;
    }
    return 0;
}

int nm_survey_run(struct nm_session *session, const struct nm_target_info *info,
                  uint64_t timeout_ns, void *buffer, uint32_t io_bytes,
                  _Atomic uint64_t *heartbeat_ns, struct nm_partition_table *ret,
                  struct nm_error *err)
{
    struct survey survey = {.session = session,
                            .timeout_ns = timeout_ns,
                            .buffer = buffer,
                            .io_bytes = io_bytes - io_bytes % info->block_bytes,
                            .heartbeat_ns = heartbeat_ns};
    const struct nm_disk disk = {.read = read_part,
                                 .context = &survey,
                                 .size_bytes = info->total_bytes,
                                 .sector_bytes = info->block_bytes};
    struct nm_op open = {.kind = NM_OP_OPEN, .path = "", .open_flags = NM_OPEN_READ};
    struct nm_error ignored;
    int r = run_op(&survey, &open, err);

    if (r < 0)
        return r;
    survey.file = open.file;
    r = nm_partition_read(&disk, ret, err);

    struct nm_op close = {.kind = NM_OP_CLOSE, .file = survey.file};

    (void)!run_op(&survey, &close, &ignored); /* nothing was written */
    return r;
}
