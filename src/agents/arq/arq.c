/* A job of an ARQ queue as the executor of a task: a Python worker of ARQ runs it.
 *
 *     start ──enqueue──▶ waits in the queue ──▶ in progress ──▶ result ──▶ over
 *                             │                     │ no sign of its worker for as long as
 *                             └─ it has expired     └ a lease: lost
 *
 * The job's events, and maybe its end, arrive on its Redis channel (redis/); the result in
 * Redis is polled as well.  Stopping it aborts the job, as Job.abort() does.  When the server
 * shuts down, the job continues: the next server finds it under the same id.
 *
 * Its phases:
 *
 *     ENQUEUE   WATCH, EXISTS; then MULTI … EXEC, unless it exists already
 *     FOLLOW    every `poll`: GET result, EXISTS in-progress, ZSCORE queue, EXISTS job,
 *               EXISTS health-check
 *     SETTLE    the result exists; events on its channel may still be in flight:
 *               a barrier is sent after it (redis/barrier.h), or `settle` passes
 *     OVER
 *
 * After a lost connection it is unknown whether the last commands were executed; the next poll
 * finds out.  ARQ's id is the job's own id, so that the next server finds it.  Only a job that
 * resumes after a question gets another id, because ARQ keeps the result of its first part. */
#include "agents/arq/job.h"
#include "agents/arq/keys.h"
#include "agents/arq/line.h"
#include "agents/arq/trouble.h"
#include "agents/exec.h"
#include "agents/executor.h"
#include "agents/host.h"
#include "agents/assignment.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/error.h"
#include "redis/barrier.h"
#include "redis/connection.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    MAX_PAYLOAD = 64 * 1024 * 1024,
    EXTRA_MS = 86400 * 1000, /* ARQ keeps a job for so long after it was due */
    SOON_MS = 10,
    VANISHED = 2, /* polls in a row that find nothing: one may have run between the deletion of
                     a key and the next */
};

enum phase { PHASE_ENQUEUE, PHASE_FOLLOW, PHASE_SETTLE, PHASE_OVER };

enum poll_key { POLL_RESULT, POLL_IN_PROGRESS, POLL_SCORE, POLL_JOB, POLL_HEALTH, POLL_MAX };

struct arq_poll {
    bool found[POLL_MAX];
    double score;
    unsigned n; /* replies so far */
    bool is_broken;
};

struct arq {
    struct executor executor; /* first */
    uv_timer_t timer;
    enum phase phase;
    enum arq_trouble trouble;
    struct buf payload;
    struct arq_keys keys;
    int64_t lease_ms;
    int64_t created; /* milliseconds since 1970 */
    int64_t due;     /* when it may start; milliseconds on the steady clock */
    struct arq_poll poll;
    struct arq_result result;
    struct barrier barrier;
    struct error why;   /* the cause of `trouble` */
    unsigned n_flying;  /* commands without a reply, and the barrier */
    unsigned n_missing; /* polls in a row that found nothing */
    uint64_t last_sign; /* the last sign of life of its worker, on the loop's clock */
    uint64_t give_up;   /* deadline of a stop, on the loop's clock; 0: none */
    bool has_begun;     /* a worker took it */
    bool has_health;    /* its workers write a health check */
    bool has_result;
    bool is_aborted; /* the abort was sent to ARQ */
    bool is_left;    /* it continues without this server */
    bool is_closing;
};

static struct arq *arq_of(struct executor *h)
{
    return (struct arq *)(void *)h;
}

static const struct exec_arq *settings_of(const struct arq *a)
{
    return &a->executor.agent->arq;
}

static struct arq_line *line_of(const struct arq *a)
{
    return a->executor.host->arq;
}

static void on_timer(uv_timer_t *timer);

static void wait_ms(struct arq *a, int64_t ms)
{
    (void)uv_timer_start(&a->timer, on_timer, (uint64_t)ms, 0); /* it is open */
}

/* --- commands ---------------------------------------------------------------- */

/* Sends a command and ignores its reply. */
static void tell(const struct arq_line *line, const struct str *args, size_t n)
{
    (void)redis_send(line->redis, args, n, 0, NULL, NULL); /* best effort */
}

#define TELL(a, ...)                                \
    tell(line_of(a), (struct str[]){ __VA_ARGS__ }, \
         sizeof((struct str[]){ __VA_ARGS__ }) / sizeof(struct str))

