/* Runs: make one (in the background, streamed, waited for, several), look, cancel, delete,
 * join. */
#include "api/langgraph.h"

#include "api/admit.h"
#include "api/jobs.h"
#include "auth/access.h"
#include "auth/permit.h"
#include "base/error.h"
#include "http/header.h"
#include "jobs/merge.h"

enum { MAX_DEPTH = 100, MAX_BATCH = 100, DEFAULT_LIST = 10, MAX_LIST = 1000 };

/* --- a RunCreate --------------------------------------------------------------------- */

/* What a worker gets as it was sent. */
static const struct {
    const char *name, *camel;
} passed_on[] = {
    { "command", NULL },
    { "checkpoint", NULL },
    { "checkpoint_id", "checkpointId" },
    { "interrupt_before", "interruptBefore" },
    { "interrupt_after", "interruptAfter" },
    { "durability", NULL },
    { "checkpoint_during", "checkpointDuring" },
    { "feedback_keys", "feedbackKeys" },
    { "langsmith_tracer", NULL },
    { "on_completion", "onCompletion" },
};

static void put_member(struct buf *b, const char *name, const yyjson_val *value)
{
    if (json_is_null(value))
        return;
    if (b->n > 1)
        buf_char(b, ',');
    json_put_str(b, str_of(name));
    buf_char(b, ':');
    json_put_value(b, value);
}

static void put_text_member(struct buf *b, const char *name, struct str value)
{
    if (b->n > 1)
        buf_char(b, ',');
    json_put_str(b, str_of(name));
    buf_char(b, ':');
    json_put_str(b, value);
}

static bool is_passed_on(struct str name)
{
    char low[64];

    if (name.n < 3 || name.n >= sizeof(low))
        return false;
    return header_is(name, "user-agent") ||
           ((name.p[0] == 'x' || name.p[0] == 'X') && name.p[1] == '-' &&
            !header_is(name, "x-api-key") && !header_is(name, "x-tenant-id") &&
            !header_is(name, "x-service-key"));
}

/* Headers that graphs may look at, by their names in small letters. */
static void put_headers(struct buf *b, const struct http_request *req)
{
    struct str name, value;

    buf_char(b, '{');
    for (size_t i = 0; http_header_at(req, i, &name, &value); i++) {
        char low[64];

        if (!is_passed_on(name))
            continue;
        for (size_t k = 0; k < name.n; k++)
            low[k] = name.p[k] >= 'A' && name.p[k] <= 'Z' ? (char)(name.p[k] + 32) : name.p[k];
        low[name.n] = '\0';
        put_text_member(b, low, value);
    }
    buf_char(b, '}');
}

/* The run's, above its assistant's. */
static void put_configurable(struct buf *b, const struct call *call, const yyjson_val *config)
{
    struct str under = call->assistant != NULL ? call->assistant->config : STR("{}");
    struct json_reader reader;
    struct buf low, high;
    struct json j;

    json_reader_init(&reader, SIZE_MAX / 64, 256);
    buf_init(&low, SIZE_MAX / 4);
    buf_init(&high, SIZE_MAX / 4);
    if (json_read(&reader, under, &j, NULL) == 0)
        json_put_value(&low, json_at(j.root, "configurable"));
    json_put_value(&high, json_at(config, "configurable"));
    merge_objects(b, buf_text(&low), buf_text(&high));
    if (low.error != 0 || high.error != 0)
        b->error = ERR_NOMEM;
    buf_done(&low);
    buf_done(&high);
    json_reader_done(&reader);
}

/* The same of the context. */
static void put_context(struct buf *b, const struct call *call, const yyjson_val *context)
{
    struct buf given;

    if (json_is_null(context) &&
        (call->assistant == NULL || str_is(call->assistant->context, "{}")))
        return;
    buf_init(&given, SIZE_MAX / 4);
    json_put_value(&given, context);
    if (b->n > 1)
        buf_char(b, ',');
    buf_lit(b, "\"context\":");
    merge_objects(b, call->assistant != NULL ? call->assistant->context : STR_NONE,
                  buf_text(&given));
    if (given.error != 0)
        b->error = given.error;
    buf_done(&given);
}

