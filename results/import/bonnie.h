/* Phases of a Bonnie++ result, shared by its own CSV and by tables of its figures.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_IMPORT_BONNIE_H
#define NM_IMPORT_BONNIE_H

#include "import.h"
#include "scan.h"

enum nm_bonnie_phase {
    NM_BONNIE_WRITE_CHAR,
    NM_BONNIE_WRITE_BLOCK,
    NM_BONNIE_REWRITE,
    NM_BONNIE_READ_CHAR,
    NM_BONNIE_READ_BLOCK,
    NM_BONNIE_SEEKS,
    NM_BONNIE_CREATE_SEQUENTIAL,
    NM_BONNIE_STAT_SEQUENTIAL,
    NM_BONNIE_DELETE_SEQUENTIAL,
    NM_BONNIE_CREATE_RANDOM,
    NM_BONNIE_STAT_RANDOM,
    NM_BONNIE_DELETE_RANDOM,
    NM_BONNIE_PHASES
};

/* Hands one phase to the sink. rate as printed: a number is K/sec (KiB) or operations per second,
 * "+++++" was too fast to measure, empty was not run (nothing is stored). cpu and latency may be
 * empty. document carries everything but the phase; its metrics are rewritten. */
int nm_bonnie_phase(const struct nm_import_sink *sink, struct nm_document *document,
                    enum nm_bonnie_phase phase, struct nm_slice rate, struct nm_slice cpu,
                    struct nm_slice latency, struct nm_metrics *metrics,
                    struct nm_error *err) NM_MUST_CHECK;

#endif
