/* Creates, shows, changes and deletes crons (journal/crons.c).
 *
 * The body of a cron is that of a run, with a schedule.  It is read as a run's when the cron is
 * created, so that a mistake is found then and not at its first tick, and is kept as it is:
 * each tick reads it again (cron_ticks.c), with the assistant as it is at that time. */
#include "api/langgraph/crons.h"

#include "api/authorization.h"
#include "api/langgraph/cron_user.h"
#include "auth/token.h"
#include "base/calendar.h"
#include "base/error.h"
#include "jobs/job_scope.h"

/* --- what is shown ------------------------------------------------------------------------ */

const char *const crons_members[] = { "cron_id",       "assistant_id",     "thread_id",
                                      "user_id",       "on_run_completed", "end_time",
                                      "schedule",      "timezone",         "payload",
                                      "next_run_date", "metadata",         "enabled",
                                      "created_at",    "updated_at",       NULL };

void crons_put(struct buf *b, const struct cron_row *row, struct selection select)
{
    struct shape s = { .b = b, .members = crons_members, .select = select };
    struct buf payload LOCAL_BUF(SIZE_MAX / 4);
    struct buf user LOCAL_BUF(SIZE_MAX / 4);

    cron_user_hide(row->payload, &payload, &user);
    json_begin(b);
    shape_text(&s, "cron_id", row->id);
    shape_text(&s, "assistant_id", row->assistant);
    shape_text(&s, "thread_id", row->thread);
    shape_text(&s, "user_id",
               row->owner.n > 0 ? row->owner
               : user.n > 0     ? buf_text(&user)
                                : STR_NONE);
    shape_text(&s, "on_run_completed", row->on_completed);
    shape_time(&s, "end_time", row->end_time);
    shape_text(&s, "schedule", row->schedule);
    shape_text(&s, "timezone", row->timezone);
    shape_json(&s, "payload", buf_text(&payload));
    shape_time(&s, "next_run_date", row->next);
    shape_json(&s, "metadata", row->metadata);
    shape_json(&s, "enabled", row->enabled != 0 ? STR("true") : STR("false"));
    shape_time(&s, "created_at", row->created);
    shape_time(&s, "updated_at", row->updated);
    json_end(b);
    if (payload.error != 0 || user.error != 0)
        b->error = ERR_NOMEM;
}

static void answer_cron(struct journal_call *call)
{
    if (langgraph_refused_run(call))
        return;
    crons_put(&call->out, &call->journal.cron.row, (struct selection){ 0 });
    api_json(call->req, 200, &call->out);
}

/* --- a body ------------------------------------------------------------------------------- */

static bool fail(struct journal_call *call, const char *what)
{
    return http_respond_error(call->req, 422, "%s", what);
}

static bool read_text(struct journal_call *call,
                      const yyjson_val *value,
                      const char *name,
                      struct str *ret)
{
    if (!json_is_null(value) && str_empty(json_text(value)))
        return http_respond_error(call->req, 422, "\"%s\" must be a text", name);
    return arena_copy(&call->journal.mem, json_text(value), ret) || api_no_memory(call->req);
}

static bool read_end(struct journal_call *call, const yyjson_val *value, int64_t *ret)
{
    *ret = 0;
    return json_is_null(value) || calendar_read(json_text(value), ret) ||
           fail(call, "\"end_time\" must be a time such as 2026-12-31T23:59:59Z");
}

static bool read_enabled(struct journal_call *call, const yyjson_val *value, int64_t *ret)
{
    *ret = !yyjson_is_false((yyjson_val *)(uintptr_t)value);
    return json_is_null(value) || yyjson_is_bool((yyjson_val *)(uintptr_t)value) ||
           fail(call, "\"enabled\" must be true or false");
}

