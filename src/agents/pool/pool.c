#include "agents/pool/pool.h"

#include "agents/exec.h"
#include "agents/executor.h"
#include "agents/host.h"
#include "agents/pool/pool_process.h"
#include "agents/process/watcher.h"

#include <stdio.h>
#include <stdlib.h>

enum { FIRST_PAUSE_MS = 250 };

struct pool {
    struct pool_options opt;
    struct pool_process *processes; /* owned; they free themselves */
    struct watcher *watcher;        /* of its files, or NULL */
    uv_timer_t timer;               /* for the next start */
    uint64_t waiting;               /* number of waiting jobs, as last reported */
    unsigned failures;              /* in a row */
    int64_t not_before;             /* earliest time of the next start; on the loop's clock */
    bool is_draining;
};

struct counts {
    size_t processes; /* that have not ended */
    size_t starting;  /* of these */
    size_t ready;     /* of these */
    size_t jobs;      /* that are in a process */
    size_t places;    /* slots in processes that are ready or starting */
};

static const struct exec_pool *pool_of(const struct pool *t)
{
    return &t->opt.agent->pool;
}

static size_t concurrency(const struct pool *t)
{
    return pool_of(t)->concurrency > 0 ? pool_of(t)->concurrency : 1;
}

static int64_t now(const struct pool *t)
{
    return (int64_t)uv_now(t->opt.host->loop);
}

static struct counts count(const struct pool *t)
{
    struct counts c = { 0 };

    for (const struct pool_process *m = t->processes; m != NULL; m = m->next) {
        c.processes += m->state != POOL_PROCESS_GONE;
        c.starting += m->state == POOL_PROCESS_STARTING;
        c.ready += m->state == POOL_PROCESS_READY;
        c.jobs += m->n_jobs;
        c.places += m->state == POOL_PROCESS_STARTING ? concurrency(t) : pool_process_places(m);
    }
    return c;
}

/* --- pool processes ----------------------------------------------------------------- */

static void look(struct pool *t);

static void on_timer(uv_timer_t *timer)
{
    look(timer->data);
}

static void look_later(struct pool *t)
{
    int64_t left = t->not_before - now(t);

    (void)uv_timer_start(&t->timer, on_timer, left > 0 ? (uint64_t)left : 0, 0); /* open */
}

/* The pause after a failure: 250 ms, doubled with each further one. */
static void pause_for(struct pool *t, struct str why)
{
    int64_t ms = FIRST_PAUSE_MS;
    char line[400];

    for (unsigned i = 0; i < t->failures && ms < pool_of(t)->backoff_ms; i++)
        ms *= 2;
    if (ms > pool_of(t)->backoff_ms)
        ms = pool_of(t)->backoff_ms;
    if (now(t) >= t->not_before) { /* processes that end together count as one failure */
        t->failures++;
        t->not_before = now(t) + ms;
    }
    why = str_head(why, str_find(why, '\n')); /* the rest of stderr is in the log */
    (void)snprintf(line, sizeof(line), "spoolwire: pool: %.*s; none is started for %lld ms",
                   STR_ARG(str_head(why, 300)), (long long)(t->not_before - now(t))); /* fits */
    host_log(t->opt.host, STR_NONE, t->opt.agent->name, str_of(line));
}

static void on_changed(struct pool_process *m)
{
    struct pool *t = m->opt.owner;

    look(t);
    t->opt.changed(t->opt.arg);
}

static bool on_answered(struct pool_process *m, const struct report *report)
{
    const struct pool *t = m->opt.owner;

    return t->opt.answered(t->opt.arg, m, report);
}

static void on_worked(struct pool_process *m)
{
    struct pool *t = m->opt.owner;

    t->failures = 0;
}

static void on_over(struct pool_process *m, struct str why)
{
    struct pool *t = m->opt.owner;

    if (pool_process_age(m) > pool_of(t)->backoff_ms)
        t->failures = 0;
    if (why.p != NULL)
        pause_for(t, why);
    counter_sub(&t->opt.host->counts->pooled, 1);
    counter_add(&t->opt.host->counts->pooled_crashed, why.p != NULL);
    t->opt.gone(t->opt.arg, m);
    on_changed(m);
}

static void on_closed(struct pool_process *m)
{
    struct pool *t = m->opt.owner;
    struct pool_process **at = &t->processes;

    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    t->opt.changed(t->opt.arg);
}

static const struct pool_process_events pool_process_events = { .changed = on_changed,
                                                                .answered = on_answered,
                                                                .worked = on_worked,
                                                                .over = on_over,
                                                                .closed = on_closed };

static int start_one(struct pool *t)
{
    struct pool_process_options options = { .host = t->opt.host,
                                            .agent = t->opt.agent,
                                            .env = t->opt.env,
                                            .events = &pool_process_events,
                                            .owner = t };
    struct pool_process *m;
    int err = pool_process_new(&options, &m);

    if (err != 0)
        return err;
    m->next = t->processes;
    t->processes = m;
    counter_add(&t->opt.host->counts->pooled, 1);
    counter_add(&t->opt.host->counts->pooled_started, 1);
    return 0;
}

/* Retiring processes finish their jobs and no longer count towards the size; but in all there
 * are at most twice as many as the size. */
static bool has_room(const struct pool *t, const struct counts *c)
{
    size_t size = pool_of(t)->size;

    return !t->is_draining && c->starting + c->ready < size && c->processes < 2 * size;
}

