/* A child: one worker process with its pipes, from its start until all handles are closed.
 *
 * It leads a session of its own, so signals reach the processes that it starts too.  It is over
 * when it has exited and both outputs have ended.  Processes that it leaves behind with an
 * output open are killed after two seconds.
 *
 * Loop thread only. */
#ifndef AGENTS_PROCESS_CHILD_H
#define AGENTS_PROCESS_CHILD_H

#include "base/buf.h"

#include <stdint.h>
#include <uv.h>

struct child;

struct child_events {
    /* Bytes of stdout; @more: another call follows in this turn, maybe with no bytes. */
    void (*output)(struct child *c, struct str bytes, bool more);
    /* Bytes of stderr. */
    void (*errors)(struct child *c, struct str bytes);
    /* Called once; none of the above follows. */
    void (*over)(struct child *c);
    /* After child_close: the memory is the owner's again. */
    void (*closed)(struct child *c);
};

struct child_spec {
    char *const *argv;
    char **env;
    const char *cwd;  /* NULL: the server's */
    bool keeps_input; /* stdin stays open, for child_say */
    int64_t grace_ms;
    size_t max_bytes; /* of address space; 0: no limit */
    unsigned max_cpu_seconds;
};

struct child {
    void *owner;
    const struct child_events *events;
    uv_buf_t scratch; /* borrowed */
    uv_process_t process;
    uv_pipe_t in, out, err;
    uv_timer_t grace, linger;
    uv_write_t write;
    struct buf line;    /* owned; being written to stdin */
    struct buf next;    /* owned; to be written after that */
    unsigned n_handles; /* open or closing */
    int64_t grace_ms;
    pid_t pid;         /* 0: it never started */
    int64_t status;    /* of its exit */
    int signal;        /* that killed it, or 0 */
    int trouble;       /* why we killed it right after its start (a negative errno), or 0 */
    size_t after_kill; /* bytes of stdout since the leftovers were killed */
    bool has_exited, out_ended, err_ended;
    bool is_over, is_closing;
    bool keeps_input;
    bool is_paused, was_paused; /* now; since `linger` last fired */
    bool has_leftovers;         /* the group outlived the child */
    bool leftovers_killed;
};

/* @scratch is borrowed: the buffer for reads.  From here on child_close is needed. */
void child_init(struct child *c,
                uv_loop_t *loop,
                uv_buf_t scratch,
                const struct child_events *events,
                void *owner);

/* @line is the first thing, or all, that it reads from stdin; its memory is taken over.  If the
 * start fails (a libuv code), child_close is all that is left to do. */
int child_start(struct child *c, const struct child_spec *spec, struct buf *line);

/* Writes to its stdin.  If the child does not read, this does not block; if it has closed its
 * stdin, the line is lost: neither is an error.  ERR_NOMEM: nothing was written. */
int child_say(struct child *c, struct str line);
/* Closes its stdin after the pending writes. */
void child_end_input(struct child *c);

/* Stop and resume reading its stdout. */
void child_pause(struct child *c);
void child_resume(struct child *c);

/* A signal to the child alone. */
void child_signal(struct child *c, int number);
/* SIGTERM to its whole process group, and its stdin is closed; SIGKILL after the grace time. */
void child_stop(struct child *c);
/* SIGKILL to its whole process group. */
void child_kill(struct child *c);
/* The same, and does not wait for the end of its outputs. */
void child_abandon(struct child *c);

/* Only when it is over or never started. */
void child_close(struct child *c);

#endif
