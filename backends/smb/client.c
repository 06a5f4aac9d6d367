/* The life of a libsmbclient context: settings, login, end (smb.h).
 *
 * Facts of libsmbclient 4.17.12 that shape this file:
 * - It reads $HOME/.smb/smb.conf once per process, at the first context.
 * - Before every operation on a path it may send an ECHO and silently reconnect when that fails.
 *   A measurement must not hide that, so our check hook always says "still good".
 * - Only errno comes back. The server's own status passes by in a log line of level 3
 *   ("cli_status_to_errno: 0xc000003a -> 2"); nothing else is logged there while all goes well.
 * - A context whose server hangs waits a timeout for every open file when it is freed.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "client.h"

#include "clock.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool tainted;

bool nm_smb_client_tainted(void)
{
    return tainted;
}

/* ---- hooks of the library ---- */

static void take_log(void *private_data, int level, const char *message)
{
    struct nm_smb_client *client = private_data;
    const char *status = strstr(message, "cli_status_to_errno: 0x");
    const char *refusal = strstr(message, "SPNEGO login failed: ");

    (void)level;
    if (status)
        client->status = (uint32_t)strtoul(strchr(status, ' '), NULL, 16);
    if (refusal)
        snprintf(client->refusal, sizeof(client->refusal), "%.*s",
                 (int)strcspn(strstr(refusal, ": ") + 2, ".\n"), strstr(refusal, ": ") + 2);
}

static void authenticate(SMBCCTX *context, const char *server, const char *share, char *domain,
                         int domain_size, char *user, int user_size, char *password,
                         int password_size)
{
    const struct nm_smb_client *client = smbc_getOptionUserData(context);

    (void)server;
    (void)share;
    if (client->target->domain)
        snprintf(domain, (size_t)domain_size, "%s", client->target->domain);
    snprintf(user, (size_t)user_size, "%s", client->user);
    snprintf(password, (size_t)password_size, "%s", client->password);
}

static int server_is_good(SMBCCTX *context, SMBCSRV *server)
{
    (void)context;
    (void)server;
    return 0;
}

/* Called when a share was reached: the login is then beyond doubt. */
static int note_server(SMBCCTX *context, SMBCSRV *server, const char *name, const char *share,
                       const char *workgroup, const char *user)
{
    struct nm_smb_client *client = smbc_getOptionUserData(context);

    client->logged_in = true;
    return client->add_server(context, server, name, share, workgroup, user);
}

/* ---- opening and closing the context ---- */

static void find_functions(struct nm_smb_client *client)
{
    SMBCCTX *context = client->context;

    client->open = smbc_getFunctionOpen(context);
    client->close = smbc_getFunctionClose(context);
    client->read = smbc_getFunctionRead(context);
    client->write = smbc_getFunctionWrite(context);
    client->lseek = smbc_getFunctionLseek(context);
    client->fstat = smbc_getFunctionFstat(context);
    client->stat = smbc_getFunctionStat(context);
    client->add_server = smbc_getFunctionAddCachedServer(context);
}

static SMBCCTX *new_context(struct nm_smb_client *client)
{
    const struct nm_smb_target *target = client->target;
    uint64_t timeout_ms = target->how.timeout_ns / NM_NS_PER_MS;
    SMBCCTX *context = smbc_new_context();

    if (!context)
        return NULL;
    client->context = context;
    find_functions(client);
    smbc_setDebug(context, 3);
    smbc_setLogCallback(context, client, take_log);
    smbc_setOptionDebugToStderr(context, 1);
    smbc_setOptionUserData(context, client);
    smbc_setFunctionAuthDataWithContext(context, authenticate);
    smbc_setFunctionCheckServer(context, server_is_good);
    smbc_setFunctionAddCachedServer(context, note_server);
    smbc_setOptionNoAutoAnonymousLogin(context, 1);
    smbc_setOptionUseCCache(context, 0);
    smbc_setOptionUseKerberos(context, 0);
    smbc_setUser(context, client->user);
    smbc_setTimeout(context, timeout_ms < INT_MAX ? (int)timeout_ms : INT_MAX);
    if (target->options.encryption == NM_SMB_REQUIRED)
        smbc_setOptionSmbEncryptionLevel(context, SMBC_ENCRYPTLEVEL_REQUIRE);
    else if (target->options.encryption == NM_SMB_OFF)
        smbc_setOptionSmbEncryptionLevel(context, SMBC_ENCRYPTLEVEL_NONE);
    return smbc_init_context(context);
}

static int client_new(const struct nm_smb_target *target, struct nm_smb_client **ret,
                      struct nm_error *err)
{
    struct nm_smb_client *client = calloc(1, sizeof(*client));
    char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
    bool ready;

    if (!client)
        return nm_error_no_memory(err);
    client->target = target;
    client->user = target->user;
    client->password = target->password;
    setenv("HOME", target->home.path, 1);
    ready = new_context(client);
    if (home)
        setenv("HOME", home, 1);
    else
        unsetenv("HOME");
    free(home);
    if (!ready) {
        free(client);
        tainted = true;
        return nm_error_set(err, -ENOMEM, NM_REASON_CLIENT_LIMIT, "libsmbclient gives no context");
    }
    if (strcasecmp(smbc_getNetbiosName(client->context), target->home.client)) {
        nm_smb_client_close(client);
        return nm_error_set(err, -EIO, NM_REASON_INTERNAL,
                            "libsmbclient did not read the configuration written for it");
    }
    *ret = client;
    return 0;
}

