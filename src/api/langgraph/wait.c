/* Waiting for a run's result.
 *
 *     reading ──final──▶ answered at once
 *        │
 *        └──not yet──▶ head ──a newline every few seconds──▶ … ──final──▶ result, end
 *
 * A waiter is a hub reader that takes no bytes: whenever the hub wakes it, it reads the run
 * from the store. */
#include "api/langgraph/langgraph.h"

#include "api/admit.h"
#include "auth/permit.h"
#include "base/container_of.h"
#include "base/error.h"
#include "base/json_format.h"
#include "dialect/render.h"
#include "http/chunk.h"
#include "jobs/job_scope.h"
#include "record/record.h"

#include <stdlib.h>

enum { BEAT_MS = 5000 };

struct run_wait {
    struct reader reader;
    struct app_loop *loop;
    struct token *token;       /* ref */
    struct permit *permit;     /* owned */
    struct http_request *req;  /* until the head is sent; NULL: disconnected, or sent */
    struct http_stream *http;  /* after the head is sent; NULL: disconnected */
    struct store_query *query; /* under way */
    uv_timer_t timer;
    struct buf id;                                                /* of the form */
    void (*put)(struct buf *b, struct str id, struct str result); /* NULL: no form */
    struct buf out;                                               /* being sent */
    struct buf result;                                            /* to be sent after `out` */
    bool sending;                                                 /* `out` is being sent */
    bool again; /* woken while a query was under way */
    bool cancels;
    bool ended;   /* the result is known */
    bool closing; /* the timer is being closed, and the waiter with it */
};

/* --- the result ---------------------------------------------------------------------- */

struct asked {
    struct buf *out;
    size_t n;
};

static int put_question(void *arg, const struct question_row *row)
{
    struct asked *a = arg;

    if (a->n++ == 0)
        json_add_array(a->out, "__interrupt__");
    json_format(json_next(a->out), "{'id':%s,'value':%j}", row->id, row->value);
    return 0;
}

/* The members of the state, without questions, which some graphs put into it. */
static void put_members(struct buf *out, const yyjson_val *values)
{
    json_each_member(key, value, values) {
        if (str_is(json_text(key), "__interrupt__"))
            continue;
        json_put_key(out, json_text(key));
        json_put_value(out, value);
    }
}

/* The last state that the graph reported; null when there is none, or it cannot be read. */
static int read_values(struct store *store,
                       const struct job_row *row,
                       struct json_reader *reader,
                       struct str *ret)
{
    struct record rec = { 0 };
    struct str stored;
    int code = row->values_seq != 0
                   ? store_record(store, row->key, (uint64_t)row->values_seq, &stored, NULL)
                   : ERR_NOT_FOUND;

    if (code == 0)
        code = record_decode(reader, stored, &rec, NULL);
    *ret = code != 0 ? STR_NONE : rec.kind == REC_STATE_VALUES ? rec.data : rec.output;
    return code == ERR_NOMEM ? code : 0;
}

static int put_values(struct store *store, const struct job_row *row, struct buf *out)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, 256);
    struct str values;
    int code = read_values(store, row, &reader, &values);

    json_put_raw_or_null(out, values);
    return code;
}

/* The state at which the run stopped, and in it the questions that it asks.  A breakpoint
 * (`interrupt_before`, `interrupt_after`) asks none. */
static int put_stopped(struct store *store,
                       const struct job_row *row,
                       struct buf *out,
                       struct error *err)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, 256);
    struct json_reader state LOCAL_READER(SIZE_MAX / 64, 256);
    struct asked asked = { .out = out };
    struct json values = { 0 };
    struct str text;
    int64_t key = row->key; /* the next call invalidates the row */
    int code = read_values(store, row, &reader, &text);

    if (code != 0)
        return code;
    if (str_absent(text) || json_read(&state, text, &values, NULL) != 0)
        values.root = NULL;
    json_begin(out);
    put_members(out, values.root);
    code = store_questions(store, key, put_question, &asked, err);
    if (asked.n > 0)
        json_end_array(out);
    json_end(out);
    return code;
}

