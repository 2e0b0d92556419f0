#include "api/langgraph/items_call.h"

#include "api/langgraph/ask.h"
#include "api/langgraph/items.h"
#include "base/error.h"

bool items_are_elsewhere(struct http_request *req)
{
    return app_loop_of(req)->app->item_store != NULL;
}

/* What was put or deleted is answered without a body. */
static void answer(struct journal_call *call)
{
    struct str why;

    if (ask_failed(call, &why) == 0 && str_is(call->journal.call.output, "null") &&
        !http_is_safe(call->req))
        http_respond(call->req, 204, NULL, STR_NONE);
    else
        ask_answer(call);
}

static void ask(struct http_request *req, const char *op, struct str body)
{
    struct buf params LOCAL_BUF(SIZE_MAX / 4);
    struct journal_call *call =
        ask_of_server(req, str_of(app_loop_of(req)->app->item_store), "store", answer);

    if (call == NULL)
        return;
    json_begin(&params);
    json_add_str(&params, "op", str_of(op));
    json_add_raw(&params, "body", body);
    json_end(&params);
    if (params.error == 0 &&
        arena_copy(&call->journal.mem, buf_text(&params), &call->journal.call.params)) {
        journal_call_post(call);
        return;
    }
    (void)api_no_memory(req);
    journal_call_free(call);
}

void items_call(struct http_request *req, const char *op)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, ITEM_MAX_DEPTH);
    struct buf body LOCAL_BUF(SIZE_MAX / 4);
    struct json json;

    if (!api_read_body(req, &reader, http_body(req), &json))
        return;
    json_put_value(&body, json.root); /* in one line, as calls must be */
    if (body.error != 0)
        (void)api_no_memory(req);
    else
        ask(req, op, buf_text(&body));
}

void items_call_get(struct http_request *req, struct str ns, struct str key)
{
    struct buf body LOCAL_BUF(SIZE_MAX / 4);
    struct str refresh = http_query(req, "refresh_ttl");

    json_begin(&body);
    json_key(&body, "namespace");
    items_put_labels(&body, ns);
    json_add_str(&body, "key", key);
    if (!str_empty(refresh))
        json_add_bool(&body, "refresh_ttl", str_is(refresh, "true") || str_is(refresh, "1"));
    json_end(&body);
    if (body.error != 0)
        (void)api_no_memory(req);
    else
        ask(req, "get", buf_text(&body));
}
