/* The worker protocol over HTTP: lease, append, heartbeat, finish, return. */
#include "api/admit.h"
#include "api/worker/lease.h"

#include "agents/finish.h"
#include "agents/assignment.h"
#include "base/error.h"
#include "base/json_format.h"
#include "dialect/render.h"

enum { MAX_AGENTS = 32, MAX_WAIT_S = 60, MAX_REQUEST_ID = 200 };

/* --- lease ----------------------------------------------------------------------- */

/* Answers a lease request with a call instead of a job. */
static void answer_with_call(struct journal_call *call)
{
    const struct journal_request *j = &call->journal;
    struct buf *b = &call->out;

    json_format(b, "{'call':{'id':%s,'name':%s,'params':%j},'agent':%s}", j->work.call.id,
                j->work.call.name, j->work.call.params, j->work.call.agent);
    api_json(call->req, 200, b);
}

static void answer_lease(struct journal_call *call)
{
    const struct journal_request *j = &call->journal;
    struct buf *b = &call->out;

    if (j->code == ERR_NOT_FOUND) {
        http_respond(call->req, 204, NULL, STR_NONE);
        return;
    }
    if (journal_call_refused(call))
        return;
    if (j->work.call.id.p != NULL) {
        answer_with_call(call);
        return;
    }
    json_begin(b);
    json_add_str(b, "job", j->row->id);
    lease_put_member(b, call);
    json_add_int(b, "attempt", j->row->attempt);
    json_add_int(b, "seq", j->row->producer_seq + 1);
    json_add_text(b, "agent", j->row->agent);
    json_add_raw(b, "input", j->row->input);
    if (j->work.answers.p != NULL)
        json_add_raw(b, "resume", j->work.answers);
    assignment_put_run(b, j->row->id, j->row->agent, &j->work.run);
    json_add_int(b, "lease_seconds", (j->lease_ms + 999) / 1000);
    assignment_put_beat(b, j->lease_ms);
    json_end(b);
    api_json(call->req, 200, b);
}

static bool are_names(const yyjson_val *list)
{
    size_t n = yyjson_arr_size((yyjson_val *)list);

    for (size_t i = 0; i < n; i++)
        if (json_text(yyjson_arr_get((yyjson_val *)list, i)).p == NULL)
            return false;
    return n > 0 && n <= MAX_AGENTS;
}

/* False: no memory. */
static bool read_agents(struct journal_call *call, const yyjson_val *list)
{
    size_t n = yyjson_arr_size((yyjson_val *)list);
    struct str *agents = arena_alloc(&call->journal.mem, n * sizeof(*agents));

    for (size_t i = 0; i < n; i++)
        if (agents == NULL ||
            !arena_copy(&call->journal.mem, json_text(yyjson_arr_get((yyjson_val *)list, i)),
                        &agents[i]))
            return false;
    call->journal.work.agents = agents;
    call->journal.work.n_agents = n;
    return true;
}

/* The token's id is part of the request id, so that it cannot collide with requests of other
 * tokens or of the server's own agents; so is the executor, since nobody else may get its
 * lease again. */
static bool keep_request_id(struct journal_call *call, struct str id)
{
    char text[SECRET_ID + 2 + EXECUTOR_MAX + MAX_REQUEST_ID];
    char *end = text + SECRET_ID;

    memcpy(text, call->token->id, SECRET_ID);
    if (!str_absent(call->executor)) {
        *end++ = '/';
        str_copy(end, call->executor);
        end += call->executor.n;
    }
    *end++ = ':';
    str_copy(end, id);
    return arena_copy(&call->journal.mem, str_make(text, (size_t)(end - text) + id.n),
                      &call->journal.work.request_id);
}

static bool read_executor(struct journal_call *call, const yyjson_val *value)
{
    if (json_is_null(value))
        return true;
    if (!executor_is_valid(json_text(value)))
        return http_respond_error(
            call->req, 422, "\"executor\" must be a text of 1 to %d letters, digits, - and _",
            EXECUTOR_MAX);
    return arena_copy(&call->journal.mem, json_text(value), &call->executor) ||
           api_no_memory(call->req);
}

