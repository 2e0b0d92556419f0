/* A timer polls the queue: jobs that are due and not taken are served (arq/serving.h), up to a
 * limit, and each serving makes its next step. */
#define _GNU_SOURCE /* pthread_setname_np */
#include "agents/arq/server.h"

#include "agents/arq/serving.h"
#include "base/calendar.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/error.h"
#include "loop/mailbox.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    READ_MORE = 100
}; /* ids to read beyond the free slots: some may be in progress elsewhere */

struct arq_server {
    struct arq_context context; /* its redis is owned by the loop */
    uv_loop_t loop;
    uv_timer_t tick;
    struct serving *servings; /* owned */
    size_t n_servings;
    int64_t health_at; /* on the steady clock */
    unsigned n_flying;
    bool is_reading; /* a reply with ids is pending */
    bool is_closed;
    struct loop_message wake;
    atomic_bool stop_asked, wake_posted;
    atomic_bool is_follower; /* another gateway serves the queue */
    pthread_t thread;
    bool has_loop, is_started, is_stopped;
};

static void close_when_idle(struct arq_server *s)
{
    if (!s->context.is_stopping || s->n_servings > 0 || s->n_flying > 0 || s->is_closed)
        return;
    s->is_closed = true;
    uv_close((uv_handle_t *)&s->tick, NULL);
    redis_close(s->context.redis, NULL, NULL);
    mailbox_close(s->context.box);
}

/* --- servings ---------------------------------------------------------------- */

static void on_over(struct serving *t)
{
    struct arq_server *s = t->owner;
    struct serving **at = &s->servings;

    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    s->n_servings--;
    counter_set(&s->context.counts.ongoing, s->n_servings);
    serving_free(t);
    close_when_idle(s);
}

static bool is_served(const struct arq_server *s, struct str id)
{
    for (const struct serving *t = s->servings; t != NULL; t = t->next)
        if (str_eq(str_of(t->id), id))
            return true;
    return false;
}

static void serve(struct arq_server *s, struct str id)
{
    struct serving *t = serving_new(&s->context, id, on_over, s);

    if (t == NULL)
        return;
    t->next = s->servings;
    s->servings = t;
    s->n_servings++;
    counter_set(&s->context.counts.ongoing, s->n_servings);
}

static void on_ids(void *arg, const redisReply *reply)
{
    struct arq_server *s = arg;

    s->n_flying--;
    s->is_reading = false;
    for (size_t i = 0; reply != NULL && reply->type == REDIS_REPLY_ARRAY &&
                       i < reply->elements && s->n_servings < s->context.opt.max_jobs &&
                       !s->context.is_stopping && !atomic_load(&s->is_follower);
         i++) {
        struct str id = str_make(reply->element[i]->str, reply->element[i]->len);
        if (!is_served(s, id))
            serve(s, id);
    }
    close_when_idle(s);
}

static void on_aborted(void *arg, const redisReply *reply)
{
    struct arq_server *s = arg;

    s->n_flying--;
    for (size_t i = 0; reply != NULL && reply->type == REDIS_REPLY_ARRAY && i < reply->elements;
         i++)
        for (struct serving *t = s->servings; t != NULL; t = t->next)
            if (str_eq(str_of(t->id), str_make(reply->element[i]->str, reply->element[i]->len)))
                serving_abort(t);
    close_when_idle(s);
}

/* --- ticks ------------------------------------------------------------------- */

/* In the format of ARQ's own workers, which ARQ's tools read. */
static void put_health(struct arq_server *s, long long n_queued)
{
    const struct arq_server_counts *c = &s->context.counts;
    struct arq_number life = arq_context_number_of(s->context.opt.health_ms + 1000);
    char key[SERVING_MAX_ID + 100], text[200];
    struct calendar now;

    calendar_of(clock_wall_ms(), &now);
    (void)snprintf(key, sizeof(key), "%.200s:health-check", s->context.opt.queue); /* all fit */
    (void)snprintf(
        text, sizeof(text),
        "%s-%02u %02u:%02u:%02u j_complete=%llu j_failed=%llu j_retried=0 j_ongoing=%zu queued=%lld",
        now.month_name, now.day, now.hour, now.minute, now.second,
        (unsigned long long)counter_get(&c->done), (unsigned long long)counter_get(&c->failed),
        s->n_servings, n_queued);
    ARQ_CONTEXT_TELL(&s->context, STR("PSETEX"), str_of(key), str_of(life.text), str_of(text));
}

