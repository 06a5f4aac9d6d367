/* Write-back page cache over the block backend (lunfs.h): a hash table of 4 KiB pages with a fixed
 * maximum, so that a LUN of any size costs the same memory.
 *
 * Pages travel through staging buffers: a page may be changed while a copy of its older contents is
 * on its way. Two write-backs of one page are never in flight together, because a block device may
 * swap them. Reading ahead makes long metadata reads out of single pages; a miss waits only for its
 * own read.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "lunfs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BUCKETS (2 * LUNFS_CACHE_PAGES)

static void *map(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

static void empty(struct lunfs_cache *cache)
{
    cache->n_pages = cache->n_dirty = cache->n_data = cache->hand = 0;
    cache->free_list = cache->dirty_first = LUNFS_NO_PAGE;
    memset(cache->buckets, 0xff, BUCKETS * sizeof(*cache->buckets));
}

int lunfs_cache_open(struct lunfs_cache *cache, struct nm_error *err)
{
    cache->pages = map(LUNFS_CACHE_PAGES * sizeof(*cache->pages));
    cache->memory = map((size_t)LUNFS_CACHE_PAGES * LUNFS_PAGE);
    cache->buckets = map(BUCKETS * sizeof(*cache->buckets));
    cache->order = map(LUNFS_CACHE_PAGES * sizeof(*cache->order));
    if (!cache->pages || !cache->memory || !cache->buckets || !cache->order)
        return nm_error_errno(err, -ENOMEM, "lunfs: no memory for the page cache");
    /* Fewer page faults; where there are no huge pages it is just slower. */
    (void)madvise(cache->memory, (size_t)LUNFS_CACHE_PAGES * LUNFS_PAGE, MADV_HUGEPAGE);
    empty(cache);
    return 0;
}

void lunfs_cache_close(struct lunfs_cache *cache)
{
    if (cache->pages)
        munmap(cache->pages, LUNFS_CACHE_PAGES * sizeof(*cache->pages));
    if (cache->memory)
        munmap(cache->memory, (size_t)LUNFS_CACHE_PAGES * LUNFS_PAGE);
    if (cache->buckets)
        munmap(cache->buckets, BUCKETS * sizeof(*cache->buckets));
    if (cache->order)
        munmap(cache->order, LUNFS_CACHE_PAGES * sizeof(*cache->order));
    *cache = (struct lunfs_cache){0};
}

void lunfs_cache_reset(struct lunfs *fs)
{
    struct lunfs_cache *cache = &fs->cache;

    if (!cache->memory)
        return;
    madvise(cache->memory, (size_t)cache->n_pages * LUNFS_PAGE, MADV_DONTNEED);
    memset(cache->pages, 0, cache->n_pages * sizeof(*cache->pages));
    empty(cache);
}

static unsigned char *memory_of(const struct lunfs_cache *cache, uint32_t index)
{
    return cache->memory + (size_t)index * LUNFS_PAGE;
}

static uint32_t *bucket_of(struct lunfs_cache *cache, uint64_t number)
{
    return &cache->buckets[(number * UINT64_C(0x9e3779b97f4a7c15) >> 40) % BUCKETS];
}

static uint32_t find(struct lunfs_cache *cache, uint64_t number)
{
    uint32_t index = *bucket_of(cache, number);

    while (index != LUNFS_NO_PAGE && cache->pages[index].number != number)
        index = cache->pages[index].chain;
    return index;
}

static void set_dirty(struct lunfs_cache *cache, uint32_t index)
{
    struct lunfs_page *page = &cache->pages[index];

    if (page->dirty)
        return;
    page->dirty = true;
    page->previous = LUNFS_NO_PAGE;
    page->following = cache->dirty_first;
    if (cache->dirty_first != LUNFS_NO_PAGE)
        cache->pages[cache->dirty_first].previous = index;
    cache->dirty_first = index;
    cache->n_dirty++;
}