static bool read_request_id(struct journal_call *call, const yyjson_val *value)
{
    struct str id = json_text(value);

    if (!json_is_null(value) && (id.n == 0 || id.n > MAX_REQUEST_ID))
        return http_respond_error(
            call->req, 422, "\"request_id\" must be a text of 1 to %d bytes", MAX_REQUEST_ID);
    return json_is_null(value) || keep_request_id(call, id) || api_no_memory(call->req);
}

static bool may_work(struct journal_call *call)
{
    if (call->token->is_own)
        return http_respond_error(
            call->req, 403, "this token is a process's, which gets its jobs from the server");
    for (size_t i = 0; i < call->journal.work.n_agents; i++)
        if (!api_may_use_agent(call->req, call->journal.work.agents[i]))
            return false;
    return true;
}

static bool read_lease(struct journal_call *call, struct json_reader *reader)
{
    struct json j;

    if (!api_read_body(call->req, reader, buf_text(&call->body), &j))
        return false;
    int64_t wait = json_int(json_at(j.root, "wait"), 0);
    struct str worker = json_text(json_at(j.root, "worker"));
    if (!read_executor(call, json_at(j.root, "executor")) ||
        !read_request_id(call, json_at(j.root, "request_id")))
        return false;
    call->journal.work.takes_calls = yyjson_is_true(json_at(j.root, "calls"));
    call->journal.work.wait_ms = (wait < 0 ? 0 : wait > MAX_WAIT_S ? MAX_WAIT_S : wait) * 1000;
    if (!are_names(json_at(j.root, "agents")))
        return http_respond_error(
            call->req, 422, "\"agents\" must be a list of 1 to %d agent names", MAX_AGENTS);
    if (!read_agents(call, json_at(j.root, "agents")) ||
        !arena_copy(&call->journal.mem,
                    worker.p != NULL ? str_head(worker, 100) : STR("worker"),
                    &call->journal.work.worker))
        return api_no_memory(call->req);
    return may_work(call);
}

void api_worker_lease(struct http_request *req)
{
    struct journal_call *call = journal_call_new(req, JOURNAL_LEASE, answer_lease);

    if (call != NULL)
        journal_call_read(call, 64, read_lease);
}

/* --- requests of the lease holder -------------------------------------------------- */

static void put_wishes(struct buf *b, const struct journal_request *j)
{
    json_add_bool(b, "cancel", j->cancel);
    if (j->pause)
        json_add_const(b, "pause", "true");
    json_end(b);
}

static void answer_events(struct journal_call *call)
{
    const struct journal_request *j = &call->journal;
    struct buf *b = &call->out;

    if (journal_call_refused(call))
        return;
    json_begin(b);
    json_add_uint(b, "accepted", j->append.taken.accepted);
    json_add_int(b, "rejected", (int64_t)j->append.taken.rejected);
    if (j->append.taken.rejected > 0)
        json_add_text(b, "error", str_of(j->why.text));
    if (j->append.taken.repeated > 0)
        json_add_const(b, "repeated", "true");
    put_wishes(b, j);
    api_json(call->req, 200, b);
}

void api_worker_events(struct http_request *req)
{
    struct journal_call *call = journal_call_new(req, JOURNAL_APPEND, answer_events);
    struct str seq = http_query(req, "seq");

    if (call == NULL)
        return;
    if (!lease_read_job(call, http_param(call->req, "id"))) {
        journal_call_free(call);
        return;
    }
    if (seq.p != NULL && !str_number(seq, &call->journal.append.producer_seq)) {
        http_respond_error(req, 422, "seq must be a whole number: the batch's, from 0");
        journal_call_free(call);
        return;
    }
    call->journal.append.bytes = buf_text(&call->body);
    journal_call_post(call);
}

static void answer_cancel_flag(struct journal_call *call)
{
    if (journal_call_refused(call))
        return;
    json_begin(&call->out);
    put_wishes(&call->out, &call->journal);
    api_json(call->req, 200, &call->out);
}

