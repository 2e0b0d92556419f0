/* Deliveries of webhooks, for operators: a list, one whole, and sending one again. */
#include "api/api.h"

#include "api/jobs/jobs.h"
#include "api/langgraph/webhook_sender.h"
#include "base/clock.h"
#include "base/error.h"
#include "store/webhooks.h"
#include "webhooks/post.h"

enum { DEFAULT_LIST = 50, MAX_LIST = 1000 };

/* Of lists, and with @whole what is sent. */
static void put_webhook(struct buf *b,
                        const struct webhook_row *row,
                        bool whole,
                        char *const *fields)
{
    json_begin(b);
    json_add_str(b, "id", row->id);
    json_add_str(b, "thread_id", row->thread);
    json_add_text(b, "owner", row->owner);
    json_add_str(b, "url", row->url);
    json_add_str(b, "state", row->state);
    json_add_text(b, "status", row->status);
    json_add_time(b, "ended_at", row->ended);
    json_add_int(b, "attempts", row->attempts);
    json_add_time(b, "tried_at", row->tried);
    json_add_time(b, "due_at", str_is(row->state, "pending") ? row->due : 0);
    json_key(b, "http_status");
    if (row->code > 0)
        buf_i64(b, row->code);
    else
        buf_lit(b, "null");
    json_add_text(b, "reason", row->reason);
    json_add_time(b, "expires_at", row->expires);
    if (whole) {
        json_key(b, "body");
        webhook_put_body(b, row, row->tried, fields);
    }
    json_end(b);
}

/* --- the list ------------------------------------------------------------------------------
 */

struct webhook_listing {
    struct store_query *query;
    struct str state, id; /* absent: any; of the last one of the page before */
    int64_t n;
    size_t limit, n_listed;
    struct str last_id;
    int64_t last_n;
};

static int on_listed(void *arg, const struct webhook_row *row)
{
    struct webhook_listing *l = arg;

    put_webhook(json_next(&l->query->out), row, false, NULL);
    l->n_listed++;
    l->last_n = row->n;
    return arena_copy(&l->query->mem, row->id, &l->last_id) ? 0 : 1;
}

static void run_list(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct webhook_listing *l = query->data;
    struct buf *b = &query->out;
    struct error err = { 0 };

    l->query = query;
    json_begin_list(b, "webhooks");
    if (store_webhooks(store, l->state, l->n, l->id, l->limit, on_listed, l, &err) != 0) {
        store_query_broke(query, &err);
        return;
    }
    json_end_array(b);
    if (l->n_listed == l->limit) {
        json_add_parts(b, "next");
        buf_i64(b, l->last_n);
        buf_char(b, '.');
        buf_str(b, l->last_id); /* a job's id needs no escaping */
        json_end_parts(b);
    } else {
        json_add_const(b, "next", "null");
    }
    json_end(b);
}

/* "7.ID": behind the delivery with the number 7 and that id. */
static bool read_after(struct http_request *req, struct webhook_listing *l, struct arena *mem)
{
    struct str after = http_query(req, "after");
    size_t dot = str_find(after, '.');

    l->n = INT64_MAX;
    if (after.n == 0)
        return true;
    if (dot < after.n && str_number(str_head(after, dot), &l->n))
        return arena_copy(mem, str_skip(after, dot + 1), &l->id) || api_no_memory(req);
    return http_respond_error(req, 422,
                              "after must be the `next` of an earlier answer, not '%.*s'",
                              STR_ARG(str_head(after, 40)));
}

static bool read_state(struct http_request *req, struct webhook_listing *l, struct arena *mem)
{
    struct str state = http_query(req, "state");

    if (state.n == 0)
        return true;
    if (str_is(state, "pending") || str_is(state, "sent") || str_is(state, "dead"))
        return arena_copy(mem, state, &l->state) || api_no_memory(req);
    return http_respond_error(req, 422, "state must be pending, sent or dead");
}

void api_webhooks(struct http_request *req)
{
    int64_t limit;
    struct store_query *query =
        jobs_read_number(req, "limit", DEFAULT_LIST, &limit)
            ? store_query_new_with(req, STR(""), run_list, sizeof(struct webhook_listing))
            : NULL;
    struct webhook_listing *l = query != NULL ? query->data : NULL;

    if (query == NULL)
        return;
    l->limit = limit < 1 ? 1 : limit > MAX_LIST ? MAX_LIST : (size_t)limit;
    if (read_state(req, l, &query->mem) && read_after(req, l, &query->mem))
        store_query_post(query);
    else
        store_query_free(query);
}

/* --- one -----------------------------------------------------------------------------------
 */

static int on_one(void *arg, const struct webhook_row *row)
{
    struct store_query *query = arg;
    const struct webhook_settings *settings = query->loop->app->webhooks;

    put_webhook(&query->out, row, true, settings != NULL ? settings->fields : NULL);
    return 0;
}

static void run_one(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct error err = { 0 };
    struct str id = str_make(query->job, query->job_n);

    if (store_webhook(store, id, on_one, query, &err) != 0) {
        store_query_broke(query, &err);
    } else if (query->out.n == 0) {
        query->status = 404;
        buf_lit(&query->out, "no delivery has this id");
    }
}

void api_webhook(struct http_request *req)
{
    struct store_query *query = store_query_new(req, http_param(req, "webhook"), run_one);

    if (query != NULL)
        store_query_post(query);
}

static void answer_resend(struct journal_call *call)
{
    if (call->journal.code == ERR_CLOSED)
        http_respond_error(call->req, 409, "%s", call->journal.why.text);
    else if (!journal_call_refused(call))
        api_webhook(call->req);
}

void api_webhook_resend(struct http_request *req)
{
    struct journal_call *call = journal_call_new(req, JOURNAL_WEBHOOK, answer_resend);

    if (call == NULL)
        return;
    call->journal.webhook.change = WEBHOOK_RESEND;
    if (arena_copy(&call->journal.mem, http_param(req, "webhook"), &call->journal.webhook.id)) {
        journal_call_post(call);
        return;
    }
    journal_call_free(call);
    (void)api_no_memory(req);
}
