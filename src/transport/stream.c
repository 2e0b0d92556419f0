#include "transport/stream.h"

#include "auth/permit.h"
#include "base/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MAX_SMALL = 1024 * 1024,
    PAUSE_SMALL = 64 * 1024 /* stop reading from a client that does not read its answers */
};

/* Buffers for frames of this connection only; an idle stream has none. */
struct words {
    struct buf small;  /* to be sent, */
    struct buf flying; /* being sent */
};

/* --- frames for this connection --------------------------------------------------- */

struct buf *stream_small(struct stream *s)
{
    if (s->words == NULL && (s->words = malloc(sizeof(*s->words))) != NULL) {
        buf_init(&s->words->small, MAX_SMALL);
        buf_init(&s->words->flying, MAX_SMALL);
    }
    s->lost_words |= s->words == NULL;
    return s->words != NULL ? &s->words->small : &s->loop->sink;
}

static size_t small_bytes(const struct stream *s)
{
    return s->words != NULL ? s->words->small.n : 0;
}

static void free_words(struct stream *s)
{
    if (s->words != NULL) {
        buf_done(&s->words->small);
        buf_done(&s->words->flying);
        free(s->words);
    }
    s->words = NULL;
}

/* --- sending --------------------------------------------------------------------- */

/* True when all bytes were sent at once. */
static bool send_bytes(struct stream *s, struct str bytes)
{
    if (bytes.n == 0)
        return true;
    counter_add(&s->loop->traffic->bytes, bytes.n);
    s->sending = !http_stream_send(s->http, bytes.p, bytes.n);
    if (!s->sending)
        s->last_sent = streams_now();
    return !s->sending;
}

bool stream_flush(struct stream *s)
{
    struct words *w = s->words;

    if (s->lost_words || (w != NULL && w->small.error != 0)) {
        stream_cut(s, STREAM_NO_MEMORY);
        return false;
    }
    if (w == NULL)
        return true;
    buf_done(&w->flying);
    w->flying = w->small;
    buf_init(&w->small, MAX_SMALL);
    if (!send_bytes(s, buf_text(&w->flying)))
        return false;
    free_words(s);
    return true;
}

static void count_first_event(struct stream *s)
{
    if (s->has_events)
        return;
    s->has_events = true;
    histogram_add(&s->loop->traffic->first_event, (uint64_t)(streams_now() - s->began) * 1000,
                  1);
}

static void end(struct stream *s)
{
    s->ending = true;
    http_stream_end(s->http);
}

bool stream_has_room(struct stream *s)
{
    if (s->sending || s->ending || !stream_flush(s))
        return false;
    if (s->finishing)
        end(s);
    return !s->finishing;
}

void stream_send(struct stream *s, struct str bytes)
{
    (void)send_bytes(s, bytes); /* the rest is sent when the socket is writable */
    count_first_event(s);
}

/* --- ending ---------------------------------------------------------------------- */

void stream_finish(struct stream *s, enum stream_end why)
{
    if (s->finishing || s->ending)
        return;
    s->finishing = true;
    s->why = (uint8_t)why;
}

void stream_complete(struct stream *s)
{
    if (s->transport->put_end != NULL)
        s->transport->put_end(s);
    stream_finish(s, STREAM_DONE);
}

void stream_cut(struct stream *s, enum stream_end why)
{
    if (s->ending)
        return;
    s->ending = true;
    s->why = (uint8_t)why;
    http_stream_cut(s->http, stream_end_info(why)->reason);
}

static void close_stream(struct stream *s)
{
    if (s->has_begun)
        wheel_remove(&s->loop->wheel, &s->deadline);
    s->ending = true;
    if (s->transport->free_wire != NULL)
        s->transport->free_wire(s);
    free_words(s);
    s->content->closed(s);
}

static void on_ready(struct http_stream *http, void *data)
{
    struct stream *s = data;

    (void)http;
    s->sending = false;
    s->last_sent = streams_now();
    s->content->carry(s);
    if (s->is_paused && small_bytes(s) == 0 && !s->ending) {
        s->is_paused = false;
        http_stream_pause(s->http, false);
    }
}

static void on_received(struct http_stream *http, struct str bytes, void *data)
{
    struct stream *s = data;

    if (s->ending)
        return;
    s->transport->received(s, bytes);
    s->content->carry(s);
    if (small_bytes(s) > PAUSE_SMALL && !s->is_paused && !s->ending) {
        s->is_paused = true;
        http_stream_pause(http, true);
    }
}

static void on_closed(struct http_stream *http, void *data)
{
    struct stream *s = data;

    if (!s->ending && http_stream_is_stalled(http))
        s->why = STREAM_SLOW;
    close_stream(s);
}

