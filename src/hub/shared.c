#include "hub/shared.h"

#include "base/container_of.h"
#include "base/error.h"
#include "base/table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { MAX_QUESTION = 4096 }; /* a longer one is not in the news: whoever wants it asks */

struct home {
    struct hub *hub;            /* borrowed */
    struct mailbox *box;        /* borrowed */
    struct loop_message missed; /* there was no memory for another */
    atomic_bool is_missed;      /* it is on its way */
};

struct hub_shared {
    pthread_mutex_t lock;
    struct table wanted;        /* under lock: job id -> the loops that want it, as bits */
    unsigned n_homes;           /* under lock */
    atomic_uintptr_t listening; /* the loops that listen to all jobs, as bits */
    struct home homes[HUB_MAX_LOOPS];
};

int hub_shared_new(struct hub_shared **ret)
{
    struct hub_shared *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return ERR_NOMEM;
    (void)pthread_mutex_init(&s->lock, NULL); /* cannot fail on Linux */
    table_init(&s->wanted);
    *ret = s;
    return 0;
}

void hub_shared_free(struct hub_shared *s)
{
    if (s == NULL)
        return;
    table_done(&s->wanted);
    (void)pthread_mutex_destroy(&s->lock);
    free(s);
}

static void on_missed(struct loop_message *message)
{
    struct home *home = container_of(message, struct home, missed);

    atomic_store(&home->is_missed, false);
    hub_missed(home->hub);
}

/* The next news may be long in coming, and after the last there are none. */
static void tell_missed(struct home *home)
{
    if (!atomic_exchange(&home->is_missed, true))
        (void)mailbox_post(home->box, &home->missed); /* or its loop has ended */
}

int hub_shared_add(struct hub_shared *s,
                   struct hub *h,
                   struct mailbox *box,
                   unsigned *ret_index)
{
    int err = ERR_TOO_LARGE;

    (void)pthread_mutex_lock(&s->lock);
    if (s->n_homes < HUB_MAX_LOOPS) {
        s->homes[s->n_homes].hub = h;
        s->homes[s->n_homes].box = box;
        s->homes[s->n_homes].missed.deliver = on_missed;
        *ret_index = s->n_homes++;
        err = 0;
    }
    (void)pthread_mutex_unlock(&s->lock);
    return err;
}

/* --- who wants what ------------------------------------------------------------- */

/* The table holds the bits in place of a pointer: never NULL while somebody wants it. */
static uintptr_t bits_of(const struct hub_shared *s, struct key k)
{
    return (uintptr_t)table_get(&s->wanted, k);
}

int hub_shared_want(struct hub_shared *s, struct str job, unsigned index)
{
    struct key k = table_key(&s->wanted, 0, job);

    (void)pthread_mutex_lock(&s->lock);
    int err = table_put(&s->wanted, k, (void *)(bits_of(s, k) | (uintptr_t)1 << index));
    (void)pthread_mutex_unlock(&s->lock);
    return err;
}

void hub_shared_unwant(struct hub_shared *s, struct str job, unsigned index)
{
    struct key k = table_key(&s->wanted, 0, job);

    (void)pthread_mutex_lock(&s->lock);
    uintptr_t left = bits_of(s, k) & ~((uintptr_t)1 << index);
    if (left == 0)
        table_remove(&s->wanted, k);
    else
        (void)table_put(&s->wanted, k, (void *)left); /* it is there: nothing is allocated */
    (void)pthread_mutex_unlock(&s->lock);
}

static uintptr_t who_wants(struct hub_shared *s, struct str job)
{
    (void)pthread_mutex_lock(&s->lock);
    uintptr_t bits = bits_of(s, table_key(&s->wanted, 0, job));
    (void)pthread_mutex_unlock(&s->lock);
    return bits;
}

bool hub_wanted(void *shared, struct str job)
{
    return who_wants(shared, job) != 0;
}

/* --- news ----------------------------------------------------------------------- */

static void news_free(struct job_change *n)
{
    for (size_t i = 0; i < n->n_records; i++)
        record_unref(n->records[i]);
    free(n);
}

static void on_message(struct loop_message *message)
{
    struct job_change *n = container_of(message, struct job_change, message);

    hub_take(n->hub, n);
    news_free(n);
}

