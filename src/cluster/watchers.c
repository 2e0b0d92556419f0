#include "cluster/watchers.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/table.h"
#include "cluster/frame.h"
#include "cluster/record_push.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    MAX_PUSHES = 8 * 1024 * 1024, /* bytes that wait for one follower */
    SILENT_MS = 4000              /* a follower says something every second */
};

/* One follower's interest in a job. */
struct watching {
    struct watching *next;
    struct follower *follower;
    struct record_push_headers headers;
};

struct watched_job {
    struct watching *first; /* owned, not NULL */
    size_t id_n;
    char id[80];
};

struct watchers {
    pthread_mutex_t lock;
    /* Under lock: */
    struct follower all; /* list head */
    struct table jobs;   /* id -> struct watched_job, owned */
    bool is_open;
    atomic_size_t n_jobs; /* of `jobs`, for other threads */
};

int watchers_new(struct watchers **ret)
{
    struct watchers *w = calloc(1, sizeof(*w));

    if (w == NULL)
        return ERR_NOMEM;
    (void)pthread_mutex_init(&w->lock, NULL); /* cannot fail on Linux */
    table_init(&w->jobs);
    w->all.prev = w->all.next = &w->all;
    *ret = w;
    return 0;
}

static void job_free(struct watched_job *job)
{
    while (job != NULL && job->first != NULL) {
        struct watching *next = job->first->next;

        free(job->first);
        job->first = next;
    }
    free(job);
}

void watchers_free(struct watchers *w)
{
    if (w == NULL)
        return;
    for (size_t i = 0; i < w->jobs.cap; i++)
        job_free(w->jobs.slots[i].value);
    table_done(&w->jobs);
    (void)pthread_mutex_destroy(&w->lock);
    free(w);
}

/* --- jobs; under lock --------------------------------------------------------------------- */

static struct watched_job *find(struct watchers *w, struct str id)
{
    struct watched_job *job = table_get(&w->jobs, table_key(&w->jobs, 0, id));

    return job != NULL && str_eq(str_make(job->id, job->id_n), id) ? job : NULL;
}

static struct watched_job *add_job(struct watchers *w, struct str id)
{
    struct watched_job *job = id.n <= sizeof(job->id) ? calloc(1, sizeof(*job)) : NULL;

    if (job == NULL || table_put(&w->jobs, table_key(&w->jobs, 0, id), job) != 0) {
        free(job);
        return NULL;
    }
    str_copy(job->id, id);
    job->id_n = id.n;
    atomic_store_explicit(&w->n_jobs, w->jobs.n, memory_order_relaxed);
    return job;
}

static void remove_if_unwatched(struct watchers *w, struct watched_job *job)
{
    if (job->first != NULL)
        return;
    table_remove(&w->jobs, table_key(&w->jobs, 0, str_make(job->id, job->id_n)));
    atomic_store_explicit(&w->n_jobs, w->jobs.n, memory_order_relaxed);
    free(job);
}

static void unwatch(struct watchers *w, struct watched_job *job, const struct follower *f)
{
    for (struct watching **at = &job->first; *at != NULL; at = &(*at)->next)
        if ((*at)->follower == f) {
            struct watching *gone = *at;

            *at = gone->next;
            free(gone);
            break;
        }
    remove_if_unwatched(w, job);
}

/* Watching anew forgets which header records the follower has.  Without memory the job is not
 * watched, and the follower finds its records with a re-check. */
static void watch(struct watchers *w, struct follower *f, struct str id)
{
    struct watched_job *job = find(w, id);

    if (job != NULL)
        unwatch(w, job, f);
    job = find(w, id);
    if (job == NULL)
        job = add_job(w, id);
    struct watching *new = job != NULL ? calloc(1, sizeof(*new)) : NULL;
    if (new != NULL) {
        new->follower = f;
        new->next = job->first;
        job->first = new;
    } else if (job != NULL) {
        remove_if_unwatched(w, job);
    }
}

void watchers_set(struct watchers *w, struct follower *f, struct str jobs, bool on)
{
    (void)pthread_mutex_lock(&w->lock);
    while (jobs.n > 0) {
        struct str id = str_head(jobs, str_find(jobs, '\n'));
        struct watched_job *job = on ? NULL : find(w, id);

        if (on && id.n > 0)
            watch(w, f, id);
        else if (job != NULL)
            unwatch(w, job, f);
        jobs = str_skip(jobs, id.n < jobs.n ? id.n + 1 : id.n);
    }
    (void)pthread_mutex_unlock(&w->lock);
}

