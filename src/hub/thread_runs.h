/* The runs of a LangGraph thread after a place, oldest first: read from the store by a thread
 * of the pool, for one reader. */
#ifndef HUB_THREAD_RUNS_H
#define HUB_THREAD_RUNS_H

#include "base/must_check.h"
#include "hub/thread_pool.h"
#include "jobs/job_scope.h"

struct thread_run {
    int64_t number; /* in its thread, from 1 */
    bool is_due;    /* it has begun, or may */
    bool is_over;   /* it has ended */
    uint64_t seq;   /* of its last record, then */
    int64_t key;
    uint32_t modes; /* with_modes: those that it was created with */
    bool subgraphs; /* likewise */
    char job[80];
    size_t job_n;
};

struct thread_runs {
    struct thread_task task;

    /* In. */
    char thread[80]; /* its id */
    size_t thread_n;
    struct job_scope scope; /* of the reader */
    int64_t after;          /* the number of the last run that is known */
    bool with_modes;

    /* Out. */
    int code;
    int64_t key;            /* of the thread; 0: there is none that the reader may see */
    struct thread_run *run; /* owned */
    size_t n, cap;
};

/* ERR_NOMEM, or ERR_NOT_FOUND for an id that is too long. */
MUST_CHECK int thread_runs_new(struct str thread,
                               const struct job_scope *scope,
                               int64_t after,
                               struct thread_runs **ret);
void thread_runs_free(struct thread_runs *r); /* may be NULL */

/* @answered gets it on the loop of @home; call.owner is @owner.  If the call is cancelled, it
 * is freed. */
void thread_runs_ask(struct thread_runs *r,
                     struct thread_pool *pool,
                     struct mailbox *home,
                     void *owner,
                     void (*answered)(struct loop_call *call));

#endif
