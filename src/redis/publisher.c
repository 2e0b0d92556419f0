/* A publish cursor is a job with something to publish.  The first of the queue reads a page of
 * its job, sends it as one batch of PUBLISH commands, and goes to the end of the queue when
 * Redis has answered them all. One batch of a job is in flight at a time, so a job's messages
 * keep their order whatever happens to the connection: a batch with a failed command is read
 * again.
 *
 * A publish cursor is created by the first change of its job (at the start, from the store). It
 * is kept until the job has ended, all of it is published, and that is stored; then a little
 * longer, so that the subscriber can recognise the job's last messages as ours when Redis
 * delivers them. */
#include "redis/publisher.h"

#include "base/container_of.h"
#include "base/error.h"
#include "redis/publish_cursor.h"
#include "journal/journal.h"
#include "dialect/dialect.h"
#include "jobs/job.h"
#include "journal/journal.h"
#include "journal/reader.h"
#include "loop/mailbox.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    TICK_MS = 1000,
    PACE_MS = 5, /* between two polls for new commits, so that a busy server publishes many at a
                    time */
    CLOSE_MS = 1000, /* to publish the rest when it closes */
    CLOSE_TICK_MS = 50,
    LINGER_TICKS = 10,
    PAGE_ROWS = 500,
    PAGE_BYTES = 256 * 1024,
    MAX_FLYING = 4 * 1024 * 1024, /* bytes of commands without a reply */
    MAX_MARKS = 1000              /* per request */
};

struct publish_batch {
    struct publisher *publisher;
    struct publish_cursor *cursor;
    uint64_t upto;
    uint64_t n_records, n_messages, n_lost;
    size_t n_left, bytes;
    bool failed;
};

struct publisher {
    struct publisher_options opt;
    struct redis *redis;
    struct publish_cursors cursors;
    size_t flying; /* bytes */
    struct frames frames;
    struct buf channel;
    uv_timer_t tick, pace;
    struct journal_request post;
    struct journal_mark marks[MAX_MARKS];
    size_t n_marks;
    bool is_paused;   /* Redis returned an error: pause until the next tick */
    uint64_t written; /* shards whose jobs are published here, as bits */
    int64_t marked;   /* the shard whose cursors were stored last */
    bool is_closing, is_closed;
    unsigned n_closing; /* ticks since it began to close */
    unsigned n_handles;
    atomic_bool lost_news; /* changes were lost for lack of memory: read the store */
    void (*closed)(void *arg);
    void *closed_arg;
};

static void pump(struct publisher *p);

/* --- publish cursors ---------------------------------------------------------------- */

static void learn(struct publisher *p,
                  struct publish_cursor *cursor,
                  uint64_t known,
                  bool is_final)
{
    cursor->is_final |= is_final;
    if (known > cursor->known && !cursor->is_silent && !cursor->is_gone) {
        counter_add(&p->opt.counts->lag, known - cursor->known);
        cursor->known = known;
    }
    publish_cursors_line_up(&p->cursors, cursor);
}

static bool is_ours(const struct publisher *p, int64_t shard)
{
    return p->written >> shard & 1;
}

static void move_on(struct publisher *p, struct publish_cursor *cursor, uint64_t to)
{
    counter_sub(&p->opt.counts->lag, to - cursor->published);
    cursor->published = to;
}

static void skip(struct publisher *p, struct publish_cursor *cursor, uint64_t to)
{
    counter_add(&p->opt.counts->skipped, to - cursor->published);
    move_on(p, cursor, to);
}

/* --- a page of a job -------------------------------------------------------------- */

struct publish_page {
    struct publisher *publisher;
    struct publish_batch *batch;
    struct record_reader records;
    uint64_t next; /* the expected record */
    int err;
};

static void settle(struct publish_batch *b);

static void on_answer(void *arg, const redisReply *reply)
{
    struct publish_batch *b = arg;

    if (reply == NULL || reply->type == REDIS_REPLY_ERROR) {
        counter_add(&b->publisher->opt.counts->refused, reply != NULL);
        b->publisher->is_paused |= reply != NULL;
        b->failed = true;
    }
    if (--b->n_left == 0) {
        struct publisher *p = b->publisher;

        settle(b);
        pump(p);
    }
}

