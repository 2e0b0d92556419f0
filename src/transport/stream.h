/* A stream: one long-lived response, from its header to its end.
 *
 *     transport   how a connection lives: SSE, JSON lines, WebSocket (const tables)
 *     content     what it carries: a job's events, or several jobs'
 *
 * The content sends while the stream has room, and is called when there is room again.  Before
 * that the stream sends the contents of `small`: frames for this connection only, which may be
 * added at any time.  It handles keep-alives, the maximum age and early closes, each as its
 * transport does.
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
    /* Answers the request with the header of a stream; NULL when the client has
     * disconnected. */
    struct http_stream *(*begin)(struct stream *s, const struct http_stream_events *events);
    /* Sends what is due (a comment, a ping); returns the milliseconds until the next call. */
    int64_t (*look)(struct stream *s, int64_t now);
    /* Everything is sent: closing frames before the clean end.  NULL: none. */
    void (*put_end)(struct stream *s);
    /* Called with received bytes; NULL: none are expected. */
    void (*received)(struct stream *s, struct str bytes);
    /* The connection is closed: frees s->wire.  NULL: there is none. */
    void (*free_wire)(struct stream *s);
    /* Closes the stream before its end; the caller calls `carry` next. */
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
    /* Sends what it has, while stream_has_room. */
    void (*carry)(struct stream *s);
    /* A heartbeat is due (if has_beats is set), or the server shuts down: adds a frame to
     * `small`. */
    void (*beat)(struct stream *s);
    void (*shut_down)(struct stream *s);
    /* A message from the client. */
    void (*message)(struct stream *s, struct str text);
    /* The connection is closed (or the request was refused); the content frees the memory. */
    void (*closed)(struct stream *s);
};

/* There are tens of thousands of streams, so rarely used parts are allocated on demand. */
struct stream {
    struct wheel_entry deadline;
    struct streams *loop;              /* borrowed */
    const struct transport *transport; /* borrowed */
    const struct content *content;     /* borrowed */
    union {
        struct http_request *req; /* until the header is sent; NULL: it was refused, or the
                                     client disconnected */
        struct http_stream *http; /* after the header is sent */
    };
    struct permit *permit;    /* owned; NULL: may read all jobs, without a time limit */
    void *wire;               /* owned by the transport */
    struct words *words;      /* owned; NULL: none now; see stream_small */
    int64_t began, last_sent; /* see streams_now */
    int64_t next_beat;
    int64_t expires;     /* 0: never */
    uint8_t why;         /* enum stream_end: why it ends */
    bool has_begun : 1;  /* the header was sent */
    bool has_beats : 1;  /* set before it begins */
    bool is_bare : 1;    /* frames have no envelope; set before it begins */
    bool sending : 1;    /* http is sending our bytes */
    bool is_paused : 1;  /* stop receiving until `small` is sent */
    bool finishing : 1;  /* only `small` and the end are still to be sent */
    bool ending : 1;     /* http was told to end */
    bool has_turn : 1;   /* see streams_take_turn */
    bool has_events : 1; /* some were sent */
    bool lost_words : 1; /* a frame was lost for lack of memory */
};

static inline struct stream *stream_of_deadline(struct wheel_entry *e)
{
    return container_of(e, struct stream, deadline);
}

/* Takes over the request and the permit: `closed` is called once, also when it is refused. */
void stream_init(struct stream *s,
                 struct streams *l,
                 const struct transport *transport,
                 const struct content *content,
                 struct permit *permit,
                 struct http_request *req);
/* Answers with an error instead of a stream; status 204: without a body. */
void stream_refuse(struct stream *s, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Sends the header.  False when the client has disconnected: the stream is closed then. */
bool stream_begin(struct stream *s);

/* The buffer for frames of this connection only. */
struct buf *stream_small(struct stream *s);

/* Sends `small`, and the end when it is due; true when more can be sent and all earlier bytes
 * were sent. */
bool stream_has_room(struct stream *s);
/* Sends bytes, which must stay valid until there is room again.  Only if stream_has_room. */
void stream_send(struct stream *s, struct str bytes);
/* Sends `small`; true when all of it was sent. */
bool stream_flush(struct stream *s);
/* The content has sent everything; the caller calls `carry` next. */
void stream_complete(struct stream *s);
/* Ends it after `small` is sent; the caller calls `carry` next. */
void stream_finish(struct stream *s, enum stream_end why);
void stream_cut(struct stream *s, enum stream_end why);

/* Its timer has fired. */
void stream_due(struct stream *s, int64_t now);

/* Answers 503, for transports whose clients retry after that. */
void stream_send_away(struct streams *l, struct http_request *req);
/* For transports that send text over HTTP. */
struct http_stream *stream_begin_text(struct stream *s,
                                      const char *type,
                                      const struct http_stream_events *events);
/* Milliseconds until a keep-alive is due. */
int64_t stream_silence_left(const struct stream *s, int64_t now);

#endif
