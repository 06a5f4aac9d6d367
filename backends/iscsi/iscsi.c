/* The iSCSI backend: a LUN as one block device, through libiscsi (session.h). This file connects,
 * describes, claims and releases; it never writes without a claim.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "session.h"

#include "blank.h"
#include "clock.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct nm_option options[] = {
    {.name = "allow_destroy",
     .type = NM_OPTION_LIST,
     .offset = offsetof(struct nm_iscsi_options, allow_destroy),
     .help = "LUNs that may be overwritten although they are not blank, as IQN/LUN; exactly these"},
    {.name = "sessions",
     .type = NM_OPTION_UINT,
     .offset = offsetof(struct nm_iscsi_options, sessions),
     .preset = "1",
     .min = 1,
     .max = NM_ISCSI_SESSIONS_MAX,
     .help = "iSCSI sessions (TCP connections) per stream; requests are spread over them"},
    {.name = "prefill",
     .type = NM_OPTION_BOOL,
     .offset = offsetof(struct nm_iscsi_options, prefill),
     .preset = "yes",
     .help = "write what is to be read before, on a raw LUN that may be overwritten; blocks of a "
             "thin LUN that were never written come from no disk"},
    {.name = "initiator",
     .type = NM_OPTION_STRING,
     .offset = offsetof(struct nm_iscsi_options, initiator),
     .help = "initiator name to log in with; default iqn.2026-01.org.nasmark:HOSTNAME"},
};

const struct nm_option_section nm_iscsi_section = {
    .name = "iscsi",
    .help = "LUNs over iSCSI",
    .options = options,
    .n_options = NM_OPTION_COUNT(options),
    .size = sizeof(struct nm_iscsi_options),
};

static void set_initiator(struct nm_iscsi_session *session)
{
    char host[65] = "client";
    size_t n;

    if (session->options->initiator) {
        snprintf(session->initiator, sizeof(session->initiator), "%s", session->options->initiator);
        return;
    }
    if (gethostname(host, sizeof(host)) < 0)
        snprintf(host, sizeof(host), "client");
    host[sizeof(host) - 1] = '\0';
    n = (size_t)snprintf(session->initiator, sizeof(session->initiator),
                         "iqn.2026-01.org.nasmark:");
    for (const char *p = host; *p && n + 1 < sizeof(session->initiator); p++)
        session->initiator[n++] =
            (char)(isalnum((unsigned char)*p) || *p == '.' ? tolower(*p) : '-');
    session->initiator[n] = '\0';
}

static void disconnect(struct nm_session *base)
{
    struct nm_iscsi_session *session = (struct nm_iscsi_session *)base;

    if (!session)
        return;
    for (unsigned i = 0; i < NM_ISCSI_SESSIONS_MAX; i++)
        nm_iscsi_conn_close(&session->conns[i], !session->failure.code);
    nm_iscsi_queue_done(session);
    free(session);
}

static int check_names(const struct nm_iscsi_session *session, struct nm_error *err)
{
    if (strlen(session->url->share) > 223)
        return nm_error_set(err, -EINVAL, NM_REASON_UNSUPPORTED,
                            "%s: an iSCSI name has at most 223 characters", session->target);
    if (session->options->initiator && strlen(session->options->initiator) > 223)
        return nm_error_set(err, -EINVAL, NM_REASON_UNSUPPORTED,
                            "[iscsi] initiator: an iSCSI name has at most 223 characters");
    return 0;
}

static int iscsi_connect(const struct nm_connect *how, struct nm_session **ret_session,
                         struct nm_error *err)
{
    static const struct nm_credentials nobody;
    struct nm_iscsi_session *session = calloc(1, sizeof(*session));
    int r;

    if (!session)
        return nm_error_errno(err, -ENOMEM, "iscsi: no memory for a session");
    session->url = how->url;
    session->credentials = how->credentials ? how->credentials : &nobody;
    session->options = how->options;
    session->timeout_ns = how->timeout_ns;
    session->buffers = how->buffers;
    session->n_conns = session->options->sessions;
    if (session->n_conns < 1 || session->n_conns > NM_ISCSI_SESSIONS_MAX)
        session->n_conns = 1;
    session->lun = nm_scsi_encode_lun(how->url->lun);
    snprintf(session->volume, sizeof(session->volume), "%s", how->volume ? how->volume : "");
    snprintf(session->target, sizeof(session->target), "%s/%u", how->url->share, how->url->lun);
    set_initiator(session);
    r = check_names(session, err);
    for (unsigned i = 0; i < session->n_conns && !r; i++) {
        r = nm_iscsi_conn_open(session, &session->conns[i], err);
        if (!r && i == 0)
            r = nm_iscsi_probe(session, err);
    }
    session->device =
        (struct nm_file){.session = &session->base, .size_bytes = session->size_bytes};
    if (!r)
        r = nm_iscsi_queue_init(session, how->depth, how->block_bytes, err);
    if (r < 0) {
        disconnect(&session->base);
        return r;
    }
    *ret_session = &session->base;
    return 0;
}

static int describe(struct nm_session *base, struct nm_target_info *info,
                    struct nm_conditions *conditions, struct nm_error *err)
{
    struct nm_iscsi_session *session = (struct nm_iscsi_session *)base;
    const struct nm_iscsi_negotiated *n = &session->conns[0].negotiated;
    const struct nm_scsi_inquiry *q = &session->inquiry;

    if (session->failure.code) {
        if (err)
            *err = session->failure;
        return session->failure.code;
    }
    *info = (struct nm_target_info){.total_bytes = session->size_bytes,
                                    .free_bytes = session->size_bytes,
                                    .block_bytes = session->capacity.block_bytes,
                                    .physical_bytes = session->capacity.physical_bytes,
                                    .offset_bytes = session->capacity.offset_bytes,
                                    .writable = !session->write_protected,
                                    .prefill = session->options->prefill};
    /* Cut on purpose; no LUN is known whose name and serial differ only behind byte 90. */
    snprintf(info->identity, sizeof(info->identity), "%.90s%s%.60s",
             session->naa[0] ? session->naa : session->target, session->serial[0] ? " serial " : "",
             session->serial);
    nm_conditions_set(conditions, "lib.iscsi", "%s", NM_ISCSI_LIBRARY_VERSION);
    nm_conditions_set(conditions, "fs", "raw");
    nm_conditions_set(conditions, "iscsi.portal", "%s", session->conns[0].portal);
    nm_conditions_set(conditions, "iscsi.product", "%s %s %s", q->vendor, q->product, q->revision);
    nm_conditions_set(conditions, "iscsi.identity", "%s", info->identity);
    nm_conditions_set(conditions, "iscsi.capacity", "%llu",
                      (unsigned long long)session->size_bytes);
    nm_conditions_set(conditions, "iscsi.block_bytes", "%u", session->capacity.block_bytes);
    nm_conditions_set(conditions, "iscsi.max_transfer", "%u", session->limit_bytes);
    nm_conditions_set(conditions, "iscsi.request_bytes", "%u", session->command_bytes);
    nm_conditions_set(conditions, "iscsi.sessions", "%u", session->n_conns);
    nm_conditions_set(conditions, "iscsi.header_digest", n->header_digest ? "crc32c" : "none");
    nm_conditions_set(conditions, "iscsi.data_digest", "none"); /* libiscsi 1.19 has none */
    nm_conditions_set(conditions, "iscsi.chap", "%s", nm_iscsi_chap(session));
    if (n->segment_bytes)
        nm_conditions_set(conditions, "iscsi.segment_bytes", "%u", n->segment_bytes);
    else
        nm_conditions_set(conditions, "iscsi.segment_bytes", "unknown");
    nm_conditions_set(conditions, "iscsi.provisioning", session->capacity.thin ? "thin" : "full");
    nm_conditions_set(conditions, "iscsi.write_cache",
                      session->write_cache < 0 ? "unknown"
                      : session->write_cache   ? "on"
                                               : "off");
    nm_conditions_set(conditions, "iscsi.retries", "%llu", (unsigned long long)session->retries);
    return 0;
}

