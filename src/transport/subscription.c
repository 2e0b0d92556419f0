#include "transport/subscription.h"

#include "auth/permit.h"
#include "base/container_of.h"
#include "base/error.h"
#include "transport/mux.h"
#include "transport/mux_out.h"

#include <stdlib.h>

struct str subscription_job(const struct subscription *sub)
{
    return hub_reader_job(&sub->feed.reader);
}

struct subscription *subscription_find(const struct mux *m, struct str job)
{
    for (struct subscription *sub = m->first; sub != NULL; sub = sub->next)
        if (str_eq(subscription_job(sub), job) && !sub->is_leaving)
            return sub;
    return NULL;
}

/* --- closing ------------------------------------------------------------------------- */

static void unlink_from(struct mux *m, struct subscription *sub)
{
    if (sub->prev != NULL)
        sub->prev->next = sub->next;
    else
        m->first = sub->next;
    if (sub->next != NULL)
        sub->next->prev = sub->prev;
    m->n--;
}

void subscription_close(struct subscription *sub, enum stream_end why)
{
    struct mux *m = sub->mux;

    mux_dequeue(m, sub);
    unlink_from(m, sub);
    if (m->giving == sub)
        m->giving = NULL;
    if (sub->dialect != NULL)
        traffic_closed(m->stream.loop->traffic, m->stream.transport->kind, sub->dialect, why);
    feed_close(&sub->feed);
    free(sub);
}

void subscription_leave(struct subscription *sub)
{
    if (sub->mux->giving == sub && sub->mux->stream.sending)
        sub->is_leaving = true;
    else
        subscription_close(sub, STREAM_PEER);
}

/* --- sending ------------------------------------------------------------------------- */

static void give(struct subscription *sub, struct str bytes)
{
    struct mux *m = sub->mux;

    m->giving = sub;
    mux_dequeue(m, sub);
    mux_enqueue(m, sub); /* at the end of the queue */
    if (!mux_is_sse(m) || mux_translate(m, sub, &bytes))
        stream_send(&m->stream, bytes);
}

/* The subscription ends; if no other can be added, it may have been the last one. */
static void end(struct subscription *sub, enum stream_end why)
{
    struct mux *m = sub->mux;

    subscription_close(sub, why);
    if (!mux_is_socket(m) && m->n == 0 && !m->watch.is_on)
        stream_complete(&m->stream);
}

static void put_gap(struct subscription *sub)
{
    struct buf *data = hub_scratch(sub->mux->stream.loop->hub);

    feed_put_gap(&sub->feed, data);
    if (data->error == 0)
        mux_put(sub->mux, subscription_job(sub), STR("stream.gap"), buf_text(data));
}

void subscription_carry(struct subscription *sub)
{
    struct mux *m = sub->mux;
    struct str bytes;

    switch (feed_next(&sub->feed, &bytes)) {
    case FEED_BYTES:
        give(sub, bytes);
        break;
    case FEED_GAP:
        put_gap(sub);
        break;
    case FEED_CAUGHT_UP:
        break;
    case FEED_WAIT:
        mux_dequeue(m, sub);
        break;
    case FEED_END:
        mux_put_type(m, subscription_job(sub), "stream.ended");
        end(sub, STREAM_DONE);
        break;
    case FEED_GONE:
        mux_put_type(m, subscription_job(sub), "stream.deleted");
        end(sub, STREAM_DELETED);
        break;
    case FEED_FAILED:
        mux_put_error(m, subscription_job(sub), 500,
                      "the job's events cannot be read from the store");
        end(sub, STREAM_FAILED);
        break;
    }
}

/* --- opening ------------------------------------------------------------------------- */

static void refuse(struct subscription *sub)
{
    struct feed_refusal r = feed_refusal(feed_page(&sub->feed)->code, subscription_job(sub));

    mux_put_error(sub->mux, subscription_job(sub), r.status, r.text);
    subscription_close(sub, STREAM_FAILED);
}

void subscription_begin(struct subscription *sub)
{
    struct mux *m = sub->mux;

    if (feed_page(&sub->feed)->code != 0) {
        refuse(sub);
        return;
    }
    feed_count_resume(&sub->feed);
    sub->dialect = hub_reader_format(&sub->feed.reader)->dialect;
    traffic_opened(m->stream.loop->traffic, m->stream.transport->kind, sub->dialect);
    mux_put_type(m, subscription_job(sub), "stream.subscribed");
    mux_enqueue(m, sub);
}

static void on_wake(struct reader *r)
{
    struct subscription *sub = container_of(r, struct subscription, feed.reader);

    if (sub->feed.fetching)
        return;
    if (sub->dialect == NULL) {
        mux_opened(sub->mux, sub);
        return;
    }
    mux_enqueue(sub->mux, sub);
    mux_carry(sub->mux);
}

int subscription_open(struct mux *m, const struct subscription_request *what)
{
    struct subscription *sub = calloc(1, sizeof(*sub));
    struct feed_request feed = { .job = what->job,
                                 .job_scope = permit_job_scope(m->stream.permit),
                                 .format = what->format,
                                 .after = what->after };

    feed.format.framing = m->format.framing;
    feed.format.chunked = m->format.chunked;
    feed.format.wrap = feed.format.with_job = true;
    int err = sub != NULL ? feed_open(&sub->feed, m->stream.loop, on_wake, &feed) : ERR_NOMEM;
    if (err != 0) {
        free(sub);
        return err;
    }
    sub->mux = m;
    sub->place = what->place;
    sub->next = m->first;
    if (sub->next != NULL)
        sub->next->prev = sub;
    m->first = sub;
    m->n++;
    return 0;
}