static int send_frame(struct publish_page *page, struct str data)
{
    struct publisher *p = page->publisher;
    struct publish_batch *b = page->batch;
    struct str args[] = { STR("PUBLISH"), buf_text(&p->channel), data };
    int err = redis_send(p->redis, args, 3, 0, on_answer, b);

    if (err != 0)
        return err;
    b->n_left++;
    b->n_messages++;
    b->bytes += data.n;
    p->flying += data.n;
    return 0;
}

static int on_record(void *arg, uint64_t seq, struct str stored)
{
    struct publish_page *page = arg;
    struct publisher *p = page->publisher;
    static const struct variant plain = { .modes = MODE_DEFAULT };
    struct record rec;

    page->batch->n_lost += seq - page->next; /* retention has deleted them */
    page->next = seq + 1;
    int err = record_reader_read(&page->records, seq, stored, &rec);
    if (record_is_damage(err)) {
        page->batch->n_lost++;
        return 0;
    }
    if (err == 0)
        err = dialect_render(p->opt.dialect, &rec, &plain, &p->frames);
    for (size_t i = 0; err == 0 && i < p->frames.n; i++)
        err = send_frame(page, frame_data(&p->frames, &p->frames.frame[i]));
    page->batch->n_records++;
    page->err = err;
    return err;
}

static void settle(struct publish_batch *b)
{
    struct publisher *p = b->publisher;
    struct publish_cursor *cursor = b->cursor;

    cursor->is_flying = false;
    p->flying -= b->bytes;
    if (!b->failed) {
        counter_add(&p->opt.counts->records, b->n_records);
        counter_add(&p->opt.counts->messages, b->n_messages);
        counter_add(&p->opt.counts->skipped, b->n_lost);
        if (b->upto > cursor->published) /* else another gateway publishes the job now */
            move_on(p, cursor, b->upto);
    }
    free(b);
    publish_cursors_line_up(&p->cursors, cursor);
}

/* Reads a page and sends it; on an error it is read again later. */
static int read_page(struct publisher *p, struct publish_batch *b)
{
    struct publish_cursor *cursor = b->cursor;
    struct publish_page page = { .publisher = p, .batch = b, .next = cursor->published + 1 };

    buf_clear(&p->channel);
    channel_put(&p->opt.channel, publish_cursor_id(cursor), &p->channel);
    record_reader_init(&page.records, p->opt.reader, cursor->key, publish_cursor_id(cursor));
    int err = p->channel.error;
    if (err == 0)
        err = store_records(p->opt.reader, cursor->key, cursor->published, PAGE_ROWS,
                            PAGE_BYTES, on_record, &page, NULL);
    record_reader_done(&page.records);
    if (err == 0)
        err = page.err;
    if (err == 0 && page.next == cursor->published + 1) { /* nothing is left: retention has
                                                             deleted all */
        b->n_lost = cursor->known - cursor->published;
        page.next = cursor->known + 1;
    }
    b->upto = page.next - 1;
    if (b->upto > cursor->known)
        learn(p, cursor, b->upto, false); /* more was stored than we were told */
    return err;
}

static void publish(struct publisher *p, struct publish_cursor *cursor)
{
    struct publish_batch *b = malloc(sizeof(*b));

    if (b == NULL) {
        p->is_paused = true;
        publish_cursors_line_up(&p->cursors, cursor);
        return;
    }
    if (p->opt.max_backlog > 0 && cursor->known - cursor->published > p->opt.max_backlog)
        skip(p, cursor, cursor->known - p->opt.max_backlog);
    *b = (struct publish_batch){ .publisher = p, .cursor = cursor };
    cursor->is_flying = true;
    b->n_left = 1; /* holds it open until all commands are sent */
    int err = read_page(p, b);
    b->failed |= err != 0;
    p->is_paused |= err != 0;
    if (--b->n_left == 0)
        settle(b);
}