static void set_clean(struct lunfs_cache *cache, uint32_t index)
{
    struct lunfs_page *page = &cache->pages[index];

    if (!page->dirty)
        return;
    page->dirty = false;
    if (page->previous == LUNFS_NO_PAGE)
        cache->dirty_first = page->following;
    else
        cache->pages[page->previous].following = page->following;
    if (page->following != LUNFS_NO_PAGE)
        cache->pages[page->following].previous = page->previous;
    cache->n_dirty--;
}

static void drop(struct lunfs_cache *cache, uint32_t index)
{
    struct lunfs_page *page = &cache->pages[index];
    uint32_t *link = bucket_of(cache, page->number);

    set_clean(cache, index);
    while (*link != index)
        link = &cache->pages[*link].chain;
    *link = page->chain;
    cache->n_data -= page->of_data;
    *page = (struct lunfs_page){.chain = cache->free_list};
    cache->free_list = index;
}

/* Clean pages that were not used since the last round give way. */
static bool evict(struct lunfs_cache *cache)
{
    for (uint32_t i = 0; i < 2 * cache->n_pages; i++) {
        uint32_t index = cache->hand;
        struct lunfs_page *page = &cache->pages[index];

        cache->hand = (cache->hand + 1) % cache->n_pages;
        if (!page->used || page->dirty || page->writing)
            continue;
        if (!page->referenced) {
            drop(cache, index);
            return true;
        }
        page->referenced = false;
    }
    return false;
}

/* A page with undefined contents under this number, which must not be there yet. */
static int add(struct lunfs *fs, uint64_t number, uint32_t *ret)
{
    struct lunfs_cache *cache = &fs->cache;
    uint32_t index, *bucket = bucket_of(cache, number);

    while (cache->free_list == LUNFS_NO_PAGE && cache->n_pages == LUNFS_CACHE_PAGES &&
           !evict(cache)) {
        int r = cache->writes ? lunfs_lower_wait(fs) : lunfs_cache_start_write_back(fs);

        if (r < 0)
            return r;
    }
    if (cache->free_list != LUNFS_NO_PAGE) {
        index = cache->free_list;
        cache->free_list = cache->pages[index].chain;
    } else {
        index = cache->n_pages++;
    }
    cache->pages[index] =
        (struct lunfs_page){.number = number, .chain = *bucket, .used = true, .referenced = true};
    *bucket = index;
    *ret = index;
    return 0;
}

/* Reads count pages that are not in memory; the first one is *ret. */
static int load(struct lunfs *fs, uint64_t number, uint64_t count, uint32_t *ret)
{
    struct lunfs_stage *stage;
    struct nm_error err;
    int r = lunfs_lower_stage(fs, &stage);

    if (r < 0)
        return r;
    r = lunfs_lower_run(fs, NM_OP_READ, number * LUNFS_PAGE, stage->data,
                        (uint32_t)count * LUNFS_PAGE, &err);
    if (r < 0)
        fs->io_error = err;
    /* The first comes last, so that making room for the others cannot evict it. */
    for (uint64_t i = count; i-- && r >= 0;) {
        r = add(fs, number + i, ret);
        if (r >= 0)
            memcpy(memory_of(&fs->cache, *ret), stage->data + i * LUNFS_PAGE, LUNFS_PAGE);
    }
    lunfs_lower_unstage(fs, stage);
    return r;
}

/* How many pages from number on to read at once: up to the first that is in memory, and never
 * beyond `end`. Only metadata are read ahead; a copy of file data could get old, because those are
 * written past the cache. */
static uint64_t missing(struct lunfs *fs, uint64_t number, uint64_t end)
{
    uint64_t count = 1;

    while (number + count < end && count < LUNFS_STAGE_BYTES / LUNFS_PAGE &&
           find(&fs->cache, number + count) == LUNFS_NO_PAGE)
        count++;
    return count;
}

