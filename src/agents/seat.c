#include "agents/seat.h"

#include "agents/child.h"
#include "agents/host.h"
#include "agents/order.h"
#include "agents/report.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_ORDER = 1024 * 1024 * 1024 };

static int64_t now(const struct seat *s)
{
    return (int64_t)uv_now(s->duty.host->loop);
}

/* --- states ------------------------------------------------------------------ */

static void move(struct seat *s, enum seat_state to)
{
    static const unsigned moves[SEAT_STATE_MAX] = {
        [SEAT_WORKING] = 1u << SEAT_TOLD | 1u << SEAT_LEFT,
        [SEAT_TOLD] = 1u << SEAT_LEFT,
    };

    assert((moves[s->state] & 1u << to) != 0);
    s->state = to;
}

static void close_when_done(struct seat *s)
{
    if (s->state == SEAT_LEFT && s->duty.is_over)
        duty_close(&s->duty);
}

static void leave(struct seat *s, bool finished)
{
    move(s, SEAT_LEFT);
    s->events->left(s, finished);
    close_when_done(s);
}

/* Without memory for the line, the end of the grace time says it. */
static void tell(struct seat *s)
{
    struct buf line;

    if (s->state != SEAT_WORKING)
        return;
    move(s, SEAT_TOLD);
    s->stop_by = now(s) + s->grace_ms;
    buf_init(&line, MAX_ORDER);
    order_put_cancel(&line, s->duty.job, s->duty.attempt);
    if (line.error == 0)
        (void)child_say(s->child, buf_text(&line));
    buf_done(&line);
    s->events->told(s);
}

void seat_cancel(struct seat *s)
{
    s->is_cancelled = true;
    tell(s);
}

/* --- the duty ---------------------------------------------------------------- */

static void on_cancel(struct duty *d)
{
    seat_cancel(d->owner);
}

/* Once: it is asked to come to rest at its next step, and may take its time. */
static void on_pause(struct duty *d)
{
    struct seat *s = d->owner;
    struct buf line;

    if (s->is_paused || s->state != SEAT_WORKING)
        return;
    buf_init(&line, MAX_ORDER);
    order_put_pause(&line, d->job, d->attempt);
    s->is_paused = line.error == 0 && child_say(s->child, buf_text(&line)) == 0;
    buf_done(&line);
}

static void on_lost(struct duty *d, int code)
{
    (void)code;
    tell(d->owner);
}

static void on_refused(struct duty *d, struct str why)
{
    struct duty_word word = {
        .op = JOURNAL_FINISH, .end = JOB_END_FAILED, .error = why, .error_type = STR("Append")
    };

    duty_end(d, &word);
    tell(d->owner);
}

static void on_stored(struct duty *d)
{
    struct seat *s = d->owner;

    s->events->stored(s);
}

static void on_over(struct duty *d)
{
    close_when_done(d->owner);
}

static void on_closed(struct duty *d)
{
    struct seat *s = d->owner;

    s->events->closed(s);
    free(s);
}

static const struct duty_events duty_events = { .cancel = on_cancel,
                                                .pause = on_pause,
                                                .lost = on_lost,
                                                .refused = on_refused,
                                                .stored = on_stored,
                                                .over = on_over,
                                                .closed = on_closed };

/* --- what the process says --------------------------------------------------- */

static void put_event(struct seat *s, struct str event)
{
    int err = duty_put(&s->duty, event);

    if (err == 0)
        err = duty_put(&s->duty, STR("\n"));
    if (err != 0)
        on_refused(&s->duty, STR("out of memory for the worker's output"));
}

