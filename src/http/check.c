/* Checks the head of a request.
 *
 * When it is complete, everything that can be decided without the body is decided, in this
 * order: the target's form, Host, path, route, Origin, the reserve (listener.c), whether
 * another program answers it (`divert`), OPTIONS, 404 and 405 (unless a route for those that
 * have none asks who the caller is first: `unrouted`), the caller's rights (`admit`), Expect
 * and the body's length.  A request that is refused while its body is still on the way ends the
 * connection, because the next request could not be told from the rest of the body. */
#include "http/conn.h"
#include "http/http.h"
#include "http/loop.h"
#include "http/query.h"
#include "http/request.h"
#include "http/server.h"

static void choose_id(struct http_request *req)
{
    static const char digits[] = "0123456789abcdef";
    struct str theirs = parser_header(&req->parser, STR("x-request-id"));
    struct http_loop *loop = req->loop;

    if (!str_absent(theirs) && request_id_valid(theirs)) {
        str_copy(req->id, theirs);
        req->id_n = theirs.n;
        return;
    }
    /* Unique in this loop: a random start plus a counter times an odd number. */
    uint64_t id = loop->id_seed + ++loop->n_ids * 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < 16; i++, id <<= 4)
        req->id[i] = digits[id >> 60];
    req->id_n = 16;
}

void request_refuse(struct http_request *req, int status, const char *format, ...)
{
    va_list args;

    if (req->id_n == 0)
        choose_id(req);
    req->keep_alive = false;
    va_start(args, format);
    respond_error(req, status, format, args);
    va_end(args);
}

