/* The events of a LangGraph thread over one connection: server-sent events with one filter, or
 * a WebSocket with any number of subscriptions, which takes commands as well.
 *
 * It never ends by itself: after a run it waits for the next one. */
#ifndef TRANSPORT_THREAD_STREAM_H
#define TRANSPORT_THREAD_STREAM_H

#include "transport/stream.h"
#include "transport/thread_feed.h"
#include "transport/thread_filter.h"

struct permit;
struct thread_call;

struct thread_stream_request {
    struct str thread;
    const struct transport *transport;
    const yyjson_val *filter; /* SSE: what is asked for */
    uint64_t since;           /* SSE: thread_seq() of the last event that the reader has */
    http_handler *command;    /* WebSocket: takes a command, as the body of a POST */
    struct permit *permit;    /* taken over; NULL: may read all */
};

/* Answers @req with the stream; 422 when the filter is wrong. */
void thread_stream_open(struct streams *l,
                        struct http_request *req,
                        const struct thread_stream_request *what);

/* --- for transport/ ------------------------------------------------------------------------
 */

struct thread_sub {
    struct thread_sub *next;
    struct thread_filter filter;
    uint64_t number; /* its id, for the client */
    uint64_t since;  /* events up to this one are left out */
    bool is_live;    /* else it gets the thread's past first */
    bool is_replayed;
};

struct thread_stream {
    struct stream stream;
    struct thread_feed live;   /* open if has_live */
    struct thread_feed replay; /* the past, for new subscriptions; open if has_replay */
    uint64_t at;               /* the last event that `live` has given */
    struct thread_sub *subs;   /* owned; list */
    uint64_t n_subs;           /* that there ever were */
    struct thread_call *calls; /* owned; list of commands that are not answered yet */
    size_t n_calls;
    http_handler *command;
    char thread[80];
    size_t thread_n;
    struct buf out;
    bool has_live, has_replay;
    bool is_counted; /* among the open streams */
};

/* A WebSocket's subscription, taken over on 0. */
MUST_CHECK int thread_stream_add(struct thread_stream *ts, struct thread_sub *sub);
/* False: there is none. */
bool thread_stream_remove(struct thread_stream *ts, uint64_t number);
void thread_stream_carry(struct thread_stream *ts);

/* A message of a WebSocket's client (transport/thread_socket.c). */
void thread_socket_take(struct thread_stream *ts, struct str text);
/* The stream is closed: forgets the commands that are not answered. */
void thread_socket_close(struct thread_stream *ts);

#endif
