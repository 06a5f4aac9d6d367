/* The row of the SMB backend: options, connect, describe, disconnect (smb.h).
 *
 * Runs inside a worker. Everything that may block or that touches libsmbclient happens in helper
 * processes and lanes, except when the worker itself is the only lane.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "smb.h"

#include "clock.h"

#include <errno.h>
#include <libsmbclient.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

static const char *const demand_words[] = {"default", "required", "off", NULL};

static const struct nm_option option_table[] = {
    {
        .name = "protocol_min",
        .type = NM_OPTION_ENUM,
        .offset = offsetof(struct nm_smb_options, protocol_min),
        .preset = "SMB2_02",
        .values = nm_smb_dialect_names,
        .help = "oldest protocol version; SMB1 is used only when NT1 stands here",
    },
    {
        .name = "protocol_max",
        .type = NM_OPTION_ENUM,
        .offset = offsetof(struct nm_smb_options, protocol_max),
        .preset = "SMB3_11",
        .values = nm_smb_dialect_names,
        .help = "newest protocol version; equal to protocol_min it pins the version",
    },
    {
        .name = "signing",
        .type = NM_OPTION_ENUM,
        .offset = offsetof(struct nm_smb_options, signing),
        .preset = "default",
        .values = demand_words,
        .help = "signed packets: as the server wants, always, or never (refused where the server "
                "insists)",
    },
    {
        .name = "encryption",
        .type = NM_OPTION_ENUM,
        .offset = offsetof(struct nm_smb_options, encryption),
        .preset = "default",
        .values = demand_words,
        .help = "encrypted packets: as the share wants, always, or never (refused where the share "
                "insists)",
    },
    {
        .name = "lanes",
        .type = NM_OPTION_UINT,
        .offset = offsetof(struct nm_smb_options, lanes),
        .preset = "auto",
        .max = NM_SMB_LANES_MAX,
        .zero_word = "auto",
        .help = "connections per stream; auto: 1 at depth 1, else up to 4 over all streams",
    },
};

const struct nm_option_section nm_smb_options = {
    .name = "smb",
    .help = "SMB through libsmbclient",
    .options = option_table,
    .n_options = NM_OPTION_COUNT(option_table),
    .size = sizeof(struct nm_smb_options),
};

/* ---- connect ---- */

#define LANES_AUTO 4u

/* More than a handful of connections gains nothing and meets the limits of small servers: streams
 * share the number. */
static unsigned count_lanes(const struct nm_smb_target *target)
{
    const struct nm_connect *how = &target->how;
    unsigned lanes = target->options.lanes;

    if (!lanes)
        lanes = how->streams > 1 ? LANES_AUTO / how->streams : LANES_AUTO;
    if (lanes > how->depth)
        lanes = how->depth;
    return lanes ? lanes : 1;
}

static char *make_label(const struct nm_url *url)
{
    char *host = nm_url_host_port(url), *label = NULL;

    if (host &&
        asprintf(&label, "smb://%s/%s%s%s", host, url->share, *url->path ? "/" : "", url->path) < 0)
        label = NULL;
    free(host);
    return label;
}

static int fill_target(struct nm_smb_target *target, const struct nm_connect *how,
                       struct nm_error *err)
{
    static const struct nm_credentials nobody = {0};
    const struct nm_credentials *who = how->credentials ? how->credentials : &nobody;

    target->how = *how;
    target->options = *(const struct nm_smb_options *)how->options;
    target->user = who->user ? who->user : how->url->user ? how->url->user : "";
    target->password = who->password ? who->password : "";
    target->domain = who->domain ? who->domain : how->url->domain;
    if (strlen(target->user) >= NM_SMB_SECRET_MAX || strlen(target->password) >= NM_SMB_SECRET_MAX)
        return nm_error_set(err, -EINVAL, NM_REASON_AUTH,
                            "user names and passwords of %u bytes and more cannot be used over SMB",
                            NM_SMB_SECRET_MAX);
    if (target->options.protocol_min > target->options.protocol_max)
        return nm_error_set(err, -EINVAL, NM_REASON_UNSUPPORTED,
                            "smb.protocol_min = %s is newer than smb.protocol_max = %s",
                            nm_smb_dialect_names[target->options.protocol_min],
                            nm_smb_dialect_names[target->options.protocol_max]);
    target->url = nm_smb_target_url(how->url, true);
    target->root_url = nm_smb_target_url(how->url, false);
    target->label = make_label(how->url);
    if (!target->url || !target->root_url || !target->label)
        return nm_error_no_memory(err);
    return nm_smb_check_path(how->url->path, err);
}

