/* One request, from its first byte to its handler and to the next one.  What its head
 * decides is in check.c.
 *
 * A handler may answer inside its call or later; meanwhile the request stays with its
 * connection.  If that closes first, the handler is told (http_on_gone), or, when it did
 * not ask to be told, the request waits among the loop's orphans for the answer. */
#define _GNU_SOURCE /* POLLRDHUP */
#include "http/request.h"

#include "base/clock.h"
#include "http/conn.h"
#include "http/http.h"
#include "http/loop.h"
#include "http/query.h"
#include "http/server.h"

#include <assert.h>
#include <poll.h>
#include <stdlib.h>

enum {
    MAX_SPARE = 32,          /* requests kept by a loop */
    KEEP_BYTES = 4096,       /* a buffer that grew beyond is given back with the request */
    MAX_HEADERS_OUT = 16384, /* bytes of headers that a handler may add */
    MAX_REST = LOOP_READ_BYTES,
    MAX_ANSWER = 1 << 20, /* bytes of an answer that waits for others */
};

/* --- memory ------------------------------------------------------------------------- */

static void request_free(struct http_request *req)
{
    parser_done(&req->parser);
    buf_done(&req->decoded);
    buf_done(&req->headers);
    buf_done(&req->answer);
    buf_done(&req->rest);
    free(req);
}

static struct http_request *make(struct http_loop *loop)
{
    struct http_request *req = calloc(1, sizeof(*req));
    size_t max_head = loop->server->options.max_head;

    if (req == NULL)
        return NULL;
    req->loop = loop;
    parser_init(&req->parser, max_head);
    buf_init(&req->decoded, 4 * max_head + 16);
    buf_init(&req->headers, MAX_HEADERS_OUT);
    buf_init(&req->answer, MAX_ANSWER);
    buf_init(&req->rest, MAX_REST);
    return req;
}

struct http_request *request_new(struct conn *c)
{
    struct http_request *req = request_new_on(c->loop);

    if (req != NULL)
        req->conn = c;
    return req;
}

struct http_request *request_new_on(struct http_loop *loop)
{
    struct http_request *req = loop->spare_requests;

    if (req != NULL) {
        loop->spare_requests = req->next;
        loop->n_spare_requests--;
    } else {
        req = make(loop);
    }
    if (req != NULL) {
        req->conn = NULL;
        req->next = NULL;
    }
    return req;
}

/* Ready for the next one; keeps `rest`. */
static void reset(struct http_request *req)
{
    parser_reset(&req->parser);
    req->method = NULL;
    req->match.route = NULL;
    req->match.flags = req->match.methods = 0;
    req->match.n_params = 0;
    buf_clear(&req->decoded);
    buf_clear(&req->headers);
    buf_clear(&req->answer);
    req->path = req->query = req->host = STR_NONE;
    req->origin = GUARD_NO_ORIGIN;
    req->preflight = 0;
    req->id_n = 0;
    req->outer = NULL;
    req->inner = NULL;
    req->inner_arg = NULL;
    req->visitor = NULL;
    req->gone = NULL;
    req->gone_data = NULL;
    req->start_us = 0;
    req->body_mark = 0;
    req->status = 0;
    req->answer_bytes = 0;
    req->keep_alive = req->is_handled = req->is_answered = req->is_logged = false;
    req->waits = req->is_unrouted = false;
}

static void empty(struct buf *b)
{
    if (b->cap > KEEP_BYTES)
        buf_done(b);
    buf_clear(b);
}

void request_release(struct http_request *req)
{
    struct http_loop *loop = req->loop;

    if (loop->n_spare_requests == MAX_SPARE) {
        request_free(req);
        return;
    }
    reset(req);
    empty(&req->rest);
    empty(&req->decoded);
    empty(&req->answer);
    req->rest_at = 0;
    req->conn = NULL;
    req->prev = NULL;
    req->next = loop->spare_requests;
    loop->spare_requests = req;
    loop->n_spare_requests++;
}

static void free_list(struct http_request *list)
{
    while (list != NULL) {
        struct http_request *next = list->next;
        request_free(list);
        list = next;
    }
}

void requests_free(struct http_loop *loop)
{
    free_list(loop->spare_requests);
    free_list(loop->orphans);
    loop->spare_requests = loop->orphans = NULL;
}

bool request_keep_rest(struct http_request *req, struct str rest)
{
    bool is_ours = rest.n > 0 && req->rest.n > 0 && rest.p >= req->rest.p &&
                   rest.p < req->rest.p + req->rest.n;

    if (is_ours) {
        req->rest_at = (size_t)(rest.p - req->rest.p);
        return true;
    }
    buf_clear(&req->rest);
    req->rest_at = 0;
    buf_str(&req->rest, rest);
    return req->rest.error == 0;
}

