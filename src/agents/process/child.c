/* How a child ends:
 *
 *     exit ──┬── both outputs have ended ────────────────────────▶ over
 *            │
 *            └── one is held open: 2 s ──▶ SIGKILL to the rest ──▶ over at their end
 *                                          of the group, 2 s ────▶ over anyway
 *
 * A paused output has not ended: the pipe may still hold bytes.  So the second two seconds
 * count only while we are reading.  A process that has left the group may write for ever; after
 * the kill we read no more than a pipe can hold.
 *
 * The child is reaped when it exits, so its pid may be reused then,
 * but not while its process group has a member: has_leftovers says whether it had. */
#include "agents/process/child.h"

#include "agents/process/child_guard.h"
#include "agents/process/limits.h"
#include "base/error.h"

#include <assert.h>
#include <signal.h>
#include <unistd.h>

enum { LINGER_MS = 2000, MAX_PIPE = 1024 * 1024, MAX_SAID = 1024 * 1024 * 1024 };

/* --- signals ----------------------------------------------------------------- */

static void signal_group(const struct child *c, int signal)
{
    if (c->pid > 1 && (!c->has_exited || c->has_leftovers))
        (void)kill(-c->pid, signal); /* fails if they have exited: fine */
}

static void on_grace(uv_timer_t *timer)
{
    signal_group(timer->data, SIGKILL);
}

void child_signal(struct child *c, int number)
{
    if (c->pid != 0 && !c->has_exited)
        (void)uv_process_kill(&c->process, number); /* fails if it has exited: fine */
}

void child_kill(struct child *c)
{
    signal_group(c, SIGKILL);
}

/* --- handles ----------------------------------------------------------------- */

static void on_closed(uv_handle_t *handle)
{
    struct child *c = handle->data;

    if (--c->n_handles == 0 && c->is_closing) {
        buf_done(&c->line);
        buf_done(&c->next);
        c->events->closed(c);
    }
}

static void close_handle(void *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, on_closed);
}

static void own(struct child *c, void *handle)
{
    ((uv_handle_t *)handle)->data = c;
    c->n_handles++;
}

void child_close(struct child *c)
{
    assert(c->is_over || c->pid == 0);
    c->is_closing = true;
    if (c->process.data == c)
        close_handle(&c->process);
    close_handle(&c->in);
    close_handle(&c->out);
    close_handle(&c->err);
    close_handle(&c->grace);
    close_handle(&c->linger);
}

/* --- the end ----------------------------------------------------------------- */

static void look_whether_over(struct child *c)
{
    if (!c->has_exited || !c->out_ended || !c->err_ended || c->is_over)
        return;
    c->is_over = true;
    (void)uv_timer_stop(&c->grace); /* stopping cannot fail */
    (void)uv_timer_stop(&c->linger);
    signal_group(c, SIGKILL);
    c->events->over(c);
}

static void end_outputs(struct child *c)
{
    c->out_ended = c->err_ended = true;
    close_handle(&c->out);
    close_handle(&c->err);
    look_whether_over(c);
}

static void on_linger(uv_timer_t *timer)
{
    struct child *c = timer->data;

    if (!c->leftovers_killed) {
        signal_group(c, SIGKILL);
        c->leftovers_killed = true;
        c->was_paused |= c->has_leftovers; /* they may have written until now */
    }
    if (!c->was_paused)
        end_outputs(c);
    c->was_paused = c->is_paused;
}

static void on_exit_of(uv_process_t *process, int64_t status, int signal)
{
    struct child *c = process->data;

    c->has_exited = true;
    c->status = status;
    c->signal = signal;
    c->has_leftovers = kill(-c->pid, 0) == 0;
    c->was_paused = c->is_paused;
    close_handle(&c->in);
    (void)uv_timer_start(&c->linger, on_linger, LINGER_MS, LINGER_MS); /* cannot fail: open */
    look_whether_over(c);
}

void child_stop(struct child *c)
{
    signal_group(c, SIGTERM);
    close_handle(&c->in);
    if (!c->has_exited && !uv_is_active((uv_handle_t *)&c->grace))
        (void)uv_timer_start(&c->grace, on_grace, (uint64_t)c->grace_ms, 0); /* as above */
}

void child_abandon(struct child *c)
{
    signal_group(c, SIGKILL);
    end_outputs(c);
}

/* --- stdin ------------------------------------------------------------------- */

static int write_line(struct child *c);

/* A line that could not be written (the child has exited, or closed its stdin) is not tried
 * again. */
static void on_written(uv_write_t *write, int status)
{
    struct child *c = write->handle->data;

    buf_done(&c->line);
    if (status != 0 || uv_is_closing((uv_handle_t *)&c->in))
        return;
    struct buf spare = c->line;
    c->line = c->next;
    c->next = spare;
    if (c->line.n > 0 && write_line(c) != 0)
        buf_clear(&c->line);
    if (c->line.n == 0 && !c->keeps_input)
        close_handle(&c->in); /* so that a worker can read to the end: json.load(sys.stdin) */
}

static int write_line(struct child *c)
{
    uv_buf_t line = uv_buf_init(c->line.p, (unsigned)c->line.n);

    return uv_write(&c->write, (uv_stream_t *)&c->in, &line, 1, on_written);
}

int child_say(struct child *c, struct str line)
{
    bool is_writing = c->line.n > 0;
    struct buf *b = is_writing ? &c->next : &c->line;
    size_t n = b->n;

    if (uv_is_closing((uv_handle_t *)&c->in))
        return 0;
    buf_str(b, line);
    if (b->error != 0) {
        buf_cut(b, n);
        b->error = 0;
        return ERR_NOMEM;
    }
    if (!is_writing && write_line(c) != 0)
        buf_clear(b); /* not tried again, as in on_written */
    return 0;
}

