#include "hub/hub.h"

#include "base/clock.h"
#include "base/container_of.h"
#include "base/error.h"
#include "base/histogram.h"
#include "base/table.h"
#include "base/thread_owner.h"
#include "hub/recheck.h"
#include "hub/shared.h"
#include "hub/window.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { TURN_READERS = 32 }; /* woken between two polls of the sockets */

struct topic_channel {
    struct topic_channel *next; /* of the topic */
    struct topic *topic;
    struct stream_format format;
    struct window window;
    struct reader readers; /* list head */
    size_t n_readers;
    struct topic_channel *due_prev, *due_next; /* in the hub's ring, while readers are to be
                                                  woken */
    struct reader *at;                         /* the one whose turn it is, or the head */
    size_t n_due;      /* all that are to be woken are among so many from there */
    size_t n_measured; /* to be woken until all have what came at... */
    uint64_t since_us; /* ...this time; 0: nothing is measured */
};

struct topic {
    struct topic *prev, *next; /* of the hub */
    struct hub *hub;
    struct topic_channel *channels;
    int64_t key; /* of the newest job of that id that is known of; 0: none */
    char job[80];
    size_t job_n;
    uint64_t told_seq; /* of the last news */
    uint8_t state;     /* enum job_state, where it is known */
    bool knows_state;
    bool has_news;  /* since the last re-check */
    uint32_t round; /* of the re-check in which it was asked for */
    bool detached;  /* the job is gone, and the readers that are left will notice */
    bool waking;    /* some of its readers are being woken */
};

struct hub {
    struct thread_owner owner;
    struct hub_shared *shared; /* borrowed */
    struct mailbox *box;       /* borrowed */
    unsigned index;            /* among the loops */
    struct table topics;       /* job id -> struct topic; without those that are detached */
    struct topic all;          /* list head; those that wait longest for a re-check first */
    struct recheck *recheck;   /* owned; NULL: there was none yet */
    uint32_t round;            /* of re-checks */
    struct frames frames;      /* see hub_frames */
    struct buf scratch;        /* see hub_scratch */
    struct topic_channel due;  /* head of the ring of channels with readers to wake */
    struct loop_message turn;
    bool turn_posted;
    atomic_size_t n_readers; /* others only look */
    struct histogram delivery;
    struct hub_listener listeners; /* list head */
};

struct buf *hub_scratch(struct hub *h)
{
    assert_owner(&h->owner);
    buf_clear(&h->scratch);
    return &h->scratch;
}

/* --- channels ----------------------------------------------------------------- */

/* Counts its frames in @n_frames; behind the last record of the news there is a cursor. */
static int add_record(struct hub *h,
                      struct topic_channel *c,
                      const struct record *rec,
                      bool is_last,
                      size_t *n_frames)
{
    struct buf *out = hub_scratch(h);
    size_t n = 0;

    int err = stream_format_render(&c->format, rec, (struct cursor){ 0 }, &h->frames, out, &n);
    *n_frames += n;
    if (err == 0 && is_last && *n_frames > 0 && rec->kind != REC_JOB_END)
        stream_format_put_cursor(&c->format, rec->seq, out);
    if (err == 0)
        err = out->error;
    if (err == 0)
        err = window_add(&c->window, buf_text(out), rec->seq, rec->kind == REC_JOB_END);
    if (err == 0)
        c->window.last = rec->seq;
    return err;
}

/* Adds a change of state that is no record, where the dialect has a frame for it. */
static void add_status(struct hub *h, struct topic_channel *c, const struct change *news)
{
    struct buf *out = hub_scratch(h);

    if (c->format.dialect->connection[FRAME_JOB_STATUS] == NULL || !c->window.known ||
        !news->state_changed || job_state_is_final(news->state))
        return;
    struct connection_frame what = { .kind = FRAME_JOB_STATUS,
                                     .ms = news->ts,
                                     .state = str_of(job_state_name(news->state)) };
    /* Best effort. */
    if (stream_format_put_connection(&c->format, str_make(c->topic->job, c->topic->job_n),
                                     &what, &h->frames, out) == 0)
        (void)window_add(&c->window, buf_text(out), c->window.last, false);
}

