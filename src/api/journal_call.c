/* Journal calls: requests on their way to the journal and back; and the JSON of answers. */
#include "api/admit.h"

#include "auth/permit.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/histogram.h"
#include "dialect/aiq.h"
#include "dialect/render.h"

#include <stdlib.h>

struct app_loop *app_loop_of(struct http_request *req)
{
    return http_loop_data(http_request_loop(req));
}

bool api_no_memory(struct http_request *req)
{
    return http_respond_error(req, 503, "out of memory");
}

bool api_keep_json(struct arena *mem, const yyjson_val *value, struct str *ret)
{
    struct buf json LOCAL_BUF(SIZE_MAX / 4);

    json_put_value(&json, value);
    return json.error == 0 && arena_copy(mem, buf_text(&json), ret);
}

void api_json(struct http_request *req, int status, struct buf *out)
{
    if (out->error != 0)
        (void)api_no_memory(req);
    else
        http_respond(req, status, "application/json", buf_text(out));
}

/* --- the journal ----------------------------------------------------------------- */

void journal_call_abandon(struct journal_call *call)
{
    call->req = NULL;
    loop_call_cancel(&call->journal.loop_call);
    journal_withdraw(&call->journal);
}

static void on_gone(struct http_request *req, void *data)
{
    (void)req;
    journal_call_abandon(data);
}

static bool has_work(const struct journal_request *j)
{
    return j->op == JOURNAL_LEASE && j->code == 0;
}

/* A lease for a client that has disconnected is returned to the queue. */
static void on_dropped(struct loop_call *dropped)
{
    struct journal_call *call = dropped->owner;
    bool has_loop = dropped->home != NULL;

    if (has_work(&call->journal)) {
        journal_request_hand_back(&call->journal);
        journal_post(call->loop->app->journal, &call->journal);
    } else if (!has_loop || call->left == NULL || !call->left(call)) {
        journal_call_free(call);
    }
}

static void on_answered(struct loop_call *answered)
{
    struct journal_call *call = answered->owner;

    if (call->journal.op == JOURNAL_APPEND && call->journal.code == 0)
        token_took_events(call->token, call->journal.append.taken.accepted,
                          (int64_t)clock_monotonic_us());
    http_on_gone(call->req, NULL, NULL);
    if (has_work(&call->journal) && http_has_left(call->req)) {
        http_respond(call->req, 204, NULL, STR_NONE); /* most likely unread: the client has
                                                         disconnected */
        on_gone(call->req, call);
        on_dropped(answered);
        return;
    }
    call->answer(call);
    journal_call_free(call);
}

struct journal_call *journal_call_new(struct http_request *req,
                                      enum journal_op op,
                                      void (*answer)(struct journal_call *))
{
    struct token *token = api_token(req);
    int64_t wait =
        op == JOURNAL_APPEND ? token_events_wait_ms(token, (int64_t)clock_monotonic_us()) : 0;
    struct journal_call *call = wait == 0 ? calloc(1, sizeof(*call)) : NULL;

    if (wait > 0) {
        api_refuse_limit(req, REFUSAL_EVENTS, wait,
                         "this token sends more events a second than it may");
        return NULL;
    }
    if (call == NULL) {
        (void)api_no_memory(req);
        return NULL;
    }
    call->loop = app_loop_of(req);
    call->req = req;
    call->answer = answer;
    journal_request_init(&call->journal, call->loop->box, call, on_answered);
    call->journal.loop_call.dropped = on_dropped;
    (void)journal_request_begin(&call->journal, op);
    call->token = token_ref(token);
    api_set_caller(&call->journal, token);
    buf_init(&call->out, SIZE_MAX / 4);
    buf_init(&call->body, SIZE_MAX / 4);
    buf_str(&call->body, http_body(req));
    if (call->body.error != 0) {
        journal_call_free(call);
        (void)api_no_memory(req);
        return NULL;
    }
    return call;
}

void journal_call_post(struct journal_call *call)
{
    http_on_gone(call->req, on_gone, call);
    journal_batch_put(&call->loop->batch, &call->journal);
}