static bool may_publish(const struct publisher *p)
{
    return p->cursors.first != NULL && !p->is_paused && !p->is_closed &&
           p->flying < MAX_FLYING && redis_is_connected(p->redis);
}

static void pump(struct publisher *p)
{
    while (may_publish(p)) {
        publish(p, publish_cursors_next(&p->cursors));
    }
}

/* Under load, commits do not wake the thread: their messages are read after PACE_MS. */
static void on_pace(uv_timer_t *timer)
{
    struct publisher *p = timer->data;

    mailbox_look(p->opt.news, true);
    if (may_publish(p)) {
        pump(p);
        (void)uv_timer_start(timer, on_pace, PACE_MS, 0); /* cannot fail */
    } else {
        (void)uv_timer_stop(timer);
        mailbox_look(p->opt.news, false); /* may start the timer again */
    }
}

/* --- changes ------------------------------------------------------------------- */

struct headline {
    int64_t key;
    uint64_t last_seq;
    bool is_final, is_gone;
    struct str job; /* in the same block of memory */
};

struct publish_hint {
    struct loop_message message;
    struct publisher *publisher;
    size_t n;
    struct headline headlines[];
};

/* Reads the row of a job that has no cursor yet. */
static struct publish_cursor *meet(struct publisher *p, const struct headline *h)
{
    struct job_row row;

    if (h->is_gone || store_job_get(p->opt.reader, h->job, &row, NULL) != 0 ||
        row.key != h->key || !is_ours(p, row.shard))
        return NULL;
    return h->is_final && row.published < 0 ? NULL : publish_cursors_add(&p->cursors, &row);
}

static void take(struct publisher *p, const struct headline *h)
{
    struct publish_cursor *cursor = publish_cursors_find(&p->cursors, h->job);

    if (cursor != NULL && h->is_gone && (h->key == 0 || h->key == cursor->key)) {
        cursor->is_gone = true;
        return;
    }
    if (cursor != NULL && cursor->key != h->key) { /* the id was reused by a newer job */
        publish_cursors_disown(&p->cursors, cursor);
        cursor->is_gone = true;
        cursor = NULL;
    }
    if (cursor == NULL)
        cursor = meet(p, h);
    if (cursor != NULL)
        learn(p, cursor, h->last_seq, h->is_final);
}

static void on_news(struct loop_message *message)
{
    struct publish_hint *news = container_of(message, struct publish_hint, message);
    struct publisher *p = news->publisher;

    for (size_t i = 0; i < news->n && !p->is_closed && p->written != 0; i++)
        take(p, &news->headlines[i]);
    free(news);
    if (!p->is_closed && !uv_is_active((uv_handle_t *)&p->pace))
        (void)uv_timer_start(&p->pace, on_pace, 0, 0); /* cannot fail */
}

void publisher_news(struct publisher *p, const struct publication *pubs, size_t n)
{
    size_t texts = 0;

    for (size_t i = 0; i < n; i++)
        texts += pubs[i].job.n;
    struct publish_hint *news = malloc(sizeof(*news) + n * sizeof(news->headlines[0]) + texts);
    if (news == NULL) {
        atomic_store(&p->lost_news, true);
        return;
    }
    char *at = (char *)&news->headlines[n];
    *news = (struct publish_hint){ .message = { .deliver = on_news }, .publisher = p, .n = n };
    for (size_t i = 0; i < n; i++) {
        const struct publication *pub = &pubs[i];

        str_copy(at, pub->job);
        news->headlines[i] = (struct headline){ .key = pub->key,
                                                .last_seq = pub->last_seq,
                                                .is_final = job_state_is_final(pub->state),
                                                .is_gone = pub->gone,
                                                .job = { at, pub->job.n } };
        at += pub->job.n;
    }
    if (mailbox_post(p->opt.news, &news->message) != 0)
        free(news);
}

