/* Inside lunfs: ext4 on a block backend, without root, mount or kernel (libext2fs 1.47).
 *
 *   names.c  directories: path -> inode         data.c    READ and WRITE of file contents
 *   node.c   inodes, extents, allocation        volume.c  opening, flushing, closing the file
 * system manager.c  libext2fs's view of the LUN      format.c  mke2fs cache.c  write-back page
 * cache              lower.c   operations on the block backend lunfs.c  the backend row
 *
 * What libext2fs does well it does here (bitmaps, inode tables, group descriptors, checksums, deep
 * extent trees); what is slow in it (ext2fs_link scans, ext2fs_file_write copies and waits) is
 * done directly: names are appended, file data go from op->buf to the allocated blocks at queue
 * depth. Metadata and the data of small files live in a page cache that is written back when it is
 * half full or flushed, as a desktop's kernel does; CLOSE alone writes nothing.
 *
 * Process rule: one thread, one session per process; several streams share it (their operations are
 * multiplexed). Waiting for a metadata read waits for that read only; other operations go on.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_LUNFS_H
#define NM_LUNFS_H

#include "backend.h"

#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>

#define LUNFS_PAGE        4096u /* page of the cache = block of the file system */
#define LUNFS_STAGE_BYTES (512u * 1024)
#define LUNFS_STAGES      16
#define LUNFS_CACHE_PAGES 65536u /* 256 MiB */
#define LUNFS_DIRTY_PAGES 32768u /* write-back starts here */
#define LUNFS_READ_AHEAD  32u    /* pages read on a miss */
#define LUNFS_SMALL_BYTES 65536u /* files up to here are written through the cache */
#define LUNFS_SPANS       64u
#define LUNFS_DIRECTORIES 64u /* kept with their names in memory */
#define LUNFS_NO_PAGE     UINT32_MAX

struct lunfs;
struct lunfs_io;
struct lunfs_directory;

/* lower.c: one operation on the block backend. done() is called inside lunfs_lower_service(). */
struct lunfs_block {
    struct nm_op op; /* first */
    void (*done)(struct lunfs *fs, struct nm_op *op, void *context);
    void *context;
    struct lunfs_block *next;
};

/* Memory between pages and block operations: pages may change while a copy of them is on its way.
 */
struct lunfs_stage {
    unsigned char *data;
    uint32_t pages[LUNFS_STAGE_BYTES / LUNFS_PAGE],
        count; /* write-back: where the copies are from */
    struct lunfs_stage *next;
};

/* cache.c */
struct lunfs_page {
    uint64_t number;
    uint32_t chain;               /* hash chain, or free list */
    uint32_t previous, following; /* dirty list */
    bool used, dirty, referenced, of_data;
    uint8_t writing; /* write-backs in flight */
};

struct lunfs_cache {
    struct lunfs_page *pages;
    unsigned char *memory;
    uint32_t *buckets;
    uint32_t *order; /* scratch of write-back */
    uint32_t n_pages, free_list, hand, n_dirty, dirty_first, n_data, writes;
};

/* node.c: one inode that is in use. */
struct lunfs_extent {
    uint32_t lblk, count;
    uint64_t pblk;
};

struct lunfs_span {
    uint64_t start, end;
};

union lunfs_inode {
    struct ext2_inode_large i;
    struct ext2_inode small;
    unsigned char bytes[256];
};

struct lunfs_node {
    ext2_ino_t ino;
    union lunfs_inode inode;
    unsigned references;
    bool dirty;    /* inode, size or extents are newer than the inode table */
    bool unlinked; /* no name left: freed with the last reference */
    bool tree;     /* more extents than fit into the inode: libext2fs keeps them */
    bool small;    /* data go through the cache */
    uint64_t size_bytes, expected_bytes;  /* expected: announced at CREATE, 0 = not, or exceeded */
    struct lunfs_extent few[4], *extents; /* cover [0, allocated) without holes */
    uint32_t n_extents, room;
    uint32_t stored;                      /* of tree: extents that are in it */
    struct lunfs_span spans[LUNFS_SPANS]; /* written bytes in order; the rest reads as zero */
    uint32_t n_spans;
    struct lunfs_node *chain; /* hash chain, or free list */
};

/* An open file; several may share a node. */
struct lunfs_file {
    struct nm_file base;
    struct lunfs_node *node;
    bool writable;
    struct lunfs_file *next; /* open files, or free list */
    struct lunfs_file *previous;
};

/* data.c: a READ or WRITE between submit and completion. */
struct lunfs_io {
    struct nm_op *op;
    uint64_t position, end; /* bytes of the file not yet started */
    unsigned parts;         /* on the block backend */
    bool in_line, failed;
    struct lunfs_io *next;
};

