/* The life of a job here:
 *
 *     lease ──▶ process ──▶ lines ──▶ APPEND, one at a time ──▶ … ──▶ over
 *                  │                                                   │
 *                  └── HEARTBEAT, whatever happens                     ▼
 *                                            rest of the lines ──▶ FINISH or RETURN ──▶ gone
 *
 * go_on() is the one place that decides what is said next: the next batch, then (when the
 * process is over) the last word, then nothing.  Everything that happens (output, an
 * answer, a timer, the end of the process) ends with it.
 *
 * What can come in between is a fate, and the first one stays:
 *
 *     CANCELLED    SIGTERM, SIGKILL after the grace time; FINISH as cancelled
 *     FAULTY       SIGKILL; FINISH as failed, with our reason
 *     HANDED_BACK  as CANCELLED, but RETURN
 *     GONE         the job is no longer ours: nothing more is said; wins over the others
 *
 * ERR_BUSY means "not stored": the same words again, later.  While more than 1 MiB of lines
 * wait, stdout is not read, and the worker waits in its write. */
#include "agents/work.h"

#include "agents/child.h"
#include "agents/environment.h"
#include "agents/exec.h"
#include "agents/order.h"
#include "agents/outbox.h"
#include "agents/post.h"
#include "agents/tail.h"
#include "agents/verdict.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    PAUSE_BYTES = 1024 * 1024,
    RESUME_BYTES = PAUSE_BYTES / 2,
    FIRST_RETRY_MS = 100,
    LAST_RETRY_MS = 2000,
    DEFAULT_LEASE_MS = 60000,
    DEFAULT_GRACE_MS = 5000,
    MAX_ORDER = 1024 * 1024 * 1024,
    MAX_ERROR = 64 * 1024,
};

enum fate { FATE_NONE, FATE_CANCELLED, FATE_FAULTY, FATE_HANDED_BACK, FATE_GONE };

struct work {
    struct work_options opt;
    struct str job; /* text owned: at the end of this block */
    int64_t attempt;
    int64_t lease_ms;
    enum fate fate;
    struct child child;
    struct outbox outbox;
    struct tail tail;
    struct post word; /* APPEND, then FINISH or RETURN */
    struct post beat;
    uv_timer_t beat_timer, retry_timer;
    unsigned n_open;  /* of: child, beat_timer, retry_timer */
    int64_t retry_ms; /* the last delay; 0: the last try went well */
    struct buf error; /* why it failed */
    struct str error_type;
    bool is_deaf;     /* nobody listens to the process any more */
    bool is_over;     /* the process, with all its output; or it never started */
    bool is_retrying; /* retry_timer runs */
    bool last_word_sent, last_word_heard;
    bool is_closing;
    char text[];
};

static void go_on(struct work *w);

/* --- words for people -------------------------------------------------------- */

static void log_line(struct work *w, struct str line)
{
    const struct work_host *host = w->opt.host;

    if (host->log != NULL)
        host->log(host->arg, w->job, w->opt.agent->name, line);
}

static void on_error_line(void *arg, struct str line)
{
    log_line(arg, line);
}

static void remark(struct work *w, const char *what, const char *why)
{
    char line[400];

    (void)snprintf(line, sizeof(line), "spoolwire: %s: %s", what, why); /* cutting is fine */
    log_line(w, str_of(line));
}

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

static void stop_retrying(struct work *w)
{
    if (!w->is_retrying)
        return;
    w->is_retrying = false;
    (void)uv_timer_stop(&w->retry_timer); /* stopping cannot fail */
}

/* The journal has given the job to another, ended it, or deleted it.  A job that has ended
 * may have done so by the worker's own word: then it may still tidy up. */
static void lose(struct work *w, int code, const char *why)
{
    if (w->last_word_sent || !decide(w, FATE_GONE))
        return;
    remark(w, "stopping the process", why);
    outbox_drop(&w->outbox);
    stop_retrying(w);
    stop_listening(w);
    if (code == ERR_CLOSED)
        child_stop(&w->child);
    else
        child_kill(&w->child);
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
    stop_retrying(w);
    go_on(w);
}

/* --- the end ----------------------------------------------------------------- */

static void free_when_closed(struct work *w)
{
    if (w->n_open > 0 || w->beat.is_flying)
        return;
    w->opt.ended(w->opt.arg, w);
    outbox_done(&w->outbox);
    tail_done(&w->tail);
    post_done(&w->word);
    post_done(&w->beat);
    buf_done(&w->error);
    free(w);
}

static void on_child_closed(struct child *c)
{
    struct work *w = c->owner;

    w->n_open--;
    free_when_closed(w);
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct work *w = handle->data;

    w->n_open--;
    free_when_closed(w);
}