static void take_news(struct hub *h, struct topic_channel *c, const struct change_message *news)
{
    size_t from = 0, n_frames = 0;

    /* The first news of a channel tells where its window stands. */
    if (!c->window.known && news->n_records > 0)
        window_reset(&c->window, news->records[0]->seq - 1);
    while (from < news->n_records && news->records[from]->seq <= c->window.last)
        from++;
    /* What has to be gathered is gathered by each reader, page by page. */
    bool follows = from < news->n_records && news->records[from]->seq == c->window.last + 1 &&
                   !stream_format_gathers(&c->format);
    int err = 0;
    for (size_t i = from; follows && i < news->n_records && err == 0; i++)
        err = add_record(h, c, news->records[i], i + 1 == news->n_records, &n_frames);
    if (c->window.last < news->change.last_seq || err != 0)
        window_reset(&c->window, news->change.last_seq);
    add_status(h, c, &news->change);
}

/* The job is gone; a new one of the same id is another topic. */
static void detach(struct topic *t)
{
    struct str job = str_make(t->job, t->job_n);

    for (struct topic_channel *c = t->channels; c != NULL; c = c->next)
        for (struct reader *r = c->readers.next; r != &c->readers; r = r->next)
            r->gone = true;
    if (t->detached)
        return;
    t->detached = true;
    hub_shared_unwant(t->hub->shared, job, t->hub->index);
    table_remove(&t->hub->topics, table_key(&t->hub->topics, 0, job));
}

/* An id may be used again: keys rise.  What is kept of an earlier job is dropped, and its
 * readers are disconnected.  False when @key is an earlier job's. */
static bool take_key(struct topic *t, int64_t key)
{
    if (key == 0 || key == t->key)
        return true;
    if (key < t->key)
        return false;
    t->key = key;
    t->told_seq = 0;
    t->knows_state = false;
    for (struct topic_channel *c = t->channels; c != NULL; c = c->next) {
        window_reset(&c->window, 0);
        c->window.known = false;
        for (struct reader *r = c->readers.next; r != &c->readers; r = r->next)
            r->gone |= r->key != 0;
    }
    return true;
}

static void link_last(struct hub *h, struct topic *t)
{
    t->next = &h->all;
    t->prev = h->all.prev;
    t->prev->next = h->all.prev = t;
}

static void unlink_topic(struct topic *t)
{
    t->prev->next = t->next;
    t->next->prev = t->prev;
}

static void remove_topic(struct topic *t)
{
    struct str job = str_make(t->job, t->job_n);

    if (!t->detached) {
        hub_shared_unwant(t->hub->shared, job, t->hub->index);
        table_remove(&t->hub->topics, table_key(&t->hub->topics, 0, job));
    }
    unlink_topic(t);
    free(t);
}

static void due_remove(struct topic_channel *c)
{
    if (c->due_next == NULL)
        return;
    c->due_prev->due_next = c->due_next;
    c->due_next->due_prev = c->due_prev;
    c->due_next = c->due_prev = NULL;
}

/* Channels without readers, and the topic with its last channel. */
static void remove_empty(struct topic *t)
{
    struct topic_channel **at = &t->channels;

    while (*at != NULL) {
        struct topic_channel *c = *at;

        if (c->readers.next != &c->readers) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        due_remove(c);
        window_reset(&c->window, 0);
        free(c);
    }
    if (t->channels == NULL)
        remove_topic(t);
}

/* --- turns --------------------------------------------------------------------- */

/* A commit is acknowledged, and the writer's next one taken in, while its readers are still
 * being served: they are woken a few at a time, in rounds.  A reader late in the round gets all
 * that was committed meanwhile in one write. */

static void due_append(struct hub *h, struct topic_channel *c)
{
    c->due_next = &h->due;
    c->due_prev = h->due.due_prev;
    c->due_prev->due_next = c;
    h->due.due_prev = c;
}

static void due_add(struct hub *h, struct topic_channel *c)
{
    if (c->n_readers == 0)
        return;
    c->n_due = c->n_readers;
    if (c->due_next != NULL)
        return;
    c->at = c->readers.next;
    due_append(h, c);
    if (!h->turn_posted)
        h->turn_posted = mailbox_post(h->box, &h->turn) == 0;
}

/* One commit at a time is followed until all readers have it. */
static void measure(struct topic_channel *c, const struct change_message *news)
{
    if (c->since_us != 0 || news->n_records == 0 || c->n_readers == 0)
        return;
    c->since_us = news->since_us;
    c->n_measured = c->n_readers;
}

static void measured(struct topic_channel *c)
{
    histogram_add(&c->topic->hub->delivery, clock_monotonic_us() - c->since_us, 1);
    c->since_us = 0;
}

