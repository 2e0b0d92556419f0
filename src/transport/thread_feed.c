#include "transport/thread_feed.h"

#include "base/container_of.h"
#include "base/error.h"
#include "dialect/thread_events.h"

/* --- the list of runs --------------------------------------------------------------------- */

static void on_runs(struct loop_call *call)
{
    struct thread_feed *f = call->owner;

    f->fetching = false;
    f->at = 0;
    if (f->runs->key != 0)
        f->wait.key = f->runs->key;
    f->wake(f);
}

static int fetch_runs(struct thread_feed *f)
{
    thread_runs_free(f->runs);
    f->runs = NULL;
    int64_t after = f->resumes ? f->run - 1 : f->run;
    int err = thread_runs_new(str_make(f->thread, f->thread_n), f->scope, after, &f->runs);
    if (err != 0)
        return err;
    f->looks = false;
    f->fetching = true;
    thread_runs_ask(f->runs, f->loop->pool, f->loop->box, f, on_runs);
    return 0;
}

static void on_new_run(struct thread_wait *w)
{
    struct thread_feed *f = container_of(w, struct thread_feed, wait);

    f->looks = true;
    if (!f->has_feed && !f->fetching)
        f->wake(f);
}

/* --- the feed of a run -------------------------------------------------------------------- */

static void on_wake(struct reader *r)
{
    struct thread_feed *f = container_of(r, struct thread_feed, feed.reader);

    if (!f->feed.fetching)
        f->wake(f);
}

static int open_run(struct thread_feed *f, const struct thread_run *run)
{
    struct feed_request what = {
        .job = str_make(run->job, run->job_n),
        .job_scope = f->scope,
        .format = { .dialect = &dialect_thread_events,
                    .framing = &framing_ndjson,
                    .variant = { .run = (uint64_t)run->number } },
        .after = { .seq = f->resumes && run->number == f->run ? f->after : 0 }
    };

    f->run = run->number;
    f->resumes = false;
    int err = feed_open(&f->feed, f->loop, on_wake, &what);
    f->has_feed = err == 0;
    return err;
}

/* The run has ended, or was deleted. */
static void close_run(struct thread_feed *f)
{
    feed_close(&f->feed);
    f->has_feed = false;
    f->looks = true;
}

/* True: bytes, or nothing for now; false: its run is over. */
static bool next_of_run(struct thread_feed *f, struct str *ret, enum feed_next *ret_next)
{
    for (;;) {
        *ret_next = feed_next(&f->feed, ret);
        switch (*ret_next) {
        case FEED_GAP:
        case FEED_CAUGHT_UP:
            break;
        case FEED_END:
        case FEED_GONE:
            close_run(f);
            return false;
        case FEED_BYTES:
        case FEED_WAIT:
        case FEED_FAILED:
            return true;
        }
    }
}

enum feed_next thread_feed_next(struct thread_feed *f, struct str *ret)
{
    enum feed_next next;

    for (;;) {
        if (f->has_feed && next_of_run(f, ret, &next))
            return next;
        if (f->fetching)
            return FEED_WAIT;
        if (f->runs != NULL && f->runs->code != 0)
            return FEED_FAILED;
        if (f->runs != NULL && f->at < f->runs->n) {
            if (open_run(f, &f->runs->run[f->at++]) != 0)
                return FEED_FAILED;
            f->is_followed = f->at < f->runs->n && f->runs->run[f->at].is_due;
        } else if (!f->looks) {
            return FEED_WAIT;
        } else if (fetch_runs(f) != 0) {
            return FEED_FAILED;
        }
    }
}

bool thread_feed_is_idle(const struct thread_feed *f)
{
    return !f->has_feed && !f->fetching && !f->looks &&
           (f->runs == NULL || f->at >= f->runs->n);
}

int thread_feed_open(struct thread_feed *f,
                     struct streams *l,
                     const struct thread_feed_request *what)
{
    if (what->thread.n > sizeof(f->thread))
        return ERR_NOT_FOUND;
    *f = (struct thread_feed){ .loop = l,
                               .scope = what->scope,
                               .thread_n = what->thread.n,
                               .run = (int64_t)thread_seq_run(what->after),
                               .after = thread_seq_record(what->after),
                               .resumes = what->after != 0,
                               .looks = true,
                               .wait = { .wake = on_new_run },
                               .wake = what->wake };
    if (f->after > 0)
        f->after--; /* a place inside of a record: the stream drops what was sent of it */
    str_copy(f->thread, what->thread);
    thread_wait_join(l, &f->wait);
    return 0;
}

void thread_feed_close(struct thread_feed *f)
{
    thread_wait_leave(f->loop, &f->wait);
    if (f->has_feed)
        feed_close(&f->feed);
    if (f->fetching)
        loop_call_cancel(&f->runs->task.loop_call);
    else
        thread_runs_free(f->runs);
}
