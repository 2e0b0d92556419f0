/* One feed on one stream.  The first page decides the HTTP answer; frames for this connection
 * only (modes, heartbeats, gaps) are made here, in the format of the stream. */
#include "transport/job_stream.h"

#include "auth/permit.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/error.h"
#include "base/json.h"
#include "transport/feed.h"

#include <stdlib.h>

struct job_stream {
    struct stream stream;
    struct feed feed;
    const struct dialect *dialect; /* set once it is counted as open */
    bool by_header, by_path, resumed, plain;
    void (*left)(struct streams *l, struct str job);
    bool asked_again;
    bool live_said; /* the client was told that live events follow */
    bool beat_due;  /* a heartbeat waits until it is known who runs the job */
};

static struct job_stream *of_stream(struct stream *s)
{
    return container_of(s, struct job_stream, stream);
}

static const struct stream_format *format_of(const struct job_stream *js)
{
    return hub_reader_format(&js->feed.reader);
}

/* --- frames for this connection --------------------------------------------------- */

/* Writes a connection frame in the dialect's form; nothing if the dialect has none. */
static void put_connection(struct job_stream *js, struct connection_frame what)
{
    if (format_of(js)->dialect->connection[what.kind] == NULL)
        return;
    what.ms = clock_wall_ms();
    /* Best effort: an incomplete frame is not sent. */
    (void)stream_format_put_connection(format_of(js), STR_NONE, &what,
                                       hub_frames(js->stream.loop->hub),
                                       stream_small(&js->stream));
}

static void put_mode(struct job_stream *js, struct str mode)
{
    put_connection(js, (struct connection_frame){ .kind = FRAME_STREAM_MODE, .mode = mode });
}

static void put_status(struct job_stream *js, enum job_state state)
{
    put_connection(js, (struct connection_frame){ .kind = FRAME_JOB_STATUS,
                                                  .state = str_of(job_state_name(state)),
                                                  .reconnected = js->resumed });
    js->resumed = false;
}

static void put_gap(struct job_stream *js)
{
    struct buf *payload = hub_scratch(js->stream.loop->hub);

    feed_put_gap(&js->feed, payload);
    if (payload->error == 0)
        stream_format_put(format_of(js), STR_NONE, STR("stream.gap"), buf_text(payload),
                          stream_small(&js->stream));
}

static void put_beat(struct job_stream *js)
{
    int64_t began = js->stream.began;

    js->beat_due = false;
    put_connection(js, (struct connection_frame){ .kind = FRAME_HEARTBEAT,
                                                  .uptime_seconds =
                                                      (uint64_t)(streams_now() - began) / 1000,
                                                  .worker = feed_worker(&js->feed) });
}

static void on_beat(struct stream *s)
{
    struct job_stream *js = of_stream(s);

    js->beat_due = feed_ask_worker(&js->feed);
    if (!js->beat_due)
        put_beat(js);
}

static void on_shut_down(struct stream *s)
{
    put_connection(of_stream(s), (struct connection_frame){ .kind = FRAME_SHUTDOWN });
}

/* --- sending ---------------------------------------------------------------------- */

static void caught_up(struct job_stream *js)
{
    enum job_state state = (enum job_state)js->feed.state;

    if (js->beat_due)
        put_beat(js);
    if (js->live_said || job_state_is_final(state))
        return; /* the terminal record tells it */
    js->live_said = true;
    put_mode(js, hub_hears_others(js->stream.loop->hub) ? STR("pubsub") : STR("live"));
    put_status(js, state);
}

/* Sends the next piece; false: nothing can be sent now. */
static bool send_next(struct job_stream *js)
{
    struct stream *s = &js->stream;
    struct str bytes;

    switch (feed_next(&js->feed, &bytes)) {
    case FEED_BYTES:
        stream_send(s, bytes);
        break;
    case FEED_GAP:
        if (!js->plain)
            put_gap(js);
        break;
    case FEED_CAUGHT_UP:
        caught_up(js);
        break;
    case FEED_WAIT:
        return false;
    case FEED_END:
        stream_complete(s);
        break;
    case FEED_GONE:
        s->transport->leave(s, STREAM_DELETED);
        break;
    case FEED_FAILED:
        s->transport->leave(s, STREAM_FAILED);
        break;
    }
    return true;
}

static void carry(struct stream *s)
{
    while (stream_has_room(s) && send_next(of_stream(s)))
        ;
}