struct scouting {
    const struct nm_smb_target *target;
    uint64_t deadline_ns;
    int result;
    struct nm_smb_server server;
    struct nm_error err;
};

static void scout(void *shared)
{
    struct scouting *scouting = shared;
    const struct nm_smb_options *options = &scouting->target->options;
    const struct nm_url *url = scouting->target->how.url;
    uint16_t port = url->port ? url->port : NM_SMB_PORT;
    struct nm_smb_server any;
    char text[sizeof(scouting->err.text)];

    scouting->result =
        nm_smb_negotiate(url->host, port, options->protocol_min, options->protocol_max,
                         scouting->deadline_ns, &scouting->server, &scouting->err);
    if (scouting->result != -EPROTONOSUPPORT || !*scouting->err.raw ||
        nm_smb_negotiate(url->host, port, NM_SMB_2_02, NM_SMB_3_11, scouting->deadline_ns, &any,
                         NULL) < 0)
        return;
    memcpy(text, scouting->err.text, sizeof(text));
    snprintf(scouting->err.text, sizeof(scouting->err.text), "%.400s; left alone it chooses %s",
             text, nm_smb_dialect_names[any.dialect]);
}

/* Negotiates and pins the protocol version. */
static int meet_server(struct nm_smb_session *session, uint64_t deadline_ns, struct nm_error *err)
{
    struct nm_smb_target *target = &session->target;
    struct scouting *scouting;
    int r;

    target->dialect_min = target->dialect_max = session->server.dialect = NM_SMB_NT1;
    session->server.clock_skew_ms = INT64_MIN;
    if (target->options.protocol_max == NM_SMB_NT1)
        return 0;
    scouting = nm_smb_shared_alloc(sizeof(*scouting));
    if (!scouting)
        return nm_error_no_memory(err);
    scouting->target = target;
    scouting->deadline_ns = deadline_ns;
    r = nm_smb_help(scout, scouting, deadline_ns + NM_NS_PER_S / 10, "negotiation", err);
    if (r == 0 && scouting->result == 0) {
        session->server = scouting->server;
        target->dialect_min = target->dialect_max = scouting->server.dialect;
    } else if (r == 0 && !(scouting->result == -EPROTONOSUPPORT &&
                           target->options.protocol_min == NM_SMB_NT1)) {
        r = scouting->result;
        if (err)
            *err = scouting->err;
    }
    nm_smb_shared_free(scouting, sizeof(*scouting));
    return r;
}

/* What was demanded and cannot be had is refused; the library would go on without it. */
static int check_demands(const struct nm_smb_session *session, struct nm_error *err)
{
    const struct nm_smb_options *options = &session->target.options;

    if (options->signing == NM_SMB_OFF && session->server.signing_required)
        return nm_error_set(err, -EOPNOTSUPP, NM_REASON_UNSUPPORTED,
                            "the server insists on signing; smb.signing = off is not possible");
    if (options->encryption == NM_SMB_REQUIRED && !session->server.cipher)
        return nm_error_set(err, -EOPNOTSUPP, NM_REASON_UNSUPPORTED,
                            "the server cannot encrypt with %s; smb.encryption = required needs "
                            "SMB3_00 or later",
                            nm_smb_dialect_names[session->server.dialect]);
    return 0;
}

static void smb_disconnect(struct nm_session *base)
{
    struct nm_smb_session *session = (struct nm_smb_session *)base;

    if (!session)
        return;
    nm_smb_lanes_stop(&session->lanes, nm_clock_now_ns() + session->target.how.timeout_ns);
    nm_smb_lanes_done(&session->lanes);
    nm_smb_pool_done(session);
    nm_smb_home_remove(&session->target.home);
    free(session->target.url);
    free(session->target.root_url);
    free(session->target.label);
    free(session);
}

