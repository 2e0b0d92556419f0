/* Admission: the check before every request, and later checks of the caller's token.
 *
 * The check runs when the route is known and before any of the body is read.  A caller
 * authenticates with a token in a header, a ticket in the query (streams only: a browser's
 * EventSource cannot send headers), or a session cookie.  The browser attaches a cookie to any
 * request, whichever page sends it (CSRF).  So a cookie is ignored when the request comes from
 * another origin, and a request that changes something must also carry a header that proves its
 * origin. */
#include "api/admit.h"

#include "api/divert.h"
#include "api/langgraph/authorize.h"

#include "auth/access.h"
#include "auth/permit.h"
#include "base/clock.h"
#include "companion/companion.h"
#include "http/header.h"

#include <assert.h>
#include <stdio.h>

/* --- credentials ----------------------------------------------------------------- */

static struct credential find_cookie(const struct http_request *req)
{
    struct str cookies = http_header(req, "Cookie");
    struct str text = header_cookie(cookies, STR(API_COOKIE_SECURE));

    if (str_absent(text))
        text = header_cookie(cookies, STR(API_COOKIE));
    if (str_absent(text) || http_page(req) == HTTP_PAGE_OTHER)
        return (struct credential){ .kind = CREDENTIAL_NONE };
    return (struct credential){ .kind = CREDENTIAL_SESSION, .text = text };
}

/* The first credential found is the only one checked: a valid cookie does not make up for an
 * invalid token. */
static struct credential find_credential(const struct http_request *req,
                                         const struct http_route *route)
{
    struct str text = http_header(req, "Authorization");

    if (!str_absent(text))
        return (struct credential){ .kind = CREDENTIAL_TOKEN, .text = header_bearer(text) };
    text = http_header(req, "X-Api-Key");
    if (!str_absent(text))
        return (struct credential){ .kind = CREDENTIAL_TOKEN, .text = text };
    if ((route->flags & HTTP_ROUTE_STREAM) != 0 && http_is_safe(req))
        text = http_query(req, "ticket");
    if (!str_absent(text))
        return (struct credential){ CREDENTIAL_TICKET, text, http_param(req, "id") };
    return find_cookie(req);
}

/* --- answers --------------------------------------------------------------------- */

const char *refusal_name(enum refusal refusal)
{
    static const char *const names[REFUSAL_MAX] = {
        [REFUSAL_MISSING] = "missing", [REFUSAL_UNKNOWN] = "unknown",
        [REFUSAL_EXPIRED] = "expired", [REFUSAL_SCOPE] = "scope",
        [REFUSAL_ORIGIN] = "origin",   [REFUSAL_JOBS] = "jobs",
        [REFUSAL_STREAMS] = "streams", [REFUSAL_EVENTS] = "events",
    };

    return names[refusal];
}

static void count(struct http_request *req, enum refusal why)
{
    counter_add(&app_loop_of(req)->refusals[why], 1);
}

static bool refuse_stranger(struct http_request *req,
                            const struct credential *c,
                            int code,
                            const struct error *why)
{
    if (code == ERR_NOMEM)
        return api_no_memory(req);
    count(req, c->kind == CREDENTIAL_NONE ? REFUSAL_MISSING
               : code == ERR_CLOSED       ? REFUSAL_EXPIRED
                                          : REFUSAL_UNKNOWN);
    http_set_header(req, "WWW-Authenticate",
                    c->kind == CREDENTIAL_NONE
                        ? STR("Bearer realm=\"spoolwire\"")
                        : STR("Bearer realm=\"spoolwire\", error=\"invalid_token\""));
    return http_respond_error(req, 401, "%s", why->text);
}

static bool refuse_scope(struct http_request *req, unsigned access)
{
    char text[96];

    count(req, REFUSAL_SCOPE);
    (void)snprintf(text, sizeof(text),
                   "Bearer realm=\"spoolwire\", error=\"insufficient_scope\", scope=\"%s\"",
                   access_scope(access)); /* fits */
    http_set_header(req, "WWW-Authenticate", str_of(text));
    return http_respond_error(req, 403, "this needs a token with the scope %s",
                              access_scope(access));
}

void api_refuse_limit(struct http_request *req,
                      enum refusal limit,
                      int64_t wait_ms,
                      const char *what)
{
    char text[24];

    count(req, limit);
    (void)snprintf(text, sizeof(text), "%lld", (long long)((wait_ms + 999) / 1000)); /* fits */
    http_set_header(req, "Retry-After", str_of(text));
    http_respond_error(req, 429, "%s", what);
}

/* --- the check ------------------------------------------------------------------- */

static bool recognise(struct http_request *req,
                      const struct http_route *route,
                      struct authenticator *authenticator)
{
    struct credential c = { .kind = CREDENTIAL_NONE };
    struct visitor *v = NULL;
    struct error why = { 0 };
    int64_t now = clock_steady_ms();

