/* /v1/tokens: for administrators.  Changes take effect at once, on every loop. */
#include "api/admit.h"
#include "api/token_call.h"

#include "base/clock.h"
#include "dialect/render.h"

#include <stdlib.h>

/* --- requests -------------------------------------------------------------------- */

static void refuse(struct http_request *req, const struct token_request *k)
{
    int status = k->code == ERR_NOT_FOUND ? 404 : k->code == ERR_REFUSED ? 422 : 503;

    if (status == 503)
        http_set_header(req, "Retry-After", STR("1"));
    http_respond_error(req, status, "%s", k->why.text);
}

static bool on_answered(struct store_query *query)
{
    struct token_call *e = query->data;

    if (e->tokens.code == 0)
        e->answer(e);
    else
        refuse(query->req, &e->tokens);
    return false;
}

static void forget(struct store_query *query)
{
    draft_done(&((struct token_call *)query->data)->draft);
}

struct token_call *token_call_new(struct http_request *req,
                                  enum token_op op,
                                  void (*answer)(struct token_call *))
{
    struct store_query *query =
        store_query_new_with(req, STR(""), NULL, sizeof(struct token_call));
    struct token_call *e = query != NULL ? query->data : NULL;

    if (e == NULL)
        return NULL;
    *e = (struct token_call){ .tokens = { .op = op, .call = &query->task.loop_call },
                              .query = query,
                              .answer = answer };
    query->answer = on_answered;
    query->forget = forget;
    return e;
}

void token_call_post(struct token_call *e)
{
    store_query_await(e->query);
    token_service_post(e->query->loop->app->tokens, &e->tokens);
}

void token_call_free(struct token_call *e)
{
    store_query_free(e->query);
}

/* --- the list -------------------------------------------------------------------- */

void token_call_put_token(struct buf *b, const struct token *t)
{
    json_begin(b);
    json_add_str(b, "id", str_of(t->id));
    json_add_text(b, "name", t->name);
    json_add_text(b, "scope", t->scopes);
    json_add_text(b, "owner", t->owner);
    json_add_text(b, "jobs", t->jobs);
    json_add_text(b, "agents", t->agents);
    json_add_int(b, "max_jobs", t->limits.jobs);
    json_add_int(b, "max_queued", t->limits.queued);
    json_add_int(b, "max_running", t->limits.running);
    json_add_int(b, "max_streams", t->limits.streams);
    json_add_int(b, "max_events", t->limits.events);
    json_add_int(b, "streams", (int64_t)atomic_load(&t->n_streams));
    json_add_time(b, "created_at", t->created);
    json_add_time(b, "expires_at", t->expires);
    json_add_time(b, "revoked_at", atomic_load(&t->revoked));
}

void api_tokens(struct http_request *req)
{
    const struct keyring *ring = authenticator_ring(&app_loop_of(req)->authenticator);
    struct buf out LOCAL_BUF(SIZE_MAX / 4);

    json_begin_list(&out, "tokens");
    for (size_t i = 0; i < ring->n; i++) {
        if (ring->all[i]->parent != NULL)
            continue; /* sessions are not listed */
        token_call_put_token(json_next(&out), ring->all[i]);
        json_end(&out);
    }
    json_end_list(&out);
    http_set_header(req, "Cache-Control", STR("no-store"));
    api_json(req, 200, &out);
}

/* --- creating and revoking ------------------------------------------------------- */

static void answer_create(struct token_call *e)
{
    const struct token_row *row = &e->draft.row;
    const struct token *t =
        keyring_find(authenticator_ring(&e->query->loop->authenticator), row->id);
    struct buf out LOCAL_BUF(64 * 1024);

    if (t == NULL) { /* it was revoked in between */
        http_respond_error(e->query->req, 409, "the token is gone already");
        return;
    }
    token_call_put_token(&out, t);
    json_add_text(&out, "token", str_of(e->draft.text));
    json_end(&out);
    http_set_header(e->query->req, "Cache-Control", STR("no-store"));
    api_json(e->query->req, 201, &out);
    if (out.p != NULL)
        secret_forget(out.p, out.cap);
}

