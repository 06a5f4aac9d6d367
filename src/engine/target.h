/* Targets of a run: one volume over one protocol, with what the run knows about it and has left
 * there.
 *
 * Parent side. Everything that touches the target is done by a worker through the runner.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_TARGET_H
#define NM_TARGET_H

#include "runner.h"

enum nm_claim { NM_CLAIM_NONE, NM_CLAIM_RAW, NM_CLAIM_FILES };

struct nm_target {
    size_t volume;
    enum nm_protocol protocol;
    bool applicable;   /* the volume has a URL for this protocol */
    int64_t volume_id; /* in the store */
    char *url;         /* canonical */
    /* preflight */
    int probe_result;
    struct nm_error probe_error;
    struct nm_target_info info;
    struct nm_conditions conditions;
    struct nm_conditions link; /* of this machine towards it */
    /* what we have there */
    enum nm_claim claim;
    uint64_t raw_end_bytes; /* highest byte that raw writes may have touched */
    bool entered;           /* the run's directory exists */
    bool evict_filled;
    bool locked; /* no other run of this machine may use the device */
    int lock_fd;
    bool shared_said;
    bool shared; /* another run was active there when we came or left */
    bool lost;   /* did not answer the last time it was cleaned: do not wait for it again */
    char run_directory[64];
};

/* Fills in everything but the preflight. run_id goes into the directory's name. */
int nm_target_init(struct nm_target *target, const struct nm_plan *plan, size_t volume,
                   enum nm_protocol protocol, const char *run_id,
                   struct nm_error *err) NM_MUST_CHECK;
void nm_target_done(struct nm_target *target);

/* A job for this target with everything set that does not depend on the workload. */
void nm_target_job(const struct nm_target *target, const struct nm_plan *plan,
                   enum nm_job_kind kind, const struct nm_backend_ops *backend, struct nm_job *job);

/* Connects and describes; the result is kept in target->probe_*. Only a broken runner is an error.
 */
int nm_target_probe(struct nm_target *target, struct nm_runner *runner,
                    struct nm_error *err) NM_MUST_CHECK;

/* Makes a block target ours for `want`; formats again when it was used otherwise before. */
int nm_target_claim(struct nm_target *target, struct nm_runner *runner,
                    const struct nm_backend_ops *backend, enum nm_claim want,
                    struct nm_error *err) NM_MUST_CHECK;

/* Makes the directory of a group. */
int nm_target_enter(struct nm_target *target, struct nm_runner *runner,
                    const struct nm_backend_ops *backend, const char *directory,
                    struct nm_error *err) NM_MUST_CHECK;

/* Removes the directory of a group. *ret_foreign = entries there that are not ours and stay. */
int nm_target_leave(struct nm_target *target, struct nm_runner *runner,
                    const struct nm_backend_ops *backend, const char *directory,
                    uint64_t *ret_foreign, struct nm_error *err) NM_MUST_CHECK;

/* Looks for what earlier runs left behind, and removes it; the findings are in slot 0 of the arena.
 */
int nm_target_sweep(struct nm_target *target, struct nm_runner *runner,
                    const struct nm_backend_ops *backend, bool remove,
                    struct nm_error *err) NM_MUST_CHECK;

/* Reads the partition table of a raw target that was probed; it is in slot 0 of the arena. */
int nm_target_survey(struct nm_target *target, struct nm_runner *runner,
                     struct nm_error *err) NM_MUST_CHECK;

/* End of the run: removes the run's directory; after raw writes zeroes what could look like a
 * partition table. Does nothing where nothing is left. */
int nm_target_retire(struct nm_target *target, struct nm_runner *runner, uint64_t *ret_foreign,
                     struct nm_error *err) NM_MUST_CHECK;

#endif