static bool ask(struct arq *a, const struct str *args, size_t n, redis_reply_cb cb)
{
    if (redis_send(line_of(a)->redis, args, n, 0, cb, a) != 0)
        return false;
    a->n_flying++;
    return true;
}

#define ASK(a, cb, ...)                     \
    ask((a), (struct str[]){ __VA_ARGS__ }, \
        sizeof((struct str[]){ __VA_ARGS__ }) / sizeof(struct str), (cb))

static struct str queue_of(const struct arq *a)
{
    return str_of(settings_of(a)->queue);
}

/* Removes the job from Redis. */
static void forget(const struct arq *a)
{
    TELL(a, STR("ZREM"), queue_of(a), str_of(a->keys.id));
    TELL(a, STR("DEL"), str_of(a->keys.job), str_of(a->keys.retry), str_of(a->keys.in_progress),
         str_of(a->keys.result));
    TELL(a, STR("ZREM"), STR("arq:abort"), str_of(a->keys.id));
}

/* --- the end ----------------------------------------------------------------- */

static void on_closed(struct arq *a)
{
    if (!a->is_closing || a->n_flying > 0)
        return;
    buf_done(&a->payload);
    arq_result_done(&a->result);
    a->executor.events->closed(a->executor.owner); /* a is gone */
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct arq *a = handle->data;

    a->is_closing = true;
    on_closed(a);
}

/* A reply has arrived, or never will.  True when it is no longer needed. */
static bool landed(struct arq *a)
{
    a->n_flying--;
    if (a->is_closing)
        on_closed(a);
    else if (a->phase != PHASE_OVER)
        return false;
    return true;
}

/* Cancels the barrier, unless it was delivered already. */
static void take_back(struct arq *a)
{
    struct barriers *barriers = a->executor.host->barriers;

    if (barriers != NULL && barriers_cancel(barriers, &a->barrier))
        a->n_flying--;
}

static void finish(struct arq *a)
{
    if (a->phase == PHASE_OVER)
        return;
    if (a->phase == PHASE_SETTLE)
        take_back(a);
    a->phase = PHASE_OVER;
    (void)uv_timer_stop(&a->timer); /* stopping cannot fail */
    bool is_unwanted = a->trouble != TROUBLE_NONE || a->give_up != 0;
    if (is_unwanted && !a->has_result && !a->is_left)
        forget(a);
    a->executor.events->over(a->executor.owner, true);
}

static void fail(struct arq *a, enum arq_trouble trouble)
{
    a->trouble = trouble;
    finish(a);
}

/* --- enqueueing -------------------------------------------------------------- */

static bool is_refusal(struct arq *a, const redisReply *reply)
{
    if (reply == NULL || reply->type != REDIS_REPLY_ERROR)
        return false;
    (void)error_set(&a->why, ERR_REFUSED, "%.200s", reply->str);
    return true;
}

static void follow(struct arq *a)
{
    a->phase = PHASE_FOLLOW;
    a->last_sign = uv_now(a->executor.host->loop);
    wait_ms(a, 0);
}

static void on_enqueued(void *arg, const redisReply *reply)
{
    struct arq *a = arg;

    line_of(a)->is_watching = false;
    if (landed(a))
        return;
    if (is_refusal(a, reply))
        fail(a, TROUBLE_REDIS);
    else if (reply != NULL && reply->type == REDIS_REPLY_ARRAY)
        follow(a);
    else
        wait_ms(a, SOON_MS); /* another client was faster, or the outcome is unknown: the next
                                poll finds out */
}

/* How long until it may start. */
static int64_t put_off_ms(const struct arq *a)
{
    int64_t left = a->due - clock_steady_ms();

    return left > 0 ? left : 0;
}

static bool send_job(struct arq *a)
{
    int64_t wait = put_off_ms(a), expires = settings_of(a)->expires_ms;
    char life[24], due[24];

    if (expires <= 0)
        expires = wait + EXTRA_MS;
    (void)snprintf(life, sizeof(life), "%lld", (long long)expires);
    (void)snprintf(due, sizeof(due), "%lld", (long long)(clock_wall_ms() + wait)); /* fit */
    TELL(a, STR("MULTI"));
    TELL(a, STR("PSETEX"), str_of(a->keys.job), str_of(life), buf_text(&a->payload));
    TELL(a, STR("ZADD"), queue_of(a), str_of(due), str_of(a->keys.id));
    return ASK(a, on_enqueued, STR("EXEC"));
}