/* The config with `configurable` as graphs expect it: the headers, what the client says, and
 * whose run it is. */
static void put_config(struct buf *out, const struct call *call, const yyjson_val *config)
{
    const struct journal_request *j = &call->journal;
    struct buf headers, given, ids, merged, over;
    struct buf *const all[] = { &headers, &given, &ids, &merged, &over };

    for (size_t i = 0; i < 5; i++)
        buf_init(all[i], SIZE_MAX / 4);
    put_headers(&headers, call->req);
    put_configurable(&given, call, config);
    buf_char(&ids, '{');
    put_text_member(&ids, "run_id", j->row.id);
    put_text_member(&ids, "thread_id", j->thread_row.id);
    put_text_member(&ids, "graph_id", j->row.agent);
    put_text_member(&ids, "assistant_id", j->run.assistant);
    buf_char(&ids, '}');
    merge_objects(&merged, buf_text(&headers), buf_text(&given));
    buf_lit(&over, "{\"configurable\":");
    merge_objects(&over, buf_text(&merged), buf_text(&ids));
    buf_char(&over, '}');
    buf_clear(&given);
    buf_clear(&merged);
    json_put_value(&given, config);
    merge_objects(&merged, call->assistant != NULL ? call->assistant->config : STR_NONE,
                  buf_text(&given));
    merge_objects(out, buf_text(&merged), buf_text(&over));
    for (size_t i = 0; i < 5; i++) {
        if (all[i]->error != 0)
            out->error = all[i]->error;
        buf_done(all[i]);
    }
}

static void put_modes(struct buf *b, const yyjson_val *modes)
{
    buf_lit(b, ",\"stream_mode\":");
    if (json_is_null(modes)) {
        buf_lit(b, "[\"values\"]");
    } else if (yyjson_is_arr((yyjson_val *)(uintptr_t)modes)) {
        json_put_value(b, modes);
    } else {
        buf_char(b, '[');
        json_put_value(b, modes);
        buf_char(b, ']');
    }
}

static bool fill_kwargs(struct call *call, const yyjson_val *body)
{
    struct run_row *run = &call->journal.run;
    struct buf b;

    buf_init(&b, SIZE_MAX / 4);
    buf_char(&b, '{');
    for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
        put_member(&b, passed_on[i].name,
                   langgraph_member(body, passed_on[i].name, passed_on[i].camel));
    put_context(&b, call, json_at(body, "context"));
    if (b.n > 1)
        buf_char(&b, ',');
    buf_lit(&b, "\"config\":");
    put_config(&b, call, json_at(body, "config"));
    put_modes(&b, langgraph_member(body, "stream_mode", "streamMode"));
    buf_lit(&b, ",\"stream_subgraphs\":");
    buf_str(&b, run->subgraphs ? STR("true") : STR("false"));
    buf_char(&b, '}');
    bool ok = b.error == 0 && arena_copy(&call->journal.mem, buf_text(&b), &run->kwargs);
    buf_done(&b);
    return ok;
}

/* The client's, with whose run it is below it. */
static bool fill_metadata(struct call *call, const yyjson_val *metadata)
{
    struct journal_request *j = &call->journal;
    struct buf own, below, given, merged;

    buf_init(&own, 4096);
    buf_init(&below, SIZE_MAX / 4);
    buf_init(&given, SIZE_MAX / 4);
    buf_init(&merged, SIZE_MAX / 4);
    buf_lit(&own, "{\"created_by\":\"system\",\"graph_id\":");
    json_put_str(&own, j->row.agent);
    buf_lit(&own, ",\"assistant_id\":");
    json_put_str(&own, j->run.assistant);
    buf_char(&own, '}');
    merge_objects(&below, call->assistant != NULL ? call->assistant->metadata : STR_NONE,
                  buf_text(&own));
    json_put_value(&given, metadata);
    merge_objects(&merged, buf_text(&below), buf_text(&given));
    bool ok = own.error == 0 && below.error == 0 && given.error == 0 && merged.error == 0 &&
              arena_copy(&j->mem, buf_text(&merged), &j->run.metadata);
    buf_done(&own);
    buf_done(&below);
    buf_done(&given);
    buf_done(&merged);
    return ok;
}

