/* A page: a piece of a job's past, rendered in one way, read from the store.
 *
 * page_read runs on a thread of the pool; the page then belongs to the loop. */
#ifndef HUB_PAGE_H
#define HUB_PAGE_H

#include "hub/pool.h"
#include "hub/render.h"
#include "jobs/job.h"

struct reach;

struct page {
    struct task task;
    void *data; /* the asker's */

    /* In. */
    char job[80]; /* its id */
    size_t job_n;
    const struct reach *reach; /* borrowed; of the reader */
    struct way way;
    struct cursor asked;
    size_t max_bytes;          /* it ends with the record that reaches it */
    size_t max_frames;         /* the same; 0: no limit */
    bool beginning_if_foreign; /* a cursor beyond the end: from the beginning instead */

    /* Out. */
    struct cursor after; /* where it begins */
    int code;            /* 0, ERR_NOT_FOUND, ERR_IO … */
    int64_t key;         /* of the job; another one means another job of the same id */
    enum job_state state;
    uint64_t job_seq;   /* the job's last record */
    uint64_t first_seq; /* the oldest that retention has left */
    bool foreign;       /* the cursor was beyond the end */
    bool expired;       /* the cursor was before the oldest record that is left */
    uint64_t last_seq;  /* of the last record that was looked at */
    size_t n_frames;
    bool ended;  /* the terminal record is in it */
    bool at_end; /* there was no more */
    struct buf bytes;
};

int page_new(struct str job, const struct way *way, struct cursor after, struct page **ret);
void page_free(struct page *p);

/* For task.run. */
void page_read(struct task *task, struct store *store);

#endif
