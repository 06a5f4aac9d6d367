/* Operations on names: make, remove, open, list, rename (lunfs.h). All of them work in memory and
 * complete at once; what they wait for is at most metadata that were not read before.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "directory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES_MAX 255

/* Where a path leads: the directory, and the name in it ("" = the root itself). */
struct place {
    struct lunfs_directory *directory;
    const char *name;
    size_t length;
    struct lunfs_entry *entry; /* NULL = no such name */
};

static int refuse(struct nm_op *op, int code, enum nm_reason reason, const char *why)
{
    return nm_error_set(&op->err, code, reason, "%s '%s': %s", nm_op_kind_name(op->kind), op->path,
                        why);
}

static int no_such(struct nm_op *op)
{
    return refuse(op, -ENOENT, NM_REASON_NOT_FOUND, "no such file or directory");
}

static int resolve(struct lunfs *fs, struct nm_op *op, const char *path, struct place *ret)
{
    int r = lunfs_directory_get(fs, EXT2_ROOT_INO, &ret->directory, &op->err);

    for (; !r; path += ret->length + 1) {
        ret->name = path;
        ret->length = strcspn(path, "/");
        if (ret->length > NAME_BYTES_MAX)
            return refuse(op, -ENAMETOOLONG, NM_REASON_UNSUPPORTED,
                          "a name has more than the 255 bytes that the file system allows");
        ret->entry = lunfs_directory_find(ret->directory, ret->name, ret->length);
        if (!path[ret->length])
            return 0;
        if (!ret->entry)
            return no_such(op);
        if (ret->entry->type != EXT2_FT_DIR)
            return refuse(op, -ENOTDIR, NM_REASON_NOT_FOUND, "a part of the path is no directory");
        r = lunfs_directory_get(fs, ret->entry->ino, &ret->directory, &op->err);
    }
    return r;
}

/* The place of a name that must be there / must not be there. The root is neither removed nor
 * made. */
static int existing(struct lunfs *fs, struct nm_op *op, struct place *ret)
{
    int r = resolve(fs, op, op->path, ret);

    if (!r && !ret->length)
        return refuse(op, -EBUSY, NM_REASON_PROTECTED, "this is the root of the file system");
    return r ? r : ret->entry ? 0 : no_such(op);
}

static int absent(struct lunfs *fs, struct nm_op *op, const char *path, struct place *ret)
{
    int r = resolve(fs, op, path, ret);

    if (!r && (ret->entry || !ret->length))
        return refuse(op, -EEXIST, NM_REASON_PROTECTED, "the name exists already");
    if (!r && ret->name[0] == '.' &&
        (ret->length == 1 || (ret->length == 2 && ret->name[1] == '.')))
        return refuse(op, -EINVAL, NM_REASON_UNSUPPORTED, "not a name");
    return r;
}

/* ---- open files ---- */

static int file_new(struct lunfs *fs, struct lunfs_node *node, bool writable, struct nm_op *op)
{
    struct lunfs_file *file = fs->free_files;

    if (file) {
        fs->free_files = file->next;
        memset(file, 0, sizeof(*file));
    } else {
        file = calloc(1, sizeof(*file));
        if (!file)
            return nm_error_errno(&op->err, -ENOMEM, "lunfs: no memory for an open file");
    }
    file->base.session = &fs->base;
    file->base.size_bytes = node->size_bytes;
    file->node = node;
    file->writable = writable;
    file->next = fs->files;
    if (fs->files)
        fs->files->previous = file;
    fs->files = file;
    op->file = &file->base;
    return 0;
}

int lunfs_file_close(struct lunfs *fs, struct lunfs_file *file, struct nm_error *err)
{
    struct lunfs_node *node = file->node;

    if (file->previous)
        file->previous->next = file->next;
    else
        fs->files = file->next;
    if (file->next)
        file->next->previous = file->previous;
    file->next = fs->free_files;
    fs->free_files = file;
    return lunfs_node_put(fs, node, err);
}

static int open_file(struct lunfs *fs, struct nm_op *op)
{
    struct lunfs_node *node;
    struct nm_error second;
    struct place place;
    int r = existing(fs, op, &place);

    if (r < 0)
        return r;
    if (place.entry->type != EXT2_FT_REG_FILE)
        return refuse(op, -EISDIR, NM_REASON_UNSUPPORTED, "not a regular file");
    r = lunfs_node_get(fs, place.entry->ino, &node, &op->err);
    if (r < 0)
        return r;
    r = file_new(fs, node, op->open_flags & NM_OPEN_WRITE, op);
    if (r < 0)
        (void)lunfs_node_put(fs, node, &second);
    return r;
}

