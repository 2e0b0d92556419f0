/* A channel feed is a job for which messages have arrived:
 *
 *     message ──▶ filling ──flush──▶ flying ──▶ journal ──answer──▶ filling again, if there is
 *                                      ▲          │ busy                anything
 *                                      └──a tick──┘
 *
 * One request of a job is in flight at a time, so its lines keep their order.  Feeds with
 * waiting lines are flushed once per turn of the loop, after all sockets were read; under load
 * less often, because a commit costs the same for ten lines and for a thousand. */
#include "redis/subscriber.h"

#include "base/array.h"
#include "base/error.h"
#include "base/json.h"
#include "base/table.h"
#include "redis/barrier.h"
#include "redis/payload.h"
#include "journal/journal.h"
#include "jobs/job.h"

#include <stdlib.h>

enum {
    TICK_MS = 200,
    TELL_TICKS = 50,    /* between two log messages about refusals */
    RENEW_TICKS = 5,    /* while disconnected, leases are renewed so that they do not expire */
    IDLE_TICKS = 300,   /* before an idle feed is freed */
    CLOSE_TICKS = 25,   /* longest wait for the journal */
    BATCH_LINES = 5000, /* per request: it shares a commit with others */
    PACE_MS = 5,        /* between two flushes under load */
    BUSY_BYTES = 64 * 1024,    /* per flush: more counts as load */
    GATHER_BYTES = 1024 * 1024 /* flush at once above this */
};

struct note {
    size_t from, n; /* position in the batch's text */
    struct payload_about about;
};

/* The lines of one request. */
struct feed_batch {
    struct buf text;
    struct note *notes; /* owned */
    size_t n, cap;
};

struct channel_feed {
    struct channel_feed *prev, *next; /* list of all */
    struct channel_feed *after;       /* in the list of feeds to flush */
    struct subscriber *owner;
    struct feed_batch filling, flying;
    size_t at, n_sent; /* in the flying batch: the first line that is not stored; lines in the
                          request */
    struct journal_line *lines; /* owned; of the flying batch */
    size_t cap_lines;
    struct journal_request post;
    bool is_dirty, is_stuck; /* dirty: to be flushed; stuck: to be resent at the next tick */
    unsigned idle;
    size_t id_n;
    char id[64];
};

struct subscriber {
    struct subscriber_options opt;
    struct redis *redis;
    struct table feeds;      /* by id */
    struct channel_feed all; /* a ring */
    struct channel_feed *dirty, **last_dirty;
    size_t unsent;       /* bytes that are not sent to the journal */
    uint64_t flushed_at; /* on the loop's clock */
    bool is_busy;        /* the last flush was large */
    struct json_reader reader;
    struct buf pattern;
    size_t bytes;
    bool is_held;
    uv_check_t check;
    uv_timer_t tick, pace;
    unsigned n_ticks;
    struct journal_request renew;
    struct journal_request warning; /* to the jobs that may have missed messages */
    bool owes_warning;
    uint64_t n_untold;
    unsigned told_at;
    bool is_closing;
    unsigned n_closing, n_handles;
    void (*closed)(void *arg);
    void *closed_arg;
};

/* --- batches ----------------------------------------------------------------- */

/* Replaces line ends in a payload by spaces.  Between JSON tokens both are white space; inside
 * of strings a line end is not valid JSON anyway. */
static void put_line(struct buf *out, struct str payload)
{
    size_t from = out->n;
    char *end;

    buf_str(out, payload);
    if (out->error != 0)
        return;
    while ((end = memchr(out->p + from, '\n', out->n - from)) != NULL)
        *end = ' ';
}

static int batch_add(struct feed_batch *b,
                     struct str payload,
                     const struct payload_about *about)
{
    size_t before = b->text.n;

    if (!array_grow(&b->notes, b->n, &b->cap, sizeof(*b->notes)))
        return ERR_NOMEM;
    put_line(&b->text, payload);
    b->notes[b->n] = (struct note){ .from = before, .n = payload.n, .about = *about };
    buf_char(&b->text, '\n');
    if (b->text.error != 0) {
        int err = b->text.error;

        b->text.error = 0;
        buf_cut(&b->text, before);
        return err;
    }
    b->n++;
    return 0;
}

static void batch_clear(struct feed_batch *b)
{
    buf_clear(&b->text);
    b->n = 0;
}

static void batch_done(struct feed_batch *b)
{
    buf_done(&b->text);
    free(b->notes);
}

/* --- feeds ------------------------------------------------------------------- */

static void on_answer(struct loop_call *call);

static struct str id_of(const struct channel_feed *f)
{
    return str_make(f->id, f->id_n);
}

static struct channel_feed *feed_new(struct subscriber *s, struct str job)
{
    struct channel_feed *f = calloc(1, sizeof(*f));

