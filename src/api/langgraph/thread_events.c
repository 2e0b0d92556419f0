/* /threads/{thread}/stream/events: the thread's events, filtered; POST with one filter, or a
 * WebSocket with subscriptions and commands. */
#include "api/langgraph/langgraph.h"

#include "api/admit.h"
#include "api/langgraph/authorize.h"
#include "auth/access.h"
#include "base/error.h"
#include "transport/thread_stream.h"
#include "transport/websocket.h"

/* A place as clients write it: the number of an event, or its id, <ms>-<number>. */
static uint64_t place_of(struct str text)
{
    size_t dash = str_find(text, '-');
    struct str digits = dash < text.n && dash > 0 ? str_skip(text, dash + 1) : text;
    uint64_t n = 0;

    for (size_t i = 0; i < digits.n; i++) {
        if (digits.p[i] < '0' || digits.p[i] > '9' || n > UINT64_MAX / 16)
            return 0; /* of another server: from the beginning */
        n = n * 10 + (uint64_t)(digits.p[i] - '0');
    }
    return n;
}

static uint64_t read_place(struct http_request *req, const yyjson_val *body)
{
    int64_t since = json_int(json_at(body, "since"), 0);
    struct str id = json_text(json_at(body, "since_event_id"));

    if (since > 0)
        return (uint64_t)since;
    return place_of(str_absent(id) ? http_header(req, "Last-Event-ID") : id);
}

void api_thread_events(struct http_request *req)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, 16);
    struct thread_stream_request what = { .thread = http_param(req, "thread"),
                                          .transport = &transport_langgraph };
    struct json json;

    if (!api_read_body(req, &reader, http_body(req), &json) ||
        !api_take_permit(req, &what.permit))
        return;
    what.filter = json.root;
    what.since = read_place(req, json.root);
    thread_stream_open(app_loop_of(req)->streams, req, &what);
}

/* --- the WebSocket ------------------------------------------------------------------------ */

/* A command that came over a socket, which only needs a token that may read. */
static void take_command(struct http_request *req)
{
    const struct token *token = api_token(req);

    if (token != NULL && (token->access & ACCESS_CLIENT) != 0)
        authorize_command(req, api_thread_command);
    else
        http_respond_error(req, 403, "this token may read, but not send commands");
}

void api_thread_socket(struct http_request *req)
{
    struct thread_stream_request what = { .thread = http_param(req, "thread"),
                                          .transport = &transport_websocket,
                                          .command = take_command };

    if (!websocket_is_asked(req)) {
        http_set_header(req, "Upgrade", STR("websocket"));
        http_respond_error(req, 426,
                           "GET is for WebSockets here; POST a filter to read events");
        return;
    }
    /* It may send commands, so it is checked as a request that changes something. */
    if (websocket_check(req) && api_may_act(req) && api_take_permit(req, &what.permit))
        thread_stream_open(app_loop_of(req)->streams, req, &what);
}
