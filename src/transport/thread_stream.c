/* A thread's events on one connection.
 *
 * The thread feed gives the events of all channels; here those that nobody on this connection
 * asked for are left out, and the others get their framing.
 *
 * A subscription of a WebSocket that comes later than others gets the thread's past first, from
 * a second feed, up to the place of the first one, which waits meanwhile.  So every
 * subscription sees its events in their order, and an event that several subscriptions want is
 * sent once. */
#include "transport/thread_stream.h"

#include "auth/permit.h"
#include "base/container_of.h"
#include "base/error.h"
#include "dialect/thread_events.h"
#include "framing/framing.h"
#include "framing/websocket.h"
#include "http/chunk.h"

#include <stdlib.h>

static struct thread_stream *of_stream(struct stream *s)
{
    return container_of(s, struct thread_stream, stream);
}

static bool is_socket(const struct thread_stream *ts)
{
    return ts->stream.transport == &transport_websocket;
}

/* --- feeds -------------------------------------------------------------------------------- */

static void on_live_wake(struct thread_feed *f)
{
    struct thread_stream *ts = container_of(f, struct thread_stream, live);

    if (ts->stream.has_begun)
        thread_stream_carry(ts);
}

static void on_replay_wake(struct thread_feed *f)
{
    thread_stream_carry(container_of(f, struct thread_stream, replay));
}

static int open_feed(struct thread_stream *ts,
                     struct thread_feed *f,
                     uint64_t after,
                     void (*wake)(struct thread_feed *f))
{
    const struct thread_feed_request what = { .thread = str_make(ts->thread, ts->thread_n),
                                              .scope = permit_job_scope(ts->stream.permit),
                                              .after = after,
                                              .wake = wake };

    return thread_feed_open(f, ts->stream.loop, &what);
}

/* Everything up to the place of `live` was sent. */
static void end_replay(struct thread_stream *ts)
{
    thread_feed_close(&ts->replay);
    ts->has_replay = false;
    for (struct thread_sub *sub = ts->subs; sub != NULL; sub = sub->next) {
        sub->is_live |= sub->is_replayed;
        sub->is_replayed = false;
    }
}

/* For the subscriptions that are not live yet. */
static void begin_replay(struct thread_stream *ts)
{
    bool is_wanted = false;

    for (struct thread_sub *sub = ts->subs; sub != NULL; sub = sub->next) {
        sub->is_replayed = !sub->is_live;
        is_wanted |= sub->is_replayed;
    }
    if (!is_wanted)
        return;
    ts->has_replay = open_feed(ts, &ts->replay, 0, on_replay_wake) == 0;
    if (!ts->has_replay)
        stream_cut(&ts->stream, STREAM_NO_MEMORY);
}

int thread_stream_add(struct thread_stream *ts, struct thread_sub *sub)
{
    if (!ts->has_live) {
        int err = open_feed(ts, &ts->live, sub->since, on_live_wake);

        if (err != 0)
            return err;
        ts->has_live = true;
    }
    sub->is_live = ts->at == 0; /* nothing has been missed */
    sub->number = ++ts->n_subs;
    sub->next = ts->subs;
    ts->subs = sub;
    return 0;
}

bool thread_stream_remove(struct thread_stream *ts, uint64_t number)
{
    for (struct thread_sub **at = &ts->subs; *at != NULL; at = &(*at)->next) {
        struct thread_sub *sub = *at;

        if (sub->number != number)
            continue;
        *at = sub->next;
        thread_filter_done(&sub->filter);
        free(sub);
        return true;
    }
    return false;
}

/* --- sending ------------------------------------------------------------------------------ */

static void put_event(struct thread_stream *ts, const struct thread_line *line)
{
    struct buf *out = &ts->out;

    if (is_socket(ts)) {
        websocket_put(out, WEBSOCKET_TEXT, line->text);
        return;
    }
    buf_lit(out, "event: "); /* as LangGraph's server writes it: the id is the last field */
    buf_str(out, line->method);
    buf_lit(out, "\ndata: ");
    buf_str(out, line->text);
    buf_lit(out, "\nid: ");
    buf_str(out, line->id);
    buf_lit(out, "\n\n");
}

/* Does anybody who is due for it want it? */
static bool is_wanted(const struct thread_stream *ts, const struct thread_line *line)
{
    for (const struct thread_sub *sub = ts->subs; sub != NULL; sub = sub->next)
        if ((ts->has_replay ? sub->is_replayed : sub->is_live) && line->seq > sub->since &&
            thread_filter_takes(&sub->filter, line))
            return true;
    return false;
}

/* LangGraph's SDKs end a client's loops over values and messages when a run's end comes,
 * whichever run's it is: who starts a run on an older thread and then opens its stream would
 * see the older runs and nothing of the new one.  So the end of a run is left out while a
 * newer one has not ended; the end of that one is the thread's. */
static bool is_outdated(const struct thread_feed *f, const struct thread_line *line)
{
    return line->ends_run && f->is_followed;
}

