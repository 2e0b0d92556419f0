/* A task is one job of the queue that is ours.
 *
 *     TAKING    SET in-progress NX, ZSCORE: is it still there, and due?
 *     FETCHING  GET job, INCR retry, EXPIRE retry, ZREM abort
 *     TELLING   SUBMIT, or REPLY, or EXPIRE, to the journal
 *     WAITING   looks into the store at every tick; CANCEL when it is aborted
 *     WRITING   MULTI, SET result, …, EXEC
 *
 * All of it goes on with the ticks of one timer: what could not be done at one is tried at the
 * next.  Commands are counted for each task, which lives until the last is answered. */
#define _GNU_SOURCE /* pthread_setname_np */
#include "agents/arq_server.h"

#include "base/error.h"
#include "bus/post.h"
#include "bus/redis.h"
#include "jobs/job.h"
#include "record/record.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    MAX_ID = 200,
    MAX_RESULT = 64 * 1024 * 1024,
    RETRY_LIFE_S = 88400, /* as ARQ has it */
    READ_MORE = 100,      /* ids that are looked at, at least: some may be in progress */
};

enum phase { TASK_TAKING, TASK_FETCHING, TASK_TELLING, TASK_WAITING, TASK_WRITING, TASK_OVER };

struct task {
    struct task *next;
    struct arq_server *server;
    enum phase phase;
    char id[MAX_ID + 1], in_progress[MAX_ID + 32], key[MAX_ID + 32];
    struct arq_task call;
    const struct arq_function *function; /* NULL: the one that ends waiting */
    struct post post;
    struct buf input; /* JSON: of the job, or its answer */
    struct journal_reply reply;
    char job[80]; /* ours */
    struct arq_ending ending;
    struct buf output, error, error_type; /* of the ending */
    int64_t renew_at;                     /* milliseconds since 1970 */
    unsigned n_flying;
    bool is_read; /* `call` is good */
    bool is_aborted;
    bool was_aborted; /* before it began */
    bool cancel_told;
};

struct arq_server {
    struct arq_server_options opt;
    uv_loop_t loop;
    struct mailbox *box; /* owned */
    struct redis *redis; /* owned by the loop */
    uv_timer_t tick;
    struct store *store; /* owned; reads */
    struct task *tasks;  /* owned */
    size_t n_tasks;
    struct arq_server_counts counts;
    int64_t health_at;
    unsigned n_flying;
    bool is_reading; /* ids are on their way */
    bool is_stopping, is_closed;
    struct letter wake;
    atomic_bool stop_asked;
    pthread_t thread;
    bool has_loop, is_started, is_stopped;
};

static int64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void say(const struct arq_server *s, struct str job, const char *what)
{
    if (s->opt.log != NULL)
        s->opt.log(s->opt.arg, job, str_of(what));
}

/* --- commands ---------------------------------------------------------------- */

struct number {
    char text[24];
};

static struct number number_of(int64_t value)
{
    struct number n;

    (void)snprintf(n.text, sizeof(n.text), "%lld", (long long)value); /* fits */
    return n;
}

static bool send_all(struct arq_server *s,
                     const struct str *args,
                     size_t n,
                     redis_reply_cb cb,
                     void *arg,
                     unsigned *flying)
{
    bool sent = redis_send(s->redis, args, n, 0, cb, arg) == 0;

    if (sent && flying != NULL)
        ++*flying;
    return sent;
}

#define ARGS(...) \
    (struct str[]){ __VA_ARGS__ }, sizeof((struct str[]){ __VA_ARGS__ }) / sizeof(struct str)
/* Forgotten as soon as it is sent. */
#define TELL(s, ...) ((void)send_all((s), ARGS(__VA_ARGS__), NULL, NULL, NULL))
#define ASK(task, cb, ...) \
    send_all((task)->server, ARGS(__VA_ARGS__), (cb), (task), &(task)->n_flying)

