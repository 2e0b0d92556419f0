#include "transport/sse.h"

#include "auth/permit.h"
#include "base/error.h"
#include "dialect/aiq.h"
#include "hub/page.h"
#include "transport/traffic.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TICK_MS = 1000, SLOTS = 64, RETRY_MS = 1000 };

struct sse_reader {
    struct reader reader;
    struct sse_loop *loop;
    struct http_request *req; /* until the stream has begun */
    struct http_stream *stream;
    struct page *page;     /* owned; being fetched or being sent */
    struct permit *permit; /* owned, or NULL */
    bool fetching;         /* the pool has the page */
    bool page_ready;       /* the page may be sent */
    bool sending;          /* http has bytes of ours */
    bool live_said;        /* aiq: stream.mode live */
    bool by_header, resumed;
    bool ending;
    bool closed;      /* the connection is gone; only the page is waited for */
    struct buf small; /* frames for this connection only */
    bool small_sent, page_sending;
    bool drained;
    bool expelled; /* its permit holds no longer */
    bool asked_again;
    bool has_events;                /* some were sent */
    uint8_t why;                    /* it ends: enum stream_end */
    int64_t key;                    /* of the job, from the first page on */
    struct sse_reader *prev, *next; /* in a slot of the wheel */
    int64_t last_sent, began, next_beat, expires;
};

struct sse_loop {
    struct http_loop *http;  /* borrowed */
    struct hub *hub;         /* borrowed */
    struct pool *pool;       /* borrowed */
    struct mailbox *box;     /* borrowed */
    struct traffic *traffic; /* borrowed */
    struct sse_options opt;
    uv_timer_t timer;
    struct sse_reader slots[SLOTS]; /* list heads */
    size_t at;
    unsigned seed;
    bool draining;
};

static void pump(struct sse_reader *r);
static void schedule_next(struct sse_reader *r, int64_t now);

static int64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool is_aiq(const struct sse_reader *r)
{
    return hub_reader_way(&r->reader)->dialect == &dialect_aiq;
}

/* --- the wheel ------------------------------------------------------------------ */

static void unlink_reader(struct sse_reader *r)
{
    if (r->next == NULL)
        return;
    r->prev->next = r->next;
    r->next->prev = r->prev;
    r->prev = r->next = NULL;
}

static void schedule(struct sse_reader *r, int64_t in_ms)
{
    struct sse_loop *l = r->loop;
    int64_t ticks = in_ms / TICK_MS + 1;
    struct sse_reader *slot =
        &l->slots[(l->at + (size_t)(ticks < SLOTS ? ticks : SLOTS - 1)) % SLOTS];

    unlink_reader(r);
    r->next = slot;
    r->prev = slot->prev;
    r->prev->next = r;
    slot->prev = r;
}

/* --- ending ---------------------------------------------------------------------- */

static void free_reader(struct sse_reader *r)
{
    if (r->fetching)
        return; /* when the page comes back */
    page_free(r->page);
    permit_free(r->permit);
    buf_done(&r->small);
    free(r);
}

static void leave(struct sse_reader *r)
{
    unlink_reader(r);
    hub_leave(r->loop->hub, &r->reader);
    r->closed = true;
}

static void on_closed(struct http_stream *st, void *data)
{
    struct sse_reader *r = data;

    if (!r->ending && http_stream_is_stalled(st))
        r->why = STREAM_SLOW;
    traffic_closed(r->loop->traffic, TRANSPORT_SSE, hub_reader_way(&r->reader)->dialect,
                   (enum stream_end)r->why);
    leave(r);
    free_reader(r);
}

static void on_gone(struct http_request *req, void *data)
{
    struct sse_reader *r = data;

    (void)req;
    r->req = NULL;
    leave(r);
    free_reader(r);
}

static void cut(struct sse_reader *r, enum stream_end why, const char *reason)
{
    r->ending = true;
    r->why = (uint8_t)why;
    http_stream_cut(r->stream, reason);
}

