/* What a person sees while a run goes on, on stderr: on a terminal one line with a bar that is
 * redrawn, elsewhere a line every 10 s; everywhere one line per trial. With `quiet` only what
 * failed.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_PROGRESS_H
#define NM_PROGRESS_H

#include "campaign.h"

struct nm_progress;

int nm_progress_new(const struct nm_plan *plan, bool quiet, bool color, struct nm_progress **ret,
                    struct nm_error *err) NM_MUST_CHECK;
void nm_progress_free(struct nm_progress *progress); /* clears the line */

/* Callbacks for nm_campaign_run(). */
struct nm_campaign_view nm_progress_view(struct nm_progress *progress);

#endif
