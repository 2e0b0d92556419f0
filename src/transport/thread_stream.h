/* The events of a LangGraph thread over one connection: server-sent events with one filter, or
 * a WebSocket with any number of subscriptions.
 *
 * It never ends by itself: after a run it waits for the next one. */
#ifndef TRANSPORT_THREAD_STREAM_H
#define TRANSPORT_THREAD_STREAM_H

#include "transport/stream.h"
#include "transport/thread_filter.h"

struct permit;

struct thread_stream_request {
    struct str thread;
    const yyjson_val *filter; /* SSE: what is asked for */
    uint64_t since;           /* SSE: thread_seq() of the last event that the reader has */
    struct permit *permit;    /* taken over; NULL: may read all */
};

/* Answers @req with the stream; 422 when the filter is wrong. */
void thread_stream_open(struct streams *l,
                        struct http_request *req,
                        const struct thread_stream_request *what);

#endif
