/* Setting trials aside (spool.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "spool.h"

#include "../../results/document.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

bool nm_spool_helps(int code)
{
    return code == -EBUSY || code == -ENOSPC;
}

static struct nm_document document_of(const struct nm_run *run, const struct nm_target *target,
                                      const struct nm_trial_record *trial, const char *canonical)
{
    const struct nm_nas_options *nas = &run->plan->nas;
    const struct nm_volume *volume = &run->plan->volumes[target->volume];

    return (struct nm_document){
        .nas = {.name = nas->name,
                .vendor = nas->vendor,
                .model = nas->model,
                .firmware = nas->firmware,
                .firmware_date = nas->firmware_date,
                .disks = nas->disks,
                .ram_bytes = nas->ram_bytes},
        .campaign = canonical,
        .session = {.run = run->run_id,
                    .seed = run->seed,
                    .order = run->plan->run.order == NM_ORDER_GROUPED ? "grouped" : "passes",
                    .plan = canonical},
        .volume = {.name = volume->name,
                   .kind = volume->options.kind,
                   .label = volume->options.label,
                   .interface = volume->options.interface,
                   .position = (int)target->volume},
        .trial = *trial,
    };
}

static void tell(struct nm_run *run, const char *path, const struct nm_error *why)
{
    char text[2 * sizeof(why->text)];

    snprintf(text, sizeof(text), "%s; results go to %s: load them with `nasmark import spool %s`",
             why->text, path, path);
    run->on_warning(run->context, text);
}

int nm_spool_trial(struct nm_run *run, const struct nm_target *target,
                   const struct nm_trial_record *trial, const struct nm_error *why,
                   struct nm_error *err)
{
    char *canonical = nm_plan_canonical_run(run->plan), *path = NULL;
    struct nm_document document;
    int r;

    if (!canonical || asprintf(&path, "%s.spool", nm_store_path(run->store)) < 0) {
        free(canonical);
        return nm_error_no_memory(err);
    }
    document = document_of(run, target, trial, canonical);
    r = nm_document_spool(path, &document, err);
    if (r == 0 && !run->n_spooled++)
        tell(run, path, why);
    free(path);
    free(canonical);
    return r;
}