static void on_queue_length(void *arg, const redisReply *reply)
{
    struct arq_server *s = arg;

    s->n_flying--;
    if (reply != NULL && reply->type == REDIS_REPLY_INTEGER && !s->context.is_stopping)
        put_health(s, reply->integer);
    close_when_idle(s);
}

static void tell_health(struct arq_server *s)
{
    int64_t now = clock_steady_ms();

    if (now < s->health_at)
        return;
    s->health_at = now + s->context.opt.health_ms;
    (void)arq_context_send(&s->context,
                           ARQ_CONTEXT_ARGS(STR("ZCARD"), arq_context_queue(&s->context)),
                           on_queue_length, s, &s->n_flying); /* if Redis is not connected,
                                                                 nobody can read it */
}

/* Scores are on the wall clock, which other processes share. */
static void read_ids(struct arq_server *s)
{
    struct arq_number until = arq_context_number_of(clock_wall_ms());
    struct arq_number limit =
        arq_context_number_of(READ_MORE + 5 * (int64_t)s->context.opt.max_jobs);

    if (s->is_reading || s->n_servings >= s->context.opt.max_jobs)
        return;
    s->is_reading = arq_context_send(
        &s->context,
        ARQ_CONTEXT_ARGS(STR("ZRANGEBYSCORE"), arq_context_queue(&s->context), STR("-inf"),
                         str_of(until.text), STR("LIMIT"), STR("0"), str_of(limit.text)),
        on_ids, s, &s->n_flying);
}

static void on_tick(uv_timer_t *timer)
{
    struct arq_server *s = timer->data;

    for (struct serving *t = s->servings, *next; t != NULL; t = next) {
        next = t->next;
        serving_move_on(t); /* may free t, but no other */
    }
    if (s->context.is_stopping || atomic_load(&s->is_follower) ||
        !redis_is_connected(s->context.redis))
        return;
    read_ids(s);
    tell_health(s);
    if (s->context.opt.allow_abort && s->n_servings > 0)
        (void)arq_context_send(
            &s->context, ARQ_CONTEXT_ARGS(STR("ZRANGE"), STR("arq:abort"), STR("0"), STR("-1")),
            on_aborted, s, &s->n_flying);
}

/* --- the thread -------------------------------------------------------------- */

/* The PING was answered, so all commands before it were executed. */
static void on_last(void *arg, const redisReply *reply)
{
    struct arq_server *s = arg;

    (void)reply;
    s->n_flying--;
    close_when_idle(s);
}

static void forget_health(struct arq_server *s)
{
    char key[SERVING_MAX_ID + 100];

    (void)snprintf(key, sizeof(key), "%.200s:health-check", s->context.opt.queue); /* fits */
    ARQ_CONTEXT_TELL(&s->context, STR("DEL"), str_of(key));
}

static void release_all(struct arq_server *s)
{
    for (struct serving *t = s->servings, *next; t != NULL; t = next) {
        next = t->next;
        serving_stop(t);
    }
}

static void stop(struct arq_server *s)
{
    if (s->context.is_stopping)
        return;
    s->context.is_stopping = true;
    s->n_flying++;                     /* keeps it open until all of the following is sent */
    if (!atomic_load(&s->is_follower)) /* else it is another gateway's */
        forget_health(s);
    release_all(s);
    if (!arq_context_send(&s->context, ARQ_CONTEXT_ARGS(STR("PING")), on_last, s, NULL))
        on_last(s, NULL);
}