static bool needs_one(const struct pool *t, const struct counts *c)
{
    return has_room(t, c) &&
           (c->starting + c->ready < pool_of(t)->warm || t->waiting > c->places);
}

static void look(struct pool *t)
{
    struct counts c = count(t);

    while (needs_one(t, &c)) {
        if (now(t) < t->not_before) {
            look_later(t);
            return;
        }
        if (start_one(t) != 0)
            pause_for(t, STR("out of memory"));
        else if (t->processes->start_error != 0)
            return; /* its `over` event follows, and starts the pause */
        c = count(t);
    }
    t->waiting = 0;
}

/* Replaces the processes that loaded the old files. */
static void on_files_changed(void *arg, const char *name)
{
    struct pool *t = arg;
    char line[400];

    if (t->is_draining)
        return;
    (void)snprintf(line, sizeof(line), "spoolwire: pool: %s has changed: new processes", name);
    host_log(t->opt.host, STR_NONE, t->opt.agent->name, str_of(line));
    t->failures = 0; /* the failure may be fixed now */
    t->not_before = 0;
    for (struct pool_process *m = t->processes; m != NULL; m = m->next) /* none is freed here */
        pool_process_outdate(m);
    look(t);
}

/* --- jobs -------------------------------------------------------------------- */

/* The process with the fewest jobs. */
static struct pool_process *idlest(const struct pool *t)
{
    struct pool_process *best = NULL;

    for (struct pool_process *m = t->processes; m != NULL; m = m->next)
        if (pool_process_places(m) > 0 && (best == NULL || m->n_jobs < best->n_jobs))
            best = m;
    return best;
}

static bool is_full(const struct pool *t, const struct counts *c)
{
    return c->jobs >= pool_of(t)->size * concurrency(t);
}

bool pool_has_place(const struct pool *t)
{
    struct counts c = count(t);

    return !t->is_draining && !is_full(t, &c) && idlest(t) != NULL;
}

int pool_take(struct pool *t, const struct journal_request *lease)
{
    struct pool_process *m = idlest(t);
    /* A process may still run a deleted job with the same id and attempt, and cannot tell the
     * two apart: refuse the job now; its next attempt has another number. */
    bool clear = m != NULL && pool_process_find(m, lease->row->id, lease->row->attempt) == NULL;
    int err = clear ? pool_process_take(m, lease) : ERR_BUSY;

    look(t); /* that may have taken the last slot */
    return err;
}

bool pool_may_grow(const struct pool *t)
{
    struct counts c = count(t);

    return has_room(t, &c) && !is_full(t, &c);
}

void pool_need(struct pool *t, uint64_t waiting)
{
    t->waiting = waiting;
    look(t);
}

struct pool_process *pool_callee(const struct pool *t)
{
    struct pool_process *best = NULL;

    for (struct pool_process *m = t->processes; m != NULL; m = m->next)
        if (m->state == POOL_PROCESS_READY && m->takes_calls && m->fault == NULL &&
            (best == NULL || m->n_jobs < best->n_jobs))
            best = m;
    return best;
}

void pool_wake(struct pool *t)
{
    struct counts c = count(t);

    if (c.starting + c.ready == 0)
        pool_need(t, 1);
}

static struct pool_job *find(struct pool *t, int64_t key, int64_t attempt)
{
    for (struct pool_process *m = t->processes; m != NULL; m = m->next)
        for (struct pool_job *s = m->jobs; s != NULL; s = s->next)
            if (s->state != POOL_JOB_LEFT && lease_session_is(&s->session, key, attempt))
                return s;
    return NULL;
}

bool pool_cancel(struct pool *t, int64_t key, int64_t attempt)
{
    struct pool_job *s = find(t, key, attempt);

    if (s != NULL)
        pool_job_cancel(s);
    return s != NULL;
}

bool pool_ask(struct pool *t, int64_t key, int64_t attempt)
{
    struct pool_job *s = find(t, key, attempt);

    if (s != NULL)
        lease_session_ask(&s->session);
    return s != NULL;
}

/* --- the beginning and the end ----------------------------------------------- */

size_t pool_size(const struct pool *t)
{
    size_t n = 0;

    for (const struct pool_process *m = t->processes; m != NULL; m = m->next) {
        n++;
        for (const struct pool_job *s = m->jobs; s != NULL; s = s->next)
            n++;
    }
    return n;
}

void pool_drain(struct pool *t)
{
    t->is_draining = true;
    for (struct pool_process *m = t->processes; m != NULL; m = m->next) /* none is freed here */
        pool_process_drain(m);
}

void pool_stop(struct pool *t)
{
    t->is_draining = true;
    for (struct pool_process *m = t->processes; m != NULL; m = m->next) /* as above */
        pool_process_stop(m);
}

void pool_close(struct pool *t)
{
    watcher_close(t->watcher);
    uv_close((uv_handle_t *)&t->timer, NULL);
}

int pool_new(const struct pool_options *options, struct pool **ret)
{
    struct pool *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return ERR_NOMEM;
    t->opt = *options;
    if (pool_of(t)->watch != NULL && watcher_new(options->host->loop, pool_of(t)->watch,
                                                 on_files_changed, t, &t->watcher) != 0) {
        free(t);
        return ERR_NOMEM;
    }
    (void)uv_timer_init(options->host->loop, &t->timer); /* cannot fail */
    t->timer.data = t;
    look_later(t);
    *ret = t;
    return 0;
}

void pool_free(struct pool *t)
{
    free(t);
}

const struct executor_kind executor_pool = { .make = NULL }; /* jobs go to pool_take() */