/* One of a few words, or the first of them. */
static bool read_word(struct call *call,
                      const yyjson_val *value,
                      const char *name,
                      const char *const *words,
                      struct str *ret)
{
    struct str given = json_text(value);

    *ret = str_of(words[0]);
    if (json_is_null(value))
        return true;
    for (size_t i = 0; words[i] != NULL; i++) {
        *ret = str_of(words[i]);
        if (str_eq(given, *ret))
            return true;
    }
    http_respond_error(call->req, 422, "\"%s\" cannot be '%.*s'", name,
                       STR_ARG(str_head(given, 40)));
    return false;
}

static bool read_words(struct call *call, const yyjson_val *body)
{
    static const char *const strategies[] = { "enqueue", "reject", "interrupt", "rollback",
                                              NULL };
    static const char *const absences[] = { "reject", "create", NULL };
    static const char *const leavings[] = { "continue", "cancel", NULL };
    struct journal_request *j = &call->journal;
    struct str absence, leaving;

    if (!read_word(call, langgraph_member(body, "multitask_strategy", "multitaskStrategy"),
                   "multitask_strategy", strategies, &j->run.strategy) ||
        !read_word(call, langgraph_member(body, "if_not_exists", "ifNotExists"),
                   "if_not_exists", absences, &absence) ||
        !read_word(call, langgraph_member(body, "on_disconnect", "onDisconnect"),
                   "on_disconnect", leavings, &leaving))
        return false;
    j->if_absent = j->thread_row.is_temporary != 0 || str_is(absence, "create");
    call->cancels = str_is(leaving, "cancel");
    return true;
}

static bool read_delay(struct call *call, const yyjson_val *value)
{
    int64_t seconds = json_is_null(value) ? 0 : json_int(value, -1);

    if (seconds < 0 || seconds > 366 * 86400) {
        http_respond_error(call->req, 422,
                           "\"after_seconds\" must be a whole number, at most a "
                           "year");
        return false;
    }
    call->journal.row.not_before = seconds > 0 ? api_now_ms() + seconds * 1000 : 0;
    return true;
}

static bool read_thread_id(struct call *call)
{
    struct journal_request *j = &call->journal;
    struct str thread = http_param(call->req, "thread");

    j->thread_row.is_temporary = str_absent(thread);
    if (!str_absent(thread) && !job_id_valid(thread)) {
        http_respond_error(call->req, 422,
                           "a thread's id is 1 to 64 of letters, digits, _ and -");
        return false;
    }
    if (str_absent(thread) ? langgraph_make_id(&j->mem, &j->thread_row.id)
                           : arena_copy(&j->mem, thread, &j->thread_row.id))
        return true;
    http_respond_error(call->req, 503, "out of memory");
    return false;
}

