/* A poll is a feed that reads the page after the same cursor each time that it is woken.  So
 * the answer depends only on the request and on what is stored.  A page that cannot grow any
 * more, because it is full or the job has ended, stays the same for ever. */
#include "transport/poll.h"

#include "auth/permit.h"
#include "base/container_of.h"
#include "base/error.h"
#include "base/table.h"
#include "http/header.h"
#include "transport/feed.h"
#include "transport/traffic.h"

#include <stdio.h>
#include <stdlib.h>

struct poll {
    struct feed feed;
    uv_timer_t timer;
    struct poll *prev, *next;      /* list of the loop's polls */
    struct http_request *req;      /* NULL: answered, or disconnected */
    struct permit *permit;         /* owned, or NULL */
    const struct dialect *dialect; /* to count it */
    struct cursor after;
    bool over; /* the time is over */
};

/* --- ending ------------------------------------------------------------------------ */

static void on_timer_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void end(struct poll *p, enum stream_end why)
{
    struct streams *l = p->feed.loop;

    p->req = NULL;
    if (p->prev != NULL)
        p->prev->next = p->next;
    else
        l->polls = p->next;
    if (p->next != NULL)
        p->next->prev = p->prev;
    traffic_closed(l->traffic, TRANSPORT_POLL, p->dialect, why);
    feed_close(&p->feed);
    permit_free(p->permit);
    uv_close((uv_handle_t *)&p->timer, on_timer_closed);
}

static void on_gone(struct http_request *req, void *data)
{
    (void)req;
    end(data, STREAM_PEER);
}

/* Takes the request out of the poll; it must be answered now. */
static struct http_request *take_request(struct poll *p)
{
    struct http_request *req = p->req;

    http_on_gone(req, NULL, NULL);
    p->req = NULL;
    return req;
}

/* --- the answer -------------------------------------------------------------------- */

static void put_cursor(struct buf *b, const struct page *page)
{
    struct cursor next = page->cached->last_seq >= page->after.seq
                             ? (struct cursor){ .seq = page->cached->last_seq }
                             : page->after;

    buf_u64(b, next.seq);
    if (next.k != 0) {
        buf_char(b, '.');
        buf_u64(b, next.k);
    }
}

static bool has_ended(const struct page *page)
{
    return page->cached->ended || (page->cached->at_end && job_state_is_final(page->state));
}

/* Turns the lines of the page into elements of a JSON list. */
static void put_document(struct buf *b, const struct page *page)
{
    json_begin_list(b, "events");
    size_t from = b->n;
    buf_str(b, buf_text(&page->cached->bytes));
    for (size_t i = from; i < b->n; i++)
        if (b->p[i] == '\n')
            b->p[i] = ',';
    if (b->n > from)
        b->n--; /* the last comma */
    json_end_array(b);
    json_add_parts(b, "next");
    put_cursor(b, page);
    json_end_parts(b);
    json_add_bool(b, "ended", has_ended(page));
    buf_lit(b, "}\n");
}

enum { TAG_CHARS = 34 };

static struct str tag_of(struct str document, char out[TAG_CHARS + 1])
{
    struct key k = key_stable(0, document);

    (void)snprintf(out, TAG_CHARS + 1, "\"%016llx%016llx\"", (unsigned long long)k.a,
                   (unsigned long long)k.b); /* fits */
    return str_make(out, TAG_CHARS);
}

static void respond(struct http_request *req, const struct page *page, struct str document)
{
    char text[TAG_CHARS + 1];
    struct str tag = tag_of(document, text);
    struct str known = http_header(req, "If-None-Match");
    bool is_final = !page->cached->at_end || has_ended(page);

    http_set_header(req, "ETag", tag);
    http_set_header(req, "Cache-Control",
                    is_final ? STR("private, max-age=86400, immutable") : STR("no-cache"));
    if (header_lists(known, tag))
        http_respond(req, 304, NULL, STR_NONE);
    else
        http_respond(req, 200, "application/json", document);
}

