/* Traces of secrets in memory and on the command line (credentials.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "credentials.h"

#include <string.h>
#include <sys/mman.h>

void nm_secrets_wipe(void *memory, size_t size)
{
    explicit_bzero(memory, size);
}

void *nm_secrets_map(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return NULL;
    /* Best effort: the limit of locked memory may be small, and secrets still must work. */
    (void)mlock(memory, size);
    (void)madvise(memory, size, MADV_DONTDUMP);
    return memory;
}

void nm_secrets_unmap(void *memory, size_t size)
{
    if (!memory)
        return;
    nm_secrets_wipe(memory, size);
    munmap(memory, size);
}

char **nm_secrets_copy_argv(int argc, char **argv)
{
    size_t size = ((size_t)argc + 1) * sizeof(char *);
    char **copy, *at;

    for (int i = 0; i < argc; i++)
        size += strlen(argv[i]) + 1;
    copy = nm_secrets_map(size);
    if (!copy)
        return NULL;
    at = (char *)(copy + argc + 1);
    for (int i = 0; i < argc; i++) {
        copy[i] = at;
        at = stpcpy(at, argv[i]) + 1;
    }
    copy[argc] = NULL;
    return copy;
}

static void blacken(char *first, const char *end)
{
    while (first < end)
        *first++ = '*';
}

/* "smb://user:secret@nas/share": from the first ":" behind "://" to the last "@". More than the
 * password is hit when it holds a raw "@" or the path does; nobody reads the text any more. */
static void scrub_url(char *text)
{
    char *authority = strstr(text, "://"), *colon, *at;

    if (!authority)
        return;
    at = strrchr(authority, '@');
    colon = strchr(authority + 3, ':');
    if (at && colon && colon < at)
        blacken(colon + 1, at);
}

/* "iscsi.chap_secret=...", "--password=..." */
static void scrub_setting(char *text)
{
    char *word = strcasestr(text, "password"), *equals;

    if (!word)
        word = strcasestr(text, "secret");
    equals = word ? strchr(word, '=') : NULL;
    if (equals)
        blacken(equals + 1, equals + strlen(equals));
}

void nm_secrets_scrub_argv(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        scrub_url(argv[i]);
        scrub_setting(argv[i]);
        if (i + 1 < argc && !strcmp(argv[i], "--password"))
            blacken(argv[i + 1], argv[i + 1] + strlen(argv[i + 1]));
    }
}