int lunfs_cache_fetch(struct lunfs *fs, uint64_t first, uint64_t count)
{
    uint32_t index;
    int r = 0;

    for (uint64_t number = first, n; number < first + count && r >= 0; number += n) {
        n = 1;
        if (find(&fs->cache, number) != LUNFS_NO_PAGE)
            continue;
        n = missing(fs, number, first + count);
        r = load(fs, number, n, &index);
    }
    return r;
}

static int get(struct lunfs *fs, uint64_t number, bool fresh, uint32_t *ret)
{
    int r = 0;

    *ret = find(&fs->cache, number);
    if (*ret == LUNFS_NO_PAGE) {
        if (number >= fs->size_bytes / LUNFS_PAGE)
            return nm_error_set(&fs->io_error, -EIO, NM_REASON_CORRUPT,
                                "lunfs: the file system points behind the end of the LUN");
        r = fresh ? add(fs, number, ret)
                  : load(fs, number,
                         missing(fs, number,
                                 number + LUNFS_READ_AHEAD < fs->metadata_end
                                     ? number + LUNFS_READ_AHEAD
                                     : fs->metadata_end),
                         ret);
    }
    if (r < 0)
        return r;
    if (fresh)
        memset(memory_of(&fs->cache, *ret), 0, LUNFS_PAGE);
    fs->cache.pages[*ret].referenced = true;
    return 0;
}

int lunfs_cache_get(struct lunfs *fs, uint64_t number, bool fresh, unsigned char **ret_data)
{
    uint32_t index;
    int r = get(fs, number, fresh, &index);

    if (r >= 0)
        *ret_data = memory_of(&fs->cache, index);
    return r;
}

unsigned char *lunfs_cache_peek(struct lunfs *fs, uint64_t number)
{
    uint32_t index = find(&fs->cache, number);

    return index == LUNFS_NO_PAGE ? NULL : memory_of(&fs->cache, index);
}

void lunfs_cache_dirty(struct lunfs *fs, uint64_t number, bool of_data)
{
    struct lunfs_cache *cache = &fs->cache;
    uint32_t index = find(cache, number);

    cache->n_data += of_data && !cache->pages[index].of_data;
    cache->pages[index].of_data |= of_data;
    set_dirty(cache, index);
}

int lunfs_cache_read(struct lunfs *fs, uint64_t offset_bytes, void *data, uint64_t length)
{
    char *to = data;

    while (length) {
        uint64_t at = offset_bytes % LUNFS_PAGE;
        uint64_t n = LUNFS_PAGE - at < length ? LUNFS_PAGE - at : length;
        unsigned char *page;
        int r = lunfs_cache_get(fs, offset_bytes / LUNFS_PAGE, false, &page);

        if (r < 0)
            return r;
        memcpy(to, page + at, n);
        to += n;
        offset_bytes += n;
        length -= n;
    }
    return 0;
}

int lunfs_cache_write(struct lunfs *fs, uint64_t offset_bytes, const void *data, uint64_t length)
{
    const char *from = data;

    while (length) {
        uint64_t at = offset_bytes % LUNFS_PAGE, number = offset_bytes / LUNFS_PAGE;
        uint64_t n = LUNFS_PAGE - at < length ? LUNFS_PAGE - at : length;
        unsigned char *page;
        int r = lunfs_cache_get(fs, number, n == LUNFS_PAGE, &page);

        if (r < 0)
            return r;
        memcpy(page + at, from, n);
        lunfs_cache_dirty(fs, number, false);
        from += n;
        offset_bytes += n;
        length -= n;
    }
    return fs->cache.n_dirty > LUNFS_DIRTY_PAGES ? lunfs_cache_start_write_back(fs) : 0;
}

