/* A stream: one connection that goes on, from its head to its end.
 *
 *     transport   how a connection lives: SSE, JSON lines, WebSocket (const tables)
 *     content     what it carries: a job's events, or several jobs'
 *
 * The content sends what it has while the stream has room, and is asked to when there is room
 * again.  Before that the stream sends what was put into `small`: frames that are for this
 * connection only, and that may be put there at any time.  It handles keep-alives, the maximum
 * age and early closes, each as its transport does.
 *
 * Only a stream that is complete ends cleanly; every other close looks like a lost connection
 * to the client.
 *
 * Loop thread only. */
#ifndef TRANSPORT_STREAM_H
#define TRANSPORT_STREAM_H

#include "base/container_of.h"
#include "transport/streams.h"
#include "transport/traffic.h"

struct permit;
struct stream;

struct transport {
    enum transport_kind kind;
    const struct framing *framing;
    bool is_chunked; /* over HTTP/1.1 */
    /* Answers the request with the header of a stream; NULL when the client has gone. */
    struct http_stream *(*begin)(struct stream *s, const struct http_stream_events *events);
    /* Does what is due on the wire (a comment, a ping); returns in how many milliseconds to
     * look again. */
    int64_t (*look)(struct stream *s, int64_t now);
    /* Everything is sent: closing frames before the clean end.  NULL: none. */
    void (*put_end)(struct stream *s);
    /* Bytes have come; NULL: none are expected. */
    void (*received)(struct stream *s, struct str bytes);
    /* The connection is gone: frees s->wire.  NULL: there is none. */
    void (*free_wire)(struct stream *s);
    /* It has to go before its end; to be followed by `carry`. */
    void (*leave)(struct stream *s, enum stream_end why);
    /* Answers a request that cannot be served now. */
    void (*send_away)(struct streams *l, struct http_request *req);
};

extern const struct transport transport_sse;
/* The same for LangGraph's clients. */
extern const struct transport transport_langgraph;
extern const struct transport transport_ndjson;
extern const struct transport transport_websocket;

struct content {
    /* Sends what there is, while stream_has_room. */
    void (*carry)(struct stream *s);
    /* A heartbeat is due (where has_beats is set), or the server goes down: puts a frame. */
    void (*beat)(struct stream *s);
    void (*shut_down)(struct stream *s);
    /* Bytes of the reader. */
    void (*message)(struct stream *s, struct str text);
    /* The connection is gone (or was never answered); the memory is the content's. */
    void (*closed)(struct stream *s);
};

/* There are ten thousands of them: what only some need is allocated when they do. */
struct stream {
    struct wheel_entry deadline;
    struct streams *loop;              /* borrowed */
    const struct transport *transport; /* borrowed */
    const struct content *content;     /* borrowed */
    union {
        struct http_request *req; /* until it has begun; NULL: it was refused, or the peer left
                                   */
        struct http_stream *http; /* from then on */
    };
    struct permit *permit;    /* owned; NULL: it may read all, for ever */
    void *wire;               /* the transport's own */
    struct words *words;      /* owned; NULL while there are none: see stream_small */
    int64_t began, last_sent; /* see streams_now */
    int64_t next_beat;
    int64_t expires;     /* 0: never */
    uint8_t why;         /* it ends: enum stream_end */
    bool has_begun : 1;  /* the head was sent */
    bool has_beats : 1;  /* set before it begins */
    bool is_bare : 1;    /* its frames have no envelope; set before it begins */
    bool sending : 1;    /* http has bytes of ours */
    bool is_paused : 1;  /* nothing is received until `small` has been sent */
    bool finishing : 1;  /* nothing comes but `small` and the end */
    bool ending : 1;     /* http has been told */
    bool has_turn : 1;   /* see streams_take_turn */
    bool has_events : 1; /* some were sent */
    bool lost_words : 1; /* there was no memory for them */
};

static inline struct stream *stream_of_deadline(struct wheel_entry *e)
{
    return container_of(e, struct stream, deadline);
}

/* Takes the request and the permit: `closed` follows once, also when it is refused. */
void stream_init(struct stream *s,
                 struct streams *l,
                 const struct transport *transport,
                 const struct content *content,
                 struct permit *permit,
                 struct http_request *req);
/* Answers with an error instead of a stream; 204 without one. */
void stream_refuse(struct stream *s, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Sends the header.  False when the client has gone: it is closed then. */
bool stream_begin(struct stream *s);

/* Where frames are put that are for this connection only. */
struct buf *stream_small(struct stream *s);

/* Sends what is in `small`, and the end when it is time for it; true when more can be sent, and
 * whatever was sent before is out. */
bool stream_has_room(struct stream *s);
/* Sends bytes, which stay until there is room again.  Only when there is. */
void stream_send(struct stream *s, struct str bytes);
/* Sends what is in `small`; true when all of it went out. */
bool stream_flush(struct stream *s);
/* All has been carried; to be followed by `carry`. */
void stream_complete(struct stream *s);
/* The end, after what is in `small`; to be followed by `carry`. */
void stream_finish(struct stream *s, enum stream_end why);
void stream_cut(struct stream *s, enum stream_end why);

/* Its time has come. */
void stream_due(struct stream *s, int64_t now);

/* For transports whose clients know what to do with 503. */
void stream_send_away(struct streams *l, struct http_request *req);
/* For transports that send text over HTTP. */
struct http_stream *stream_begin_text(struct stream *s,
                                      const char *type,
                                      const struct http_stream_events *events);
/* Milliseconds until something has to be said. */
int64_t stream_silence_left(const struct stream *s, int64_t now);

#endif