/* A job with unpublished records, at the start or after a change was lost. */
static int on_unpublished(void *arg, const struct job_row *row)
{
    struct publisher *p = arg;
    struct publish_cursor *cursor = publish_cursors_find(&p->cursors, row->id);
    enum job_state state = JOB_QUEUED;

    if (!is_ours(p, row->shard))
        return 0;
    (void)job_state_find(row->state, &state); /* written by us */
    if (cursor == NULL)
        cursor = publish_cursors_add(&p->cursors, row);
    if (cursor != NULL && cursor->key == row->key)
        learn(p, cursor, row->seq, job_state_is_final(state));
    if (cursor == NULL)
        atomic_store(&p->lost_news, true);
    return cursor == NULL;
}

static void look_into_store(struct publisher *p)
{
    /* On an error, tries again at the next tick. */
    if (p->written != 0 && store_unpublished_jobs(p->opt.reader, on_unpublished, p, NULL) != 0)
        atomic_store(&p->lost_news, true);
}

/* --- storing the cursors ---------------------------------------------------------- */

static int64_t mark_of(const struct publish_cursor *cursor)
{
    return publish_cursor_is_complete(cursor) ? -1 : (int64_t)cursor->published;
}

static void collect_marks(struct publisher *p, int64_t shard)
{
    p->n_marks = 0;
    for (struct publish_cursor *cursor = p->cursors.all.next;
         cursor != &p->cursors.all && p->n_marks < MAX_MARKS; cursor = cursor->next)
        if (!cursor->is_silent && !cursor->is_gone && cursor->shard == shard &&
            mark_of(cursor) != cursor->marked)
            p->marks[p->n_marks++] = (struct journal_mark){ cursor->key, mark_of(cursor) };
}

/* Those of one shard after another. */
static bool store_marks(struct publisher *p)
{
    if (p->post.loop_call.is_pending)
        return false;
    p->n_marks = 0;
    for (int64_t i = 0; i < STORE_MAX_SHARDS && p->n_marks == 0; i++) {
        p->marked = (p->marked + 1) % STORE_MAX_SHARDS;
        if (is_ours(p, p->marked))
            collect_marks(p, p->marked);
    }
    if (p->n_marks == 0)
        return false;
    struct journal_request *req = journal_request_begin(&p->post, JOURNAL_MARK_PUBLISHED);
    req->is_pinned = true;
    req->shard = p->marked;
    req->published.marks = p->marks;
    req->published.n_marks = p->n_marks;
    req->is_forwarded = true; /* another gateway that writes has its own cursors */
    journal_post(p->opt.journal, &p->post);
    return true;
}

/* Marks and publish cursors are in the same order, that of the ring. */
static void on_marked(struct loop_call *call)
{
    struct publisher *p = call->owner;
    size_t i = 0;

    if (p->is_closing && p->post.code == ERR_MOVED)
        p->written &= ~(UINT64_C(1) << p->marked); /* else it would try for ever */
    for (struct publish_cursor *cursor = p->cursors.all.next;
         cursor != &p->cursors.all && p->post.code == 0; cursor = cursor->next) {
        if (i < p->n_marks && p->marks[i].key == cursor->key)
            cursor->marked = p->marks[i++].published;
    }
}

static void sweep(struct publisher *p)
{
    for (struct publish_cursor *cursor = p->cursors.all.next, *next; cursor != &p->cursors.all;
         cursor = next) {
        bool over = cursor->is_gone ||
                    (cursor->is_final && (cursor->is_silent || cursor->marked == -1));

        next = cursor->next;
        if (!over || cursor->is_flying || cursor->in_line || ++cursor->lingers < LINGER_TICKS)
            continue;
        if (cursor->is_gone && !cursor->is_silent)
            skip(p, cursor, cursor->known);
        publish_cursors_discard(&p->cursors, cursor);
    }
}

/* --- of several gateways, the one that writes a job publishes it ------------------- */

static void forget(struct publisher *p, uint64_t shards)
{
    while (p->cursors.first != NULL)
        (void)publish_cursors_next(&p->cursors);
    for (struct publish_cursor *cursor = p->cursors.all.next; cursor != &p->cursors.all;
         cursor = cursor->next) {
        if (shards >> cursor->shard & 1) {
            publish_cursors_disown(&p->cursors, cursor);
            if (!cursor->is_silent && !cursor->is_gone)
                move_on(p, cursor, cursor->known);
            cursor->is_gone = true;
        }
        publish_cursors_line_up(&p->cursors, cursor);
    }
}