static void put_failure(struct buf *out, const struct job_row *row)
{
    json_format(out, "{'__error__':{'error':%s,'message':%s}}",
                row->error_type.n > 0 ? row->error_type : STR("Error"), row->error);
}

/* Sets 202 while the run has not ended. */
static void run_result(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct error err = { 0 };
    enum job_state state = JOB_QUEUED;
    struct job_row row;
    int code = store_job_get(store, str_make(query->job, query->job_n), &row, &err);

    query->status = 202;
    if (code == 0)
        (void)job_state_find(row.state, &state); /* written by us */
    if (code == 0 && !job_state_is_final(state))
        return;
    query->status = 200;
    if (code == ERR_NOT_FOUND) /* it was deleted: there is no result */
        buf_lit(&query->out, "null");
    else if (code == 0 && state == JOB_FAILED)
        put_failure(&query->out, &row);
    else if (code == 0 && str_is(row.outcome, "interrupted"))
        code = put_stopped(store, &row, &query->out, &err);
    else if (code == 0)
        code = put_values(store, &row, &query->out);
    if (code != 0 && code != ERR_NOT_FOUND) {
        buf_clear(&query->out);
        put_failure(&query->out, &(struct job_row){ .error = STR("the store cannot be read") });
    }
}

/* --- life ---------------------------------------------------------------------------- */

static void query_again(struct run_wait *w);

static void on_timer_closed(uv_handle_t *handle)
{
    struct run_wait *w = handle->data;

    permit_free(w->permit);
    token_unref(w->token);
    buf_done(&w->id);
    buf_done(&w->out);
    buf_done(&w->result);
    free(w);
}

/* Frees the waiter when nothing uses it any more. */
static void finish(struct run_wait *w)
{
    if (w->closing || w->req != NULL || w->http != NULL)
        return;
    w->closing = true;
    if (w->query != NULL)
        loop_call_cancel(&w->query->task.loop_call);
    hub_leave(w->loop->hub, &w->reader);
    uv_close((uv_handle_t *)&w->timer, on_timer_closed);
}

static void on_left(struct run_wait *w)
{
    if (w->cancels && !w->ended)
        langgraph_abandon(w->loop->app, hub_reader_job(&w->reader));
    finish(w);
}

static void on_gone(struct http_request *req, void *data)
{
    struct run_wait *w = data;

    (void)req;
    w->req = NULL;
    on_left(w);
}

/* --- sending ------------------------------------------------------------------------- */

/* Sends the result when it is known and nothing else is being sent. */
static void send_result(struct run_wait *w)
{
    if (w->http == NULL || w->sending || !w->ended)
        return;
    if (w->result.n == 0) {
        http_stream_end(w->http);
        return;
    }
    buf_done(&w->out);
    w->out = w->result;
    buf_init(&w->result, SIZE_MAX / 4);
    w->sending = !http_stream_send(w->http, w->out.p, w->out.n);
    if (!w->sending)
        http_stream_end(w->http);
}

static void on_sent(struct http_stream *http, void *data)
{
    struct run_wait *w = data;

    (void)http;
    w->sending = false;
    send_result(w);
}

static void on_closed(struct http_stream *http, void *data)
{
    struct run_wait *w = data;

    (void)http;
    w->http = NULL;
    on_left(w);
}

static void put(struct run_wait *w, struct buf *b, struct str text)
{
    http_chunk_put(b, text, http_stream_is_chunked(w->http));
}

static void on_time(uv_timer_t *timer)
{
    struct run_wait *w = timer->data;

    if (w->http == NULL || w->sending || w->ended)
        return;
    buf_clear(&w->out);
    put(w, &w->out, STR("\n"));
    if (w->out.error == 0)
        w->sending = !http_stream_send(w->http, w->out.p, w->out.n);
}

