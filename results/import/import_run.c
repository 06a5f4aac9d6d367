/* One file into the store, in one transaction (import.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "decode.h"
#include "import.h"

#include "../../src/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* Where trials of one NAS, firmware, campaign and session go. */
struct place {
    char *key;
    int64_t campaign_id, session_id;
};

/* A name given on the command line in place of the file's. */
struct given {
    const char *name, *what;
    char *replaced; /* the one name of the file */
};

struct note {
    char *text;
    bool is_warning;
};

struct run {
    struct nm_store *store;
    const struct nm_importer *importer;
    struct nm_import_result *result;
    struct given nas, firmware, volume, protocol;
    struct place *places;
    size_t n_places;
    int64_t own_session_id; /* 0 = not needed yet */
    int n_volumes;          /* made so far; their order is that of the file */
    struct note *notes;     /* kept with the run */
    size_t n_notes;
    bool out_of_memory;
};

enum { MAX_NOTES = 200 };

static int read_file(int fd, char **ret_text, size_t *ret_length, struct nm_error *err)
{
    size_t length = 0, room = 1 << 16;
    char *text = malloc(room);

    while (text) {
        ssize_t n = read(fd, text + length, room - length);
        char *more;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int code = -errno;

            free(text);
            return nm_error_errno(err, code, "reading failed: %s", strerror(-code));
        }
        length += (size_t)n;
        if (n == 0) {
            *ret_text = text;
            *ret_length = length;
            return 0;
        }
        if (length < room)
            continue;
        if (room >= NM_IMPORT_MAX_BYTES) {
            free(text);
            return nm_error_set(err, -EFBIG, NM_REASON_CLIENT_LIMIT, "larger than %u MiB; split it",
                                NM_IMPORT_MAX_BYTES >> 20);
        }
        room *= 2;
        more = realloc(text, room);
        if (!more)
            break;
        text = more;
    }
    free(text);
    return nm_error_errno(err, -ENOMEM, "reading it: out of memory");
}

static int open_file(const char *path, char **ret_text, size_t *ret_length, struct nm_error *err)
{
    bool standard_input = !strcmp(path, "-");
    int fd = standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC), r;

    if (fd < 0)
        return nm_error_errno(err, -errno, "%s", strerror(errno));
    r = read_file(fd, ret_text, ret_length, err);
    if (!standard_input)
        close(fd);
    return r;
}

