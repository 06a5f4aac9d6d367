/* Where a local path lies: mount, system disk, and directories below which a volume should be
 * mounted and is not (LOC-01: tools that then fill the system disk).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "local.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* "\040" and the like, in place. */
static void unescape(char *text)
{
    char *out = text;

    while (*text) {
        if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] && text[3]) {
            *out++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
            text += 4;
        } else {
            *out++ = *text++;
        }
    }
    *out = '\0';
}

/* One line of /proc/self/mountinfo:
 * ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAG...] - TYPE SOURCE SUPER_OPTIONS */
static bool parse_line(char *line, int *ret_id, struct local_mount *ret)
{
    unsigned device_major, device_minor;
    char *dash = strstr(line, " - ");

    if (!dash ||
        sscanf(line, "%d %*d %u:%u %*s %4095s %127s", ret_id, &device_major, &device_minor,
               ret->point, ret->options) != 5 ||
        sscanf(dash + 3, "%31s %255s", ret->fs, ret->source) != 2)
        return false;
    ret->device = makedev(device_major, device_minor);
    unescape(ret->point);
    unescape(ret->source);
    return true;
}

/* each() gets the mount's id too. */
static int each_mount(bool (*each)(void *context, int id, const struct local_mount *mount),
                      void *context)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    struct local_mount mount;
    char *line = NULL;
    size_t size = 0;
    int id, r = 0;

    if (!file)
        return -errno;
    while (r == 0 && getline(&line, &size, file) > 0)
        if (parse_line(line, &id, &mount))
            r = each(context, id, &mount);
    free(line);
    fclose(file);
    return r;
}

struct by_id {
    int id;
    struct local_mount *ret;
};

static bool has_id(void *context, int id, const struct local_mount *mount)
{
    struct by_id *wanted = context;

    if (id == wanted->id)
        *wanted->ret = *mount;
    return id == wanted->id;
}

int local_mount_find(int fd, struct local_mount *ret, struct nm_error *err)
{
    struct by_id wanted = {.id = -1, .ret = ret};
    char name[48], line[128];
    FILE *file;

    snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
    file = fopen(name, "re");
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "mnt_id: %d", &wanted.id) == 1)
            break;
    if (file)
        fclose(file);
    if (wanted.id < 0 || each_mount(has_id, &wanted) != 1)
        return nm_error_set(err, -ENOENT, NM_REASON_CLIENT_LIMIT,
                            "local: /proc does not say what is mounted where; is it mounted?");
    return 0;
}

struct any_mount {
    bool (*each)(void *context, const struct local_mount *mount);
    void *context;
};

static bool pass_on(void *context, int id, const struct local_mount *mount)
{
    struct any_mount *any = context;

    (void)id;
    return any->each(any->context, mount);
}

int local_mount_each(bool (*each)(void *context, const struct local_mount *mount), void *context)
{
    return each_mount(pass_on, &(struct any_mount){each, context});
}

static bool is_below(const char *path, const char *directory)
{
    size_t length = strlen(directory);

    if (!strcmp(directory, "/"))
        return true;
    return !strncmp(path, directory, length) && (!path[length] || path[length] == '/');
}

/* The mount point in fstab at or above the path that is not mounted; false = there is none. */
static bool find_unmounted(const char *path, const struct local_mount *mount, const char *fstab,
                           char found[PATH_MAX])
{
    FILE *file = setmntent(fstab, "re");
    struct mntent *entry;
    bool is_found = false;

    if (!file)
        return false;
    while (!is_found && (entry = getmntent(file))) {
        char *real = entry->mnt_dir[0] == '/' ? realpath(entry->mnt_dir, NULL) : NULL;

        /* Mounted would mean that the path's own mount is at that point or below it. */
        is_found =
            real && strcmp(real, "/") != 0 && is_below(path, real) && !is_below(mount->point, real);
        if (is_found)
            snprintf(found, PATH_MAX, "%s", real);
        free(real);
    }
    endmntent(file);
    return is_found;
}

/* /mnt, /mnt/X, /media/X, /media/USER/X, /run/media/USER/X */
static bool is_customary(const char *path)
{
    static const struct {
        const char *directory;
        int least, most; /* names below it */
    } places[] = {{"/mnt", 0, 1}, {"/media", 1, 2}, {"/run/media", 1, 2}};

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        int names = 0;

        if (!is_below(path, places[i].directory))
            continue;
        for (const char *at = path + strlen(places[i].directory); *at; at++)
            names += *at == '/';
        if (names >= places[i].least && names <= places[i].most)
            return true;
    }
    return false;
}

int local_mount_check(const char *real_path, const struct local_mount *mount, bool empty,
                      const char *fstab, struct nm_error *err)
{
    char point[PATH_MAX];

    if (!strcmp(real_path, mount->point))
        return 0; /* something is mounted exactly there */
    if (find_unmounted(real_path, mount, fstab, point))
        return nm_error_set(err, -ENXIO, NM_REASON_PROTECTED,
                            "%s: refused: %s should have a volume mounted on it (%s) and has none; "
                            "mount it first",
                            real_path, point, fstab);
    if (empty && is_customary(real_path))
        return nm_error_set(
            err, -ENXIO, NM_REASON_PROTECTED,
            "%s: refused: an empty mount point, the data would go to the disk of %s; "
            "mount the volume first, or name a directory made for the test",
            real_path, mount->point);
    return 0;
}

struct same_disk {
    const struct local_mount *mount;
    bool found;
};

static bool is_root(void *context, const struct local_mount *mount)
{
    struct same_disk *wanted = context;

    /* Later lines cover earlier ones: the last "/" is the one in force. */
    if (!strcmp(mount->point, "/"))
        wanted->found = mount->device == wanted->mount->device ||
                        (mount->source[0] == '/' && !strcmp(mount->source, wanted->mount->source));
    return false;
}

bool local_mount_is_system_disk(const struct local_mount *mount)
{
    struct same_disk wanted = {.mount = mount};

    local_mount_each(is_root, &wanted);
    return wanted.found;
}
