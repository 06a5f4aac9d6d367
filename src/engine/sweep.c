/* Cleaning up after earlier runs (sweep.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "sweep.h"

#include "clock.h"
#include "directory.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Another machine's clock may be wrong and its process cannot be seen: only what is old is
 * nobody's. */
#define RECENT_S     (24 * 3600)
#define MARKER_BYTES 1024

static const char *const state_names[NM_SWEEP_STATES] = {
    [NM_SWEEP_REMOVED] = "removed",   [NM_SWEEP_FOUND] = "left behind",
    [NM_SWEEP_IN_USE] = "in use",     [NM_SWEEP_RECENT] = "of another machine, recent",
    [NM_SWEEP_NOT_OURS] = "not ours", [NM_SWEEP_FOREIGN] = "holds entries that are not ours",
    [NM_SWEEP_FAILED] = "failed",
};

const char *nm_sweep_state_name(enum nm_sweep_state state)
{
    return (unsigned)state < NM_SWEEP_STATES ? state_names[state] : "?";
}

/* Whether a name is one that runs give to their directories. */
static bool is_of_a_run(const char *name)
{
    size_t prefix = strlen(NM_RUN_DIRECTORY_PREFIX), at = prefix;

    if (strncmp(name, NM_RUN_DIRECTORY_PREFIX, prefix))
        return false;
    while (isxdigit((unsigned char)name[at]) && !isupper((unsigned char)name[at]))
        at++;
    if (at - prefix != 8 || name[at++] != '-')
        return false;
    size_t digits = strspn(name + at, "0123456789");

    return digits && digits < 6 && name[at + digits] == '-' &&
           nm_protocol_parse(name + at + digits + 1) >= 0;
}

static void note_directory(void *context, const char *name, const struct nm_stat *stat)
{
    struct nm_sweep *sweep = context;

    if (!stat->is_directory || stat->is_symlink || !is_of_a_run(name))
        return;
    if (sweep->count == NM_SWEEP_MAX) {
        sweep->skipped++;
        return;
    }
    struct nm_sweep_entry *entry = &sweep->entries[sweep->count++];

    *entry = (struct nm_sweep_entry){.state = NM_SWEEP_FOUND};
    snprintf(entry->name, sizeof(entry->name), "%s", name);
}

static void note_anything(void *context, const char *name, const struct nm_stat *stat)
{
    (void)name;
    (void)stat;
    ++*(unsigned *)context;
}

/* Text of the marker; NULL when there is none that can be read. */
static json_t *read_marker(struct nm_session *session, const char *directory, uint64_t timeout_ns,
                           void *buffer, size_t buffer_bytes)
{
    char path[160];
    struct nm_op op = {.kind = NM_OP_OPEN, .path = path, .open_flags = NM_OPEN_READ};
    int64_t length;

    snprintf(path, sizeof(path), "%s/%s", directory, NM_OWNER_FILE);
    if (nm_session_run(session, &op, timeout_ns) < 0)
        return NULL;
    op.kind = NM_OP_READ;
    op.buf = buffer;
    op.length_bytes = (uint32_t)(buffer_bytes < MARKER_BYTES ? buffer_bytes : MARKER_BYTES);
    length = nm_session_run(session, &op, timeout_ns);
    op.kind = NM_OP_CLOSE;
    nm_session_run(session, &op, timeout_ns);
    return length > 0 ? json_loadb(buffer, (size_t)length, 0, NULL) : NULL;
}

static bool is_recent(const char *started)
{
    struct tm tm = {0};
    time_t now = (time_t)(nm_clock_utc_ns() / NM_NS_PER_S);

    if (!started || !strptime(started, "%Y-%m-%dT%H:%M:%SZ", &tm))
        return true; /* unknown: leave it */
    time_t then = timegm(&tm);

    return then > now || now - then < RECENT_S;
}

/* Whether pid is a live process of this program: a zombie that nobody has reaped yet is not, nor is
 * another program that got the number since. */