bool langgraph_read_run(struct call *call, const yyjson_val *body)
{
    struct journal_request *j = &call->journal;
    yyjson_val *assistant = langgraph_member(body, "assistant_id", "assistantId");
    yyjson_val *command = json_at(body, "command");
    yyjson_val *subgraphs = langgraph_member(body, "stream_subgraphs", "streamSubgraphs");
    char id[KEY_UUID_CHARS];
    struct str graph, run;
    uint32_t modes;

    if (json_text(assistant).n == 0) {
        http_respond_error(call->req, 422,
                           "\"assistant_id\" must be an assistant's id or a graph's name");
        return false;
    }
    if (call->assistant == NULL &&
        !langgraph_find_graph(call->req, json_text(assistant), &graph, id))
        return false;
    if (call->assistant != NULL)
        graph = call->assistant->graph;
    if (!read_thread_id(call) || !read_words(call, body) ||
        !read_delay(call, langgraph_member(body, "after_seconds", "afterSeconds")) ||
        !langgraph_read_modes(call->req, langgraph_member(body, "stream_mode", "streamMode"),
                              &modes))
        return false;
    j->run.modes = modes;
    j->run.subgraphs = yyjson_is_true(subgraphs);
    if (!langgraph_make_id(&j->mem, &run) ||
        !arena_copy(&j->mem,
                    call->assistant != NULL ? call->assistant->id : str_make(id, sizeof(id)),
                    &j->run.assistant)) {
        http_respond_error(call->req, 503, "out of memory");
        return false;
    }
    /* Some clients send both: the command is what is meant. */
    if (!jobs_fill_submit(call, graph, json_is_null(command) ? json_at(body, "input") : NULL,
                          run, 0))
        return false;
    if (fill_kwargs(call, body) && fill_metadata(call, json_at(body, "metadata")) &&
        langgraph_keep_json(&j->mem, json_at(command, "resume"), &j->resume))
        return true;
    http_respond_error(call->req, 503, "out of memory");
    return false;
}

static bool read_run(struct call *call, struct json_reader *reader)
{
    struct json json;

    return api_read_body(call->req, reader, buf_text(&call->body), &json) &&
           langgraph_read_run(call, json.root);
}

/* --- making one ---------------------------------------------------------------------- */

/* What the journal refuses is the client's mistake (422), or as it always is. */
static bool refused(struct call *call)
{
    if (call->journal.code != ERR_TYPE)
        return call_refused(call);
    http_respond_error(call->req, 422, "%s", call->journal.why.text);
    return true;
}

/* The thread that the client knows of. */
static struct str thread_of(const struct call *call)
{
    return call->journal.thread_row.is_temporary ? STR_NONE : call->journal.thread_row.id;
}

static void answer_create(struct call *call)
{
    if (refused(call))
        return;
    langgraph_set_location(call->req, thread_of(call), call->journal.row.id, NULL);
    langgraph_put_new_run(&call->out, &call->journal);
    api_json(call->req, 200, &call->out);
}

/* It was taken before the run was made: a refusal afterwards would make another. */
static struct permit *permit_of(struct call *call)
{
    struct permit *permit = call->permit;

    call->permit = NULL;
    return permit;
}

static void answer_stream(struct call *call)
{
    const struct journal_request *j = &call->journal;

    if (refused(call))
        return;
    langgraph_set_location(call->req, thread_of(call), j->row.id, "stream");
    langgraph_stream(call->req, permit_of(call), j->row.id, (uint32_t)j->run.modes,
                     j->run.subgraphs != 0, call->cancels);
}

static void answer_wait(struct call *call)
{
    if (refused(call))
        return;
    langgraph_set_location(call->req, thread_of(call), call->journal.row.id,
                           call->journal.thread_row.is_temporary ? NULL : "join");
    langgraph_wait(call->req, permit_of(call), call->journal.row.id, call->cancels, false);
}

static void submit(struct http_request *req,
                   const struct assistant_row *assistant,
                   void (*answer)(struct call *),
                   bool reads)
{
    struct permit *permit = NULL;
    bool may = !reads || api_take_permit(req, &permit);
    struct call *call = may ? call_new(req, JOURNAL_SUBMIT, answer) : NULL;

    if (call == NULL) {
        permit_free(permit);
        return;
    }
    call->permit = permit;
    call->assistant = assistant;
    call_read(call, MAX_DEPTH, read_run);
}

/* Whose assistant is it?  What cannot be read is refused later. */
static void find_assistant(struct http_request *req,
                           void (*then)(struct http_request *, const struct assistant_row *))
{
    struct json_reader reader;
    struct json json;

    json_reader_init(&reader, SIZE_MAX / 64, MAX_DEPTH);
    bool is_body = json_read(&reader, http_body(req), &json, NULL) == 0;
    struct str id = is_body
                        ? json_text(langgraph_member(json.root, "assistant_id", "assistantId"))
                        : STR_NONE;
    if (id.n > 0)
        langgraph_with_assistant(req, id, then);
    else
        then(req, NULL);
    json_reader_done(&reader);
}