    if (f == NULL || table_put(&s->feeds, table_key(&s->feeds, 0, job), f) != 0) {
        free(f);
        return NULL;
    }
    f->owner = s;
    str_copy(f->id, job); /* fits: it is a valid id */
    f->id_n = job.n;
    buf_init(&f->filling.text, SIZE_MAX / 4);
    buf_init(&f->flying.text, SIZE_MAX / 4);
    journal_request_init(&f->post, s->opt.box, f, on_answer);
    f->prev = s->all.prev;
    f->next = &s->all;
    f->prev->next = s->all.prev = f;
    return f;
}

static void feed_free(struct channel_feed *f)
{
    struct subscriber *s = f->owner;

    table_remove(&s->feeds, table_key(&s->feeds, 0, id_of(f)));
    f->prev->next = f->next;
    f->next->prev = f->prev;
    batch_done(&f->filling);
    batch_done(&f->flying);
    journal_request_done(&f->post);
    free(f->lines);
    free(f);
}

static void set_bytes(struct subscriber *s, size_t bytes)
{
    bool hold = bytes > (s->is_held ? s->opt.max_bytes / 2 : s->opt.max_bytes);

    s->bytes = bytes;
    counter_set(&s->opt.counts->waiting, bytes);
    if (hold != s->is_held && !s->is_closing) {
        s->is_held = hold;
        counter_add(&s->opt.counts->holds, hold);
        redis_hold(s->redis, hold);
    }
}

/* --- requests to the journal --------------------------------------------------- */

static bool make_lines(struct channel_feed *f)
{
    const struct feed_batch *b = &f->flying;
    size_t left = b->n - f->at;

    f->n_sent = left < BATCH_LINES ? left : BATCH_LINES;
    if (f->n_sent > f->cap_lines) {
        struct journal_line *lines = realloc(f->lines, f->n_sent * sizeof(*lines));

        if (lines == NULL)
            return false;
        f->lines = lines;
        f->cap_lines = f->n_sent;
    }
    for (size_t i = 0; i < f->n_sent; i++) {
        const struct note *note = &b->notes[f->at + i];

        f->lines[i] = (struct journal_line){ .text = { b->text.p + note->from, note->n },
                                             .producer_seq = note->about.producer_seq,
                                             .asks = note->about.asks,
                                             .ends = note->about.ends };
    }
    return true;
}

static void send_batch(struct channel_feed *f)
{
    struct subscriber *s = f->owner;

    f->is_stuck = !make_lines(f);
    if (f->is_stuck)
        return;
    struct journal_request *req = journal_request_begin(&f->post, JOURNAL_FEED);
    req->job = id_of(f);
    req->feed.lines = f->lines;
    req->feed.n_lines = f->n_sent;
    req->feed.worker = STR("channel");
    req->feed.agent = s->opt.agent;
    req->is_forwarded = true; /* the gateway that writes hears the same messages itself */
    journal_post(s->opt.journal, &f->post);
}

static void send_next(struct channel_feed *f)
{
    struct feed_batch empty = f->flying;

    if (f->post.loop_call.is_pending || f->flying.n > 0 || f->filling.n == 0)
        return;
    f->flying = f->filling;
    f->filling = empty;
    f->owner->unsent -= f->flying.text.n;
    send_batch(f);
}

static void complain(struct channel_feed *f, struct str why)
{
    struct subscriber *s = f->owner;

    s->n_untold += f->n_sent;
    if (s->opt.refused == NULL || (s->told_at != 0 && s->n_ticks - s->told_at < TELL_TICKS))
        return;
    s->opt.refused(s->opt.arg, id_of(f), why, s->n_untold);
    s->told_at = s->n_ticks + 1;
    s->n_untold = 0;
}

static void count(struct channel_feed *f)
{
    struct subscriber_counts *counts = f->owner->opt.counts;
    const struct journal_request *req = &f->post;

    if (req->code == 0) {
        counter_add(&counts->events, req->feed.taken.accepted);
        counter_add(&counts->bad, req->feed.taken.rejected);
        counter_add(&counts->repeated, req->feed.taken.repeated);
        counter_add(&counts->missing, req->feed.taken.missing);
        counter_add(&counts->made, req->feed.made);
    } else if (req->code == ERR_CLOSED) {
        counter_add(&counts->late, f->n_sent);
    } else {
        counter_add(&counts->refused, f->n_sent);
        complain(f, str_of(req->why.text));
    }
}

static bool is_idle(const struct channel_feed *f)
{
    return !f->post.loop_call.is_pending && f->flying.n == 0 && f->filling.n == 0;
}

static void line_up(struct channel_feed *f)
{
    struct subscriber *s = f->owner;

    if (f->is_dirty)
        return;
    f->is_dirty = true;
    f->after = NULL;
    *s->last_dirty = f;
    s->last_dirty = &f->after;
}

