/* A feed: the events of one job in one stream format, from a cursor on.
 *
 *     opening ──first page──▶ catching up ──no more──▶ live ──terminal record──▶ end
 *                                 ▲                     │
 *                                 └──behind the window──┘
 *
 * Pages come from the store, live events from the hub's window; the owner need not know which.
 * The owner embeds it.
 *
 * Loop thread only. */
#ifndef TRANSPORT_FEED_H
#define TRANSPORT_FEED_H

#include "base/must_check.h"
#include "hub/page.h"
#include "transport/streams.h"

struct feed {
    struct reader reader;              /* the hub's; its `wake` is also called for pages */
    struct streams *loop;              /* borrowed */
    const struct job_scope *job_scope; /* borrowed; jobs outside of it are not there */
    size_t max_frames;                 /* of a page; 0: no limit */
    struct page *page;         /* being fetched (then the pool's), or owned and given out */
    struct gathered *gathered; /* owned; between two pages, where the format gathers */
    int64_t key;               /* of the job, from its first page on */
    uint8_t state;             /* enum job_state, when it had caught up */
    bool fetching;             /* the pool has the page: nothing can be said before */
    bool is_open;              /* the first page was there */
    bool page_given, gap_given;
    bool reconnected; /* pages until it has caught up are those of a reader who came back */
};

struct feed_request {
    struct str job;
    const struct job_scope *job_scope; /* NULL: all */
    struct stream_format format;
    struct cursor after;
    size_t max_frames; /* of a page; 0: no limit */
    bool reconnected;  /* until it has caught up, as variant.reconnected has it */
};

/* ERR_NOMEM, or ERR_NOT_FOUND for what is no job's id; then nothing is to be closed.
 *
 * @wake is called when there may be more: on the hub's news, and when a page was read, the
 * first one too.  It may close the feed; while f->fetching there is nothing for it to do. */
MUST_CHECK int feed_open(struct feed *f,
                         struct streams *l,
                         void (*wake)(struct reader *r),
                         const struct feed_request *what);
/* Reads a page from another place instead; `wake` follows. */
MUST_CHECK int feed_reopen(struct feed *f, struct cursor after);
/* Done with at once: a page that is being read is left to itself. */
void feed_close(struct feed *f);

/* What was read, when not fetching: before the first feed_next, it or why not; NULL when it is
 * live. */
const struct page *feed_page(const struct feed *f);
/* Of the first page: counts how it went, if something after a cursor was asked for. */
void feed_count_resume(const struct feed *f);
/* After FEED_GAP: the payload of stream.gap. */
void feed_put_gap(const struct feed *f, struct buf *out);

/* How the code of feed_open, or of a page, is said to who has asked for @job. */
struct feed_refusal {
    int status;
    char text[120];
};
struct feed_refusal feed_refusal(int code, struct str job);

enum feed_next {
    FEED_BYTES,     /* the next ones; they stay until the next call */
    FEED_GAP,       /* what was asked for is not there: it goes on elsewhere */
    FEED_CAUGHT_UP, /* with the end of what was stored when it was read */
    FEED_WAIT,      /* `wake` follows */
    FEED_END,       /* the terminal record was given out */
    FEED_GONE,      /* the job was deleted */
    FEED_FAILED     /* memory or the store */
};

enum feed_next feed_next(struct feed *f, struct str *ret);

#endif