static void send_head(struct run_wait *w)
{
    static const struct http_stream_events events = { .ready = on_sent, .closed = on_closed };
    struct http_request *req = w->req;

    http_on_gone(req, NULL, NULL);
    w->req = NULL;
    w->http = http_stream_begin(req, 200, "application/json", &events, w);
    if (w->http != NULL)
        (void)uv_timer_start(&w->timer, on_time, BEAT_MS, BEAT_MS);
    else
        on_left(w);
}

static void answer_at_once(struct run_wait *w, struct store_query *query)
{
    struct http_request *req = w->req;

    http_on_gone(req, NULL, NULL);
    w->req = NULL;
    api_json(req, 200, &query->out);
}

/* --- reading the run ---------------------------------------------------------------- */

/* Puts the result into the form that was asked for. */
static void form(struct run_wait *w, struct buf *result)
{
    struct buf formed LOCAL_BUF(SIZE_MAX / 4);

    if (w->put == NULL || result->error != 0)
        return;
    w->put(&formed, buf_text(&w->id), buf_text(result));
    buf_clear(result);
    buf_str(result, buf_text(&formed));
    if (formed.error != 0)
        result->error = formed.error;
}

static void on_queried(struct loop_call *call)
{
    struct store_query *query = call->owner;
    struct run_wait *w = query->data;

    w->query = NULL;
    w->ended |= query->status == 200;
    if (w->ended)
        form(w, &query->out);
    if (w->req != NULL && w->ended) {
        answer_at_once(w, query);
    } else if (w->http != NULL && w->ended) {
        put(w, &w->result, buf_text(&query->out));
        if (query->out.error != 0 || w->result.error != 0)
            http_stream_cut(w->http, "out of memory");
        else
            send_result(w);
    } else if (w->req != NULL) {
        send_head(w);
    }
    store_query_free(query);
    if (w->again && !w->ended && (w->req != NULL || w->http != NULL))
        query_again(w);
    else
        finish(w);
}

static void query_again(struct run_wait *w)
{
    w->again = w->query != NULL;
    if (w->query != NULL)
        return;
    struct store_query *query =
        store_query_new_for(w->loop, w->token, hub_reader_job(&w->reader), run_result);
    if (query == NULL) { /* try again at the next wake-up */
        w->again = true;
        return;
    }
    query->data = w;
    query->task.loop_call.answered = on_queried;
    w->query = query;
    thread_pool_post(w->loop->app->pool, &query->task);
}

static void on_wake(struct reader *reader)
{
    struct run_wait *w = container_of(reader, struct run_wait, reader);

    if (!w->closing && !w->ended && (w->req != NULL || w->http != NULL))
        query_again(w);
}

void langgraph_wait(struct http_request *req,
                    struct permit *permit,
                    struct str run,
                    bool cancels)
{
    langgraph_wait_as(req, permit, run, cancels, &(struct wait_form){ .put = NULL });
}

void langgraph_wait_as(struct http_request *req,
                       struct permit *permit,
                       struct str run,
                       bool cancels,
                       const struct wait_form *form)
{
    struct run_wait *w = calloc(1, sizeof(*w));
    struct stream_format format = { .dialect = &dialect_nodes, .framing = &framing_ndjson };

    if (w == NULL || hub_join(app_loop_of(req)->hub, run, &format, &w->reader) != 0) {
        free(w);
        permit_free(permit);
        http_respond_error(req, 409, "out of memory"); /* no 5xx: the run exists, see
                                                          langgraph.h */
        return;
    }
    w->permit = permit;
    w->loop = app_loop_of(req);
    w->token = token_ref(api_token(req));
    w->req = req;
    w->cancels = cancels;
    w->reader.wake = on_wake;
    w->put = form->put;
    buf_init(&w->id, SIZE_MAX / 4);
    buf_str(&w->id, form->id);
    buf_init(&w->out, SIZE_MAX / 4);
    buf_init(&w->result, SIZE_MAX / 4);
    http_on_gone(req, on_gone, w);
    (void)uv_timer_init(http_loop_uv(http_request_loop(req)), &w->timer); /* cannot fail */
    w->timer.data = w;
    query_again(w);
}
