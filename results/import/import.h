/* Results of other tools, of published reviews and of other databases.
 *
 * An importer is one file and one row in import.c: it parses text that is in memory and hands each
 * trial to a sink, in file order, without knowing the store. nm_import_run() puts a whole file into
 * one transaction: all of it or nothing, and the same file only once.
 *
 * A rate that was printed without its amount and time is stored as the bytes of one second; the
 * printed value is kept as source_text. Locale never matters.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_IMPORT_H
#define NM_IMPORT_H

#include "../document.h"
#include "../store.h"

/* What the file does not say. */
struct nm_import_defaults {
    const char *nas, *firmware, *volume, *protocol; /* never NULL */
};

/* warning and note may be NULL. */
struct nm_import_sink {
    const struct nm_import_defaults *defaults;
    /* Everything in document is borrowed for the call. */
    int (*trial)(void *context, const struct nm_document *document, struct nm_error *err);
    /* Something that is no result and yet worth keeping: lines in front of JSON, values that could
     * not be read. One line. */
    void (*warning)(void *context, const char *text);
    /* The author's own remarks: kept, not shown. One line. */
    void (*note)(void *context, const char *text);
    void *context;
};

struct nm_importer {
    const char *name; /* as on the command line */
    const char *help; /* one line */
    /* -EBADMSG with a line number for text that is not of this format; an empty result is one. */
    int (*parse)(const char *text, size_t length, const struct nm_import_sink *sink,
                 struct nm_error *err);
};

extern const struct nm_importer *const nm_importer_table[];   /* NULL-terminated */
const struct nm_importer *nm_importer_find(const char *name); /* NULL = unknown */

struct nm_import_options {
    const char *nas, *firmware, *volume, *protocol; /* NULL = taken from the file, else its name */
};

struct nm_import_result {
    bool again;      /* this file is stored already; nothing was changed */
    char run_id[16]; /* of the session that holds it; "" when the file brought its own */
    size_t n_trials; /* stored, of these: */
    size_t n_failed;
    size_t n_known;    /* left out: stored before by another file or run */
    size_t n_warnings; /* kept as notes of the run */
};

/* Largest file that is read. */
#define NM_IMPORT_MAX_BYTES (1024u * 1024 * 1024)

/* warning (may be NULL) is called for each when all is stored; at most the first 200. */
int nm_import_run(struct nm_store *store, const struct nm_importer *importer, const char *path,
                  const struct nm_import_options *options,
                  void (*warning)(void *context, const char *text), void *context,
                  struct nm_import_result *ret, struct nm_error *err) NM_MUST_CHECK;

/* The parts, for importers. */

/* A trial with nas, volume, campaign and protocol from the defaults, source "imported:FORMAT". */
void nm_import_document_init(struct nm_document *document, const struct nm_import_sink *sink,
                             const char *format, struct nm_conditions *conditions,
                             struct nm_metrics *metrics);

/* Canonical key of a workload as people write it: "1x2GB", "copy 1x2GB", "copy:1x2GB" are the same.
 * What no workload of ours accepts stays as it is. Heap, NULL when out of memory. Sets the amount
 * of one phase where the key tells it (else 0). */
char *nm_import_workload_key(const char *text, uint64_t *ret_bytes, uint64_t *ret_files);

/* Position of a phase and its direction: from the workload's table, else by name. */
void nm_import_phase(const char *workload_key, const char *phase, int *ret_index, bool *ret_writes);

#endif