struct lunfs {
    struct nm_session base;
    struct nm_session *lower;
    struct nm_connect lower_how;
    struct nm_url lower_url;
    const struct nm_backend_ops *lower_ops;
    void *lower_options; /* ours when the lower row has other options than we */
    uint64_t timeout_ns;
    uint64_t deadline_ns; /* of everything, NM_NEVER_NS: none (disconnect sets it) */
    uint64_t size_bytes;
    uint32_t unit_bytes; /* of the block backend */
    bool read_only, buffered;
    bool reopening;     /* by drop_caches(): ours although it is in use */
    uint64_t format_ns; /* this session made the file system and took so long; 0 = it did not */
    uint64_t mkfs_ns;   /* how long making it took, 0 = unknown */

    struct nm_file *device;
    struct lunfs_block *blocks, *free_blocks;
    struct lunfs_stage *stages, *free_stages;
    unsigned char *stage_memory;
    struct lunfs_cache cache;
    bool run_done; /* the operation of lunfs_lower_run() */
    struct nm_error run_error;
    struct nm_error failure;     /* code != 0: the block backend is dead */
    struct nm_error write_error; /* code != 0: something that was cached could not be written */
    struct nm_error io_error;    /* cause of the last failure inside libext2fs */

    ext2_filsys fs;        /* NULL: no file system (yet) */
    uint64_t metadata_end; /* bitmaps and inode tables lie before this page */
    bool changing;         /* something is newer than the last flush of everything */
    bool marked;           /* as in use, on the LUN */
    bool freed;            /* blocks since that flush: the LUN still refers to them */
    blk64_t goal;          /* where the next allocation begins */
    struct lunfs_node *nodes[256], *free_nodes;
    struct lunfs_slab {
        struct lunfs_slab *next;
    } * node_slabs;
    struct lunfs_file *files, *free_files;
    struct lunfs_directory *directories;
    unsigned n_directories;
    uint64_t operation; /* number of the current one on names */

    struct lunfs_io *ios, *free_ios, *first_io, *last_io;
    unsigned n_ios;
    unsigned writes;        /* WRITE operations not completed */
    unsigned direct_writes; /* parts of them on the block backend */
};

/* lower.c */
int lunfs_lower_open(struct lunfs *fs, const struct nm_connect *how, struct nm_error *err);
void lunfs_lower_close(struct lunfs *fs);
/* Waits until at least one operation has completed; 0 or the failure. */
int lunfs_lower_wait(struct lunfs *fs);
/* Takes completions that come before deadline_ns; 0 or the failure. */
int lunfs_lower_service(struct lunfs *fs, uint64_t deadline_ns);
/* Starts one operation; waits for a free slot first. On failure done() is not called. */
int lunfs_lower_start(struct lunfs *fs, enum nm_op_kind kind, uint64_t offset_bytes, void *buf,
                      uint32_t length_bytes, bool discard,
                      void (*done)(struct lunfs *, struct nm_op *, void *), void *context);
/* Starts one and waits for it. */
int lunfs_lower_run(struct lunfs *fs, enum nm_op_kind kind, uint64_t offset_bytes, void *buf,
                    uint32_t length_bytes, struct nm_error *err);
/* After a failure: takes the completions that are left. */
void lunfs_lower_bury(struct lunfs *fs);
int lunfs_lower_stage(struct lunfs *fs, struct lunfs_stage **ret); /* waits for a free one */
void lunfs_lower_unstage(struct lunfs *fs, struct lunfs_stage *stage);

/* cache.c */
int lunfs_cache_open(struct lunfs_cache *cache, struct nm_error *err);
void lunfs_cache_close(struct lunfs_cache *cache);
void lunfs_cache_reset(struct lunfs *fs); /* forgets everything, also what is dirty */
/* The page, read if need be (fresh: zeroed instead); its data stay valid until the next call. */
int lunfs_cache_get(struct lunfs *fs, uint64_t number, bool fresh, unsigned char **ret_data);
/* Reads metadata that are known to be needed, in long requests. */
int lunfs_cache_fetch(struct lunfs *fs, uint64_t first, uint64_t count);
unsigned char *lunfs_cache_peek(struct lunfs *fs, uint64_t number);      /* NULL: not in memory */
void lunfs_cache_dirty(struct lunfs *fs, uint64_t number, bool of_data); /* must be in memory */
int lunfs_cache_read(struct lunfs *fs, uint64_t offset_bytes, void *data, uint64_t length);
int lunfs_cache_write(struct lunfs *fs, uint64_t offset_bytes, const void *data, uint64_t length);
/* Forgets pages whose blocks were freed or are about to be written directly. */
int lunfs_cache_discard(struct lunfs *fs, uint64_t first, uint64_t count);
int lunfs_cache_start_write_back(struct lunfs *fs);
int lunfs_cache_write_back(struct lunfs *fs); /* and waits until all of it is on the LUN */