static struct str queue_of(const struct arq_server *s)
{
    return str_of(s->opt.queue);
}

/* --- a task's end ------------------------------------------------------------ */

static void close_when_idle(struct arq_server *s);

static void free_task(struct task *t)
{
    struct arq_server *s = t->server;
    struct task **at = &s->tasks;

    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    s->n_tasks--;
    counter_set(&s->counts.ongoing, s->n_tasks);
    arq_task_done(&t->call);
    post_done(&t->post);
    buf_done(&t->input);
    buf_done(&t->output);
    buf_done(&t->error);
    buf_done(&t->error_type);
    free(t);
    close_when_idle(s);
}

static void free_when_idle(struct task *t)
{
    if (t->phase == TASK_OVER && t->n_flying == 0 && !t->post.is_flying)
        free_task(t);
}

/* It is not ours, or no longer. */
static void let_go(struct task *t)
{
    t->phase = TASK_OVER;
    free_when_idle(t);
}

/* Whoever comes next may take it at once. */
static void hand_back(struct task *t)
{
    TELL(t->server, STR("DEL"), str_of(t->in_progress));
    let_go(t);
}

/* An answer has come, or never will: true when nobody waits for it. */
static bool landed(struct task *t)
{
    t->n_flying--;
    if (t->phase != TASK_OVER)
        return false;
    free_when_idle(t);
    return true;
}

/* --- results ----------------------------------------------------------------- */

static void on_written(void *arg, const redisReply *reply)
{
    struct task *t = arg;
    struct arq_server *s = t->server;

    if (landed(t))
        return;
    bool is_stored = reply != NULL && reply->type == REDIS_REPLY_ARRAY;
    if (!is_stored && !s->is_stopping)
        return; /* the next tick writes it again */
    counter_add(t->ending.is_success ? &s->counts.done : &s->counts.failed, 1);
    let_go(t);
}

static void put_ending(struct task *t, struct buf *out)
{
    struct arq_server *s = t->server;

    t->ending.output = t->output.n > 0 ? buf_text(&t->output) : STR_NONE;
    t->ending.error = buf_text(&t->error);
    t->ending.error_type = t->error_type.n > 0 ? buf_text(&t->error_type) : STR_NONE;
    t->ending.queue = queue_of(s);
    t->ending.id = str_of(t->id);
    arq_put_result(out, s->opt.form, &t->call, &t->ending);
}

/* As ARQ's own: all of it, or nothing. */
static void write_result(struct task *t)
{
    struct arq_server *s = t->server;
    struct number life = number_of(s->opt.keep_result_ms);
    char key[MAX_ID + 32], retry[MAX_ID + 32];
    struct buf result;

    if (t->n_flying > 0)
        return;
    if (!redis_is_connected(s->redis)) {
        if (s->is_stopping)
            let_go(t);
        return;
    }
    (void)snprintf(key, sizeof(key), "arq:result:%s", t->id); /* both fit */
    (void)snprintf(retry, sizeof(retry), "arq:retry:%s", t->id);
    buf_init(&result, MAX_RESULT);
    put_ending(t, &result);
    if (result.error != 0) {
        buf_clear(&t->output); /* what cannot be written is left out */
        buf_clear(&result);
        put_ending(t, &result);
    }
    TELL(s, STR("MULTI"));
    if (s->opt.keep_result_ms > 0)
        TELL(s, STR("SET"), str_of(key), buf_text(&result), STR("PX"), str_of(life.text));
    TELL(s, STR("ZREM"), STR("arq:abort"), str_of(t->id));
    TELL(s, STR("ZREM"), queue_of(s), str_of(t->id));
    TELL(s, STR("DEL"), str_of(t->in_progress), str_of(retry), str_of(t->key));
    (void)ASK(t, on_written, STR("EXEC")); /* if not, the next tick tries again */
    buf_done(&result);
}