static void on_exists(void *arg, const redisReply *reply)
{
    struct arq *a = arg;
    struct arq_line *line = line_of(a);
    bool is_free = reply != NULL && reply->type == REDIS_REPLY_INTEGER && reply->integer == 0;
    bool is_over = landed(a);

    if (!is_over && a->give_up == 0 && is_free && send_job(a))
        return;
    if (reply != NULL)
        tell(line, &STR("UNWATCH"), 1);
    line->is_watching = false;
    if (is_over)
        return;
    if (is_refusal(a, reply))
        fail(a, TROUBLE_REDIS);
    else if (reply != NULL && reply->type == REDIS_REPLY_INTEGER && !is_free)
        follow(a); /* it exists: enqueued earlier, or by another client */
    else
        wait_ms(a, SOON_MS);
}

static void enqueue(struct arq *a)
{
    struct arq_line *line = line_of(a);

    if (a->give_up != 0) {
        finish(a); /* it was never enqueued */
        return;
    }
    if (!redis_is_connected(line->redis) || line->is_watching) {
        wait_ms(a, line->is_watching ? SOON_MS : settings_of(a)->poll_ms);
        return;
    }
    TELL(a, STR("WATCH"), str_of(a->keys.job));
    line->is_watching =
        ASK(a, on_exists, STR("EXISTS"), str_of(a->keys.job), str_of(a->keys.result));
    if (!line->is_watching)
        wait_ms(a, settings_of(a)->poll_ms);
}

/* --- following --------------------------------------------------------------- */

static void take_result(struct arq *a, struct str bytes)
{
    a->has_result = true;
    if (arq_result_read(&a->result, settings_of(a)->form, bytes, &a->why) != 0)
        a->trouble = TROUBLE_RESULT;
}

/* Is there a sign that a worker has it, or may still take it? */
static bool is_alive(struct arq *a)
{
    const struct arq_poll *l = &a->poll;

    a->has_health |= l->found[POLL_HEALTH];
    a->has_begun |= l->found[POLL_IN_PROGRESS];
    if (l->found[POLL_IN_PROGRESS])
        return l->found[POLL_HEALTH] || !a->has_health;
    return l->found[POLL_SCORE] && (!a->has_begun || l->score > (double)clock_wall_ms());
}

static void judge_poll(struct arq *a)
{
    const struct arq_poll *l = &a->poll;
    uint64_t now = uv_now(a->executor.host->loop);
    bool is_gone = !l->found[POLL_IN_PROGRESS] && !l->found[POLL_SCORE];

    a->n_missing = is_gone ? a->n_missing + 1 : 0;
    if (is_alive(a))
        a->last_sign = now;
    if (a->n_missing >= VANISHED && settings_of(a)->keeps_result && a->give_up == 0)
        fail(a, TROUBLE_VANISHED);
    else if (a->n_missing >= VANISHED)
        finish(a);
    else if (!is_gone && !a->has_begun && !l->found[POLL_JOB])
        fail(a, TROUBLE_EXPIRED);
    else if (now - a->last_sign > (uint64_t)a->lease_ms)
        fail(a, TROUBLE_SILENT);
    else if (a->give_up != 0 && now >= a->give_up)
        finish(a);
}

/* Is it the result of an earlier job with the same id?  ARQ keeps a result for a while, and
 * refuses to enqueue a job that has one. */
static bool is_stale(const struct arq *a)
{
    return a->has_result && a->trouble == TROUBLE_NONE && a->result.enqueued > 0 &&
           a->result.enqueued < a->created;
}

static void begin_anew(struct arq *a)
{
    arq_result_done(&a->result);
    arq_result_init(&a->result);
    a->has_result = false;
    forget(a);
    a->phase = PHASE_ENQUEUE;
    wait_ms(a, 0);
}

static void on_barrier(struct barrier *barrier)
{
    struct arq *a = container_of(barrier, struct arq, barrier);

    if (!landed(a))
        finish(a);
}

