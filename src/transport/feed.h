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
    struct reader reader;              /* in the hub; `wake` is also called for pages */
    struct streams *loop;              /* borrowed */
    const struct job_scope *job_scope; /* borrowed; jobs outside of it are treated as absent */
    size_t max_frames;                 /* of a page; 0: no limit */
    struct page *page; /* in the pool while `fetching`, else owned; feed_page() returns it */
    struct gathered *gathered; /* owned; carried from page to page, for formats that gather */
    int64_t key;               /* of the job, known from the first page on */
    uint8_t state;             /* enum job_state when it caught up */
    int64_t attempt;           /* the job's, as of the last page */
    struct buf worker;         /* if names_worker: who runs this attempt; or empty */
    bool names_worker;         /* feed_worker() is used */
    bool fetching;             /* the pool reads the page: wait for `wake` */
    bool is_open;              /* the first page was read */
    bool page_given, gap_given;
    bool reconnected; /* until it has caught up, render pages for a reconnected client */
};

struct feed_request {
    struct str job;
    const struct job_scope *job_scope; /* NULL: all */
    struct stream_format format;
    struct cursor after;
    size_t max_frames; /* of a page; 0: no limit */
    bool reconnected;  /* until it has caught up; see variant.reconnected */
    bool names_worker; /* feed_worker() is used */
};

/* ERR_NOMEM, or ERR_NOT_FOUND for an invalid job id; nothing is to be closed then.
 *
 * @wake is called when there may be more: on changes from the hub, and when a page was read,
 * also the first one.  It may close the feed; while f->fetching it has nothing to do. */
MUST_CHECK int feed_open(struct feed *f,
                         struct streams *l,
                         void (*wake)(struct reader *r),
                         const struct feed_request *what);
/* Reads a page from another cursor instead; `wake` follows. */
MUST_CHECK int feed_reopen(struct feed *f, struct cursor after);
/* Takes effect at once; a page that is being read is cancelled. */
void feed_close(struct feed *f);

/* The page, when not fetching: before the first feed_next it holds the first page or its error;
 * NULL when live. */
const struct page *feed_page(const struct feed *f);
/* After the first page: counts the outcome of a resume, if there was a cursor. */
void feed_count_resume(const struct feed *f);
/* After FEED_GAP: writes the payload of stream.gap. */
void feed_put_gap(const struct feed *f, struct buf *out);

/* The name of the worker that runs the job; empty: none does, or it is not known. */
struct str feed_worker(const struct feed *f);
/* If another one runs it since the last page, reads a page to learn its name; FEED_CAUGHT_UP
 * follows.  False: there is nothing to wait for. */
bool feed_ask_worker(struct feed *f);

/* The HTTP answer for an error of feed_open, or of a page, for @job. */
struct feed_refusal {
    int status;
    char text[120];
};
struct feed_refusal feed_refusal(int code, struct str job);

enum feed_next {
    FEED_BYTES,     /* the next bytes; valid until the next call */
    FEED_GAP,       /* events after the cursor are missing: it continues later in the log */
    FEED_CAUGHT_UP, /* everything that was stored at the time of reading was returned */
    FEED_WAIT,      /* `wake` follows */
    FEED_END,       /* the terminal record was returned */
    FEED_GONE,      /* the job was deleted */
    FEED_FAILED     /* out of memory, or the store failed */
};

enum feed_next feed_next(struct feed *f, struct str *ret);

#endif
