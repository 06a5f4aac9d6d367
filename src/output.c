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

int nm_output_open(struct nm_output *output, const char *path, struct nm_error *err)
{
    mode_t mask;
    int fd;

    memset(output, 0, sizeof(*output));
    if (!path || !strcmp(path, "-")) {
        output->file = stdout;
        return 0;
    }
    output->path = strdup(path);
    if (!output->path || asprintf(&output->temporary, "%s.XXXXXX", path) < 0) {
        output->temporary = NULL;
        free(output->path);
        return nm_error_errno(err, -ENOMEM, "out of memory");
    }
    fd = mkstemp(output->temporary);
    if (fd >= 0) {
        mask = umask(0);
        umask(mask);
        (void)!fchmod(fd, 0666 & ~mask); /* mkstemp makes it private */
        output->file = fdopen(fd, "w");
    }
    if (!output->file) {
        int r = nm_error_errno(err, -errno, "%s: cannot be written: %s; name another file with -o",
                               path, strerror(errno));

        if (fd >= 0) {
            close(fd);
            unlink(output->temporary);
        }
        free(output->path);
        free(output->temporary);
        return r;
    }
    return 0;
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
    if (r == 0 && output->path && rename(output->temporary, output->path) < 0)
        r = nm_error_errno(err, -errno, "%s: cannot be put in place: %s", name, strerror(errno));
    if (r < 0 && output->path)
        unlink(output->temporary);
    free(output->path);
    free(output->temporary);
    return r;
}
