/* One stored trial with everything it belongs to, for export and `show`.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_STORE_DOCUMENT_H
#define NM_STORE_DOCUMENT_H

#include "document.h"
#include "pool.h"
#include "store.h"

struct nm_stored_document {
    struct nm_document document;
    /* what document points to */
    struct nm_pool *pool;
    struct nm_conditions conditions;
    struct nm_metrics metrics;
    struct nm_histogram_record histograms[NM_DOCUMENT_HISTOGRAMS_MAX];
    uint64_t *bins;
    struct nm_curve_point *points;
};

/* A void trial has status void and the reason for it as message. -ENOENT when there is no such
 * trial. Bins, points and histograms are read only with `whole`. nm_stored_document_free() in any
 * case. */
int nm_stored_document_read(struct nm_store *store, int64_t trial_id, bool whole,
                            struct nm_stored_document **ret, struct nm_error *err) NM_MUST_CHECK;
void nm_stored_document_free(struct nm_stored_document *stored);

/* Only the conditions of a trial. *inout_id identifies the set that *ret holds (0 at first);
 * nothing is read when this trial has the same one. 1 = *ret is another set now, 0 = it is the
 * same. */
int nm_stored_conditions_read(struct nm_store *store, int64_t trial_id, int64_t *inout_id,
                              struct nm_conditions *ret, struct nm_error *err) NM_MUST_CHECK;

#endif
