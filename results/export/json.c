/* export --format json: every trial with histograms and samples, as `import json` reads it.
 *
 * The array is written trial by trial: ten million samples need not fit into memory at once.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "export.h"

#include "../store_document.h"

#include <errno.h>

static int write_trial(struct nm_store *store, int64_t trial_id, FILE *out, struct nm_error *err)
{
    struct nm_stored_document *stored;
    json_t *json;
    int r = nm_stored_document_read(store, trial_id, true, &stored, err);

    if (r < 0)
        return r;
    json = nm_document_json(&stored->document);
    if (!json)
        r = nm_error_errno(err, -ENOMEM, "export: trial %lld cannot be written as JSON",
                           (long long)trial_id);
    else if (json_dumpf(json, out, JSON_COMPACT) < 0)
        r = nm_error_errno(err, -EIO, "export: writing failed");
    json_decref(json);
    nm_stored_document_free(stored);
    return r;
}

static int write_json(struct nm_store *store, const struct nm_cells *cells, FILE *out,
                      struct nm_error *err)
{
    bool first = true;

    fputs("{\"schema\":1,\"trials\":[", out);
    for (size_t i = 0; i < cells->count; i++)
        for (size_t k = 0; k < cells->items[i].n_trials; k++) {
            int r;

            fputs(first ? "\n" : ",\n", out);
            first = false;
            r = write_trial(store, cells->items[i].trials[k].id, out, err);
            if (r < 0)
                return r;
        }
    fputs("\n]}\n", out);
    return 0;
}

const struct nm_export_format nm_export_json = {
    .name = "json",
    .help = "every trial with conditions, metrics, histograms and samples, for `import json`",
    .write = write_json,
};