static void on_gone(struct http_request *req, void *data)
{
    struct stream *s = data;

    (void)req;
    s->req = NULL;
    close_stream(s);
}

/* --- time ------------------------------------------------------------------------ */

int64_t stream_silence_left(const struct stream *s, int64_t now)
{
    return s->last_sent + s->loop->opt.keep_alive_ms - now;
}

static void schedule(struct stream *s, int64_t now, int64_t next)
{
    int64_t permitted = permit_until(s->permit) - clock_steady_ms();

    if (permitted < next)
        next = permitted;
    if (s->has_beats && s->next_beat - now < next)
        next = s->next_beat - now;
    if (s->expires != 0 && s->expires - now < next)
        next = s->expires - now;
    wheel_arm(&s->loop->wheel, &s->deadline, (uint64_t)now, next > 0 ? (uint64_t)next : 0);
}

/* Closes it before its end; true when the client was told. */
static bool leave(struct stream *s, int64_t now)
{
    const struct transport *c = s->transport;

    if (!permit_holds(s->permit, clock_steady_ms())) {
        c->leave(s, STREAM_AUTH_EXPIRED);
    } else if (s->loop->draining) {
        if (!s->sending && s->content->shut_down != NULL)
            s->content->shut_down(s);
        c->leave(s, STREAM_DRAIN);
    } else if (s->expires != 0 && now >= s->expires) {
        c->leave(s, STREAM_MAX_AGE);
    } else {
        return false;
    }
    s->content->carry(s);
    return true;
}

void stream_due(struct stream *s, int64_t now)
{
    if (s->ending || s->finishing)
        return; /* its last bytes are being sent */
    if (leave(s, now))
        return;
    if (s->has_beats && now >= s->next_beat) {
        s->next_beat = now + s->loop->opt.heartbeat_ms;
        if (!s->sending)
            s->content->beat(s);
        s->content->carry(s);
    }
    int64_t next = s->transport->look(s, now);
    s->content->carry(s);
    schedule(s, now, next);
}

/* --- beginning ------------------------------------------------------------------- */

void stream_init(struct stream *s,
                 struct streams *l,
                 const struct transport *transport,
                 const struct content *content,
                 struct permit *permit,
                 struct http_request *req)
{
    *s = (struct stream){
        .loop = l, .transport = transport, .content = content, .permit = permit, .req = req
    };
    http_on_gone(req, on_gone, s);
}

void stream_refuse(struct stream *s, int status, const char *format, ...)
{
    struct http_request *req = s->req;
    char text[200] = "";
    va_list args;

    va_start(args, format);
    if (format != NULL)
        (void)vsnprintf(text, sizeof(text), format, args); /* cutting is fine */
    va_end(args);
    s->req = NULL;
    http_on_gone(req, NULL, NULL);
    if (status == 204)
        http_respond(req, 204, NULL, STR_NONE);
    else
        http_respond_error(req, status, "%s", text);
    close_stream(s);
}

void stream_send_away(struct streams *l, struct http_request *req)
{
    (void)l;
    http_set_header(req, "Retry-After", STR("1"));
    http_respond_error(req, 503, "the server is busy or going down: come again");
}

struct http_stream *stream_begin_text(struct stream *s,
                                      const char *type,
                                      const struct http_stream_events *events)
{
    http_set_header(s->req, "Cache-Control", STR("no-cache, no-transform"));
    http_set_header(s->req, "X-Accel-Buffering", STR("no"));
    return http_stream_begin(s->req, 200, type, events, s);
}

static void set_age(struct stream *s)
{
    const struct stream_options *opt = &s->loop->opt;

    s->began = s->last_sent = streams_now();
    s->next_beat = s->began + opt->heartbeat_ms;
    if (opt->max_age_ms > 0)
        s->expires = s->began + opt->max_age_ms +
                     streams_jitter(s->loop, (unsigned)(opt->max_age_ms / 10) + 1);
}

bool stream_begin(struct stream *s)
{
    static const struct http_stream_events one_way = { .ready = on_ready, .closed = on_closed };
    static const struct http_stream_events both_ways = { .ready = on_ready,
                                                         .closed = on_closed,
                                                         .received = on_received };

    http_on_gone(s->req, NULL, NULL);
    s->http = s->transport->begin(s, s->transport->received != NULL ? &both_ways : &one_way);
    if (s->http == NULL) {
        close_stream(s);
        return false;
    }
    s->has_begun = true;
    set_age(s);
    wheel_add(&s->loop->wheel, &s->deadline);
    if (s->loop->draining)
        streams_take_turn(s);
    else
        schedule(s, s->began, s->transport->look(s, s->began));
    return true;
}