static int start_lanes(struct nm_smb_session *session, uint64_t deadline_ns, struct nm_error *err)
{
    struct nm_smb_target *target = &session->target;
    unsigned lanes = count_lanes(target);
    int r = nm_smb_home_create(&target->home, &target->options, target->dialect_min,
                               target->dialect_max, err);

    if (r < 0)
        return r;
    session->n_slots = target->how.depth * (lanes > 2 ? lanes : 2) + 2 * lanes;
    if (session->n_slots >= NM_SMB_RING_SLOTS)
        session->n_slots = NM_SMB_RING_SLOTS - 1;
    r = nm_smb_pool_init(session, err);
    if (r < 0)
        return r;
    r = nm_smb_lanes_start(&session->lanes, target, lanes, session->n_slots, deadline_ns, err);
    if (r < 0) {
        bool reached = session->lanes.shared && session->lanes.shared->logged_in;

        nm_smb_lanes_stop(&session->lanes, 0);
        nm_smb_diagnose(target, reached, deadline_ns, err);
    }
    nm_smb_home_remove(&target->home); /* it was read; a killed process leaves none behind */
    return r;
}

static int smb_connect(const struct nm_connect *how, struct nm_session **ret_session,
                       struct nm_error *err)
{
    struct nm_smb_session *session = calloc(1, sizeof(*session));
    uint64_t deadline_ns = nm_clock_now_ns() + how->timeout_ns;
    struct nm_error cause = {0};
    int r;

    if (!session)
        return nm_error_set(err, -ENOMEM, NM_REASON_CLIENT_LIMIT, "smb: out of memory");
    r = fill_target(&session->target, how, &cause);
    if (r == 0)
        r = meet_server(session, deadline_ns, &cause);
    if (r == 0)
        r = check_demands(session, &cause);
    if (r == 0)
        r = start_lanes(session, deadline_ns, &cause);
    if (r < 0) {
        if (session->target.label)
            nm_error_prefix(&cause, "%s", session->target.label);
        if (err)
            *err = cause;
        smb_disconnect(&session->base);
        return r;
    }
    *ret_session = &session->base;
    return 0;
}

/* ---- describe ---- */

static const char *login_of(const struct nm_smb_session *session, const struct nm_smb_info *info)
{
    const struct nm_smb_target *target = &session->target;

    /* Where packets are signed or encrypted, the login cannot be a guest's. */
    if (strcmp(info->login, "user") || info->encrypted || session->server.signing_required ||
        target->options.signing == NM_SMB_REQUIRED)
        return info->login;
    switch (nm_smb_is_guest(target, nm_clock_now_ns() + target->how.timeout_ns)) {
    case 0: return "user";
    case 1: return "guest-fallback";
    default: return "unknown";
    }
}

static void format_guid(const unsigned char guid[16], char out[33])
{
    for (int i = 0; i < 16; i++)
        snprintf(out + 2 * i, 3, "%02x", guid[i]);
}

static uint32_t largest_request(const struct nm_smb_session *session)
{
    const struct nm_smb_server *server = &session->server;
    uint32_t bytes = server->max_read_bytes < server->max_write_bytes ? server->max_read_bytes
                                                                      : server->max_write_bytes;

    return bytes < NM_SMB_CALL_BYTES ? bytes : NM_SMB_CALL_BYTES;
}

static const char *signing_of(const struct nm_smb_session *session, const struct nm_smb_info *info)
{
    const struct nm_smb_server *server = &session->server;
    bool required = session->target.options.signing == NM_SMB_REQUIRED;

    if (info->encrypted)
        return "by encryption";
    if (server->dialect == NM_SMB_NT1) /* we have not seen what the server wants */
        return required ? "HMAC-MD5" : "unknown";
    return required || server->signing_required ? nm_smb_signing_name(server->signing_algorithm)
                                                : "off";
}

/* AES-CMAC and AES-CCM have no fast code in libsmbclient 4.17: 220 to 410 MB/s on a machine that
 * reaches 1000 and more with every other algorithm. */
