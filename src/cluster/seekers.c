#define _GNU_SOURCE /* pthread_setname_np */
#include "cluster/seekers.h"

#include "base/clock.h"
#include "base/container_of.h"
#include "base/error.h"
#include "cluster/shard_router.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    TICK_MS = 100,
    LOOK_MS = 1000,    /* all the same, if no hint comes */
    MAX_WAITERS = 1000 /* in the list of workers */
};

struct seeker {
    struct seeker *prev, *next; /* oldest first; under lock, as the next two */
    bool is_looking;            /* else it waits */
    bool looks_again;           /* a hint has come meanwhile */
    uint64_t pass;              /* the last one that has sent it looking */
    struct journal_router answers;
    struct seekers *home;
    struct journal_request *req;
    int64_t since, deadline;
    struct error failure; /* of the last round; code 0: none */
    atomic_size_t n_left; /* looks that are not answered */
    size_t n_found, n_asked;
    int64_t found[STORE_MAX_SHARDS]; /* shards that have something, the oldest first */
    struct journal_request looks[];  /* one for each shard */
};

struct seekers {
    struct shard_router *router; /* borrowed */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t news;
    struct seeker *first, *last; /* under lock, as the next */
    uint64_t n_passes;
    bool is_stopping;
    struct str gateway;          /* borrowed: the id of this one */
    struct journal_request told; /* WAITERS, to the first shard */
    atomic_bool is_telling;
    size_t n_told;
};

static void begin_round(struct seeker *s);

/* --- the end ------------------------------------------------------------------------------ */

static void leave(struct seeker *s)
{
    struct seekers *all = s->home;

    (void)pthread_mutex_lock(&all->lock);
    if (s->prev != NULL)
        s->prev->next = s->next;
    else
        all->first = s->next;
    if (s->next != NULL)
        s->next->prev = s->prev;
    else
        all->last = s->prev;
    (void)pthread_mutex_unlock(&all->lock);
}

static void answer_none(struct seeker *s)
{
    struct journal_request *req = s->req;

    leave(s);
    if (s->failure.code != 0)
        req->why = s->failure;
    else
        (void)error_set(&req->why, ERR_NOT_FOUND, "no job is waiting");
    req->code = req->why.code;
    req->router = NULL;
    free(s);
    journal_request_answer(req);
}

/* It has got something, or was refused.  The next one that waits may find more. */
static void end(struct seeker *s)
{
    struct journal_request *req = s->req;
    struct seekers *all = s->home;

    leave(s);
    req->router = NULL;
    free(s);
    if (req->code == 0 && req->row != NULL)
        shard_router_learn(all->router, req->row->key, req->row->shard);
    for (size_t i = 0; req->code == 0 && i < req->work.n_agents; i++)
        seekers_queued(all, req->work.agents[i]);
}

/* --- a round ------------------------------------------------------------------------------ */

static bool is_over(const struct seeker *s)
{
    return s->home->is_stopping || s->req->withdrawn || clock_steady_ms() >= s->deadline;
}

static void end_round(struct seeker *s)
{
    (void)pthread_mutex_lock(&s->home->lock);
    bool is_last = is_over(s), again = s->looks_again && !is_last;
    s->looks_again = false;
    s->is_looking = is_last || again;
    (void)pthread_mutex_unlock(&s->home->lock);
    if (is_last)
        answer_none(s);
    else if (again)
        begin_round(s);
}

static void ask_next(struct seeker *s)
{
    if (s->n_asked == s->n_found || s->req->withdrawn) {
        end_round(s);
        return;
    }
    s->req->work.wait_ms = 0;
    s->req->work.call = (struct taken_call){ 0 };
    s->req->router = &s->answers;
    if (!shard_router_put(s->home->router, s->found[s->n_asked++], s->req)) {
        s->failure = s->req->why;
        end_round(s);
    }
}

static bool on_answered(struct journal_router *answers, struct journal_request *req)
{
    struct seeker *s = container_of(answers, struct seeker, answers);

    if (req->code == ERR_NOT_FOUND) {
        ask_next(s);
        return true;
    }
    end(s);
    return false;
}

/* In the order of age. */
static void note_found(struct seeker *s, int64_t shard)
{
    size_t at = s->n_found++;

    while (at > 0 && s->looks[s->found[at - 1]].work.oldest > s->looks[shard].work.oldest) {
        s->found[at] = s->found[at - 1];
        at--;
    }
    s->found[at] = shard;
}

