#define _GNU_SOURCE /* pipe2 */
#include "cli/attendant.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CANNOT_RUN = 127 };

static _Noreturn void become(const char *folder, char *const argv[], int input)
{
    if (dup2(input, STDIN_FILENO) >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 &&
        chdir(folder) == 0)
        (void)execv(argv[0], argv); /* returns only if it fails */
    (void)fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
    _exit(CANNOT_RUN);
}

int attendant_start(const char *folder, char *const argv[], struct error *err)
{
    int ends[2];

    /* Closed in the processes of agents, which may outlive this one for a moment. */
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set(err, ERR_IO, "pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0)
        become(folder, argv, ends[0]);
    (void)close(ends[0]); /* the other end stays open until this process ends */
    if (pid < 0) {
        (void)close(ends[1]);
        return error_set(err, ERR_IO, "fork: %s", strerror(errno));
    }
    return 0;
}