/* --- frames for this connection ------------------------------------------------------ */

static void put_frame(struct sse_reader *r, struct str event, struct buf *payload)
{
    if (payload->error == 0)
        way_put(hub_reader_way(&r->reader), event, buf_text(payload), &r->small);
    buf_done(payload);
}

static void put_mode(struct sse_reader *r, struct str mode)
{
    struct buf payload;

    buf_init(&payload, 4096);
    aiq_put_stream_mode(&payload, now_ms(), mode);
    put_frame(r, STR("stream.mode"), &payload);
}

static enum aiq_status status_of(enum job_state state)
{
    return state == JOB_QUEUED ? AIQ_SUBMITTED : AIQ_RUNNING;
}

static void put_status(struct sse_reader *r, enum job_state state)
{
    const struct way *way = hub_reader_way(&r->reader);
    struct buf payload;

    if (job_state_is_final(state))
        return; /* the terminal record says it */
    buf_init(&payload, 4096);
    aiq_put_job_status(&payload, now_ms(),
                       aiq_status_name(status_of(state), way->variant.aiq_compat), STR_NONE,
                       r->resumed);
    r->resumed = false;
    put_frame(r, STR("job.status"), &payload);
}

static void put_gap(struct sse_reader *r, const struct page *p)
{
    struct buf payload;

    buf_init(&payload, 4096);
    buf_lit(&payload, "{\"type\":\"stream.gap\",\"requested\":");
    buf_u64(&payload, p->asked.seq);
    if (p->expired) {
        buf_lit(&payload, ",\"oldest\":");
        buf_u64(&payload, p->first_seq);
    }
    buf_lit(&payload, ",\"tail\":");
    buf_u64(&payload, p->job_seq);
    buf_char(&payload, '}');
    put_frame(r, STR("stream.gap"), &payload);
}

static void put_beat(struct sse_reader *r, int64_t now)
{
    struct buf payload;

    buf_init(&payload, 4096);
    aiq_put_heartbeat(&payload, now, (uint64_t)(now - r->began) / 1000);
    put_frame(r, STR("job.heartbeat"), &payload);
}

static void put_retry(struct sse_loop *l, const struct way *way, struct buf *out)
{
    char line[40];

    l->seed = l->seed * 1103515245u + 12345u;
    (void)snprintf(line, sizeof(line), "retry: %u\n\n", RETRY_MS + (l->seed >> 16) % 2000);
    way_put_raw(way, str_of(line), out);
}

/* --- pages ---------------------------------------------------------------------------- */

static void on_page(struct task *task);

static int fetch(struct sse_reader *r, struct str job, struct cursor after, bool first)
{
    struct page *p;
    int err = page_new(job, hub_reader_way(&r->reader), after, &p);

    if (err != 0)
        return err;
    p->data = r;
    p->reach = permit_reach(r->permit);
    p->beginning_if_foreign = first;
    p->task.done = on_page;
    p->task.home = r->loop->box;
    r->page = p;
    r->fetching = true;
    r->page_ready = false;
    pool_post(r->loop->pool, &p->task);
    return 0;
}

static void refuse(struct sse_reader *r, int status, const char *text)
{
    struct http_request *req = r->req;

    r->req = NULL;
    leave(r);
    http_on_gone(req, NULL, NULL);
    if (status == 204)
        http_respond(req, 204, NULL, STR_NONE);
    else
        http_respond_error(req, status, "%s", text);
    free_reader(r);
}

static void on_ready(struct http_stream *st, void *data)
{
    struct sse_reader *r = data;

    (void)st;
    r->sending = false;
    r->last_sent = now_ms();
    pump(r);
}

