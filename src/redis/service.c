#define _GNU_SOURCE /* pthread_setname_np, SCHED_BATCH */
#include "redis/service.h"

#include "base/container_of.h"
#include "base/error.h"
#include "redis/barrier.h"
#include "loop/mailbox.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

struct redis_service {
    struct redis_service_options opt;
    struct redis_url url;
    struct channel out, in;
    struct store *reader; /* owned */
    uv_loop_t loop;
    struct mailbox *box;           /* owned */
    struct mailbox *news;          /* owned; what was committed, which can wait a moment */
    struct publisher *publisher;   /* owned; NULL: none */
    struct subscriber *subscriber; /* the same; frees itself */
    struct barriers *barriers;     /* owned; beside a subscriber */
    bool echoes;                   /* both use the same channels */
    unsigned n_open;               /* parts that run */
    struct publisher_counts published;
    struct subscriber_counts heard;
    struct loop_message stop;
    pthread_t thread;
    bool has_loop, is_started;
};

/* --- what the parts say ------------------------------------------------------ */

static void on_publisher(void *arg, bool connected, struct str why)
{
    struct redis_service *b = arg;

    b->opt.notice(b->opt.arg, &(struct redis_service_notice){
                                  .part = "publish", .connected = connected, .why = why });
}

static void on_subscriber(void *arg, bool connected, struct str why)
{
    struct redis_service *b = arg;

    b->opt.notice(b->opt.arg, &(struct redis_service_notice){
                                  .part = "subscribe", .connected = connected, .why = why });
}

static void on_refused(void *arg, struct str job, struct str why, uint64_t n)
{
    struct redis_service *b = arg;

    b->opt.notice(
        b->opt.arg,
        &(struct redis_service_notice){
            .part = "subscribe", .connected = true, .job = job, .refused = n, .why = why });
}

static bool on_is_own(void *arg, struct str job)
{
    struct redis_service *b = arg;

    return b->echoes && publisher_owns(b->publisher, job);
}

/* --- life -------------------------------------------------------------------- */

static int open_publisher(struct redis_service *b)
{
    struct publisher_options options = { .loop = &b->loop,
                                         .box = b->box,
                                         .news = b->news,
                                         .reader = b->reader,
                                         .journal = b->opt.journal,
                                         .url = &b->url,
                                         .dialect = b->opt.dialect,
                                         .channel = b->out,
                                         .max_backlog = b->opt.max_backlog,
                                         .state = on_publisher,
                                         .arg = b,
                                         .counts = &b->published };

    return publisher_open(&options, &b->publisher);
}

static int open_subscriber(struct redis_service *b)
{
    struct subscriber_options options = { .loop = &b->loop,
                                          .box = b->box,
                                          .journal = b->opt.journal,
                                          .url = &b->url,
                                          .channel = b->in,
                                          .barriers = b->barriers,
                                          .agent = b->opt.agent,
                                          .max_bytes = b->opt.max_bytes,
                                          .max_depth = b->opt.max_depth,
                                          .is_own = on_is_own,
                                          .state = on_subscriber,
                                          .refused = on_refused,
                                          .arg = b,
                                          .counts = &b->heard };

    return subscriber_open(&options, &b->subscriber);
}

static int open_parts(struct redis_service *b)
{
    int err = b->opt.dialect != NULL ? open_publisher(b) : 0;

    if (err == 0 && b->opt.subscribe_channel != NULL)
        err = barriers_new(&b->in, &b->barriers);
    if (err == 0 && b->barriers != NULL)
        err = open_subscriber(b);
    b->n_open = b->publisher != NULL;
    b->n_open += b->subscriber != NULL;
    return err;
}

static int read_names(struct redis_service *b, struct error *err)
{
    const struct redis_service_options *o = &b->opt;
    int code = redis_url_parse(str_of(o->url), &b->url, err);

    if (code == 0 && o->dialect != NULL)
        code = channel_parse(str_of(o->publish_channel), &b->out, err);
    if (code == 0 && o->subscribe_channel != NULL)
        code = channel_parse(str_of(o->subscribe_channel), &b->in, err);
    b->echoes =
        o->dialect != NULL && o->subscribe_channel != NULL && channel_eq(&b->in, &b->out);
    return code;
}

