#include "transport/thread_join.h"

#include "auth/permit.h"
#include "base/container_of.h"
#include "base/error.h"
#include "base/json_format.h"
#include "framing/framing.h"
#include "http/chunk.h"

#include <stdlib.h>

struct thread_join {
    struct stream stream;
    struct thread_feed feed;
    struct buf out;
    bool lifecycle_only;
    bool has_feed;
    bool is_counted; /* among the open streams */
};

static struct thread_join *of_stream(struct stream *s)
{
    return container_of(s, struct thread_join, stream);
}

/* --- places ------------------------------------------------------------------------------- */

struct run_place thread_join_place(struct str text)
{
    size_t dash = str_find(text, '-');
    struct run_place place = { 0 };
    struct cursor number;

    if (dash == 0 || dash == text.n || cursor_parse(str_head(text, dash), &number) != 0 ||
        number.k != 0 || number.seq == 0 || number.seq > INT64_MAX)
        return place;
    struct str rest = str_skip(text, dash + 1);
    bool is_over = str_is(rest, "end");
    if (is_over || cursor_parse(rest, &place.after) == 0) {
        place.run = (int64_t)number.seq;
        place.is_over = is_over;
    }
    return place;
}

/* --- sending ------------------------------------------------------------------------------ */

/* One frame of a run's own stream; its id gets the number of the run. */
static void put_frame(struct thread_join *j, struct str frame)
{
    struct str prefix = STR("id: ");

    if (!str_starts(frame, prefix))
        return; /* about the connection of a run's reader */
    struct str id = str_skip(frame, prefix.n);
    id = str_head(id, str_find(id, '\n'));
    struct str rest = str_skip(frame, prefix.n + id.n + 1);
    if (j->lifecycle_only && !str_starts(rest, STR("event: metadata\n")))
        return;
    buf_str(&j->out, rest);
    buf_lit(&j->out, "\nid: "); /* as LangGraph's server writes it: the id is the last field */
    buf_i64(&j->out, j->feed.run);
    buf_char(&j->out, '-');
    buf_str(&j->out, id);
    buf_lit(&j->out, "\n\n");
}

static void put_frames(struct thread_join *j, struct str bytes)
{
    while (bytes.n > 0) {
        size_t n = 0;

        while (n + 1 < bytes.n && (bytes.p[n] != '\n' || bytes.p[n + 1] != '\n'))
            n++;
        put_frame(j, str_head(bytes, n));
        bytes = str_skip(bytes, n + 2);
    }
}

static void put_run_done(struct thread_join *j)
{
    buf_lit(&j->out, "event: metadata\ndata: ");
    json_format(&j->out, "{'status':'run_done','run_id':%s}",
                str_make(j->feed.job, j->feed.job_n));
    buf_lit(&j->out, "\nid: ");
    buf_i64(&j->out, j->feed.run);
    buf_lit(&j->out, "-end\n\n");
}

static void send_frames(struct thread_join *j, enum feed_next next, struct str bytes)
{
    bool is_chunked = http_stream_is_chunked(j->stream.http);

    buf_clear(&j->out);
    size_t from = http_chunk_begin(&j->out, is_chunked);
    if (next == FEED_END)
        put_run_done(j);
    else
        put_frames(j, bytes);
    http_chunk_end(&j->out, from, is_chunked);
    if (j->out.error != 0)
        stream_cut(&j->stream, STREAM_NO_MEMORY);
    else if (j->out.n > 0)
        stream_send(&j->stream, buf_text(&j->out));
}

/* False: nothing can be sent now. */
static bool send_next(struct thread_join *j)
{
    struct stream *s = &j->stream;
    struct str bytes;

    if (s->ending)
        return false;
    enum feed_next next = thread_feed_next(&j->feed, &bytes);
    if (next == FEED_WAIT) {
        buf_done(&j->out); /* an idle reader needs no buffer */
        return false;
    }
    if (next == FEED_FAILED)
        s->transport->leave(s, STREAM_FAILED);
    else
        send_frames(j, next, bytes);
    return true;
}

static void carry(struct stream *s)
{
    struct thread_join *j = of_stream(s);

    while (stream_has_room(s) && send_next(j))
        ;
}

static void on_wake(struct thread_feed *f)
{
    struct thread_join *j = container_of(f, struct thread_join, feed);

    if (j->stream.has_begun)
        carry(&j->stream);
}

/* --- life --------------------------------------------------------------------------------- */

static void join_free(struct thread_join *j)
{
    if (j->has_feed)
        thread_feed_close(&j->feed);
    buf_done(&j->out);
    free(j);
}

static void on_closed(struct stream *s)
{
    struct thread_join *j = of_stream(s);
    struct permit *permit = s->permit;

    if (j->is_counted)
        traffic_closed(s->loop->traffic, s->transport->kind, &dialect_messages,
                       (enum stream_end)s->why);
    join_free(j);
    permit_free(permit);
}

static const struct content content = { .carry = carry, .closed = on_closed };

void thread_join_open(struct streams *l,
                      struct http_request *req,
                      const struct thread_join_request *what)
{
    struct thread_join *j = calloc(1, sizeof(*j));
    struct thread_feed_request feed = { .thread = what->thread,
                                        .scope = permit_job_scope(what->permit),
                                        .as_runs = true,
                                        .from_now = str_empty(what->place),
                                        .place = thread_join_place(what->place),
                                        .wake = on_wake };

    if (j != NULL && !l->draining && !http_is_over(req))
        j->has_feed = thread_feed_open(&j->feed, l, &feed) == 0;
    if (j == NULL || !j->has_feed) {
        free(j);
        permit_free(what->permit);
        transport_langgraph.send_away(l, req);
        return;
    }
    j->lifecycle_only = what->lifecycle_only;
    buf_init(&j->out, SIZE_MAX / 4);
    stream_init(&j->stream, l, &transport_langgraph, &content, what->permit, req);
    if (!stream_begin(&j->stream))
        return;
    j->is_counted = true;
    traffic_opened(l->traffic, TRANSPORT_SSE, &dialect_messages);
    carry(&j->stream);
}
