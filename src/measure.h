/* A run from the command's point of view: `run` and `bench` differ only in where their plan comes
 * from.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_MEASURE_H
#define NM_MEASURE_H

#include "campaign.h"
#include "command.h"

/* Executes (or with dry_run describes) the plan and prints run id and tables. Returns the exit
 * code. */
int nm_measure(const struct nm_arguments *arguments, struct nm_plan *plan, struct nm_vault *vault,
               const struct nm_campaign_options *options, bool dry_run);

/* --dry-run: cells, bytes to move, estimated time and space, trials that the noise asks for. */
int nm_measure_preview(const struct nm_arguments *arguments, const struct nm_campaign *campaign,
                       const struct nm_plan *plan, struct nm_error *err) NM_MUST_CHECK;

/* Prints an error and returns the exit code for it. */
int nm_measure_fail(const struct nm_error *err);

#endif
