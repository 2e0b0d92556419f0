/* Serves one call; its states:
 *
 *     TAKING    SET in-progress NX, ZSCORE: is it still there, and due?
 *     FETCHING  GET job, INCR retry, EXPIRE retry, ZREM abort
 *     TELLING   SUBMIT, or REPLY, or EXPIRE, to the journal
 *     WAITING   reads the store at every tick; CANCEL when it is aborted
 *     WRITING   MULTI, SET result, …, EXEC
 *
 * A step that fails is tried again at the next tick.  Pending commands are counted: the serving
 * is freed when the last one is answered. */
#include "agents/arq/serving.h"

#include "base/clock.h"
#include "base/error.h"
#include "redis/connection.h"
#include "jobs/job.h"
#include "record/record.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    MAX_RESULT = 64 * 1024 * 1024,
    RETRY_LIFE_S = 88400 /* the same as in ARQ */
};

#define ASK(t, cb, ...) \
    arq_context_send((t)->context, ARQ_CONTEXT_ARGS(__VA_ARGS__), (cb), (t), &(t)->n_flying)

/* --- its end ----------------------------------------------------------------- */

static void free_when_idle(struct serving *t)
{
    if (t->phase == SERVING_OVER && t->n_flying == 0 && !t->post.loop_call.is_pending)
        t->over(t);
}

/* Another worker has the call, or we have released it. */
static void let_go(struct serving *t)
{
    t->phase = SERVING_OVER;
    free_when_idle(t);
}

/* Returns the call to the queue; the next server may take it at once. */
static void release_call(struct serving *t)
{
    ARQ_CONTEXT_TELL(t->context, STR("DEL"), str_of(t->in_progress));
    let_go(t);
}

/* A reply has arrived, or never will.  True when it is no longer needed. */
static bool landed(struct serving *t)
{
    t->n_flying--;
    if (t->phase != SERVING_OVER)
        return false;
    free_when_idle(t);
    return true;
}

/* --- results ----------------------------------------------------------------- */

static void on_written(void *arg, const redisReply *reply)
{
    struct serving *t = arg;
    struct arq_context *d = t->context;

    if (landed(t))
        return;
    bool is_stored = reply != NULL && reply->type == REDIS_REPLY_ARRAY;
    if (!is_stored && !d->is_stopping)
        return; /* the next tick writes it again */
    counter_add(t->ending.is_success ? &d->counts.done : &d->counts.failed, 1);
    let_go(t);
}

static void put_ending(struct serving *t, struct buf *out)
{
    struct arq_context *d = t->context;

    t->ending.output = t->output.n > 0 ? buf_text(&t->output) : STR_NONE;
    t->ending.error = buf_text(&t->error);
    t->ending.error_type = t->error_type.n > 0 ? buf_text(&t->error_type) : STR_NONE;
    t->ending.queue = arq_context_queue(d);
    t->ending.id = str_of(t->id);
    arq_put_result(out, d->opt.form, &t->call, &t->ending);
}

/* In one transaction, as ARQ does. */
static void write_result(struct serving *t)
{
    struct arq_context *d = t->context;
    struct arq_number life = arq_context_number_of(d->opt.keep_result_ms);
    char key[SERVING_MAX_ID + 32], retry[SERVING_MAX_ID + 32];
    struct buf result LOCAL_BUF(MAX_RESULT);

    if (t->n_flying > 0)
        return;
    if (!redis_is_connected(d->redis)) {
        if (d->is_stopping)
            let_go(t);
        return;
    }
    (void)snprintf(key, sizeof(key), "arq:result:%s", t->id); /* both fit */
    (void)snprintf(retry, sizeof(retry), "arq:retry:%s", t->id);
    put_ending(t, &result);
    if (result.error != 0) {
        buf_clear(&t->output); /* an output that cannot be encoded is left out */
        buf_clear(&result);
        put_ending(t, &result);
    }
    ARQ_CONTEXT_TELL(d, STR("MULTI"));
    if (d->opt.keep_result_ms > 0)
        ARQ_CONTEXT_TELL(d, STR("SET"), str_of(key), buf_text(&result), STR("PX"),
                         str_of(life.text));
    ARQ_CONTEXT_TELL(d, STR("ZREM"), STR("arq:abort"), str_of(t->id));
    ARQ_CONTEXT_TELL(d, STR("ZREM"), arq_context_queue(d), str_of(t->id));
    ARQ_CONTEXT_TELL(d, STR("DEL"), str_of(t->in_progress), str_of(retry), str_of(t->key));
    (void)ASK(t, on_written, STR("EXEC")); /* if not, the next tick tries again */
}