static void end(struct task *t, bool is_success)
{
    t->ending.is_success = is_success;
    t->ending.finished = now_ms();
    t->phase = TASK_WRITING;
    write_result(t);
}

static void fail(struct task *t, const char *why)
{
    buf_clear(&t->error);
    buf_str(&t->error, str_of(why));
    say(t->server, str_of(t->job), why);
    end(t, false);
}

static void end_cancelled(struct task *t)
{
    t->ending.is_cancelled = true;
    buf_clear(&t->error);
    end(t, false);
}

/* --- how our job is ---------------------------------------------------------- */

static void take_output(struct task *t, const struct job_row *row)
{
    struct json_reader lines;
    struct record rec;
    struct str stored;

    json_reader_init(&lines, SIZE_MAX / 64, 256);
    if (store_record(t->server->store, row->key, row->seq, &stored, NULL) == 0 &&
        record_decode(&lines, stored, &rec, NULL) == 0 && rec.output.p != NULL)
        buf_str(&t->output, rec.output);
    json_reader_done(&lines);
}

static void renew(struct task *t)
{
    int64_t now = now_ms(), lease = t->server->opt.lease_ms;

    if (now < t->renew_at)
        return;
    /* Set, not prolonged: it may have run out while Redis was away. */
    struct number life = number_of(lease);
    TELL(t->server, STR("PSETEX"), str_of(t->in_progress), str_of(life.text), STR("1"));
    t->renew_at = now + lease / 3;
}

static void on_cancelled(struct post *p)
{
    struct task *t = p->owner;

    if (t->phase == TASK_OVER)
        free_when_idle(t);
    else if (p->req.code == ERR_BUSY)
        t->cancel_told = false;
}

static void cancel(struct task *t)
{
    if (t->cancel_told || t->post.is_flying)
        return;
    t->cancel_told = true;
    t->post.answered = on_cancelled;
    struct journal_request *req = post_begin(&t->post, JOURNAL_CANCEL);
    req->job = str_of(t->job);
    req->error = STR("aborted in ARQ");
    post_send(&t->post, t->server->opt.journal);
}

static void look(struct task *t)
{
    struct arq_server *s = t->server;
    enum job_state state;
    struct job_row row;
    int err = store_job_get(s->store, str_of(t->job), &row, NULL);

    renew(t);
    if (t->is_aborted)
        cancel(t);
    if (err == ERR_NOT_FOUND) {
        fail(t, "the job was deleted");
        return;
    }
    if (err != 0 || !job_state_find(row.state, &state))
        return;
    if (state == JOB_WAITING && !t->is_aborted) {
        end(t, true);
    } else if (state == JOB_SUCCEEDED) {
        take_output(t, &row);
        end(t, true);
    } else if (state == JOB_CANCELLED) {
        end_cancelled(t);
    } else if (state == JOB_FAILED) {
        buf_str(&t->error, row.error);
        buf_str(&t->error_type, row.error_type);
        end(t, false);
    }
}

/* --- telling the journal ----------------------------------------------------- */

static void on_told(struct post *p)
{
    struct task *t = p->owner;
    struct journal_request *req = &p->req;

    if (t->phase == TASK_OVER) {
        free_when_idle(t);
        return;
    }
    if (req->code == ERR_BUSY)
        return; /* the next tick says it again */
    if (req->op == JOURNAL_EXPIRE) {
        end(t, true); /* answered in time: there was nothing to do */
    } else if (req->code != 0) {
        fail(t, req->why.text);
    } else {
        t->phase = TASK_WAITING;
        look(t);
    }
}

/* The same call is the same job, however often it is taken. */
static void submit(struct task *t, struct journal_request *req)
{
    char once[MAX_ID + 64];

    (void)snprintf(once, sizeof(once), "arq:%s:%lld", t->id, (long long)t->call.enqueued);
    req->row.id = str_of(t->job);
    req->row.agent = t->function->agent;
    req->row.input = buf_text(&t->input);
    req->row.request_hash = STR("arq");
    if (!arena_copy(&req->mem, str_of(once), &req->row.idempotency_key))
        req->row.idempotency_key = STR_NONE;
}

