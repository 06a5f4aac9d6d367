/* libext2fs's view of the LUN: an io_manager over the page cache (lunfs.h). Counts are in blocks of
 * the channel's current size, or bytes when negative; the size is 1024 until the superblock is
 * read.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "lunfs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct lunfs *lunfs_opening;

static errcode_t channel_open(const char *name, int flags, io_channel *ret)
{
    io_channel channel = calloc(1, sizeof(*channel));

    (void)flags;
    if (!channel)
        return EXT2_ET_NO_MEMORY;
    channel->magic = EXT2_ET_MAGIC_IO_CHANNEL;
    channel->manager = &lunfs_manager;
    channel->name = strdup(name);
    channel->block_size = 1024;
    channel->refcount = 1;
    channel->private_data = lunfs_opening;
    *ret = channel;
    return 0;
}

static errcode_t channel_close(io_channel channel)
{
    if (--channel->refcount > 0)
        return 0;
    free(channel->name);
    free(channel);
    return 0;
}

static errcode_t set_blksize(io_channel channel, int size)
{
    channel->block_size = size;
    return 0;
}

static uint64_t bytes_of(io_channel channel, int count)
{
    return count < 0 ? (uint64_t) - (int64_t)count
                     : (uint64_t)count * (uint64_t)channel->block_size;
}

static errcode_t read64(io_channel channel, unsigned long long block, int count, void *data)
{
    int r = lunfs_cache_read(channel->private_data, block * (uint64_t)channel->block_size, data,
                             bytes_of(channel, count));

    return r < 0 ? EXT2_ET_SHORT_READ : 0;
}

static errcode_t write64(io_channel channel, unsigned long long block, int count, const void *data)
{
    int r = lunfs_cache_write(channel->private_data, block * (uint64_t)channel->block_size, data,
                              bytes_of(channel, count));

    return r < 0 ? EXT2_ET_SHORT_WRITE : 0;
}

static errcode_t read32(io_channel channel, unsigned long block, int count, void *data)
{
    return read64(channel, block, count, data);
}

static errcode_t write32(io_channel channel, unsigned long block, int count, const void *data)
{
    return write64(channel, block, count, data);
}

static errcode_t write_byte(io_channel channel, unsigned long offset, int count, const void *data)
{
    int r = lunfs_cache_write(channel->private_data, offset, data, (uint64_t)count);

    return r < 0 ? EXT2_ET_SHORT_WRITE : 0;
}

static errcode_t flush(io_channel channel)
{
    (void)channel; /* volume.c decides when the cache goes to the LUN */
    return 0;
}

struct struct_io_manager lunfs_manager = {
    .magic = EXT2_ET_MAGIC_IO_MANAGER,
    .name = "nasmark",
    .open = channel_open,
    .close = channel_close,
    .set_blksize = set_blksize,
    .read_blk = read32,
    .write_blk = write32,
    .flush = flush,
    .write_byte = write_byte,
    .read_blk64 = read64,
    .write_blk64 = write64,
};
