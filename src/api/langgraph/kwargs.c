/* The arguments of a run: the kwargs that its worker gets, and its metadata.
 *
 * In the config, the client's values override the assistant's, and the run's ids override both;
 * in the metadata, the client's values win. */
#include "api/langgraph/langgraph.h"

#include "api/authorization.h"
#include "base/error.h"
#include "http/header.h"
#include "base/json_merge.h"

enum { MAX_HEADER_NAME = 64 };

/* Members that are passed to the worker unchanged. */
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
    { "webhook", NULL },
};

static void put_member(struct buf *b, const char *name, const yyjson_val *value)
{
    if (json_is_null(value))
        return;
    json_put_key(b, str_of(name));
    json_put_value(b, value);
}

/* Does the name, whatever the case of its letters, match a pattern in which "*" is any text? */
static bool is_like(struct str name, struct str pattern)
{
    while (pattern.n > 0 && pattern.p[0] != '*') {
        if (name.n == 0 || !header_eq(str_head(name, 1), str_head(pattern, 1)))
            return false;
        name = str_skip(name, 1);
        pattern = str_skip(pattern, 1);
    }
    if (pattern.n == 0)
        return name.n == 0;
    for (size_t i = 0; i <= name.n; i++)
        if (is_like(str_skip(name, i), str_skip(pattern, 1)))
            return true;
    return false;
}

static bool is_listed(char *const *patterns, struct str name)
{
    for (size_t i = 0; patterns != NULL && patterns[i] != NULL; i++)
        if (is_like(name, str_of(patterns[i])))
            return true;
    return false;
}

static bool is_passed_on(const struct app *app, struct str name)
{
    if (name.n < 3 || name.n >= MAX_HEADER_NAME || is_listed(app->no_headers, name))
        return false;
    if (app->headers != NULL)
        return is_listed(app->headers, name);
    if (header_eq(str_head(name, 12), STR("x-spoolwire-")))
        return false; /* secrets of ours */
    return header_is(name, "user-agent") ||
           ((name.p[0] == 'x' || name.p[0] == 'X') && name.p[1] == '-' &&
            !header_is(name, "x-api-key") && !header_is(name, "x-tenant-id") &&
            !header_is(name, "x-service-key"));
}

/* Request headers that graphs may read, by their names in lower case. */
static void put_headers(struct buf *b, struct http_request *req)
{
    const struct app *app = app_loop_of(req)->app;
    struct str name, value;

    json_begin(b);
    for (size_t i = 0; http_header_at(req, i, &name, &value); i++) {
        char low[MAX_HEADER_NAME];

        if (!is_passed_on(app, name))
            continue;
        for (size_t k = 0; k < name.n; k++)
            low[k] = name.p[k] >= 'A' && name.p[k] <= 'Z' ? (char)(name.p[k] + 32) : name.p[k];
        json_put_key(b, str_make(low, name.n));
        json_put_str(b, value);
    }
    json_end(b);
}

static bool is_filled(const yyjson_val *object)
{
    return yyjson_obj_size((yyjson_val *)(uintptr_t)object) > 0;
}

bool langgraph_one_context(struct http_request *req,
                           const yyjson_val *config,
                           const yyjson_val *context)
{
    if (!is_filled(json_at(config, "configurable")) || !is_filled(context))
        return true;
    return http_respond_error(req, 400,
                              "Cannot specify both configurable and context. Prefer setting "
                              "context alone.");
}

/* The run's values override the assistant's.  Those of its context are there too, for graphs
 * that have no schema of their context. */
static void put_configurable(struct buf *b,
                             const struct journal_call *call,
                             const yyjson_val *config,
                             const yyjson_val *context)
{
    struct str under = call->assistant != NULL ? call->assistant->config : STR("{}");
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, 256);
    struct buf low LOCAL_BUF(SIZE_MAX / 4);
    struct buf high LOCAL_BUF(SIZE_MAX / 4);
    struct json j;

    if (json_read(&reader, under, &j, NULL) == 0)
        json_put_value(&low, json_at(j.root, "configurable"));
    json_put_value(&high, is_filled(context) ? context : json_at(config, "configurable"));
    json_merge(b, buf_text(&low), buf_text(&high));
    if (low.error != 0 || high.error != 0)
        b->error = ERR_NOMEM;
}

/* The same for the context; without one of the run, its `configurable` overrides the
 * assistant's. */
static void put_context(struct buf *b,
                        const struct journal_call *call,
                        const yyjson_val *config,
                        const yyjson_val *context)
{
    struct str under = call->assistant != NULL ? call->assistant->context : STR("{}");
    struct buf given LOCAL_BUF(SIZE_MAX / 4);

    if (json_is_null(context) && str_is(under, "{}"))
        return;
    json_put_value(&given, is_filled(context) ? context : json_at(config, "configurable"));
    json_key(b, "context");
    json_merge(b, under, buf_text(&given));
    if (given.error != 0)
        b->error = given.error;
}

