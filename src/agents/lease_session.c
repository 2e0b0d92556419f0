/* lease_session_go_on() decides what is sent next: the next batch, then the final request (when
 * it is known), then nothing.  Every handler (lines, an answer, a timer) ends by calling it. */
#include "agents/lease_session.h"

#include "agents/host.h"

#include <stdio.h>

enum { FIRST_RETRY_MS = 100, LAST_RETRY_MS = 2000, DEFAULT_LEASE_MS = 60000 };

/* --- log lines ----------------------------------------------------------------- */

void lease_session_remark(const struct lease_session *d, const char *what, const char *why)
{
    char line[400];

    (void)snprintf(line, sizeof(line), "spoolwire: %s: %s", what, why); /* cutting is fine */
    host_log(d->host, d->job, d->agent, str_of(line));
}

/* --- the end ----------------------------------------------------------------- */

static void free_when_closed(struct lease_session *d)
{
    if (!d->is_closed || d->beat.loop_call.is_pending)
        return;
    outbox_done(&d->outbox);
    journal_request_done(&d->report);
    journal_request_done(&d->beat);
    arena_done(&d->mem);
    d->events->closed(d);
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct lease_session *d = handle->data;

    d->is_closed = true;
    free_when_closed(d);
}

void lease_session_close(struct lease_session *d)
{
    if (d->is_closing)
        return;
    d->is_closing = true;
    uv_close((uv_handle_t *)&d->retry, on_timer_closed);
}

static void set_over(struct lease_session *d)
{
    if (d->is_over)
        return;
    d->is_over = true;
    d->events->over(d);
}

static void stop_retrying(struct lease_session *d)
{
    if (!d->is_retrying)
        return;
    d->is_retrying = false;
    (void)uv_timer_stop(&d->retry); /* stopping cannot fail */
}

/* The journal gave the job to another worker, ended it, or deleted it. */
static void lose(struct lease_session *d, int code, const char *why)
{
    if (d->last_sent || d->is_gone)
        return;
    d->is_gone = true;
    lease_session_remark(d, "the job is lost", why);
    outbox_drop(&d->outbox);
    stop_retrying(d);
    d->events->lost(d, code);
}

/* --- requests to the journal ------------------------------------------------- */

static struct journal_request *begin(struct lease_session *d,
                                     struct journal_request *req,
                                     enum journal_op op)
{
    (void)journal_request_begin(req, op);
    req->job = d->job;
    req->lease.key = d->key;
    req->lease.attempt = d->attempt;
    return req;
}

static void send_batch(struct lease_session *d)
{
    struct journal_request *req = begin(d, &d->report, JOURNAL_APPEND);

    req->append.producer_seq = d->outbox.seq;
    req->append.bytes = buf_text(&d->outbox.batch);
    journal_post(d->host->journal, &d->report);
}

static void send_last(struct lease_session *d)
{
    struct journal_request *req = begin(d, &d->report, d->last.op);

    if (d->last.op != JOURNAL_RETURN)
        req->finish = (struct finish_request){ .end = d->last.end,
                                               .interrupted = d->last.interrupted,
                                               .end_of_stream = d->last.end_of_stream,
                                               .error = d->last.error,
                                               .error_type = d->last.error_type,
                                               .details = d->last.details,
                                               .phase = d->last.phase,
                                               .output = d->last.output };
    d->last_sent = true;
    journal_post(d->host->journal, &d->report);
}

static void on_retry(uv_timer_t *timer)
{
    struct lease_session *d = timer->data;

    d->is_retrying = false;
    lease_session_go_on(d);
}

/* False when the session will not try again. */
static bool try_later(struct lease_session *d, const char *why)
{
    if (d->host->is_stopping) {
        lease_session_remark(d, "left to recovery", why);
        d->is_gone = true;
        return false;
    }
    if (d->retry_ms == 0)
        lease_session_remark(d, "trying again until it is stored", why);
    d->retry_ms = d->retry_ms == 0 ? FIRST_RETRY_MS : d->retry_ms * 2;
    if (d->retry_ms > LAST_RETRY_MS)
        d->retry_ms = LAST_RETRY_MS;
    d->is_retrying = true;
    (void)uv_timer_start(&d->retry, on_retry, (uint64_t)d->retry_ms, 0); /* it is open */
    return true;
}

void lease_session_go_on(struct lease_session *d)
{
    if (d->report.loop_call.is_pending || d->is_retrying || d->is_over)
        return;
    int next = d->is_gone ? ERR_NOT_FOUND : outbox_next(&d->outbox);
    if (next == 0)
        send_batch(d);
    else if (next == ERR_NOMEM && try_later(d, "out of memory"))
        return;
    else if (d->is_gone || d->last_heard)
        set_over(d);
    else if (d->has_last)
        send_last(d);
}

int lease_session_put(struct lease_session *d, struct str bytes)
{
    return d->is_gone || d->has_last ? 0 : outbox_put(&d->outbox, bytes);
}

int lease_session_put_end(struct lease_session *d)
{
    return d->is_gone || d->has_last ? 0 : outbox_end(&d->outbox);
}

