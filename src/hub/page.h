/* A page: a piece of a job's past, rendered in one stream format, for one reader.
 *
 * It is asked for on a loop and read on a thread of the pool, from the page cache or from the
 * store; then it is the loop's again. */
#ifndef HUB_PAGE_H
#define HUB_PAGE_H

#include "base/must_check.h"
#include "hub/thread_pool.h"
#include "hub/stream_format.h"
#include "hub/page_cache.h"
#include "jobs/job.h"
#include "jobs/job_scope.h"

struct page {
    struct thread_task task;

    /* In. */
    char job[80]; /* its id */
    size_t job_n;
    struct job_scope scope; /* of the reader */
    struct stream_format format;
    struct cursor asked;
    size_t max_bytes;          /* it ends with the record that reaches it */
    size_t max_frames;         /* the same; 0: no limit */
    struct gathered *gathered; /* owned; NULL: none.  In and out, where the format gathers */
    bool beginning_if_foreign; /* a cursor beyond the end: from the beginning instead */

    /* Out. */
    struct cursor after; /* where it begins */
    int code;            /* 0, ERR_NOT_FOUND, ERR_IO … */
    int64_t key;         /* of the job; another one means another job of the same id */
    enum job_state state;
    uint64_t job_seq;              /* the job's last record */
    uint64_t first_seq;            /* the oldest that retention has left */
    bool foreign;                  /* the cursor was beyond the end */
    bool expired;                  /* the cursor was before the oldest record that is left */
    struct cached_page *cached;    /* ref; what it says.  NULL: see code */
    struct page_cache *page_cache; /* borrowed; the pool's */
};

/* Of jobs outside of @scope there is none; NULL: all. */
MUST_CHECK int page_new(struct str job,
                        const struct job_scope *scope,
                        const struct stream_format *format,
                        struct cursor after,
                        struct page **ret);
void page_free(struct page *p);

/* There is nothing on it, and will be nothing: the job has ended before. */
bool page_is_beyond_end(const struct page *p);

/* @answered gets it on the loop of @home; call.owner is @owner.  If it is cancelled before, it
 * is freed. */
void page_ask(struct page *p,
              struct thread_pool *pool,
              struct mailbox *home,
              void *owner,
              void (*answered)(struct loop_call *call));

#endif
