#define _GNU_SOURCE /* pthread_setname_np, SCHED_BATCH */
#include "redis/service.h"

#include "base/container_of.h"
#include "base/error.h"
#include "redis/barrier.h"
#include "loop/mailbox.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

struct redis_service {
    struct redis_service_options opt;
    struct redis_url url;
    struct channel out, in;
    struct store *reader; /* owned */
    uv_loop_t loop;
    struct mailbox *box;           /* owned */
    struct mailbox *news;          /* owned; for commits, which need not be read at once */
    struct publisher *publisher;   /* owned; NULL: none */
    struct subscriber *subscriber; /* owned; NULL: none; frees itself */
    struct barriers *barriers;     /* owned; only with a subscriber */
    bool echoes;                   /* both use the same channels: ignore our own messages */
    unsigned n_open;               /* open parts */
    struct publisher_counts published;
    struct subscriber_counts heard;
    bool is_stopping;
    bool is_leaving; /* the subscriber closes, because other gateways write all shards */
    /* Any thread: the shards that this gateway writes, as bits, and those that it has lost
     * since `change` was handled. */
    _Atomic uint64_t written, lost;
    struct loop_message stop, change; /* change: these were set */
    atomic_bool change_posted;
    pthread_t thread;
    bool has_loop, is_started;
};

/* --- state changes of the parts ---------------------------------------------- */

static void on_publisher(void *arg, bool connected, struct str why)
{
    struct redis_service *s = arg;

    s->opt.notice(s->opt.arg, &(struct redis_service_notice){
                                  .part = "publish", .connected = connected, .why = why });
}

static void on_subscriber(void *arg, bool connected, struct str why)
{
    struct redis_service *s = arg;

    s->opt.notice(s->opt.arg, &(struct redis_service_notice){
                                  .part = "subscribe", .connected = connected, .why = why });
}

static void on_refused(void *arg, struct str job, struct str why, uint64_t n)
{
    struct redis_service *s = arg;

    s->opt.notice(
        s->opt.arg,
        &(struct redis_service_notice){
            .part = "subscribe", .connected = true, .job = job, .refused = n, .why = why });
}

static bool on_is_own(void *arg, struct str job)
{
    struct redis_service *s = arg;

    return s->echoes && publisher_owns(s->publisher, job);
}

/* --- life -------------------------------------------------------------------- */

static int open_publisher(struct redis_service *s)
{
    struct publisher_options options = { .loop = &s->loop,
                                         .box = s->box,
                                         .news = s->news,
                                         .reader = s->reader,
                                         .journal = s->opt.journal,
                                         .written = atomic_load(&s->written),
                                         .url = &s->url,
                                         .dialect = s->opt.dialect,
                                         .channel = s->out,
                                         .max_backlog = s->opt.max_backlog,
                                         .state = on_publisher,
                                         .arg = s,
                                         .counts = &s->published };

    return publisher_open(&options, &s->publisher);
}

static int open_subscriber(struct redis_service *s)
{
    struct subscriber_options options = { .loop = &s->loop,
                                          .box = s->box,
                                          .journal = s->opt.journal,
                                          .url = &s->url,
                                          .channel = s->in,
                                          .barriers = s->barriers,
                                          .agent = s->opt.agent,
                                          .max_bytes = s->opt.max_bytes,
                                          .max_depth = s->opt.max_depth,
                                          .was_deaf = s->opt.is_shared,
                                          .n_shards = s->opt.n_shards,
                                          .written = atomic_load(&s->written),
                                          .is_own = on_is_own,
                                          .state = on_subscriber,
                                          .refused = on_refused,
                                          .arg = s,
                                          .counts = &s->heard };

    return subscriber_open(&options, &s->subscriber);
}

static int open_parts(struct redis_service *s)
{
    int err = s->opt.dialect != NULL ? open_publisher(s) : 0;

    if (err == 0 && s->opt.subscribe_channel != NULL)
        err = barriers_new(&s->in, &s->barriers);
    if (err == 0 && s->barriers != NULL && !s->opt.is_shared)
        err = open_subscriber(s);
    return err;
}

/* --- of several gateways, those that write publish and listen -------------------- */

static void work_or_rest(struct redis_service *s);

static void on_left(void *arg)
{
    struct redis_service *s = arg;

    s->is_leaving = false;
    work_or_rest(s);
}

static void on_change(struct loop_message *message)
{
    struct redis_service *s = container_of(message, struct redis_service, change);

    atomic_store(&s->change_posted, false); /* first: a later change posts it again */
    if (!s->is_stopping)
        work_or_rest(s);
}

void redis_service_set_shards(struct redis_service *s, uint64_t written)
{
    uint64_t old = atomic_exchange(&s->written, written);

    (void)atomic_fetch_or(&s->lost, old & ~written);
    if (!atomic_exchange(&s->change_posted, true))
        (void)mailbox_post(s->box, &s->change); /* closed: it has ended */
}

static int read_names(struct redis_service *s, struct error *err)
{
    const struct redis_service_options *o = &s->opt;
    int code = redis_url_parse(str_of(o->url), &s->url, err);

    if (code == 0 && o->dialect != NULL)
        code = channel_parse(str_of(o->publish_channel), &s->out, err);
    if (code == 0 && o->subscribe_channel != NULL)
        code = channel_parse(str_of(o->subscribe_channel), &s->in, err);
    s->echoes =
        o->dialect != NULL && o->subscribe_channel != NULL && channel_eq(&s->in, &s->out);
    return code;
}