static bool unmapped(void *context, uint64_t offset_bytes, uint64_t *ret_bytes)
{
    struct nm_iscsi_session *session = context;
    uint32_t block_bytes = session->capacity.block_bytes;
    bool is_unmapped = false;

    *ret_bytes = (uint64_t)nm_iscsi_lba_status(session, offset_bytes / block_bytes, &is_unmapped) *
                 block_bytes;
    return is_unmapped;
}

static struct nm_blank as_blank(struct nm_iscsi_session *session)
{
    return (struct nm_blank){.session = &session->base,
                             .size_bytes = session->size_bytes,
                             .block_bytes = session->capacity.block_bytes,
                             .depth = session->n_ios - 1,
                             .io_bytes = 1u << 20,
                             .timeout_ns = session->timeout_ns,
                             .unmapped = session->lba_status ? unmapped : NULL,
                             .context = session};
}

/* Whether the user named exactly this LUN. */
static bool may_destroy(const struct nm_iscsi_session *session)
{
    const char *word = session->options->allow_destroy;
    size_t n = strlen(session->target);

    while (word && *word) {
        size_t length = strcspn(word, " ");

        if (length == n && !memcmp(word, session->target, n))
            return true;
        word += length + (word[length] == ' ');
    }
    return false;
}

static int claim(struct nm_session *base, volatile double *done_fraction, struct nm_error *err)
{
    struct nm_iscsi_session *session = (struct nm_iscsi_session *)base;
    struct nm_blank blank = as_blank(session);
    char what[240];
    int r;

    if (session->write_protected)
        return nm_error_set(err, -EROFS, NM_REASON_READ_ONLY,
                            "%s: the LUN is write-protected; allow writing on the NAS or run "
                            "read-only workloads",
                            session->target);
    if (!base->unclaimed || may_destroy(session))
        return 0;
    r = nm_blank_check(&blank, done_fraction, what, sizeof(what), err);
    if (r == -EPERM)
        nm_error_set(err, r, NM_REASON_PROTECTED,
                     "%s%s%s: the LUN is not blank: %s; nothing was written. If it may be "
                     "destroyed, set [iscsi] allow_destroy = %s",
                     session->volume, session->volume[0] ? ": " : "", session->target, what,
                     session->target);
    return r;
}

