#include "transport/thread_feed.h"

#include "base/container_of.h"
#include "base/error.h"
#include "dialect/thread_events.h"

/* --- the list of runs --------------------------------------------------------------------- */

/* Only what comes from now on: runs that have ended are passed over, and one that is at work is
 * read from its last record on. */
static void pass_over(struct thread_feed *f)
{
    struct thread_runs *r = f->runs;

    for (; f->at < r->n && r->run[f->at].is_over; f->at++)
        f->run = r->run[f->at].number;
    f->from_now = r->code != 0;
    if (f->at == r->n)
        return;
    f->resumes = true;
    f->run = r->run[f->at].number;
    f->after = (struct cursor){ .seq = r->run[f->at].seq };
}

static void on_runs(struct loop_call *call)
{
    struct thread_feed *f = call->owner;

    f->fetching = false;
    f->at = 0;
    if (f->from_now)
        pass_over(f);
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
    f->runs->with_modes = f->as_runs;
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

static struct stream_format format_of(const struct thread_feed *f, const struct thread_run *run)
{
    if (f->as_runs)
        return (struct stream_format){ .dialect = &dialect_messages,
                                       .framing = &framing_sse,
                                       .variant = { .modes = run->modes,
                                                    .subgraphs = run->subgraphs } };
    return (struct stream_format){ .dialect = &dialect_thread_events,
                                   .framing = &framing_ndjson,
                                   .variant = { .run = (uint64_t)run->number } };
}

static int open_run(struct thread_feed *f, const struct thread_run *run)
{
    struct feed_request what = { .job = str_make(run->job, run->job_n),
                                 .job_scope = f->scope,
                                 .format = format_of(f, run) };

    if (f->resumes && run->number == f->run)
        what.after = f->after;
    f->run = run->number;
    str_copy(f->job, what.job);
    f->job_n = run->job_n;
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
            close_run(f);
            return f->as_runs;
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

/* Is a newer run than the one at hand at work, or about to be? */
static bool has_newer(const struct thread_feed *f)
{
    const struct thread_runs *r = f->runs;

    return f->at < r->n && r->run[f->at].is_due && !r->run[r->n - 1].is_over;
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
            f->is_followed = has_newer(f);
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
    struct run_place place = what->place;
    if (!what->as_runs) {
        uint64_t record = thread_seq_record(what->after);

        place.run = (int64_t)thread_seq_run(what->after);
        /* A place inside of a record: the stream drops what was sent of it. */
        place.after.seq = record > 0 ? record - 1 : 0;
    }
    *f = (struct thread_feed){ .loop = l,
                               .scope = what->scope,
                               .thread_n = what->thread.n,
                               .run = place.run,
                               .after = place.after,
                               .resumes = place.run != 0 && !place.is_over,
                               .as_runs = what->as_runs,
                               .from_now = what->from_now,
                               .looks = true,
                               .wait = { .wake = on_new_run },
                               .wake = what->wake };
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
