/* Credentials files from anybody, through a pipe as `--credentials <(...)` would: no message holds
 * what stands behind "=".
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "credentials.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

static void find(struct nm_vault *vault, const char *text)
{
    struct nm_credentials credentials;
    struct nm_url *url = NULL;
    char *password = NULL;

    require(nm_url_parse(text, &url, &password, NULL) == 0);
    require(nm_vault_find(vault, url, false, &credentials, NULL) == 0);
    nm_url_free(url);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_vault *vault = NULL;
    struct nm_error err = {0};
    char path[64];
    int fd = memfd_create("credentials", MFD_CLOEXEC);

    require(fd >= 0 && fchmod(fd, 0600) == 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    require(nm_vault_new(&vault, NULL) == 0);
    if (nm_vault_load(vault, path, &err) == 0) {
        find(vault, "smb://nas/share");
        find(vault, "smb://u@nas/share");
        find(vault, "iscsi://[::1]:3260/iqn.x/0");
        find(vault, "http://nas/");
    } else {
        require(err.code < 0 && err.text[0] && !strstr(err.text, "cretXY"));
    }
    nm_vault_free(vault);
    close(fd);
    return 0;
}