/* Posts a request that needs nothing but the path and the query. */
static void post(struct http_request *req, enum journal_op op)
{
    struct journal_call *call = journal_call_new(req, op, answer_cancel_flag);

    if (call == NULL)
        return;
    if (lease_read_job(call, http_param(call->req, "id")))
        journal_call_post(call);
    else
        journal_call_free(call);
}

/* ?wait=SECONDS: answered when the worker is asked to stop, or has lost its lease. */
void api_worker_heartbeat(struct http_request *req)
{
    struct str wait = http_query(req, "wait");
    struct journal_call *call = journal_call_new(req, JOURNAL_HEARTBEAT, answer_cancel_flag);
    int64_t seconds = 0;

    if (call == NULL)
        return;
    bool ok = lease_read_job(call, http_param(req, "id"));
    if (ok && wait.p != NULL && (!str_number(wait, &seconds) || seconds > MAX_WAIT_S))
        ok = http_respond_error(req, 422, "wait must be a number of seconds from 0 to %d",
                                MAX_WAIT_S);
    call->journal.beat.wait_ms = seconds * 1000;
    if (ok)
        journal_call_post(call);
    else
        journal_call_free(call);
}

void api_worker_return(struct http_request *req)
{
    post(req, JOURNAL_RETURN);
}

/* The worker goes down, through no fault of the job: it costs an attempt, at once. */
static bool read_lose(struct journal_call *call, struct json_reader *reader)
{
    struct journal_request *r = &call->journal;
    struct json j = { 0 };

    if (!lease_read_job(call, http_param(call->req, "id")) ||
        (call->body.n > 0 && !api_read_body(call->req, reader, buf_text(&call->body), &j)))
        return false;
    struct str why = json_text(json_at(j.root, "error"));
    r->finish.error_type = STR("WorkerLost");
    return arena_copy(&r->mem, why.n > 0 ? why : STR("worker lost: it went down"),
                      &r->finish.error) ||
           api_no_memory(call->req);
}

void api_worker_lose(struct http_request *req)
{
    struct journal_call *call = journal_call_new(req, JOURNAL_LOSE, answer_cancel_flag);

    if (call != NULL)
        journal_call_read(call, 64, read_lose);
}

/* --- finish ------------------------------------------------------------------------ */

static void answer_finish(struct journal_call *call)
{
    if (journal_call_refused(call))
        return;
    json_begin(&call->out);
    json_add_str(&call->out, "state", call->journal.row->state);
    json_end(&call->out);
    api_json(call->req, 200, &call->out);
}

static bool keep_json(struct journal_request *r,
                      void (*put)(struct buf *, const struct finish *),
                      const struct finish *finish,
                      struct str *ret)
{
    struct buf json LOCAL_BUF(SIZE_MAX / 4);

    put(&json, finish);
    return json.error == 0 && (json.n == 0 || arena_copy(&r->mem, buf_text(&json), ret));
}

static bool read_finish(struct journal_call *call, struct json_reader *reader)
{
    struct journal_request *r = &call->journal;
    struct finish finish;
    struct error err;
    struct json j;

    if (!lease_read_job(call, http_param(call->req, "id")) ||
        !api_read_body(call->req, reader, buf_text(&call->body), &j))
        return false;
    if (finish_read(j.root, &finish, &err) != 0)
        return http_respond_error(call->req, 422, "%s", err.text);
    r->finish.end = finish.end;
    r->finish.interrupted = finish.interrupted;
    return (arena_copy(&r->mem, finish.error, &r->finish.error) &&
            arena_copy(&r->mem, finish.error_type, &r->finish.error_type) &&
            keep_json(r, finish_put_output, &finish, &r->finish.output) &&
            keep_json(r, finish_put_details, &finish, &r->finish.details)) ||
           api_no_memory(call->req);
}

void api_worker_finish(struct http_request *req)
{
    struct journal_call *call = journal_call_new(req, JOURNAL_FINISH, answer_finish);

    if (call != NULL)
        journal_call_read(call, 256, read_finish);
}