    if (!authenticator_is_open(authenticator))
        c = find_credential(req, route);
    if (visitor_is(http_visitor(req), &c, now))
        return true;
    int code = authenticator_admit(authenticator, &c, now, &v, &why);
    if (code != 0)
        return refuse_stranger(req, &c, code, &why);
    http_set_visitor(req, v);
    return true;
}

bool api_may_act(struct http_request *req)
{
    const struct visitor *v = http_visitor(req);

    if (v->kind == CREDENTIAL_SESSION && http_page(req) != HTTP_PAGE_TRUSTED) {
        count(req, REFUSAL_ORIGIN);
        return http_respond_error(
            req, 403,
            "with a cookie, a request that changes something must come from a "
            "page of this origin (Origin or Sec-Fetch-Site says so)");
    }
    if (http_page_may_act(req))
        return true;
    count(req, REFUSAL_ORIGIN);
    return http_respond_error(
        req, 403,
        "a request that changes something must not come from a page of another "
        "origin, unless it is listed in origins");
}

/* The text of a token, a ticket or a session of ours, whether or not it is valid. */
static bool is_ours(const struct credential *c)
{
    return c->kind == CREDENTIAL_TICKET || c->kind == CREDENTIAL_SESSION ||
           (c->kind == CREDENTIAL_TOKEN &&
            (str_starts(c->text, STR("spw_")) || str_starts(c->text, STR("spp_"))));
}

/* Lets a caller in that has nothing of ours: the companion is asked about it when the request
 * is complete (authorize.c), or it is the companion itself. */
static bool admit_with(struct http_request *req, struct token *token)
{
    const struct visitor *old = http_visitor(req);
    struct visitor *v = NULL;

    if (old != NULL && old->token == token)
        return true;
    if (visitor_new_guest(token, &v) != 0)
        return api_no_memory(req);
    http_set_visitor(req, v);
    return true;
}

static bool knows_caller(struct http_request *req, const struct http_route *route)
{
    struct app_loop *l = app_loop_of(req);
    const struct companion *companion = l->app->companion;

    if (companion != NULL && divert_is_inside(req))
        return admit_with(req, token_service_everybody(l->app->tokens));
    if (companion != NULL && companion_guards(companion) && authorize_covers(route)) {
        struct credential c = find_credential(req, route);

        if (!is_ours(&c))
            return admit_with(req, l->guest);
    }
    return recognise(req, route, &l->authenticator);
}

bool api_admit(struct http_request *req, const struct http_route *route, void *arg)
{
    (void)arg;
    if (divert_is_disabled(req))
        return http_respond_error(req, 404, "Not Found");
    if (route->access == ACCESS_PUBLIC)
        return true;
    if (!knows_caller(req, route))
        return false;
    const struct visitor *v = http_visitor(req);
    if ((v->token->access & route->access) == 0)
        return refuse_scope(req, route->access);
    return http_is_safe(req) || api_may_act(req);
}

void api_visitor_free(void *visitor)
{
    visitor_free(visitor);
}

/* --- queries about the caller ---------------------------------------------------- */

struct token *api_token(const struct http_request *req)
{
    const struct visitor *v = http_visitor(req);

    return v != NULL ? v->token : NULL;
}

bool api_take_permit(struct http_request *req, struct permit **ret)
{
    const struct visitor *v = http_visitor(req);

    assert(v != NULL); /* streams of jobs are not public */
    int code = permit_new(v, ret);
    if (code == ERR_LIMIT)
        api_refuse_limit(req, REFUSAL_STREAMS, 5000,
                         "this token has as many streams open as it may");
    else if (code != 0)
        (void)api_no_memory(req);
    return code == 0;
}

bool api_may_use_agent(struct http_request *req, struct str agent)
{
    if (token_has_agent(api_token(req), agent))
        return true;
    return http_respond_error(req, 403, "this token may not use the agent '%.*s'",
                              STR_ARG(str_head(agent, 100)));
}

void api_set_lease_caller(struct lease_caller *c, const struct token *t)
{
    struct str holder = str_absent(t->owner) ? STR(LEASE_ANYBODY) : t->owner;

    *c = (struct lease_caller){ .holder = t->is_own ? STR_NONE : holder,
                                .agents = t->agents,
                                .only_key = t->only_key,
                                .is_admin = (t->access & ACCESS_ADMIN) != 0 };
}

void api_set_caller(struct journal_request *j, const struct token *t)
{
    if (journal_op_is_workers(j->op)) {
        api_set_lease_caller(&j->caller, t);
        return;
    }
    j->job_scope = &t->job_scope;
    if (j->op == JOURNAL_SUBMIT) {
        j->submit.owner = t->owner;
        j->submit.max_running = t->limits.running;
        j->submit.max_jobs = t->limits.jobs;
        j->submit.max_queued = t->limits.queued;
    } else if (j->op == JOURNAL_THREAD_CREATE || j->op == JOURNAL_THREAD_COPY) {
        j->new_thread.row.owner = t->owner;
    }
}
