/* One kind of operation on every name of a directory, in order or at random: what meta and the
 * second half of bonnie are made of.
 *
 * A generator of one operation at a time, as programs work through a directory. Names are those of
 * nm_workload_file_name(); renamed ones have NM_NAMEWORK_RENAMED added to their number. One per
 * stream and phase; owns the order.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_NAMEWORK_H
#define NM_NAMEWORK_H

#include "workload.h"

#define NM_NAMEWORK_MAX     1000000u /* names of one stream */
#define NM_NAMEWORK_RENAMED 5000000u

enum nm_namework_kind {
    NM_NAMEWORK_DIRECTORY, /* makes the directory itself; for set-up */
    NM_NAMEWORK_CREATE,    /* create and close, empty */
    NM_NAMEWORK_STAT,
    NM_NAMEWORK_LIST, /* the whole directory, listings times */
    NM_NAMEWORK_RENAME,
    NM_NAMEWORK_DELETE,
};

struct nm_namework {
    /* the caller's */
    enum nm_namework_kind kind;
    bool directories; /* names are directories, not files */
    bool renamed;     /* names are what RENAME made of them */
    bool random;
    uint32_t count, listings;
    char directory[128];
    struct nm_histogram *latency; /* of each name or listing; may be NULL */
    /* private */
    uint32_t *order; /* NULL: 0, 1, 2 ... */
    uint32_t at, listed;
    bool closing;
    struct nm_file *file;
    struct nm_stat stat;
    uint64_t begin_ns, longest_ns, done;
    char path[192], new_path[192];
};

/* Makes the order. The caller frees with nm_namework_done(). */
int nm_namework_init(struct nm_namework *work, uint64_t seed, struct nm_error *err) NM_MUST_CHECK;
void nm_namework_done(struct nm_namework *work);

enum nm_next nm_namework_next(struct nm_namework *work, struct nm_op *op);
int nm_namework_take(struct nm_namework *work, const struct nm_op *op,
                     struct nm_error *err) NM_MUST_CHECK;

/* Names handled, listed ones included; 0 for DIRECTORY. */
uint64_t nm_namework_count(const struct nm_namework *work);

/* files_per_s, latency_max: the metrics of a Bonnie++ result that is imported. */
void nm_namework_metrics(const struct nm_namework *work, uint64_t elapsed_ns,
                         struct nm_metrics *metrics);

#endif