/* As request_refuse, but keeps the connection when no body follows. */
static bool decline(struct http_request *req, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool decline(struct http_request *req, int status, const char *format, ...)
{
    va_list args;

    if (!req->parser.complete)
        req->keep_alive = false;
    va_start(args, format);
    respond_error(req, status, format, args);
    va_end(args);
    return false;
}

/* "http://host:port/path?query" in its halves; false for any other form. */
static bool split_absolute(struct str target, struct str *ret_host, struct str *ret_path)
{
    size_t colon = str_find(target, ':');
    struct str scheme = str_head(target, colon), rest = str_skip(target, colon);
    size_t n = 0;

    if ((!header_is(scheme, "http") && !header_is(scheme, "https")) ||
        !str_starts(rest, STR("://")))
        return false;
    rest = str_skip(rest, 3);
    while (n < rest.n && rest.p[n] != '/' && rest.p[n] != '?')
        n++;
    *ret_host = str_head(rest, n);
    *ret_path = str_skip(rest, n);
    return true;
}

struct str request_target(const struct http_request *req, struct str *ret_host)
{
    struct str target = parser_target(&req->parser), path;

    *ret_host = http_header(req, "host");
    return split_absolute(target, ret_host, &path) ? path : target;
}

static bool check_target(struct http_request *req, struct str target)
{
    bool is_asterisk = str_is(target, "*") && strcmp(req->method, "OPTIONS") == 0;
    bool is_absolute = target.p != parser_target(&req->parser).p;

    if (is_asterisk)
        return true;
    if (strcmp(req->method, "CONNECT") == 0 ||
        (!is_absolute && (target.n == 0 || target.p[0] != '/')))
        return decline(req, 400, "The request's target must be a path or a URL");
    if (is_absolute && (req->host.n == 0 || str_has(req->host, '@')))
        return decline(req, 400, "The request's target must name a host, and no user");
    if (str_has(target, '#'))
        return decline(req, 400, "The request's target must not have a fragment");
    return true;
}

static bool check_host(struct http_request *req)
{
    struct str host = req->host;

    /* No browser reaches a Unix socket, and HTTP/1.0 may come without. */
    if (req->conn->peer.is_unix || str_absent(host) ||
        (req->match.route != NULL && (req->match.flags & HTTP_ROUTE_ANY_HOST) != 0))
        return true;
    if (guard_host_allowed(&http_server_limits(req->loop->server)->guard, host))
        return true;
    return decline(req, 403, "Host not allowed");
}

static bool decode_path(struct http_request *req, struct str path)
{
    if (str_is(path, "*")) {
        req->path = path;
        return true;
    }
    if (!path_decode(path, &req->decoded))
        return false;
    req->path = buf_text(&req->decoded);
    return true;
}

static bool decode_query(struct http_request *req, struct str query)
{
    size_t from = req->decoded.n;

    if (!query_decode(query, &req->decoded))
        return false;
    req->query = buf_since(&req->decoded, from);
    return true;
}

static bool decode_params(struct http_request *req)
{
    for (size_t i = 0; i < req->match.n_params; i++) {
        size_t from = req->decoded.n;
        if (!percent_decode(req->match.values[i], false, &req->decoded))
            return false;
        req->match.values[i] = buf_since(&req->decoded, from);
    }
    return true;
}

static struct str without_prefix(const struct http_request *req, struct str path)
{
    const char *prefix = req->loop->server->options.prefix;
    struct str p = prefix != NULL ? str_of(prefix) : STR("");

    if (p.n == 0 || !str_starts(path, p) || (path.n > p.n && path.p[p.n] != '/'))
        return path;
    return path.n > p.n ? str_skip(path, p.n) : STR("/");
}

/* Decodes path, parameters and query into one buffer, which is reserved at once: pointers into
 * it stay valid. */
static bool find_route(struct http_request *req, struct str target)
{
    size_t mark = str_find(target, '?');
    struct str path = mark > 0 ? str_head(target, mark) : STR("/"); /* of a URL without one */
    struct str query = str_skip(target, mark + 1);

    path = without_prefix(req, path);
    if (!buf_reserve(&req->decoded, 2 * path.n + query_room(query)))
        return decline(req, 500, "Out of memory");
    if (!decode_path(req, path))
        return decline(req, 400, "The path is malformed");
    if (!str_is(path, "*"))
        router_find(req->loop->server->router, str_of(req->method), path, &req->match);
    if (!decode_params(req))
        return decline(req, 400, "The path is malformed");
    if (!decode_query(req, query))
        return decline(req, 400, "The query is malformed");
    return true;
}

static bool check_origin(struct http_request *req)
{
    req->origin = guard_origin(&http_server_limits(req->loop->server)->guard,
                               http_header(req, "origin"), req->host);
    /* Browsers send no preflight for a WebSocket, and show the page what arrives: check Origin
     * here. */
    if (http_is_safe(req) && !http_asks_upgrade(req))
        return true;
    if (http_page_may_act(req))
        return true;
    return decline(req, 403, "%s",
                   req->origin == GUARD_FOREIGN ? "Origin not allowed"
                                                : "Cross-site request not allowed");
}

static bool check_away(struct http_request *req)
{
    const struct http_options *o = &req->loop->server->options;

    return o->divert == NULL || pipeline_has(req) || !o->divert(req, o->arg);
}

static bool check_reserve(struct http_request *req)
{
    if (!req->conn->is_over)
        return true;
    req->keep_alive = false;
    if (req->match.route != NULL &&
        (req->match.flags & (HTTP_ROUTE_HEALTH | HTTP_ROUTE_STREAM)) != 0)
        return true;
    http_set_header(req, "Retry-After", STR("1"));
    return decline(req, 503, "Too many open connections");
}

static void set_allow(struct http_request *req)
{
    char text[64];
    /* On the stack, and never grows: the names of all methods fit. */
    struct buf b = { .p = text, .cap = sizeof(text), .max = sizeof(text) };

    router_put_methods(&b, req->match.methods);
    http_set_header(req, "Allow", buf_text(&b));
}

static bool answer_options(struct http_request *req)
{
    bool is_preflight = !str_absent(http_header(req, "access-control-request-method"));

    if (!req->parser.complete)
        req->keep_alive = false;
    if (is_preflight)
        req->preflight = req->match.methods;
    if (!str_is(req->path, "*"))
        set_allow(req);
    http_respond(req, 204, NULL, STR_NONE);
    return false;
}

static bool check_route(struct http_request *req)
{
    const struct http_options *o = &req->loop->server->options;
    bool is_options = strcmp(req->method, "OPTIONS") == 0;

    if (req->match.route != NULL)
        return true;
    if (is_options && req->match.methods == 0 && o->divert != NULL &&
        !str_absent(http_header(req, "access-control-request-method")))
        req->match.methods = ROUTER_ALL_METHODS; /* it may be a path of another program */
    if (is_options && (req->match.methods != 0 || str_is(req->path, "*")))
        return answer_options(req);
    req->match.route = o->unrouted != NULL ? o->unrouted(req, o->arg) : NULL;
    req->is_unrouted = req->match.route != NULL;
    if (req->is_unrouted)
        return true;
    if (req->match.methods == 0)
        return decline(req, 404, "Not Found");
    set_allow(req);
    return decline(req, 405, "Method Not Allowed");
}

void http_respond_unrouted(struct http_request *req)
{
    if (req->match.methods == 0) {
        http_respond_error(req, 404, "Not Found");
        return;
    }
    set_allow(req);
    http_respond_error(req, 405, "Method Not Allowed");
}

static bool check_caller(struct http_request *req)
{
    const struct http_options *o = &req->loop->server->options;

    if (o->admit == NULL)
        return true;
    /* An answer in the middle of reading ends the connection; see decline(). */
    bool keep_alive = req->keep_alive;
    req->keep_alive = keep_alive && req->parser.complete;
    if (!o->admit(req, req->match.route, o->arg))
        return false;
    req->keep_alive = keep_alive;
    return true;
}

static size_t body_limit(const struct http_request *req)
{
    return http_server_limits(req->loop->server)->max_body[req->match.route->body];
}

static void accept_body(struct http_request *req)
{
    struct str expect = http_header(req, "expect");
    bool is_10 = parser_is_10(&req->parser);

    if (!str_absent(expect) && !is_10 && !header_is(expect, "100-continue")) {
        (void)decline(req, 417, "Only Expect: 100-continue is known");
        return;
    }
    parser_accept(&req->parser, body_limit(req));
    if (req->parser.state != PARSER_BODY)
        return;
    if (!str_absent(expect) && !is_10)
        buf_lit(conn_out(req->conn), "HTTP/1.1 100 Continue\r\n\r\n");
    conn_move(req->conn, CONN_BODY);
}

void request_check(struct http_request *req)
{
    struct str target = request_target(req, &req->host);

    req->method = llhttp_method_name((llhttp_method_t)req->parser.llhttp.method);
    req->keep_alive = llhttp_should_keep_alive(&req->parser.llhttp) != 0;
    choose_id(req);
    if (check_target(req, target) && find_route(req, target) && check_host(req) &&
        check_origin(req) && check_reserve(req) && check_away(req) && check_route(req) &&
        check_caller(req))
        accept_body(req);
}
