/* Tickets for EventSource, which cannot send headers, and session cookies for pages.
 *
 * A ticket is a signed text that lets its holder read one job until it expires, any number of
 * times, because EventSource reconnects with the same URL.  It becomes invalid with its token.
 *
 * A session is a token of its own in the store, so that it can be revoked. */
#include "api/admit.h"
#include "api/token_call.h"
#include "api/jobs/jobs.h"

#include "base/clock.h"
#include "dialect/render.h"

#include <stdio.h>

/* --- tickets --------------------------------------------------------------------- */

/* No cache may store the answer, and no Referer header may leak it. */
static void keep_private(struct http_request *req)
{
    http_set_header(req, "Cache-Control", STR("no-store"));
    http_set_header(req, "Referrer-Policy", STR("no-referrer"));
}

static void put_ticket(struct store_query *query, struct str ticket, int64_t expires_s)
{
    struct buf *b = &query->out;
    struct str job = str_make(query->job, query->job_n);

    buf_clear(b);
    json_begin(b);
    json_add_str(b, "ticket", ticket);
    json_add_text(b, "job_id", job);
    json_add_time(b, "expires_at", expires_s * 1000);
    json_add_parts(b, "url");
    buf_lit(b, "/v1/jobs/");
    buf_str(b, job); /* no escaping: letters, digits, _ and - only, as the store has it */
    buf_lit(b, "/events?ticket=");
    buf_str(b, ticket);
    json_end_parts(b);
    json_end(b);
}

/* On the pool: answers 404 unless the job exists and the caller may see it. */
static void run_ticket(struct thread_task *task, struct store *store)
{
    struct job_row row;

    (void)jobs_get(store_query_of(task), store, &row); /* sets the error itself */
}

static bool answer_ticket(struct store_query *query)
{
    char text[TICKET_CHARS + 1];
    int64_t life_s = (int64_t)(intptr_t)query->data;
    int64_t expires_s =
        authenticator_ticket_expiry_s(&query->loop->authenticator, clock_steady_ms(), life_s);

    size_t n = authenticator_make_ticket(&query->loop->authenticator, query->token,
                                         str_make(query->job, query->job_n), expires_s, text);
    if (n == 0)
        return http_respond_error(query->req, 503, "the ticket cannot be signed");
    put_ticket(query, str_make(text, n), clock_wall_ms() / 1000 + life_s);
    keep_private(query->req);
    api_json(query->req, 201, &query->out);
    return false;
}

static void make_ticket(struct http_request *req, const yyjson_val *root)
{
    int64_t most = app_loop_of(req)->app->ticket_life_ms / 1000;
    yyjson_val *ttl = json_at(root, "ttl");
    int64_t seconds = json_is_null(ttl) ? most : json_int(ttl, 0);
    struct str job = json_text(json_at(root, "job_id"));

    if (job.n == 0) {
        http_respond_error(req, 422, "\"job_id\" must be the id of a job");
        return;
    }
    if (seconds < 1 || seconds > most) {
        http_respond_error(req, 422, "\"ttl\" must be from 1 to %lld seconds", (long long)most);
        return;
    }
    struct store_query *query = store_query_new(req, job, run_ticket);
    if (query == NULL)
        return;
    query->data = (void *)(intptr_t)seconds;
    query->answer = answer_ticket;
    store_query_post(query);
}

void api_ticket(struct http_request *req)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, 8);
    struct json j;

    if (api_read_body(req, &reader, http_body(req), &j))
        make_ticket(req, j.root);
}

/* --- sessions -------------------------------------------------------------------- */

static const struct visitor *visitor_of(const struct http_request *req)
{
    return http_visitor(req);
}

/* Browsers accept a Secure cookie only over https; behind a proxy, the Origin header tells. */
static void set_cookie(struct http_request *req, struct str value, int64_t seconds)
{
    bool secure = http_is_tls(req) || str_starts(http_header(req, "Origin"), STR("https://"));
    char text[256];

    (void)snprintf(text, sizeof(text),
                   "%s=%.*s; Path=/; Max-Age=%lld; HttpOnly; SameSite=Strict%s",
                   secure ? API_COOKIE_SECURE : API_COOKIE, STR_ARG(value), (long long)seconds,
                   secure ? "; Secure" : ""); /* fits */
    http_set_header(req, "Set-Cookie", str_of(text));
    secret_forget(text, sizeof(text));
}

static void respond_session(struct http_request *req,
                            int status,
                            const struct token *t,
                            bool by_cookie)
{
    struct buf out LOCAL_BUF(64 * 1024);

    token_call_put_token(&out, t);
    json_add_bool(&out, "cookie", by_cookie);
    json_end(&out);
    keep_private(req);
    api_json(req, status, &out);
}

void api_session(struct http_request *req)
{
    const struct visitor *v = visitor_of(req);

    respond_session(req, 200, v->token, v->kind == CREDENTIAL_SESSION);
}

static void answer_login(struct token_call *e)
{
    const struct token_row *row = &e->draft.row;
    const struct token *t =
        keyring_find(authenticator_ring(&e->query->loop->authenticator), row->id);

    if (t == NULL) { /* its token was revoked in between */
        http_respond_error(e->query->req, 401, "the token was revoked or has expired");
        return;
    }
    set_cookie(e->query->req, str_of(e->draft.text), (row->expires - row->created) / 1000);
    respond_session(e->query->req, 201, t, true);
}

/* A session has its token's rights, and expires no later. */
static void fill_session(struct token_call *e, const struct token *t, int64_t life_ms)
{
    struct token_row *row = &e->draft.row;

    row->parent = str_of(t->id);
    row->name = t->name;
    row->scopes = t->scopes;
    row->owner = t->owner;
    row->jobs = t->jobs;
    row->agents = t->agents;
    row->max_jobs = t->limits.jobs;
    row->max_queued = t->limits.queued;
    row->max_running = t->limits.running;
    row->max_streams = t->limits.streams;
    row->max_events = t->limits.events;
    row->expires = row->created + life_ms;
    if (t->expires != 0 && t->expires < row->expires)
        row->expires = t->expires;
    e->tokens.row = *row;
}

void api_login(struct http_request *req)
{
    const struct app *app = app_loop_of(req)->app;
    const struct visitor *v = visitor_of(req);
    struct error why;

    if (v->kind == CREDENTIAL_NONE) { /* authentication is off */
        respond_session(req, 201, v->token, false);
        return;
    }
    if (v->kind != CREDENTIAL_TOKEN) {
        http_respond_error(req, 422, "a session begins with the token itself, in a header");
        return;
    }
    struct token_call *e = token_call_new(req, TOKEN_CREATE, answer_login);
    if (e == NULL)
        return;
    if (draft_init(&e->draft, clock_wall_ms(), &why) != 0) {
        http_respond_error(req, 503, "%s", why.text);
        token_call_free(e);
        return;
    }
    fill_session(e, v->token, app->session_life_ms);
    token_call_post(e);
}

static void answer_logout(struct token_call *e)
{
    set_cookie(e->query->req, STR(""), 0);
    http_respond(e->query->req, 204, NULL, STR_NONE);
}

void api_logout(struct http_request *req)
{
    const struct visitor *v = visitor_of(req);

    if (v->kind != CREDENTIAL_SESSION) {
        http_respond_error(req, 422, "this request has no session's cookie");
        return;
    }
    struct token_call *e = token_call_new(req, TOKEN_LOGOUT, answer_logout);
    if (e == NULL)
        return;
    e->tokens.row.id = str_of(v->token->id);
    token_call_post(e);
}
