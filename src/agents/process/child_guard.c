/* libuv has no hook between fork and exec, but pthread_atfork handlers run in the child.  Ours
 * acts only while its thread is in child_guard_spawn(), which a thread-local variable
 * records. */
#include "agents/process/child_guard.h"

#include "base/buf.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { MAX_ENVIRONMENT = 4 * 1024 * 1024, SWEEPS = 20 };

/* --- the child guard --------------------------------------------------------------- */

static _Thread_local pid_t spawning; /* our pid while this thread spawns a process; else 0 */

static void in_child(void)
{
    if (spawning == 0)
        return;
    /* getppid() detects a server that died before the prctl() call. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != spawning)
        _exit(127);
}

static void install(void)
{
    if (pthread_atfork(NULL, NULL, in_child) != 0)
        abort(); /* out of memory at the first process */
}

int child_guard_spawn(uv_loop_t *loop,
                      uv_process_t *process,
                      const uv_process_options_t *options)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, install); /* cannot fail */
    spawning = getpid();
    int err = uv_spawn(loop, process, options);
    spawning = 0;
    return err;
}

/* --- the sweep --------------------------------------------------------------- */

/* Reads the environment of a process, NUL-separated.  False when we may not read it, or it has
 * exited. */
static bool read_environment(const char *pid, struct buf *ret)
{
    char path[64];
    ssize_t n;

    buf_clear(ret);
    (void)snprintf(path, sizeof(path), "/proc/%.20s/environ", pid); /* fits */
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    do {
        n = buf_reserve(ret, 4096) ? read(fd, ret->p + ret->n, ret->cap - ret->n) : 0;
        ret->n += n > 0 ? (size_t)n : 0;
    } while (n > 0);
    (void)close(fd); /* only read from */
    return n == 0;
}

static bool has_mark(struct str environment, struct str mark)
{
    while (environment.n > 0) {
        struct str entry = str_head(environment, str_find(environment, '\0'));

        if (str_starts(entry, STR(CHILD_GUARD_VARIABLE)) &&
            str_eq(str_skip(entry, sizeof(CHILD_GUARD_VARIABLE) - 1), mark))
            return true;
        environment = str_skip(environment, entry.n + 1);
    }
    return false;
}

/* Kills by pidfd, so that a reused pid cannot hit another process. */
static bool kill_marked(const char *pid, struct str mark, struct buf *environment)
{
    int fd = pidfd_open((pid_t)strtol(pid, NULL, 10), 0);
    bool killed = fd >= 0 && read_environment(pid, environment) &&
                  has_mark(buf_text(environment), mark) &&
                  pidfd_send_signal(fd, SIGKILL, NULL, 0) == 0;

    if (fd >= 0)
        (void)close(fd); /* nothing to flush */
    return killed;
}

static bool sweep_once(struct str mark, struct buf *environment)
{
    DIR *all = opendir("/proc");
    const struct dirent *entry;
    bool found = false;

    if (all == NULL)
        return false;
    while ((entry = readdir(all)) != NULL)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            strtol(entry->d_name, NULL, 10) != getpid())
            found |= kill_marked(entry->d_name, mark, environment);
    (void)closedir(all); /* only read from */
    return found;
}

bool child_guard_sweep(struct str mark)
{
    struct buf environment LOCAL_BUF(MAX_ENVIRONMENT);

    bool found = sweep_once(mark, &environment);
    /* Repeated, for processes that were forked during the sweep. */
    for (unsigned i = 1; found && i < SWEEPS && sweep_once(mark, &environment); i++)
        ;
    return found;
}