static int release(struct nm_session *base, uint64_t end_bytes, struct nm_error *err)
{
    struct nm_blank blank = as_blank((struct nm_iscsi_session *)base);

    return nm_blank_wipe_ends(&blank, end_bytes, err);
}

static bool suits(const struct nm_url *url)
{
    const char *fs = nm_url_arg(url, "fs");

    return !fs || !strcmp(fs, "raw");
}

static uint64_t repeats(struct nm_session *base)
{
    return ((struct nm_iscsi_session *)base)->retries;
}

const struct nm_backend_ops nm_backend_iscsi = {
    .name = "iscsi",
    .help = "a LUN over iSCSI as a block device (libiscsi)",
    .protocol = NM_PROTOCOL_ISCSI,
    .supports = NM_OP_MASK_BLOCK,
    .traits = NM_TRAIT_BLOCKS | NM_TRAIT_ASYNC,
    .options = &nm_iscsi_section,
    .auto_block_bytes = 256 * 1024,
    .suits = suits,
    .connect = iscsi_connect,
    .disconnect = disconnect,
    .describe = describe,
    .submit = nm_iscsi_submit,
    .reap = nm_iscsi_reap,
    .cancel = nm_iscsi_cancel,
    .claim = claim,
    .release = release,
    .repeats = repeats,
};
