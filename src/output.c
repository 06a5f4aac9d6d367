/* Complete files or none (output.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail_open(struct nm_output *output, const char *path, int code, struct nm_error *err)
{
    free(output->path);
    free(output->temporary);
    return nm_error_errno(err, -code, "%s: cannot be written: %s; name another file with -o", path,
                          strerror(code));
}

/* A new file beside output->path with the permissions that a plain open would give. */
static int open_temporary(struct nm_output *output)
{
    mode_t mask = umask(0);
    int fd;

    umask(mask);
    if (asprintf(&output->temporary, "%s.XXXXXX", output->path) < 0) {
        output->temporary = NULL;
        return -1;
    }
    fd = mkstemp(output->temporary);
    if (fd < 0)
        return -1;
    if (fchmod(fd, 0666 & ~mask) == 0)
        output->file = fdopen(fd, "w");
    if (output->file)
        return 0;
    close(fd);
    unlink(output->temporary);
    return -1;
}

int nm_output_open(struct nm_output *output, const char *path, struct nm_error *err)
{
    struct stat st;

    memset(output, 0, sizeof(*output));
    if (!path || !strcmp(path, "-")) {
        output->file = stdout;
        return 0;
    }
    output->path = realpath(path, NULL); /* where a link points to */
    if (!output->path)
        output->path = strdup(path);
    if (!output->path)
        return fail_open(output, path, ENOMEM, err);
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        output->file = S_ISDIR(st.st_mode) ? (errno = EISDIR, NULL) : fopen(path, "we");
    else
        open_temporary(output);
    return output->file ? 0 : fail_open(output, path, errno, err);
}

int nm_output_close(struct nm_output *output, int r, struct nm_error *err)
{
    const char *name = output->path ? output->path : "standard output";
    bool bad;

    errno = 0;
    bad = ferror(output->file) != 0;
    bad |= output->path ? fclose(output->file) != 0 : fflush(output->file) != 0;
    if (r == 0 && bad)
        r = nm_error_errno(err, errno ? -errno : -EIO, "%s: writing failed: %s", name,
                           strerror(errno ? errno : EIO));
    if (r == 0 && output->temporary && rename(output->temporary, output->path) < 0)
        r = nm_error_errno(err, -errno, "%s: cannot be put in place: %s", name, strerror(errno));
    if (r < 0 && output->temporary)
        unlink(output->temporary);
    free(output->path);
    free(output->temporary);
    return r;
}
