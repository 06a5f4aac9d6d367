/* Where plans come from: a file, text, a URL; and the credentials of their targets (plan.h).
 *
 * Text comes from a file or is made up for `bench`; both take the same way through plan_text.c and
 * plan_build.c.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX_BYTES (1024 * 1024)

static int apply_sets(struct nm_plan_text *text, const char *const *sets, size_t n_sets,
                      struct nm_error *err)
{
    int r = 0;

    for (size_t i = 0; i < n_sets && !r; i++)
        r = nm_plan_text_set(text, sets[i], err);
    return r;
}

int nm_plan_parse(const char *name, const char *text, size_t length, const char *const *sets,
                  size_t n_sets, struct nm_vault *vault, struct nm_plan **ret_plan,
                  char **ret_warnings, struct nm_error *err)
{
    struct nm_plan_text settings = {.file = name};
    int r = nm_plan_text_parse(&settings, text, length, err);

    if (!r)
        r = apply_sets(&settings, sets, n_sets, err);
    if (!r)
        r = nm_plan_build(&settings, vault, ret_plan, ret_warnings, err);
    nm_plan_text_done(&settings);
    return r;
}

/* The whole file; it may hold passwords in URLs. */
static int read_file(const char *path, char *out, size_t size, size_t *ret_length,
                     struct nm_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), r = 0;
    size_t used = 0;
    ssize_t n = 1;

    while (fd >= 0 && used < size && n > 0) {
        n = read(fd, out + used, size - used);
        if (n > 0)
            used += (size_t)n;
    }
    if (fd < 0 || n < 0)
        r = nm_error_errno(err, -errno, "%s: %s", path, strerror(errno));
    else if (used == size)
        r = nm_error_set(err, -E2BIG, NM_REASON_NONE, "%s is larger than a plan can be (%d bytes)",
                         path, FILE_MAX_BYTES);
    if (fd >= 0)
        close(fd);
    *ret_length = used;
    return r;
}

int nm_plan_load(const char *path, const char *const *sets, size_t n_sets, struct nm_vault *vault,
                 struct nm_plan **ret_plan, char **ret_warnings, struct nm_error *err)
{
    char *text = malloc(FILE_MAX_BYTES + 1), *warnings = NULL;
    struct nm_plan *plan = NULL;
    size_t length = 0;
    int r =
        text ? read_file(path, text, FILE_MAX_BYTES + 1, &length, err) : nm_error_no_memory(err);

    if (!r)
        r = nm_plan_parse(path, text, length, sets, n_sets, vault, &plan, &warnings, err);
    if (text)
        nm_secrets_wipe(text, length);
    free(text);
    if (r < 0)
        return r;
    plan->path = strdup(path);
    if (!plan->path) {
        nm_plan_free(plan);
        free(warnings);
        return nm_error_no_memory(err);
    }
    *ret_plan = plan;
    *ret_warnings = warnings;
    return 0;
}

/* "a", "b" -> "a b"; NULL when out of memory. */
static char *join_words(const char *const *words, size_t n)
{
    size_t size = 1, used = 0;
    char *text;

    for (size_t i = 0; i < n; i++)
        size += strlen(words[i]) + 1;
    text = malloc(size);
    for (size_t i = 0; text && i < n; i++) {
        size_t length = strlen(words[i]);

        if (i)
            text[used++] = ' ';
        memcpy(text + used, words[i], length);
        used += length;
    }
    if (text)
        text[used] = '\0';
    return text;
}

/* The settings of a plan with one volume. */
static int imply(struct nm_plan_text *text, const char *url_text, const struct nm_url *url,
                 const char *volume, const char *const *workloads, size_t n_workloads,
                 struct nm_error *err)
{
    const char *protocol = nm_protocol_name(url->protocol);
    char *words = NULL;
    int r =
        nm_plan_text_put(text, "nas", NULL, "name", url->host ? url->host : protocol, false, err);

    if (!r)
        r = nm_plan_text_put(text, "nas", NULL, "firmware", "unknown", false, err);
    if (!r)
        r = nm_plan_text_put(text, "volume", volume, NULL, NULL, false, err);
    if (!r)
        r = nm_plan_text_put(text, "volume", volume, protocol, url_text, false, err);
    if (!r && n_workloads) {
        words = join_words(workloads, n_workloads);
        r = words ? nm_plan_text_put(text, "run", NULL, "workloads", words, false, err)
                  : nm_error_no_memory(err);
    }
    free(words);
    return r;
}

int nm_plan_from_url(const char *url_text, const char *volume, const char *const *workloads,
                     size_t n_workloads, const char *const *sets, size_t n_sets,
                     struct nm_vault *vault, struct nm_plan **ret_plan, char **ret_warnings,
                     struct nm_error *err)
{
    struct nm_plan_text text = {.file = NULL};
    struct nm_url *url = NULL;
    char *password = NULL;
    int r = nm_url_parse(url_text, &url, &password, err);

    if (password)
        nm_secrets_wipe(password, strlen(password));
    free(password);
    if (r < 0)
        return r;
    r = imply(&text, url_text, url, volume ? volume : nm_url_volume_name(url), workloads,
              n_workloads, err);
    if (!r)
        r = apply_sets(&text, sets, n_sets, err);
    if (!r)
        r = nm_plan_build(&text, vault, ret_plan, ret_warnings, err);
    nm_plan_text_done(&text);
    nm_url_free(url);
    return r;
}

int nm_plan_resolve_credentials(struct nm_plan *plan, struct nm_vault *vault, bool may_prompt,
                                struct nm_error *err)
{
    int r = 0;

    for (size_t i = 0; i < plan->n_volumes && !r; i++)
        for (size_t k = 0; k < plan->n_protocols && !r; k++) {
            enum nm_protocol protocol = plan->protocols[k];

            if (plan->volumes[i].urls[protocol])
                r = nm_vault_find(vault, plan->volumes[i].urls[protocol], may_prompt,
                                  &plan->volumes[i].credentials[protocol], err);
        }
    return r;
}