static void tell_journal(struct task *t)
{
    bool expires = t->function == NULL, answers = !expires && t->function->is_answer;

    if (t->post.is_flying)
        return;
    t->post.answered = on_told;
    struct journal_request *req = post_begin(&t->post, expires   ? JOURNAL_EXPIRE
                                                       : answers ? JOURNAL_REPLY
                                                                 : JOURNAL_SUBMIT);
    req->job = str_of(t->job);
    if (answers) {
        t->reply = (struct journal_reply){ .value = buf_text(&t->input) };
        req->replies = &t->reply;
        req->n_replies = 1;
        req->worker = STR("arq");
    } else if (!expires) {
        submit(t, req);
    }
    post_send(&t->post, t->server->opt.journal);
}

/* --- what is to be done ------------------------------------------------------ */

static bool find_function(struct task *t)
{
    const struct arq_server_options *o = &t->server->opt;

    t->function = NULL;
    for (size_t i = 0; i < o->n; i++)
        if (str_eq(o->functions[i].name, t->call.function))
            t->function = &o->functions[i];
    return t->function != NULL ||
           (o->expire_function != NULL && str_eq(t->call.function, str_of(o->expire_function)));
}

/* The id that was given, or that of the queue. */
static bool name_job(struct task *t, char *const *words)
{
    const yyjson_val *id = arq_task_argument(&t->call, words, STR("job_id"));
    struct str name = id != NULL ? json_text(id) : str_of(t->id);

    if (str_absent(name) || !job_id_valid(name))
        return false;
    (void)snprintf(t->job, sizeof(t->job), "%.*s", STR_ARG(name)); /* fits */
    return true;
}

static void take_input(struct task *t, char *const *words, struct str word)
{
    const yyjson_val *value = arq_task_argument(&t->call, words, word);

    if (value != NULL)
        json_put_value(&t->input, value);
    else
        buf_lit(&t->input, "null");
}

static void begin(struct task *t)
{
    static char job_id[] = "job_id";
    char *const only_id[] = { job_id, NULL };
    char why[200];

    if (!find_function(t)) {
        (void)snprintf(why, sizeof(why), "function '%.*s' not found",
                       STR_ARG(str_head(t->call.function, 100)));
        fail(t, why);
        return;
    }
    char *const *words = t->function != NULL ? t->function->args : only_id;
    if (!name_job(t, words)) {
        fail(t, "the job's id must be 1 to 64 of letters, digits, _ and -");
        return;
    }
    if (t->function != NULL)
        take_input(t, words, t->function->is_answer ? STR("answer") : STR("input"));
    t->phase = TASK_TELLING;
    tell_journal(t);
}

/* --- taking ------------------------------------------------------------------ */

static void read_call(struct task *t, const redisReply *reply)
{
    struct error err = { 0 };
    char why[300];

    if (reply->type != REDIS_REPLY_STRING) {
        fail(t, "job expired");
    } else if (arq_task_read(&t->call, t->server->opt.form, str_make(reply->str, reply->len),
                             &err) != 0) {
        (void)snprintf(why, sizeof(why), "unable to deserialize job: %s", err.text);
        fail(t, why);
    } else {
        t->is_read = true;
    }
}

static void on_job(void *arg, const redisReply *reply)
{
    struct task *t = arg;

    if (landed(t))
        return;
    if (reply == NULL || reply->type == REDIS_REPLY_ERROR)
        let_go(t); /* its key runs out, and it is taken again */
    else
        read_call(t, reply);
}

static void on_try(void *arg, const redisReply *reply)
{
    struct task *t = arg;

    if (!landed(t) && reply != NULL && reply->type == REDIS_REPLY_INTEGER)
        t->ending.job_try = reply->integer;
}