void journal_call_read(struct journal_call *call,
                       size_t depth,
                       bool (*read)(struct journal_call *call, struct json_reader *reader))
{
    struct json_reader reader;

    json_reader_init(&reader, SIZE_MAX / 64, depth);
    if (read(call, &reader))
        journal_call_post(call);
    else
        journal_call_free(call);
    json_reader_done(&reader);
}

void journal_call_free(struct journal_call *call)
{
    if (call == NULL)
        return;
    journal_call_free(call->then);
    permit_free(call->permit);
    if (call->found != NULL)
        store_query_free(call->found);
    token_unref(call->token);
    journal_request_done(&call->journal);
    buf_done(&call->out);
    buf_done(&call->body);
    free(call);
}

bool journal_call_refused(struct journal_call *call)
{
    const struct journal_request *j = &call->journal;
    int status = j->code == ERR_NOT_FOUND                          ? 404
                 : j->code == ERR_REFUSED || j->code == ERR_CLOSED ? 409
                 : j->code == ERR_TYPE                             ? 400
                 : j->code == ERR_LIMIT                            ? 429
                                                                   : 503;

    if (j->code == 0)
        return false;
    if (status == 429) {
        api_refuse_limit(call->req, REFUSAL_JOBS, 5000, j->why.text);
        return true;
    }
    if (status == 503)
        http_set_header(call->req, "Retry-After", STR("1"));
    http_respond_error(call->req, status, "%s", j->why.text);
    return true;
}

void journal_call_answer_empty(struct journal_call *call)
{
    if (!journal_call_refused(call))
        http_respond(call->req, 204, NULL, STR_NONE);
}

/* --- JSON of answers ------------------------------------------------------------- */

void api_put_job(struct buf *b, const struct job_row *row)
{
    json_begin(b);
    json_add_str(b, "job_id", row->id);
    json_add_text(b, "agent", row->agent);
    json_add_text(b, "owner", row->owner);
    json_add_text(b, "state", row->state);
    json_add_text(b, "outcome", row->outcome);
    json_add_text(b, "error", row->error);
    json_add_text(b, "error_type", row->error_type);
    json_add_int(b, "attempt", row->attempt);
    json_add_text(b, "worker", row->worker);
    json_add_bool(b, "cancel_requested", row->cancel_requested != 0);
    json_add_int(b, "events", (int64_t)row->seq);
    json_add_time(b, "created_at", row->created);
    json_add_time(b, "started_at", row->started);
    json_add_time(b, "finished_at", row->finished);
    json_add_time(b, "expires_at",
                  row->finished != 0 ? row->finished + row->expiry_seconds * 1000 : 0);
    json_add_bool(b, "expired", row->first_seq > 1);
    json_add_text(b, "set_aside", row->set_aside != 0 ? STR(JOURNAL_SET_ASIDE_WHY) : STR_NONE);
    json_end(b);
}

void api_put_aiq_job(struct buf *b, const struct job_row *row, bool compat)
{
    /* A cancelled job is shown as cancelled at once, even while its worker is still
     * stopping. */
    struct str state = row->cancel_requested != 0 &&
                               (str_is(row->state, "running") || str_is(row->state, "waiting"))
                           ? STR("cancelled")
                           : row->state;

    json_begin(b);
    json_add_str(b, "job_id", row->id);
    json_add_text(b, "status", aiq_status(state, compat));
    json_add_text(b, "agent_type", row->agent);
    json_add_text(b, "error", row->error);
    json_add_time(b, "created_at", row->created);
    json_end(b);
}

bool api_read_body(struct http_request *req,
                   struct json_reader *reader,
                   struct str body,
                   struct json *ret)
{
    struct error err;
    int code = json_read(reader, body, ret, &err);

    if (code == 0 && yyjson_is_obj(ret->root))
        return true;
    if (code == ERR_NOMEM)
        return api_no_memory(req);
    return http_respond_error(req, 422, "the body must be a JSON object%s%s",
                              code != 0 ? ": " : "", code != 0 ? err.text : "");
}

bool api_read_minutes(const yyjson_val *value, int64_t *ret_ms)
{
    const double most = 60.0 * 24 * 366 * 100;
    double minutes;

    if (!json_number(value, &minutes) || !(minutes > 0) || minutes > most)
        return false;
    *ret_ms = (int64_t)(minutes * 60000);
    return *ret_ms > 0;
}
