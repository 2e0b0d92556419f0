/* /v1/jobs: submit, list, read, cancel, delete, events; and what /v1/jobs/async shares
 * with it. */
#include "api/admit.h"
#include "api/jobs/jobs.h"

#include "base/error.h"
#include "base/random.h"
#include "dialect/aiq.h"
#include "dialect/render.h"
#include "jobs/job_scope.h"

#include <stdio.h>

enum {
    MAX_WAIT_S = 300,
    MAX_KEY_BYTES = 255,
    MAX_SCAN = 20000,
    DEFAULT_LIST = 50,
    MAX_LIST = 1000
};

bool jobs_read_number(struct http_request *req,
                      const char *name,
                      int64_t otherwise,
                      int64_t *ret)
{
    struct str text = http_query(req, name);

    *ret = otherwise;
    if (text.n == 0 || str_number(text, ret))
        return true;
    return http_respond_error(req, 422, "%s must be a whole number, not '%.*s'", name,
                              STR_ARG(str_head(text, 40)));
}

bool jobs_read_wait(struct http_request *req, int64_t *ret_ms)
{
    int64_t wait;

    if (!jobs_read_number(req, "wait", 0, &wait))
        return false;
    *ret_ms = (wait > MAX_WAIT_S ? MAX_WAIT_S : wait) * 1000;
    return true;
}

/* --- submit ------------------------------------------------------------------------- */

void jobs_answer_submit(struct journal_call *call)
{
    struct buf *b = &call->out;
    bool compat = call->loop->app->aiq_compat;

    if (journal_call_refused(call))
        return;
    if (call->aiq) {
        api_put_aiq_job(b, call->journal.row, compat);
        api_json(call->req, compat ? 200 : 202, b);
        return;
    }
    buf_lit(b, "/v1/jobs/");
    buf_str(b, call->journal.row->id);
    http_set_header(call->req, "Location", buf_text(b));
    buf_clear(b);
    if (call->wait_ms > 0) {
        jobs_wait(call->req, call->journal.row->id, call->wait_ms);
        return;
    }
    api_put_job(b, call->journal.row);
    api_json(call->req, 202, b);
}

bool jobs_make_id(struct arena *mem, struct str *ret)
{
    char uuid[KEY_UUID_CHARS];

    return random_uuid(uuid) && arena_copy(mem, str_make(uuid, sizeof(uuid)), ret);
}

/* Hashes path, body and index in a list, to detect a reused key with another request. */
static bool hash_request(struct journal_call *call)
{
    struct key k = key_stable(7, buf_text(&call->body));
    struct key path = key_stable(8, http_path(call->req));
    char hash[40];

    k.a ^= path.a + call->item;
    k.b ^= path.b;

    (void)snprintf(hash, sizeof(hash), "%016llx%016llx", (unsigned long long)k.a,
                   (unsigned long long)k.b);
    return arena_copy(&call->journal.mem, str_of(hash), &call->journal.submit.request_hash);
}

/* Idempotency keys are separate for each owner (" owner key": no header value begins with a
 * space) and for each item of a list. */
static bool keep_idempotency_key(struct journal_call *call, struct str key)
{
    struct submit_request *row = &call->journal.submit;
    char text[MAX_KEY_BYTES + 110];

    if (key.n == 0)
        return true;
    int n = str_absent(row->owner)
                ? snprintf(text, sizeof(text), "%.*s", STR_ARG(key))
                : snprintf(text, sizeof(text), " %.*s %.*s", STR_ARG(row->owner), STR_ARG(key));
    if (call->item > 0)
        n += snprintf(text + n, sizeof(text) - (size_t)n, " #%zu", call->item);
    return arena_copy(&call->journal.mem, str_make(text, (size_t)n), &row->idempotency_key);
}

bool jobs_fill_submit(struct journal_call *call,
                      struct str agent,
                      const yyjson_val *input,
                      struct str id,
                      int64_t expiry)
{
    struct submit_request *row = &call->journal.submit;
    struct arena *mem = &call->journal.mem;
    struct str key = http_header(call->req, "Idempotency-Key");
    struct buf json;
    bool ok = true;

    if (key.n > MAX_KEY_BYTES)
        return http_respond_error(call->req, 422, "the Idempotency-Key is longer than %d bytes",
                                  MAX_KEY_BYTES);
    if (!api_may_use_agent(call->req, agent))
        return false;
    size_t most = app_settings(call->loop->app)->max_input;
    buf_init(&json, most);
    json_put_value(&json, input);
    if (json.error == ERR_NOMEM) {
        buf_done(&json);
        return api_no_memory(call->req);
    }
    if (json.error != 0) {
        http_respond_error(call->req, 413, "the input is larger than %zu bytes (max_input)",
                           most);
        buf_done(&json);
        return false;
    }
    ok = arena_copy(mem, buf_text(&json), &row->input) && arena_copy(mem, agent, &row->agent) &&
         hash_request(call);
    buf_done(&json);
    ok = ok && (id.p != NULL ? arena_copy(mem, id, &row->id) : jobs_make_id(mem, &row->id));
    ok = ok && keep_idempotency_key(call, key);
    row->is_new_id = id.p == NULL;
    row->expiry_seconds = expiry;
    if (!ok)
        (void)api_no_memory(call->req);
    return ok;
}

