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

#include "base/error.h"
#include "base/json.h"
#include "base/table.h"
#include "redis/barrier.h"
#include "redis/feed_batch.h"
#include "redis/heard_shards.h"
#include "redis/payload.h"
#include "redis/shard_news.h"
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
    int64_t shard;           /* of its job, as far as is known; -1: unknown */
    int64_t target;          /* the shard that was asked */
    bool is_dirty, is_stuck; /* dirty: to be flushed; stuck: to be resent at the next tick */
    unsigned idle;
    size_t id_n;
    char id[64];
};

struct subscriber {
    struct subscriber_options opt;
    struct redis *redis;
    struct heard_shards heard;
    struct shard_news *news; /* owned */
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
    uint64_t n_untold;
    unsigned told_at;
    bool is_closing;
    unsigned n_closing, n_handles;
    void (*closed)(void *arg);
    void *closed_arg;
};

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
    f->shard = s->opt.n_shards > 1 ? -1 : 0;
    feed_batch_init(&f->filling);
    feed_batch_init(&f->flying);
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
    feed_batch_done(&f->filling);
    feed_batch_done(&f->flying);
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

static int64_t home_of(const struct channel_feed *f)
{
    return journal_shard_of_new(id_of(f), f->owner->opt.n_shards);
}

/* The shard to which the next line goes; -1: another gateway's, which hears it itself. */
static int64_t choose_target(const struct channel_feed *f)
{
    const struct heard_shards *heard = &f->owner->heard;
    uint64_t moment = f->flying.notes[f->at].moment;

    if (f->shard < 0)
        return heard_shards_try(heard, home_of(f), moment);
    return heard_shards_take(heard, f->shard, moment) ? f->shard : -1;
}

/* Drops lines that are not for us.  False: there is none that is. */
static bool find_target(struct channel_feed *f)
{
    while (f->at < f->flying.n && (f->target = choose_target(f)) < 0) {
        counter_add(&f->owner->opt.counts->elsewhere, 1);
        f->at++;
    }
    return f->at < f->flying.n;
}

/* False: all lines of the batch are dealt with. */
static bool send_batch(struct channel_feed *f)
{
    struct subscriber *s = f->owner;

    if (!find_target(f))
        return false;
    f->is_stuck = !make_lines(f);
    if (f->is_stuck)
        return true;
    struct journal_request *req = journal_request_begin(&f->post, JOURNAL_FEED);
    req->job = id_of(f);
    req->feed.lines = f->lines;
    req->feed.n_lines = f->n_sent;
    req->feed.worker = STR("channel");
    if (f->target == home_of(f))
        req->feed.agent = s->opt.agent; /* there, and nowhere else, the job may be made */
    req->is_pinned = true;
    req->shard = f->target;
    req->is_forwarded = true; /* the gateway that writes hears the same messages itself */
    journal_post(s->opt.journal, &f->post);
    return true;
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

/* The batch is stored, or nobody wants it.  May free it. */
static void end_batch(struct channel_feed *f, bool keeps)
{
    struct subscriber *s = f->owner;

    f->is_stuck = false;
    set_bytes(s, s->bytes - f->flying.text.n);
    feed_batch_clear(&f->flying);
    f->at = 0;
    if (f->filling.n > 0)
        line_up(f);
    if (!is_idle(f))
        return;
    barriers_job_stored(s->opt.barriers, id_of(f));
    if (!keeps && !f->is_dirty)
        feed_free(f); /* not a job of ours: keep nothing */
}

/* Of a job that is in another gateway's shard, that much is kept. */
static void send_or_end(struct channel_feed *f)
{
    if (!send_batch(f))
        end_batch(f, f->shard >= 0);
}

static void send_next(struct channel_feed *f)
{
    struct feed_batch empty = f->flying;

    if (f->post.loop_call.is_pending || f->flying.n > 0 || f->filling.n == 0)
        return;
    f->flying = f->filling;
    f->filling = empty;
    f->owner->unsent -= f->flying.text.n;
    send_or_end(f);
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
    } else if (req->code == ERR_MOVED) {
        counter_add(&counts->elsewhere, f->n_sent);
    } else {
        counter_add(&counts->refused, f->n_sent);
        complain(f, str_of(req->why.text));
    }
}

