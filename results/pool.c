/* Bump allocation in blocks (pool.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "pool.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES 65536
#define RECENT      16

struct block {
    struct block *next;
    alignas(max_align_t) char bytes[];
};

struct nm_pool {
    struct block *blocks;
    char *free;
    size_t left;
    const char *recent[RECENT]; /* texts handed out last, a ring */
    unsigned at;
};

struct nm_pool *nm_pool_new(void)
{
    return calloc(1, sizeof(struct nm_pool));
}

void nm_pool_free(struct nm_pool *pool)
{
    if (!pool)
        return;
    for (struct block *block = pool->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(pool);
}

void *nm_pool_alloc(struct nm_pool *pool, size_t size)
{
    size_t align = alignof(max_align_t), need = (size + align - 1) / align * align;
    void *memory;

    if (need > pool->left) {
        size_t bytes = need > BLOCK_BYTES ? need : BLOCK_BYTES;
        struct block *block = calloc(1, sizeof(*block) + bytes);

        if (!block)
            return NULL;
        block->next = pool->blocks;
        pool->blocks = block;
        pool->free = block->bytes;
        pool->left = bytes;
    }
    memory = pool->free;
    pool->free += need;
    pool->left -= need;
    return memory;
}

const char *nm_pool_text(struct nm_pool *pool, const char *text)
{
    size_t size;
    char *copy;

    if (!text)
        return NULL;
    for (unsigned i = 0; i < RECENT; i++)
        if (pool->recent[i] && !strcmp(pool->recent[i], text))
            return pool->recent[i];
    size = strlen(text) + 1;
    copy = nm_pool_alloc(pool, size);
    if (!copy)
        return NULL;
    memcpy(copy, text, size);
    pool->recent[pool->at++ % RECENT] = copy;
    return copy;
}