static void end(struct serving *t, bool is_success)
{
    t->ending.is_success = is_success;
    t->ending.finished = clock_wall_ms();
    t->phase = SERVING_WRITING;
    write_result(t);
}

static void fail(struct serving *t, const char *why)
{
    buf_clear(&t->error);
    buf_str(&t->error, str_of(why));
    arq_context_say(t->context, str_of(t->job), why);
    end(t, false);
}

static void end_cancelled(struct serving *t)
{
    t->ending.is_cancelled = true;
    buf_clear(&t->error);
    end(t, false);
}

/* --- the state of our job ---------------------------------------------------- */

static void take_output(struct serving *t, const struct job_row *row)
{
    struct json_reader lines LOCAL_READER(SIZE_MAX / 64, 256);
    struct record rec;
    struct str stored;

    if (store_record(t->context->store, row->key, row->seq, &stored, NULL) == 0 &&
        record_decode(&lines, stored, &rec, NULL) == 0 && rec.output.p != NULL)
        buf_str(&t->output, rec.output);
}

static void renew(struct serving *t)
{
    int64_t now = clock_steady_ms(), lease = t->context->opt.lease_ms;

    if (now < t->renew_at)
        return;
    /* SET instead of EXPIRE: the key may have expired while Redis was disconnected. */
    struct arq_number life = arq_context_number_of(lease);
    ARQ_CONTEXT_TELL(t->context, STR("PSETEX"), str_of(t->in_progress), str_of(life.text),
                     STR("1"));
    t->renew_at = now + lease / 3;
}

static void on_cancelled(struct loop_call *call)
{
    struct serving *t = call->owner;

    if (t->phase == SERVING_OVER)
        free_when_idle(t);
    else if (t->post.code == ERR_BUSY)
        t->cancel_told = false;
}

static void cancel(struct serving *t)
{
    if (t->cancel_told || t->post.loop_call.is_pending)
        return;
    t->cancel_told = true;
    t->post.loop_call.answered = on_cancelled;
    struct journal_request *req = journal_request_begin(&t->post, JOURNAL_CANCEL);
    req->job = str_of(t->job);
    req->stop.reason = STR("aborted in ARQ");
    journal_post(t->context->opt.journal, &t->post);
}