static bool read_submit(struct journal_call *call, struct json_reader *reader)
{
    struct json j;

    if (!api_read_body(call->req, reader, buf_text(&call->body), &j))
        return false;
    struct str agent = json_text(json_at(j.root, "agent"));
    yyjson_val *id = json_at(j.root, "job_id");
    yyjson_val *seconds = json_at(j.root, "expiry_seconds");
    int64_t expiry = json_is_null(seconds) ? 0 : json_int(seconds, -1);
    if (agent.n == 0)
        return http_respond_error(call->req, 422, "\"agent\" must be the name of an agent");
    if (!json_is_null(id) && !job_id_valid(json_text(id)))
        return http_respond_error(call->req, 422, "\"job_id\" must be " JOB_ID_RULE);
    if (!json_is_null(seconds) && (expiry < 1 || expiry > 604800))
        return http_respond_error(call->req, 422,
                                  "\"expiry_seconds\" must be from 1 to 604800");
    return jobs_fill_submit(call, agent, json_at(j.root, "input"), json_text(id), expiry);
}

void api_submit(struct http_request *req)
{
    int64_t wait_ms;
    bool is_good = jobs_read_wait(req, &wait_ms);
    struct journal_call *call =
        is_good ? journal_call_new(req, JOURNAL_SUBMIT, jobs_answer_submit) : NULL;

    if (call == NULL)
        return;
    call->wait_ms = wait_ms;
    journal_call_read(call, 64, read_submit);
}

/* --- reading -------------------------------------------------------------------------- */

static void not_found(struct store_query *query)
{
    query->status = 404;
    buf_clear(&query->out);
    buf_lit(&query->out, "Job not found: ");
    buf_put(&query->out, query->job, query->job_n);
}

bool jobs_get(struct store_query *query, struct store *store, struct job_row *ret)
{
    struct error err = { 0 };
    int code = store_job_get(store, str_make(query->job, query->job_n), ret, &err);

    if (code == 0 && !job_scope_includes(store_query_job_scope(query), ret->id, ret->owner))
        code = ERR_NOT_FOUND;
    if (code == ERR_NOT_FOUND)
        not_found(query);
    else if (code != 0)
        store_query_broke(query, &err);
    return code == 0;
}

/* Puts what was reported with the job's end, by its worker or about its process; it is in the
 * last record. */
static void put_end(struct buf *b, struct store *store, int64_t key, uint64_t seq)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, 256);
    struct record rec;
    struct str stored, output = STR_NONE, details = STR_NONE;

    if (store_record(store, key, seq, &stored, NULL) == 0 &&
        record_decode(&reader, stored, &rec, NULL) == 0 && rec.kind == REC_JOB_END) {
        output = rec.output;
        details = rec.details;
    }
    b->n--; /* removes the closing brace: more members follow */
    json_add_raw(b, "details", details);
    json_add_raw(b, "output", output);
    json_end(b);
}

static void run_job(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct job_row row;

    if (!jobs_get(query, store, &row))
        return;
    if (query->aiq) {
        api_put_aiq_job(&query->out, &row, query->loop->app->aiq_compat);
        return;
    }
    api_put_job(&query->out, &row);
    put_end(&query->out, store, row.key, row.seq);
}

static void look_at_job(struct http_request *req, bool aiq)
{
    struct store_query *query = store_query_new(req, http_param(req, "id"), run_job);

    if (query == NULL)
        return;
    query->aiq = aiq;
    store_query_post(query);
}

void api_job(struct http_request *req)
{
    int64_t wait_ms;

    if (!jobs_read_wait(req, &wait_ms))
        return;
    if (wait_ms > 0)
        jobs_wait(req, http_param(req, "id"), wait_ms);
    else
        look_at_job(req, false);
}

void api_aiq_job(struct http_request *req)
{
    look_at_job(req, true);
}

struct job_listing {
    struct buf *out;
    const struct job_scope *job_scope;
    size_t n, limit;
    size_t n_seen;         /* including jobs that the caller may not see */
    int64_t last, created; /* key and time of the last one */
};

static bool listed_enough(const struct job_listing *l)
{
    return l->n == l->limit || l->n_seen == MAX_SCAN;
}

static int on_row(void *arg, const struct job_row *row)
{
    struct job_listing *l = arg;

    l->last = row->key;
    l->created = row->created;
    l->n_seen++;
    if (job_scope_includes(l->job_scope, row->id, row->owner)) {
        l->n++;
        api_put_job(json_next(l->out), row);
    }
    return listed_enough(l);
}