/* False when there is nobody to stream to (a HEAD request, a connection that is gone). */
static bool begin_stream(struct sse_reader *r)
{
    static const struct http_stream_events events = { .ready = on_ready, .closed = on_closed };
    struct sse_loop *l = r->loop;
    struct http_request *req = r->req;

    http_on_gone(req, NULL, NULL);
    http_set_header(req, "Cache-Control", STR("no-cache, no-transform"));
    http_set_header(req, "X-Accel-Buffering", STR("no"));
    r->req = NULL;
    r->stream = http_stream_begin(req, 200, "text/event-stream; charset=utf-8", &events, r);
    if (r->stream == NULL) {
        leave(r);
        free_reader(r);
        return false;
    }
    traffic_opened(l->traffic, TRANSPORT_SSE, hub_reader_way(&r->reader)->dialect);
    r->began = r->last_sent = now_ms();
    r->next_beat = r->began + l->opt.heartbeat_ms;
    if (l->opt.max_age_ms > 0) {
        l->seed = l->seed * 1103515245u + 12345u;
        r->expires = r->began + l->opt.max_age_ms +
                     (int64_t)(l->seed >> 8) % (l->opt.max_age_ms / 10 + 1);
    }
    schedule_next(r, r->began);
    return true;
}

/* A person who has everything of a finished job gets its terminal frame once more. */
static bool asks_again(struct sse_reader *r, const struct page *p)
{
    bool again = !r->by_header && !r->asked_again && p->n_frames == 0 && p->at_end &&
                 p->job_seq > 0 && job_state_is_final(p->state);

    r->asked_again |= again;
    return again;
}

static void count_resume(struct sse_reader *r, const struct page *p)
{
    bool is_empty = p->n_frames == 0 && p->at_end && job_state_is_final(p->state);
    enum stream_resume result = p->foreign || p->expired ? RESUME_GAP
                                : is_empty               ? RESUME_EMPTY
                                                         : RESUME_OK;

    if (p->asked.seq > 0 && !r->asked_again)
        counter_add(&r->loop->traffic->resumed[result], 1);
}

/* The first page decides what the answer is. */
static void first_page(struct sse_reader *r)
{
    struct page *p = r->page;
    char text[140];

    if (p->code == 0)
        count_resume(r, p);
    if (p->code == ERR_NOT_FOUND) {
        (void)snprintf(text, sizeof(text), "Job not found: %.*s", (int)p->job_n, p->job);
        refuse(r, 404, text);
        return;
    }
    if (p->code != 0) {
        refuse(r, 500, "the job's events cannot be read from the store");
        return;
    }
    if (r->by_header && job_state_is_final(p->state) && p->n_frames == 0 && p->at_end &&
        !p->foreign) {
        refuse(r, 204, NULL);
        return;
    }
    if (asks_again(r, p)) {
        struct cursor before_end = { .seq = p->job_seq - 1 };
        struct str job = hub_reader_job(&r->reader);

        page_free(p);
        r->page = NULL;
        if (fetch(r, job, before_end, false) != 0)
            refuse(r, 503, "out of memory");
        return;
    }
    if (!begin_stream(r))
        return;
    if (is_aiq(r))
        put_mode(r, STR("polling"));
    if (p->foreign || p->expired)
        put_gap(r, p);
    r->page_ready = true;
    pump(r);
}

static void on_page(struct task *task)
{
    struct page *p = (struct page *)(void *)((char *)task - offsetof(struct page, task));
    struct sse_reader *r = p->data;

    r->fetching = false;
    if (r->closed) {
        free_reader(r);
        return;
    }
    if (r->stream == NULL) {
        r->key = p->key;
        first_page(r);
        return;
    }
    if (p->code == 0 && p->key != r->key)
        p->code = ERR_NOT_FOUND; /* a new job of the same id is none of this reader's */
    if (p->code != 0) {
        if (p->code == ERR_NOT_FOUND)
            cut(r, STREAM_DELETED, "the job was deleted");
        else
            cut(r, STREAM_FAILED, "the store cannot be read");
        return;
    }
    if (p->job_seq > p->after.seq)
        histogram_add(&r->loop->traffic->lag, p->job_seq - p->after.seq, 1);
    if (p->expired) /* while it was being read */
        put_gap(r, p);
    r->page_ready = true;
    pump(r);
}

