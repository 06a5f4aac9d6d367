/* The shared mapping (arena.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "arena.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

int nm_arena_new(struct nm_arena **ret_arena, struct nm_error *err)
{
    void *memory = mmap(NULL, sizeof(struct nm_arena), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED)
        return nm_error_errno(err, -errno, "cannot map %zu MiB of shared memory; free some memory",
                              sizeof(struct nm_arena) >> 20);
    madvise(memory, sizeof(struct nm_arena), MADV_DONTDUMP);
    *ret_arena = memory;
    return 0;
}

void nm_arena_free(struct nm_arena *arena)
{
    if (arena)
        munmap(arena, sizeof(*arena));
}

static void reset_histogram(struct nm_histogram *histogram)
{
    if (histogram->count) /* do not touch pages that were never used */
        memset(histogram, 0, sizeof(*histogram));
}

void nm_arena_reset(struct nm_arena *arena, unsigned n)
{
    atomic_store(&arena->start_at_ns, 0);
    atomic_store(&arena->abort, 0);
    for (unsigned i = 0; i < n && i < NM_WORKERS_MAX; i++) {
        struct nm_slot *slot = &arena->slots[i];

        memset(slot->bins_bytes, 0, slot->n_bins * sizeof(slot->bins_bytes[0]));
        for (int kind = 0; kind < NM_OP_KINDS; kind++)
            reset_histogram(&slot->operations_latency[kind]);
        reset_histogram(&slot->file_latency);
        slot->points.count = 0;
        memset(slot, 0, offsetof(struct nm_slot, operations_latency));
    }
}
