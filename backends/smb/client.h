/* A libsmbclient context, private to client.c (its life) and execute.c (its work).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_SMB_CLIENT_H
#define NM_SMB_CLIENT_H

#include "smb.h"

#include <errno.h>
#include <libsmbclient.h>

#define NM_SMB_URL_MAX (4u * NM_SMB_PATH_MAX + 2048u)

struct nm_smb_client {
    SMBCCTX *context;
    const struct nm_smb_target *target;
    const char *user, *password;
    SMBCFILE **files; /* by handle; NULL = not open here */
    uint32_t n_files;
    bool logged_in;   /* some share was reached */
    bool broken;      /* the connection is gone: the library must not be called any more */
    uint32_t status;  /* last one seen in the log */
    char refusal[48]; /* what the log says of a refused login */
    size_t base;      /* length of the target's URL in both buffers */
    char url[NM_SMB_URL_MAX], new_url[NM_SMB_URL_MAX];
    smbc_add_cached_srv_fn add_server;
    smbc_open_fn open;
    smbc_close_fn close;
    smbc_read_fn read;
    smbc_write_fn write;
    smbc_lseek_fn lseek;
    smbc_fstat_fn fstat;
    smbc_stat_fn stat;
};

/* The library sometimes leaves errno alone, or adds 8192 to it (opendir). */
static inline int nm_smb_last_errno(void)
{
    int code = errno & 8191;

    return code ? code : EIO;
}

#endif