struct str request_rest(const struct http_request *req)
{
    return str_skip(buf_text(&req->rest), req->rest_at);
}

/* --- the log ------------------------------------------------------------------------ */

bool request_is_open(const struct http_request *req)
{
    return req->start_us != 0 && !req->is_logged;
}

/* Without the query.  Before the path is known it is the target's, as far as printable. */
static struct str path_for_log(const struct http_request *req)
{
    struct str target = parser_target(&req->parser);
    size_t n = 0;

    if (!str_absent(req->path))
        return req->path;
    while (n < target.n && target.p[n] != '?' && target.p[n] > 0x20 && target.p[n] < 0x7f)
        n++;
    return n > 0 ? str_head(target, n) : STR_NONE;
}

void request_log(struct http_request *req, struct str why)
{
    char peer[PEER_TEXT];
    uint64_t us = clock_monotonic_us() - req->start_us;

    req->is_logged = true;
    loop_count_answer(req, us);
    if (!loop_logs(req->loop))
        return; /* there is no log: peer and path are not needed */
    loop_log(req->loop, &(struct access_entry){
                            .kind = ACCESS_REQUEST,
                            .method = str_of(req->method),
                            .path = path_for_log(req),
                            .status = req->status,
                            .bytes = req->answer_bytes,
                            .us = us,
                            .id = req->id_n > 0 ? http_request_id(req) : STR_NONE,
                            .peer = peer_text(&req->conn->peer, peer),
                            .why = why,
                        });
}

/* --- its way ------------------------------------------------------------------------ */

void request_begin(struct http_request *req)
{
    req->start_us = clock_monotonic_us();
}

static void dispatch(struct http_request *req)
{
    const struct http_options *o = &req->loop->server->options;

    conn_move(req->conn, CONN_HANDLING);
    req->is_handled = true;
    counter_add(&req->loop->counts.inflight, 1);
    if (o->hold == NULL || !o->hold(req, req->match.route, o->arg))
        req->match.route->handler(req);
}

void http_resume(struct http_request *req)
{
    req->match.route->handler(req);
}

static void refuse_bad(struct http_request *req)
{
    const struct parser *p = &req->parser;
    size_t most = p->status == 413                       ? p->max_body
                  : p->status == 414 || p->status == 431 ? p->max_head
                                                         : 0;

    if (most > 0)
        request_refuse(req, p->status, "%s: at most %zu bytes", p->problem, most);
    else
        request_refuse(req, p->status, "%s", p->problem);
}

void request_advance(struct http_request *req)
{
    req->is_busy = true;
    if (req->parser.state == PARSER_ASK)
        request_check(req);
    if (req->parser.state == PARSER_BAD && !req->is_answered)
        refuse_bad(req);
    if (req->parser.state == PARSER_DONE && !req->is_answered)
        dispatch(req);
    req->is_busy = false;
    if (req->is_answered)
        request_finish(req);
}

void request_finish(struct http_request *req)
{
    struct conn *c = req->conn;

    if (c->state == CONN_CLOSING)
        return; /* request_leave takes care of it */
    c->is_fresh = false;
    if (pipeline_has(req)) {
        if (req == c->req && c->state != CONN_HANDLING)
            conn_move(c, CONN_HANDLING); /* refused; its answer is sent in its turn */
        if (c->loop->corked != c)
            conn_settle(c);
        return;
    }
    if (c->stream.events != NULL) { /* which may have ended since */
        if (c->stream.events->received == NULL)
            conn_drop_request(c);
    } else if (req->keep_alive) {
        conn_move(c, CONN_IDLE);
        reset(req);
    } else {
        conn_move(c, CONN_ENDING);
        conn_drop_request(c);
    }
    if (c->loop->corked != c)
        conn_settle(c);
}

void request_add_orphan(struct http_request *req)
{
    struct http_loop *loop = req->loop;

    req->prev = NULL;
    req->next = loop->orphans;
    if (req->next != NULL)
        req->next->prev = req;
    loop->orphans = req;
}

void request_remove_orphan(struct http_request *req)
{
    if (req->prev != NULL)
        req->prev->next = req->next;
    else
        req->loop->orphans = req->next;
    if (req->next != NULL)
        req->next->prev = req->prev;
}

void request_leave(struct http_request *req)
{
    req->conn = NULL;
    if (!req->is_handled || req->is_answered) {
        request_release(req);
    } else if (req->gone != NULL) {
        req->is_answered = true;
        counter_sub(&req->loop->counts.inflight, 1);
        req->gone(req, req->gone_data);
        request_release(req);
    } else {
        request_add_orphan(req);
    }
}