static void close_work(struct work *w)
{
    if (w->is_closing)
        return;
    w->is_closing = true;
    uv_close((uv_handle_t *)&w->beat_timer, on_timer_closed);
    uv_close((uv_handle_t *)&w->retry_timer, on_timer_closed);
    child_close(&w->child);
}

/* --- what is said to the journal --------------------------------------------- */

static struct journal_request *begin(struct work *w, struct post *p, enum journal_op op)
{
    struct journal_request *req = post_begin(p, op);

    req->job = w->job;
    req->attempt = w->attempt;
    return req;
}

static void send_batch(struct work *w)
{
    struct journal_request *req = begin(w, &w->word, JOURNAL_APPEND);

    req->producer_seq = w->outbox.seq;
    req->bytes = buf_text(&w->outbox.batch);
    post_send(&w->word, w->opt.host->journal);
}

static void fill_finish(struct work *w, struct journal_request *req)
{
    const struct child *c = &w->child;

    if (w->fate == FATE_CANCELLED) {
        req->end = JOB_END_CANCELLED;
        return;
    }
    if (w->fate != FATE_FAULTY && c->status == 0 && c->signal == 0) {
        req->end = JOB_END_SUCCEEDED;
        req->end_of_stream = true;
        return;
    }
    if (w->error.n == 0)
        w->error_type = verdict_put(&w->error, c->status, c->signal, &w->tail);
    req->end = JOB_END_FAILED;
    req->error = buf_text(&w->error);
    req->error_type = w->error_type;
}

static void send_last_word(struct work *w)
{
    bool back = w->fate == FATE_HANDED_BACK;
    struct journal_request *req = begin(w, &w->word, back ? JOURNAL_RETURN : JOURNAL_FINISH);

    if (!back)
        fill_finish(w, req);
    w->last_word_sent = true;
    post_send(&w->word, w->opt.host->journal);
}

static void on_retry(uv_timer_t *timer)
{
    struct work *w = timer->data;

    w->is_retrying = false;
    go_on(w);
}

/* False when there is no later. */
static bool try_later(struct work *w, const char *why)
{
    if (w->opt.host->is_stopping) {
        remark(w, "left to recovery", why);
        w->fate = FATE_GONE;
        return false;
    }
    if (w->retry_ms == 0)
        remark(w, "trying again until it is stored", why);
    w->retry_ms = w->retry_ms == 0 ? FIRST_RETRY_MS : w->retry_ms * 2;
    if (w->retry_ms > LAST_RETRY_MS)
        w->retry_ms = LAST_RETRY_MS;
    w->is_retrying = true;
    (void)uv_timer_start(&w->retry_timer, on_retry, (uint64_t)w->retry_ms, 0); /* it is open */
    return true;
}

static void go_on(struct work *w)
{
    if (w->word.is_flying || w->is_retrying || w->is_closing)
        return;
    int next = w->fate == FATE_GONE ? ERR_NOT_FOUND : outbox_next(&w->outbox);
    if (next == 0)
        send_batch(w);
    else if (next == ERR_NOMEM && try_later(w, "out of memory"))
        return;
    else if (w->is_over && (w->fate == FATE_GONE || w->last_word_heard))
        close_work(w);
    else if (w->is_over)
        send_last_word(w);
}

/* --- what the journal answers ------------------------------------------------ */

static void batch_stored(struct work *w, const struct journal_request *req)
{
    w->retry_ms = 0;
    outbox_stored(&w->outbox);
    if (req->rejected > 0)
        remark(w, "stdout", req->why.text);
    if (req->cancel)
        work_cancel(w);
    if (outbox_waiting(&w->outbox) <= RESUME_BYTES)
        child_resume(&w->child);
}

static void batch_answered(struct work *w, const struct journal_request *req)
{
    switch (req->code) {
    case 0:
        batch_stored(w, req);
        break;
    case ERR_BUSY:
    case ERR_NOMEM:
        if (w->fate != FATE_GONE)
            (void)try_later(w, req->why.text); /* if not, it is gone: go_on sees that */
        break;
    case ERR_REFUSED:
    case ERR_NOT_FOUND:
    case ERR_CLOSED:
        lose(w, req->code, req->why.text);
        break;
    default: /* a batch that is never taken */
        outbox_drop(&w->outbox);
        outbox_stored(&w->outbox);
        fail(w, str_of(req->why.text), STR("Append"));
    }
}

static void on_word_answered(struct post *p)
{
    struct work *w = p->owner;

    if (p->req.op == JOURNAL_APPEND)
        batch_answered(w, &p->req);
    else if (p->req.code == ERR_BUSY || p->req.code == ERR_NOMEM)
        (void)try_later(w, p->req.why.text); /* as above */
    else
        w->last_word_heard = true; /* or somebody else's was heard before */
    go_on(w);
}

