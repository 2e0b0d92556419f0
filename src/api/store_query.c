/* Store queries: requests on their way to the store and back. */
#include "api/admit.h"
#include "api/authorization.h"

#include "base/error.h"

#include <stdlib.h>

static void on_gone(struct http_request *req, void *data)
{
    struct store_query *query = data;

    (void)req;
    query->req = NULL;
    loop_call_cancel(&query->task.loop_call);
}

void store_query_respond(struct store_query *query)
{
    if (query->type != NULL && query->out.error == 0)
        http_respond(query->req, query->status, query->type, buf_text(&query->out));
    else if (query->status >= 400)
        http_respond_error(query->req, query->status, "%.*s", STR_ARG(buf_text(&query->out)));
    else
        api_json(query->req, query->status, &query->out);
}

void store_query_finish(struct store_query *query)
{
    store_query_respond(query);
    store_query_free(query);
}

static void on_answered(struct loop_call *call)
{
    struct store_query *query = call->owner;
    bool is_kept = false;

    http_on_gone(query->req, NULL, NULL);
    if (query->answer != NULL && query->status == 200)
        is_kept = query->answer(query);
    else
        store_query_respond(query);
    if (!is_kept)
        store_query_free(query);
}

static void on_dropped(struct loop_call *call)
{
    store_query_free(call->owner);
}

const struct job_scope *store_query_job_scope(const struct store_query *query)
{
    static const struct job_scope nothing;

    return query->token != NULL ? &query->token->job_scope : &nothing;
}

void store_query_free(struct store_query *query)
{
    if (query->forget != NULL)
        query->forget(query);
    token_unref(query->token);
    buf_done(&query->out);
    arena_done(&query->mem);
    free(query);
}

/* The query may run when its connection, which has them, is gone. */
static bool copy_filters(struct store_query *query, struct http_request *req)
{
    const struct authorization *a = authorization_of(req);

    return a == NULL || str_absent(a->filters) ||
           arena_copy(&query->mem, a->filters, &query->filters);
}

struct store_query *store_query_new(struct http_request *req,
                                    struct str job,
                                    void (*run)(struct thread_task *, struct store *))
{
    struct store_query *query = store_query_new_for(app_loop_of(req), api_token(req), job, run);

    if (query == NULL && job.n > sizeof(query->job))
        http_respond_error(req, 404, "Job not found: %.*s", STR_ARG(str_head(job, 100)));
    else if (query == NULL)
        (void)api_no_memory(req);
    else
        query->req = req;
    if (query != NULL && !copy_filters(query, req)) {
        store_query_free(query);
        (void)api_no_memory(req);
        return NULL;
    }
    return query;
}

struct store_query *store_query_new_for(struct app_loop *loop,
                                        struct token *token,
                                        struct str job,
                                        void (*run)(struct thread_task *, struct store *))
{
    struct store_query *query = calloc(1, sizeof(*query));

    if (query == NULL || job.n > sizeof(query->job)) {
        free(query);
        return NULL;
    }
    query->loop = loop;
    query->token = token != NULL ? token_ref(token) : NULL;
    str_copy(query->job, job);
    query->job_n = job.n;
    query->status = 200;
    query->task.loop_call = (struct loop_call){
        .home = loop->box, .owner = query, .answered = on_answered, .dropped = on_dropped
    };
    query->task.run = run;
    buf_init(&query->out, SIZE_MAX / 4);
    arena_init(&query->mem);
    return query;
}

struct store_query *store_query_new_with(struct http_request *req,
                                         struct str job,
                                         void (*run)(struct thread_task *, struct store *),
                                         size_t size)
{
    struct store_query *query = store_query_new(req, job, run);

    if (query == NULL)
        return NULL;
    query->data = arena_alloc(&query->mem, size);
    if (query->data == NULL) {
        store_query_free(query);
        (void)api_no_memory(req);
        return NULL;
    }
    memset(query->data, 0, size);
    return query;
}

void store_query_await(struct store_query *query)
{
    http_on_gone(query->req, on_gone, query);
}

void store_query_post(struct store_query *query)
{
    store_query_await(query);
    thread_pool_post(query->loop->app->pool, &query->task);
}

void store_query_read(struct store_query *query,
                      size_t depth,
                      bool (*read)(struct store_query *query, const yyjson_val *body))
{
    struct json_reader reader;
    struct json j;

    json_reader_init(&reader, SIZE_MAX / 64, depth);
    if (api_read_body(query->req, &reader, http_body(query->req), &j) && read(query, j.root))
        store_query_post(query);
    else
        store_query_free(query);
    json_reader_done(&reader);
}

void store_query_broke(struct store_query *query, const struct error *why)
{
    /* These errors are temporary. */
    query->status = why->code == ERR_NOMEM || why->code == ERR_BUSY ? 503 : 500;
    buf_clear(&query->out);
    buf_str(&query->out, str_of(why->text));
}
