/* Server-sent events: text over HTTP, comments as keep-alive, and `retry` before a close. */
#include "transport/stream.h"

#include "framing/framing.h"
#include "http/chunk.h"

#include <stdio.h>
#include <stdlib.h>

enum { RETRY_MS = 1000, RETRY_JITTER_MS = 2000, LANGGRAPH_BEAT_MS = 5000 };

static const char type[] = "text/event-stream; charset=utf-8";

static struct http_stream *begin(struct stream *s, const struct http_stream_events *events)
{
    return stream_begin_text(s, type, events);
}

static void put_raw(struct http_stream *st, struct str text, struct buf *out)
{
    http_chunk_put(out, text, http_stream_is_chunked(st));
}

static int64_t look(struct stream *s, int64_t now)
{
    if (stream_silence_left(s, now) > 0)
        return stream_silence_left(s, now);
    if (!s->sending)
        put_raw(s->http, STR(": keep-alive\n\n"), stream_small(s));
    return s->loop->opt.keep_alive_ms;
}

/* Heartbeats for LangGraph's clients.  Without a blank line: their decoder makes an event of
 * every blank line after an id.  More often than for others: they reconnect when the server is
 * silent. */
static int64_t look_often(struct stream *s, int64_t now)
{
    int64_t most = s->loop->opt.keep_alive_ms;
    int64_t every = most < LANGGRAPH_BEAT_MS ? most : LANGGRAPH_BEAT_MS;
    int64_t left = s->last_sent + every - now;

    if (left > 0)
        return left;
    if (!s->sending)
        put_raw(s->http, STR(": hb\n"), stream_small(s));
    return every;
}

static void put_retry(struct streams *l, struct http_stream *st, struct buf *out)
{
    char line[40];

    (void)snprintf(line, sizeof(line), "retry: %u\n\n",
                   RETRY_MS + streams_jitter(l, RETRY_JITTER_MS)); /* fits */
    put_raw(st, str_of(line), out);
}

static void leave(struct stream *s, enum stream_end why)
{
    if (!s->sending && stream_end_info(why)->may_return) {
        put_retry(s->loop, s->http, stream_small(s));
        (void)stream_flush(s); /* best effort: the connection is cut next */
    }
    stream_cut(s, why);
}

/* --- refusing a request ------------------------------------------------------------ */

/* 503 would end a browser's EventSource for good: tell it to reconnect instead. */

static void farewell_closed(struct http_stream *st, void *data)
{
    struct buf *bytes = data;

    (void)st;
    buf_done(bytes);
    free(bytes);
}

static void farewell_sent(struct http_stream *st, void *data)
{
    (void)data;
    http_stream_cut(st, "the server is busy or going down");
}

static void bid_farewell(struct streams *l, struct http_request *req, bool with_retry)
{
    static const struct http_stream_events events = { .ready = farewell_sent,
                                                      .closed = farewell_closed };
    struct buf *bytes = malloc(sizeof(*bytes));

    if (bytes == NULL) {
        http_respond_error(req, 503, "out of memory");
        return;
    }
    buf_init(bytes, 1024);
    struct http_stream *st = http_stream_begin(req, 200, type, &events, bytes);
    if (st == NULL) {
        free(bytes);
        return;
    }
    if (with_retry)
        put_retry(l, st, bytes);
    if (bytes->n == 0 || http_stream_send(st, bytes->p, bytes->n))
        farewell_sent(st, bytes);
}

static void send_away(struct streams *l, struct http_request *req)
{
    bid_farewell(l, req, true);
}

/* Without `retry`: LangGraph's clients reconnect to the URL in Location. */
static void send_away_silently(struct streams *l, struct http_request *req)
{
    bid_farewell(l, req, false);
}

const struct transport transport_sse = { .kind = TRANSPORT_SSE,
                                         .framing = &framing_sse,
                                         .is_chunked = true,
                                         .begin = begin,
                                         .look = look,
                                         .leave = leave,
                                         .send_away = send_away };

const struct transport transport_langgraph = { .kind = TRANSPORT_SSE,
                                               .framing = &framing_sse,
                                               .is_chunked = true,
                                               .begin = begin,
                                               .look = look_often,
                                               .leave = stream_cut,
                                               .send_away = send_away_silently };
