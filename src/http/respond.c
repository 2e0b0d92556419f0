/* Answers.
 *
 * The head is made as text in conn_out: the loop's cork while the connection's bytes are
 * being taken, so that pipelined answers leave together; else a scratch buffer that goes
 * out at once.  Small bodies join them there; large ones are handed to the socket from
 * where they are, and only what it does not take is copied. */
#include "http/conn.h"
#include "http/http.h"
#include "http/loop.h"
#include "http/request.h"
#include "http/server.h"

#include "base/json.h"
#include "base/utf8.h"

#include <stdio.h>

enum {
    GATHER_BODY = 8192, /* bytes; larger bodies are not copied */
    GATHER_ALL = 65536, /* bytes of pipelined answers that wait for each other */
};

static void put_connection(struct buf *b, const struct http_request *req)
{
    if (!req->keep_alive)
        buf_lit(b, "Connection: close\r\n");
    else if (parser_is_10(&req->parser))
        buf_lit(b, "Connection: keep-alive\r\n");
}

/* Where the text of its answer goes. */
static struct buf *respond_out(struct http_request *req)
{
    return pipeline_has(req) ? &req->answer : conn_out(req->conn);
}

static void put_cors(struct buf *b, struct http_request *req)
{
    struct guard_preflight preflight = { .methods = req->preflight };

    if (req->preflight != 0) {
        preflight.headers = http_header(req, "access-control-request-headers");
        preflight.is_to_private =
            str_is(http_header(req, "access-control-request-private-network"), "true");
    }
    guard_put_headers(&http_server_limits(req->loop->server)->guard, b, req->origin,
                      http_header(req, "origin"), &preflight);
}

void respond_put_head(struct http_request *req, int status, const char *type, int64_t length)
{
    struct http_loop *loop = req->loop;
    struct buf *b = respond_out(req);

    if (loop->is_draining && req->conn->req == req) /* unless later ones wait */
        req->keep_alive = false;
    buf_lit(b, "HTTP/1.1 ");
    buf_i64(b, status);
    buf_char(b, ' ');
    buf_str(b, str_of(status_text(status)));
    buf_lit(b, "\r\nDate: ");
    buf_str(b, str_of(loop_date(loop)->http));
    buf_lit(b, "\r\n");
    if (type != NULL)
        header_put(b, STR("Content-Type"), str_of(type));
    if (length >= 0) {
        buf_lit(b, "Content-Length: ");
        buf_i64(b, length);
        buf_lit(b, "\r\n");
    }
    buf_lit(b, "X-Request-Id: ");
    buf_str(b, http_request_id(req));
    buf_lit(b, "\r\nX-Content-Type-Options: nosniff\r\n");
    put_cors(b, req);
    buf_str(b, buf_text(&req->headers));
    put_connection(b, req);
}

void http_put_cors(const struct http_request *req, struct buf *b)
{
    guard_put_headers(&http_server_limits(req->loop->server)->guard, b, req->origin,
                      http_header(req, "origin"), &(struct guard_preflight){ 0 });
}

bool respond_is_whole(struct http_request *req, size_t from)
{
    static const char no_memory[] = "HTTP/1.1 500 Internal Server Error\r\n"
                                    "Content-Length: 0\r\nConnection: close\r\n\r\n";
    struct buf *b = respond_out(req);

    if (b->error == 0 && req->headers.error == 0)
        return true;
    if (pipeline_has(req)) {
        conn_close(req->conn, "out of memory");
        return false;
    }
    b->error = 0;
    buf_cut(b, from);
    req->keep_alive = false;
    req->status = 500;
    req->answer_bytes = 0;
    (void)conn_flush(req->conn, str_make(no_memory, sizeof(no_memory) - 1)); /* then it ends */
    return false;
}

void respond_end(struct http_request *req)
{
    if (request_is_open(req) && req->conn->state != CONN_CLOSING)
        request_log(req, STR_NONE);
    if (!req->is_busy)
        request_finish(req);
}

/* Sends head and body, or leaves them in the cork. */
static void send_answer(struct http_request *req, struct str body)
{
    struct conn *c = req->conn;
    struct buf *b = respond_out(req);
    bool is_corked = c->loop->corked == c && b->n + body.n <= GATHER_ALL;

    if (pipeline_has(req))
        buf_str(b, body);
    else if (is_corked && body.n <= GATHER_BODY && buf_reserve(b, body.n))
        buf_str(b, body);
    else
        (void)conn_flush(c, body); /* a failure has closed it */
}

void http_respond(struct http_request *req, int status, const char *type, struct str body)
{
    if (req->inner != NULL) {
        inner_respond(req, status, body);
        return;
    }
    if (!respond_begin(req))
        return;
    assert_owner(&req->conn->loop->owner);
    bool has_body = !status_has_no_body(status);
    bool is_head = req->method != NULL && strcmp(req->method, "HEAD") == 0;
    struct buf *b = respond_out(req);
    size_t from = b->n;

    req->status = status;
    req->answer_bytes = has_body && !is_head ? body.n : 0;
    respond_put_head(req, status, has_body ? type : NULL, has_body ? (int64_t)body.n : -1);
    buf_lit(b, "\r\n");
    if (respond_is_whole(req, from))
        send_answer(req, has_body && !is_head ? body : STR(""));
    respond_end(req);
}

/* --- errors ------------------------------------------------------------------------- */

static void put_problem(struct buf *b, int status, struct str detail)
{
    json_begin(b);
    json_add_lit(b, "type", "about:blank");
    json_add_str(b, "title", str_of(status_text(status)));
    json_add_int(b, "status", status);
    json_add_str(b, "detail", detail);
    json_end(b);
    buf_char(b, '\n');
}

static void put_detail(struct buf *b, struct str detail)
{
    json_begin(b);
    json_add_str(b, "detail", detail);
    buf_lit(b, "}\n");
}

/* LangGraph's JavaScript server answers errors with the text alone, and clients in Node show
 * the body; its Python server answers {"detail"}, which clients in Python read. */
static bool wants_text(const struct http_request *req)
{
    return (req->match.flags & HTTP_ROUTE_DETAIL) == 0 &&
           str_is(http_header(req, "User-Agent"), "node");
}

void respond_error(struct http_request *req, int status, const char *format, va_list args)
{
    struct buf *b = &req->loop->text;
    char text[512];
    /* A problem document unless the route has another form; it has `detail`, too. */
    bool is_problem = req->match.methods == 0 || (req->match.flags & HTTP_ROUTE_PROBLEM) != 0;

    (void)vsnprintf(text, sizeof(text), format, args); /* may be truncated */
    struct str detail = str_of(text);
    detail = str_head(detail, utf8_valid(detail));
    buf_clear(b);
    const char *type = is_problem        ? "application/problem+json"
                       : wants_text(req) ? "text/plain; charset=utf-8"
                                         : "application/json";
    if (is_problem)
        put_problem(b, status, detail);
    else if (wants_text(req))
        buf_str(b, detail);
    else
        put_detail(b, detail);
    if (b->error != 0)
        buf_clear(b); /* out of memory: only the status is sent */
    http_respond(req, status, type, buf_text(b));
}

bool http_respond_error(struct http_request *req, int status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    respond_error(req, status, format, args);
    va_end(args);
    return false;
}