static void create(struct http_request *req, const struct assistant_row *assistant)
{
    submit(req, assistant, answer_create, false);
}

void api_run_create(struct http_request *req, void *arg)
{
    (void)arg;
    find_assistant(req, create);
}

static void stream(struct http_request *req, const struct assistant_row *assistant)
{
    submit(req, assistant, answer_stream, true);
}

void api_run_stream(struct http_request *req, void *arg)
{
    (void)arg;
    find_assistant(req, stream);
}

static void wait_for(struct http_request *req, const struct assistant_row *assistant)
{
    submit(req, assistant, answer_wait, true);
}

void api_run_wait(struct http_request *req, void *arg)
{
    (void)arg;
    find_assistant(req, wait_for);
}

/* --- several, one after another ------------------------------------------------------- */

static void answer_item(struct call *call);

static bool read_item(struct call *call, struct json_reader *reader)
{
    struct json json;

    if (json_read(reader, buf_text(&call->body), &json, NULL) != 0 ||
        !yyjson_is_arr(json.root) || yyjson_arr_size(json.root) > MAX_BATCH) {
        http_respond_error(call->req, 422, "the body must be a list of at most %d runs",
                           MAX_BATCH);
        return false;
    }
    yyjson_val *item = yyjson_arr_get(json.root, call->item - 1);
    if (item == NULL) {
        buf_char(&call->out, ']');
        api_json(call->req, 200, &call->out);
        return false;
    }
    return langgraph_read_run(call, item);
}

static void next_item(struct http_request *req, struct call *before)
{
    struct call *call = call_new(req, JOURNAL_SUBMIT, answer_item);

    if (call == NULL)
        return;
    call->item = before != NULL ? before->item + 1 : 1;
    buf_char(&call->out, '[');
    if (before != NULL) {
        struct buf empty = call->out;

        call->out = before->out;
        before->out = empty;
    }
    call_read(call, MAX_DEPTH, read_item);
}

static void answer_item(struct call *call)
{
    if (refused(call))
        return;
    if (call->item > 1)
        buf_char(&call->out, ',');
    langgraph_put_new_run(&call->out, &call->journal);
    next_item(call->req, call);
}

void api_run_batch(struct http_request *req, void *arg)
{
    (void)arg;
    next_item(req, NULL);
}

/* --- looking ------------------------------------------------------------------------- */

static void run_run(struct task *task, struct store *store)
{
    struct look *look = look_of(task);
    struct error err = { 0 };
    struct job_row row;

    if (langgraph_get_run(look, store, &row) &&
        langgraph_put_run(&look->out, store, &row, (struct selection){ 0 }, &err) != 0)
        langgraph_broke(look, &err);
}

void api_run(struct http_request *req, void *arg)
{
    struct look *look = langgraph_look_at_run(req, run_run);

    (void)arg;
    if (look != NULL)
        look_post(look);
}

struct listing {
    struct selection select;
    struct str status; /* absent: any */
    size_t limit, offset;
    size_t n;
    struct look *look;
    struct store *store;
    struct error err;
    int code;
};

static int on_run(void *arg, const struct job_row *row)
{
    struct listing *l = arg;

    if (langgraph_is_hidden(row) ||
        (!str_absent(l->status) && !str_eq(l->status, langgraph_run_status(row))))
        return 0;
    size_t at = l->n++;
    if (at < l->offset)
        return 0;
    if (at - l->offset >= l->limit)
        return 1;
    if (at > l->offset)
        buf_char(&l->look->out, ',');
    l->code = langgraph_put_run(&l->look->out, l->store, row, l->select, &l->err);
    return l->code;
}

