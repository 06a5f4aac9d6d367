/* The vault (credentials.h): one mapping that holds every secret and every login, filled from a
 * file, the environment, URLs and a prompt. Allocation inside it only grows; it goes away as a
 * whole, wiped.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "credentials.h"

#include "ini.h"
#include "options.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define VAULT_BYTES  (128 * 1024)
#define FILE_BYTES   (32 * 1024)
#define SECRET_BYTES 1024

static const char environment_name[] = "NASMARK_PASSWORD";

enum field { USER, PASSWORD, DOMAIN, CHAP_USER, CHAP_SECRET, TARGET_USER, TARGET_SECRET, FIELDS };

static const char *const field_names[FIELDS] = {
    [USER] = "user",
    [PASSWORD] = "password",
    [DOMAIN] = "domain",
    [CHAP_USER] = "chap_user",
    [CHAP_SECRET] = "chap_secret",
    [TARGET_USER] = "chap_target_user",
    [TARGET_SECRET] = "chap_target_secret",
};

/* A section of the file, or a password that came with a URL or from the prompt. */
struct login {
    struct login *next;
    const char *host;  /* as in the section, or host[:port] of the URL */
    const char *share; /* NULL = every share of the host */
    bool from_file;
    enum nm_protocol protocol; /* unless from_file */
    const char *fields[FIELDS];
};

struct nm_vault {
    size_t used; /* of bytes */
    struct login *first, **end;
    const char *environment; /* NASMARK_PASSWORD */
    _Alignas(16) char bytes[];
};

/* --- memory --- */

static void *allocate(struct nm_vault *vault, size_t size, struct nm_error *err)
{
    size_t rounded = (size + 15) & ~(size_t)15;
    void *memory = vault->bytes + vault->used;

    if (rounded > VAULT_BYTES - sizeof(*vault) - vault->used) {
        nm_error_set(err, -ENOSPC, NM_REASON_CLIENT_LIMIT,
                     "there are more logins than fit into %d bytes", VAULT_BYTES);
        return NULL;
    }
    vault->used += rounded;
    return memory;
}

static const char *keep(struct nm_vault *vault, const char *text, size_t length,
                        struct nm_error *err)
{
    char *copy = allocate(vault, length + 1, err);

    if (copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

int nm_vault_new(struct nm_vault **ret_vault, struct nm_error *err)
{
    struct nm_vault *vault = nm_secrets_map(VAULT_BYTES);

    if (!vault)
        return nm_error_no_memory(err);
    vault->end = &vault->first;
    *ret_vault = vault;
    return 0;
}

int nm_vault_open(const char *path, struct nm_vault **ret_vault, struct nm_error *err)
{
    struct nm_vault *vault = NULL;
    int r = nm_vault_new(&vault, err);

    if (!r)
        r = nm_vault_take_environment(vault, err);
    if (!r && path)
        r = nm_vault_load(vault, path, err);
    if (r < 0) {
        nm_vault_free(vault);
        return r;
    }
    *ret_vault = vault;
    return 0;
}

void nm_vault_free(struct nm_vault *vault)
{
    nm_secrets_unmap(vault, VAULT_BYTES);
}

static struct login *add_login(struct nm_vault *vault, struct nm_error *err)
{
    struct login *login = allocate(vault, sizeof(*login), err);

    if (login) {
        memset(login, 0, sizeof(*login));
        *vault->end = login;
        vault->end = &login->next;
    }
    return login;
}

/* --- the file --- */

struct loading {
    struct nm_vault *vault;
    struct login *login; /* of the current section */
};

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcasecmp(a, b));
}

static int begin_section(struct loading *loading, struct nm_slice section, struct nm_error *err)
{
    const char *slash = memchr(section.text, '/', section.length);
    size_t host = slash ? (size_t)(slash - section.text) : section.length;
    struct login *login = add_login(loading->vault, err);

    if (!login)
        return -ENOSPC;
    loading->login = login;
    login->from_file = true;
    login->host = keep(loading->vault, section.text, host, err);
    if (slash)
        login->share = keep(loading->vault, slash + 1, section.length - host - 1, err);
    if (!login->host || (slash && !login->share))
        return -ENOSPC;
    for (struct login *other = loading->vault->first; other != login; other = other->next)
        if (other->from_file && same_text(other->host, login->host) &&
            same_text(other->share, login->share))
            return nm_error_set(err, -EINVAL, NM_REASON_NONE, "this [SECTION] stands here twice");
    return 0;
}