static void on_unaborted(void *arg, const redisReply *reply)
{
    struct task *t = arg;

    if (!landed(t))
        t->was_aborted =
            reply != NULL && reply->type == REDIS_REPLY_INTEGER && reply->integer == 1;
}

static void on_fetched(void *arg, const redisReply *reply)
{
    struct task *t = arg;
    int64_t max = t->server->opt.max_tries;
    char why[64];

    (void)reply; /* that the key of its tries lasts */
    if (landed(t))
        return;
    if (!t->is_read) {
        write_result(t);
    } else if (t->was_aborted) {
        end_cancelled(t);
    } else if (t->ending.job_try > max) {
        (void)snprintf(why, sizeof(why), "max %lld retries exceeded", (long long)max);
        fail(t, why);
    } else {
        begin(t);
    }
}

static void fetch(struct task *t)
{
    const struct arq_server_options *o = &t->server->opt;
    struct number life = number_of(RETRY_LIFE_S);
    char retry[MAX_ID + 32];

    t->phase = TASK_FETCHING;
    t->ending.started = now_ms();
    t->renew_at = t->ending.started + o->lease_ms / 3;
    counter_add(&t->server->counts.taken, 1);
    (void)snprintf(retry, sizeof(retry), "arq:retry:%s", t->id); /* fits */
    if (!(ASK(t, on_job, STR("GET"), str_of(t->key)) &&
          ASK(t, on_try, STR("INCR"), str_of(retry)) &&
          (!o->allow_abort ||
           ASK(t, on_unaborted, STR("ZREM"), STR("arq:abort"), str_of(t->id))) &&
          ASK(t, on_fetched, STR("EXPIRE"), str_of(retry), str_of(life.text))))
        let_go(t);
}

/* Between the list and the key somebody else may have finished it, or put it off. */
static void on_score(void *arg, const redisReply *reply)
{
    struct task *t = arg;

    if (landed(t))
        return;
    if (reply != NULL && reply->type == REDIS_REPLY_STRING &&
        strtod(reply->str, NULL) <= (double)now_ms() && !t->server->is_stopping)
        fetch(t);
    else
        hand_back(t);
}

static void on_in_progress(void *arg, const redisReply *reply)
{
    struct task *t = arg;

    if (landed(t))
        return;
    if (reply == NULL || reply->type != REDIS_REPLY_STATUS ||
        !ASK(t, on_score, STR("ZSCORE"), queue_of(t->server), str_of(t->id)))
        let_go(t); /* somebody else has it */
}

static bool has_task(const struct arq_server *s, struct str id)
{
    for (const struct task *t = s->tasks; t != NULL; t = t->next)
        if (str_eq(str_of(t->id), id))
            return true;
    return false;
}

static void add_task(struct arq_server *s, struct str id)
{
    struct number life = number_of(s->opt.lease_ms);
    struct task *t = id.n <= MAX_ID ? calloc(1, sizeof(*t)) : NULL;

    if (t == NULL)
        return;
    t->server = s;
    (void)snprintf(t->id, sizeof(t->id), "%.*s", STR_ARG(id)); /* all fit */
    (void)snprintf(t->in_progress, sizeof(t->in_progress), "arq:in-progress:%s", t->id);
    (void)snprintf(t->key, sizeof(t->key), "arq:job:%s", t->id);
    arq_task_init(&t->call);
    post_init(&t->post, s->box, t, on_told);
    buf_init(&t->input, MAX_RESULT);
    buf_init(&t->output, MAX_RESULT);
    buf_init(&t->error, MAX_RESULT);
    buf_init(&t->error_type, MAX_RESULT);
    t->next = s->tasks;
    s->tasks = t;
    s->n_tasks++;
    counter_set(&s->counts.ongoing, s->n_tasks);
    if (!ASK(t, on_in_progress, STR("SET"), str_of(t->in_progress), STR("1"), STR("NX"),
             STR("PX"), str_of(life.text)))
        let_go(t);
}