bool watchers_want(struct watchers *w, struct str job)
{
    if (atomic_load_explicit(&w->n_jobs, memory_order_relaxed) == 0)
        return false;
    (void)pthread_mutex_lock(&w->lock);
    bool is_watched = find(w, job) != NULL;
    (void)pthread_mutex_unlock(&w->lock);
    return is_watched;
}

/* --- followers ---------------------------------------------------------------------------- */

/* Under lock. */
static void post(struct follower *f)
{
    if (!f->is_posted)
        f->is_posted = mailbox_post(f->box, &f->message) == 0; /* else its loop has ended */
}

/* Under lock. */
static void end_follower(struct follower *f)
{
    f->is_over = true;
    post(f);
}

void watchers_begin(struct watchers *w, struct follower *f)
{
    buf_init(&f->out, 2 * (size_t)MAX_PUSHES);
    (void)pthread_mutex_lock(&w->lock);
    for (struct follower *other = w->all.next; other != &w->all; other = other->next)
        if (strcmp(other->gateway, f->gateway) == 0)
            end_follower(other->number > f->number ? f : other);
    f->next = &w->all;
    f->prev = w->all.prev;
    f->prev->next = w->all.prev = f;
    (void)pthread_mutex_unlock(&w->lock);
}

bool watchers_end(struct watchers *w, struct follower *f)
{
    (void)pthread_mutex_lock(&w->lock);
    if (f->next != NULL) {
        f->prev->next = f->next;
        f->next->prev = f->prev;
        f->prev = f->next = NULL;
        /* Removing may move entries of the table, so it is looked at anew until none is left.
         */
        for (size_t i = 0; i < w->jobs.cap;) {
            struct watched_job *job = w->jobs.slots[i].value;
            size_t n = w->jobs.n;

            if (job != NULL)
                unwatch(w, job, f);
            i += w->jobs.n == n;
        }
        buf_done(&f->out);
    }
    bool is_posted = f->is_posted;
    (void)pthread_mutex_unlock(&w->lock);
    return is_posted;
}

bool watchers_take(struct watchers *w, struct follower *f, struct buf *out)
{
    (void)pthread_mutex_lock(&w->lock);
    bool is_good = !f->is_over && f->out.error == 0;
    if (is_good && f->next != NULL) {
        buf_str(out, buf_text(&f->out));
        buf_clear(&f->out);
        if (f->is_lost) {
            size_t from = frame_begin(out, FRAME_PUSH, 0);

            wakeup_put(out, &(struct wakeup){ .kind = WAKEUP_LOST });
            frame_end(out, from);
        }
        f->is_lost = false;
    }
    (void)pthread_mutex_unlock(&w->lock);
    return is_good;
}

void watchers_delivered(struct watchers *w, struct follower *f)
{
    (void)pthread_mutex_lock(&w->lock);
    f->is_posted = false;
    (void)pthread_mutex_unlock(&w->lock);
}

void watchers_open(struct watchers *w, bool is_open)
{
    (void)pthread_mutex_lock(&w->lock);
    for (struct follower *f = w->all.next; f != &w->all && w->is_open && !is_open; f = f->next)
        end_follower(f);
    w->is_open = is_open;
    (void)pthread_mutex_unlock(&w->lock);
}

/* --- pushes; under lock ------------------------------------------------------------------- */

static void push_to(struct watching *to, const struct publication *p)
{
    struct follower *f = to->follower;

    if (f->is_over)
        return;
    if (f->out.n > MAX_PUSHES) {
        f->is_lost = true;
    } else {
        size_t from = frame_begin(&f->out, FRAME_PUSH, 0);

        record_push_put(&f->out, p, &to->headers);
        frame_end(&f->out, from);
    }
    post(f);
}

static size_t count_followers(const struct watchers *w)
{
    long long now = clock_monotonic_ms();
    size_t n = 0;

    for (const struct follower *f = w->all.next; f != &w->all; f = f->next)
        n += !f->is_over &&
             now - atomic_load_explicit(&f->heard, memory_order_relaxed) < SILENT_MS;
    return n;
}

/* State changes and deletions come as hints. */
static bool is_pushed(const struct publication *p)
{
    return !p->gone && p->last_seq > 0;
}

size_t watchers_push(struct watchers *w, const struct publication *pubs, size_t n)
{
    (void)pthread_mutex_lock(&w->lock);
    for (size_t i = 0; i < n && w->is_open && w->jobs.n > 0; i++) {
        const struct watched_job *job = is_pushed(&pubs[i]) ? find(w, pubs[i].job) : NULL;

        for (struct watching *at = job != NULL ? job->first : NULL; at != NULL; at = at->next)
            push_to(at, &pubs[i]);
    }
    size_t n_followers = w->is_open ? count_followers(w) : 0;
    (void)pthread_mutex_unlock(&w->lock);
    return n_followers;
}