static void run_list(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct buf *b = &query->out;
    struct job_listing l = { .out = b,
                             .job_scope = store_query_job_scope(query),
                             .limit = query->filter.limit };
    struct error err = { 0 };

    query->filter.owner = job_scope_owner(l.job_scope);
    query->filter.limit = MAX_SCAN;

    json_begin_list(b, "jobs");
    if (store_jobs(store, &query->filter, on_row, &l, &err) != 0) {
        store_query_broke(query, &err);
        return;
    }
    json_end_array(b);
    if (listed_enough(&l)) {
        json_add_parts(b, "next");
        if (store_lists_by_time(store)) {
            buf_i64(b, l.created);
            buf_char(b, '.');
        }
        buf_i64(b, l.last);
        json_end_parts(b);
    } else {
        json_add_const(b, "next", "null");
    }
    json_end(b);
}

/* "8": behind the job with key 8; "1700000000000.8": which was created then. */
static bool read_after(struct http_request *req, int64_t *ret_created, int64_t *ret_key)
{
    struct str after = http_query(req, "after");
    size_t dot = str_find(after, '.');

    *ret_created = 0;
    if (dot == after.n)
        return jobs_read_number(req, "after", 0, ret_key);
    if (str_number(str_head(after, dot), ret_created) &&
        str_number(str_skip(after, dot + 1), ret_key))
        return true;
    return http_respond_error(req, 422,
                              "after must be the `next` of an earlier answer, not '%.*s'",
                              STR_ARG(str_head(after, 40)));
}

void api_list(struct http_request *req)
{
    int64_t limit, created, after;
    bool is_good = jobs_read_number(req, "limit", DEFAULT_LIST, &limit) &&
                   read_after(req, &created, &after);
    struct store_query *query = is_good ? store_query_new(req, STR(""), run_list) : NULL;
    struct str state = http_query(req, "state");
    enum job_state ignored;

    if (query == NULL)
        return;
    query->filter.limit = limit < 1 ? 1 : limit > MAX_LIST ? MAX_LIST : (size_t)limit;
    query->filter.before = after;
    query->filter.created = created;
    if (state.n > 0 && !job_state_find(state, &ignored)) {
        query->status = 422;
        buf_lit(&query->out,
                "state must be queued, running, waiting, succeeded, failed or cancelled");
        store_query_finish(query);
        return;
    }
    if (!arena_copy(&query->mem, state.n > 0 ? state : STR_NONE, &query->filter.state) ||
        !arena_copy(&query->mem, http_query(req, "agent"), &query->filter.agent)) {
        query->status = 503;
        store_query_finish(query);
        return;
    }
    store_query_post(query);
}

/* --- cancel and delete ------------------------------------------------------------------ */

static void answer_cancel(struct journal_call *call)
{
    const struct journal_request *j = &call->journal;
    struct buf *b = &call->out;
    bool compat = call->loop->app->aiq_compat;

    if (j->code == ERR_CLOSED) {
        http_respond_error(
            call->req, 409, "Job not running: %.*s (status: %.*s)", STR_ARG(j->row->id),
            STR_ARG(call->aiq ? aiq_status(j->row->state, compat) : j->row->state));
        return;
    }
    if (journal_call_refused(call))
        return;
    if (!call->aiq) {
        api_put_job(b, j->row);
        api_json(call->req, 200, b);
        return;
    }
    json_begin(b);
    json_add_str(b, "job_id", j->row->id);
    json_add_text(b, "status", aiq_status(STR("cancelled"), compat));
    json_add_bool(b, "task_cancelled", j->stop.had_worker);
    json_end(b);
    api_json(call->req, 200, b);
}

void jobs_post(struct http_request *req,
               enum journal_op op,
               void (*answer)(struct journal_call *),
               bool aiq)
{
    struct journal_call *call = journal_call_new(req, op, answer);

    if (call == NULL)
        return;
    call->aiq = aiq;
    if (!arena_copy(&call->journal.mem, http_param(req, "id"), &call->journal.job)) {
        (void)api_no_memory(req);
        journal_call_free(call);
        return;
    }
    journal_call_post(call);
}

void api_cancel(struct http_request *req)
{
    jobs_post(req, JOURNAL_CANCEL, answer_cancel, false);
}

void api_aiq_cancel(struct http_request *req)
{
    jobs_post(req, JOURNAL_CANCEL, answer_cancel, true);
}

static void answer_release(struct journal_call *call)
{
    if (journal_call_refused(call))
        return;
    api_put_job(&call->out, call->journal.row);
    api_json(call->req, 200, &call->out);
}

void api_release(struct http_request *req)
{
    jobs_post(req, JOURNAL_RELEASE, answer_release, false);
}

void api_delete(struct http_request *req)
{
    jobs_post(req, JOURNAL_DELETE, journal_call_answer_empty, false);
}