void publisher_set_shards(struct publisher *p, uint64_t written, uint64_t lost)
{
    uint64_t old = p->written & ~lost, gone = p->written & (lost | ~written);

    p->written = written;
    if (gone != 0)
        forget(p, gone);
    if ((written & ~old) == 0)
        return;
    look_into_store(p);
    pump(p);
}

/* --- life ------------------------------------------------------------------------- */

void publisher_free(struct publisher *p)
{
    if (p == NULL)
        return;
    publish_cursors_done(&p->cursors);
    frames_done(&p->frames);
    buf_done(&p->channel);
    journal_request_done(&p->post);
    free(p);
}

static void on_part_closed(void *arg)
{
    struct publisher *p = arg;

    if (--p->n_handles == 0)
        p->closed(p->closed_arg);
}

static void on_timer_closed(uv_handle_t *handle)
{
    on_part_closed(handle->data);
}

static void finish(struct publisher *p)
{
    p->is_closed = true;
    p->n_handles = 3;
    uv_close((uv_handle_t *)&p->tick, on_timer_closed);
    uv_close((uv_handle_t *)&p->pace, on_timer_closed);
    redis_close(p->redis, on_part_closed, p);
}

/* True while closing has to wait. */
static bool is_busy(struct publisher *p)
{
    bool hopes = redis_is_connected(p->redis) && counter_get(&p->opt.counts->lag) > 0 &&
                 p->n_closing * CLOSE_TICK_MS < CLOSE_MS;

    return hopes || p->post.loop_call.is_pending || store_marks(p);
}

static void on_tick(uv_timer_t *timer)
{
    struct publisher *p = timer->data;

    p->is_paused = false;
    if (atomic_exchange(&p->lost_news, false))
        look_into_store(p);
    sweep(p);
    pump(p);
    if (!p->is_closing)
        (void)store_marks(p);
    else if (p->n_closing++, !is_busy(p))
        finish(p);
}

static void on_state(void *arg, bool connected, struct str why)
{
    struct publisher *p = arg;

    if (p->opt.state != NULL)
        p->opt.state(p->opt.arg, connected, why);
    if (connected)
        pump(p);
}

int publisher_open(const struct publisher_options *options, struct publisher **ret)
{
    struct publisher *p = calloc(1, sizeof(*p));

    if (p == NULL)
        return ERR_NOMEM;
    p->opt = *options;
    p->written = options->written;
    publish_cursors_init(&p->cursors);
    frames_init(&p->frames, SIZE_MAX / 4);
    buf_init(&p->channel, SIZE_MAX / 4);
    journal_request_init(&p->post, options->box, p, on_marked);
    struct redis_options redis = { .url = options->url,
                                   .name = "spoolwire-publisher",
                                   .state = on_state,
                                   .arg = p,
                                   .counts = &options->counts->redis };
    int err = redis_open(options->loop, &redis, &p->redis);
    if (err != 0) {
        publisher_free(p);
        return err;
    }
    (void)uv_timer_init(options->loop, &p->tick); /* cannot fail */
    (void)uv_timer_init(options->loop, &p->pace); /* the same */
    p->tick.data = p->pace.data = p;
    (void)uv_timer_start(&p->tick, on_tick, TICK_MS, TICK_MS); /* nor can this */
    look_into_store(p);
    *ret = p;
    return 0;
}

void publisher_close(struct publisher *p, void (*closed)(void *arg), void *arg)
{
    p->closed = closed;
    p->closed_arg = arg;
    p->is_closing = true;
    (void)uv_timer_start(&p->tick, on_tick, 0, CLOSE_TICK_MS); /* cannot fail */
}

bool publisher_owns(const struct publisher *p, struct str job)
{
    const struct publish_cursor *cursor = publish_cursors_find(&p->cursors, job);

    return cursor != NULL && !cursor->is_silent;
}
