/* A page: part of a job's stored records, rendered in one stream format, for one reader.
 *
 * A loop requests it, and a thread of the pool reads it, from the page cache or from the store;
 * then it is returned to the loop. */
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
    size_t max_bytes;          /* ends with the record that reaches this size */
    size_t max_frames;         /* the same in frames; 0: no limit */
    struct gathered *gathered; /* owned; NULL: none.  In and out, for formats that gather */
    bool beginning_if_foreign; /* if the cursor is beyond the end, start at the beginning */

    /* Out. */
    struct cursor after; /* where it begins */
    int code;            /* 0, ERR_NOT_FOUND, ERR_IO … */
    int64_t key;         /* of the job; another key is another job with the same id */
    enum job_state state;
    int64_t attempt;
    char worker[100]; /* that runs this attempt, for people; empty: none does */
    size_t worker_n;
    uint64_t job_seq;              /* the job's last record */
    uint64_t first_seq;            /* the oldest record that retention has kept */
    bool foreign;                  /* the cursor was beyond the end */
    bool expired;                  /* the cursor was before the oldest record */
    struct cached_page *cached;    /* ref; the content.  NULL: see code */
    struct page_cache *page_cache; /* borrowed from the pool */
};

/* Jobs outside of @scope are not found; NULL: all. */
MUST_CHECK int page_new(struct str job,
                        const struct job_scope *scope,
                        const struct stream_format *format,
                        struct cursor after,
                        struct page **ret);
void page_free(struct page *p);

/* The page is empty and always will be: the job has ended before it. */
bool page_is_beyond_end(const struct page *p);

/* @answered gets it on the loop of @home; call.owner is @owner.  If the call is cancelled, the
 * page is freed. */
void page_ask(struct page *p,
              struct thread_pool *pool,
              struct mailbox *home,
              void *owner,
              void (*answered)(struct loop_call *call));

#endif