/* manager.c */
extern struct lunfs
    *lunfs_opening; /* session for the next ext2fs_open(), which passes no context */
extern struct struct_io_manager lunfs_manager;

/* format.c */
int lunfs_format(struct lunfs *fs, struct nm_error *err);

/* volume.c */
/* Opens the file system that is on the LUN. -ENODATA: there is none of ours that was left clean. */
int lunfs_volume_open(struct lunfs *fs, struct nm_error *err);
void lunfs_volume_close(struct lunfs *fs);                              /* writes nothing */
int lunfs_volume_begin_changes(struct lunfs *fs, struct nm_error *err); /* before each change */
/* Says on the LUN that its metadata are being written; called before they are. */
int lunfs_volume_mark(struct lunfs *fs);
/* Everything cached to the LUN, which is then clean; durable: and from its cache to its disks. */
int lunfs_volume_flush(struct lunfs *fs, bool durable, struct nm_error *err);
/* Error of libext2fs or errno value in our words. */
int lunfs_volume_error(struct lunfs *fs, errcode_t code, struct nm_error *err, const char *what,
                       const char *path);

/* node.c */
int lunfs_node_get(struct lunfs *fs, ext2_ino_t ino, struct lunfs_node **ret, struct nm_error *err);
int lunfs_node_create(struct lunfs *fs, ext2_ino_t parent, unsigned mode, struct lunfs_node **ret,
                      struct nm_error *err);
/* Gives a reference back; the last one stores the node, or frees it when it is unlinked. */
int lunfs_node_put(struct lunfs *fs, struct lunfs_node *node, struct nm_error *err);
struct lunfs_node *lunfs_node_find(struct lunfs *fs, ext2_ino_t ino); /* in use, or NULL */
uint64_t lunfs_node_allocated_bytes(const struct lunfs_node *node);
int lunfs_node_allocate(struct lunfs *fs, struct lunfs_node *node, uint64_t bytes,
                        struct nm_error *err);
int lunfs_node_store(struct lunfs *fs, struct lunfs_node *node, struct nm_error *err);
/* Place of byte `offset` on the LUN, and how many bytes from there on are contiguous. */
uint64_t lunfs_node_map(const struct lunfs_node *node, uint64_t offset_bytes,
                        uint64_t *ret_run_bytes);
void lunfs_node_forget(struct lunfs *fs); /* all of them, at the end */
void lunfs_node_stat(const struct lunfs_node *node, struct nm_stat *ret);
void lunfs_inode_stat(const struct ext2_inode *inode, struct nm_stat *ret);

/* spans.c: which bytes of a file were written */
/* Marks [start, end) as written; when there are too many ranges a gap is zeroed. */
int lunfs_span_add(struct lunfs *fs, struct lunfs_node *node, uint64_t start, uint64_t end,
                   struct nm_error *err);
/* The first written range that ends behind offset; false = none. */
bool lunfs_span_from(const struct lunfs_node *node, uint64_t offset_bytes, struct lunfs_span *ret);
/* Zeroes what was not written below the file's size. */
int lunfs_span_fill(struct lunfs *fs, struct lunfs_node *node, struct nm_error *err);

/* names.c: execute one operation on names; results in op. */
void lunfs_names_execute(struct lunfs *fs, struct nm_op *op);
void lunfs_names_forget(struct lunfs *fs); /* all directories in memory */
int lunfs_file_close(struct lunfs *fs, struct lunfs_file *file, struct nm_error *err);

/* data.c */
int lunfs_data_open(struct lunfs *fs, unsigned depth, struct nm_error *err);
void lunfs_data_close(struct lunfs *fs);
void lunfs_data_submit(struct lunfs *fs, struct nm_op *op);
void lunfs_data_continue(struct lunfs *fs); /* operations in line, as far as there are free slots */
int lunfs_data_write(struct lunfs *fs, struct lunfs_node *node, uint64_t offset_bytes,
                     const void *data, uint64_t length,
                     struct nm_error *err); /* through the cache; NULL data = zeroes */
int lunfs_data_drain(struct lunfs *fs, struct nm_error *err); /* no WRITE is under way */
void lunfs_data_bury(struct lunfs *fs); /* completes everything with fs->failure */

#endif