static void on_message(struct stream *s, struct str text)
{
    (void)text;
    stream_format_put(
        format_of(of_stream(s)), STR_NONE, STR("stream.error"),
        STR("{" JSON_LIT("type", "stream.error") "," JSON_LIT(
            "message", "this socket has the events of one job and takes no messages") "}"),
        stream_small(s));
}

/* --- opening ---------------------------------------------------------------------- */

static void begin(struct job_stream *js)
{
    struct stream *s = &js->stream;
    const struct dialect *d = format_of(js)->dialect;

    s->has_beats = d->connection[FRAME_HEARTBEAT] != NULL;
    s->is_bare = !stream_format_wraps(format_of(js));
    if (!stream_begin(s))
        return;
    js->dialect = d;
    traffic_opened(s->loop->traffic, s->transport->kind, d);
    if (!page_is_beyond_end(feed_page(&js->feed)) || js->by_path)
        put_mode(js, STR("polling"));
    carry(s);
}

/* Sends the terminal frame of a finished job again, to a reader that has everything already. */
static void show_end_again(struct job_stream *js, uint64_t last_seq)
{
    js->asked_again = true;
    if (feed_reopen(&js->feed, (struct cursor){ .seq = last_seq - 1 }) != 0)
        stream_refuse(&js->stream, 503, "out of memory");
}

/* The first page decides the answer. */
static void answer(struct job_stream *js)
{
    const struct page *p = feed_page(&js->feed);

    if (p->code != 0) {
        struct feed_refusal r = feed_refusal(p->code, str_make(p->job, p->job_n));

        js->left = NULL;
        stream_refuse(&js->stream, r.status, "%s", r.text);
        return;
    }
    if (!js->asked_again)
        feed_count_resume(&js->feed);
    if (js->plain)
        begin(js);
    else if (page_is_beyond_end(p) && js->by_header && !p->foreign)
        stream_refuse(&js->stream, 204, NULL);
    else if (page_is_beyond_end(p) && js->by_path && !js->asked_again && !p->expired &&
             p->job_seq > 0)
        show_end_again(js, p->job_seq);
    else
        begin(js);
}

static void on_wake(struct reader *r)
{
    struct job_stream *js = container_of(r, struct job_stream, feed.reader);

    if (js->feed.fetching)
        return;
    if (js->dialect == NULL)
        answer(js);
    else
        carry(&js->stream);
}

/* --- ending ----------------------------------------------------------------------- */

static void on_closed(struct stream *s)
{
    struct job_stream *js = of_stream(s);

    if (js->left != NULL && (s->why == STREAM_PEER || s->why == STREAM_SLOW))
        js->left(s->loop, hub_reader_job(&js->feed.reader));
    if (js->dialect != NULL)
        traffic_closed(s->loop->traffic, s->transport->kind, js->dialect,
                       (enum stream_end)s->why);
    feed_close(&js->feed);
    permit_free(s->permit);
    free(js);
}

static const struct content content = { .carry = carry,
                                        .beat = on_beat,
                                        .shut_down = on_shut_down,
                                        .message = on_message,
                                        .closed = on_closed };

void job_stream_open(struct streams *l,
                     struct http_request *req,
                     const struct job_request *what)
{
    struct job_stream *js;
    struct feed_request feed = { .job = what->job,
                                 .job_scope = permit_job_scope(what->permit),
                                 .format = what->format,
                                 .after = what->after,
                                 .names_worker =
                                     what->format.dialect->connection[FRAME_HEARTBEAT] != NULL,
                                 .reconnected =
                                     what->resumed && what->format.dialect->says_reconnected };

    if (l->draining || http_is_over(req)) {
        permit_free(what->permit);
        what->transport->send_away(l, req);
        return;
    }
    feed.format.framing = what->transport->framing;
    feed.format.chunked = what->transport->is_chunked && !http_is_10(req);
    js = calloc(1, sizeof(*js));
    int err = js != NULL ? feed_open(&js->feed, l, on_wake, &feed) : ERR_NOMEM;
    if (err != 0) {
        free(js);
        permit_free(what->permit);
        struct feed_refusal r = feed_refusal(err, what->job);
        http_respond_error(req, r.status, "%s", r.text);
        return;
    }
    js->by_header = what->by_header;
    js->by_path = what->by_path;
    js->resumed = what->resumed;
    js->plain = what->plain;
    js->left = what->left;
    stream_init(&js->stream, l, what->transport, &content, what->permit, req);
}