/* --- sending ------------------------------------------------------------------- */

/* True when all went out at once. */
static bool send_bytes(struct sse_reader *r, struct str bytes)
{
    if (bytes.n == 0)
        return true;
    counter_add(&r->loop->traffic->bytes, bytes.n);
    if (http_stream_send(r->stream, bytes.p, bytes.n)) {
        r->last_sent = now_ms();
        return true;
    }
    r->sending = true;
    return false;
}

static void count_first_event(struct sse_reader *r, size_t n)
{
    if (r->has_events || n == 0)
        return;
    r->has_events = true;
    histogram_add(&r->loop->traffic->first_event, (uint64_t)(r->last_sent - r->began) * 1000,
                  1);
}

static void page_sent(struct sse_reader *r)
{
    struct page *p = r->page;
    bool at_end = p->at_end, ended = p->ended;
    uint64_t seq = p->last_seq;
    enum job_state state = p->state;

    r->page = NULL;
    r->page_ready = false;
    counter_add(&r->loop->traffic->replayed, p->n_frames);
    count_first_event(r, p->n_frames);
    hub_reader_moved(&r->reader, seq, ended || (at_end && job_state_is_final(state)));
    if (at_end && is_aiq(r) && !r->live_said && !job_state_is_final(state)) {
        r->live_said = true;
        put_mode(r, STR("live"));
        put_status(r, state);
    }
    if (!at_end) {
        struct str job = str_make(p->job, p->job_n);

        if (fetch(r, job, (struct cursor){ seq, 0 }, false) != 0)
            cut(r, STREAM_FAILED, "out of memory");
    }
    page_free(p);
}

/* What is in `small` goes first; it is kept until it was sent. */
static bool send_small(struct sse_reader *r)
{
    if (r->small.n == 0)
        return true;
    if (r->small_sent) {
        buf_clear(&r->small);
        r->small_sent = false;
        return true;
    }
    r->small_sent = true;
    if (!send_bytes(r, buf_text(&r->small)))
        return false;
    r->small_sent = false;
    buf_done(&r->small); /* an idle reader keeps no buffer */
    return true;
}

static bool send_page(struct sse_reader *r)
{
    if (!r->page_sending) {
        r->page_sending = true;
        if (!send_bytes(r, buf_text(&r->page->bytes)))
            return false;
    }
    r->page_sending = false;
    page_sent(r);
    return true;
}

static void step_live(struct sse_reader *r, bool *ret_again)
{
    struct str bytes;

    *ret_again = false;
    switch (hub_reader_next(&r->reader, &bytes)) {
    case HUB_BYTES:
        *ret_again = send_bytes(r, bytes);
        count_first_event(r, bytes.n);
        return;
    case HUB_WAIT:
        return;
    case HUB_BEHIND:
        if (fetch(r, hub_reader_job(&r->reader), (struct cursor){ r->reader.seq, 0 }, false) !=
            0)
            cut(r, STREAM_FAILED, "out of memory");
        return;
    case HUB_END:
        r->ending = true;
        r->why = STREAM_DONE;
        http_stream_end(r->stream);
        return;
    case HUB_GONE:
        cut(r, STREAM_DELETED, "the job was deleted");
        return;
    }
}

/* Sends what there is, until the socket is full or a fair share has gone. */
static void pump(struct sse_reader *r)
{
    bool again = true;

    while (again && !r->sending && !r->ending) {
        if (!send_small(r))
            return;
        if (r->fetching)
            return;
        if (r->page_ready)
            again = send_page(r);
        else
            step_live(r, &again);
    }
}

static void on_wake(struct reader *reader)
{
    struct sse_reader *r =
        (struct sse_reader *)(void *)((char *)reader - offsetof(struct sse_reader, reader));

    if (r->stream != NULL && !r->sending && !r->fetching && !r->ending)
        pump(r);
}

