/* Questions that jobs ask people: answers, pauses, and the list of open questions. */
#include "api/admit.h"
#include "api/jobs/jobs.h"

#include "base/error.h"
#include "base/json_format.h"
#include "dialect/render.h"
#include "jobs/job_scope.h"

enum { MAX_REPLIES = 64, MAX_DEPTH = 64, DEFAULT_LIST = 50, MAX_LIST = 1000 };

/* --- answers ------------------------------------------------------------------------ */

/* Includes the answer that was accepted first, so that the late client can show it. */
static void refuse_late(struct journal_call *call, int status)
{
    const struct journal_request *j = &call->journal;
    struct buf *b = &call->out;

    json_format(b, "{'type':'about:blank','title':%s,'status':%d,'detail':%s",
                status == 410 ? "Gone" : "Conflict", status, j->why.text);
    if (j->reply.first.p != NULL)
        json_add_raw(b, "answer", j->reply.first);
    json_end(b);
    if (b->error == 0)
        http_respond(call->req, status, "application/problem+json", buf_text(b));
    else
        http_respond_error(call->req, status, "%s", j->why.text);
}

static void answer_with_job(struct journal_call *call)
{
    const struct journal_request *j = &call->journal;

    if (j->code == ERR_REFUSED && (j->reply.expired || j->reply.first.p != NULL)) {
        refuse_late(call, j->reply.expired ? 410 : 409);
        return;
    }
    if (j->code == ERR_TYPE) {
        http_respond_error(call->req, 422, "%s", j->why.text);
        return;
    }
    if (journal_call_refused(call))
        return;
    api_put_job(&call->out, j->row);
    api_json(call->req, 200, &call->out);
}

static bool keep_reply(struct journal_call *call, struct str id, const yyjson_val *value)
{
    struct journal_request *j = &call->journal;
    struct journal_reply *reply = &j->reply.replies[j->reply.n_replies++];

    return (arena_copy(&j->mem, id, &reply->id) &&
            api_keep_json(&j->mem, value, &reply->value)) ||
           api_no_memory(call->req);
}

static bool read_many(struct journal_call *call, const yyjson_val *answers)
{
    if (yyjson_obj_size((yyjson_val *)(uintptr_t)answers) == 0 ||
        yyjson_obj_size((yyjson_val *)(uintptr_t)answers) > MAX_REPLIES)
        return http_respond_error(
            call->req, 422, "\"answers\" must be an object of 1 to %d answers", MAX_REPLIES);
    json_each_member(key, value, answers)
        if (!keep_reply(call, json_text(key), value))
            return false;
    return true;
}

static bool read_answer(struct journal_call *call, struct json_reader *reader)
{
    struct journal_request *r = &call->journal;
    struct json j;

    r->reply.replies = arena_alloc(&r->mem, MAX_REPLIES * sizeof(*r->reply.replies));
    if (r->reply.replies == NULL || !arena_copy(&r->mem, http_param(call->req, "id"), &r->job))
        return api_no_memory(call->req);
    if (!api_read_body(call->req, reader, buf_text(&call->body), &j))
        return false;
    const yyjson_val *id = json_at(j.root, "interrupt_id");
    if (json_at(j.root, "answers") != NULL)
        return read_many(call, json_at(j.root, "answers"));
    if (json_at(j.root, "value") == NULL || (!json_is_null(id) && json_text(id).n == 0)) {
        http_respond_error(call->req, 422,
                           "the body must have a \"value\", and may have an \"interrupt_id\"; "
                           "or \"answers\": {interrupt_id: value, …}");
        return false;
    }
    return keep_reply(call, json_text(id), json_at(j.root, "value"));
}

void api_answer(struct http_request *req)
{
    struct journal_call *call = journal_call_new(req, JOURNAL_ANSWER_QUESTION, answer_with_job);
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);

    if (call == NULL)
        return;
    call->journal.reply.who = call->token->owner;
    if (read_answer(call, &reader))
        journal_call_post(call);
    else
        journal_call_free(call);
}

