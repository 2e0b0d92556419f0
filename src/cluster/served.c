/* A served connection lives until it is closed and all its requests are back from the journal.
 *
 * Answers gather in `out`.  They are sent when all messages that the loop has got were looked
 * at, so that the answers of one commit go out in one write. */
#include "cluster/served.h"

#include "base/clock.h"
#include "base/container_of.h"
#include "base/error.h"
#include "cluster/codec.h"
#include "cluster/frame.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_BUFFER = 1024 * 1024 * 1024 };

struct served {
    struct http_stream *stream; /* NULL: it is closed */
    struct newest *newest;      /* borrowed */
    struct newest_place place;  /* its own, and the journal's */
    struct watchers *watchers;  /* borrowed */
    struct follower follower;
    bool follows;        /* it has said what it watches */
    bool is_push_posted; /* the follower's message is on its way, although it has ended */
    struct mailbox *box; /* borrowed */
    struct buf in, out, sending;
    bool is_sending;
    struct loop_message flush;
    bool flushes; /* it is on its way */
    struct served_request *first;
};

/* A request of another gateway on its way to the journal and back. */
struct served_request {
    struct journal_request req;
    struct served *home;
    uint64_t number;
    struct served_request *prev, *next;
};

static void end_if_done(struct served *s)
{
    if (s->stream != NULL || s->first != NULL || s->flushes || s->is_push_posted)
        return;
    buf_done(&s->in);
    buf_done(&s->out);
    buf_done(&s->sending);
    free(s);
}

/* --- sending ------------------------------------------------------------------------------ */

static void send_out(struct served *s)
{
    if (s->stream == NULL || s->is_sending || s->out.n == 0)
        return;
    if (s->out.error != 0) {
        http_stream_cut(s->stream, "answers to a gateway do not fit into memory");
        return;
    }
    struct buf sent = s->sending;
    s->sending = s->out;
    s->out = sent;
    buf_clear(&s->out);
    s->is_sending = !http_stream_send(s->stream, s->sending.p, s->sending.n);
}

static void on_flush(struct loop_message *message)
{
    struct served *s = container_of(message, struct served, flush);

    s->flushes = false;
    send_out(s);
    end_if_done(s);
}

static void flush_later(struct served *s)
{
    if (!s->flushes && mailbox_post(s->box, &s->flush) == 0)
        s->flushes = true;
}

/* --- pushes ------------------------------------------------------------------------------- */

/* Pushes wait in the follower's buffer, which has a limit, while bytes are on their way. */
static void send_pushes(struct served *s)
{
    if (s->stream == NULL || !s->follows || s->is_sending)
        return;
    if (watchers_take(s->watchers, &s->follower, &s->out))
        send_out(s);
    else
        http_stream_cut(s->stream, "another gateway writes, or it has connected again");
}

static void on_pushes(struct loop_message *message)
{
    struct served *s = container_of(message, struct served, follower.message);

    s->is_push_posted = false;
    if (s->stream != NULL)
        watchers_delivered(s->watchers, &s->follower);
    send_pushes(s);
    end_if_done(s);
}

static void watch(struct served *s, struct str jobs)
{
    if (!s->follows)
        watchers_begin(s->watchers, &s->follower);
    s->follows = true;
    watchers_set(s->watchers, &s->follower, jobs, true);
    size_t from = frame_begin(&s->out, FRAME_WATCHED, 0);
    buf_str(&s->out, jobs);
    frame_end(&s->out, from);
    flush_later(s);
}

/* --- answers ------------------------------------------------------------------------------ */

static void request_free(struct served_request *r)
{
    if (r->prev != NULL)
        r->prev->next = r->next;
    else
        r->home->first = r->next;
    if (r->next != NULL)
        r->next->prev = r->prev;
    codec_request_done(&r->req);
    free(r);
}

static bool has_work(const struct journal_request *req)
{
    return req->op == JOURNAL_LEASE && req->code == 0 && !req->work.looks;
}

static void on_answer(struct loop_call *call)
{
    struct served_request *r = call->owner;
    struct served *s = r->home;

    if (s->stream == NULL && has_work(&r->req)) {
        journal_request_hand_back(&r->req);
        journal_post_here(s->place.journal, &r->req);
        return;
    }
    if (s->stream != NULL) {
        size_t from = frame_begin(&s->out, FRAME_ANSWER, r->number);

        codec_put_answer(&s->out, &r->req);
        frame_end(&s->out, from);
        flush_later(s);
    }
    request_free(r);
    end_if_done(s);
}

/* The loop has ended, and its connections with it. */
static void on_dropped(struct loop_call *call)
{
    struct served_request *r = call->owner;
    struct served *s = r->home;

    request_free(r);
    end_if_done(s);
}

/* --- requests ----------------------------------------------------------------------------- */

/* NULL: it cannot be read, or there is no memory. */
static struct served_request *take_request(struct served *s, const struct frame_in *frame)
{
    struct served_request *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return NULL;
    journal_request_init(&r->req, s->box, r, on_answer);
    r->req.loop_call.dropped = on_dropped;
    r->home = s;
    r->number = frame->number;
    r->next = s->first;
    if (s->first != NULL)
        s->first->prev = r;
    s->first = r;
    if (codec_read_request(frame->payload, &r->req) != 0) {
        request_free(r);
        return NULL;
    }
    r->req.is_forwarded = true;
    return r;
}

static void withdraw(struct served *s, uint64_t number)
{
    for (struct served_request *r = s->first; r != NULL; r = r->next)
        if (r->number == number)
            journal_withdraw(&r->req);
}