static bool is_running(pid_t pid)
{
    char path[64], comm[32] = "", command[2];
    FILE *in;

    if (pid <= 0)
        return false;
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    in = fopen(path, "re");
    if (!in)
        return false;
    (void)!fgets(comm, sizeof(comm), in);
    fclose(in);
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    in = fopen(path, "re");
    if (!in)
        return false;
    size_t length = fread(command, 1, sizeof(command), in);

    fclose(in);
    return length && !strncmp(comm, "nasmark", 7);
}

static enum nm_sweep_state judge_marker(const json_t *marker, struct nm_sweep_entry *entry)
{
    const char *program = json_string_value(json_object_get(marker, "program"));
    const char *directory = json_string_value(json_object_get(marker, "directory"));
    const char *host = json_string_value(json_object_get(marker, "host"));
    const char *started = json_string_value(json_object_get(marker, "started"));
    pid_t pid = (pid_t)json_integer_value(json_object_get(marker, "pid"));
    char here[64] = "unknown";

    if (!program || strcmp(program, "nasmark") || !directory || strcmp(directory, entry->name) ||
        !host)
        return NM_SWEEP_NOT_OURS;
    snprintf(entry->owner, sizeof(entry->owner), "%.64s, pid %d, since %.32s", host, (int)pid,
             started ? started : "?");
    gethostname(here, sizeof(here) - 1);
    if (strcmp(host, here))
        return is_recent(started) ? NM_SWEEP_RECENT : NM_SWEEP_FOUND;
    return is_running(pid) ? NM_SWEEP_IN_USE : NM_SWEEP_FOUND;
}

static void judge(struct nm_session *session, uint64_t timeout_ns, void *buffer,
                  size_t buffer_bytes, struct nm_sweep_entry *entry)
{
    json_t *marker = read_marker(session, entry->name, timeout_ns, buffer, buffer_bytes);
    unsigned entries = 0;
    struct nm_op list = {.kind = NM_OP_LIST,
                         .path = entry->name,
                         .list_entry = note_anything,
                         .list_context = &entries};

    if (marker) {
        entry->state = judge_marker(marker, entry);
        json_decref(marker);
        return;
    }
    /* Killed between making the directory and marking it: an empty one loses nothing. */
    entry->state = nm_session_run(session, &list, timeout_ns) >= 0 && !entries ? NM_SWEEP_FOUND
                                                                               : NM_SWEEP_NOT_OURS;
}

int nm_sweep_run(struct nm_session *session, bool remove, uint64_t timeout_ns, void *buffer,
                 size_t buffer_bytes, _Atomic uint64_t *heartbeat_ns, struct nm_sweep *ret,
                 struct nm_error *err)
{
    struct nm_op list = {
        .kind = NM_OP_LIST, .path = "", .list_entry = note_directory, .list_context = ret};

    ret->count = ret->skipped = 0;
    if (nm_session_run(session, &list, timeout_ns) < 0) {
        *err = list.err;
        nm_error_prefix(err, "cannot list the target");
        return (int)list.result;
    }
    for (uint32_t i = 0; i < ret->count; i++) {
        struct nm_sweep_entry *entry = &ret->entries[i];
        uint64_t foreign = 0;
        struct nm_error why;

        atomic_store(heartbeat_ns, nm_clock_now_ns());
        judge(session, timeout_ns, buffer, buffer_bytes, entry);
        if (entry->state != NM_SWEEP_FOUND || !remove)
            continue;
        if (nm_directory_remove(session, entry->name, timeout_ns, buffer, buffer_bytes,
                                heartbeat_ns, &foreign, &why) < 0) {
            entry->state = NM_SWEEP_FAILED;
            snprintf(entry->owner, sizeof(entry->owner), "%.*s", (int)sizeof(entry->owner) - 1,
                     why.text);
        } else {
            entry->state = foreign ? NM_SWEEP_FOREIGN : NM_SWEEP_REMOVED;
        }
    }
    return 0;
}
