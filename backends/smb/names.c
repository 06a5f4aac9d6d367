/* Paths that are known to be files (smb.h).
 *
 * libsmbclient 4.17 unlinks without FILE_NON_DIRECTORY_FILE: an empty directory would be deleted
 * and a full one reported as deleted. Before unlinking a path it does not know, a lane therefore
 * opens it as a file, which fails on a directory but costs two round trips. Most paths are known:
 * created, opened, or listed in this session.
 *
 * A table of 64-bit hashes, one place for each; what is pushed out is merely checked again.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "smb.h"

static uint64_t hash_more(uint64_t hash, const char *text) /* FNV-1a */
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return hash;
}

static uint64_t hash_of(const char *directory, const char *name)
{
    uint64_t hash = hash_more(UINT64_C(14695981039346656037), directory);

    if (!name)
        return hash;
    return hash_more(*directory ? hash_more(hash, "/") : hash, name);
}

static uint64_t *place_of(struct nm_smb_names *names, uint64_t hash)
{
    return &names->hashes[(hash ^ hash >> 32) % NM_SMB_NAMES];
}

void nm_smb_names_add(struct nm_smb_names *names, const char *directory, const char *name)
{
    uint64_t hash = hash_of(directory, name);

    *place_of(names, hash) = hash;
}

void nm_smb_names_forget(struct nm_smb_names *names, const char *path)
{
    uint64_t hash = hash_of(path, NULL), *place = place_of(names, hash);

    if (*place == hash)
        *place = 0;
}

bool nm_smb_names_has(struct nm_smb_names *names, const char *path)
{
    uint64_t hash = hash_of(path, NULL);

    return *place_of(names, hash) == hash;
}
