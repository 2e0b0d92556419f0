#define _GNU_SOURCE /* pthread_setname_np */
#include "cluster/standby.h"

#include "base/clock.h"
#include "base/error.h"
#include "journal/counts.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    RETURN_MS = 4000, /* for the writer to lock again after PostgreSQL was away */
    LOOK_MS = 100,    /* whether the store is lost */
    GIVE_MS = 500     /* for the next one to lock */
};

struct standby {
    struct standby_options opt;
    struct store *store; /* the one that writes; NULL: another gateway does */
    atomic_bool waits;   /* for the lock */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t opening; /* the journal is opened, closed or given settings */
    pthread_mutex_t lock;
    pthread_cond_t news;
    /* Under lock: */
    bool is_stopping, is_leaving;
    bool gives, reopens; /* once */
};

static bool is_stopping(struct standby *s)
{
    (void)pthread_mutex_lock(&s->lock);
    bool stops = s->is_stopping;
    (void)pthread_mutex_unlock(&s->lock);
    return stops;
}

static bool may_write(struct standby *s)
{
    (void)pthread_mutex_lock(&s->lock);
    bool may = !s->is_leaving;
    (void)pthread_mutex_unlock(&s->lock);
    return may;
}

/* Was it told to?  @flag is true once. */
static bool take(struct standby *s, bool *flag)
{
    (void)pthread_mutex_lock(&s->lock);
    bool is_set = *flag;
    *flag = false;
    (void)pthread_mutex_unlock(&s->lock);
    return is_set;
}

static void set(struct standby *s, bool *flag)
{
    (void)pthread_mutex_lock(&s->lock);
    *flag = true;
    (void)pthread_mutex_unlock(&s->lock);
}

/* Sleeps, unless it is woken before. */
static void rest(struct standby *s, int64_t ms)
{
    uint64_t until = clock_monotonic_us() + (uint64_t)ms * 1000;
    bool in_time = true;

    (void)pthread_mutex_lock(&s->lock);
    while (!s->is_stopping && in_time)
        in_time = clock_wait(&s->news, &s->lock, until);
    (void)pthread_mutex_unlock(&s->lock);
}

/* --- up and down -------------------------------------------------------------------------- */

static int open_journal(struct standby *s, struct error *err)
{
    struct breadcrumb breadcrumb = { 0 };

    (void)store_breadcrumb(s->store, &breadcrumb, NULL); /* it works without */
    (void)pthread_mutex_lock(&s->opening);
    int code =
        journal_open(s->opt.journal, s->store, breadcrumb, s->opt.dead, s->opt.n_dead, err);
    (void)pthread_mutex_unlock(&s->opening);
    if (code == 0)
        s->opt.moved(s->opt.arg, true);
    struct str why = store_unmigrated(s->store);
    if (code == 0 && !str_absent(why))
        s->opt.unmigrated(s->opt.arg, why);
    return code;
}

static void step_up(struct standby *s)
{
    struct error err;

    if (open_journal(s, &err) == 0) {
        s->opt.done(s->opt.arg, true, STR_NONE);
        return;
    }
    store_close(s->store);
    s->store = NULL;
    s->opt.done(s->opt.arg, false, str_of(err.text));
    rest(s, RETURN_MS);
}

static void step_down(struct standby *s, const char *why)
{
    s->opt.moved(s->opt.arg, false); /* what the journal has waiting goes to the next writer */
    (void)pthread_mutex_lock(&s->opening);
    journal_close(s->opt.journal);
    (void)pthread_mutex_unlock(&s->opening);
    store_close(s->store);
    s->store = NULL;
    s->opt.done(s->opt.arg, false, str_of(why));
}

static void wait_for_lock(struct standby *s)
{
    struct store_options options = s->opt.store;
    struct error err;

    options.waits = &s->waits;
    if (store_open(&options, &s->store, &err) != 0)
        rest(s, RETURN_MS);
}

static bool is_lost(struct standby *s)
{
    return counter_get(&journal_counts(s->opt.journal)->lost) != 0;
}

static void *stand_by(void *arg)
{
    struct standby *s = arg;

    while (!is_stopping(s)) {
        if (!journal_is_open(s->opt.journal)) {
            if (s->store == NULL && may_write(s))
                wait_for_lock(s);
            if (s->store != NULL)
                step_up(s);
            else if (!may_write(s))
                rest(s, LOOK_MS);
        } else if (is_lost(s)) {
            step_down(s, "another gateway has taken the jobs over");
        } else if (!may_write(s)) {
            step_down(s, "going down");
        } else if (take(s, &s->gives)) {
            step_down(s, "another gateway writes fewer shards");
            rest(s, GIVE_MS);
        } else if (take(s, &s->reopens)) {
            step_down(s, "the schema of the database is brought up to date");
        } else {
            rest(s, LOOK_MS);
        }
    }
    return NULL;
}

/* --- life --------------------------------------------------------------------------------- */

int standby_new(const struct standby_options *options, struct standby **ret, struct error *err)
{
    struct standby *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    s->opt = *options;
    atomic_init(&s->waits, true);
    (void)pthread_mutex_init(&s->lock, NULL); /* cannot fail on Linux */
    (void)pthread_mutex_init(&s->opening, NULL);
    clock_cond_init(&s->news);
    int code = store_open(&s->opt.store, &s->store, err);
    if (code != 0 && code != ERR_BUSY) {
        standby_free(s);
        return code;
    }
    *ret = s;
    return 0;
}

void standby_set_journal(struct standby *s, struct journal *journal)
{
    s->opt.journal = journal;
}

bool standby_has_lock(const struct standby *s)
{
    return s->store != NULL;
}

int standby_start(struct standby *s, struct error *err)
{
    int code = s->store != NULL ? open_journal(s, err) : 0;

    if (code != 0)
        return code;
    s->has_thread = pthread_create(&s->thread, NULL, stand_by, s) == 0;
    if (!s->has_thread)
        return error_set(err, ERR_NOMEM, "cannot start the standby's thread");
    (void)pthread_setname_np(s->thread, "standby"); /* only for people */
    return 0;
}

void standby_leave(struct standby *s)
{
    (void)pthread_mutex_lock(&s->lock);
    s->is_leaving = true;
    atomic_store(&s->waits, false);
    (void)pthread_mutex_unlock(&s->lock);
    (void)pthread_cond_broadcast(&s->news);
}

void standby_give(struct standby *s)
{
    set(s, &s->gives);
}

void standby_reopen(struct standby *s)
{
    set(s, &s->reopens);
}

void standby_stop(struct standby *s)
{
    (void)pthread_mutex_lock(&s->lock);
    s->is_stopping = true;
    (void)pthread_mutex_unlock(&s->lock);
    atomic_store(&s->waits, false);
    (void)pthread_cond_broadcast(&s->news);
    if (s->has_thread)
        (void)pthread_join(s->thread, NULL);
    s->has_thread = false;
}

void standby_free(struct standby *s)
{
    if (s == NULL)
        return;
    store_close(s->store);
    (void)pthread_cond_destroy(&s->news);
    (void)pthread_mutex_destroy(&s->lock);
    (void)pthread_mutex_destroy(&s->opening);
    free(s);
}

void standby_apply_settings(struct standby *s, struct journal_request *req)
{
    (void)pthread_mutex_lock(&s->opening);
    bool is_open = journal_is_open(s->opt.journal);
    if (!is_open)
        journal_apply_settings(s->opt.journal, req);
    (void)pthread_mutex_unlock(&s->opening);
    if (is_open)
        journal_post_here(s->opt.journal, req);
    else
        journal_request_answer(req);
}
