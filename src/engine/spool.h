/* Trials that the database would not take (another process holds it, its disk is full) go to a file
 * beside it, so that nothing measured is lost; `nasmark import spool` joins them to their run.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_SPOOL_H
#define NM_SPOOL_H

#include "group.h"

/* Whether a failed nm_store_trial() is a reason to set the trial aside. */
bool nm_spool_helps(int code);

/* Adds the trial to DATABASE.spool and tells run->on_warning the first time. */
int nm_spool_trial(struct nm_run *run, const struct nm_target *target,
                   const struct nm_trial_record *trial, const struct nm_error *why,
                   struct nm_error *err) NM_MUST_CHECK;

#endif
