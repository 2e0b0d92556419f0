#include "hub/hub.h"

#include "base/clock.h"
#include "base/container_of.h"
#include "base/error.h"
#include "hub/recheck.h"
#include "hub/shared.h"
#include "hub/topic.h"

#include <stdlib.h>

enum {
    TURN_READERS = 32
}; /* at most so many per turn, so that sockets are polled in between */

struct buf *hub_scratch(struct hub *h)
{
    assert_owner(&h->owner);
    buf_clear(&h->scratch);
    return &h->scratch;
}

/* --- turns --------------------------------------------------------------------- */

/* Readers are woken a few at a time, in rounds, so that a commit can be acknowledged and the
 * writer's next one read while readers are still being served.  A reader late in the round gets
 * everything that was committed meanwhile in one write. */

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

/* Measures one commit at a time, until all readers have it. */
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

/* Wakes at most @room readers; may free the channel.  Returns the rest of @room. */
static size_t wake_some(struct topic_channel *c, size_t room)
{
    struct topic *t = c->topic;

    /* Readers may leave while they are woken, so empty channels are freed afterwards. */
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
    topic_channel_rest(c);
    if (c->n_due > 0)
        due_append(t->hub, c); /* at the end of the ring */
    topic_remove_empty(t);
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

void hub_take(struct hub *h, const struct change_message *news)
{
    const struct change *change = &news->change;
    struct topic *t = topic_find(h, change->job);

    assert_owner(&h->owner);
    if (t == NULL || !topic_take_key(t, change->key))
        return;
    t->has_news = t->knows_state = true;
    t->state = (uint8_t)change->state;
    topic_take_attempt(t, change->attempt);
    if (t->told_seq < change->last_seq)
        t->told_seq = change->last_seq;
    if (change->gone)
        topic_detach(t);
    for (struct topic_channel *c = t->channels; c != NULL; c = c->next) {
        topic_channel_take(c, news);
        due_add(h, c);
        measure(c, news);
    }
}

/* A change was lost: the windows may end too early, and no later change may follow, so all
 * readers must check the store.  The windows are given up: after a failover of the database
 * they may have records that the store has not. */
static void topic_missed(struct topic *t)
{
    t->told_seq = 0;
    for (struct topic_channel *c = t->channels; c != NULL; c = c->next) {
        window_reset(&c->window, 0);
        c->window.known = false;
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
        bool is_due = (!t->has_news && !t->was_asked) || t->looks;

        t->round = h->round;
        topic_move_last(t);
        if (is_due && !t->detached) {
            ret[n] = (struct recheck_job){ .job_n = t->job_n };
            memcpy(ret[n++].job, t->job, t->job_n);
        }
        t->was_asked = is_due;
        t->has_news = t->looks = false;
    }
    return n;
}

void hub_look(struct hub *h, struct str job)
{
    struct topic *t = topic_find(h, job);

    if (t == NULL || h->recheck == NULL)
        return; /* the first round comes soon */
    topic_move_first(t);
    recheck_go_on(h->recheck);
}

void hub_rechecked(struct hub *h, const struct recheck_job *job)
{
    struct change_message news = { .change = { .job = str_make(job->job, job->job_n),
                                               .key = job->key,
                                               .last_seq = job->last_seq,
                                               .state = job->state,
                                               .attempt = job->attempt,
                                               .gone = job->code == ERR_NOT_FOUND,
                                               .ts = clock_wall_ms() } };
    struct topic *t = topic_find(h, news.change.job);

    if (t == NULL || (job->code != 0 && !news.change.gone))
        return;
    /* A change that arrived meanwhile may be newer than this, unless this has more records. */
    bool is_ahead = !news.change.gone && t->key == job->key && job->last_seq > t->told_seq;
    if (t->has_news && !is_ahead)
        return;
    if (news.change.gone && t->key == 0)
        return; /* it never existed */
    if (t->key == job->key)
        topic_take_attempt(t, job->attempt);
    if (!news.change.gone && t->key == job->key && job->last_seq < t->told_seq)
        topic_missed(t); /* the database has lost what was told */
    news.change.state_changed = !news.change.gone && t->knows_state && t->state != job->state;
    if (news.change.gone || news.change.state_changed || t->told_seq < job->last_seq ||
        (t->key != 0 && t->key != job->key))
        hub_take(h, &news);
}

bool hub_hears_others(const struct hub *h)
{
    return hub_shared_may_lose(h->shared);
}

/* Wakes the readers whose page could not be read: they ask again. */
static void wake_retrying(struct hub *h)
{
    for (struct topic *t = h->all.next; t != &h->all; t = t->next) {
        for (struct topic_channel *c = t->retries ? t->channels : NULL; c != NULL; c = c->next)
            due_add(h, c);
        t->retries = false;
    }
}

void hub_recheck(struct hub *h, struct thread_pool *pool)
{
    assert_owner(&h->owner);
    wake_retrying(h);
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

int hub_join(struct hub *h,
             struct str job,
             const struct stream_format *format,
             struct reader *r)
{
    struct topic *t = topic_find(h, job);

    assert_owner(&h->owner);
    if (t == NULL)
        t = topic_add(h, job);
    if (t == NULL)
        return ERR_NOMEM;
    struct topic_channel *c = topic_channel_get(t, format);
    if (c == NULL) {
        if (t->channels == NULL)
            topic_remove_empty(t);
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
    c->n_due += c->n_due > 0; /* it was inserted within the range of due readers */
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
        topic_remove_empty(c->topic);
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
    /* A listener may remove itself in its callback. */
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
