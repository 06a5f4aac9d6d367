/* What is allocated once and handed out: slots for requests, open files (smb.h).
 *
 * Nothing is allocated between submit and completion of an operation, except when a session opens
 * more files at a time than ever before.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "smb.h"

#include "clock.h"

#include <errno.h>
#include <stdlib.h>

#define FILES_PER_BLOCK 64u
#define BLOCKS_MAX      256u

int nm_smb_pool_init(struct nm_smb_session *session, struct nm_error *err)
{
    session->slots = calloc(session->n_slots, sizeof(*session->slots));
    session->blocks = calloc(BLOCKS_MAX, sizeof(struct nm_smb_file *));
    session->free_slot = NM_SMB_NO_SLOT;
    session->check_ns = NM_NEVER_NS;
    if (!session->slots || !session->blocks)
        return nm_error_set(err, -ENOMEM, NM_REASON_CLIENT_LIMIT, "no memory for the queue");
    for (uint32_t i = session->n_slots; i-- > 0; session->free_slot = i)
        session->slots[i].next = session->free_slot;
    return 0;
}

void nm_smb_pool_done(struct nm_smb_session *session)
{
    for (uint32_t i = 0; i < session->n_blocks; i++)
        free(session->blocks[i]);
    free(session->blocks);
    free(session->slots);
}

struct nm_smb_file *nm_smb_file_take(struct nm_smb_session *session)
{
    struct nm_smb_file *file = session->free_files;

    if (!file && session->n_blocks < BLOCKS_MAX) {
        struct nm_smb_file *block = calloc(FILES_PER_BLOCK, sizeof(*block));

        if (!block)
            return NULL;
        for (uint32_t i = FILES_PER_BLOCK; i-- > 0; session->free_files = &block[i]) {
            block[i].handle = session->n_blocks * FILES_PER_BLOCK + i;
            block[i].base.session = &session->base;
            block[i].next = session->free_files;
        }
        session->blocks[session->n_blocks++] = block;
        file = session->free_files;
    }
    if (file)
        session->free_files = file->next;
    return file;
}

void nm_smb_file_release(struct nm_smb_session *session, struct nm_smb_file *file)
{
    file->next = session->free_files;
    session->free_files = file;
}

uint32_t nm_smb_slot_take(struct nm_smb_session *session, struct nm_op *op,
                          struct nm_smb_file *file, unsigned lane)
{
    uint32_t number = session->free_slot;

    if (number != NM_SMB_NO_SLOT) {
        struct nm_smb_slot *slot = &session->slots[number];

        session->free_slot = slot->next;
        *slot = (struct nm_smb_slot){.busy = true,
                                     .lane = lane,
                                     .op = op,
                                     .file = file,
                                     .submit_ns = op ? op->submit_ns : nm_clock_now_ns()};
        if (session->check_ns == NM_NEVER_NS)
            session->check_ns = slot->submit_ns + session->target.how.timeout_ns;
    }
    return number;
}

void nm_smb_slot_release(struct nm_smb_session *session, uint32_t number)
{
    session->slots[number].busy = false;
    session->slots[number].next = session->free_slot;
    session->free_slot = number;
}