static void on_ids(void *arg, const redisReply *reply)
{
    struct arq_server *s = arg;

    s->n_flying--;
    s->is_reading = false;
    for (size_t i = 0; reply != NULL && reply->type == REDIS_REPLY_ARRAY &&
                       i < reply->elements && s->n_tasks < s->opt.max_jobs && !s->is_stopping;
         i++) {
        struct str id = str_make(reply->element[i]->str, reply->element[i]->len);
        if (!has_task(s, id))
            add_task(s, id);
    }
    close_when_idle(s);
}

static void on_aborted(void *arg, const redisReply *reply)
{
    struct arq_server *s = arg;

    s->n_flying--;
    for (size_t i = 0; reply != NULL && reply->type == REDIS_REPLY_ARRAY && i < reply->elements;
         i++)
        for (struct task *t = s->tasks; t != NULL; t = t->next)
            if (str_eq(str_of(t->id), str_make(reply->element[i]->str, reply->element[i]->len)))
                t->is_aborted = true;
    close_when_idle(s);
}

/* --- ticks ------------------------------------------------------------------- */

static void tell_health(struct arq_server *s, int64_t now)
{
    const struct arq_server_counts *c = &s->counts;
    struct number life = number_of(s->opt.health_ms + 1000);
    char key[MAX_ID + 100], text[200], when[32];
    time_t seconds = (time_t)(now / 1000);
    struct tm tm;

    if (now < s->health_at)
        return;
    s->health_at = now + s->opt.health_ms;
    (void)gmtime_r(&seconds, &tm);
    (void)strftime(when, sizeof(when), "%b-%d %H:%M:%S", &tm);
    (void)snprintf(key, sizeof(key), "%.200s:health-check", s->opt.queue); /* all fit */
    (void)snprintf(text, sizeof(text),
                   "%s j_complete=%llu j_failed=%llu j_retried=0 j_ongoing=%zu", when,
                   (unsigned long long)counter_get(&c->done),
                   (unsigned long long)counter_get(&c->failed), s->n_tasks);
    TELL(s, STR("PSETEX"), str_of(key), str_of(life.text), str_of(text));
}

static void read_ids(struct arq_server *s, int64_t now)
{
    struct number until = number_of(now);
    struct number limit = number_of(READ_MORE + 5 * (int64_t)s->opt.max_jobs);

    if (s->is_reading || s->n_tasks >= s->opt.max_jobs)
        return;
    s->is_reading =
        send_all(s,
                 ARGS(STR("ZRANGEBYSCORE"), queue_of(s), STR("-inf"), str_of(until.text),
                      STR("LIMIT"), STR("0"), str_of(limit.text)),
                 on_ids, s, &s->n_flying);
}

static void move_on(struct task *t)
{
    if (t->phase == TASK_TELLING)
        tell_journal(t);
    else if (t->phase == TASK_WAITING)
        look(t);
    else if (t->phase == TASK_WRITING)
        write_result(t);
}

static void on_tick(uv_timer_t *timer)
{
    struct arq_server *s = timer->data;
    int64_t now = now_ms();

    for (struct task *t = s->tasks, *next; t != NULL; t = next) {
        next = t->next;
        move_on(t); /* may free it, and no other */
    }
    if (s->is_stopping || !redis_is_connected(s->redis))
        return;
    read_ids(s, now);
    tell_health(s, now);
    if (s->opt.allow_abort && s->n_tasks > 0)
        (void)send_all(s, ARGS(STR("ZRANGE"), STR("arq:abort"), STR("0"), STR("-1")),
                       on_aborted, s, &s->n_flying);
}

/* --- the thread -------------------------------------------------------------- */

static void close_when_idle(struct arq_server *s)
{
    if (!s->is_stopping || s->n_tasks > 0 || s->n_flying > 0 || s->is_closed)
        return;
    s->is_closed = true;
    uv_close((uv_handle_t *)&s->tick, NULL);
    redis_close(s->redis, NULL, NULL);
    mailbox_close(s->box);
}