bool respond_begin(struct http_request *req)
{
    assert(!req->is_answered);
    req->is_answered = true;
    if (req->is_handled)
        counter_sub(&req->loop->counts.inflight, 1);
    if (req->conn == NULL) {
        request_remove_orphan(req);
        request_release(req);
        return false;
    }
    return req->conn->state != CONN_CLOSING;
}

size_t request_body_progress(struct http_request *req)
{
    size_t n = req->parser.body_bytes - req->body_mark;

    req->body_mark = req->parser.body_bytes;
    return n;
}

/* --- for the handlers --------------------------------------------------------------- */

struct http_loop *http_request_loop(struct http_request *req)
{
    return req->loop;
}

struct str http_method(const struct http_request *req)
{
    return str_of(req->method);
}

struct str http_path(const struct http_request *req)
{
    return req->path;
}

struct str http_param(const struct http_request *req, const char *name)
{
    for (size_t i = 0; i < req->match.n_params; i++)
        if (str_eq(req->match.names[i], str_of(name)))
            return req->match.values[i];
    return STR_NONE;
}

struct str http_query(const struct http_request *req, const char *name)
{
    return query_find(req->query, str_of(name));
}

struct str http_query_nth(const struct http_request *req, const char *name, size_t i)
{
    return query_find_nth(req->query, str_of(name), i);
}

struct str http_header(const struct http_request *req, const char *name)
{
    return parser_header(&req->parser, str_of(name));
}

bool http_header_at(const struct http_request *req,
                    size_t i,
                    struct str *ret_name,
                    struct str *ret_value)
{
    return parser_header_at(&req->parser, i, ret_name, ret_value);
}

struct str http_body(const struct http_request *req)
{
    return buf_text(&req->parser.body);
}

bool http_set_body(struct http_request *req, struct str body)
{
    buf_clear(&req->parser.body);
    buf_str(&req->parser.body, body);
    return req->parser.body.error == 0;
}

struct str http_target(const struct http_request *req)
{
    struct str host;

    return request_target(req, &host);
}

bool http_is_10(const struct http_request *req)
{
    return parser_is_10(&req->parser);
}

struct str http_request_id(const struct http_request *req)
{
    return str_make(req->id, req->id_n);
}

bool http_is_tls(const struct http_request *req)
{
    return req->conn != NULL && req->conn->tls != NULL;
}

bool http_asks_upgrade(const struct http_request *req)
{
    return !http_is_10(req) && header_lists(http_header(req, "connection"), STR("upgrade"));
}

bool http_is_safe(const struct http_request *req)
{
    return strcmp(req->method, "GET") == 0 || strcmp(req->method, "HEAD") == 0;
}

enum http_page http_page(const struct http_request *req)
{
    struct str site = http_header(req, "sec-fetch-site");

    switch (req->origin) {
    case GUARD_SAME:
    case GUARD_LISTED:
        return HTTP_PAGE_TRUSTED;
    case GUARD_ANY:
    case GUARD_FOREIGN:
        return HTTP_PAGE_OTHER;
    case GUARD_NO_ORIGIN:
        break;
    }
    if (str_is(site, "same-origin"))
        return HTTP_PAGE_TRUSTED;
    return str_absent(site) || str_is(site, "none") ? HTTP_PAGE_UNKNOWN : HTTP_PAGE_OTHER;
}

bool http_page_may_act(const struct http_request *req)
{
    /* Pages of any origin may act where "*" is listed; http_page trusts none of them. */
    return req->origin == GUARD_ANY || http_page(req) != HTTP_PAGE_OTHER;
}

void *http_visitor(const struct http_request *req)
{
    const struct conn *c = req->inner != NULL ? req->outer : req->conn;

    if (req->visitor != NULL)
        return req->visitor;
    return c != NULL ? c->visitor : NULL;
}

void http_set_visitor(struct http_request *req, void *visitor)
{
    struct conn *c = req->conn;

    if (c->visitor != NULL)
        req->loop->server->options.visitor_free(c->visitor);
    c->visitor = visitor;
}

void http_on_gone(struct http_request *req,
                  void (*gone)(struct http_request *req, void *data),
                  void *data)
{
    req->gone = gone;
    req->gone_data = data;
}

bool http_has_left(const struct http_request *req)
{
    struct pollfd peer = { .events = POLLRDHUP };

    return uv_fileno(&req->conn->handle.any, &peer.fd) != 0 ||
           (poll(&peer, 1, 0) == 1 && peer.revents != 0);
}

void http_set_header(struct http_request *req, const char *name, struct str value)
{
    header_put(&req->headers, str_of(name), value);
}

bool http_is_over(const struct http_request *req)
{
    return req->conn->is_over;
}
