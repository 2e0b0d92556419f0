/* The life of a task:
 *
 *     lease ──▶ executor ──▶ its lines into the session ──▶ it ends ──▶ final request ──▶ gone
 *       │
 *       └── HEARTBEAT, all the time
 *
 * Its fate is what ends it early; the first one stays:
 *
 *     CANCELLED    the executor stops; FINISH as cancelled
 *     FAULTY       it is ended at once; FINISH as failed, with our reason
 *     HANDED_BACK  as CANCELLED, but RETURN (the job is requeued)
 *     GONE         the job is no longer ours, or continues without us: nothing more is sent;
 *                  wins over the others
 *
 * While more than 1 MiB of lines wait, the executor's output is not read, so the worker blocks
 * in write(). */
#include "agents/task.h"

#include "agents/lease_session.h"
#include "agents/exec.h"
#include "agents/executor.h"
#include "agents/host.h"
#include "agents/assignment.h"

#include <stdlib.h>

enum {
    PAUSE_BYTES = 1024 * 1024,
    RESUME_BYTES = PAUSE_BYTES / 2,
    MAX_ERROR = 64 * 1024,
};

enum task_fate { FATE_NONE, FATE_CANCELLED, FATE_FAULTY, FATE_HANDED_BACK, FATE_GONE };

struct task {
    struct task_options opt;
    enum task_fate fate;
    struct lease_session session;
    struct executor *executor; /* owned */
    uv_timer_t beat;
    unsigned n_open;    /* open parts: lease session, beat, a started executor */
    struct buf error;   /* why it failed */
    struct buf details; /* more about the failure, as JSON */
    struct str error_type;
    bool has_begun; /* the executor was started; before that it is only memory */
    bool is_deaf;   /* its output is no longer read */
    bool is_over;   /* it has ended, with all its output; or never started */
    bool is_closing;
};

static void end_session(struct task *w);

/* --- fates ------------------------------------------------------------------- */

static bool decide(struct task *w, enum task_fate fate)
{
    if (w->fate != FATE_NONE && (fate != FATE_GONE || w->fate == FATE_GONE))
        return false;
    w->fate = fate;
    return true;
}

/* Calls an operation of the executor, unless it has ended. */
static void tell(struct task *w, void (*what)(struct executor *h))
{
    if (!w->is_over)
        what(w->executor);
}

static void stop_listening(struct task *w)
{
    w->is_deaf = true;
    tell(w, w->executor->ops->resume); /* so that the end of its output is seen */
}

static void fail(struct task *w, struct str error, struct str type)
{
    if (decide(w, FATE_FAULTY)) {
        buf_str(&w->error, error);
        w->error_type = type;
    }
    stop_listening(w);
    tell(w, w->executor->ops->kill);
}

void task_cancel(struct task *w)
{
    if (!w->is_over && decide(w, FATE_CANCELLED))
        w->executor->ops->stop(w->executor);
}

static bool is_at_work(const struct task *w)
{
    return !w->is_over && !w->executor->ops->has_ended(w->executor);
}

/* The server stops, and the executor's work continues without it.  False: it does not outlive
 * the server. */
static bool leave(struct task *w)
{
    if (w->executor->ops->leave == NULL)
        return false;
    if (is_at_work(w) && decide(w, FATE_GONE)) {
        stop_listening(w);
        lease_session_leave(&w->session);
        w->executor->ops->leave(w->executor);
    }
    return true;
}

void task_drain(struct task *w)
{
    if (!leave(w) && is_at_work(w) && decide(w, FATE_HANDED_BACK))
        w->executor->ops->stop(w->executor);
}

void task_stop(struct task *w)
{
    if (!leave(w) && is_at_work(w))
        (void)decide(w, FATE_HANDED_BACK); /* ignored: it may have a fate already */
    tell(w, w->executor->ops->abandon);
    lease_session_hurry(&w->session);
}