static bool read_completed(struct journal_call *call, const yyjson_val *value, struct str *ret)
{
    struct str word = json_text(value);

    *ret = str_is(word, "keep")     ? STR("keep")
           : str_is(word, "delete") ? STR("delete")
                                    : STR_NONE;
    return json_is_null(value) || !str_absent(*ret) ||
           fail(call, "\"on_run_completed\" must be delete or keep");
}

/* What a client may set, on create and on update. */
static bool read_members(struct journal_call *call, const yyjson_val *body)
{
    struct cron_request *c = &call->journal.cron;
    yyjson_val *end = langgraph_member(body, "end_time", "endTime");
    yyjson_val *metadata = json_at(body, "metadata");

    if (!json_is_null(metadata) && !yyjson_is_obj(metadata))
        return fail(call, "\"metadata\" must be an object");
    c->sets_end = end != NULL;
    c->sets_enabled = !json_is_null(json_at(body, "enabled"));
    return read_text(call, json_at(body, "schedule"), "schedule", &c->row.schedule) &&
           read_text(call, json_at(body, "timezone"), "timezone", &c->row.timezone) &&
           read_end(call, end, &c->row.end_time) &&
           read_enabled(call, json_at(body, "enabled"), &c->row.enabled) &&
           read_completed(call, langgraph_member(body, "on_run_completed", "onRunCompleted"),
                          &c->row.on_completed) &&
           (langgraph_keep_json(&call->journal.mem, metadata, &c->row.metadata) ||
            api_no_memory(call->req));
}

/* --- creating ----------------------------------------------------------------------------- */

/* Is it the body of a run that could be created now?  False: answered. */
static bool is_run(struct http_request *req,
                   const struct assistant_row *assistant,
                   const yyjson_val *body)
{
    struct journal_call *run = journal_call_new(req, JOURNAL_SUBMIT, NULL);

    if (run == NULL)
        return false;
    run->assistant = assistant;
    bool ok = langgraph_read_run(run, body);
    journal_call_free(run);
    return ok;
}

/* The body, without what only the server says. */
static void put_without(struct buf *b, const yyjson_val *body)
{
    yyjson_obj_iter it = yyjson_obj_iter_with((yyjson_val *)(uintptr_t)body);

    json_begin(b);
    for (yyjson_val *key; (key = yyjson_obj_iter_next(&it)) != NULL;) {
        struct str name = json_text(key);

        if (str_is(name, "assistant_id") || str_is(name, "assistantId") ||
            str_is(name, CRON_USER))
            continue;
        json_put_key(b, name);
        json_put_value(b, yyjson_obj_iter_get_val(key));
    }
}

static bool keep_payload(struct journal_call *call,
                         const yyjson_val *body,
                         struct cron_row *row)
{
    struct buf b LOCAL_BUF(SIZE_MAX / 4);

    put_without(&b, body);
    json_add_str(&b, "assistant_id", row->assistant);
    cron_user_put(&b, authorization_of(call->req));
    json_end(&b);
    return b.error == 0 && arena_copy(&call->journal.mem, buf_text(&b), &row->payload);
}

static bool read_new(struct journal_call *call, struct json_reader *reader)
{
    struct cron_row *row = &call->journal.cron.row;
    struct arena *mem = &call->journal.mem;
    const struct token_limits *limits = &call->token->limits;
    struct str thread = http_param(call->req, "thread");
    struct json j;

    if (!api_read_body(call->req, reader, buf_text(&call->body), &j) ||
        !is_run(call->req, call->assistant, j.root) || !read_members(call, j.root))
        return false;
    if (str_absent(row->schedule))
        return fail(call, "\"schedule\" must be a cron expression, such as \"*/5 * * * *\"");
    row->owner = str_absent(call->token->owner) ? STR("") : call->token->owner;
    row->max_jobs = limits->jobs;
    row->max_queued = limits->queued;
    row->max_running = limits->running;
    if (!str_absent(thread))
        row->on_completed = STR_NONE;
    else if (str_absent(row->on_completed))
        row->on_completed = STR("delete");
    if (str_absent(row->metadata))
        row->metadata = STR("{}");
    return (langgraph_make_id(mem, &row->id) &&
            arena_copy(mem, call->assistant->id, &row->assistant) &&
            keep_payload(call, j.root, row) &&
            arena_copy(mem, thread, &call->journal.thread)) ||
           api_no_memory(call->req);
}

