#include "hub/shared.h"

#include "base/container_of.h"
#include "base/error.h"
#include "base/table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { MAX_QUESTION = 4096 }; /* a longer one is left out of the change: readers fetch it */

struct home {
    struct hub *hub;            /* borrowed */
    struct mailbox *box;        /* borrowed */
    struct loop_message missed; /* posted when a change was lost for lack of memory */
    atomic_bool is_missed;      /* it is posted and not handled */
};

struct hub_shared {
    struct notifier *notifier; /* borrowed */
    /* NULL: nobody wants to know. */
    void (*watch)(void *arg, struct str job, bool on);
    void *watch_arg;
    pthread_mutex_t lock;
    struct table wanted;        /* under lock: job id -> the loops that have readers, as bits */
    unsigned n_homes;           /* under lock */
    atomic_uintptr_t listening; /* the loops that listen to all jobs, as bits */
    struct home homes[HUB_MAX_LOOPS];
};

static void on_change(void *arg, const struct change *change, const struct live_records *live);

int hub_shared_new(struct notifier *notifier, struct hub_shared **ret)
{
    struct hub_shared *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return ERR_NOMEM;
    s->notifier = notifier;
    (void)pthread_mutex_init(&s->lock, NULL); /* cannot fail on Linux */
    table_init(&s->wanted);
    int err = notifier->ops->subscribe(notifier, on_change, s);
    if (err != 0) {
        hub_shared_free(s);
        return err;
    }
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

/* Sent at once instead of with the next change, because there may be none. */
static void tell_missed(struct home *home)
{
    if (!atomic_exchange(&home->is_missed, true))
        (void)mailbox_post(home->box, &home->missed); /* fails only if its loop has ended */
}

void hub_shared_missed(struct hub_shared *s)
{
    (void)pthread_mutex_lock(&s->lock);
    unsigned n = s->n_homes;
    (void)pthread_mutex_unlock(&s->lock);
    for (unsigned k = 0; k < n; k++)
        tell_missed(&s->homes[k]);
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

/* --- which loop has readers of which job ---------------------------------------- */

/* The table stores the bits in place of a pointer; never NULL, because unused entries are
 * removed. */
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
        (void)table_put(&s->wanted, k, (void *)left); /* replaces an entry: cannot fail */
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

bool hub_shared_may_lose(const struct hub_shared *s)
{
    return s->notifier->ops->may_lose && !atomic_load(&s->notifier->is_complete);
}

void hub_shared_listen(struct hub_shared *s, unsigned index, bool listens)
{
    uintptr_t bit = (uintptr_t)1 << index;

    if (listens)
        atomic_fetch_or(&s->listening, bit);
    else
        atomic_fetch_and(&s->listening, ~bit);
}

void hub_shared_set_watch(struct hub_shared *s,
                          void (*watch)(void *arg, struct str job, bool on),
                          void *arg)
{
    s->watch = watch;
    s->watch_arg = arg;
}

void hub_shared_watch(struct hub_shared *s, struct str job, bool on)
{
    if (s->watch != NULL)
        s->watch(s->watch_arg, job, on);
}

/* --- messages to the loops ------------------------------------------------------ */

static void message_free(struct change_message *m)
{
    for (size_t i = 0; i < m->n_records; i++)
        record_unref(m->records[i]);
    free(m);
}

static void on_message(struct loop_message *message)
{
    struct change_message *m = container_of(message, struct change_message, message);

    if (m->looks)
        hub_look(m->hub, m->change.job);
    if (m->is_heard)
        hub_tell(m->hub, &m->change);
    if (m->is_wanted)
        hub_take(m->hub, m);
    message_free(m);
}

static struct str keep(char **at, struct str text)
{
    if (str_absent(text))
        return text;
    struct str kept = { memcpy(*at, text.p, text.n), text.n };
    *at += text.n;
    return kept;
}

/* @live may be NULL. */
static struct change_message *message_new(const struct change *c,
                                          const struct live_records *live)
{
    size_t n_records = live != NULL ? live->n : 0;
    size_t n_list = n_records * sizeof(struct record *);
    struct change_message *m = malloc(sizeof(*m) + n_list + c->job.n + c->agent.n + c->owner.n +
                                      c->question.id.n + c->question.question.n);

    if (m == NULL)
        return NULL;
    char *at = (char *)(m + 1) + n_list;
    *m = (struct change_message){ .message = { .deliver = on_message },
                                  .change = *c,
                                  .since_us = live != NULL ? live->since_us : 0,
                                  .n_records = n_records,
                                  .records = (struct record **)(void *)(m + 1) };
    m->change.job = keep(&at, c->job);
    m->change.agent = keep(&at, c->agent);
    m->change.owner = keep(&at, c->owner);
    m->change.question.id = keep(&at, c->question.id);
    m->change.question.question = keep(&at, c->question.question);
    for (size_t i = 0; i < n_records; i++)
        m->records[i] = record_ref(live->records[i]);
    return m;
}

static void post(struct home *home, struct change_message *m)
{
    if (m == NULL) {
        tell_missed(home);
        return;
    }
    m->hub = home->hub;
    if (mailbox_post(home->box, &m->message) != 0)
        message_free(m);
}

void hub_shared_look(struct hub_shared *s, struct str job)
{
    const struct change nothing = { .job = job };
    uintptr_t wanted = who_wants(s, job);

    for (unsigned k = 0; wanted != 0; k++, wanted >>= 1) {
        struct change_message *m = wanted & 1 ? message_new(&nothing, NULL) : NULL;

        if (m != NULL)
            m->looks = true;
        if (wanted & 1)
            post(&s->homes[k], m);
    }
}

static void on_change(void *arg, const struct change *change, const struct live_records *live)
{
    struct hub_shared *s = arg;
    bool is_question = !str_absent(change->question.id);
    uintptr_t wanted = is_question ? 0 : who_wants(s, change->job);
    uintptr_t heard = is_question || change->state_changed || change->gone
                          ? atomic_load_explicit(&s->listening, memory_order_relaxed)
                          : 0;

    for (unsigned k = 0; (wanted | heard) != 0; k++, wanted >>= 1, heard >>= 1) {
        bool is_wanted = wanted & 1, is_heard = heard & 1;

        if (!is_wanted && !is_heard)
            continue;
        struct change_message *m = message_new(change, is_wanted ? live : NULL);
        if (m != NULL) {
            m->is_wanted = is_wanted;
            m->is_heard = is_heard;
        }
        post(&s->homes[k], m);
    }
}

/* --- from the journal ------------------------------------------------------------ */

static void publish_question(struct notifier *n,
                             struct change c,
                             const struct question_news *question)
{
    c.question = *question;
    c.question.next = NULL;
    if (question->question.n > MAX_QUESTION)
        c.question.question = STR_NONE;
    n->ops->publish(n, &c, NULL);
}

void hub_published(void *shared, const struct publication *pubs, size_t n)
{
    struct notifier *notifier = ((struct hub_shared *)shared)->notifier;

    for (const struct publication *p = pubs; p < pubs + n; p++) {
        const struct live_records live = { p->records, p->n_records, p->since_us };
        const struct change change = change_of(p);

        for (const struct question_news *q = p->questions; q != NULL; q = q->next)
            publish_question(notifier, change, q);
        notifier->ops->publish(notifier, &change, &live);
    }
}