static void look(struct serving *t)
{
    struct arq_context *d = t->context;
    enum job_state state;
    struct job_row row;
    int err = store_job_get(d->store, str_of(t->job), &row, NULL);

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

static void on_told(struct loop_call *call)
{
    struct serving *t = call->owner;
    const struct journal_request *req = &t->post;

    if (t->phase == SERVING_OVER) {
        free_when_idle(t);
        return;
    }
    if (req->code == ERR_BUSY)
        return; /* the next tick sends it again */
    if (req->op == JOURNAL_EXPIRE) {
        end(t, true); /* it was answered in time: nothing to expire */
    } else if (req->code != 0) {
        fail(t, req->why.text);
    } else {
        t->phase = SERVING_WAITING;
        look(t);
    }
}

/* A call that is taken again submits the same job id, so it is the same job. */
static void submit(struct serving *t, struct journal_request *req)
{
    char once[SERVING_MAX_ID + 64];

    (void)snprintf(once, sizeof(once), "arq:%s:%lld", t->id, (long long)t->call.enqueued);
    req->submit.id = str_of(t->job);
    req->submit.agent = t->function->agent;
    req->submit.input = buf_text(&t->input);
    req->submit.request_hash = STR("arq");
    if (!arena_copy(&req->mem, str_of(once), &req->submit.idempotency_key))
        req->submit.idempotency_key = STR_NONE;
}

static void tell_journal(struct serving *t)
{
    bool expires = t->function == NULL, answers = !expires && t->function->is_answer;

    if (t->post.loop_call.is_pending)
        return;
    t->post.loop_call.answered = on_told;
    struct journal_request *req =
        journal_request_begin(&t->post, expires   ? JOURNAL_EXPIRE
                                        : answers ? JOURNAL_ANSWER_QUESTION
                                                  : JOURNAL_SUBMIT);
    req->job = str_of(t->job);
    if (answers) {
        t->reply = (struct journal_reply){ .value = buf_text(&t->input) };
        req->reply.replies = &t->reply;
        req->reply.n_replies = 1;
        req->reply.who = STR("arq");
    } else if (!expires) {
        submit(t, req);
    }
    journal_post(t->context->opt.journal, &t->post);
}

/* --- parsing the call -------------------------------------------------------- */

static bool find_function(struct serving *t)
{
    const struct arq_server_options *o = &t->context->opt;

    t->function = NULL;
    for (size_t i = 0; i < o->n; i++)
        if (str_eq(o->functions[i].name, t->call.function))
            t->function = &o->functions[i];
    return t->function != NULL ||
           (o->expire_function != NULL && str_eq(t->call.function, str_of(o->expire_function)));
}

/* The job's id: from the arguments, else the call's id in the queue. */
static bool name_job(struct serving *t, char *const *words)
{
    const yyjson_val *id = arq_task_argument(&t->call, words, STR("job_id"));
    struct str name = id != NULL ? json_text(id) : str_of(t->id);

    if (str_absent(name) || !job_id_valid(name))
        return false;
    (void)snprintf(t->job, sizeof(t->job), "%.*s", STR_ARG(name)); /* fits */
    return true;
}

static void take_input(struct serving *t, char *const *words, struct str word)
{
    const yyjson_val *value = arq_task_argument(&t->call, words, word);

    if (value != NULL)
        json_put_value(&t->input, value);
    else
        buf_lit(&t->input, "null");
}

static void begin(struct serving *t)
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
        fail(t, "the job's id must be " JOB_ID_RULE);
        return;
    }
    if (t->function != NULL)
        take_input(t, words, t->function->is_answer ? STR("answer") : STR("input"));
    t->phase = SERVING_TELLING;
    tell_journal(t);
}

/* --- taking ------------------------------------------------------------------ */

static void read_call(struct serving *t, const redisReply *reply)
{
    struct error err = { 0 };
    char why[300];

    if (reply->type != REDIS_REPLY_STRING) {
        fail(t, "job expired");
    } else if (arq_task_read(&t->call, t->context->opt.form, str_make(reply->str, reply->len),
                             &err) != 0) {
        (void)snprintf(why, sizeof(why), "unable to deserialize job: %s", err.text);
        fail(t, why);
    } else {
        t->is_read = true;
    }
}

static void on_job(void *arg, const redisReply *reply)
{
    struct serving *t = arg;

    if (landed(t))
        return;
    if (reply == NULL || reply->type == REDIS_REPLY_ERROR)
        let_go(t); /* its in-progress key expires, and the call is taken again */
    else
        read_call(t, reply);
}

static void on_try(void *arg, const redisReply *reply)
{
    struct serving *t = arg;

    if (!landed(t) && reply != NULL && reply->type == REDIS_REPLY_INTEGER)
        t->ending.job_try = reply->integer;
}

static void on_unaborted(void *arg, const redisReply *reply)
{
    struct serving *t = arg;

    if (!landed(t))
        t->was_aborted =
            reply != NULL && reply->type == REDIS_REPLY_INTEGER && reply->integer == 1;
}