/* Wakes at most @room of them; the channel may be gone afterwards.  Returns what is left of
 * @room. */
static size_t wake_some(struct topic_channel *c, size_t room)
{
    struct topic *t = c->topic;

    /* Readers may leave as they are woken; empty channels are freed afterwards. */
    t->waking = true;
    for (; room > 0 && c->n_due > 0; room--) {
        struct reader *r = c->at != &c->readers ? c->at : c->readers.next;

        c->at = r->next;
        c->n_due--;
        r->wake(r);
        if (c->since_us != 0 && (--c->n_measured == 0 || c->n_due == 0))
            measured(c);
    }
    t->waking = false;
    due_remove(c);
    if (c->n_due > 0)
        due_append(t->hub, c); /* behind the others */
    remove_empty(t);
    return room;
}

static void on_turn(struct loop_message *message)
{
    struct hub *h = container_of(message, struct hub, turn);
    size_t room = TURN_READERS;

    h->turn_posted = false;
    while (room > 0 && h->due.due_next != &h->due)
        room = wake_some(h->due.due_next, room);
    if (h->due.due_next != &h->due)
        h->turn_posted = mailbox_post(h->box, &h->turn) == 0;
}

static struct topic *find_topic(const struct hub *h, struct str job)
{
    struct topic *t = table_get(&h->topics, table_key(&h->topics, 0, job));

    return t != NULL && str_eq(str_make(t->job, t->job_n), job) ? t : NULL;
}

void hub_take(struct hub *h, const struct change_message *news)
{
    const struct change *change = &news->change;
    struct topic *t = find_topic(h, change->job);

    assert_owner(&h->owner);
    if (t == NULL || !take_key(t, change->key))
        return;
    t->has_news = t->knows_state = true;
    t->state = (uint8_t)change->state;
    if (t->told_seq < change->last_seq)
        t->told_seq = change->last_seq;
    if (change->gone)
        detach(t);
    for (struct topic_channel *c = t->channels; c != NULL; c = c->next) {
        take_news(h, c, news);
        due_add(h, c);
        measure(c, news);
    }
}

/* Their windows may end too early, and the last news of a job may be what was lost. */
static void topic_missed(struct topic *t)
{
    for (struct topic_channel *c = t->channels; c != NULL; c = c->next) {
        for (struct reader *r = c->readers.next; r != &c->readers; r = r->next)
            r->has_missed = true;
        due_add(t->hub, c);
    }
}

void hub_missed(struct hub *h)
{
    for (struct topic *t = h->all.next; t != &h->all; t = t->next)
        topic_missed(t);
    hub_tell(h, NULL);
}

/* --- re-checks ------------------------------------------------------------------ */

void hub_begin_round(struct hub *h)
{
    h->round++;
}

size_t hub_quiet_jobs(struct hub *h, struct recheck_job *ret, size_t max)
{
    size_t n = 0;

    for (struct topic *t; n < max && (t = h->all.next) != &h->all && t->round != h->round;) {
        t->round = h->round;
        unlink_topic(t);
        link_last(h, t);
        if (!t->has_news && !t->detached) {
            ret[n] = (struct recheck_job){ .job_n = t->job_n };
            memcpy(ret[n++].job, t->job, t->job_n);
        }
        t->has_news = false;
    }
    return n;
}

void hub_rechecked(struct hub *h, const struct recheck_job *job)
{
    struct change_message news = { .change = { .job = str_make(job->job, job->job_n),
                                               .key = job->key,
                                               .last_seq = job->last_seq,
                                               .state = job->state,
                                               .gone = job->code == ERR_NOT_FOUND,
                                               .ts = clock_wall_ms() } };
    struct topic *t = find_topic(h, news.change.job);

    /* News that came meanwhile may be later than this. */
    if (t == NULL || t->has_news || (job->code != 0 && !news.change.gone))
        return;
    if (news.change.gone && t->key == 0)
        return; /* it was never there */
    news.change.state_changed = !news.change.gone && t->knows_state && t->state != job->state;
    if (news.change.gone || news.change.state_changed || t->told_seq < job->last_seq ||
        (t->key != 0 && t->key != job->key))
        hub_take(h, &news);
}

void hub_recheck(struct hub *h, struct thread_pool *pool)
{
    assert_owner(&h->owner);
    if (!hub_shared_may_lose(h->shared) ||
        (h->recheck == NULL && recheck_new(h, h->box, &h->recheck) != 0))
        return;
    recheck_start(h->recheck, pool);
}

