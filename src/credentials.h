/* Secrets: where they come from, where they stay, how they go away.
 *
 * Sources, first match wins: a credentials file (mode 0600; sections [host] or [host/share] with
 * user, password, domain, chap_user, chap_secret, chap_target_user, chap_target_secret), the
 * environment variable NASMARK_PASSWORD (only for URLs that name a user), a password in the URL, a
 * prompt on a terminal. All secrets live in one mapping that is locked, excluded from core dumps
 * and wiped on free. Processes: filled in before the spawner is forked; workers inherit it; nothing
 * ever prints it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_CREDENTIALS_H
#define NM_CREDENTIALS_H

#include "error.h"
#include "url.h"

#include <stdbool.h>
#include <stddef.h>

/* What a backend gets for one target. Strings point into the vault; NULL = not given. iscsi gets
 * the chap fields, every other protocol user, password and domain. */
struct nm_credentials {
    const char *user, *password, *domain;
    const char *chap_user, *chap_secret;
    const char *chap_target_user, *chap_target_secret; /* mutual CHAP */
};

struct nm_vault;

int nm_vault_new(struct nm_vault **ret_vault, struct nm_error *err) NM_MUST_CHECK;
void nm_vault_free(struct nm_vault *vault); /* wipes */

/* What a program does at start: new, environment, then the file (path may be NULL). */
int nm_vault_open(const char *path, struct nm_vault **ret_vault,
                  struct nm_error *err) NM_MUST_CHECK;

/* Reads a credentials file; refuses one that group or others can read. */
int nm_vault_load(struct nm_vault *vault, const char *path, struct nm_error *err) NM_MUST_CHECK;

/* Takes NASMARK_PASSWORD out of the environment (value wiped in place). */
int nm_vault_take_environment(struct nm_vault *vault, struct nm_error *err) NM_MUST_CHECK;

/* Takes over a password that stood in a URL (wipes and frees it). */
int nm_vault_take_password(struct nm_vault *vault, const struct nm_url *url, char *password,
                           struct nm_error *err) NM_MUST_CHECK;

/* Credentials for url; asks on the terminal when a user is named, no password is known and
 * may_prompt. A section that names another user than the URL does not apply. No credentials at all
 * is not an error: *ret is then all NULL (guest). */
int nm_vault_find(struct nm_vault *vault, const struct nm_url *url, bool may_prompt,
                  struct nm_credentials *ret, struct nm_error *err) NM_MUST_CHECK;

/* Asks on /dev/tty without echo. */
int nm_secrets_prompt(const char *question, char *out, size_t size,
                      struct nm_error *err) NM_MUST_CHECK;

/* Overwrites secrets inside argv in place: passwords in URLs, values of settings whose name holds
 * "password" or "secret". More may be hit: work on a copy. */
void nm_secrets_scrub_argv(int argc, char **argv);

/* A private copy of the vector for the program to work on, before the original is scrubbed: strings
 * and array in one mapping that stays out of core dumps. NULL when out of memory. */
char **nm_secrets_copy_argv(int argc, char **argv);

/* Memory for secrets: locked as far as the limits allow, not in core dumps. Wiped when unmapped;
 * NULL when out of memory. */
void *nm_secrets_map(size_t size);
void nm_secrets_unmap(void *memory, size_t size);

/* memset that the compiler keeps. */
void nm_secrets_wipe(void *memory, size_t size);

#endif