static int reach_target(struct nm_smb_client *client, struct nm_error *err)
{
    struct nm_smb_request request = {.kind = NM_OP_STAT};

    nm_smb_client_execute(client, &request, NULL, NULL);
    if (request.result == -EACCES && !*client->user) {
        /* No user was named: after the anonymous one, try what Windows calls a guest. */
        client->user = "guest";
        smbc_setUser(client->context, client->user);
        nm_smb_client_execute(client, &request, NULL, NULL);
    }
    if (request.result < 0) {
        *err = request.err;
        if (*client->refusal)
            nm_error_raw(err, "%s", client->refusal);
        return (int)request.result;
    }
    if (!request.stat.is_directory)
        return nm_error_set(err, -ENOTDIR, NM_REASON_NOT_FOUND, "it is a file, not a directory");
    return 0;
}

/* What was demanded must be in force. */
static int check_encryption(struct nm_smb_client *client, struct nm_error *err)
{
    char name[] = "smb_encrypt_on";
    bool on = smbc_option_get(client->context, name);

    if (client->target->options.encryption == NM_SMB_REQUIRED && !on)
        return nm_error_set(err, -EOPNOTSUPP, NM_REASON_UNSUPPORTED,
                            "the connection is not encrypted although smb.encryption = required");
    if (client->target->options.encryption == NM_SMB_OFF && on)
        return nm_error_set(err, -EOPNOTSUPP, NM_REASON_UNSUPPORTED,
                            "the share demands encryption; smb.encryption = off is not possible");
    return 0;
}

int nm_smb_client_open(const struct nm_smb_target *target, struct nm_smb_client **ret_client,
                       bool *ret_logged_in, struct nm_error *err)
{
    struct nm_smb_client *client;
    int r = client_new(target, &client, err);

    if (r < 0)
        return r;
    client->base = strlen(target->url);
    memcpy(client->url, target->url, client->base + 1);
    memcpy(client->new_url, target->url, client->base + 1);
    r = reach_target(client, err);
    if (r == 0)
        r = check_encryption(client, err);
    if (ret_logged_in)
        *ret_logged_in = client->logged_in;
    if (r < 0) {
        nm_smb_client_close(client);
        return r;
    }
    *ret_client = client;
    return 0;
}

/* The log is one for the process and outlives this client. */
static void silence(struct nm_smb_client *client)
{
    smbc_setDebug(client->context, 0);
    smbc_setLogCallback(client->context, NULL, NULL);
}

void nm_smb_client_abandon(struct nm_smb_client *client)
{
    if (!client)
        return;
    tainted = true;
    silence(client);
    free(client->files);
    free(client);
}

void nm_smb_client_close(struct nm_smb_client *client)
{
    if (!client)
        return;
    for (uint32_t i = 0; i < client->n_files && !client->broken; i++)
        if (client->files[i] && client->close(client->context, client->files[i]) < 0)
            client->broken = true;
    if (client->broken) {
        nm_smb_client_abandon(client);
        return;
    }
    silence(client);
    smbc_free_context(client->context, 1);
    free(client->files);
    free(client);
}

/* ---- questions for a diagnosis, each with a context of its own ---- */

int nm_smb_client_login(const struct nm_smb_target *target)
{
    struct nm_smb_client *client;
    char url[NM_SMB_URL_MAX];
    int r = client_new(target, &client, NULL);

    if (r < 0)
        return r;
    /* Listing IPC$ fails; what counts is that it was reached. */
    snprintf(url, sizeof(url), "%.*s/IPC%%24",
             (int)(strrchr(target->root_url, '/') - target->root_url), target->root_url);
    smbc_getFunctionOpendir(client->context)(client->context, url);
    r = client->logged_in ? 0 : -nm_smb_last_errno();
    nm_smb_client_close(client);
    return r;
}

int nm_smb_client_shares(const struct nm_smb_target *target, char *out, size_t size)
{
    struct nm_smb_client *client;
    struct smbc_dirent *entry;
    char url[NM_SMB_URL_MAX];
    SMBCFILE *dir;
    size_t n = 0;
    int r = client_new(target, &client, NULL);

    if (r < 0)
        return r;
    snprintf(url, sizeof(url), "%.*s/", (int)(strrchr(target->root_url, '/') - target->root_url),
             target->root_url);
    out[0] = '\0';
    dir = smbc_getFunctionOpendir(client->context)(client->context, url);
    r = dir ? 0 : -nm_smb_last_errno();
    while (dir && (entry = smbc_getFunctionReaddir(client->context)(client->context, dir))) {
        if (entry->smbc_type == SMBC_FILE_SHARE && n + strlen(entry->name) + 6 < size)
            n += (size_t)snprintf(out + n, size - n, "%s%s", n ? ", " : "", entry->name);
    }
    nm_smb_client_close(client);
    return r;
}
