/* Many feeds on one stream.
 *
 * Feeds with something to send are in a queue; the first sends a piece and goes to the end of
 * the queue, so that a busy job does not delay others.  A feed is not closed while its bytes
 * are being sent.
 *
 * On a WebSocket the client subscribes and unsubscribes (mux_in.h).  Over SSE and JSON lines
 * the request names the jobs: the answer begins when the first page of every job was read, and
 * ends with the last job. */
#include "transport/mux.h"

#include "auth/permit.h"
#include "base/container_of.h"
#include "base/error.h"
#include "transport/mux_in.h"
#include "transport/mux_out.h"
#include "transport/subscription.h"

#include <stdlib.h>

static struct mux *of_stream(struct stream *s)
{
    return container_of(s, struct mux, stream);
}

/* --- the queue ------------------------------------------------------------------------- */

void mux_enqueue(struct mux *m, struct subscription *sub)
{
    if (sub->is_ready)
        return;
    sub->is_ready = true;
    sub->next_ready = NULL;
    *m->tail = sub;
    m->tail = &sub->next_ready;
}

void mux_dequeue(struct mux *m, struct subscription *sub)
{
    struct subscription **at = &m->ready;

    if (!sub->is_ready)
        return;
    while (*at != sub)
        at = &(*at)->next_ready;
    *at = sub->next_ready;
    if (m->tail == &sub->next_ready)
        m->tail = at;
    sub->is_ready = false;
}

/* --- sending --------------------------------------------------------------------------- */

void mux_carry(struct mux *m)
{
    while (stream_has_room(&m->stream)) {
        struct subscription *before = m->giving;

        m->giving = NULL; /* its bytes are sent */
        if (before != NULL && before->is_leaving)
            subscription_close(before, STREAM_PEER);
        if (watch_catch_up(m))
            continue;
        if (m->ready == NULL) {
            buf_done(&m->out); /* an idle reader needs no buffer */
            return;
        }
        subscription_carry(m->ready);
    }
}

static void on_carry(struct stream *s)
{
    mux_carry(of_stream(s));
}

static void on_message(struct stream *s, struct str text)
{
    mux_take(of_stream(s), text);
}

static void on_closed(struct stream *s)
{
    struct mux *m = of_stream(s);

    watch_stop(m);
    while (m->first != NULL)
        subscription_close(m->first, (enum stream_end)s->why);
    permit_free(s->permit);
    places_done(&m->places);
    buf_done(&m->out);
    free(m);
}

/* --- beginning ------------------------------------------------------------------------- */

static void begin(struct mux *m)
{
    struct subscription *next;

    if (!stream_begin(&m->stream))
        return;
    m->has_begun = true;
    if (m->watch.is_on)
        mux_put_type(m, STR_NONE, "stream.subscribed");
    for (struct subscription *sub = m->first; sub != NULL; sub = next) {
        next = sub->next;
        subscription_begin(sub);
    }
    mux_carry(m);
}

static void begin_if_all_are_there(struct mux *m)
{
    size_t n_found = 0, n_done = 0;

    for (struct subscription *sub = m->first; sub != NULL; sub = sub->next) {
        const struct page *p = feed_page(&sub->feed);

        if (sub->feed.fetching)
            return;
        n_found += p->code == 0;
        n_done += p->code == 0 && !p->foreign && page_is_beyond_end(p);
    }
    if (n_found == 0 && !m->watch.is_on)
        stream_refuse(&m->stream, 404, "none of these jobs is there");
    else if (m->by_header && n_done == n_found && !m->watch.is_on)
        stream_refuse(&m->stream, 204, NULL);
    else
        begin(m);
}

void mux_opened(struct mux *m, struct subscription *sub)
{
    if (!m->has_begun) {
        begin_if_all_are_there(m);
        return;
    }
    subscription_begin(sub);
    mux_carry(m);
}

/* --- opening --------------------------------------------------------------------------- */

static int open_all(struct mux *m, struct error *err)
{
    for (size_t i = 0; i < m->places.n; i++) {
        const struct subscription_request what = {
            .job = m->places.jobs[i], .format = m->format, .after = m->places.at[i], .place = i
        };
        int code = subscription_open(m, &what);

        if (code != 0)
            return error_set(err, code, "%s", feed_refusal(code, what.job).text);
    }
    return 0;
}

static void open_request(struct mux *m, const struct mux_request *what)
{
    struct error err;
    int code = places_init(&m->places, what->jobs, m->stream.loop->opt.max_subscriptions, &err);

    if (code == 0 && !str_absent(what->last_id))
        m->by_header = places_resume(&m->places, what->last_id) == 0;
    if (code == 0)
        code = open_all(m, &err);
    if (code != 0) {
        stream_refuse(&m->stream, code == ERR_NOMEM ? 503 : 422, "%s", err.text);
        return;
    }
    if (what->watches)
        watch_start(m);
    if (m->n == 0)
        begin(m);
}

static const struct content content = { .carry = on_carry,
                                        .message = on_message,
                                        .closed = on_closed };

void mux_open(struct streams *l, struct http_request *req, const struct mux_request *what)
{
    struct mux *m = calloc(1, sizeof(*m));

    if (m == NULL || l->draining || http_is_over(req)) {
        free(m);
        permit_free(what->permit);
        what->transport->send_away(l, req);
        return;
    }
    m->tail = &m->ready;
    buf_init(&m->out, SIZE_MAX / 4);
    m->format = what->format;
    m->format.framing =
        what->transport == &transport_sse ? &framing_ndjson : what->transport->framing;
    m->format.chunked = what->transport == &transport_ndjson && !http_is_10(req);
    m->format.wrap = m->format.with_job = true;
    stream_init(&m->stream, l, what->transport, &content, what->permit, req);
    open_request(m, what);
}