void task_ask(struct task *w)
{
    lease_session_ask(&w->session);
}

/* --- the end ----------------------------------------------------------------- */

static void free_when_closed(struct task *w)
{
    if (--w->n_open > 0)
        return;
    w->opt.ended(w->opt.arg, w);
    buf_done(&w->error);
    buf_done(&w->details);
    free(w->executor);
    free(w);
}

static void on_executor_closed(void *owner)
{
    free_when_closed(owner);
}

static void on_session_closed(struct lease_session *d)
{
    free_when_closed(d->owner);
}

static void on_beat_closed(uv_handle_t *handle)
{
    free_when_closed(handle->data);
}

static void close_when_done(struct task *w)
{
    if (!w->is_over || !w->session.is_over || w->is_closing)
        return;
    w->is_closing = true;
    uv_close((uv_handle_t *)&w->beat, on_beat_closed);
    if (w->has_begun)
        w->executor->ops->close(w->executor);
    lease_session_close(&w->session);
}

static void fill_finish(struct task *w, struct last_report *report)
{
    const struct executor_ops *ops = w->executor->ops;
    enum outcome outcome = OUTCOME_FAILED;

    if (w->fate != FATE_CANCELLED && w->error.n == 0) {
        outcome = ops->judge(w->executor, &w->error, &w->error_type);
        if (outcome != OUTCOME_WELL && ops->details != NULL)
            ops->details(w->executor, &w->details);
    }
    if (w->fate == FATE_CANCELLED || outcome == OUTCOME_CANCELLED) {
        report->end = JOB_END_CANCELLED;
        return;
    }
    if (outcome == OUTCOME_WELL && w->fate != FATE_FAULTY) {
        report->end = JOB_END_SUCCEEDED;
        report->end_of_stream = ops->output == NULL;
        report->output = ops->output != NULL ? ops->output(w->executor) : STR_NONE;
        return;
    }
    if (outcome == OUTCOME_LOST)
        report->op = JOURNAL_LOSE;
    report->end = JOB_END_FAILED;
    report->error = buf_text(&w->error);
    report->error_type = w->error_type;
    report->details =
        w->details.n > 0 && w->details.error == 0 ? buf_text(&w->details) : STR_NONE;
    report->phase = outcome == OUTCOME_RAISED ? STR_NONE : STR("worker");
}

static void end_session(struct task *w)
{
    bool back = w->fate == FATE_HANDED_BACK;
    struct last_report report = { .op = back ? JOURNAL_RETURN : JOURNAL_FINISH };

    if (!back)
        fill_finish(w, &report);
    lease_session_end(&w->session, &report);
}

/* --- requests of the journal ------------------------------------------------- */

static void on_cancel(struct lease_session *d)
{
    task_cancel(d->owner);
}

static void on_pause(struct lease_session *d)
{
    struct task *w = d->owner;

    if (w->executor->ops->rest != NULL)
        tell(w, w->executor->ops->rest);
}

/* The worker may have ended the job with an event of its own: then let it clean up. */
static void on_lost(struct lease_session *d, int code)
{
    struct task *w = d->owner;

    (void)decide(w, FATE_GONE); /* always succeeds: it wins over the others */
    stop_listening(w);
    if (code == ERR_CLOSED && w->executor->ops->leave != NULL)
        tell(w, w->executor->ops->leave);
    else
        tell(w, code == ERR_CLOSED ? w->executor->ops->stop : w->executor->ops->kill);
}

static void on_refused(struct lease_session *d, struct str why)
{
    struct task *w = d->owner;

    fail(w, why, STR("Append"));
    if (w->is_over)
        end_session(w);
}

static void on_stored(struct lease_session *d)
{
    struct task *w = d->owner;

    if (lease_session_waiting(d) <= RESUME_BYTES)
        tell(w, w->executor->ops->resume);
}

static void on_session_over(struct lease_session *d)
{
    close_when_done(d->owner);
}

