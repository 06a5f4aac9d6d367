/* nasmark: what happens before and after a command.
 *
 * Process: the parent. The command line is copied and scrubbed before anything else runs, so that
 * `ps` never shows a secret for longer than that. Signals, terminal, spawner and database belong to
 * the commands.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "../backends/backend.h"
#include "../workloads/workload.h"
#include "command.h"
#include "credentials.h"

#include <errno.h>
#include <string.h>

static int run(const struct nm_arguments *arguments, enum nm_wish wish)
{
    if (wish == NM_WISH_VERSION) {
        printf("nasmark %s\n", NM_VERSION);
        return NM_EXIT_OK;
    }
    if (wish == NM_WISH_HELP) {
        nm_help_print(arguments->command, stdout);
        return NM_EXIT_OK;
    }
    return arguments->command->run(arguments);
}

/* Results that did not reach their file are no results. A command that ended with an error has said
 * why. */
static int close_output(int code)
{
    errno = 0;
    if ((fflush(stdout) == 0 && !ferror(stdout)) || code == NM_EXIT_USAGE)
        return code;
    nm_complain("the results cannot be written: %s", strerror(errno ? errno : EIO));
    return code == NM_EXIT_OK ? NM_EXIT_USAGE : code;
}

int main(int argc, char **argv)
{
    char **copy = nm_secrets_copy_argv(argc, argv);
    struct nm_arguments arguments;
    enum nm_wish wish;
    struct nm_error err;
    int code = NM_EXIT_USAGE;

    nm_secrets_scrub_argv(argc, argv);
    if (!copy) {
        nm_complain("this machine is out of memory");
        return NM_EXIT_USAGE;
    }
    if (nm_backend_table_check(&err) < 0 || nm_workload_table_check(&err) < 0 ||
        nm_arguments_parse(argc, copy, &arguments, &wish, &err) < 0) {
        nm_complain("%s", err.text);
        return NM_EXIT_USAGE;
    }
    code = close_output(run(&arguments, wish));
    nm_arguments_done(&arguments);
    return code;
}