/* Whom the project's own handlers have authenticated. */
static void put_user(struct buf *b, const struct authorization *a)
{
    if (a == NULL)
        return;
    json_add_raw(b, "langgraph_auth_user", a->user);
    json_add_text(b, "langgraph_auth_user_id", a->identity);
    json_add_raw(b, "langgraph_auth_permissions", a->permissions);
}

/* The config with `configurable` as graphs expect it: the headers, the client's values, and the
 * ids of the run. */
static void put_config(struct buf *out,
                       const struct journal_call *call,
                       const yyjson_val *config,
                       const yyjson_val *context)
{
    const struct journal_request *j = &call->journal;
    struct buf headers, given, ids, merged, over;
    struct buf *const all[] = { &headers, &given, &ids, &merged, &over };

    for (size_t i = 0; i < 5; i++)
        buf_init(all[i], SIZE_MAX / 4);
    put_headers(&headers, call->req);
    put_configurable(&given, call, config, context);
    json_begin(&ids);
    json_add_str(&ids, "run_id", j->submit.id);
    json_add_str(&ids, "thread_id", j->thread);
    json_add_str(&ids, "graph_id", j->submit.agent);
    json_add_str(&ids, "assistant_id", j->submit.run.assistant);
    if (!str_absent(j->submit.tick.cron))
        json_add_str(&ids, "cron_id", j->submit.tick.cron);
    put_user(&ids, authorization_of(call->req));
    json_end(&ids);
    json_merge(&merged, buf_text(&headers), buf_text(&given));
    json_begin(&over);
    json_key(&over, "configurable");
    json_merge(&over, buf_text(&merged), buf_text(&ids));
    json_end(&over);
    buf_clear(&given);
    buf_clear(&merged);
    json_put_value(&given, config);
    json_merge(&merged, call->assistant != NULL ? call->assistant->config : STR_NONE,
               buf_text(&given));
    json_merge(out, buf_text(&merged), buf_text(&over));
    for (size_t i = 0; i < 5; i++) {
        if (all[i]->error != 0)
            out->error = all[i]->error;
        buf_done(all[i]);
    }
}

static void put_modes(struct buf *b, const yyjson_val *modes)
{
    json_key(b, "stream_mode");
    if (json_is_null(modes)) {
        buf_lit(b, "[\"values\"]");
    } else if (yyjson_is_arr((yyjson_val *)(uintptr_t)modes)) {
        json_put_value(b, modes);
    } else {
        json_begin_array(b);
        json_put_value(b, modes);
        json_end_array(b);
    }
}

bool langgraph_fill_kwargs(struct journal_call *call, const yyjson_val *body)
{
    struct run_row *run = &call->journal.submit.run;
    struct buf b LOCAL_BUF(SIZE_MAX / 4);

    json_begin(&b);
    for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
        put_member(&b, passed_on[i].name,
                   langgraph_member(body, passed_on[i].name, passed_on[i].camel));
    put_context(&b, call, json_at(body, "config"), json_at(body, "context"));
    json_key(&b, "config");
    put_config(&b, call, json_at(body, "config"), json_at(body, "context"));
    put_modes(&b, langgraph_member(body, "stream_mode", "streamMode"));
    json_add_bool(&b, "stream_subgraphs", run->subgraphs);
    json_end(&b);
    return b.error == 0 && arena_copy(&call->journal.mem, buf_text(&b), &run->kwargs);
}

bool langgraph_fill_metadata(struct journal_call *call, const yyjson_val *metadata)
{
    struct journal_request *j = &call->journal;
    struct buf own LOCAL_BUF(4096);
    struct buf below LOCAL_BUF(SIZE_MAX / 4);
    struct buf given LOCAL_BUF(SIZE_MAX / 4);
    struct buf merged LOCAL_BUF(SIZE_MAX / 4);

    json_begin(&own);
    json_add_lit(&own, "created_by", "system");
    json_add_str(&own, "graph_id", j->submit.agent);
    json_add_str(&own, "assistant_id", j->submit.run.assistant);
    json_end(&own);
    json_merge(&below, call->assistant != NULL ? call->assistant->metadata : STR_NONE,
               buf_text(&own));
    json_put_value(&given, metadata);
    json_merge(&merged, buf_text(&below), buf_text(&given));
    return own.error == 0 && below.error == 0 && given.error == 0 && merged.error == 0 &&
           arena_copy(&j->mem, buf_text(&merged), &j->submit.run.metadata);
}