int lunfs_cache_discard(struct lunfs *fs, uint64_t first, uint64_t count)
{
    struct lunfs_cache *cache = &fs->cache;

    /* A long range is cheaper to look for from the other side. */
    bool by_page = count > cache->n_pages;
    uint64_t steps = by_page ? cache->n_pages : count;

    for (uint64_t i = 0; i < steps; i++) {
        uint32_t index = by_page ? (uint32_t)i : find(cache, first + i);
        uint64_t number;

        if (index == LUNFS_NO_PAGE || !cache->pages[index].used)
            continue;
        number = cache->pages[index].number;
        if (number < first || number - first >= count)
            continue;
        while (cache->pages[index].writing) {
            int r = lunfs_lower_wait(fs);

            if (r < 0)
                return r;
        }
        drop(cache, index);
    }
    return 0;
}

static void on_written(struct lunfs *fs, struct nm_op *op, void *context)
{
    struct lunfs_stage *stage = context;

    for (uint32_t i = 0; i < stage->count; i++)
        fs->cache.pages[stage->pages[i]].writing--;
    fs->cache.writes--;
    if (op->result < 0 && !fs->write_error.code)
        fs->write_error = op->err;
    lunfs_lower_unstage(fs, stage);
}

static int by_number(const void *a, const void *b, void *pages)
{
    const struct lunfs_page *x = (struct lunfs_page *)pages + *(const uint32_t *)a;
    const struct lunfs_page *y = (struct lunfs_page *)pages + *(const uint32_t *)b;

    return (x->number > y->number) - (x->number < y->number);
}

/* Copies neighbours from order[at..end) into one staging buffer and sends them. */
static int write_run(struct lunfs *fs, uint32_t at, uint32_t end, uint32_t *ret_next)
{
    struct lunfs_cache *cache = &fs->cache;
    struct lunfs_page *first = &cache->pages[cache->order[at]];
    struct lunfs_stage *stage;
    int r = lunfs_lower_stage(fs, &stage);

    if (r < 0)
        return r;
    stage->count = 0;
    for (; at < end && stage->count < LUNFS_STAGE_BYTES / LUNFS_PAGE; at++) {
        uint32_t index = cache->order[at];
        struct lunfs_page *page = &cache->pages[index];

        if (page->number != first->number + stage->count || page->writing)
            break;
        memcpy(stage->data + (size_t)stage->count * LUNFS_PAGE, memory_of(cache, index),
               LUNFS_PAGE);
        stage->pages[stage->count++] = index;
        page->writing++;
        set_clean(cache, index);
    }
    *ret_next = at;
    cache->writes++;
    r = lunfs_lower_start(fs, NM_OP_WRITE, first->number * LUNFS_PAGE, stage->data,
                          stage->count * LUNFS_PAGE, false, on_written, stage);
    if (r < 0) {
        struct nm_op lost = {.result = r, .err = fs->failure};

        on_written(fs, &lost, stage);
    }
    return r;
}

int lunfs_cache_start_write_back(struct lunfs *fs)
{
    struct lunfs_cache *cache = &fs->cache;
    uint32_t n = 0, at = 0;
    int r = cache->n_dirty ? lunfs_volume_mark(fs) : 0;

    for (uint32_t i = cache->dirty_first; i != LUNFS_NO_PAGE; i = cache->pages[i].following)
        cache->order[n++] = i;
    qsort_r(cache->order, n, sizeof(*cache->order), by_number, cache->pages);
    while (at < n && !r) {
        if (cache->pages[cache->order[at]].writing)
            r = lunfs_lower_wait(fs); /* an older copy of this page is on its way */
        else
            r = write_run(fs, at, n, &at);
    }
    return r;
}

int lunfs_cache_write_back(struct lunfs *fs)
{
    int r = lunfs_cache_start_write_back(fs);

    while (!r && fs->cache.writes)
        r = lunfs_lower_wait(fs);
    if (!r && fs->write_error.code) {
        fs->io_error = fs->write_error;
        r = fs->write_error.code;
    }
    return r;
}
