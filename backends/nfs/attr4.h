/* NFSv4 attributes: which ones a call asks for, the one it sets or compares, the ones it gets back.
 *
 * The bitmaps point to tables that are never written; libnfs's types just do not say so.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_NFS_ATTR4_H
#define NM_NFS_ATTR4_H

#include "nfs_internal.h"

#include <nfsc/libnfs-raw-nfs4.h>

/* What to ask for about a file, about each entry of a directory, and about server and volume. */
bitmap4 nm_nfs4_attr_of_file(void);
bitmap4 nm_nfs4_attr_of_entry(void);
bitmap4 nm_nfs4_attr_of_limits(void);

/* One attribute with its value, which is kept in word: a mode; "is a directory". */
fattr4 nm_nfs4_attr_mode(char word[4], uint32_t mode);
fattr4 nm_nfs4_attr_directory(char word[4]);

/* Decodes what came of the attributes above. What did not come stays as it was, except that
 * used_bytes is then unknown (UINT64_MAX). */
void nm_nfs4_attr_take(const fattr4 *in, struct nm_nfs_attr *attr, struct nm_nfs_limits *limits);

#endif