/* The shard that was asked says that it is another's, or does not know the job. */
static bool is_misrouted(struct channel_feed *f)
{
    const struct journal_request *req = &f->post;
    bool is_unknown = req->code == ERR_NOT_FOUND && f->target != home_of(f);

    if (req->code != ERR_ELSEWHERE && !is_unknown)
        return false;
    f->shard = is_unknown ? home_of(f) : req->shard;
    return true;
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
    if (is_misrouted(f)) {
        send_or_end(f);
        return;
    }
    f->shard = f->target;
    count(f);
    f->at += f->n_sent;
    if (f->at < f->flying.n)
        send_or_end(f);
    else
        end_batch(f, f->post.code == 0 || f->post.code == ERR_MOVED);
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

/* Until the feed was idle for a while: then its job may be another one, with the same id. */
static bool is_elsewhere(const struct channel_feed *f)
{
    const struct heard_shards *heard = &f->owner->heard;

    return f->shard >= 0 && !heard_shards_take(heard, f->shard, heard->moment);
}

static void take(struct subscriber *s, struct str job, struct str payload)
{
    struct channel_feed *f = find_feed(s, job);

    if (f != NULL && is_elsewhere(f)) {
        counter_add(&s->opt.counts->elsewhere, 1);
        return;
    }
    struct payload_about about = payload_read(&s->reader, payload);
    if (f == NULL)
        f = feed_new(s, job);
    if (f == NULL || feed_batch_add(&f->filling, payload, s->heard.moment, &about) != 0) {
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

/* --- the shards that are heard ------------------------------------------------------ */

/* Jobs are warned before the first message is sent, which changes the time of a job's last
 * change. */
static void warn(struct subscriber *s)
{
    if (redis_is_connected(s->redis))
        shard_news_warn(s->news, s->heard.taken);
}

static void owe_warnings(struct subscriber *s, uint64_t shards)
{
    if (s->opt.was_deaf)
        shard_news_owe(s->news, shards);
    warn(s);
}

static void on_subscribed(void *arg)
{
    struct subscriber *s = arg;

    owe_warnings(s, heard_shards_confirmed(&s->heard));
}

static void subscribe_again(struct subscriber *s)
{
    if (heard_shards_want(&s->heard) && redis_subscribe_again(s->redis) == 0)
        heard_shards_asked(&s->heard);
}

void subscriber_set_shards(struct subscriber *s, uint64_t written, uint64_t lost)
{
    if (heard_shards_set(&s->heard, written, lost))
        subscribe_again(s); /* or when it is connected, or with the next tick */
}

static void on_state(void *arg, bool connected, struct str why)
{
    struct subscriber *s = arg;

    if (s->opt.state != NULL)
        s->opt.state(s->opt.arg, connected, why);
    if (!connected) {
        heard_shards_disconnected(&s->heard);
        return;
    }
    owe_warnings(s, heard_shards_connected(&s->heard));
    subscribe_again(s);
}

/* --- time ------------------------------------------------------------------------- */

static void renew(struct subscriber *s)
{
    if (!redis_is_connected(s->redis))
        shard_news_renew(s->news, s->heard.written);
}

static void look_after(struct subscriber *s)
{
    for (struct channel_feed *f = s->all.next, *next; f != &s->all; f = next) {
        next = f->next;
        if (f->is_stuck)
            send_or_end(f);
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
    shard_news_free(s->news);
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
    bool flies = shard_news_is_busy(s->news), waits = false;

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
    if (!s->is_closing) {
        subscribe_again(s);
        warn(s);
    }
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
    heard_shards_init(&s->heard, options->written);
    channel_put_glob(&options->channel, &s->pattern);
    buf_char(&s->pattern, '\0');
    struct redis_options redis = { .url = options->url,
                                   .name = "spoolwire-subscriber",
                                   .state = on_state,
                                   .pattern = s->pattern.p,
                                   .message = on_message,
                                   .subscribed = on_subscribed,
                                   .arg = s,
                                   .counts = &options->counts->redis };
    int err = s->pattern.error;
    if (err == 0)
        err = shard_news_new(options->journal, options->box, options->n_shards, &s->news);
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