static void end_looking(struct seeker *s)
{
    int64_t n = shard_router_shards(s->home->router), n_refused = 0;

    s->n_found = s->n_asked = 0;
    s->failure = (struct error){ 0 };
    for (int64_t i = 0; i < n; i++) {
        const struct journal_request *look = &s->looks[i];

        n_refused += look->code == ERR_TYPE;
        if (look->code == 0)
            note_found(s, i);
        else if (look->code != ERR_NOT_FOUND && (look->code != ERR_TYPE || n_refused == n))
            s->failure = look->why;
    }
    /* The shard that did not answer may have given a job to this request id. */
    if (s->failure.code != 0 && !str_absent(s->req->work.request_id))
        s->n_found = 0;
    if (n_refused == n)
        s->deadline = 0; /* waiting does not help */
    for (int64_t i = 0; i < n; i++)
        journal_request_done(&s->looks[i]);
    ask_next(s);
}

static void on_looked(struct loop_call *call)
{
    struct seeker *s = call->owner;

    if (atomic_fetch_sub(&s->n_left, 1) == 1)
        end_looking(s);
}

static void fill_look(struct journal_request *look, const struct journal_request *req)
{
    (void)journal_request_begin(look, JOURNAL_LEASE);
    look->caller = req->caller;
    look->work = (struct work_request){ .agents = req->work.agents,
                                        .n_agents = req->work.n_agents,
                                        .worker = req->work.worker,
                                        .request_id = req->work.request_id,
                                        .takes_calls = req->work.takes_calls,
                                        .looks = true };
}

static void begin_round(struct seeker *s)
{
    size_t n = (size_t)shard_router_shards(s->home->router);

    atomic_store(&s->n_left, n);
    for (size_t i = 0; i < n; i++) {
        journal_request_init(&s->looks[i], NULL, s, on_looked);
        fill_look(&s->looks[i], s->req);
        loop_call_start(&s->looks[i].loop_call);
    }
    for (size_t i = 0; i < n; i++) /* the last answer goes on, and may free it */
        if (!shard_router_put(s->home->router, (int64_t)i, &s->looks[i]))
            loop_call_answer(&s->looks[i].loop_call);
}

/* --- waiting ------------------------------------------------------------------------------ */

static bool names(const struct seeker *s, struct str agent)
{
    for (size_t i = 0; i < s->req->work.n_agents; i++)
        if (str_absent(agent) || str_eq(agent, s->req->work.agents[i]))
            return true;
    return false;
}

static void look_for(struct seekers *all, struct str agent)
{
    struct seeker *found = NULL;

    (void)pthread_mutex_lock(&all->lock);
    for (struct seeker *s = all->first; s != NULL && found == NULL; s = s->next)
        if (!s->is_looking && names(s, agent))
            found = s;
    for (struct seeker *s = all->first; s != NULL && found == NULL; s = s->next)
        s->looks_again |= names(s, agent);
    if (found != NULL)
        found->is_looking = true;
    (void)pthread_mutex_unlock(&all->lock);
    if (found != NULL)
        begin_round(found);
}

/* The oldest of those that wait for the same agent. */
static bool is_first_of_agent(const struct seeker *s)
{
    struct str agent = s->req->work.n_agents > 0 ? s->req->work.agents[0] : STR_NONE;

    for (const struct seeker *o = s->prev; o != NULL; o = o->prev)
        if (names(o, agent))
            return false;
    return true;
}

/* The next one that shall look in this pass; NULL: all are. */
static struct seeker *take_of_pass(struct seekers *all, uint64_t pass)
{
    struct seeker *found = NULL;

    (void)pthread_mutex_lock(&all->lock);
    for (struct seeker *s = all->first; s != NULL && found == NULL; s = s->next) {
        if (s->pass == pass || !is_first_of_agent(s))
            continue;
        s->pass = pass;
        if (s->is_looking)
            s->looks_again = true;
        else
            found = s;
    }
    if (found != NULL)
        found->is_looking = true;
    (void)pthread_mutex_unlock(&all->lock);
    return found;
}

static void look_for_all(struct seekers *all)
{
    (void)pthread_mutex_lock(&all->lock);
    uint64_t pass = ++all->n_passes;
    (void)pthread_mutex_unlock(&all->lock);
    for (struct seeker *s; (s = take_of_pass(all, pass)) != NULL;)
        begin_round(s);
}

void seekers_queued(struct seekers *all, struct str agent)
{
    if (str_absent(agent))
        look_for_all(all);
    else
        look_for(all, agent);
}

void seekers_add(struct seekers *all, struct journal_request *req)
{
    size_t n = (size_t)shard_router_shards(all->router);
    struct seeker *s = calloc(1, sizeof(*s) + n * sizeof(s->looks[0]));

    if (s == NULL) {
        req->code = error_set(&req->why, ERR_BUSY, "out of memory");
        journal_request_answer(req);
        return;
    }
    s->answers.answered = on_answered;
    s->home = all;
    s->req = req;
    s->is_looking = true;
    s->since = clock_steady_ms();
    s->deadline = s->since + req->work.wait_ms;
    (void)pthread_mutex_lock(&all->lock);
    s->prev = all->last;
    if (s->prev != NULL)
        s->prev->next = s;
    else
        all->first = s;
    all->last = s;
    (void)pthread_mutex_unlock(&all->lock);
    begin_round(s);
}