static void finish(struct seat *s, const struct finish *f)
{
    struct duty_word word = { .op = JOURNAL_FINISH,
                              .end = f->end,
                              .interrupted = f->interrupted,
                              .error = f->error,
                              .error_type = f->error_type };
    struct buf output, details;

    buf_init(&output, MAX_ORDER);
    buf_init(&details, MAX_ORDER);
    finish_put_output(&output, f);
    finish_put_details(&details, f);
    if (output.n > 0)
        word.output = buf_text(&output);
    if (details.n > 0)
        word.details = buf_text(&details);
    if (output.error != 0 || details.error != 0)
        on_refused(&s->duty, STR("out of memory for the worker's output"));
    else if (!s->duty.has_last)
        duty_end(&s->duty, &word);
    buf_done(&output);
    buf_done(&details);
    leave(s, true);
}

void seat_hear(struct seat *s, const struct report *report)
{
    struct duty_word word = { .op = JOURNAL_RETURN };

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
        duty_ask(&s->duty);
        return;
    case REPORT_FINISH:
        finish(s, &report->finish);
        return;
    case REPORT_RETURN:
        break;
    }
    if (!s->duty.has_last)
        duty_end(&s->duty, &word);
    leave(s, true);
}

void seat_desert(struct seat *s, const struct duty_word *word)
{
    const struct duty_word cancelled = { .op = JOURNAL_FINISH, .end = JOB_END_CANCELLED };

    if (!s->duty.has_last)
        duty_end(&s->duty, s->is_cancelled ? &cancelled : word);
    leave(s, false);
}

/* --- time -------------------------------------------------------------------- */

static void lose_lease(struct seat *s)
{
    char why[96];
    struct duty_word word = { .op = JOURNAL_LOSE, .error_type = STR("LeaseExpired") };

    (void)snprintf(why, sizeof(why), "worker lost: no sign of life for %lld s",
                   (long long)(s->duty.lease_ms + 999) / 1000); /* fits */
    word.error = str_of(why);
    duty_remark(&s->duty, "telling the process to stop", why);
    duty_end(&s->duty, &word);
    tell(s);
}

void seat_look(struct seat *s, bool is_heard)
{
    if (s->state != SEAT_WORKING || now(s) < s->heard + s->duty.lease_ms)
        return;
    if (!is_heard)
        s->heard = now(s);
    else if (s->is_doubted)
        lose_lease(s);
    s->is_doubted = is_heard;
}

bool seat_is_stuck(const struct seat *s)
{
    return s->state == SEAT_TOLD && now(s) >= s->stop_by;
}

int64_t seat_next(const struct seat *s)
{
    return s->state == SEAT_TOLD      ? s->stop_by
           : s->state == SEAT_WORKING ? s->heard + s->duty.lease_ms
                                      : INT64_MAX;
}

/* --- the start --------------------------------------------------------------- */

static int give_order(struct seat *s, const struct journal_request *lease)
{
    struct order order = duty_order(&s->duty, lease);
    struct buf line;

    order.needs_beats = true;
    buf_init(&line, MAX_ORDER);
    order_put(&line, &order);
    int err = line.error != 0 ? ERR_NOMEM : child_say(s->child, buf_text(&line));
    buf_done(&line);
    return err;
}

int seat_new(const struct host *host,
             struct str agent,
             struct child *child,
             int64_t grace_ms,
             const struct journal_request *lease,
             const struct seat_events *events,
             void *owner,
             struct seat **ret)
{
    struct seat *s = calloc(1, sizeof(*s));

    if (s == NULL || duty_init(&s->duty, host, agent, lease, &duty_events, s) != 0) {
        free(s);
        return ERR_NOMEM;
    }
    s->owner = owner;
    s->events = events;
    s->child = child;
    s->grace_ms = grace_ms;
    s->heard = now(s);
    /* A job that was cancelled before is not begun. */
    struct duty_word word = { .op = lease->cancel ? JOURNAL_FINISH : JOURNAL_RETURN,
                              .end = JOB_END_CANCELLED };
    if (lease->cancel || give_order(s, lease) != 0) {
        move(s, SEAT_LEFT);
        duty_end(&s->duty, &word);
    }
    *ret = s;
    return 0;
}