static void on_answer(struct loop_call *call)
{
    struct channel_feed *f = call->owner;
    struct subscriber *s = f->owner;

    if (f->post.code == ERR_BUSY) {
        counter_add(&s->opt.counts->retried, 1);
        f->is_stuck = true;
        return;
    }
    count(f);
    f->at += f->n_sent;
    if (f->at < f->flying.n) {
        send_batch(f);
        return;
    }
    set_bytes(s, s->bytes - f->flying.text.n);
    batch_clear(&f->flying);
    f->at = 0;
    if (f->filling.n > 0)
        line_up(f);
    if (!is_idle(f))
        return;
    barriers_job_stored(s->opt.barriers, id_of(f));
    if (f->post.code != 0 && !f->is_dirty)
        feed_free(f); /* not a job of ours: keep nothing */
}

static void flush(struct subscriber *s)
{
    struct channel_feed *f = s->dirty;
    size_t before = s->unsent;

    s->dirty = NULL;
    s->last_dirty = &s->dirty;
    while (f != NULL) {
        struct channel_feed *after = f->after;

        f->is_dirty = false;
        send_next(f);
        f = after;
    }
    if (s->unsent == before)
        return;
    s->is_busy = before - s->unsent >= BUSY_BYTES;
    s->flushed_at = uv_now(s->opt.loop);
}

static void on_pace(uv_timer_t *timer)
{
    (void)timer; /* on_check does the work */
}

static void on_check(uv_check_t *check)
{
    struct subscriber *s = check->data;
    uint64_t due = s->flushed_at + PACE_MS, now = uv_now(s->opt.loop);

    if (s->dirty == NULL)
        return;
    if (!s->is_busy || s->unsent >= GATHER_BYTES || now >= due)
        flush(s);
    else
        (void)uv_timer_start(&s->pace, on_pace, due - now, 0); /* it is open */
}

/* --- messages from Redis --------------------------------------------------------- */

static struct channel_feed *find_feed(const struct subscriber *s, struct str job)
{
    struct channel_feed *f = table_get(&s->feeds, table_key(&s->feeds, 0, job));

    return f != NULL && str_eq(id_of(f), job) ? f : NULL;
}

static void take(struct subscriber *s, struct str job, struct str payload)
{
    struct channel_feed *f = find_feed(s, job);
    struct payload_about about = payload_read(&s->reader, payload);

    if (f == NULL)
        f = feed_new(s, job);
    if (f == NULL || batch_add(&f->filling, payload, &about) != 0) {
        counter_add(&s->opt.counts->bad, 1); /* out of memory: the message is lost */
        return;
    }
    f->idle = 0;
    s->unsent += payload.n + 1;
    set_bytes(s, s->bytes + payload.n + 1);
    line_up(f);
}

/* Everything that was published before the barrier has arrived; it is stored, or in a feed. */
static void take_barrier(struct subscriber *s, struct str text)
{
    char id[BARRIER_JOB_MAX];
    struct str job = str_make(id, barriers_received(s->opt.barriers, text, id));
    const struct channel_feed *f = job.n > 0 ? find_feed(s, job) : NULL;

    if (job.n > 0 && (f == NULL || is_idle(f)))
        barriers_job_stored(s->opt.barriers, job);
}

static void on_message(void *arg, struct str channel, struct str payload)
{
    struct subscriber *s = arg;
    struct str job;

    counter_add(&s->opt.counts->messages, 1);
    if (!channel_find_job(&s->opt.channel, channel, &job))
        counter_add(&s->opt.counts->bad, 1);
    else if (barriers_own_job(job))
        take_barrier(s, payload);
    else if (!job_id_valid(job))
        counter_add(&s->opt.counts->bad, 1);
    else if (s->opt.is_own != NULL && s->opt.is_own(s->opt.arg, job))
        counter_add(&s->opt.counts->own, 1);
    else
        take(s, job, payload);
}

static void on_warned(struct loop_call *call)
{
    struct subscriber *s = call->owner;

    s->owes_warning = s->warning.code == ERR_BUSY; /* then with the next tick */
}

/* Before the first message is sent, which changes the time of the job's last change. */
static void warn(struct subscriber *s)
{
    if (!s->owes_warning || s->warning.loop_call.is_pending || !redis_is_connected(s->redis))
        return;
    struct journal_request *req = journal_request_begin(&s->warning, JOURNAL_FEED);
    req->feed.was_deaf = true;
    req->is_forwarded = true;
    journal_post(s->opt.journal, req);
}

static void on_state(void *arg, bool connected, struct str why)
{
    struct subscriber *s = arg;

    if (s->opt.state != NULL)
        s->opt.state(s->opt.arg, connected, why);
    if (connected)
        warn(s);
}