static void put_lines(struct thread_stream *ts, struct str lines)
{
    const struct thread_feed *f = ts->has_replay ? &ts->replay : &ts->live;
    struct thread_line line;

    while (lines.n > 0) {
        struct str text = str_head(lines, str_find(lines, '\n'));

        lines = str_skip(lines, text.n + 1);
        if (!thread_line_read(text, &line))
            continue;
        if (ts->has_replay && line.seq > ts->at)
            return; /* `live` gives it */
        if (!is_outdated(f, &line) && is_wanted(ts, &line))
            put_event(ts, &line);
        if (!ts->has_replay)
            ts->at = line.seq;
        else if (line.seq == ts->at)
            end_replay(ts);
    }
}

static void send_lines(struct thread_stream *ts, struct str lines)
{
    bool is_chunked = !is_socket(ts) && http_stream_is_chunked(ts->stream.http);

    buf_clear(&ts->out);
    size_t from = http_chunk_begin(&ts->out, is_chunked);
    put_lines(ts, lines);
    http_chunk_end(&ts->out, from, is_chunked);
    if (ts->out.error != 0)
        stream_cut(&ts->stream, STREAM_NO_MEMORY);
    else if (ts->out.n > 0)
        stream_send(&ts->stream, buf_text(&ts->out));
}

/* False: nothing can be sent now. */
static bool send_next(struct thread_stream *ts)
{
    struct stream *s = &ts->stream;
    struct str lines;

    if (!ts->has_replay)
        begin_replay(ts);
    if (!ts->has_live || s->ending)
        return false;
    struct thread_feed *f = ts->has_replay ? &ts->replay : &ts->live;
    enum feed_next next = thread_feed_next(f, &lines);
    if (next == FEED_BYTES) {
        send_lines(ts, lines);
    } else if (next == FEED_FAILED) {
        s->transport->leave(s, STREAM_FAILED);
    } else if (ts->has_replay && thread_feed_is_idle(f)) {
        end_replay(ts); /* what `live` has read was deleted meanwhile */
    } else {
        buf_done(&ts->out); /* an idle reader needs no buffer */
        return false;
    }
    return true;
}

void thread_stream_carry(struct thread_stream *ts)
{
    while (stream_has_room(&ts->stream) && send_next(ts))
        ;
}

static void carry(struct stream *s)
{
    thread_stream_carry(of_stream(s));
}

/* --- life --------------------------------------------------------------------------------- */

static void on_message(struct stream *s, struct str text)
{
    struct thread_stream *ts = of_stream(s);

    thread_socket_take(ts, text);
    thread_stream_carry(ts);
}

static void stream_free(struct thread_stream *ts)
{
    if (ts->has_live)
        thread_feed_close(&ts->live);
    if (ts->has_replay)
        thread_feed_close(&ts->replay);
    while (ts->subs != NULL)
        (void)thread_stream_remove(ts, ts->subs->number); /* it is there */
    buf_done(&ts->out);
    free(ts);
}

static void on_closed(struct stream *s)
{
    struct thread_stream *ts = of_stream(s);
    struct permit *permit = s->permit;

    if (ts->is_counted)
        traffic_closed(s->loop->traffic, s->transport->kind, &dialect_messages,
                       (enum stream_end)s->why);
    thread_socket_close(ts);
    stream_free(ts);
    permit_free(permit);
}

static const struct content content = { .carry = carry,
                                        .message = on_message,
                                        .closed = on_closed };

static void begin(struct thread_stream *ts)
{
    struct stream *s = &ts->stream;

    if (!stream_begin(s))
        return;
    ts->is_counted = true;
    traffic_opened(s->loop->traffic, s->transport->kind, &dialect_messages);
    carry(s);
}

/* The one subscription of a stream of server-sent events. */
static int add_filter(struct thread_stream *ts,
                      const struct thread_stream_request *what,
                      struct error *err)
{
    struct thread_sub *sub = calloc(1, sizeof(*sub));

    if (sub == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    sub->since = what->since;
    int code = thread_filter_init(&sub->filter, what->filter, err);
    if (code == 0)
        code = thread_stream_add(ts, sub);
    if (code == 0)
        return 0;
    thread_filter_done(&sub->filter);
    free(sub);
    return code;
}

void thread_stream_open(struct streams *l,
                        struct http_request *req,
                        const struct thread_stream_request *what)
{
    struct thread_stream *ts = calloc(1, sizeof(*ts));
    struct error err = { 0 };

    if (ts == NULL || l->draining || http_is_over(req) || what->thread.n > sizeof(ts->thread)) {
        free(ts);
        permit_free(what->permit);
        what->transport->send_away(l, req);
        return;
    }
    str_copy(ts->thread, what->thread);
    ts->thread_n = what->thread.n;
    ts->command = what->command;
    buf_init(&ts->out, SIZE_MAX / 4);
    ts->stream.permit = what->permit; /* for the feed, until stream_init */
    ts->stream.loop = l;
    int code = what->filter != NULL ? add_filter(ts, what, &err) : 0;
    if (code != 0) {
        stream_free(ts);
        permit_free(what->permit);
        http_respond_error(req, code == ERR_NOMEM ? 503 : 422, "%s", err.text);
        return;
    }
    stream_init(&ts->stream, l, what->transport, &content, what->permit, req);
    begin(ts);
}
