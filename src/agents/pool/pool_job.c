#include "agents/pool/pool_job.h"

#include "agents/process/child.h"
#include "agents/host.h"
#include "agents/assignment.h"
#include "agents/pool/report.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_ORDER = 1024 * 1024 * 1024 };

static int64_t now(const struct pool_job *s)
{
    return (int64_t)uv_now(s->session.host->loop);
}

/* --- states ------------------------------------------------------------------ */

static void move(struct pool_job *s, enum pool_job_state to)
{
    static const unsigned moves[POOL_JOB_STATE_MAX] = {
        [POOL_JOB_WORKING] = 1u << POOL_JOB_TOLD | 1u << POOL_JOB_LEFT,
        [POOL_JOB_TOLD] = 1u << POOL_JOB_LEFT,
    };

    assert((moves[s->state] & 1u << to) != 0);
    s->state = to;
}

static void close_when_done(struct pool_job *s)
{
    if (s->state == POOL_JOB_LEFT && s->session.is_over)
        lease_session_close(&s->session);
}

static void leave(struct pool_job *s, bool finished)
{
    move(s, POOL_JOB_LEFT);
    s->events->left(s, finished);
    close_when_done(s);
}

/* Asks the process to stop the job.  Without memory for the line, the grace time runs out. */
static void tell(struct pool_job *s)
{
    struct buf line LOCAL_BUF(MAX_ORDER);

    if (s->state != POOL_JOB_WORKING)
        return;
    move(s, POOL_JOB_TOLD);
    s->stop_by = now(s) + s->grace_ms;
    assignment_put_cancel(&line, s->session.job, s->session.attempt);
    if (line.error == 0)
        (void)child_say(s->child, buf_text(&line));
    s->events->told(s);
}

void pool_job_cancel(struct pool_job *s)
{
    s->is_cancelled = true;
    tell(s);
}

/* --- the lease session ---------------------------------------------------------------- */

static void on_cancel(struct lease_session *d)
{
    pool_job_cancel(d->owner);
}

/* Asks once: the job should pause at its next step, without a time limit. */
static void on_pause(struct lease_session *d)
{
    struct pool_job *s = d->owner;
    struct buf line LOCAL_BUF(MAX_ORDER);

    if (s->is_paused || s->state != POOL_JOB_WORKING)
        return;
    assignment_put_pause(&line, d->job, d->attempt);
    s->is_paused = line.error == 0 && child_say(s->child, buf_text(&line)) == 0;
}

static void on_lost(struct lease_session *d, int code)
{
    (void)code;
    tell(d->owner);
}

static void on_refused(struct lease_session *d, struct str why)
{
    struct last_report word = {
        .op = JOURNAL_FINISH, .end = JOB_END_FAILED, .error = why, .error_type = STR("Append")
    };

    lease_session_end(d, &word);
    tell(d->owner);
}

static void on_stored(struct lease_session *d)
{
    struct pool_job *s = d->owner;

    s->events->stored(s);
}

static void on_over(struct lease_session *d)
{
    close_when_done(d->owner);
}

static void on_closed(struct lease_session *d)
{
    struct pool_job *s = d->owner;

    s->events->closed(s);
    free(s);
}

static const struct lease_session_events lease_session_events = { .cancel = on_cancel,
                                                                  .pause = on_pause,
                                                                  .lost = on_lost,
                                                                  .refused = on_refused,
                                                                  .stored = on_stored,
                                                                  .over = on_over,
                                                                  .closed = on_closed };

/* --- what the process says --------------------------------------------------- */

static void put_event(struct pool_job *s, struct str event)
{
    int err = lease_session_put(&s->session, event);

    if (err == 0)
        err = lease_session_put(&s->session, STR("\n"));
    if (err != 0)
        on_refused(&s->session, STR("out of memory for the worker's output"));
}

