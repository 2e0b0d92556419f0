#include "api/langgraph/embed.h"

#include "api/langgraph/ask.h"
#include "api/langgraph/items.h"
#include "base/error.h"
#include "store/vectors.h"

enum { MAX_DEPTH = 8 };

bool embed_is_on(struct http_request *req)
{
    return app_loop_of(req)->app->item_index != NULL;
}

/* 0, or why there is no vector. */
static int keep(int (*put)(struct buf *, const yyjson_val *),
                const yyjson_val *vectors,
                struct arena *mem,
                struct str *ret)
{
    struct buf b LOCAL_BUF(SIZE_MAX / 4);
    int err = put(&b, vectors);

    if (err == 0 && b.n == 0) {
        *ret = STR("");
        return 0;
    }
    return err != 0 ? err : arena_copy(mem, buf_text(&b), ret) ? 0 : ERR_NOMEM;
}

bool embed_read(struct http_request *req,
                const yyjson_val *vectors,
                struct arena *mem,
                struct str *ret)
{
    int err = keep(vectors_put, vectors, mem, ret);

    if (err == ERR_NOMEM)
        return api_no_memory(req);
    return err == 0 ||
           http_respond_error(
               req, 422, "vectors must be at most %d lists of numbers, all of one dimension",
               VECTORS_MAX);
}

bool embed_read_one(struct http_request *req,
                    const yyjson_val *vector,
                    struct arena *mem,
                    struct str *ret)
{
    int err = keep(vectors_put_one, vector, mem, ret);

    if (err == ERR_NOMEM)
        return api_no_memory(req);
    return err == 0 ||
           http_respond_error(req, 422, "\"vector\" must be a list of at most %d numbers",
                              VECTORS_MAX_DIMENSION);
}

/* --- asking a worker -------------------------------------------------------------------- */

/* {"vectors": [[…], …]}; false when it has answered. */
static bool read_answer(struct journal_call *ask, struct arena *mem, struct str *ret)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);
    struct json json;
    struct str why;
    int status = ask_failed(ask, &why);

    if (status != 0) {
        ask_answer(ask);
        return false;
    }
    int err = json_read(&reader, ask->journal.call.output, &json, NULL);
    if (err == 0)
        err = keep(vectors_put, json_at(json.root, "vectors"), mem, ret);
    if (err == ERR_NOMEM)
        return api_no_memory(ask->req);
    return err == 0 ||
           http_respond_error(ask->req, 500, "the worker of '%s' has made no vectors",
                              app_loop_of(ask->req)->app->item_index);
}

static struct journal_call *ask_for(struct http_request *req,
                                    struct buf *params,
                                    void (*answer)(struct journal_call *))
{
    struct journal_call *ask =
        ask_of_server(req, str_of(app_loop_of(req)->app->item_index), "embed", answer);

    if (ask == NULL)
        return NULL;
    if (params->error == 0 &&
        arena_copy(&ask->journal.mem, buf_text(params), &ask->journal.call.params))
        return ask;
    (void)api_no_memory(req);
    journal_call_free(ask);
    return NULL;
}

static void on_item(struct journal_call *ask)
{
    struct journal_call *put = ask->then;

    if (!read_answer(ask, &put->journal.mem, &put->journal.item.row.vectors))
        return; /* frees it */
    ask->then = NULL;
    journal_call_post(put);
}

void embed_item(struct journal_call *put, const yyjson_val *index)
{
    struct buf params LOCAL_BUF(SIZE_MAX / 4);

    json_begin(&params);
    json_add_raw(&params, "value", put->journal.item.row.value);
    json_add_value(&params, "index", index);
    json_end(&params);
    struct journal_call *ask = ask_for(put->req, &params, on_item);
    if (ask == NULL) {
        journal_call_free(put);
        return;
    }
    ask->then = put;
    journal_call_post(ask);
}

static void on_query(struct journal_call *ask)
{
    struct store_query *query = ask->found;
    struct item_search *s = query->data;

    if (!read_answer(ask, &query->mem, &s->vector))
        return;
    ask->found = NULL;
    store_query_post(query);
}

void embed_query(struct store_query *query, struct str text)
{
    struct buf params LOCAL_BUF(SIZE_MAX / 4);

    json_begin(&params);
    json_add_str(&params, "query", text);
    json_end(&params);
    struct journal_call *ask = ask_for(query->req, &params, on_query);
    if (ask == NULL) {
        store_query_free(query);
        return;
    }
    ask->found = query;
    journal_call_post(ask);
}