/* Over the contents and the names given with them: the same file may be wanted under two names. */
static void hash_import(const struct nm_importer *importer,
                        const struct nm_import_defaults *defaults, const char *text, size_t length,
                        char out[33])
{
    const char *const names[] = {importer->name, defaults->nas, defaults->firmware,
                                 defaults->volume, defaults->protocol};
    XXH3_state_t *state = XXH3_createState();
    XXH128_hash_t hash = {0};

    if (state) {
        XXH3_128bits_reset(state);
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            XXH3_128bits_update(state, names[i], strlen(names[i]) + 1);
        XXH3_128bits_update(state, text, length);
        hash = XXH3_128bits_digest(state);
        XXH3_freeState(state);
    }
    snprintf(out, 33, "%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64, (uint64_t)hash.low64);
}

/* The session of the import itself, in the campaign of the first trial. */
static int own_session(struct run *run, int64_t campaign_id, int64_t *ret_session_id,
                       struct nm_error *err)
{
    char plan[64], run_id[16];
    int r;

    snprintf(plan, sizeof(plan), "import %s", run->importer->name);
    r = nm_store_session_begin(run->store, campaign_id, 0, "imported", plan, NULL, ret_session_id,
                               run_id, err);
    if (r == 0)
        r = nm_store_session_end(run->store, *ret_session_id, "done", err);
    if (r == 0 && !run->own_session_id) {
        run->own_session_id = *ret_session_id;
        memcpy(run->result->run_id, run_id, sizeof(run_id));
    }
    return r;
}

static int add_place(struct run *run, const struct nm_document *document, char *key,
                     struct nm_error *err)
{
    struct place *place, *more = realloc(run->places, (run->n_places + 1) * sizeof(*more));
    int r;

    if (!more) {
        free(key);
        return nm_error_errno(err, -ENOMEM, "importing: out of memory");
    }
    run->places = more;
    place = &more[run->n_places];
    *place = (struct place){.key = key};
    r = nm_store_campaign(run->store, &document->nas, document->campaign, &place->campaign_id, err);
    if (r == 0)
        r = document->session.run
                ? nm_store_session_import(run->store, place->campaign_id, &document->session,
                                          &place->session_id, err)
                : own_session(run, place->campaign_id, &place->session_id, err);
    if (r < 0) {
        free(key);
        return r;
    }
    run->n_places++;
    return 0;
}

/* The last place first: files are in order. */
static int find_place(struct run *run, const struct nm_document *document, struct place *ret,
                      struct nm_error *err)
{
    const char *session = document->session.run;
    char *key = NULL;
    int r;

    if (asprintf(&key, "%s\n%s\n%s\n%s", document->nas.name, document->nas.firmware,
                 document->campaign, session ? session : "") < 0)
        return nm_error_errno(err, -ENOMEM, "importing: out of memory");
    for (size_t i = run->n_places; i-- > 0;)
        if (!strcmp(run->places[i].key, key)) {
            *ret = run->places[i];
            free(key);
            return 0;
        }
    r = add_place(run, document, key, err);
    if (r == 0)
        *ret = run->places[run->n_places - 1];
    return r;
}

/* A given name may stand for one name of the file, not for several. */
static int replace_name(struct given *given, const char **name, struct nm_error *err)
{
    if (!given->name)
        return 0;
    if (!given->replaced && !(given->replaced = strdup(*name)))
        return nm_error_errno(err, -ENOMEM, "importing: out of memory");
    if (strcmp(given->replaced, *name) != 0)
        return nm_error_set(err, -EINVAL, NM_REASON_PROTECTED,
                            "holds more than one %s (%s, %s); leave out --%s", given->what,
                            given->replaced, *name, given->what);
    *name = given->name;
    return 0;
}

static int replace_names(struct run *run, struct nm_document *document, struct nm_error *err)
{
    int r = replace_name(&run->nas, &document->nas.name, err);

    if (r == 0)
        r = replace_name(&run->firmware, &document->nas.firmware, err);
    if (r == 0)
        r = replace_name(&run->volume, &document->volume.name, err);
    if (r == 0)
        r = replace_name(&run->protocol, &document->trial.protocol, err);
    return r;
}

/* Finds or makes the volume. One that is stored keeps its label and place; kind NULL fits any. */
static int find_volume(struct run *run, int64_t campaign_id, const struct nm_volume_record *given,
                       int64_t *ret_volume_id, struct nm_error *err)
{
    struct nm_volume_record volume = *given;
    int r =
        nm_store_volume_find(run->store, campaign_id, volume.name, volume.kind, ret_volume_id, err);

    if (r != -ENOENT)
        return r;
    if (!volume.kind)
        volume.kind = "other";
    volume.position += run->n_volumes++;
    for (const char *const *kind = nm_volume_kinds; *kind; kind++)
        if (!given->kind && !strcmp(*kind, volume.name))
            volume.kind = *kind;
    return nm_store_volume(run->store, campaign_id, &volume, ret_volume_id, err);
}

static int store_trial(void *context, const struct nm_document *given, struct nm_error *err)
{
    struct run *run = context;
    struct nm_document document = *given;
    struct nm_trial_record trial;
    struct place place = {0};
    int64_t trial_id;
    bool known = false;
    int r = replace_names(run, &document, err);

    if (r == 0)
        r = find_place(run, &document, &place, err);

    if (r < 0)
        return r;
    trial = document.trial;
    trial.campaign_id = place.campaign_id;
    trial.session_id = place.session_id;
    r = find_volume(run, place.campaign_id, &document.volume, &trial.volume_id, err);
    if (r == 0 && document.session.run)
        r = nm_store_trial_known(run->store, &trial, &known, err);
    if (r < 0)
        return r;
    if (known) {
        run->result->n_known++;
        return 0;
    }
    r = nm_store_trial(run->store, &trial, &trial_id, err);
    if (r < 0)
        return r;
    run->result->n_trials++;
    run->result->n_failed += trial.status == NM_STATUS_FAILED;
    return 0;
}

static void add_note(struct run *run, const char *text, bool is_warning)
{
    struct note *more;

    if (run->n_notes == MAX_NOTES)
        return;
    more = realloc(run->notes, (run->n_notes + 1) * sizeof(*more));
    if (more)
        run->notes = more;
    if (!more || !(more[run->n_notes].text = strdup(text))) {
        run->out_of_memory = true;
        return;
    }
    more[run->n_notes++].is_warning = is_warning;
}

static void keep_note(void *context, const char *text)
{
    add_note(context, text, false);
}

static void keep_warning(void *context, const char *text)
{
    struct run *run = context;

    run->result->n_warnings++;
    add_note(run, text, true);
}

/* Inside the transaction. */
static int import_text(struct run *run, const struct nm_import_defaults *defaults, const char *text,
                       size_t length, const char *hash, const char *path, struct nm_error *err)
{
    struct nm_import_sink sink = {.defaults = defaults,
                                  .trial = store_trial,
                                  .warning = keep_warning,
                                  .note = keep_note,
                                  .context = run};
    const char *name = strrchr(path, '/');
    int r = run->importer->parse(text, length, &sink, err);

    if (r == 0 && run->out_of_memory)
        r = nm_error_no_memory(err);
    if (r == 0)
        r = nm_store_import_add(run->store, hash, run->importer->name, name ? name + 1 : path,
                                run->own_session_id, err);
    for (size_t i = 0; i < run->n_notes && r == 0 && run->own_session_id; i++)
        r = nm_store_note(run->store, run->result->run_id, run->notes[i].text, err);
    return r;
}

static void run_done(struct run *run)
{
    for (size_t i = 0; i < run->n_places; i++)
        free(run->places[i].key);
    for (size_t i = 0; i < run->n_notes; i++)
        free(run->notes[i].text);
    free(run->nas.replaced);
    free(run->firmware.replaced);
    free(run->volume.replaced);
    free(run->protocol.replaced);
    free(run->places);
    free(run->notes);
}

/* All of it or nothing. */
static int import_once(struct run *run, const struct nm_import_defaults *defaults, const char *text,
                       size_t length, const char *path, struct nm_error *err)
{
    char hash[33];
    int r = nm_store_batch_begin(run->store, err), end;

    if (r < 0)
        return r;
    hash_import(run->importer, defaults, text, length, hash);
    r = nm_store_import_find(run->store, hash, run->result->run_id, err);
    run->result->again = r == 0;
    if (r == -ENOENT)
        r = import_text(run, defaults, text, length, hash, path, err);
    end = nm_store_batch_end(run->store, r == 0, r == 0 ? err : NULL);
    return r < 0 ? r : end;
}

/* File name without directory and extension: "/tmp/readynas-104.csv" -> "readynas-104". */
static void stem_of(const char *path, char *out, size_t size)
{
    const char *name = strrchr(path, '/'), *dot;
    size_t length;

    name = name ? name + 1 : path;
    dot = strrchr(name, '.');
    length = dot && dot != name ? (size_t)(dot - name) : strlen(name);
    snprintf(out, size, "%.*s", (int)(length < size ? length : size - 1), name);
    if (!*out || !strcmp(out, "-"))
        snprintf(out, size, "imported");
}

int nm_import_run(struct nm_store *store, const struct nm_importer *importer, const char *path,
                  const struct nm_import_options *options,
                  void (*warning)(void *context, const char *text), void *context,
                  struct nm_import_result *ret, struct nm_error *err)
{
    struct nm_import_result result = {0};
    struct run run = {
        .store = store,
        .importer = importer,
        .result = &result,
        .nas = {.name = options->nas, .what = "nas"},
        .firmware = {.name = options->firmware, .what = "firmware"},
        .volume = {.name = options->volume, .what = "volume"},
        .protocol = {.name = options->protocol, .what = "protocol"},
    };
    char stem[128], *text = NULL;
    size_t length = 0;
    int r;

    stem_of(path, stem, sizeof(stem));
    struct nm_import_defaults defaults = {
        .nas = options->nas ? options->nas : stem,
        .firmware = options->firmware ? options->firmware : "unknown",
        .volume = options->volume ? options->volume : stem,
        .protocol = options->protocol ? options->protocol : "local",
    };

    r = open_file(path, &text, &length, err);
    if (r == 0)
        r = nm_import_decode(&text, &length, err);
    if (r == 0)
        r = import_once(&run, &defaults, text, length, path, err);
    for (size_t i = 0; r == 0 && warning && i < run.n_notes; i++)
        if (run.notes[i].is_warning)
            warning(context, run.notes[i].text);
    free(text);
    run_done(&run);
    if (r < 0) {
        nm_error_prefix(err, "%s", path);
        return r;
    }
    *ret = result;
    return 0;
}
