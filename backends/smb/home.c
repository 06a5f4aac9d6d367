/* The private home directory that hides the host's configuration from libsmbclient (smb.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "smb.h"

#include "clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX  "nasmark-smb-"
#define STALE_S 3600

static int write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ssize_t n;

    if (fd < 0)
        return -errno;
    n = write(fd, text, strlen(text));
    close(fd);
    return n == (ssize_t)strlen(text) ? 0 : -EIO;
}

/* Every directory the library could keep a state in lies inside too, so that no name cache or
 * database of the host is read or written. Encryption is asked for through the context: as a
 * setting of the file "required" connects unencrypted in 4.17.12 after printing that it failed. */
static int write_configuration(const struct nm_smb_home *home, const struct nm_smb_options *options,
                               int min, int max)
{
    static const char *const signing[] = {
        [NM_SMB_DEFAULT] = "default",
        [NM_SMB_REQUIRED] = "required",
        [NM_SMB_OFF] = "disabled",
    };
    char path[96], text[1024];

    snprintf(text, sizeof(text),
             "[global]\n"
             "netbios name = %s\n"
             "client min protocol = %s\n"
             "client max protocol = %s\n"
             "client ipc min protocol = %s\n"
             "client signing = %s\n"
             "client ipc signing = default\n"
             "name resolve order = host\n"
             "name cache timeout = 0\n"
             "disable netbios = yes\n"
             "private dir = %s\nstate directory = %s\ncache directory = %s\nlock directory = %s\n",
             home->client, nm_smb_dialect_names[min], nm_smb_dialect_names[max],
             nm_smb_dialect_names[min], signing[options->signing], home->path, home->path,
             home->path, home->path);
    snprintf(path, sizeof(path), "%s/.smb", home->path);
    if (mkdir(path, 0700) < 0)
        return -errno;
    snprintf(path, sizeof(path), "%s/.smb/smb.conf", home->path);
    return write_file(path, text);
}

/* Only names that we or the library make; a directory with anything else in it stays. */
static void remove_directory(const char *directory)
{
    static const char *const files[] = {".smb/smb.conf", "gencache.tdb", "names.tdb"};
    char path[512];

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", directory, files[i]);
        unlink(path);
    }
    snprintf(path, sizeof(path), "%s/.smb", directory);
    rmdir(path);
    rmdir(directory);
}

/* What processes left behind that were killed while they connected. */
static void remove_stale(const char *base)
{
    DIR *dir = opendir(base);
    struct dirent *entry;
    struct stat st;
    char path[480];

    while (dir && (entry = readdir(dir))) {
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)))
            continue;
        snprintf(path, sizeof(path), "%s/%s", base, entry->d_name);
        if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
            st.st_mtime + STALE_S < (time_t)(nm_clock_utc_ns() / NM_NS_PER_S))
            remove_directory(path);
    }
    if (dir)
        closedir(dir);
}

int nm_smb_home_create(struct nm_smb_home *home, const struct nm_smb_options *options, int min,
                       int max, struct nm_error *err)
{
    static unsigned homes; /* of this process: a name must differ from the one before */
    const char *base = getenv("TMPDIR");
    int r;

    if (!base || *base != '/' || strlen(base) + sizeof("/" PREFIX "XXXXXX") > sizeof(home->path))
        base = "/tmp";
    remove_stale(base);
    snprintf(home->client, sizeof(home->client), "NASMARK%u", ++homes % 10000000);
    snprintf(home->path, sizeof(home->path), "%s/" PREFIX "XXXXXX", base);
    if (!mkdtemp(home->path)) {
        r = -errno;
        home->path[0] = '\0';
    } else {
        r = write_configuration(home, options, min, max);
    }
    if (r < 0) {
        nm_error_set(err, r, NM_REASON_CLIENT_LIMIT,
                     "smb: cannot write a configuration below %s: %s; set TMPDIR", base,
                     strerror(-r));
        nm_smb_home_remove(home);
    }
    return r;
}

void nm_smb_home_remove(struct nm_smb_home *home)
{
    if (!home || !*home->path)
        return;
    remove_directory(home->path);
    home->path[0] = '\0';
}