static void on_fetched(void *arg, const redisReply *reply)
{
    struct serving *t = arg;
    int64_t max = t->context->opt.max_tries;
    char why[64];

    (void)reply; /* the reply to EXPIRE; not needed */
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

static void fetch(struct serving *t)
{
    const struct arq_server_options *o = &t->context->opt;
    struct arq_number life = arq_context_number_of(RETRY_LIFE_S);
    char retry[SERVING_MAX_ID + 32];

    t->phase = SERVING_FETCHING;
    t->ending.started = clock_wall_ms();
    t->renew_at = clock_steady_ms() + o->lease_ms / 3;
    counter_add(&t->context->counts.taken, 1);
    (void)snprintf(retry, sizeof(retry), "arq:retry:%s", t->id); /* fits */
    if (!(ASK(t, on_job, STR("GET"), str_of(t->key)) &&
          ASK(t, on_try, STR("INCR"), str_of(retry)) &&
          (!o->allow_abort ||
           ASK(t, on_unaborted, STR("ZREM"), STR("arq:abort"), str_of(t->id))) &&
          ASK(t, on_fetched, STR("EXPIRE"), str_of(retry), str_of(life.text))))
        let_go(t);
}

/* Another worker may have finished or deferred the call after its id was read and before we set
 * the key. */
static void on_score(void *arg, const redisReply *reply)
{
    struct serving *t = arg;

    if (landed(t))
        return;
    if (reply != NULL && reply->type == REDIS_REPLY_STRING &&
        strtod(reply->str, NULL) <= (double)clock_wall_ms() && !t->context->is_stopping)
        fetch(t);
    else
        release_call(t);
}

static void on_in_progress(void *arg, const redisReply *reply)
{
    struct serving *t = arg;

    if (landed(t))
        return;
    if (reply == NULL || reply->type != REDIS_REPLY_STATUS ||
        !ASK(t, on_score, STR("ZSCORE"), arq_context_queue(t->context), str_of(t->id)))
        let_go(t); /* another worker has it */
}

/* --- interface --------------------------------------------------------------- */

struct serving *serving_new(struct arq_context *d,
                            struct str id,
                            void (*over)(struct serving *),
                            void *owner)
{
    struct arq_number life = arq_context_number_of(d->opt.lease_ms);
    struct serving *t = id.n <= SERVING_MAX_ID ? calloc(1, sizeof(*t)) : NULL;

    if (t == NULL)
        return NULL;
    t->context = d;
    t->over = over;
    t->owner = owner;
    (void)snprintf(t->id, sizeof(t->id), "%.*s", STR_ARG(id)); /* all fit */
    (void)snprintf(t->in_progress, sizeof(t->in_progress), "arq:in-progress:%s", t->id);
    (void)snprintf(t->key, sizeof(t->key), "arq:job:%s", t->id);
    arq_task_init(&t->call);
    journal_request_init(&t->post, d->box, t, on_told);
    buf_init(&t->input, MAX_RESULT);
    buf_init(&t->output, MAX_RESULT);
    buf_init(&t->error, MAX_RESULT);
    buf_init(&t->error_type, MAX_RESULT);
    if (ASK(t, on_in_progress, STR("SET"), str_of(t->in_progress), STR("1"), STR("NX"),
            STR("PX"), str_of(life.text)))
        return t;
    serving_free(t);
    return NULL;
}

void serving_free(struct serving *t)
{
    arq_task_done(&t->call);
    journal_request_done(&t->post);
    buf_done(&t->input);
    buf_done(&t->output);
    buf_done(&t->error);
    buf_done(&t->error_type);
    free(t);
}

void serving_move_on(struct serving *t)
{
    if (t->phase == SERVING_TELLING)
        tell_journal(t);
    else if (t->phase == SERVING_WAITING)
        look(t);
    else if (t->phase == SERVING_WRITING)
        write_result(t);
}

void serving_stop(struct serving *t)
{
    if (t->phase == SERVING_FETCHING || t->phase == SERVING_TELLING ||
        t->phase == SERVING_WAITING)
        release_call(t);
}

void serving_abort(struct serving *t)
{
    t->is_aborted = true;
}

void serving_renew(struct serving *t)
{
    t->renew_at = 0;
}