void hub_stop(struct hub *h)
{
    assert_owner(&h->owner);
    if (h->recheck != NULL)
        loop_call_cancel(&h->recheck->task.loop_call);
}

/* --- joining and leaving -------------------------------------------------------- */

static struct topic_channel *find_channel(struct topic *t, const struct stream_format *format)
{
    for (struct topic_channel *c = t->channels; c != NULL; c = c->next)
        if (stream_format_eq(&c->format, format))
            return c;
    return NULL;
}

static struct topic_channel *add_channel(struct topic *t, const struct stream_format *format)
{
    struct topic_channel *c = calloc(1, sizeof(*c));

    if (c == NULL)
        return NULL;
    c->topic = t;
    c->format = *format;
    c->readers.next = c->readers.prev = &c->readers;
    c->next = t->channels;
    t->channels = c;
    return c;
}

static struct topic *add_topic(struct hub *h, struct str job)
{
    struct topic *t = calloc(1, sizeof(*t));

    if (t == NULL || job.n > sizeof(t->job) ||
        table_put(&h->topics, table_key(&h->topics, 0, job), t) != 0) {
        free(t);
        return NULL;
    }
    t->hub = h;
    str_copy(t->job, job);
    t->job_n = job.n;
    if (hub_shared_want(h->shared, job, h->index) != 0) {
        table_remove(&h->topics, table_key(&h->topics, 0, job));
        free(t);
        return NULL;
    }
    t->round = h->round; /* its readers read the store now */
    link_last(h, t);
    return t;
}

int hub_join(struct hub *h,
             struct str job,
             const struct stream_format *format,
             struct reader *r)
{
    struct topic *t = find_topic(h, job);

    assert_owner(&h->owner);
    if (t == NULL)
        t = add_topic(h, job);
    if (t == NULL)
        return ERR_NOMEM;
    struct topic_channel *c = find_channel(t, format);
    if (c == NULL)
        c = add_channel(t, format);
    if (c == NULL) {
        if (t->channels == NULL)
            remove_topic(t);
        return ERR_NOMEM;
    }
    r->channel = c;
    r->block = NULL;
    r->has_missed = false;
    r->next = &c->readers;
    r->prev = c->readers.prev;
    r->prev->next = r;
    c->readers.prev = r;
    c->n_readers++;
    c->n_due += c->n_due > 0; /* it stands between those that are due */
    atomic_fetch_add_explicit(&h->n_readers, 1, memory_order_relaxed);
    return 0;
}

void hub_leave(struct hub *h, struct reader *r)
{
    struct topic_channel *c = r->channel;

    assert_owner(&h->owner);
    if (c == NULL)
        return;
    block_unref(r->block);
    r->block = NULL;
    r->prev->next = r->next;
    r->next->prev = r->prev;
    r->channel = NULL;
    if (c->at == r)
        c->at = r->next;
    c->n_readers--;
    if (c->n_due > c->n_readers)
        c->n_due = c->n_readers;
    atomic_fetch_sub_explicit(&h->n_readers, 1, memory_order_relaxed);
    if (!c->topic->waking)
        remove_empty(c->topic);
}

/* --- reading ------------------------------------------------------------------ */

static void move_to(struct reader *r, struct block *b, size_t offset)
{
    if (b != NULL)
        b->refs++;
    block_unref(r->block);
    r->block = b;
    r->offset = offset;
}

/* The place behind record r->seq in the window. */
static bool locate(struct reader *r)
{
    size_t offset;
    struct block *b = window_find(&r->channel->window, r->seq, &offset);

    if (b != NULL)
        move_to(r, b, offset);
    return b != NULL;
}

/* Bytes behind the reader's place in its block, or in the next one. */
static bool more_here(struct reader *r)
{
    struct block *b = r->block;

    if (b == NULL || r->offset < b->bytes.n)
        return b != NULL;
    if (b->left || b->next == NULL)
        return false;
    move_to(r, b->next, 0);
    return r->offset < r->block->bytes.n;
}

/* It stands at the end of the window: records without bytes may have come since. */
static bool at_end(struct reader *r)
{
    const struct block *b = r->block;

    if (b == NULL || b->left || b->next != NULL || b->n_marks == 0)
        return false;
    r->seq = b->marks[b->n_marks - 1].seq;
    r->done = b->marks[b->n_marks - 1].last;
    return true;
}

