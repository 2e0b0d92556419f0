/* All runs of a LangGraph thread over one connection, as server-sent events: GET
 * /threads/{thread}/stream.
 *
 * Each run has the events that its own stream has (`metadata`, `values`, …), then `metadata`
 * with
 * {"status":"run_done"}.  It never ends by itself: after a run it waits for the next one. */
#ifndef TRANSPORT_THREAD_JOIN_H
#define TRANSPORT_THREAD_JOIN_H

#include "transport/stream.h"
#include "transport/thread_feed.h"

struct permit;

struct thread_join_request {
    struct str thread;
    struct str place; /* Last-Event-ID; empty: new events only */
    bool lifecycle_only;
    struct permit *permit; /* taken over; NULL: may read all */
};

/* Answers @req with the stream. */
void thread_join_open(struct streams *l,
                      struct http_request *req,
                      const struct thread_join_request *what);

/* A place in the runs of a thread, as the ids of events name it: `<run>-<cursor>`, such as 3-57
 * or 3-57.1, or `<run>-end` behind a run.  What is neither is the beginning. */
struct run_place thread_join_place(struct str text);

#endif