int redis_service_new(const struct redis_service_options *options,
                      struct redis_service **ret,
                      struct error *err)
{
    struct redis_service *b = calloc(1, sizeof(*b));

    if (b == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    b->opt = *options;
    int code = read_names(b, err);
    if (code == 0 && options->dialect != NULL)
        code = store_open_reader(&options->store, &b->reader, err);
    if (code == 0 && uv_loop_init(&b->loop) != 0)
        code = error_set(err, ERR_IO, "cannot make an event loop");
    b->has_loop = code == 0;
    if (code == 0 && (mailbox_new(&b->loop, &b->box) != 0 ||
                      mailbox_new(&b->loop, &b->news) != 0 || open_parts(b) != 0))
        code = error_set(err, ERR_NOMEM, "out of memory");
    if (code != 0) {
        redis_service_free(b);
        return code;
    }
    *ret = b;
    return 0;
}

/* Appends come first: whoever wakes a thread that only publishes does not give way to it. */
static void *run(void *arg)
{
    struct redis_service *b = arg;
    struct sched_param none = { 0 };

    if (b->subscriber == NULL) /* a slow subscriber is disconnected by Redis */
        (void)pthread_setschedparam(pthread_self(), SCHED_BATCH, &none); /* only a wish */
    (void)uv_run(&b->loop, UV_RUN_DEFAULT); /* until all is closed */
    return NULL;
}

static void close_boxes(struct redis_service *b)
{
    mailbox_close(b->news);
    mailbox_close(b->box);
}

static void on_closed(void *arg)
{
    struct redis_service *b = arg;

    if (--b->n_open == 0)
        close_boxes(b);
}

static void on_stop(struct loop_message *message)
{
    struct redis_service *b = container_of(message, struct redis_service, stop);

    if (b->publisher != NULL)
        publisher_close(b->publisher, on_closed, b);
    if (b->subscriber != NULL)
        subscriber_close(b->subscriber, on_closed, b);
    if (b->n_open == 0)
        close_boxes(b);
}

int redis_service_start(struct redis_service *b, struct error *err)
{
    if (pthread_create(&b->thread, NULL, run, b) != 0)
        return error_set(err, ERR_NOMEM, "cannot start the thread for Redis");
    b->is_started = true;
    (void)pthread_setname_np(b->thread, "redis"); /* only for people */
    return 0;
}

void redis_service_stop(struct redis_service *b)
{
    if (b == NULL || !b->is_started)
        return;
    b->stop.deliver = on_stop;
    (void)mailbox_post(b->box, &b->stop); /* it is open */
    (void)pthread_join(b->thread, NULL);
    b->is_started = false;
    b->subscriber = NULL;
}

void redis_service_published(struct redis_service *b, const struct publication *pubs, size_t n)
{
    if (b->publisher != NULL)
        publisher_news(b->publisher, pubs, n);
}

/* What a start that failed has left open goes with the process: the caller ends. */
void redis_service_free(struct redis_service *b)
{
    if (b == NULL)
        return;
    publisher_free(b->publisher);
    if (b->has_loop)
        (void)uv_loop_close(&b->loop); /* busy only after a start that failed */
    mailbox_free(b->news);
    mailbox_free(b->box);
    barriers_free(b->barriers);
    store_close(b->reader);
    free(b);
}

struct barriers *redis_service_barriers(const struct redis_service *b)
{
    return b->barriers;
}

const struct publisher_counts *redis_service_published_counts(const struct redis_service *b)
{
    return b->opt.dialect != NULL ? &b->published : NULL;
}

const struct subscriber_counts *redis_service_heard_counts(const struct redis_service *b)
{
    return b->opt.subscribe_channel != NULL ? &b->heard : NULL;
}