static void create(struct http_request *req, const struct assistant_row *assistant)
{
    struct journal_call *call;

    if (assistant == NULL) {
        langgraph_refuse_assistant(req);
        return;
    }
    call = journal_call_new(req, JOURNAL_CRON_CREATE, answer_cron);
    if (call == NULL)
        return;
    call->assistant = assistant;
    journal_call_read(call, LANGGRAPH_MAX_DEPTH, read_new);
}

void api_cron_create(struct http_request *req)
{
    langgraph_with_assistant_of_body(req, create);
}

/* --- changing ----------------------------------------------------------------------------- */

static bool read_id(struct journal_call *call)
{
    return arena_copy(&call->journal.mem, http_param(call->req, "cron"),
                      &call->journal.cron.row.id) ||
           api_no_memory(call->req);
}

/* The assistant of a cron stays, and so does its user. */
static bool keep_changes(struct journal_call *call, const yyjson_val *body)
{
    struct buf changes LOCAL_BUF(SIZE_MAX / 4);

    put_without(&changes, body);
    json_end(&changes);
    return changes.error == 0 &&
           arena_copy(&call->journal.mem, buf_text(&changes), &call->journal.cron.row.payload);
}

static bool read_patch(struct journal_call *call, struct json_reader *reader)
{
    struct json j;

    if (!api_read_body(call->req, reader, buf_text(&call->body), &j))
        return false;
    if (yyjson_obj_size(j.root) == 0)
        return http_respond_error(call->req, 400, "Request body cannot be empty");
    return langgraph_one_context(call->req, json_at(j.root, "config"),
                                 json_at(j.root, "context")) &&
           read_id(call) && read_members(call, j.root) &&
           (keep_changes(call, j.root) || api_no_memory(call->req));
}

void api_cron_patch(struct http_request *req)
{
    struct journal_call *call = journal_call_new(req, JOURNAL_CRON_PATCH, answer_cron);

    if (call != NULL)
        journal_call_read(call, LANGGRAPH_MAX_DEPTH, read_patch);
}

void api_cron_delete(struct http_request *req)
{
    struct journal_call *call =
        journal_call_new(req, JOURNAL_CRON_DELETE, journal_call_answer_empty);

    if (call == NULL)
        return;
    if (read_id(call))
        journal_call_post(call);
    else
        journal_call_free(call);
}

/* --- one cron ----------------------------------------------------------------------------- */

bool crons_is_visible(const struct store_query *query, const struct cron_row *row)
{
    return job_scope_includes(store_query_job_scope(query), row->id,
                              row->owner.n > 0 ? row->owner : STR_NONE);
}

static int on_cron(void *arg, const struct cron_row *row)
{
    struct store_query *query = arg;

    if (crons_is_visible(query, row))
        crons_put(&query->out, row, (struct selection){ 0 });
    return 1;
}

static void run_cron(struct thread_task *task, struct store *store)
{
    struct store_query *query = store_query_of(task);
    struct str id = str_make(query->job, query->job_n);
    struct error why = { 0 };

    if (store_cron(store, id, on_cron, query, &why) != 0) {
        store_query_broke(query, &why);
    } else if (query->out.n == 0) {
        query->status = 404;
        buf_lit(&query->out, "Cron '");
        buf_str(&query->out, id);
        buf_lit(&query->out, "' not found");
    }
}

void api_cron(struct http_request *req)
{
    struct store_query *query = store_query_new(req, http_param(req, "cron"), run_cron);

    if (query != NULL)
        store_query_post(query);
}