static int load_item(void *context, const struct nm_ini_item *item, struct nm_error *err)
{
    struct loading *loading = context;
    char key[32];
    size_t field = 0;

    if (!item->key.text)
        return begin_section(loading, item->section, err);
    snprintf(key, sizeof(key), "%.*s", (int)item->key.length, item->key.text);
    while (field < FIELDS && strcmp(key, field_names[field]))
        field++;
    if (field == FIELDS) {
        /* Not quoted: it may be half of a password. */
        nm_error_set(err, -EINVAL, NM_REASON_NONE, "unknown key");
        nm_options_suggest(err, key, field_names, FIELDS);
        return -EINVAL;
    }
    if (loading->login->fields[field])
        return nm_error_set(err, -EINVAL, NM_REASON_NONE, "\"%s\" stands here twice", key);
    if (item->value.length >= SECRET_BYTES)
        return nm_error_set(err, -EINVAL, NM_REASON_NONE, "\"%s\" is longer than %d bytes", key,
                            SECRET_BYTES - 1);
    loading->login->fields[field] = keep(loading->vault, item->value.text, item->value.length, err);
    return loading->login->fields[field] ? 0 : -ENOSPC;
}

static int check_file(int fd, const char *path, struct nm_error *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return nm_error_errno(err, -errno, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode))
        return nm_error_set(err, -EINVAL, NM_REASON_NONE, "%s is not a file", path);
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return nm_error_set(err, -EPERM, NM_REASON_NONE,
                            "%s belongs to another user; use a credentials file of your own", path);
    if (st.st_mode & 077)
        return nm_error_set(err, -EPERM, NM_REASON_NONE,
                            "%s can be read by others (mode %04o); run: chmod 600 %s", path,
                            (unsigned)st.st_mode & 07777, path);
    return 0;
}

static int read_all(int fd, const char *path, char *out, size_t size, size_t *ret_length,
                    struct nm_error *err)
{
    size_t used = 0;

    while (used < size) {
        ssize_t n = read(fd, out + used, size - used);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return nm_error_errno(err, -errno, "%s: %s", path, strerror(errno));
        if (!n) {
            *ret_length = used;
            return 0;
        }
        used += (size_t)n;
    }
    return nm_error_set(err, -E2BIG, NM_REASON_NONE, "%s is larger than %zu bytes", path, size - 1);
}

int nm_vault_load(struct nm_vault *vault, const char *path, struct nm_error *err)
{
    struct loading loading = {.vault = vault};
    char *text = NULL;
    size_t length = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC), r;

    if (fd < 0) {
        r = nm_error_errno(err, -errno, "%s: %s", path, strerror(errno));
        goto out;
    }
    r = check_file(fd, path, err);
    if (r < 0)
        goto out;
    text = nm_secrets_map(FILE_BYTES);
    r = text ? read_all(fd, path, text, FILE_BYTES, &length, err) : nm_error_no_memory(err);
    if (!r)
        r = nm_ini_parse(path, text, length, 0, load_item, &loading, err);
out:
    nm_secrets_unmap(text, FILE_BYTES);
    if (fd >= 0)
        close(fd);
    if (r < 0)
        nm_error_prefix(err, "credentials");
    return r;
}

/* --- other sources --- */

int nm_vault_take_environment(struct nm_vault *vault, struct nm_error *err)
{
    char *value = getenv(environment_name);
    size_t length = value ? strlen(value) : 0;
    int r = 0;

    if (!value)
        return 0;
    if (length < SECRET_BYTES)
        vault->environment = keep(vault, value, length, err);
    if (!vault->environment)
        r = nm_error_set(err, -E2BIG, NM_REASON_NONE, "%s is longer than %d bytes",
                         environment_name, SECRET_BYTES - 1);
    nm_secrets_wipe(value, length); /* what /proc/PID/environ shows */
    unsetenv(environment_name);
    return r;
}

static struct login *remember(struct nm_vault *vault, const struct nm_url *url, const char *user,
                              const char *password, struct nm_error *err)
{
    struct login *login = add_login(vault, err);
    char *host = nm_url_host_port(url);

    if (login && host) {
        login->protocol = url->protocol;
        login->host = keep(vault, host, strlen(host), err);
        login->share = url->share ? keep(vault, url->share, strlen(url->share), err) : NULL;
        login->fields[USER] = keep(vault, user, strlen(user), err);
        login->fields[PASSWORD] = keep(vault, password, strlen(password), err);
    }
    free(host);
    return login && login->fields[PASSWORD] ? login : NULL;
}

int nm_vault_take_password(struct nm_vault *vault, const struct nm_url *url, char *password,
                           struct nm_error *err)
{
    int r = 0;

    if (!password)
        return 0;
    if (!remember(vault, url, url->user, password, err))
        r = -ENOSPC;
    nm_secrets_wipe(password, strlen(password));
    free(password);
    return r;
}

/* --- finding --- */

static bool names_host(const char *text, const struct nm_url *url, const char *host_port)
{
    size_t length = strlen(text);

    if (!strcasecmp(text, url->host) || !strcasecmp(text, host_port))
        return true;
    return length > 2 && text[0] == '[' && text[length - 1] == ']' &&
           length - 2 == strlen(url->host) && !strncasecmp(text + 1, url->host, length - 2);
}