/* All requests that came together share a commit. */
struct served_chain {
    struct journal_request *first, **last;
};

static bool take_frame(struct served *s,
                       const struct frame_in *frame,
                       struct served_chain *chain)
{
    struct served_request *r;

    switch (frame->kind) {
    case FRAME_REQUEST:
        r = take_request(s, frame);
        if (r == NULL)
            return false;
        *chain->last = &r->req;
        chain->last = &r->req.next;
        return true;
    case FRAME_WITHDRAW:
        withdraw(s, frame->number);
        return true;
    case FRAME_PING:
        frame_end(&s->out, frame_begin(&s->out, FRAME_PONG, frame->number));
        flush_later(s);
        return true;
    case FRAME_WATCH:
        watch(s, frame->payload);
        return true;
    case FRAME_UNWATCH:
        watchers_set(s->watchers, &s->follower, frame->payload, false);
        return true;
    case FRAME_ANSWER:
    case FRAME_PONG:
    case FRAME_WATCHED:
    case FRAME_PUSH:
    case FRAME_KIND_MAX:
        break;
    }
    return false;
}

/* They were sent again over another connection. */
static void drop_chain(struct journal_request *chain)
{
    while (chain != NULL) {
        struct served_request *r = container_of(chain, struct served_request, req);

        chain = chain->next;
        request_free(r);
    }
}

static void on_received(struct http_stream *stream, struct str bytes, void *data)
{
    struct served *s = data;
    struct served_chain chain = { .first = NULL };
    struct frame_in frame;
    size_t n, at = 0;
    bool is_good = true;

    chain.last = &chain.first;
    atomic_store_explicit(&s->follower.heard, clock_monotonic_ms(), memory_order_relaxed);
    buf_str(&s->in, bytes);
    while (is_good) {
        is_good =
            s->in.error == 0 && frame_read(str_skip(buf_text(&s->in), at), &frame, &n) == 0;
        if (!is_good || n == 0)
            break;
        is_good = take_frame(s, &frame, &chain);
        at += n;
    }
    if (is_good && at > 0) {
        memmove(s->in.p, s->in.p + at, s->in.n - at);
        s->in.n -= at;
    }
    if (chain.first != NULL && !newest_post(s->newest, &s->place, chain.first)) {
        drop_chain(chain.first);
        http_stream_cut(stream, "a gateway has connected again");
        return;
    }
    if (!is_good)
        http_stream_cut(stream, "a gateway has sent what cannot be read");
}

/* --- life --------------------------------------------------------------------------------- */

static void on_ready(struct http_stream *stream, void *data)
{
    struct served *s = data;

    (void)stream;
    s->is_sending = false;
    send_out(s);
    send_pushes(s);
}

static void on_closed(struct http_stream *stream, void *data)
{
    struct served *s = data;

    (void)stream;
    s->stream = NULL;
    if (s->follows)
        s->is_push_posted = watchers_end(s->watchers, &s->follower);
    for (struct served_request *r = s->first; r != NULL; r = r->next)
        journal_withdraw(&r->req);
    end_if_done(s);
}

/* Takes the same time for every text of that length. */
static bool is_secret(struct str shown, const unsigned char secret[CLUSTER_SECRET_BYTES])
{
    char want[sizeof("Bearer ") + 2 * (size_t)CLUSTER_SECRET_BYTES];
    unsigned char differs = 0;
    size_t n = (size_t)snprintf(want, sizeof(want), "Bearer ");

    for (size_t i = 0; i < CLUSTER_SECRET_BYTES; i++)
        n += (size_t)snprintf(want + n, sizeof(want) - n, "%02x", secret[i]);
    if (shown.n != n)
        return false;
    for (size_t i = 0; i < n; i++)
        differs |= (unsigned char)(shown.p[i] ^ want[i]);
    return differs == 0;
}

void served_begin(struct http_request *req,
                  const unsigned char secret[CLUSTER_SECRET_BYTES],
                  struct newest *newest,
                  struct journal *journal,
                  struct watchers *watchers,
                  struct mailbox *box)
{
    struct newest_place place = { .journal = journal };

    static const struct http_stream_events events = { .ready = on_ready,
                                                      .closed = on_closed,
                                                      .received = on_received };

    if (!is_secret(http_header(req, "Authorization"), secret)) {
        http_respond_error(req, 403, "only for the gateways that share this one's database");
        return;
    }
    if (!http_asks_upgrade(req) ||
        !str_is(http_header(req, "Upgrade"), FRAME_PROTOCOL "/" CODEC_VERSION)) {
        http_respond_error(req, 426, "this gateway speaks " FRAME_PROTOCOL "/" CODEC_VERSION);
        return;
    }
    if (!newest_read_place(http_header(req, SERVED_LINK_HEADER), &place) ||
        !newest_begin(newest, &place)) {
        http_respond_error(req, 409,
                           "the header " SERVED_LINK_HEADER
                           " must name a gateway and its newest connection");
        return;
    }
    struct served *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        http_respond_error(req, 503, "out of memory");
        return;
    }
    buf_init(&s->in, MAX_BUFFER);
    buf_init(&s->out, MAX_BUFFER);
    buf_init(&s->sending, MAX_BUFFER);
    s->newest = newest;
    s->place = place;
    s->box = s->follower.box = box;
    s->watchers = watchers;
    s->follower.gateway = s->place.gateway;
    s->follower.number = s->place.number;
    s->follower.message.deliver = on_pushes;
    s->flush.deliver = on_flush;
    s->stream = http_upgrade(req, STR(FRAME_PROTOCOL "/" CODEC_VERSION), &events, s);
    end_if_done(s);
}
