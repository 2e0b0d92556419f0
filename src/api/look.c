/* Looks: requests on their way to the store and back. */
#include "api/admit.h"

#include "base/error.h"

#include <stdlib.h>

static void on_gone(struct http_request *req, void *data)
{
    struct look *look = data;

    (void)req;
    look->req = NULL;
}

void look_answer(struct task *task)
{
    struct look *look = look_of(task);

    if (look->req != NULL) {
        http_on_gone(look->req, NULL, NULL);
        if (look->type != NULL && look->out.error == 0)
            http_respond(look->req, look->status, look->type, buf_text(&look->out));
        else if (look->status >= 400)
            http_respond_error(look->req, look->status, "%.*s", STR_ARG(buf_text(&look->out)));
        else
            api_json(look->req, look->status, &look->out);
    }
    look_free(look);
}

const struct reach *look_reach(const struct look *look)
{
    static const struct reach nothing;

    return look->token != NULL ? &look->token->reach : &nothing;
}

void look_free(struct look *look)
{
    token_unref(look->token);
    buf_done(&look->out);
    arena_done(&look->mem);
    free(look);
}

struct look *look_new(struct http_request *req,
                      struct str job,
                      void (*run)(struct task *, struct store *))
{
    struct look *look = look_new_for(app_loop_of(req), api_token(req), job, run);

    if (look == NULL && job.n > sizeof(look->job))
        http_respond_error(req, 404, "Job not found: %.*s", STR_ARG(str_head(job, 100)));
    else if (look == NULL)
        (void)api_no_memory(req);
    else
        look->req = req;
    return look;
}

struct look *look_new_for(struct app_loop *loop,
                          struct token *token,
                          struct str job,
                          void (*run)(struct task *, struct store *))
{
    struct look *look = calloc(1, sizeof(*look));

    if (look == NULL || job.n > sizeof(look->job)) {
        free(look);
        return NULL;
    }
    look->loop = loop;
    look->token = token != NULL ? token_ref(token) : NULL;
    memcpy(look->job, job.p, job.n);
    look->job_n = job.n;
    look->status = 200;
    look->task.home = look->loop->box;
    look->task.run = run;
    look->task.done = look_answer;
    buf_init(&look->out, SIZE_MAX / 4);
    arena_init(&look->mem);
    return look;
}

struct look *look_new_with(struct http_request *req,
                           struct str job,
                           void (*run)(struct task *, struct store *),
                           size_t size)
{
    struct look *look = look_new(req, job, run);

    if (look == NULL)
        return NULL;
    look->data = arena_alloc(&look->mem, size);
    if (look->data == NULL) {
        look_free(look);
        (void)api_no_memory(req);
        return NULL;
    }
    memset(look->data, 0, size);
    return look;
}

void look_post(struct look *look)
{
    http_on_gone(look->req, on_gone, look);
    pool_post(look->loop->app->pool, &look->task);
}

void look_read(struct look *look,
               size_t depth,
               bool (*read)(struct look *look, const yyjson_val *body))
{
    struct json_reader reader;
    struct json j;

    json_reader_init(&reader, SIZE_MAX / 64, depth);
    if (api_read_body(look->req, &reader, http_body(look->req), &j) && read(look, j.root))
        look_post(look);
    else
        look_free(look);
    json_reader_done(&reader);
}

void look_broke(struct look *look, const struct error *why)
{
    /* Of these it is known that they pass. */
    look->status = why->code == ERR_NOMEM || why->code == ERR_BUSY ? 503 : 500;
    buf_clear(&look->out);
    buf_str(&look->out, str_of(why->text));
}
