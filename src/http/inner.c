/* Requests inside of a stream: what a client sends over its WebSocket is handled by the same
 * handlers as a request of HTTP.
 *
 * It has no connection of its own: it is among the loop's orphans until it is answered, so that
 * a loop that ends frees it. */
#include "http/conn.h"
#include "http/http.h"
#include "http/loop.h"
#include "http/request.h"

#include "base/container_of.h"

struct http_request *http_inner_new(struct http_stream *st,
                                    const char *param,
                                    struct str value,
                                    struct str body,
                                    http_inner_answered *answered,
                                    void *arg)
{
    struct conn *c = container_of(st, struct conn, stream);
    struct http_request *req = request_new(c);

    if (req == NULL)
        return NULL;
    req->conn = NULL;
    req->outer = c;
    req->inner = answered;
    req->inner_arg = arg;
    req->method = "POST";
    buf_str(&req->decoded, value);
    buf_str(&req->parser.body, body);
    if (req->decoded.error != 0 || req->parser.body.error != 0) {
        request_release(req);
        return NULL;
    }
    req->match.methods = 1; /* errors in LangGraph's form */
    req->match.n_params = 1;
    req->match.names[0] = str_of(param);
    req->match.values[0] = buf_text(&req->decoded);
    req->is_handled = true;
    counter_add(&req->loop->counts.inflight, 1);
    request_add_orphan(req);
    return req;
}

static void end(struct http_request *req)
{
    req->is_answered = true;
    counter_sub(&req->loop->counts.inflight, 1);
    request_remove_orphan(req);
}

void inner_respond(struct http_request *req, int status, struct str body)
{
    end(req);
    if (req->outer != NULL)
        req->inner(req, status, body, req->inner_arg);
    request_release(req);
}

void http_inner_leave(struct http_request *req)
{
    req->outer = NULL;
    if (req->gone == NULL)
        return; /* its handler answers later, and nobody takes it */
    end(req);
    req->gone(req, req->gone_data);
    request_release(req);
}
