/* The life of a job here:
 *
 *     lease ──▶ process ──▶ its lines into the duty ──▶ process over ──▶ last word ──▶ gone
 *                  │
 *                  └── HEARTBEAT, whatever happens
 *
 * What can come in between is a fate, and the first one stays:
 *
 *     CANCELLED    SIGTERM, SIGKILL after the grace time; FINISH as cancelled
 *     FAULTY       SIGKILL; FINISH as failed, with our reason
 *     HANDED_BACK  as CANCELLED, but RETURN
 *     GONE         the job is no longer ours: nothing more is said; wins over the others
 *
 * While more than 1 MiB of lines wait, stdout is not read, and the worker waits in its
 * write. */
#include "agents/work.h"

#include "agents/child.h"
#include "agents/duty.h"
#include "agents/environment.h"
#include "agents/exec.h"
#include "agents/host.h"
#include "agents/order.h"
#include "agents/tail.h"
#include "agents/verdict.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    PAUSE_BYTES = 1024 * 1024,
    RESUME_BYTES = PAUSE_BYTES / 2,
    MAX_ORDER = 1024 * 1024 * 1024,
    MAX_ERROR = 64 * 1024,
};

enum fate { FATE_NONE, FATE_CANCELLED, FATE_FAULTY, FATE_HANDED_BACK, FATE_GONE };

struct work {
    struct work_options opt;
    enum fate fate;
    struct duty duty;
    struct child child;
    struct tail tail;
    uv_timer_t beat;
    unsigned n_open;  /* of: duty, child, beat */
    struct buf error; /* why it failed */
    struct str error_type;
    bool is_deaf; /* nobody listens to the process any more */
    bool is_over; /* the process, with all its output; or it never started */
    bool is_closing;
};

static void end_duty(struct work *w);

/* --- fates ------------------------------------------------------------------- */

static bool decide(struct work *w, enum fate fate)
{
    if (w->fate != FATE_NONE && (fate != FATE_GONE || w->fate == FATE_GONE))
        return false;
    w->fate = fate;
    return true;
}

static void stop_listening(struct work *w)
{
    w->is_deaf = true;
    child_resume(&w->child); /* so that its end is seen */
}

static void fail(struct work *w, struct str error, struct str type)
{
    if (decide(w, FATE_FAULTY)) {
        buf_str(&w->error, error);
        w->error_type = type;
    }
    stop_listening(w);
    child_kill(&w->child);
}

/* Or it was killed before it had its job. */
static void never_started(struct work *w, int code)
{
    const struct exec_agent *a = w->opt.agent;
    char why[400];

    (void)snprintf(why, sizeof(why), "cannot start %.150s%s%.150s: %s", a->argv[0],
                   a->cwd != NULL ? " in " : "", a->cwd != NULL ? a->cwd : "",
                   uv_strerror(code)); /* cutting is fine */
    fail(w, str_of(why), STR("SpawnFailed"));
}

void work_cancel(struct work *w)
{
    if (!w->is_over && decide(w, FATE_CANCELLED))
        child_stop(&w->child);
}

void work_drain(struct work *w)
{
    if (!w->is_over && !w->child.has_exited && decide(w, FATE_HANDED_BACK))
        child_stop(&w->child);
}

void work_stop(struct work *w)
{
    if (!w->is_over) {
        if (!w->child.has_exited)
            (void)decide(w, FATE_HANDED_BACK); /* or it has a fate already */
        child_abandon(&w->child);
    }
    duty_hurry(&w->duty);
}

void work_ask(struct work *w)
{
    duty_ask(&w->duty);
}

/* --- the end ----------------------------------------------------------------- */

static void free_when_closed(struct work *w)
{
    if (--w->n_open > 0)
        return;
    w->opt.ended(w->opt.arg, w);
    tail_done(&w->tail);
    buf_done(&w->error);
    free(w);
}

static void on_child_closed(struct child *c)
{
    free_when_closed(c->owner);
}

static void on_duty_closed(struct duty *d)
{
    free_when_closed(d->owner);
}

static void on_beat_closed(uv_handle_t *handle)
{
    free_when_closed(handle->data);
}

static void close_when_done(struct work *w)
{
    if (!w->is_over || !w->duty.is_over || w->is_closing)
        return;
    w->is_closing = true;
    uv_close((uv_handle_t *)&w->beat, on_beat_closed);
    child_close(&w->child);
    duty_close(&w->duty);
}

static void fill_finish(struct work *w, struct duty_word *word)
{
    const struct child *c = &w->child;

    if (w->fate == FATE_CANCELLED) {
        word->end = JOB_END_CANCELLED;
        return;
    }
    if (w->fate != FATE_FAULTY && c->status == 0 && c->signal == 0) {
        word->end = JOB_END_SUCCEEDED;
        word->end_of_stream = true;
        return;
    }
    if (w->error.n == 0)
        w->error_type = verdict_put(&w->error, c->status, c->signal, &w->tail);
    word->end = JOB_END_FAILED;
    word->error = buf_text(&w->error);
    word->error_type = w->error_type;
}

static void end_duty(struct work *w)
{
    bool back = w->fate == FATE_HANDED_BACK;
    struct duty_word word = { .op = back ? JOURNAL_RETURN : JOURNAL_FINISH };

    if (!back)
        fill_finish(w, &word);
    duty_end(&w->duty, &word);
}

/* --- what the journal wants -------------------------------------------------- */

static void on_cancel(struct duty *d)
{
    work_cancel(d->owner);
}

/* A job that has ended may have done so by the worker's own word: then it may still tidy
 * up. */