void child_end_input(struct child *c)
{
    c->keeps_input = false;
    if (c->line.n == 0)
        close_handle(&c->in);
}

/* --- outputs ----------------------------------------------------------------- */

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    const struct child *c = handle->data;

    (void)suggested;
    *buf = c->scratch;
}

static void on_output(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct child *c = stream->data;

    if (n >= 0) {
        c->after_kill += c->leftovers_killed ? (size_t)n : 0;
        c->events->output(c, str_make(buf->base, (size_t)n), (size_t)n == buf->len);
        if (c->after_kill <= MAX_PIPE || c->out_ended)
            return;
    } else {
        c->events->output(c, STR(""), false);
    }
    c->out_ended = true;
    close_handle(&c->out);
    look_whether_over(c);
}

static void on_errors(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct child *c = stream->data;

    if (n > 0)
        c->events->errors(c, str_make(buf->base, (size_t)n));
    if (n >= 0)
        return;
    c->err_ended = true;
    close_handle(&c->err);
    look_whether_over(c);
}

void child_pause(struct child *c)
{
    if (c->is_paused || c->out_ended)
        return;
    c->is_paused = c->was_paused = true;
    (void)uv_read_stop((uv_stream_t *)&c->out); /* always 0 */
}

void child_resume(struct child *c)
{
    if (!c->is_paused)
        return;
    c->is_paused = false;
    if (!c->out_ended)
        (void)uv_read_start((uv_stream_t *)&c->out, on_alloc, on_output); /* cannot fail: it
                                                                             succeeded before */
}

/* --- the start --------------------------------------------------------------- */

struct ends {
    uv_file child[3]; /* its stdin, stdout, stderr; -1: closed */
};

static void close_ends(struct ends *ends)
{
    for (size_t i = 0; i < 3; i++)
        if (ends->child[i] >= 0)
            (void)close(ends->child[i]); /* a pipe: nothing to flush */
}

/* Real pipes, not libuv's socket pairs: scripts write to /dev/stderr, which cannot be
 * opened when it is a socket.  Both ends are close-on-exec; only ours does not block. */
static int connect_pipe(uv_pipe_t *ours, bool we_write, uv_file *child)
{
    uv_file fds[2];
    int err = uv_pipe(fds, we_write ? 0 : UV_NONBLOCK_PIPE, we_write ? UV_NONBLOCK_PIPE : 0);

    if (err != 0)
        return err;
    *child = fds[we_write ? 0 : 1];
    err = uv_pipe_open(ours, fds[we_write ? 1 : 0]);
    if (err != 0)
        (void)close(fds[we_write ? 1 : 0]);
    return err;
}

static int spawn(struct child *c, const struct child_spec *spec, const struct ends *ends)
{
    uv_stdio_container_t stdio[3];
    uv_process_options_t options = { .exit_cb = on_exit_of,
                                     .file = spec->argv[0],
                                     .args = (char **)spec->argv,
                                     .env = spec->env,
                                     .cwd = spec->cwd,
                                     .flags = UV_PROCESS_DETACHED, /* setsid */
                                     .stdio_count = 3,
                                     .stdio = stdio };

    for (size_t i = 0; i < 3; i++) {
        stdio[i].flags = UV_INHERIT_FD;
        stdio[i].data.fd = ends->child[i];
    }
    own(c, &c->process); /* even a failed spawn leaves a handle that must be closed */
    int err = child_guard_spawn(c->in.loop, &c->process, &options);
    if (err == 0)
        c->pid = c->process.pid;
    return err;
}

static int begin(struct child *c)
{
    int err = uv_read_start((uv_stream_t *)&c->out, on_alloc, on_output);

    if (err == 0)
        err = uv_read_start((uv_stream_t *)&c->err, on_alloc, on_errors);
    if (err == 0 && c->line.n > 0)
        err = write_line(c);
    return err;
}

void child_init(struct child *c,
                uv_loop_t *loop,
                uv_buf_t scratch,
                const struct child_events *events,
                void *owner)
{
    uv_pipe_t *pipes[] = { &c->in, &c->out, &c->err };
    uv_timer_t *timers[] = { &c->grace, &c->linger };

    *c = (struct child){ .owner = owner, .events = events, .scratch = scratch };
    for (size_t i = 0; i < 3; i++) {
        (void)uv_pipe_init(loop, pipes[i], 0); /* neither can fail */
        own(c, pipes[i]);
    }
    for (size_t i = 0; i < 2; i++) {
        (void)uv_timer_init(loop, timers[i]);
        own(c, timers[i]);
    }
}

int child_start(struct child *c, const struct child_spec *spec, struct buf *line)
{
    struct ends ends = { { -1, -1, -1 } };

    c->line = *line;
    *line = (struct buf){ 0 };
    buf_init(&c->next, MAX_SAID);
    c->keeps_input = spec->keeps_input;
    c->grace_ms = spec->grace_ms;
    int err = connect_pipe(&c->in, true, &ends.child[0]);
    if (err == 0)
        err = connect_pipe(&c->out, false, &ends.child[1]);
    if (err == 0)
        err = connect_pipe(&c->err, false, &ends.child[2]);
    if (err == 0)
        err = spawn(c, spec, &ends);
    close_ends(&ends);
    if (err != 0)
        return err;
    /* The process runs from here on, so an error is reported by its regular end. */
    c->trouble = limits_set(c->pid, spec->max_bytes, spec->max_cpu_seconds);
    if (c->trouble == 0)
        c->trouble = begin(c);
    if (c->trouble != 0)
        child_kill(c);
    return 0;
}
