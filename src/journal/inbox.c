#define _GNU_SOURCE /* pthread_setname_np */
#include "journal/inbox.h"

#include "base/clock.h"
#include "base/histogram.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SLICE_NS = 100000 };
enum { GATHER_SHARE = 2 };

struct inbox {
    pthread_mutex_t lock;
    pthread_cond_t news;
    struct journal_request *first, **last; /* under lock */
    uint64_t since;                        /* under lock: arrival time of `first`, in us */
    size_t n;                              /* under lock: number of requests */
    size_t wanted;                         /* under lock: the thread waits for so many */
    size_t usual;  /* used by the thread: the usual number of requests of recent turns */
    bool stopping; /* under lock */
    bool closed;   /* under lock */
    bool started;
    pthread_t thread;
};

int inbox_new(struct inbox **ret)
{
    struct inbox *in = calloc(1, sizeof(*in));

    if (in == NULL)
        return ERR_NOMEM;
    (void)pthread_mutex_init(&in->lock, NULL); /* cannot fail on Linux */
    clock_cond_init(&in->news);
    in->last = &in->first;
    *ret = in;
    return 0;
}

void inbox_free(struct inbox *in)
{
    if (in == NULL)
        return;
    (void)pthread_cond_destroy(&in->news);
    (void)pthread_mutex_destroy(&in->lock);
    free(in);
}

bool inbox_put(struct inbox *in, struct journal_request *first)
{
    struct journal_request *last = NULL;
    size_t n = 0;

    for (struct journal_request *req = first; req != NULL; req = req->next, n++) {
        req->code = 0;
        last = req;
    }
    (void)pthread_mutex_lock(&in->lock);
    if (in->closed) {
        (void)pthread_mutex_unlock(&in->lock);
        return false;
    }
    bool was_empty = in->first == NULL;
    if (was_empty)
        in->since = clock_monotonic_us();
    *in->last = first;
    in->last = &last->next;
    bool is_enough = in->n < in->wanted && in->n + n >= in->wanted;
    in->n += n;
    (void)pthread_mutex_unlock(&in->lock);
    if (was_empty || is_enough)
        (void)pthread_cond_signal(&in->news);
    return true;
}

void inbox_open(struct inbox *in)
{
    (void)pthread_mutex_lock(&in->lock);
    in->closed = false;
    (void)pthread_mutex_unlock(&in->lock);
}

struct journal_request *inbox_close(struct inbox *in)
{
    uint64_t since;

    (void)pthread_mutex_lock(&in->lock);
    in->closed = true;
    (void)pthread_mutex_unlock(&in->lock);
    return inbox_take(in, &since);
}

bool inbox_is_open(struct inbox *in)
{
    (void)pthread_mutex_lock(&in->lock);
    bool is_open = !in->closed;
    (void)pthread_mutex_unlock(&in->lock);
    return is_open;
}

struct journal_request *inbox_take(struct inbox *in, uint64_t *ret_since)
{
    (void)pthread_mutex_lock(&in->lock);
    struct journal_request *all = in->first;
    *ret_since = all != NULL ? in->since : 0;
    in->first = NULL;
    in->last = &in->first;
    /* Decreases slowly: a few late requests do not mean that the next turn gets fewer. */
    in->usual = in->n > in->usual ? in->n : in->usual - (in->usual - in->n + 7) / 8;
    in->n = 0;
    (void)pthread_mutex_unlock(&in->lock);
    return all;
}

/* The turn before them has not ended.  Newer requests would wait as long, so all are refused.
 */
static struct journal_request *take_old(struct inbox *in, uint64_t us)
{
    struct journal_request *all = NULL;

    (void)pthread_mutex_lock(&in->lock);
    if (in->first != NULL && clock_monotonic_us() - in->since > us) {
        all = in->first;
        in->first = NULL;
        in->last = &in->first;
        in->n = 0;
    }
    (void)pthread_mutex_unlock(&in->lock);
    return all;
}

void journal_refuse_old(struct journal *j, int64_t ms)
{
    struct journal_request *list = take_old(journal_inbox(j), (uint64_t)ms * 1000);

    while (list != NULL) {
        struct journal_request *req = list;

        list = req->next;
        req->code = error_set(&req->why, ERR_BUSY,
                              "the database does not answer: nothing of this was stored");
        journal_request_answer(req);
    }
}

/* --- the thread -------------------------------------------------------------- */

/* Waits until a request arrives or @ms have passed; false when the thread should stop. */
static bool wait(struct inbox *in, int64_t ms)
{
    uint64_t until = clock_monotonic_us() + (uint64_t)ms * 1000;
    bool in_time = true;

    (void)pthread_mutex_lock(&in->lock);
    while (in->first == NULL && !in->stopping && in_time)
        in_time = clock_wait(&in->news, &in->lock, until);
    bool go_on = !in->stopping || in->first != NULL;
    (void)pthread_mutex_unlock(&in->lock);
    return go_on;
}

static bool has_requests(struct inbox *in)
{
    (void)pthread_mutex_lock(&in->lock);
    bool has = in->first != NULL;
    (void)pthread_mutex_unlock(&in->lock);
    return has;
}

/* Clients that were answered by the last turn soon send their next requests.  A turn that began
 * with the first of them would make the others wait for its commit.  Where commits take long,
 * waiting for the usual number of requests gives a higher throughput. */
static void gather(struct inbox *in, uint64_t us)
{
    uint64_t until = clock_monotonic_us() + us;
    bool in_time = true;

    (void)pthread_mutex_lock(&in->lock);
    in->wanted = in->usual;
    while (in->first != NULL && in->n < in->wanted && !in->stopping && in_time)
        in_time = clock_wait(&in->news, &in->lock, until);
    in->wanted = 0;
    (void)pthread_mutex_unlock(&in->lock);
}

static void *work(void *arg);

int journal_start(struct journal *j, struct error *err)
{
    struct inbox *in = journal_inbox(j);

    if (pthread_create(&in->thread, NULL, work, j) != 0)
        return error_set(err, ERR_NOMEM, "cannot start the journal's thread");
    (void)pthread_setname_np(in->thread, "journal"); /* shown in ps and debuggers */
    in->started = true;
    return 0;
}

/* Asks the scheduler for short time slices, so that the thread runs as soon as a request
 * arrives: turns are short, and nothing is committed while it waits for a busy core.  Kernels
 * before 6.12 ignore it. */
static void ask_for_short_slices(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attr = { .size = sizeof(attr),
               .policy = SCHED_OTHER,
               .nice = getpriority(PRIO_PROCESS, 0),
               .runtime = SLICE_NS };

    (void)syscall(SYS_sched_setattr, 0, &attr, 0u); /* best effort */
}

static void *work(void *arg)
{
    struct journal *j = arg;

    journal_take_over(j);
    ask_for_short_slices();
    while (wait(journal_inbox(j), journal_next_ms(j))) {
        if (journal_commit_us(j) > 0 && has_requests(journal_inbox(j))) {
            journal_expect(j);
            gather(journal_inbox(j), journal_commit_us(j) / GATHER_SHARE);
        }
        (void)journal_turn(j);
    }
    return NULL;
}

void journal_stop(struct journal *j)
{
    struct inbox *in = journal_inbox(j);

    if (!in->started)
        return;
    (void)pthread_mutex_lock(&in->lock);
    in->stopping = true;
    (void)pthread_mutex_unlock(&in->lock);
    (void)pthread_cond_signal(&in->news);
    journal_hurry(j);
    (void)pthread_join(in->thread, NULL);
    in->started = in->stopping = false;
    journal_take_over(j);
    journal_settle(j);
}