static void answer(struct poll *p)
{
    const struct page *page = feed_page(&p->feed);
    struct http_request *req = take_request(p);
    struct buf *out = hub_scratch(p->feed.loop->hub);

    if (page->code != 0) {
        struct feed_refusal r = feed_refusal(page->code, str_make(page->job, page->job_n));

        http_respond_error(req, r.status, "%s", r.text);
    } else if (page->foreign || page->expired) {
        http_respond_error(req, 410, "there is nothing after %llu%s: begin again without after",
                           (unsigned long long)page->asked.seq,
                           page->expired ? " any more" : "");
    } else {
        put_document(out, page);
        if (out->error == 0)
            respond(req, page, buf_text(out));
        else
            http_respond_error(req, 503, "out of memory");
    }
    end(p, STREAM_DONE);
}

/* --- waiting ----------------------------------------------------------------------- */

static void read_again(struct poll *p)
{
    if (p->feed.fetching || feed_reopen(&p->feed, p->after) == 0)
        return;
    http_respond_error(take_request(p), 503, "out of memory");
    end(p, STREAM_FAILED);
}

static bool is_worth_answering(const struct poll *p)
{
    const struct page *page = feed_page(&p->feed);

    return p->over || page->code != 0 || page->foreign || page->expired ||
           page->cached->n_frames > 0 || !page->cached->at_end || has_ended(page);
}

/* Joins the hub's window, to be woken by the next change. */
static void wait(struct poll *p)
{
    struct str ignored;
    enum feed_next next = feed_next(&p->feed, &ignored);

    if (next == FEED_CAUGHT_UP)
        next = feed_next(&p->feed, &ignored);
    if (next != FEED_WAIT)
        read_again(p);
}

static void on_wake(struct reader *r)
{
    struct poll *p = container_of(r, struct poll, feed.reader);

    if (p->feed.fetching)
        return;
    if (feed_page(&p->feed) == NULL)
        read_again(p);
    else if (is_worth_answering(p))
        answer(p);
    else
        wait(p);
}

static void on_time(uv_timer_t *timer)
{
    struct poll *p = timer->data;

    p->over = true;
    read_again(p);
}

void polls_drain(struct streams *l)
{
    for (struct poll *p = l->polls, *next; p != NULL; p = next) {
        next = p->next;
        p->over = true;
        read_again(p);
    }
}

/* --- opening ----------------------------------------------------------------------- */

static void begin(struct poll *p, struct streams *l, const struct poll_request *what)
{
    p->permit = what->permit;
    p->dialect = what->format.dialect;
    p->after = what->after;
    p->over = what->wait_ms == 0 || l->draining || http_is_over(p->req);
    p->next = l->polls;
    if (p->next != NULL)
        p->next->prev = p;
    l->polls = p;
    traffic_opened(l->traffic, TRANSPORT_POLL, p->dialect);
    (void)uv_timer_init(http_loop_uv(l->http), &p->timer); /* cannot fail */
    p->timer.data = p;
    if (!p->over)
        (void)uv_timer_start(&p->timer, on_time, (uint64_t)what->wait_ms, 0);
    http_on_gone(p->req, on_gone, p);
}

void poll_open(struct streams *l, struct http_request *req, const struct poll_request *what)
{
    struct feed_request feed = { .job = what->job,
                                 .job_scope = permit_job_scope(what->permit),
                                 .format = what->format,
                                 .after = what->after,
                                 .max_frames = what->limit };
    struct poll *p = calloc(1, sizeof(*p));

    feed.format.framing = &framing_ndjson;
    feed.format.wrap = true;
    int err = p != NULL ? feed_open(&p->feed, l, on_wake, &feed) : ERR_NOMEM;
    if (err != 0) {
        free(p);
        permit_free(what->permit);
        struct feed_refusal r = feed_refusal(err, what->job);
        http_respond_error(req, r.status, "%s", r.text);
        return;
    }
    p->req = req;
    begin(p, l, what);
}
