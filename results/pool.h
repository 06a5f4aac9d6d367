/* Memory that is freed all at once: strings and small arrays of a result set.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_POOL_H
#define NM_POOL_H

#include <stddef.h>

struct nm_pool;

struct nm_pool *nm_pool_new(void);
void nm_pool_free(struct nm_pool *pool);

/* Zeroed, aligned for anything; NULL when out of memory. */
void *nm_pool_alloc(struct nm_pool *pool, size_t size);

/* Copy; NULL stays NULL (and is out of memory otherwise). A repetition of one of the last texts
 * costs nothing. */
const char *nm_pool_text(struct nm_pool *pool, const char *text);

#endif
