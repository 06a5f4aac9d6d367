/* The store: one SQLite file. SQL lives here and in results/store_*.c only.
 *
 * STRICT tables, foreign keys, user_version migrations, busy timeout before the first pragma, WAL
 * on local file systems only. One transaction per trial. Opened only after the spawner was forked:
 * no handle crosses a fork. Read-only opening never changes the file.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_STORE_H
#define NM_STORE_H

#include "record.h"

struct nm_store;

enum nm_store_mode { NM_STORE_READ, NM_STORE_WRITE };

/* Default path: $NASMARK_DB, else $XDG_DATA_HOME/nasmark/nasmark.db, else
 * ~/.local/share/nasmark/nasmark.db. Heap. */
char *nm_store_default_path(void);

/* Opens or (NM_STORE_WRITE) creates; path NULL = the default path. Refuses untouched: a file that
 * is not ours, a newer schema. A locked database is waited for (10 s), then it is -EBUSY "database
 * busy (pid N)", here and in every other function. Directories are made for the default path only.
 */
int nm_store_open(const char *path, enum nm_store_mode mode, struct nm_store **ret_store,
                  struct nm_error *err) NM_MUST_CHECK;
void nm_store_close(struct nm_store *store);

const char *nm_store_path(const struct nm_store *store);

/* What the user should know about where the database lies, one line; NULL = nothing. Valid until
 * the store is closed. */
const char *nm_store_warning(const struct nm_store *store);

/* Everything up to the end is one transaction (import): all or nothing when `commit` is false or
 * the commit fails. A function that fails in between undoes only itself. */
int nm_store_batch_begin(struct nm_store *store, struct nm_error *err) NM_MUST_CHECK;
int nm_store_batch_end(struct nm_store *store, bool commit, struct nm_error *err) NM_MUST_CHECK;

/* Finds or creates; vendor, model, disks, RAM and firmware date are updated where given. A campaign
 * is NAS name + firmware + canonical run text. */
int nm_store_campaign(struct nm_store *store, const struct nm_nas_record *nas,
                      const char *canonical_run, int64_t *ret_campaign_id,
                      struct nm_error *err) NM_MUST_CHECK;

/* The campaign of this NAS and firmware that ran last and its canonical text (heap), to say what
 * changed in a plan; *ret_campaign_id = 0 and text NULL when there is none. */
int nm_store_last_campaign(struct nm_store *store, const char *nas, const char *firmware,
                           int64_t *ret_campaign_id, char **ret_canonical_run,
                           struct nm_error *err) NM_MUST_CHECK;

/* Finds or creates the volume of a campaign's NAS and firmware; updates label, interface, position.
 * Another kind under the same name is -EEXIST: earlier trials would change their meaning. */
int nm_store_volume(struct nm_store *store, int64_t campaign_id,
                    const struct nm_volume_record *volume, int64_t *ret_volume_id,
                    struct nm_error *err) NM_MUST_CHECK;

/* Identity of what is behind volume x protocol: stored at first use; later a different one is
 * -EEXIST (reason protected) with both texts in err. */
int nm_store_check_identity(struct nm_store *store, int64_t volume_id, const char *protocol,
                            const char *identity, struct nm_error *err) NM_MUST_CHECK;

/* A session = one invocation. ret_run_id: 8 lower-case hex digits, printed to the user, unique in
 * the file. client: JSON object text with what is known of the client, or NULL. plan_text: for the
 * record, no secrets. */
int nm_store_session_begin(struct nm_store *store, int64_t campaign_id, uint64_t seed,
                           const char *order, const char *plan_text, const char *client,
                           int64_t *ret_session_id, char ret_run_id[16],
                           struct nm_error *err) NM_MUST_CHECK;
int nm_store_session_end(struct nm_store *store, int64_t session_id, const char *outcome,
                         struct nm_error *err) NM_MUST_CHECK;

/* One transaction: trial, metrics, histograms, bins, conditions. */
int nm_store_trial(struct nm_store *store, const struct nm_trial_record *trial,
                   int64_t *ret_trial_id, struct nm_error *err) NM_MUST_CHECK;

/* Import (store_import.c). Run id of the session that a file with this hash was put into, "" when
 * the file brought its own sessions; -ENOENT (err untouched) when it was never imported. */
int nm_store_import_find(struct nm_store *store, const char *hash, char ret_run_id[16],
                         struct nm_error *err) NM_MUST_CHECK;
/* session_id 0 = the file brought its own. */
int nm_store_import_add(struct nm_store *store, const char *hash, const char *format,
                        const char *file, int64_t session_id, struct nm_error *err) NM_MUST_CHECK;

/* Finds the session with this run id, or stores it as it was. -EEXIST when the run id belongs to
 * another campaign here. */
int nm_store_session_import(struct nm_store *store, int64_t campaign_id,
                            const struct nm_session_record *session, int64_t *ret_session_id,
                            struct nm_error *err) NM_MUST_CHECK;

/* The volume with this name; -ENOENT (err untouched) when it is new. kind NULL fits any, another
 * kind is -EEXIST as in nm_store_volume(). */
int nm_store_volume_find(struct nm_store *store, int64_t campaign_id, const char *name,
                         const char *kind, int64_t *ret_volume_id,
                         struct nm_error *err) NM_MUST_CHECK;

/* Whether this very trial (session, cell, pass, start) is stored already. */
int nm_store_trial_known(struct nm_store *store, const struct nm_trial_record *trial,
                         bool *ret_known, struct nm_error *err) NM_MUST_CHECK;

/* Which of the passes 1..n of a cell need no more trial (one of this target URL is stored with
 * status ok, unsupported, na or too_short; in `round`): done[pass - 1]. */
int nm_store_passes(struct nm_store *store, int64_t campaign_id, uint32_t round, int64_t volume_id,
                    const char *protocol, const char *url, const char *workload, const char *phase,
                    bool *ret_done, uint32_t n, struct nm_error *err) NM_MUST_CHECK;

/* The ids of a campaign and a volume that are known already; both 0 when one of them is not. For
 * readers. */
int nm_store_find_volume(struct nm_store *store, const struct nm_nas_record *nas,
                         const char *canonical_run, const char *volume, int64_t *ret_campaign_id,
                         int64_t *ret_volume_id, struct nm_error *err) NM_MUST_CHECK;

/* Id of the last trial that is stored, 0 = none. */
int nm_store_last_trial(struct nm_store *store, int64_t *ret_trial_id,
                        struct nm_error *err) NM_MUST_CHECK;

/* Highest round of a campaign so far; 0 for a fresh one. */
int nm_store_round(struct nm_store *store, int64_t campaign_id, uint32_t *ret_round,
                   struct nm_error *err) NM_MUST_CHECK;

/* Notes that a run uses this target, before its first trial is stored. */
int nm_store_target(struct nm_store *store, int64_t volume_id, const char *protocol,
                    const char *url, struct nm_error *err) NM_MUST_CHECK;

/* Calls take(context, url) for each target that measured trials went to, until it returns non-zero,
 * which is then the result. */
int nm_store_targets(struct nm_store *store, int (*take)(void *context, const char *url),
                     void *context, struct nm_error *err) NM_MUST_CHECK;

int nm_store_void_trial(struct nm_store *store, int64_t trial_id, const char *why,
                        struct nm_error *err) NM_MUST_CHECK;
int nm_store_note(struct nm_store *store, const char *run_id, const char *text,
                  struct nm_error *err) NM_MUST_CHECK;

#endif