static void run_list(struct task *task, struct store *store)
{
    struct look *look = look_of(task);
    struct listing *l = look->data;
    struct thread_row thread;

    if (!langgraph_get_thread(look, store, str_make(look->job, look->job_n), &thread))
        return;
    l->look = look;
    l->store = store;
    buf_char(&look->out, '[');
    int code = store_thread_jobs(store, thread.key, on_run, l, &l->err);
    buf_char(&look->out, ']');
    if (code != 0 || l->code != 0)
        langgraph_broke(look, &l->err);
}

void api_runs(struct http_request *req, void *arg)
{
    int64_t limit, offset;
    bool is_good = jobs_read_number(req, "limit", DEFAULT_LIST, &limit) &&
                   jobs_read_number(req, "offset", 0, &offset);
    struct look *look = is_good ? look_new(req, http_param(req, "thread"), run_list) : NULL;
    struct listing *l = look != NULL ? arena_alloc(&look->mem, sizeof(*l)) : NULL;

    (void)arg;
    if (look == NULL)
        return;
    if (l != NULL) {
        *l = (struct listing){ .select = langgraph_select_query(langgraph_run_members, req),
                               .limit = limit < MAX_LIST ? (size_t)limit : MAX_LIST,
                               .offset = (size_t)offset };
        look->data = l;
    }
    if (l != NULL && arena_copy(&look->mem, http_query(req, "status"), &l->status)) {
        look_post(look);
        return;
    }
    look_free(look);
    http_respond_error(req, 503, "out of memory");
}

/* --- cancel and delete ----------------------------------------------------------------- */

static void answer_deleted(struct call *call)
{
    if (!call_refused(call))
        http_respond(call->req, 204, NULL, STR_NONE);
}

/* One that has ended needs no cancelling. */
static void answer_cancelled(struct call *call)
{
    if (call->journal.code != ERR_CLOSED && call_refused(call))
        return;
    if (call->journal.code == 0 && langgraph_flag(call->req, "wait"))
        langgraph_wait(call->req, NULL, call->journal.row.id, false, true);
    else
        http_respond(call->req, langgraph_flag(call->req, "wait") ? 204 : 202, NULL, STR_NONE);
}

static void post(struct http_request *req, enum journal_op op, void (*answer)(struct call *))
{
    struct call *call = call_new(req, op, answer);

    if (call == NULL)
        return;
    call->journal.rolls_back = str_is(http_query(req, "action"), "rollback");
    if (arena_copy(&call->journal.mem, http_param(req, "run"), &call->journal.job) &&
        arena_copy(&call->journal.mem, http_param(req, "thread"),
                   &call->journal.thread_row.id)) {
        call_post(call);
        return;
    }
    call_free(call);
    http_respond_error(req, 503, "out of memory");
}

void api_run_delete(struct http_request *req, void *arg)
{
    (void)arg;
    post(req, JOURNAL_DELETE, answer_deleted);
}

void api_run_cancel(struct http_request *req, void *arg)
{
    struct str action = http_query(req, "action");

    (void)arg;
    if (str_absent(action) || str_is(action, "interrupt") || str_is(action, "rollback"))
        post(req, JOURNAL_CANCEL, answer_cancelled);
    else
        http_respond_error(req, 422, "action must be interrupt or rollback");
}

/* --- several, one after another --- */

static void cancel_next(struct http_request *req, size_t item);

static void answer_next_cancel(struct call *call)
{
    int code = call->journal.code;

    if (code != ERR_CLOSED && code != ERR_NOT_FOUND && call_refused(call))
        return;
    cancel_next(call->req, call->item + 1);
}

