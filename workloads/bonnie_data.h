/* Inside of the workload bonnie: its options and the generator of its data phases.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_BONNIE_DATA_H
#define NM_BONNIE_DATA_H

#include "workload.h"

#define NM_BONNIE_FILES_MAX 4096u /* data files; all of them are open at once */

struct nm_bonnie_options {
    uint64_t size_bytes; /* 0 = from the memory */
    uint64_t chunk_bytes, file_bytes, char_bytes;
    uint32_t seeks, seekers, files;
};

enum nm_bonnie_data_access {
    NM_BONNIE_DATA_WRITE,   /* new files, in order */
    NM_BONNIE_DATA_REWRITE, /* read a chunk, write it changed */
    NM_BONNIE_DATA_READ,
    NM_BONNIE_DATA_SEEK, /* read chunks at random, write every tenth back */
};

/* One data phase of one stream. */
struct nm_bonnie_data {
    /* the caller's */
    enum nm_bonnie_data_access access;
    uint64_t size_bytes, file_bytes; /* all files together; one of them */
    uint32_t chunk_bytes;
    uint32_t first_file;      /* number of the first file's name */
    uint64_t position_bytes;  /* of what is read, in the group's data space */
    uint64_t rewritten_bytes; /* likewise of what REWRITE writes */
    uint64_t random;          /* state of the generator */
    uint32_t seeks;           /* of this stream */
    const char *directory;
    /* private */
    enum {
        NM_BONNIE_STAGE_OPEN,
        NM_BONNIE_STAGE_DATA,
        NM_BONNIE_STAGE_FLUSH,
        NM_BONNIE_STAGE_CLOSE,
        NM_BONNIE_STAGE_END
    } stage;
    uint32_t n_files, at; /* file being opened, flushed or closed */
    struct nm_file **files;
    uint64_t next_bytes, offset_bytes; /* of the next chunk; of the current one */
    bool write_back;                   /* the current chunk is to be written */
    bool wrote;
    uint64_t begin_ns, longest_ns, done_bytes, sought;
    char path[192];
};

int nm_bonnie_data_init(struct nm_bonnie_data *data, struct nm_error *err) NM_MUST_CHECK;
void nm_bonnie_data_done(struct nm_bonnie_data *data);
enum nm_next nm_bonnie_data_next(struct nm_bonnie_data *data, struct nm_op *op,
                                 uint64_t *pattern_bytes);
int nm_bonnie_data_take(struct nm_bonnie_data *data, const struct nm_op *op,
                        struct nm_error *err) NM_MUST_CHECK;

#endif