static void on_barrier_sent(void *arg, const redisReply *reply)
{
    struct arq *a = arg;
    bool is_heard = reply == NULL || reply->type != REDIS_REPLY_INTEGER || reply->integer > 0;

    if (!landed(a) && !is_heard)
        finish(a); /* no subscriber: no events are in flight */
}

/* Redis keeps the order: events that the worker published before its result arrive before our
 * barrier. */
static void settle(struct arq *a)
{
    struct barriers *barriers = a->executor.host->barriers;

    a->phase = PHASE_SETTLE;
    a->barrier.home = a->executor.host->box;
    a->barrier.came = on_barrier;
    if (barriers == NULL || !barriers_add(barriers, &a->barrier, a->executor.job)) {
        wait_ms(a, 0);
        return;
    }
    a->n_flying++;
    wait_ms(a, settings_of(a)->settle_ms);
    (void)ASK(a, on_barrier_sent, STR("PUBLISH"), barriers_channel(barriers),
              str_make(a->barrier.text, sizeof(a->barrier.text))); /* if that fails, the timer
                                                                      ends the wait */
}

static void poll_done(struct arq *a)
{
    if (is_stale(a)) {
        begin_anew(a);
        return;
    }
    if (a->poll.is_broken) {
        a->last_sign = uv_now(a->executor.host->loop); /* Redis did not answer: do not blame the
                                                          worker */
        if (a->give_up != 0 && a->last_sign >= a->give_up)
            finish(a);
    } else if (a->has_result) {
        settle(a);
        return;
    } else {
        judge_poll(a);
    }
    if (a->phase != PHASE_OVER)
        wait_ms(a, settings_of(a)->poll_ms);
}

static void take_answer(struct arq *a, enum poll_key at, const redisReply *reply)
{
    struct arq_poll *l = &a->poll;

    if (reply == NULL || reply->type == REDIS_REPLY_ERROR) {
        l->is_broken = true;
    } else if (reply->type == REDIS_REPLY_INTEGER) {
        l->found[at] = reply->integer > 0;
    } else if (reply->type == REDIS_REPLY_STRING) {
        l->found[at] = true;
        if (at == POLL_SCORE)
            l->score = strtod(reply->str, NULL);
        else if (at == POLL_RESULT)
            take_result(a, str_make(reply->str, reply->len));
    }
}

/* Replies arrive in the order of the commands. */
static void on_polled(void *arg, const redisReply *reply)
{
    struct arq *a = arg;
    enum poll_key at = (enum poll_key)a->poll.n++;

    if (landed(a))
        return;
    take_answer(a, at, reply);
    if (at + 1 == POLL_MAX)
        poll_done(a);
}

static void poll(struct arq *a)
{
    a->poll = (struct arq_poll){ 0 };
    if (!redis_is_connected(line_of(a)->redis) ||
        !(ASK(a, on_polled, STR("GET"), str_of(a->keys.result)) &&
          ASK(a, on_polled, STR("EXISTS"), str_of(a->keys.in_progress)) &&
          ASK(a, on_polled, STR("ZSCORE"), queue_of(a), str_of(a->keys.id)) &&
          ASK(a, on_polled, STR("EXISTS"), str_of(a->keys.job)) &&
          ASK(a, on_polled, STR("EXISTS"), str_of(a->keys.health)))) {
        a->poll.is_broken = true;
        poll_done(a);
    }
}

/* Like Job.abort(): a deferred job is moved to the front of the queue, so that a worker finds
 * it now. */
static void abort_job(struct arq *a)
{
    char now[24];

    if (!redis_is_connected(line_of(a)->redis))
        return;
    a->is_aborted = true;
    (void)snprintf(now, sizeof(now), "%lld", (long long)clock_wall_ms()); /* fits */
    if (!a->has_begun && put_off_ms(a) > 0) {
        TELL(a, STR("ZREM"), queue_of(a), str_of(a->keys.id));
        TELL(a, STR("ZADD"), queue_of(a), STR("1"), str_of(a->keys.id));
    }
    TELL(a, STR("ZADD"), STR("arq:abort"), str_of(now), str_of(a->keys.id));
}

static void on_timer(uv_timer_t *timer)
{
    struct arq *a = timer->data;

    if (a->is_left || a->phase == PHASE_SETTLE) {
        finish(a);
        return;
    }
    if (a->n_flying > 0) {
        wait_ms(a, SOON_MS);
        return;
    }
    if (a->give_up != 0 && a->phase == PHASE_FOLLOW && !a->is_aborted)
        abort_job(a);
    if (a->phase == PHASE_ENQUEUE)
        enqueue(a);
    else if (a->phase == PHASE_FOLLOW)
        poll(a);
}

