/* A thread's events on one connection.
 *
 * The thread feed gives the events of all channels; here those that nobody on this connection
 * asked for are left out, and the others get their framing. */
#include "transport/thread_stream.h"

#include "auth/permit.h"
#include "base/container_of.h"
#include "base/error.h"
#include "framing/framing.h"
#include "http/chunk.h"
#include "transport/thread_feed.h"

#include <stdlib.h>

struct thread_stream {
    struct stream stream;
    struct thread_feed feed;
    struct thread_filter filter;
    uint64_t since; /* events up to this one are left out */
    struct buf out;
    bool is_counted; /* among the open streams */
};

static struct thread_stream *of_stream(struct stream *s)
{
    return container_of(s, struct thread_stream, stream);
}

/* --- sending ------------------------------------------------------------------------------ */

/* As LangGraph's server writes it: the id is the last field. */
static void put_event(struct buf *out, const struct thread_line *line)
{
    buf_lit(out, "event: ");
    buf_str(out, line->method);
    buf_lit(out, "\ndata: ");
    buf_str(out, line->text);
    buf_lit(out, "\nid: ");
    buf_str(out, line->id);
    buf_lit(out, "\n\n");
}

static void put_lines(struct thread_stream *ts, struct str lines)
{
    struct thread_line line;

    while (lines.n > 0) {
        struct str text = str_head(lines, str_find(lines, '\n'));

        lines = str_skip(lines, text.n + 1);
        if (thread_line_read(text, &line) && line.seq > ts->since &&
            thread_filter_takes(&ts->filter, &line))
            put_event(&ts->out, &line);
    }
}

static void send_lines(struct thread_stream *ts, struct str lines)
{
    bool is_chunked = http_stream_is_chunked(ts->stream.http);

    buf_clear(&ts->out);
    size_t from = http_chunk_begin(&ts->out, is_chunked);
    put_lines(ts, lines);
    http_chunk_end(&ts->out, from, is_chunked);
    if (ts->out.error != 0)
        stream_cut(&ts->stream, STREAM_NO_MEMORY);
    else if (ts->out.n > 0)
        stream_send(&ts->stream, buf_text(&ts->out));
}

static void carry(struct stream *s)
{
    struct thread_stream *ts = of_stream(s);
    struct str lines;

    while (stream_has_room(s)) {
        switch (thread_feed_next(&ts->feed, &lines)) {
        case FEED_BYTES:
            send_lines(ts, lines);
            break;
        case FEED_FAILED:
            s->transport->leave(s, STREAM_FAILED);
            break;
        case FEED_WAIT:
        case FEED_GAP:
        case FEED_CAUGHT_UP:
        case FEED_END:
        case FEED_GONE:
            buf_done(&ts->out); /* an idle reader needs no buffer */
            return;
        }
    }
}

static void on_wake(struct thread_feed *f)
{
    struct thread_stream *ts = container_of(f, struct thread_stream, feed);

    if (ts->stream.has_begun)
        carry(&ts->stream);
}

/* --- life --------------------------------------------------------------------------------- */

static void on_closed(struct stream *s)
{
    struct thread_stream *ts = of_stream(s);

    if (ts->is_counted)
        traffic_closed(s->loop->traffic, s->transport->kind, &dialect_messages,
                       (enum stream_end)s->why);
    thread_feed_close(&ts->feed);
    thread_filter_done(&ts->filter);
    permit_free(s->permit);
    buf_done(&ts->out);
    free(ts);
}

static const struct content content = { .carry = carry, .closed = on_closed };

static void begin(struct thread_stream *ts)
{
    struct stream *s = &ts->stream;

    if (!stream_begin(s))
        return;
    ts->is_counted = true;
    traffic_opened(s->loop->traffic, s->transport->kind, &dialect_messages);
    carry(s);
}

void thread_stream_open(struct streams *l,
                        struct http_request *req,
                        const struct thread_stream_request *what)
{
    struct thread_stream *ts = calloc(1, sizeof(*ts));
    struct thread_feed_request feed = { .thread = what->thread,
                                        .scope = permit_job_scope(what->permit),
                                        .after = what->since,
                                        .wake = on_wake };
    struct error err = { 0 };

    if (ts == NULL || l->draining || http_is_over(req)) {
        free(ts);
        permit_free(what->permit);
        transport_langgraph.send_away(l, req);
        return;
    }
    int code = thread_filter_init(&ts->filter, what->filter, &err);
    if (code == 0 && thread_feed_open(&ts->feed, l, &feed) != 0)
        code = error_set(&err, ERR_TYPE, "a thread's id has at most 80 characters");
    if (code != 0) {
        thread_filter_done(&ts->filter);
        free(ts);
        permit_free(what->permit);
        http_respond_error(req, code == ERR_NOMEM ? 503 : 422, "%s", err.text);
        return;
    }
    ts->since = what->since;
    buf_init(&ts->out, SIZE_MAX / 4);
    stream_init(&ts->stream, l, &transport_langgraph, &content, what->permit, req);
    begin(ts);
}
