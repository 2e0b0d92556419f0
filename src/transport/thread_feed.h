/* A thread feed: the events of all runs of a LangGraph thread, one run after another, from a
 * place on.  It has no end: after the last run it waits for the next.
 *
 *     ┌──▶ list of runs ──▶ feed of a run ──its end──┐
 *     │         │ none                               │
 *     │      waiting ◀── a run is created            │
 *     └──────────────────────────────────────────────┘
 *
 * Every reader of a run's job shares the bytes (hub/window.h), whatever it is interested in:
 * the stream filters them (transport/thread_line.h).
 *
 * Loop thread only. */
#ifndef TRANSPORT_THREAD_FEED_H
#define TRANSPORT_THREAD_FEED_H

#include "hub/thread_runs.h"
#include "transport/feed.h"
#include "transport/thread_wait.h"

/* A place in a thread: after a record of a run, or after the whole run. */
struct run_place {
    int64_t run; /* its number; 0: the beginning */
    struct cursor after;
    bool is_over;
};

struct thread_feed {
    struct streams *loop;          /* borrowed */
    const struct job_scope *scope; /* borrowed; NULL: all */
    char thread[80];
    size_t thread_n;
    struct feed feed; /* of the run, if has_feed */
    struct thread_wait wait;
    struct thread_runs *runs; /* in the pool while `fetching`, else owned; NULL: none */
    size_t at;                /* the next of them */
    int64_t run;              /* the number of the run that is read, or was read last */
    struct cursor after;      /* of its records, where it resumes */
    char job[80];             /* the id of that run */
    size_t job_n;
    bool resumes; /* the first run that is read is `run` itself, after that record */
    bool has_feed, fetching;
    bool as_runs;     /* the frames of runs, see below */
    bool from_now;    /* until the first list: runs before are left out */
    bool is_followed; /* when the run was opened, a newer one had not ended yet */
    bool looks;       /* there may be runs that are not in the list */
    /* There may be more.  May close it. */
    void (*wake)(struct thread_feed *f);
};

struct thread_feed_request {
    struct str thread;
    const struct job_scope *scope; /* borrowed */
    uint64_t after;                /* thread_seq() of the last event that the reader has; 0 */
    /* Instead of the thread's events, those that clients of each run get, in its own modes,
     * framed as server-sent events. */
    bool as_runs;
    struct run_place place; /* as_runs: where the reader is */
    bool from_now;          /* as_runs: only what comes from now on */
    void (*wake)(struct thread_feed *f);
};

/* ERR_NOT_FOUND for an id that is too long; nothing is to be closed then. */
MUST_CHECK int thread_feed_open(struct thread_feed *f,
                                struct streams *l,
                                const struct thread_feed_request *what);
void thread_feed_close(struct thread_feed *f);

/* FEED_BYTES: lines, each one event, valid until the next call.  FEED_WAIT: `wake` follows.
 * FEED_END, as_runs: the run has ended.  FEED_FAILED.  No others. */
enum feed_next thread_feed_next(struct thread_feed *f, struct str *ret);

/* Everything that was there has been returned, up to the end of the last run. */
bool thread_feed_is_idle(const struct thread_feed *f);

#endif