/* Undoes a half-made file or directory; the error that led here stays. */
static int give_up(struct lunfs *fs, struct lunfs_node *node, int r)
{
    struct nm_error second;

    node->unlinked = true;
    (void)lunfs_node_put(fs, node, &second);
    return r;
}

static int create_file(struct lunfs *fs, struct nm_op *op)
{
    struct lunfs_node *node;
    struct place place;
    int r = absent(fs, op, op->path, &place);

    if (r < 0)
        return r;
    r = lunfs_node_create(fs, place.directory->ino, LINUX_S_IFREG | 0644, &node, &op->err);
    if (r < 0)
        return r;
    node->expected_bytes = op->expected_bytes;
    node->small = op->expected_bytes && op->expected_bytes <= LUNFS_SMALL_BYTES;
    r = lunfs_node_allocate(fs, node, op->expected_bytes, &op->err);
    if (!r)
        r = file_new(fs, node, true, op);
    if (r < 0)
        return give_up(fs, node, r);
    r = lunfs_directory_insert(fs, place.directory, place.name, place.length, node->ino,
                               EXT2_FT_REG_FILE, &op->err);
    if (r < 0) {
        struct nm_error second; /* the first one counts */

        node->unlinked = true;
        (void)lunfs_file_close(fs, (struct lunfs_file *)op->file, &second);
        op->file = NULL;
    }
    return r;
}

/* ---- directories ---- */

static int make_directory(struct lunfs *fs, struct nm_op *op)
{
    struct lunfs_node *node;
    struct place place;
    int r = absent(fs, op, op->path, &place);

    if (r < 0)
        return r;
    r = lunfs_node_create(fs, place.directory->ino, LINUX_S_IFDIR | 0755, &node, &op->err);
    if (r < 0)
        return r;
    r = lunfs_directory_init(fs, node, place.directory->ino, &op->err);
    if (!r)
        r = lunfs_directory_insert(fs, place.directory, place.name, place.length, node->ino,
                                   EXT2_FT_DIR, &op->err);
    if (r < 0)
        return give_up(fs, node, r);
    lunfs_directory_count_child(place.directory, +1);
    return lunfs_node_put(fs, node, &op->err);
}

static int remove_directory(struct lunfs *fs, struct nm_op *op)
{
    struct lunfs_directory *directory;
    struct place place;
    int r = existing(fs, op, &place);

    if (r < 0)
        return r;
    if (place.entry->type != EXT2_FT_DIR)
        return refuse(op, -ENOTDIR, NM_REASON_NOT_FOUND, "not a directory");
    r = lunfs_directory_get(fs, place.entry->ino, &directory, &op->err);
    if (r < 0)
        return r;
    if (directory->count)
        return refuse(op, -ENOTEMPTY, NM_REASON_PROTECTED, "the directory is not empty");
    r = lunfs_directory_remove(fs, place.directory, place.entry, &op->err);
    if (r < 0)
        return r;
    lunfs_directory_count_child(place.directory, -1);
    directory->node->unlinked = true;
    return lunfs_directory_drop(fs, directory, &op->err);
}

static int stat_of(struct lunfs *fs, ext2_ino_t ino, struct nm_stat *ret, struct nm_error *err)
{
    struct lunfs_node *node = lunfs_node_find(fs, ino);
    struct ext2_inode inode;
    errcode_t code;

    if (node) {
        lunfs_node_stat(node, ret);
        return 0;
    }
    code = ext2fs_read_inode(fs->fs, ino, &inode);
    if (code)
        return lunfs_volume_error(fs, code, err, "stat", "file");
    lunfs_inode_stat(&inode, ret);
    return 0;
}

static int stat_name(struct lunfs *fs, struct nm_op *op)
{
    struct place place;
    int r = resolve(fs, op, op->path, &place);

    if (r < 0)
        return r;
    if (place.length && !place.entry)
        return no_such(op);
    return stat_of(fs, place.length ? place.entry->ino : EXT2_ROOT_INO, op->stat, &op->err);
}