void lease_session_end(struct lease_session *d, const struct last_report *last)
{
    if (d->last_sent)
        return;
    d->last = *last;
    d->has_last = true;
    if (!arena_copy(&d->mem, last->error, &d->last.error))
        d->last.error = STR("out of memory");
    if (!arena_copy(&d->mem, last->error_type, &d->last.error_type))
        d->last.error_type = STR_NONE;
    if (!arena_copy(&d->mem, last->output, &d->last.output))
        d->last.output = STR_NONE;
    if (!arena_copy(&d->mem, last->details, &d->last.details))
        d->last.details = STR_NONE;
    lease_session_go_on(d);
}

void lease_session_leave(struct lease_session *d)
{
    if (d->last_sent)
        return;
    d->is_gone = true;
    outbox_drop(&d->outbox);
    stop_retrying(d);
    lease_session_go_on(d);
}

void lease_session_hurry(struct lease_session *d)
{
    stop_retrying(d);
    lease_session_go_on(d);
}

/* --- answers of the journal -------------------------------------------------- */

static void batch_stored(struct lease_session *d, const struct journal_request *req)
{
    d->retry_ms = 0;
    outbox_stored(&d->outbox);
    if (req->append.taken.rejected > 0)
        lease_session_remark(d, d->source, req->why.text);
    if (req->cancel)
        d->events->cancel(d);
    else if (req->pause && d->events->pause != NULL)
        d->events->pause(d);
    d->events->stored(d);
}

static void batch_answered(struct lease_session *d, const struct journal_request *req)
{
    switch (req->code) {
    case 0:
        batch_stored(d, req);
        break;
    case ERR_BUSY:
    case ERR_NOMEM:
        if (!d->is_gone)
            (void)try_later(d, req->why.text); /* false: the job is lost, which go_on() sees */
        break;
    case ERR_REFUSED:
    case ERR_NOT_FOUND:
    case ERR_CLOSED:
        lose(d, req->code, req->why.text);
        break;
    default: /* the journal will never accept this batch */
        outbox_drop(&d->outbox);
        outbox_stored(&d->outbox);
        d->events->refused(d, str_of(req->why.text));
    }
}

static void on_report_answered(struct loop_call *call)
{
    struct lease_session *d = call->owner;
    const struct journal_request *req = &d->report;

    if (req->op == JOURNAL_APPEND)
        batch_answered(d, req);
    else if (req->code == ERR_BUSY || req->code == ERR_NOMEM)
        (void)try_later(d, req->why.text); /* as above */
    else
        d->last_heard = true; /* or another final request was stored before */
    lease_session_go_on(d);
}

static void on_beat_answered(struct loop_call *call)
{
    struct lease_session *d = call->owner;
    const struct journal_request *req = &d->beat;
    int code = req->code;

    if (d->is_closing) {
        free_when_closed(d);
        return;
    }
    if (code == 0 && req->cancel)
        d->events->cancel(d);
    else if (code == 0 && req->pause && d->events->pause != NULL)
        d->events->pause(d);
    else if (code == ERR_REFUSED || code == ERR_NOT_FOUND || code == ERR_CLOSED)
        lose(d, code, req->why.text);
    lease_session_go_on(d);
}

void lease_session_ask(struct lease_session *d)
{
    if (d->beat.loop_call.is_pending || d->last_sent || d->is_gone)
        return;
    (void)begin(d, &d->beat, JOURNAL_HEARTBEAT);
    journal_post(d->host->journal, &d->beat);
}

/* --- the start --------------------------------------------------------------- */

int lease_session_init(struct lease_session *d,
                       const struct host *host,
                       struct str agent,
                       const struct journal_request *lease,
                       const struct lease_session_events *events,
                       void *owner)
{
    *d = (struct lease_session){ .owner = owner,
                                 .events = events,
                                 .host = host,
                                 .agent = agent,
                                 .source = "stdout",
                                 .key = lease->row->key,
                                 .attempt = lease->row->attempt,
                                 .lease_ms =
                                     lease->lease_ms > 0 ? lease->lease_ms : DEFAULT_LEASE_MS };
    arena_init(&d->mem);
    if (!arena_copy(&d->mem, lease->row->id, &d->job))
        return ERR_NOMEM;
    outbox_init(&d->outbox);
    journal_request_init(&d->report, host->box, d, on_report_answered);
    journal_request_init(&d->beat, host->box, d, on_beat_answered);
    (void)uv_timer_init(host->loop, &d->retry); /* cannot fail */
    d->retry.data = d;
    return 0;
}

struct assignment lease_session_assignment(const struct lease_session *d,
                                           const struct journal_request *lease)
{
    return (struct assignment){ .job = d->job,
                                .lease_key = d->host->lease_key,
                                .key = d->key,
                                .attempt = d->attempt,
                                .agent = d->agent,
                                .input = lease->row->input,
                                .resume = lease->work.answers,
                                .created = lease->row->created,
                                .resumed = lease->row->resumed,
                                .run = &lease->work.run,
                                .lease_ms = d->lease_ms };
}

bool lease_session_is(const struct lease_session *d, int64_t key, int64_t attempt)
{
    return d->key == key && d->attempt == attempt;
}