static bool is_slow(const struct nm_smb_session *session, const struct nm_smb_info *info)
{
    int dialect = session->server.dialect;

    return (dialect == NM_SMB_3_00 || dialect == NM_SMB_3_02) &&
           (info->encrypted || session->server.signing_required ||
            session->target.options.signing == NM_SMB_REQUIRED);
}

static void set_conditions(const struct nm_smb_session *session, const struct nm_smb_info *info,
                           struct nm_conditions *set)
{
    const struct nm_smb_server *server = &session->server;
    uint32_t block_bytes = session->target.how.block_bytes, largest = largest_request(session);
    const char *login = login_of(session, info);
    char guid[33];

    nm_conditions_set(set, "flush", "ack");
    nm_conditions_set(set, "lib.smbclient", "%s", smbc_version());
    nm_conditions_set(set, "smb.dialect", "%s", nm_smb_dialect_names[server->dialect]);
    nm_conditions_set(set, "smb.lanes", "%u", session->lanes.count);
    nm_conditions_set(set, "smb.session", "%s", login);
    nm_conditions_set(set, "smb.encryption", "%s", info->encrypted ? "on" : "off");
    if (info->encrypted)
        nm_conditions_set(set, "smb.cipher", "%s", nm_smb_cipher_name(server->cipher));
    nm_conditions_set(set, "smb.signing", "%s", signing_of(session, info));
    if (!strcmp(login, "guest-fallback"))
        nm_conditions_set(set, "server.warning",
                          "the server does not know the user \"%.30s\": the session is a guest's",
                          session->target.user);
    else if (is_slow(session, info))
        nm_conditions_set(set, "server.warning",
                          "%s signs or encrypts slowly in this client: the figures are its limit",
                          nm_smb_dialect_names[server->dialect]);
    if (server->dialect == NM_SMB_NT1)
        return;
    format_guid(server->guid, guid);
    nm_conditions_set(set, "smb.server", "%s", guid);
    nm_conditions_set(set, "smb.request_bytes", "%u",
                      block_bytes && block_bytes < largest ? block_bytes : largest);
    if (server->clock_skew_ms != INT64_MIN)
        nm_conditions_set(set, "smb.clock_skew_ms", "%lld", (long long)server->clock_skew_ms);
}

static int smb_describe(struct nm_session *base, struct nm_target_info *ret_info,
                        struct nm_conditions *conditions, struct nm_error *err)
{
    struct nm_smb_session *session = (struct nm_smb_session *)base;
    struct nm_smb_info info;
    char guid[33];
    int r = nm_smb_queue_info(session, &info, err);

    if (r < 0)
        return r;
    format_guid(session->server.guid, guid);
    *ret_info = (struct nm_target_info){
        .total_bytes = info.total_bytes,
        .free_bytes = info.free_bytes,
        .block_bytes = 1,
        .writable = !info.read_only,
    };
    if (session->server.dialect == NM_SMB_NT1) /* neither a GUID nor a file number to rely on */
        snprintf(ret_info->identity, sizeof(ret_info->identity), "%s", session->target.label);
    else
        snprintf(ret_info->identity, sizeof(ret_info->identity), "smb %s/%s#%llx", guid,
                 session->target.how.url->share, (unsigned long long)info.root_id);
    set_conditions(session, &info, conditions);
    return 0;
}

static uint64_t smb_helpers_cpu_ns(struct nm_session *base)
{
    return nm_smb_lanes_cpu_ns(&((struct nm_smb_session *)base)->lanes);
}

const struct nm_backend_ops nm_backend_smb = {
    .name = "smb",
    .help = "SMB2 and SMB3 shares (SMB1 on demand) through libsmbclient",
    .protocol = NM_PROTOCOL_SMB,
    .supports = NM_OP_MASK_ALL,
    .traits = NM_TRAIT_FILES | NM_TRAIT_ASYNC | NM_TRAIT_NO_FLUSH,
    .options = &nm_smb_options,
    .connect = smb_connect,
    .disconnect = smb_disconnect,
    .describe = smb_describe,
    .submit = nm_smb_queue_submit,
    .reap = nm_smb_queue_reap,
    .cancel = nm_smb_queue_cancel,
    .helpers_cpu_ns = smb_helpers_cpu_ns,
};