/* A member that is a text, or a list of texts, which is joined with commas; false for anything
 * else. */
static bool read_list(struct token_call *e,
                      const yyjson_val *root,
                      struct str name,
                      struct str *ret)
{
    yyjson_val *v = json_get(root, name);
    struct buf list LOCAL_BUF(4096);

    if (json_is_null(v))
        return true;
    if (yyjson_is_str(v))
        return arena_copy(&e->query->mem, json_text(v), ret);
    bool ok = yyjson_is_arr(v);
    for (size_t i = 0; ok && i < yyjson_arr_size(v); i++) {
        struct str one = json_text(yyjson_arr_get(v, i));

        ok = one.n > 0 && str_find(one, ',') == one.n;
        if (list.n > 0)
            buf_char(&list, ',');
        buf_str(&list, one);
    }
    ok =
        ok && list.error == 0 && list.n > 0 && arena_copy(&e->query->mem, buf_text(&list), ret);
    return ok;
}

static bool read_limit(const yyjson_val *root, struct str name, int64_t *ret)
{
    yyjson_val *v = json_get(root, name);

    if (json_is_null(v))
        return true;
    *ret = json_int(v, -1);
    return *ret >= 0;
}

static bool read_expiry(const yyjson_val *root, struct token_row *row)
{
    int64_t seconds = 0;

    if (!read_limit(root, STR("expires_seconds"), &seconds) || seconds > INT32_MAX)
        return false;
    row->expires = seconds > 0 ? row->created + seconds * 1000 : 0;
    return true;
}

static const char *read_row(struct token_call *e, const yyjson_val *root)
{
    struct token_row *row = &e->draft.row;

    if (!read_list(e, root, STR("scope"), &row->scopes))
        return "\"scope\" must be a text or a list of texts";
    if (!read_list(e, root, STR("jobs"), &row->jobs))
        return "\"jobs\" must be a text or a list of texts";
    if (!read_list(e, root, STR("agents"), &row->agents))
        return "\"agents\" must be a text or a list of texts";
    if (!read_list(e, root, STR("name"), &row->name) ||
        !read_list(e, root, STR("owner"), &row->owner))
        return "\"name\" and \"owner\" must be texts";
    if (!read_expiry(root, row))
        return "\"expires_seconds\" must be a whole number";
    if (!read_limit(root, STR("max_jobs"), &row->max_jobs) ||
        !read_limit(root, STR("max_queued"), &row->max_queued) ||
        !read_limit(root, STR("max_running"), &row->max_running) ||
        !read_limit(root, STR("max_streams"), &row->max_streams) ||
        !read_limit(root, STR("max_events"), &row->max_events))
        return "limits (\"max_jobs\" and the like) must be whole numbers; 0: no limit";
    return NULL;
}

static bool read_create(struct token_call *e, struct json_reader *reader)
{
    struct error why;
    struct json j;

    if (!api_read_body(e->query->req, reader, http_body(e->query->req), &j))
        return false;
    if (draft_init(&e->draft, clock_wall_ms(), &why) != 0)
        return http_respond_error(e->query->req, 503, "%s", why.text);
    const char *wrong = read_row(e, j.root);
    if (wrong != NULL)
        http_respond_error(e->query->req, 422, "%s", wrong);
    e->tokens.row = e->draft.row;
    return wrong == NULL;
}

void api_token_create(struct http_request *req)
{
    struct token_call *e = token_call_new(req, TOKEN_CREATE, answer_create);
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, 8);

    if (e == NULL)
        return;
    if (read_create(e, &reader))
        token_call_post(e);
    else
        token_call_free(e);
}

static void answer_revoke(struct token_call *e)
{
    http_respond(e->query->req, 204, NULL, STR_NONE);
}

void api_token_revoke(struct http_request *req)
{
    struct token_call *e = token_call_new(req, TOKEN_REVOKE, answer_revoke);

    if (e == NULL)
        return;
    if (arena_copy(&e->query->mem, http_param(req, "token"), &e->tokens.row.id)) {
        token_call_post(e);
        return;
    }
    (void)api_no_memory(req);
    token_call_free(e);
}
