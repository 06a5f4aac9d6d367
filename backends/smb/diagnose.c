/* Why connecting failed, and who the server thinks we are (smb.h).
 *
 * libsmbclient answers EACCES for a wrong password, a forbidden share and a refused guest alike,
 * and ENOENT for a missing share and a missing directory. Further connections tell them apart; each
 * runs in a helper process, because a context's login and settings are per process.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "smb.h"

#include "clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct question {
    struct nm_smb_target target;
    int answer;
    char shares[256];
};

static void ask_login(void *shared)
{
    struct question *question = shared;

    question->answer = nm_smb_client_login(&question->target);
}

static void ask_shares(void *shared)
{
    struct question *question = shared;

    question->answer =
        nm_smb_client_shares(&question->target, question->shares, sizeof(question->shares));
}

static int ask(const struct nm_smb_target *target, void (*work)(void *), uint64_t deadline_ns,
               char *shares, size_t size)
{
    struct question *question = nm_smb_shared_alloc(sizeof(*question));
    int r;

    if (!question)
        return -ENOMEM;
    question->target = *target;
    r = nm_smb_help(work, question, deadline_ns, target->label, NULL);
    if (r == 0)
        r = question->answer;
    if (r == 0 && shares)
        snprintf(shares, size, "%s", question->shares);
    nm_smb_shared_free(question, sizeof(*question));
    return r;
}

/* A guest has no key to sign with, so a login that fails only when signatures are demanded was
 * none. */
int nm_smb_is_guest(const struct nm_smb_target *target, uint64_t deadline_ns)
{
    struct nm_smb_target strict = *target;
    int r;

    strict.options.signing = NM_SMB_REQUIRED;
    strict.options.encryption = NM_SMB_DEFAULT;
    r = nm_smb_home_create(&strict.home, &strict.options, strict.dialect_min, strict.dialect_max,
                           NULL);
    if (r < 0)
        return r;
    r = ask(&strict, ask_login, deadline_ns, NULL, 0);
    nm_smb_home_remove(&strict.home);
    return r == -EACCES ? 1 : r;
}

static void explain_denied(const struct nm_smb_target *target, bool reached, uint64_t deadline_ns,
                           struct nm_error *err)
{
    const char *user = *target->user ? target->user : "guest";
    const char *share = target->how.url->share;
    char raw[sizeof(err->raw)];

    memcpy(raw, err->raw, sizeof(raw));
    if (reached)
        nm_error_set(err, -EACCES, NM_REASON_AUTH,
                     "user \"%s\" is logged in, but may not read the directory \"%s\"", user,
                     target->how.url->path);
    else if (ask(target, ask_login, deadline_ns, NULL, 0) < 0)
        nm_error_set(err, -EACCES, NM_REASON_AUTH,
                     "authentication failed: wrong user name or password for \"%s\"%s", user,
                     *target->user ? "" : "; the server wants a user, name one in the URL");
    else if (!*target->user)
        nm_error_set(err, -EACCES, NM_REASON_AUTH,
                     "the share \"%s\" does not take guests; name a user in the URL", share);
    else if (nm_smb_is_guest(target, deadline_ns) == 1)
        nm_error_set(err, -EACCES, NM_REASON_AUTH,
                     "authentication failed: the server does not know \"%s\", it offered a guest "
                     "login, and guests may not use the share \"%s\"",
                     user, share);
    else
        nm_error_set(err, -EACCES, NM_REASON_AUTH,
                     "user \"%s\" is logged in, but may not use the share \"%s\"%s", user, share,
                     target->options.encryption == NM_SMB_OFF
                         ? "; it may demand encryption, which smb.encryption = off rules out"
                     : target->dialect_max < NM_SMB_3_00
                         ? "; it may demand encryption, which needs SMB3_00 or later"
                         : "");
    nm_error_raw(err, "%s", raw);
}

static void explain_missing(const struct nm_smb_target *target, bool reached, uint64_t deadline_ns,
                            struct nm_error *err)
{
    const struct nm_url *url = target->how.url;
    char shares[256], raw[sizeof(err->raw)];

    memcpy(raw, err->raw, sizeof(raw));
    if (reached)
        nm_error_set(err, -ENOENT, NM_REASON_NOT_FOUND,
                     "there is no directory \"%s\" in the share \"%s\"; create it first", url->path,
                     url->share);
    else if (ask(target, ask_shares, deadline_ns, shares, sizeof(shares)) == 0 && *shares)
        nm_error_set(err, -ENOENT, NM_REASON_NOT_FOUND,
                     "there is no share \"%s\"; the server offers: %s", url->share, shares);
    else
        nm_error_set(err, -ENOENT, NM_REASON_NOT_FOUND,
                     "there is no share \"%s\" (the server does not tell which there are)",
                     url->share);
    nm_error_raw(err, "%s", raw);
}

void nm_smb_diagnose(const struct nm_smb_target *target, bool reached, uint64_t deadline_ns,
                     struct nm_error *err)
{
    if (err->code == -EINVAL && target->dialect_max == NM_SMB_NT1)
        nm_error_set(err, -EPROTONOSUPPORT, NM_REASON_UNSUPPORTED,
                     "the server does not speak SMB1 (NT1); set smb.protocol_max = SMB3_11");
    else if (err->code == -EACCES)
        explain_denied(target, reached, deadline_ns, err);
    else if (err->code == -ENOENT)
        explain_missing(target, reached, deadline_ns, err);
}
