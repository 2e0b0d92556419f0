/* Which requests the project's own HTTP app answers, and what of ours is reachable.
 *
 * An app that has middleware sees all requests, but those of workers, of the job API and of the
 * console, and hands back what it has no route for, with the companion's secret; an app without
 * sees what it has a route for.  Requests for another protocol are the app's if it has a
 * WebSocket there. */
#include "api/divert.h"

#include "api/admit.h"
#include "companion/companion.h"
#include "companion/news.h"
#include "companion/relay.h"
#include "http/header.h"

bool divert_is_private(struct str path)
{
    static const char *const beginnings[] = { "/v1/", "/console/", "/cluster/" };
    static const char *const whole[] = { "/livez", "/readyz", "/healthz", "/metrics" };

    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
        if (str_starts(path, str_of(beginnings[i])))
            return true;
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
        if (str_eq(path, str_of(whole[i])))
            return true;
    return false;
}

bool divert_is_back(struct http_request *req)
{
    const struct companion *c = app_loop_of(req)->app->companion;
    struct str secret = http_header(req, DIVERT_HEADER);

    return c != NULL && !str_absent(secret) && companion_knows(c, secret);
}

bool divert_is_inside(struct http_request *req)
{
    return divert_is_back(req) && str_is(http_header(req, DIVERT_INSIDE), "1");
}

static bool is_preflight(const struct http_request *req)
{
    return str_is(http_method(req), "OPTIONS") &&
           !str_absent(http_header(req, "access-control-request-method"));
}

/* Callers with a token of ours want us: the app's own authentication would not know them. */
static bool shows_token(const struct http_request *req)
{
    struct str bearer = header_bearer(http_header(req, "Authorization"));

    return str_starts(bearer, STR("spw_")) || str_starts(bearer, STR("spp_"));
}

bool api_divert(struct http_request *req, void *arg)
{
    const struct app *app = arg;
    const struct companion_news *news = companion_news(app->companion);
    struct str path = http_path(req);

    if (news == NULL || !news->has_app || divert_is_private(path) || is_preflight(req) ||
        divert_is_back(req) || shows_token(req) ||
        !news_has_route(news, path, http_asks_upgrade(req)))
        return false;
    return relay_begin(req, companion_http_path(app->companion),
                       app->mount_prefix != NULL ? str_of(app->mount_prefix) : STR(""));
}

/* --- parts that are not offered --------------------------------------------------------------
 */

static bool is_below(struct str path, const char *folder)
{
    struct str f = str_of(folder);

    return str_starts(path, f) && (path.n == f.n || path.p[f.n] == '/');
}

static bool is_meta(struct str path)
{
    return str_is(path, "/info") || str_is(path, "/docs") || str_is(path, "/openapi.json") ||
           str_is(path, "/metrics");
}

static bool is_a2a(struct str path)
{
    return is_below(path, "/a2a") || str_is(path, "/.well-known/agent-card.json") ||
           str_is(path, "/.well-known/agent.json");
}

/* Runs of threads are runs, and so are the streams and commands that start them. */
static bool is_run(struct str path)
{
    struct str rest = str_skip(path, sizeof("/threads/") - 1);
    struct str tail = str_skip(rest, str_find(rest, '/'));

    return is_below(path, "/runs") ||
           (str_starts(path, STR("/threads/")) &&
            (is_below(tail, "/runs") || is_below(tail, "/commands") ||
             is_below(tail, "/stream")));
}

/* The thread-scoped protocol. */
static bool is_event_stream(struct str path)
{
    struct str rest = str_skip(path, sizeof("/threads/") - 1);
    struct str tail = str_skip(rest, str_find(rest, '/'));

    return str_starts(path, STR("/threads/")) &&
           (str_is(tail, "/commands") || str_is(tail, "/stream/events"));
}

static bool is_thread(struct str path)
{
    return is_below(path, "/threads") && !is_run(path);
}

static bool is_assistant(struct str path)
{
    return is_below(path, "/assistants");
}

static bool is_item(struct str path)
{
    return is_below(path, "/store");
}

static bool is_component(struct str path)
{
    return is_below(path, "/ui");
}

static bool is_tool(struct str path)
{
    return is_below(path, "/mcp");
}

static const struct {
    const char *name;
    bool (*has)(struct str path);
} parts[] = {
    { "a2a", is_a2a },
    { "assistants", is_assistant },
    { "event_streaming", is_event_stream },
    { "mcp", is_tool },
    { "meta", is_meta },
    { "runs", is_run },
    { "store", is_item },
    { "threads", is_thread },
    { "ui", is_component },
};

bool divert_is_disabled(struct http_request *req)
{
    char *const *disabled = app_loop_of(req)->app->disabled;
    struct str path = http_path(req);

    for (; disabled != NULL && *disabled != NULL; disabled++)
        for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
            if (strcmp(*disabled, parts[i].name) == 0 && parts[i].has(path))
                return true;
    return false;
}