static const struct lease_session_events lease_session_events = { .cancel = on_cancel,
                                                                  .pause = on_pause,
                                                                  .lost = on_lost,
                                                                  .refused = on_refused,
                                                                  .stored = on_stored,
                                                                  .over = on_session_over,
                                                                  .closed = on_session_closed };

static void on_beat(uv_timer_t *timer)
{
    task_ask(timer->data);
}

/* --- events of the executor ------------------------------------------------------ */

static void on_output(void *owner, struct str bytes, bool more)
{
    struct task *w = owner;
    int err = w->is_deaf ? 0 : lease_session_put(&w->session, bytes);

    if (err == ERR_TOO_LARGE)
        fail(w, STR("a line of more than 16 MiB"), STR("LineTooLong"));
    else if (err != 0)
        fail(w, STR("out of memory for the worker's output"), STR("OutOfMemory"));
    if (lease_session_waiting(&w->session) > PAUSE_BYTES && !w->is_deaf)
        w->executor->ops->pause(w->executor);
    if (!more || lease_session_waiting(&w->session) >= OUTBOX_BATCH)
        lease_session_go_on(&w->session);
}

static void on_over(void *owner, bool is_whole)
{
    struct task *w = owner;

    if (is_whole && !w->is_deaf && lease_session_put_end(&w->session) != 0)
        fail(w, STR("out of memory for the worker's output"), STR("OutOfMemory"));
    w->is_over = true;
    end_session(w);
    close_when_done(w);
}

static const struct executor_events executor_events = { .output = on_output,
                                                        .over = on_over,
                                                        .closed = on_executor_closed };

/* --- the start --------------------------------------------------------------- */

static bool start(struct task *w, const struct journal_request *lease)
{
    struct assignment assignment = lease_session_assignment(&w->session, lease);

    w->has_begun = true;
    w->n_open++;
    return w->executor->ops->start(w->executor, &assignment);
}

static struct executor *make_executor(struct task *w)
{
    struct executor common = { .events = &executor_events,
                               .owner = w,
                               .host = w->opt.host,
                               .agent = w->opt.agent,
                               .env = w->opt.env };

    return executor_kind(common.agent->kind)->make(&common);
}

static struct task *make(const struct task_options *options,
                         const struct journal_request *lease)
{
    struct task *w = calloc(1, sizeof(*w));
    const struct host *host = options->host;

    if (w == NULL)
        return NULL;
    w->opt = *options;
    w->executor = make_executor(w);
    if (w->executor == NULL || lease_session_init(&w->session, host, options->agent->name,
                                                  lease, &lease_session_events, w) != 0) {
        free(w->executor);
        free(w);
        return NULL;
    }
    w->executor->job = w->session.job;
    w->session.source = w->executor->ops->source;
    buf_init(&w->error, MAX_ERROR);
    buf_init(&w->details, MAX_ERROR);
    (void)uv_timer_init(host->loop, &w->beat); /* cannot fail */
    w->beat.data = w;
    w->n_open = 2;
    return w;
}

int task_new(const struct task_options *options,
             const struct journal_request *lease,
             struct task **ret)
{
    struct task *w = make(options, lease);

    if (w == NULL)
        return ERR_NOMEM;
    int64_t beat_ms = options->host->heartbeat_ms;
    if (beat_ms <= 0)
        beat_ms = w->session.lease_ms / 4 + 1;
    (void)uv_timer_start(&w->beat, on_beat, (uint64_t)beat_ms, (uint64_t)beat_ms); /* open */
    /* A job that was cancelled before it started needs no executor. */
    w->is_over = lease->cancel && decide(w, FATE_CANCELLED);
    if (!w->is_over)
        w->is_over = !start(w, lease);
    if (w->is_over)
        end_session(w);
    *ret = w;
    return 0;
}

bool task_is(const struct task *w, int64_t key, int64_t attempt)
{
    return lease_session_is(&w->session, key, attempt);
}