/* Whether a section of the file applies: host, share, the same user, something to log in with. */
static bool applies(const struct login *login, const struct nm_url *url, const char *host_port,
                    enum field user, enum field secret)
{
    if (!login->from_file || !names_host(login->host, url, host_port))
        return false;
    if (login->share && !same_text(login->share, url->share))
        return false;
    if (!login->fields[user] && !login->fields[secret])
        return false;
    return !url->user || !login->fields[user] || !strcmp(url->user, login->fields[user]);
}

static const struct login *find_section(const struct nm_vault *vault, const struct nm_url *url,
                                        const char *host_port, enum field user, enum field secret)
{
    const struct login *best = NULL;

    for (const struct login *login = vault->first; login; login = login->next)
        if (applies(login, url, host_port, user, secret) &&
            (!best || (!best->share && login->share)))
            best = login;
    return best;
}

/* A password given earlier for the same login. CHAP secrets belong to a target, others to a host.
 */
static const char *find_remembered(const struct nm_vault *vault, const struct nm_url *url,
                                   const char *host_port, const char *user)
{
    for (const struct login *login = vault->first; login; login = login->next)
        if (!login->from_file && login->protocol == url->protocol &&
            same_text(login->host, host_port) && !strcmp(login->fields[USER], user) &&
            (url->protocol != NM_PROTOCOL_ISCSI || same_text(login->share, url->share)))
            return login->fields[PASSWORD];
    return NULL;
}

static int ask(struct nm_vault *vault, const struct nm_url *url, const char *host_port,
               const char *user, const char **ret, struct nm_error *err)
{
    char question[512];
    char *password = nm_secrets_map(SECRET_BYTES);
    const struct login *login;
    int r;

    if (!password)
        return nm_error_no_memory(err);
    snprintf(question, sizeof(question), "%s for %s at %s (%s): ",
             url->protocol == NM_PROTOCOL_ISCSI ? "CHAP secret" : "Password", user, host_port,
             nm_protocol_name(url->protocol));
    r = nm_secrets_prompt(question, password, SECRET_BYTES, err);
    if (r == -ENOTTY)
        nm_error_set(err, r, NM_REASON_AUTH,
                     "no password for %s at %s, and no terminal to ask on; use --credentials FILE "
                     "or NASMARK_PASSWORD",
                     user, host_port);
    if (!r) {
        login = remember(vault, url, user, password, err);
        if (login)
            *ret = login->fields[PASSWORD];
        else
            r = -ENOSPC;
    }
    nm_secrets_unmap(password, SECRET_BYTES);
    return r;
}

/* A text of the URL inside the vault; NULL stays NULL. */
static int keep_url_text(struct nm_vault *vault, const char *text, const char **ret,
                         struct nm_error *err)
{
    if (!text)
        return 0;
    *ret = keep(vault, text, strlen(text), err);
    return *ret ? 0 : -ENOSPC;
}

static int find(struct nm_vault *vault, const struct nm_url *url, const char *host_port,
                bool may_prompt, struct nm_credentials *found, struct nm_error *err)
{
    static const struct login nothing;
    bool iscsi = url->protocol == NM_PROTOCOL_ISCSI;
    enum field user_field = iscsi ? CHAP_USER : USER, secret_field = iscsi ? CHAP_SECRET : PASSWORD;
    const struct login *section = find_section(vault, url, host_port, user_field, secret_field);
    const char *user, *secret, *domain;
    int r;

    if (!section)
        section = &nothing;
    user = section->fields[user_field];
    secret = section->fields[secret_field];
    domain = section->fields[DOMAIN];
    r = keep_url_text(vault, url->user, &user, err);
    if (!r)
        r = keep_url_text(vault, url->domain, &domain, err);
    if (!secret && url->user)
        secret = vault->environment;
    if (!r && !secret && user)
        secret = find_remembered(vault, url, host_port, user);
    if (!r && !secret && user && may_prompt)
        r = ask(vault, url, host_port, user, &secret, err);
    if (r < 0)
        return r;
    if (iscsi) {
        found->chap_user = user;
        found->chap_secret = secret;
        found->chap_target_user = section->fields[TARGET_USER];
        found->chap_target_secret = section->fields[TARGET_SECRET];
    } else {
        found->user = user;
        found->password = secret;
        found->domain = domain;
    }
    return 0;
}

int nm_vault_find(struct nm_vault *vault, const struct nm_url *url, bool may_prompt,
                  struct nm_credentials *ret, struct nm_error *err)
{
    struct nm_credentials found = {0};
    char *host_port = NULL;
    int r = 0;

    if (url->protocol == NM_PROTOCOL_SMB || url->protocol == NM_PROTOCOL_ISCSI ||
        url->protocol == NM_PROTOCOL_HTTP) {
        host_port = nm_url_host_port(url);
        r = host_port ? find(vault, url, host_port, may_prompt, &found, err)
                      : nm_error_no_memory(err);
    }
    free(host_port);
    if (!r)
        *ret = found;
    return r;
}