/* --- operations of the executor ---------------------------------------------- */

static void do_nothing(struct executor *executor)
{
    (void)executor; /* it has no output that could be paused */
}

static void stop(struct executor *executor)
{
    struct arq *a = arq_of(executor);

    if (a->give_up == 0)
        a->give_up = uv_now(executor->host->loop) + (uint64_t)exec_grace_ms(executor->agent);
    if (a->phase != PHASE_SETTLE && a->phase != PHASE_OVER)
        wait_ms(a, 0);
}

/* Another server has the lease now, or the job was deleted. */
static void drop(struct executor *executor)
{
    struct arq *a = arq_of(executor);

    if (a->phase == PHASE_FOLLOW && !a->has_result)
        forget(a);
    a->is_left = true;
    wait_ms(a, 0);
}

static void leave(struct executor *executor)
{
    struct arq *a = arq_of(executor);

    a->is_left = true;
    if (a->phase != PHASE_OVER)
        wait_ms(a, 0);
}

static bool has_ended(const struct executor *executor)
{
    const struct arq *a = (const struct arq *)(const void *)executor;

    return a->has_result || a->phase == PHASE_OVER;
}

/* --- the outcome ------------------------------------------------------------- */

static enum outcome judge(const struct executor *executor,
                          struct buf *error,
                          struct str *ret_type)
{
    const struct arq *a = (const struct arq *)(const void *)executor;

    if (a->trouble != TROUBLE_NONE)
        return arq_trouble_put(a->trouble, str_of(a->why.text), error, ret_type);
    if (!a->has_result || a->result.is_success)
        return OUTCOME_WELL;
    if (a->result.is_cancelled)
        return OUTCOME_CANCELLED;
    buf_str(error, buf_text(&a->result.error));
    *ret_type = buf_text(&a->result.error_type);
    return OUTCOME_RAISED;
}

static struct str output(const struct executor *executor)
{
    const struct arq *a = (const struct arq *)(const void *)executor;

    return a->result.output.n > 0 ? buf_text(&a->result.output) : STR_NONE;
}

/* --- making and closing ------------------------------------------------------ */

static bool start(struct executor *executor, const struct assignment *assignment)
{
    struct arq *a = arq_of(executor);
    const struct exec_arq *s = settings_of(a);
    bool goes_on = !str_absent(assignment->resume) && s->resume_function != NULL;

    (void)uv_timer_init(executor->host->loop, &a->timer); /* cannot fail */
    a->timer.data = a;
    a->lease_ms = assignment->lease_ms;
    a->created = assignment->created;
    a->due = clock_steady_ms() + s->defer_ms;
    arq_result_init(&a->result);
    buf_init(&a->payload, MAX_PAYLOAD);
    arq_keys_init(&a->keys, s, assignment);
    if (arq_put_job(&a->payload, s->form, str_of(goes_on ? s->resume_function : s->function),
                    goes_on ? s->resume_args : s->args, assignment, clock_wall_ms(),
                    &a->why) != 0) {
        a->trouble = TROUBLE_PAYLOAD;
        a->phase = PHASE_OVER;
        return false;
    }
    wait_ms(a, 0);
    return true;
}

static void close_timer(struct executor *executor)
{
    uv_close((uv_handle_t *)&arq_of(executor)->timer, on_timer_closed);
}

static const struct executor_ops ops = { .source = "the queue", /* it has no output */
                                         .start = start,
                                         .pause = do_nothing,
                                         .resume = do_nothing,
                                         .stop = stop,
                                         .kill = drop,
                                         .abandon = leave,
                                         .leave = leave,
                                         .has_ended = has_ended,
                                         .judge = judge,
                                         .output = output,
                                         .close = close_timer };

static struct executor *make(const struct executor *common)
{
    struct arq *a = calloc(1, sizeof(*a));

    if (a == NULL)
        return NULL;
    a->executor = *common;
    a->executor.ops = &ops;
    return &a->executor;
}

const struct executor_kind executor_arq = { .make = make,
                                            .open = arq_line_open,
                                            .close = arq_line_close };