static void finish(struct pool_job *s, const struct finish *f)
{
    struct last_report word = { .op = JOURNAL_FINISH,
                                .end = f->end,
                                .interrupted = f->interrupted,
                                .error = f->error,
                                .error_type = f->error_type };
    struct buf output LOCAL_BUF(MAX_ORDER);
    struct buf details LOCAL_BUF(MAX_ORDER);

    finish_put_output(&output, f);
    finish_put_details(&details, f);
    if (output.n > 0)
        word.output = buf_text(&output);
    if (details.n > 0)
        word.details = buf_text(&details);
    if (output.error != 0 || details.error != 0)
        on_refused(&s->session, STR("out of memory for the worker's output"));
    else if (!s->session.has_last)
        lease_session_end(&s->session, &word);
    leave(s, true);
}

void pool_job_hear(struct pool_job *s, const struct report *report)
{
    struct last_report word = { .op = JOURNAL_RETURN };

    s->heard = now(s);
    s->is_doubted = false;
    switch (report->kind) {
    case REPORT_READY:
    case REPORT_CALL:
        return;
    case REPORT_EVENT:
        put_event(s, report->event);
        return;
    case REPORT_HEARTBEAT:
        lease_session_ask(&s->session);
        return;
    case REPORT_FINISH:
        finish(s, &report->finish);
        return;
    case REPORT_RETURN:
        break;
    }
    if (!s->session.has_last)
        lease_session_end(&s->session, &word);
    leave(s, true);
}

void pool_job_desert(struct pool_job *s, const struct last_report *word)
{
    const struct last_report cancelled = { .op = JOURNAL_FINISH, .end = JOB_END_CANCELLED };

    if (!s->session.has_last)
        lease_session_end(&s->session, s->is_cancelled ? &cancelled : word);
    leave(s, false);
}

/* --- time -------------------------------------------------------------------- */

static void lose_lease(struct pool_job *s)
{
    char why[96];
    struct last_report word = { .op = JOURNAL_LOSE, .error_type = STR("LeaseExpired") };

    (void)snprintf(why, sizeof(why), "worker lost: no sign of life for %lld s",
                   (long long)(s->session.lease_ms + 999) / 1000); /* fits */
    word.error = str_of(why);
    lease_session_remark(&s->session, "telling the process to stop", why);
    lease_session_end(&s->session, &word);
    tell(s);
}

void pool_job_look(struct pool_job *s, bool is_heard)
{
    if (s->state != POOL_JOB_WORKING || now(s) < s->heard + s->session.lease_ms)
        return;
    if (!is_heard)
        s->heard = now(s);
    else if (s->is_doubted)
        lose_lease(s);
    s->is_doubted = is_heard;
}

bool pool_job_is_stuck(const struct pool_job *s)
{
    return s->state == POOL_JOB_TOLD && now(s) >= s->stop_by;
}

int64_t pool_job_next(const struct pool_job *s)
{
    return s->state == POOL_JOB_TOLD      ? s->stop_by
           : s->state == POOL_JOB_WORKING ? s->heard + s->session.lease_ms
                                          : INT64_MAX;
}

/* --- the start --------------------------------------------------------------- */

static int give_order(struct pool_job *s, const struct journal_request *lease)
{
    struct assignment assignment = lease_session_assignment(&s->session, lease);
    struct buf line LOCAL_BUF(MAX_ORDER);

    assignment.needs_beats = true;
    assignment_put(&line, &assignment);
    return line.error != 0 ? ERR_NOMEM : child_say(s->child, buf_text(&line));
}

int pool_job_new(const struct host *host,
                 struct str agent,
                 struct child *child,
                 int64_t grace_ms,
                 const struct journal_request *lease,
                 const struct pool_job_events *events,
                 void *owner,
                 struct pool_job **ret)
{
    struct pool_job *s = calloc(1, sizeof(*s));

    if (s == NULL ||
        lease_session_init(&s->session, host, agent, lease, &lease_session_events, s) != 0) {
        free(s);
        return ERR_NOMEM;
    }
    s->owner = owner;
    s->events = events;
    s->child = child;
    s->grace_ms = grace_ms;
    s->heard = now(s);
    /* A job that was cancelled before it started is finished as cancelled, not returned. */
    struct last_report word = { .op = lease->cancel ? JOURNAL_FINISH : JOURNAL_RETURN,
                                .end = JOB_END_CANCELLED };
    if (lease->cancel || give_order(s, lease) != 0) {
        move(s, POOL_JOB_LEFT);
        lease_session_end(&s->session, &word);
    }
    *ret = s;
    return 0;
}
