#include "hub/topic.h"

#include "base/error.h"
#include "hub/shared.h"

#include <stdlib.h>

/* --- channels ----------------------------------------------------------------- */

/* Adds its frames to @n_frames; a cursor frame follows the last record of the change. */
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

/* Adds a change of state that has no record, if the dialect has a frame for it. */
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

void topic_channel_take(struct topic_channel *c, const struct change_message *news)
{
    struct hub *h = c->topic->hub;
    size_t from = 0, n_frames = 0;

    /* The first change sets the position of the window. */
    if (!c->window.known && news->n_records > 0)
        window_reset(&c->window, news->records[0]->seq - 1);
    while (from < news->n_records && news->records[from]->seq <= c->window.last)
        from++;
    /* Formats that gather have an empty window: each reader gathers in its own pages. */
    bool follows = from < news->n_records && news->records[from]->seq == c->window.last + 1 &&
                   !stream_format_gathers(&c->format);
    int err = 0;
    for (size_t i = from; follows && i < news->n_records && err == 0; i++)
        err = add_record(h, c, news->records[i], i + 1 == news->n_records, &n_frames);
    if (c->window.last < news->change.last_seq || err != 0)
        window_reset(&c->window, news->change.last_seq);
    add_status(h, c, &news->change);
}

void topic_channel_rest(struct topic_channel *c)
{
    if (c->due_next == NULL)
        return;
    c->due_prev->due_next = c->due_next;
    c->due_next->due_prev = c->due_prev;
    c->due_next = c->due_prev = NULL;
}

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

struct topic_channel *topic_channel_get(struct topic *t, const struct stream_format *format)
{
    struct topic_channel *c = find_channel(t, format);

    return c != NULL ? c : add_channel(t, format);
}

/* --- topics ------------------------------------------------------------------- */

struct topic *topic_find(const struct hub *h, struct str job)
{
    struct topic *t = table_get(&h->topics, table_key(&h->topics, 0, job));

    return t != NULL && str_eq(str_make(t->job, t->job_n), job) ? t : NULL;
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

void topic_move_last(struct topic *t)
{
    unlink_topic(t);
    link_last(t->hub, t);
}

void topic_move_first(struct topic *t)
{
    struct topic *all = &t->hub->all;

    unlink_topic(t);
    t->prev = all;
    t->next = all->next;
    t->next->prev = all->next = t;
    t->round = t->hub->round - 1;
    t->looks = true;
}

static void set_watched(struct topic *t, bool on)
{
    if (t->watched != on)
        hub_shared_watch(t->hub->shared, str_make(t->job, t->job_n), on);
    t->watched = on;
}

void topic_watch(struct topic *t)
{
    set_watched(t, !t->detached);
}

struct topic *topic_add(struct hub *h, struct str job)
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
    t->round = h->round; /* its readers read the store now anyway */
    link_last(h, t);
    return t;
}

static void remove_topic(struct topic *t)
{
    struct str job = str_make(t->job, t->job_n);

    set_watched(t, false);
    if (!t->detached) {
        hub_shared_unwant(t->hub->shared, job, t->hub->index);
        table_remove(&t->hub->topics, table_key(&t->hub->topics, 0, job));
    }
    unlink_topic(t);
    free(t);
}

void topic_remove_empty(struct topic *t)
{
    struct topic_channel **at = &t->channels;

    while (*at != NULL) {
        struct topic_channel *c = *at;

        if (c->readers.next != &c->readers) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        topic_channel_rest(c);
        window_reset(&c->window, 0);
        free(c);
    }
    if (t->channels == NULL)
        remove_topic(t);
}

bool topic_take_key(struct topic *t, int64_t key)
{
    if (key == 0 || key == t->key)
        return true;
    if (key < t->key)
        return false;
    t->key = key;
    t->told_seq = 0;
    t->attempt = 0;
    t->knows_state = false;
    for (struct topic_channel *c = t->channels; c != NULL; c = c->next) {
        window_reset(&c->window, 0);
        c->window.known = false;
        for (struct reader *r = c->readers.next; r != &c->readers; r = r->next)
            r->gone |= r->key != 0;
    }
    return true;
}

void topic_take_attempt(struct topic *t, int64_t attempt)
{
    if (t->attempt < attempt) /* changes may arrive late */
        t->attempt = attempt;
}

void topic_detach(struct topic *t)
{
    struct str job = str_make(t->job, t->job_n);

    for (struct topic_channel *c = t->channels; c != NULL; c = c->next)
        for (struct reader *r = c->readers.next; r != &c->readers; r = r->next)
            r->gone = true;
    if (t->detached)
        return;
    t->detached = true;
    set_watched(t, false);
    hub_shared_unwant(t->hub->shared, job, t->hub->index);
    table_remove(&t->hub->topics, table_key(&t->hub->topics, 0, job));
}
