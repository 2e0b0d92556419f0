/* What the client of a thread's WebSocket sends: commands.
 *
 * Those about subscriptions are done here.  Every other one is handed to the handler of
 * POST /threads/{thread}/commands as an inner request, and its answer is sent as a message: so
 * a page needs no connection but its WebSocket. */
#include "transport/thread_stream.h"

#include "base/error.h"
#include "base/json_format.h"
#include "framing/websocket.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_DEPTH = 100, MAX_CALLS = 64 };

/* A command that a handler has. */
struct thread_call {
    struct thread_call *next;
    struct thread_stream *stream; /* borrowed */
    struct http_request *req;
    int64_t id;
};

/* --- answers ------------------------------------------------------------------------------ */

static void send_text(struct thread_stream *ts, const struct buf *text)
{
    if (text->error == 0)
        websocket_put(stream_small(&ts->stream), WEBSOCKET_TEXT, buf_text(text));
    else
        stream_cut(&ts->stream, STREAM_NO_MEMORY);
}

static void refuse(struct thread_stream *ts,
                   int64_t id,
                   const char *code,
                   const char *format,
                   ...) __attribute__((format(printf, 4, 5)));

/* @id negative: the message has none. */
static void refuse(struct thread_stream *ts,
                   int64_t id,
                   const char *code,
                   const char *format,
                   ...)
{
    struct buf out LOCAL_BUF(8192);
    char text[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args); /* may be truncated */
    va_end(args);
    if (id < 0)
        json_format(&out, "{'type':'error','id':null,'error':%s,'message':%s}", code, text);
    else
        json_format(&out, "{'type':'error','id':%d,'error':%s,'message':%s}", id, code, text);
    send_text(ts, &out);
}

/* --- commands of a handler ---------------------------------------------------------------- */

static void forget(struct thread_call *call)
{
    struct thread_call **at = &call->stream->calls;

    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    call->stream->n_calls--;
    free(call);
}

/* An error of HTTP in the protocol's words. */
static void put_error(struct thread_stream *ts, int64_t id, int status, struct str body)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, 8);
    struct str detail = STR_NONE;
    struct json json;

    if (json_read(&reader, body, &json, NULL) == 0)
        detail = json_text(json_at(json.root, "detail"));
    refuse(ts, id,
           status == 401 || status == 403  ? "permission_denied"
           : status >= 400 && status < 500 ? "invalid_argument"
                                           : "unknown_error",
           "%.*s", STR_ARG(str_absent(detail) ? STR("the command failed") : detail));
}

static void on_answered(struct http_request *req, int status, struct str body, void *arg)
{
    struct thread_call *call = arg;
    struct thread_stream *ts = call->stream;
    int64_t id = call->id;

    (void)req;
    forget(call);
    if (status == 200)
        websocket_put(stream_small(&ts->stream), WEBSOCKET_TEXT, body);
    else
        put_error(ts, id, status, body);
    thread_stream_carry(ts);
}

static void hand_over(struct thread_stream *ts, int64_t id, struct str text)
{
    struct thread_call *call = ts->n_calls < MAX_CALLS ? calloc(1, sizeof(*call)) : NULL;

    if (call != NULL) {
        *call = (struct thread_call){ .stream = ts, .id = id };
        call->req = http_inner_new(ts->stream.http, "thread",
                                   str_make(ts->thread, ts->thread_n), text, on_answered, call);
    }
    if (call == NULL || call->req == NULL) {
        free(call);
        refuse(ts, id, "unknown_error", "too many commands at a time: wait for an answer");
        return;
    }
    call->next = ts->calls;
    ts->calls = call;
    ts->n_calls++;
    ts->command(call->req);
}

void thread_socket_close(struct thread_stream *ts)
{
    while (ts->calls != NULL) {
        struct thread_call *call = ts->calls;

        http_inner_leave(call->req);
        forget(call);
    }
}

/* --- subscriptions ------------------------------------------------------------------------ */

static void subscribe(struct thread_stream *ts, int64_t id, const yyjson_val *params)
{
    struct thread_sub *sub = calloc(1, sizeof(*sub));
    struct buf out LOCAL_BUF(1024);
    struct error err = { 0 };
    char number[24];

    if (sub == NULL) {
        refuse(ts, id, "unknown_error", "out of memory");
        return;
    }
    int code = thread_filter_init(&sub->filter, params, &err);
    if (code == 0)
        code = thread_stream_add(ts, sub);
    if (code != 0) {
        refuse(ts, id, code == ERR_TYPE ? "invalid_argument" : "unknown_error", "%s", err.text);
        thread_filter_done(&sub->filter);
        free(sub);
        return;
    }
    (void)snprintf(number, sizeof(number), "%" PRIu64, sub->number); /* fits */
    json_format(&out,
                "{'type':'success','id':%d,"
                "'result':{'subscription_id':%s,'replayed_events':0},'meta':{'thread_id':%s}}",
                id, (const char *)number, str_make(ts->thread, ts->thread_n));
    send_text(ts, &out);
}

static void unsubscribe(struct thread_stream *ts, int64_t id, const yyjson_val *params)
{
    struct str name = json_text(json_at(params, "subscription_id"));
    struct buf out LOCAL_BUF(1024);
    uint64_t number = 0;

    for (size_t i = 0; i < name.n && i < 18; i++)
        number = name.p[i] >= '0' && name.p[i] <= '9'
                     ? number * 10 + (uint64_t)(name.p[i] - '0')
                     : 0;
    if (!thread_stream_remove(ts, number)) {
        refuse(ts, id, "no_such_subscription", "Unknown subscription: %.*s",
               STR_ARG(str_head(name, 40)));
        return;
    }
    json_format(&out, "{'type':'success','id':%d,'result':{}}", id);
    send_text(ts, &out);
}

void thread_socket_take(struct thread_stream *ts, struct str text)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, MAX_DEPTH);
    struct json json;

    if (json_read(&reader, text, &json, NULL) != 0) {
        refuse(ts, -1, "invalid_argument", "Protocol commands must be valid JSON.");
        return;
    }
    int64_t id = json_int(json_at(json.root, "id"), -1);
    struct str method = json_text(json_at(json.root, "method"));
    yyjson_val *params = json_at(json.root, "params");
    if (id < 0 || str_absent(method))
        refuse(ts, -1, "invalid_argument",
               "Protocol commands must include an integer id and string method.");
    else if (str_is(method, "subscription.subscribe"))
        subscribe(ts, id, params);
    else if (str_is(method, "subscription.unsubscribe"))
        unsubscribe(ts, id, params);
    else if (str_is(method, "subscription.reconnect"))
        refuse(ts, id, "not_supported",
               "subscribe again: every subscription begins with the past");
    else
        hand_over(ts, id, text);
}