static void on_wake(struct loop_message *message)
{
    struct arq_server *s = container_of(message, struct arq_server, wake);

    atomic_store(&s->wake_posted, false); /* first: what is set from here on posts it again */
    if (atomic_load(&s->stop_asked))
        stop(s);
    else if (atomic_load(&s->is_follower))
        release_all(s);
    else
        s->health_at = 0;
}

static void wake(struct arq_server *s)
{
    if (!atomic_exchange(&s->wake_posted, true))
        (void)mailbox_post(s->context.box, &s->wake); /* closed: the loop has ended */
}

void arq_server_set_writer(struct arq_server *s, bool is_writer)
{
    atomic_store(&s->is_follower, !is_writer);
    wake(s);
}

static void on_redis(void *arg, bool connected, struct str why)
{
    struct arq_server *s = arg;
    char text[240];

    if (!connected)
        (void)snprintf(text, sizeof(text), "Redis is away: %.*s", STR_ARG(str_head(why, 200)));
    arq_context_say(&s->context, STR_NONE, connected ? "Redis is there" : text);
    s->health_at = 0;
    for (struct serving *t = s->servings; t != NULL; t = t->next)
        serving_renew(t);
    if (connected && !s->context.is_stopping)
        (void)uv_timer_start(&s->tick, on_tick, 0, (uint64_t)s->context.opt.poll_ms); /* cannot
                                                                                         fail:
                                                                                         it is
                                                                                         open */
}

static void *run(void *arg)
{
    struct arq_server *s = arg;

    (void)uv_run(&s->loop, UV_RUN_DEFAULT); /* until every handle is closed */
    return NULL;
}

int arq_server_start(struct arq_server *s, struct error *err)
{
    if (pthread_create(&s->thread, NULL, run, s) != 0)
        return error_set(err, ERR_NOMEM, "cannot start the thread that serves ARQ");
    (void)pthread_setname_np(s->thread, "arq"); /* only for people */
    s->is_started = true;
    return 0;
}

const struct arq_server_counts *arq_server_counts(const struct arq_server *s)
{
    return &s->context.counts;
}

void arq_server_stop(struct arq_server *s)
{
    if (s->is_stopped)
        return;
    s->is_stopped = true;
    atomic_store(&s->stop_asked, true);
    wake(s);
    if (s->is_started)
        (void)pthread_join(s->thread, NULL);
    else
        (void)uv_run(&s->loop, UV_RUN_DEFAULT); /* only closes what is open */
}

static int open_loop(struct arq_server *s, struct error *err)
{
    struct redis_options redis = {
        .url = s->context.opt.redis, .name = "spoolwire-arq-server", .state = on_redis, .arg = s
    };
    int code = uv_loop_init(&s->loop);

    s->has_loop = code == 0;
    if (code == 0)
        code = mailbox_new(&s->loop, &s->context.box);
    if (code == 0)
        code = redis_open(&s->loop, &redis, &s->context.redis);
    if (code != 0)
        return error_set(err, ERR_NOMEM, "out of memory for serving ARQ");
    (void)uv_timer_init(&s->loop, &s->tick); /* neither can fail */
    (void)uv_timer_start(&s->tick, on_tick, (uint64_t)s->context.opt.poll_ms,
                         (uint64_t)s->context.opt.poll_ms);
    s->tick.data = s;
    return 0;
}

int arq_server_new(const struct arq_server_options *options,
                   struct arq_server **ret,
                   struct error *err)
{
    struct arq_server *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    s->context.opt = *options;
    s->wake.deliver = on_wake;
    int code = store_open_reader(&options->store, &s->context.store, err);
    if (code == 0)
        code = open_loop(s, err);
    if (code != 0) {
        arq_server_free(s);
        return code;
    }
    s->context.opt.redis = NULL; /* it was copied */
    *ret = s;
    return 0;
}

void arq_server_free(struct arq_server *s)
{
    if (s == NULL)
        return;
    if (s->context.redis != NULL)
        arq_server_stop(s);
    mailbox_free(s->context.box);
    if (s->has_loop)
        (void)uv_loop_close(&s->loop); /* 0: every handle is closed */
    store_close(s->context.store);
    free(s);
}
