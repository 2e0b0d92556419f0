#include "redis/barrier.h"

#include "base/buf.h"
#include "base/container_of.h"
#include "base/error.h"
#include "base/random.h"

#include <pthread.h>
#include <stdlib.h>

#define JOB_OF_BARRIERS STR("!mark")

struct barriers {
    pthread_mutex_t lock;
    struct barrier *first; /* list; under lock, with all its members */
    struct buf channel;
};

int barriers_new(const struct channel *c, struct barriers **ret)
{
    struct barriers *all = calloc(1, sizeof(*all));

    if (all == NULL)
        return ERR_NOMEM;
    (void)pthread_mutex_init(&all->lock, NULL); /* cannot fail on Linux */
    buf_init(&all->channel, 1 << 16);
    channel_put(c, JOB_OF_BARRIERS, &all->channel);
    int err = all->channel.error;
    if (err != 0)
        barriers_free(all);
    else
        *ret = all;
    return err;
}

void barriers_free(struct barriers *all)
{
    if (all == NULL)
        return;
    buf_done(&all->channel);
    (void)pthread_mutex_destroy(&all->lock);
    free(all);
}

struct str barriers_channel(const struct barriers *all)
{
    return buf_text(&all->channel);
}

bool barriers_add(struct barriers *all, struct barrier *b, struct str job)
{
    if (!random_uuid(b->text))
        return false;
    b->is_read = false;
    b->job_n = job.n < sizeof(b->job) ? job.n : sizeof(b->job);
    memcpy(b->job, job.p, b->job_n);
    (void)pthread_mutex_lock(&all->lock);
    b->next = all->first;
    all->first = b;
    (void)pthread_mutex_unlock(&all->lock);
    return true;
}

bool barriers_cancel(struct barriers *all, struct barrier *b)
{
    struct barrier **at = &all->first;

    (void)pthread_mutex_lock(&all->lock);
    while (*at != NULL && *at != b)
        at = &(*at)->next;
    bool was_there = *at == b;
    if (was_there)
        *at = b->next;
    (void)pthread_mutex_unlock(&all->lock);
    return was_there;
}

bool barriers_own_job(struct str job)
{
    return str_eq(job, JOB_OF_BARRIERS);
}

size_t barriers_received(struct barriers *all, struct str text, char job[BARRIER_JOB_MAX])
{
    size_t n = 0;

    (void)pthread_mutex_lock(&all->lock);
    struct barrier *b = all->first;
    while (b != NULL && !str_eq(text, str_make(b->text, sizeof(b->text))))
        b = b->next;
    if (b != NULL) {
        b->is_read = true;
        n = b->job_n;
        memcpy(job, b->job, n);
    }
    (void)pthread_mutex_unlock(&all->lock);
    return n;
}

static void on_told(struct loop_message *message)
{
    struct barrier *b = container_of(message, struct barrier, message);

    b->came(b);
}

void barriers_job_stored(struct barriers *all, struct str job)
{
    (void)pthread_mutex_lock(&all->lock);
    for (struct barrier **at = &all->first; *at != NULL;) {
        struct barrier *b = *at;

        if (!b->is_read || !str_eq(job, str_make(b->job, b->job_n))) {
            at = &b->next;
            continue;
        }
        *at = b->next;
        b->message.deliver = on_told;
        /* If the mailbox is closed, nobody waits any more. */
        (void)mailbox_post(b->home, &b->message);
    }
    (void)pthread_mutex_unlock(&all->lock);
}