int redis_service_new(const struct redis_service_options *options,
                      struct redis_service **ret,
                      struct error *err)
{
    struct redis_service *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    s->opt = *options;
    s->change.deliver = on_change;
    atomic_store(&s->written, options->is_shared ? 0 : 1);
    int code = read_names(s, err);
    if (code == 0 && options->dialect != NULL)
        code = store_open_reader(&options->store, &s->reader, err);
    if (code == 0 && uv_loop_init(&s->loop) != 0)
        code = error_set(err, ERR_IO, "cannot make an event loop");
    s->has_loop = code == 0;
    if (code == 0 && (mailbox_new(&s->loop, &s->box) != 0 ||
                      mailbox_new(&s->loop, &s->news) != 0 || open_parts(s) != 0))
        code = error_set(err, ERR_NOMEM, "out of memory");
    if (code != 0) {
        redis_service_free(s);
        return code;
    }
    *ret = s;
    return 0;
}

/* SCHED_BATCH for a thread that only publishes: waking it does not preempt the thread that
 * wakes it, so appends are not delayed. */
static void *run(void *arg)
{
    struct redis_service *s = arg;
    struct sched_param none = { 0 };

    if (s->reader != NULL)
        store_take(s->reader);
    if (s->barriers == NULL) /* not with a subscriber: Redis disconnects slow ones */
        (void)pthread_setschedparam(pthread_self(), SCHED_BATCH, &none); /* best effort */
    (void)uv_run(&s->loop, UV_RUN_DEFAULT); /* until all is closed */
    return NULL;
}

static void close_boxes(struct redis_service *s)
{
    mailbox_close(s->news);
    mailbox_close(s->box);
}

static void on_closed(void *arg)
{
    struct redis_service *s = arg;

    if (--s->n_open == 0)
        close_boxes(s);
}

/* What this gateway has received and not stored is refused: the next one hears for itself. */
static void stop_listening(struct redis_service *s)
{
    struct subscriber *leaving = s->subscriber;

    if (leaving == NULL)
        return;
    s->subscriber = NULL;
    s->is_leaving = true;
    subscriber_close(leaving, on_left, s);
}

static void set_shards(struct redis_service *s)
{
    uint64_t lost = atomic_exchange(&s->lost, 0); /* first: what is lost later is told again */
    uint64_t written = atomic_load(&s->written);

    if (s->publisher != NULL)
        publisher_set_shards(s->publisher, written, lost);
    if (s->subscriber != NULL)
        subscriber_set_shards(s->subscriber, written, lost);
    if (written == 0)
        stop_listening(s);
    else if (s->barriers != NULL && s->subscriber == NULL && !s->is_leaving &&
             open_subscriber(s) != 0)
        on_subscriber(s, false, STR("out of memory"));
}

static void work_or_rest(struct redis_service *s)
{
    if (!s->is_stopping)
        set_shards(s);
    else if (!s->is_leaving)
        on_closed(s);
}

static void on_stop(struct loop_message *message)
{
    struct redis_service *s = container_of(message, struct redis_service, stop);

    s->is_stopping = true;
    s->n_open = 1; /* this one */
    s->n_open += s->publisher != NULL;
    s->n_open += s->subscriber != NULL;
    if (s->publisher != NULL)
        publisher_close(s->publisher, on_closed, s);
    if (s->subscriber != NULL)
        subscriber_close(s->subscriber, on_closed, s);
    work_or_rest(s); /* or it is called when the subscriber is closed */
}

int redis_service_start(struct redis_service *s, struct error *err)
{
    if (pthread_create(&s->thread, NULL, run, s) != 0)
        return error_set(err, ERR_NOMEM, "cannot start the thread for Redis");
    s->is_started = true;
    (void)pthread_setname_np(s->thread, "redis"); /* shown in ps and debuggers */
    return 0;
}

void redis_service_stop(struct redis_service *s)
{
    if (s == NULL || !s->is_started)
        return;
    s->stop.deliver = on_stop;
    (void)mailbox_post(s->box, &s->stop); /* it is open */
    (void)pthread_join(s->thread, NULL);
    s->is_started = false;
    s->subscriber = NULL;
}

void redis_service_published(struct redis_service *s, const struct publication *pubs, size_t n)
{
    if (s->publisher != NULL)
        publisher_news(s->publisher, pubs, n);
}

/* Handles that a failed start has left open are not closed: the process exits then. */
void redis_service_free(struct redis_service *s)
{
    if (s == NULL)
        return;
    publisher_free(s->publisher);
    if (s->has_loop)
        (void)uv_loop_close(&s->loop); /* fails only after a failed start */
    mailbox_free(s->news);
    mailbox_free(s->box);
    barriers_free(s->barriers);
    store_close(s->reader);
    free(s);
}

struct barriers *redis_service_barriers(const struct redis_service *s)
{
    return s->barriers;
}

const struct publisher_counts *redis_service_published_counts(const struct redis_service *s)
{
    return s->opt.dialect != NULL ? &s->published : NULL;
}

const struct subscriber_counts *redis_service_heard_counts(const struct redis_service *s)
{
    return s->opt.subscribe_channel != NULL ? &s->heard : NULL;
}
