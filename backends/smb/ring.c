/* Request numbers from the worker to a lane: one producer, one consumer, no lock (smb.h).
 *
 * The consumer sleeps on a futex at once instead of spinning: worker, lane and often the server
 * share the cores, and a spinning lane made 2 KB files 20 % slower on two of them. A lane needs no
 * deadline here: it dies with the worker (PR_SET_PDEATHSIG).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "smb.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert((NM_SMB_RING_SLOTS & (NM_SMB_RING_SLOTS - 1)) == 0, "positions wrap at 2^32");

static void futex(_Atomic uint32_t *word, int operation, uint32_t value)
{
    syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

int nm_smb_ring_push(struct nm_smb_ring *ring, uint32_t value)
{
    uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

    if (tail - atomic_load_explicit(&ring->head, memory_order_acquire) >= NM_SMB_RING_SLOTS)
        return -EAGAIN;
    ring->slots[tail % NM_SMB_RING_SLOTS] = value;
    atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
    futex(&ring->tail, FUTEX_WAKE, 1);
    return 0;
}

bool nm_smb_ring_try_pop(struct nm_smb_ring *ring, uint32_t *ret_value)
{
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

    if (atomic_load_explicit(&ring->tail, memory_order_acquire) == head)
        return false;
    *ret_value = ring->slots[head % NM_SMB_RING_SLOTS];
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
    return true;
}

uint32_t nm_smb_ring_pop(struct nm_smb_ring *ring)
{
    uint32_t value;

    while (!nm_smb_ring_try_pop(ring, &value))
        futex(&ring->tail, FUTEX_WAIT, atomic_load_explicit(&ring->head, memory_order_relaxed));
    return value;
}