static void on_beat_answered(struct post *p)
{
    struct work *w = p->owner;
    int code = p->req.code;

    if (w->is_closing) {
        free_when_closed(w);
        return;
    }
    if (code == 0 && p->req.cancel)
        work_cancel(w);
    else if (code == ERR_REFUSED || code == ERR_NOT_FOUND || code == ERR_CLOSED)
        lose(w, code, p->req.why.text);
    go_on(w);
}

void work_ask(struct work *w)
{
    if (w->beat.is_flying || w->last_word_sent || w->fate == FATE_GONE)
        return;
    (void)begin(w, &w->beat, JOURNAL_HEARTBEAT);
    post_send(&w->beat, w->opt.host->journal);
}

static void on_beat_timer(uv_timer_t *timer)
{
    work_ask(timer->data);
}

/* --- what the process says --------------------------------------------------- */

static void on_output(struct child *c, struct str bytes, bool more)
{
    struct work *w = c->owner;
    int err = w->is_deaf ? 0 : outbox_put(&w->outbox, bytes);

    if (err == ERR_TOO_LARGE)
        fail(w, STR("a line of more than 16 MiB"), STR("LineTooLong"));
    else if (err != 0)
        fail(w, STR("out of memory for the worker's output"), STR("OutOfMemory"));
    if (outbox_waiting(&w->outbox) > PAUSE_BYTES && !w->is_deaf)
        child_pause(c);
    if (!more || outbox_waiting(&w->outbox) >= OUTBOX_BATCH)
        go_on(w);
}

static void on_errors(struct child *c, struct str bytes)
{
    struct work *w = c->owner;

    tail_put(&w->tail, bytes);
}

/* A line without newline is whole if the process ended by itself; half a line is no event. */
static void on_over(struct child *c)
{
    struct work *w = c->owner;

    tail_end(&w->tail);
    if (c->trouble != 0)
        never_started(w, c->trouble);
    if (c->signal == 0 && !w->is_deaf && outbox_end(&w->outbox) != 0)
        fail(w, STR("out of memory for the worker's output"), STR("OutOfMemory"));
    w->is_over = true;
    go_on(w);
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
                               .grace_ms = a->grace_ms > 0 ? a->grace_ms : DEFAULT_GRACE_MS,
                               .max_bytes = a->max_rss,
                               .max_cpu_seconds = a->max_cpu_seconds };

    return child_start(&w->child, &spec, line);
}

static int start(struct work *w, struct str input)
{
    struct order order = { .job = w->job,
                           .attempt = w->attempt,
                           .agent = w->opt.agent->name,
                           .input = input,
                           .lease_ms = w->lease_ms };
    char **env = environment_for(w->opt.env, w->job, w->attempt, w->opt.agent->name);
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
    struct str job = lease->row.id;
    struct work *w = calloc(1, sizeof(*w) + job.n);
    uv_loop_t *loop = options->host->loop;

    if (w == NULL)
        return NULL;
    memcpy(w->text, job.p, job.n);
    w->opt = *options;
    w->job = str_make(w->text, job.n);
    w->attempt = lease->row.attempt;
    w->lease_ms = lease->lease_ms > 0 ? lease->lease_ms : DEFAULT_LEASE_MS;
    outbox_init(&w->outbox);
    tail_init(&w->tail, on_error_line, w);
    buf_init(&w->error, MAX_ERROR);
    post_init(&w->word, options->host->box, w, on_word_answered);
    post_init(&w->beat, options->host->box, w, on_beat_answered);
    child_init(&w->child, loop, options->host->scratch, &child_events, w);
    (void)uv_timer_init(loop, &w->beat_timer); /* neither can fail */
    (void)uv_timer_init(loop, &w->retry_timer);
    w->beat_timer.data = w->retry_timer.data = w;
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
        beat_ms = w->lease_ms / 4 + 1;
    (void)uv_timer_start(&w->beat_timer, on_beat_timer, (uint64_t)beat_ms,
                         (uint64_t)beat_ms); /* it is open */
    /* A job that was cancelled before needs no process for that. */
    w->is_over = lease->cancel && decide(w, FATE_CANCELLED);
    int err = w->is_over ? 0 : start(w, lease->row.input);
    if (err != 0) {
        never_started(w, err);
        w->is_over = true;
    }
    go_on(w);
    *ret = w;
    return 0;
}

bool work_is(const struct work *w, struct str job, int64_t attempt)
{
    return w->attempt == attempt && str_eq(w->job, job);
}