/* --- pauses ------------------------------------------------------------------------- */

void api_pause(struct http_request *req)
{
    jobs_post(req, JOURNAL_PAUSE, answer_with_job, false);
}

void api_resume(struct http_request *req)
{
    jobs_post(req, JOURNAL_RESUME, answer_with_job, false);
}

/* --- the list ----------------------------------------------------------------------- */

struct question_listing {
    struct store_query *query;
    struct str agent; /* absent: any */
    struct str job;
    size_t n, limit;
    int64_t last_job;
    uint64_t last_seq;
};

static void put_question(struct buf *b, const struct question_row *q)
{
    json_begin(b);
    json_add_str(b, "interrupt_id", q->id);
    json_add_text(b, "job_id", q->job_id);
    json_add_text(b, "agent", q->agent);
    json_add_int(b, "attempt", q->attempt);
    json_add_int(b, "seq", (int64_t)q->seq);
    json_add_raw(b, "question", q->question);
    json_add_raw(b, "context", q->context);
    json_add_raw(b, "value", q->value);
    if (q->schema.p != NULL)
        json_add_raw(b, "schema", q->schema);
    json_add_time(b, "asked_at", q->asked);
    json_add_time(b, "expires_at", q->expires);
    json_add_text(b, "on_expiry", q->on_expiry);
    if (q->fallback.p != NULL)
        json_add_raw(b, "default", q->fallback);
    json_end(b);
}

static int on_question(void *arg, const struct question_row *q)
{
    struct question_listing *l = arg;

    l->last_job = q->job;
    l->last_seq = q->seq;
    if (!job_scope_includes(store_query_job_scope(l->query), q->job_id, q->owner) ||
        (!str_absent(l->agent) && !str_eq(l->agent, q->agent)) ||
        (!str_absent(l->job) && !str_eq(l->job, q->job_id)))
        return 0;
    l->n++;
    put_question(json_next(&l->query->out), q);
    return l->n == l->limit;
}

static void run_list(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct buf *b = &query->out;
    struct question_listing l = { .query = query,
                                  .agent = query->filter.agent,
                                  .job = query->job_n > 0 ? str_make(query->job, query->job_n)
                                                          : STR_NONE,
                                  .limit = query->filter.limit };
    struct error err = { 0 };

    json_begin_list(b, "interrupts");
    if (store_open_questions(store, query->filter.before, (uint64_t)query->after_seq,
                             on_question, &l, &err) != 0) {
        store_query_broke(query, &err);
        return;
    }
    json_end_array(b);
    if (l.n == l.limit) {
        json_add_parts(b, "next");
        buf_i64(b, l.last_job);
        buf_char(b, '.');
        buf_u64(b, l.last_seq);
        json_end_parts(b);
    } else {
        json_add_const(b, "next", "null");
    }
    json_end(b);
}

/* "8.15": after the question in record 15 of the job with key 8. */
static bool read_after(struct http_request *req, struct store_query *query)
{
    struct str after = http_query(req, "after");
    size_t dot = str_find(after, '.');

    if (after.n == 0 || (str_number(str_head(after, dot), &query->filter.before) &&
                         str_number(str_skip(after, dot + 1), &query->after_seq)))
        return true;
    query->status = 422;
    buf_lit(&query->out, "after must be the `next` of an earlier answer");
    return false;
}

void api_interrupts(struct http_request *req)
{
    struct str job = http_query(req, "job");
    int64_t limit;
    struct store_query *query =
        jobs_read_number(req, "limit", DEFAULT_LIST, &limit)
            ? store_query_new(req, job.p != NULL ? job : STR(""), run_list)
            : NULL;

    if (query == NULL)
        return;
    query->filter.limit = limit < 1 ? 1 : limit > MAX_LIST ? MAX_LIST : (size_t)limit;
    if (!arena_copy(&query->mem, http_query(req, "agent"), &query->filter.agent)) {
        query->status = 503;
        store_query_finish(query);
    } else if (!read_after(req, query)) {
        store_query_finish(query);
    } else {
        store_query_post(query);
    }
}