static bool read_cancel(struct call *call, struct json_reader *reader)
{
    struct journal_request *j = &call->journal;
    struct json json;

    if (!api_read_body(call->req, reader, buf_text(&call->body), &json))
        return false;
    yyjson_val *ids = langgraph_member(json.root, "run_ids", "runIds");
    struct str thread = json_text(langgraph_member(json.root, "thread_id", "threadId"));
    struct str run = json_text(yyjson_arr_get(ids, call->item));
    if (!yyjson_is_arr(ids) || str_absent(thread)) {
        http_respond_error(call->req, 422,
                           "\"thread_id\" and \"run_ids\" must say which runs are meant");
        return false;
    }
    if (call->item >= yyjson_arr_size(ids)) {
        http_respond(call->req, 204, NULL, STR_NONE);
        return false;
    }
    if (arena_copy(&j->mem, thread, &j->thread_row.id) &&
        arena_copy(&j->mem, str_absent(run) ? STR("") : run, &j->job))
        return true;
    http_respond_error(call->req, 503, "out of memory");
    return false;
}

static void cancel_next(struct http_request *req, size_t item)
{
    struct call *call = call_new(req, JOURNAL_CANCEL, answer_next_cancel);

    if (call == NULL)
        return;
    call->item = item;
    call->journal.rolls_back = str_is(http_query(req, "action"), "rollback");
    call_read(call, MAX_DEPTH, read_cancel);
}

void api_runs_cancel(struct http_request *req, void *arg)
{
    (void)arg;
    cancel_next(req, 0);
}

/* --- joining ---------------------------------------------------------------------------- */

/* What a run was made with; found on the pool, used on the loop. */
struct joining {
    struct run_look what; /* first: the look's data */
    uint32_t modes;       /* asked for; 0: the run's own */
    bool cancels, subgraphs;
};

static void run_join(struct task *task, struct store *store)
{
    struct look *look = look_of(task);
    struct joining *j = look->data;
    struct error err = { 0 };
    struct job_row row;
    struct run_row run;

    if (!langgraph_get_run(look, store, &row))
        return;
    if (store_run_get(store, row.key, &run, &err) != 0) {
        langgraph_broke(look, &err);
        return;
    }
    j->subgraphs = run.subgraphs != 0;
    if (j->modes == 0)
        j->modes = (uint32_t)run.modes;
}

static void begin_join(struct look *look, bool streams)
{
    const struct joining *j = look->data;
    struct http_request *req = look->req;
    struct str run = str_make(look->job, look->job_n);
    struct permit *permit;

    http_on_gone(req, NULL, NULL);
    if (!api_take_permit(req, &permit))
        return;
    if (streams) {
        langgraph_set_location(req, j->what.thread, run, "stream");
        langgraph_stream(req, permit, run, j->modes, j->subgraphs, j->cancels);
    } else {
        langgraph_wait(req, permit, run, j->cancels, false);
    }
}

static void on_found(struct task *task, bool streams)
{
    struct look *look = look_of(task);

    if (look->req == NULL || look->status != 200) {
        look_answer(task);
        return;
    }
    begin_join(look, streams);
    look_free(look);
}

static void on_found_stream(struct task *task)
{
    on_found(task, true);
}

static void on_found_join(struct task *task)
{
    on_found(task, false);
}

static void join(struct http_request *req, void (*done)(struct task *))
{
    uint32_t modes;
    bool is_good = langgraph_read_query_modes(req, &modes);
    struct look *look = is_good ? langgraph_look_at_run(req, run_join) : NULL;
    struct joining *j = look != NULL ? arena_alloc(&look->mem, sizeof(*j)) : NULL;

    if (look == NULL)
        return;
    if (j == NULL) {
        look_free(look);
        http_respond_error(req, 503, "out of memory");
        return;
    }
    *j = (struct joining){ .what = *(const struct run_look *)look->data,
                           .modes = modes,
                           .cancels = langgraph_flag(req, "cancel_on_disconnect") &&
                                      (api_token(req)->access & ACCESS_CLIENT) != 0 };
    look->data = j;
    look->task.done = done;
    look_post(look);
}

void api_run_join(struct http_request *req, void *arg)
{
    (void)arg;
    join(req, on_found_join);
}

void api_run_join_stream(struct http_request *req, void *arg)
{
    (void)arg;
    join(req, on_found_stream);
}
