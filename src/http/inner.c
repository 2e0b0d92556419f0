/* Requests inside of a stream: what a client sends over its WebSocket is handled by the same
 * handlers as a request of HTTP.  So is what the server itself asks for, such as the run of a
 * cron.
 *
 * It has no connection of its own: it is among the loop's orphans until it is answered, so that
 * a loop that ends frees it. */
#include "http/conn.h"
#include "http/http.h"
#include "http/loop.h"
#include "http/request.h"

#include "base/container_of.h"

/* @value is absent when the request has no parameter. */
static bool fill(struct http_request *req, const char *param, struct str value, struct str body)
{
    req->method = "POST";
    buf_str(&req->decoded, value);
    buf_str(&req->parser.body, body);
    if (req->decoded.error != 0 || req->parser.body.error != 0)
        return false;
    req->match.methods = 1; /* errors in LangGraph's form */
    req->match.n_params = str_absent(value) ? 0 : 1;
    req->match.names[0] = str_of(param);
    req->match.values[0] = buf_text(&req->decoded);
    req->is_handled = true;
    counter_add(&req->loop->counts.inflight, 1);
    request_add_orphan(req);
    return true;
}

static struct http_request *begin(struct http_request *req,
                                  http_inner_answered *answered,
                                  void *arg)
{
    if (req != NULL) {
        req->conn = NULL;
        req->inner = answered;
        req->inner_arg = arg;
    }
    return req;
}

struct http_request *http_inner_new(struct http_stream *st,
                                    const char *param,
                                    struct str value,
                                    struct str body,
                                    http_inner_answered *answered,
                                    void *arg)
{
    struct conn *c = container_of(st, struct conn, stream);
    struct http_request *req = begin(request_new(c), answered, arg);

    if (req == NULL)
        return NULL;
    req->outer = c;
    if (!fill(req, param, value, body)) {
        request_release(req);
        return NULL;
    }
    return req;
}

struct http_request *http_inner_new_for(struct http_loop *loop,
                                        void *visitor,
                                        const char *param,
                                        struct str value,
                                        struct str body,
                                        http_inner_answered *answered,
                                        void *arg)
{
    struct http_request *req = begin(request_new_on(loop), answered, arg);

    if (req == NULL)
        return NULL;
    req->visitor = visitor;
    if (!fill(req, param, value, body)) {
        request_release(req);
        return NULL;
    }
    return req;
}

void *http_inner_arg(const struct http_request *req)
{
    return req->inner_arg;
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
    if (req->outer != NULL || req->visitor != NULL)
        req->inner(req, status, body, req->inner_arg);
    request_release(req);
}

void http_inner_leave(struct http_request *req)
{
    req->outer = NULL;
    req->visitor = NULL;
    if (req->gone == NULL)
        return; /* its handler answers later, and nobody takes it */
    end(req);
    req->gone(req, req->gone_data);
    request_release(req);
}