/* What was sent before it is done. */
static void on_last(void *arg, const redisReply *reply)
{
    struct arq_server *s = arg;

    (void)reply;
    s->n_flying--;
    close_when_idle(s);
}

static void stop(struct arq_server *s)
{
    char key[MAX_ID + 100];

    if (s->is_stopping)
        return;
    s->is_stopping = true;
    s->n_flying++; /* not closed by what follows, before all of it is sent */
    (void)snprintf(key, sizeof(key), "%.200s:health-check", s->opt.queue); /* fits */
    TELL(s, STR("DEL"), str_of(key));
    for (struct task *t = s->tasks, *next; t != NULL; t = next) {
        next = t->next;
        if (t->phase == TASK_FETCHING || t->phase == TASK_TELLING || t->phase == TASK_WAITING)
            hand_back(t);
    }
    if (!send_all(s, ARGS(STR("PING")), on_last, s, NULL))
        on_last(s, NULL);
}

static void on_wake(struct letter *letter)
{
    struct arq_server *s =
        (struct arq_server *)(void *)((char *)letter - offsetof(struct arq_server, wake));

    if (atomic_load(&s->stop_asked))
        stop(s);
}

static void on_redis(void *arg, bool connected, struct str why)
{
    struct arq_server *s = arg;
    char text[240];

    if (!connected)
        (void)snprintf(text, sizeof(text), "Redis is away: %.*s", STR_ARG(str_head(why, 200)));
    say(s, STR_NONE, connected ? "Redis is there" : text);
    s->health_at = 0;
    for (struct task *t = s->tasks; t != NULL; t = t->next)
        t->renew_at = 0;
    if (connected && !s->is_stopping)
        (void)uv_timer_start(&s->tick, on_tick, 0, (uint64_t)s->opt.poll_ms); /* it is open */
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
    return &s->counts;
}

void arq_server_stop(struct arq_server *s)
{
    if (s->is_stopped)
        return;
    s->is_stopped = true;
    atomic_store(&s->stop_asked, true);
    (void)mailbox_post(s->box, &s->wake); /* it is open */
    if (s->is_started)
        (void)pthread_join(s->thread, NULL);
    else
        (void)uv_run(&s->loop, UV_RUN_DEFAULT); /* only closes what is open */
}

static int open_loop(struct arq_server *s, struct error *err)
{
    struct redis_options redis = {
        .url = s->opt.redis, .name = "spoolwire-arq-server", .state = on_redis, .arg = s
    };
    int code = uv_loop_init(&s->loop);

    s->has_loop = code == 0;
    if (code == 0)
        code = mailbox_new(&s->loop, &s->box);
    if (code == 0)
        code = redis_open(&s->loop, &redis, &s->redis);
    if (code != 0)
        return error_set(err, ERR_NOMEM, "out of memory for serving ARQ");
    (void)uv_timer_init(&s->loop, &s->tick); /* neither can fail */
    (void)uv_timer_start(&s->tick, on_tick, (uint64_t)s->opt.poll_ms, (uint64_t)s->opt.poll_ms);
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
    s->opt = *options;
    s->wake.deliver = on_wake;
    int code = store_open_reader(&options->store, &s->store, err);
    if (code == 0)
        code = open_loop(s, err);
    if (code != 0) {
        arq_server_free(s);
        return code;
    }
    s->opt.redis = NULL; /* it was copied */
    *ret = s;
    return 0;
}

void arq_server_free(struct arq_server *s)
{
    if (s == NULL)
        return;
    if (s->redis != NULL)
        arq_server_stop(s);
    mailbox_free(s->box);
    if (s->has_loop)
        (void)uv_loop_close(&s->loop); /* 0: every handle is closed */
    store_close(s->store);
    free(s);
}