/* --- sending away ------------------------------------------------------------ */

/* 503 would end a browser's EventSource for good: it is told to come again instead. */
struct farewell {
    struct buf bytes;
};

static void farewell_closed(struct http_stream *st, void *data)
{
    struct farewell *f = data;

    (void)st;
    buf_done(&f->bytes);
    free(f);
}

static void farewell_sent(struct http_stream *st, void *data)
{
    (void)data;
    http_stream_cut(st, "the server is busy or going down");
}

static void send_away(struct sse_loop *l, struct http_request *req, const struct way *way)
{
    static const struct http_stream_events events = { .ready = farewell_sent,
                                                      .closed = farewell_closed };
    struct farewell *f = calloc(1, sizeof(*f));

    if (f == NULL) {
        http_respond_error(req, 503, "out of memory");
        return;
    }
    buf_init(&f->bytes, 1024);
    put_retry(l, way, &f->bytes);
    struct http_stream *st =
        http_stream_begin(req, 200, "text/event-stream; charset=utf-8", &events, f);
    if (st == NULL) {
        buf_done(&f->bytes);
        free(f);
    } else if (http_stream_send(st, f->bytes.p, f->bytes.n)) {
        farewell_sent(st, f);
    }
}

/* --- opening ------------------------------------------------------------------- */

void sse_open(struct sse_loop *l, struct http_request *req, const struct sse_request *what)
{
    struct sse_reader *r = calloc(1, sizeof(*r));
    struct way way = what->way;

    way.chunked = !http_is_10(req);
    if (l->draining || http_is_over(req)) {
        free(r);
        permit_free(what->permit);
        send_away(l, req, &way);
        return;
    }
    if (r == NULL || hub_join(l->hub, what->job, &way, &r->reader) != 0) {
        free(r);
        permit_free(what->permit);
        http_respond_error(req, 404, "Job not found: %.*s", STR_ARG(str_head(what->job, 100)));
        return;
    }
    r->loop = l;
    r->req = req;
    r->permit = what->permit;
    r->reader.wake = on_wake;
    r->by_header = what->by_header;
    r->resumed = what->resumed;
    buf_init(&r->small, 1024 * 1024);
    http_on_gone(req, on_gone, r);
    if (fetch(r, what->job, what->after, true) != 0)
        refuse(r, 503, "out of memory");
}

/* --- time ---------------------------------------------------------------------- */

/* For whatever comes first: a comment, a heartbeat, the maximum age. */
static void schedule_next(struct sse_reader *r, int64_t now)
{
    const struct sse_options *opt = &r->loop->opt;
    const struct dialect *d = hub_reader_way(&r->reader)->dialect;
    int64_t next = r->last_sent + opt->keep_alive_ms - now;

    if (next <= 0)
        next = opt->keep_alive_ms;
    if ((d == &dialect_aiq || d == &dialect_raw) && r->next_beat - now < next)
        next = r->next_beat - now;
    if (r->expires != 0 && r->expires - now < next)
        next = r->expires - now;
    if (permit_until(r->permit) - now < next)
        next = permit_until(r->permit) - now;
    schedule(r, next > 0 ? next : 0);
}