static void on_lost(struct duty *d, int code)
{
    struct work *w = d->owner;

    (void)decide(w, FATE_GONE); /* it wins */
    stop_listening(w);
    if (code == ERR_CLOSED)
        child_stop(&w->child);
    else
        child_kill(&w->child);
}

static void on_refused(struct duty *d, struct str why)
{
    struct work *w = d->owner;

    fail(w, why, STR("Append"));
    if (w->is_over)
        end_duty(w);
}

static void on_stored(struct duty *d)
{
    struct work *w = d->owner;

    if (duty_waiting(d) <= RESUME_BYTES)
        child_resume(&w->child);
}

static void on_duty_over(struct duty *d)
{
    close_when_done(d->owner);
}

static const struct duty_events duty_events = { .cancel = on_cancel,
                                                .lost = on_lost,
                                                .refused = on_refused,
                                                .stored = on_stored,
                                                .over = on_duty_over,
                                                .closed = on_duty_closed };

static void on_beat(uv_timer_t *timer)
{
    work_ask(timer->data);
}

/* --- what the process says --------------------------------------------------- */

static void on_output(struct child *c, struct str bytes, bool more)
{
    struct work *w = c->owner;
    int err = w->is_deaf ? 0 : duty_put(&w->duty, bytes);

    if (err == ERR_TOO_LARGE)
        fail(w, STR("a line of more than 16 MiB"), STR("LineTooLong"));
    else if (err != 0)
        fail(w, STR("out of memory for the worker's output"), STR("OutOfMemory"));
    if (duty_waiting(&w->duty) > PAUSE_BYTES && !w->is_deaf)
        child_pause(c);
    if (!more || duty_waiting(&w->duty) >= OUTBOX_BATCH)
        duty_go_on(&w->duty);
}

static void on_errors(struct child *c, struct str bytes)
{
    struct work *w = c->owner;

    tail_put(&w->tail, bytes);
}

static void on_error_line(void *arg, struct str line)
{
    const struct work *w = arg;

    host_log(w->opt.host, w->duty.job, w->opt.agent->name, line);
}

/* A line without newline is whole if the process ended by itself; half a line is no event. */
static void on_over(struct child *c)
{
    struct work *w = c->owner;

    tail_end(&w->tail);
    if (c->trouble != 0)
        never_started(w, c->trouble);
    if (c->signal == 0 && !w->is_deaf && duty_put_end(&w->duty) != 0)
        fail(w, STR("out of memory for the worker's output"), STR("OutOfMemory"));
    w->is_over = true;
    end_duty(w);
    close_when_done(w);
}

static const struct child_events child_events = { .output = on_output,
                                                  .errors = on_errors,
                                                  .over = on_over,
                                                  .closed = on_child_closed };

/* --- the start --------------------------------------------------------------- */

static int start_process(struct work *w, char **env, struct buf *line)
{
    const struct exec_agent *a = w->opt.agent;
    struct child_spec spec = { .argv = a->argv,
                               .env = env,
                               .cwd = a->cwd,
                               .grace_ms = exec_grace_ms(a),
                               .max_bytes = a->max_rss,
                               .max_cpu_seconds = a->max_cpu_seconds };

    return child_start(&w->child, &spec, line);
}

static int start(struct work *w, const struct journal_request *lease)
{
    const struct duty *d = &w->duty;
    struct order order = { .job = d->job,
                           .attempt = d->attempt,
                           .agent = d->agent,
                           .input = lease->row.input,
                           .resume = lease->answers,
                           .lease_ms = d->lease_ms };
    char **env = environment_for(w->opt.env, d->job, d->attempt, d->agent);
    struct buf line;

    buf_init(&line, MAX_ORDER);
    order_put(&line, &order);
    int err = env == NULL || line.error != 0 ? UV_ENOMEM : start_process(w, env, &line);
    buf_done(&line);
    free(env);
    return err;
}

static struct work *make(const struct work_options *options,
                         const struct journal_request *lease)
{
    struct work *w = calloc(1, sizeof(*w));
    const struct host *host = options->host;

    if (w == NULL ||
        duty_init(&w->duty, host, options->agent->name, lease, &duty_events, w) != 0) {
        free(w);
        return NULL;
    }
    w->opt = *options;
    tail_init(&w->tail, on_error_line, w);
    buf_init(&w->error, MAX_ERROR);
    child_init(&w->child, host->loop, host->scratch, &child_events, w);
    (void)uv_timer_init(host->loop, &w->beat); /* cannot fail */
    w->beat.data = w;
    w->n_open = 3;
    return w;
}

int work_new(const struct work_options *options,
             const struct journal_request *lease,
             struct work **ret)
{
    struct work *w = make(options, lease);

    if (w == NULL)
        return ERR_NOMEM;
    int64_t beat_ms = options->host->heartbeat_ms;
    if (beat_ms <= 0)
        beat_ms = w->duty.lease_ms / 4 + 1;
    (void)uv_timer_start(&w->beat, on_beat, (uint64_t)beat_ms, (uint64_t)beat_ms); /* open */
    /* A job that was cancelled before needs no process for that. */
    w->is_over = lease->cancel && decide(w, FATE_CANCELLED);
    int err = w->is_over ? 0 : start(w, lease);
    if (err != 0) {
        never_started(w, err);
        w->is_over = true;
    }
    if (w->is_over)
        end_duty(w);
    *ret = w;
    return 0;
}

bool work_is(const struct work *w, int64_t key, int64_t attempt)
{
    return duty_is(&w->duty, key, attempt);
}