enum hub_next hub_reader_next(struct reader *r, struct str *ret)
{
    struct topic_channel *c = r->channel;

    if (r->done)
        return HUB_END;
    if (r->gone)
        return HUB_GONE;
    if (!more_here(r)) {
        if (r->has_missed) {
            r->has_missed = false;
            return HUB_BEHIND;
        }
        if (!c->window.known || r->seq >= c->window.last)
            return HUB_WAIT;
        if (at_end(r))
            return r->done ? HUB_END : HUB_WAIT;
        if (r->seq < c->window.base || !locate(r))
            return HUB_BEHIND;
    }
    struct block *b = r->block;
    *ret = str_make(b->bytes.p + r->offset, b->bytes.n - r->offset);
    r->offset = b->bytes.n;
    r->seq = b->marks[b->n_marks - 1].seq;
    r->done = b->marks[b->n_marks - 1].last;
    return HUB_BYTES;
}

void hub_reader_moved(struct reader *r,
                      int64_t key,
                      uint64_t seq,
                      enum job_state state,
                      bool ended)
{
    struct topic_channel *c = r->channel;

    r->gone |= !take_key(c->topic, key);
    if (!r->gone && !c->topic->knows_state) {
        c->topic->knows_state = true;
        c->topic->state = (uint8_t)state;
    }
    r->key = key;
    move_to(r, NULL, 0);
    r->seq = seq;
    r->done = ended;
    if (r->gone)
        return;
    if (!c->window.known)
        window_reset(&c->window, seq);
    /* At the tail it stands in a block, so that frames without a record reach it too. */
    if (seq == c->window.last && (c->window.tail != NULL || window_open(&c->window, 1) != NULL))
        move_to(r, c->window.tail, c->window.tail->bytes.n);
}

const struct stream_format *hub_reader_format(const struct reader *r)
{
    return &r->channel->format;
}

struct str hub_reader_job(const struct reader *r)
{
    return str_make(r->channel->topic->job, r->channel->topic->job_n);
}

/* --- the states of all jobs --------------------------------------------------------- */

void hub_listen(struct hub *h, struct hub_listener *l)
{
    assert_owner(&h->owner);
    if (h->listeners.next == &h->listeners)
        hub_shared_listen(h->shared, h->index, true);
    l->next = &h->listeners;
    l->prev = h->listeners.prev;
    l->prev->next = l;
    h->listeners.prev = l;
}

void hub_unlisten(struct hub *h, struct hub_listener *l)
{
    assert_owner(&h->owner);
    l->prev->next = l->next;
    l->next->prev = l->prev;
    l->prev = l->next = NULL;
    if (h->listeners.next == &h->listeners)
        hub_shared_listen(h->shared, h->index, false);
}

void hub_tell(struct hub *h, const struct change *change)
{
    /* A listener may unsubscribe in its callback. */
    for (struct hub_listener *l = h->listeners.next, *next; l != &h->listeners; l = next) {
        next = l->next;
        l->hear(l, change);
    }
}

/* --- life --------------------------------------------------------------------- */

int hub_new(struct hub_shared *shared, struct mailbox *box, struct hub **ret)
{
    struct hub *h = calloc(1, sizeof(*h));

    if (h == NULL)
        return ERR_NOMEM;
    h->shared = shared;
    h->box = box;
    histogram_init(&h->delivery, &scale_latency);
    h->due.due_next = h->due.due_prev = &h->due;
    h->all.next = h->all.prev = &h->all;
    h->turn.deliver = on_turn;
    h->listeners.next = h->listeners.prev = &h->listeners;
    table_init(&h->topics);
    frames_init(&h->frames, SIZE_MAX / 4);
    buf_init(&h->scratch, SIZE_MAX / 4);
    int err = hub_shared_add(shared, h, box, &h->index);
    if (err != 0) {
        hub_free(h);
        return err;
    }
    *ret = h;
    return 0;
}

void hub_free(struct hub *h)
{
    if (h == NULL)
        return;
    table_done(&h->topics);
    frames_done(&h->frames);
    buf_done(&h->scratch);
    free(h->recheck);
    free(h);
}

struct frames *hub_frames(struct hub *h)
{
    return &h->frames;
}

const struct histogram *hub_delivery(const struct hub *h)
{
    return &h->delivery;
}

size_t hub_readers(const struct hub *h)
{
    return atomic_load_explicit(&h->n_readers, memory_order_relaxed);
}
