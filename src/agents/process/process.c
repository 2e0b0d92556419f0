/* A process as the executor of a task: the job is one line on its stdin, which is then closed;
 * its exit status decides.  Exit 0 is a success, anything else a failure with the end of
 * stderr. */
#include "agents/process/child.h"
#include "agents/environment.h"
#include "agents/exec.h"
#include "agents/executor.h"
#include "agents/host.h"
#include "agents/assignment.h"
#include "agents/tail.h"
#include "agents/process/verdict.h"
#include "jobs/process_token.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_ORDER = 1024 * 1024 * 1024 };

struct process {
    struct executor executor; /* first */
    struct child child;
    struct tail tail;
    int start_error; /* why it never started (a libuv code), or 0 */
    bool is_told;    /* it was asked to pause */
};

static struct process *process_of(struct executor *h)
{
    return (struct process *)(void *)h;
}

static const struct process *process_seen(const struct executor *h)
{
    return (const struct process *)(const void *)h;
}

/* --- output of the process --------------------------------------------------- */

static void on_output(struct child *c, struct str bytes, bool more)
{
    struct process *p = c->owner;

    p->executor.events->output(p->executor.owner, bytes, more);
}

static void on_errors(struct child *c, struct str bytes)
{
    struct process *p = c->owner;

    tail_put(&p->tail, bytes);
}

static void on_error_line(void *arg, struct str line)
{
    const struct process *p = arg;

    host_log(p->executor.host, p->executor.job, p->executor.agent->name, line);
}

/* A last line without newline is complete if the process exited by itself; half a line of a
 * killed process is dropped. */
static void on_over(struct child *c)
{
    struct process *p = c->owner;

    tail_end(&p->tail);
    p->executor.events->over(p->executor.owner, c->signal == 0);
}

static void on_closed(struct child *c)
{
    struct process *p = c->owner;

    tail_done(&p->tail);
    p->executor.events->closed(p->executor.owner); /* p is gone */
}

static const struct child_events child_events = { .output = on_output,
                                                  .errors = on_errors,
                                                  .over = on_over,
                                                  .closed = on_closed };

/* --- operations of the executor ---------------------------------------------- */

static int spawn(struct process *p, char **env, struct buf *line)
{
    const struct exec_agent *a = p->executor.agent;
    struct child_spec spec = { .argv = a->argv,
                               .env = env,
                               .cwd = a->cwd,
                               .grace_ms = exec_grace_ms(a),
                               .max_bytes = a->max_rss,
                               .max_cpu_seconds = a->max_cpu_seconds };

    return child_start(&p->child, &spec, line);
}

static bool start(struct executor *h, const struct assignment *assignment)
{
    struct process *p = process_of(h);
    struct buf line LOCAL_BUF(MAX_ORDER);
    struct buf token LOCAL_BUF(MAX_ORDER);

    process_token_put(&token, h->host->process_key, assignment->key, assignment->agent);
    char **env = environment_for(h->env, assignment->job, assignment->attempt,
                                 assignment->agent, buf_text(&token));
    tail_init(&p->tail, on_error_line, p);
    child_init(&p->child, h->host->loop, h->host->scratch, &child_events, p);
    assignment_put(&line, assignment);
    p->start_error = env == NULL || line.error != 0 ? UV_ENOMEM : spawn(p, env, &line);
    free(env);
    return p->start_error == 0;
}

static void pause_reading(struct executor *h)
{
    child_pause(&process_of(h)->child);
}

static void resume_reading(struct executor *h)
{
    child_resume(&process_of(h)->child);
}

/* Asks once, though every answer of the journal repeats it. */
static void ask_to_pause(struct executor *h)
{
    struct process *p = process_of(h);

    if (h->agent->is_pausable && !p->is_told)
        child_signal(&p->child, SIGUSR1);
    p->is_told = true;
}

static void stop(struct executor *h)
{
    child_stop(&process_of(h)->child);
}

static void end_at_once(struct executor *h)
{
    child_kill(&process_of(h)->child);
}

static void abandon(struct executor *h)
{
    child_abandon(&process_of(h)->child);
}

static void close_child(struct executor *h)
{
    child_close(&process_of(h)->child);
}

/* --- its end ----------------------------------------------------------------- */

static bool has_ended(const struct executor *h)
{
    return process_seen(h)->child.has_exited;
}

/* The process never started, or was killed before it got its job. */
static void put_never_started(const struct exec_agent *a, int code, struct buf *error)
{
    char why[400];

    (void)snprintf(why, sizeof(why), "cannot start %.150s%s%.150s: %s", a->argv[0],
                   a->cwd != NULL ? " in " : "", a->cwd != NULL ? a->cwd : "",
                   uv_strerror(code)); /* cutting is fine */
    buf_str(error, str_of(why));
}

static enum outcome judge(const struct executor *h, struct buf *error, struct str *ret_type)
{
    const struct process *p = process_seen(h);
    const struct child *c = &p->child;
    int trouble = p->start_error != 0 ? p->start_error : c->trouble;

    if (trouble == 0 && c->status == 0 && c->signal == 0)
        return OUTCOME_WELL;
    bool is_raised = false;
    if (trouble == 0) {
        *ret_type = verdict_put(error, c->status, c->signal, &p->tail, &is_raised);
    } else {
        put_never_started(h->agent, trouble, error);
        *ret_type = STR("SpawnFailed");
    }
    return is_raised ? OUTCOME_RAISED : OUTCOME_FAILED;
}

static void put_details(const struct executor *h, struct buf *out)
{
    const struct process *p = process_seen(h);
    const struct child *c = &p->child;

    if (p->start_error == 0 && c->trouble == 0)
        verdict_put_details(out, c->status, c->signal, &p->tail);
}

/* --- construction ------------------------------------------------------------ */

static const struct executor_ops ops = { .source = "stdout",
                                         .start = start,
                                         .pause = pause_reading,
                                         .resume = resume_reading,
                                         .rest = ask_to_pause,
                                         .stop = stop,
                                         .kill = end_at_once,
                                         .abandon = abandon,
                                         .has_ended = has_ended,
                                         .judge = judge,
                                         .details = put_details,
                                         .close = close_child };

static struct executor *make(const struct executor *common)
{
    struct process *p = calloc(1, sizeof(*p));

    if (p == NULL)
        return NULL;
    p->executor = *common;
    p->executor.ops = &ops;
    return &p->executor;
}

const struct executor_kind executor_process = { .make = make };
