/* Pipelined requests; see pipeline.h. */
#include "http/pipeline.h"

#include "http/conn.h"
#include "http/http.h"
#include "http/loop.h"
#include "http/request.h"
#include "http/server.h"

#include <assert.h>

enum {
    MAX_LINE = 64,           /* requests ahead of the newest */
    MAX_PASSED_BODY = 65536, /* bytes; a larger one is answered first */
    GATHER_ALL = 65536,      /* bytes of answers in a write */
};

/* --- the line ----------------------------------------------------------------------- */

static void push(struct pipeline *line, struct http_request *req)
{
    req->next = NULL;
    if (line->last != NULL)
        line->last->next = req;
    else
        line->first = req;
    line->last = req;
    line->n++;
}

static struct http_request *pop(struct pipeline *line)
{
    struct http_request *req = line->first;

    line->first = req->next;
    if (line->first == NULL)
        line->last = NULL;
    line->n--;
    req->next = NULL;
    return req;
}

bool pipeline_can_pass(const struct conn *c)
{
    const struct http_request *req = c->req;

    return c->state == CONN_HANDLING && c->n_writes == 0 && req->is_handled &&
           (req->match.flags & HTTP_ROUTE_PIPELINE) != 0 && req->keep_alive &&
           req->line.n < MAX_LINE && req->parser.body.n <= MAX_PASSED_BODY &&
           !req->loop->is_draining;
}

bool pipeline_pass(struct conn *c)
{
    struct http_request *old = c->req;
    struct http_request *new;

    new = pipeline_can_pass(c) ? request_new(c) : NULL;
    if (new == NULL)
        return false; /* the next request waits for the answer */
    new->line = old->line;
    old->line = (struct pipeline){ 0 };
    push(&new->line, old);
    c->req = new;
    conn_move(c, CONN_IDLE);
    return true;
}

/* Not with `Expect`: "100 Continue" would overtake the answers ahead. */
static bool takes_part(struct http_request *req)
{
    struct router_match match = { 0 };
    struct str host, target = request_target(req, &host);
    const char *method = llhttp_method_name((llhttp_method_t)req->parser.llhttp.method);

    router_find(req->loop->server->router, str_of(method),
                str_head(target, str_find(target, '?')), &match);
    return match.route != NULL && (match.flags & HTTP_ROUTE_PIPELINE) != 0 &&
           str_absent(http_header(req, "expect"));
}

bool pipeline_lets(struct http_request *req)
{
    enum parser_state state = req->parser.state;

    if (req->line.n == 0 || state == PARSER_HEAD || state == PARSER_BODY)
        return true;
    /* A request whose head was let through is let through to its end. */
    req->waits = state == PARSER_BAD || (state == PARSER_ASK && !takes_part(req));
    return !req->waits;
}

bool pipeline_is_free(const struct conn *c)
{
    return c->req != NULL && c->req->waits && c->req->line.n == 0;
}

/* --- answers ------------------------------------------------------------------------ */

bool pipeline_has(const struct http_request *req)
{
    return req->conn->req != req || req->line.n > 0;
}

bool pipeline_is_ready(const struct conn *c)
{
    return c->req != NULL && c->req->line.n > 0 && c->req->line.first->is_answered;
}

void pipeline_send(struct conn *c)
{
    struct http_request *newest = c->req;
    struct buf *out = conn_out(c);

    assert(c->loop->corked == NULL);
    while (pipeline_is_ready(c) && out->n < GATHER_ALL) {
        struct http_request *req = pop(&newest->line);
        buf_str(out, buf_text(&req->answer));
        request_release(req);
    }
    bool is_last = newest->line.n == 0 && newest->is_answered;
    if (is_last)
        buf_str(out, buf_text(&newest->answer));
    if (out->error != 0)
        conn_close(c, "out of memory");
    (void)conn_flush(c, STR_NONE); /* a failure has closed it */
    if (is_last)
        request_finish(newest);
    else
        conn_settle(c);
}

/* --- the end ------------------------------------------------------------------------ */

void pipeline_log(struct conn *c, struct str why)
{
    for (struct http_request *req = c->req->line.first; req != NULL; req = req->next)
        if (request_is_open(req))
            request_log(req, why);
}

void pipeline_leave(struct conn *c)
{
    struct http_request *newest = c->req;

    c->req = NULL;
    while (newest->line.n > 0)
        request_leave(pop(&newest->line));
    request_leave(newest);
}