static struct job_change *news_of(const struct publication *pub, struct hub *hub)
{
    size_t n_list = pub->n_records * sizeof(struct record *);
    struct job_change *n = malloc(sizeof(*n) + n_list + pub->job.n);

    if (n == NULL)
        return NULL;
    char *after = (char *)(n + 1);
    *n = (struct job_change){ .message = { .deliver = on_message },
                              .hub = hub,
                              .job = { after + n_list, pub->job.n },
                              .key = pub->key,
                              .state = pub->state,
                              .state_changed = pub->state_changed,
                              .gone = pub->gone,
                              .ts = pub->ts,
                              .since_us = pub->since_us,
                              .last_seq = pub->last_seq,
                              .n_records = pub->n_records,
                              .records = (struct record **)(void *)after };
    str_copy(after + n_list, pub->job);
    for (size_t i = 0; i < pub->n_records; i++)
        n->records[i] = record_ref(pub->records[i]);
    return n;
}

/* --- states of all jobs ---------------------------------------------------------- */

/* A change on its way to one loop. */
struct rumour {
    struct loop_message message;
    struct hub *hub;
    struct change change;
    char texts[];
};

void hub_shared_listen(struct hub_shared *s, unsigned index, bool listens)
{
    uintptr_t bit = (uintptr_t)1 << index;

    if (listens)
        atomic_fetch_or(&s->listening, bit);
    else
        atomic_fetch_and(&s->listening, ~bit);
}

static void on_rumour(struct loop_message *message)
{
    struct rumour *r = container_of(message, struct rumour, message);

    hub_tell(r->hub, &r->change);
    free(r);
}

static struct str keep(char **at, struct str text)
{
    if (str_absent(text))
        return text;
    struct str kept = { memcpy(*at, text.p, text.n), text.n };
    *at += text.n;
    return kept;
}

/* @q may be NULL. */
static void spread(const struct publication *pub,
                   const struct question_news *q,
                   struct home *home)
{
    struct str text = q != NULL && q->question.n <= MAX_QUESTION ? q->question : STR_NONE;
    size_t n_question = q != NULL ? q->id.n + text.n : 0;
    struct rumour *r =
        malloc(sizeof(*r) + pub->job.n + pub->agent.n + pub->owner.n + n_question);

    if (r == NULL) {
        tell_missed(home);
        return;
    }
    char *at = r->texts;
    r->message.deliver = on_rumour;
    r->hub = home->hub;
    r->change = (struct change){ .job = keep(&at, pub->job),
                                 .agent = keep(&at, pub->agent),
                                 .owner = keep(&at, pub->owner),
                                 .state = pub->state,
                                 .gone = pub->gone,
                                 .attempt = pub->attempt,
                                 .ts = pub->ts };
    if (q != NULL)
        r->change.question = (struct question_news){ .id = keep(&at, q->id),
                                                     .state = q->state,
                                                     .question = keep(&at, text),
                                                     .expires = q->expires };
    if (mailbox_post(home->box, &r->message) != 0)
        free(r);
}

static void spread_change(struct hub_shared *s, const struct publication *pub)
{
    uintptr_t bits = atomic_load_explicit(&s->listening, memory_order_relaxed);

    for (unsigned k = 0; bits != 0; k++, bits >>= 1) {
        if ((bits & 1) == 0)
            continue;
        for (const struct question_news *q = pub->questions; q != NULL; q = q->next)
            spread(pub, q, &s->homes[k]);
        if (pub->state_changed || pub->gone)
            spread(pub, NULL, &s->homes[k]);
    }
}

void hub_published(void *shared, const struct publication *pubs, size_t n)
{
    struct hub_shared *s = shared;

    for (size_t i = 0; i < n; i++) {
        uintptr_t bits = who_wants(s, pubs[i].job);

        spread_change(s, &pubs[i]);
        for (unsigned k = 0; bits != 0; k++, bits >>= 1) {
            if ((bits & 1) == 0)
                continue;
            struct job_change *news = news_of(&pubs[i], s->homes[k].hub);

            if (news == NULL)
                tell_missed(&s->homes[k]);
            else if (mailbox_post(s->homes[k].box, &news->message) != 0)
                news_free(news);
        }
    }
}