static int list(struct lunfs *fs, struct nm_op *op)
{
    struct lunfs_directory *directory;
    struct place place;
    int r = resolve(fs, op, op->path, &place);

    if (!r && place.length && !place.entry)
        r = no_such(op);
    if (!r && place.length && place.entry->type != EXT2_FT_DIR)
        r = refuse(op, -ENOTDIR, NM_REASON_NOT_FOUND, "not a directory");
    if (!r)
        r = lunfs_directory_get(fs, place.length ? place.entry->ino : EXT2_ROOT_INO, &directory,
                                &op->err);
    for (uint32_t i = 0; !r && i < directory->n_entries; i++) {
        const struct lunfs_entry *e = &directory->entries[i];
        const char *name = directory->names + e->name;
        struct nm_stat stat;

        /* lost+found belongs to the file system, not to its user. */
        if (!e->ino || (directory->ino == EXT2_ROOT_INO && !strcmp(name, "lost+found")))
            continue;
        r = stat_of(fs, e->ino, &stat, &op->err);
        if (!r)
            op->list_entry(op->list_context, name, &stat);
    }
    return r;
}

static int remove_file(struct lunfs *fs, struct nm_op *op)
{
    struct lunfs_node *node;
    struct nm_error second;
    struct place place;
    int r = existing(fs, op, &place);

    if (r < 0)
        return r;
    if (place.entry->type == EXT2_FT_DIR)
        return refuse(op, -EISDIR, NM_REASON_UNSUPPORTED, "a directory; use rmdir");
    r = lunfs_node_get(fs, place.entry->ino, &node, &op->err);
    if (r < 0)
        return r;
    r = lunfs_directory_remove(fs, place.directory, place.entry, &op->err);
    if (r < 0) {
        (void)lunfs_node_put(fs, node, &second);
        return r;
    }
    node->unlinked = true;
    return lunfs_node_put(fs, node, &op->err);
}

/* Whether `inner` is `outer` or lies below it. */
static int is_below(struct lunfs *fs, ext2_ino_t inner, ext2_ino_t outer, struct nm_error *err)
{
    while (inner != outer) {
        struct lunfs_directory *directory;
        int r;

        if (inner == EXT2_ROOT_INO)
            return 0;
        r = lunfs_directory_get(fs, inner, &directory, err);
        if (r < 0)
            return r;
        inner = directory->parent;
    }
    return 1;
}

static int rename_name(struct lunfs *fs, struct nm_op *op)
{
    struct lunfs_directory *moved = NULL;
    struct place from, to;
    ext2_ino_t ino;
    unsigned type;
    int r = existing(fs, op, &from);

    if (!r)
        r = absent(fs, op, op->new_path, &to);
    if (r < 0)
        return r;
    ino = from.entry->ino;
    type = from.entry->type;
    if (type == EXT2_FT_DIR) {
        r = is_below(fs, to.directory->ino, ino, &op->err);
        if (r > 0)
            r = refuse(op, -EINVAL, NM_REASON_UNSUPPORTED, "a directory cannot move into itself");
        if (!r)
            r = lunfs_directory_get(fs, ino, &moved, &op->err);
    }
    if (!r)
        r = lunfs_directory_insert(fs, to.directory, to.name, to.length, ino, type, &op->err);
    if (r < 0)
        return r;
    /* Inserting may have moved the entries. */
    from.entry = lunfs_directory_find(from.directory, from.name, from.length);
    r = lunfs_directory_remove(fs, from.directory, from.entry, &op->err);
    if (r < 0 || !moved || from.directory == to.directory)
        return r;
    lunfs_directory_count_child(from.directory, -1);
    lunfs_directory_count_child(to.directory, +1);
    return lunfs_directory_set_parent(fs, moved, to.directory->ino, &op->err);
}

static const struct {
    int (*execute)(struct lunfs *fs, struct nm_op *op);
    bool changes;
} operations[NM_OP_KINDS] = {
    [NM_OP_MKDIR] = {make_directory, true}, [NM_OP_RMDIR] = {remove_directory, true},
    [NM_OP_OPEN] = {open_file, false},      [NM_OP_CREATE] = {create_file, true},
    [NM_OP_STAT] = {stat_name, false},      [NM_OP_LIST] = {list, false},
    [NM_OP_UNLINK] = {remove_file, true},   [NM_OP_RENAME] = {rename_name, true},
};

void lunfs_names_execute(struct lunfs *fs, struct nm_op *op)
{
    int r = operations[op->kind].changes ? lunfs_volume_begin_changes(fs, &op->err) : 0;

    fs->operation++;
    op->result = r < 0 ? r : operations[op->kind].execute(fs, op);
}

void lunfs_names_forget(struct lunfs *fs)
{
    struct nm_error err;

    while (fs->directories)
        (void)lunfs_directory_drop(fs, fs->directories, &err);
}