static void look_at(struct sse_reader *r, int64_t now)
{
    struct sse_loop *l = r->loop;
    const struct dialect *d = hub_reader_way(&r->reader)->dialect;

    if (r->ending)
        return; /* its last bytes are on their way */
    bool expelled = !permit_holds(r->permit, now);
    if (expelled || l->draining || (r->expires != 0 && now >= r->expires)) {
        if (!r->sending && l->draining && (d == &dialect_aiq || d == &dialect_raw)) {
            struct buf payload;

            buf_init(&payload, 4096);
            aiq_put_shutdown(&payload, now);
            put_frame(r, STR("job.shutdown"), &payload);
        }
        if (!r->sending) {
            put_retry(l, hub_reader_way(&r->reader), &r->small);
            (void)send_small(r);
        }
        if (expelled)
            cut(r, STREAM_AUTH_EXPIRED, "its token or ticket is good no longer");
        else if (l->draining)
            cut(r, STREAM_DRAIN, "the server is going down");
        else
            cut(r, STREAM_MAX_AGE, "the connection has reached its maximum age");
        return;
    }
    if (!r->sending && (d == &dialect_aiq || d == &dialect_raw) && now >= r->next_beat) {
        r->next_beat = now + l->opt.heartbeat_ms;
        put_beat(r, now);
    } else if (!r->sending && now - r->last_sent >= l->opt.keep_alive_ms) {
        way_put_raw(hub_reader_way(&r->reader), STR(": keep-alive\n\n"), &r->small);
    }
    schedule_next(r, now);
    pump(r);
}

static void on_tick(uv_timer_t *timer)
{
    struct sse_loop *l = timer->data;
    struct sse_reader due = { 0 }, *slot;
    int64_t now = now_ms();

    l->at = (l->at + 1) % SLOTS;
    slot = &l->slots[l->at];
    if (slot->next == slot)
        return;
    /* Detached first: each is put back into a slot of its own. */
    due.next = slot->next;
    due.prev = slot->prev;
    due.next->prev = due.prev->next = &due;
    slot->next = slot->prev = slot;
    while (due.next != &due) {
        struct sse_reader *r = due.next;

        unlink_reader(r);
        look_at(r, now);
    }
}

/* --- life ---------------------------------------------------------------------- */

int sse_loop_new(struct http_loop *loop,
                 struct hub *hub,
                 struct pool *pool,
                 struct mailbox *box,
                 struct traffic *traffic,
                 const struct sse_options *options,
                 struct sse_loop **ret)
{
    struct sse_loop *l = calloc(1, sizeof(*l));

    if (l == NULL)
        return ERR_NOMEM;
    *l = (struct sse_loop){
        .http = loop, .hub = hub, .pool = pool, .box = box, .traffic = traffic, .opt = *options
    };
    l->seed = (unsigned)now_ms();
    for (size_t i = 0; i < SLOTS; i++)
        l->slots[i].next = l->slots[i].prev = &l->slots[i];
    (void)uv_timer_init(http_loop_uv(loop), &l->timer); /* cannot fail */
    l->timer.data = l;
    (void)uv_timer_start(&l->timer, on_tick, TICK_MS, TICK_MS);
    *ret = l;
    return 0;
}

void sse_loop_drain(struct sse_loop *l, int64_t window_ms)
{
    size_t ticks = (size_t)(window_ms / TICK_MS), i = 0;

    l->draining = true;
    if (ticks == 0)
        ticks = 1;
    if (ticks >= SLOTS)
        ticks = SLOTS - 1;
    for (size_t s = 0; s < SLOTS; s++) {
        struct sse_reader *slot = &l->slots[s], *r = slot->next;

        while (r != slot && r->next != NULL) {
            struct sse_reader *next = r->next;

            if (!r->drained) { /* moving may put it into a slot that is still to come */
                r->drained = true;
                schedule(r, (int64_t)(i++ % ticks) * TICK_MS);
            }
            r = next;
        }
    }
}

void sse_loop_check_permits(struct sse_loop *l)
{
    int64_t now = now_ms();

    for (size_t s = 0; s < SLOTS; s++) {
        struct sse_reader *slot = &l->slots[s], *r = slot->next;

        while (r != slot && r->next != NULL) {
            struct sse_reader *next = r->next;

            if (!r->expelled && !permit_holds(r->permit, now)) {
                r->expelled = true; /* it may move to a slot that is still to come */
                schedule(r, 0);
            }
            r = next;
        }
    }
}

void sse_loop_close(struct sse_loop *l)
{
    uv_close((uv_handle_t *)&l->timer, NULL);
}

void sse_loop_free(struct sse_loop *l)
{
    free(l);
}