/* --- time ------------------------------------------------------------------------- */

/* Ignores a failure: the next renewal repairs it. */
static void on_renewed(struct loop_call *call)
{
    (void)call;
}

static void renew(struct subscriber *s)
{
    if (s->renew.loop_call.is_pending || redis_is_connected(s->redis))
        return;
    journal_request_begin(&s->renew, JOURNAL_FEED)->is_forwarded = true;
    journal_post(s->opt.journal, &s->renew);
}

static void look_after(struct subscriber *s)
{
    for (struct channel_feed *f = s->all.next, *next; f != &s->all; f = next) {
        next = f->next;
        if (f->is_stuck)
            send_batch(f);
        else if (!f->is_dirty && is_idle(f) && ++f->idle >= IDLE_TICKS)
            feed_free(f);
    }
}

/* --- life ------------------------------------------------------------------------- */

static void subscriber_free(struct subscriber *s)
{
    while (s->all.next != &s->all)
        feed_free(s->all.next);
    table_done(&s->feeds);
    json_reader_done(&s->reader);
    buf_done(&s->pattern);
    journal_request_done(&s->renew);
    journal_request_done(&s->warning);
    free(s);
}

static void on_part_closed(void *arg)
{
    struct subscriber *s = arg;
    void (*closed)(void *) = s->closed;

    if (--s->n_handles > 0)
        return;
    arg = s->closed_arg;
    subscriber_free(s);
    closed(arg);
}

static void on_handle_closed(uv_handle_t *handle)
{
    on_part_closed(handle->data);
}

/* While closing: waits for requests in flight, and for a time for lines that are not stored. */
static bool is_busy(const struct subscriber *s)
{
    bool flies = s->renew.loop_call.is_pending || s->warning.loop_call.is_pending;
    bool waits = false;

    for (const struct channel_feed *f = s->all.next; f != &s->all; f = f->next) {
        flies |= f->post.loop_call.is_pending;
        waits |= f->filling.n > 0 || f->flying.n > 0;
    }
    return flies || (waits && s->n_closing < CLOSE_TICKS);
}

static void end(struct subscriber *s)
{
    uv_close((uv_handle_t *)&s->tick, on_handle_closed);
    uv_close((uv_handle_t *)&s->pace, on_handle_closed);
    uv_close((uv_handle_t *)&s->check, on_handle_closed);
    on_part_closed(s);
}

static void on_tick(uv_timer_t *timer)
{
    struct subscriber *s = timer->data;

    s->n_ticks++;
    if (!s->is_closing)
        warn(s);
    flush(s);
    look_after(s);
    if (!s->is_closing && s->n_ticks % RENEW_TICKS == 0)
        renew(s);
    if (!s->is_closing)
        return;
    s->n_closing++;
    if (!is_busy(s))
        end(s);
}

int subscriber_open(const struct subscriber_options *options, struct subscriber **ret)
{
    struct subscriber *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return ERR_NOMEM;
    s->opt = *options;
    s->all.prev = s->all.next = &s->all;
    s->last_dirty = &s->dirty;
    table_init(&s->feeds);
    json_reader_init(&s->reader, SIZE_MAX / 64, options->max_depth);
    buf_init(&s->pattern, 1 << 16);
    journal_request_init(&s->renew, options->box, s, on_renewed);
    journal_request_init(&s->warning, options->box, s, on_warned);
    s->owes_warning = options->was_deaf;
    channel_put_glob(&options->channel, &s->pattern);
    buf_char(&s->pattern, '\0');
    struct redis_options redis = { .url = options->url,
                                   .name = "spoolwire-subscriber",
                                   .state = on_state,
                                   .pattern = s->pattern.p,
                                   .message = on_message,
                                   .arg = s,
                                   .counts = &options->counts->redis };
    int err = s->pattern.error;
    if (err == 0)
        err = redis_open(options->loop, &redis, &s->redis);
    if (err != 0) {
        subscriber_free(s);
        return err;
    }
    (void)uv_check_init(options->loop, &s->check); /* these cannot fail */
    (void)uv_timer_init(options->loop, &s->tick);
    (void)uv_timer_init(options->loop, &s->pace);
    s->check.data = s->tick.data = s->pace.data = s;
    s->n_handles = 5; /* three handles here, one of redis, and one until all is stored */
    (void)uv_check_start(&s->check, on_check);
    (void)uv_timer_start(&s->tick, on_tick, TICK_MS, TICK_MS);
    *ret = s;
    return 0;
}

void subscriber_close(struct subscriber *s, void (*closed)(void *arg), void *arg)
{
    s->closed = closed;
    s->closed_arg = arg;
    s->is_closing = true;
    redis_close(s->redis, on_part_closed, s);
}