/* --- the list of workers ------------------------------------------------------------------ */

static bool add_waiter(struct arena *mem, const struct seeker *s, struct journal_worker *ret)
{
    const struct work_request *work = &s->req->work;
    struct journal_worker w = { .worker = work->worker,
                                .agents = work->agents,
                                .n_agents = work->n_agents,
                                .seen = clock_steady_ms() - s->since };

    return journal_worker_copy(mem, &w, ret);
}

/* How many; under lock. */
static size_t copy_waiters(struct seekers *all, struct journal_worker *list)
{
    size_t n = 0;

    for (const struct seeker *s = all->first; s != NULL && n < MAX_WAITERS; s = s->next)
        if (!s->req->withdrawn && add_waiter(&all->told.mem, s, &list[n]))
            n++;
    return n;
}

static void on_told(struct loop_call *call)
{
    struct seekers *all = call->owner;

    atomic_store(&all->is_telling, false);
}

/* Once a second, the first shard is told who waits here; see journal/waiters.c. */
static void tell_waiters(struct seekers *all)
{
    if (atomic_load(&all->is_telling) || (all->first == NULL && all->n_told == 0))
        return;
    struct journal_request *req = journal_request_begin(&all->told, JOURNAL_WAITERS);
    struct journal_worker *list = arena_alloc(&req->mem, MAX_WAITERS * sizeof(*list));
    if (list == NULL)
        return;
    (void)pthread_mutex_lock(&all->lock);
    all->n_told = copy_waiters(all, list);
    (void)pthread_mutex_unlock(&all->lock);
    req->waiters = (struct waiters_request){ all->gateway, list, all->n_told };
    atomic_store(&all->is_telling, true);
    loop_call_start(&req->loop_call);
    if (!shard_router_put(all->router, 0, req))
        loop_call_answer(&req->loop_call);
}

/* --- time --------------------------------------------------------------------------------- */

/* One whose time is over, or whose caller has left; NULL: none. */
static struct seeker *take_due(struct seekers *all)
{
    struct seeker *s;

    (void)pthread_mutex_lock(&all->lock);
    for (s = all->first; s != NULL; s = s->next)
        if (!s->is_looking && is_over(s)) {
            s->is_looking = true;
            break;
        }
    (void)pthread_mutex_unlock(&all->lock);
    return s;
}

static bool rest(struct seekers *all)
{
    uint64_t until = clock_monotonic_us() + (uint64_t)TICK_MS * 1000;
    bool in_time = true;

    (void)pthread_mutex_lock(&all->lock);
    while (!all->is_stopping && in_time)
        in_time = clock_wait(&all->news, &all->lock, until);
    bool goes_on = !all->is_stopping;
    (void)pthread_mutex_unlock(&all->lock);
    return goes_on;
}

static void *keep_time(void *arg)
{
    struct seekers *all = arg;
    int64_t next = clock_steady_ms() + LOOK_MS;

    while (rest(all)) {
        for (struct seeker *s; (s = take_due(all)) != NULL;)
            answer_none(s);
        if (clock_steady_ms() >= next) {
            look_for_all(all);
            tell_waiters(all);
            next = clock_steady_ms() + LOOK_MS;
        }
    }
    return NULL;
}

/* --- life --------------------------------------------------------------------------------- */

int seekers_new(struct shard_router *router, struct str gateway, struct seekers **ret)
{
    struct seekers *all = calloc(1, sizeof(*all));

    if (all == NULL)
        return ERR_NOMEM;
    all->router = router;
    all->gateway = gateway;
    journal_request_init(&all->told, NULL, all, on_told);
    (void)pthread_mutex_init(&all->lock, NULL); /* cannot fail on Linux */
    clock_cond_init(&all->news);
    *ret = all;
    return 0;
}

int seekers_start(struct seekers *all, struct error *err)
{
    all->has_thread = pthread_create(&all->thread, NULL, keep_time, all) == 0;
    if (!all->has_thread)
        return error_set(err, ERR_NOMEM, "cannot start the seekers' thread");
    (void)pthread_setname_np(all->thread, "seekers"); /* only for people */
    return 0;
}

void seekers_stop(struct seekers *all)
{
    (void)pthread_mutex_lock(&all->lock);
    all->is_stopping = true;
    (void)pthread_mutex_unlock(&all->lock);
    (void)pthread_cond_broadcast(&all->news);
    if (all->has_thread)
        (void)pthread_join(all->thread, NULL);
    all->has_thread = false;
    for (struct seeker *s; (s = take_due(all)) != NULL;)
        answer_none(s);
}

void seekers_free(struct seekers *all)
{
    journal_request_done(&all->told);
    (void)pthread_cond_destroy(&all->news);
    (void)pthread_mutex_destroy(&all->lock);
    free(all);
}
